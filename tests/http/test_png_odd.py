# SPDX-License-Identifier: Apache-2.0
"""PNGs that break a rule on which no pixel depends are shown with a note, as other readers show them; where a pixel may depend
on it they are refused. The right pixels are the ones that the files were made of, and Pillow's where it reads them."""
import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageFile, ImageOps

from conftest import check_problem, chunk, exif, from_pnm, noise, png_of_chunks

WIDTH, HEIGHT = 31, 20
PICTURE = noise(WIDTH, HEIGHT, 3)
ROWS = b"".join(b"\0" + row.tobytes() for row in PICTURE)
PACKED = zlib.compress(ROWS)
END = chunk(b"IEND", b"")
LEFT_OUT, COLOUR = "parts of the PNG", "gAMA"


def rgb(*before, packed=PACKED, behind=(END,)):
    """PICTURE with chunks before and behind its IDAT."""
    return png_of_chunks(WIDTH, HEIGHT, 8, 2, b"", *before, compressed=packed)[:-len(END)] + b"".join(behind)


def read(daemon, data, query=""):
    answer = daemon.post(f"/brightness?shift=0&type=pnm{query}", data)
    assert answer.status == 200, answer.body
    return from_pnm(answer.body), answer.timing["notes"]


def check_noted(daemon, data, by_pillow=True):
    """200, with PICTURE and one note."""
    for query in ("", "&damaged=accept"):
        picture, notes = read(daemon, data, query)
        assert np.array_equal(picture, PICTURE)
        assert len(notes) == 1 and LEFT_OUT in notes[0], notes
    if by_pillow:
        ImageFile.LOAD_TRUNCATED_IMAGES = True  # or it looks at checksums of chunks that it does not need
        try:
            assert np.array_equal(np.array(Image.open(io.BytesIO(data))), PICTURE)
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = False


def bad(data):
    """The checksum of a chunk, the last of DATA, is wrong."""
    return data[:-1] + bytes([data[-1] ^ 1])


# ---- the stream of pixels

@pytest.mark.parametrize("extra", [b"\0", b"abcdefg", bytes(5000), PACKED], ids=len)
def test_bytes_behind_the_stream(daemon, extra):
    check_noted(daemon, rgb(packed=PACKED + extra))
    check_noted(daemon, rgb(behind=(chunk(b"IDAT", extra), END)))


@pytest.mark.parametrize("extra", [b"\0", ROWS[:1 + 3 * WIDTH], ROWS[:-1], ROWS], ids=len)
def test_pixels_too_many(daemon, extra):
    packed = zlib.compress(ROWS + extra)
    check_noted(daemon, rgb(packed=packed))
    check_problem(daemon.post("/histeq", rgb(packed=packed[:-1] + bytes([packed[-1] ^ 1]))), 422, "checksum")
    check_problem(daemon.post("/histeq", rgb(packed=packed[:-2])), 422, "IDAT")


def with_zeros(data, mebibytes):
    """As zlib.compress(data + zeros), which would take seconds."""
    zeros, packer = bytes(1 << 20), zlib.compressobj()
    begin = packer.compress(data) + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)
    total = zlib.adler32(data)
    for _ in range(mebibytes):
        total = zlib.adler32(zeros, total)
    return begin + piece * mebibytes + b"\x03\0" + struct.pack(">I", total)  # an empty last block


def test_far_too_many_pixels(daemon):
    assert zlib.decompress(with_zeros(ROWS, 2)) == ROWS + bytes(2 << 20)
    check_problem(daemon.post("/histeq", rgb(packed=zlib.compress(ROWS + ROWS + b"\0"))), 422, "far more")
    bomb = rgb(packed=with_zeros(ROWS, 200))
    assert daemon.cost(lambda: check_problem(daemon.post("/histeq", bomb), 422, "far more")) < 0.5


@pytest.mark.parametrize("packed", [PACKED[:-1], PACKED[:-4], PACKED[:-1] + b"!", zlib.compress(ROWS[:-1]), b"", b"x", PACKED[1:],
                                    b"\x78\xbb" + PACKED[2:], zlib.compress(b"\5" + ROWS[1:])],
                         ids=["3 bytes of Adler", "no Adler", "wrong Adler", "a byte less", "nothing", "a byte", "shifted",
                              "a dictionary", "no such filter"])
def test_pixels_that_are_not_sure(daemon, packed):
    check_problem(daemon.post("/histeq", rgb(packed=packed)), 422)


