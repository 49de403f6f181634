# SPDX-License-Identifier: Apache-2.0
"""JPEGs that are not as the standard has them. Where no pixel depends on it, the pixels are PIL's and OpenCV's reading of the
same bytes, and a note says what is odd; what can be the rest of a misread scan is 422."""
import io

import numpy as np
import pytest
from PIL import Image

from conftest import check_problem, from_pnm, jpeg, noise, smooth

cv2 = pytest.importorskip("cv2", reason="no OpenCV here")

SKIPPED, ODD = "extra bytes", "wrong fields"
PICTURE = smooth(60, 40)


def parts(data):
    """SOI, the segments, each scan with its header, EOI."""
    found, at = [data[:2]], 2
    while data[at + 1] != 0xd9:
        end = at + 2 + int.from_bytes(data[at + 2:at + 4], "big")
        while data[at + 1] == 0xda and not (data[end] == 0xff and data[end + 1] not in (0, *range(0xd0, 0xd8))):
            end += 1
        found.append(data[at:end])
        at = end
    return found + [data[at:]]


def put(data, marker, offset, *values):
    """VALUES into the first segment of MARKER, OFFSET bytes behind its 0xff."""
    at = data.index(bytes([0xff, marker])) + offset
    return data[:at] + bytes(values) + data[at + len(values):]


def without(data, *markers):
    return b"".join(part for part in parts(data) if part[1] not in markers)


def adobe(transform):
    return b"\xff\xee\0\x0eAdobe\0\x64" + bytes(4) + bytes([transform])


def before_scan(data, extra):
    at = data.index(b"\xff\xda")
    return data[:at] + extra + data[at:]


def with_restarts(picture=PICTURE, interval=1, progressive=0):
    return cv2.imencode(".jpg", picture[..., ::-1], [cv2.IMWRITE_JPEG_RST_INTERVAL, interval,
                                                     cv2.IMWRITE_JPEG_PROGRESSIVE, progressive])[1].tobytes()


def restarts(data):
    """Where restart markers stand."""
    start = data.index(b"\xff\xda")
    return [at for at in range(start, len(data) - 1) if data[at] == 0xff and 0xd0 <= data[at + 1] <= 0xd7]


def padded(data, padding, places):
    """PADDING before the restart markers at PLACES."""
    for at in sorted(places, reverse=True):
        data = data[:at] + padding + data[at:]
    return data


def by_others(data):
    """The picture as PIL and OpenCV have it; None: they do not agree, or do not read it."""
    try:
        image = Image.open(io.BytesIO(data))
        read = np.array(image)
    except (OSError, SyntaxError):
        return None
    if image.mode == "CMYK":  # PIL turns the samples into ink
        return ((255 - read[..., :3].astype(int)) * (255 - read[..., 3:]) + 127) // 255
    theirs = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    theirs = theirs[..., ::-1] if theirs is not None and theirs.ndim == 3 else theirs
    return read if np.array_equal(read, theirs) else None


def post(daemon, data):
    return daemon.post("/brightness?shift=0&type=pnm", data)


def check_shown(daemon, data, *notes):
    answer, expected = post(daemon, data), by_others(data)
    assert answer.status == 200, answer.body
    assert expected is not None and np.array_equal(from_pnm(answer.body), expected)
    found = answer.timing["notes"]
    assert len(found) == len(notes) and all(note in text for note, text in zip(notes, found)), found


# ---- fields of the header

@pytest.mark.parametrize("band", [(0, 0, 0), (1, 63, 0), (0, 62, 0), (0, 64, 0), (0, 63, 0x10), (0, 63, 1), (255, 255, 255)],
                         ids=str)
def test_band_of_a_sequential_scan(daemon, band):
    for data in (jpeg(PICTURE), jpeg(PICTURE[..., 0]), with_restarts()):
        header = 4 + data[data.index(b"\xff\xda") + 4] * 2 + 1
        check_shown(daemon, put(data, 0xda, header, *band), ODD)
    check_shown(daemon, put(jpeg(PICTURE), 0xda, 11, 0, 63, 0))


@pytest.mark.parametrize("version", [0, 2, 255])
def test_version_of_jfif(daemon, version):
    for options in ({}, {"progressive": True}):
        check_shown(daemon, put(jpeg(PICTURE, **options), 0xe0, 9, version), ODD)


@pytest.mark.parametrize("transform", [0, 1, 2, 3, 255])
def test_transforms_of_adobe(daemon, transform):
    data = without(jpeg(PICTURE), 0xe0)
    check_shown(daemon, before_scan(data, adobe(transform)), *[ODD] * (transform > 1))
    check_shown(daemon, before_scan(jpeg(PICTURE), adobe(transform)))  # JFIF decides
    inks = np.repeat(np.repeat(noise(8, 5, 4), 8, 0), 8, 1)
    data = without(encode_cmyk(inks), 0xee)
    check_shown(daemon, before_scan(data, adobe(transform)), "CMYK", *[ODD] * (transform in (1, 3, 255)))


