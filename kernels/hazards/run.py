#!/usr/bin/env python3
"""Runs the kernels of this folder under checkers and on a GPU, and writes what comes out as CSV and as the tables of README.md and
of the book."""

import argparse
import concurrent.futures
import csv
import datetime
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

import gpu
import heads

RESULTS = heads.FOLDER / "results"
COLUMNS = ["kernel", "verdict", "checker", "version", "outcome", "kind", "lines", "words"]
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
# What a checker's own name for a fault has in it, by the kinds of this folder. The first that fits counts.
KINDS = [
    ("register", r"regist|wgmma|accumulator|warpgroup"),
    ("proxy", r"prox|fence|tensor.?map"),
    ("lifetime", r"exit|ended|left|outliv|lifetime|pending|drain|expired|in.?flight|peer|cluster"),
    ("race", r"race|hazard|conflict|unordered"),
    ("uninitialised", r"uninit|unwritten|never.?written|nobody|unset|undefined"),
    ("hang", r"hang|stuck|deadlock|endless|never|limit|loop|timeout"),
    ("barrier", r"barrier|arriv|parity|phase|mask|lane|diverg|transaction|tx|invalid arg|register count"),
]
# Of a wrong kernel, the clearest first.
OUTCOMES = ["convicted", "convicted, other kind", "elsewhere", "result only", "warned", "silent"]
BEGIN, END = "<!-- made by run.py --table -->", "<!-- end -->"


def run_in_time(command, seconds, **options):
    """The output and the exit code, or None for that if the time was over: the whole process group is ended then."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace", start_new_session=True, **options)
    try:
        out, err = process.communicate(timeout=seconds)
        return out, err, process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        try:
            out, err = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:  # a process whose kernel does not end may take its time
            out, err = "", ""
        return out, err, None


def kind_of(words):
    """The kind that a checker's words stand for, or their own."""
    return next((kind for kind, pattern in KINDS if re.search(pattern, words, re.IGNORECASE)), words)


def classified(kernel, alarms, warnings=()):
    """The outcome, the kind and the lines: alarms and warnings are pairs of a kind and the lines that it names."""
    def row(outcome, found):
        return outcome, "; ".join(dict.fromkeys(kind for kind, _ in found)), " ".join(str(line) for line in sorted(
            {line for _, lines in found for line in lines}))

    if kernel.verdict == "right":
        return row("false alarm", alarms) if alarms else row("warned", warnings) if warnings else ("clean", "", "")
    at_line = [alarm for alarm in alarms if kernel.marked & set(alarm[1])]
    exact = [alarm for alarm in at_line if kind_of(alarm[0]) in kernel.kinds]
    for outcome, found in (("convicted", exact), ("convicted, other kind", at_line), ("elsewhere", alarms), ("warned", warnings)):
        if found:
            return row(outcome, found)
    return "silent", "", ""


def lab(kernel, program, seconds):
    """`lab sanitize`, by its JSON."""
    command = [program, "sanitize", kernel.path, *kernel.words, "--instruction-limit", "10000000", "--json"]
    out, err, code = run_in_time(command, seconds)
    if code is None:
        return "timeout", "", "", ""
    try:
        outcome = json.loads(out)
    except ValueError:
        return "refused", "", "", (err.strip() or out.strip())[:300]

    def found(fault):
        sites = [fault.get("site"), *(fault.get("other") or []), *(site for _, site in fault.get("also", []))]
        lines = {site["source"][1] for site in sites if isinstance(site, dict) and site.get("source")}
        return ", ".join(filter(None, (fault["kind"], fault.get("cause")))), lines

    # What a store put into a buffer though nobody had written it stands with the buffer.
    stores = [buffer["store"] for buffer in outcome["unwritten"] if buffer.get("store")]
    outcome["faults"] += stores
    alarms, warnings = ([found(fault) for fault in outcome[key]] for key in ("faults", "warnings"))
    unexpected = [expected["expected"] for expected in outcome["expected"] if not expected["holds"]]
    words = "; ".join([fault["message"] for fault in outcome["faults"] + outcome["warnings"]] + [f"not {text}" for text in unexpected])
    unwritten = outcome["unwritten"]
    if not alarms and (unexpected or unwritten):
        outcome = ("convicted" if "result" in kernel.kinds else "result only") if kernel.verdict == "wrong" else "false alarm"
        return outcome, "result", "", words or "never written"
    return *classified(kernel, alarms, warnings), words


