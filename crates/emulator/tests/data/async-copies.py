"""Makes h200-async-copies.csv on a GPU with Nsight Compute, from async-copies.ptx beside it: `python3 async-copies.py`.

Each pattern is a launch of one warp; ncu reads the requests and sectors of its loads from global memory.
"""
import csv
import ctypes
import io
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../exam'))
import card

METRICS = ['l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum', 'l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum']

FULL = 0xffffffff
def patterns():
    r = random.Random(118)
    out = []
    add = lambda form, off, size, active=FULL, ignore=0: out.append((form, list(off), list(size), active, ignore))
    for form, w in (('ca4', 4), ('ca8', 8), ('ca16', 16), ('cg16', 16)):
        lanes = range(32)
        seq = [w * l for l in lanes]
        shift = [w * l + w for l in lanes]          # begins inside a sector
        wide = [128 * l for l in lanes]
        sect = [32 * l for l in lanes]
        two = [2 * w * l for l in lanes]
        rows = [(l // 8) * 1040 + (l % 8) * w for l in lanes]
        same = [64] * 32
        full, none = [w] * 32, [0] * 32
        for off in (seq, shift, wide, sect, two, rows, same):
            add(form, off, full)
            add(form, off, none)
            for part in {1, 2, 4, 8, 12} - {w}:
                if part < w and off in (seq, wide, rows): add(form, off, [part] * 32)
        tails = lambda n: [w if l < n else 0 for l in lanes]
        for n in (1, 2, 3, 5, 8, 9, 13, 16, 20, 24, 27, 31):
            add(form, seq, tails(n))                                        # zero-sized at their own addresses
            if n in (1, 5, 9, 20, 27):
                add(form, [seq[l] if l < n else 0 for l in lanes], tails(n))      # all at the start
                add(form, [seq[l] if l < n else 65536 for l in lanes], tails(n))  # all at one place elsewhere
                add(form, [seq[l] if l < n else 1 << 29 for l in lanes], tails(n))  # outside the buffer
                add(form, seq, [w] * 32, (1 << n) - 1)                      # guarded off
                add(form, wide, tails(n))
                add(form, rows, tails(n))
                add(form, rows, [w if l % 8 < n % 8 else 0 for l in lanes])
                add(form, [rows[l] if l % 8 < n % 8 else 0 for l in lanes], [w if l % 8 < n % 8 else 0 for l in lanes])
        for step in (2, 3, 4):
            sz = [w if l % step == 0 else 0 for l in lanes]
            for off in (seq, sect, wide, two): add(form, off, sz)
        one = [w if l == 7 else 0 for l in lanes]
        for off in (seq, wide, same): add(form, off, one)
        if w > 4:
            for _ in range(6):
                sz = [r.choice(range(0, w + 1, 4)) for _ in lanes]
                add(form, r.choice((seq, wide, rows, two)), sz)
            # the last one of each row of 8 is partial
            for part in range(4, w, 4): add(form, rows, [w if l % 8 < 5 else part if l % 8 == 5 else 0 for l in lanes])
        for _ in range(8):
            off = [w * r.randrange(0, 4096 // w) for _ in lanes]
            sz = [r.choice((0, w)) for _ in lanes]
            add(form, off, sz, r.choice((FULL, r.getrandbits(32))))
    for form, w in (('ca4n', 4), ('ca8n', 8), ('ca16n', 16), ('cg16n', 16)):
        for m in (FULL, 1, 0x80, 0x7fff, 0x55555555, 0):
            add(form, [w * l for l in range(32)], [w] * 32, m)
        add(form, [w * l + w for l in range(32)], [w] * 32)
        add(form, [128 * l for l in range(32)], [w] * 32, 0x00ff00ff)
    for form, w in (('ca4i', 4), ('ca16i', 16), ('cg16i', 16)):
        for ig in (0, FULL, 1, 0xaaaaaaaa, 0xffff0000, 0xfffffff7, r.getrandbits(32)):
            add(form, [w * l for l in range(32)], [w] * 32, FULL, ig)
            add(form, [128 * l for l in range(32)], [w] * 32, FULL, ig)
        add(form, [w * l if l < 9 else 1 << 29 for l in range(32)], [w] * 32, FULL, FULL << 9 & FULL)
    return out
def chosen():
    all_ = patterns()
    out, full = [], 0
    for i, p in enumerate(all_):
        form = p[0]
        if form == 'ca8' and i % 3: continue
        if form == 'ca16' and i % 2: continue
        out.append(p)
    return out


class Pattern(ctypes.Structure):
    _fields_ = [('offset', ctypes.c_int32 * 32), ('size', ctypes.c_int16 * 32), ('active', ctypes.c_uint32), ('ignore', ctypes.c_uint32)]


def launch(first, last):
    """What runs under ncu."""
    card.init()
    module = card.module(open('async-copies.ptx').read())
    base = card.alloc(1 << 20, 1)
    for form, offset, size, active, ignore in chosen()[first:last]:
        pattern = Pattern((ctypes.c_int32 * 32)(*offset), (ctypes.c_int16 * 32)(*size), active, ignore)
        card.launch(card.function(module, form), (1, 1, 1), (32, 1, 1), 0, [base, ctypes.c_uint64(0), pattern])
        card.check(card.cu.cuCtxSynchronize(), 'synchronize')


def measure(first, last):
    """Requests and sectors of some patterns."""
    ncu = ['ncu', '--clock-control', 'none', '--csv', '--page', 'raw', '--print-units', 'base', '--metrics', ','.join(METRICS)]
    run = subprocess.run(ncu + [sys.executable, __file__, str(first), str(last)], capture_output=True, text=True, check=True)
    rows = list(csv.DictReader(io.StringIO('\n'.join(line for line in run.stdout.split('\n') if line.startswith('"')))))
    return [[int(row[metric].replace(',', '')) for metric in METRICS] for row in rows[1:]]


def record():
    gpu = ['nvidia-smi', '--query-gpu=name,driver_version,clocks.max.sm', '--format=csv,noheader']
    lines = ["# What an H200 counts for one warp's cp.async, read by `python3 async-copies.py`; one launch per line. Do not edit.",
             '# ' + subprocess.check_output(gpu, text=True).strip(),
             '# Nsight Compute ' + subprocess.check_output(['ncu', '--version'], text=True).strip().split('\n')[-1].replace('Version ', ''),
             '# form: .ca or .cg, bytes, and how the size is given: s by the source size, i by the ignore-src predicate, w whole; '
             'reads: source size or 0/1 per lane',
             'form,bytes,given,active,offsets,reads,requests,sectors']
    patterns = chosen()
    for first in range(0, len(patterns), 40):
        part = patterns[first:first + 40]
        for (form, offset, size, active, ignore), counted in zip(part, measure(first, first + 40), strict=True):
            given = {'n': 'w', 'i': 'i'}.get(form[-1], 's')
            reads = size if given == 's' else [1 - (ignore >> lane & 1) if given == 'i' else 1 for lane in range(32)]
            fields = [form[:2], form.strip('cagni'), given, f'{active:08x}', ' '.join(map(str, offset)), ' '.join(map(str, reads))]
            line = ','.join(fields + list(map(str, counted)))
            if line not in lines:
                lines.append(line)
    open('h200-async-copies.csv', 'w').write('\n'.join(lines) + '\n')


if __name__ == '__main__':
    launch(int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else record()
