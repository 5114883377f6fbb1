// The questions of each lesson: `cargo x book` puts their fields into the page, hidden; this shows them and judges the answers.
// The truths, the numbers of `lab check`, come with the first click. Answers stay in this browser; nothing is sent.
(() => {
    "use strict";
    // As `lab check` judges: true, false, or null for what is no answer. The tests of `lab` hold it to that.
    function judge(truth, answer) {
        if (truth.words) return truth.words.includes(answer) ? answer === truth.word : null;
        const plain = answer.replace(/%+$/, "").replaceAll(",", "");
        if (!/^\d+(\.\d*)?(e[+-]?\d+)?$/i.test(plain)) return null;
        const given = Number(plain);
        return Math.abs(truth.value - given) < 0.5001 * 10 ** -truth.digits && (truth.digits > 0 || Number.isInteger(given));
    }
    // All words; a language that is not here gets English.
    const words = {
        en: {
            title: "Your answer", check: "Check", choose: "choose …", whole: "a whole number", decimals: "a number with {0} decimals",
            right: "right", wrong: "wrong", none: "an answer is {0}", hint: "hint: {0}", open: "not answered yet", all: "answered",
            missing: "The answers could not be loaded.",
            choices: { rise: "rise", fall: "fall", stay: "stay", yes: "yes", no: "no", right: "right", wrong: "wrong product", fault: "fault", refused: "refused" },
        },
        "zh-CN": {
            title: "你的答案", check: "检查", choose: "请选择……", whole: "一个整数", decimals: "一个带 {0} 位小数的数",
            right: "正确", wrong: "错误", none: "答案应是{0}", hint: "提示：{0}", open: "尚未答对", all: "已答对",
            missing: "无法加载答案。",
            choices: { rise: "上升", fall: "下降", stay: "不变", yes: "是", no: "否", right: "结果正确", wrong: "结果错误", fault: "故障", refused: "被拒绝" },
        },
    };
    if (typeof document === "undefined") {
        module.exports = { judge, words };
        return;
    }
    const T = { ...words.en, ...words[document.documentElement.lang] };
    const say = (text, value) => text.replace("{0}", value);

    // What was answered before, by exercise.
    const remembered = (id) => {
        try { return JSON.parse(localStorage.getItem(`predict ${id}`)) ?? {}; } catch { return {}; }
    };
    const remember = (id, what) => {
        try { localStorage.setItem(`predict ${id}`, JSON.stringify(what)); } catch { /* A browser may forbid it. */ }
    };

    // As a script, which a page that was opened from a file may load, too.
    const loading = new Map();
    const load = (lesson) => new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = `${path_to_root || "./"}predict/lesson${lesson}.js`;
        script.onload = () => done(window.predictions);
        script.onerror = () => { loading.delete(lesson); failed(); };
        document.head.append(script);
    });
    const truths = (lesson) => {
        if (!loading.has(lesson)) loading.set(lesson, load(lesson));
        return loading.get(lesson);
    };

    for (const form of document.querySelectorAll("form.predict")) {
        const { exercise, lesson } = form.dataset;
        const fields = [...form.querySelectorAll("label")].map((label) => {
            const control = label.querySelector("input, select"), verdict = label.nextElementSibling;
            const digits = control.dataset.digits;
            const what = digits === "0" ? T.whole : say(T.decimals, digits);
            if (digits !== undefined) control.placeholder = what;
            for (const option of control.options ?? []) option.textContent = T.choices[option.value] ?? T.choose;
            return { control, verdict, what: digits === undefined ? [...control.options].slice(1).map((one) => one.textContent).join(", ") : what };
        });
        const button = form.querySelector("button"), state = form.querySelector(".predict-state");
        form.setAttribute("aria-label", T.title);
        button.textContent = T.check;
        const { answers = [], done = false } = remembered(exercise);
        fields.forEach(({ control }, place) => { control.value = answers[place] ?? ""; });
        if (done) state.textContent = T.all;
        form.classList.toggle("predict-done", done);
        form.hidden = false;

        form.onsubmit = async (event) => {
            event.preventDefault();
            let all;
            try { all = (await truths(lesson))[exercise]; } catch { state.textContent = T.missing; return; }
            const said = fields.map(({ control, verdict, what }, place) => {
                const answer = control.value.trim(), right = judge(all[place], answer);
                const hint = right === false ? ` · ${say(T.hint, all[place].hint)}` : "";
                verdict.textContent = answer === "" ? "" : right === null ? say(T.none, what) : `${right ? T.right : T.wrong}${hint}`;
                verdict.className = right ? "predict-right" : "predict-wrong";
                return right === true;
            });
            const done = said.every(Boolean);
            state.textContent = done ? T.all : T.open;
            form.classList.toggle("predict-done", done);
            remember(exercise, { answers: fields.map(({ control }) => control.value), done });
        };
    }
})();