def other(kernel, program, seconds):
    """Any program that takes `FILE --grid … --arg …`, names lines as `FILE.cu:12`, and ends with 0 where it finds nothing."""
    out, err, code = run_in_time([*shlex.split(program), kernel.path, *kernel.words], seconds)
    text = out + err
    if code is None:
        return "timeout", "", "", ""
    lines = {int(line) for line in re.findall(re.escape(kernel.path.name) + r":(\d+)", text)}
    if code not in (0, 1):
        return "refused", "", "", text.strip()[:300]
    named = [kind for kind, pattern in KINDS if re.search(pattern, text, re.IGNORECASE)]
    kind = next((kind for kind in named if kind in kernel.kinds), (named or ["?"])[0])
    return *classified(kernel, [(kind, lines)] if code else []), text.strip()[:300]


def sanitizer(kernel, tool, seconds, cache, port):
    """One tool of compute-sanitizer, with its defaults, around one launch. Several at once need a port each."""
    command = ["compute-sanitizer", *port, "--tool", tool, sys.executable, heads.FOLDER / "gpu.py", kernel.path, 0, 0]
    out, err, code = run_in_time(command, seconds, env={**os.environ, "HAZARDS_CODE": str(cache)})
    text = out + err
    said = [line[9:].strip() for line in text.splitlines() if line.startswith("=========")]
    heading = re.compile(r"(Error|Warning): |^(Invalid|Uninitialized|Barrier error|Program hit|Out-of-range|Unable)")
    alarms, warnings, current = [], [], None
    for line in said:
        if heading.search(line):
            current = (line, set())
            (warnings if line.startswith("Warning") else alarms).append(current)
        if current:
            current[1].update(int(at) for at in re.findall(r"\.cu:(\d+)", line))
    words = " / ".join(dict.fromkeys(line for line, _ in alarms + warnings))[:400]
    short = lambda found: [(kind_of(line.split(" at ")[0]), lines) for line, lines in found]
    if code is None and not alarms:
        return "timeout", "", "", words
    if not said:
        return "refused", "", "", text.strip()[:300]
    return *classified(kernel, short(alarms), short(warnings)), words


def on_gpu(kernel, launches, seconds, cache):
    """Launches in a process of their own, whose outputs are compared."""
    command = [sys.executable, heads.FOLDER / "gpu.py", kernel.path, launches, seconds / 2]
    out, err, code = run_in_time(command, seconds, env={**os.environ, "HAZARDS_CODE": str(cache)})
    try:
        outcome = json.loads(out.splitlines()[-1])
    except (ValueError, IndexError):
        return ("hang", "", "", "the process did not end") if code is None else ("refused", "", "", err.strip()[-300:])
    counts = {"right": outcome["launches"], "wrong": f"{outcome['wrong']}/{outcome['launches']}"}
    counted = counts.get(outcome["outcome"], f"at launch {outcome['launches'] + 1}")
    return f"{outcome['outcome']} {counted}", "", "", outcome["words"]


def version_of(command, pattern):
    out, err, _ = run_in_time(command, 20)
    found = re.search(pattern, out + err)
    return found[0] if found else "?"


def write(rows, name, folder):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{datetime.date.today()}-{name}.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(sorted(rows))
    return path


def judge(jobs, workers, name, folder):
    """Runs all jobs, each a kernel, a checker's name, its version and a function, and keeps their CSV up to date.

    Kernels that may not end come last: while they spin on a GPU, the others wait for it."""
    rows = []
    jobs = sorted(jobs, key=lambda job: "hang" in job[0].kinds)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        started = {pool.submit(function, kernel): (kernel, checker, version) for kernel, checker, version, function in jobs}
        for done in concurrent.futures.as_completed(started):
            kernel, checker, version = started[done]
            row = [kernel.name, kernel.verdict, checker, version, *done.result()]
            row[-1] = " ".join(str(row[-1]).split())
            rows.append(row)
            path = write(rows, name, folder)
            print(row[0], row[2], *row[4:7], sep="  ", file=sys.stderr)
    if rows:
        print(path)


