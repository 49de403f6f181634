# SPDX-License-Identifier: Apache-2.0
"""WebP out: the same bytes that Pillow gets from the same libwebp, and which requests get one."""
import io
import subprocess

import numpy as np
import pytest
from PIL import Image, ImageCms

from conftest import BURIN, check_problem, jpeg, noise, png, pnm, smooth

COLOUR = smooth(200, 150)
ALPHA = np.dstack([COLOUR, np.tile(np.linspace(0, 255, 200).astype(np.uint8), (150, 1))])
GRAY = smooth(90, 61, 1)


def webp(array, **options):
    out = io.BytesIO()
    Image.fromarray(array).save(out, "WEBP", **options)
    return out.getvalue()


# Copies samples, so the encoder's input is known.
PLAIN = "/brightness?shift=0&type=webp"


@pytest.mark.parametrize("picture", [COLOUR, ALPHA, noise(33, 18, 3)], ids=["colour", "alpha", "noise"])
@pytest.mark.parametrize("quality,effort", [(1, 4), (50, 0), (85, 4), (100, 6), (80, 2)])
def test_lossy_bytes_are_those_of_pillow(daemon, picture, quality, effort):
    answer = daemon.post(f"{PLAIN}&quality={quality}&effort={effort}", png(picture))
    assert answer.status == 200 and answer.headers["Content-Type"] == "image/webp"
    assert answer.body == webp(picture, quality=quality, method=effort)
    assert answer.timing["output"]["type"] == "webp" and answer.timing["notes"] == []


@pytest.mark.parametrize("picture", [COLOUR, ALPHA, noise(33, 18, 4)], ids=["colour", "alpha", "noise"])
@pytest.mark.parametrize("effort", range(7))
def test_lossless_keeps_every_sample(daemon, picture, effort):
    answer = daemon.post(f"{PLAIN}&lossless=true&effort={effort}", png(picture))
    harder = [0, 20, 25, 25, 25, 25, 50][effort]
    assert answer.body == webp(picture, lossless=True, exact=True, quality=harder, method=effort)
    assert np.array_equal(answer.image, picture)


def test_gray_becomes_colour_and_16_bits_become_8(daemon):
    answer = daemon.post(f"{PLAIN}&lossless=true", pnm(GRAY))
    assert np.array_equal(answer.image, np.dstack([GRAY] * 3)) and answer.timing["notes"] == []
    deep = noise(50, 40, 3, 16)
    answer = daemon.post(f"{PLAIN}&lossless=true", pnm(deep))
    assert np.array_equal(answer.image, np.floor(deep / 257 + 0.5).astype(np.uint8))
    assert ["8 bits" in note for note in answer.timing["notes"]] == [True]


def test_profiles_travel(daemon):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for picture in (COLOUR, ALPHA):
        for lossless in ("true", "false"):
            out = io.BytesIO()
            Image.fromarray(picture).save(out, "PNG", icc_profile=profile)
            answer = daemon.post(f"{PLAIN}&lossless={lossless}", out.getvalue())
            read = Image.open(io.BytesIO(answer.body))
            assert read.info["icc_profile"] == profile and read.mode == ("RGB", "RGBA")[picture is ALPHA]
            plain = daemon.post(f"{PLAIN}&lossless={lossless}", png(picture))
            assert np.array_equal(np.array(read), plain.image)


def test_exif_is_applied_and_dropped(daemon):
    exif = Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    Image.fromarray(COLOUR).save(out, "JPEG", exif=exif.tobytes())
    answer = daemon.post(PLAIN, out.getvalue())
    read = Image.open(io.BytesIO(answer.body))
    assert read.size == (150, 200) and "exif" not in read.info


@pytest.mark.parametrize("accept,kind", [
    ("image/webp", "webp"), ("image/webp,image/*;q=0.5", "webp"), ("image/webp;q=0.5,image/*;q=0.6", "jpeg"),
    ("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", "jpeg"),
    ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", "jpeg")])
def test_accept(daemon, accept, kind):
    answer = daemon.post("/grayscale", jpeg(COLOUR), headers={"Accept": accept})
    assert answer.headers["Content-Type"] == f"image/{kind}" and answer.headers["Vary"] == "Accept"


def test_prefer(start):
    chosen = start("--prefer", "webp,png")
    for accept, kind in [("image/webp,image/*", "webp"), ("image/png,image/jpeg", "png"), ("image/*", "jpeg"), ("*/*", "jpeg"),
                         ("image/webp;q=0.9,image/jpeg", "jpeg"), ("image/webp;q=0,*/*", "jpeg"),
                         ("text/html,application/xml;q=0.9,image/webp,*/*;q=0.8", "webp")]:
        answer = chosen.post("/grayscale", jpeg(COLOUR), headers={"Accept": accept})
        assert answer.headers["Content-Type"] == f"image/{kind}", accept
        assert answer.headers["Vary"] == "Accept"
    assert chosen.post("/grayscale?type=jpeg", jpeg(COLOUR), headers={"Accept": "image/webp"}).headers["Content-Type"] == "image/jpeg"


def test_prefer_takes_types_alone():
    run = subprocess.run([BURIN, "serve", "--prefer", "webp,bmp"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 2 and "prefer must be nothing, or types of images" in run.stderr


def test_sides_are_limited_before_decoding(daemon):
    wide = png(np.zeros((1, 16384), np.uint8))
    check_problem(daemon.post("/grayscale?type=webp", wide), 422, "16384 x 1", "16383")
    assert daemon.post("/grayscale?type=webp", png(np.zeros((1, 16383), np.uint8))).status == 200
    assert daemon.post("/grayscale", wide).status == 200


@pytest.mark.parametrize("query,words", [("effort=7", ["effort", "0..6"]), ("effort=x", ["0..6"]), ("lossless=maybe", ["lossless", "true or false"])])
def test_bad_settings(daemon, query, words):
    check_problem(daemon.post(f"/grayscale?type=webp&{query}", png(COLOUR)), 400, *words)


def test_max_bytes(daemon):
    whole = daemon.post(PLAIN, png(COLOUR))
    limit = len(whole.body) * 2 // 3
    answer = daemon.post(f"{PLAIN}&max_bytes={limit}", png(COLOUR))
    output = answer.timing["output"]
    assert len(answer.body) <= limit and 10 <= output["quality"] < 85 and 3 <= output["tries"] <= 9
    assert answer.body == webp(COLOUR, quality=output["quality"], method=4)
    lossless = daemon.post(f"{PLAIN}&lossless=true", png(COLOUR)).body
    check_problem(daemon.post(f"{PLAIN}&lossless=true&max_bytes={len(lossless) - 1}", png(COLOUR)), 422, f"{len(lossless)} bytes")


def test_burin_run(tmp_path):
    source, out = tmp_path / "in.png", tmp_path / "out.webp"
    source.write_bytes(png(COLOUR))
    subprocess.run([BURIN, "run", "--device", "cpu", "--effort", "2", "--quality=70", str(source), str(out)], check=True, timeout=60)
    assert out.read_bytes() == webp(COLOUR, quality=70, method=2)
