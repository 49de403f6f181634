# SPDX-License-Identifier: Apache-2.0
"""extract, crop, pad, pixelate, smartcrop, trim, rotate, flip, flop, zoom and gamma against numpy and 40-digit arithmetic. Alone:
BURIN=build/burin /usr/bin/python3 -m pytest tests/reference/test_moves.py"""
import mpmath
import numpy as np
import pytest

from service import photograph, service  # noqa: F401
from test_edge import SHAPES, picture, run

cv2 = pytest.importorskip("cv2")

KINDS = [(depth, channels) for depth in (8, 16) for channels in (1, 3)]


@pytest.mark.parametrize("depth,channels", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_turns(shape, depth, channels):
    image = picture(shape, depth, channels)
    for angle in (0, 90, 180, 270):
        assert np.array_equal(run(image, f"rotate:angle={angle}"), np.rot90(image, -angle // 90)), angle
    for times in (1, 2, 5):
        squares = image.repeat(times, axis=0).repeat(times, axis=1)
        assert np.array_equal(run(image, f"zoom:times={times}"), squares), times
    assert np.array_equal(run(image, "zoom:times=4"),
                          run(image, f"resize:width={4 * shape[1]},height={4 * shape[0]},kernel=nearest"))
    assert np.array_equal(run(image, "flip"), np.flipud(image))
    assert np.array_equal(run(image, "flop"), np.fliplr(image))


@pytest.mark.parametrize("angle", [0.5, -30, 45, 77.7, 123.456])
@pytest.mark.parametrize("depth,channels", KINDS)
def test_any_angle(angle, depth, channels):
    """OpenCV's warp with a border of the background: of a smooth picture within two levels of 255."""
    image = picture((66, 123), depth, channels, "waves")
    scale = (2**depth - 1) // 255
    got = run(image, f"rotate:angle={angle},background=808080")
    height, width = got.shape[:2]
    turn = cv2.getRotationMatrix2D((61, 32.5), -angle, 1)
    turn[:, 2] += (width - 1) / 2 - 61, (height - 1) / 2 - 32.5
    wanted = cv2.warpAffine(image.astype(np.float32), turn, (width, height), borderValue=(128 * scale,) * 3)
    cosine, sine = abs(np.cos(np.radians(angle))), abs(np.sin(np.radians(angle)))
    assert (width, height) == (np.ceil(123 * cosine + 66 * sine), np.ceil(123 * sine + 66 * cosine))
    inside = np.abs(cv2.warpAffine(np.ones((66, 123), np.float32), turn, (width, height)) - 0.5) > 0.499  # no edge
    assert np.abs(got - wanted)[inside].max() <= 2 * scale
    assert np.abs(got - wanted).mean() <= 0.5 * scale


@pytest.mark.parametrize("depth,channels", KINDS)
def test_parts(depth, channels):
    image = picture((66, 123), depth, channels)
    rng = np.random.default_rng(depth + channels)
    for _ in range(12):
        left, top = rng.integers(0, 123), rng.integers(0, 66)
        width, height = rng.integers(1, 124 - left), rng.integers(1, 67 - top)
        part = image[top:top + height, left:left + width]
        assert np.array_equal(run(image, f"extract:left={left},top={top},width={width},height={height}"), part)
        across, down = 123 - width, 66 - height
        for gravity, (x, y) in {"centre": (across // 2, down // 2), "southeast": (across, down), "north": (across // 2, 0),
                                "northeast": (across, 0), "east": (across, down // 2), "south": (across // 2, down),
                                "southwest": (0, down), "west": (0, down // 2), "northwest": (0, 0)}.items():
            part = image[y:y + height, x:x + width]
            assert np.array_equal(run(image, f"crop:width={width},height={height},gravity={gravity}"), part)


@pytest.mark.parametrize("depth,channels", KINDS)
def test_borders(depth, channels):
    image = picture((13, 42), depth, channels)
    for top, right, bottom, left in ((0, 0, 0, 0), (5, 0, 1, 60), (40, 130, 0, 0), (13, 2, 3, 42)):
        for around, mode in {"background": {"mode": "constant", "constant_values": (2**depth - 1) // 255 * 64}, "edge": {"mode": "edge"},
                             "mirror": {"mode": "symmetric"}}.items():
            step = f"pad:top={top},right={right},bottom={bottom},left={left},around={around},background=404040"
            assert np.array_equal(run(image, step), np.pad(image, [(top, bottom), (left, right), (0, 0)][:image.ndim], **mode)), step


@pytest.mark.parametrize("depth,channels", KINDS)
@pytest.mark.parametrize("size", [2, 5, 16, 1024])
def test_blocks(size, depth, channels):
    image = picture((66, 123), depth, channels).astype(np.int64)
    corners = range(0, 66, size), range(0, 123, size)
    sums = np.add.reduceat(np.add.reduceat(image, corners[0], 0), corners[1], 1)
    counts = np.outer(*(np.minimum(size, side - np.array(starts)) for side, starts in zip((66, 123), corners)))
    counts = counts.reshape(counts.shape + (1,) * (image.ndim - 2))
    means = (2 * sums + counts) // (2 * counts)
    wanted = means.repeat(size, 0).repeat(size, 1)[:66, :123]
    assert np.array_equal(run(image.astype(np.uint8 if depth == 8 else np.uint16), f"pixelate:size={size}"), wanted)


@pytest.mark.parametrize("depth,channels", KINDS)
def test_trim(depth, channels):
    """Frames of one colour and a little noise around noise of many colours."""
    rng = np.random.default_rng(depth + channels)
    unit = 1 if depth == 8 else 257
    for tolerance, colour in ((10, None), (0, None), (40, 120), (255, None)):
        image = picture((66, 123), depth, channels)
        left, top = rng.integers(0, 60), rng.integers(0, 33)
        frame = np.ones(image.shape[:2], bool)
        frame[top:rng.integers(34, 67), left:rng.integers(61, 124)] = False
        image[frame] = (100 + rng.integers(0, 8, image[frame].shape)) * unit
        border = image[0, 0].astype(int) if colour is None else colour * unit
        away = abs(image.astype(int) - border) > tolerance * unit
        rows, columns = np.nonzero(away if image.ndim == 2 else away.any(axis=2))
        inner = image[rows.min():rows.max() + 1, columns.min():columns.max() + 1] if len(rows) else image
        given = "" if colour is None else f",color={colour * 0x10101:06x}"
        assert np.array_equal(run(image, f"trim:tolerance={tolerance}{given}"), inner), (tolerance, colour)


def levels(maximum, gamma, values):
    """floor(M (v / M)^(1 / gamma) + 1/2), in decimals long enough to be exact."""
    with mpmath.workdps(40):
        power = 1 / mpmath.mpf(gamma)
        return [int(mpmath.floor(maximum * mpmath.power(mpmath.mpf(int(v)) / maximum, power) + mpmath.mpf("0.5"))) for v in values]


@pytest.mark.parametrize("gamma", ["1", "1.001", "1.5", "1.8", "2.2", "2.4", "2.999", "3"])
def test_gamma(gamma):
    every = np.arange(256, dtype=np.uint8).reshape(16, 16)
    assert run(every, f"gamma:gamma={gamma}").ravel().tolist() == levels(255, gamma, every.ravel())
    few = np.unique(np.concatenate([np.arange(0, 300), np.arange(0, 65536, 97), np.arange(65500, 65536)]))
    some = (np.arange(65536).reshape(256, 256) if gamma == "2.2" else few[None, :]).astype(np.uint16)
    assert run(some, f"gamma:gamma={gamma}").ravel().tolist() == levels(65535, gamma, some.ravel())


def energy(image):
    """Carve's gradient of 8-bit luma, the border replicated."""
    wide = image.astype(np.int64)
    luma = wide if image.ndim == 2 else (wide @ [77, 150, 29] + 128) >> 8
    luma = luma >> (8 if image.dtype == np.uint16 else 0)
    wide = np.pad(luma, ((0, 1), (0, 1)), "edge")
    right, below, across = (np.abs(luma - other) for other in (wide[:-1, 1:], wide[1:, :-1], wide[1:, 1:]))
    return right + below + (46341 * across >> 16)


def smart_corner(image, width, height):
    rows, columns = image.shape[:2]
    weighed = energy(image)
    if width < columns:
        weighed = weighed * np.minimum(np.arange(columns) + 1, columns - np.arange(columns))
    if height < rows:
        weighed = weighed * np.minimum(np.arange(rows) + 1, rows - np.arange(rows))[:, None]
    sums = np.pad(weighed.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    parts = sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]
    tops, lefts = np.indices(parts.shape)
    apart = np.abs(2 * tops - (rows - height)) + np.abs(2 * lefts - (columns - width))
    best = np.lexsort((lefts.ravel(), tops.ravel(), apart.ravel(), -parts.ravel()))[0]
    return tops.ravel()[best], lefts.ravel()[best]


@pytest.mark.parametrize("depth,channels", KINDS)
@pytest.mark.parametrize("kind", ["noise", "waves"])
def test_smartcrop(depth, channels, kind):
    for rows, columns, width, height in ((66, 123, 50, 31), (66, 123, 123, 9), (66, 123, 7, 66), (66, 123, 1, 1), (1, 29, 5, 1), (42, 13, 12, 41),
                                         (42, 13, 13, 42)):
        image = picture((rows, columns), depth, channels, kind)
        top, left = smart_corner(image, width, height)
        part = image[top:top + height, left:left + width]
        assert np.array_equal(run(image, f"smartcrop:width={width},height={height}"), part), (rows, columns, width, height)


@pytest.mark.parametrize("name", ["coffee", "rocket", "astronaut"])
def test_smartcrop_of_photographs(name):
    image = photograph(name)
    for width, height in ((200, 150), (image.shape[1], 100), (100, image.shape[0])):
        top, left = smart_corner(image, width, height)
        assert np.array_equal(run(image, f"smartcrop:width={width},height={height}"), image[top:top + height, left:left + width])
