# SPDX-License-Identifier: Apache-2.0
"""`burin bench` and the programs of tests/bench from outside: they check the results that they time, print their usage, and
exit as every subcommand does.

covers: tests/bench/burin-bench/report.c tests/bench/burin-bench/histeq.c tests/bench/burin-bench/edge.c
covers: tests/bench/burin-bench/carve.c tests/bench/burin-bench/plain_histeq.c tests/bench/burin-bench/plain_edge.c tests/bench/burin-bench/plain_carve.c server/cli/command_bench.c
covers: tests/bench/burin-bench/skeletons.c tests/bench/burin-bench/plain_skeletons.c
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import threading

import pytest

from conftest import BURIN, LONG, QUICK_CC, needs, png, smooth
from test_cli import burin, refused

# The folder of the programs of tests/bench: set by the Makefile; in a bundle they lie beside burin.
PROGRAMS = pathlib.Path(os.environ.get("BENCH_PROGRAMS") or os.path.dirname(os.path.abspath(BURIN)))
SMALL = [pytest.param("carve", 70000, marks=needs("carve")), ("edge", 400000)]
FULL_HD = 1920 * 1080  # the smallest size of `burin bench skeletons`


def program(name):
    path = PROGRAMS / name
    return path if path.is_file() else pytest.skip(f"{name} is not built here")


def measure(name, *arguments, status=0, env=None):
    done = burin("bench", name, "--json", "--device", "cpu", "--repeats", "1", *arguments, env=env, text=True)
    assert done.returncode == status, done
    result = json.loads(done.stdout)
    assert result["bench"] == name
    return result["rows"], done.stderr


@pytest.mark.parametrize("name,pixels", SMALL)
def test_what_is_timed_is_right(name, pixels):
    """A wrong result would give a message and no row."""
    rows, said = measure(name, "--pixels-max", pixels)
    assert rows and said == ""


@needs("carve")
def test_shares_of_carving_sum_to_its_total():
    """Steps, the computing in none of them, and copies. Each step's time is a median of its own, so one run alone is timed."""
    rows, _ = measure("carve", "square", "--pixels-max", "70000")
    for row in rows:
        assert set(row["steps_ms"]) == {"energy", "seam", "trace", "remove"}
        parts = [*row["steps_ms"].values(), row["other_ms"], row["copies_ms"]]
        assert all(part >= 0 for part in parts) and row["other_ms"] < row["compute_ms"]
        assert sum(parts) == pytest.approx(row["total_ms"], rel=1e-3)
        assert row["total_ms"] == pytest.approx(row["compute_ms"] + row["upload_ms"] + row["download_ms"], rel=1e-3)


def test_files(tmp_path):
    """A file that is no picture costs its row and the exit code, and no other row."""
    good, bad = tmp_path / "good.png", tmp_path / "bad.png"
    good.write_bytes(png(smooth(61, 47)))
    bad.write_bytes(good.read_bytes()[:-100])
    rows, said = measure("histeq", bad, good, status=1)
    assert "bad.png" in said and "good.png" not in said
    assert {row["picture"] for row in rows} == {"good.png"}
    rows, said = measure("histeq", good)
    assert rows and said == ""


# ---- skeletons

FIGURE_5 = [("binarize", "P2P", "noise"), ("sobel", "N2P", "noise"), ("maximum", "R2S", "noise"),
            ("histogram", "R2V", "two levels"), ("histogram", "R2V", "noise")]
needs_compiler = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler here")


def subject(row):
    return row["operator"], row["skeleton"], row["picture"]


@needs_compiler
def test_skeletons_are_those_of_figure_5(tmp_path):
    """Each skeleton has one row a device, beside the serial program that ratios refer to and results are compared with. plot.py
    makes one figure of them: four kinds, with and without copies."""
    done = burin("bench", "skeletons", "--json", "--device", "cpu", "--repeats", "1", "--pixels-max", FULL_HD,
                 env={"BURIN_CC": QUICK_CC}, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)["rows"]
    assert {(row["width"], row["height"]) for row in rows} == {(1920, 1080)}
    serial = {subject(row): row for row in rows if row["device"] == "cpu, serial"}
    assert list(serial) == FIGURE_5
    assert {row["paper_ratio"] for row in rows} == {"15", "tens", "6", "none"}
    one_core = [subject(row) for row in rows if row["device"] == "cpu, 1 core"]
    assert one_core == FIGURE_5
    for row in rows:
        base = serial[subject(row)]
        assert row["total_ms"] == pytest.approx(row["compute_ms"] + row["upload_ms"] + row["download_ms"], rel=1e-3)
        assert row["compute_ratio"] == pytest.approx(base["compute_ms"] / row["compute_ms"], rel=1e-3)
        assert row["total_ratio"] == pytest.approx(base["total_ms"] / row["total_ms"], rel=1e-3)
    (tmp_path / "skeletons.json").write_text(done.stdout)
    plot = pathlib.Path(__file__).parents[1] / "bench/plot.py"
    done = subprocess.run(["/usr/bin/python3", plot, tmp_path, tmp_path / "skeletons.json"], capture_output=True, text=True, timeout=60)
    if "No module named 'matplotlib'" in done.stderr:
        pytest.skip("no matplotlib here")
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "skeletons.svg").read_text()
    for text in ("P2P", "N2P", "R2S", "R2V", "kernel alone", "application", "cpu, serial", "cpu, 1 core"):
        assert text in drawn, text


