# SPDX-License-Identifier: Apache-2.0
"""Every kind of picture, in and out, against PIL and OpenCV. Either histeq leaves the picture, a ramp, unchanged, or the answer
is compared with the answer to PIL's reading of the same bytes, sent as plain PNM or PNG."""
import glob
import importlib.util
import io
import zlib

import numpy as np
import pytest
from PIL import Image, ImageOps

from conftest import check_problem, chunk, encode, from_pnm, jpeg, noise, png, png_of_chunks, pnm, smooth


def ramp(channels=1, depth=8, seed=5):
    """Every level equally often, in random order: histeq with minmax and a bin a level leaves it unchanged. In colour the
    channels are equal, so their maximum is such a ramp too."""
    levels = np.arange(1 << depth, dtype=np.uint8 if depth == 8 else np.uint16)
    picture = np.random.default_rng(seed).permutation(np.tile(levels, 4 if depth == 8 else 1))
    picture = picture.reshape((32, -1) if depth == 8 else (256, 256))
    return picture if channels == 1 else np.repeat(picture[..., None], channels, -1)


def through(daemon, data, query="", bins=256):
    """DATA through the whole daemon; unchanged where it is a ramp."""
    answer = daemon.post(f"/histeq?bins={bins}{query}", data)
    assert answer.status == 200, answer.body
    return answer


def even(array):
    """One level a channel: histeq leaves such a picture unchanged."""
    return np.broadcast_to(np.array(array), (24, 32) + np.shape(array)).astype(np.uint8)


def decoded(daemon, data):
    ours = daemon.post("/histeq?type=png", data)
    assert ours.status == 200, ours.body
    return ours.image


def same_as(daemon, data, reading):
    """The daemon answers DATA as it answers READING, an array, sent plain."""
    plain = pnm(reading) if reading.ndim == 2 or reading.shape[2] == 3 else png(reading)
    return np.array_equal(decoded(daemon, data), decoded(daemon, plain))


# ---- JPEG

