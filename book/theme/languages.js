// Links from each page to the same page in the other languages.
// `cargo x book` adds this file, because it builds them all; plain mdBook builds the English book alone.
(() => {
    "use strict";
    // The first is at the root, each other in a folder of its name.
    const languages = { "en": "English", "zh-CN": "中文" };
    const root = Object.keys(languages)[0];
    const here = document.documentElement.lang;
    const bar = document.querySelector(".right-buttons");
    if (!bar || !(here in languages)) return;

    const folder = new URL(path_to_root || "./", location.href);
    const page = location.pathname.slice(folder.pathname.length);
    for (const [language, name] of Object.entries(languages)) {
        if (language === here) continue;
        const up = here === root ? "" : "../";
        const down = language === root ? "" : `${language}/`;
        const link = document.createElement("a");
        link.className = "language";
        link.lang = language;
        link.hreflang = language;
        link.textContent = name;
        link.href = new URL(`${up}${down}${page}`, folder) + location.hash;
        bar.prepend(link);
    }
})();