def compiled(kernels, arch):
    """A folder with the kernels' machine code."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hazards-"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for kernel, code in zip(kernels, pool.map(lambda kernel: gpu.compile_kernel(kernel, arch), kernels)):
            (folder / kernel.name).write_bytes(code)
    return folder


def arch_here():
    """The GPU's architecture, asked in another process: this one is to hold no context."""
    question = "import gpu; g = gpu.Gpu(); print(g.arch); print(g.name)"
    out, err, code = run_in_time([sys.executable, "-c", question], 60, cwd=heads.FOLDER)
    if code != 0:
        sys.exit(f"error: no GPU: {err.strip().splitlines()[-1] if err.strip() else code}")
    return out.splitlines()[:2]


def best(kernel, rows):
    """What several tools together say of a kernel: the clearest word on a wrong one, the worst on a right one."""
    order = OUTCOMES if kernel.verdict == "wrong" else ["false alarm", "warned", "clean"]
    found = [row["outcome"] for row in rows if row and row["outcome"] in order]
    return {"verdict": kernel.verdict, "version": "", "outcome": min(found, key=order.index) if found else ""}


def tables():
    """The newest results of each checker: counts, and a line for each kernel."""
    rows = {}
    for path in sorted(RESULTS.glob("*.csv")):
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                rows.setdefault(row["checker"], {})[row["kernel"]] = row
    if not rows:
        return "Not run yet.", ""
    kernels = heads.all_kernels()
    shown = sorted(rows, key=lambda checker: (checker != "gpu", checker in TOOLS, checker))
    if set(TOOLS) <= set(rows):
        rows["the best of these four"] = {kernel.name: best(kernel, [rows[tool].get(kernel.name) for tool in TOOLS]) for kernel in kernels}
    checkers = [checker for checker in [*shown, "the best of these four"] if checker in rows and checker != "gpu"]
    known = {kernel.name for kernel in kernels}
    outcomes = OUTCOMES
    lines = ["| checker | " + " | ".join(outcomes) + " | not run | right: clean | warned | false alarm | not run |",
             "|---|" + "---:|" * (len(outcomes) + 5)]
    for checker in checkers:
        found = [row for name, row in rows[checker].items() if name in known]
        count = lambda verdict, outcome: sum(row["verdict"] == verdict and row["outcome"] == outcome for row in found)
        wrong = [count("wrong", outcome) for outcome in outcomes]
        right = [count("right", outcome) for outcome in ("clean", "warned", "false alarm")]
        totals = [sum(kernel.verdict == verdict for kernel in kernels) for verdict in ("wrong", "right")]
        cells = [*wrong, totals[0] - sum(wrong), *right, totals[1] - sum(right)]
        version = found[0]["version"] if found else ""
        lines.append(f"| {checker}{version and ', '}{version} | " + " | ".join(str(cell) for cell in cells) + " |")
    if "gpu" in rows:
        found = [row["outcome"] for row in rows["gpu"].values() if row["verdict"] == "wrong"]
        silent = [outcome for outcome in found if outcome.startswith("right")]
        version = next(iter(rows["gpu"].values()))["version"]
        launches = "/".join(sorted({outcome.split()[1] for outcome in silent}))
        lines += ["", f"On an {version}, {len(silent)} of the {len(found)} wrong kernels gave the right result in every one of {launches} launches, "
                  "and so did each of the right ones." if all(row["outcome"].startswith("right") for row in rows["gpu"].values()
                  if row["verdict"] == "right") else f"GPU: {version}."]
    counts = "\n".join(lines)
    lines = ["| kernel | " + " | ".join(["is", *shown]) + " |", "|---|---|" + "---|" * len(shown)]
    for kernel in kernels:
        cells = [rows[checker].get(kernel.name, {}).get("outcome", "") for checker in shown]
        lines.append(f"| [{kernel.name}]({kernel.path.name}) | {kernel.verdict} | " + " | ".join(cells) + " |")
    return counts, "\n".join(lines)


