# SPDX-License-Identifier: Apache-2.0
"""clahe against OpenCV's createCLAHE: gray of both depths, and colour, whose plane OpenCV equalizes and numpy puts back. Alone:
BURIN=build/burin /usr/bin/python3 -m pytest tests/reference/test_clahe.py"""
import pathlib

import numpy as np
import pytest

from service import burin, service  # noqa: F401

cv2 = pytest.importorskip("cv2")

ROOT = pathlib.Path(__file__).parents[2]
# 64x64 is divisible by most of TILES, 63x64 not in both directions: OpenCV then pads a divisible side by a whole tile each.
SHAPES = [(1, 1), (1, 17), (19, 1), (2, 2), (42, 13), (66, 123), (3, 4097), (513, 3), (64, 64), (63, 64), (240, 320)]
TILES = [1, 2, 3, 7, 8, 16, 33, 64]
CLIPS = ["0", "0.001", "0.5", "2", "3.7", "40", "100"]


def run(image, step):
    """Channels are in OpenCV's order on both sides; PNG has the reverse order."""
    ok, data = cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, 0])
    assert ok
    made = burin(data.tobytes(), step, type="png", compression=0)
    return cv2.imdecode(np.frombuffer(made, np.uint8), cv2.IMREAD_UNCHANGED)


def opencv(gray, tiles, clip):
    return cv2.createCLAHE(float(clip), (tiles, tiles)).apply(np.ascontiguousarray(gray))


def noise(shape, depth, seed=1):
    return np.random.default_rng(seed).integers(0, 2**depth, shape).astype(np.uint8 if depth == 8 else np.uint16)


def smooth(shape, depth):
    """Tones of a few adjacent levels: counts far over any limit."""
    y, x = np.mgrid[:shape[0], :shape[1]]
    wave = 0.4 + 0.2 * np.sin(x / 31) * np.cos(y / 23)
    return (wave * (2**depth - 1)).astype(np.uint8 if depth == 8 else np.uint16)


def check(gray, tiles, clip):
    np.testing.assert_array_equal(run(gray, f"clahe:tiles={tiles},clip={clip}"), opencv(gray, tiles, clip),
                                  f"{gray.shape} of {gray.dtype}, {tiles} tiles, clip {clip}")


# ---- gray


@pytest.mark.parametrize("tiles", TILES)
@pytest.mark.parametrize("depth", [8, 16])
def test_sizes(depth, tiles):
    """Every size with every number of tiles; each clip occurs with some of them."""
    if depth == 16 and tiles > 8:
        shapes = SHAPES[tiles % 4:][:1]  # OpenCV's tables of 16 bit are 512 MB at 64 tiles
    else:
        shapes = SHAPES
    for i, shape in enumerate(shapes):
        for picture in (noise, smooth) if tiles < 64 or depth == 8 else (noise,):
            check(picture(shape, depth), tiles, CLIPS[(i + tiles) % len(CLIPS)])


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("depth", [8, 16])
def test_clips(depth, clip):
    for picture in (noise, smooth):
        check(picture((173, 251), depth), 8, clip)
        check(picture((176, 248), depth), 4, clip)


@pytest.mark.parametrize("depth", [8, 16])
def test_constant(depth):
    for level in (0, 1, 100, 254, 2**depth - 1):
        check(np.full((130, 77), level, np.uint8 if depth == 8 else np.uint16), 8, "2")


@pytest.mark.parametrize("seed", range(40))
def test_random(seed):
    """Random sizes, tiles and clips."""
    rng = np.random.default_rng(seed)
    height, width = (int(side) for side in rng.integers(1, 400, 2))
    tiles, clip = int(rng.integers(1, 65)), f"{rng.integers(0, 100001) / 1000:.3f}"
    check(noise((height, width), 8, seed), tiles, clip)
    check(smooth((height, width), 8), tiles, f"{rng.integers(0, 5001) / 1000:.3f}")


def test_photograph():
    for path in sorted((ROOT / "tests/golden/photos").glob("*.jpg")):
        gray = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        check(gray, 8, "2")
        check(gray.astype(np.uint16) * 257, 8, "3.3")


# ---- colour


def plane(image, mode):
    blue, green, red = (image[..., c].astype(np.uint32) for c in range(3))
    if mode == "luma":
        return ((77 * red + 150 * green + 29 * blue + 128) >> 8).astype(image.dtype)
    return np.maximum(np.maximum(red, green), blue).astype(image.dtype)


def expected(image, mode, tiles, clip):
    out = image.copy()
    colours = 1 if image.shape[2] == 2 else 3
    if mode == "each":
        for c in range(colours):
            out[..., c] = opencv(image[..., c], tiles, clip)
        return out
    gray = plane(image, mode)
    level, value = (of.astype(np.uint64)[..., None] for of in (opencv(gray, tiles, clip), gray))
    scaled = (2 * image[..., :3].astype(np.uint64) * level + value) // np.maximum(2 * value, 1)
    out[..., :3] = np.where(value == 0, level, np.minimum(scaled, np.iinfo(image.dtype).max))
    return out


@pytest.mark.parametrize("mode", ["value", "luma", "each"])
@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("depth", [8, 16])
def test_colour(depth, channels, mode):
    for shape in [(1, 1), (42, 13), (66, 123), (3, 4097), (200, 264)]:
        image = noise((*shape, channels), depth)
        image[:, ::5, :3] //= 64  # dark ones: V = 0 among them
        image[:, 1::5, :3] = 0
        image[..., 3:] |= 1  # test_hidden.py has alpha 0
        for tiles, clip in ((8, "2"), (3, "40")):
            np.testing.assert_array_equal(run(image, f"clahe:tiles={tiles},clip={clip},channel={mode}"),
                                          expected(image, mode, tiles, clip))


def test_default_is_the_value():
    image = noise((50, 70, 3), 8)
    np.testing.assert_array_equal(run(image, "clahe"), expected(image, "value", 8, "2"))
