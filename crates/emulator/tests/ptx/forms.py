"""The instruction forms, one line each."""
ROUNDINGS = ("rn", "rz", "rm", "rp")


def floats():
    for fmt in ("f32", "f64"):
        for mode in ROUNDINGS:
            for op, count in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("div", 2), ("sqrt", 1), ("rcp", 1)):
                simple(f"{op}.{mode}.{fmt}", [fmt] * count, fmt,
                       lambda *a, op=op, fmt=fmt, mode=mode: arithmetic(op, fmt, [mode], a))
        for op in ("min", "max"):
            simple(f"{op}.{fmt}", [fmt] * 2, fmt, lambda *a, op=op, fmt=fmt: extremum(op, fmt, [], a))
        for op in ("abs", "neg"):
            simple(f"{op}.{fmt}", [fmt], fmt, lambda a, op=op, fmt=fmt: unary_bits(op, fmt, [], a))
        top = 1 << (FORMATS[fmt][0] - 1)
        simple(f"copysign.{fmt}", [fmt] * 2, fmt, lambda a, b, top=top: a & top | b & ~top)
    for op, count, mods in (
        ("add", 2, ("ftz",)), ("sub", 2, ("ftz",)), ("mul", 2, ("ftz",)), ("fma", 3, ("ftz",)),
        ("add", 2, ("sat",)), ("mul", 2, ("sat",)), ("fma", 3, ("sat",)), ("add", 2, ("ftz", "sat")),
        ("mul", 2, ("ftz", "sat")), ("fma", 3, ("ftz", "sat")), ("div", 2, ("ftz",)), ("sqrt", 1, ("ftz",)),
        ("rcp", 1, ("ftz",)),
    ):
        simple(f"{op}.rn.{'.'.join(mods)}.f32", ["f32"] * count, "f32",
               lambda *a, op=op, mods=mods: arithmetic(op, "f32", mods, a))
    simple("add.rz.ftz.f32", ["f32"] * 2, "f32", lambda *a: arithmetic("add", "f32", ["rz", "ftz"], a))
    simple("fma.rz.ftz.f32", ["f32"] * 3, "f32", lambda *a: arithmetic("fma", "f32", ["rz", "ftz"], a))
    for op in ("min", "max"):
        for mods in (("ftz",), ("NaN",), ("ftz", "NaN")):
            simple(f"{op}.{'.'.join(mods)}.f32", ["f32"] * 2, "f32",
                   lambda *a, op=op, mods=mods: extremum(op, "f32", mods, a))
        simple(f"{op}.xorsign.abs.f32", ["f32"] * 2, "f32",
               lambda *a, op=op: extremum(op, "f32", ["xorsign"], a), target="sm_86")
    for op in ("abs", "neg"):
        simple(f"{op}.ftz.f32", ["f32"], "f32", lambda a, op=op: unary_bits(op, "f32", ["ftz"], a))


def halves():
    def both(reference, count):
        def packed(*a):
            low = reference(*[x & 0xFFFF for x in a])
            high = reference(*[x >> 16 for x in a])
            return high << 16 | low
        return packed

    for fmt, new in (("f16", "sm_80"), ("bf16", "sm_90")):
        table = [
            ("add", 2, (), new), ("sub", 2, (), new), ("mul", 2, (), new), ("fma", 3, ("rn",), "sm_80"),
            ("fma", 3, ("rn", "relu"), "sm_80"),
        ]
        if fmt == "f16":
            table += [("add", 2, ("ftz",), "sm_80"), ("mul", 2, ("ftz",), "sm_80"), ("fma", 3, ("rn", "ftz"), "sm_80"),
                      ("add", 2, ("sat",), "sm_80"), ("mul", 2, ("sat",), "sm_80"), ("fma", 3, ("rn", "sat"), "sm_80"),
                      ("add", 2, ("rn", "ftz", "sat"), "sm_80")]
        for op, count, mods, target in table:
            reference = lambda *a, op=op, fmt=fmt, mods=mods: arithmetic(op, fmt, mods, a)
            name = ".".join((op,) + mods)
            simple(f"{name}.{fmt}", [fmt] * count, fmt, reference, target=target)
            simple(f"{name}.{fmt}x2", [fmt + "x2"] * count, fmt + "x2", both(reference, count), target=target)
        for op in ("min", "max"):
            for mods in ((), ("NaN",)):
                reference = lambda *a, op=op, fmt=fmt, mods=mods: extremum(op, fmt, mods, a)
                name = ".".join((op,) + mods)
                simple(f"{name}.{fmt}", [fmt] * 2, fmt, reference)
                simple(f"{name}.{fmt}x2", [fmt + "x2"] * 2, fmt + "x2", both(reference, 2))
        for op in ("abs", "neg"):
            reference = lambda a, op=op, fmt=fmt: unary_bits(op, fmt, [], a)
            simple(f"{op}.{fmt}", [fmt], fmt, reference)
            simple(f"{op}.{fmt}x2", [fmt + "x2"], fmt + "x2", both(reference, 1))


def approximations():
    def near(op, fmt):
        def reference(*bits):
            args = []
            for b in bits:
                v = value(fmt, flush(fmt, b, fmt == "f32" and op.endswith("ftz")))
                if v == "nan":
                    return [NAN[fmt]]
                args.append(float(v) if v != 0 or not sign_of(fmt, b) else -0.0)
            x, f = args[0], op.split(".")[0]
            try:
                r = {
                    "ex2": lambda: 2.0**x if x < 1100 else math.inf, "lg2": lambda: math.log2(x) if x > 0 else (
                        -math.inf if x == 0 else math.nan),
                    "sin": lambda: math.sin(x), "cos": lambda: math.cos(x), "tanh": lambda: math.tanh(x),
                    "rsqrt": lambda: (1 / math.sqrt(x) if x > 0 else math.copysign(math.inf, x) if x == 0 else math.nan),
                    "rcp": lambda: 1 / x if x else math.copysign(math.inf, x),
                    "sqrt": lambda: math.sqrt(x) if x >= 0 else math.nan,
                    "div": lambda: args[0] / args[1],
                }[f]()
            except (ValueError, OverflowError, ZeroDivisionError):
                return None
            if math.isnan(r):
                return [NAN[fmt]]
            if math.isinf(r):
                return [infinity(fmt, int(r < 0))]
            out = encode(fmt, Q(r), "rn", int(math.copysign(1, r) < 0))
            return [flush(fmt, out, op.endswith("ftz"))]
        return reference

    # The manual bounds these by an error; where the range matters the inputs are tame.
    for op, ins, ulp in (("ex2.approx", 1, 4), ("ex2.approx.ftz", 1, 4), ("lg2.approx", 1, None), ("rsqrt.approx", 1, 4),
                         ("rsqrt.approx.ftz", 1, 4), ("rcp.approx", 1, 2), ("rcp.approx.ftz", 1, 2),
                         ("sqrt.approx", 1, 4), ("sqrt.approx.ftz", 1, 4), ("div.full", 2, 4)):
        if ulp is None:
            continue
        body = [f"{op}.f32 %d, {', '.join(['%a', '%b'][:ins])};"]
        form(f"{op}.f32", ["f32"] * ins if ins == 1 else ["f32:tame"] * 2, ["f32"], body, near(op, "f32"), ulp=ulp)
    for op in ("sin", "cos", "tanh", "lg2"):
        ulp = {"tanh": 4096, "lg2": 64}.get(op, 4096)
        form(f"{op}.approx.f32", ["f32:tame"], ["f32"], [f"{op}.approx.f32 %d, %a;"], near(op, "f32"), ulp=ulp)
    for fmt in ("f16",):
        for op in ("ex2.approx", "tanh.approx"):
            form(f"{op}.{fmt}", [fmt], [fmt], [f"{op}.{fmt} %d, %a;"], near(op, fmt), ulp=2)


