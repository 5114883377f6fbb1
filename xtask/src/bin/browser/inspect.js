async (theme) => {
    const wrong = [];
    const page = document.documentElement;
    // Not innerWidth: a phone zooms out until all that is too wide fits, and that grows with it.
    const width = page.clientWidth;
    const name = (element) => {
        const text = (element.textContent || element.getAttribute("src") || "").trim().replace(/\s+/g, " ");
        return `<${element.tagName.toLowerCase()}> "${text.slice(0, 40)}"`;
    };
    document.getElementById(`mdbook-theme-${theme}`).click();
    if (!page.classList.contains(theme)) wrong.push(`the theme is not ${theme}`);
    // A theme's style sheets come when it is chosen.
    const isComing = (sheet) => !sheet.disabled && !sheet.sheet;
    while ([...document.querySelectorAll("link[rel=stylesheet]")].some(isComing)) {
        await new Promise((done) => setTimeout(done, 10));
    }
    await document.fonts.ready;

    // A box that scrolls within the text may hold what is wide; the text itself, and what is around it, may not.
    const scrolls = (element) => {
        for (let box = element; box && box.tagName !== "MAIN"; box = box.parentElement) {
            if (["auto", "scroll"].includes(getComputedStyle(box).overflowX)) {
                return box === element ? box.getBoundingClientRect().right <= width + 1 : true;
            }
        }
        return false;
    };
    for (const element of document.querySelectorAll("main *, #mdbook-menu-bar *")) {
        const box = element.getBoundingClientRect();
        const isWide = box.width > 0 && (box.right > width + 1 || box.left < -1);
        if (isWide && !scrolls(element)) wrong.push(`wider than the page: ${name(element)}`);
    }

    for (const picture of document.querySelectorAll("main img")) {
        await picture.decode().catch(() => {});
        if (!(picture.naturalWidth > 0 && picture.naturalHeight > 0)) wrong.push(`a picture is empty: ${picture.src}`);
        if (!picture.alt.trim()) wrong.push(`a picture has no text for who cannot see it: ${picture.src}`);
    }

    return wrong.slice(0, 5).join("\n");
}
