# SPDX-License-Identifier: Apache-2.0
"""`burin run --out-dir`: many files in one run.

covers: server/cli/file_list.c server/cli/many_run.c server/cli/many_progress.c server/cli/run_report.c
"""
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess

import numpy as np
import pytest
from PIL import Image

from conftest import BURIN, PATIENCE_S, jpeg, needs, noise, png, pnm, smooth
from test_cli import TEXT, burin, refused



def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def folder(tmp_path):
    """Pictures of three types, one broken file, and one that is no picture."""
    for i, name in enumerate(["a.png", "b.PNG", "sub/a.png", "sub/deep/c.jpg"]):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((jpeg if name.endswith("jpg") else png)(smooth(40 + i, 30)))
    (tmp_path / "in/bad.png").write_bytes(b"no picture")
    (tmp_path / "in/notes.txt").write_text("left out")
    (tmp_path / "in/.hidden.png").write_bytes(b"left out")
    return tmp_path


def run(folder, *arguments, **options):
    return burin("run", "--device", "cpu", *arguments, cwd=folder, **TEXT, **options)


@needs("resize")
def test_many_equal_one_by_one(folder):
    done = run(folder, "resize:width=20", "in/a.png", "in/bad.png", "in/b.PNG", "none.jpg", "--out-dir", "out/new")
    assert done.returncode == 1
    assert re.fullmatch(r"4 files in [\d.]+ s, 2 failed; read [\d.]+ kB, wrote [\d.]+ kB\n", done.stdout)
    (folder / "a").write_bytes(b"no picture")  # a name that is in every message
    assert run(folder, "flip", "a", "--out-dir", "out").stderr.startswith("burin: a: the data")
    missing, bad = sorted(done.stderr.splitlines())
    assert bad.startswith("burin: in/bad.png: the data is not an image of a known format")
    assert missing == "burin: cannot open none.jpg: No such file or directory"
    assert tree(folder / "out") == ["new/a.png", "new/b.PNG"]
    for name in ("a.png", "b.PNG"):
        assert run(folder, "resize:width=20", f"in/{name}", "one.png").returncode == 0
        assert (folder / "one.png").read_bytes() == (folder / "out/new" / name).read_bytes()


def test_many_keep_a_folders_tree(folder):
    """Also where the results go below the folder: they are no input of the next run."""
    for _ in range(2):
        done = run(folder, "flip", "in", "--recursive", "--out-dir", "in/out", "-q")
        assert (done.returncode, done.stdout) == (1, "") and "bad.png" in done.stderr
    assert tree(folder / "in/out") == ["a.png", "b.PNG", "sub/a.png", "sub/deep/c.jpg"]
    flipped = np.asarray(Image.open(folder / "in/out/sub/a.png"))
    assert np.array_equal(flipped[::-1], np.asarray(Image.open(folder / "in/sub/a.png")))


@needs("resize")
def test_many_names_types_and_widths(folder):
    done = run(folder, "resize", "in/a.png", "in/sub/deep/c.jpg", "--out-dir", "out", "--widths", "10,20", "--name", "%w/%n-x.webp", "--json")
    *results, summary = map(json.loads, done.stdout.splitlines())
    assert {(r["output"], r["type"], r["width"]) for r in results} == {
        (f"out/{w}/{n}-x.webp", "webp", w) for w in (10, 20) for n in "ac"}
    for result in results:
        assert Image.open(folder / result["output"]).format == "WEBP"
        assert os.path.getsize(folder / result["output"]) == result["bytes"] and result["ms"] > 0 and result["notes"] == []
    assert (summary["files"], summary["failed"], summary["skipped"], summary["not_done"]) == (2, 0, 0, 0)
    assert summary["written_bytes"] == sum(r["bytes"] for r in results)
    # The widths asked for are in the names, also where the picture has fewer pixels: so no source is replaced, and --resume finds all.
    (folder / "in/c-61.png").write_bytes(source := png(smooth(9, 9)))
    (folder / "in/c.png").write_bytes(png(smooth(61, 47)))
    for skipped in (0, 2):
        done = run(folder, "resize:enlarge=false", "in/c.png", "in/c-61.png", "--out-dir", "in", "--widths", "70,80", "--resume", "--json")
        assert done.returncode == 0 and json.loads(done.stdout.splitlines()[-1])["skipped"] == skipped
    assert (folder / "in/c-61.png").read_bytes() == source and Image.open(folder / "in/c-80.png").size == (61, 47)
    done = run(folder, "mean", "in/a.png", "in/bad.png", "--out-dir", "out", "--type", "jpeg", "--json", "--jobs", "1")
    one, bad, summary = map(json.loads, done.stdout.splitlines())
    assert one["output"] == "out/a.jpg" and one["values"][0]["value"] == pytest.approx(smooth(40, 30).mean((0, 1)).tolist())
    assert bad["input"] == "in/bad.png" and "not an image" in bad["error"] and done.stderr == ""
    (folder / "in/sub/deep/d").write_bytes(png(smooth(9, 8)))  # no ending: its type is inside
    assert run(folder, "in/sub/deep/d", "--out-dir", "out").returncode == 0 and (folder / "out/d.png").exists()