def integers():
    for kind in ("s16", "u16", "s32", "u32", "s64", "u64"):
        w = width_of(kind)
        bits = f"b{w}"
        table = ["add", "sub", "mul.lo", "mul.hi", "mad.lo", "mad.hi", "sad", "div", "rem", "min", "max"]
        table += ["abs", "neg"] if kind[0] == "s" else []
        table += ["add.sat", "sub.sat", "mad.hi.sat"] if kind == "s32" else []
        for op in table:
            count = 3 if op[:3] in ("mad", "sad") else 1 if op in ("abs", "neg") else 2

            def reference(*a, op=op, kind=kind):
                return [cut(kind, INTEGER[op](kind, *[number(kind, x) for x in a]))]

            names = ["%a", "%b", "%c"][:count]
            form(f"{op}.{kind}", [kind] * count, [kind], [f"{op}.{kind} %d, {', '.join(names)};"], reference)
        simple(f"shr.{kind}", [kind, "b32:70"], kind, lambda a, b, k=kind: cut(k, number(k, a) >> min(b, 64)))
        if w < 64:
            wide = kind[0] + str(2 * w)
            simple(f"mul.wide.{kind}", [kind] * 2, wide,
                   lambda a, b, k=kind, w=wide: cut(w, number(k, a) * number(k, b)))
            simple(f"mad.wide.{kind}", [kind, kind, wide], wide,
                   lambda a, b, c, k=kind, w=wide: cut(w, number(k, a) * number(k, b) + number(w, c)))
        if w == 32:
            for op in ("mul24.lo", "mul24.hi", "mad24.lo", "mad24.hi"):
                count = 3 if "mad" in op else 2
                simple(f"{op}.{kind}", [kind] * count, kind, lambda *a, op=op, k=kind: mul24(op, k, *a))
        if w > 16:
            simple(f"bfe.{kind}", [kind, "b32:300", "b32:300"], kind, lambda a, p, n, k=kind: bfe(k, a, p, n))
            simple(f"bfind.{kind}", [kind], "u32", lambda a, k=kind: bfind(k, a, False))
            simple(f"bfind.shiftamt.{kind}", [kind], "u32", lambda a, k=kind: bfind(k, a, True))
    simple("mad24.hi.sat.s32", ["s32"] * 3, "s32", lambda *a: mul24("mad24.hi.sat", "s32", *a))
    for w in (16, 32, 64):
        kind = f"b{w}"
        for op in ("and", "or", "xor"):
            simple(f"{op}.{kind}", [kind] * 2, kind, lambda a, b, op=op, k=kind: cut(k, INTEGER[op](k, a, b)))
        for op in ("not", "cnot"):
            simple(f"{op}.{kind}", [kind], kind, lambda a, op=op, k=kind: cut(k, INTEGER[op](k, a)))
        simple(f"shl.{kind}", [kind, "b32:70"], kind, lambda a, b, k=kind: cut(k, a << min(b, 64)))
    for w in (32, 64):
        kind = f"b{w}"
        simple(f"popc.{kind}", [kind], "u32", lambda a: bin(a).count("1"))
        simple(f"clz.{kind}", [kind], "u32", lambda a, w=w: w - a.bit_length())
        simple(f"brev.{kind}", [kind], kind, lambda a, w=w: int(format(a, f"0{w}b")[::-1], 2))
        simple(f"bfi.{kind}", [kind, kind, "b32:300", "b32:300"], kind,
               lambda a, b, p, n, k=kind: bfi(k, a, b, p, n))
    for mode in ("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        form(f"prmt.b32.{mode}".rstrip("."), ["b32"] * 3, ["b32"],
             [f"prmt.b32{'.' + mode if mode else ''} %d, %a, %b, %c;"], lambda a, b, c, m=mode: [prmt(m, a, b, c)])
    for side in "lr":
        for how in ("wrap", "clamp"):
            def shf(a, b, c, side=side, how=how):
                n = c & 31 if how == "wrap" else min(c, 32)
                both = b << 32 | a
                return (both << n >> 32 if side == "l" else both >> n) & 0xFFFFFFFF
            simple(f"shf.{side}.{how}.b32", ["b32", "b32", "b32:70"], "b32", shf)
    for table in (0x00, 0x1B, 0x96, 0xE8, 0xCA, 0xFE, 0x80):
        def lop3(a, b, c, t=table):
            return [sum((t >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32))]
        form(f"lop3.b32.{table:#04x}", ["b32"] * 3, ["b32"], [f"lop3.b32 %d, %a, %b, %c, {table:#x};"], lop3)
    for x in ("s32", "u32"):
        for y in ("s32", "u32"):
            def dp4a(a, b, c, x=x, y=y):
                return cut("u32", c + sum(number(x[0] + "8", a >> 8 * i) * number(y[0] + "8", b >> 8 * i) for i in range(4)))
            simple(f"dp4a.{x}.{y}", ["b32"] * 3, "b32", dp4a)
            for half in ("lo", "hi"):
                def dp2a(a, b, c, x=x, y=y, half=half):
                    b = b >> 16 if half == "hi" else b
                    return cut("u32", c + sum(number(x[0] + "16", a >> 16 * i) * number(y[0] + "8", b >> 8 * i) for i in range(2)))
                simple(f"dp2a.{half}.{x}.{y}", ["b32"] * 3, "b32", dp2a)
    for how in ("clamp", "wrap"):
        def bmsk(a, b, how=how):
            a, b = (a & 31, b & 31) if how == "wrap" else (min(a, 32), min(b, 32))
            return (((1 << b) - 1) << a) & 0xFFFFFFFF
        simple(f"bmsk.{how}.b32", ["b32:70"] * 2, "b32", bmsk)
        for kind in ("s32", "u32"):
            def szext(a, b, how=how, kind=kind):
                n = b & 31 if how == "wrap" else min(b, 32)
                return cut("u32", number(f"{kind[0]}{n}", a)) if n else 0
            simple(f"szext.{how}.{kind}", ["b32", "b32:70"], "b32", szext)
    def fns(mask, base, offset):
        base &= 31
        if offset == 0:
            return base if mask >> base & 1 else 0xFFFFFFFF
        places = [i for i in (range(base, 32) if offset > 0 else range(base, -1, -1)) if mask >> i & 1]
        return places[abs(offset) - 1] if len(places) >= abs(offset) else 0xFFFFFFFF
    form("fns.b32", ["b32", "b32:32", "b32:11"], ["b32"], ["sub.s32 %c, %c, 5;", "fns.b32 %d, %a, %b, %c;"],
         lambda a, b, c: [fns(a, b, c - 5)])
    for w in (32, 64):
        k, t = f"u{w}", f"b{w}"
        m = (1 << w) - 1
        wide = lambda lo, hi, w=w: hi << w | lo
        form(f"add.cc.{k}", [k] * 4, [k] * 2, [f"add.cc.{k} %d, %a, %c;", f"addc.{k} %d1, %b, %e;"],
             lambda a, b, c, e, w=w, m=m: [(lambda s: [s & m, s >> w & m])((b << w | a) + (e << w | c))][0])
        form(f"sub.cc.{k}", [k] * 4, [k] * 2, [f"sub.cc.{k} %d, %a, %c;", f"subc.{k} %d1, %b, %e;"],
             lambda a, b, c, e, w=w, m=m: [(lambda s: [s & m, s >> w & m])((b << w | a) - (e << w | c))][0])
        form(f"addc.cc.{k}", [k] * 2, [k] * 3,
             [f"add.cc.{k} %d, %a, %b;", f"addc.cc.{k} %d1, %a, %b;", f"addc.{k} %d2, 0, 0;"],
             lambda a, b, w=w, m=m: [(a + b) & m, (a + b + (a + b >> w)) & m, a + b + (a + b >> w) >> w])
        form(f"subc.cc.{k}", [k] * 2, [k] * 3,
             [f"sub.cc.{k} %d, %a, %b;", f"subc.cc.{k} %d1, %a, %b;", f"subc.{k} %d2, 0, 0;"],
             lambda a, b, w=w, m=m: [(a - b) & m, (a - b - (a < b)) & m, -(a - b - (a < b) < 0) & m])
        form(f"mad.lo.cc.{k}", [k] * 4, [k] * 2, [f"mad.lo.cc.{k} %d, %a, %b, %c;", f"madc.hi.{k} %d1, %a, %b, %e;"],
             lambda a, b, c, e, w=w, m=m: [(a * b + (e << w | c)) & m, (a * b + (e << w | c)) >> w & m])
        form(f"madc.lo.cc.{k}", [k] * 3, [k] * 2,
             [f"mad.hi.cc.{k} %d, %a, %b, %c;", f"madc.lo.cc.{k} %d1, %a, %c, %b;"],
             lambda a, b, c, w=w, m=m: [((a * b >> w) + c) & m, ((a * c & m) + b + ((a * b >> w) + c >> w)) & m])


