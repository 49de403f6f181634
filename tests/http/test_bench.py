# SPDX-License-Identifier: Apache-2.0
"""`burin bench` from outside: it checks what it times, and ends as every other subcommand does."""
import json

import pytest

from conftest import needs, png, smooth
from test_cli import burin, refused

SMALL = [pytest.param("carve", 70000, marks=needs("carve")), ("energy", 5000), ("edge", 400000)]


def measure(name, *arguments, status=0):
    done = burin("bench", name, "--json", "--device", "cpu", "--repeats", "1", *arguments, text=True)
    assert done.returncode == status, done
    result = json.loads(done.stdout)
    assert result["bench"] == name
    return result["rows"], done.stderr


@pytest.mark.parametrize("name,pixels", SMALL)
def test_what_is_timed_is_right(name, pixels):
    """Else there is a message, and no row."""
    rows, said = measure(name, "--pixels-max", pixels)
    assert rows and said == ""


@needs("carve")
def test_shares_of_carving_sum_to_its_total():
    """Steps, computing in none of them, copies. Each step's time is a median of its own: one run alone has no other."""
    rows, _ = measure("carve", "square", "--pixels-max", "70000")
    for row in rows:
        assert set(row["steps_ms"]) == {"energy", "seam", "trace", "remove"}
        parts = [*row["steps_ms"].values(), row["other_ms"], row["copies_ms"]]
        assert all(part >= 0 for part in parts) and row["other_ms"] < row["compute_ms"]
        assert sum(parts) == pytest.approx(row["total_ms"], rel=1e-3)
        assert row["total_ms"] == pytest.approx(row["compute_ms"] + row["upload_ms"] + row["download_ms"], rel=1e-3)


def test_files(tmp_path):
    """One that is no picture costs its row and the exit code, not the others."""
    good, bad = tmp_path / "good.png", tmp_path / "bad.png"
    good.write_bytes(png(smooth(61, 47)))
    bad.write_bytes(good.read_bytes()[:-100])
    rows, said = measure("histeq", bad, good, status=1)
    assert "bad.png" in said and "good.png" not in said
    assert {row["picture"] for row in rows} == {"good.png"}
    rows, said = measure("histeq", good)
    assert rows and said == ""


@pytest.mark.parametrize("name", [pytest.param("carve", marks=needs("carve")), "energy", "edge", "launch"])
@pytest.mark.parametrize("json_too", [(), ("--json",)], ids=["table", "JSON"])
def test_unknown_words(name, json_too):
    assert '"sideways"' in refused("bench", name, "sideways", *json_too)


@pytest.mark.parametrize("arguments", [["--device", "gpu"], ["--device"], ["--repeats", "0"], ["--sideways"]], ids=" ".join)
def test_unknown_options(arguments):
    refused("bench", "energy", *arguments, "--json")
