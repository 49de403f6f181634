# SPDX-License-Identifier: Apache-2.0
"""pipeline/skeletons/exact_math.h gives the same bits with every compiler and optimisation, calls nothing of libm or libc, has
no greater error than it states, and compiles for GPUs where CUDA's run-time compiler is installed. More arguments:
build/cpu/tests/bench/exact_math 5.
Alone: /usr/bin/python3 -m pytest tests/reference/test_exact_math.py"""
import ctypes
import ctypes.util
import functools
import glob
import math
import pathlib
import random
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FUNCTIONS, COUNT = 33, 40000
ERRORS = {name: float(error) for name, error in re.findall(
    r"\b([a-z]+[0-9]*[a-z]*) +(0\.50\d+)", (ROOT / "pipeline/skeletons/exact_math.h").read_text())}
OF_TWO = ("pow", "atan2", "hypot")
DIGEST_OF_LOOP = """
unsigned long long digest_of_loop(void (*loop)(const double *, const double *, double *, int), unsigned count) {
    static double x[1024], y[1024], out[1024];
    unsigned long long digest = 0;
    for (unsigned start = 0; start < count; start += 1024) {
        for (unsigned i = 0; i < 1024; i++) x[i] = exact_set_argument(start + i), y[i] = exact_set_argument((start + i) / 8 + 77);
        loop(x, y, out, 1024);
        for (int i = 0; i < 1024; i++) digest = exact_set_hash(digest ^ burin_bits(out[i]));
    }
    return digest;
}
"""
# Loops like those around users' operators: compilers compute several elements at once.
LOOP = """
void loop_{0}(const double *x, const double *y, double *out, int count) {{
    (void)y;
    for (int i = 0; i < count; i++) out[i] = burin_{0}({1});
}}
"""
LOOPS = [*ERRORS, "floor", "ceil", "trunc", "round", "rint", "fmin", "fmax", "fmod"]
DRIVER = DIGEST_OF_LOOP + """
unsigned long long digest(int function, unsigned count) { return exact_set_digest(function, count); }
""" + "".join(LOOP.format(name, "x[i], y[i]" if name in (*OF_TWO, "fmin", "fmax", "fmod") else "x[i]") for name in LOOPS)
STRICT = ["-nostdlib", "-nostdinc", "-fPIC", "-shared", "-Wl,-z,defs", "-ffp-contract=off", "-fwrapv"]
WAYS = {
    "gcc -O0": ["gcc", "-O0"], "gcc -O2": ["gcc", "-O2"], "gcc -O3": ["gcc", "-O3"],
    "gcc -O3 vectorized": ["gcc", "-O3", "-march=native", "-mprefer-vector-width=512", "-fno-math-errno", "-fno-trapping-math"],
    "clang -O0": ["clang", "-O0"], "clang -O2": ["clang", "-O2", "-march=native"], "tcc": ["tcc"],
}


def flat(*paths):
    """The text of headers with their own includes in place, each once: for a compiler that may open no file."""
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