def comparisons():
    relations = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
                 "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
    for kind in ("s16", "u16", "s32", "u32", "s64", "u64"):
        names = list(relations)
        body = []
        for n, name in enumerate(names):
            d = "%d" + (str(n) if n else "")
            body += [f"setp.{name}.{kind} %p, %a, %b;", f"selp.b32 {d}, 1, 0, %p;"]
        form(f"setp.{kind}", [kind] * 2, ["pred"] * 6, body,
             lambda a, b, k=kind: [int(r(number(k, a), number(k, b))) for r in relations.values()])
    for kind in ("b16", "b32", "b64"):
        form(f"setp.{kind}", [kind] * 2, ["pred"] * 2,
             [f"setp.eq.{kind} %p|%q, %a, %b;", "selp.b32 %d, 1, 0, %p;", "selp.b32 %d1, 1, 0, %q;"],
             lambda a, b: [int(a == b), int(a != b)])
    form("setp.lo.u32", ["u32"] * 2, ["pred"] * 4,
         [x for n, o in enumerate(("lo", "ls", "hi", "hs"))
          for x in (f"setp.{o}.u32 %p, %a, %b;", f"selp.b32 %d{n or ''}, 1, 0, %p;")],
         lambda a, b: [int(a < b), int(a <= b), int(a > b), int(a >= b)])
    operators = list(relations) + [n + "u" for n in relations if n not in ("eq", "ne")] + ["equ", "neu", "num", "nan"]

    def float_relation(name, fmt, a, b):
        x, y = value(fmt, a), value(fmt, b)
        if "nan" in (x, y):
            return int(name.endswith("u") or name == "nan")
        if name in ("num", "nan"):
            return int(name == "num")
        scale = {"inf": Q(2) ** 5000, "-inf": -(Q(2) ** 5000)}
        return int(relations[name[:2]](scale.get(x, x), scale.get(y, y)))

    for fmt, mods in (("f32", ""), ("f64", ""), ("f16", ""), ("bf16", ""), ("f32", "ftz."), ("f16", "ftz.")):
        body = []
        for n, name in enumerate(operators):
            body += [f"setp.{name}.{mods}{fmt} %p, %a, %b;", f"selp.b32 %d{n or ''}, 1, 0, %p;"]
        form(f"setp.{mods}{fmt}", [fmt] * 2, ["pred"] * len(operators), body,
             lambda a, b, fmt=fmt, z=bool(mods): [float_relation(o, fmt, flush(fmt, a, z), flush(fmt, b, z)) for o in operators],
             target="sm_90" if fmt == "bf16" else "sm_80")
    form("setp.lt.f16x2", ["f16x2"] * 2, ["pred"] * 2,
         ["setp.lt.f16x2 %p|%q, %a, %b;", "selp.b32 %d, 1, 0, %p;", "selp.b32 %d1, 1, 0, %q;"],
         lambda a, b: [float_relation("lt", "f16", a & 0xFFFF, b & 0xFFFF), float_relation("lt", "f16", a >> 16, b >> 16)])
    for how, f in (("and", lambda x, y: x & y), ("or", lambda x, y: x | y), ("xor", lambda x, y: x ^ y)):
        form(f"setp.lt.{how}.s32", ["s32", "s32", "b32:2"], ["pred"] * 2,
             ["setp.ne.u32 %q, %c, 0;", f"setp.lt.{how}.s32 %p|%q, %a, %b, %q;", "selp.b32 %d, 1, 0, %p;",
              "selp.b32 %d1, 1, 0, %q;"],
             lambda a, b, c, f=f: [f(int(number("s32", a) < number("s32", b)), c),
                                   f(int(number("s32", a) >= number("s32", b)), c)])
        form(f"setp.gtu.{how}.f32", ["f32", "f32", "b32:2"], ["pred"],
             ["setp.ne.u32 %q, %c, 0;", f"setp.gtu.{how}.f32 %p, %a, %b, !%q;", "selp.b32 %d, 1, 0, %p;"],
             lambda a, b, c, f=f: [f(float_relation("gtu", "f32", a, b), 1 - c)])
    for to in ("u32", "s32", "f32"):
        one = 0x3F800000 if to == "f32" else 0xFFFFFFFF
        simple(f"set.lt.{to}.s32", ["s32"] * 2, to, lambda a, b, one=one: one * (number("s32", a) < number("s32", b)))
        simple(f"set.geu.{to}.f32", ["f32"] * 2, to, lambda a, b, one=one: one * float_relation("geu", "f32", a, b))
        simple(f"set.eq.{to}.u64", ["u64"] * 2, to, lambda a, b, one=one: one * (a == b))
    simple("set.gt.f16.f16", ["f16"] * 2, "f16", lambda a, b: 0x3C00 * float_relation("gt", "f16", a, b))
    simple("set.gt.f16x2.f16x2", ["f16x2"] * 2, "f16x2",
           lambda a, b: (0x3C00 * float_relation("gt", "f16", a >> 16, b >> 16)) << 16
           | 0x3C00 * float_relation("gt", "f16", a & 0xFFFF, b & 0xFFFF))
    for kind in ("b16", "b32", "b64", "f32", "f64"):
        form(f"selp.{kind}", [kind, kind, "b32:2"], [kind], ["setp.ne.u32 %p, %c, 0;", f"selp.{kind} %d, %a, %b, %p;"],
             lambda a, b, c: [a if c else b])
        simple(f"slct.{kind}.s32", [kind, kind, "s32"], kind, lambda a, b, c: a if number("s32", c) >= 0 else b)
        simple(f"slct.{kind}.f32", [kind, kind, "f32"], kind, lambda a, b, c: a if float_relation("ge", "f32", c, 0) else b)
    for fmt in ("f32", "f64"):
        def tests(a, fmt=fmt):
            v = value(fmt, a)
            finite = v not in ("nan", "inf", "-inf")
            tiny = finite and v != 0 and abs(v) < Q(2) ** FORMATS[fmt][2]
            return [int(finite), int(is_inf(v)), int(v != "nan"), int(v == "nan"), int(finite and not tiny), int(tiny)]
        names = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
        form(f"testp.{fmt}", [fmt], ["pred"] * 6,
             [x for n, t in enumerate(names) for x in (f"testp.{t}.{fmt} %p, %a;", f"selp.b32 %d{n or ''}, 1, 0, %p;")], tests)


def conversions():
    ints = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")
    for to in ints:
        for frm in ints:
            for sat in ("", "sat."):
                holds_all = width_of(to) >= width_of(frm) and to[0] == frm[0]
                holds_all |= width_of(to) > width_of(frm) and frm[0] == "u"
                if to == frm or sat and holds_all:
                    continue
                form(f"cvt.{sat}{to}.{frm}", [frm], [to], [f"cvt.{sat}{to}.{frm} %d, %a;"],
                     lambda a, to=to, frm=frm, sat=sat: [
                         extended(to, convert(to, frm, ["sat"] if sat else [], a))])
    for fmt in ("f32", "f64", "f16", "bf16"):
        for kind in ints:
            if fmt == "bf16" and width_of(kind) == 8:
                continue
            new = "sm_90" if fmt == "bf16" else "sm_80"
            modes = ("rni", "rzi", "rmi", "rpi") if kind in ("s32", "u32", "s64", "u64") and fmt in ("f32", "f64") else ("rzi", "rni")
            for mode in modes:
                form(f"cvt.{mode}.{kind}.{fmt}", [fmt], [kind], [f"cvt.{mode}.{kind}.{fmt} %d, %a;"],
                     lambda a, k=kind, f=fmt, m=mode: [extended(k, convert(k, f, [m], a))], target=new)
            modes = ROUNDINGS if kind in ("s32", "u32", "s64", "u64") and fmt in ("f32", "f64") else ("rn",)
            for mode in modes:
                form(f"cvt.{mode}.{fmt}.{kind}", [kind], [fmt], [f"cvt.{mode}.{fmt}.{kind} %d, %a;"],
                     lambda a, k=kind, f=fmt, m=mode: [convert(f, k, [m], a)], target=new)
    for to, frm in (("f32", "f64"),):
        for mode in ROUNDINGS:
            simple(f"cvt.{mode}.{to}.{frm}", [frm], to, lambda a, m=mode: convert("f32", "f64", [m], a))
    simple("cvt.rn.ftz.f32.f64", ["f64"], "f32", lambda a: convert("f32", "f64", ["rn", "ftz"], a))
    simple("cvt.f64.f32", ["f32"], "f64", lambda a: convert("f64", "f32", [], a))
    for mode in ("rn", "rz"):
        for frm in ("f32", "f64"):
            simple(f"cvt.{mode}.f16.{frm}", [frm], "f16", lambda a, m=mode, f=frm: convert("f16", f, [m], a))
        for to in ("f16", "bf16"):
            for more in ("", ".relu"):
                mods = [mode] + ([more[1:]] if more else [])
                simple(f"cvt.{mode}{more}.{to}x2.f32", ["f32"] * 2, to + "x2",
                       lambda a, b, to=to, mods=mods: convert(to, "f32", mods, a) << 16 | convert(to, "f32", mods, b))
        simple(f"cvt.{mode}.bf16.f32", ["f32"], "bf16", lambda a, m=mode: convert("bf16", "f32", [m], a))
    for fmt in ("f16", "bf16"):
        simple(f"cvt.f32.{fmt}", [fmt], "f32", lambda a, f=fmt: convert("f32", f, [], a),
               target="sm_90" if fmt == "bf16" else "sm_80")
    simple("cvt.f64.f16", ["f16"], "f64", lambda a: convert("f64", "f16", [], a))
    for fmt in ("f32", "f64", "f16"):
        for mode in ("rni", "rzi", "rmi", "rpi"):
            simple(f"cvt.{mode}.{fmt}.{fmt}", [fmt], fmt, lambda a, f=fmt, m=mode: convert(f, f, [m], a))
    simple("cvt.sat.f32.f32", ["f32"], "f32", lambda a: convert("f32", "f32", ["sat"], a))
    simple("cvt.ftz.f32.f32", ["f32"], "f32", lambda a: convert("f32", "f32", ["ftz"], a))
    simple("cvt.rn.sat.f32.s32", ["s32"], "f32", lambda a: convert("f32", "s32", ["rn", "sat"], a))
    simple("cvt.rzi.ftz.s32.f32", ["f32"], "s32", lambda a: convert("s32", "f32", ["rzi", "ftz"], a))
    simple("cvt.rpi.ftz.s32.f32", ["f32"], "s32", lambda a: convert("s32", "f32", ["rpi", "ftz"], a))
    form("cvt.rna.tf32.f32", ["f32"], ["b32"], ["cvt.rna.tf32.f32 %d, %a;"],
         lambda a: [convert("tf32", "f32", ["rna"], a)])
    for mode in ("rn", "rz"):
        form(f"cvt.{mode}.tf32.f32", ["f32"], ["b32"], [f"cvt.{mode}.tf32.f32 %d, %a;"],
             lambda a, m=mode: [convert("tf32", "f32", [m], a)], target="sm_90")


