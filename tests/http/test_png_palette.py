# SPDX-License-Identifier: Apache-2.0
"""PNG with a palette: Pillow reads the same pixels where the colours suffice, and others nearer than by its own median cut; what is noted.

covers: pipeline/codecs/png/indexed.c pipeline/codecs/common/palette.c pipeline/codecs/common/clusters.c"""
import io
import json

import numpy as np
import pytest
from PIL import Image

from conftest import check_problem, noise, png
from test_codecs import of_skimage
from test_gif import pam
from test_gif_in import gif, indices, picture, rgba

PALETTE = "/brightness?shift=0&type=png&palette=true"
CUT = "more colours than its palette"


def written(daemon, data, query="", notes=()):
    answer = daemon.post(PALETTE + query, data)
    assert answer.status == 200 and answer.headers["Content-Type"] == "image/png", answer.body
    assert len(answer.timing["notes"]) == len(notes) and all(a in b for a, b in zip(notes, answer.timing["notes"])), answer.timing["notes"]
    image = Image.open(io.BytesIO(answer.body))
    assert image.mode == "P" and len(image.getpalette()) <= 768
    return answer.body, image


def multiplied(array):
    array = array.astype(float)
    array[..., :3] *= array[..., 3:] / 255
    return array


@pytest.mark.parametrize("colours", [1, 2, 16, 17, 256])
def test_few_colours_are_kept(daemon, colours):
    for size in ((1, 1), (1, 40), (40, 1), (31, 17)):
        data = png(np.array(picture(indices(*size, colours, "noise")).convert("RGB")))
        body, image = written(daemon, data)
        assert np.array_equal(rgba(body), rgba(data)) and "transparency" not in image.info


def test_alpha_is_kept(daemon):
    array = np.zeros((16, 16, 4), np.uint8)
    array[..., 3] = np.arange(256).reshape(16, 16)
    array[..., 0] = np.where(array[..., 3], 200, 0)
    body, image = written(daemon, png(array))
    assert np.array_equal(rgba(body), array) and len(image.info["transparency"]) == 255  # the last is opaque


def test_gray_and_16_bits(daemon):
    deep = (np.arange(256, dtype=np.uint16) * 257 + 100).clip(0, 65535).reshape(16, 16, 1)
    body, _ = written(daemon, pam(deep), notes=("16-bit",))
    assert np.array_equal(rgba(body)[..., 0], np.floor(deep[..., 0] / 257 + 0.5))


@pytest.mark.parametrize("name", ["astronaut", "coffee"])
def test_nearer_than_by_pillow(daemon, name):
    array = of_skimage(name)[:200, :300, :3].copy()
    theirs = np.array(Image.fromarray(array).quantize(64, method=Image.Quantize.MEDIANCUT, kmeans=3).convert("RGB"))
    plain, image = written(daemon, png(array), "&colors=64", (CUT,))
    rough, _ = written(daemon, png(array), "&colors=64&dither=true", (CUT,))
    errors = [((array - other.astype(float)) ** 2).mean() for other in (rgba(plain)[..., :3], theirs, rgba(rough)[..., :3])]
    assert errors[0] < errors[1] and errors[0] < errors[2] < 2 * errors[0], errors
    assert len(image.getcolors()) <= 64 and len(plain) < len(rough)


def test_colours_under_alpha(daemon):
    """A photograph that fades out: as near as Pillow's octree, which knows alpha, whatever stands under alpha 0."""
    array = np.dstack([of_skimage("chelsea")[:128, :256, :3], np.tile(np.arange(256, dtype=np.uint8), (128, 1))])
    theirs = np.array(Image.fromarray(array).quantize(256, method=Image.Quantize.FASTOCTREE).convert("RGBA"))
    body, image = written(daemon, png(array), "", (CUT,))
    errors = [((multiplied(array) - multiplied(other)) ** 2).mean() for other in (rgba(body), theirs)]
    assert errors[0] < errors[1], errors
    assert not rgba(body)[:, 0].any() and len(image.info["transparency"]) > 100


def test_noise_comes_with_any_setting(daemon):
    for i, (channels, query) in enumerate((c, q) for c in (1, 2, 3, 4) for q in ("&colors=2", "&colors=5&dither=true&compression=0", "&compression=3")):
        body, image = written(daemon, png(noise(37 + i, 23, channels)), query, () if channels == 1 and "colors" not in query else (CUT,))
        assert len(image.getcolors()) <= (2 if "=2" in query else 5 if "=5" in query else 256)
        assert image.size == (37 + i, 23) and rgba(body).shape == (23, 37 + i, 4)


def test_other_ways_to_ask(daemon):
    photo = png(of_skimage("coffee")[:90, :120])
    wanted = written(daemon, photo, "&colors=9", (CUT,))[0]
    assert daemon.post("/brightness?shift=0&type=png&colors=9", photo).body == wanted
    assert daemon.post("/brightness?shift=0&type=jpeg&colors=9", photo).headers["Content-Type"] == "image/jpeg"
    for query, words in (("palette=8", ["palette", "true"]), ("colors=1", ["colors", "2..256"]), ("dither=", ["dither"]),
                         ("palette=false&colors=5", ["palette=false", "colors"])):
        check_problem(daemon.post(f"/histeq?type=png&{query}", photo), 400, *words)
    outputs = [{"type": "png", "palette": True, "colors": 9, "name": "few"}, {"type": "png", "name": "all"}]
    answer = daemon.post_form("/pipeline", [("operations", json.dumps([{"operation": "brightness", "params": {"shift": 0}}]), None),
                                            ("outputs", json.dumps(outputs), None), ("image", photo, "a.png")])
    assert answer.status == 200 and wanted in answer.body and answer.body.count(b"PLTE") == 1
    check_problem(daemon.post(f"{PALETTE}&max_bytes=500", photo), 422, "png", "max_bytes")


def test_an_animation_is_its_first_frame(daemon):
    data = gif(picture(indices(30, 20, 200)), transparency=3)
    body, _ = written(daemon, data, "&animation=keep")
    shown = rgba(data)[..., 3:] > 0
    assert np.array_equal(rgba(body) * shown, rgba(data) * shown) and not (rgba(body) * ~shown).any()
