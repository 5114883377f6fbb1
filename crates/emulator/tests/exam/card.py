"""Runs kernels of the exam on a GPU: `python3 card.py right/mailbox_release_acquire` says whether the results are right, and
`python3 card.py --gives` writes gives.txt, what the right kernels must give by the expressions in their heads, without a GPU.
`cargo x unpack crates/emulator/tests/corpus/kernels.ptx.zst crates/emulator/tests` puts the PTX here first. Needs Python's standard library and NVIDIA's driver only."""
import ctypes
import glob
import os
import re
import struct
import sys

cu = None
def check(r, what):
    if r:
        s = ctypes.c_char_p(); cu.cuGetErrorName(r, ctypes.byref(s))
        raise RuntimeError(f'{what}: {s.value.decode() if s.value else r}')
def init():
    global cu
    cu = ctypes.CDLL('libcuda.so.1')
    check(cu.cuInit(0), 'init')
    dev = ctypes.c_int(); check(cu.cuDeviceGet(ctypes.byref(dev), 0), 'device')
    ctx = ctypes.c_void_p(); check(cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), dev), 'context')
    check(cu.cuCtxSetCurrent(ctx), 'current')
def alloc(n, byte=None):
    p = ctypes.c_uint64(); check(cu.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(max(n, 1))), 'alloc')
    if byte is not None: check(cu.cuMemsetD8_v2(p, ctypes.c_ubyte(byte), ctypes.c_size_t(max(n, 1))), 'memset')
    return p
def module(text):
    m = ctypes.c_void_p(); check(cu.cuModuleLoadData(ctypes.byref(m), text.encode() + b'\0'), 'load'); return m
def function(m, name):
    f = ctypes.c_void_p(); check(cu.cuModuleGetFunction(ctypes.byref(f), m, name.encode()), 'function'); return f
def launch(f, grid, block, smem, values):
    arr = (ctypes.c_void_p * max(len(values), 1))(*[ctypes.cast(ctypes.pointer(v), ctypes.c_void_p) for v in values])
    check(cu.cuLaunchKernel(f, *grid, *block, smem, None, arr, None), 'launch')
SIZE = dict(u32=4, f32=4, u64=8, f64=8, u8=1, u16=2, i32=4)
CODE = dict(u32='I', f32='f', u64='Q', f64='d', u8='B', u16='H', i32='i')
def half(j): return ((j * 5) % 7 - 3) * 0.25
def fill(kind, n, how):
    if how == 'none': return None
    if how == 'zero': v = [0] * n
    elif how == 'ones': v = [1] * n
    elif how == 'ramp': v = list(range(n))
    elif how == 'half': v = [struct.unpack('<H', struct.pack('<e', half(j)))[0] for j in range(n)]
    elif how == 'rand':
        x, v = 1, []
        for _ in range(n):
            x = (x * 1664525 + 1013904223) & 0xffffffff; v.append((x >> 16) % 100)
        if kind[0] == 'f': v = [y * 0.25 for y in v]
    if kind == 'u8': v = [y & 255 for y in v]
    return v
def parse(path):
    lines = open(path).read().split('\n')
    spec = dict(grid=[1, 1, 1], block=[1, 1, 1], smem=0, launches=1, args=[], gives={}, sm=75)
    for line in lines:
        w = line.split()
        if line.startswith('// exam: '):
            spec['expect'] = w[2]
            for x in w[3:]:
                k, v = x.split('=')
                if k in ('grid', 'block'): d = [int(y) for y in v.split(',')]; spec[k] = (d + [1, 1])[:3]
                else: spec[k] = int(v)
        elif line.startswith('// arg '):
            for x in w[2:]:
                name, v = x.split('=', 1)
                if ':' not in v: spec['args'].append((name, 'alias', v, 0)); continue
                ty, how = v.split(':')
                m = re.match(r'(\w+)\[(\d+)\]$', ty)
                spec['args'].append((name, m.group(1), int(m.group(2)), how) if m else (name, 'scalar', ty, how))
        elif line.startswith('// gives '):
            name, e = line[9:].split(' = ', 1); spec['gives'][name] = e
    return spec
def expected(spec):
    first = next((fill(t, n, h) for _, t, n, h in spec['args'] if t in SIZE), None)
    out = {}
    for name, t, n, h in spec['args']:
        if name in spec['gives']:
            env = dict(IN=first, HALF=half)
            f = eval('lambda i: ' + spec['gives'][name], env)
            out[name] = [f(i) for i in range(n)]
    return out
def run(path, poison=True):
    spec = parse(path + '.cu')
    text = open(path + '.ptx').read()
    init()
    m = module(text); f = function(m, 'k')
    values, bufs = [], {}
    for name, t, n, how in spec['args']:
        if t == 'scalar': values.append(ctypes.c_int32(int(how)))
        elif t == 'alias': values.append(bufs[n][0])
        else:
            data = fill(t, n, how)
            p = alloc(n * SIZE[t], 0xCB if poison and data is None else None)
            if data is not None:
                raw = struct.pack(f'<{n}{CODE[t]}', *data)
                check(cu.cuMemcpyHtoD_v2(p, raw, ctypes.c_size_t(len(raw))), 'copy')
            bufs[name] = (p, t, n); values.append(p)
    for _ in range(spec['launches']): launch(f, spec['grid'], spec['block'], spec['smem'], values)
    check(cu.cuCtxSynchronize(), 'synchronize')
    want, bad = expected(spec), []
    for name, v in want.items():
        p, t, n = bufs[name]
        raw = ctypes.create_string_buffer(n * SIZE[t])
        check(cu.cuMemcpyDtoH_v2(raw, p, ctypes.c_size_t(len(raw))), 'copy back')
        got = list(struct.unpack(f'<{n}{CODE[t]}', raw.raw))
        if got != v:
            i = next(i for i in range(n) if got[i] != v[i])
            bad.append(f'{name}[{i}] is {got[i]}, not {v[i]} ({sum(a != b for a, b in zip(got, v))} of {n})')
    return bad
def gives():
    lines = ['# Made by `python3 card.py --gives` from the heads of the right kernels: kernel, argument, FNV-1a of its bytes. Do not edit.']
    for path in sorted(glob.glob('right/*.cu')):
        spec = parse(path)
        for name, values in expected(spec).items():
            kind = next(a[1] for a in spec['args'] if a[0] == name)
            state = 0xcbf29ce484222325
            for byte in struct.pack(f'<{len(values)}{CODE[kind]}', *values):
                state = (state ^ byte) * 0x100000001b3 & 0xffffffffffffffff
            lines.append(f'{os.path.basename(path)[:-3]} {name} {state:016x}')
    open('gives.txt', 'w').write('\n'.join(lines) + '\n')


if __name__ == '__main__':
    if sys.argv[1] == '--gives':
        gives()
        sys.exit()
    try:
        bad = run(sys.argv[1], '--raw' not in sys.argv)
        print('RESULT ' + ('ok' if not bad else '; '.join(bad)))
        sys.exit(1 if bad else 0)
    except RuntimeError as e:
        print('RESULT error: ' + str(e)); sys.exit(3)
