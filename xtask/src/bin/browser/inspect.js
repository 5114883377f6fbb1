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
    const isWide = (element) => {
        const box = element.getBoundingClientRect();
        return box.width > 0 && (box.right > width + 1 || box.left < -1) && !scrolls(element);
    };
    const findWide = () => [...document.querySelectorAll("main *, #mdbook-menu-bar *")].filter(isWide);
    // The list of pages slides away, and the page with it: what counts is where all comes to rest.
    let wide = findWide();
    for (const start = performance.now(); wide.length > 0 && performance.now() - start < 2000; wide = findWide()) {
        await new Promise((done) => setTimeout(done, 50));
    }
    wrong.push(...wide.map((element) => `wider than the page: ${name(element)}`));

    for (const picture of document.querySelectorAll("main img")) {
        await picture.decode().catch(() => {});
        if (!(picture.naturalWidth > 0 && picture.naturalHeight > 0)) wrong.push(`a picture is empty: ${picture.src}`);
        if (!picture.alt.trim()) wrong.push(`a picture has no text for who cannot see it: ${picture.src}`);
    }

    // No output is wider than a hundred columns, or has to be scrolled for a number that the text names; nor where it is folded.
    const folded = [...document.querySelectorAll("main details:not([open])")];
    folded.forEach((details) => { details.open = true; });
    for (const code of document.querySelectorAll("main pre > code.language-console")) {
        const columns = Math.max(...code.textContent.split("\n").map((line) => [...line].length));
        if (columns > 100) wrong.push(`an output has ${columns} columns: ${name(code)}`);
        const [box] = [code, code.parentElement].filter((one) => one.scrollWidth > one.clientWidth + 1);
        if (box) wrong.push(`an output scrolls: ${box.scrollWidth} of ${box.clientWidth} px, ${name(code)}`);
    }
    folded.forEach((details) => { details.open = false; });

    return wrong.slice(0, 5).join("\n");
}