@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "progressive JPEG", "PNG"])
def test_orientation(daemon, kind, orientation):
    """Orientation is applied and not repeated in the answer; the sizes alone show that the picture was turned."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = Image.fromarray(smooth(67, 41))
    out = io.BytesIO()
    options = dict(progressive=True) if kind[0] == "p" else {}
    picture.save(out, kind.split()[-1], exif=exif.tobytes(), **options)
    upright = np.array(ImageOps.exif_transpose(Image.open(io.BytesIO(out.getvalue()))))
    answer = daemon.post("/histeq?type=png", out.getvalue())
    assert answer.status == 200, answer.body
    assert np.array_equal(answer.image, daemon.post("/histeq?type=png", pnm(upright)).image)
    size = (answer.headers["X-Origin-Width"], answer.headers["X-Origin-Height"])
    assert size == (str(upright.shape[1]), str(upright.shape[0]))
    again = daemon.post("/histeq", out.getvalue())
    assert Image.open(io.BytesIO(again.body)).getexif().get(0x0112, 1) == 1
    assert daemon.post("/info", again.body).json["orientation"] == 1


@pytest.mark.parametrize("type,size", [(3, 2), (4, 4), (8, 2), (9, 4)])
def test_orientation_in_either_byte_order(daemon, type, size):
    """A SHORT, or another integer, as Pillow reads it."""
    for order, number in (("big", b"MM\0*"), ("little", b"II*\0")):
        def n(value, size):
            return value.to_bytes(size, order)
        tiff = (number + n(8, 4) + n(2, 2) + n(0x010f, 2) + n(2, 2) + n(4, 4) + b"abc\0"
                + n(0x0112, 2) + n(type, 2) + n(1, 4) + n(6, size) + bytes(4 - size) + n(0, 4))
        data = jpeg(smooth(30, 20), exif=b"Exif\0\0" + tiff)
        assert ImageOps.exif_transpose(Image.open(io.BytesIO(data))).size == (20, 30)
        assert daemon.post("/info", data).json["orientation"] == 6
        assert daemon.post("/histeq", data).image.shape == (30, 20, 3)


@pytest.mark.parametrize("tiff", [b"", b"II*\0", b"II*\0\xff\xff\xff\xff", b"II*\0\x08\0\0\0\xff\xff",
                                  b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x09\0\0", b"XX*\0" + bytes(20),
                                  b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x04\xff\xff\xff\xff\0\x06\0\0"])
def test_broken_exif_is_no_orientation(daemon, tiff):
    data = jpeg(smooth(30, 20), exif=b"Exif\0\0" + tiff)
    assert daemon.post("/info", data).json["orientation"] == 1
    assert daemon.post("/histeq", data).status == 200


@pytest.mark.parametrize("options", [dict(progressive=True), dict(subsampling=0), dict(subsampling=1),
                                     dict(subsampling=2), dict(quality=1), dict(quality=100), dict(optimize=True),
                                     dict(progressive=True, subsampling=0, quality=100)], ids=str)
@pytest.mark.parametrize("size", [(1, 1), (7, 5), (16, 16), (133, 91)], ids=str)
def test_jpeg_in(daemon, options, size):
    for picture in (smooth(*size), smooth(*size, channels=1)):
        data = jpeg(picture, **options)
        assert same_as(daemon, data, np.array(Image.open(io.BytesIO(data)))), "not as libjpeg reads it"


def resampled(data, factors, width, height):
    """The JPEG with different sampling factors of its luma, and the size that as many units then cover."""
    at = data.index(b"\xff\xc0") + 5
    frame = height.to_bytes(2, "big") + width.to_bytes(2, "big") + b"\3" + data[at + 5:at + 6] + bytes([factors])
    return data[:at] + frame + data[at + 7:]


@pytest.mark.parametrize("mode,factors,width,height", [(2, 0x41, 32, 8), (1, 0x12, 8, 16)], ids=["4x1", "1x2"])
def test_jpeg_with_odd_sampling(daemon, mode, factors, width, height):
    """PIL cannot write these. A unit of 4:2:0 holds as many blocks as one of 4 by 1, one of 4:2:2 as many as one of 1 by 2:
    the same blocks, at other places in the picture."""
    wide, high = 16, 16 if mode == 2 else 8
    data = resampled(jpeg(smooth(9 * wide, 6 * high), subsampling=mode), factors, 9 * width - 3, 6 * height - 5)
    picture = Image.open(io.BytesIO(data))
    assert picture.size == (9 * width - 3, 6 * height - 5)
    assert picture.layer[0][1:3] == (factors >> 4, factors & 15)
    assert same_as(daemon, data, np.array(picture))


def restarts(data):
    """The interval in units that a DRI marker announces, or None; and the number of restart markers in its scans."""
    at = data.find(b"\xff\xdd\0\4")
    scan = data[data.index(b"\xff\xda"):]
    return (int.from_bytes(data[at + 4:at + 6], "big") if at >= 0 else None,
            sum(scan.count(bytes([0xff, 0xd0 + k])) for k in range(8)))


@pytest.mark.parametrize("interval", [1, 3, 9])
@pytest.mark.parametrize("progressive", [0, 1], ids=["in one scan", "progressive"])
@pytest.mark.parametrize("size", [(1, 1), (7, 5), (16, 16), (133, 91)], ids=str)
def test_jpeg_with_restarts(daemon, size, progressive, interval):
    """OpenCV writes the files: PIL has restarts only since version 10. 9 units are a row of the widest picture in colour."""
    cv2 = pytest.importorskip("cv2", reason="no OpenCV here")
    for picture in (smooth(*size), smooth(*size, channels=1)):
        data = cv2.imencode(".jpg", picture[..., ::-1] if picture.ndim == 3 else picture,
                            [cv2.IMWRITE_JPEG_RST_INTERVAL, interval,
                             cv2.IMWRITE_JPEG_PROGRESSIVE, progressive])[1].tobytes()
        announced, found = restarts(data)
        assert announced == interval
        unit = 16 if picture.ndim == 3 else 8
        units = -(-size[0] // unit) * -(-size[1] // unit)
        of_one_scan = (units - 1) // interval
        assert found >= of_one_scan if progressive else found == of_one_scan
        assert same_as(daemon, data, np.array(Image.open(io.BytesIO(data)))), "not as libjpeg reads it"


def test_cmyk_jpeg(daemon):
    """PIL writes Adobe's inverted inks. Without a profile a channel is (255 - c)(255 - k) / 255."""
    inks = noise(40, 30, 4)
    inks[..., 3] //= 2
    inks = np.repeat(np.repeat(inks, 8, 0), 8, 1)  # even blocks survive the coding
    out = io.BytesIO()
    Image.fromarray(inks, "CMYK").save(out, "JPEG", quality=100, subsampling=0)
    read = np.array(Image.open(io.BytesIO(out.getvalue()))).astype(int)
    rgb = ((255 - read[..., :3]) * (255 - read[..., 3:]) + 127) // 255
    assert same_as(daemon, out.getvalue(), rgb.astype(np.uint8))
    answer = daemon.post("/histeq", out.getvalue())
    assert answer.headers["Content-Type"] == "image/jpeg" and answer.image.shape[2] == 3