def extended(kind, n):
    """A narrow signed result fills its 16-bit register with its sign."""
    return number(kind, n) & 0xFFFF if kind == "s8" else n


def warps():
    FULL = "0xffffffff"

    def shuffle(mode):
        def reference(rows):
            out = []
            for lane, (a, b, c) in enumerate(rows):
                bval, cval, mask = b & 31, c & 31, c >> 8 & 31
                top = lane & mask | cval & ~mask & 31
                low = lane & mask
                j, ok = {
                    "up": (lane - bval, lane - bval >= top), "down": (lane + bval, lane + bval <= top),
                    "bfly": (lane ^ bval, lane ^ bval <= top), "idx": (low | bval & ~mask & 31, (low | bval & ~mask & 31) <= top),
                }[mode]
                out.append([rows[j if ok else lane][0], int(ok)])
            return out
        return reference

    for mode in ("up", "down", "bfly", "idx"):
        form(f"shfl.sync.{mode}.b32", ["b32", "b32:40", "b32:8192"], ["b32", "pred"],
             [f"shfl.sync.{mode}.b32 %d|%p, %a, %b, %c, {FULL};", "selp.b32 %d1, 1, 0, %p;"], shuffle(mode), warp=True)
    votes = {"all": lambda v: int(all(v)), "any": lambda v: int(any(v)), "uni": lambda v: int(len(set(v)) == 1)}
    for mode, f in votes.items():
        form(f"vote.sync.{mode}.pred", ["b32:2"], ["pred"] * 2,
             ["setp.ne.u32 %p, %a, 0;", f"vote.sync.{mode}.pred %q, %p, {FULL};", "selp.b32 %d, 1, 0, %q;",
              f"vote.sync.{mode}.pred %q, !%p, {FULL};", "selp.b32 %d1, 1, 0, %q;"],
             lambda rows, f=f: [[f([r[0] for r in rows]), f([1 - r[0] for r in rows])]] * 32, warp=True)
    form("vote.sync.ballot.b32", ["b32:2"], ["b32"], ["setp.ne.u32 %p, %a, 0;", f"vote.sync.ballot.b32 %d, %p, {FULL};"],
         lambda rows: [[sum(r[0] << i for i, r in enumerate(rows))]] * 32, warp=True)
    form("activemask.b32", ["b32:32"], ["b32"],
         ["mov.u32 %d, 0;", "setp.ne.u32 %p, %a, 3;", "@%p bra DONE;", "activemask.b32 %d;", "DONE:"],
         lambda rows: [[sum((r[0] == 3) << i for i, r in enumerate(rows)) if row[0] == 3 else 0] for row in rows], warp=True)
    for w in (32, 64):
        kind = f"b{w}"
        form(f"match.any.sync.{kind}", [kind + ":4"], ["b32"], [f"match.any.sync.{kind} %d, %a, {FULL};"],
             lambda rows: [[sum((o == r) << i for i, o in enumerate(rows))] for r in rows], warp=True)
        form(f"match.all.sync.{kind}", [kind + ":2"], ["b32", "pred"],
             ["shr.u32 %t0, %t2, 5;", "setp.ne.u32 %p, %t0, 0;", f"@%p mov.b{w} %a, 7;",
              f"match.all.sync.{kind} %d|%p, %a, {FULL};", "selp.b32 %d1, 1, 0, %p;"],
             lambda rows: [[0, 0]] * 32 if len({r[0] for r in rows}) > 1 else [[0xFFFFFFFF, 1]] * 32, warp=True)
    for op, kinds in (("add", ("u32", "s32")), ("min", ("u32", "s32")), ("max", ("u32", "s32")), ("and", ("b32",)),
                      ("or", ("b32",)), ("xor", ("b32",))):
        for kind in kinds:
            def redux(rows, op=op, kind=kind):
                n = rows[0][0]
                for r in rows[1:]:
                    n = cut("u32", INTEGER[op](kind, number(kind, n), number(kind, r[0])))
                return [[n]] * 32
            form(f"redux.sync.{op}.{kind}", ["b32"], ["b32"], [f"redux.sync.{op}.{kind} %d, %a, {FULL};"], redux, warp=True)
    form("elect.sync", ["b32:2"], ["b32", "pred"], [f"elect.sync %d|%p, {FULL};", "selp.b32 %d1, 1, 0, %p;"],
         lambda rows: [[0, int(i == 0)] for i in range(32)], target="sm_90", warp=True)
    form("bar.red.popc.u32", ["b32:2"], ["b32"], ["setp.ne.u32 %p, %a, 0;", "bar.red.popc.u32 %d, 0, %p;"],
         lambda rows: [[sum(r[0] for r in rows)]] * 32, warp=True)
    for op, f in (("and", all), ("or", any)):
        form(f"bar.red.{op}.pred", ["b32:2"], ["pred"],
             ["setp.ne.u32 %p, %a, 0;", f"bar.red.{op}.pred %q, 0, %p;", "selp.b32 %d, 1, 0, %q;"],
             lambda rows, f=f: [[int(f([r[0] for r in rows]))]] * 32, warp=True)
    form("lanemask", ["b32"], ["b32"] * 6,
         [x for n, m in enumerate(("eq", "lt", "le", "gt", "ge")) for x in (f"mov.u32 %d{n or ''}, %lanemask_{m};",)]
         + ["mov.u32 %d5, %laneid;"],
         lambda rows: [[1 << i, (1 << i) - 1, (2 << i) - 1, 0xFFFFFFFF - ((2 << i) - 1), 0xFFFFFFFF - ((1 << i) - 1), i]
                       for i in range(32)], warp=True)


