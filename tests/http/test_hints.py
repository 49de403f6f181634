# SPDX-License-Identifier: Apache-2.0
"""What a wrong name is answered with: a name that is near, what does the same here, or that nothing does.

covers: pipeline/op_alias.c pipeline/status.c"""
import json
import re

import numpy as np
import pytest

from conftest import check_problem, from_pnm, needs, noise, operators, pnm
from test_cli import burin

PICTURE = pnm(noise(32, 24))


def messages(daemon, name):
    """By the path, as a step, and by both commands."""
    yield check_problem(daemon.post(f"/{name}", PICTURE), 404, f"/{name}")["message"]
    steps = json.dumps([{"operation": name}])
    yield check_problem(daemon.post_form("/pipeline", [("image", PICTURE, "a"), ("operations", steps, None)]), 400, name)["message"]
    for command in (["ops", name], ["run", name, "-", "-"]):
        done = burin(*command, input=PICTURE)
        assert done.returncode in (1, 2) and done.stdout == b""
        yield done.stderr.decode()


# The words of other tools: what must be named in the answer.
ALIASES = {
    "sigmoidal-contrast": ["contrast", "levels"], "normalise": ["normalize", "clahe", "histeq"], "equalize": ["histeq"], "saturate": ["saturation"],
    "colorize": ["tint"], "vintage": ["sepia"], "modulate": ["hue", "saturation"], "recomb": ["matrix"],
    "watermark": ["composite", "overlay", "no text"], "stamp": ["composite"],
    "thumb": ["resize"], "scale": ["resize"], "bw": ["grayscale"], "gray": ["grayscale"], "negative": ["negate"],
    "invert": ["negate"], "mosaic": ["pixelate"], "auto-orient": ["EXIF"], "Auto_Contrast": ["clahe"],
    "despeckle": ["median"], "mirror": ["flop"], "vflip": ["flip"], "autocrop": ["trim"], "border": ["pad", "contain"],
    "sobel": ["edge"], "unsharp": ["sharpen"], "average": ["mean"], "palette": ["dominant", "colors"], "metadata": ["/info"],
    "quality": ["max_bytes"]}


@pytest.mark.parametrize("name", ALIASES)
def test_words_of_other_tools(daemon, name):
    for message in messages(daemon, name):
        assert "did you mean" not in message
        for word in ALIASES[name]:
            assert word in message, message


@pytest.mark.parametrize("word, found", [("autocontrast", {"histeq", "clahe", "normalize"}), ("equalize", {"histeq"}), ("removeobject", {"carve"}),
                                         ("thumbnail", {"resize"}), ("placeholder", {"blurhash", "thumbhash"}), ("mirror", {"flop"}),
                                         ("filter", {"convolve"}), ("denoise", {"blur"}), ("autocrop", {"trim"}),
                                         ("median", set()), ("noise", {"median"}), ("extend", {"pad", "resize"}), ("vignette", set())])
def test_a_search_finds_what_the_hint_names(word, found):
    listed = json.loads(burin("ops", "--json").stdout)["operators"]
    assert {op["name"] for op in listed if word in op.get("aliases", [])} == found & operators()


@pytest.mark.parametrize("name, near", [("histqe", "histeq"), ("greyscale", "grayscale"), ("resise", "resize"), ("hist", "histeq"),
                                        ("edges", "edge"), ("min", "minimum"), ("brigthness", "brightness"), ("smartcorp", "smartcrop")])
def test_a_slip(daemon, name, near):
    if near not in operators():
        pytest.skip(f"this program was built without {near}")
    for message in messages(daemon, name):
        assert f'did you mean "{near}"?' in message or f"did you mean /{near}?" in message, message


@pytest.mark.parametrize("name", ["mesh", "form", "form1", "magic", "noon", "lean_on", "threshing"])
def test_another_word_is_no_slip(daemon, name):
    for message in messages(daemon, name):
        assert "did you mean" not in message


@needs("carve")
def test_lists_are_cut_between_words(daemon):
    """All operators do not fit into the sentence; nor do a client's name and all parameters."""
    steps = json.dumps([{"operation": "xyzzy" * 9}])
    message = check_problem(daemon.post("/pipeline?operations=" + steps.replace('"', "%22").replace(" ", ""), PICTURE), 400)["message"]
    listed = re.split(", ", message.rpartition("there are ")[2])
    assert set(listed) - {"..."} <= operators() and (listed[-1] == "...") == (set(listed) != operators()), message
    message = check_problem(daemon.post("/carve?" + "x" * 60 + "=1", PICTURE), 400)["message"]
    known = {param["name"] for op in json.loads(burin("ops", "--json").stdout)["operators"]
             if op["name"] == "carve" for param in op["parameters"]}
    assert set(message.rpartition("it takes ")[2].split(", ")) - {"..."} <= known