def test_idats_of_any_length(daemon):
    """A byte each, and empty ones between; all of it is sound."""
    for step in (1, 2, 7):
        parts = [chunk(b"IDAT", PACKED[i:i + step]) + chunk(b"IDAT", b"") for i in range(0, len(PACKED), step)]
        picture, notes = read(daemon, rgb(packed=b"", behind=(*parts, END)))
        assert np.array_equal(picture, PICTURE) and notes == []


def test_other_chunks_between_idats(daemon):
    parts = chunk(b"IDAT", PACKED[200:]), END
    check_problem(daemon.post("/histeq", rgb(packed=PACKED[:200], behind=(chunk(b"tEXt", b"a\0b"), *parts))), 422)


def test_a_window_smaller_than_it_is_used(daemon):
    """Pillow's zlib does not need what the stream says about its window."""
    rows = np.tile(noise(1000, 1, 3), (20, 1, 1))
    packed = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    data = png_of_chunks(1000, 20, 8, 2, b"", compressed=b"\x08\x1d" + packed[2:])
    picture, notes = read(daemon, data)
    assert np.array_equal(picture, rows) and np.array_equal(np.array(Image.open(io.BytesIO(data))), rows) and notes == []


# ---- other chunks

NEEDLESS = {b"tEXt": b"Comment\0hello", b"iTXt": b"Comment\0\0\0\0\0hello", b"tIME": bytes(7), b"pHYs": bytes(9),
            b"prVt": b"anything", b"eXIf": exif(6)[6:],
            b"iCCP": b"a\0\0" + zlib.compress(bytes(200)), b"gAMA": b"\0\0\xb1\x8f", b"sRGB": b"\0", b"zTXt": b"a\0\0x"}


@pytest.mark.parametrize("kind", NEEDLESS, ids=lambda kind: kind.decode())
def test_a_wrong_checksum_that_no_pixel_needs(daemon, kind):
    broken = bad(chunk(kind, NEEDLESS[kind]))
    check_noted(daemon, rgb(broken), by_pillow=kind != b"zTXt")
    check_noted(daemon, rgb(behind=(broken, END)), by_pillow=kind != b"zTXt")
    answer = daemon.post("/flip?type=png", rgb(broken))
    assert kind not in answer.body, "what is broken is not passed on"
    assert daemon.post("/info", rgb(broken)).json["hasProfile"] is False


@pytest.mark.parametrize("kind", [b"tEXt", b"prVt", b"eXIf"], ids=lambda kind: kind.decode())
@pytest.mark.parametrize("length", [-1, 1, 100, 1 << 20, (1 << 31) - 1])
def test_a_wrong_length_that_no_pixel_needs(daemon, kind, length):
    """The checksum shows where such a chunk ends, so a tRNS behind it counts."""
    sound = chunk(kind, NEEDLESS[kind])
    wrong = struct.pack(">I", max(0, length if length > 100 else len(NEEDLESS[kind]) + length)) + sound[4:]
    check_noted(daemon, rgb(wrong), by_pillow=False)
    check_noted(daemon, rgb(behind=(wrong, END)), by_pillow=False)
    key = b"".join(b"\0" + bytes([sample]) for sample in PICTURE[3, 4])
    answer = daemon.post("/flip?type=png", rgb(wrong, chunk(b"tRNS", key)))
    assert answer.image.shape[2] == 4 and answer.image[HEIGHT - 4, 4, 3] == 0


def test_many_wrong_lengths_cost_little(daemon):
    """A file could ask for a walk over itself at each chunk."""
    wrong = struct.pack(">I", 4 << 20) + chunk(b"prVt", b"data")[4:] + chunk(b"tEXt", b"a\0b")
    check_noted(daemon, rgb(*[wrong] * 4), by_pillow=False)
    right, rest = chunk(b"prVt", b"data") + chunk(b"tEXt", b"a\0b"), bytes(6 << 20)
    cost = [daemon.cost(lambda: check_problem(daemon.post("/histeq", rgb(*[kind] * 20000, rest)), 422)) for kind in (right, wrong)]
    assert cost[1] < cost[0] + 0.3  # processor seconds; without a bound it is 8


