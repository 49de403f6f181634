# SPDX-License-Identifier: Apache-2.0
"""Code that copies and clears is linked without libc, and does what it says, whoever compiles it.
covers: pipeline/skeletons/freestanding.h
By hand: /usr/bin/python3 -m pytest tests/reference/test_freestanding.py"""
import ctypes
import pathlib
import shutil
import subprocess

import pytest

HEADER = pathlib.Path(__file__).parents[2] / "pipeline/skeletons/freestanding.h"
OPERATOR = """
typedef struct { int values[300]; long more; } big;
static big copy(big from) { big to = from; to.values[0]++; return to; }
void fill(unsigned char *out, int count, int value) { for (int i = 0; i < count; i++) out[i] = (unsigned char)value; }
void move(unsigned char *out, const unsigned char *in, int count) { for (int i = 0; i < count; i++) out[i] = in[i]; }
void shift(unsigned char *to, const unsigned char *from, int count) { __builtin_memmove(to, from, (unsigned long)count); }
int same(const unsigned char *a, const unsigned char *b, int count) { return __builtin_memcmp(a, b, (unsigned long)count); }
int user(int n) {
    int bins[4096] = { 0 };
    big one = { { 7, n }, 3 }, two = copy(one);
    bins[n & 4095] += two.values[0];
    one = two;
    int sum = 0;
    for (int i = 0; i < 4096; i++) sum += bins[i];
    return sum + one.values[1] + (int)two.more;
}
"""
WAYS = [["gcc", "-O0"], ["gcc", "-O2"], ["gcc", "-O3", "-march=native"], ["clang", "-O2"], ["tcc"]]


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_linked_without_libc(tmp_path, way):
    if not shutil.which(way[0]):
        pytest.skip(f"{way[0]} is not installed")
    tcc = way[0] == "tcc"
    file, library = tmp_path / "user.c", tmp_path / "user.so"
    file.write_text(HEADER.read_text() + (OPERATOR.replace("__builtin_", "") if tcc else OPERATOR))
    options = ["-shared", "-nostdlib", "-nostdinc"] + ([] if tcc else ["-fPIC", "-std=c17", "-Wall", "-Wextra", "-Werror", "-Wl,-z,defs"])
    subprocess.run([*way, *options, "-o", library, file], check=True)
    undefined = subprocess.run(["nm", "-uD", library], capture_output=True, text=True, check=True).stdout
    assert "mem" not in undefined
    loaded = ctypes.CDLL(str(library))
    assert loaded.user(5) == 8 + 5 + 3
    buffer = (ctypes.c_ubyte * 64)(*range(64))
    at = ctypes.addressof(buffer)
    loaded.fill(ctypes.c_void_p(at + 8), 16, 9)
    loaded.move(ctypes.c_void_p(at + 30), ctypes.c_void_p(at), 20)
    expected = list(range(64))
    expected[8:24] = [9] * 16
    expected[30:50] = expected[0:20]
    assert list(buffer) == expected
    assert loaded.same(ctypes.c_void_p(at), ctypes.c_void_p(at + 30), 20) == 0
    assert loaded.same(ctypes.c_void_p(at), ctypes.c_void_p(at + 30), 21) != 0
    expected = list(buffer)
    for to, start in [(10, 5), (5, 10), (0, 40)]:  # what overlaps, in both directions
        loaded.shift(ctypes.c_void_p(at + to), ctypes.c_void_p(at + start), 20)
        expected[to:to + 20] = expected[start:start + 20]
        assert list(buffer) == expected
