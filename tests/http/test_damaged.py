# SPDX-License-Identifier: Apache-2.0
"""Damaged images get 422, odd but sound ones 200 with a note of what was found. What damaged=accept keeps of an image is
compared with the sound one, row by row."""
import io

import numpy as np
import pytest
from PIL import Image

from conftest import check_problem, from_pnm, jpeg, noise, png, pnm, smooth

SKIPPED = "extra bytes"
DAMAGED = "damaged"


def segments(data):
    """Offsets of a JPEG's segments, from the one behind SOI to SOS."""
    at, places = 2, []
    while data[at + 1] != 0xda:
        places.append(at)
        at += 2 + int.from_bytes(data[at + 2:at + 4], "big")
    return places + [at]


def notes(answer):
    assert answer.status == 200, answer.body
    return answer.timing["notes"]


def read(daemon, data, query=""):
    """The notes, and the decoded picture."""
    answer = daemon.post(f"/brightness?shift=0&type=pnm{query}", data)
    return notes(answer), from_pnm(answer.body)


@pytest.mark.parametrize("options", [{}, {"progressive": True}], ids=["baseline", "progressive"])
@pytest.mark.parametrize("extra", [b"\0", b"abcd", b"\xff\0\xff\0", b"123456789012345"], ids=repr)
def test_few_bytes_between_segments(daemon, options, extra):
    data = jpeg(smooth(60, 40), **options)
    _, sound = read(daemon, data)
    for at in segments(data)[1:]:
        found, picture = read(daemon, data[:at] + extra + data[at:])
        assert np.array_equal(picture, sound)
        assert len(found) == 1 and SKIPPED in found[0]
        info = daemon.post("/info", data[:at] + extra + data[at:])
        assert info.status == 200 and info.json["width"] == 60


def test_bytes_in_front_are_another_format(daemon):
    """As in browsers, the first three bytes make a file a JPEG."""
    data = jpeg(smooth(60, 40))
    for extra in (b"\0", b"\r\n", b"\xff", bytes(64)):
        check_problem(daemon.post("/histeq?damaged=accept", extra + data), 415)
    check_problem(daemon.post("/histeq", data[:2] + b"\0" + data[2:]), 415)


def test_bytes_after_the_end(daemon):
    data = jpeg(smooth(60, 40))
    _, sound = read(daemon, data)
    for extra in (b"\n", b"trailer" * 1000, data):
        found, picture = read(daemon, data + extra)
        assert np.array_equal(picture, sound) and SKIPPED in found[0]
    assert read(daemon, data)[0] == []


def test_zeros_pad_a_scan(daemon):
    data = jpeg(smooth(60, 40))
    _, sound = read(daemon, data)
    found, picture = read(daemon, data[:-2] + bytes(12) + data[-2:])
    assert np.array_equal(picture, sound) and SKIPPED in found[0]
    check_problem(daemon.post("/histeq", data[:-2] + bytes(12) + b"left" + data[-2:]), 422)
    check_problem(daemon.post("/histeq", data[:-2] + bytes(4000) + data[-2:]), 422)


# ---- damaged=accept

def kinds():
    picture = smooth(96, 80)
    return {"JPEG": jpeg(picture), "progressive JPEG": jpeg(picture, progressive=True), "PNG": png(noise(96, 80, 3)),
            "PNM": pnm(picture)}


@pytest.mark.parametrize("kind", ["JPEG", "progressive JPEG", "PNG", "PNM"])
@pytest.mark.parametrize("part", [0.5, 0.75, 0.95])
def test_a_cut_file_accepted(daemon, kind, part):
    data = kinds()[kind]
    _, sound = read(daemon, data)
    head = segments(data)[-1] + 14 if "JPEG" in kind else 60  # bytes
    cut = data[:head + int((len(data) - head) * part)]
    check_problem(daemon.post("/histeq", cut), 422)
    check_problem(daemon.post("/histeq?damaged=refuse", cut), 422)
    found, picture = read(daemon, cut, "&damaged=accept")
    assert len(found) == 2 and DAMAGED in found[0] and len(found[1]) > 10, found
    assert picture.shape == sound.shape
    if kind == "progressive JPEG":  # coarser, all over
        assert np.abs(picture.astype(int) - sound).mean() < 60
        return
    whole = [y for y in range(80) if np.array_equal(picture[y], sound[y])]
    assert len(whole) >= 80 * (part - 0.5)
    assert whole[:len(whole) // 2] == list(range(len(whole) // 2)), "from the top"
    if kind in ("PNG", "PNM"):
        assert not picture[len(whole):].any(), "the rest is black"
    again = daemon.post("/brightness?shift=0&type=pnm&damaged=accept&device=cpu", cut)
    assert np.array_equal(from_pnm(again.body), picture)


def test_the_memory_of_others_is_not_shown(daemon):
    """The lane's memory held a white picture before; none of it shows."""
    white = pnm(np.full((80, 96, 3), 255, np.uint8))
    data = png(noise(96, 80, 3))
    for _ in range(8):
        assert daemon.post("/brightness?shift=0", white).status == 200
        _, picture = read(daemon, data[:len(data) // 2], "&damaged=accept")
        assert not picture[60:].any()


def test_a_sound_file_accepted_is_not_noted(daemon):
    for kind, data in kinds().items():
        assert read(daemon, data, "&damaged=accept")[0] == [], kind


def test_a_broken_header_is_refused_all_the_same(daemon):
    for kind, data in kinds().items():
        if kind != "PNM":
            check_problem(daemon.post("/histeq?damaged=accept", data[:60]), 422)
    check_problem(daemon.post("/histeq?damaged=accept", b"P6 4 4 255 abc"), 422)


def test_a_damaged_mask_is_refused_all_the_same(daemon):
    picture, mask = pnm(smooth(96, 80)), jpeg(np.zeros((80, 96), np.uint8))
    parts = [("image", picture, "a.ppm"), ("mask", mask[:-20], "b.jpg")]
    check_problem(daemon.post_form("/carve?dx=-1&damaged=accept", parts), 422, "mask")


def test_as_a_form_field_and_in_a_pipeline(daemon):
    cut = jpeg(smooth(96, 80))[:-300]
    assert DAMAGED in notes(daemon.post_form("/histeq", [("image", cut, "a.jpg"), ("damaged", "accept", None)]))[0]
    steps = '[{"operation":"histeq"}]'
    fields = [("image", cut, "a.jpg"), ("operations", steps, None), ("damaged", "accept", None)]
    assert DAMAGED in notes(daemon.post_form("/pipeline", fields))[0]
    check_problem(daemon.post("/histeq?damaged=yes", cut), 400, "damaged", "refuse", "accept")
    check_problem(daemon.post("/pipeline?damage=accept", cut), 400, "damaged")


def test_a_note_does_not_outlive_its_request(daemon):
    data = jpeg(smooth(96, 80))
    for _ in range(8):
        assert len(notes(daemon.post("/histeq?damaged=accept", data[:-300]))) == 2
        assert notes(daemon.post("/histeq?damaged=accept", data)) == []
        check_problem(daemon.post("/histeq", data[:-300]), 422)


def test_pil_agrees_that_the_odd_ones_are_sound():
    """The tests above insert their bytes at the right places."""
    data = jpeg(smooth(60, 40))
    at = segments(data)[2]
    odd = Image.open(io.BytesIO(data[:at] + b"\0\0" + data[at:]))
    assert np.array_equal(np.array(odd), np.array(Image.open(io.BytesIO(data))))
