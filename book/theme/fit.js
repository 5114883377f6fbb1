// How many columns an output has: by that, pages.css makes its letters small enough for its widest line, on a phone too.
(() => {
    "use strict";
    for (const code of document.querySelectorAll("pre > code.language-console, pre > code.language-text")) {
        const columns = Math.max(...code.textContent.split("\n").map((line) => [...line].length));
        code.parentElement.classList.add("fit");
        code.parentElement.style.setProperty("--columns", columns);
    }
})();