def test_jpeg_out(daemon):
    """The answer is as good as its quality says: PIL's own coding of the same pixels is hardly closer to them."""
    picture = smooth(200, 150)
    exact = daemon.post("/histeq?type=pnm", pnm(picture))
    pixels = from_pnm(exact.body).astype(int)
    for quality in (50, 85, 95):
        ours = daemon.post(f"/histeq?type=jpeg&quality={quality}", pnm(picture)).image.astype(int)
        theirs = np.array(Image.open(io.BytesIO(jpeg(pixels.astype(np.uint8), quality=quality)))).astype(int)
        assert np.square(ours - pixels).mean() <= 1.1 * np.square(theirs - pixels).mean() + 0.5


@pytest.mark.parametrize("kind", ["gray", "colour"])
def test_jpeg_out_decodes_in_pil(daemon, kind):
    answer = through(daemon, pnm(noise(50, 40, 1 if kind == "gray" else 3)), "&type=jpeg")
    picture = Image.open(io.BytesIO(answer.body))
    assert picture.mode == {"gray": "L", "colour": "RGB"}[kind] and picture.size == (50, 40)
    picture.load()


# ---- ICC

def profile_of_size(size):
    """A header that Pillow and libpng accept, and bytes that do not compress."""
    return (size.to_bytes(4, "big") + b"burn\x02\x10\0\0mntrRGB XYZ " + bytes(12) + b"acsp" + bytes(92)
            + np.random.default_rng(1).bytes(size - 132))


PROFILE = profile_of_size(1024)
GRAY_PROFILE = PROFILE.replace(b"RGB ", b"GRAY")


def profile_of(answer):
    return Image.open(io.BytesIO(answer.body)).info.get("icc_profile")


@pytest.mark.parametrize("source", ["JPEG", "PNG"])
@pytest.mark.parametrize("target", ["jpeg", "png"])
def test_profile_is_carried(daemon, source, target):
    for picture, profile in ((smooth(40, 30), PROFILE), (smooth(40, 30, 1), GRAY_PROFILE)):
        data = encode(picture, source, icc_profile=profile)
        assert daemon.post("/info", data).json["hasProfile"] is True
        answer = daemon.post(f"/histeq?type={target}", data)
        assert answer.status == 200, answer.body
        assert profile_of(answer) == profile, answer.timing["notes"]
        assert answer.timing["notes"] == []


