#!/usr/bin/env python3
"""Writes oldest-architectures.csv: for which architectures ptxas assembles each instruction form.

CUDA 11.8 is the last that knows sm_37, 12.9 the last that knows sm_50 to sm_70; both are on PyPI (nvidia-cuda-nvcc-cu11,
nvidia-cuda-nvcc-cu12). Some minutes, in this folder:

  cargo x unpack crates/emulator/tests/ptx/forms.ptx.zst crates/emulator/tests/ptx
  python3 oldest-architectures.py <ptxas 11.8> <ptxas 12.9> > oldest-architectures.csv
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ARCHITECTURES = [37, 50, 52, 53, 60, 61, 70, 75, 80, 86, 89, 90, 100, 120]
OLD, NEW = sys.argv[1:3]
folder = pathlib.Path(__file__).parent.parent / "ptx"
scratch = pathlib.Path(tempfile.mkdtemp())


def version(ptxas):
    return re.search(r"V([\d.]+)", subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout)[1]


def assembles(text, sm):
    ptxas, isa = (OLD, "7.8") if sm < 50 else (NEW, "8.8")
    text = re.sub(r"\.version .*", f".version {isa}", text, count=1)
    text = re.sub(r"\.target .*", f".target sm_{sm}", text, count=1)
    (scratch / "form.ptx").write_text(text)
    command = [ptxas, f"-arch=sm_{sm}", "-O0", scratch / "form.ptx", "-o", scratch / "form.cubin"]
    return subprocess.run(command, capture_output=True).returncode == 0


print("# The oldest architecture for which ptxas assembles each file of tests/ptx; made by oldest-architectures.py")
print(f"# with the ptxas of CUDA {version(OLD)} (sm_37) and {version(NEW)} (sm_50 and newer).")
print("form,sm")
for form in sorted(folder.glob("*.ptx")):
    text = form.read_text()
    print(f"{form.stem},{next(sm for sm in ARCHITECTURES if assembles(text, sm))}")
