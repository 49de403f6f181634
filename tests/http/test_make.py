# SPDX-License-Identifier: Apache-2.0
"""Commands that the Makefile would run, without running them."""
import os
import shutil
import subprocess

import pytest

ROOT = os.path.join(os.path.dirname(__file__), "../..")
pytestmark = pytest.mark.skipif(not shutil.which("make") or not os.path.exists(os.path.join(ROOT, "Makefile")),
                                reason="no make, or no Makefile")


CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}


def arguments(targets, pytest_variable):
    """pytest's arguments for each target, behind the Makefile's own flags."""
    done = subprocess.run(["make", "-n", *targets, "CUDA=0", f"PYTEST={pytest_variable}"], cwd=ROOT, capture_output=True,
                          text=True, timeout=60, check=True, env=CLEAN)
    return [line.partition(" -rs ")[2].split() for line in done.stdout.splitlines() if " -rs " in line]


def test_pytest_selects():
    targets = ["http", "reference"]
    assert arguments(targets, "") == [[f"tests/{target}"] for target in targets]
    assert arguments(targets, "-k name") == [[f"tests/{target}", "-k", "name"] for target in targets]
    assert arguments(targets, "-x tests/http/test_a.py::test_b tests/http/test_c.py -k d") == [
        ["-x", "tests/http/test_a.py::test_b", "tests/http/test_c.py", "-k", "d"]] * 2


def test_help_names_it():
    text = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
                          env=CLEAN).stdout
    assert 'PYTEST="-k name"' in text and "tests/mutants/run.py" in text