def test_many_resume(folder):
    names = ["in/a.png", "in/b.PNG", "in/sub/deep/c.jpg"]
    for name in names:
        os.utime(folder / name, (1000, 1000))
    assert run(folder, "flip", *names, "--out-dir", "out").returncode == 0
    first = (folder / "out/a.png").read_bytes()
    os.utime(folder / "out/b.PNG", (999, 999))
    (folder / "out/c.jpg").unlink()
    done = run(folder, "flop", *names, "--out-dir", "out", "--resume", "--json")
    *results, summary = map(json.loads, done.stdout.splitlines())
    assert {r["input"] for r in results} == set(names[1:]) and summary["skipped"] == 1
    assert (folder / "out/a.png").read_bytes() == first
    assert run(folder, "flop", *names, "--out-dir", "out").returncode == 0  # else they are replaced
    assert (folder / "out/a.png").read_bytes() != first


@pytest.mark.parametrize("arguments, message", [
    (["in/a.png", "in/sub/a.png", "--out-dir", "out"], "in/a.png and in/sub/a.png would have one result, out/a.png"),
    (["in/a.png", "in/b.PNG", "--out-dir", "in/sub/.."], "would be replaced, and is one of the files to read"),
    (["in", "--out-dir", "out"], "in is a folder: --recursive"),
    pytest.param(["resize", "in/a1.png", "in/a.png", "--out-dir", "out", "--widths", "20,120", "--name", "%n%w.%e"],
                 " would have one result, out/a120.png", marks=needs("resize")),
    (["rezise:width=3", "in/a.png", "--out-dir", "out"], 'there is no operator "rezise"'),
    (["in/a.png", "--out-dir", "out", "--name", "x.png"], "--name must be a name with %n in it"),
    (["in/a.png", "--out-dir", "out", "--name", "%n-%w"], "a width of --widths"),
    (["in/a.png", "--out-dir", "out", "--name", "%n.bmp"], 'burin does not write ".bmp": --name must end in'),
    pytest.param(["resize", "in/a.png", "--out-dir", "out", "--widths", "3", "--name", "%n.png"], "--name must contain %w", marks=needs("resize")),
    (["in/a.png", "--out-dir", "in/notes.txt/x"], "cannot write to the folder in/notes.txt/x: Not a directory"),
    (["in/a.png", "--out-dir", "in/notes.txt"], "cannot write to the folder in/notes.txt: Not a directory"),
    (["in/a.png", "-", "--out-dir", "out"], "not standard input"), (["--out-dir", "out"], "INPUT is missing"),
    (["in/a.png", "out.png", "--jobs", "2"], "need --out-dir"), (["in/a.png", "--out-dir", "out", "--timing"], "--json"),
    (["in/a.png", "--out-dir", "out", "--device", "cuda:99"], 'no device "cuda:99"')])
def test_many_refuse(folder, arguments, message):
    """Before any file is written."""
    before = tree(folder)
    assert message in refused("run", *arguments, cwd=folder)
    assert tree(folder) == before


