# SPDX-License-Identifier: Apache-2.0
"""Damaged files of each kind: the short form of pressure/damaged_files.py, which says what is asserted."""
import os
import shutil
import subprocess
import sys

import pytest

from conftest import BURIN

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "pressure"))

import damaged_files  # noqa: E402

NEEDED = {"heic": ("x265", "libde265-dec265"), "avif": ("avifenc", "avifdec")}


def read_here(name):
    """Whether this program and machine have the kind's libraries and tools."""
    head = b"\0\0\0\x14ftyp" + name.encode() + bytes(8)
    if name in NEEDED:
        said = subprocess.run([BURIN, "run", "--device", "cpu", "--type", "png", "-", "-"], input=head, capture_output=True, timeout=60).stderr
        return b"broken" in said and all(map(shutil.which, NEEDED[name]))
    return True


@pytest.mark.parametrize("name", damaged_files.KINDS)
def test_damaged(start, name):
    if not read_here(name):
        pytest.skip(f"{name} is not read here, or its tools are missing")
    daemon = start("--pixels-max", str(damaged_files.PIXELS_MAX))
    found = damaged_files.press(("127.0.0.1", daemon.port), name, 300, 1)
    assert not found.bad, found.bad[:3]
    assert found.counts["equal"] > 20 and found.counts["refused"] > 100, found.counts
    assert daemon.works()