@pytest.mark.parametrize("compiler,message", [("", "there is no C compiler"), ("/bin/false", "the operators do not compile")])
def test_skeletons_without_a_compiler(compiler, message):
    """Rows that need a compiler are left out; the reason is printed once, not for each row."""
    rows, said = measure("skeletons", "--pixels-max", FULL_HD, status=1, env={"BURIN_CC": compiler})
    assert [subject(row) for row in rows] == FIGURE_5 and {row["device"] for row in rows} == {"cpu, serial"}
    assert said.count(message) == 1 and all(line.startswith("burin bench: ") for line in said.splitlines())


@needs_compiler
@pytest.mark.parametrize("changes,lost", [
    (r"s/tolerance > 127/tolerance > 128/; s/root < 255/root < 254/; s/counts\[pixel\]/counts[pixel ^ 1]/",
     [("binarize", "P2P", "noise"), ("sobel", "N2P", "noise"), ("histogram", "R2V", "noise")]),
    pytest.param("s/a > b/a < b/", [("maximum", "R2S", "noise")], marks=pytest.mark.skipif(not LONG, reason="the longer form alone"))],
    ids=["all but maximum", "maximum"])
def test_skeletons_that_are_wrong_have_no_row(changes, lost, tmp_path):
    """A compiler that changes some operators costs the rows of those operators alone."""
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/sh\nsed -i '{changes}' twin.c\nexec {QUICK_CC} \"$@\"\n")
    compiler.chmod(0o755)
    rows, said = measure("skeletons", "--pixels-max", FULL_HD, status=1, env={"BURIN_CC": str(compiler)})
    missing = [one for one in FIGURE_5 if one not in [subject(row) for row in rows if row["device"] != "cpu, serial"]]
    assert set(lost) <= set(missing) and {name for name, _, _ in missing} == {name for name, _, _ in lost}
    assert said.count("its result is wrong") >= len(lost)


# ---- words and options

@pytest.mark.parametrize("name", [pytest.param("carve", marks=needs("carve")), "edge", "skeletons"])
@pytest.mark.parametrize("json_too", [(), ("--json",)], ids=["table", "JSON"])
def test_unknown_words(name, json_too):
    assert '"sideways"' in refused("bench", name, "sideways", *json_too)


@pytest.mark.parametrize("arguments", [["--device", "gpu"], ["--device"], ["--repeats", "0"], ["--sideways"]], ids=" ".join)
def test_unknown_options(arguments):
    refused("bench", "edge", *arguments, "--json")


def kernel_sources(path):
    """The .cu files whose objects are linked into a program. nvcc names each one tmpxft_<hex>_<hex>-<n>_<stem>.cudafe1.cpp."""
    symbols = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\bFILE .* tmpxft_\w+-\d+_(\w+)(?:\.compute_\d+)?\.cudafe1\.cpp$", symbols, re.M))


@pytest.mark.skipif(not shutil.which("readelf"), reason="no readelf here")
def test_no_kernel_of_a_benchmark_is_linked():
    linked = kernel_sources(BURIN)
    ours = {path.stem for path in pathlib.Path(__file__).parents[2].glob("cuda/**/*.cu")}
    if not linked or not ours:
        pytest.skip("built without CUDA, or without its sources beside it")
    assert linked <= ours


# ---- the programs of tests/bench

@pytest.mark.parametrize("name,pixels", [pytest.param("edge_ways", 400000, marks=needs("edge")), ("energy_ways", 5000),
                                         pytest.param("carve_widths", 80000, marks=needs("carve"))])
