# SPDX-License-Identifier: Apache-2.0
"""WebP in: the pixels that Pillow reads, every orientation, first frames, profiles; and two dozen kinds of broken files,
each of which gets its 4xx and does no harm."""
import io
import struct
import subprocess

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps

from conftest import BURIN, check_problem, encode, memory, needs, noise, png, smooth

COLOUR = smooth(200, 150)
ALPHA = np.dstack([COLOUR, np.tile(np.linspace(0, 255, 200).astype(np.uint8), (150, 1))])
# Copies samples, so the decoder's output is visible.
PLAIN = "/brightness?shift=0&type=png"


def webp(array, **options):
    return encode(array, "WEBP", **options)


def read(data):
    return np.array(Image.open(io.BytesIO(data)))


def exif(orientation):
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags.tobytes()


# ---- what is decoded

@pytest.mark.parametrize("picture", [COLOUR, ALPHA, noise(33, 18, 3), noise(1, 1, 4), noise(17, 1, 3), noise(1, 300, 4)],
                         ids=["colour", "alpha", "noise", "1x1", "17x1", "1x300"])
@pytest.mark.parametrize("options", [dict(quality=1), dict(quality=90, method=6), dict(quality=60, alpha_quality=20), dict(lossless=True),
                                     dict(lossless=True, exact=True, method=0)], ids=str)
def test_as_pillow_reads_it(daemon, picture, options):
    data = webp(picture, **options)
    answer = daemon.post(PLAIN, data)
    assert answer.status == 200, answer.body
    assert np.array_equal(answer.image, read(data)) and answer.timing["notes"] == []
    assert answer.timing["input"]["type"] == "webp"


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("lossless", [False, True])
def test_orientation(daemon, orientation, lossless):
    for picture in (smooth(67, 41), ALPHA):
        data = webp(picture, exif=exif(orientation), lossless=lossless)
        upright = np.array(ImageOps.exif_transpose(Image.open(io.BytesIO(data))))
        answer = daemon.post(PLAIN, data)
        assert np.array_equal(answer.image, upright)
        assert daemon.post("/info", data).json["orientation"] == orientation
        again = daemon.post("/brightness?shift=0", data).body
        assert daemon.post("/info", again).json["orientation"] == 1


def test_profiles_travel(daemon):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = webp(COLOUR, icc_profile=profile)
    for kind in ("png", "jpeg", "webp"):
        answer = daemon.post(f"/brightness?shift=0&type={kind}", data)
        assert Image.open(io.BytesIO(answer.body)).info["icc_profile"] == profile
    assert daemon.post("/info", data).json["hasProfile"] is True


def test_info(daemon):
    info = daemon.post("/info", webp(ALPHA)).json
    assert {key: info[key] for key in ("width", "height", "type", "mime_type", "space", "hasAlpha", "hasProfile", "channels", "depth",
                                       "orientation", "progressive", "animated")} == {
        "width": 200, "height": 150, "type": "webp", "mime_type": "image/webp", "space": "ycbcr", "hasAlpha": True, "hasProfile": False,
        "channels": 4, "depth": 8, "orientation": 1, "progressive": False, "animated": False}
    info = daemon.post("/info", webp(COLOUR, lossless=True)).json
    assert (info["space"], info["channels"], info["hasAlpha"]) == ("rgb", 3, False)


def test_an_animation_is_its_first_frame(daemon):
    out = io.BytesIO()
    Image.fromarray(COLOUR).save(out, "WEBP", save_all=True, append_images=[Image.fromarray(255 - COLOUR)], duration=50)
    assert daemon.post("/info", out.getvalue()).json["animated"] is True
    answer = daemon.post(PLAIN, out.getvalue())
    assert np.array_equal(answer.image[..., :3], read(out.getvalue())[..., :3])
    assert any("first frame" in note for note in answer.timing["notes"])


@needs("carve")
def test_a_mask_may_be_one(daemon):
    mask = np.zeros((150, 200, 3), np.uint8)
    mask[:, 100:] = 255
    answers = [daemon.post_form("/carve?width=150&type=png", [("image", png(COLOUR), "a"), ("mask", data, "b")])
               for data in (webp(mask, lossless=True), png(mask))]
    assert answers[0].status == 200 and answers[0].body == answers[1].body


