// What a reader does at a lesson's bench, and sees there. Installed once in each page that is open.
window.reader = (() => {
    "use strict";
    const all = (selector) => [...document.querySelectorAll(`.bench ${selector}`)];
    const one = (selector) => document.querySelector(`.bench ${selector}`);
    const text = (element) => element ? element.textContent : null;
    const cells = (selector) => all(selector).map((row) => [...row.cells].map(text));
    // How long the first report took from the first click on, whenever it is asked.
    let began = 0, first = null;
    new MutationObserver(() => {
        if (first === null && one(".bench-result pre")) first = (performance.now() - began) / 1000;
    }).observe(one(""), { childList: true, subtree: true });
    return {
        click(selector) {
            const button = one(selector);
            if (!button || button.disabled) return `no button ${selector} to click`;
            began ||= performance.now();
            button.click();
            return "";
        },
        clickLine: (line) => {
            const button = all(".bench-lines td:first-child button").find((button) => text(button) === line);
            button?.click();
            return button ? "" : `no button on line ${line}`;
        },
        // What a line can be changed to; and the choice at a place among that.
        offers(line) {
            const row = all(".bench-lines tbody tr").find((row) => row.cells[0].textContent === line);
            const button = row?.querySelector(".bench-turn");
            if (!button) return `line ${line} offers nothing`;
            if (!one(".bench-offers")) button.click();
            return one(".bench-offers button") ? "" : `line ${line} has no choice`;
        },
        turn: (at) => {
            const button = all(".bench-offers button")[at];
            if (!button || button.disabled) return `no choice ${at}`;
            button.click();
            return "";
        },
        set(values) {
            for (const [name, value] of Object.entries(values)) {
                const control = one(`form:not(.bench-step form) [name=${name}]`);
                control.value = value;
                if (control.value !== value) return `${name} cannot be ${value}`;
                control.dispatchEvent(new Event("change"));
            }
            return "";
        },
        place(numbers) {
            const inputs = all(".bench-step form input");
            numbers.forEach((number, index) => { inputs[index].value = number; });
            return this.click(".bench-step form button");
        },
        // Whether what was asked for is there: a run, or a step.
        rests: () => one(".bench-run") && !one(".bench-run").disabled && !one(".bench-step button[type=submit]:disabled") ? "yes" : "",
        state: () => JSON.stringify({
            status: text(one(".bench-status")), first,
            canRun: Boolean(one(".bench-run")) && !one(".bench-run").disabled,
            canStop: Boolean(one(".bench-stop")) && !one(".bench-stop").disabled,
            report: text(all(".bench-result > pre").at(-1)), changes: cells(".bench-changes tbody tr"),
            lines: cells(".bench-lines tbody tr"), marked: cells("tr.bench-fault"),
            buttons: all(".bench-lines td:first-child button").map(text),
            seen: all("tr.bench-fault").filter((row) => {
                const box = row.closest(".bench-lines").getBoundingClientRect(), { top, bottom } = row.getBoundingClientRect();
                return top >= box.top && bottom <= box.bottom;
            }).length,
            step: text(one(".bench-step .bench-buttons span")), opcode: text(one(".bench-step p code")),
            groups: all(".bench-step .bench-cells li").length, lanes: cells(".bench-step .bench-lanes tbody tr"),
            kernels: all("[name=kernel] option").map((option) => [option.value, text(option)]),
            words: all("label > span, .bench h2, .bench h3, .bench button, .bench p, .bench th").map(text),
        }),
    };
})(), "";
