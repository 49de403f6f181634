# SPDX-License-Identifier: Apache-2.0
"""resize as a whole against Pillow's Image.resize, byte for byte, and against numpy where Pillow has no equal: alpha, 16 bits, light, smart.
covers: pipeline/ops/resize.c, pipeline/ops/resize/scale.c, pipeline/ops/resize/light.c, pipeline/ops/resize/smart.c
Alone: make reference PYTEST=tests/reference/test_resize.py"""
import ctypes
import functools
import io
import math
import pathlib
import random
import sys

import mpmath
import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import carve  # noqa: E402
import resample  # noqa: E402
from service import burin, library, photograph, service  # noqa: E402, F401

cv2 = pytest.importorskip("cv2")

MODES = ("L", "LA", "RGB", "RGBA")
# (width, height) of source and target.
SIZES = [((1, 1), (1, 1)), ((1, 1), (7, 5)), ((1, 29), (1, 4)), ((31, 1), (9, 1)), ((13, 42), (42, 13)), ((123, 66), (40, 66)),
         ((123, 66), (123, 20)), ((4097, 3), (320, 7)), ((333, 777), (332, 776)), ((1920, 1080), (320, 180)),
         ((640, 480), (1000, 700)), ((50, 40), (51, 41)), ((257, 129), (1, 1)), ((640, 427), (224, 224))]


def resized(image, parameters):
    """A Pillow image through resize. PNM has no alpha."""
    body, kind = io.BytesIO(), "png" if image.mode in ("LA", "RGBA") or "background" in parameters else "pnm"
    image.save(body, "PNG" if kind == "png" else "PPM", **({"compress_level": 0} if kind == "png" else {}))
    options = {"compression": 0} if kind == "png" else {}
    made = Image.open(io.BytesIO(burin(body.getvalue(), f"resize:{parameters}", type=kind, **options)))
    made.load()
    return made


def resized_16(image, parameters):
    """RGB or RGBA of 16 bits, or gray."""
    turned = image[..., ::-1] if image.shape[2] == 3 else image[..., [2, 1, 0, 3]] if image.shape[2] == 4 else image
    body = cv2.imencode(".png", turned, [cv2.IMWRITE_PNG_COMPRESSION, 0])[1].tobytes()
    made = cv2.imdecode(np.frombuffer(burin(body, f"resize:{parameters}", type="png", compression=0), np.uint8), cv2.IMREAD_UNCHANGED)
    made = made.reshape(*made.shape[:2], -1)
    return made[..., ::-1] if made.shape[2] == 3 else made[..., [2, 1, 0, 3]] if made.shape[2] == 4 else made


@functools.lru_cache(None)
def photo(name):
    return Image.fromarray(photograph(name))


def picture(size, mode, kind):
    """A picture whose alpha ranges from clear to opaque, with much of both."""
    rng = np.random.default_rng(size[0] * 7919 + size[1])
    if kind == "photo":
        colours = photo("astronaut").resize(size)
        alpha = photo("coins").resize(size).point(lambda v: np.clip(3 * v - 250, 0, 255))
    else:
        colours = Image.fromarray(rng.integers(0, 256, (size[1], size[0], 3), np.uint8))
        alpha = Image.fromarray(np.clip(rng.integers(-80, 336, (size[1], size[0])), 0, 255).astype(np.uint8))
    if mode in ("L", "LA"):
        colours = colours.convert("L")
    if mode in ("LA", "RGBA"):
        colours.putalpha(alpha)
    return colours


def assert_same(made, expected, what):
    assert (made.mode, made.size) == (expected.mode, expected.size), what
    differ = np.asarray(made) != np.asarray(expected)
    assert not differ.any(), (what, int(differ.sum()))


def kernels_for(source, turn):
    """The kernels; every other one, by turns, for a large picture."""
    return list(resample.PILLOW)[turn % 2::2] if source[0] * source[1] > 200000 else list(resample.PILLOW)


# ---- 8 bit: Pillow, and with alpha numpy

@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_pillow(sizes, mode):
    source, (width, height) = sizes
    for i, kind in enumerate(("photo", "noise")):
        image = picture(source, mode, kind)
        for kernel in kernels_for(source, MODES.index(mode) + i):
            made = resized(image, f"width={width},height={height},fit=fill,kernel={kernel}")
            assert_same(made, resample.scaled(image, (width, height), kernel), (kind, kernel))


def test_pillow_random_sizes():
    random.seed(7)
    for _ in range(150):
        (w, h), (width, height) = ([random.randint(1, random.choice([3, 20, 90, 300])) for _ in range(2)] for _ in range(2))
        image, kernel = picture((w, h), random.choice(MODES), random.choice(["photo", "noise"])), random.choice(list(resample.PILLOW))
        made = resized(image, f"width={width},height={height},fit=fill,kernel={kernel}")
        assert_same(made, resample.scaled(image, (width, height), kernel), (w, h, width, height, image.mode, kernel))