def test_every_way_is_right(name, pixels):
    """A wrong result would give a message and no row. The rows are like those of `burin bench`, so plot.py draws both."""
    done = subprocess.run([program(name), "--json", "--device", "cpu", "--repeats", "1", "--pixels-max", str(pixels)],
                          capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert name.startswith(result["bench"]) and result["rows"] and result["machine"]["cores"] >= 1


def test_edge_ways_has_the_row_of_plain_c():
    done = subprocess.run([program("edge_ways"), "--json", "--device", "cpu", "--repeats", "1", "--pixels-max", "400000"],
                          capture_output=True, text=True, timeout=60)
    rows = {row["way"]: row for row in json.loads(done.stdout)["rows"]}
    assert {"cpu, plain C", "cpu, 1 core"} <= set(rows)
    assert rows["cpu, plain C"]["compute_ratio"] == 1
    assert list(rows["cpu, plain C"]) == list(measure("edge", "--pixels-max", "400000")[0][0])


def test_operators_are_measured_one_by_one():
    """Without named operators it measures a list of its own, which fits any size."""
    for size, plans in (("320x240", ["blur:sigma=2", "flip;histogram"]), ("1x1", [])):
        done = subprocess.run([program("operators"), "--json", "--device", "cpu", "--repeats", "1", "--size", size, *plans],
                              capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        rows = json.loads(done.stdout)["rows"]
        measured = list(dict.fromkeys(row["plan"] for row in rows))
        assert measured == plans if plans else len(measured) > 5
        assert {row["batch"] for row in rows} == {1} and all(row["ms"] >= 0 for row in rows)


@pytest.mark.parametrize("arguments", [["blurr"], ["--size", "0x4"], ["--size", "4"], ["--channels", "5"], ["--depth", "12"]])
def test_operators_says_what_it_cannot_do(arguments):
    done = subprocess.run([program("operators"), *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith("operators: ")


@pytest.mark.parametrize("name", ["carve_widths", "edge_ways", "energy_ways", "operators"])
def test_a_way_refuses_unknown_words(name):
    for arguments in (["sideways"], ["--sideways"], ["--device", "gpu"], ["--repeats", "0"]):
        done = subprocess.run([program(name), *arguments], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.startswith(name + ": ")


class Closing(threading.Thread):
    """A server that closes each connection after three answers, and announces that or not."""

    requests = 3

    def __init__(self, says_so):
        super().__init__(daemon=True)
        self.says_so, self.server = says_so, socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.server.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def answer(self, number):
        """Content type and body."""
        return b"text/plain", b"hello"

    def serve(self, connection):
        with connection, connection.makefile("rb") as stream:
            for i in range(self.requests):
                length = 0
                while (line := stream.readline().strip()):
                    if line.startswith(b"Content-Length: "):
                        length = int(line.split()[1])
                if not length:
                    return
                stream.read(length)
                close = b"Connection: close\r\n" if i == 2 and self.says_so else b""
                media, body = self.answer(i)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s" %
                                   (media, len(body), close, body))


class Changing(Closing):
    """Its 50th answer differs from the others: by ADDED bytes, or in the byte at PLACE."""

    requests = 1000

    def __init__(self, added, place):
        self.added, self.place = added, place
        super().__init__(False)

    def answer(self, number):
        body = bytearray(b"0123456789" * 10000)
        if number == 49:
            body[self.place] ^= 1
            body += bytes(self.added)
        return b"image/png", bytes(body)


@pytest.mark.parametrize("says_so", [True, False], ids=["said", "unsaid"])
@pytest.mark.parametrize("connections", [1, 4])
def test_load_goes_on_when_connections_are_closed(says_so, connections, tmp_path):
    """It reconnects each time; that is counted, and is no failure."""
    (tmp_path / "a").write_bytes(bytes(1000))
    server = Closing(says_so)
    done = subprocess.run([program("load"), "--json", "--port", str(server.port), "--count", "60", "--concurrency",
                           str(connections), str(tmp_path / "a")], capture_output=True, text=True, timeout=60)
    server.server.close()
    row, = json.loads(done.stdout)
    assert done.returncode == 0 and row["requests"] == 60 and row["failed"] == 0
    assert 60 // 3 - connections <= row["reopened"] <= 60 // 3


@pytest.mark.parametrize("connections,threads", [(4, 4), (4, 1)])
def test_load_sends_no_more_than_asked(connections, threads, tmp_path):
    """Fewer requests than threads, or than connections."""
    (tmp_path / "a").write_bytes(bytes(1000))
    server = Closing(True)
    done = subprocess.run([program("load"), "--json", "--port", str(server.port), "--count", "3", "--concurrency",
                           str(connections), "--threads", str(threads), "--seconds", "0.2", str(tmp_path / "a")],
                          capture_output=True, text=True, timeout=60)
    server.server.close()
    row, = json.loads(done.stdout)
    assert done.returncode == 0 and row["requests"] == 3


@pytest.mark.parametrize("added,place,wrong", [(0, 3, 1), (0, -1, 1), (0, -20, 1), (1, 50, 1), (0, 50_000, 0)])
def test_load_compares_images_with_the_first(added, place, wrong, tmp_path):
    """Length, first and last bytes of each answer; the middle of every 64th alone."""
    (tmp_path / "a").write_bytes(bytes(1000))
    server = Changing(added, place)
    done = subprocess.run([program("load"), "--json", "--port", str(server.port), "--count", "150", "--concurrency",
                           "1", str(tmp_path / "a")], capture_output=True, text=True, timeout=60)
    server.server.close()
    row, = json.loads(done.stdout)
    assert row["failed"] == row["wrong"] == wrong and row["requests"] == 150 - wrong
    assert done.returncode == wrong


@pytest.mark.parametrize("name", ["carve_band", "carve_widths", "codec", "edge_ways", "energy_ways", "launch_shapes", "load",
                                  "operators", "throughput"])
def test_each_program_helps(name):
    done = subprocess.run([program(name), "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith(f"usage: {name}") and done.stderr == ""

