# SPDX-License-Identifier: Apache-2.0
"""metadata=keep|copyright|none: EXIF and XMP of results, as Pillow reads them.
covers: pipeline/codecs/common/texts.c"""
import io
import random
import struct
import subprocess

import numpy as np
import pytest
from PIL import Image, ImageCms

from conftest import BURIN, check_problem, chunk, smooth


XMP = ('<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
       'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" '
       'xmlns:dc="http://purl.org/dc/elements/1.1/" tiff:Orientation="6"><dc:creator>Ζωή</dc:creator></rdf:Description>'
       '</rdf:RDF></x:xmpmeta>').encode()
UPRIGHT_XMP = XMP.replace(b'Orientation="6"', b'Orientation="1"')
JPEG_XMP = b"http://ns.adobe.com/xap/1.0/\0"
NOTE = "metadata were dropped"
PIXELS = smooth(60, 40)
READ = [("JPEG", {"quality": 95}), ("PNG", {}), ("WEBP", {"lossless": True})]
WRITTEN = ["jpeg", "png", "webp"]


def exif_of(orientation=6, endian="<"):
    exif = Image.Exif()
    exif.endian = endian
    exif[0x0112] = orientation
    exif[0x010f], exif[0x013b], exif[0x8298], exif[0x0100] = "Maker", "Ann Artist", "(c) Ann", 4000
    exif[0x011a] = 72.0
    exif[0x8769] = {0x829a: 0.008, 0x9003: "2026:01:02 03:04:05", 0x927c: b"offsets of a maker", 0xa002: 4000, 0xa003: 3000,
                    0x9286: b"ASCII\0\0\0a comment", 0xa005: {1: "R98"}}
    exif[0x8825] = {1: "N", 2: (37.0, 58.0, 17.5), 3: "E", 4: (23.0, 43.0, 36.25)}
    return exif


def picture(kind, exif, xmp=b"", **options):
    """A file of KIND with TIFF block EXIF. Pillow's WebP takes XMP; the others get theirs by hand."""
    out = io.BytesIO()
    options = {"exif": (b"Exif\0\0" if kind == "JPEG" else b"") + exif, **options} if exif else options
    if kind == "WEBP":
        options["xmp"] = xmp
    Image.fromarray(PIXELS).save(out, kind, **options)
    data = out.getvalue()
    if kind == "JPEG" and xmp:
        data = data[:2] + app1(JPEG_XMP + xmp) + data[2:]
    if kind == "PNG" and xmp:
        data = data[:33] + chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp) + data[33:]
    return data


def app1(data):
    return b"\xff\xe1" + struct.pack(">H", len(data) + 2) + data


def parts(body):
    """(EXIF as a dict with its directories, XMP) as Pillow reads them."""
    image = Image.open(io.BytesIO(body))
    image.load()
    exif = image.getexif()
    read = {tag: value for tag, value in exif.items() if tag not in (0x8769, 0x8825)}
    for place in (0x8769, 0x8825):
        directory = dict(exif.get_ifd(place))
        if 0xa005 in directory:
            directory[0xa005] = dict(exif.get_ifd(0xa005))
        if directory:
            read[place] = directory
    xmp = image.info.get("xmp") or image.info.get("XML:com.adobe.xmp")
    for marker, data in getattr(image, "applist", []):
        if marker == "APP1" and data.startswith(JPEG_XMP):
            xmp = data[len(JPEG_XMP):]
    return read, xmp.encode() if isinstance(xmp, str) else xmp


@pytest.mark.parametrize("endian", "<>")
@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("read,options", READ)
def test_all_of_it_goes_along(daemon, read, options, written, endian):
    data = picture(read, exif_of(6, endian).tobytes()[6:], XMP, **options)
    before, _ = parts(data)
    answer = daemon.post(f"/resize?width=20&type={written}&metadata=keep", data)
    after, xmp = parts(answer.body)
    assert answer.status == 200 and answer.image.shape[:2] == (30, 20), "turned by the orientation, which then is 1"
    del before[0x0100]
    for lost in (0x927c, 0xa002, 0xa003):
        del before[0x8769][lost]
    before[0x0112] = 1
    assert after == before and xmp == UPRIGHT_XMP and not answer.timing["notes"]


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("read,options", READ)
def test_copyright_alone(daemon, read, options, written):
    data = picture(read, exif_of().tobytes()[6:], XMP, **options)
    after, xmp = parts(daemon.post(f"/flop?type={written}&metadata=copyright", data).body)
    assert after == {0x013b: "Ann Artist", 0x8298: "(c) Ann"} and xmp is None


