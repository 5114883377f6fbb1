"""What PTX instructions give, from the manual's definitions: exact rational arithmetic, rounded once. Where the
manual leaves a result open (bits of a NaN, a quotient by zero, fields beyond 64 bits), what an H200 gives.

Writes `forms.ptx`, one small kernel per instruction form, beside itself or into another folder, and `cases.txt` with inputs
and the results that must come out; `cargo x pack` packs each. It shares nothing with the emulator, which it is the judge of.

    python3 reference.py [FOLDER]
"""
import math
import os
import random
import re
import sys
from fractions import Fraction as Q

HERE = os.path.dirname(os.path.abspath(__file__))
RANDOM = random.Random(20)

# --- Floating-point formats: bits, precision, lowest exponent, bits of the tail that are not used.
FORMATS = {
    "f16": (16, 11, -14, 0), "bf16": (16, 8, -126, 0), "f32": (32, 24, -126, 0),
    "f64": (64, 53, -1022, 0), "tf32": (32, 11, -126, 13), "e4m3": (8, 4, -6, 0), "e5m2": (8, 3, -14, 0),
}
NAN = {"e4m3": 0x7F, "e5m2": 0x7F, "f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "tf32": 0x7FFFE000, "f64": 0xFFF8000000000000}


def sign_of(fmt, bits):
    return bits >> (FORMATS[fmt][0] - 1) & 1


def infinity(fmt, sign):
    width, p, _, tail = FORMATS[fmt]
    return (sign << (width - 1)) | ((1 << (width - p - tail)) - 1) << (p - 1 + tail)


def value(fmt, bits):
    """A Fraction, or 'nan', 'inf', '-inf'."""
    width, p, low, tail = FORMATS[fmt]
    bits >>= tail
    sign, biased = bits >> (width - tail - 1), bits >> (p - 1) & ((1 << (width - tail - p)) - 1)
    fraction = bits & ((1 << (p - 1)) - 1)
    if fmt == "e4m3":
        # No infinities: the largest exponent is one like others, but for all ones.
        return "nan" if bits & 0x7F == 0x7F else scaled(fmt, sign, biased, fraction)
    if biased == (1 << (width - tail - p)) - 1:
        return "nan" if fraction else ("-inf" if sign else "inf")
    return scaled(fmt, sign, biased, fraction)


def scaled(fmt, sign, biased, fraction):
    _, p, low, _ = FORMATS[fmt]
    exponent = max(biased, 1) - 1 + low - (p - 1)
    number = (fraction + ((1 << (p - 1)) if biased else 0)) * (Q(2) ** exponent)
    return -number if sign else number


def to_integer(number, mode):
    floor = math.floor(number)
    rest = number - floor
    if rest == 0:
        return floor
    if mode in ("rn", "rna"):
        if rest != Q(1, 2):
            return floor + (rest > Q(1, 2))
        if mode == "rna":
            return floor + (number > 0)
        return floor + (floor & 1)
    return floor + {"rm": 0, "rp": 1, "rz": int(number < 0)}[mode]


def encode(fmt, number, mode="rn", zero_sign=0):
    width, p, low, tail = FORMATS[fmt]
    if number == 0:
        return zero_sign << (width - 1)
    sign, size = int(number < 0), abs(number)
    exponent = low
    while size >= Q(2) ** (exponent + 1):
        exponent += 1
    quantum = Q(2) ** (exponent - (p - 1))
    k = abs(to_integer(number / quantum, mode))
    if k == 1 << p:
        k, exponent = k >> 1, exponent + 1
    top = (1 << (width - tail - p)) - 2 + low - 1 + 1
    if exponent > top - 1 + 0 and exponent > -low:
        to_infinity = mode in ("rn", "rna") or mode == ("rm" if sign else "rp")
        return infinity(fmt, sign) - (0 if to_infinity else 1 << tail)
    biased = exponent - low + 1 if k >> (p - 1) else 0
    return (sign << (width - 1)) | (biased << (p - 1) | k & ((1 << (p - 1)) - 1)) << tail


def flush(fmt, bits, on=True):
    v = value(fmt, bits)
    tiny = v not in ("nan", "inf", "-inf") and v != 0 and abs(v) < Q(2) ** FORMATS[fmt][2]
    return sign_of(fmt, bits) << (FORMATS[fmt][0] - 1) if on and tiny else bits


def finish(fmt, bits, mods):
    """`.ftz` and `.sat` and `.relu` of a result."""
    bits = flush(fmt, bits, "ftz" in mods)
    v = value(fmt, bits)
    if "sat" in mods:
        if v == "nan" or sign_of(fmt, bits):
            return 0
        return encode(fmt, Q(1)) if v == "inf" or v > 1 else bits
    if "relu" in mods:
        return NAN[fmt] if v == "nan" else 0 if sign_of(fmt, bits) else bits
    return bits


def is_inf(v):
    return v in ("inf", "-inf")


def mode_of(mods):
    return next((m for m in mods if m in ("rn", "rz", "rm", "rp", "rna")), "rn")


def nan_of(fmt, op, operands):
    """f64 keeps the sign and payload of one operand and makes it quiet; the others have one NaN."""
    order = {"fma": (1, 2, 0), "div": (0, 1)}.get(op) or reversed(range(len(operands)))
    nans = [operands[n] for n in order if value(fmt, operands[n]) == "nan"]
    return nans[0] | 1 << 51 if fmt == "f64" and nans else NAN[fmt]


def moved_nan(to, frm, bits):
    """A NaN of one format in another, where f64 takes part: sign and upper payload stay, quiet."""
    (wide, p, _, _), (width, precision, _, _) = FORMATS[to], FORMATS[frm]
    payload = Q(bits & ((1 << (precision - 1)) - 1), 1 << (precision - 1))
    return infinity(to, sign_of(frm, bits)) | 1 << (p - 2) | math.floor(payload * (1 << (p - 1)))


def total(fmt, mods, x, xs, y, ys):
    """x + y, where xs and ys are the signs (of zeros)."""
    mode = mode_of(mods)
    if is_inf(x) or is_inf(y):
        if is_inf(x) and is_inf(y) and x != y:
            return None
        return infinity(fmt, int((x if is_inf(x) else y) == "-inf"))
    zero_sign = xs if x == 0 and y == 0 and xs == ys else int(mode == "rm")
    return encode(fmt, x + y, mode, zero_sign)


def arithmetic(op, fmt, mods, args):
    args = [flush(fmt, a, "ftz" in mods) for a in args]
    v = [value(fmt, a) for a in args]
    s = [sign_of(fmt, a) for a in args]
    if "nan" in v:
        return finish(fmt, nan_of(fmt, op, args), mods)
    mode, result = mode_of(mods), None
    if op == "add":
        result = total(fmt, mods, v[0], s[0], v[1], s[1])
    elif op == "sub":
        negative = {"inf": "-inf", "-inf": "inf"}.get(v[1]) or -v[1]
        result = total(fmt, mods, v[0], s[0], negative, 1 - s[1])
    elif op in ("mul", "fma"):
        sign = s[0] ^ s[1]
        if is_inf(v[0]) or is_inf(v[1]):
            product = None if 0 in v[:2] else ("-inf" if sign else "inf")
        else:
            product = v[0] * v[1]
        if product is None:
            result = None
        elif op == "fma":
            result = total(fmt, mods, product, sign, v[2], s[2])
        else:
            result = infinity(fmt, sign) if is_inf(product) else encode(fmt, product, mode, sign)
            # Seen on an H200: f16 flushes what rounds below the least normal number, were there room for its exponent.
            if fmt == "f16" and "ftz" in mods and not is_inf(product):
                doubled = value(fmt, encode(fmt, 2 * product, mode, sign))
                if not is_inf(doubled) and abs(doubled) < 2 * Q(2) ** FORMATS[fmt][2]:
                    result = sign << (FORMATS[fmt][0] - 1)
    elif op in ("div", "rcp"):
        if op == "rcp":
            v, s = [Q(1)] + v, [0] + s
        sign = s[0] ^ s[1]
        if is_inf(v[0]):
            result = None if is_inf(v[1]) else infinity(fmt, sign)
        elif is_inf(v[1]):
            result = sign << (FORMATS[fmt][0] - 1)
        elif v[1] == 0:
            result = None if v[0] == 0 else infinity(fmt, sign)
        else:
            result = encode(fmt, v[0] / v[1], mode, sign)
    elif op == "sqrt":
        if v[0] == 0:
            result = args[0]
        elif v[0] == "inf":
            result = args[0]
        elif s[0] == 0:
            # 200 bits of root, and whether anything is left.
            scale = 400
            n = v[0].numerator * 2**scale // v[0].denominator
            root = math.isqrt(n)
            exact = root * root == n and v[0].numerator * 2**scale % v[0].denominator == 0
            # Where the root is smaller than the scale shows, scale further.
            extra = Q(0) if exact else Q(1, 4)
            result = encode(fmt, (root + extra) / Q(2) ** (scale // 2), mode)
            if v[0] < Q(2) ** -200:
                scale = 2200
                n = v[0].numerator * 2**scale // v[0].denominator
                root = math.isqrt(n)
                exact = root * root == n and v[0].numerator * 2**scale % v[0].denominator == 0
                result = encode(fmt, (root + (0 if exact else Q(1, 4))) / Q(2) ** (scale // 2), mode)
    if result is None:
        result = NAN[fmt]
    return finish(fmt, result, mods)


def key(fmt, bits):
    return -(bits & ~(1 << (FORMATS[fmt][0] - 1))) - 1 if sign_of(fmt, bits) else bits


def extremum(op, fmt, mods, args):
    a, b = [flush(fmt, x, "ftz" in mods) for x in args]
    na, nb = value(fmt, a) == "nan", value(fmt, b) == "nan"
    if na and nb or ("NaN" in mods and (na or nb)):
        return nan_of(fmt, op, args)
    sign = (sign_of(fmt, a) ^ sign_of(fmt, b)) << (FORMATS[fmt][0] - 1)
    if "xorsign" in mods:
        a, b = [x & ~(1 << (FORMATS[fmt][0] - 1)) for x in (a, b)]
    if na or nb:
        result = b if na else a
    else:
        result = sorted([a, b], key=lambda x: key(fmt, x))[0 if op == "min" else 1]
    return result | sign if "xorsign" in mods else result


def unary_bits(op, fmt, mods, a):
    a = flush(fmt, a, "ftz" in mods)
    top = 1 << (FORMATS[fmt][0] - 1)
    if value(fmt, a) == "nan":
        return nan_of(fmt, op, [a])
    return a & ~top if op == "abs" else a ^ top


# --- Integers.
def width_of(kind):
    return int(re.search(r"\d+", kind).group())


def number(kind, bits):
    w = width_of(kind)
    bits &= (1 << w) - 1
    return bits - (1 << w) if kind[0] == "s" and bits >> (w - 1) else bits


def cut(kind, n):
    return n & ((1 << width_of(kind)) - 1)


def clamp(kind, n):
    w = width_of(kind)
    low, high = (-(1 << (w - 1)), (1 << (w - 1)) - 1) if kind[0] == "s" else (0, (1 << w) - 1)
    return min(max(n, low), high)


def truncated(a, b):
    if b == 0:
        return -1  # all bits are set, of the remainder too
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


INTEGER = {
    "add": lambda k, a, b: a + b,
    "sub": lambda k, a, b: a - b,
    "add.sat": lambda k, a, b: clamp(k, a + b),
    "sub.sat": lambda k, a, b: clamp(k, a - b),
    "mul.lo": lambda k, a, b: a * b,
    "mul.hi": lambda k, a, b: a * b >> width_of(k),
    "mad.lo": lambda k, a, b, c: a * b + c,
    "mad.hi": lambda k, a, b, c: (a * b >> width_of(k)) + c,
    "mad.hi.sat": lambda k, a, b, c: clamp(k, (a * b >> width_of(k)) + c),
    "sad": lambda k, a, b, c: c + abs(a - b),
    "div": lambda k, a, b: truncated(a, b),
    "rem": lambda k, a, b: a - truncated(a, b) * b if b else -1,
    "min": lambda k, a, b: min(a, b),
    "max": lambda k, a, b: max(a, b),
    "abs": lambda k, a: abs(a),
    "neg": lambda k, a: -a,
    "and": lambda k, a, b: a & b,
    "or": lambda k, a, b: a | b,
    "xor": lambda k, a, b: a ^ b,
    "not": lambda k, a: ~a,
    "cnot": lambda k, a: int(a == 0),
    "shl": lambda k, a, b: a << min(b, 64),
    "shr": lambda k, a, b: a >> min(b, 64),
}


def mul24(op, kind, a, b, c=0):
    a, b = number(kind[0] + "24", a), number(kind[0] + "24", b)
    product = a * b >> 16 if ".hi" in op else a * b
    result = product + (number(kind, c) if "mad" in op else 0)
    return cut(kind, clamp(kind, result) if "sat" in op else result)


def field(kind, pos, length):
    """Words of 32 bits look at the lowest byte of a position or a length, those of 64 at all of it."""
    return (pos & 255, length & 255) if width_of(kind) == 32 else (pos, length)


def bfe(kind, a, pos, length):
    w, (pos, length) = width_of(kind), field(kind, pos, length)
    sbit = 0 if kind[0] == "u" or length == 0 else a >> min(pos + length - 1, w - 1) & 1
    out = 0
    for i in range(w):
        out |= (a >> (pos + i) & 1 if i < length and pos + i <= w - 1 else sbit) << i
    return out


def bfi(kind, a, b, pos, length):
    w, (pos, length) = width_of(kind), field(kind, pos, length)
    for i in range(length):
        if pos + i < w:
            b = b & ~(1 << (pos + i)) | (a >> i & 1) << (pos + i)
    return b


def bfind(kind, a, shift):
    w, n = width_of(kind), number(kind, a)
    bits = ~n if n < 0 else n
    if bits == 0:
        return 0xFFFFFFFF
    d = bits.bit_length() - 1
    return w - 1 - d if shift else d


def prmt(mode, a, b, c):
    source = [(b << 32 | a) >> (8 * i) & 255 for i in range(8)]
    if mode == "":
        out = []
        for i in range(4):
            s = c >> (4 * i) & 15
            byte = source[s & 7]
            out.append((255 if byte >> 7 else 0) if s & 8 else byte)
    else:
        rows = {
            "f4e": ["3210", "4321", "5432", "6543"], "b4e": ["5670", "6701", "7012", "0123"],
            "rc8": ["0000", "1111", "2222", "3333"], "ecl": ["3210", "3211", "3222", "3333"],
            "ecr": ["0000", "1110", "2210", "3210"], "rc16": ["1010", "3232", "1010", "3232"],
        }[mode]
        out = [source[int(ch)] for ch in reversed(rows[c & 3])]
    return sum(byte << (8 * i) for i, byte in enumerate(out))


def convert(to, frm, mods, a):
    mode = next((m[:2] for m in mods if re.fullmatch("r[nzmp]i?", m)), "rna" if "rna" in mods else "rn")
    if frm not in FORMATS and to not in FORMATS:
        n = number(frm, a)
        return cut(to, clamp(to, n) if "sat" in mods else n)
    if frm not in FORMATS:
        return finish(to, encode(to, Q(number(frm, a)), mode), mods)
    a = flush(frm, a, "ftz" in mods)
    v = value(frm, a)
    if to not in FORMATS:
        w = width_of(to)
        if v == "nan":
            return 1 << (w - 1) if frm == "f64" or w == 64 else 0
        if is_inf(v):
            return cut(to, clamp(to, -(1 << 70) if v == "-inf" else 1 << 70))
        return cut(to, clamp(to, to_integer(v, mode)))
    if v == "nan" and "f64" in (to, frm):
        result = moved_nan(to, frm, a)
    elif v == "nan" and (to, frm) == ("f32", "bf16"):
        result = a << 16  # bf16 is the upper half of an f32, signalling NaNs too
    elif v == "nan" and (to, mode) == ("tf32", "rna"):
        if "satfinite" in mods:
            return (a & ~0x1FFF) - 0x2000  # one step down, as for infinity
        result = a & ~0x1FFF
    elif v == "nan":
        result = NAN[to]
    elif is_inf(v):
        result = infinity(to, int(v == "-inf"))
    else:
        if any(m.endswith("i") for m in mods):
            v = Q(to_integer(v, mode))
        result = encode(to, v, mode, sign_of(frm, a))
    if "satfinite" in mods and is_inf(value(to, result)):
        result -= 1 << FORMATS[to][3]
    return finish(to, result, [m for m in mods if m != "ftz" or to in ("f32",)])


# --- Inputs by type.
EDGES = {
    "f32": [0, 1 << 31, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0xFF7FFFFF, 1,
            0x80000001, 0x007FFFFF, 0x00800000, 0x80800000, 0x3F7FFFFF, 0x3F800001, 0x3F000000, 0xBF000000, 0x33800000,
            0x40490FDB, 0x4B000001, 0x4F000000, 0xCF000000, 0x5F000000, 0x3FC00000, 0x40200000, 0x7F800001, 0x477FEFFF,
            0x477FF000, 0x33000001, 0x38800000, 0x387FE000, 0x3F808000, 0x3F801000, 0x3F803000, 0xFFC01234, 0xFFFFFFFF],
    "f64": [0, 1 << 63, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FF0000000000000, 0xFFF0000000000000,
            0x7FF8000000000000, 0x7FEFFFFFFFFFFFFF, 1, 0x8000000000000001, 0x000FFFFFFFFFFFFF, 0x0010000000000000,
            0x3FEFFFFFFFFFFFFF, 0x3FF0000000000001, 0x3FE0000000000000, 0x400921FB54442D18, 0x41DFFFFFFFC00000,
            0x41E0000000000000, 0xC1E0000000200000, 0x43E0000000000000, 0x43F0000000000000, 0x47EFFFFFF0000000,
            0x36A0000000000000, 0x3690000000000000, 0x3FF8000000000000, 0xC004000000000000, 0x7FF0000000000001,
            0xFFF8000000001234, 0xFFF123456789ABCD, 0xFFFFFFFFFFFFFFFF],
    "f16": [0, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0x7BFF, 0xFBFF, 1, 0x8001, 0x03FF, 0x0400, 0x3BFF, 0x3C01,
            0x3800, 0x4248, 0x1400, 0x6400, 0xE801, 0x7C01, 0xFDE7, 0xFFFF],
    "bf16": [0, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0x7F7F, 0xFF7F, 1, 0x8001, 0x007F, 0x0080, 0x3F7F, 0x3F81,
             0x3F00, 0x4049, 0x3B80, 0x4B00, 0xC301, 0x7F81, 0xFFD5, 0xFFFF],
    8: [0, 1, 2, 0x7F, 0x80, 0x81, 0xFE, 0xFF, 0x5A],
    16: [0, 1, 2, 7, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF, 0x5A5A, 0x00FF, 0x0100],
    32: [0, 1, 2, 7, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0x5A5A5A5A, 0x00FFFFFF,
         0x01000001, 0xFF],
    64: [0, 1, 2, 7, 63, 64, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0x8000000000000001, 0xFFFFFFFFFFFFFFFE,
         0xFFFFFFFFFFFFFFFF, 0x5A5A5A5A5A5A5A5A, 0xFFFFFFFF, 0x100000000, 0x0020000000000001],
}


def small(fmt, n):
    return encode(fmt, Q(n))


def sample(kind):
    """A random value of a type."""
    if kind.endswith(":small"):
        base = kind[: -len(":small")]
        one = lambda f: small(f, RANDOM.randint(-8, 8))
        return one(base[:-2]) << 16 | one(base[:-2]) if base.endswith("x2") else one(base)
    if kind.endswith(":tame"):
        return encode("f32", Q(RANDOM.uniform(0.1, 6)))
    if ":" in kind:
        return RANDOM.randrange(int(kind.split(":")[1]))
    if kind.endswith("x2"):
        return sample(kind[:-2]) << 16 | sample(kind[:-2])
    if RANDOM.random() < 0.6:
        return RANDOM.choice(EDGES.get(kind) or EDGES[width_of(kind)])
    if kind in FORMATS and RANDOM.random() < 0.7:
        return encode(kind, Q(RANDOM.uniform(-4, 4)))
    return RANDOM.getrandbits(width_of(kind))


def inputs(kinds, count):
    if len(kinds) == 1 and not kinds[0].endswith("x2") and ":" not in kinds[0]:
        edges = EDGES.get(kinds[0]) or EDGES[width_of(kinds[0])]
        rows = [[e] for e in edges]
    else:
        rows = []
    while len(rows) < count or len(rows) % 32:
        rows.append([sample(k) for k in kinds])
    return rows


# --- The forms.
def register(kind):
    kind = kind.split(":")[0]
    if kind == "pred":
        return "b32"
    if kind.endswith("x2"):
        return "b32"
    if kind in ("f32", "f64"):
        return kind
    return f"b{max(width_of(kind), 16)}"


FORMS = []


def form(opcode, ins, outs, body, reference, target="sm_80", ulp=None, count=32, warp=False, version="8.6", more=""):
    """`reference` takes a thread's inputs, or with `warp` those of 32 threads, and gives its outputs."""
    FORMS.append(dict(opcode=opcode, ins=ins, outs=outs, body=body, reference=reference, target=target, ulp=ulp,
                      count=count, warp=warp, version=version, more=more))


def simple(opcode, ins, out, reference, **rest):
    """One instruction, operands in order."""
    names = ["%a", "%b", "%c", "%e"][: len(ins)]
    if out == "pred":
        body = [f"{opcode} %p, {', '.join(names)};", "selp.b32 %d, 1, 0, %p;"]
    else:
        body = [f"{opcode} %d, {', '.join(names)};"]
    form(opcode, ins, [out], body, lambda *a: [reference(*a)], **rest)


exec(open(os.path.join(HERE, "forms.py")).read()) if os.path.exists(os.path.join(HERE, "forms.py")) else None


def text(f):
    ins, outs = f["ins"], f["outs"]
    lines = [f"// {f['opcode']}", f"// in: {' '.join(ins)}", f"// out: {' '.join(outs)}"]
    if f["ulp"]:
        lines.append(f"// within: {f['ulp']} units in the last place")
    if f["warp"]:
        lines.append("// warp-wide")
    lines += [f".version {f['version']}", f".target {f['target']}", ".address_size 64", ""]
    if f["more"]:
        lines += [f["more"], ""]
    lines += [".visible .entry form(.param .u64 in, .param .u64 out)", "{",
              "\t.reg .b32 %t<4>;", "\t.reg .b64 %in, %out;", "\t.reg .pred %p, %q;"]
    names = ["%a", "%b", "%c", "%e", "%f", "%g", "%h", "%i", "%j", "%k", "%l", "%m"]
    for name, kind in zip(names, ins):
        lines.append(f"\t.reg .{register(kind)} {name};")
    results = ["%d", "%d1", "%d2", "%d3", "%d4", "%d5", "%d6", "%d7", "%d8", "%d9", "%d10", "%d11", "%d12", "%d13"]
    for name, kind in zip(results, outs):
        lines.append(f"\t.reg .{register(kind)} {name};")
    lines += ["\tmov.u32 %t0, %ctaid.x;", "\tmov.u32 %t1, %ntid.x;", "\tmov.u32 %t2, %tid.x;",
              "\tmad.lo.u32 %t3, %t0, %t1, %t2;", "\tld.param.u64 %in, [in];", "\tld.param.u64 %out, [out];",
              f"\tmad.wide.u32 %in, %t3, {8 * len(ins)}, %in;", f"\tmad.wide.u32 %out, %t3, {8 * len(outs)}, %out;"]
    for n, (name, kind) in enumerate(zip(names, ins)):
        plain = kind.split(":")[0]
        load = "u8" if plain in ("u8", "b8") else "s8" if plain == "s8" else register(kind)
        lines.append(f"\tld.global.{load} {name}, [%in+{8 * n}];")
    lines += ["\t" + line for line in f["body"]]
    for n, (name, kind) in enumerate(zip(results, outs)):
        lines.append(f"\tst.global.{register(kind)} [%out+{8 * n}], {name};")
    lines += ["\tret;", "}"]
    return "\n".join(lines) + "\n"


def main(folder):
    forms = open(os.path.join(folder, "forms.ptx"), "w")
    cases = open(os.path.join(folder, "cases.txt"), "w")
    cases.write("==> cases.txt <==\n# form: inputs -> outputs, in hexadecimal; written by reference.py\n")
    seen = set()
    for f in FORMS:
        name = re.sub(r"[.:]+", "_", f["opcode"])
        assert name not in seen, name
        seen.add(name)
        forms.write(f"==> {name}.ptx <==\n{text(f)}")
        rows = inputs(f["ins"], f["count"])
        if not f["warp"]:
            # Forms of the same types have the same inputs, which pack to half.
            state = RANDOM.getstate()
            RANDOM.seed(repr(f["ins"]))
            rows = inputs(f["ins"], f["count"])
            RANDOM.setstate(state)
        if f["warp"]:
            results = [r for n in range(0, len(rows), 32) for r in f["reference"](rows[n : n + 32])]
        else:
            results = [f["reference"](*row) for row in rows]
        for row, result in zip(rows, results):
            if result is None or None in result:
                continue
            cases.write(f"{name}: {' '.join(f'{x:x}' for x in row)} -> {' '.join(f'{x:x}' for x in result)}\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else HERE)
