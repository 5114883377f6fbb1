"""The heads of the kernels: what is wrong, where, and the launch, as `lab sanitize --help` writes launches."""

import math
import pathlib
import re
import shlex
import struct

FOLDER = pathlib.Path(__file__).resolve().parent
FIELDS = ("hazard", "source", "verdict", "wrong at", "order", "why", "expect", "launch")
FORMATS = {
    "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q", "f16": "e", "f32": "f", "f64": "d",
}


class Kernel:
    """One file."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.name = self.path.stem
        self.text = self.path.read_text()
        fields = {name: [] for name in FIELDS}
        for line in self.text.splitlines():
            found = re.match(r"// ([a-z ]+): (.*)", line)
            if not found:
                break
            if found[1] not in fields:
                raise ValueError(f"{self.name}: the head has no field {found[1]}")
            fields[found[1]].append(found[2])
        self.hazard, self.source, self.verdict = (" ".join(fields[name]) for name in FIELDS[:3])
        self.kinds = " ".join(fields["expect"]).split(" | ")
        self.words = shlex.split(" ".join(fields["launch"]))
        lines = list(enumerate(self.text.splitlines(), 1))
        self.here = {number for number, line in lines if "// <-- here" in line}
        self.marked = self.here | {number for number, line in lines if "// <-- with" in line}
        self._check(fields)
        self._launches()

    def _check(self, fields):
        wrong = self.verdict == "wrong"
        if self.verdict not in ("wrong", "right") or len(self.here) != wrong or bool(fields["wrong at"]) != wrong:
            raise ValueError(f"{self.name}: a wrong kernel has one line marked `// <-- here`, a right one none")
        if wrong and not any(fields["wrong at"][0] in self.text.splitlines()[at - 1] for at in self.here):
            raise ValueError(f"{self.name}: `wrong at` is not the marked line")
        if not all((self.hazard, self.source, self.words)) or not (fields["order"] or fields["why"]):
            raise ValueError(f"{self.name}: a field of the head is missing")

    def _launches(self):
        """The launches: those before the first --launch are common to all."""
        self.arch, self.expects = None, []
        groups = [{"entry": None, "grid": None, "block": None, "shared": "0", "args": []}]
        for flag, value in zip(self.words[::2], self.words[1::2]):
            if flag == "--launch":
                groups.append({"entry": value, "args": []})
            elif flag == "--arg":
                groups[-1]["args"].append(value)
            elif flag in ("--grid", "--block", "--shared"):
                groups[-1][flag[2:]] = value
            elif flag == "--expect":
                part, content = value.split("=", 1)
                self.expects.append((part, content))
            elif flag == "--arch":
                self.arch = value
            else:
                raise ValueError(f"{self.name}: the launch has an unknown flag {flag}")
        common, own = groups[0], groups[1:] or [{"args": []}]
        self.launches = [{**common, **group, "args": common["args"] + group["args"]} for group in own]
        self.buffers = {}  # by name: type, count, content or None
        for launch in self.launches:
            launch["entry"] = launch["entry"] or "kernel"
            launch["args"] = [self._argument(word) for word in launch["args"]]

    def _argument(self, word):
        """("buffer", name), ("number", packed bytes) or ("map", name, shape, box)."""
        found = re.fullmatch(r"(\w+):map\((\w+)\[([\dx]+)\],box=([\dx]+)\)(?:=(.*))?", word)
        if found:
            name, kind, content = found[1], found[2], found[5]
            shape, box = ([int(side) for side in text.split("x")] for text in (found[3], found[4]))
            self.buffers.setdefault(name, (kind, math.prod(shape), content))
            return "map", name, shape, box
        found = re.fullmatch(r"(\w+):(\w+)\[(\d+)\](?:=(.*))?", word)
        if found:
            self.buffers.setdefault(found[1], (found[2], int(found[3]), found[4]))
            return "buffer", found[1]
        found = re.fullmatch(r"\w+:(\w+)=(.*)", word)
        if found:
            return "number", contents(found[1], 1, found[2])
        if word in self.buffers:
            return "buffer", word
        raise ValueError(f"{self.name}: unknown argument {word}")

    def expected(self):
        """Of each expectation: the buffer, the first byte, the bytes, the size of an element."""
        for part, content in self.expects:
            found = re.fullmatch(r"(\w+)(?:\[(\d+)\.\.(\d+)\])?", part)
            kind, count, _ = self.buffers[found[1]]
            begin, end = (int(found[2]), int(found[3])) if found[2] else (0, count)
            size = struct.calcsize(FORMATS[kind])
            yield found[1], begin * size, contents(kind, end - begin, content), size


def contents(kind, count, content):
    """The bytes of `count` elements: zeros, ones, range, {1,2,3} or a number."""
    if content.startswith("{"):
        values = [float(value) for value in content[1:-1].split(",")]
    elif content == "range":
        values = range(count)
    else:
        values = [{"zeros": 0, "ones": 1}.get(content) if content in ("zeros", "ones") else float(content)] * count
    if len(values) != count:
        raise ValueError(f"{content}: {len(values)} values for {count} elements")
    convert = float if kind.startswith("f") else int
    return struct.pack(f"<{count}{FORMATS[kind]}", *(convert(value) for value in values))


def all_kernels(pattern=""):
    """All kernels whose name has this in it."""
    return [Kernel(path) for path in sorted(FOLDER.glob("*.cu")) if pattern in path.stem]
