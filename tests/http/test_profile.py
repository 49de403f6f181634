# SPDX-License-Identifier: Apache-2.0
"""profile=keep|srgb|none. Colours by a profile against plain arithmetic (icc.py) and against lcms2's own transform, which Pillow
calls; the figures that server/README.md states are asserted here.
covers: pipeline/srgb_table.c"""
import io
import json
import subprocess
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image, ImageCms

import icc
from conftest import BURIN, check_problem, chunk, jpeg, needs, png, png_of_chunks, smooth

pytestmark = needs("srgb")
RELATIVE, BLACK_POINTS, EXACT = 1, 0x2000, 0x100 | 0x400  # and neither caches nor tables of lcms2's own
UNUSABLE = "the colour profile cannot be used"


def colours():
    """Every 15th level of each channel, gray levels, and noise."""
    lattice = np.stack(np.meshgrid(*[np.arange(0, 256, 15)] * 3, indexing="ij"), -1).reshape(-1, 3)
    grays = np.repeat(np.arange(256), 3).reshape(-1, 3)
    random = np.random.default_rng(3).integers(0, 256, (20000 - len(lattice) - len(grays), 3))
    return np.concatenate([lattice, grays, random]).astype(np.uint8).reshape(100, 200, 3)


PIXELS = colours()


def direct(pixels, profile, flags=BLACK_POINTS | EXACT):
    """By lcms2, pixel by pixel."""
    source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
    image = Image.fromarray(pixels)
    return np.array(ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), RELATIVE, outputMode="RGB", flags=flags))


def converted(daemon, data, query="", op="rotate?angle=0"):
    answer = daemon.post(f"/{op}&profile=srgb&type=png{query}", data)
    assert answer.status == 200 and "icc_profile" not in Image.open(io.BytesIO(answer.body)).info
    assert not answer.timing["notes"]
    return answer.image


def check_error(got, wanted, most, mean):
    error = np.abs(got.astype(float) - wanted)
    assert error.max() <= most and error.mean() <= mean, (error.max(), error.mean())


@pytest.mark.parametrize("name", icc.MATRICES)
def test_matrix_profiles(daemon, name):
    space = icc.MATRICES[name]
    profile = icc.matrix_profile(space)
    got = converted(daemon, png(PIXELS, icc_profile=profile))
    check_error(got, 255 * icc.expected(space, PIXELS / 255), 0.6, 0.25)  # half a level is rounding
    check_error(got, direct(PIXELS, profile), 1, 0.02)
    check_error(got, direct(PIXELS, profile, BLACK_POINTS), 1, 0.02)
    if name == "srgb":
        assert np.array_equal(got, PIXELS)
    else:
        assert np.abs(got.astype(int) - PIXELS).max() > 50, "these colours differ much"


@pytest.mark.parametrize("name", icc.MATRICES)
def test_16_bits(daemon, name):
    space = icc.MATRICES[name]
    wide = np.random.default_rng(4).integers(0, 65536, (60, 50, 3))
    raw = b"".join(b"\0" + row.astype(">u2").tobytes() for row in wide)
    profile = chunk(b"iCCP", b"a\0\0" + zlib.compress(icc.matrix_profile(space)))
    data = png_of_chunks(50, 60, 16, 2, raw, profile)
    answer = daemon.post("/rotate?angle=0&profile=srgb&type=pnm", data)
    assert answer.status == 200 and answer.body.startswith(b"P6")
    got = np.frombuffer(answer.body[-wide.size * 2:], ">u2").reshape(wide.shape)
    check_error(got, 65535 * icc.expected(space, wide / 65535), 40, 1.1)  # profiles state a matrix in 1/65536, which is 13 levels of dark samples


@pytest.mark.parametrize("name", icc.MATRICES)
def test_profiles_with_tables(daemon, name):
    """The same colours, stated by a table of 17 places along an axis."""
    space = icc.MATRICES[name]
    profile = icc.lut_profile(b"RGB ", 17, lambda samples: icc.light_of(samples, space[2]) @ icc.matrix(space).T)
    got = converted(daemon, png(PIXELS, icc_profile=profile))
    check_error(got, direct(PIXELS, profile), 3, 0.1)