@pytest.mark.parametrize("written", WRITTEN)
def test_none_is_the_default(daemon, written):
    data = picture("JPEG", exif_of().tobytes()[6:], XMP)
    plain = daemon.post(f"/flop?type={written}", data).body
    assert parts(plain) == ({}, None) and daemon.post(f"/flop?type={written}&metadata=none", data).body == plain
    bare = picture("JPEG", b"")
    turned = daemon.post(f"/flop?type={written}&metadata=keep", bare)
    assert parts(turned.body) == ({}, None) and not turned.timing["notes"]


def test_pixels_stay_the_same(daemon):
    data = picture("JPEG", exif_of().tobytes()[6:], XMP)
    for kind in WRITTEN:
        assert np.array_equal(*(daemon.post(f"/flop?type={kind}&metadata={kept}", data).image for kept in ("keep", "none")))


def test_beside_a_profile_and_within_max_bytes(daemon):
    from PIL import ImageCms
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for read, options in READ:
        data = picture(read, exif_of().tobytes()[6:], XMP, icc_profile=profile, **options)
        for kind in WRITTEN:
            answer = daemon.post(f"/flop?type={kind}&metadata=keep", data)
            assert Image.open(io.BytesIO(answer.body)).info["icc_profile"] == profile and parts(answer.body)[1] == UPRIGHT_XMP
    limit = len(daemon.post("/flop?type=jpeg&metadata=keep&quality=40", data).body)
    small = daemon.post(f"/flop?type=jpeg&metadata=keep&max_bytes={limit}", data)
    assert len(small.body) <= limit and parts(small.body)[0][0x8298] == "(c) Ann"


def test_a_thumbnail_is_left_out(daemon):
    out = io.BytesIO()
    Image.fromarray(PIXELS).resize((16, 12)).save(out, "JPEG")
    thumb = out.getvalue()
    ifd1 = struct.pack("<HHHLLHHLLHHLLL", 3, 0x103, 3, 1, 6, 0x201, 4, 1, 80, 0x202, 4, 1, len(thumb), 0)
    tiff = b"II*\0" + struct.pack("<LHHHLLL", 8, 1, 0x112, 3, 1, 3, 26) + ifd1
    tiff += bytes(80 - len(tiff)) + thumb
    answer = daemon.post("/flop?type=jpeg&metadata=keep", picture("JPEG", tiff))
    assert answer.body.count(b"\xff\xd8\xff") == 1 and parts(answer.body)[0] == {0x0112: 1}


def test_types_that_cannot_carry_it(daemon):
    data = picture("JPEG", exif_of().tobytes()[6:])
    assert any(NOTE in note for note in daemon.post("/flop?type=pnm&metadata=keep", data).timing["notes"])
    assert not daemon.post("/flop?type=pnm", data).timing["notes"]


def entry(tag, kind, count, value):
    return struct.pack("<HHLL", tag, kind, count, value)


def tiff_of(*entries, tail=b"\0\0\0\0"):
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(entries)) + b"".join(entries) + tail


SOUND = entry(0x8298, 2, 4, 0x002f6341)  # "Ac/"
BROKEN = {
    "a value beyond the end": tiff_of(entry(0x010f, 2, 400, 4000), SOUND),
    "a size that wraps": tiff_of(entry(0x010f, 12, 0x20000001, 8), SOUND),
    "an unknown type": tiff_of(entry(0x010f, 77, 1, 1), SOUND),
    "no values": tiff_of(entry(0x010f, 2, 0, 1), SOUND),
    "a directory beyond the end": tiff_of(SOUND, entry(0x8769, 4, 1, 0x7fffffff)),
    "a directory that leads to itself": tiff_of(SOUND, entry(0x8769, 4, 1, 8), entry(0xa005, 4, 1, 8)),
    "a directory cut off": tiff_of(SOUND)[:-4] + b"",
    "more entries than there are": b"II*\0\x08\0\0\0\xff\xff" + SOUND,
    "directories without end": tiff_of(*[SOUND] + [entry(0x8769, 4, 1, 8)] * 120 + [entry(0xa005, 4, 1, 8)] * 120),
    "far more in the result than in the file": tiff_of(*[SOUND] + [entry(0x9000 + i, 7, 3000, 0) for i in range(200)], tail=bytes(3000)),
}


@pytest.mark.parametrize("why", BROKEN)
def test_hostile_exif_is_built_anew_or_left_out(daemon, why):
    for kind, options in READ[:2]:
        answer = daemon.post("/flop?type=png&metadata=keep", picture(kind, BROKEN[why], **options))
        assert answer.status == 200
        exif = Image.open(io.BytesIO(answer.body)).info.get("exif", b"")
        assert len(exif) < 64 << 10
        if exif:
            check_tiff(exif[6:] if exif.startswith(b"Exif") else exif)


