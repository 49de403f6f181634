# SPDX-License-Identifier: Apache-2.0
"""Images with alpha: numpy leaves pixels with alpha 0 out of histograms and values, and lays images over the background before
edges and kernels; OpenCV equalizes tiles. Alone: BURIN=build/burin /usr/bin/python3 -m pytest tests/reference/test_hidden.py"""
import numpy as np
import pytest

from service import burin, service, values  # noqa: F401
from test_edge import by_numpy, correlate, edge, median
from test_histeq import histeq

cv2 = pytest.importorskip("cv2")

FILLINGS = ["zeros", "noise", "bright"]


def picture(depth, filling, shape=(45, 67)):
    """RGBA; a corner and a quarter of the other pixels are hidden, half of the rest is opaque."""
    rng, maximum = np.random.default_rng(7), 2**depth - 1
    image = rng.integers(0, maximum + 1, (*shape, 4))
    image[:, ::3, :3] //= 5
    kind = rng.integers(0, 8, shape)
    image[..., 3] = np.where(kind < 2, 0, np.where(kind < 5, maximum, image[..., 3]))
    image[:20, :30, 3] = 0
    hidden = image[..., 3] == 0
    under = {"zeros": 0, "noise": np.random.default_rng(8).integers(0, maximum + 1, (hidden.sum(), 3)), "bright": maximum - 1}
    image[hidden, :3] = under[filling]
    return image.astype(np.uint8 if depth == 8 else np.uint16)


def png(image):
    return cv2.imencode(".png", image[..., [2, 1, 0, 3]])[1].tobytes()


def run(image, step):
    made = cv2.imdecode(np.frombuffer(burin(png(image), step, type="png"), np.uint8), cv2.IMREAD_UNCHANGED)
    return made if made.ndim == 2 else made[..., [2, 1, 0, 3]]


def laid(image, background=(255, 255, 255)):
    maximum = np.iinfo(image.dtype).max
    colours, alpha = image[..., :3].astype(np.int64), image[..., 3:].astype(np.int64)
    under = np.array(background) * (maximum // 255)
    return ((2 * (colours * alpha + under * (maximum - alpha)) + maximum) // (2 * maximum)).astype(image.dtype)


def check_visible(got, image, expected):
    seen = image[..., 3] > 0
    np.testing.assert_array_equal(got[..., 3], image[..., 3])
    np.testing.assert_array_equal(got[seen][:, :3], expected)


@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("channel", ["value", "luma", "each"])
@pytest.mark.parametrize("scale", ["minmax", "maxabs"])
def test_histeq(depth, filling, channel, scale):
    image = picture(depth, filling)
    seen = image[image[..., 3] > 0][None, :, :3]
    got = run(image, f"histeq:bins=300,scale={scale},channel={channel}")
    check_visible(got, image, histeq(seen, 300, scale, channel)[0])


@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("background", [(255, 255, 255), (16, 128, 240)])
def test_edge(depth, filling, background):
    image = picture(depth, filling)
    for taps in (3, 5):
        step = "edge:kernel=sobel%d,background=%02x%02x%02x" % (taps, *background)
        got = run(image, step)  # gray with alpha, which OpenCV shows as colour
        np.testing.assert_array_equal(got[..., 0], edge(laid(image, background), by_numpy(taps)))
        np.testing.assert_array_equal(got[..., 3], image[..., 3])


@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("depth", [8, 16])
def test_convolve(depth, filling):
    image, kernel = picture(depth, filling), np.reshape([1, 2, 1, 2, 4, 2, 1, 2, 1], (3, 3))
    got = run(image, "convolve:taps=1 2 1 2 4 2 1 2 1")
    check_visible(got, image, ((2 * correlate(laid(image), kernel) + 16) // 32)[image[..., 3] > 0])


@pytest.mark.parametrize("filling", FILLINGS)
def test_median(filling):
    image = picture(8, filling)
    check_visible(run(image, "median:background=1080f0"), image, median(laid(image, (16, 128, 240)), 3)[image[..., 3] > 0])


@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("depth", [8, 16])
def test_values(depth, filling):
    image = picture(depth, filling)
    seen = image[image[..., 3] > 0][:, :3].astype(np.int64)
    got = values(png(image), "minimum", "maximum", "mean", "histogram:bins=50", "dominant")
    assert got[:2] == [list(seen.min(0)), list(seen.max(0))]
    np.testing.assert_array_equal(got[2], seen.sum(0) / len(seen))
    np.testing.assert_array_equal(got[3], [np.bincount(of * 50 >> depth, minlength=50) for of in seen.T])
    bins = np.bincount((seen >> depth - 4) @ [256, 16, 1], minlength=4096).argmax()
    assert got[4] == [16 * (int(bins) >> shift & 15) + 8 for shift in (8, 4, 0)]


@pytest.mark.parametrize("depth", [8, 16])
def test_nothing_is_seen(depth):
    image = picture(depth, "noise")
    image[..., 3] = 0
    scale = 1 if depth == 8 else 257
    got = values(png(image), "minimum", "maximum:background=102030", "mean", "dominant:background=102030")
    assert got == [[255 * scale] * 3, [16 * scale, 32 * scale, 48 * scale], [255 * scale] * 3, [24, 40, 56]]


@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("depth", [8, 16])
def test_one_tile(depth, filling):
    """Without a limit the level is the part of visible pixels up to it; halves of floats go to the even number."""
    image, maximum = picture(depth, filling), 2**depth - 1
    seen = image[..., 3] > 0
    expected = []
    for c in range(3):
        upto = np.cumsum(np.bincount(image[..., c][seen], minlength=maximum + 1)).astype(np.float32)
        expected.append(np.rint(upto * (np.float32(maximum) / np.float32(seen.sum())))[image[..., c][seen]])
    check_visible(run(image, "clahe:tiles=1,clip=0,channel=each"), image, np.stack(expected, -1))


@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("depth", [8, 16])
def test_hidden_tiles(depth, filling):
    """Tiles that are hidden as a whole count as the background's."""
    image = picture(depth, filling, (64, 64))
    for y, x in np.ndindex(4, 4):
        image[16 * y:16 * y + 16, 16 * x:16 * x + 16, 3] = 0 if (x + y) % 2 else 2**depth - 1
    image[image[..., 3] == 0, :3] = {"zeros": 0, "noise": 77, "bright": 254}[filling]
    painted = image.copy()
    painted[image[..., 3] == 0, :3] = np.array([32, 64, 96]) * (1 if depth == 8 else 257)
    tiles = cv2.createCLAHE(2.0, (4, 4))
    expected = np.stack([tiles.apply(np.ascontiguousarray(painted[..., c])) for c in range(3)], -1)
    got = run(image, "clahe:tiles=4,channel=each,background=204060")
    check_visible(got, image, expected[image[..., 3] > 0])