def test_alpha_stays(daemon):
    alpha = np.random.default_rng(5).integers(0, 256, PIXELS.shape[:2] + (1,)).astype(np.uint8)
    profile = icc.matrix_profile(icc.DISPLAY_P3)
    plain = converted(daemon, png(PIXELS, icc_profile=profile))
    assert np.array_equal(converted(daemon, png(np.concatenate([PIXELS, alpha], 2), icc_profile=profile)), np.concatenate([plain, alpha], 2))


@pytest.mark.parametrize("curve", [1.0, 1.8, 2.2, "srgb"])
def test_gray(daemon, curve):
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    profile = icc.gray_profile(curve)
    got = converted(daemon, png(levels, icc_profile=profile))
    check_error(got, 255 * icc.srgb_of(icc.light_of(levels / 255, curve)), 0.6, 0.3)
    check_error(got, direct(levels, profile)[..., 1], 1, 0.05)


@pytest.mark.parametrize("kind,options", [("JPEG", {"quality": 95}), ("WEBP", {"lossless": True}), ("PNG", {})])
def test_each_type_gives_its_profile(daemon, kind, options):
    out = io.BytesIO()
    profile = icc.matrix_profile(icc.ADOBE_RGB)
    Image.fromarray(PIXELS).save(out, kind, icc_profile=profile, **options)
    stored = np.array(Image.open(io.BytesIO(out.getvalue())))
    check_error(converted(daemon, out.getvalue()), 255 * icc.expected(icc.ADOBE_RGB, stored / 255), 0.6, 0.26)


def test_it_is_the_first_step(daemon):
    """What a resize gets is sRGB, so the result is that of an image that was sRGB from the start."""
    data = png(PIXELS, icc_profile=icc.matrix_profile(icc.DISPLAY_P3))
    plain = png(converted(daemon, data))
    for op in ("resize?width=50", "resize?width=50&linear=true", "carve?dx=-5", "histeq?", "smartcrop?width=40&height=40"):
        answer = daemon.post(f"/{op}&profile=srgb&type=png", data)
        assert answer.body == daemon.post(f"/{op}&type=png", plain).body and not answer.timing["notes"]
    got, wanted = daemon.post("/mean?profile=srgb", data), daemon.post("/mean", plain)
    assert got.json["values"][0]["value"] == wanted.json["values"][0]["value"] and got.headers["Content-Type"] == "application/json"


def test_only_the_first_step(daemon):
    """Its table is made for the image as it comes; steps before may change channels and depth. Twice is once."""
    data = png(PIXELS, icc_profile=icc.matrix_profile(icc.DISPLAY_P3))
    gray = png(PIXELS[..., 0], icc_profile=icc.gray_profile(2.2))
    for picture, first in ((gray, '"carve","params":{"dx":-5,"show":"map"}'), (data, '"grayscale"'), (data, '"flip"'), (data, '"srgb"')):
        steps = f'[{{"operation":{first}}},{{"operation":"srgb"}}]'
        check_problem(daemon.post_form("/pipeline", [("operations", steps, None), ("image", picture, "a")]), 400, "first step of all")
    fields = [("operations", '[{"operation":"flip"}]', None), ("outputs", '[{"operations":[{"operation":"srgb"}]}]', None)]
    check_problem(daemon.post_form("/pipeline", [*fields, ("image", data, "a")]), 400, "first step of all")
    fields = [("operations", '[{"operation":"srgb"},{"operation":"flip"}]', None), ("image", data, "a")]
    assert np.array_equal(daemon.post_form("/pipeline?profile=srgb&type=png", fields).image, converted(daemon, data)[::-1])


def test_an_unusable_profile_of_a_picture_with_alpha_is_noted(daemon):
    data = png(np.dstack([PIXELS, PIXELS[..., :1]]), icc_profile=b"x" * 200)
    answer = daemon.post("/flop?profile=srgb&type=png", data)
    assert answer.status == 200 and any("cannot be used" in note for note in answer.timing["notes"])


def test_as_a_step_of_its_own(daemon):
    data = png(PIXELS, icc_profile=icc.matrix_profile(icc.DISPLAY_P3))
    wanted = converted(daemon, data)
    answer = daemon.post("/srgb?type=png", data)
    assert np.array_equal(answer.image, wanted) and "icc_profile" not in Image.open(io.BytesIO(answer.body)).info
    bare = daemon.post("/srgb?type=png", png(PIXELS))
    assert np.array_equal(bare.image, PIXELS) and not bare.timing["notes"]