def check_tiff(tiff):
    """Every entry of every directory leads to bytes that belong to no other: a plain reader."""
    taken = set()

    def take(at, length):
        assert at + length <= len(tiff) and not taken & set(range(at, at + length))
        taken.update(range(at, at + length))

    def directory(at):
        count, = struct.unpack_from("<H", tiff, at)
        take(at, 2 + 12 * count + 4)
        tags = []
        for i in range(count):
            tag, kind, number, value = struct.unpack_from("<HHLL", tiff, at + 2 + 12 * i)
            tags.append(tag)
            size = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8][kind] * number
            if tag in (0x8769, 0x8825, 0xa005):
                directory(value)
            elif size > 4:
                take(value, size)
            assert size
        assert tags == sorted(set(tags)) and count
    take(0, 8)
    directory(struct.unpack_from("<L", tiff, 4)[0])


def test_random_damage_to_exif(daemon):
    noise = random.Random(5)
    sound = exif_of().tobytes()[6:]
    for _ in range(60):
        tiff = bytearray(sound)
        for _ in range(noise.randint(1, 6)):
            tiff[noise.randrange(8, len(tiff))] = noise.choice([0, 1, 7, 0x7f, 0xff, noise.randrange(256)])
        answer = daemon.post("/flop?type=png&metadata=keep", picture("PNG", bytes(tiff)))
        exif = Image.open(io.BytesIO(answer.body)).info.get("exif", b"")
        assert answer.status == 200
        if exif:
            check_tiff(exif[6:] if exif.startswith(b"Exif") else exif)


@pytest.mark.parametrize("xmp", [b"no RDF", XMP + b"\0", XMP + b"\xff", XMP.replace(b"<x:", b"<!DOCTYPE a><x:", 1), XMP[:-30], b"a" * 70000])
def test_xmp_that_makes_no_sense_is_left_out_and_noted(daemon, xmp):
    answer = daemon.post("/flop?type=png&metadata=keep", picture("WEBP", exif_of().tobytes()[6:], xmp, lossless=True))
    assert parts(answer.body)[1] is None and parts(answer.body)[0][0x8298] == "(c) Ann"
    assert any(NOTE in note for note in answer.timing["notes"])


def test_packed_xmp_of_a_png(daemon):
    import zlib
    data = picture("PNG", b"")
    for text, kept in ((XMP, UPRIGHT_XMP), (XMP + b" " * 100000, None)):
        packed = data[:33] + chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(text)) + data[33:]
        assert parts(daemon.post("/flop?type=webp&metadata=keep", packed).body)[1] == kept


def test_a_limit_of_its_own(start):
    data = picture("JPEG", exif_of().tobytes()[6:], XMP)
    small = start("--metadata-bytes-max", "200")
    answer = small.post("/flop?metadata=keep", data)
    assert parts(answer.body) == ({}, None) and any(NOTE in note for note in answer.timing["notes"])
    assert parts(small.post("/flop?metadata=copyright", data).body)[0][0x8298] == "(c) Ann"


def test_several_results_each_have_their_own(daemon):
    import json
    data = picture("JPEG", exif_of().tobytes()[6:], XMP)
    outputs = [{"type": "jpeg", "metadata": "keep"}, {"type": "png", "metadata": "copyright"}, {"type": "jpeg"}]
    answer = daemon.post_form("/pipeline", [("operations", '[{"operation":"flop"}]', None), ("outputs", json.dumps(outputs), None),
                                            ("image", data, "a.jpg")], headers={"Accept": "multipart/mixed"})
    assert answer.status == 200
    assert answer.body.count(b"(c) Ann") == 2 and answer.body.count(b"Maker") == 1


def test_bad_values(daemon):
    check_problem(daemon.post("/flop?metadata=all", picture("JPEG", b"")), 400, "metadata", "none, copyright or keep")


def test_stripmeta_of_imaginary(daemon):
    data = picture("JPEG", exif_of().tobytes()[6:], XMP)
    for path in ("/flip", "/imaginary/flip"):
        assert parts(daemon.post(f"{path}?stripmeta=false", data).body)[0][0x8298] == "(c) Ann"
        assert parts(daemon.post(f"{path}?stripmeta=true", data).body) == ({}, None)


def test_burin_run(tmp_path, daemon):
    source, out = tmp_path / "in.jpg", tmp_path / "out.jpg"
    source.write_bytes(picture("JPEG", exif_of().tobytes()[6:], XMP))
    subprocess.run([BURIN, "run", "--device", "cpu", "--metadata", "keep", "flop", str(source), str(out)], check=True, timeout=60)
    assert out.read_bytes() == daemon.post("/flop?metadata=keep", source.read_bytes()).body