def half_up(a, b):
    return max(1, (2 * a + b) // (2 * b))


def outside(w, h, width, height):
    return (half_up(w * height, h), height) if width * h <= height * w else (width, half_up(h * width, w))


def inside(w, h, width, height):
    return (width, half_up(h * width, w)) if width * h <= height * w else (half_up(w * height, h), height)


@pytest.mark.parametrize("mode", MODES)
def test_fits_are_pillow_cut_and_pasted(mode):
    random.seed(mode)
    compass = {"north": (1, 0), "northeast": (2, 0), "east": (2, 1), "southeast": (2, 2), "south": (1, 2), "southwest": (0, 2), "west": (0, 1),
               "northwest": (0, 0), "centre": (1, 1)}
    for _ in range(25):
        while True:
            (w, h), (width, height) = ([random.randint(1, random.choice([20, 90, 300])) for _ in range(2)] for _ in range(2))
            if math.prod(outside(w, h, width, height)) < 300000:  # numpy takes a second for a million
                break
        position, (right, down) = random.choice(list(compass.items()))
        image = picture((w, h), mode, "noise")
        asked = f"width={width},height={height},position={position}"
        scaled = resample.scaled(image, outside(w, h, width, height), "lanczos3")
        left, top = (scaled.width - width) * right // 2, (scaled.height - height) * down // 2
        assert_same(resized(image, asked), scaled.crop((left, top, left + width, top + height)), (w, h, asked))
        assert_same(resized(image, asked + ",fit=outside"), scaled, (w, h, asked, "outside"))
        scaled = resample.scaled(image, inside(w, h, width, height), "lanczos3")
        assert_same(resized(image, asked + ",fit=inside"), scaled, (w, h, asked, "inside"))
        canvas = Image.new("RGBA" if mode == "RGBA" or mode == "LA" else "RGB", (width, height), (10, 200, 30))
        scaled = scaled.convert(canvas.mode)
        canvas.paste(scaled, ((width - scaled.width) * right // 2, (height - scaled.height) * down // 2))
        assert_same(resized(image, asked + ",fit=contain,background=0ac81e"), canvas, (w, h, asked, "contain"))


def test_around_a_picture():
    """numpy.pad's edge and symmetric, which are libvips' copy and mirror; far over the picture's own size too."""
    random.seed(5)
    for mode in MODES * 4:
        (w, h), (width, height) = ([random.randint(1, random.choice([9, 70])) for _ in range(2)] for _ in range(2))
        image = picture((w, h), mode, "noise")
        scaled = resized(image, f"width={width},height={height},fit=inside")
        before = (height - scaled.height) // 2, (width - scaled.width) // 2
        sides = [(b, whole - part - b) for b, whole, part in zip(before, (height, width), scaled.size[::-1])]
        for around, way in (("edge", "edge"), ("mirror", "symmetric")):
            wanted = np.pad(np.asarray(scaled), sides + [(0, 0)] * (len(image.getbands()) > 1), way)
            made = resized(image, f"width={width},height={height},fit=contain,around={around},background=0ac81e")
            assert np.array_equal(np.asarray(made), wanted), (mode, w, h, width, height, around)


def test_one_side_follows_the_other():
    image = picture((317, 211), "RGB", "photo")
    for width in (1, 2, 100, 316, 317, 318, 400):
        assert resized(image, f"width={width}").size == (width, half_up(211 * width, 317))
        assert resized(image, f"height={width},fit=fill").size == (half_up(317 * width, 211), width)


def test_a_clear_canvas():
    made = resized(picture((40, 20), "RGB", "noise"), "width=40,height=40,fit=contain,background=00000000")
    assert made.mode == "RGBA" and not np.asarray(made)[:10].any() and not np.asarray(made)[30:].any()
    assert (np.asarray(made)[10:30, :, 3] == 255).all()


# ---- what must not change

def test_constant_pictures_stay():
    """At 600 ratios a side, up and down: sums of weights are up to 28 of 2^22 off, and the overshoot is clamped."""
    random.seed(11)
    for _ in range(300):
        (w, h), (width, height) = ([random.randint(1, random.choice([8, 60, 400])) for _ in range(2)] for _ in range(2))
        mode, level = random.choice(MODES), random.choice([0, 255, 254, 1, random.randint(2, 253)])
        colours = 1 if mode in ("L", "LA") else 3
        alpha, opaque = mode in ("LA", "RGBA"), random.random() < 0.5
        image = Image.new(mode, (w, h), (level,) * colours + (255,) * alpha if colours + alpha > 1 else level)
        if alpha and not opaque:
            image.putalpha(picture((w, h), "RGBA", "noise").getchannel("A"))
        kernel, linear = random.choice([*resample.PILLOW, "nearest"]), random.choice(["true", "false"])
        made = resized(image, f"width={width},height={height},fit=fill,kernel={kernel},linear={linear}")
        assert made.size == (width, height) and made.mode == mode
        made = np.asarray(made).reshape(height * width, -1)
        assert not alpha or not opaque or (made[:, -1] == 255).all()
        seen = made[made[:, -1] > 0] if alpha else made
        assert (seen[:, :colours] == level).all(), (w, h, width, height, mode, level, kernel, linear)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("linear", ["true", "false"])
def test_the_same_size_is_a_copy(mode, linear):
    """Colours under clear pixels too, which a multiplication by alpha would lose."""
    for size in ((1, 1), (37, 23), (300, 1)):
        image = picture(size, mode, "noise")
        for kernel in [*resample.PILLOW, "nearest"]:
            for fit in ("fill", "cover", "contain", "inside", "outside"):
                made = resized(image, f"width={size[0]},height={size[1]},fit={fit},kernel={kernel},linear={linear}")
                assert_same(made, image, (size, kernel, fit))


def test_enlarge_false_never_scales_up():
    random.seed(13)
    for _ in range(150):
        (w, h), (width, height) = ([random.randint(1, random.choice([8, 60, 300])) for _ in range(2)] for _ in range(2))
        image, fit = picture((w, h), "L", "noise"), random.choice(["fill", "cover", "inside", "outside"])
        asked = f"width={width},height={height},fit={fit},enlarge=false"
        made = resized(image, asked)
        assert made.width <= w and made.height <= h, (w, h, asked)
        if fit == "fill":
            assert_same(made, resample.scaled(image, (min(w, width), min(h, height)), "lanczos3"), (w, h, asked))
        elif width >= w and height >= h:
            assert_same(made, image, (w, h, asked))


# ---- numpy

def nearest(image, width, height):
    rows = (2 * np.arange(height) + 1) * image.shape[0] // (2 * height)
    columns = (2 * np.arange(width) + 1) * image.shape[1] // (2 * width)
    return image[rows][:, columns]


def scaled_16(image, width, height, kernel):
    return (resample.resized if image.shape[2] % 2 else resample.weighed)(image, width, height, kernel)


def deep(size, channels):
    rng = np.random.default_rng(size[0] + 999 * size[1] + channels)
    image = rng.integers(0, 65536, (size[1], size[0], channels)).astype(np.uint16)
    if channels == 4:  # much of it clear, opaque or nearly so
        image[..., 3] = np.clip(rng.integers(-20000, 85536, image.shape[:2]), 0, 65535)
    return image


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("sizes", [s for s in SIZES if max(s[0]) < 1000], ids=str)
def test_16_bit(sizes, channels):
    source, (width, height) = sizes
    image = deep(source, channels)
    for kernel in kernels_for(source, channels):
        made = resized_16(image, f"width={width},height={height},fit=fill,kernel={kernel}")
        expected = image if source == (width, height) else scaled_16(image, width, height, kernel)
        assert np.array_equal(made, expected), kernel
    assert np.array_equal(resized_16(image, f"width={width},height={height},fit=fill,kernel=nearest"), nearest(image, width, height))


@pytest.mark.parametrize("mode", MODES)
def test_nearest(mode):
    random.seed(mode)
    for _ in range(60):
        source, (width, height) = ([random.randint(1, random.choice([3, 20, 90])) for _ in range(2)] for _ in range(2))
        image = picture(source, mode, "noise")
        pixels = np.asarray(image).reshape(source[1], source[0], -1)
        made = np.asarray(resized(image, f"width={width},height={height},fit=fill,kernel=nearest")).reshape(height, width, -1)
        assert np.array_equal(made, nearest(pixels, width, height)), (source, width, height)


# ---- light: every level of the tables, and pictures through them

class Tables(ctypes.Structure):
    _fields_ = [("of_8", ctypes.c_uint16 * 256), ("of_16", ctypes.c_uint16 * 65536), ("to_8", ctypes.c_uint8 * 65536),
                ("to_16", ctypes.c_uint16 * 65536)]


@pytest.fixture(scope="module")
def tables(library):  # noqa: F811
    library.light_tables.restype = ctypes.POINTER(Tables)
    found = library.light_tables().contents
    return {name: np.array(getattr(found, name)) for name, _ in Tables._fields_}


def test_tables_of_light_are_exact(tables):
    """By 40 digits; and no level is so close to a rounding that another libm's error could change it."""
    mpmath.mp.dps = 40
    nearest_tie = mpmath.mpf(1)
    bound = mpmath.mpf

    def light(v):
        return v / bound("12.92") if v <= bound("0.04045") else ((v + bound("0.055")) / bound("1.055")) ** bound("2.4")

    def sample(v):
        return bound("12.92") * v if v <= bound("0.0031308") else bound("1.055") * v ** (1 / bound("2.4")) - bound("0.055")

    for name, curve, count, most in (("of_8", light, 255, 65535), ("of_16", light, 65535, 65535), ("to_8", sample, 65535, 255),
                                     ("to_16", sample, 65535, 65535)):
        step = 1 if count == 255 else 13  # every level of the small table; 5,042 of the others, and both ends
        for i in [*range(0, count, step), count]:
            exact = curve(mpmath.mpf(i) / count) * most
            assert int(tables[name][i]) == int(mpmath.floor(exact + mpmath.mpf("0.5"))), (name, i)
            nearest_tie = min(nearest_tie, abs(exact - mpmath.floor(exact) - mpmath.mpf("0.5")))
    assert nearest_tie > mpmath.mpf("1e-8")


@pytest.mark.parametrize("mode", MODES)
def test_linear_light(mode, tables):
    random.seed(mode)
    for kernel in resample.PILLOW:
        (w, h), (width, height) = ([random.randint(2, 90) for _ in range(2)] for _ in range(2))
        image = picture((w, h), mode, "photo")
        samples = np.asarray(image).reshape(h, w, -1)
        colours = 3 if samples.shape[2] > 2 else 1
        light = samples.astype(np.uint16) * np.uint16(257)
        light[..., :colours] = tables["of_8"][samples[..., :colours]]
        weighed = scaled_16(light, width, height, kernel)
        expected = ((weighed.astype(np.uint32) + 128) // 257).astype(np.uint8)
        expected[..., :colours] = tables["to_8"][weighed[..., :colours]]
        made = np.asarray(resized(image, f"width={width},height={height},fit=fill,linear=true,kernel={kernel}")).reshape(expected.shape)
        assert np.array_equal(made, expected), (kernel, w, h, width, height)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_linear_light_of_16_bit(channels, tables):
    image = deep((61, 47), channels)
    colours = min(channels, 3)
    light = image.copy()
    light[..., :colours] = tables["of_16"][image[..., :colours]]
    expected = scaled_16(light, 30, 70, "lanczos3")
    expected[..., :colours] = tables["to_16"][expected[..., :colours]]
    assert np.array_equal(resized_16(image, "width=30,height=70,fit=fill,linear=true"), expected)


# ---- smart, and seams

def smart_first(image, width, height):
    """Left and top of the kept part of the scaled picture."""
    energy = carve.gradient(carve.luma8(image))
    axis = 0 if image.shape[1] > width else 1
    sums, count = energy.sum(axis), width if axis == 0 else height
    n = len(sums)
    weighed = sums * np.minimum(np.arange(n) + 1, n - np.arange(n))
    slack = n - count
    found = min(range(slack + 1), key=lambda i: (-int(weighed[i:i + count].sum()), abs(2 * i - slack), i))
    return (found, 0) if axis == 0 else (0, found)


PHOTOS = ("astronaut", "coffee", "chelsea", "rocket", "camera")


@pytest.mark.parametrize("name", PHOTOS)
def test_smart(name):
    image = photo(name)
    for width, height in ((120, 300), (300, 100), (100, 100), (7, 90)):
        scaled = np.asarray(resample.scaled(image, outside(*image.size, width, height), "lanczos3"))
        left, top = smart_first(scaled.reshape(*scaled.shape[:2], -1), width, height)
        made = np.asarray(resized(image, f"width={width},height={height},position=smart"))
        assert np.array_equal(made, scaled[top:top + height, left:left + width]), (width, height)


@pytest.mark.parametrize("share", [100, 40, 0])
def test_carve_takes_the_share_by_seams(share):
    image = Image.fromarray(photograph("coffee")[::4, ::4])  # 150 x 100
    scaled = resample.scaled(image, outside(*image.size, 60, 60), "lanczos3")  # 90 x 60
    seams = (2 * 30 * share + 100) // 200
    body = io.BytesIO()
    scaled.save(body, "PNG")
    carved = np.asarray(Image.open(io.BytesIO(burin(body.getvalue(), f"carve:width={90 - seams}", type="png"))))
    left = (30 - seams) // 2
    made = np.asarray(resized(image, f"width=60,height=60,fit=carve,share={share}"))
    assert np.array_equal(made, carved[:, left:left + 60])
    left, _ = smart_first(carved, 60, 60) if seams < 30 else (0, 0)
    made = np.asarray(resized(image, f"width=60,height=60,fit=carve,position=smart,share={share}"))
    assert np.array_equal(made, carved[:, left:left + 60])