def test_several_results(daemon):
    data = png(PIXELS, icc_profile=icc.matrix_profile(icc.ADOBE_RGB))
    plain = png(converted(daemon, data))
    for query in ("widths=40,80", "width=40&types=png,jpeg"):
        got, wanted = (daemon.request("POST", f"/resize?{query}{more}", body, {"Accept": "application/zip"})
                       for body, more in ((data, "&profile=srgb"), (plain, "")))
        assert got.status == wanted.status == 200
        assert [i.CRC for i in zipped(got)] == [i.CRC for i in zipped(wanted)]
    fields = [("operations", '[{"operation":"flip"}]', None), ("outputs", '[{"profile":"srgb"},{"profile":"keep"}]', None), ("image", data, "a")]
    check_problem(daemon.post_form("/pipeline", fields), 400, "profile=srgb is for all outputs or none")


def test_a_step_in_a_branch(daemon):
    """Some results are converted by a step of their own; the others keep the profile."""
    profile = icc.matrix_profile(icc.ADOBE_RGB)
    data = png(PIXELS, icc_profile=profile)
    outputs = [{"operations": [{"operation": "srgb"}], "type": "png"}, {"operations": [{"operation": "flip"}], "type": "png"}]
    answer = daemon.post_form("/pipeline", [("outputs", json.dumps(outputs), None), ("image", data, "a")], headers={"Accept": "application/zip"})
    assert answer.status == 200
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        first, second = (Image.open(io.BytesIO(archive.read(i))) for i in archive.infolist() if i.filename.endswith("png"))
    assert np.array_equal(np.array(first), converted(daemon, data)) and "icc_profile" not in first.info
    assert np.array_equal(np.array(second), PIXELS[::-1]) and second.info["icc_profile"] == profile


def zipped(answer):
    return [i for i in zipfile.ZipFile(io.BytesIO(answer.body)).infolist() if i.filename.endswith(("png", "jpg", "jpeg"))]


def test_none_and_keep(daemon):
    profile = icc.matrix_profile(icc.DISPLAY_P3)
    for data in (png(PIXELS, icc_profile=profile), jpeg(PIXELS, icc_profile=profile)):
        for kind in ("png", "jpeg", "webp"):
            kept, none = (daemon.post(f"/flop?type={kind}&quality=90&profile={p}", data) for p in ("keep", "none"))
            assert Image.open(io.BytesIO(kept.body)).info["icc_profile"] == profile
            assert "icc_profile" not in Image.open(io.BytesIO(none.body)).info and not none.timing["notes"]
            assert np.array_equal(kept.image, none.image)
            assert daemon.post(f"/flop?type={kind}&quality=90", data).body == kept.body
            for path in ("/flop?", "/imaginary/flop?"):
                assert "icc_profile" not in Image.open(io.BytesIO(daemon.post(f"{path}type={kind}&noprofile=true", data).body)).info


def test_chunks_of_a_png_go_with_its_profile(daemon):
    raw = b"".join(b"\0" + bytes(9) for _ in range(3))
    gamma = chunk(b"gAMA", (45455).to_bytes(4, "big"))
    packed = chunk(b"iCCP", b"a\0\0" + zlib.compress(icc.matrix_profile(icc.ADOBE_RGB)))
    both, alone = png_of_chunks(3, 3, 8, 2, raw, gamma + packed), png_of_chunks(3, 3, 8, 2, raw, gamma)
    for data, kept, wanted in ((both, "keep", True), (both, "srgb", False), (both, "none", False), (alone, "srgb", True), (alone, "none", False)):
        assert (b"gAMA" in daemon.post(f"/flop?type=png&profile={kept}", data).body) == wanted, kept


@pytest.mark.parametrize("profile", [b"no profile", icc.gray_profile(2.2), icc.matrix_profile(icc.SRGB)[:200],
                                     icc.profile(b"RGB ", {b"rXYZ": b"XYZ " + bytes(16)}),
                                     icc.matrix_profile(icc.SRGB)[:12] + b"link" + icc.matrix_profile(icc.SRGB)[16:],
                                     icc.matrix_profile(icc.SRGB, {b"D2B1": b"mpet" + bytes(12)})])
