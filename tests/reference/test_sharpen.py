# SPDX-License-Identifier: Apache-2.0
"""sharpen against its definition over OpenCV's GaussianBlur. Alone:
BURIN=build/burin /usr/bin/python3 -m pytest tests/reference/test_sharpen.py"""
import numpy as np
import pytest

from service import photograph, service  # noqa: F401
from test_blur import SHAPES, gaussian_blur, needs_cv2, picture, run, take_back, weigh

SETTINGS = [("1", 100, 0), ("0.3", 1000, 0), ("2.5", 37, 3), ("6", 250, 255), ("11", 999, 20)]


def sharpen(image, sigma, amount, threshold):
    maximum = np.iinfo(image.dtype).max
    has_alpha = image.ndim == 3 and image.shape[2] == 4
    blurred = take_back(gaussian_blur(weigh(image), sigma)) if has_alpha else gaussian_blur(image, sigma)
    value = image.astype(np.int64)
    difference = value - blurred
    sharper = np.clip(value + (2 * amount * difference + 100) // 200, 0, maximum)
    result = np.where(np.abs(difference) > threshold * (maximum // 255), sharper, value)
    if has_alpha:
        result[..., 3] = value[..., 3]
    return result


@needs_cv2
@pytest.mark.parametrize("sigma,amount,threshold", SETTINGS)
@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_sharpen(channels, depth, sigma, amount, threshold):
    for shape in [*SHAPES, (240, 321)]:
        image = picture(shape, depth, channels)
        got = run(image, f"sharpen:sigma={sigma},amount={amount},threshold={threshold}")
        np.testing.assert_array_equal(got, sharpen(image, sigma, amount, threshold))


@needs_cv2
def test_photograph():
    image = photograph("coffee")
    np.testing.assert_array_equal(run(image, "sharpen:sigma=1.5,amount=120,threshold=4"), sharpen(image, "1.5", 120, 4))
