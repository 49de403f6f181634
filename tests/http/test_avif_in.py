# SPDX-License-Identifier: Apache-2.0
"""AVIF in: files by avifenc, whose planes avifdec writes as they were decoded. The colours are computed from these here, in
fractions, as server/README.md says; what a picture looks like comes from the picture that was encoded.

covers: pipeline/codecs/avif/reader.c pipeline/codecs/common/ycbcr.c pipeline/codecs/common/isobmff_pixels.c"""
import io
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image, ImageCms

from conftest import BURIN, check_problem, from_pnm, noise, png, pnm, smooth
from heif import Heif, box, exact_colours, ispe

there = subprocess.run([BURIN, "run", "--device", "cpu", "--type", "avif", "-", "-"], input=pnm(noise(8, 8)), capture_output=True,
                       timeout=60).returncode == 0
pytestmark = pytest.mark.skipif(not there or not shutil.which("avifenc"), reason="there is no libavif or no avifenc here")
SAME = "/brightness?shift=0"
COLOUR = np.kron(noise(14, 10, 3), np.ones((4, 4, 1), np.uint8))[:37, :53]


@pytest.fixture
def daemon(shared):
    """One for this file: others count the processes of the daemon that all tests share."""
    return shared()


def avif(tmp_path, picture, *options, **saved):
    """PICTURE: an array of 8 bits, or bytes of a y4m."""
    y4m = isinstance(picture, bytes)
    source, out = tmp_path / ("in.y4m" if y4m else "in.png"), tmp_path / "in.avif"
    source.write_bytes(picture if y4m else png(picture, **saved))
    subprocess.run(["avifenc", "-s", "10", *options, str(source), str(out)], check=True, capture_output=True, timeout=60)
    return out.read_bytes()


