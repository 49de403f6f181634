# SPDX-License-Identifier: Apache-2.0
"""A tRNS wherever a file may have one. Where it is invalid the picture is sound and opaque, as in every viewer, and header and
decoder agree on whether it has alpha."""
import pytest

from conftest import chunk, png_of_chunks

PLTE = chunk(b"PLTE", bytes([255, 0, 0, 0, 255, 0]))  # red, green
RED, GREEN = [255, 0, 0], [0, 255, 0]
PALETTE, RGB, GRAY, GRAY_ALPHA = (3, b"\0\0\1"), (2, b"\0\xff\0\0\0\xff\0"), (0, b"\0\7\x09"), (4, b"\0\7\7\x09\x09")


def trns(*data):
    return chunk(b"tRNS", bytes(data))


@pytest.mark.parametrize("kind,chunks,pixels", [
    (PALETTE, [PLTE], [RED, GREEN]),
    (PALETTE, [PLTE, trns(10, 20)], [[*RED, 10], [*GREEN, 20]]),
    (PALETTE, [PLTE, trns(10)], [[*RED, 10], [*GREEN, 255]]),
    (PALETTE, [PLTE, trns(10, 20, 30)], [RED, GREEN]),
    (PALETTE, [PLTE, trns()], [RED, GREEN]),
    (PALETTE, [trns(10, 20), PLTE], [RED, GREEN]),
    (PALETTE, [trns(10, 20), PLTE, trns(30)], [[*RED, 30], [*GREEN, 255]]),
    (PALETTE, [PLTE, trns(10, 20, 30), trns(30)], [[*RED, 30], [*GREEN, 255]]),
    (RGB, [trns(0, 255, 0, 0, 0, 0)], [[*RED, 0], [*GREEN, 255]]),
    (RGB, [PLTE, trns(0, 255, 0, 0, 0, 0)], [[*RED, 0], [*GREEN, 255]]),
    (RGB, [trns(0, 255, 0, 0, 0, 0), PLTE], [RED, GREEN]),
    (RGB, [trns(*bytes(7))], [RED, GREEN]),
    (GRAY, [trns(0, 7)], [[7, 0], [9, 255]]),
    (GRAY, [trns(0, 7), PLTE], [[7, 0], [9, 255]]),
    (GRAY, [trns(0, 7, 0)], [7, 9]),
    (GRAY_ALPHA, [trns(0, 7)], [[7, 7], [9, 9]]),
], ids=["palette alone", "as long as PLTE", "shorter", "longer than PLTE", "empty", "before PLTE", "before and behind",
        "longer, then sound", "RGB", "RGB behind PLTE", "RGB before PLTE", "RGB too long", "gray", "gray before PLTE",
        "gray too long", "beside alpha"])
def test_transparency(daemon, kind, chunks, pixels):
    colour_type, row = kind
    picture = png_of_chunks(2, 1, 8, colour_type, row, *chunks)
    answer = daemon.post("/brightness?shift=0&type=png", picture)
    assert answer.status == 200, answer.body
    assert answer.image.tolist() == [pixels]
    assert answer.timing["input"]["channels"] == (len(pixels[0]) if isinstance(pixels[0], list) else 1)
