# What the driver writes for tensor maps that change one argument at a time, and for such made by chance. Run on a GPU of sm_90:
#   python3 tensor-maps.py > all.txt
# tensor-maps.txt has a part of what it prints: every third of the first lines, every fifteenth of the others.
import ctypes, random, sys
cu = ctypes.CDLL("libcuda.so.1")
assert cu.cuInit(0) == 0
dev = ctypes.c_int(); cu.cuDeviceGet(ctypes.byref(dev), 0)
ctx = ctypes.c_void_p(); assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), dev) == 0; cu.cuCtxSetCurrent(ctx)
mem = ctypes.c_uint64(); assert cu.cuMemAlloc_v2(ctypes.byref(mem), ctypes.c_size_t(1 << 28)) == 0
v = ctypes.c_int(); cu.cuDriverGetVersion(ctypes.byref(v))
SIZE = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4]
def encode(t, rank, addr, sizes, strides, box, es, il, sw, prom, fill):
    raw = (ctypes.c_uint8 * 256)(); off = -ctypes.addressof(raw) % 64
    p = ctypes.c_void_p(ctypes.addressof(raw) + off)
    for i in range(256): raw[i] = 0xEE
    s = (ctypes.c_uint64 * 5)(*sizes); st = (ctypes.c_uint64 * 5)(*strides); b = (ctypes.c_uint32 * 5)(*box); e = (ctypes.c_uint32 * 5)(*es)
    r = cu.cuTensorMapEncodeTiled(p, t, ctypes.c_uint32(rank), ctypes.c_void_p(addr), s, st, b, e, il, sw, prom, fill)
    return r, bytes(raw[off:off + 128]).hex()
def line(*a):
    r, h = encode(*a)
    t, rank, addr, sizes, strides, box, es, il, sw, prom, fill = a
    j = lambda x: ",".join(map(str, x)) or "-"
    print(t, rank, hex(addr), j(sizes), j(strides), j(box), j(es), il, sw, prom, fill, r, h if r == 0 else "-")
print("# Driver", v.value, "- columns: type rank address sizes strides box element_strides interleave swizzle promotion fill status bytes")
R = random.Random(7)
base = mem.value
good = dict(t=7, rank=2, addr=base, sizes=[64, 64], strides=[256], box=[16, 16], es=[1, 1], il=0, sw=0, prom=0, fill=0)
def go(**k):
    d = dict(good); d.update(k); line(*[d[x] for x in "t rank addr sizes strides box es il sw prom fill".split()])
go()
for t in range(0, 16): go(t=t, box=[16, 4], strides=[512 if t < 13 and SIZE[min(t,12)] == 8 else 256])
for sw in range(0, 7): go(sw=sw, box=[8, 8])
for sw in range(0, 5):
    for b in (4, 8, 12, 16, 24, 32, 36, 64): go(sw=sw, box=[b, 8])
for p in range(0, 5): go(prom=p)
for f in range(0, 3):
    for t in range(13): go(fill=f, t=t, box=[16, 4], strides=[1024])
for il in range(0, 4):
    for sw in range(0, 5): go(il=il, sw=sw, rank=3, sizes=[64, 64, 8], strides=[2048, 131072], box=[4, 8, 2], es=[1, 1, 1])
    for sw in range(0, 3): go(il=il, sw=sw, rank=3, sizes=[64, 64, 8], strides=[2048, 131072], box=[8, 8, 2], es=[1, 1, 1])
    go(il=il, addr=base + 16, rank=3, sizes=[64, 64, 8], strides=[2048, 131072], box=[4, 8, 2], es=[1, 1, 1])
    go(il=il, rank=3, sizes=[64, 64, 8], strides=[2064, 131072], box=[4, 8, 2], es=[1, 1, 1])
for k in range(0, 30): go(addr=base + (1 << k))
for k in (1, 4, 8, 16, 32): go(addr=base + k)
for k in range(0, 34): go(sizes=[1 << k, 64], strides=[1 << 36]); go(sizes=[64, (1 << k)])
for k in range(0, 33): go(sizes=[(1 << k) + 1, 3], strides=[1 << 36])
for k in (0, 1, 2, 3): go(sizes=[k, 64]); go(sizes=[64, k])
for k in range(0, 42): go(strides=[1 << k]); go(strides=[(1 << k) + 16]); go(sizes=[4, 64], strides=[1 << k])
go(strides=[0]); go(strides=[240]); go(strides=[128])
for b in (0, 1, 2, 3, 4, 5, 8, 100, 252, 255, 256, 257, 260): go(box=[b, 1], sizes=[1000, 64], strides=[4000]); go(box=[4, b]); go(box=[4, b], sizes=[64, 1000])
for e in range(0, 12): go(es=[e, 1]); go(es=[1, e]); go(es=[e, 1], box=[32, 8]); go(es=[1, e], box=[16, 32])
for rank in range(0, 7):
    n = max(1, min(rank, 5))
    sizes = [64] * n; strides = [256 * 64 ** i for i in range(n - 1)]
    go(rank=rank, sizes=sizes, strides=strides, box=[4] * n, es=[1] * n)
for i in range(5):
    for what in ("sizes", "strides", "box", "es"):
        d = dict(rank=5, sizes=[64, 5, 6, 7, 9], strides=[256, 2048, 16384, 131072], box=[4, 2, 3, 4, 5], es=[1, 1, 1, 1, 1])
        x = list(d[what])
        if i < len(x):
            for y in ({"sizes": (1, 63, 65, 100, 1000), "strides": (16, 272, 4096, 1 << 20, (1 << 39) + 32), "box": (1, 7, 8, 16), "es": (2, 3, 7, 8, 9)}[what]):
                z = list(x); z[i] = y; d[what] = z; go(**d)
for n in range(2200):
    t = R.randrange(13); e = SIZE[t]; rank = R.choice([1, 1, 2, 2, 2, 2, 3, 3, 4, 5])
    sw = R.choice([0, 0, 1, 2, 3]); il = 0
    if R.random() < .1 and rank >= 3: il = R.choice([1, 2])
    inner = R.choice([16, 32, 64, 128, 256]) // e
    if sw: inner = min(inner, [0, 32, 64, 128][sw] // e)
    if R.random() < .04: inner += R.choice([1, 2, 16 // e])
    box = [max(1, min(256, inner))] + [R.choice([1, 2, 4, 8, 16, 32, 64, 128, 256, R.randrange(1, 257)]) for _ in range(rank - 1)]
    sizes = [R.choice([R.randrange(1, 300), R.randrange(1, 70000), 1 << R.randrange(1, 20)]) for _ in range(rank)]
    strides = []; s = sizes[0] * e
    for i in range(rank - 1):
        s = -(-s // 16) * 16 + 16 * R.choice([0, 0, 1, 5, 1000])
        if R.random() < .03: s += R.choice([1, 8])
        strides.append(s); s *= sizes[i + 1]
    es = [R.choice([1, 1, 1, 1, 2, 3, 8]) for _ in range(rank)]
    line(t, rank, base + 16 * R.randrange(1 << 20), sizes, strides, box, es, il, sw, R.randrange(4), R.choice([0, 0, 1]))
