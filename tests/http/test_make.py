# SPDX-License-Identifier: Apache-2.0
"""What the Makefile would run, without running it."""
import os
import shutil
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(__file__), "../..")
pytestmark = pytest.mark.skipif(not shutil.which("make") or not os.path.exists(os.path.join(ROOT, "Makefile")),
                                reason="no make, or no Makefile")


CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}


def arguments(target, pytest_variable):
    """Of pytest, behind its own flags."""
    done = subprocess.run(["make", "-n", target, "CUDA=0", f"PYTEST={pytest_variable}"], cwd=ROOT, capture_output=True,
                          text=True, timeout=60, check=True, env=CLEAN)
    line, = [line for line in done.stdout.splitlines() if " -m pytest " in line]
    return line.partition(" -rs ")[2].split()


@pytest.mark.parametrize("target", ["http", "reference"])
def test_pytest_selects(target):
    folder = f"tests/{target}"
    assert arguments(target, "") == [folder]
    if target == "http":
        assert arguments(target, "-k name") == [folder, "-k", "name"]
        assert arguments(target, f"{folder}/test_a.py") == [f"{folder}/test_a.py"]
    assert arguments(target, f"-x {folder}/test_a.py::test_b {folder}/test_c.py -k d") == [
        "-x", f"{folder}/test_a.py::test_b", f"{folder}/test_c.py", "-k", "d"]


def test_help_tells_of_it():
    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
                          env=CLEAN).stdout
    assert 'PYTEST="-k name"' in told and "tests/mutants/run.py" in told