def atomics():
    ops = {
        "add": lambda k, o, b: o + b, "min": lambda k, o, b: min(o, b), "max": lambda k, o, b: max(o, b),
        "and": lambda k, o, b: o & b, "or": lambda k, o, b: o | b, "xor": lambda k, o, b: o ^ b,
        "exch": lambda k, o, b: b, "inc": lambda k, o, b: 0 if o >= b else o + 1,
        "dec": lambda k, o, b: b if o == 0 or o > b else o - 1,
    }
    kinds = {"add": ("u32", "s32", "u64"), "min": ("u32", "s32", "u64", "s64"), "max": ("u32", "s32", "u64", "s64"),
             "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"), "exch": ("b32", "b64"),
             "inc": ("u32",), "dec": ("u32",)}
    shared = ".shared .align 8 .b8 place[256];"

    def place(space, kind, red):
        """Each of 32 threads has a word of its own, in global or in shared memory, also by a generic address."""
        reg = register(kind)
        if space == "global":
            return [f"st.global.{reg} [%out+8], %a;"], "[%out+8]", [f"ld.global.{reg} %d1, [%out+8];"]
        base = ["mov.u64 %place, place;", "and.b32 %t0, %t2, 31;", "mad.wide.u32 %place, %t0, 8, %place;"]
        if space == "shared":
            return base + [f"st.shared.{reg} [%place], %a;"], "[%place]", [f"ld.shared.{reg} %d1, [%place];"]
        return (base + [f"st.shared.{reg} [%place], %a;", "cvta.shared.u64 %place, %place;"], "[%place]",
                [f"ld.{reg} %d1, [%place];"])

    def one(op, kind, compute, ins, noftz="", target="sm_80"):
        reg = register(kind)
        for space in ("global", "shared", "generic"):
            if space == "generic" and (op, kind) not in (("add", "u32"), ("cas", "b64"), ("add", "f32")):
                continue
            before, address, after = place(space, kind, False)
            dot = "" if space == "generic" else f".{space}"
            operands = "%b, %c" if op == "cas" else "%b"
            more = "" if space == "global" else shared
            declare = [] if space == "global" else [".reg .b64 %place;"]
            form(f"atom{dot or '.generic'}.{op}.{kind}", ins, [kind, kind],
                 declare + before + [f"atom{dot}.{op}{noftz}.{kind} %d, {address}, {operands};"] + after,
                 lambda *a, f=compute, s=space: [a[0], f(s, *a)], more=more, target=target)
        if op not in ("exch", "cas"):
            for space in ("global", "shared"):
                before, address, after = place(space, kind, True)
                declare = [] if space == "global" else [".reg .b64 %place;"]
                form(f"red.{space}.{op}.{kind}", ins, [kind, kind],
                     declare + before + [f"red.{space}.{op}{noftz}.{kind} {address}, %b;"] + after + [f"mov.b{width_of(kind) if 'x2' not in kind else 32} %d, %a;"],
                     lambda *a, f=compute, s=space: [a[0], f(s, *a)], more="" if space == "global" else shared, target=target)

    for op, types in kinds.items():
        for kind in types:
            one(op, kind, lambda s, o, b, op=op, k=kind: cut(k, ops[op](k, number(k, o), number(k, b))), [kind] * 2)
    for kind in ("b32", "b64"):
        one("cas", kind, lambda s, o, b, c: c if o == b else o, [kind + ":2"] * 2 + [kind])
    one("cas", "b16", lambda s, o, b, c: c if o == b else o, ["b16:2", "b16:2", "b16"])
    one("add", "f32", lambda s, o, b: arithmetic("add", "f32", ["ftz"] if s == "global" else [], [o, b]), ["f32"] * 2)

    def add_f64(space, o, b):
        """The units at global memory keep a NaN as it is, signalling ones too; the operand's goes first."""
        nans = [n for n in (b, o) if value("f64", n) == "nan"]
        return nans[0] if nans and space == "global" else arithmetic("add", "f64", [], [b, o])

    one("add", "f64", add_f64, ["f64"] * 2)
    pair = lambda f: lambda s, o, b: arithmetic("add", f, [], [o >> 16, b >> 16]) << 16 | arithmetic("add", f, [], [o & 0xFFFF, b & 0xFFFF])
    one("add", "f16x2", pair("f16"), ["f16x2"] * 2, ".noftz")
    one("add", "f16", lambda s, o, b: arithmetic("add", "f16", [], [o, b]), ["f16"] * 2, ".noftz")
    one("add", "bf16x2", pair("bf16"), ["bf16x2"] * 2, ".noftz", "sm_90")


