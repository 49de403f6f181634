# SPDX-License-Identifier: Apache-2.0
"""pipeline/skeletons/exact_math.h gives the same bits whoever compiles it, at every optimisation, calls nothing of libm or
libc, and compiles for GPUs where CUDA's run-time compiler is installed.
By hand: /usr/bin/python3 -m pytest tests/reference/test_exact_math.py"""
import ctypes
import ctypes.util
import glob
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FUNCTIONS, COUNT = 33, 40000
DRIVER = """
unsigned long long digest(int function, unsigned count) { return exact_set_digest(function, count); }
unsigned long long result(int function, unsigned index) { return exact_set_result(function, index); }
"""
STRICT = ["-nostdlib", "-nostdinc", "-fPIC", "-shared", "-Wl,-z,defs", "-ffp-contract=off", "-fwrapv"]
WAYS = {
    "gcc -O0": ["gcc", "-O0"], "gcc -O1": ["gcc", "-O1"], "gcc -O2": ["gcc", "-O2"],
    "gcc -O2 without errno": ["gcc", "-O2", "-fno-math-errno"],
    "gcc -O3": ["gcc", "-O3", "-fno-math-errno"],
    "gcc -O3 native": ["gcc", "-O3", "-march=native", "-fno-math-errno"],
    "gcc -O3 native errno": ["gcc", "-O3", "-march=native"],
    "clang -O0": ["clang", "-O0"], "clang -O2": ["clang", "-O2", "-march=native"], "tcc": ["tcc"],
}


def flat(*paths):
    """The text of headers with those that they include in their places, each once: as it is given to a compiler that may
    open no file."""
    seen = set()

    def text(name):
        if name in seen:
            return ""
        seen.add(name)
        return re.sub(r'^#include "(.*)"\n', lambda match: text(match[1]), (ROOT / name).read_text(), flags=re.M)
    return "".join(map(text, paths))


def source(tmp_path, driver):
    file = tmp_path / "all.c"
    file.write_text("#define BURIN_MATH_NO_NAMES\n" +
                    flat("pipeline/skeletons/exact_math.h", "tests/pipeline/skeletons/exact_math_set.h") + driver)
    return file


def build(tmp_path, way):
    compiler = WAYS[way]
    if not shutil.which(compiler[0]):
        pytest.skip(f"{compiler[0]} is not installed")
    library = tmp_path / (re.sub(r"\W+", "_", way) + ".so")
    options = ["-nostdlib", "-nostdinc", "-shared"] if compiler[0] == "tcc" else ["-std=c17", "-Wall", "-Wextra", "-Werror", *STRICT]
    subprocess.run([*compiler, *options, "-o", library, source(tmp_path, DRIVER)], check=True)
    return library


def digests(library, count=COUNT):
    loaded = ctypes.CDLL(str(library))
    loaded.digest.restype = ctypes.c_ulonglong
    return [loaded.digest(function, count) for function in range(FUNCTIONS)]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return digests(build(tmp_path_factory.mktemp("plain"), "gcc -O2"))


@pytest.mark.parametrize("way", WAYS)
def test_same_bits(tmp_path, plain, way):
    library = build(tmp_path, way)
    assert digests(library) == plain
    undefined = subprocess.run(["nm", "-uD", library], capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in undefined if name not in ("U", "w") and not name.startswith(("_ITM", "__gmon", "__cxa"))]


def test_digest_notices_a_difference(tmp_path, plain):
    """Contraction is what would go unnoticed most easily."""
    if not re.search(r"\bfma\b", pathlib.Path("/proc/cpuinfo").read_text()):
        pytest.skip("no FMA here")
    library = tmp_path / "contracted.so"
    subprocess.run(["gcc", "-O2", "-mfma", "-ffp-contract=fast", "-shared", "-fPIC", "-o", library, source(tmp_path, DRIVER)],
                   check=True)
    assert digests(library) != plain


def nvrtc():
    names = glob.glob("/usr/local/cuda*/lib64/libnvrtc.so.*") + [ctypes.util.find_library("nvrtc")]
    if not names[0]:
        pytest.skip("NVRTC is not installed")
    return ctypes.CDLL(names[0])


def test_compiles_for_gpus_at_run_time(tmp_path):
    library = nvrtc()
    text = source(tmp_path, """
extern "C" __global__ void results(int function, unsigned count, unsigned long long *out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = exact_set_result(function, i);
}
""").read_bytes()
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert library.nvrtcCreateProgram(ctypes.byref(program), text, b"all.c", 0, None, None) == 0
    options = [b"-arch=sm_90", b"--fmad=false"]
    code = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    assert code == 0 and not log.value.strip(), log.value.decode()
    assert library.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0 and size.value > 1000