def encode_cmyk(inks):
    out = io.BytesIO()
    Image.fromarray(inks, "CMYK").save(out, "JPEG", quality=100, subsampling=0)
    return out.getvalue()


def test_cmyk_without_adobe(daemon):
    """Its samples are inverted as with Adobe's segment."""
    data = encode_cmyk(np.repeat(np.repeat(noise(8, 5, 4), 8, 0), 8, 1))
    assert adobe(0)[:9] in data
    expected = post(daemon, data)
    for odd in (without(data, 0xee), without(data, 0xee, 0xe0)):
        check_shown(daemon, odd, "CMYK")
        assert post(daemon, odd).body == expected.body


# ---- bytes before the first scan

@pytest.mark.parametrize("options", [{}, {"progressive": True}], ids=["baseline", "progressive"])
@pytest.mark.parametrize("count", [1, 15, 16, 18, 608, 70000])
def test_bytes_between_segments(daemon, options, count):
    whole = parts(jpeg(PICTURE, **options))
    scan = next(i for i, part in enumerate(whole) if part[1] == 0xda)
    for extra in (bytes(count), (b"GPS" * count)[:count]):
        for i in range(2, scan + 1):
            check_shown(daemon, b"".join(whole[:i]) + extra + b"".join(whole[i:]), SKIPPED)


def lost(data, i, left=b""):
    """Without the 0xff of part I, or with what is LEFT of that byte."""
    whole = parts(data)
    return b"".join(whole[:i]) + left + whole[i][1:] + b"".join(whole[i + 1:])


@pytest.mark.parametrize("options", [{}, {"optimize": True}, {"progressive": True}, {"comment": b"abc", "dpi": (72, 72)},
                                     {"subsampling": 0, "exif": b"Exif\0\0MM\0\x2a\0\0\0\x08\0\0\0\0\0\0"}],
                         ids=["plain", "optimized", "progressive", "comment", "exif"])
@pytest.mark.parametrize("picture", [PICTURE, PICTURE[..., 0]], ids=["colour", "gray"])
@pytest.mark.parametrize("left", [b"", b"\xef"], ids=["gone", "changed"])
def test_a_marker_without_its_ff(daemon, left, picture, options):
    """Such a segment is passed over. Where the others still have the picture, so has the daemon; else it is refused."""
    data = jpeg(picture, **options)
    sound, shown = by_others(data), 0
    scan = next(i for i, part in enumerate(parts(data)) if part[1] == 0xda)
    for i in range(2, scan + 1):  # SOI's neighbour is the magic number's
        odd = lost(data, i, left)
        theirs = by_others(odd)
        if theirs is not None and np.array_equal(theirs, sound):
            check_shown(daemon, odd, SKIPPED)
            shown += 1
        else:
            check_problem(post(daemon, odd), 422)
    assert shown >= ("optimize" not in options and "progressive" not in options)


def test_a_lost_segment_that_decides(daemon):
    """What others then show is another picture."""
    inks = without(encode_cmyk(np.repeat(np.repeat(noise(8, 5, 4), 8, 0), 8, 1)), 0xee)
    check_problem(post(daemon, before_scan(inks, adobe(2)[1:])), 422, "0xff")
    check_shown(daemon, before_scan(inks, adobe(0)[1:]), "CMYK", SKIPPED)
    data = without(jpeg(PICTURE), 0xe0)
    check_problem(post(daemon, before_scan(data, adobe(0)[1:])), 422, "0xff")
    check_shown(daemon, before_scan(data, adobe(1)[1:]), SKIPPED)
    check_shown(daemon, before_scan(data, adobe(0)[1:] + b"\0"), SKIPPED)  # no segment
    steps = next(part for part in parts(data) if part[1] == 0xdb)
    check_problem(post(daemon, before_scan(data, steps[1:])), 422, "0xff")


# ---- bytes within scans

PADDING = [b"\0", b"\0" * 3, b"\0" * 7, b"\0" * 8, b"\0" * 40, b"\0" * 600, b"\xff\0", b"\xff\0" * 5, b"\0\xff\0\0", b"\xff\0" * 30]


@pytest.mark.parametrize("progressive", [0, 1], ids=["baseline", "progressive"])
@pytest.mark.parametrize("padding", PADDING, ids=lambda padding: f"{len(padding)} {padding[:2].hex()}")
def test_padding_before_restarts(daemon, padding, progressive):
    data = with_restarts(progressive=progressive)
    places = restarts(data)
    for chosen in (places, places[:1], places[-1:], places[2:4]):
        check_shown(daemon, padded(data, padding, chosen), SKIPPED)
    check_shown(daemon, padded(data, b"\xff" * len(padding), places))  # what the standard allows


