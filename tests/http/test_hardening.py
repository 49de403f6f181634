# SPDX-License-Identifier: Apache-2.0
"""How the program is linked: stack and data are not executable, tables are read-only after the start, addresses are random,
and the compiler's checks are in it."""
import shutil
import subprocess

import pytest

from conftest import BURIN

pytestmark = pytest.mark.skipif(not shutil.which("readelf"), reason="no readelf")


def readelf(what):
    return subprocess.run(["readelf", "-W", what, BURIN], capture_output=True, text=True, check=True, timeout=60).stdout


def test_how_it_is_linked():
    assert "Position-Independent Executable" in readelf("-h")
    segments = {line.split()[0]: line.split() for line in readelf("-l").splitlines() if line.startswith("  GNU_")}
    assert segments["GNU_STACK"][6] == "RW", "the stack runs"
    assert "GNU_RELRO" in segments and "BIND_NOW" in readelf("-d")


def test_what_the_compiler_checks():
    symbols = readelf("--dyn-syms")
    if "__asan" in symbols or "__tsan" in symbols:
        pytest.skip("sanitizers do more than that")
    assert "__stack_chk_fail" in symbols
    assert "__memcpy_chk" in symbols or "__snprintf_chk" in symbols, "_FORTIFY_SOURCE"