def written():
    """The files that have the tables, with what they are to hold."""
    readme = heads.FOLDER / "README.md"
    counts, each = tables()
    before, rest = readme.read_text().split(BEGIN)
    made = "<!-- made by `python3 kernels/hazards/run.py --table` from the results beside it -->\n"
    return {readme: f"{before}{BEGIN}\n\n{counts}\n\n{each}\n\n{END}{rest.split(END)[1]}",
            heads.FOLDER.parents[1] / "book/generated/hazards.md": f"{made}\n{counts}\n"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checker", metavar="NAME=COMMAND", help="a checker: lab=PATH, or any that takes FILE and the launch's words")
    parser.add_argument("--gpu", type=int, metavar="LAUNCHES", help="launch each kernel so often on the GPU")
    parser.add_argument("--sanitizer", action="store_true", help="run each kernel under compute-sanitizer's four tools")
    parser.add_argument("--compile", metavar="ARCH", help="compile all kernels for this architecture, as sm_90a, and run nothing")
    parser.add_argument("--table", action="store_true", help="write the tables into README.md and the book, and print the counts")
    parser.add_argument("--check", action="store_true", help="fail where the tables are not what the results say")
    parser.add_argument("--only", default="", metavar="WORD", help="only kernels whose name has this in it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="kernels at once [default: the processor's threads]")
    parser.add_argument("--seconds", type=float, help="limit of one run [default: 60; on the GPU, 20]")
    parser.add_argument("--name", help="the name of the CSV file [default: the checker's]")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS, help="the folder of the CSV files")
    given = parser.parse_args()
    kernels = heads.all_kernels(given.only)
    if given.compile:
        shutil.rmtree(compiled(kernels, given.compile))
        print(f"{len(kernels)} kernels compile for {given.compile}")
    if given.checker:
        name, _, command = given.checker.partition("=")
        function, seconds = (lab if name == "lab" else other), given.seconds or 60
        version = version_of([*shlex.split(command)[:1], "--version"], r"\d[\w.]+")
        jobs = [(kernel, name, version, lambda kernel: function(kernel, command, seconds)) for kernel in kernels]
        judge(jobs, given.jobs, given.name or name, given.out)
    if given.gpu or given.sanitizer:
        arch, device = arch_here()
        cache = compiled(kernels, arch)
        if given.gpu:
            seconds = given.seconds or 20
            jobs = [(kernel, "gpu", device, lambda kernel: on_gpu(kernel, given.gpu, seconds, cache)) for kernel in kernels]
            judge(jobs, min(given.jobs, 8), given.name or "gpu", given.out)
        if given.sanitizer:
            seconds = given.seconds or 60
            version = version_of(["compute-sanitizer", "--version"], r"Version [\d.]+")
            flags = run_in_time(["compute-sanitizer", "--help"], 20)[0]
            flag = next((flag for flag in ("--base-port", "--port") if re.search(rf"{flag}\b", flags)), None)
            runs = [(tool, kernel) for tool in TOOLS for kernel in kernels]
            ports = [[flag, 20000 + 16 * number] if flag else [] for number in range(len(runs))]
            jobs = [(kernel, tool, version, lambda kernel, tool=tool, port=port: sanitizer(kernel, tool, seconds, cache, port))
                    for (tool, kernel), port in zip(runs, ports)]
            judge(jobs, given.jobs, given.name or "sanitizer", given.out)
        shutil.rmtree(cache)
    if given.table:
        for path, text in written().items():
            path.write_text(text)
        print(tables()[0])
    if given.check:
        stale = [str(path) for path, text in written().items() if not path.exists() or path.read_text() != text]
        if stale:
            sys.exit(f"error: {', '.join(stale)} is not what the results say\nhint: `python3 kernels/hazards/run.py --table`")
    if not any((given.compile, given.checker, given.gpu, given.sanitizer, given.table, given.check)):
        parser.error("nothing to do: --checker, --gpu, --sanitizer, --compile, --table or --check")


if __name__ == "__main__":
    try:
        main()
    except (gpu.Failed, OSError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        sys.exit(2)