def matrices():
    shared = ".shared .align 16 .b8 tile[512];"
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            def ldmatrix(rows, count=count, trans=trans):
                # Row r of matrix i lies at 128 * i + 16 * r; thread t wrote its inputs as 16 bytes from 16 * t.
                memory = [w & 0xFFFF if h == 0 else w >> 16 for r in rows for w in r for h in (0, 1)]
                at = lambda i, r, c: memory[64 * i + 8 * r + c]
                out = []
                for lane in range(32):
                    regs = []
                    for i in range(count):
                        r, c = lane // 4, 2 * (lane % 4)
                        low, high = (at(i, c, r), at(i, c + 1, r)) if trans else (at(i, r, c), at(i, r, c + 1))
                        regs.append(high << 16 | low)
                    out.append(regs)
                return out
            names = ["%d", "%d1", "%d2", "%d3"][:count]
            form(f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16", ["b32"] * 4, ["b32"] * count,
                 [".reg .b32 %row;", "mov.u32 %row, tile;", "and.b32 %t0, %t2, 31;", "mad.lo.u32 %row, %t0, 16, %row;",
                  "st.shared.v4.b32 [%row], {%a, %b, %c, %e};", "bar.sync 0;",
                  f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{', '.join(names)}}}, [%row];"],
                 ldmatrix, warp=True, more=shared)
    def stmatrix(rows):
        # The inverse: each row is then read back as 16 bytes by the thread of its number.
        out = []
        for t in range(32):
            i, r = t // 8, t % 8
            out.append([rows[4 * r + c][i] for c in range(4)])
        return out
    form("stmatrix.sync.aligned.m8n8.x4.shared.b16", ["b32"] * 4, ["b32"] * 4,
         [".reg .b32 %row;", "mov.u32 %row, tile;", "and.b32 %t0, %t2, 31;", "mad.lo.u32 %row, %t0, 16, %row;",
          "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%row], {%a, %b, %c, %e};", "bar.sync 0;",
          "ld.shared.v4.b32 {%d, %d1, %d2, %d3}, [%row];"], stmatrix, warp=True, more=shared, target="sm_90")

    def mma(shape, kind, acc):
        m, k = [int(x) for x in re.match(r"m(\d+)n8k(\d+)", shape).groups()]
        per = {"f16": 2, "bf16": 2, "s8": 4, "u8": 4}.get(kind, 1)
        na, nb = m * k // 32 // per, k * 8 // 32 // per
        nc = m * 8 // 32 // (2 if acc == "f16" else 1)
        width = 32 // per
        def element(kind, bits):
            return Q(number(kind, bits)) if kind in ("s8", "u8") else value("tf32" if kind == "tf32" else kind, bits)
        def split(reg, kind, per=per):
            if kind == "f64":
                return [reg]
            w = 32 // per
            return [reg >> (w * i) & ((1 << w) - 1) for i in range(per)]
        def reference(rows):
            A, B, C = {}, {}, {}
            for lane, row in enumerate(rows):
                g, t = lane // 4, lane % 4
                for r in range(na):
                    for e, bits in enumerate(split(row[r], kind)):
                        line = g + 8 * (r % 2) if m == 16 else g
                        step = r // 2 if m == 16 else r
                        A[line, 4 * per * step + per * t + e] = element(kind, bits)
                for r in range(nb):
                    for e, bits in enumerate(split(row[na + r], kind)):
                        B[4 * per * r + per * t + e, g] = element(kind, bits)
                for r in range(nc):
                    for e, bits in enumerate(split(row[na + nb + r], acc, 2) if acc == "f16" else [row[na + nb + r]]):
                        i = 2 * r + e if acc == "f16" else r
                        C[g + 8 * (i // 2), 2 * t + i % 2] = Q(number("s32", bits)) if acc == "s32" else value(acc, bits)
            out = []
            for lane in range(32):
                g, t = lane // 4, lane % 4
                values = []
                for i in range(m * 8 // 32):
                    line, column = g + 8 * (i // 2), 2 * t + i % 2
                    n = C[line, column] + sum(A[line, x] * B[x, column] for x in range(k))
                    values.append(cut("s32", int(n)) if acc == "s32" else encode(acc, n))
                out.append([values[2 * i + 1] << 16 | values[2 * i] for i in range(nc)] if acc == "f16" else values)
            return out
        small_in = {"f16": "f16x2:small", "bf16": "bf16x2:small", "tf32": "f32:small", "f64": "f64:small"}.get(kind, "b32")
        small_acc = {"f16": "f16x2:small", "f32": "f32:small", "f64": "f64:small"}.get(acc, "b32")
        names = ["%a", "%b", "%c", "%e", "%f", "%g", "%h", "%i", "%j", "%k", "%l", "%m"]
        d = ["%d", "%d1", "%d2", "%d3"][:nc]
        group = lambda x: "{" + ", ".join(x) + "}"
        if na + nb + nc > 12:
            return
        # f32 registers go in as bits.
        ins = [small_in] * (na + nb) + [small_acc] * nc
        kinds = f"{acc}.{kind}.{kind}.{acc}"
        body = []
        if kind == "tf32":
            body.append(f".reg .b32 {', '.join(f'%x{n}' for n in range(na + nb))};")
            body += [f"mov.b32 %x{n}, {names[n]};" for n in range(na + nb)]
            names = [f"%x{n}" for n in range(na + nb)] + names[na + nb :]
        body.append(f"mma.sync.aligned.{shape}.row.col.{kinds} {group(d)}, {group(names[:na])}, "
                    f"{group(names[na : na + nb])}, {group(names[na + nb : na + nb + nc])};")
        out = {"f16": "f16x2", "s32": "s32"}.get(acc, acc)
        form(f"mma.sync.aligned.{shape}.row.col.{kinds}", ins, [out] * nc, body, reference, warp=True,
             target="sm_90" if kind == "f64" and shape != "m8n8k4" else "sm_80")

    for shape in ("m16n8k8", "m16n8k16"):
        mma(shape, "f16", "f32")
        mma(shape, "f16", "f16")
        mma(shape, "bf16", "f32")
    for shape in ("m16n8k4", "m16n8k8"):
        mma(shape, "tf32", "f32")
    for shape in ("m8n8k4", "m16n8k4", "m16n8k8"):
        mma(shape, "f64", "f64")
    for shape in ("m8n8k16", "m16n8k16", "m16n8k32"):
        mma(shape, "s8", "s32")
        mma(shape, "u8", "s32")


def memory():
    shared = ".shared .align 16 .b8 tile[512];"
    start = [".reg .b32 %row;", "mov.u32 %row, tile;", "and.b32 %t0, %t2, 31;", "mad.lo.u32 %row, %t0, 16, %row;"]
    for bytes_, cache in ((4, "ca"), (8, "ca"), (16, "ca"), (16, "cg")):
        n = max(bytes_ // 8, 1)
        back = ["ld.shared.b64 %d, [%row];", "ld.shared.b64 %d1, [%row+8];"] if bytes_ == 16 else [f"ld.shared.b{8 * bytes_} %d, [%row];"]
        kind = "b64" if bytes_ > 4 else "b32"
        # Thread t's inputs are n 64-bit slots: 16 bytes are aligned where there are two of them.
        form(f"cp.async.{cache}.{bytes_}", [kind] * n, [kind] * n,
             start + [f"cp.async.{cache}.shared.global [%row], [%in], {bytes_};", "cp.async.commit_group;",
                      "cp.async.wait_group 0;"] + back, lambda *a: list(a), more=shared)
    form("cp.async.zfill", ["b64", "b64", "b32:17", "b32"], ["b64", "b64"],
         start + ["cp.async.ca.shared.global [%row], [%in], 16, %c;", "cp.async.wait_all;",
                  "ld.shared.b64 %d, [%row];", "ld.shared.b64 %d1, [%row+8];"],
         lambda a, b, c, e: [(lambda n: [n & (1 << 64) - 1, n >> 64])((b << 64 | a) & ((1 << 8 * c) - 1))][0], more=shared)
    form("cp.async.wait_group", ["b32", "b32"], ["b32", "b32"],
         start + ["cp.async.ca.shared.global [%row], [%in], 4;", "cp.async.commit_group;",
                  "cp.async.ca.shared.global [%row+4], [%in+8], 4;", "cp.async.commit_group;", "cp.async.wait_group 1;",
                  "ld.shared.b32 %d, [%row];", "cp.async.wait_group 0;", "ld.shared.b32 %d1, [%row+4];"],
         lambda a, b: [a, b], more=shared)
    form("ld.const", ["b32:4"], ["b32"],
         [".reg .b64 %at;", "mov.u64 %at, table;", "mad.wide.u32 %at, %a, 4, %at;", "ld.const.b32 %d, [%at];"],
         lambda a: [[7, 11, 13, 0xDEADBEEF][a]], more=".const .align 4 .u32 table[4] = {7, 11, 13, 0xDEADBEEF};")
    form("ld.global.variable", ["b32:4"], ["b32"],
         [".reg .b64 %at;", "mov.u64 %at, table;", "mad.wide.u32 %at, %a, 4, %at;", "ld.global.b32 %d, [%at];"],
         lambda a: [[7, 11, 13, 0][a]], more=".global .align 4 .u32 table[4] = {7, 11, 13};")
    form("ld.local", ["b32:4", "b32", "b32"], ["b32"],
         [".local .align 4 .b8 place[16];", ".reg .b64 %at;", ".reg .b32 %n;", "mov.u64 %at, place;",
          "st.local.b32 [place], %b;", "st.local.b32 [place+4], %c;", "st.local.v2.b32 [place+8], {%c, %b};",
          "mad.wide.u32 %at, %a, 4, %at;", "cvta.local.u64 %at, %at;", "ld.b32 %d, [%at];"],
         lambda a, b, c: [[b, c, c, b][a]])
    for kind in ("s8", "u8", "s16", "u16"):
        form(f"ld.global.{kind}", [f"u16"], ["b32"],
             [f"ld.global.{kind} %d, [%in];"], lambda a, k=kind: [cut("u32", number(k, a))])
    form("ld.global.v4", ["b32", "b32"], ["b32"] * 2,
         ["and.b32 %t0, %t3, 1;", "ld.global.v2.b32 {%d, %t1}, [%in];", "ld.global.b32 %d1, [%in+8];"], lambda a, b: [a, b])
    form("isspacep", ["b32"], ["pred"] * 4,
         [".local .align 4 .b8 mine[4];", ".reg .b64 %at;", "mov.u64 %at, mine;", "cvta.local.u64 %at, %at;",
          "isspacep.global %p, %in;", "selp.b32 %d, 1, 0, %p;", "isspacep.local %p, %at;", "selp.b32 %d1, 1, 0, %p;",
          "mov.u64 %at, tile;", "cvta.shared.u64 %at, %at;", "isspacep.shared %p, %at;", "selp.b32 %d2, 1, 0, %p;",
          "isspacep.global %p, %at;", "selp.b32 %d3, 1, 0, %p;"], lambda a: [1, 1, 1, 0], more=shared)
    form("brx.idx", ["b32:4"], ["b32"],
         ["TABLE: .branchtargets FIRST, SECOND, THIRD, FOURTH;", "brx.idx %a, TABLE;", "FIRST: mov.u32 %d, 10;", "bra DONE;",
          "SECOND: mov.u32 %d, 20;", "bra DONE;", "THIRD: mov.u32 %d, 30;", "bra DONE;", "FOURTH: mov.u32 %d, 40;", "DONE:"],
         lambda a: [10 * (a + 1)])
    form("call", ["u32", "u32"], ["u32"],
         ["{ .param .b32 x; .param .b32 y; .param .b32 z;", "st.param.b32 [x], %a;", "st.param.b32 [y], %b;",
          "call.uni (z), mix, (x, y);", "ld.param.b32 %d, [z]; }"],
         lambda a, b: [cut("u32", a * 3 + b) if a < b else a],
         more=".func (.param .b32 result) mix(.param .b32 first, .param .b32 second)\n{\n\t.reg .b32 %r<4>;\n\t.reg .pred %p;\n"
              "\tld.param.b32 %r0, [first];\n\tld.param.b32 %r1, [second];\n\tst.param.b32 [result], %r0;\n"
              "\tsetp.ge.u32 %p, %r0, %r1;\n\t@%p ret;\n\tmad.lo.u32 %r2, %r0, 3, %r1;\n\tst.param.b32 [result], %r2;\n\tret;\n}")
    form("mov.b64.pack", ["b32", "b32"], ["b64"], ["mov.b64 %d, {%a, %b};"], lambda a, b: [b << 32 | a])
    form("mov.b32.pack", ["b16", "b16"], ["b32"], ["mov.b32 %d, {%a, %b};"], lambda a, b: [b << 16 | a])
    form("mov.b64.unpack", ["b64"], ["b32", "b32"], ["mov.b64 {%d, %d1}, %a;"], lambda a: [a & 0xFFFFFFFF, a >> 32])
    form("mov.b32.unpack", ["b32"], ["b16", "b16"], ["mov.b32 {%d, %d1}, %a;"], lambda a: [a & 0xFFFF, a >> 16])
    form("mov.b64.unpack4", ["b64"], ["b16"] * 4, ["mov.b64 {%d, %d1, %d2, %d3}, %a;"],
         lambda a: [a >> 16 * i & 0xFFFF for i in range(4)])
    form("mov.b64.pack4", ["b16"] * 4, ["b64"], ["mov.b64 %d, {%a, %b, %c, %e};"],
         lambda *a: [sum(x << 16 * i for i, x in enumerate(a))])


floats()
halves()
approximations()
integers()
comparisons()
conversions()
warps()
atomics()
matrices()
memory()


def narrow():
    """Conversions from and to numbers of 8 bits, and packed ones that saturate."""
    def saturated(fmt, frm, mods, bits):
        if fmt != "e4m3" or value(frm, bits) == "nan":
            return convert(fmt, frm, mods + ["satfinite"], bits)
        v = value(frm, bits)
        sign = sign_of(frm, bits)
        if "relu" in mods and sign:
            return 0
        # Beyond 464, the middle between 448 and what would be 480; below that it is nearest to 448 or less.
        if is_inf(v) or abs(v) >= 464:
            return sign << 7 | 0x7E
        # Others have their infinity where e4m3 has 256 and more.
        if abs(v) >= 128:
            step, first = (16, 0x70) if abs(v) < 256 else (32, 0x78)
            return sign << 7 | first + to_integer(abs(v) / step, "rn") - 8
        return finish(fmt, encode(fmt, v, "rn", sign), mods)

    for fmt in ("e4m3", "e5m2"):
        for more in ([], ["relu"]):
            words = ".".join(["rn", "satfinite"] + more)
            simple(f"cvt.{words}.{fmt}x2.f32", ["f32"] * 2, "b16",
                   lambda a, b, f=fmt, m=more: saturated(f, "f32", m, a) << 8 | saturated(f, "f32", m, b),
                   target="sm_89", count=160)
            simple(f"cvt.{words}.{fmt}x2.f16x2", ["f16x2"], "b16",
                   lambda a, f=fmt, m=more: saturated(f, "f16", m, a >> 16) << 8 | saturated(f, "f16", m, a & 0xFFFF),
                   target="sm_89", count=160)
            words = ".".join(["rn"] + more)
            simple(f"cvt.{words}.f16x2.{fmt}x2", ["b16"], "f16x2",
                   lambda a, f=fmt, m=more: convert("f16", f, m, a >> 8) << 16 | convert("f16", f, m, a & 0xFF),
                   target="sm_89", count=160)
    for mode in ("rn", "rz"):
        for more in ([], ["relu"]):
            mods = [mode] + more + ["satfinite"]
            words = ".".join(mods)
            for to in ("f16", "bf16"):
                simple(f"cvt.{words}.{to}x2.f32", ["f32"] * 2, to + "x2",
                       lambda a, b, to=to, m=mods: convert(to, "f32", m, a) << 16 | convert(to, "f32", m, b))
                simple(f"cvt.{words}.{to}.f32", ["f32"], to, lambda a, to=to, m=mods: convert(to, "f32", m, a))
    form("cvt.rna.satfinite.tf32.f32", ["f32"], ["b32"], ["cvt.rna.satfinite.tf32.f32 %d, %a;"],
         lambda a: [convert("tf32", "f32", ["rna", "satfinite"], a)])
    for mode in ("rn", "rz"):
        form(f"cvt.{mode}.relu.tf32.f32", ["f32"], ["b32"], [f"cvt.{mode}.relu.tf32.f32 %d, %a;"],
             lambda a, m=mode: [convert("tf32", "f32", [m, "relu"], a)], target="sm_90")


narrow()


def lanes_of(quad):
    """The lanes of one of the four products of mma.m8n8k4."""
    return [4 * quad + x % 4 + 16 * (x // 4) for x in range(8)]


def products():
    group = lambda x: "{" + ", ".join(x) + "}"
    names = ["%a", "%b", "%c", "%e", "%f", "%g", "%h", "%i", "%j", "%k", "%l", "%m"]
    results = ["%d"] + [f"%d{n}" for n in range(1, 8)]
    halves_of = lambda words: [w >> s & 0xFFFF for w in words for s in (0, 16)]
    paired = lambda x: [x[2 * n + 1] << 16 | x[2 * n] for n in range(len(x) // 2)]

    def quads(a_layout, b_layout, d, c):
        def place(kind, x, n):
            return (x, n) if kind == "f16" else ((x & 1) + (n & 2) + 4 * (x // 4), (n & 4) + (x & 2) + (n & 1))
        def reference(rows):
            out = [None] * 32
            for quad in range(4):
                A, B, C = {}, {}, {}
                for x, lane in enumerate(lanes_of(quad)):
                    row = rows[lane]
                    for n, bits in enumerate(halves_of(row[:2])):
                        A[(x, n) if a_layout == "row" else (n + 4 * (x // 4), x % 4)] = value("f16", bits)
                    for n, bits in enumerate(halves_of(row[2:4])):
                        B[(n, x) if b_layout == "col" else (x % 4, n + 4 * (x // 4))] = value("f16", bits)
                    for n, bits in enumerate(halves_of(row[4:]) if c == "f16" else row[4:]):
                        C[place(c, x, n)] = value(c, bits)
                for x, lane in enumerate(lanes_of(quad)):
                    sums = []
                    for n in range(8):
                        i, j = place(d, x, n)
                        sums.append(encode(d, C[i, j] + sum(A[i, t] * B[t, j] for t in range(4))))
                    out[lane] = paired(sums) if d == "f16" else sums
            return out
        nc, nd = [4 if kind == "f16" else 8 for kind in (c, d)]
        kinds = {"f16": "f16x2", "f32": "f32"}
        opcode = f"mma.sync.aligned.m8n8k4.{a_layout}.{b_layout}.{d}.f16.f16.{c}"
        form(opcode, ["f16x2:small"] * 4 + [kinds[c] + ":small"] * nc, [kinds[d]] * nd,
             [f"{opcode} {group(results[:nd])}, {group(names[:2])}, {group(names[2:4])}, {group(names[4 : 4 + nc])};"],
             reference, warp=True, target="sm_75")

    for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32")):
        for a_layout in ("row", "col"):
            for b_layout in ("row", "col"):
                quads(a_layout, b_layout, d, c)

    # Patterns of numbers from 1 to 2, of either sign.
    near_one = {"e4m3": (0x87878787, 0x38383838), "e5m2": (0x83838383, 0x3C3C3C3C)}

    def narrow_mma(shape, a, b, acc, modifier="", end=""):
        m, k = [int(x) for x in re.match(r"m(\d+)n8k(\d+)", shape).groups()]
        width = {"s4": 4, "u4": 4, "b1": 1}.get(a, 8)
        per = 32 // width
        na, nb, nc = m * k // 32 // per, k * 8 // 32 // per, m * 8 // 32 // (2 if acc == "f16" else 1)
        def element(kind, bits):
            if kind in near_one:
                keep, put = [x & 0xFF for x in near_one[kind]]
                return value(kind, bits & keep | put)
            return bits - (1 << width) if kind[0] == "s" and bits >> (width - 1) else bits
        split = lambda word: [word >> (width * n) & ((1 << width) - 1) for n in range(per)]
        def reference(rows):
            A, B, C = {}, {}, {}
            for lane, row in enumerate(rows):
                g, t = lane // 4, lane % 4
                for r in range(na):
                    line, step = (g + 8 * (r % 2), r // 2) if m == 16 else (g, r)
                    for e, bits in enumerate(split(row[r])):
                        A[line, 4 * per * step + per * t + e] = element(a, bits)
                for r in range(nb):
                    for e, bits in enumerate(split(row[na + r])):
                        B[4 * per * r + per * t + e, g] = element(b, bits)
                sums = row[na + nb :]
                for i, bits in enumerate(halves_of(sums) if acc == "f16" else sums):
                    C[g + 8 * (i // 2), 2 * t + i % 2] = number("s32", bits) if acc == "s32" else value(acc, bits)
            out = []
            for lane in range(32):
                g, t = lane // 4, lane % 4
                sums = []
                for i in range(m * 8 // 32):
                    line, column = g + 8 * (i // 2), 2 * t + i % 2
                    pairs = [(A[line, x], B[x, column]) for x in range(k)]
                    if a == "b1":
                        total = C[line, column] + sum(x & y if "and" in end else x ^ y for x, y in pairs)
                    else:
                        total = C[line, column] + sum(x * y for x, y in pairs)
                    if "satfinite" in modifier:
                        total = min(max(total, -(1 << 31)), (1 << 31) - 1)
                    sums.append(total & 0xFFFFFFFF if acc == "s32" else encode(acc, Q(total)))
                out.append(paired(sums) if acc == "f16" else sums)
            return out
        body = []
        for name, kind in zip(names, [a] * na + [b] * nb):
            if kind in near_one:
                body += [f"and.b32 {name}, {name}, {near_one[kind][0]};", f"or.b32 {name}, {name}, {near_one[kind][1]};"]
        opcode = f"mma.sync.aligned.{shape}.row.col{modifier}.{acc}.{a}.{b}.{acc}{end}"
        body.append(f"{opcode} {group(results[:nc])}, {group(names[:na])}, {group(names[na : na + nb])}, "
                    f"{group(names[na + nb : na + nb + nc])};")
        kind = {"f16": "f16x2", "f32": "f32"}.get(acc)
        form(opcode, ["b32"] * (na + nb) + [kind + ":small" if kind else "b32"] * nc, [kind or "s32"] * nc, body, reference,
             warp=True, target="sm_89" if a in near_one else "sm_80", version="8.7" if a in near_one else "8.6")

    for shape in ("m16n8k16", "m16n8k32"):
        for acc in ("f16", "f32"):
            for a in ("e4m3", "e5m2"):
                for b in ("e4m3", "e5m2"):
                    narrow_mma(shape, a, b, acc)
    for shape in ("m8n8k16", "m16n8k16", "m16n8k32"):
        narrow_mma(shape, "s8", "u8", "s32")
        narrow_mma(shape, "u8", "s8", "s32", ".satfinite")
    for shape in ("m8n8k32", "m16n8k32", "m16n8k64"):
        for a, b, modifier in (("s4", "s4", ""), ("u4", "u4", ""), ("s4", "u4", ".satfinite"), ("u4", "s4", ".satfinite")):
            narrow_mma(shape, a, b, "s32", modifier)
    for shape in ("m8n8k128", "m16n8k128", "m16n8k256"):
        for end in (".xor.popc", ".and.popc"):
            narrow_mma(shape, "b1", "b1", "s32", "", end)

    def rounded(shape, mode):
        """A chain of fused multiply-adds, each of which is rounded."""
        m, k = [int(x) for x in re.match(r"m(\d+)n8k(\d+)", shape).groups()]
        na, nb, nc = m * k // 32, k // 4, m // 4
        def reference(rows):
            A, B = {}, {}
            for lane, row in enumerate(rows):
                g, t = lane // 4, lane % 4
                for r in range(na):
                    A[(g + 8 * (r % 2), 4 * (r // 2) + t) if m == 16 else (g, 4 * r + t)] = row[r]
                for r in range(nb):
                    B[4 * r + t, g] = row[na + r]
            out = []
            for lane, row in enumerate(rows):
                g, t = lane // 4, lane % 4
                sums = []
                for i in range(nc):
                    total = row[na + nb + i]
                    for x in range(k):
                        total = arithmetic("fma", "f64", [mode], [A[g + 8 * (i // 2), x], B[x, 2 * t + i % 2], total])
                    sums.append(total)
                out.append(sums)
            return out
        opcode = f"mma.sync.aligned.{shape}.row.col.{mode}.f64.f64.f64.f64"
        form(opcode, ["f64"] * (na + nb + nc), ["f64"] * nc,
             [f"{opcode} {group(results[:nc])}, {group(names[:na])}, {group(names[na : na + nb])}, "
              f"{group(names[na + nb : na + nb + nc])};"], reference, warp=True, target="sm_80" if m == 8 else "sm_90")

    for shape in ("m8n8k4", "m16n8k4", "m16n8k8"):
        for mode in ROUNDINGS:
            rounded(shape, mode)


def packs():
    """cvt.pack: two numbers made to fit, and what is above them."""
    def reference(kind, width, a, b, c=0):
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
        a, b = [min(max(number("s32", x), low), high) & ((1 << width) - 1) for x in (a, b)]
        return (c << 2 * width | a << width | b) & 0xFFFFFFFF

    for kind in ("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"):
        width = int(kind[1:])
        ins = ["s32", "s32"] if width == 16 else ["s32", "s32", "b32"]
        opcode = f"cvt.pack.sat.{kind}.s32" + ("" if width == 16 else ".b32")
        # Small ones, of which some fit, or all sizes.
        body = ["and.b32 %t0, %a, 3;", "mad.lo.u32 %t0, %t0, 9, 0;", "shr.s32 %a, %a, %t0;", "shr.s32 %b, %b, %t0;"]
        body.append(f"{opcode} %d, {', '.join(['%a', '%b', '%c'][: len(ins)])};")
        def small_too(a, b, c=0, kind=kind, width=width):
            by = 9 * (a & 3)
            return [reference(kind, width, number("s32", a) >> by & 0xFFFFFFFF, number("s32", b) >> by & 0xFFFFFFFF, c)]
        form(opcode, ins, ["b32"], body, small_too, count=96, target="sm_75")


products()
packs()


def coarse():
    """Of the upper halves alone: 20 bits behind the point, and zeros behind them."""
    FORMATS["upper"] = (64, 21, -1022, 32)

    def reference(op):
        def result(a):
            a = flush("upper", flush("f64", a) >> 32 << 32)
            v = value("upper", a)
            # Which NaN it is, the manual does not say.
            if v == "nan" or op == "rsqrt" and v != "inf" and (v == "-inf" or v < 0):
                return [None]
            if is_inf(v):
                return [sign_of("f64", a) << 63]
            if v == 0:
                return [infinity("f64", sign_of("f64", a))]
            exact = 1 / v if op == "rcp" else 1 / Q(math.sqrt(v))
            return [flush("upper", encode("upper", exact))]
        return result

    for op in ("rcp", "rsqrt"):
        # 2^-20 in relation to the result.
        form(f"{op}.approx.ftz.f64", ["f64"], ["f64"], [f"{op}.approx.ftz.f64 %d, %a;"], reference(op), ulp=2 << 32)

    def root(a):
        v = value("f64", a)
        if v == "nan" or v == "-inf" or not is_inf(v) and v < 0:
            return [None]
        return [0] if is_inf(v) else [infinity("f64", sign_of("f64", a)) if v == 0 else encode("f64", 1 / Q(math.sqrt(v)))]

    form("rsqrt.approx.f64", ["f64"], ["f64"], ["rsqrt.approx.f64 %d, %a;"], root, ulp=4)


def wide():
    """Registers of 128 bits."""
    form("mov.b128", ["b64", "b64"], ["b64", "b64"],
         [".reg .b128 %w, %r;", "mov.b128 %w, {%a, %b};", "mov.b128 %r, %w;", "mov.b128 {%d1, %d}, %r;"], lambda a, b: [b, a])
    form("ld.b128", ["b64", "b64"], ["b64", "b64"],
         [".reg .b128 %w, %r;", "ld.global.b128 %w, [%in];", "st.global.b128 [%out], %w;",
          "ld.relaxed.gpu.b128 %r, [%out];", "mov.b128 {%d1, %d}, %r;"], lambda a, b: [b, a])
    cells = ".shared .align 16 .b8 cells[512];"
    start = [".reg .b128 %w, %r, %old;", ".reg .b64 %at;", "mov.u64 %at, cells;", "mad.wide.u32 %at, %t2, 16, %at;",
             "mov.b128 %w, {%a, %b};", "st.shared.b128 [%at], %w;"]
    end = ["mov.b128 {%d, %d1}, %old;", "ld.shared.v2.b64 {%d2, %d3}, [%at];"]
    form("atom.exch.b128", ["b64", "b64"], ["b64"] * 4,
         start + ["mov.b128 %r, {%b, %a};", "atom.shared.exch.b128 %old, [%at], %r;"] + end,
         lambda a, b: [a, b, b, a], more=cells, target="sm_90")
    # Differs in the lower half, in the upper one, or not at all.
    form("atom.cas.b128", ["b64", "b64", "b32:3"], ["b64"] * 4,
         start + [".reg .b32 %n;", ".reg .b64 %x, %y;", "and.b32 %n, %c, 1;", "cvt.u64.u32 %x, %n;", "xor.b64 %x, %a, %x;",
                  "shr.u32 %n, %c, 1;", "cvt.u64.u32 %y, %n;", "xor.b64 %y, %b, %y;", "mov.b128 %w, {%x, %y};",
                  "mov.b128 %r, {%b, %a};", "atom.shared.cas.b128 %old, [%at], %w, %r;"] + end,
         lambda a, b, c: [a, b] + ([a, b] if c else [b, a]), more=cells, target="sm_90")


def transposed():
    def movmatrix(rows):
        def element(row, column):
            return rows[4 * row + column // 2][0] >> 16 * (column % 2) & 0xFFFF
        return [[element(2 * (i % 4) + 1, i // 4) << 16 | element(2 * (i % 4), i // 4)] for i in range(32)]

    form("movmatrix.sync.aligned.m8n8.trans.b16", ["b32"], ["b32"],
         ["movmatrix.sync.aligned.m8n8.trans.b16 %d, %a;"], movmatrix, warp=True)


def bytewise():
    def differences(a, b):
        return [abs((a >> 8 * n & 0xFF) - (b >> 8 * n & 0xFF)) for n in range(4)]

    simple("vabsdiff4.u32.u32.u32", ["b32"] * 3, "b32", lambda a, b, c: sum(d << 8 * n for n, d in enumerate(differences(a, b))))
    simple("vabsdiff4.u32.u32.u32.add", ["b32"] * 3, "b32", lambda a, b, c: cut("u32", sum(differences(a, b)) + c))


coarse()
wide()
transposed()
bytewise()