def test_unusable_profiles(daemon, profile):
    for data in (png(PIXELS, icc_profile=profile), jpeg(PIXELS, icc_profile=profile)):
        answer = daemon.post("/rotate?angle=0&type=png&profile=srgb", data)
        assert answer.status == 200 and np.array_equal(answer.image, np.array(Image.open(io.BytesIO(data))))
        assert any(UNUSABLE in note for note in answer.timing["notes"])
        assert "icc_profile" not in Image.open(io.BytesIO(answer.body)).info


def test_without_a_profile_nothing_is_done(daemon):
    for data in (png(PIXELS), jpeg(PIXELS)):
        answer = daemon.post("/flop?type=png&profile=srgb", data)
        assert answer.body == daemon.post("/flop?type=png", data).body and not answer.timing["notes"]


def ink_light(samples):
    """A press of icc.lut_profile: ink takes light away, by a matrix with some spill, and black takes all of it."""
    spill = np.array([[0.85, 0.1, 0.05], [0.12, 0.8, 0.1], [0.03, 0.15, 0.9]])
    left = 0.85 * np.clip(1 - samples[..., :3] @ spill.T, 0.02, 1) ** 1.5 * (0.03 + 0.97 * (1 - samples[..., 3:]) ** 1.6) + 0.004
    return left @ icc.matrix(icc.SRGB).T


@pytest.mark.parametrize("query", ["", "&device=cpu"])
def test_cmyk_by_its_own_profile(daemon, query):
    ink = np.stack([np.array(Image.fromarray(smooth(64, 48)[..., i])) for i in (0, 1, 2)] + [smooth(64, 48)[..., 1] // 2], -1)
    out = io.BytesIO()
    profile = icc.lut_profile(b"CMYK", 9, ink_light)
    Image.fromarray(ink, "CMYK").save(out, "JPEG", quality=95, subsampling=0, icc_profile=profile)
    stored = Image.open(io.BytesIO(out.getvalue()))
    answer = daemon.post(f"/rotate?angle=0&type=png&profile=srgb{query}", out.getvalue())
    wanted = ImageCms.profileToProfile(stored, ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB"), RELATIVE,
                                       outputMode="RGB", flags=BLACK_POINTS)
    assert answer.status == 200 and not answer.timing["notes"]
    check_error(answer.image, np.array(wanted).astype(float), 1, 0.05)
    kept = daemon.post("/rotate?angle=0&type=png", out.getvalue())
    assert len(kept.timing["notes"]) == 2 and np.abs(kept.image.astype(int) - answer.image).max() > 30


def test_cmyk_with_a_profile_that_is_none(daemon):
    out = io.BytesIO()
    Image.fromarray(np.zeros((8, 8, 4), np.uint8), "CMYK").save(out, "JPEG", icc_profile=b"nothing")
    answer = daemon.post("/flop?type=png&profile=srgb", out.getvalue())
    assert answer.status == 200 and any(UNUSABLE in note for note in answer.timing["notes"])
    assert np.array_equal(answer.image, daemon.post("/flop?type=png", out.getvalue()).image)


def test_too_many_steps(daemon):
    steps = json.dumps([{"operation": "flip"}] * 10)
    data = png(PIXELS, icc_profile=icc.matrix_profile(icc.ADOBE_RGB))
    assert daemon.post_form("/pipeline", [("operations", steps, None), ("image", data, "a")]).status == 200
    check_problem(daemon.post_form("/pipeline?profile=srgb", [("operations", steps, None), ("image", data, "a")]), 400, "at most 10 steps")


def test_bad_values(daemon):
    check_problem(daemon.post("/flop?profile=p3", png(PIXELS)), 400, "profile", "keep, srgb or none")


def test_burin_run(tmp_path, daemon):
    source, out = tmp_path / "in.jpg", tmp_path / "out.png"
    source.write_bytes(jpeg(PIXELS, icc_profile=icc.matrix_profile(icc.DISPLAY_P3)))
    subprocess.run([BURIN, "run", "--device", "cpu", "--profile", "srgb", "flop", str(source), str(out)], check=True, timeout=60)
    assert out.read_bytes() == daemon.post("/flop?profile=srgb&type=png", source.read_bytes()).body