# ---- what comes back

@pytest.mark.parametrize("query,lossless", [("", True), ("&effort=2", True), ("&type=auto", True), ("&lossless=false", False),
                                            ("&quality=90", False), ("&max_bytes=100000", False), ("&type=webp", False)])
def test_a_lossless_one_stays_so_by_default(daemon, query, lossless):
    answer = daemon.post(f"/brightness?shift=0{query}", webp(COLOUR, lossless=True))
    assert answer.headers["Content-Type"] == "image/webp"
    assert answer.body[12:16] == (b"VP8L" if lossless else b"VP8 ")
    assert np.array_equal(answer.image, COLOUR) == lossless


def test_a_lossy_one_stays_so(daemon):
    answer = daemon.post("/brightness?shift=0", webp(COLOUR))
    assert answer.headers["Content-Type"] == "image/webp" and answer.body[12:16] == b"VP8 "
    assert daemon.post("/brightness?shift=0", webp(COLOUR), headers={"Accept": "image/png"}).headers["Content-Type"] == "image/png"
    assert daemon.post("/brightness?shift=0", png(COLOUR)).headers["Content-Type"] == "image/png"


def test_burin_run(tmp_path):
    source, out = tmp_path / "in.webp", tmp_path / "out.png"
    source.write_bytes(webp(ALPHA))
    subprocess.run([BURIN, "run", "--device", "cpu", str(source), str(out)], check=True, timeout=60)
    assert np.array_equal(read(out.read_bytes()), read(source.read_bytes()))
    source.write_bytes(webp(COLOUR, lossless=True))
    written = subprocess.run([BURIN, "run", "--device", "cpu", str(source), "-"], check=True, timeout=60, capture_output=True).stdout
    assert written[12:16] == b"VP8L" and np.array_equal(read(written), COLOUR)


# ---- what is refused

def le(value, size):
    return value.to_bytes(size, "little")


def chunk(name, data):
    return name + le(len(data), 4) + data + bytes(len(data) % 2)


def riff(*chunks):
    body = b"WEBP" + b"".join(chunks)
    return b"RIFF" + le(len(body), 4) + body


def vp8x(flags, width, height):
    return chunk(b"VP8X", bytes([flags, 0, 0, 0]) + le(width - 1, 3) + le(height - 1, 3))


