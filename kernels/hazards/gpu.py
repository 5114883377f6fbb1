"""One kernel on the GPU, by the driver's interface alone: `gpu.py FILE LAUNCHES SECONDS` prints one JSON object."""

import ctypes
import glob
import json
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
import time

from heads import FOLDER, Kernel, contents

POISON = 0xFF
DATA_TYPES = {"u8": 0, "u16": 1, "u32": 2, "i32": 3, "u64": 4, "i64": 5, "f16": 6, "f32": 7, "f64": 8}


class Failed(Exception):
    """The driver or the compiler said no."""


def nvrtc():
    """The library of NVRTC: of the toolkit, or of a package of this Python."""
    packages = sysconfig.get_paths()["purelib"]
    folders = [os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/lib64", *glob.glob("/usr/local/cuda*/lib64"),
               *glob.glob(packages + "/nvidia/*/lib"), *glob.glob(packages + "/nvidia/cuda_nvrtc/lib")]
    for folder in folders:
        for builtins in glob.glob(folder + "/libnvrtc-builtins.so.1[0-9].*"):
            ctypes.CDLL(builtins, mode=ctypes.RTLD_GLOBAL)
        for library in sorted(glob.glob(folder + "/libnvrtc.so.1[0-9]*")):
            return ctypes.CDLL(library)
    raise Failed("no NVRTC")


def compile_by_nvcc(kernel, arch):
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder, "cubin")
        command = ["nvcc", "-cubin", f"-arch={arch}", "-lineinfo", "-o", made, kernel.path]
        try:
            outcome = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise Failed("no NVRTC and no nvcc: set CUDA_HOME to the toolkit's folder") from None
        if outcome.returncode != 0:
            raise Failed(outcome.stderr)
        return made.read_bytes()


def compile_kernel(kernel, arch):
    """The kernel's machine code for this architecture, as sm_90a, with lines."""
    try:
        library = nvrtc()
    except Failed:
        return compile_by_nvcc(kernel, arch)
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), kernel.text.encode(), kernel.path.name.encode(), 0, None, None)
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={arch}".encode(), b"-lineinfo")
    if library.nvrtcCompileProgram(program, 2, options) != 0:
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        raise Failed(log.value.decode())
    library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    library.nvrtcGetCUBIN(program, code)
    return code.raw


