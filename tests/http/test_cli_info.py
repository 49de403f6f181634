# SPDX-License-Identifier: Apache-2.0
"""`burin info`.

covers: server/cli/command_info.c server/api/info_json.c
"""
import json

import numpy as np
import pytest
from PIL import Image

from conftest import jpeg, noise, png, pnm
from test_cli import TEXT, burin


@pytest.fixture
def pictures(tmp_path):
    turned = Image.Exif()
    turned[0x112] = 6
    Image.fromarray(noise(30, 20, 3)).save(tmp_path / "turned.jpg", exif=turned, icc_profile=b"p" * 200)
    frames = [Image.fromarray(noise(9, 7) + np.uint8(i)) for i in range(3)]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:], loop=2)
    (tmp_path / "deep.pgm").write_bytes(pnm(noise(5, 4, depth=16)))
    (tmp_path / "alpha.png").write_bytes(png(noise(6, 5, 4)))
    (tmp_path / "text").write_text("no picture")
    return tmp_path


def test_info_is_the_daemons(pictures, daemon):
    names = ["turned.jpg", "moving.gif", "deep.pgm", "alpha.png"]
    done = burin("info", "--json", *names[:2], "text", *names[2:], cwd=pictures, **TEXT)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1 and done.stderr == ""
    assert lines.pop(2)["error"].startswith("the data is not an image of a known format")
    for name, line in zip(names, lines):
        assert line == {"input": name, **daemon.post("/info", (pictures / name).read_bytes()).json}


def test_info_as_a_table(pictures):
    done = burin("info", "turned.jpg", "none.jpg", "moving.gif", "--", "-", cwd=pictures, input=jpeg(noise(8, 8)).decode("latin-1"),
                 text=True, encoding="latin-1")
    head, *rows = [line.split() for line in done.stdout.splitlines()]
    size = (pictures / "turned.jpg").stat().st_size
    assert head == "type size channels depth orientation frames profile bytes file".split()
    assert rows[0] == ["jpeg", "20x30", "3", "8", "6", "1", "yes", str(size), "turned.jpg"]
    assert rows[1][:6] == ["gif", "9x7", "3", "8", "1", "3"] and rows[2][-1] == "-" and len(rows) == 3
    assert done.returncode == 1 and done.stderr == "burin: cannot open none.jpg: No such file or directory\n"


def test_info_needs_files():
    for arguments in ([], ["--sideways"], ["--json"]):
        done = burin("info", *arguments, **TEXT)
        assert done.returncode == 2 and done.stderr.startswith("usage: burin info")
    assert burin("info", "--help", **TEXT).stdout.startswith("usage: burin info")
