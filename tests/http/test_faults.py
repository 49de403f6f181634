# SPDX-License-Identifier: Apache-2.0
"""System calls that fail: the short form of pressure/faults.py, which says what is asserted."""
import os
import subprocess
import sys

import pytest

PROGRAM = os.path.join(os.path.dirname(__file__), "pressure/faults.py")


@pytest.mark.parametrize("fault", ["memory 5 %", "EMFILE", "pause of an hour"])
def test_a_fault_passes(fault):
    done = subprocess.run([sys.executable, PROGRAM, "--seconds", "0.4", "--well-s", "20", "--only", fault],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