def described(tmp_path, data):
    """The planes that avifdec decodes, Y, and Cb and Cr if there are colours; and what it says of them."""
    source, out = tmp_path / "planes.avif", tmp_path / "planes.y4m"
    source.write_bytes(data)
    text = subprocess.run(["avifdec", str(source), str(out)], check=True, capture_output=True, timeout=60, text=True, errors="replace").stdout
    head, _, rest = out.read_bytes().partition(b"\nFRAME\n")
    fields = {field[:1]: field[1:].decode() for field in head.split()[1:]}
    width, height, kind = int(fields[b"W"]), int(fields[b"H"]), fields[b"C"]
    wide = "p10" in kind or "p12" in kind or kind in ("mono10", "mono12")
    chroma = ((height + 1) // 2 if "420" in kind else height, (width + 1) // 2 if "42" in kind else width)
    found, at = [], 0
    for rows, columns in [(height, width)] + [chroma] * (2 if "mono" not in kind else 0):
        samples = np.frombuffer(rest, "<u2" if wide else np.uint8, rows * columns, at)
        found.append(samples.reshape(rows, columns).astype(np.int64))
        at += rows * columns * (2 if wide else 1)
    return found, text


def planes(tmp_path, data):
    return described(tmp_path, data)[0]


@pytest.mark.parametrize("bits", [8, 10, 12])
@pytest.mark.parametrize("matrix,kind", [(1, "420"), (6, "422"), (9, "444"), (2, "420"), (6, "400"), (0, "444")])
@pytest.mark.parametrize("limited", [False, True], ids=["full", "limited"])
def test_colours_are_the_exact_ones_rounded(daemon, tmp_path, bits, matrix, kind, limited):
    data = avif(tmp_path, COLOUR, "-d", str(bits), "-y", kind, "-r", "l" if limited else "f", "--cicp", f"1/13/{matrix}", "--min", "0",
                "--max", "20")
    answer = daemon.post(f"{SAME}&type=pnm", data)
    assert answer.status == 200, answer.body
    got = from_pnm(answer.body)
    exact = exact_colours(planes(tmp_path, data), bits, matrix, limited)
    white = 65535 if bits > 8 else 255
    assert got.dtype == (np.uint16 if bits > 8 else np.uint8) and got.shape == exact.shape
    assert np.max(np.abs(got - np.clip(exact, 0, white))) <= 0.501
    assert answer.timing["input"]["type"] == "avif" and answer.timing["notes"] == []


def test_the_program_and_the_daemon_agree(daemon, tmp_path):
    data = avif(tmp_path, smooth(301, 203), "-d", "10", "--irot", "1")
    alone = subprocess.run([BURIN, "run", "--device", "cpu", "--type", "pnm", "brightness:shift=0", "-", "-"], input=data,
                           capture_output=True, check=True, timeout=60).stdout
    assert alone == daemon.post(f"{SAME}&type=pnm", data).body


@pytest.mark.parametrize("mirror", [None, 0, 1])
@pytest.mark.parametrize("angle", [None, 0, 1, 2, 3])
def test_turned(daemon, tmp_path, angle, mirror):
    """avifenc: 90 degrees anticlockwise times ANGLE; MIRROR 0 top to bottom, 1 left to right."""
    options = (["--irot", str(angle)] if angle is not None else []) + (["--imir", str(mirror)] if mirror is not None else [])
    data = avif(tmp_path, COLOUR, "--lossless", *options)
    expected = np.rot90(COLOUR, angle or 0)
    expected = expected if mirror is None else expected[::-1] if mirror == 0 else expected[:, ::-1]
    answer = daemon.post(f"{SAME}&type=png", data)
    assert np.array_equal(answer.image, expected)
    assert int(answer.headers["X-Origin-Width"]) == expected.shape[1]


def test_cropped(daemon, tmp_path):
    data = avif(tmp_path, COLOUR, "--lossless", "--crop", "4,2,40,30", "--irot", "2")
    assert np.array_equal(daemon.post(f"{SAME}&type=png", data).image, np.rot90(COLOUR[2:32, 4:44], 2))


def test_exif_does_not_turn_it_again(daemon, tmp_path):
    """avifenc makes irot of the EXIF, and keeps that."""
    exif = Image.Exif()
    exif[0x0112] = 6
    data = avif(tmp_path, COLOUR, "--lossless", "--irot", "3", exif=exif.tobytes())
    assert np.array_equal(daemon.post(f"{SAME}&type=png", data).image, np.rot90(COLOUR, 3))


@pytest.mark.parametrize("grid", [None, "2x2"])
def test_alpha(daemon, tmp_path, grid):
    picture = np.dstack([smooth(256, 192), np.tile(np.arange(256, dtype=np.uint8), (192, 1))])
    data = avif(tmp_path, picture, "--lossless", *(["--grid", grid] if grid else []))
    assert np.array_equal(daemon.post(f"{SAME}&type=png", data).image, picture)


def test_multiplied_alpha_is_divided(daemon, tmp_path):
    picture = np.dstack([smooth(64, 48), np.tile(np.linspace(0, 255, 64).astype(np.uint8), (48, 1))])
    data = avif(tmp_path, picture, "--premultiply", "-y", "444", "--min", "0", "--max", "0")
    got = daemon.post(f"{SAME}&type=png", data).image.astype(int)
    assert np.array_equal(got[..., 3], picture[..., 3])
    seen = picture[..., 3] > 128
    assert np.max(np.abs(got[seen] - picture[seen])) <= 4
    assert np.all(got[picture[..., 3] == 0][:, :3] == 0)


def test_profiles_travel(daemon, tmp_path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = avif(tmp_path, COLOUR, icc_profile=profile)
    for kind in ("png", "jpeg", "avif", "webp"):
        answer = daemon.post(f"{SAME}&type={kind}", data)
        assert answer.status == 200 and answer.timing["notes"] == []
        if kind in ("png", "jpeg"):
            assert Image.open(io.BytesIO(answer.body)).info["icc_profile"] == profile
        else:
            assert profile in answer.body


def test_primaries_without_a_profile_are_noted(daemon, tmp_path):
    """12: Display P3."""
    for primaries, noted in ((12, 1), (1, 0)):
        notes = daemon.post(f"{SAME}&type=png", avif(tmp_path, COLOUR, "--cicp", f"{primaries}/13/6")).timing["notes"]
        assert len(notes) == noted and all("primaries" in note for note in notes)


def test_default_type_is_the_input_s(daemon, tmp_path):
    assert daemon.post(SAME, avif(tmp_path, COLOUR)).headers["Content-Type"] == "image/avif"
    deep = daemon.post(SAME, avif(tmp_path, COLOUR, "-d", "10"))
    assert deep.headers["Content-Type"] == "image/avif" and ["8 bits" in note for note in deep.timing["notes"]] == [True]


def test_notes_of_both_runs(daemon, tmp_path):
    """avifenc gives alpha to every sequence: the first run has one note, the second the other."""
    frame = png(COLOUR)
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(frame)
    subprocess.run(["avifenc", "-s", "10", str(tmp_path / "a.png"), str(tmp_path / "b.png"), str(tmp_path / "s.avif")], check=True,
                   capture_output=True, timeout=60)
    answer = daemon.post(f"{SAME}&type=jpeg", (tmp_path / "s.avif").read_bytes())
    assert answer.status == 200 and len(answer.timing["notes"]) == 2, answer.timing
    assert "first frame" in answer.timing["notes"][0] and "transparency" in answer.timing["notes"][1]


def test_values_and_info(daemon, tmp_path):
    data = avif(tmp_path, COLOUR, "--lossless", "-d", "10")
    facts = daemon.post("/info", data).json
    assert facts["type"] == "avif" and (facts["width"], facts["height"], facts["depth"]) == (53, 37, 16), facts
    still = avif(tmp_path, COLOUR, "--lossless")
    assert daemon.post("/maximum", still).json["values"][0]["value"] == daemon.post("/maximum", png(COLOUR)).json["values"][0]["value"]


def test_several_results(daemon, tmp_path):
    data = avif(tmp_path, smooth(200, 150), "--lossless")
    one, other = (daemon.post("/resize?widths=60,30&types=png", body) for body in (data, png(smooth(200, 150))))
    assert one.status == 200 and one.body.count(b"Content-Type: image/png") == 2
    images = [[part[:part.rindex(b"IEND") + 8] for part in answer.body.split(b"\r\n\r\n") if part.startswith(b"\x89PNG")]
              for answer in (one, other)]
    assert images[0] == images[1] and len(images[0]) == 2


@pytest.mark.parametrize("main", ["png", "avif"])
@pytest.mark.parametrize("deep", [8, 10])
def test_masks(daemon, tmp_path, main, deep):
    """As PNGs of the same samples do: 1023 of 10 bits is white, too. The first run of the job decodes all that is AVIF."""
    keep, remove = np.zeros((2, 37, 53), np.uint8)
    keep[5:20, 5:15], remove[10:30, 30:40] = 255, 255
    files = {"mask": avif(tmp_path, keep, "-y", "400", "-d", str(deep), "-l"), "rmask": avif(tmp_path, np.dstack([remove] * 3), "-l")}
    image = ("image", avif(tmp_path, COLOUR, "-l") if main == "avif" else png(COLOUR), "a")
    wanted = daemon.post_form("/carve?dx=-12&type=png", [("image", png(COLOUR), "a"), ("mask", png(keep), "k"), ("rmask", png(remove), "r")])
    assert wanted.status == 200
    for names in (["mask", "rmask"], ["mask"], ["rmask"]):
        others = [(name, png({"mask": keep, "rmask": remove}[name]), name) for name in files if name not in names]
        answer = daemon.post_form("/carve?dx=-12&type=png", [image, *others, *((name, files[name], name) for name in names)])
        assert answer.status == 200, answer.body
        assert answer.body == wanted.body, names
        assert answer.timing["ms"]["decode"] > 0
    assert daemon.post_form("/carve?dx=-12&type=png", [image]).body != wanted.body


def test_broken_masks_are_named(daemon, tmp_path):
    whole = avif(tmp_path, noise(53, 37, 1), "-y", "400")
    check_problem(daemon.post_form("/carve?dx=-2", [("image", png(COLOUR), "a"), ("rmask", whole[:-20], "r")]), 422, "rmask")
    at = whole.index(b"mdat") + 4  # the header is sound: the decoder finds it
    damaged = whole[:at] + b"\xff" * 40 + whole[at + 40:]
    check_problem(daemon.post_form("/carve?dx=-2", [("image", png(COLOUR), "a"), ("rmask", damaged, "r")]), 422, "rmask")
    check_problem(daemon.post_form("/carve?dx=-2", [("image", png(COLOUR), "a"), ("mask", avif(tmp_path, noise(20, 20, 1)), "r")]), 422, "mask", "same size")


def test_broken(daemon, tmp_path):
    whole = avif(tmp_path, smooth(200, 150), "--min", "0", "--max", "10")
    check_problem(daemon.post(SAME, whole[:len(whole) // 2]), 422, "cut off")
    check_problem(daemon.post(SAME, whole[:100]), 422, "AVIF")
    # dav1d refuses a broken head of the coded bytes; behind that, any bytes are a picture
    start = whole.index(b"mdat") + 4
    check_problem(daemon.post(SAME, whole[:start] + b"\xff" * 40 + whole[start + 40:]), 422, "AVIF")
    # no more is decoded than the header announces
    at = whole.index(b"ispe") + 8
    check_problem(daemon.post(SAME, whole[:at] + (100).to_bytes(4, "big") + whole[at + 4:]), 422, "AVIF")
    huge = whole[:at] + (60000).to_bytes(4, "big") + (60000).to_bytes(4, "big") + whole[at + 8:]
    check_problem(daemon.post(SAME, huge), 422, "pixels_max")
    other = whole.replace(b"av01", b"hvc1")
    check_problem(daemon.post(SAME, other), 422, "AV1")
    assert daemon.works()


def test_bombs(daemon, tmp_path):
    """A header announces more than so few bytes can hold; of one colour, libaom's bytes suffice by far."""
    file = Heif()
    bomb = file.file(file.add(b"av01", bytes(60), ispe(8000, 8000), box(b"av1C", bytes([0x81, 0, 0x1c, 0]))), b"avif\0\0\0\0mif1avif")
    check_problem(daemon.post(SAME, bomb), 422, "at least 61 bytes", "60 are there")
    plain = avif(tmp_path, np.full((4096, 4096), 255, np.uint8), "-y", "400")
    answer = daemon.post("/resize?width=16&type=png", plain)
    assert answer.status == 200 and np.all(answer.image >= 254)


def test_memory_is_limited(start, tmp_path):
    """A pixel of 4:2:0 has 1.5 samples; a quarter more is taken beside them, and half a byte."""
    tight = start("--codec-memory-bytes", "64KiB")
    check_problem(tight.post(SAME, avif(tmp_path, smooth(200, 150), "-y", "420")), 422, str(200 * 150 * 19 // 8), "codec_memory_bytes")
    assert tight.post(SAME, avif(tmp_path, COLOUR)).status == 200


@pytest.mark.parametrize("options", [("-y", "420"), ("-y", "444", "-d", "12"), ("-y", "444", "--grid", "2x2"), ("-y", "400", "-d", "10")],
                         ids=lambda options: " ".join(options))
def test_what_the_header_promises_suffices(daemon, tmp_path, options):
    side = 2048 if "420" in options else 1024  # one file is large too
    data = avif(tmp_path, noise(side, side, 4), "--min", "30", "--max", "40", *options)
    assert daemon.post(f"{SAME}&type=png&compression=0", data).status == 200


def test_other_brands(daemon, tmp_path):
    """An AVIF may name the container's brand first, and its own behind that."""
    data = avif(tmp_path, COLOUR, "--lossless")
    assert data[8:12] == b"avif"
    assert np.array_equal(daemon.post(f"{SAME}&type=png", data[:8] + b"mif1" + data[12:]).image, COLOUR)