def digest_of_loop(loaded, name):
    loaded.digest_of_loop.restype = ctypes.c_ulonglong
    return loaded.digest_of_loop(getattr(loaded, "loop_" + name), COUNT // 1024 * 1024)


def digests(library):
    loaded = ctypes.CDLL(str(library))
    loaded.digest.restype = ctypes.c_ulonglong
    found = {name: digest_of_loop(loaded, name) for name in LOOPS}
    return found | {number: loaded.digest(number, COUNT) for number in range(FUNCTIONS)}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """Libraries by way, each compiled once."""
    folder = tmp_path_factory.mktemp("libraries")
    return functools.lru_cache(None)(lambda way: build(folder, way))


@pytest.fixture(scope="module")
def plain(libraries):
    return digests(libraries("gcc -O2"))


@pytest.mark.parametrize("way", WAYS)
def test_same_bits(libraries, plain, way):
    library = libraries(way)
    assert way == "gcc -O2" or digests(library) == plain
    undefined = subprocess.run(["nm", "-uD", library], capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in undefined if name not in ("U", "w") and not name.startswith(("_ITM", "__gmon", "__cxa"))]


# User code: names of math.h, in both languages, a variable with such a name, floats.
USER = """
QUALIFIERS double user(double x, int n) {
    const float half = (float)x / 2, round = sqrtf(fabsf(half)) + powf(half * half, 0.25f);
    double sum = round + sin(M_PI * x) + atan2(x, (double)n) + floor(x) * hypot(x, 1) + fmod(x, 3) + abs(n - 7);
    if (isnan(sum) || isinf(sum) || !isfinite(sum) || signbit(-0.0) == 0) sum = 0;
    sum += fmin(x, NAN) + fmax(-INFINITY, x) + exp(-HUGE_VAL) + (double)lround(x) + nearbyint(x) + log10f(1000);
    return sum + cbrt(x) + tanh(x) + log1p(M_E) + copysign(M_SQRT2, x) + fdim(x, 1) + (double)llabs(-n) + rintf(half);
}
"""


def user_source(tmp_path, qualifiers, more=""):
    file = tmp_path / "user.c"
    file.write_text(flat("pipeline/skeletons/exact_math.h") + USER.replace("QUALIFIERS", qualifiers) + more)
    return file


@pytest.mark.parametrize("compiler", ["gcc", "clang", "tcc"])
def test_names_of_math_h(tmp_path, compiler):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    options = ["-nostdlib", "-nostdinc", "-shared"] if compiler == "tcc" else ["-std=c17", "-Wall", "-Wextra", "-Werror", *STRICT]
    subprocess.run([compiler, *options, "-o", tmp_path / "user.so", user_source(tmp_path, "")], check=True)
    user = ctypes.CDLL(str(tmp_path / "user.so")).user
    user.restype, user.argtypes = ctypes.c_double, [ctypes.c_double, ctypes.c_int]
    x, n = 2.7, 5
    wanted = (math.sqrt(x / 2) * 2 + math.sin(math.pi * x) + math.atan2(x, n) + math.floor(x) * math.hypot(x, 1) + math.fmod(x, 3) + 2 +
              x + x + 0 + 3 + 3 + 3 + x ** (1 / 3) + math.tanh(x) + math.log1p(math.e) + math.sqrt(2) + x - 1 + 5 + 1)
    assert user(x, n) == pytest.approx(wanted, rel=1e-6)


def test_digest_notices_a_difference(tmp_path, plain):
    """Contraction is the change that would be missed most easily."""
    if not re.search(r"\bfma\b", pathlib.Path("/proc/cpuinfo").read_text()):
        pytest.skip("no FMA here")
    library = tmp_path / "contracted.so"
    driver = source(tmp_path, DIGEST_OF_LOOP + LOOP.format("sin", "x[i]"))
    subprocess.run(["gcc", "-O2", "-mfma", "-ffp-contract=fast", "-shared", "-fPIC", "-o", library, driver], check=True)
    assert digest_of_loop(ctypes.CDLL(str(library)), "sin") != plain["sin"]


def truth(mp, name):
    """The function in mpmath, with as many bits as the reduction of its argument needs."""
    own = {"exp2": lambda x: mp.mpf(2) ** x, "log2": lambda x: mp.log(x, 2), "pow": lambda x, y: x ** y,
           "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x))}
    function = own.get(name) or getattr(mp, name)

    def value(*x):
        mp.prec = 1300 if name in ("sin", "cos", "tan") and abs(x[0]) > 2 ** 60 else 240
        return function(*map(mp.mpf, x))
    return value


def arguments(name, draw):
    """Random arguments for which the function has a value of no extreme size."""
    near = {"log": 1, "log2": 1, "log10": 1, "sqrt": 1, "asin": 0, "acos": 0, "exp": 0}.get(name, draw.choice([0, 1]))
    x = draw.choice([draw.uniform(-1, 1), draw.uniform(-700, 700), near + draw.choice([-1, 1]) * 2 ** draw.uniform(-40, 0),
                     draw.uniform(-1, 1) * 2 ** draw.uniform(-900, 900)])
    if name in ("log", "log2", "log10", "sqrt", "pow", "log1p"):
        x = abs(x)
    if name in ("asin", "acos") and abs(x) > 1:
        x = 1 / x
    if name in ("exp", "exp2", "expm1", "sinh", "cosh") and abs(x) > 700:
        x = 700 / x
    if name not in OF_TWO:
        return (x,)
    y = draw.uniform(-700, 700) / (math.log(x) if name == "pow" and x not in (0, 1) else draw.uniform(-99, 99))
    return (x, y)


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    """The functions by name."""
    folder = tmp_path_factory.mktemp("single")
    driver = "".join(f"double call_{name}({two}) {{ return burin_{name}({two.replace('double ', '')}); }}\n" for name in ERRORS
                     for two in ["double x, double y" if name in OF_TWO else "double x"])
    subprocess.run(["gcc", "-O2", *STRICT, "-o", folder / "single.so", source(folder, driver)], check=True)
    return ctypes.CDLL(str(folder / "single.so"))


def test_every_error_is_stated():
    assert len(ERRORS) == 21 and max(ERRORS.values()) < 0.51


@pytest.mark.parametrize("name", ERRORS)
def test_error(single, name):
    mp = pytest.importorskip("mpmath").mp
    function, exact, draw = getattr(single, "call_" + name), truth(mp, name), random.Random(name)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * (1 + (name in OF_TWO))
    for _ in range(1500):
        x = arguments(name, draw)
        got, wanted = function(*x), exact(*x)
        if wanted == 0:
            assert got == 0
            continue
        error = abs(mp.ldexp(mp.mpf(got) - wanted, 53 - max(mp.frexp(wanted)[1], -1021)))
        assert error <= ERRORS[name], (name, [v.hex() for v in x], got.hex())


def nvrtc():
    names = glob.glob("/usr/local/cuda*/lib64/libnvrtc.so.*") + [ctypes.util.find_library("nvrtc")]
    if not names[0]:
        pytest.skip("NVRTC is not installed")
    return ctypes.CDLL(names[0])


def compile_for_gpu(text):
    """The size of NVRTC's output, which comes without a warning."""
    library, program, size = nvrtc(), ctypes.c_void_p(), ctypes.c_size_t()
    assert library.nvrtcCreateProgram(ctypes.byref(program), text, b"all.c", 0, None, None) == 0
    options = [b"-arch=sm_90", b"--fmad=false"]
    code = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    assert code == 0 and not log.value.strip(), log.value.decode()
    assert library.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return size.value


def test_compiles_for_gpus_at_run_time(tmp_path):
    kernel = """
extern "C" __global__ void results(int function, unsigned count, unsigned long long *out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = exact_set_result(function, i);
}
"""
    assert compile_for_gpu(source(tmp_path, kernel).read_bytes()) > 10000
    kernel = 'extern "C" __global__ void results(double *out) { out[0] = user(out[1], (int)out[2]); }\n'
    assert compile_for_gpu(user_source(tmp_path, "static __device__", kernel).read_bytes()) > 10000
