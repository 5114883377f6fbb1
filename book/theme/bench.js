// The bench of each lesson: its level on the emulator, in the page. `cargo x book` puts the module and the shipped PTX into bench/.
// Nothing is loaded before the first click: only whether the module is there is asked. Without JavaScript the page has no bench, and is as it was.
(() => {
    "use strict";
    // All words of the bench.
    const words = {
        en: {
            title: "Try it here",
            open: "Run this level in the page",
            what: "The emulator runs in your browser, on the CPU. Nothing is sent anywhere.",
            loading: "Loading …",
            missing: "The bench is not there: the book was built without the WebAssembly module.",
            opened: "This page was opened from a file, and from there a browser runs nothing. Start a server in the book's folder, python3 -m http.server, and open the address that it prints.",
            level: "Level", configuration: "Configuration", kernel: "Kernel", shipped: "as shipped", own: "PTX of your own",
            dtype: "Element type",
            gpu: "Modelled GPU", checks: "Look for races and uninitialised memory", run: "Run", stop: "Stop",
            file: "PTX file with this level's parameters", how: "how to make one", running: "Running …", stopped: "Stopped.", done: "Done in {0} s.",
            report: "Report", changed: "What changed since the last run, {0}", counter: "Counter", before: "before", now: "now",
            unchanged: "No counter has changed.", lines: "kernel.cu with its counters", line: "Line", instructions: "instr.",
            sectors: "sectors/req.", wavefronts: "wavefronts/req.", code: "Code",
            pick: "Choose a line with accesses to see what a warp's lanes touch there.",
            fault: "Fault", error: "This cannot run", hint: "Hint", noFile: "Choose a PTX file first.",
            step: "Step through a warp", block: "Block", warp: "Warp", previous: "Previous", next: "Next", show: "Show",
            execution: "Execution {0} of {1}", none: "This warp accesses nothing on line {0}.",
            global: "{0} sectors of 32 bytes; {1} at least", shared: "{0} wavefronts; {1} at least", sector: "Sector", bank: "Bank",
            phase: "barriers before it: {0}", lane: "Lane", address: "Address", place: "Place",
            change: "What this kernel changes in kernel.cu",
            box: "A box of {0} rows by {1} bytes: {2} sectors of 32 bytes in global memory",
            operand: "What this warp reads of {0} for one product of its warpgroup: {1} rows of {2} chunks of 16 bytes",
            unknown: "Where this box comes from is not shown: its tensor map is no parameter of the kernel.",
            registers: "On line {0} a warp multiplies what its registers hold: which elements these are is not shown; the lines with ldmatrix show where they come from.",
            elsewhere: "This warp accesses nothing on line {0}; of this block, these warps do: {1}.",
            turn: "What can be changed on line {0}", without: "without {0}", instead: "{1} in place of {0}", turned: "line {0}: {1}",
            same: "the compiler makes the same code of it", refused: "the compiler refuses it",
            beside: "What changed from the kernel as shipped, on the same problem",
            turnings: "Lines with ± can be changed: a barrier left out, an index shifted. Choose one, and see the verdict.",
            row: "Row", from: "Global memory", outside: "outside: filled", chunks: "Chunks: four banks each, from bank",
        },
        "zh-CN": {
            title: "在此运行",
            open: "在本页运行这一级",
            what: "模拟器在你的浏览器中用 CPU 运行，不会发送任何数据。",
            loading: "正在加载……",
            missing: "运行台不可用：构建本书时没有 WebAssembly 模块。",
            opened: "本页是从文件打开的，浏览器在这种情况下不运行任何程序。请在本书的文件夹中启动服务器 python3 -m http.server，然后打开它显示的地址。",
            level: "级", configuration: "配置", kernel: "核函数", shipped: "随书版本", own: "自己的 PTX",
            dtype: "元素类型",
            gpu: "模拟的 GPU", checks: "检查数据竞争和未初始化的内存", run: "运行", stop: "停止",
            file: "与该级参数相同的 PTX 文件", how: "如何生成", running: "正在运行……", stopped: "已停止。", done: "用时 {0} 秒，已完成。",
            report: "报告", changed: "与上一次运行（{0}）相比的变化", counter: "计数器", before: "之前", now: "现在",
            unchanged: "没有计数器发生变化。", lines: "kernel.cu 及其计数器", line: "行", instructions: "指令",
            sectors: "扇区/请求", wavefronts: "wavefront/请求", code: "代码",
            pick: "选择一个有内存访问的行，查看一个线程束 (warp) 的各个通道 (lane) 在那里访问什么。",
            fault: "错误", error: "无法运行", hint: "提示", noFile: "请先选择一个 PTX 文件。",
            step: "逐步查看一个线程束 (warp)", block: "线程块", warp: "线程束 (warp)", previous: "上一次", next: "下一次", show: "显示",
            execution: "第 {0} 次执行，共 {1} 次", none: "这个线程束 (warp) 在第 {0} 行没有访问内存。",
            global: "{0} 个 32 字节的扇区；至少需要 {1} 个", shared: "{0} 个 wavefront；至少需要 {1} 个", sector: "扇区", bank: "bank",
            phase: "在它之前的屏障：{0}", lane: "通道 (lane)", address: "地址", place: "位置",
            change: "这个核函数对 kernel.cu 的改动",
            box: "{0} 行、每行 {1} 字节的方框 (box)：全局内存中的 {2} 个 32 字节扇区",
            operand: "这个线程束 (warp) 为其 warpgroup 的一次乘法从 {0} 中读取的内容：{1} 行，每行 {2} 个 16 字节的块",
            unknown: "无法显示这个方框 (box) 来自何处：它的张量映射不是核函数的参数。",
            registers: "在第 {0} 行，线程束 (warp) 用自己寄存器中的内容做乘法：这里不显示它们是哪些元素；含有 ldmatrix 的行显示它们来自何处。",
            elsewhere: "这个线程束 (warp) 在第 {0} 行没有访问内存；这个线程块中有访问的线程束是：{1}。",
            turn: "第 {0} 行可以改动什么", without: "去掉 {0}", instead: "用 {1} 代替 {0}", turned: "第 {0} 行：{1}",
            same: "编译器生成相同的代码", refused: "编译器拒绝它",
            beside: "在同一问题上与随书核函数相比的变化",
            turnings: "带 ± 的行可以改动：去掉屏障、移动下标。选择一项，查看判定。",
            row: "行", from: "全局内存", outside: "在外面：已填充", chunks: "块：每块四个 bank，起始 bank 为",
        },
    };
    const T = { ...words.en, ...words[document.documentElement.lang] };
    const say = (text, ...values) => text.replace(/\{(\d)\}/g, (_, index) => values[index]);

    const lesson = /\/lesson(\d+)\.html$/.exec(location.pathname);
    const main = document.querySelector("main");
    if (!lesson || !main || !window.Worker) return;
    const up = document.documentElement.lang === "en" ? "" : "../";
    const root = new URL(`${path_to_root || "./"}${up}bench/`, location.href);

    const make = (tag, attributes = {}, ...children) => {
        const element = document.createElement(tag);
        for (const [name, value] of Object.entries(attributes)) {
            if (name in element && name !== "list") element[name] = value;
            else element.setAttribute(name, value);
        }
        element.append(...children);
        return element;
    };
    const labelled = (text, control) => make("label", {}, make("span", {}, text), control);
    const select = (options) => make("select", {}, ...options.map(([value, text]) => make("option", { value }, text)));

    // One worker; what is asked of it waits for its answer. To stop is to end it.
    let worker = null, waiting = new Map(), last = 0;
    function ask(message) {
        if (!worker) {
            worker = new Worker(new URL("worker.mjs", root), { type: "module" });
            worker.onmessage = ({ data }) => {
                waiting.get(data.id)?.(data);
                waiting.delete(data.id);
            };
            worker.onerror = (event) => { event.preventDefault(); end({ failed: T.missing }); };
        }
        const id = ++last;
        return new Promise((done) => { waiting.set(id, done); worker.postMessage({ ...message, id }); });
    }
    function end(answer) {
        worker?.terminate();
        worker = null;
        for (const done of waiting.values()) done(answer);
        waiting = new Map();
    }

    const status = make("p", { className: "bench-status", role: "status" });
    const opening = make("button", { type: "button", className: "bench-open" }, T.open);
    const body = make("div");
    const bench = make("section", { className: "bench", ariaLabel: T.title },
        make("h2", {}, T.title), make("p", {}, T.what), opening, status, body);
    const heading = main.querySelector("#run-it, [id=run-it]") ?? null;
    heading ? heading.before(bench) : main.append(bench);

    // The exercises' kernels: without their list, there are none to choose.
    async function variants() {
        try {
            const response = await fetch(new URL("variants/list.json", root));
            return response.ok ? await response.json() : [];
        } catch {
            return [];
        }
    }

    // What cannot run says so before anybody clicks.
    const cannot = (why) => { status.textContent = why; opening.disabled = true; };
    if (location.protocol === "file:") cannot(T.opened);
    else fetch(new URL("page.wasm.gz", root), { method: "HEAD" })
        .then((response) => { if (response.status === 404) cannot(T.missing); }, () => {});

    opening.onclick = async () => {
        opening.disabled = true;
        status.textContent = T.loading;
        const { answer, failed } = await ask({});
        if (!answer) { status.textContent = `${T.missing} (${failed})`; opening.disabled = false; return; }
        const others = await variants();
        opening.remove();
        build(answer, others);
    };

    function build(levels, variants) {
        // The lessons' titles in the page's language stand in the list of pages.
        const title = ({ number, title }) => {
            const listed = document.querySelector(`.sidebar a[href$="lesson${number}.html"]`)?.textContent ?? "";
            return `${number}: ${/[:：] *(.+)/.exec(listed)?.[1] ?? title}`;
        };
        const level = select(levels.map((one) => [one.number, title(one)]));
        level.value = lesson[1];
        const [m, n, k] = [..."mnk"].map(() =>
            make("input", { type: "number", min: "1", max: "4096", value: "64", required: true }));
        const dtype = select([]), configuration = select([]), kernel = select([]);
        const gpu = select(levels[0].gpus.map((name) => [name, name]));
        gpu.value = levels[0].gpus.find((name) => /h200/i.test(name)) ?? levels[0].gpus[0];
        const checks = make("input", { type: "checkbox", checked: true });
        const file = make("input", { type: "file", accept: ".ptx" });
        const how = make("a", { href: `${path_to_root || "./"}setup.html#ptx-of-your-own` }, T.how);
        const fileLabel = make("label", {}, make("span", {}, `${T.file} (`, how, ")"), file);
        const run = make("button", { type: "submit", className: "bench-run" }, T.run);
        const stop = make("button", { type: "button", className: "bench-stop", disabled: true }, T.stop);
        const form = make("form", {},
            labelled(T.level, level), labelled(T.dtype, dtype), labelled(T.configuration, configuration),
            labelled("M", m), labelled("N", n), labelled("K", k), labelled(T.gpu, gpu), labelled(T.kernel, kernel), fileLabel,
            make("label", { className: "bench-check" }, checks, make("span", {}, T.checks)),
            make("div", { className: "bench-buttons" }, run, stop));
        const result = make("div", { className: "bench-result" });
        body.append(form, result);

        let text = null;
        const one = () => levels.find((level_) => String(level_.number) === level.value);
        const fill = (control, options) => control.replaceChildren(...options.map(([value, name, selected]) =>
            make("option", { value, selected: Boolean(selected) }, name)));
        const tiles = (shipped) => Object.entries(shipped.tiles).map(([name, size]) => `${name}=${size}`).join(" ");
        const configurations = () => fill(configuration, one().shipped.map((shipped, index) => [shipped, index])
            .filter(([shipped]) => shipped.dtype === dtype.value)
            .map(([shipped, index]) => [index, `${shipped.variant} ${tiles(shipped)}`.trim(), shipped.default]));
        const choose = () => {
            fill(dtype, one().dtypes.map((name) => [name, name]));
            configurations();
            const others = variants.filter((other) => other.lesson === one().number)
                .map((other) => [other.id, other[document.documentElement.lang] ?? other.name]);
            fill(kernel, [["", T.shipped], ...others, ["own", T.own]]);
            fileLabel.hidden = true;
            // The default size runs in a moment, and shows more than one block, and of wide tiles more than one step.
            const wide = one().number > 10;
            [m.value, n.value, k.value] = wide ? [256, 256, 256] : [64, 64, 64];
        };
        for (const [name, control] of Object.entries({ level, dtype, configuration, m, n, k, gpu, kernel, file, checks })) control.name = name;
        choose();
        // Who chooses another level, type or configuration wants the level's own kernel there; PTX of one's own stays.
        const variant = () => variants.find((other) => other.id === kernel.value);
        // What a line of the kernel can be without: the one that was chosen last.
        let turned = null;
        const own = () => { if (variant() || kernel.value === "turned") kernel.value = ""; };
        level.onchange = choose;
        dtype.onchange = () => { configurations(); own(); };
        configuration.onchange = own;
        kernel.onchange = () => {
            fileLabel.hidden = kernel.value !== "own";
            const other = variant();
            if (!other) return;
            // A variant is compiled for one configuration, and does what it is there for on a problem of this size.
            dtype.value = other.dtype;
            configurations();
            const isIts = ({ tiles }) => Object.entries(other.tiles).every(([name, size]) => tiles[name] === size);
            if (other.tiles) configuration.value = one().shipped.findIndex((shipped) => shipped.dtype === other.dtype && isIts(shipped));
            [m.value, n.value, k.value] = other.size;
        };
        const turn = (index, row, switches) => {
            turned = { index, row, switches };
            kernel.querySelector("[value=turned]")?.remove();
            kernel.append(make("option", { value: "turned" }, say(T.turned, row.line, said(row))));
            kernel.value = "turned";
            fileLabel.hidden = true;
            dtype.value = switches.dtype;
            configurations();
            [m.value, n.value, k.value] = row.size;
            form.requestSubmit();
        };
        file.onchange = async () => { text = file.files[0] ? await file.files[0].text() : null; };
        form.ondragover = (event) => event.preventDefault();
        form.ondrop = async (event) => {
            event.preventDefault();
            if (!event.dataTransfer.files[0]) return;
            text = await event.dataTransfer.files[0].text();
            kernel.value = "own";
            fileLabel.hidden = false;
            status.textContent = event.dataTransfer.files[0].name;
        };

        let previous = null;
        stop.onclick = () => end({ stopped: true });
        form.onsubmit = async (event) => {
            event.preventDefault();
            const shipped = one().shipped[configuration.value];
            const request = {
                level: one().name, m: Number(m.value), n: Number(n.value), k: Number(k.value), dtype: shipped.dtype,
                tiles: shipped.tiles, gpu: gpu.value, sanitize: checks.checked, annotate: true,
            };
            const isTurned = kernel.value === "turned";
            if (isTurned) Object.assign(request, { dtype: turned.switches.dtype, tiles: turned.switches.tiles });
            else if (shipped.variant) request.variant = shipped.variant;
            const message = { request };
            const name = `${request.m} × ${request.n} × ${request.k}, ${kernel.selectedOptions[0].textContent}`;
            const other = variant();
            if (kernel.value === "own") {
                if (!text) { status.textContent = T.noFile; return; }
                request.ptx = text;
            } else if (isTurned) {
                message.turned = { lesson: one().number, index: turned.index };
            } else if (other) {
                message.file = `variants/${other.id}.ptx`;
                message.change = other.change;
            } else {
                message.file = `${one().name}/${shipped.file}`;
            }
            run.disabled = true;
            stop.disabled = false;
            status.textContent = T.running;
            const { answer, failed, stopped, seconds, change } = await ask(message);
            // Another kernel is held against the shipped one, on the same problem.
            const isOther = answer && !answer.error && (isTurned || other);
            const shippedOne = { request, ...(isTurned ? { turned: { lesson: one().number } } : { file: `${one().name}/${shipped.file}` }) };
            const beside = isOther ? (await ask(shippedOne)).answer : null;
            run.disabled = false;
            stop.disabled = true;
            status.textContent = stopped ? T.stopped : failed ?? say(T.done, seconds.toFixed(2));
            if (!answer) return;
            const source = answer.source ?? one().source;
            const before = !isOther ? previous && { ...previous, title: say(T.changed, previous.name) }
                : beside && !beside.error ? { ...beside, title: T.beside } : null;
            result.replaceChildren(...(change ? [changed(change)] : []),
                ...(answer.error ? wrong(answer.error, source) : right(answer, before, message, source)));
            if (!answer.error) previous = { ...answer, name };
            // A text with a change in it has no further ones, but lines keep their numbers: the shipped text's are offered.
            if (!change || isTurned) offer(one().number, result, turn);
        };
        form.requestSubmit();
    }

    const said = ({ before, after }) =>
        after.trim() === ";" || after === "" ? say(T.without, before.trim()) : say(T.instead, before.trim(), after.trim());

    // The lines of the kernel that can be changed get a sign; who clicks there sees what for, and turns one of the switches.
    async function offer(lesson, result, turn) {
        const { switches } = await ask({ turned: { lesson } });
        const box = result.querySelector(".bench-lines");
        if (!switches || !box) return;
        const byLine = Map.groupBy ? Map.groupBy(switches.rows.map((row, index) => ({ row, index })), ({ row }) => row.line) : new Map();
        box.before(make("p", {}, T.turnings));
        box.classList.add("bench-turns");
        for (const row of box.querySelectorAll("tbody tr")) {
            const line = Number(row.cells[0].textContent), rows = byLine.get(line);
            if (!rows) continue;
            const button = make("button", { type: "button", className: "bench-turn", ariaLabel: say(T.turn, line), ariaExpanded: "false" });
            button.onclick = () => {
                const isOpen = row.nextElementSibling?.classList.contains("bench-offers");
                button.ariaExpanded = String(!isOpen);
                if (isOpen) row.nextElementSibling.remove();
                else row.after(make("tr", { className: "bench-offers" }, make("td", { colSpan: row.cells.length }, ...rows.map(choice))));
            };
            row.cells[row.cells.length - 1].prepend(button);
        }
        const choice = ({ row, index }) => make("button", {
            type: "button", disabled: !row.size, title: row.size ? "" : T[row.ends], onclick: () => turn(index, row, switches),
        }, row.size ? said(row) : `${said(row)} (${T[row.ends]})`);
    }

    const pre = (text, kind = "report") => make("pre", { tabIndex: 0, className: `bench-${kind}` }, text);

    // Of a diff, what stands behind the names of the files.
    const changed = (change) => make("details", { className: "bench-diff" }, make("summary", {}, T.change),
        pre(change.slice(change.indexOf("@@"))));

    // A source's lines with their numbers, without the marks of the parts that the book shows.
    const numbered = (source) => source.trimEnd().split("\n").map((code, index) => [index + 1, code])
        .filter(([, code]) => !/^\s*\/\/ ANCHOR/.test(code));

    // A fault names lines of the source, the first the place itself, another the other side.
    function wrong({ kind, message, hint }, source) {
        const parts = [make("h3", {}, kind === "fault" ? T.fault : T.error), pre(message, kind)];
        if (hint) parts.push(make("p", {}, `${T.hint}: ${hint}`));
        const lines = new Set([...message.matchAll(/kernel\.cu:(\d+)/g)].map((found) => Number(found[1])));
        if (lines.size > 0) {
            const rows = new Map(numbered(source).map(([line, code]) => [line, make("tr", { className: lines.has(line) ? "bench-fault" : "" },
                make("td", {}, String(line)), make("td", {}, make("code", {}, code)))]));
            const box = make("div", { className: "bench-lines", tabIndex: 0 }, make("table", {}, make("tbody", {}, ...rows.values())));
            parts.push(box);
            requestAnimationFrame(() => {
                const marked = rows.get(lines.values().next().value);
                if (marked) box.scrollTop = marked.offsetTop - box.clientHeight / 2;
            });
        }
        return parts;
    }

    function right(answer, previous, message, source) {
        const parts = [make("h3", {}, T.report), pre((answer.note ? `${answer.note}\n` : "") + answer.text)];
        if (previous) parts.push(make("h3", {}, previous.title), changes(previous, answer));
        parts.push(make("h3", {}, T.lines), make("p", {}, T.pick), heat(answer, message, source));
        return parts;
    }

    // Of the report's numbers those that were counted.
    function changes(previous, answer) {
        const counted = ({ report }) => report.numbers.filter((number) => number.is === "counted");
        const before = new Map(counted(previous).map(({ name, value }) => [name, value]));
        const rows = counted(answer).filter(({ name, value }) => before.get(name) !== value)
            .map(({ name, value }) => [name, before.get(name) ?? "", value]);
        if (rows.length === 0) return make("p", {}, T.unchanged);
        const head = [T.counter, T.before, T.now];
        return table(head, rows, "bench-changes");
    }

    const number = (value) => typeof value === "number" ? value.toLocaleString("en") : String(value);
    function table(head, rows, className) {
        return make("div", { className: `table-wrapper ${className}` }, make("table", {},
            make("thead", {}, make("tr", {}, ...head.map((text) => make("th", {}, text)))),
            make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((text) => make("td", {}, number(text))))))));
    }

    // All lines of the source; beside those that have counters, what the report's lines say of them.
    function heat({ annotated, report }, message, source) {
        // Products and bulk copies are counted apart.
        const has = (kind) => new Set(report.facts.emulator.lines.filter(({ counters }) => counters[kind]).map(({ line }) => line));
        const [products, copies] = [has("tensor"), has("bulk")];
        const counted = new Map(), stepping = make("div", { className: "bench-step" });
        for (const text of annotated.split("\n")) {
            // A share, an empty or a filled cell for each kind of access, and the line's number.
            const found = /^(.{6}) (.{14}) (.{15}) +(\d+) \|/.exec(text);
            if (found) counted.set(Number(found[4]), found.slice(1, 4).map((part) => part.trim()));
        }
        const rows = numbered(source).map(([line, code]) => {
            const [share, sectors, wavefronts] = counted.get(line) ?? ["", "", ""];
            const isProduct = products.has(line), isCopy = copies.has(line);
            const isAccess = sectors || wavefronts || isProduct || isCopy;
            const nothing = say(isProduct ? T.registers : T.none, line);
            const place = isAccess
                ? make("button", { type: "button", onclick: () => step(line, message, stepping, nothing) }, String(line)) : String(line);
            const row = make("tr", {}, make("td", {}, place), make("td", {}, share), make("td", {}, sectors), make("td", {}, wavefronts),
                make("td", {}, make("code", {}, code)));
            const heat = Math.min(1, (Number.parseFloat(share) || 0) / 20);
            row.style.setProperty("--heat", `${Math.round(heat * 45)}%`);
            return row;
        });
        const head = [T.line, T.instructions, T.sectors, T.wavefronts, T.code].map((text) => make("th", {}, text));
        const lines = make("div", { className: "bench-lines", tabIndex: 0 },
            make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)));
        // The first line that can be chosen, or has counters: what is above is comment and helpers, mostly.
        const first = rows.find((row) => row.querySelector("button")) ?? rows.find((row) => row.cells[1].textContent);
        requestAnimationFrame(() => { if (first) lines.scrollTop = first.offsetTop - 2 * first.offsetHeight; });
        return make("div", {}, lines, stepping);
    }

    function step(line, message, place, nothing) {
        const number = (name) => [name, make("input", { type: "number", min: "0", value: "0" })];
        const inputs = ["x", "y", "z"].map(number), [, warp] = number("warp");
        const show = make("button", { type: "submit" }, T.show);
        const form = make("form", {}, ...inputs.map(([name, input]) => labelled(`${T.block} ${name}`, input)), labelled(T.warp, warp), show);
        const out = make("div");
        // The line is shown first where some warp of the block is on it.
        let isFirst = true;
        place.replaceChildren(make("h3", {}, `${T.step}: ${T.line} ${line}`), form, out);
        form.onsubmit = async (event) => {
            event.preventDefault();
            const request = {
                ...message.request, annotate: false,
                step: { block: inputs.map(([, input]) => Number(input.value)), warp: Number(warp.value), line },
            };
            show.disabled = true;
            const { answer, failed, stopped } = await ask({ ...message, request });
            show.disabled = false;
            const isElsewhere = isFirst && answer?.executions?.length === 0 && answer.warps.length > 0;
            isFirst = false;
            if (isElsewhere) {
                warp.value = String(answer.warps[0]);
                form.requestSubmit();
                return;
            }
            if (!answer) out.textContent = stopped ? T.stopped : failed;
            else if (answer.error) out.replaceChildren(...wrong(answer.error, ""));
            else if (answer.executions.length === 0) out.textContent = answer.warps.length > 0 ? say(T.elsewhere, line, answer.warps.join(", ")) : nothing;
            else walk(answer, out);
        };
        form.requestSubmit();
        place.scrollIntoView({ block: "nearest" });
    }

    // A row of a box, or a line of an operand: where it lies in global memory, and which banks each of its chunks of 16 bytes has.
    function rowsOf({ what, rows }) {
        if (what === "unknown") return [make("p", {}, T.unknown)];
        const sectors = rows.map(([, from]) => from ? Math.ceil((from[2] + from[3]) / 32) - Math.floor(from[2] / 32) : 0);
        const wide = rows[0][0].length, isBox = what === "box";
        const text = isBox ? say(T.box, rows.length, 16 * wide, sectors.reduce((all, one) => all + one, 0)) : say(T.operand, what, rows.length, wide);
        const banks = (chunks) => chunks.map((chunk) => chunk / 4 % 32).join(" ");
        const cells = rows.map(([chunks, from], index) => [index, ...(isBox ? [from ? `${from[0]} + ${from[1]}` : T.outside] : []),
            `0x${Math.min(...chunks).toString(16)}`, banks(chunks)]);
        return [make("p", {}, text), table([T.row, ...(isBox ? [T.from] : []), T.address, T.chunks], cells, "bench-lanes")];
    }

    function walk({ executions, found }, out) {
        let at = 0;
        const move = (by) => make("button", { type: "button", onclick: () => { at += by; draw(); } }, by < 0 ? T.previous : T.next);
        const [back, on] = [move(-1), move(1)];
        const title = make("span", { role: "status" }), picture = make("div");
        out.replaceChildren(make("div", { className: "bench-buttons" }, back, on, title), picture);
        function draw() {
            const { opcode, memory, bytes, cost, lanes, phase, touched } = executions[at];
            back.disabled = at === 0;
            on.disabled = at + 1 === executions.length;
            title.textContent = say(T.execution, at + 1, found);
            if (touched) { picture.replaceChildren(make("p", {}, make("code", {}, opcode), ` (${say(T.phase, phase)})`), ...rowsOf(touched)); return; }
            const price = cost ? `: ${say(memory === "global" ? T.global : T.shared, ...cost)}` : "";
            // Each lane's bytes, by sector of 32 bytes, or by bank of 4.
            const isGlobal = memory === "global", groups = new Map();
            for (const [lane, , , address] of lanes) {
                const unit = isGlobal ? 32 : 4;
                for (let one = Math.floor(address / unit); one * unit < address + bytes; one++) {
                    const group = isGlobal ? one : one % 32;
                    if (!groups.has(group)) groups.set(group, []);
                    groups.get(group).push([lane, one]);
                }
            }
            // Wide accesses take several passes without a conflict, too: only what costs more than it must is marked.
            const isCostly = !isGlobal && cost !== null && cost[0] > cost[1];
            const first = Math.min(...groups.keys());
            const cells = [...groups].sort(([a], [b]) => a - b).map(([group, members]) => {
                const apart = new Set(members.map(([, one]) => one)).size;
                return make("li", { className: isCostly && apart > 1 ? "bench-conflict" : "" },
                    make("b", {}, `${isGlobal ? T.sector : T.bank} ${isGlobal ? `+${group - first}` : group}`),
                    make("span", {}, members.map(([lane]) => lane).join(" ")));
            });
            picture.replaceChildren(make("p", {}, make("code", {}, opcode), ` (${say(T.phase, phase)})${price}`),
                make("ol", { className: "bench-cells" }, ...cells),
                table([T.lane, T.place, T.address], lanes.map(([lane, array, offset, address]) =>
                    [lane, `${array} + ${offset}`, `0x${address.toString(16)}`]), "bench-lanes"));
        }
        draw();
    }
})();
