# SPDX-License-Identifier: Apache-2.0
"""blurhash and thumbhash against the published encoders, on the reduction that test_resize.py checks: the npm packages, and Debian's
python3-blurhash, which is the published C.
covers: pipeline/ops/blurhash.c, pipeline/ops/thumbhash.c, pipeline/ops/placeholder.h
Alone: BURIN=build/burin /usr/bin/python3 -m pytest tests/reference/test_placeholders.py"""
import base64
import io
import json
import math
import pathlib
import subprocess

import mpmath
import numpy as np
import pytest
from PIL import Image

import resample
from service import burin, photograph, service, values  # noqa: F401
from npm import npm_packages

cv2 = pytest.importorskip("cv2")

HERE = pathlib.Path(__file__).resolve().parent
SIDE = 32
COMPONENTS = ((4, 3), (1, 1), (9, 9), (1, 2), (6, 1), (3, 8))
SIZES = ((1, 1), (1, 40), (40, 1), (13, 42), (123, 66), (32, 32), (32, 7), (7, 32), (4097, 3), (64, 63), (5, 4))
MODES = ("L", "LA", "RGB", "RGBA")


def png(image):
    body = io.BytesIO()
    image.save(body, "PNG", compress_level=1)
    return body.getvalue()


def photographs():
    for name in ("astronaut", "coffee", "chelsea", "rocket", "camera", "coins", "moon"):
        yield Image.fromarray(photograph(name))


def made():
    """Noise, ramps and one colour, of every size and mode."""
    generator = np.random.default_rng(5)
    for width, height in SIZES:
        for mode in MODES:
            noise = generator.integers(0, 256, (height, width, len(mode)), dtype=np.uint8)
            ramp = (np.mgrid[0:height, 0:width][1][..., None] * np.arange(5, 5 + len(mode)) % 256).astype(np.uint8)
            flat = np.full(noise.shape, (200, 17, 90, 128)[:len(mode)], np.uint8)
            for pixels in (noise, ramp, flat):
                yield Image.fromarray(pixels[..., 0] if mode == "L" else pixels, mode)


def small(image):
    """The longer side 32, the other rounded half up, at least 1."""
    width, height = image.size
    if width >= height:
        size = SIDE, max(1, (2 * height * SIDE + width) // (2 * width))
    else:
        size = max(1, (2 * width * SIDE + height) // (2 * height)), SIDE
    return resample.scaled(image, size, "linear").convert("RGBA")


def small_16(samples):
    """Resize's reduction of 16 bits, which test_resize.py compares with numpy; then (v + 128) / 257."""
    body = cv2.imencode(".png", samples)[1].tobytes()
    made_small = burin(body, "resize:width=32,height=32,fit=inside,kernel=linear", type="png", compression=0)
    pixels = (cv2.imdecode(np.frombuffer(made_small, np.uint8), cv2.IMREAD_UNCHANGED).astype(np.uint32) + 128) // 257
    pixels = pixels.astype(np.uint8)
    if pixels.ndim == 2:
        return body, Image.fromarray(pixels).convert("RGBA")
    return body, Image.fromarray(np.ascontiguousarray(pixels[..., [2, 1, 0, 3][:pixels.shape[2]]])).convert("RGBA")


def laid(picture):
    """RGB of an RGBA picture over white, which is all that a BlurHash shows."""
    pixels = np.asarray(picture).astype(np.int64)
    alpha = pixels[..., 3:]
    return ((2 * (pixels[..., :3] * alpha + 255 * (255 - alpha)) + 255) // 510).astype(np.uint8)


def all_pictures():
    """(body, the small picture in RGBA)"""
    for image in (*photographs(), *made()):
        yield png(image), small(image)
    for seed, shape in enumerate([(66, 123), (42, 13, 3), (32, 32, 4), (3, 400, 3), (50, 1)]):
        yield small_16(np.random.default_rng(seed).integers(0, 65536, shape, dtype=np.uint16))


@pytest.fixture(scope="module")
def placeholders(service):  # noqa: F811
    """(small picture, across, down, blurhash, thumbhash) of all."""
    rows = []
    for i, (body, picture) in enumerate(all_pictures()):
        for across, down in COMPONENTS if i < 3 else [COMPONENTS[i % len(COMPONENTS)]]:
            rows.append((picture, across, down, *values(body, f"blurhash:components={across}x{down}", "thumbhash")))
    return rows


def cosines():
    """[x, cos x] for every cosine of thumbhash, each the nearest double."""
    found = {}
    with mpmath.workprec(200):
        for side in range(1, SIDE + 1):
            for waves in range(7):
                for i in range(side):
                    x = math.pi / side * waves * (i + 0.5)
                    found[x] = float(mpmath.cos(mpmath.mpf(x)))
    return list(found.items())


@pytest.fixture(scope="module")
def published(placeholders, tmp_path_factory):
    """The npm packages' texts for the same pictures."""
    folder = tmp_path_factory.mktemp("encoders")
    modules = npm_packages(folder, HERE)
    (folder / "cosines.json").write_text(json.dumps(cosines()))
    jobs = [json.dumps({"width": picture.width, "height": picture.height, "across": across, "down": down,
                        "pixels": base64.b64encode(picture.tobytes()).decode(),
                        "laid": base64.b64encode(Image.fromarray(laid(picture)).convert("RGBA").tobytes()).decode()})
            for picture, across, down, _, _ in placeholders]
    done = subprocess.run(["node", HERE / "placeholders.mjs", modules, folder / "cosines.json"], input="\n".join(jobs) + "\n",
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def largest(text):
    """The largest variation in a BlurHash, of 83."""
    return "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".index(text[1])


def test_blurhash_is_the_published_c(placeholders):
    encoder = pytest.importorskip("blurhash")
    for picture, across, down, text, _ in placeholders:
        rgb = Image.fromarray(laid(picture))
        assert text == encoder.encode(io.BytesIO(png(rgb)), across, down), (picture.size, across, down)


def test_blurhash_is_the_published_javascript(placeholders, published):
    """The JavaScript ignores the sign of a variation: where a negative one is the largest, it finds a smaller one."""
    assert len(placeholders) == len(published)
    same = 0
    for (picture, across, down, text, _), answer in zip(placeholders, published):
        same += text == answer["blurhash"]
        if text != answer["blurhash"]:
            assert largest(text) > largest(answer["blurhash"]), (picture.size, across, down)
            assert text[0] == answer["blurhash"][0] and text[2:6] == answer["blurhash"][2:6]
    assert same > len(placeholders) / 2


def test_thumbhash_is_the_published(placeholders, published):
    """Always with the nearest cosines. With an engine's own, only where no variation is zero but for rounding: in photographs."""
    for (picture, _, _, _, text), answer in zip(placeholders, published):
        assert text == answer["exact"], picture.size
    photos = len(list(photographs()))
    rows = len(COMPONENTS) * 3 + photos - 3
    assert [text for *_, text in placeholders[:rows]] == [answer["thumbhash"] for answer in published[:rows]]


def test_alpha_is_in_the_text(placeholders):
    """An opaque alpha channel is ignored; any other is in the text."""
    for picture, _, _, _, text in placeholders:
        opaque = np.asarray(picture)[..., 3].min() == 255
        assert base64.b64decode(text)[2] >> 7 == (not opaque)
