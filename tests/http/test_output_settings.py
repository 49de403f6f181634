# SPDX-License-Identifier: Apache-2.0
"""Output settings: the effect of max_bytes, min_quality and progressive, over HTTP and in `burin run`."""
import io
import json
import subprocess

import numpy as np
import pytest
from PIL import Image

from conftest import BURIN, check_problem, form, jpeg, png, smooth

PHOTO = jpeg(smooth(640, 480), quality=95)


def length_at(daemon, quality, query=""):
    return len(daemon.post(f"/grayscale?type=jpeg&quality={quality}{query}", PHOTO).body)


def test_max_bytes_is_kept_at_the_highest_quality_that_fits(daemon):
    lengths = {q: length_at(daemon, q) for q in range(1, 86)}
    assert lengths == {q: n for q, n in zip(lengths, sorted(lengths.values()))}, "a JPEG's sizes never fall"
    for limit in sorted({lengths[q] + d for q in (10, 11, 33, 62, 84) for d in (0, 1)}):
        answer = daemon.post(f"/grayscale?type=jpeg&max_bytes={limit}", PHOTO)
        output = answer.timing["output"]
        best = max(q for q in lengths if lengths[q] <= limit)
        assert answer.status == 200 and len(answer.body) <= limit
        assert output["quality"] == best and len(answer.body) == lengths[best] == output["bytes"]
        assert 2 <= output["tries"] <= 9
        assert answer.body == daemon.post(f"/grayscale?type=jpeg&quality={best}", PHOTO).body


def test_what_fits_as_it_is_stays_as_it_is(daemon):
    plain = daemon.post("/grayscale?type=jpeg", PHOTO)
    answer = daemon.post(f"/grayscale?type=jpeg&max_bytes={len(plain.body)}", PHOTO)
    assert answer.body == plain.body and answer.timing["output"]["tries"] == 1 and answer.timing["output"]["quality"] == 85
    assert "tries" not in plain.timing["output"] and "quality" not in plain.timing["output"]


@pytest.mark.parametrize("query,least", [("", 10), ("&min_quality=40", 40), ("&quality=5", 5), ("&quality=60&min_quality=60", 60)])
def test_what_cannot_fit_is_refused_with_both_sizes(daemon, query, least):
    smallest = length_at(daemon, least)
    check_problem(daemon.post(f"/grayscale?type=jpeg&max_bytes={smallest - 1}{query}", PHOTO), 422,
                  f"{smallest} bytes at quality {least}", f"max_bytes is {smallest - 1}", "min_quality")
    assert daemon.post(f"/grayscale?type=jpeg&max_bytes={smallest}{query}", PHOTO).status == 200


def test_a_type_without_quality_fits_or_does_not(daemon):
    for kind in ("png", "pnm"):
        plain = daemon.post(f"/grayscale?type={kind}", PHOTO).body
        assert daemon.post(f"/grayscale?type={kind}&max_bytes={len(plain)}", PHOTO).body == plain
        check_problem(daemon.post(f"/grayscale?type={kind}&max_bytes={len(plain) - 1}", PHOTO), 422,
                      f"{len(plain)} bytes", f"max_bytes is {len(plain) - 1}", "type=jpeg")


@pytest.mark.parametrize("query,words", [
    ("max_bytes=0", ["max_bytes", "from 1"]), ("max_bytes=-3", ["max_bytes"]), ("max_bytes=1e3", ["max_bytes"]), ("max_bytes=", ["max_bytes"]),
    ("max_bytes=9223372036854775808", ["max_bytes"]), ("min_quality=0", ["min_quality", "1..100"]), ("min_quality=101", ["1..100"]),
    ("min_quality=90", ["min_quality", "1..85"]), ("quality=20&min_quality=21", ["1..20"]), ("progressive=maybe", ["progressive", "true or false"]),
    ("max_bytes=1&max_bytes=1", ["twice"])])
def test_bad_settings(daemon, query, words):
    check_problem(daemon.post(f"/grayscale?{query}", PHOTO), 400, *words)


def test_settings_as_form_fields(daemon):
    limit = length_at(daemon, 30)
    answer = daemon.post_form("/grayscale", [("type", "jpeg", None), ("max_bytes", str(limit), None), ("image", PHOTO, "a.jpg"), ("progressive", "false", None)])
    assert answer.status == 200 and len(answer.body) == limit


def test_progressive(daemon):
    """The same pixels, in a file that libjpeg reads as progressive."""
    plain, made = (daemon.post(f"/grayscale?type=jpeg&progressive={p}", PHOTO) for p in ("false", "true"))
    assert "progressive" not in Image.open(io.BytesIO(plain.body)).info
    assert Image.open(io.BytesIO(made.body)).info["progressive"] == 1
    assert np.array_equal(plain.image, made.image) and len(made.body) < len(plain.body)
    limit = len(made.body) * 2 // 3
    small = daemon.post(f"/grayscale?type=jpeg&progressive=true&max_bytes={limit}", PHOTO)
    assert len(small.body) <= limit and Image.open(io.BytesIO(small.body)).info["progressive"] == 1


def test_sides_too_long_for_a_jpeg_are_refused_before_decoding(daemon):
    wide = png(np.zeros((1, 65501), np.uint8))
    check_problem(daemon.post("/grayscale?type=jpeg", wide), 422, "65501 x 1", "65500")
    assert daemon.post("/grayscale", wide).status == 200


def test_burin_run_has_the_same(tmp_path, daemon):
    source, out = tmp_path / "in.jpg", tmp_path / "out.jpg"
    source.write_bytes(PHOTO)
    limit = length_at(daemon, 40)
    run = [BURIN, "run", "--device", "cpu", "grayscale", str(source), str(out)]
    timed = subprocess.run(run + ["--max-bytes", str(limit), "--timing"], capture_output=True, check=True, timeout=60)
    assert out.read_bytes() == daemon.post("/grayscale?quality=40", PHOTO).body
    assert json.loads(timed.stdout)["output"]["quality"] == 40
    subprocess.run(run + ["--progressive=true"], check=True, timeout=60)
    assert out.read_bytes() == daemon.post("/grayscale?progressive=true", PHOTO).body
    for words, says in [(["--max-bytes", "50"], "max_bytes is 50"), (["--min-quality", "90"], "1..85"), (["--max-byte", "5"], "did you mean --max-bytes?"),
                        (["--min_quality", "9"], "did you mean --min-quality?"), (["--progressive"], "--progressive needs a value")]:
        refused = subprocess.run([BURIN, "run", "--device", "cpu", "grayscale", str(source), str(out)] + words,
                                 capture_output=True, text=True, timeout=60)
        assert refused.returncode in (1, 2) and says in refused.stderr, (words, refused.stderr)
