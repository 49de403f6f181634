# SPDX-License-Identifier: Apache-2.0
"""Every limit at its edge: exactly the limit passes, one more is refused by the limit's name."""
import pytest

from conftest import check_problem, chunk, encode, exif, noise, png, png_of_chunks, pnm, responses

MIB64 = 64 << 20


def pnm_of_bytes(length, width=256):
    """The pieces of a sound gray PNM of LENGTH bytes; a comment fills up what the rows leave. The last piece is one byte."""
    height = (length - 64) // width
    head = b"P5\n#%s\n%d %d\n255\n"
    filler = length - width * height - len(head % (b"", width, height))
    head %= b"x" * filler, width, height
    rest, block = length - len(head) - 1000, bytes(1 << 16)
    return [head, *[block] * (rest >> 16), block[:rest % (1 << 16)], block[:999], block[:1]]


def post_bytes(daemon, path, framing, length, width=256):
    announced = {"Content-Length": str(length)} if framing == "announced" else {}
    return daemon.request("POST", path, iter(pnm_of_bytes(length, width)), announced)


# ---- the body

@pytest.mark.parametrize("framing", ["announced", "in chunks"])
def test_body_bytes_max(shared, framing):
    daemon = shared("--body-bytes-max", "100000")
    answer = post_bytes(daemon, "/histeq", framing, 100000)
    assert answer.status == 200 and answer.timing["input"]["bytes"] == 100000
    check_problem(post_bytes(daemon, "/histeq", framing, 100001), 413, "100000 bytes", "body_bytes_max")
    assert daemon.works()


@pytest.mark.parametrize("framing", ["announced", "in chunks"])
def test_sixty_four_mebibytes(daemon, framing):
    """The default of body_bytes_max."""
    answer = post_bytes(daemon, "/info", framing, MIB64, 4096)
    assert answer.status == 200 and answer.json["height"] == (MIB64 - 64) // 4096
    check_problem(post_bytes(daemon, "/info", framing, MIB64 + 1, 4096), 413, "67108864 bytes", "body_bytes_max")


def test_sixty_four_mebibytes_announced(daemon):
    """One byte decides whether a client gets 100 Continue."""
    head = b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n"
    with daemon.socket() as s:
        s.sendall(head % MIB64)
        assert s.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
    (status, headers, body), = responses(daemon.raw(head % (MIB64 + 1)))
    assert status == 413 and headers["connection"] == "close" and b"67108864 bytes" in body
    assert daemon.becomes_idle()


# ---- a form's field

@pytest.mark.parametrize("length,status", [(16384, 200), (16385, 400)])
def test_field_bytes(daemon, length, status):
    """JSON may contain blanks, so a value can have any length."""
    text = '[{"operation":"histeq"%s}]'
    value = text % (" " * (length - len(text % "")))
    assert len(value) == length
    answer = daemon.post_form("/pipeline", [("image", pnm(noise(8, 8)), "a"), ("operations", value, None)])
    if status == 200:
        assert answer.status == 200, answer.body
    else:
        check_problem(answer, 400, "operations", "longer than 16384 bytes")


# ---- the image

@pytest.mark.parametrize("made", [pnm, png, lambda pixels: encode(pixels, "JPEG")], ids=["PNM", "PNG", "JPEG"])
def test_side_max(shared, made):
    """The limit holds for each side, whatever the other is."""
    daemon = shared("--side-max", "100")
    for width, height in ((100, 100), (100, 1), (1, 100)):
        assert daemon.post("/histeq", made(noise(width, height))).status == 200
    for width, height in ((101, 1), (1, 101), (101, 101)):
        check_problem(daemon.post("/histeq", made(noise(width, height))), 422, f"{width} x {height}", "100 (side_max)")
    assert daemon.works()


@pytest.mark.parametrize("width,height", [(70000, 1), (1, 70000)])
def test_no_side_is_longer_than_65535(daemon, width, height):
    rows = (b"\0" + bytes(width)) * height
    check_problem(daemon.post("/histeq", png_of_chunks(width, height, 8, 0, rows)), 422, "65535 (side_max)")


def test_pixels_max(start):
    daemon = start("--pixels-max", "5000")
    assert daemon.post("/histeq", pnm(noise(50, 100))).status == 200
    check_problem(daemon.post("/histeq", pnm(noise(5001, 1))), 422, "5001 pixels", "5000 are allowed (pixels_max)")


# ---- what a decoder may take

def turned(data, orientation):
    """A PNG with this EXIF orientation."""
    return data[:33] + chunk(b"eXIf", exif(orientation)[6:]) + data[33:]


def test_codec_memory_bytes_of_a_png(start):
    """The rows in which it is unpacked count, and so do the rows collected for turning. Both fit the default."""
    daemon = start("--codec-memory-bytes", "256KiB")
    wide, small = png(noise(60000, 2, 4)), png(noise(3000, 40, 4))  # a row of 240,000 bytes, and of 12,000
    assert daemon.post("/grayscale?type=pnm", small).status == 200
    for data in (wide, turned(small, 6)):
        check_problem(daemon.post("/grayscale?type=pnm", data), 422, "memory to decode", "codec_memory_bytes")
    generous = start()
    for data in (wide, small, turned(small, 6)):
        assert generous.post("/grayscale?type=pnm", data).status == 200
