# SPDX-License-Identifier: Apache-2.0
"""Operators that users write in C, through `burin run` and the daemon, against numpy: the listings of the 2017 paper as printed
there, and operators of every other kind, over awkward sizes, both depths and every number of channels.

covers: pipeline/skeletons/twin_library.c pipeline/skeletons/laws.c pipeline/skeletons/twin_cache.c
  pipeline/skeletons/user_text.c pipeline/skeletons/compiler.c pipeline/skeletons/embedded.c
  pipeline/skeletons/operators_dir.c server/user_operators.c
  server/cli/command_check.c server/cli/command_convert.c server/cli/contained_run.c pipeline/skeletons/convert.c
  cuda/skeletons/convert_gpu.c
"""
import io
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import cv2
import numpy as np
import pytest
from PIL import Image

import service
from conftest import from_pnm, wait_until

ROOT = os.path.join(os.path.dirname(__file__), "../..")
BURIN = os.environ.get("BURIN", os.path.join(ROOT, "build/burin"))
SIZES = [(1, 1), (1, 9), (9, 1), (2, 3), (13, 42), (66, 123), (3, 4097), (257, 200)]


@pytest.fixture(scope="module")
def operators(tmp_path_factory):
    folder = tmp_path_factory.mktemp("operators")
    for path in [*pathlib.Path(ROOT, "tests/operators").glob("*.c"), pathlib.Path(ROOT, "tests/reference/divided.c")]:
        shutil.copy(path, folder)
        (folder / path.name).chmod(0o644)
    folder.chmod(0o755)
    checks = [subprocess.Popen([BURIN, "check", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
              for path in sorted(folder.glob("*.c"))]
    for check in checks:
        said, error = check.communicate()
        assert check.returncode == 0, error
        assert not error, "no reduction here depends on the order"
        if "not compiled" in said:
            pytest.skip("there is no C compiler here")
    return folder


def burin(operators, step, picture, tmp_path, threads=2):
    """(picture after the step, printed values)"""
    source, result = tmp_path / "in.png", tmp_path / "out.png"
    source.write_bytes(to_png(picture))
    run = subprocess.run([BURIN, "run", "--operators-dir", operators, "--threads", str(threads), step, source, result],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return from_png(result.read_bytes()), run.stdout


BGR = [2, 1, 0, 3]  # OpenCV's order


def to_png(picture):
    if picture.shape[2] == 2:
        body = io.BytesIO()
        Image.fromarray(picture, "LA").save(body, "PNG", compress_level=1)
        return body.getvalue()
    stored = picture if picture.shape[2] < 3 else picture[..., BGR[:picture.shape[2]]]
    return cv2.imencode(".png", stored, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes()


def from_png(data):
    if data[25] == 4:  # gray with alpha
        return np.asarray(Image.open(io.BytesIO(data)))
    got = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    got = got.reshape(*got.shape[:2], -1)
    return got if got.shape[2] < 3 else got[..., BGR[:got.shape[2]]]


def pictures(depth, seed=5):
    random = np.random.default_rng(seed)
    for height, width in SIZES:
        for channels in (1, 2, 3, 4):
            if depth == 16 and channels == 2:
                continue  # this test cannot write such a file
            yield random.integers(0, 1 << depth, (height, width, channels)).astype(f"uint{depth}")


def colours(picture):
    return 1 if picture.shape[2] < 3 else 3


def around(picture, reach):
    """Every sample's window, with the border repeated: an array (height, width, channels, side * side) of int64."""
    wide = np.pad(picture.astype(np.int64), ((reach, reach), (reach, reach), (0, 0)), mode="edge")
    height, width = picture.shape[:2]
    side = 2 * reach + 1
    return np.stack([wide[j:j + height, i:i + width] for j in range(side) for i in range(side)], axis=-1)


def weighed(taps):
    return lambda p: around(p, 1) @ np.array(taps)


def position(picture):
    height, width = picture.shape[:2]
    return np.arange(height * width).reshape(height, width, 1)


def vignette(p):
    height, width = p.shape[:2]
    y, x = np.mgrid[:height, :width]
    far = 2 * ((x - (width - 1) / 2.0) ** 2 + (y - (height - 1) / 2.0) ** 2) / (width * width + height * height)
    return np.clip(p * (1 - far)[..., None], 0, 255).astype(np.int64)


def root(gx, gy):
    return lambda p: np.clip(np.vectorize(math.isqrt)(weighed(gx)(p) ** 2 + weighed(gy)(p) ** 2), 0, 255)


SOBEL = [-1, 0, 1, -2, 0, 2, -1, 0, 1], [-1, -2, -1, 0, 0, 0, 1, 2, 1]
PREWITT = [-1, 0, 1, -1, 0, 1, -1, 0, 1], [-1, -1, -1, 0, 0, 0, 1, 1, 1]
WIDE = np.int64

def position_xy(picture):
    y, x = np.mgrid[:picture.shape[0], :picture.shape[1]]
    return x, y


def dithered(p):
    x, y = position_xy(p)
    return np.where(p > np.array([[32, 160], [224, 96]])[y % 2, x % 2][..., None], 255, 0)


def byte(v):
    return np.floor(np.clip(v, 0, 255) + 0.5)


def each_way(p, reach, function):
    """FUNCTION of all samples of a window, which may be applied to rows and then to columns."""
    wide = np.pad(p.astype(WIDE), ((reach, reach), (reach, reach), (0, 0)), mode="edge")
    rows = function([wide[j:j + p.shape[0]] for j in range(2 * reach + 1)], axis=0)
    return function([rows[:, i:i + p.shape[1]] for i in range(2 * reach + 1)], axis=0)


IMAGES = [
    (8, "binarizador:tolerancia=40", lambda p: np.where(p.astype(WIDE) + 40 > 127, 255, 0)),
    (8, "binarizador", lambda p: np.where(p > 127, 255, 0)),
    (8, "gamma_by_pow", lambda p: np.floor(255 * (p / 255.0) ** (1 / 2.2) + 0.5)),
    (8, "gamma_by_pow:gamma=0.5", lambda p: np.floor(255 * (p / 255.0) ** 2.0 + 0.5)),
    (8, "by_table", lambda p: (p >> 6) * 85),
    (8, "solarize", lambda p: np.where(p > 127, 255 - p, p)),
    (8, "posterize", lambda p: p.astype(WIDE) * 4 // 256 * 255 // 3),
    (8, "posterize:levels=7", lambda p: p.astype(WIDE) * 7 // 256 * 255 // 6),
    (8, "exclusive", lambda p: p ^ 90),
    (8, "exclusive:mask=3,invert=true", lambda p: ~(p ^ 3)),
    (8, "vignette", vignette),
    (8, "divided", lambda p: 200 // p.astype(WIDE)),
    (8, "dithered", dithered),
    (8, "peak", lambda p: each_way(p, 3, np.max)), (16, "box", lambda p: each_way(p, 7, np.sum) // 225),
    (16, "posterized", lambda p: p.astype(WIDE) // 8192 * 65535 // 7),
    (16, "stretched", lambda p: np.clip((p.astype(WIDE) - 32768) * 1.5 + 32768, 0, 65535).astype(WIDE)),
    (16, "stretched:gain=-0.25", lambda p: np.clip((p.astype(WIDE) - 32768) * -0.25 + 32768, 0, 65535).astype(WIDE)),
    (16, "striped", lambda p: np.where(position(p) & 1, 65535 - p, p)),
    (8, "middle", lambda p: np.sort(around(p, 1), axis=-1)[..., 4]),
    (8, "erosion", lambda p: around(p, 1).min(axis=-1)),
    (16, "dilation", lambda p: around(p, 2).max(axis=-1)),
    (8, "emboss", lambda p: np.clip(weighed([-2, -1, 0, -1, 1, 1, 0, 1, 2])(p), 0, 255)),
    (8, "laplacian", lambda p: np.clip(np.abs(weighed([0, -1, 0, -1, 4, -1, 0, -1, 0])(p)), 0, 255)),
    (8, "prewitt", root(*PREWITT)),
    (8, "sobel", root(*SOBEL)),
    (8, "variance", lambda p: np.clip((25 * (around(p, 2) ** 2).sum(-1) - around(p, 2).sum(-1) ** 2) // 625, 0, 255)),
    (8, "framed:left=3,top=2", lambda p: np.where((position(p) % p.shape[1] < 3) | (position(p) // p.shape[1] < 2), 0,
                                                  around(p, 1)[..., 2])),
]


@pytest.fixture(scope="module")
def served(operators):
    with service.serving("--operators-dir", operators):
        yield


@pytest.mark.parametrize("depth,step,meant", IMAGES, ids=[i[1] for i in IMAGES])
def test_pictures(served, depth, step, meant):
    for picture in pictures(depth):
        if step == "divided":  # alpha may be 0, and the function must not be given it
            picture[..., :colours(picture)] |= 1
            picture[..., colours(picture):] &= 1
        wanted = picture.copy()
        wanted[..., :colours(picture)] = meant(picture[..., :colours(picture)]).astype(picture.dtype)
        got = from_png(service.burin(to_png(picture), step, type="png", compression=0))
        np.testing.assert_array_equal(got, wanted, err_msg=f"{picture.shape}")


BROWN = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]])


def brown(p):
    return np.stack([a * p[..., 0] + b * p[..., 1] + c * p[..., 2] for a, b, c in BROWN], axis=-1)


def vivid(p, amount):
    y = (0.299 * p[..., 0] + 0.587 * p[..., 1] + 0.114 * p[..., 2])[..., None]
    return y + (p - y) * amount


PIXELS = [
    ("antique", brown),
    ("vivid", lambda p: vivid(p, 1.5)), ("vivid:amount=0", lambda p: vivid(p, 0)),
]


@pytest.mark.parametrize("step,meant", PIXELS, ids=[i[0] for i in PIXELS])
def test_whole_pixels(served, step, meant):
    """Gray is r = g = b, and becomes RGB."""
    for picture in list(pictures(8))[-12:]:
        rgb = picture[..., :3] if picture.shape[2] > 2 else np.repeat(picture[..., :1], 3, axis=2)
        coloured = byte(meant(rgb.astype(float))).astype(np.uint8)
        alpha = picture[..., colours(picture):]
        got = from_png(service.burin(to_png(picture), step, type="png", compression=0))
        np.testing.assert_array_equal(got, np.concatenate([coloured, alpha], axis=2), err_msg=f"{picture.shape}")


def test_whole_pixels_of_16_bits_write_alpha(served):
    for picture in list(pictures(16))[-9:]:
        height, width, channels = picture.shape
        rgb = picture[..., :3] if channels > 2 else np.repeat(picture, 3, axis=2)
        wanted = np.concatenate([rgb[..., 2:] + np.uint16(channels), rgb[..., 1:2], rgb[..., :1],
                                 picture[..., 3:] - np.uint16(1)], axis=2)
        if channels == 4:
            wanted[-1, :, 3] = wanted[:, -1, 3] = 0
        np.testing.assert_array_equal(from_png(service.burin(to_png(picture), "swapped", type="png", compression=0)), wanted)


def test_the_channel_and_the_number_of_channels(served):
    for picture in list(pictures(8))[-8:]:
        wanted, count = picture.copy(), colours(picture)
        wanted[..., :count] += (3 * np.arange(count) + position(picture) + picture.shape[2]).astype(np.uint8)
        np.testing.assert_array_equal(from_png(service.burin(to_png(picture), "marked", type="png", compression=0)), wanted)


def fold(function):
    def folded(channel):
        total = int(channel[0])
        for value in channel[1:]:
            total = function(total, int(value))
        return total
    return folded


def two_levels(channel, bins=256):
    counts = np.bincount((channel >> 12) * 17 % bins, minlength=bins)
    return counts + 2 * np.bincount((channel & 15) * 17 % bins, minlength=bins)


def odd_product(channel):
    """The product of all 2 c + 1, in 64 bits, as the r in 2 r + 1."""
    return int(np.multiply.reduce(2 * channel.astype(np.uint64) + np.uint64(1))) // 2  # such a product wraps


VALUES = [
    (8, "menor", lambda c: c.min()), (16, "menor", lambda c: c.min()),
    (8, "maior", lambda c: c.max()), (16, "maior", lambda c: c.max()),
    (8, "sum", lambda c: c.astype(WIDE).sum()),
    (16, "sum", lambda c: (int(c.astype(WIDE).sum()) + 2 ** 31) % 2 ** 32 - 2 ** 31),
    (8, "product", odd_product), (16, "product", odd_product),
    (8, "all_bits", lambda c: np.bitwise_or.reduce(c)),
    (8, "divisor", lambda c: np.gcd.reduce(c.astype(WIDE))), (16, "divisor", lambda c: np.gcd.reduce(c.astype(WIDE))),
    (8, "r2vProcessor", lambda c: np.bincount(c, minlength=256)),
    (8, "r2vProcessor:bins=10", lambda c: np.bincount(c, minlength=256)[:10]),
    (8, "r2vProcessor:bins=300", lambda c: np.bincount(c, minlength=300)),
    (8, "count_above:bins=1", lambda c: [(c > 127).sum()]),
    (8, "count_above:level=200,bins=3", lambda c: [(c > 200).sum(), 0, 0]),
    (8, "bright:level=200", lambda c: (c > 200).sum()), (8, "squares", lambda c: (c.astype(WIDE) ** 2).sum()),
    (16, "squares", lambda c: (c.astype(WIDE) ** 2).sum()), (8, "limited:level=100", lambda c: min(c.max(), 100) if c.size > 1 else c[0]),
    (16, "two_levels", two_levels),
    (16, "two_levels:bins=20000", lambda c: two_levels(c, 20000)),
]


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("half", [0, 1])
def test_values(served, depth, half):
    """Value steps pass the picture on: half of them in one plan give their values in its order."""
    steps = [(step, meant) for deep, step, meant in VALUES if deep == depth][half::2]
    for picture in pictures(depth):
        found = service.values(to_png(picture), *(step for step, _ in steps))
        for (step, meant), got in zip(steps, found):
            wanted = [np.atleast_1d(meant(picture[..., c].ravel())).tolist() for c in range(colours(picture))]
            assert np.ravel(got).tolist() == sum(wanted, []), (step, picture.shape)


def test_a_chain_of_users_and_built_in_operators(operators, tmp_path):
    picture = next(p for p in pictures(8) if p.shape == (66, 123, 3))
    got, values = burin(operators, "middle;solarize;menor;threshold:level=100;maior", picture, tmp_path)
    wanted = np.sort(around(picture, 1), axis=-1)[..., 4]
    wanted = np.where(wanted > 127, 255 - wanted, wanted)
    assert values.split("\n")[0] == " ".join(str(wanted[..., c].min()) for c in range(3))
    np.testing.assert_array_equal(got, np.where(wanted > 100, 255, 0))


def test_values_leave_the_picture_and_are_printed(operators, tmp_path):
    """`burin run` prints one line for a step with a number for each channel, and one for each channel's list."""
    for depth in 8, 16:
        steps = [(step, meant) for deep, step, meant in VALUES if deep == depth][-10:]
        picture = next(p for p in pictures(depth) if p.shape == (13, 42, 4))  # a pipeline takes 10 steps
        got, values = burin(operators, ";".join(step for step, _ in steps), picture, tmp_path)
        np.testing.assert_array_equal(got, picture)
        lines = []
        for _, meant in steps:
            of_channels = [meant(picture[..., c].ravel()) for c in range(3)]
            lines += [" ".join(map(str, line)) for line in ([of_channels] if np.ndim(of_channels[0]) == 0 else of_channels)]
        assert values.splitlines() == lines


def test_threads_do_not_matter(operators, tmp_path):
    picture = np.random.default_rng(9).integers(0, 256, (350, 451, 3)).astype(np.uint8)
    for step in ("sobel", "sum", "r2vProcessor"):
        alone = burin(operators, step, picture, tmp_path, threads=1)
        for threads in (2, 5, 16):
            several = burin(operators, step, picture, tmp_path, threads=threads)
            np.testing.assert_array_equal(alone[0], several[0])
            assert alone[1] == several[1]


@pytest.mark.parametrize("compiler", ["clang", "tcc"])
@pytest.mark.parametrize("step", ["gamma_by_pow", "vignette", "middle", "variance", "sum", "two_levels", "striped"])
def test_other_compilers_give_the_same(operators, tmp_path, monkeypatch, compiler, step):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not here")
    dtype = np.uint16 if step in ("two_levels", "striped") else np.uint8
    picture = np.random.default_rng(3).integers(0, np.iinfo(dtype).max + 1, (77, 201, 4)).astype(dtype)
    wanted = burin(operators, step, picture, tmp_path)
    monkeypatch.setenv("BURIN_CC", shutil.which(compiler))
    got = burin(operators, step, picture, tmp_path)
    np.testing.assert_array_equal(got[0], wanted[0])
    assert got[1] == wanted[1]


# ---- messages

def said(arguments, environment=None):
    run = subprocess.run([BURIN, *map(str, arguments)], capture_output=True, text=True,
                         env={**os.environ, **(environment or {})})
    return run.returncode, run.stdout, run.stderr


def write(folder, name, text, mode=0o644):
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    folder.chmod(0o755)
    return path


GOOD = "#P2P_FUNC\nstatic unsigned char same(unsigned char v, int i) { return v; }\n"


def test_another_depth_is_refused(operators, tmp_path):
    deep = tmp_path / "deep.png"
    cv2.imwrite(str(deep), np.zeros((3, 3), np.uint16))
    code, _, error = said(["run", "--operators-dir", operators, "solarize", deep, tmp_path / "o.png"])
    assert code == 1 and "solarize takes images of 8 bits a sample, and this one has 16 bits" in error
    assert error.rstrip().endswith("put the step depth with bits=8 before it")
    for depth, steps in (16, "depth;solarize"), (8, "depth:bits=16;striped;depth"):
        picture = next(p for p in pictures(depth) if p.shape == (13, 42, 4))
        samples = (picture.astype(WIDE) + 128) // 257 if depth == 16 else picture.astype(WIDE)
        flipped = (samples > 127 if depth == 16 else position(picture) & 1 > 0) & (np.arange(4) < 3)
        np.testing.assert_array_equal(burin(operators, steps, picture, tmp_path)[0], np.where(flipped, 255 - samples, samples))


def test_the_compiler_speaks_at_the_users_lines(tmp_path):
    path = write(tmp_path, "op.c", "\n#define TWICE(x) \\\n   (2 * (x))\n#P2P_FUNC\n"
                 "static unsigned char f(unsigned char v, int i) {\n    return TWICE(w);\n}\n")
    code, out, error = said(["check", path])
    assert code == 1 and not out
    assert error.startswith(f"{path}:6: ") and "undeclared" in error


@pytest.mark.skipif("gcc" not in os.path.realpath(shutil.which("cc") or ""), reason="the messages are gcc's")
@pytest.mark.parametrize("body,message", [
    ("int (*g)(void) = 0; g(); return v;", "there is no function \"g\""),
    ("int *p = \"abc\"; return *p;", "incompatible pointer type"),
    ("int a[v + 1]; a[v] = 1; return a[v];", "variable length array"),
    ("typedef int (*call)(const char *); return ((call)system)(\"id\");", "system"),
])
def test_what_only_the_compiler_sees(tmp_path, body, message):
    path = write(tmp_path, "op.c", "#P2P_FUNC\nstatic unsigned char f(unsigned char v, int i) {\n" + body + "\n}\n")
    code, _, error = said(["check", path])
    assert code == 1 and error.startswith(f"{path}:3: ") and message in error


@pytest.mark.skipif("gcc" not in os.path.realpath(shutil.which("cc") or ""), reason="the message is gcc's")
def test_local_variables_that_no_stack_holds(tmp_path):
    path = write(tmp_path, "op.c", GOOD.replace("{ ", "{ int a[1000000]; a[v] = i; v = a[i & 9]; "))
    code, _, error = said(["check", path])
    assert code == 1 and "an operator's local variables are too large" in error


def test_a_macro_that_grows_without_bound_ends_the_compiler_alone(tmp_path):
    text = "#define A(x) x+x+x+x+x+x+x+x+x+x\n#define B(x) A(A(A(x)))\n#define C(x) B(B(B(x)))\n"
    path = write(tmp_path, "op.c", text + GOOD.replace("return v", "return C(v)"))
    little = ["prlimit", f"--as={200 << 20}"]  # the limit of operators_compile_bytes takes longer to reach
    checked = subprocess.run([*little, BURIN, "check", path], capture_output=True, text=True)
    assert checked.returncode == 1 and "op.c:1: " in checked.stderr


def test_what_c_leaves_open_equals_a_gpu(tmp_path):
    """char is signed, integers wrap, and bits may be read through a pointer of a different type."""
    write(tmp_path, "op.c", "#P2P_FUNC\nstatic unsigned char open(unsigned char v, int i) {\n"
          "    char c = (char)v;\n    int most = 2147483647;\n    float f = v;\n"
          "    return (c < 0) + 2 * (most + v < most) + 4 * (*(int *)&f >> 23 & 15);\n}\n")
    picture = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    bits = picture.astype(np.float32).view(np.int32) >> 23 & 15
    got, _ = burin(tmp_path, "open", picture, tmp_path)
    np.testing.assert_array_equal(got, (picture > 127) + 2 * (picture > 0) + 4 * bits)


def test_names_of_the_loops_are_free(tmp_path):
    """With any names of the user's macros, types and functions, the loops around them compile and mean the same."""
    write(tmp_path, "op.c", """
#define pixel 7
#define height sqrt
#define always_inline nothing
#define unused 1
enum { out = 3, lane = 4, lanes = 5, value = 6 };
#STRUCT
typedef struct { int in; int x; } rows;
#P2P_FUNC
static unsigned char in(unsigned char count, int index, rows r) { return count + r.in + out + pixel - 7; }
#N2P_FUNC
static unsigned char lines(unsigned char window[3][3], int x, int y) { return window[1][1] ^ lane; }
#R2S_FUNC int
static T fold(E folds, E total) { return folds > total ? folds : total; }
#R2V_FUNC
static void counts(unsigned char v, int *copies, int bins) { atomicAdd(copies + v % bins, value); }
""")
    picture = np.arange(3 * 5 * 4, dtype=np.uint8).reshape(3, 5, 4)
    got, values = burin(tmp_path, "in:in=2;lines;fold;counts:bins=1", picture, tmp_path)
    wanted = picture.copy()
    wanted[..., :3] = (wanted[..., :3] + 5) ^ 4
    np.testing.assert_array_equal(got, wanted)
    most = [str(wanted[..., c].max()) for c in range(3)]
    assert values.split() == most + ["90"] * 3


def test_every_function_of_the_prelude_is_there(tmp_path):
    names = open(os.path.join(ROOT, "pipeline/skeletons/exact_math/names.h")).read()
    calls = re.findall(r"^#define ([a-z0-9]+)\((x|x, y)\)", names, re.M)
    assert len(calls) > 60
    body = " ".join(f"t += {name}({'v + 0.5' if arguments == 'x' else 'v + 0.5, 2.0'});" for name, arguments in calls)
    reference = open(os.path.join(ROOT, "pipeline/skeletons/README.md")).read()
    for name, _ in calls:
        known = name in reference or (name.endswith("f") and name[:-1] in reference)
        assert known, f"{name} is not in the language's reference"
    path = write(tmp_path, "op.c", "#include <math.h>\n#P2P_FUNC\nstatic unsigned char all(unsigned char v, int i) {\n"
                 f"double t = 0; {body}\nreturn t > 1; }}\n")
    code, _, error = said(["check", path])
    assert code == 0, error


def test_a_wrong_file_is_left_out_and_the_others_serve(tmp_path):
    write(tmp_path, "a.c", GOOD.replace("int i", "float i"))
    write(tmp_path, "b.c", GOOD)
    code, out, error = said(["ops", "--operators-dir", tmp_path, "same"])
    assert code == 0 and out.startswith("same ")
    assert f"{tmp_path}/a.c:2: #P2P_FUNC: expected int, the pixel's index, found \"float\"" in error


@pytest.mark.parametrize("mode,reason", [(0o666, "everyone may write to it"), (0o664, "its group may write to it")])
def test_a_file_that_others_may_write_is_refused(tmp_path, mode, reason):
    path = write(tmp_path, "op.c", GOOD, mode)
    code, _, error = said(["check", path])
    assert code == 1 and error.startswith(f"{path}: not used: {reason}")
    code, _, error = said(["ops", "--operators-dir", tmp_path, "same"])
    assert code == 2 and reason in error


def test_a_folder_that_others_may_write_is_refused(tmp_path):
    write(tmp_path, "op.c", GOOD)
    tmp_path.chmod(0o777)
    code, _, error = said(["ops", "--operators-dir", tmp_path])
    assert code == 2 and "everyone may write to it" in error
    code, _, error = said(["ops", "--operators-dir", tmp_path / "nothing"])
    assert code == 2 and "No such file" in error


def test_a_type_with_what_a_folder_may_hold(tmp_path):
    write(tmp_path, "notes.txt", "no operator")
    write(tmp_path, ".hidden.c", "no operator")
    (tmp_path / "folder.c").mkdir()
    write(tmp_path, "op.c", GOOD)
    code, out, error = said(["ops", "--operators-dir", tmp_path, "--json"])
    assert code == 0 and "folder.c: not used: it is no regular file" in error
    assert [o for o in json.loads(out)["operators"] if o["name"] == "same"]


def test_decimals_in_the_record(operators):
    _, out, _ = said(["ops", "--operators-dir", operators, "--json"])
    params = {p["name"]: p for o in json.loads(out)["operators"] if o["name"] == "gamma_by_pow" for p in o["parameters"]}
    assert params["gamma"] == {"name": "gamma", "type": "number", "summary": "exponent", "min": 0.1, "max": 10,
                               "default": 2.2, "required": False}


def test_the_example_of_the_reference(tmp_path):
    text = open(os.path.join(ROOT, "pipeline/skeletons/README.md")).read()
    block = [line[4:] for line in text.split("\n    $ ")[0].split("\n") if line.startswith("    ")]
    code, out, error = said(["check", write(tmp_path, "antique.c", "\n".join(block))])
    assert code == 0, error
    assert out.endswith("OK\n  antique: amount=1 (number 0..1)\n  vignette: amount=1 (number 0..1)\n")
    code, out, _ = said(["ops", "--operators-dir", tmp_path, "antique"])
    assert out.startswith("antique      The brown of old photographs\n    colour\n    amount=1 ")
    picture = np.random.default_rng(1).integers(0, 256, (16, 20, 3)).astype(np.uint8)
    got, _ = burin(tmp_path, "antique;vignette:amount=0.5", picture, tmp_path)
    x, y = position_xy(picture)
    old = byte(picture + (brown(picture.astype(float)) - picture) * 1)
    dark = old * (1 - ((2.0 * x / 20 - 1) ** 2 + (2.0 * y / 16 - 1) ** 2) / 2)[..., None]
    np.testing.assert_array_equal(got, byte(old + (dark - old) * 0.5))


def test_the_example_of_the_readme(tmp_path):
    text = open(os.path.join(ROOT, "README.md")).read().split("### Write your own\n")[1].split("\n\n")[0]
    code, out, error = said(["check", write(tmp_path, "white.c", text)])
    assert code == 0, error
    assert out.endswith("OK\n  white: level=127 (integer 0..255)\n")
    picture = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    got, _ = burin(tmp_path, "white:level=90", picture, tmp_path)
    np.testing.assert_array_equal(got, np.where(picture > 90, 255, 0))


# ---- burin convert

def pnm(picture):
    kind, most = ("P5" if picture.shape[2] == 1 else "P6"), (255 if picture.dtype == np.uint8 else 65535)
    samples = picture.astype(">u2") if most == 65535 else picture
    return f"{kind}\n# made by a test\n{picture.shape[1]} {picture.shape[0]}\n{most}\n".encode() + samples.tobytes()


@pytest.fixture(scope="module")
def programs(operators, tmp_path_factory):
    """Each file of operators as a program of its own, its CPU part alone."""
    folder = tmp_path_factory.mktemp("programs")
    making = []
    for source in operators.glob("*.c"):
        code, _, error = said(["convert", source, "-o", folder / source.stem])
        assert code == 0, error
        making.append(subprocess.Popen(["make", "-C", folder / source.stem, "NVCC=", "CFLAGS=-O1 -Werror"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    for make in making:
        _, errors = make.communicate()
        assert make.returncode == 0, errors
    return folder


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("program,depth,step", [
    ("listings", 8, "binarizador:tolerancia=40"), ("listings", 16, "menor"), ("listings", 8, "r2vProcessor"),
    ("points", 8, "gamma_by_pow:gamma=0.5"), ("points", 8, "exclusive:mask=3,invert=true"),
    ("points", 8, "vignette"), ("points", 16, "stretched:gain=-0.25"), ("points", 16, "striped"),
    ("windows", 8, "middle"), ("windows", 16, "dilation"), ("windows", 8, "framed:left=3,top=2"),
    ("usual", 8, "antique"), ("usual", 16, "swapped"), ("usual", 8, "marked"), ("usual", 8, "bright:level=99"), ("usual", 16, "box"),
    ("numbers", 16, "sum"), ("numbers", 8, "divisor"), ("numbers", 16, "two_levels:bins=300"),
])
def test_a_converted_program_gives_the_same(programs, served, tmp_path, program, depth, step, channels):
    picture = np.random.default_rng(2).integers(0, 1 << depth, (40, 61, channels)).astype(f"uint{depth}")
    (tmp_path / "in.pnm").write_bytes(pnm(picture))
    name, _, settings = step.partition(":")
    settings = settings.replace("true", "1").split(",") if settings else []
    run = subprocess.run([programs / program / "op", tmp_path / "in.pnm", name, *settings, "-o", tmp_path / "out.pnm"],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    first, _, values = run.stdout.partition("\n")
    assert re.fullmatch(rf"{name}: CPU \d+\.\d+ ms", first)
    if program == "numbers" or name in ("menor", "r2vProcessor", "bright"):
        expected, = service.values(pnm(picture), step)
        assert [int(value) for value in values.split()] == np.ravel(expected).tolist()
    else:
        wanted = service.burin(pnm(picture), step, type="pnm")
        assert not values
        np.testing.assert_array_equal(from_pnm((tmp_path / "out.pnm").read_bytes()), from_pnm(wanted))


NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


@pytest.mark.skipif(not NVCC, reason="there is no nvcc")
@pytest.mark.skipif(not os.path.exists("/dev/nvidiactl") and "BURIN_TEST_NVCC" not in os.environ,
                    reason="there is no GPU to compare with, and BURIN_TEST_NVCC is not set")
@pytest.mark.parametrize("kind", ["listings", "points", "windows", "numbers", "usual"])
def test_the_cuda_part_compiles_and_gives_the_same_where_there_is_a_gpu(operators, tmp_path, kind):
    """Without a GPU it is compiled for one generation, and reports that it cannot run."""
    assert said(["convert", operators / f"{kind}.c", "-o", tmp_path / "p"])[0] == 0
    gpu = os.path.exists("/dev/nvidiactl")
    built = subprocess.run(["make", "-C", tmp_path / "p", f"NVCC={NVCC}", f"ARCH={'native' if gpu else 'sm_90'}"],
                           capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert b"burin_zero" in (tmp_path / "p/op_gpu.o").read_bytes()  # ptx_negation.sed was a step
    for depth in 8, 16:
        for channels in 1, 3:
            for height, width in SIZES:
                picture = np.random.default_rng(4).integers(1, 1 << depth, (height, width, channels))
                (tmp_path / "in.pnm").write_bytes(pnm(picture.astype(f"uint{depth}")))
                run = subprocess.run([tmp_path / "p/op", tmp_path / "in.pnm"], capture_output=True, text=True)
                if not gpu:
                    assert "op.cu:" in run.stderr and run.returncode == 1
                    return
                assert run.returncode == 0 and "DIFFERENT" not in run.stdout, run.stdout + run.stderr
                assert "the same result" in run.stdout or "bits a sample" in run.stdout


def test_a_converted_program_refuses_what_it_does_not_take(programs, tmp_path):
    (tmp_path / "in.pgm").write_bytes(pnm(np.zeros((2, 2, 1), np.uint8)))
    op = programs / "points" / "op"
    for arguments, message in [(["in.pgm", "striped"], "striped: takes 16 bits a sample"),
                               (["in.pgm", "posterize", "levels=1"], "levels must be 2..256"),
                               (["in.pgm", "nothing"], "there is no such operator"),
                               (["missing.pgm"], "the input cannot be opened"), ([], "usage: ")]:
        run = subprocess.run([op, *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert message in run.stdout + run.stderr


def test_convert_writes_over_nothing(operators, tmp_path):
    assert said(["convert", operators / "points.c", "-o", tmp_path / "p"])[0] == 0
    code, _, error = said(["convert", operators / "points.c", "-o", tmp_path / "p"])
    assert code == 1 and "op_cpu.c is there already" in error
    assert said(["convert", operators / "points.c"])[0] == 2


# ---- the cache

def test_the_second_time_nothing_is_compiled(tmp_path):
    cache = tmp_path / "cache"
    where = {"CACHE_DIRECTORY": str(cache)}
    path = write(tmp_path, "op.c", GOOD)
    assert said(["check", path], where)[0] == 0
    held = sorted(p.name for p in cache.iterdir())
    assert len(held) == 2 and held[0].endswith(".c") and held[1].endswith(".so")
    assert cache.stat().st_mode & 0o777 == 0o700
    before = [p.stat().st_ino for p in sorted(cache.iterdir())]
    assert said(["check", path], where)[0] == 0
    assert [p.stat().st_ino for p in sorted(cache.iterdir())] == before
    path.write_text(GOOD.replace("return v", "return v + 1"))
    assert said(["check", path], where)[0] == 0
    assert len(list(cache.iterdir())) == 4


@pytest.mark.parametrize("harm", ["text", "library", "open"])
def test_a_damaged_entry_is_compiled_again(tmp_path, harm):
    cache = tmp_path / "cache"
    where = {"CACHE_DIRECTORY": str(cache)}
    path = write(tmp_path, "op.c", GOOD)
    assert said(["check", path], where)[0] == 0
    text, library = sorted(cache.iterdir())
    if harm == "text":
        text.write_text(text.read_text() + " ")
    elif harm == "library":
        library.write_bytes(b"nothing that can be loaded")
    else:
        library.chmod(0o666)
    stamp = library.stat().st_mtime_ns
    assert said(["check", path], where)[0] == 0
    assert library.stat().st_mtime_ns > stamp
    assert library.stat().st_mode & 0o022 == 0


def processor(cache):
    """The processor that the only entry's text names."""
    entry, = cache.glob("*.c")
    return re.search(r"CPU ([0-9a-f]{16})", entry.read_text())[1]


def test_an_entry_is_for_one_processor_though_proc_is_hidden(tmp_path):
    """systemd's ProcSubset=pid leaves no /proc/cpuinfo."""
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t proc -o subset=pid proc /proc && ! [ -e /proc/cpuinfo ] && exec "$@"', "sh"]
    if subprocess.run([*hidden, "true"], capture_output=True).returncode:
        pytest.skip("nothing of /proc can be hidden here")
    path = write(tmp_path, "op.c", GOOD)
    assert said(["check", path], {"CACHE_DIRECTORY": str(tmp_path / "seen")})[0] == 0
    subprocess.run([*hidden, os.path.abspath(BURIN), "check", path], check=True, capture_output=True,
                   env={**os.environ, "CACHE_DIRECTORY": str(tmp_path / "hidden")})
    assert processor(tmp_path / "hidden") == processor(tmp_path / "seen")


def test_read_only_for_us_alone(tmp_path):
    """A service manager or a container mounts it so, and processes outside can still write."""
    mounted = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && '
               '! touch "$1/new" 2>/dev/null && shift && exec "$@"', "sh", tmp_path, tmp_path]
    if subprocess.run([*mounted, "true"], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    path = write(tmp_path, "op.c", GOOD)
    tmp_path.chmod(0o777)
    run = [*mounted, os.path.abspath(BURIN), "ops", "--operators-dir", tmp_path]
    name = re.compile("^" + re.search(r"(\w+)\(", GOOD).group(1) + r"\b", re.MULTILINE)
    listed = subprocess.run(run, capture_output=True, text=True)
    assert name.search(listed.stdout) and not listed.stderr, listed.stderr
    for mode, who in ((0o666, "everyone"), (0o664, "its group")):
        path.chmod(mode)
        listed = subprocess.run(run, capture_output=True, text=True)
        assert not name.search(listed.stdout) and f"{who} may write to it" in listed.stderr


def test_a_reduction_whose_order_matters_is_warned_of(tmp_path):
    """The values of the counterexample are printed, and the function really gives them."""
    path = write(tmp_path, "laws.c", "#R2S_FUNC long long\nstatic T squares(E a, E b) { return a * a + b * b; }\n#R2S_FUNC\n"
                 "static int less(int a, int b) { return a - b; }\n#R2S_FUNC\nstatic int ends(int a, int b) { while (a >= 0) "
                 "a = (a + b) & 255; return a; }\n#R2S_FUNC\nstatic int divides(int a, int b) { return a / (b - b); }\n"
                 "#MAP\nstatic int above(unsigned char v) { return v > 9; }\n#R2S_FUNC\nstatic int sums(int a, int b) { return a + b; }\n")
    code, out, error = said(["check", path])
    lines = error.splitlines()
    assert code == 0 and out.count("\n") == 6 and len(lines) == 4, error
    found = re.fullmatch(re.escape(f"{path}:2: #R2S_FUNC: warning: squares is not associative: squares(squares(") +
                         r"(\d+), (\d+)\), (\d+)\) is (-?\d+), and squares\(\1, squares\(\2, \3\)\) is (-?\d+); an R2S runs in any "
                         r"order, and its result would depend on it", lines[0])
    a, b, c, left, right = map(int, found.groups())
    assert left == (a * a + b * b) ** 2 + c * c and right == a * a + (b * b + c * c) ** 2 and left != right
    a, b, one, other = map(int, re.search(r"less is not commutative: less\((\d+), (\d+)\) is (-?\d+), and less\(\2, \1\) is (-?\d+);",
                                          lines[1]).groups())
    assert one == a - b == -other
    assert lines[2].endswith("ends did not end within 1 s on random numbers")
    assert re.search(r"divides crashed on random numbers: [\w ]+$", lines[3])


def test_a_crash_and_a_loop_in_a_run_are_named(tmp_path):
    write(tmp_path, "bad.c", GOOD + GOOD.replace("same", "wild").replace("return v", "*(int *)16 = v; return v") +
          GOOD.replace("same", "spin").replace("return v", "while (i >= 0) i = (i * 3 + 1) & 255; return i"))
    source = tmp_path / "in.png"
    source.write_bytes(to_png(np.zeros((9, 9, 1), np.uint8)))
    code, _, error = said(["run", "--operators-dir", tmp_path, "same;wild", source, tmp_path / "o.png"])
    assert code == 1 and "wild of bad.c: the operator crashed: " in error and not (tmp_path / "o.png").exists()
    run = subprocess.Popen([BURIN, "run", "--operators-dir", tmp_path, "spin", source, tmp_path / "o.png"], stderr=subprocess.PIPE, text=True,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler), start_new_session=True)
    assert wait_until(lambda: len(list(pathlib.Path(f"/proc/{run.pid}/task/{run.pid}").joinpath("children").read_text().split())))
    time.sleep(0.2)
    os.kill(run.pid, signal.SIGINT)
    assert "spin of bad.c: the operator was stopped: Interrupt" in run.communicate(timeout=60)[1]
    assert run.returncode == -signal.SIGINT


def test_a_run_has_room_for_what_trim_leaves(operators, tmp_path):
    """The run, in a process of its own, makes a picture that is smaller than the input, or larger."""
    picture = np.full((4, 60, 1), 255, np.uint8)
    picture[1:3, 20:30, 0] = np.arange(100, 120).reshape(2, 10)
    solarized = burin(operators, "solarize", np.ascontiguousarray(picture[1:3, 20:30]), tmp_path)[0]
    assert np.array_equal(burin(operators, "trim;solarize", picture, tmp_path)[0], solarized)
    assert np.array_equal(burin(operators, "solarize;trim;zoom:times=20", picture, tmp_path)[0], solarized.repeat(20, 0).repeat(20, 1))


CRASH = "{ int *where = (int *)16; *where = 1; }\n"


@pytest.mark.parametrize("start", [
    "[[gnu::constructor]] static void start(void) ", "[[gnu::destructor]] static void start(void) ",
    "[ [gnu::constructor] ] static void start(void) ",
    "#define A [ gnu::constructor ]\n#define B [ A ]\nB static void start(void) ",
    "static int A(int x);\n#define A(x) [x]\nstatic void start A([gnu::constructor]);\nstatic void start(void) ",
    "void _init(void) ", "void _fini(void) "])
def test_nothing_of_a_file_runs_when_it_is_checked(tmp_path, start):
    code, out, error = said(["check", write(tmp_path, "op.c", start + CRASH + GOOD)])
    assert code == 1, (code, out, error)
    assert "attributes" in error or "as soon as it is loaded" in error


@pytest.mark.skipif("tcc" in os.path.realpath(shutil.which("cc") or ""), reason="tcc does not set variables apart")
@pytest.mark.parametrize("text,line", [
    ("#define AND_ONE int t = 1; int\nstatic const AND_ONE kept;\n" + GOOD.replace("return v", "return kept++"), 2),
    ("#define P *\nstatic const int t = 1, P kept;\n" + GOOD.replace("return v", "kept += v; return kept != 0"), 2),
    ("static int *const kept = (int[1]){ 0 };\n" + GOOD.replace("return v", "return ++*kept"), None)])
def test_no_variable_keeps_its_value_whatever_macros_hide(tmp_path, text, line):
    """A kept value would carry data from one client's picture to another's."""
    path = write(tmp_path, "op.c", text)
    code, out, error = said(["check", path])
    assert code == 1 and "would keep its value" in error, (out, error)
    assert line is None or (error.startswith(f"{path}:{line}: ") and error.rstrip().endswith('"kept"')), error


def test_nothing_of_an_entry_of_the_cache_runs_when_it_is_loaded(tmp_path):
    gcc = shutil.which("gcc")
    if not gcc:
        pytest.skip("gcc is not here")
    where = {"CACHE_DIRECTORY": str(tmp_path / "cache"), "BURIN_CC": gcc}
    path = write(tmp_path, "op.c", GOOD)
    assert said(["check", path], where)[0] == 0
    (tmp_path / "other.c").write_text("__attribute__((constructor)) static void start(void) " + CRASH)
    entry, = (tmp_path / "cache").glob("*.so")
    subprocess.run([gcc, "-shared", "-fPIC", "-nostdlib", "-o", entry, tmp_path / "other.c"], check=True)
    entry.chmod(0o600)
    code, out, error = said(["check", path], where)
    assert code == 0 and "OK" in out, error


def test_a_cache_that_others_may_write_is_not_used(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    assert said(["check", write(tmp_path, "op.c", GOOD)], {"CACHE_DIRECTORY": str(cache)})[0] == 0
    assert not list(cache.iterdir())


def test_old_entries_go_when_a_new_one_comes(tmp_path):
    cache = tmp_path / "cache"
    where = {"CACHE_DIRECTORY": str(cache)}
    path = write(tmp_path, "op.c", GOOD)
    assert said(["check", path], where)[0] == 0
    first = set(cache.iterdir())
    unused, foreign, left = cache / ("0" * 32 + ".so"), cache / "notes.c", cache / "burin-abcdef"
    left.mkdir()
    (left / "twin.c").write_text("half")
    for file in unused, foreign:
        file.write_text("old")
    for file in first | {unused, foreign, left}:
        os.utime(file, (0, 0))
    assert said(["check", path], where)[0] == 0  # used, so counted as new
    path.write_text(GOOD.replace("return v", "return v + 1"))
    assert said(["check", path], where)[0] == 0
    there = set(cache.iterdir())
    assert first < there and foreign in there and unused not in there and left not in there
    assert len(there) == 5


def test_the_compiler_is_looked_for_on_the_path(tmp_path):
    if not shutil.which("tcc"):
        pytest.skip("tcc is not here")
    path, tools = write(tmp_path, "op.c", GOOD), tmp_path / "bin"
    tools.mkdir()
    where = {"PATH": f"/nowhere:{tools}", "CACHE_DIRECTORY": str(tmp_path / "c")}
    assert "not compiled" in said(["check", path], where)[1]
    (tools / "tcc").symlink_to(shutil.which("tcc"))
    code, out, error = said(["check", path], where)
    assert code == 0 and "not compiled" not in out, error
    made = [file.read_text() for file in (tmp_path / "c").iterdir() if file.name.endswith(".c")]
    assert len(made) == 1 and "/tcc" in made[0].split("\n")[0]


def test_without_a_compiler_the_file_is_only_read(tmp_path):
    path = write(tmp_path, "op.c", GOOD)
    code, out, _ = said(["check", path], {"BURIN_CC": "none", "CACHE_DIRECTORY": str(tmp_path / "c")})
    assert code == 0 and "not compiled: there is no C compiler" in out
