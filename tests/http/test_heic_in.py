# SPDX-License-Identifier: Apache-2.0
"""HEIC in: files of boxes written here, of pictures that x265 codes and reconstructs, and files by heif-enc. The colours are
computed from x265's planes in fractions.

covers: pipeline/codecs/heic.c pipeline/codecs/heic/reader.c pipeline/codecs/heic/tile.c pipeline/codecs/heic/library.c
covers: pipeline/codecs/common/isobmff_items.c"""
import io
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image, ImageCms

import heif
from conftest import BURIN, check_problem, from_pnm, needs, noise, png, smooth
from heif import Heif, exact_colours, hevc, nclx, planes_like, plain, tiled

there = b"broken" in subprocess.run([BURIN, "run", "--device", "cpu", "--type", "png", "-", "-"], input=b"\0\0\0\x14ftypheic" + bytes(8),
                                    capture_output=True, timeout=60).stderr
pytestmark = pytest.mark.skipif(not there or not shutil.which("x265") or not shutil.which("libde265-dec265"),
                                reason="there is no libde265, no x265 or no dec265 here, or this program was built without HEIC")
SAME = "/brightness?shift=0"
FULL = nclx(1, 6, True)


@pytest.fixture
def daemon(shared):
    """One for this file: others count the processes of the daemon that all tests share."""
    return shared()


def check_colours(daemon, data, planes, bits, matrix, limited, path=SAME):
    answer = daemon.post(f"{path}&type=pnm", data)
    assert answer.status == 200, answer.body
    got, exact = from_pnm(answer.body), exact_colours(planes, bits, matrix, limited)
    white = 65535 if bits > 8 else 255
    assert got.dtype == (np.uint16 if bits > 8 else np.uint8) and got.shape == exact.shape
    assert np.max(np.abs(got - np.clip(exact, 0, white))) <= 0.501
    return answer


# ---- colours

@pytest.mark.parametrize("limited", [False, True], ids=["full", "limited"])
@pytest.mark.parametrize("kind", ["400", "420", "422", "444"])
@pytest.mark.parametrize("bits", [8, 10, 12])
def test_colours_are_the_exact_ones_rounded(daemon, bits, kind, limited):
    matrix = {8: 6, 10: 1, 12: 9}[bits]
    data, planes = plain(76, 52, nclx(1, matrix, not limited), kind=kind, bits=bits, options=("--sao",))
    answer = check_colours(daemon, data, planes, bits, matrix, limited)
    assert answer.timing["input"]["type"] == "heic" and answer.timing["notes"] == []


@pytest.mark.parametrize("bits,kind", [(8, "420"), (10, "420"), (8, "422"), (8, "444"), (8, "400"), (12, "444")])
def test_tiles_are_one_picture(daemon, bits, kind):
    """Three by two of them; the last column and row stand out, by an odd number of pixels. Chroma is widened across."""
    data, planes = tiled(3, 2, 64, 151, 99, FULL, kind=kind, bits=bits)
    check_colours(daemon, data, planes, bits, 6, False)


def test_a_single_tile_may_stand_out(daemon):
    data, planes = tiled(1, 1, 128, 30, 20, FULL)
    check_colours(daemon, data, planes, 8, 6, False)


@pytest.mark.parametrize("options,matrix,limited", [
    ((), 2, True), (("--range", "full"), 2, False), (("--range", "limited", "--colormatrix", "bt709"), 1, True),
    (("--range", "full", "--colormatrix", "bt2020nc"), 9, False)], ids=lambda value: str(value))
def test_without_nclx_the_sps_describes_the_colours(daemon, options, matrix, limited):
    data, planes = plain(76, 52, options=options)
    check_colours(daemon, data, planes, 8, matrix, limited)
    data, planes = plain(76, 52, nclx(1, 6, limited), options=options)
    check_colours(daemon, data, planes, 8, 6, not limited)


def test_matrices_that_are_not_read(daemon):
    check_problem(daemon.post(SAME, plain(76, 52, nclx(1, 8, True), kind="444")[0]), 415, "matrix 8")