def test_profile_in_many_pieces(daemon):
    """Over 64 KB, so a JPEG needs several segments for it."""
    profile = profile_of_size(300000)
    for source in ("JPEG", "PNG"):
        answer = daemon.post("/histeq?type=jpeg", encode(smooth(40, 30), source, icc_profile=profile))
        assert answer.status == 200 and profile_of(answer) == profile, (source, answer.timing["notes"])


def test_profile_does_not_outlive_its_colours(daemon):
    answer = daemon.post("/grayscale", jpeg(smooth(40, 30), icc_profile=PROFILE))
    assert profile_of(answer) is None and "profile" in answer.timing["notes"][0]


# ---- PNG

@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "LA"])
def test_png_in_and_out(daemon, mode):
    channels = {"L": 1, "RGB": 3, "RGBA": 4, "LA": 2}[mode]
    picture = ramp(channels).copy()
    if mode in ("RGBA", "LA"):
        picture[..., -1] = np.maximum(noise(picture.shape[1], picture.shape[0], seed=8), 1)  # hidden pixels would not be counted
    answer = through(daemon, encode_mode(picture, mode))
    assert Image.open(io.BytesIO(answer.body)).mode == mode
    assert np.array_equal(answer.image, picture)


def encode_mode(picture, mode):
    out = io.BytesIO()
    Image.fromarray(picture, mode).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_sixteen_bit_png_is_kept(daemon, channels):
    picture = ramp(channels, depth=16).copy()
    if channels == 4:
        picture[..., 3] = np.maximum(noise(256, 256, depth=16, seed=9), 1)
    colour = {1: 0, 3: 2, 4: 6}[channels]
    raw = b"".join(b"\0" + row.astype(">u2").tobytes() for row in picture)
    answer = through(daemon, png_of_chunks(256, 256, 16, colour, raw), bins=65536)
    assert answer.timing["output"]["depth"] == 16 and answer.timing["notes"] == []
    assert np.array_equal(read_png(answer.body), picture)


