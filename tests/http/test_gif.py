# SPDX-License-Identifier: Apache-2.0
"""GIF out: Pillow reads the same pixels where 256 colours suffice, and others as well as by its own median cut; what is noted.

covers: pipeline/codecs/gif/encoder.c pipeline/codecs/common/palette.c"""
import io

import numpy as np
import pytest
from PIL import Image

from conftest import check_problem, noise, png, smooth
from test_codecs import of_skimage
from test_gif_in import SIZES, gif, indices, picture, rgba

PLAIN = "/brightness?shift=0&type=gif"


def pam(array):
    """A PNM with any channels of 16 bits."""
    height, width, channels = array.shape
    kind = ("GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA")[channels - 1]
    return f"P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH {channels}\nMAXVAL 65535\nTUPLTYPE {kind}\nENDHDR\n".encode() + array.astype(">u2").tobytes()


def written(daemon, data, notes=0):
    answer = daemon.post(PLAIN, data)
    assert answer.status == 200 and answer.headers["Content-Type"] == "image/gif", answer.body
    assert len(answer.timing["notes"]) == notes, answer.timing["notes"]
    return answer.body


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("colours", [1, 2, 3, 16, 100, 255, 256])
def test_few_colours_are_kept(daemon, size, colours):
    for kind in ("noise", "steps"):
        data = png(np.array(picture(indices(*size, colours, kind)).convert("RGB")))
        assert np.array_equal(rgba(written(daemon, data)), rgba(data))


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_every_kind_of_picture(daemon, channels):
    """16 bits are rounded to 8, and alpha from 128 on is opaque."""
    wanted = (noise(31, 17, channels) % 6 * 51).astype(np.uint8).reshape(17, 31, channels)
    deep = wanted.astype(np.uint16) * 257 + np.where(wanted < 255, 128, 0)  # as much as is rounded down
    colour = wanted[..., :1].repeat(3, 2) if channels < 3 else wanted[..., :3]
    alpha = wanted[..., -1:] if channels % 2 == 0 else np.full((17, 31, 1), 255, np.uint8)
    got = rgba(written(daemon, pam(deep), notes=2 if channels % 2 == 0 else 1))
    seen = alpha >= 128
    assert np.array_equal(got[..., 3:] == 255, seen) and np.array_equal(got[..., :3] * seen, colour * seen)


def test_alpha_is_cut_in_the_middle(daemon):
    array = np.zeros((1, 256, 4), np.uint8)
    array[..., 3] = np.arange(256)
    assert np.array_equal(rgba(written(daemon, png(array), notes=1))[0, :, 3] == 255, np.arange(256) >= 128)


PHOTOGRAPHS = {"rocket": lambda: of_skimage("rocket"), "portrait": lambda: of_skimage("astronaut")[..., :3],
               "fur": lambda: of_skimage("chelsea"), "coffee": lambda: of_skimage("coffee"), "smooth": lambda: smooth(300, 200)}


@pytest.mark.parametrize("name", PHOTOGRAPHS)
def test_photographs_are_as_close_as_by_pillow(daemon, name):
    array = PHOTOGRAPHS[name]()
    theirs = np.array(Image.fromarray(array).quantize(256, method=Image.Quantize.MEDIANCUT).convert("RGB"))
    ours = rgba(written(daemon, png(array), notes=1))[..., :3]
    error = [np.abs(array.astype(int) - other).mean() for other in (ours, theirs)]
    assert error[0] <= 1.05 * error[1], error
    assert len(np.unique(ours.reshape(-1, 3), axis=0)) <= 256


def test_what_was_gif_stays_gif(daemon):
    data = gif(picture(indices(60, 40, 200)), transparency=3)
    for query, headers, kind in (("", {}, "gif"), ("&type=auto", {}, "gif"), ("", {"Accept": "image/gif"}, "gif"), ("", {"Accept": "image/*"}, "gif"),
                                 ("", {"Accept": "image/avif,image/webp,*/*;q=0.8", "X": "y"}, "webp"), ("&type=png", {}, "png")):
        answer = daemon.post("/brightness?shift=0" + query, data, headers=headers)
        assert (answer.status, answer.headers["Content-Type"]) == (200, f"image/{kind}"), (query, headers)
    same, wanted = rgba(daemon.post("/brightness?shift=0", data).body), rgba(data)
    assert np.array_equal(same * (wanted[..., 3:] > 0), wanted * (wanted[..., 3:] > 0))
    assert daemon.post("/brightness?shift=0", png(noise(9, 7)), headers={"Accept": "image/gif"}).headers["Content-Type"] == "image/gif"


def test_a_file_that_is_too_large(daemon):
    check_problem(daemon.post(PLAIN + "&max_bytes=500", png(noise(60, 50))), 422, "gif", "max_bytes", "quality")
    assert daemon.post(PLAIN + "&max_bytes=500000", png(noise(60, 50))).status == 200