def anmf(left, top, width, height, picture):
    return chunk(b"ANMF", le(left // 2, 3) + le(top // 2, 3) + le(width - 1, 3) + le(height - 1, 3) + le(100, 3) + b"\0" + picture)


SMALL = smooth(40, 30)
LOSSY = webp(SMALL)[12:]
LOSSLESS = webp(SMALL, lossless=True)[12:]
WITH_ALPHA = webp(np.dstack([SMALL, SMALL[..., :1]]))[30:]
ALPH_BYTES = 8 + struct.unpack("<I", WITH_ALPHA[4:8])[0] + struct.unpack("<I", WITH_ALPHA[4:8])[0] % 2
ALPH = WITH_ALPHA[:ALPH_BYTES]
FRAME = anmf(0, 0, 40, 30, LOSSY)
ANIM = chunk(b"ANIM", bytes(6))


def bent(data, at, value):
    return data[:at] + bytes([value]) + data[at + 1:]


def cut(data, at):
    """DATA cut at AT; the head still has the full length."""
    return data[:at]


BROKEN = {
    "twelve bytes alone": b"RIFF" + le(4, 4) + b"WEBP",
    "no length": b"RIFF" + le(0, 4) + b"WEBP" + LOSSY,
    "a length far beyond": b"RIFF" + le(2 ** 32 - 1, 4) + b"WEBP" + LOSSY,
    "a length that ends in the picture": b"RIFF" + le(60, 4) + b"WEBP" + LOSSY,
    "junk in front": riff(chunk(b"JUNK", bytes(16)), LOSSY),
    "a chunk of 4 GB": riff(vp8x(0, 40, 30), b"JUNK" + le(2 ** 32 - 1, 4), LOSSY),
    "an odd chunk without its padding": riff(vp8x(0, 40, 30), b"JUNK" + le(3, 4) + b"abc", LOSSY),
    "VP8X of 9 bytes": riff(chunk(b"VP8X", bytes(9)), LOSSY),
    "VP8X alone": riff(vp8x(0, 40, 30)),
    "a canvas larger than its picture": riff(vp8x(0, 41, 30), LOSSY),
    "a canvas smaller than its picture": riff(vp8x(0, 40, 29), LOSSLESS),
    "a canvas of 2^24 each way": riff(vp8x(0, 2 ** 24, 2 ** 24), LOSSY),
    "ALPH without VP8": riff(vp8x(16, 40, 30), ALPH),
    "ALPH with VP8L": riff(vp8x(16, 40, 30), ALPH, LOSSLESS),
    "ALPH of nothing": riff(vp8x(16, 40, 30), chunk(b"ALPH", b""), LOSSY),
    "ALPH of noise": riff(vp8x(16, 40, 30), chunk(b"ALPH", b"\1" + noise(100, 1).tobytes()), LOSSY),
    "two VP8": riff(LOSSY, LOSSY),
    "VP8 and VP8L": riff(vp8x(0, 40, 30), LOSSY, LOSSLESS),
    "VP8 of width 0": riff(bent(bent(LOSSY, 14, 0), 15, 0)),
    "VP8 of height 0": riff(bent(bent(LOSSY, 16, 0), 17, 0)),
    "VP8 that is no key frame": riff(bent(LOSSY, 8, LOSSY[8] | 1)),
    "VP8 with another start code": riff(bent(LOSSY, 11, 0)),
    "VP8 of noise": riff(chunk(b"VP8 ", LOSSY[8:18] + noise(300, 1).tobytes())),
    "VP8 of six bytes": riff(chunk(b"VP8 ", LOSSY[8:14])),
    "VP8 that ends in its first part": riff(chunk(b"VP8 ", LOSSY[8:30])),
    "VP8L of another version": riff(bent(LOSSLESS, 12, LOSSLESS[12] | 0x20)),
    "VP8L of another signature": riff(bent(LOSSLESS, 8, 0)),
    "VP8L that ends in its codes": riff(chunk(b"VP8L", LOSSLESS[8:20])),
    "VP8L of noise": riff(chunk(b"VP8L", LOSSLESS[8:13] + noise(300, 1).tobytes())),
    "an animation without frames": riff(vp8x(2, 40, 30), ANIM),
    "an animation with a picture beside": riff(vp8x(2, 40, 30), ANIM, LOSSY),
    "a frame beyond the canvas": riff(vp8x(2, 40, 30), ANIM, anmf(2, 0, 40, 30, LOSSY)),
    "a frame of other sides": riff(vp8x(2, 80, 80), ANIM, anmf(0, 0, 42, 30, LOSSY)),
    "a frame of 10 bytes": riff(vp8x(2, 40, 30), ANIM, chunk(b"ANMF", bytes(10))),
    "a frame without a picture": riff(vp8x(2, 40, 30), ANIM, anmf(0, 0, 40, 30, ALPH)),
    "a frame of two pictures": riff(vp8x(2, 40, 30), ANIM, anmf(0, 0, 40, 30, LOSSY + LOSSY)),
    "100,000 chunks": riff(vp8x(0, 40, 30), LOSSY, chunk(b"more", b"") * 100000),
    "cut within VP8X": cut(riff(vp8x(0x38, 40, 30), chunk(b"ICCP", bytes(100)), LOSSY), 25),
    "cut within ICCP": cut(riff(vp8x(0x38, 40, 30), chunk(b"ICCP", bytes(100)), LOSSY), 60),
    "cut within ALPH": cut(riff(vp8x(16, 40, 30), WITH_ALPHA), 30 + ALPH_BYTES - 3),
    "cut within VP8": cut(riff(LOSSY), 12 + len(LOSSY) // 2),
    "cut within VP8L": cut(riff(LOSSLESS), 12 + len(LOSSLESS) // 2),
    "cut within EXIF": cut(riff(vp8x(8, 40, 30), LOSSY, chunk(b"EXIF", bytes(100))), 30 + len(LOSSY) + 50),
    "cut within ANMF": cut(riff(vp8x(2, 40, 30), ANIM, FRAME), 44 + 12),
    "cut within the second frame": cut(riff(vp8x(2, 40, 30), ANIM, FRAME, FRAME), 44 + len(FRAME) + 40),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken(daemon, name):
    problem = check_problem(daemon.post(PLAIN, BROKEN[name]), 422)
    assert "send" in problem["message"], problem["message"]
    assert daemon.post("/info", BROKEN[name]).status in (200, 422)
    assert daemon.works()


@pytest.mark.parametrize("data", [
    riff(vp8x(8, 40, 30), LOSSY, chunk(b"EXIF", noise(500, 1).tobytes())), riff(vp8x(8, 40, 30), LOSSY, chunk(b"EXIF", b"")),
    riff(vp8x(8, 40, 30), LOSSY, chunk(b"EXIF", b"Exif\0\0II*\0\xff\xff\xff\xff")), riff(LOSSY) + b"more bytes behind",
    riff(vp8x(0, 40, 30), chunk(b"odd ", b"abc"), LOSSY, chunk(b"XMP ", b"<x")), riff(vp8x(2, 40, 30), ANIM, FRAME),
    riff(vp8x(4, 40, 30), LOSSY, ALPH)],
    ids=["noise as EXIF", "empty EXIF", "EXIF that leads away", "bytes behind", "odd chunks", "one frame", "ALPH behind"])
def test_oddities_harm_nothing(daemon, data):
    answer = daemon.post(PLAIN, data)
    assert answer.status == 200, answer.body
    assert np.array_equal(answer.image, read(riff(LOSSY))) and answer.timing["notes"] == []


def test_a_profile_that_is_too_large_is_dropped(start):
    small = start("--profile-bytes-max", "1000")
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes() + bytes(1000)
    answer = small.post("/brightness?shift=0&type=png", webp(COLOUR, icc_profile=profile))
    assert answer.status == 200 and "icc_profile" not in Image.open(io.BytesIO(answer.body)).info
    assert any("profile was dropped" in note for note in answer.timing["notes"])


def test_what_can_be_had_of_a_cut_one(daemon):
    for picture, lossless in ((noise(400, 300, 3), False), (noise(400, 300, 4), True)):
        data = webp(picture, lossless=lossless)
        whole = read(data)
        part = data[:len(data) * 9 // 10]
        check_problem(daemon.post(PLAIN, part), 422)
        answer = daemon.post(f"{PLAIN}&damaged=accept", part)
        assert answer.status == 200, answer.body
        rows = np.flatnonzero((answer.image != whole).any(axis=(1, 2)))[0]
        assert rows > 150 and not answer.image[rows:].any()
        assert any("damaged" in note for note in answer.timing["notes"])


def test_limits_come_before_memory(start):
    small = start("--pixels-max", "10000")
    check_problem(small.post(PLAIN, webp(COLOUR)), 422, "30000", "pixels_max")
    # The canvas counts, not the frame on it.
    check_problem(small.post(PLAIN, riff(vp8x(2, 4000, 4000), ANIM, anmf(0, 0, 40, 30, LOSSY))), 422, "16000000", "pixels_max")
    tight = start("--codec-memory-bytes", "1000000")
    check_problem(tight.post(PLAIN, webp(noise(700, 500, 3), lossless=True)), 422, "codec_memory_bytes")
    assert tight.post(PLAIN, webp(noise(400, 500, 3), lossless=True)).status == 200


def codes_of_every_block():
    """A lossless 512 x 512 in which each block of 4 x 4 has five prefix codes of its own: 16,384 sets of them, and libwebp keeps
    tables of 12 KB and more for each. Bits begin with the lowest, as in RFC 9649."""
    bits = []

    def put(value, count):
        bits.extend(value >> i & 1 for i in range(count))

    def only(symbol):
        put(1, 1), put(0, 1), put(0, 1), put(symbol, 1)  # simple, one symbol, written in one bit

    def of_256(symbols_more):
        """All codes are 8 bits long, by a code of lengths that has only the length 8 and so takes no bits."""
        put(0, 1), put(12 - 4, 4), put(0, 33), put(1, 3)
        put(symbols_more, 1)
        if symbols_more:
            put(3, 3), put(256 - 2, 8)

    put(0x2f, 8), put(511, 14), put(511, 14), put(0, 4)
    put(0, 1), put(0, 1), put(1, 1), put(0, 3)  # no transform, no cache; several sets, of blocks of 4
    put(0, 1), of_256(True), of_256(False), only(0), only(0), only(0)
    for block in range(16384):
        put(block & 255, 8)
        bits.extend(block >> i & 1 for i in range(15, 7, -1))  # a code's highest bit is its first: red is below 64
    for _ in range(16384 * 5):
        only(0)
    bits += [0] * (-len(bits) % 8)
    return np.packbits(np.array(bits, np.uint8), bitorder="little").tobytes()


def test_a_bomb_of_codes_is_refused(start):
    bomb = riff(chunk(b"VP8L", codes_of_every_block()))
    assert len(bomb) < 90000
    fresh = start("--lanes", "1", "--codec-memory-bytes", "64MiB")
    check_problem(fresh.post(PLAIN, bomb), 422, "memory", "codec_memory_bytes")
    assert max(memory(pid, "VmHWM") for pid in fresh.children()) < 180 << 20
    assert fresh.works()
    # It is only large: with room it decodes, to black.
    roomy = start("--codec-memory-bytes", "512MiB")
    answer = roomy.post(PLAIN, bomb)
    assert answer.status == 200 and answer.image.shape == (512, 512, 3) and not answer.image.any()


def of_one_colour(width, height):
    """A lossless picture whose pixels are all one code of no bits: 14 bytes for any sides."""
    number, bits = 0, 0
    for value, count in [(0x2f, 8), (width - 1, 14), (height - 1, 14), (0, 4), (0, 3), *[(1, 4)] * 5]:
        number |= value << bits
        bits += count
    return chunk(b"VP8L", le(number, 10))


def test_pixels_that_take_no_bytes_are_refused(daemon):
    """A byte yields at most 32768 pixels, in the picture or on the canvas around it."""
    files = {"still": riff(of_one_colour(16383, 4096)), "first frame": riff(vp8x(2, 16383, 4096), ANIM, anmf(0, 0, 16383, 4096, of_one_colour(16383, 4096))),
             "lossless on a canvas": riff(vp8x(2, 16383, 4096), ANIM, anmf(0, 0, 40, 30, LOSSLESS)),
             "lossy on a canvas": riff(vp8x(2, 16383, 4096), ANIM, anmf(0, 0, 40, 30, LOSSY))}
    for name, data in files.items():
        assert len(data) < 16383 * 4096 // 32768, name
        for path in (PLAIN, "/mean"):
            problem = check_problem(daemon.post(path, data), 422, "16383 x 4096", "at least 2048 bytes")
            assert "more effort" in problem["message"], name
        check_problem(daemon.post_form("/grayscale", [("image", data, "a")]), 422)
        assert daemon.post("/info", data).json["width"] == 16383, name


def test_one_colour_is_read_where_its_bytes_allow_it(daemon):
    answer = daemon.post(PLAIN, riff(of_one_colour(640, 512)))
    assert answer.status == 200 and answer.image.shape == (512, 640, 3) and not answer.image.any()
    check_problem(daemon.post(PLAIN, riff(of_one_colour(640, 513))), 422)
    # libwebp writes a byte for at most 24000 pixels, except with its least effort.
    white = webp(np.full((3000, 2000, 3), 255, np.uint8), lossless=True, method=2)
    assert len(white) < 400 and daemon.post("/mean", white).status == 200


def test_a_picture_of_no_data_costs_nothing(daemon):
    """16383 x 4000 pixels of VP8 take 64 KB and more; nothing is decoded from a header alone."""
    head = bent(bent(bent(bent(LOSSY[8:], 6, 0xff), 7, 0x3f), 8, 0xa0), 9, 0x0f)
    problem = check_problem(daemon.post(PLAIN, riff(chunk(b"VP8 ", head))), 422)
    assert "16383 x 4000" in problem["message"] and "cut off" in problem["message"]