def read_png(data):
    """Unfiltered rows of a PNG as Burin writes it, read by hand: PIL cuts 16-bit colour to 8 bits."""
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    depth, colour, interlace = data[24], data[25], data[28]
    assert interlace == 0
    samples, packed, at = {0: 1, 2: 3, 4: 2, 6: 4}[colour], b"", 8
    while at < len(data):
        length, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        assert zlib.crc32(data[at + 4:at + 8 + length]) == int.from_bytes(data[at + 8 + length:at + 12 + length], "big")
        packed += data[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    assert kind == b"IEND" and at == len(data)
    step, row_bytes = samples * depth // 8, width * samples * depth // 8
    raw, above, rows = zlib.decompress(packed), bytearray(row_bytes), []
    assert len(raw) == height * (row_bytes + 1)
    for y in range(height):
        how, row = raw[y * (row_bytes + 1)], bytearray(raw[y * (row_bytes + 1) + 1:(y + 1) * (row_bytes + 1)])
        for i in range(row_bytes):
            a, b = row[i - step] if i >= step else 0, above[i]
            c = above[i - step] if i >= step else 0
            p = a + b - c
            near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            row[i] = (row[i] + (0, a, b, (a + b) // 2, near)[how]) & 255
        rows.append(bytes(row))
        above = row
    picture = np.frombuffer(b"".join(rows), ">u2" if depth == 16 else np.uint8).astype(
        np.uint16 if depth == 16 else np.uint8)
    return picture.reshape((height, width) if samples == 1 else (height, width, samples))


def packed_rows(values, depth):
    """Filter bytes and rows of samples of DEPTH bits."""
    height, width = values.shape
    per_byte = 8 // depth
    padded = np.zeros((height, -(-width // per_byte) * per_byte), np.uint8)
    padded[:, :width] = values
    rows = np.zeros((height, padded.shape[1] // per_byte), np.uint8)
    for i in range(per_byte):
        rows |= padded[:, i::per_byte] << (8 - depth * (i + 1))
    return b"".join(b"\0" + row.tobytes() for row in rows)


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
@pytest.mark.parametrize("width", [1, 7, 33])
def test_gray_png_of_few_bits(daemon, depth, width):
    """Samples are spread over 0..255, as in every decoder."""
    values = noise(width, 9, seed=depth) >> (8 - depth)
    data = png_of_chunks(width, 9, depth, 0, packed_rows(values, depth))
    assert same_as(daemon, data, (values * (255 // ((1 << depth) - 1))).astype(np.uint8))


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
@pytest.mark.parametrize("clear", [False, True], ids=["opaque", "with tRNS"])
def test_palette_png(daemon, depth, clear):
    colours = noise(1 << depth, 1, 3, seed=2)[0]
    alpha = noise(1 << depth, 1, seed=3)[0]
    values = noise(33, 9, seed=depth) >> (8 - depth)
    extra = [chunk(b"PLTE", colours.tobytes())]
    reading = colours[values]
    if clear:  # the last colours have no alpha and are opaque
        given = max(1, (1 << depth) - 2)
        alpha[given:] = 255
        extra.append(chunk(b"tRNS", alpha[:given].tobytes()))
        reading = np.concatenate([reading, alpha[values][..., None]], -1)
    assert same_as(daemon, png_of_chunks(33, 9, depth, 3, packed_rows(values, depth), *extra), reading)


def test_clear_colour(daemon):
    """tRNS of gray and of RGB makes one value transparent."""
    gray = np.tile(np.arange(16, dtype=np.uint8) * 17, (4, 1))
    raw = b"".join(b"\0" + row.tobytes() for row in gray)
    data = png_of_chunks(16, 4, 8, 0, raw, chunk(b"tRNS", b"\0\x55"))
    assert np.array_equal(decoded(daemon, data)[..., 1], np.where(gray == 0x55, 0, 255))
    rgb = noise(16, 4, 3)
    rgb[1, 2] = (1, 2, 3)
    raw = b"".join(b"\0" + row.tobytes() for row in rgb)
    data = png_of_chunks(16, 4, 8, 2, raw, chunk(b"tRNS", b"\0\1\0\2\0\3"))
    alpha = decoded(daemon, data)[..., 3]
    assert alpha[1, 2] == 0 and alpha.sum() == 255 * 63


PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (5, 5), (8, 8), (33, 21)], ids=str)
@pytest.mark.parametrize("form", ["gray", "RGB", "RGBA", "16 bit", "1 bit"])
def test_interlaced_png(daemon, size, form):
    """Adam7, written by hand; some passes of the small ones are empty."""
    width, height = size
    channels, depth = {"RGB": 3, "RGBA": 4}.get(form, 1), 16 if form == "16 bit" else 8
    picture = noise(width, height, channels, depth)
    if form == "1 bit":
        picture >>= 7
    raw = b""
    for x, y, dx, dy in PASSES:
        part = picture[y::dy, x::dx]
        if part.size == 0:
            continue
        if form == "1 bit":
            raw += packed_rows(part, 1)
        else:
            raw += b"".join(b"\0" + row.astype(">u2" if depth == 16 else np.uint8).tobytes() for row in part)
    colour = {1: 0, 3: 2, 4: 6}[channels]
    data = png_of_chunks(width, height, 1 if form == "1 bit" else depth, colour, raw, interlace=1)
    reading = picture * 255 if form == "1 bit" else picture
    if form == "16 bit":
        assert daemon.post("/histeq?type=pnm", data).body == daemon.post("/histeq?type=pnm", pnm(reading)).body
    else:
        assert same_as(daemon, data, reading)
    assert daemon.post("/info", data).json["progressive"] is True


def test_interlaced_and_turned(daemon):
    exif = Image.Exif()
    exif[0x0112] = 5
    picture = noise(33, 21, 3)
    raw = b"".join(b"\0" + row.tobytes() for x, y, dx, dy in PASSES for row in picture[y::dy, x::dx])
    data = png_of_chunks(33, 21, 8, 2, raw, chunk(b"eXIf", exif.tobytes()[6:]), interlace=1)
    assert same_as(daemon, data, picture.transpose(1, 0, 2))


@pytest.mark.parametrize("how", range(5), ids=["none", "sub", "up", "average", "Paeth"])
def test_filters_of_png(daemon, how):
    picture = noise(19, 13, 3)
    rows, above = b"", np.zeros((19, 3), int)
    for row in picture.astype(int):
        left = np.vstack([np.zeros((1, 3), int), row[:-1]])
        corner = np.vstack([np.zeros((1, 3), int), above[:-1]])
        p = left + above - corner
        near = np.where((abs(p - left) <= abs(p - above)) & (abs(p - left) <= abs(p - corner)), left,
                        np.where(abs(p - above) <= abs(p - corner), above, corner))
        base = [0, left, above, (left + above) // 2, near][how]
        rows += bytes([how]) + ((row - base) & 255).astype(np.uint8).tobytes()
        above = row
    assert same_as(daemon, png_of_chunks(19, 13, 8, 2, rows), picture)


def test_png_in_many_chunks_with_others_between(daemon):
    picture = noise(50, 40, 3)
    packed = zlib.compress(b"".join(b"\0" + row.tobytes() for row in picture))
    whole = png_of_chunks(50, 40, 8, 2, b"", chunk(b"tEXt", b"Comment\0hello"), chunk(b"gAMA", b"\0\0\xb1\x8f"),
                          chunk(b"pHYs", bytes(9)), chunk(b"vpAg", b"x"), compressed=b"")
    parts = b"".join(chunk(b"IDAT", packed[i:i + 100]) for i in range(0, len(packed), 100))
    assert same_as(daemon, whole.replace(chunk(b"IDAT", b""), parts), picture)


def test_noise_in_one_chunk(daemon):
    """A chunk longer than its pixels, by more than libpng would expect of rows over 32,566 bytes."""
    picture = np.random.default_rng(5).integers(0, 256, (300, 12000, 3), np.uint8)
    packed = zlib.compress(b"".join(b"\0" + row.tobytes() for row in picture), 1)
    answer = daemon.post("/brightness?type=pnm", png_of_chunks(12000, 300, 8, 2, b"", compressed=packed))
    assert answer.status == 200 and np.array_equal(from_pnm(answer.body), picture)


def test_png_out_decodes_in_opencv(daemon):
    cv2 = pytest.importorskip("cv2", reason="no OpenCV here")
    picture = ramp(3, depth=16)
    answer = through(daemon, pnm(picture), "&type=png", bins=65536)
    read = cv2.imdecode(np.frombuffer(answer.body, np.uint8), cv2.IMREAD_UNCHANGED)
    assert np.array_equal(read[..., ::-1], picture)


@pytest.mark.parametrize("compression", range(4))
@pytest.mark.parametrize("size", [(1, 1), (1, 50), (50, 1), (333, 77)], ids=str)
def test_png_out_is_the_same_picture(daemon, compression, size):
    for channels in (1, 3):
        for picture in (noise(*size, channels), smooth(*size, channels)):
            exact = daemon.post("/histeq?type=pnm", pnm(picture))
            packed = daemon.post(f"/histeq?type=png&compression={compression}", pnm(picture))
            assert np.array_equal(packed.image, from_pnm(exact.body))


def drawing():
    """Text and frames on a plain ground."""
    cv2 = pytest.importorskip("cv2", reason="no OpenCV here")
    picture = np.full((400, 700, 3), 245, np.uint8)
    for i in range(24):
        top, left = 12 + (i // 4) * 64, 12 + (i % 4) * 170
        cv2.rectangle(picture, (left, top), (left + 150, top + 48), (200, 90, 0), 1)
        cv2.putText(picture, f"line {i}", (left + 8, top + 30), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (20, 20, 20), 1)
    return picture


def of_skimage(name):
    """The picture in scikit-image's file NAME, without scikit-image's own reader, whose imports take two seconds."""
    found = importlib.util.find_spec("skimage") or pytest.skip("no scikit-image here")
    return np.array(Image.open(*glob.glob(f"{found.submodule_search_locations[0]}/data/{name}.*")))


PICTURES_TO_PACK = {
    "photograph": lambda: of_skimage("rocket"), "portrait": lambda: of_skimage("astronaut")[..., :3], "fur": lambda: of_skimage("chelsea"),
    "gray": lambda: of_skimage("coins"), "page": lambda: of_skimage("page"), "drawing": drawing, "constant": lambda: np.full((200, 300, 3), 9, np.uint8), "noise": lambda: noise(200, 150, 3),
    "deep": lambda: np.add.outer(np.arange(200) * 97, np.arange(300) * 31).astype(np.uint16)}


@pytest.mark.parametrize("name", PICTURES_TO_PACK)
def test_each_compression_is_no_larger_than_those_below(daemon, name):
    """This holds for all pictures with few or many repetitions; on a photograph levels 1 and 2 differ by chance."""
    picture = pnm(PICTURES_TO_PACK[name]())
    packed = [daemon.post(f"/brightness?shift=0&type=png&compression={level}", picture) for level in range(4)]
    sizes = [len(answer.body) for answer in packed]
    assert sizes[3] == min(sizes) and sizes[1] < sizes[0] * 1.001 and sizes[2] < sizes[1] * 1.02
    assert name == "noise" or sizes[3] < 0.985 * sizes[1]
    cv2 = pytest.importorskip("cv2", reason="no OpenCV here")
    assert np.array_equal(*(cv2.imdecode(np.frombuffer(packed[level].body, np.uint8), -1) for level in (3, 0)))


# ---- PNM

@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("depth", [8, 16])
def test_pnm_in_and_out(daemon, channels, depth):
    picture = ramp(channels, depth)
    answer = through(daemon, pnm(picture), bins=1 << depth)
    assert answer.body == pnm(picture)
    assert answer.timing["output"]["depth"] == depth


def test_pnm_headers_of_all_kinds(daemon):
    picture = noise(6, 4)
    plain = daemon.post("/histeq", pnm(picture)).body
    for header in (b"P5 6 4 255 ", b"P5\n# a comment\n6 4\n# another\n255\n", b"P5\r\n6\r\n4\r\n255\n",
                   b"P5\t6\n\n\n4 255\n", b"P5\n6 # wide\n4\n255\n"):
        assert daemon.post("/histeq", header + picture.tobytes()).body == plain, header


@pytest.mark.parametrize("maximum", [1, 15, 100, 254, 300, 4095, 65534])
def test_pnm_of_other_maxima(daemon, maximum):
    """Samples are spread over the full range, rounded half up."""
    values = np.random.default_rng(4).integers(0, maximum + 1, (20, 30))
    full = 255 if maximum < 256 else 65535
    data = b"P5 30 20 %d\n" % maximum + values.astype(np.uint8 if full == 255 else ">u2").tobytes()
    spread = (2 * full * values + maximum) // (2 * maximum)
    wanted = daemon.post("/histeq", pnm(spread.astype(np.uint8 if full == 255 else np.uint16)))
    assert daemon.post("/histeq", data).body == wanted.body


def digits(values, between=b" "):
    return between.join(b"%d" % v for v in np.ravel(values))


BITS = np.random.default_rng(6).integers(0, 2, (9, 21), np.uint8)


@pytest.mark.parametrize("data", [
    b"P1\n21 9\n" + digits(BITS, b""), b"P1 #c\n21 9\n" + digits(BITS, b"\n"), b"P1\n21 9\n# c\n" + digits(BITS[0]) + b"\n#d\n" + digits(BITS[1:]),
    b"P4\n21 9\n" + np.packbits(BITS, axis=1).tobytes(), b"P4 # c\n24 9 " + np.packbits(BITS, axis=1).tobytes(),
    b"P2\n7 5\n255\n" + digits(noise(7, 5)), b"P2 7 5 15 " + digits(noise(7, 5) % 16, b"\r\n\t"), b"P2 7 5 255 " + digits(noise(7, 5), b" # 9\n"),
    b"P2 7 5 65535\n" + digits(noise(7, 5).astype(int) * 257), b"P3\n7 5\n255 " + digits(smooth(7, 5)), b"P3 7 5 17\n" + digits(smooth(7, 5) % 18),
], ids=lambda data: repr(data[:12]))
def test_bitmaps_and_plain_pnm(daemon, data):
    """As PIL reads them. The header is known before a sample is read."""
    picture = Image.open(io.BytesIO(data))
    reading = np.array(picture.convert("L") if picture.mode == "1" else picture)
    reading = reading.astype(np.uint16) if picture.mode.startswith("I") else reading
    assert same_as(daemon, data, reading)
    info = daemon.post("/info", data).json
    assert (info["type"], info["width"], info["height"]) == ("pnm", *picture.size)
    assert (info["channels"], info["depth"]) == (len(picture.getbands()), reading.itemsize * 8)


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("kind,channels", [("GRAYSCALE", 1), ("GRAYSCALE_ALPHA", 2), ("RGB", 3), ("RGB_ALPHA", 4)])
def test_pam(daemon, kind, channels, depth):
    """As OpenCV reads it, which leaves the order of channels as it is in the file."""
    cv2 = pytest.importorskip("cv2", reason="no OpenCV here")
    samples = noise(7, 5 * channels).astype(">u2" if depth == 16 else np.uint8) * (257 if depth == 16 else 1)
    head = f"P7\nWIDTH 7\nHEIGHT 5\nDEPTH {channels}\nMAXVAL {2 ** depth - 1}\nTUPLTYPE {kind}\nENDHDR\n"
    data = head.encode() + samples.tobytes()
    reading = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    rows = b"".join(b"\0" + row.astype(samples.dtype).tobytes() for row in reading)
    plain = png_of_chunks(7, 5, depth, [0, 4, 2, 6][channels - 1], rows)
    assert reading.size == samples.size and daemon.post("/flip?type=png", data).body == daemon.post("/flip?type=png", plain).body
    assert daemon.post("/info", data).json["hasAlpha"] == (channels in (2, 4))


@pytest.mark.parametrize("source", ["JPEG", "PNG"])
def test_sixteen_to_eight(daemon, source):
    """A JPEG's samples are rounded from 16 bits, not cut: v * 255 / 65535, half up."""
    level = 40000
    picture = np.full((16, 16), level, np.uint16)
    answer = daemon.post("/histeq?type=jpeg&quality=100", pnm(picture))
    assert abs(int(answer.image[8, 8]) - round(level / 257)) <= 1


def test_even_pictures_stay(daemon):
    """histeq leaves them unchanged, in every format."""
    for value in (0, 1, 128, 255):
        picture = even([value, 255 - value, value // 2])
        for data in (png(picture), pnm(picture)):
            assert np.array_equal(daemon.post("/histeq?type=png", data).image, picture)


def test_unreadable_kinds_are_named(daemon):
    """A 12-bit, lossless or arithmetic JPEG that cannot be read is refused by that name."""
    data = bytearray(jpeg(smooth(16, 16)))
    at = data.index(b"\xff\xc0")
    twelve, lossless = bytearray(data), bytearray(data)
    twelve[at + 4] = 12
    lossless[at + 1] = 0xc3
    check_problem(daemon.post("/histeq", bytes(twelve)), 415, "12 bits")
    check_problem(daemon.post("/histeq", bytes(lossless)), 415, "lossless")
    assert daemon.works()
