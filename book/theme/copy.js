// The button that copies a console block copies its commands alone, without the `$` and what they print.
(() => {
    "use strict";
    // All words of this script.
    const words = {
        en: { copied: "Copied!" },
        "zh-CN": { copied: "已复制！" },
    };
    const T = words[document.documentElement.lang] ?? words.en;

    // The commands of a block, one a line; nothing if it has none.
    const commands = (code) => code.textContent.replaceAll(" \\\n    ", " ").split("\n").filter((line) => line.startsWith("$ "))
        .map((line) => line.slice(2)).join("\n");

    const copy = (text) => {
        const area = document.createElement("textarea");
        area.value = text;
        area.style.position = "fixed";
        area.style.opacity = "0";
        document.body.append(area);
        area.select();
        const done = document.execCommand("copy");
        area.remove();
        return done;
    };

    // Before mdBook's own listener, which would copy all of it.
    document.addEventListener("click", (event) => {
        const button = event.target.closest?.(".clip-button");
        const code = button?.closest("pre")?.querySelector("code.language-console");
        const text = code ? commands(code) : "";
        if (text === "" || !copy(text)) return;
        event.stopImmediatePropagation();
        button.title = T.copied;
    }, true);
})();