def test_many_outlive_a_crash(folder):
    (folder / "ops").mkdir()
    (folder / "ops/fragile.c").write_text(
        "#P2P_FUNC static unsigned char fragile(unsigned char pixel, int index) { return 100 / (pixel - 7); }\n")
    for i, level in enumerate([8, 7, 9, 7, 10]):
        (folder / f"{i}.pgm").write_bytes(pnm(np.full((9, 9), level, np.uint8)))
    done = run(folder, "--operators-dir", "ops", "fragile", *(f"{i}.pgm" for i in range(5)), "--out-dir", "out", "--jobs", "2")
    assert done.returncode == 1 and "5 files in" in done.stdout and "2 failed" in done.stdout, done
    assert sorted(re.findall(r"^burin: (.*pgm): .*fragile", done.stderr, re.M)) == ["1.pgm", "3.pgm"], done.stderr
    assert tree(folder / "out") == ["0.pgm", "2.pgm", "4.pgm"]


def test_many_stop_without_half_a_file(folder):
    """On a terminal, while the second file is read from a pipe that gives nothing: the line is erased, and what the worker had
    under its temporary name is gone."""
    for name in ("0.pgm", "2.pgm"):
        (folder / name).write_bytes(pnm(noise(20, 15)))
    os.mkfifo(folder / "1.pgm")
    ours, theirs = pty.openpty()
    process = subprocess.Popen([os.path.abspath(BURIN), "run", "flip", "0.pgm", "1.pgm", "2.pgm", "--out-dir", "out", "--jobs", "1"],
                               cwd=folder, stderr=theirs, stdout=subprocess.PIPE, text=True,
                               preexec_fn=lambda: (signal.signal(signal.SIGINT, signal.SIG_DFL), signal.signal(signal.SIGHUP, signal.SIG_IGN)))
    os.close(theirs)
    text = b""
    while b"1 of 3 files" not in text and select.select([ours], [], [], PATIENCE_S)[0]:
        text += os.read(ours, 4096)
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as f:
        worker, = f.read().split()
    temporary = f".burin-{worker}-{os.stat('/proc/self/ns/pid').st_ino}-{socket.gethostname()}"
    (folder / "out" / temporary).write_bytes(b"half a file")
    process.send_signal(signal.SIGHUP)  # as under nohup: it is ignored
    process.send_signal(signal.SIGINT)
    summary = process.communicate(timeout=PATIENCE_S)[0]
    while select.select([ours], [], [], 0)[0] and not text.endswith(b"\r\x1b[K"):
        text += os.read(ours, 4096)
    os.close(ours)
    assert process.returncode == -signal.SIGINT and "1 file in" in summary and "2 not done" in summary
    assert text.endswith(b"\r\x1b[K") and not os.path.exists(f"/proc/{worker}") and tree(folder / "out") == ["0.pgm"]


def test_one_file_quiet_and_as_json(folder):
    (folder / "clear.png").write_bytes(png(np.zeros((4, 6, 4), np.uint8)))
    for flags, text in ((["-q"], ""), ([], "burin: note: transparency")):
        done = run(folder, *flags, "mean", "clear.png", "o.jpg")
        assert done.returncode == 0 and done.stderr.startswith(text) and bool(done.stderr) == bool(text)
        assert done.stdout == "255.0 255.0 255.0\n"  # hidden colours do not count: the background does
    line = json.loads(run(folder, "--json", "mean", "clear.png", "o.jpg").stdout)
    assert (line["input"], line["output"], line["type"], line["width"], line["height"]) == ("clear.png", "o.jpg", "jpeg", 6, 4)
    assert line["bytes"] == (folder / "o.jpg").stat().st_size and line["values"][0]["value"] == [255.0] * 3
    assert len(line["notes"]) == 1 and line["notes"][0].startswith("transparency")
    assert json.loads(run(folder, "--json", "mean", "clear.png").stdout)["output"] is None
    for arguments, source in ((["flip", "none.png", "o.png"], "none.png"), (["histq", "clear.png", "o.png"], None)):
        done = run(folder, "--json", *arguments)
        line = json.loads(done.stdout)
        assert done.returncode and done.stderr == "" and line["input"] == source and ("none.png" if source else "histeq") in line["error"]