@pytest.mark.parametrize("progressive", [0, 1], ids=["baseline", "progressive"])
def test_other_bytes_before_restarts(daemon, progressive):
    data = with_restarts(progressive=progressive)
    places = restarts(data)
    for foreign in (b"\1", b"\0\x80", b"\x80" + bytes(20), b"abc", b"\0\0\xfe", b"foreign bytes" * 9):
        for chosen in (places, places[:1], places[-1:]):
            check_problem(post(daemon, padded(data, foreign, chosen)), 422)


def test_wrong_restarts(daemon):
    data = with_restarts()
    for at in restarts(data):
        number = data[at + 1]
        for odd in (data[:at] + data[at + 2:], data[:at] + b"\xff" + bytes([0xd0 + (number + 1) % 8]) + data[at + 2:],
                    data[:at] + data[at:at + 2] + data[at:], data[:at] + b"\0" + data[at + 1:]):
            check_problem(post(daemon, odd), 422)
            check_problem(post(daemon, padded(odd, bytes(4), [at])), 422)


def test_damage_before_a_restart_accepted(daemon):
    """As libjpeg shows it, with a note."""
    data = with_restarts()
    odd = padded(data, b"abc", restarts(data)[1:2])
    answer = daemon.post("/brightness?shift=0&type=pnm&damaged=accept", odd)
    assert "damaged" in answer.timing["notes"][0] and "restart" in answer.timing["notes"][1]
    assert np.array_equal(from_pnm(answer.body), by_others(odd))


def test_padding_behind_a_scan(daemon):
    data = jpeg(PICTURE)
    for padding in (bytes(12), b"\xff\0" * 6, bytes(15)):
        check_shown(daemon, data[:-2] + padding + data[-2:], SKIPPED)
    for rest in (bytes(64), bytes(12) + b"left", bytes(20) + b"\1"):
        check_problem(post(daemon, data[:-2] + rest + data[-2:]), 422)


# ---- the order of scans

def test_ac_before_dc(daemon):
    """Scans of a progressive gray picture: DC, AC, and what refines them."""
    whole = parts(jpeg(PICTURE[..., 0], progressive=True))
    ends = [i + 1 for i, part in enumerate(whole) if part[1] == 0xda]
    first = next(i for i, part in enumerate(whole) if part[1] == 0xc4)
    scans = [whole[a:b] for a, b in zip([first] + ends, ends)]
    assert [list(scan[-1][7:10]) for scan in scans[:3]] == [[0, 0, 1], [1, 5, 2], [6, 63, 2]]

    def of(*chosen):
        return b"".join(whole[:first] + [part for scan in chosen for part in scan] + whole[ends[-1]:])

    dc, ac = scans[0], scans[1]
    assert of(*scans) == b"".join(whole)
    check_shown(daemon, of(ac, dc, *scans[2:]), ODD)
    check_shown(daemon, of(ac, scans[2], dc, *scans[3:]), ODD)
    rest = [scan for scan in scans[1:] if scan[-1][7]]
    check_problem(post(daemon, of(*rest)), 422, "without a scan")
    check_problem(post(daemon, of(dc, *scans)), 422, "progression")
    check_problem(post(daemon, of(dc, *scans[2:])), 422, "progression")


def test_the_first_scan_lost(daemon):
    """Its bytes are skipped as any before the first scan, but a component is missing then."""
    whole = parts(jpeg(PICTURE, progressive=True))
    check_problem(post(daemon, lost(b"".join(whole), next(i for i, part in enumerate(whole) if part[1] == 0xda))), 422)


# ---- profiles

PROFILE = bytes(16) + b"RGB XYZ " + bytes(range(256)) * 3


def profile_part(number, count, data):
    body = b"ICC_PROFILE\0" + bytes([number, count]) + data
    return b"\xff\xe2" + (len(body) + 2).to_bytes(2, "big") + body


@pytest.mark.parametrize("count", [1, 3])
def test_a_profile_twice(daemon, count):
    cuts = [PROFILE[len(PROFILE) * i // count:len(PROFILE) * (i + 1) // count] for i in range(count)]
    pieces = [profile_part(i + 1, count, cut) for i, cut in enumerate(cuts)]
    once = b"".join(pieces)
    for twice in (once, once + once, b"".join(piece * 2 for piece in pieces), once * 4, once + pieces[-1]):
        answer = daemon.post("/brightness?shift=0", before_scan(jpeg(PICTURE), twice))
        assert answer.timing["notes"] == [] and Image.open(io.BytesIO(answer.body)).info["icc_profile"] == PROFILE
    for other in (pieces[0][:-1] + b"\1", profile_part(1, count, cuts[0][:-1]), profile_part(count + 1, count, cuts[0]),
                  profile_part(1, count + 1, cuts[0])):
        answer = daemon.post("/brightness?shift=0", before_scan(jpeg(PICTURE), once + other))
        assert "profile" in answer.timing["notes"][0] and "icc_profile" not in Image.open(io.BytesIO(answer.body)).info