@pytest.mark.skipif(not shutil.which("heif-enc"), reason="there is no heif-enc here")
def test_lossless_by_heif_enc(daemon, tmp_path):
    """Gray and alpha are as they were; colours take two roundings, to YCbCr and back. Odd sides, which heif-enc crops by clap."""
    picture = np.dstack([smooth(75, 53), np.tile(np.arange(75, dtype=np.uint8), (53, 1))])
    for name, array in (("a", picture), ("b", picture[..., :3]), ("c", picture[..., 0])):
        (tmp_path / f"{name}.png").write_bytes(png(array))
        subprocess.run(["heif-enc", "-L", "-p", "chroma=444", "-o", str(tmp_path / f"{name}.heic"),
                        str(tmp_path / f"{name}.png")], check=True, capture_output=True, timeout=60)
        answer = daemon.post(f"{SAME}&type=png", (tmp_path / f"{name}.heic").read_bytes())
        assert answer.status == 200, answer.body
        assert answer.image.shape == array.shape and np.max(np.abs(answer.image - array.astype(int))) <= (0 if name == "c" else 2)
    assert np.array_equal(daemon.post(f"{SAME}&type=png", (tmp_path / "a.heic").read_bytes()).image[..., 3], picture[..., 3])


# ---- what belongs to the picture

@pytest.mark.parametrize("mirror", [None, 0, 1])
@pytest.mark.parametrize("angle", [None, 1, 2, 3])
def test_turned(daemon, angle, mirror):
    """90 degrees anticlockwise times ANGLE; MIRROR 0 top to bottom, 1 left to right."""
    more = ([heif.irot(angle)] if angle else []) + ([heif.imir(mirror)] if mirror is not None else [])
    data, planes = tiled(2, 1, 64, 122, 50, FULL, *more)
    turned = np.rot90(exact_colours(planes, 8, 6, False), angle or 0)
    turned = turned if mirror is None else turned[::-1] if mirror == 0 else turned[:, ::-1]
    answer = daemon.post(f"{SAME}&type=png", data)
    assert answer.status == 200 and np.max(np.abs(answer.image - np.clip(turned, 0, 255))) <= 0.501
    assert int(answer.headers["X-Origin-Width"]) == turned.shape[1]


def test_cropped(daemon):
    """60 x 40 of 76 x 52: the middle is moved by 1 and by -2 pixels."""
    data, planes = plain(76, 52, FULL, heif.clap(60, 40, (1, 1), (-2, 1)), heif.irot(1))
    part = np.rot90(exact_colours(planes, 8, 6, False)[4:44, 9:69])
    answer = daemon.post(f"{SAME}&type=png", data)
    assert np.max(np.abs(answer.image - np.clip(part, 0, 255))) <= 0.501


