# SPDX-License-Identifier: Apache-2.0
"""histeq and grayscale against an independent reference in numpy, written from the specification."""
import numpy as np
import pytest

from conftest import from_pnm, noise, pnm, smooth


def luma(rgb):
    r, g, b = (rgb[..., i].astype(np.int64) for i in range(3))
    return (77 * r + 150 * g + 29 * b + 128) >> 8


def table(values, maximum, bins, scale):
    """The new level of every value 0..maximum, or None where the image is left unchanged."""
    count = np.bincount((values.ravel().astype(np.int64) * bins) // (maximum + 1), minlength=bins)
    c = np.cumsum(count)
    n = int(c[-1])
    if scale == "maxabs":
        q = (2 * maximum * c + n) // (2 * n)
    else:
        c0 = int(c[np.nonzero(count)[0][0]])
        if c0 == n:
            return None
        q = (2 * maximum * np.maximum(c - c0, 0) + (n - c0)) // (2 * (n - c0))
    return q[(np.arange(maximum + 1, dtype=np.int64) * bins) // (maximum + 1)]


def histeq(image, bins=256, scale="minmax", channel="value"):
    maximum = 255 if image.dtype == np.uint8 else 65535
    if image.ndim == 2 or channel == "each":
        planes = [image] if image.ndim == 2 else [image[..., i] for i in range(3)]
        out = []
        for plane in planes:
            q = table(plane, maximum, bins, scale)
            out.append(plane if q is None else q[plane])
        return (out[0] if image.ndim == 2 else np.stack(out, -1)).astype(image.dtype)
    v = (luma(image) if channel == "luma" else image.max(-1)).astype(np.int64)
    q = table(v, maximum, bins, scale)
    if q is None:
        return image
    new = q[v]
    divisor = np.maximum(v, 1)[..., None]
    scaled = (2 * image.astype(np.int64) * new[..., None] + divisor) // (2 * divisor)
    scaled = np.where(v[..., None] == 0, new[..., None], np.minimum(scaled, maximum))
    return scaled.astype(image.dtype)


SIZES = [(1, 1), (1, 17), (17, 1), (13, 42), (123, 66), (4097, 3)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("channels", [1, 3])
def test_equals_the_reference(daemon, size, depth, channels):
    for picture in (noise(*size, channels, depth), np.full_like(noise(*size, channels, depth), 100),
                    noise(*size, channels, depth) // 3):
        for params in ({}, {"bins": 2}, {"bins": 7, "scale": "maxabs"}, {"bins": 65536},
                       {"channel": "luma"}, {"channel": "each", "bins": 100}):
            query = "&".join(f"{k}={v}" for k, v in params.items())
            answer = daemon.post(f"/histeq?{query}", pnm(picture))
            assert answer.status == 200, answer.body
            assert np.array_equal(from_pnm(answer.body), histeq(picture, **params)), (size, params)


def test_photograph_like(daemon):
    picture = smooth(641, 479)
    answer = daemon.post("/histeq", pnm(picture))
    assert np.array_equal(from_pnm(answer.body), histeq(picture))


def test_gray_equals_opencv(daemon):
    cv2 = pytest.importorskip("cv2", reason="no OpenCV here")
    for seed in range(3):
        picture = noise(200, 150, seed=seed) // 2 + 40
        answer = daemon.post("/histeq", pnm(picture))
        ours, theirs = from_pnm(answer.body).astype(int), cv2.equalizeHist(picture).astype(int)
        # OpenCV rounds floats, half to even: at most one level of difference, on exact halves alone.
        assert np.abs(ours - theirs).max() <= 1 and (ours != theirs).mean() < 0.02


@pytest.mark.parametrize("depth", [8, 16])
def test_grayscale(daemon, depth):
    picture = noise(57, 33, 3, depth)
    answer = daemon.post("/grayscale", pnm(picture))
    assert np.array_equal(from_pnm(answer.body), luma(picture))


def test_pipeline_is_one_after_the_other(daemon):
    picture = noise(97, 31, 3)
    answer = daemon.post('/pipeline?operations=[{"operation":"grayscale"},{"operation":"histeq",'
                         '"params":{"bins":16,"scale":"maxabs"}}]', pnm(picture))
    assert answer.status == 200, answer.body
    expected = histeq(luma(picture).astype(np.uint8), bins=16, scale="maxabs")
    assert np.array_equal(from_pnm(answer.body), expected)
    assert [o["name"] for o in answer.timing["ms"]["operators"]] == ["grayscale", "histeq"]
