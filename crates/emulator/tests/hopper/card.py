"""Runs the products of this folder on a GPU: `python3 card.py > h200.txt` writes the record that the emulator is held to.
`cargo x unpack crates/emulator/tests/corpus/kernels.ptx.zst crates/emulator/tests` puts the PTX here first. Needs numpy and NVIDIA's driver; the matrices, forms and launches are those of product.rs."""
import ctypes as C
import os
import subprocess
import sys

import numpy as np

TYPES = dict(bf16=(9, 2), f16=(6, 2), tf32=(7, 4), e4m3=(0, 1))  # CUtensorMapDataType, bytes
RING = 3 * 32768 + 4 * 8192 + 48
FORMS = [('warpgroup', 1, 64, 128, 8192 + 16384 + 8, None), ('ring', 1, 128, 384, RING, None),
         ('cluster', 2, 128, 384, RING, None), ('persistent', 1, 128, 384, RING, 2)]
SHAPES = [(256, 384, 512), (200, 264, 208)]
HERE = os.path.dirname(os.path.abspath(__file__))

cu = C.CDLL('libcuda.so.1')
def check(status, what):
    if status:
        sys.exit(f'{what}: error {status}')
def start():
    check(cu.cuInit(0), 'init')
    device, context = C.c_int(), C.c_void_p()
    check(cu.cuDeviceGet(C.byref(device), 0), 'device')
    check(cu.cuDevicePrimaryCtxRetain(C.byref(context), device), 'context')
    check(cu.cuCtxSetCurrent(context), 'current')
def upload(data):
    at = C.c_uint64()
    check(cu.cuMemAlloc_v2(C.byref(at), C.c_size_t(data.nbytes)), 'alloc')
    check(cu.cuMemcpyHtoD_v2(at, data.ctypes.data_as(C.c_void_p), C.c_size_t(data.nbytes)), 'copy')
    return at
def matrix(of, elements, number):
    h = (np.arange(elements, dtype=np.uint64) * 0x9e3779b9 + number * 0x85ebca6b) & 0xffffffff
    h = ((h ^ h >> np.uint64(16)) * 0x7feb352d) & 0xffffffff
    h = ((h ^ h >> np.uint64(15)) * 0x846ca68b) & 0xffffffff
    h = (h ^ h >> np.uint64(16)).astype(np.uint32)
    e = h >> 16 & 7
    if of == 'bf16': return (h & 0x8000 | (120 + e) << 7 | h & 0x7f).astype(np.uint16)
    if of == 'f16': return (h & 0x8000 | (8 + e) << 10 | h & 0x3ff).astype(np.uint16)
    if of == 'tf32': return ((h & 0x8000) << 16 | (120 + e) << 23 | (h & 0x3ff) << 13).astype(np.uint32)
    return np.where(h & 0x7f == 0x7f, 0, h & 0xff).astype(np.uint8)
def tensor_map(of, size, at, rows, columns, high, wide):
    room = (C.c_uint8 * 192)()
    place = C.c_void_p(C.addressof(room) + -C.addressof(room) % 64)
    check(cu.cuTensorMapEncodeTiled(place, of, C.c_uint32(2), at, (C.c_uint64 * 2)(columns, rows), (C.c_uint64 * 1)(columns * size),
                                    (C.c_uint32 * 2)(wide, high), (C.c_uint32 * 2)(1, 1), 0, 3, 0, 0), 'tensor map')
    return room, place
def run(form, of, shape):
    name, cluster, rows, threads, shared, blocks = form
    (element, size), (m, n, k) = TYPES[of], shape
    out = 2 if size == 2 else 4
    module, function = C.c_void_p(), C.c_void_p()
    ptx = open(f'{HERE}/{name}-{of}.ptx', 'rb').read() + b'\0'
    check(cu.cuModuleLoadData(C.byref(module), ptx), 'load')
    check(cu.cuModuleGetFunction(C.byref(function), module, b'kernel'), 'function')
    check(cu.cuFuncSetAttribute(function, 8, shared), 'shared memory')
    a, b = upload(matrix(of, m * k, 1)), upload(matrix(of, k * n, 2))
    c = np.full(m * n * out, 0xcb, np.uint8)
    to, row = upload(c), 128 // size
    maps = [tensor_map(element, size, a, m, k, rows, row),
            tensor_map(element, size, b, k, n, row, row) if size == 2 else tensor_map(element, size, b, n, k, 128 // cluster, row),
            tensor_map(element if size == 2 else 7, out, to, m, n, 64, 128 // out)]
    across, down = -(-n // 128), -(-m // (rows * cluster)) * cluster
    grid = (across, down) if name == 'warpgroup' else (blocks or across * down, 1)
    values = [to, C.c_int(m), C.c_int(n), C.c_int(k)]
    places = [place for _, place in (maps[:2] if name == 'warpgroup' else maps)]
    places += [C.cast(C.pointer(value), C.c_void_p) for value in values]
    check(cu.cuLaunchKernel(function, *grid, 1, threads, 1, 1, shared, None, (C.c_void_p * len(places))(*places), None), 'launch')
    check(cu.cuCtxSynchronize(), f'{name} {of}')
    check(cu.cuMemcpyDtoH_v2(c.ctypes.data_as(C.c_void_p), to, C.c_size_t(c.nbytes)), 'copy back')
    for place in (a, b, to):
        cu.cuMemFree_v2(place)
    return c.tobytes()
def fnv(data):
    state = 0xcbf29ce484222325
    for byte in data:
        state = (state ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return state


if __name__ == '__main__':
    start()
    card = subprocess.run(['nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader'], capture_output=True, text=True)
    print(f'# Made by `python3 card.py > h200.txt` on {card.stdout.strip()}: form, type, M, N, K, FNV-1a of the bytes of C. Do not edit.')
    for form in FORMS:
        for of in TYPES:
            for shape in SHAPES:
                print(form[0], of, *shape, f'{fnv(run(form, of, shape)):016x}', flush=True)