@pytest.mark.parametrize("kind", [b"IHDR", b"PLTE", b"tRNS", b"IDAT"], ids=lambda kind: kind.decode())
def test_a_wrong_checksum_that_pixels_need(daemon, kind):
    data = png_of_chunks(4, 1, 8, 3, b"\0\0\1\0\1", chunk(b"PLTE", bytes(6)), chunk(b"tRNS", b"\7"))
    at = data.index(kind)
    end = at + 4 + int.from_bytes(data[at - 4:at], "big") + 4
    broken = bad(data[:end]) + data[end:]
    check_problem(daemon.post("/histeq", broken), 422, kind.decode())
    answer = daemon.post("/histeq?damaged=accept&type=png", broken)
    assert answer.status == 200 and any("damaged" in note for note in answer.timing["notes"])
    assert answer.image.tolist() == daemon.post("/histeq?type=png", data).image.tolist()


@pytest.mark.parametrize("chunks", [[chunk(b"ABCD", b"x")], [chunk(b"IHDR", bytes(13))],
                                    [chunk(b"PLTE", bytes(3)), chunk(b"PLTE", bytes(3))]],
                         ids=["unknown", "second IHDR", "second PLTE"])
def test_chunks_that_may_mean_other_pixels(daemon, chunks):
    check_problem(daemon.post("/histeq", rgb(*chunks)), 422)


@pytest.mark.parametrize("behind", [(), (END[:5],), (END[:-1],), (bad(END),), (b"garbage that is no chunk",), (bytes(12),),
                                    (chunk(b"tEXt", b"a\0b"),)],
                         ids=["none", "5 bytes", "11 bytes", "wrong checksum", "garbage", "zeros", "text alone"])
def test_a_missing_iend(daemon, behind):
    check_noted(daemon, rgb(behind=behind), by_pillow=False)


def test_bytes_behind_iend_are_nothing(daemon):
    assert read(daemon, rgb() + b"anything")[1] == []


# ---- orientation

def as_text(data):
    """As ImageMagick writes a profile into text."""
    digits = data.hex()
    return f"\nexif\n{len(data):8}\n{chr(10).join(digits[i:i + 72] for i in range(0, len(digits), 72))}\n".encode()


KEYWORD = b"Raw profile type exif\0"
KINDS = {"eXIf": lambda o: chunk(b"eXIf", exif(o)[6:]), "tEXt": lambda o: chunk(b"tEXt", KEYWORD + as_text(exif(o))),
         "zTXt": lambda o: chunk(b"zTXt", KEYWORD + b"\0" + zlib.compress(as_text(exif(o)))),
         "long zTXt": lambda o: chunk(b"zTXt", KEYWORD + b"\0" + zlib.compress(as_text(exif(o) + bytes(300000)))),
         "without its head": lambda o: chunk(b"tEXt", KEYWORD + as_text(exif(o)[6:]).upper().replace(b"EXIF", b"exif"))}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("behind", [False, True], ids=["before IDAT", "behind IDAT"])
def test_orientation(daemon, kind, behind):
    for orientation in range(1, 9):
        part = KINDS[kind](orientation)
        data = rgb(behind=(part, END)) if behind else rgb(part)
        picture, notes = read(daemon, data)
        reference = Image.open(io.BytesIO(rgb(behind=(KINDS["eXIf"](orientation), END))))
        assert np.array_equal(picture, np.array(ImageOps.exif_transpose(reference))) and notes == []
        if kind in ("tEXt", "zTXt"):
            ours = Image.open(io.BytesIO(data))
            ours.load()
            assert np.array_equal(picture, np.array(ImageOps.exif_transpose(ours))), "Pillow reads such text, too"
        if orientation >= 5:
            assert daemon.post("/info", data).json["width"] == HEIGHT


@pytest.mark.parametrize("part", [KEYWORD + b"\0" + zlib.compress(as_text(exif(6)))[:20] + b"!!!!", KEYWORD, KEYWORD[:-1], KEYWORD + b"\0",
                                  KEYWORD + b"\1" + zlib.compress(as_text(exif(6))), KEYWORD + b"\0" + zlib.compress(b"\n\n\n45"),
                                  KEYWORD + b"\0" + zlib.compress(b"exif")], ids=range(7))
def test_text_that_is_no_orientation(daemon, part):
    for kind in (b"zTXt", b"tEXt"):
        assert np.array_equal(read(daemon, rgb(chunk(kind, part)))[0], PICTURE)