def with_alpha(grid, multiplied=False, kind="400", bits=8):
    """-> the file, planes, and what is opaque"""
    file = Heif()
    columns = 2 if grid else 1
    numbers, planes, opaque = [], [], []
    for layer, seed in ((0, 1), (1, 5)):
        tiles = []
        for i in range(columns):
            units, found = hevc(planes_like(64, 64, kind if layer else "420", bits, seed + i), kind if layer else "420", bits)
            tiles.append(file.picture(units, 64, 64, *([] if grid else [heif.ALPHA] if layer else [FULL])))
            (opaque if layer else planes).append(found)
        numbers.append(file.grid(tiles, 2, 120, 60, heif.ALPHA if layer else FULL) if grid else tiles[0])
    file.refer(b"auxl", numbers[1], numbers[0])
    if multiplied:
        file.refer(b"prem", numbers[0], numbers[1])
    height, width = (60, 120) if grid else (64, 64)
    joined = [np.hstack([part[p] for part in planes])[:height // (2 if p else 1), :width // (2 if p else 1)] for p in range(3)]
    return file.file(numbers[0]), joined, np.hstack([part[0] for part in opaque])[:height, :width]


@pytest.mark.parametrize("kind", ["400", "420"])
@pytest.mark.parametrize("grid", [False, True], ids=["one", "grid"])
def test_alpha(daemon, grid, kind):
    data, planes, opaque = with_alpha(grid, kind=kind)
    answer = daemon.post(f"{SAME}&type=png", data)
    assert answer.status == 200, answer.body
    assert np.array_equal(answer.image[..., 3], opaque)
    assert np.max(np.abs(answer.image[..., :3] - np.clip(exact_colours(planes, 8, 6, False), 0, 255))) <= 0.501
    assert "transparency" in daemon.post(f"{SAME}&type=jpeg", data).timing["notes"][0]


def test_multiplied_alpha_is_divided(daemon):
    data, planes, opaque = with_alpha(True, multiplied=True)
    got = daemon.post(f"{SAME}&type=png", data).image
    colours = np.floor(np.clip(exact_colours(planes, 8, 6, False), 0, 255) + 0.5)
    expected = np.minimum(np.floor(colours * 255 / np.maximum(opaque, 1)[..., None] + 0.5), 255) * (opaque > 0)[..., None]
    assert np.mean(got[..., :3] == expected) > 0.99 and np.array_equal(got[..., 3], opaque)
    seen = opaque > 100
    assert np.max(np.abs(got[seen][:, :3] - expected[seen])) <= 3


def test_profiles_travel(daemon):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data, planes = tiled(2, 1, 64, 128, 64, FULL, heif.icc(profile))
    check_colours(daemon, data, planes, 8, 6, False)
    for kind in ("png", "jpeg"):
        answer = daemon.post(f"{SAME}&type={kind}", data)
        assert answer.status == 200 and answer.timing["notes"] == []
        assert Image.open(io.BytesIO(answer.body)).info["icc_profile"] == profile


def test_primaries_without_a_profile_are_noted(daemon):
    """12: Display P3."""
    for primaries, noted in ((12, 1), (9, 1), (2, 0), (1, 0)):
        notes = daemon.post(f"{SAME}&type=png", plain(64, 64, nclx(primaries, 6, True))[0]).timing["notes"]
        assert len(notes) == noted and all("primaries" in note for note in notes), primaries
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert daemon.post(f"{SAME}&type=png", plain(64, 64, nclx(12, 6, True), heif.icc(profile))[0]).timing["notes"] == []


def test_to_jpeg_by_default(daemon):
    """As a phone's photograph is wanted; where a JPEG would lose bits or alpha, it is a PNG."""
    data, planes = plain(76, 52, FULL)
    exact = np.clip(exact_colours(planes, 8, 6, False), 0, 255)
    answer = daemon.post(f"{SAME}&quality=95", data)
    assert answer.headers["Content-Type"] == "image/jpeg" and np.mean(np.abs(answer.image - exact)) < 6
    assert daemon.post(SAME, plain(76, 52, FULL, bits=10)[0]).headers["Content-Type"] == "image/png"
    assert daemon.post("/edge", data, headers={"Accept": "image/webp"}).headers["Content-Type"] == "image/webp"


def test_other_brands(daemon):
    """A HEIF without HEIC's brand is what its primary item is; a track beside it is an animation."""
    units, planes = hevc(planes_like(64, 64, "420", 8), "420", 8)
    file = Heif()
    primary = file.picture(units, 64, 64, FULL)
    for ftyp in (b"mif1\0\0\0\0mif1", b"heix\0\0\0\0heix", b"msf1\0\0\0\0msf1hevc", b"mif1\0\0\0\0miafheic"):
        check_colours(daemon, file.file(primary, ftyp), planes, 8, 6, False)
    answer = daemon.post(f"{SAME}&type=png", file.file(primary, b"hevc\0\0\0\0msf1hevc", heif.box(b"moov", bytes(40))))
    assert answer.status == 200 and "first frame" in answer.timing["notes"][0]


def test_info_and_values(daemon):
    data, planes = tiled(2, 2, 64, 101, 99, FULL, heif.irot(1), bits=10)
    facts = daemon.post("/info", data).json
    assert facts["type"] == "heic" and (facts["width"], facts["height"], facts["depth"]) == (99, 101, 16), facts
    exact = np.clip(exact_colours(planes, 10, 6, False), 0, 65535)
    assert abs(daemon.post("/maximum", data).json["values"][0]["value"][0] - exact[..., 0].max()) <= 0.501


def test_the_program_and_the_daemon_agree(daemon):
    data, _ = tiled(3, 2, 64, 151, 99, FULL, heif.imir(1), bits=10)
    alone = subprocess.run([BURIN, "run", "--device", "cpu", "--type", "pnm", "brightness:shift=0", "-", "-"], input=data,
                           capture_output=True, check=True, timeout=60).stdout
    assert alone == daemon.post(f"{SAME}&type=pnm", data).body


# ---- damage and bombs

def parts():
    """Four tiles in a row, and the units of each."""
    return [hevc(planes_like(64, 64, "420", 8, seed), "420", 8) for seed in range(1, 5)]


def row_of(coded_tiles, **options):
    file = Heif()
    tiles = [file.add(b"hvc1", data, heif.ispe(64, 64), heif.hvcc(units), **options) for units, data in coded_tiles]
    return file, file.grid(tiles, len(tiles), 64 * len(tiles), 64, FULL)


@pytest.mark.parametrize("damage", ["none", "cut", "length", "type", "empty", "head"])
def test_a_damaged_tile(daemon, damage):
    found = parts()
    coded = [[units, heif.coded(units)] for units, _ in found]
    third = coded[2][1]
    at = third.index(next(unit for unit in found[2][0] if heif.kind_of(unit) < 32))  # the slice
    coded[2][1] = {"none": third, "cut": third[:at + 40], "length": third[:at - 4] + b"\0\1" + third[at - 2:],
                   "type": third[:at] + b"\2" + third[at + 1:], "empty": third[:at - 4],
                   "head": third[:at + 2] + b"\0" * 6 + third[at + 8:]}[damage]
    file, grid = row_of(coded)
    data = file.file(grid)
    if damage == "none":
        check_colours(daemon, data, [np.hstack([planes[p] for _, planes in found]) for p in range(3)], 8, 6, False)
        return
    check_problem(daemon.post(SAME, data), 422, "HEIC is broken")
    answer = daemon.post(f"{SAME}&damaged=accept&type=png", data)
    assert answer.status == 200 and "damaged" in answer.timing["notes"][0]
    assert len(answer.timing["notes"]) == 2 and answer.timing["notes"][1]  # the decoder's own text
    left = exact_colours([np.hstack([planes[p] for _, planes in found[:2]]) for p in range(3)], 8, 6, False)
    assert np.max(np.abs(answer.image[:, :127] - np.clip(left, 0, 255)[:, :127])) <= 0.501
    if damage in ("empty", "type"):
        assert not answer.image[:, 129:191].any()


def test_a_missing_slice(daemon):
    """libde265 does not report it; where nothing was decoded is black."""
    units, planes = hevc(planes_like(256, 256, "420", 8), "420", 8, "--slices", "2", "--no-deblock", "--no-sao")
    slices = [unit for unit in units if heif.kind_of(unit) < 32]
    assert len(slices) == 2
    for bits, lost in ((8, slices[1]), (8, slices[0])):
        file = Heif()
        rest = [unit for unit in units if unit is not lost]
        data = file.file(file.picture(rest, 256, 256, FULL))
        check_problem(daemon.post(SAME, data), 422, "HEIC is broken")
        answer = daemon.post(f"{SAME}&damaged=accept&type=png", data)
        assert answer.status == 200 and "damaged" in answer.timing["notes"][0]
        if lost is slices[1]:
            assert not answer.image[130:].any()
            exact = np.clip(exact_colours(planes, 8, 6, False), 0, 255)
            assert np.max(np.abs(answer.image[:120] - exact[:120])) <= 0.501
    file = Heif()
    check_colours(daemon, file.file(file.picture(units, 256, 256, FULL)), planes, 8, 6, False)


def test_rows_that_are_said_to_begin_elsewhere(daemon):
    """No sample depends on it: decoders on several cores alone need to know. One bit of a file by x265 is changed, in the list of
    these places: the picture is the same."""
    sound = (pathlib.Path(__file__).parents[1] / "fuzz/corpus/heic_still/turned4.heic").read_bytes()
    changed = bytearray(sound)
    changed[1268] ^= 0o40
    answers = [daemon.post(f"{SAME}&type=pnm", bytes(data)) for data in (sound, changed)]
    assert [answer.status for answer in answers] == [200, 200], answers[1].body
    assert answers[0].body == answers[1].body


def test_cut_off(daemon):
    data, _ = tiled(4, 4, 64, 256, 256, FULL)
    check_problem(daemon.post(SAME, data[:len(data) // 2]), 422, "cut off")
    answer = daemon.post(f"{SAME}&damaged=accept&type=png", data[:len(data) * 3 // 4])
    assert answer.status == 200 and "damaged" in answer.timing["notes"][0] and not answer.image[200:].any()
    check_problem(daemon.post(SAME, data[:100]), 422, "HEIC")


def hide(unit, right, below):
    """A sequence parameter set of x265 with a conformance window, in samples of chroma."""
    bits = "".join(f"{byte:08b}" for byte in unit.replace(b"\0\0\3", b"\0\0"))
    at = 16 + 8 + 96
    for _ in range(4):  # number, chroma, width, height
        zeros = bits.index("1", at) - at
        at += 2 * zeros + 1

    def ue(value):
        return "0" * (len(f"{value + 1:b}") - 1) + f"{value + 1:b}"

    assert bits[at] == "0"
    bits = bits[:at] + "1" + ue(0) + ue(right) + ue(0) + ue(below) + bits[at + 1:]
    bits += "0" * (-len(bits) % 8)
    made = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
    for value in (3, 0, 1, 2):
        made = made.replace(bytes([0, 0, value]), bytes([0, 0, 3, value]))
    return made


def test_how_much_a_window_may_hide(daemon):
    """What is hidden takes memory and time that do not follow from the sides."""
    for side, status in ((128, 200), (160, 422), (512, 422)):
        units, _ = hevc(planes_like(side, side, "420", 8), "420", 8)
        units = [hide(unit, (side - 64) // 2, (side - 64) // 2) if heif.kind_of(unit) == 33 else unit for unit in units]
        file = Heif()
        answer = daemon.post(f"{SAME}&type=png", file.file(file.picture(units, 64, 64, FULL)))
        assert answer.status == status, answer.body[:300]
        assert status == 200 or b"hides more" in answer.body


def test_contradictions(daemon):
    units, _ = hevc(planes_like(64, 64, "420", 8), "420", 8)
    small, _ = hevc(planes_like(32, 64, "420", 8), "420", 8)
    other, _ = hevc(planes_like(64, 64, "444", 8), "444", 8)
    deep, _ = hevc(planes_like(64, 64, "400", 10), "400", 10)

    def refused(make, *words):
        file = Heif()
        check_problem(daemon.post(SAME, file.file(make(file))), 422, "HEIC is broken", *words)

    refused(lambda file: file.picture(units, 60, 64, FULL), "ispe")
    refused(lambda file: file.picture(units, 64, 64, heif.clap(60, 60, (3, 1), (0, 1))), "clap")
    refused(lambda file: file.picture(units, 64, 64, heif.clap(70, 60, (0, 1), (0, 1))), "clap")
    refused(lambda file: file.grid([file.picture(units, 64, 64), file.picture(small, 32, 64)], 2, 100, 64), "differ in size")
    refused(lambda file: file.grid([file.picture(units, 64, 64), file.picture(other, 64, 64)], 2, 128, 64), "chroma")
    refused(lambda file: file.grid([file.picture(units, 64, 64)], 2, 128, 64, rows=1), "too few")
    refused(lambda file: file.grid([file.picture(units, 64, 64)] * 3, 2, 128, 64, rows=1), "too many")
    refused(lambda file: file.grid([file.picture(units, 64, 64)] * 2, 2, 129, 64, rows=1), "cover")
    refused(lambda file: file.grid([file.picture(units, 64, 64)] * 2, 2, 64, 64, rows=1), "beside")
    refused(lambda file: file.add(b"hvc1", heif.coded(units), heif.ispe(64, 64)), "hvcC")
    refused(lambda file: file.add(b"hvc1", heif.coded(units), heif.hvcc(units)), "ispe")

    def alpha(file):
        primary = file.picture(units, 64, 64)
        file.refer(b"auxl", file.picture(deep, 64, 64, heif.ALPHA), primary)
        return primary

    refused(alpha, "bits of a sample")
    file = Heif()
    mixed = file.grid([file.picture(units, 64, 64), file.add(b"av01", b"xx", heif.ispe(64, 64))], 2, 128, 64)
    check_problem(daemon.post(SAME, file.file(mixed)), 422, "two ways")
    assert daemon.works()


def flat(side):
    height = [np.full((side // (2 if p else 1),) * 2, 128) for p in range(3)]
    return hevc(height, "420", 8, "--qp", "40", "--no-info")[0]


def test_bombs(daemon):
    """One item that is every tile of a large grid; huge sides."""
    units = flat(512)
    assert len(heif.coded(units)) < 600, len(heif.coded(units))

    def grid(columns, rows):
        file = Heif()
        return file.file(file.grid([file.picture(units, 512, 512)] * (columns * rows), columns, 512 * columns, 512 * rows, rows=rows))

    check_problem(daemon.post(SAME, grid(32, 32)), 422, "pixels_max")
    check_problem(daemon.post(SAME, grid(14, 14)), 422, "at least 1568 bytes")
    assert daemon.post(SAME, grid(2, 1)).status == 200
    file = Heif()
    check_problem(daemon.post(SAME, file.file(file.grid([file.picture(units, 512, 512)] * 1025, 205, 205, 5, rows=5))), 422, "1024")
    file = Heif()
    check_problem(daemon.post(SAME, file.file(file.picture(units, 60000, 60000))), 422, "ispe")
    file = Heif()
    check_problem(daemon.post(SAME, file.file(file.grid([file.picture(flat(1536), 1536, 1536)], 1, 20, 20))), 422, "far more pixels")
    assert daemon.works()


def test_changed_bytes(daemon):
    """Whatever can be had: a refusal, or a picture. Without damaged=accept: test_damaged_files.py."""
    data, _ = tiled(2, 1, 64, 120, 64, FULL)
    rng = np.random.default_rng(7)
    answers = {200: 0, 422: 0, 415: 0}
    for _ in range(150):
        changed = bytearray(data)
        for at in rng.integers(0, len(data), rng.integers(1, 4)):
            changed[at] = rng.integers(0, 256)
        answers[daemon.post(f"{SAME}&type=pnm&damaged=accept", bytes(changed)).status] += 1
    assert answers[200] > 20 and answers[422] > 3, answers
    assert daemon.works()


def test_memory_is_limited(start):
    tight = start("--codec-memory-bytes", "3MiB")
    check_problem(tight.post(SAME, plain(512, 512, FULL)[0]), 422, "codec_memory_bytes")
    assert tight.post(SAME, plain(64, 64, FULL)[0]).status == 200


@pytest.mark.parametrize("kind,bits", [("420", 8), ("444", 12), ("400", 10)])
def test_what_the_header_promises_suffices(daemon, kind, bits):
    side = 2048 if kind == "420" else 1024  # one file is large too
    planes = [noise(side, side, depth=8).astype(np.int64) << (bits - 8)]
    planes += [plane.copy() for plane in [planes[0][:side // 2, :side // 2] if kind == "420" else planes[0]] * 2] if kind != "400" else []
    units, _ = hevc(planes, kind, bits)
    file = Heif()
    answer = daemon.post(f"{SAME}&type=png&compression=0", file.file(file.picture(units, side, side, FULL)))
    assert answer.status == 200, answer.body


def test_without_the_library(start, tmp_path):
    """A libde265 that is none: /etc/ld.so.cache is not asked where LD_LIBRARY_PATH has one."""
    (tmp_path / "libde265.so.0").write_bytes(b"this is no library")
    bare = start(env={"LD_LIBRARY_PATH": str(tmp_path)})
    data, _ = plain(64, 64, FULL)
    check_problem(bare.post(SAME, data), 415, "libde265", "install")
    assert bare.works()
    (tmp_path / "in.heic").write_bytes(data)
    ended = subprocess.run([BURIN, "run", "--device", "cpu", str(tmp_path / "in.heic"), str(tmp_path / "out.png")], capture_output=True,
                           text=True, env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}, timeout=60)
    assert ended.returncode and "libde265" in ended.stderr and "install" in ended.stderr


@needs("carve")
def test_masks(daemon):
    keep = np.zeros((64, 64), np.int64)
    keep[:, 20:30] = 255
    units, _ = hevc([keep], "400", 8, "--lossless")
    file = Heif()
    masks = file.file(file.picture(units, 64, 64, FULL)), png(keep.astype(np.uint8))
    results = [daemon.post_form("/carve?dx=-9&type=png", [("image", png(smooth(64, 64)), "a"), ("mask", mask, "m")]) for mask in masks]
    assert results[0].status == 200, results[0].body
    assert np.array_equal(results[0].image, results[1].image)
