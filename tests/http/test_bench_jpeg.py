# SPDX-License-Identifier: Apache-2.0
"""`burin bench jpeg` from outside: its rows on cores, its options, its JSON, its figure.

covers: tests/bench/burin-bench/jpeg.c
"""
import json
import pathlib
import subprocess

import pytest

from conftest import needs, png, smooth
from test_cli import burin, refused

FIELDS = {"work": str, "width": int, "height": int, "sampling": str, "quality": int, "codec": str, "device": str, "batch": int,
          "streams": int, "timing": str, "us": float, "images_s": float, "file_bytes": float, "difference": float}


def measure(*arguments, status=0, device="cpu"):
    done = burin("bench", "jpeg", "--json", "--device", device, "--repeats", "1", *arguments, text=True)
    assert done.returncode == status, done
    result = json.loads(done.stdout)
    assert result["bench"] == "jpeg" and set(result) == {"bench", "machine", "rows"}
    return result["rows"], done.stderr


def pairs(rows):
    return list(dict.fromkeys((row["work"], row["sampling"], row["quality"]) for row in rows))


def test_rows_have_the_same_fields_and_sums():
    rows, said = measure("--size", "61x47", "--work", "decode,encode")
    assert said == "" and rows
    for row in rows:
        assert list(row) == list(FIELDS) and all(isinstance(row[key], kind) for key, kind in FIELDS.items())
        assert row["images_s"] == pytest.approx(1e6 / row["us"], rel=1e-4) and row["us"] > 0
        assert (row["codec"], row["timing"], row["difference"]) == ("libjpeg-turbo", "throughput", 0)
        assert row["device"].startswith("cpu, ") and row["device"].split()[1] == str(row["streams"])
        assert 200 < row["file_bytes"] < 61 * 47 * 3


def test_default_pairs():
    """Every sampling is decoded; encoded are those that Burin's encoder has: 4:4:4 from quality 95 on."""
    rows, _ = measure("--size", "40x30", "--work", "decode,encode")
    decoded = [("gray", 85), ("4:2:0", 50), ("4:2:0", 85), ("4:2:0", 95), ("4:2:2", 85), ("4:4:4", 85), ("4:4:4", 95)]
    encoded = [("gray", 85), ("4:2:0", 50), ("4:2:0", 85), ("4:4:4", 95)]
    assert sorted(pairs(rows)) == sorted([("decode", *pair) for pair in decoded] + [("encode", *pair) for pair in encoded])


@needs("histeq")
def test_lists_choose():
    rows, _ = measure("--size", "33x21,20x20", "--sampling", "gray,422", "--quality", "1,100", "--batch", "3", "--work", "both")
    assert {(row["width"], row["height"]) for row in rows} == {(33, 21), (20, 20)}
    assert sorted(pairs(rows)) == sorted(("both", sampling, quality) for sampling in ("gray", "4:2:2") for quality in (1, 100))


@needs("histeq")
def test_quick_is_one_pair():
    rows, _ = measure("--quick", "--size", "64x48")
    assert pairs(rows) == [(work, "4:2:0", 85) for work in ("decode", "encode", "both")]


def test_pixels_max_leaves_sizes_out():
    rows, _ = measure("--quick", "--size", "64x48,320x240", "--pixels-max", "5000", "--work", "decode")
    assert {row["width"] for row in rows} == {64}


def test_photographs(tmp_path):
    """The folder's pictures are cropped to size; a file that is no picture is skipped."""
    (tmp_path / "a.png").write_bytes(png(smooth(90, 70)))
    (tmp_path / "b.jpg").write_bytes(b"none")
    rows, said = measure("--photos", tmp_path, "--quick", "--size", "64x48", "--work", "encode")
    drawn, _ = measure("--quick", "--size", "64x48", "--work", "encode")
    assert said == "" and rows[0]["file_bytes"] != drawn[0]["file_bytes"]


def test_no_photographs(tmp_path):
    rows, said = measure("--photos", tmp_path, "--quick", "--size", "64x48", status=1)
    assert rows == [] and str(tmp_path) in said


def test_without_a_gpu_it_says_so():
    if "cuda" in burin("devices", text=True).stdout:
        pytest.skip("there is a GPU here")
    rows, said = measure("--quick", "--size", "64x48", "--work", "decode", device="all")
    assert rows and said == "burin bench: there is no GPU here: its rows are left out\n"


@pytest.mark.parametrize("arguments,said", [
    (["--size", "4x"], "--size must be"), (["--batch", "0"], "--batch must be 1..1024"), (["--quality", "101"], "--quality must be 1..100"),
    (["--sampling", "411"], "--sampling must be"), (["--work", "all"], "--work must be"), (["--photos"], "--photos needs a value"),
    (["--quick", "yes"], '"yes" is not an option')], ids=lambda value: "" if isinstance(value, str) else " ".join(value))
def test_what_is_not_understood(arguments, said):
    assert said in refused("bench", "jpeg", *arguments)


def test_other_benchmarks_do_not_have_its_options():
    assert "there is no option" in refused("bench", "edge", "--quick")


def test_help_lists_its_options():
    text = burin("bench", "jpeg", "--help", text=True).stdout
    for option in ("--size", "--sampling", "--quality", "--batch", "--work", "--photos", "--quick"):
        assert f"\n            {option} " in text


def test_table():
    done = burin("bench", "jpeg", "--device", "cpu", "--quick", "--size", "64x48", "--work", "decode", "--repeats", "1", text=True)
    assert done.returncode == 0 and "images/s" in done.stdout and "cpu, 1 core" in done.stdout


def gpu_rows(rows):
    """The rows as a GPU would have added them."""
    one = rows[0]
    return [{**one, "codec": codec, "device": "cuda:0", "batch": batch, "streams": streams, "images_s": 1000.0 * batch}
            for codec in ("burin", "nvJPEG, hardware") for streams in ((1, 3) if codec == "burin" else (1,)) for batch in (1, 8, 128)]


def test_figure(tmp_path):
    python = "/usr/bin/python3"
    result = json.loads(burin("bench", "jpeg", "--json", "--device", "cpu", "--quick", "--size", "64x48", "--repeats", "1", text=True).stdout)
    result["rows"] += gpu_rows(result["rows"])
    (tmp_path / "jpeg.json").write_text(json.dumps(result))
    plot = pathlib.Path(__file__).parents[1] / "bench/plot.py"
    done = subprocess.run([python, plot, tmp_path, tmp_path / "jpeg.json"], capture_output=True, text=True, timeout=60)
    if "No module named 'matplotlib'" in done.stderr:
        pytest.skip("no matplotlib here")
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "jpeg.svg").read_text()
    for text in ("64x48 4:2:0 q85, decode", "images a second", "libjpeg-turbo, cpu, 1 core", "burin, cuda:0, 1 stream", "burin, cuda:0, 3 streams",
                 "nvJPEG, hardware, cuda:0"):
        assert text in drawn, text