def test_exif_counts_before_text(daemon):
    for parts in ((KINDS["eXIf"](3), KINDS["tEXt"](6)), (KINDS["zTXt"](6), KINDS["eXIf"](3))):
        assert np.array_equal(read(daemon, rgb(*parts))[0], PICTURE[::-1, ::-1])


def test_text_bombs_of_orientation(daemon):
    """One text is looked at, and the beginning of it."""
    bomb = rgb(*[chunk(b"zTXt", KEYWORD + b"\0" + zlib.compress(bytes(20 << 20), 9))] * 100)
    assert daemon.cost(lambda: read(daemon, bomb)) < 0.5


EMPTY_BLOCKS = b"\x78\x9c" + sum(2 << 10 * i for i in range(4)).to_bytes(5, "little") * (3 << 20)  # 15 MiB


@pytest.mark.parametrize("part", [lambda: chunk(b"zTXt", KEYWORD + b"\0" + EMPTY_BLOCKS), lambda: chunk(b"iCCP", b"a\0\0" + EMPTY_BLOCKS)],
                         ids=["text", "profile"])
def test_megabytes_that_unpack_to_nothing(daemon, part):
    data = rgb(part())
    read(daemon, rgb(chunk(b"prVt", EMPTY_BLOCKS)))  # so that a slot has the memory
    assert daemon.cost(lambda: np.testing.assert_array_equal(read(daemon, data)[0], PICTURE)) < 0.3


# ---- colour

COLOURS = {b"gAMA": b"\0\0\xb1\x8f", b"cHRM": struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000),
           b"sRGB": b"\1", b"cICP": b"\x09\x10\0\1", b"mDCV": bytes(range(24)), b"cLLI": bytes(range(8))}


def chunks_of(data):
    at, found = 8, {}
    while at < len(data):
        length = int.from_bytes(data[at:at + 4], "big")
        found.setdefault(data[at + 4:at + 8], data[at + 8:at + 8 + length])
        at += 12 + length
    return found


@pytest.mark.parametrize("path", ["/flip", "/grayscale", "/resize?width=7", "/flip?compression=3"])
def test_colour_goes_along(daemon, path):
    for kinds in (*([kind] for kind in COLOURS), list(COLOURS)):
        data = rgb(*[chunk(kind, COLOURS[kind]) for kind in kinds])
        answer = daemon.post(path, data)
        found = chunks_of(answer.body)
        assert {kind: found.get(kind) for kind in COLOURS} == {kind: COLOURS[kind] if kind in kinds else None for kind in COLOURS}
        assert list(found)[0] == b"IHDR" and answer.timing["notes"] == []
        assert Image.open(io.BytesIO(answer.body)).info.get("gamma") == (0.45455 if b"gAMA" in kinds else None)


@pytest.mark.parametrize("target", ["jpeg", "webp", "pnm"])
@pytest.mark.parametrize("kind", COLOURS, ids=lambda kind: kind.decode())
def test_lost_colour_is_noted(daemon, target, kind):
    answer = daemon.post(f"/flip?type={target}", rgb(chunk(kind, COLOURS[kind])))
    assert answer.status == 200 and len(answer.timing["notes"]) == 1 and COLOUR in answer.timing["notes"][0]


def test_colour_beside_others(daemon):
    """The first of two counts; one of a wrong length is left out; next to a profile both stay."""
    answer = daemon.post("/flip", rgb(chunk(b"gAMA", b"\0\0\0\1"), chunk(b"gAMA", b"\0\0\0\2")))
    assert chunks_of(answer.body)[b"gAMA"] == b"\0\0\0\1" and answer.body.count(b"gAMA") == 1
    answer = daemon.post("/flip", rgb(chunk(b"gAMA", b"\0\0\1"), chunk(b"sRGB", b"\0\0"), chunk(b"sRGB", b"\2")))
    found = chunks_of(answer.body)
    assert b"gAMA" not in found and found[b"sRGB"] == b"\2" and LEFT_OUT in answer.timing["notes"][0]
    profile = bytes(16) + b"RGB " + bytes(200)
    answer = daemon.post("/flip", rgb(chunk(b"iCCP", b"x\0\0" + zlib.compress(profile)), chunk(b"cICP", COLOURS[b"cICP"])))
    assert Image.open(io.BytesIO(answer.body)).info["icc_profile"] == profile
    assert chunks_of(answer.body)[b"cICP"] == COLOURS[b"cICP"] and answer.timing["notes"] == []