class Gpu:
    """The first GPU."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        device, context, value = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        parts = []
        for attribute in (75, 76):  # compute capability, major and minor
            self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
            parts.append(value.value)
        self.arch = f"sm_{parts[0]}{parts[1]}" + ("a" if parts[0] >= 9 else "")
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, device)
        self.call("cuDriverGetVersion", ctypes.byref(value))
        self.name = f"{name.value.decode()}, driver for CUDA {value.value // 1000}.{value.value % 1000 // 10}"

    def call(self, function, *arguments):
        code = getattr(self.driver, function)(*arguments)
        if code != 0:
            name = ctypes.c_char_p()
            self.driver.cuGetErrorName(code, ctypes.byref(name))
            raise Failed(f"{function}: {(name.value or b'?').decode()}")

    def memory(self, size):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def tensor_map(self, address, kind, size, shape, box):
        """The 128 bytes of a map: shape and box with the innermost dimension last."""
        room = ctypes.create_string_buffer(128 + 64)
        at = (ctypes.addressof(room) + 63) // 64 * 64
        sides, strides = shape[::-1], []
        for side in sides[:-1]:
            strides.append((strides[-1] if strides else size) * side)
        rank = len(sides)
        self.call("cuTensorMapEncodeTiled", ctypes.c_void_p(at), DATA_TYPES[kind], rank, ctypes.c_void_p(address.value),
                  (ctypes.c_uint64 * rank)(*sides), (ctypes.c_uint64 * max(rank - 1, 1))(*strides),
                  (ctypes.c_uint32 * rank)(*box[::-1]), (ctypes.c_uint32 * rank)(*[1] * rank), 0, 0, 0, 0)
        return room, at


class Run:
    """A kernel with its buffers, ready to be launched."""

    def __init__(self, gpu, kernel, poisoned):
        self.gpu, self.kernel, self.kept = gpu, kernel, []
        self.fresh, self.used = {}, {}
        for name, (kind, count, content) in kernel.buffers.items():
            given = contents(kind, count, content or "zeros")
            self.used[name] = (gpu.memory(len(given)), len(given))
            if content is None and not poisoned:
                continue
            if content is None:
                given = bytes([POISON]) * len(given)
            self.fresh[name] = gpu.memory(len(given))
            gpu.call("cuMemcpyHtoD_v2", self.fresh[name], given, ctypes.c_size_t(len(given)))
        module = ctypes.c_void_p()
        cached = os.environ.get("HAZARDS_CODE")
        code = pathlib.Path(cached, kernel.name).read_bytes() if cached else compile_kernel(kernel, gpu.arch)
        gpu.call("cuModuleLoadData", ctypes.byref(module), code)
        self.launches = [self._prepared(module, launch) for launch in kernel.launches]

    def _prepared(self, module, launch):
        function, places = ctypes.c_void_p(), []
        self.gpu.call("cuModuleGetFunction", ctypes.byref(function), module, launch["entry"].encode())
        for argument in launch["args"]:
            if argument[0] == "number":
                room = ctypes.create_string_buffer(argument[1])
                place = ctypes.addressof(room)
            elif argument[0] == "map":
                kind, count, _ = self.kernel.buffers[argument[1]]
                address, size = self.used[argument[1]]
                room, place = self.gpu.tensor_map(address, kind, size // count, argument[2], argument[3])
            else:
                room = self.used[argument[1]][0]
                place = ctypes.addressof(room)
            self.kept.append(room)
            places.append(place)
        sides = [([int(side) for side in launch[what].split(",")] + [1, 1])[:3] for what in ("grid", "block")]
        shared = int(launch["shared"])
        if shared > 48 * 1024:
            self.gpu.call("cuFuncSetAttribute", function, 8, shared)
        return function, *sides[0], *sides[1], shared, None, (ctypes.c_void_p * len(places))(*places), None

    def restore(self):
        for name, fresh in self.fresh.items():
            address, size = self.used[name]
            self.gpu.call("cuMemcpyDtoDAsync_v2", address, fresh, ctypes.c_size_t(size), None)

    def launch(self, seconds):
        """True if all launches ended in so many seconds; without a limit, they are waited for."""
        for launch in self.launches:
            self.gpu.call("cuLaunchKernel", *launch)
        deadline = time.monotonic() + seconds
        while seconds and self.gpu.driver.cuStreamQuery(None) == 600:  # not ready
            if time.monotonic() > deadline:
                return False
        self.gpu.call("cuStreamSynchronize", None)
        return True

    def difference(self):
        """What is not as expected first, in words, or None."""
        for name, begin, wanted, size in self.kernel.expected():
            got = ctypes.create_string_buffer(len(wanted))
            self.gpu.call("cuMemcpyDtoH_v2", got, ctypes.c_uint64(self.used[name][0].value + begin), ctypes.c_size_t(len(wanted)))
            if got.raw != wanted:
                at = next(i for i in range(0, len(wanted), size) if got.raw[i:i + size] != wanted[i:i + size])
                return f"{name}[{(begin + at) // size}] holds 0x{got.raw[at:at + size][::-1].hex()}"
        return None


def say(**outcome):
    print(json.dumps(outcome), flush=True)


def main(path, launches, seconds):
    """With 0 launches there is one, whose buffers are neither poisoned nor compared: for a tool that watches."""
    watched = launches == 0
    gpu = Gpu()
    run = Run(gpu, Kernel(path), not watched)
    wrong, first = 0, ""
    for number in range(max(launches, 1)):
        try:
            run.restore()
            if not run.launch(0 if watched else seconds):
                say(outcome="hang", launches=number, wrong=wrong, words=f"launch {number + 1} does not end; {first}")
                os._exit(0)
            difference = None if watched else run.difference()
        except Failed as failure:
            say(outcome="error", launches=number, wrong=wrong, words=f"launch {number + 1}: {failure}; {first}")
            os._exit(0)
        if difference:
            wrong += 1
            first = first or f"launch {number + 1}: {difference}"
    say(outcome="wrong" if wrong else "right", launches=max(launches, 1), wrong=wrong, words=first, device=gpu.name)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(f"usage: {FOLDER.name}/gpu.py FILE LAUNCHES SECONDS")
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
