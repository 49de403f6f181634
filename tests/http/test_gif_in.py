# SPDX-License-Identifier: Apache-2.0
"""GIF in: the pixels that Pillow reads, of every size, palette, interlace and canvas; first frames; damage; what comes back.

covers: pipeline/codecs/gif.c pipeline/codecs/gif/decoder.c"""
import io
import subprocess
import warnings

import numpy as np
import pytest
from PIL import Image

from conftest import BURIN, check_problem, noise, smooth

PLAIN = "/brightness?shift=0&type=png"
SIZES = [(1, 1), (1, 2), (1, 300), (300, 1), (2, 2), (3, 7), (5, 8), (13, 42), (64, 64), (123, 66), (255, 3), (1000, 400)]


def le(value):
    return value.to_bytes(2, "little")


def indices(width, height, colours, kind="noise", seed=1):
    if kind == "noise":
        return (noise(width, height, 1, seed=seed) % colours).astype(np.uint8)
    if kind == "flat":
        return np.full((height, width), colours - 1, np.uint8)
    return ((np.add.outer(np.arange(height) // 3, np.arange(width) // 2)) % colours).astype(np.uint8)


def picture(array, palette=None):
    image = Image.fromarray(array, "P")
    image.putpalette(noise(256, 1, 3, seed=9).tobytes() if palette is None else palette)
    return image


def gif(image, **options):
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image.save(out, "GIF", **options)
    return out.getvalue()


def rgba(data):
    return np.array(Image.open(io.BytesIO(data)).convert("RGBA"))


def check_same(answer, expected):
    """Where a pixel is transparent its colour does not count, and is 0 in Burin."""
    assert answer.status == 200, answer.body
    image = answer.image
    shown = image if image.shape[2] == 4 else np.dstack([image, np.full(image.shape[:2], 255, np.uint8)])
    assert shown.shape == expected.shape
    seen = expected[..., 3:] > 0
    assert np.array_equal(shown[..., 3], expected[..., 3]) and np.array_equal(shown * seen, expected * seen)
    assert not (shown * ~seen).any()


# ---- what is decoded

@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("colours", [2, 3, 16, 100, 256])
@pytest.mark.parametrize("interlace", [0, 1])
def test_as_pillow_reads_it(daemon, size, colours, interlace):
    for kind in ("noise", "flat", "steps"):
        data = gif(picture(indices(*size, colours, kind)), interlace=interlace)
        answer = daemon.post(PLAIN, data)
        check_same(answer, rgba(data))
        assert answer.image.shape[2] == 3 and answer.timing["notes"] == [] and answer.timing["input"]["type"] == "gif"


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("transparent", [0, 2, 200])
def test_transparent(daemon, size, transparent):
    """Index 200 occurs nowhere in the picture."""
    for interlace in (0, 1):
        data = gif(picture(indices(*size, 4)), transparency=transparent, interlace=interlace)
        answer = daemon.post(PLAIN, data)
        check_same(answer, rgba(data))


@pytest.mark.parametrize("kind", ["1", "L", "P"])
def test_gray(daemon, kind):
    """Gray palettes and those of two colours are RGB, as from a PNG."""
    data = gif(Image.fromarray(smooth(70, 50, 1)).convert(kind))
    answer = daemon.post(PLAIN, data)
    check_same(answer, rgba(data))
    assert answer.image.shape[2] == 3


def frame(left, top, width, height, data, flags=0, palette=b"", bits=8):
    blocks = b"".join(bytes([len(data[i:i + 255])]) + data[i:i + 255] for i in range(0, len(data), 255))
    return b"," + le(left) + le(top) + le(width) + le(height) + bytes([flags]) + palette + bytes([bits]) + blocks + b"\0"


def literals(pixels):
    """Codes of nine bits, of which the table is cleared before it grows over them."""
    bits = []
    for i, pixel in enumerate(pixels):
        for code in ([256] if i % 200 == 0 else []) + [int(pixel)]:
            bits += [code >> b & 1 for b in range(9)]
    bits += [257 >> b & 1 for b in range(9)]
    return np.packbits(np.array(bits, np.uint8), bitorder="little").tobytes()


PALETTE = noise(256, 1, 3, seed=4).tobytes()
CONTROL = b"!\xf9\4\1\0\0\7\0"  # index 7 is transparent


def screen(width, height, *blocks, palette=PALETTE, end=b";"):
    return b"GIF89a" + le(width) + le(height) + (b"\xf7\0\0" + palette if palette else b"\0\0\0") + b"".join(blocks) + end


def plain_frame(left, top, array, **options):
    return frame(left, top, array.shape[1], array.shape[0], literals(array.ravel()), **options)


CANVASES = [(20, 16, 0, 0), (20, 16, 5, 4), (0, 0, 0, 0), (0, 0, 3, 2), (8, 4, 0, 0), (12, 9, 4, 6), (1, 100, 0, 0), (30, 12, 18, 0)]


@pytest.mark.parametrize("width,height,left,top", CANVASES)
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("control", [b"", CONTROL], ids=["opaque", "transparent"])
def test_canvas(daemon, width, height, left, top, own, control):
    """It grows as far as the first frame reaches, as in browsers and in Pillow. Around the frame it is transparent, as in browsers;
    to Pillow it has the colour of index 0 there, if no index is transparent."""
    array = indices(12, 12, 256)
    second = noise(256, 1, 3, seed=8).tobytes()
    data = screen(width, height, control, plain_frame(left, top, array, flags=0x87 if own else 0, palette=second if own else b""),
                  palette=b"" if own else PALETTE)
    table = np.frombuffer(second if own else PALETTE, np.uint8).reshape(256, 3)
    expected = np.zeros((max(height, top + 12), max(width, left + 12), 4), np.uint8)
    expected[top:top + 12, left:left + 12, :3] = table[array]
    expected[top:top + 12, left:left + 12, 3] = 255 if not control else np.where(array == 7, 0, 255)
    answer = daemon.post(PLAIN, data)
    check_same(answer, expected)
    pillow = rgba(data)
    assert pillow.shape == expected.shape
    inside = np.s_[top:top + 12, left:left + 12]
    seen = expected[inside][..., 3:] > 0
    assert np.array_equal(pillow[inside] * seen, expected[inside] * seen)
    if control:
        assert np.array_equal(pillow[..., 3], expected[..., 3])


def test_an_animation_is_its_first_frame(daemon):
    for colours, options in ((4, {}), (256, {"interlace": 1}), (16, {"transparency": 3, "disposal": 2})):
        frames = [picture(indices(60, 40, colours, seed=s), noise(256, 1, 3, seed=s).tobytes()) for s in range(1, 6)]
        data = gif(frames[0], save_all=True, append_images=frames[1:], duration=50, loop=0, **options)
        assert Image.open(io.BytesIO(data)).n_frames == 5
        answer = daemon.post(PLAIN, data)
        check_same(answer, rgba(data))
        assert [note for note in answer.timing["notes"] if "first frame" in note]
        assert daemon.post("/info", data).json["animated"] is True


ONE = plain_frame(0, 0, indices(12, 12, 256))


@pytest.mark.parametrize("data,notes", [
    (screen(12, 12, ONE, end=b""), 0), (screen(12, 12, ONE, end=b"")[:-1], 0), (screen(12, 12, ONE) + b"more bytes, that mean nothing", 0),
    (screen(12, 12, b"!\xfe\5hello\0" * 50, ONE), 0), (screen(12, 12, b"!\xff\x0bNETSCAPE2.0\3\1\0\0\0", ONE), 0),
    (screen(12, 12, ONE, ONE), 1), (screen(12, 12, ONE, ONE[:30], end=b""), 1), (screen(12, 12, ONE, b"!\xfe\3abc\0", CONTROL, ONE), 1)],
    ids=["no trailer", "no last block", "bytes behind", "comments", "loop", "two", "a second that is cut off", "a second behind extensions"])
def test_oddities_harm_nothing(daemon, data, notes):
    answer = daemon.post(PLAIN, data)
    check_same(answer, rgba(data))
    assert len(answer.timing["notes"]) == notes


def test_info(daemon):
    info = daemon.post("/info", gif(picture(indices(60, 40, 16)), transparency=3, interlace=0)).json
    assert {key: info[key] for key in ("width", "height", "type", "mime_type", "space", "hasAlpha", "hasProfile", "channels", "depth",
                                       "orientation", "progressive", "animated")} == {
        "width": 60, "height": 40, "type": "gif", "mime_type": "image/gif", "space": "rgb", "hasAlpha": True, "hasProfile": False,
        "channels": 4, "depth": 8, "orientation": 1, "progressive": False, "animated": False}


# ---- what comes back

def test_what_comes_back(daemon, tmp_path):
    data = gif(picture(indices(60, 40, 16)))
    for query, headers, kind in (("", {}, "gif"), ("&type=auto", {}, "gif"), ("&type=jpeg", {}, "jpeg"), ("", {"Accept": "image/gif"}, "gif"),
                                 ("", {"Accept": "image/gif, image/webp"}, "gif"), ("", {"Accept": "image/gif;q=0.4,image/*;q=0.5"}, "png"),
                                 ("", {"Accept": "image/jpeg"}, "jpeg")):
        answer = daemon.post("/brightness?shift=0" + query, data, headers=headers)
        assert answer.status == 200 and answer.headers["Content-Type"] == f"image/{kind}", (query, headers)
    assert daemon.post("/imaginary/resize?width=30", data).headers["Content-Type"] == "image/gif"
    source = tmp_path / "in.gif"
    source.write_bytes(data)
    written = subprocess.run([BURIN, "run", "--device", "cpu", str(source), "-"], check=True, timeout=60, capture_output=True).stdout
    assert written[:6] == b"GIF89a" and np.array_equal(rgba(written), rgba(data))


# ---- what is refused

def test_limits_come_before_memory(start):
    small = start("--pixels-max", "10000")
    check_problem(small.post(PLAIN, gif(picture(indices(200, 100, 4, "flat")))), 422, "20000", "pixels_max")
    check_problem(small.post(PLAIN, screen(4000, 4000, ONE)), 422, "16000000", "pixels_max")  # the canvas counts


@pytest.mark.parametrize("data,word", [
    (screen(65535, 65535, frame(0, 0, 65535, 65535, b"\0\1")), "pixels_max"), (screen(8000, 8000, frame(0, 0, 8000, 8000, b"\0\1")), "cut off"),
    (screen(8000, 8000, frame(0, 0, 1, 1, b"\0\1")), "cut off"), (screen(2, 2), "no picture"), (b"GIF89a" + bytes(100), "no picture"),
    (screen(2, 2, frame(0, 0, 2, 2, b"\0\1", bits=12)), "2 to 8 bits"), (screen(2, 2, frame(0, 0, 0, 2, b"\0\1")), "side"),
    (screen(2, 2, frame(0, 0, 2, 2, b"\0\1"), palette=b""), "no palette")])
def test_broken(daemon, data, word):
    check_problem(daemon.post(PLAIN, data), 422, word)
    check_problem(daemon.post(PLAIN + "&damaged=accept", data), 422, word)
    assert daemon.works()


def test_what_can_be_had_of_a_cut_one(daemon):
    for interlace in (0, 1):
        data = gif(picture(indices(200, 120, 256)), interlace=interlace)
        whole = rgba(data)[..., :3]
        part = data[:len(data) * 3 // 5]
        check_problem(daemon.post(PLAIN, part), 422, "cut off")
        answer = daemon.post(f"{PLAIN}&damaged=accept", part)
        assert answer.status == 200, answer.body
        there = (answer.image == whole).all(axis=(1, 2))
        assert 50 < there.sum() < 110 and not answer.image[~there].any()
        rows = np.flatnonzero(there)
        order = [y for start, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for y in range(start, 120, step)] if interlace else range(120)
        assert set(rows) == set(list(order)[:len(rows)])
        assert any("damaged" in note for note in answer.timing["notes"])
