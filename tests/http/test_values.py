# SPDX-License-Identifier: Apache-2.0
"""Values that steps compute from a picture: against numpy, in every form of the answer, beside the picture or instead of it, long
and short; and `burin run`.

covers: server/api/values_json.c server/cli/command_run.c server/cli/options.c"""
import base64
import json
import socket
import subprocess

import numpy as np
import pytest
from PIL import Image

from conftest import BURIN, check_problem, from_pnm, in_parallel, needs, noise, png, pnm, responses, smooth, wait_until
from test_process import parts_of

pytestmark = [needs(name) for name in ("histogram", "minimum", "maximum", "mean", "histeq", "grayscale", "blurhash", "thumbhash")]
SHORT = 1024  # bytes of values that fit the header
JSON, IMAGE, PARTS = "application/json", "image/x-portable-pixmap", "multipart/mixed"


def planes(picture):
    """The colour channels of a numpy picture, without alpha and the pixels that have none of it."""
    if picture.ndim == 2:
        return [picture]
    if picture.shape[2] % 2 == 0:
        return list(picture[picture[..., -1] > 0][:, :-1].T)
    return [picture[..., c] for c in range(picture.shape[2])]


def histogram(picture, bins=256):
    top = 65536 if picture.dtype.itemsize == 2 else 256
    return [np.bincount((plane.astype(np.uint64) * bins // top).ravel().astype(np.int64), minlength=bins).tolist()
            for plane in planes(picture)]


def mean(picture):
    return [int(plane.sum(dtype=np.uint64)) / plane.size for plane in planes(picture)]


EXPECTED = {
    "histogram": histogram, "mean": mean,
    "minimum": lambda picture: [int(plane.min()) for plane in planes(picture)],
    "maximum": lambda picture: [int(plane.max()) for plane in planes(picture)],
}


def rgb_noise(width, height, seed=1):
    return noise(width, height, 3, seed=seed)


def wide(picture):
    return picture.astype(np.uint16) * 251 + 17


def pipeline(daemon, steps, picture, query="", **headers):
    """STEPS: names, or (name, parameters)."""
    operations = [{"operation": s} if isinstance(s, str) else {"operation": s[0], "params": s[1]} for s in steps]
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return daemon.post_form("/pipeline" + query, [("image", picture, "a"),
                                                  ("operations", json.dumps(operations), None)], named)


# ---- the values

@pytest.mark.parametrize("make", [lambda rgb: rgb, wide], ids=["8 bit", "16 bit"])
@pytest.mark.parametrize("size", [(1, 1), (1, 37), (131, 1), (64, 48), (257, 33)])
def test_numpy_says_the_same(daemon, size, make):
    rgb = make(rgb_noise(*size))
    pictures = {"RGB": (pnm(rgb), rgb), "gray": (pnm(np.ascontiguousarray(rgb[..., 0])), rgb[..., 0])}
    for body, picture in pictures.values():
        for name, expected in EXPECTED.items():
            answer = daemon.post(f"/{name}", body)
            assert answer.status == 200, answer.body
            assert answer.json["values"] == [{"operation": name, "step": 0, "value": expected(picture)}]


@pytest.mark.parametrize("channels", [2, 4])
def test_alpha_is_left_out(daemon, channels):
    picture = noise(50, 40, channels)
    body = png(np.ascontiguousarray(picture))
    for name, expected in EXPECTED.items():
        value, = daemon.post(f"/{name}", body).json["values"]
        assert value["value"] == expected(picture) and len(value["value"]) == channels - 1


@pytest.mark.parametrize("bins", [2, 3, 100, 256, 257, 65536])
def test_bins(daemon, bins):
    for picture in (rgb_noise(40, 30), wide(rgb_noise(40, 30))):
        value, = daemon.post(f"/histogram?bins={bins}", pnm(picture)).json["values"]
        assert value["value"] == histogram(picture, bins)
    check_problem(daemon.post("/histogram?bins=65537", pnm(rgb_noise(4, 4))), 400, "bins must be 2..65536")


def test_types_stay(daemon):
    """A mean that is a whole number still has the type of a mean."""
    white = daemon.post("/mean", pnm(np.full((4, 4), 255, np.uint8)))
    assert b'"value":[255.0]' in white.body
    assert b'"value":[255]' in daemon.post("/minimum", pnm(np.full((4, 4), 255, np.uint8))).body


# ---- value steps among others

def test_before_and_after(daemon):
    """The histogram of the input, and that of histeq's result; the picture is histeq's."""
    rgb = smooth(64, 48)
    answer = pipeline(daemon, ["histogram", "histeq", "histogram"], pnm(rgb), Accept=PARTS)
    assert answer.status == 200, answer.body
    (_, picture), (_, report) = parts_of(answer)
    alone = daemon.post("/histeq", pnm(rgb)).body
    assert picture == alone
    before, after = json.loads(report)["values"]
    assert (before["step"], after["step"]) == (0, 2)
    assert before["value"] == histogram(rgb) and after["value"] == histogram(from_pnm(alone))


@pytest.mark.parametrize("steps", ["m", "mmm", "mb", "bm", "bmb", "mbmbm", "bbmbbmb", "mgmbm"])
def test_wherever_they_stand(daemon, steps):
    """The other steps make the picture; each value step measures the picture so far."""
    names = {"m": "maximum", "b": ("brightness", {"shift": 7}), "g": "grayscale"}
    rgb = smooth(45, 31) // 2
    answer = pipeline(daemon, [names[s] for s in steps], pnm(rgb), "?type=pnm", Accept=PARTS)
    (_, picture), (_, report) = parts_of(answer)
    so_far, expected = pnm(rgb), []
    for i, s in enumerate(steps):
        if s == "m":
            expected.append({"operation": "maximum", "step": i, "value": EXPECTED["maximum"](from_pnm(so_far))})
        else:
            so_far = daemon.post({"b": "/brightness?shift=7", "g": "/grayscale"}[s], so_far).body
    assert picture == so_far and json.loads(report)["values"] == expected
    assert json.loads(report) == answer.timing, "short values are in the header too"


def test_operators_without_values_say_nothing(daemon):
    assert "values" not in daemon.post("/histeq", pnm(rgb_noise(8, 8)), {"Accept": JSON}).json


# ---- texts: tests/reference/test_placeholders.py says whether they are right

GRAY = np.full((3, 5), 128, np.uint8)  # light 0.2158605, so 128 of 255; 128 65793 = ((14 83 + 60) 83 + 37) 83 + 75: E, y, b, [


def test_a_text(daemon):
    answer = daemon.post("/blurhash?components=1x1", pnm(GRAY))
    assert answer.status == 200 and answer.headers["Content-Type"].split(";")[0] == JSON
    assert answer.json["values"] == [{"operation": "blurhash", "step": 0, "value": "00Eyb["}]
    assert answer.json["output"]["bytes"] == 0 and answer.timing["values"] == answer.json["values"]
    value, = daemon.post("/blurhash?components=9x9", pnm(rgb_noise(40, 30))).json["values"]
    assert len(value["value"]) == 6 + 2 * 80 and value["value"][0] == "|"
    value, = daemon.post("/thumbhash", png(noise(40, 40, 4))).json["values"]
    assert len(base64.b64decode(value["value"], validate=True)) == 25


@pytest.mark.parametrize("components", ["4", "0x3", "4x10", "10x4", "4x3x2", "4,3", "", "4x", "-1x2"])
def test_components_that_are_none(daemon, components):
    check_problem(daemon.post(f"/blurhash?components={components}", pnm(GRAY)), 400, "components must be 1x1..9x9")
    check_problem(daemon.post("/thumbhash?components=4x3", pnm(GRAY)), 400, "thumbhash has no parameter")


def test_texts_beside_a_picture(daemon):
    """Texts among numbers and steps that make pictures; each describes the picture so far, and the picture passes on."""
    rgb = smooth(64, 48)
    steps = ["thumbhash", "grayscale", ("blurhash", {"components": "2x2"}), "mean", "thumbhash"]
    answer = pipeline(daemon, steps, pnm(rgb), Accept=PARTS)
    (_, picture), (_, report) = parts_of(answer)
    gray = daemon.post("/grayscale", pnm(rgb)).body
    assert picture == gray
    alone = [daemon.post(path, body).json["values"][0] for path, body in
             (("/thumbhash", pnm(rgb)), ("/blurhash?components=2x2", gray), ("/mean", gray), ("/thumbhash", gray))]
    assert json.loads(report)["values"] == [{**value, "step": step} for value, step in zip(alone, (0, 2, 3, 4))]


def test_texts_of_several_results(daemon):
    """One text before the branches belongs to all results, others to the results of their own branches."""
    rgb = smooth(64, 48)
    outputs = [{"operations": [{"operation": "flop"}, {"operation": "blurhash"}], "type": "png"},
               {"operations": [{"operation": "thumbhash"}], "type": "pnm"}]
    answer = daemon.post_form("/pipeline", [("image", pnm(rgb), "a"), ("outputs", json.dumps(outputs), None),
                                            ("operations", json.dumps([{"operation": "blurhash"}]), None)], {"Accept": JSON})
    values = {(v["operation"], v["step"], v.get("output")): v["value"] for v in answer.json["values"]}
    flopped = daemon.post("/flop?type=pnm", pnm(rgb)).body
    assert values == {("blurhash", 0, None): daemon.post("/blurhash", pnm(rgb)).json["values"][0]["value"],
                      ("blurhash", 2, 0): daemon.post("/blurhash", flopped).json["values"][0]["value"],
                      ("thumbhash", 1, 1): daemon.post("/thumbhash", pnm(rgb)).json["values"][0]["value"]}
    assert values["blurhash", 0, None] != values["blurhash", 2, 0]


def test_as_many_texts_as_there_may_be(daemon):
    """Ten steps before 32 branches of ten: there is room for all, each of the greatest length, and they are equal."""
    ten = [{"operation": "blurhash", "params": {"components": "9x9"}}] * 10
    half = [{"operation": "blurhash", "params": {"components": "9x9"}}] * 5
    for trunk, branch in ((half, half), (ten, [])):
        outputs = [{"operations": branch, "type": "pnm", "quality": 1 + i} for i in range(32)]
        form = [("image", pnm(rgb_noise(9, 9)), "a"), ("operations", json.dumps(trunk), None), ("outputs", json.dumps(outputs), None)]
        answer = daemon.post_form("/pipeline", form, {"Accept": JSON})
        assert answer.status == 200, answer.body
        assert len({v["value"] for v in answer.json["values"]}) == 1
    assert daemon.becomes_idle()


# ---- the form of the answer

@pytest.mark.parametrize("query,accept,media", [
    ("", None, JSON), ("", "*/*", JSON), ("", "text/html, */*;q=0.1", JSON), ("", JSON, JSON), ("?type=auto", None, JSON),
    ("?type=pnm", None, IMAGE), ("?type=pnm", "*/*", IMAGE), ("", "image/x-portable-pixmap", IMAGE),
    ("", "image/*", IMAGE), ("", "application/json, image/*;q=0.1", IMAGE), ("", "application/json;q=0, */*", IMAGE),
    ("", "multipart/mixed", PARTS), ("?type=pnm", JSON, JSON)])
@pytest.mark.parametrize("steps", [["minimum"], ["minimum", ("histogram", {"bins": 4000})]], ids=["short", "long"])
def test_who_gets_what(daemon, steps, query, accept, media):
    rgb = rgb_noise(60, 40)
    answer = pipeline(daemon, steps, pnm(rgb), query, **({"Accept": accept} if accept else {}))
    assert answer.status == 200, answer.body
    kind = answer.headers["Content-Type"].split(";")[0]
    assert kind == media or (media == IMAGE and kind.startswith("image/x-portable"))
    assert int(answer.headers["Content-Length"]) == len(answer.body)
    expected = [{"operation": "minimum", "step": 0, "value": EXPECTED["minimum"](rgb)}]
    if len(steps) == 2:
        expected.append({"operation": "histogram", "step": 1, "value": histogram(rgb, 4000)})
    if media == IMAGE:
        assert answer.body == pnm(rgb), "passed on as it came"
    if media == JSON:
        assert answer.json["values"] == expected
        assert answer.json["output"]["bytes"] == 0 and answer.headers["Cache-Control"] == "no-store"
    if media == PARTS:
        (_, picture), (headers, report) = parts_of(answer)
        assert picture == pnm(rgb) and headers["Content-Type"] == JSON
        assert json.loads(report)["values"] == expected
    assert answer.timing.get("values") == (expected if len(steps) == 1 else None)
    assert len(answer.headers["X-Burin-Timing"]) < 4096


def test_a_picture_is_wanted_where_one_is_made(daemon):
    answer = pipeline(daemon, ["grayscale", "mean"], pnm(rgb_noise(20, 20)))
    assert answer.headers["Content-Type"].startswith("image/")
    assert len(answer.timing["values"][0]["value"]) == 1


def test_the_header_takes_short_values(daemon):
    """Up to 1024 bytes of values: the list as it stands in the body."""
    black = pnm(np.zeros((4, 4), np.uint8))
    seen = set()
    for bins in range(470, 500):
        answer = daemon.post(f"/histogram?bins={bins}", black)
        text = answer.body[answer.body.index(b'"values":') + 9:-1]
        in_header = "values" in answer.timing
        assert in_header == (len(text) <= SHORT), (bins, len(text))
        assert json.loads(text)[0]["value"][0] == [16] + [0] * (bins - 1)
        seen.add(in_header)
    assert seen == {True, False}, "the edge lies between"


def test_the_report_is_whole(daemon):
    """Stages and operators are there; without a picture to write no encoding is reported."""
    answer = daemon.post("/mean", pnm(rgb_noise(30, 30)))
    report = answer.json
    assert [op["name"] for op in report["ms"]["operators"]] == ["mean"]
    assert report["input"]["width"] == report["output"]["width"] == 30
    assert answer.headers["X-Result-Width"] == "30" and answer.headers["Vary"] == "Accept"


# ---- room

def test_as_many_values_as_there_may_be(start):
    """Five times three times 65536, from a picture of 12 bytes; a sixth time is refused before decoding."""
    daemon = start("--body-bytes-max", "100000", "--pixels-max", "1000", "--codec-memory-bytes", "16777216")
    picture = pnm(np.array([[[1, 2, 3]]], np.uint8))
    most = [("histogram", {"bins": 65536})] * 5
    answer = pipeline(daemon, most, picture)
    assert answer.status == 200 and len(answer.json["values"]) == 5
    for value in answer.json["values"]:
        assert [np.flatnonzero(channel).tolist() for channel in value["value"]] == [[256], [512], [768]]
    check_problem(pipeline(daemon, most + most[:1], picture), 400, "1179648 values", "1048576")
    assert pipeline(daemon, most + most[:1], pnm(np.zeros((1, 1), np.uint8))).status == 200, "one channel is a third"
    assert daemon.works() and daemon.becomes_idle()


def test_values_are_held_with_the_answer(start):
    """While a client reads slowly, its slot is held and counted: upload, values and picture. Afterwards it is not."""
    daemon = start("--write-ms", "3600000", "--write-rate-bytes", "1")
    body = pnm(np.zeros((2048, 4096), np.uint8))
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", daemon.port))
        s.sendall(b"POST /histogram?bins=65536 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: multipart/mixed\r\n"
                  b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert wait_until(lambda: 2 * len(body) + 2 * 65536 < daemon.metric("answer_bytes_held")
                          < 2 * len(body) + 2 * 65536 + 12000)
        data = b""
        while piece := s.recv(1 << 20):
            data += piece
    assert data.count(b",0" * 65535) == 1 and len(data) > len(body) + 2 * 65536
    assert daemon.works() and daemon.becomes_idle()


def test_many_at_once(daemon):
    """In batches and on lanes each request gets its own values."""
    def one(i):
        rgb = rgb_noise(30 + i, 20, seed=i)
        answer = pipeline(daemon, ["histogram", "mean"], pnm(rgb), "?device=cpu")
        assert [value["value"] for value in answer.json["values"]] == [histogram(rgb), mean(rgb)]

    in_parallel(16, one)
    assert daemon.becomes_idle()


def test_keep_alive_after_long_values(daemon):
    """The next answer follows on the connection."""
    body = pnm(rgb_noise(16, 16))
    head = b"POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n"
    stream = daemon.raw(head % (b"/histogram?bins=9999", b"", len(body)) + body
                        + head % (b"/minimum", b"Connection: close\r\n", len(body)) + body)
    (first, _, long), (second, _, short) = responses(stream)
    assert (first, second) == (200, 200)
    assert len(json.loads(long)["values"][0]["value"][0]) == 9999 and len(json.loads(short)["values"]) == 1


def test_ops_names_the_value_operators(daemon):
    kinds = {op["name"]: op.get("values") for op in daemon.get("/ops").json["operators"]}
    assert kinds["histogram"] == "list" and kinds["histeq"] is None and {kinds["blurhash"], kinds["thumbhash"]} == {"text"}
    assert {kinds[name] for name in ("minimum", "maximum", "mean")} == {"number"}


# ---- burin run

def run(*arguments, cwd):
    return subprocess.run([BURIN, "run", *arguments], capture_output=True, cwd=cwd, timeout=60)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in.ppm").write_bytes(pnm(rgb_noise(33, 21)))
    return tmp_path


def test_run_prints_values(folder):
    rgb = rgb_noise(33, 21)
    done = run("minimum", "histogram:bins=5", "mean", "in.ppm", cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert lines[0] == " ".join(map(str, EXPECTED["minimum"](rgb)))
    assert [list(map(int, line.split())) for line in lines[1:4]] == histogram(rgb, 5)
    assert list(map(float, lines[4].split())) == mean(rgb) and len(lines) == 5
    assert [path.name for path in folder.iterdir()] == ["in.ppm"]


def test_run_prints_texts(folder):
    done = run("minimum", "blurhash:components=3x2", "thumbhash", "in.ppm", cwd=folder)
    least, blurhash, thumbhash = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (0, b"") and len(least.split()) == 3
    report = json.loads(run("blurhash:components=3x2", "thumbhash", "--timing", "in.ppm", cwd=folder).stdout)
    assert [value["value"] for value in report["values"]] == [blurhash, thumbhash]
    assert len(blurhash) == 6 + 2 * 5 and len(base64.b64decode(thumbhash, validate=True)) > 15


def test_run_writes_the_picture_too(folder):
    done = run("minimum", "in.ppm", "out.ppm", cwd=folder)
    assert done.returncode == 0 and len(done.stdout.split()) == 3
    assert (folder / "out.ppm").read_bytes() == (folder / "in.ppm").read_bytes()
    done = run("grayscale", "maximum", "in.ppm", "gray.png", cwd=folder)
    assert int(done.stdout) == np.array(Image.open(folder / "gray.png")).max()


def test_run_to_standard_output(folder):
    """The picture goes there, so the values go to standard error."""
    done = run("minimum", "in.ppm", "-", cwd=folder)
    assert done.stdout == (folder / "in.ppm").read_bytes() and len(done.stderr.split()) == 3


def test_run_timing_has_the_values(folder):
    done = run("histogram:bins=3000", "mean", "--timing", "in.ppm", cwd=folder)
    report = json.loads(done.stdout)
    assert [value["value"] for value in report["values"]] == [histogram(rgb_noise(33, 21), 3000), mean(rgb_noise(33, 21))]
    assert report["output"]["type"] == "pnm"
    assert "values" not in json.loads(run("grayscale", "--timing", "in.ppm", "o.pgm", cwd=folder).stdout)


def test_run_wants_an_output_for_a_picture(folder):
    done = run("minimum", "grayscale", "in.ppm", cwd=folder)
    assert done.returncode == 2 and b"OUTPUT is missing" in done.stderr
    assert run("in.ppm", cwd=folder).returncode == 2


@pytest.mark.parametrize("threads", ["1", "5"])
def test_run_on_threads(folder, threads):
    done = run("mean", "--threads", threads, "in.ppm", cwd=folder)
    assert list(map(float, done.stdout.split())) == mean(rgb_noise(33, 21))
