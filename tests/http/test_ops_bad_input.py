# SPDX-License-Identifier: Apache-2.0
"""Each wrong parameter or part of edge, brightness, threshold, convolve, clahe, carve and resize gets one answer that names
it, and the next request works."""
import json

import numpy as np
import pytest

from conftest import check_problem, from_pnm, jpeg, needs, noise, operators, png, png_of_chunks, pnm, smooth
from test_cli import burin, refused

PICTURE = pnm(noise(32, 24))
TAPS = "1,2,1,2,4,2,1,2,1"

# ---- parameters: operator, query, status, words of the message

CASES = [
    ("carve", "width=0", 400, ["width", "1..65535", "not 0"]),
    ("carve", "height=0", 400, ["height", "1..65535"]),
    ("carve", "width=-5", 400, ["width", "1..65535", "not -5"]),
    ("carve", "height=65536", 400, ["height", "1..65535"]),
    ("carve", "width=wide", 400, ["width", "1..65535", '"wide"']),
    ("carve", "width=20.5", 400, ["width", "20.5"]),
    ("carve", "width=", 400, ["width", "1..65535"]),
    ("carve", "width=20&width=20", 400, ["width", "twice"]),
    ("carve", "width=65535&height=65535", 422, ["carve", "width 65535", "height 65535", "pixels_max"]),
    ("carve", "width=65535&height=1025", 422, ["carve", "pixels_max"]),
    ("carve", "dx=40000&dy=40000", 422, ["carve", "pixels_max"]),
    ("carve", "width=20&dx=-3", 400, ["width", "dx"]),
    ("carve", "width=20&dx=0", 400, ["width", "dx"]),
    ("carve", "dy=3&height=20", 400, ["height", "dy"]),
    ("carve", "dx=-32", 400, ["dx"]),
    ("carve", "dx=-33", 400, ["dx"]),
    ("carve", "dy=-24", 400, ["dy"]),
    ("carve", "dy=-65534", 400, ["dy"]),
    ("carve", "dx=65535", 400, ["dx", "-65534..65534"]),
    ("carve", "dy=-65535", 400, ["dy", "-65534..65534"]),
    ("carve", "energy=laplace", 400, ["energy", "gradient", "sobel3", "sobel5", '"laplace"']),
    ("carve", "energy=", 400, ["energy", "gradient"]),
    ("carve", "width=1025&dy=1000&show=seams", 422, ["carve: ", "show=seams", "width", "dx", "1048576 in all", "1025 x 1024"]),
    ("carve", "show=everything", 400, ["show", "result", "seams", "energy", "map"]),
    ("carve", "dx=-3&dy=-3&show=map", 400, ["carve: ", "show=map", "one direction only"]),
    ("carve", "dx=17&show=map", 400, ["carve: ", "show=map", "32 pixels wide", "by at most 16, not 17"]),
    ("carve", "height=37&show=map", 400, ["carve: ", "show=map", "24 pixels high", "by at most 12, not 13"]),
    ("carve", "mask=1", 400, ["mask"]),
    ("carve", "widht=20", 400, ['"widht"', 'did you mean "width"']),
    ("carve", "width=20;height=20", 400, ["width"]),
    ("clahe", "tiles=0", 400, ["tiles", "1..64", "not 0"]),
    ("clahe", "tiles=65", 400, ["tiles", "1..64", "not 65"]),
    ("clahe", "tiles=8.5", 400, ["tiles", "8.5"]),
    ("clahe", "clip=-1", 400, ["clip", "0..100"]),
    ("clahe", "clip=100.001", 400, ["clip", "0..100"]),
    ("clahe", "clip=2.0001", 400, ["clip", "2.0001"]),
    ("clahe", "channel=red", 400, ["channel", "value", "luma", "each", '"red"']),
    ("clahe", "clipLimit=2", 400, ["clahe", '"clipLimit"']),
    ("edge", "kernel=sobel7", 400, ["kernel", "sobel3", "sobel5"]),
    ("edge", "brightness=256", 400, ["brightness", "-255..255"]),
    ("edge", "brightness=-256", 400, ["brightness", "-255..255"]),
    ("edge", "threshold=256", 400, ["threshold", "0..255"]),
    ("edge", "threshold=-1", 400, ["threshold", "0..255"]),
    ("edge", "binary=perhaps", 400, ["binary", "true", "false"]),
    ("edge", "border=wrap", 400, ["border", "replicate", "zero"]),
    ("edge", "level=1", 400, ["edge", '"level"']),
    ("brightness", "shift=256", 400, ["shift", "-255..255"]),
    ("brightness", "shift=-256", 400, ["shift", "-255..255"]),
    ("brightness", "shift=bright", 400, ["shift", "-255..255", '"bright"']),
    ("threshold", "level=256", 400, ["level", "0..255"]),
    ("threshold", "level=-1", 400, ["level", "0..255"]),
    ("threshold", "threshold=3", 400, ["threshold", "level"]),
    ("convolve", "", 400, ["taps", "9 or 25", "-1024..1024"]),
    ("convolve", "divisor=9", 400, ["taps", "9 or 25"]),
    ("convolve", "taps=", 400, ["taps", "9 or 25"]),
    ("convolve", "taps=1", 400, ["taps", "9 or 25"]),
    ("convolve", "taps=" + ",".join("1" * 8), 400, ["taps", "9 or 25"]),
    ("convolve", "taps=" + ",".join("1" * 10), 400, ["taps", "9 or 25"]),
    ("convolve", "taps=" + ",".join("1" * 24), 400, ["taps", "9 or 25"]),
    ("convolve", "taps=" + ",".join("1" * 26), 400, ["taps", "9 or 25"]),
    ("convolve", "taps=" + ",".join("1" * 1500), 400, ["taps", "9 or 25"]),
    ("convolve", "taps=1,2,1,2,x,2,1,2,1", 400, ["taps", "9 or 25"]),
    ("convolve", "taps=1,2,1,2,,2,1,2,1", 400, ["taps", "9 or 25"]),
    ("convolve", "taps=1,2,1,2,4,2,1,2,1,", 400, ["taps", "9 or 25"]),
    ("convolve", "taps=1,2,1,2,4.5,2,1,2,1", 400, ["taps", "9 or 25"]),
    ("convolve", "taps=1025,2,1,2,4,2,1,2,1", 400, ["taps", "-1024..1024"]),
    ("convolve", "taps=1,2,1,2,4,2,1,2,-1025", 400, ["taps", "-1024..1024"]),
    ("convolve", "taps=99999999999999999999,2,1,2,4,2,1,2,1", 400, ["taps", "-1024..1024"]),
    ("convolve", f"taps={TAPS}&taps={TAPS}", 400, ["taps", "twice"]),
    ("convolve", f"taps={TAPS}&divisor=-1", 400, ["divisor", "0..1048576"]),
    ("convolve", f"taps={TAPS}&divisor=1048577", 400, ["divisor", "0..1048576"]),
    ("convolve", f"taps={TAPS}&offset=256", 400, ["offset", "-255..255"]),
    ("convolve", f"taps={TAPS}&offset=-256", 400, ["offset", "-255..255"]),
    ("convolve", f"taps={TAPS}&abs=2", 400, ["abs", "true", "false"]),
    ("matrix", "", 400, ["matrix", "9 or 12", "-7.999..7.999"]),
    ("matrix", "matrix=1,0,0,0,1,0,0,0,8", 400, ["matrix", "9 or 12", "-7.999..7.999"]),
    ("levels", "black=255", 400, ["black", "0..254"]),
    ("resize", "", 400, ["width", "height", "1..65535"]),
    ("resize", "fit=contain&kernel=box", 400, ["width", "height", "1..65535"]),
    ("resize", "width=0", 400, ["width", "1..65535", "not 0"]),
    ("resize", "height=65536", 400, ["height", "1..65535", "not 65536"]),
    ("resize", "width=20.5", 400, ["width", "20.5"]),
    ("resize", "width=20&width=20", 400, ["width", "twice"]),
    ("resize", "width=20&fit=crop", 400, ["fit", "cover", "contain", "fill", "inside", "outside", "carve", '"crop"']),
    ("resize", "width=20&kernel=lanczos", 400, ["kernel", "lanczos3", "nearest", '"lanczos"']),
    ("resize", "width=20&position=middle", 400, ["position", "centre", "northwest", "smart", '"middle"']),
    ("resize", "width=20&height=20&position=north&x=3", 400, ["position", "x and y"]),
    ("resize", "width=20&x=1001", 400, ["x", "0..1000"]),
    ("resize", "width=20&y=-1", 400, ["y", "0..1000"]),
    ("resize", "width=20&share=101", 400, ["share", "0..100"]),
    ("resize", "width=20&enlarge=perhaps", 400, ["enlarge", "true", "false"]),
    ("resize", "width=20&linear=2", 400, ["linear", "true", "false"]),
    ("resize", "width=20&background=redd", 400, ["background", "RRGGBB"]),
    ("resize", "width=20&widht=20", 400, ['"widht"', 'did you mean "width"']),
    ("resize", "width=65535", 422, ["resize", "65535", "pixels_max"]),
    ("resize", "width=65535&height=65535", 422, ["resize", "width 65535", "height 65535", "pixels_max"]),
    ("resize", "width=65535&height=65535&fit=contain", 422, ["resize", "pixels_max"]),
    ("resize", "width=1&height=65535&fit=outside", 422, ["resize", "a side is at most 65535"]),
    ("resize", "width=1&height=65535&position=smart", 422, ["resize", "smart", "87380 x 65535", "width", "height"]),
    ("zoom", "times=0", 400, ["times", "1..64", "not 0"]),
    ("zoom", "times=65", 400, ["times", "1..64", "not 65"]),
    ("zoom", "times=1.5", 400, ["times", "1.5"]),
    ("zoom", "tiems=3", 400, ['"tiems"', 'did you mean "times"']),
    ("resize", "width=1&height=65535&fit=carve", 422 if "carve" in operators() else 400, ["resize", "fit=carve"]),
]
CASES = [case for case in CASES if case[0] in operators()]
IDS = [f"{operator} {query[:40]}" for operator, query, _, _ in CASES]


@pytest.mark.parametrize("operator,query,status,words", CASES, ids=IDS)
def test_query(daemon, operator, query, status, words):
    problem = check_problem(daemon.post(f"/{operator}?{query}", PICTURE), status, *words)
    assert len(problem["message"]) < 400 and problem["message"].isprintable()
    assert daemon.works()


@pytest.mark.parametrize("operator,query,status,words", CASES, ids=IDS)
def test_field(daemon, operator, query, status, words):
    """The same parameters as form fields behind the picture."""
    fields = [(*field.partition("=")[::2], None) for field in query.split("&") if field]
    if query == "mask=1":  # in a form it is an image part, and this one is no picture
        status, words = 400, ["mask"]
    check_problem(daemon.post_form(f"/{operator}", [("image", PICTURE, "a.pgm"), *fields]), status, *words)
    assert daemon.works()


@pytest.mark.parametrize("operator,query,status,words",
                         [case for case in CASES if "twice" not in case[3] and "mask=1" != case[1]])
def test_step(daemon, operator, query, status, words):
    """The same parameters in a later step of a pipeline."""
    params = dict(field.partition("=")[::2] for field in query.split("&") if field)
    operations = json.dumps([{"operation": "brightness"}, {"operation": operator, "params": params}])
    check_problem(daemon.post_form("/pipeline", [("image", PICTURE, "a"), ("operations", operations, None)]),
                  status, *words)
    assert daemon.works()


ENDS = [
    ("carve", "width=1&height=1"), ("carve", "dx=-31&dy=-23"), ("carve", "dx=0&dy=0"), ("carve", "width=32&dy=1"),
    ("edge", "brightness=-255&threshold=255&binary=yes&border=zero"), ("edge", "brightness=255&threshold=0&binary=0"),
    ("brightness", "shift=-255"), ("brightness", "shift=255"), ("threshold", "level=0"), ("threshold", "level=255"),
    ("resize", "width=1&height=1"), ("resize", "width=1&height=65535"), ("resize", "width=65535&height=1&fit=fill&x=0&y=1000"),
    ("resize", "width=1&height=9000&fit=contain&background=00000000"), ("resize", "width=65535&enlarge=false&share=0"),
    ("convolve", "taps=" + ",".join(["1024"] * 25)), ("convolve", "taps=" + "%20".join(["-1024"] * 9)),
    ("convolve", f"taps={TAPS}&divisor=1048576&offset=-255"), ("convolve", f"taps={TAPS}&divisor=0&offset=255&abs=on")]


@pytest.mark.parametrize("operator,query", [end for end in ENDS if end[0] in operators()])
def test_ends_of_the_ranges(daemon, operator, query):
    answer = daemon.post(f"/{operator}?{query}", PICTURE)
    assert answer.status == 200, answer.body


@needs("carve")
def test_wider_than_any_image(daemon):
    """The change is within its range, the resulting width is not: the message gives the range."""
    check_problem(daemon.post("/carve?dx=65534", PICTURE), 400, "dx", "65503")
    check_problem(daemon.post("/carve?dy=65512", PICTURE), 400, "dy", "65511")
    assert daemon.works()


@needs("carve")
def test_second_step_sees_what_the_first_left(daemon):
    """The first step leaves 12 columns; removing 12 more leaves none."""
    def steps(dx):
        return json.dumps([{"operation": "carve", "params": {"dx": -20}}, {"operation": "carve", "params": {"dx": dx}}])

    form = [("image", PICTURE, "a")]
    check_problem(daemon.post_form("/pipeline", [*form, ("operations", steps(-12), None)]), 400, "dx")
    answer = daemon.post_form("/pipeline", [*form, ("operations", steps(-11), None)])
    assert answer.status == 200 and from_pnm(answer.body).shape == (24, 1)


# ---- masks

MASK = np.zeros((24, 32), np.uint8)


@needs("carve")
@pytest.mark.parametrize("name", ["mask", "rmask"])
@pytest.mark.parametrize("data,status,words", [
    (pnm(np.zeros((24, 31), np.uint8)), 422, ["31 x 24", "32 x 24", "same size"]),
    (png(np.zeros((25, 32), np.uint8)), 422, ["32 x 25", "32 x 24"]),
    (jpeg(smooth(24, 32)), 422, ["24 x 32", "32 x 24"]),
    (pnm(np.zeros((1, 1), np.uint8)), 422, ["1 x 1", "32 x 24"]),
    (b"no picture", 400, ["PNG"]),
    (b"GIF89a" + bytes(50), 422, ["GIF"]),
    (b"", 400, ["empty"]),
    (png(MASK)[:60], 422, []),
    (pnm(MASK)[:-1], 422, []),
    (b"P5\n65535 65535\n255\n", 422, ["pixels_max"]),
    (png_of_chunks(0, 24, 8, 0, b""), 422, []),
], ids=["narrow", "high", "turned", "tiny", "text", "GIF", "empty", "cut PNG", "cut PNM", "too many pixels",
        "no width"])
def test_mask(daemon, name, data, status, words):
    """The message names the image at fault."""
    answer = daemon.post_form("/carve?dx=-3", [("image", PICTURE, "a"), (name, data, "b")])
    check_problem(answer, status, name, *words)
    assert daemon.works()


@needs("carve")
@pytest.mark.parametrize("name", ["mask", "rmask"])
def test_mask_twice(daemon, name):
    parts = [("image", PICTURE, "a"), (name, pnm(MASK), "b"), (name, pnm(MASK), "c")]
    check_problem(daemon.post_form("/carve?dx=-3", parts), 400, "two parts", name)
    assert daemon.works()


@pytest.mark.parametrize("name", ["mask", "rmask"])
@pytest.mark.parametrize("path", ["/histeq", "/edge", "/brightness?shift=5", "/threshold", f"/convolve?taps={TAPS}",
                                  '/pipeline?operations=[{"operation":"edge"},{"operation":"grayscale"}]'],
                         ids=["histeq", "edge", "brightness", "threshold", "convolve", "pipeline"])
def test_mask_without_a_step_that_takes_it(daemon, name, path):
    check_problem(daemon.post_form(path, [("image", PICTURE, "a"), (name, pnm(MASK), "b")]), 400, name)
    assert daemon.works()


@needs("carve")
def test_mask_without_an_image(daemon):
    check_problem(daemon.post_form("/carve?dx=-3", [("mask", pnm(MASK), "b")]), 400, "image")
    assert daemon.works()


def test_mask_for_info(daemon):
    answer = daemon.post_form("/info", [("image", PICTURE, "a"), ("mask", pnm(MASK), "b")])
    check_problem(answer, 400, "mask")
    assert daemon.works()


@needs("carve")
def test_part_of_a_name_like_mask(daemon):
    answer = daemon.post_form("/carve?dx=-3", [("image", PICTURE, "a"), ("masks", pnm(MASK), "b")])
    check_problem(answer, 400, "masks")
    assert daemon.works()


# ---- the command line

@pytest.fixture
def files(tmp_path):
    (tmp_path / "in.pgm").write_bytes(PICTURE)
    (tmp_path / "mask.pgm").write_bytes(pnm(MASK))
    (tmp_path / "small.pgm").write_bytes(pnm(MASK[:20]))
    (tmp_path / "text").write_text("no picture")
    return tmp_path


# One case for each operator, parameter and status: the command line parses and refuses steps with the code tested above.
ON_THE_COMMAND_LINE = {(operator, query.partition("=")[0], status): (operator, query, status, words)
                       for operator, query, status, words in reversed(CASES)
                       if ";" not in query and not query.endswith(",") and len(query) < 200}


@pytest.mark.parametrize("step,status,words", [
    (f"{operator}:{query.replace('&', ',')}".rstrip(":"), 2 if status == 400 else 1, words)
    for operator, query, status, words in reversed(ON_THE_COMMAND_LINE.values())])
def test_run(files, step, status, words):
    said = refused("run", step, "in.pgm", "out.pgm", status=status, cwd=files)
    for word in words:
        assert word in said, (word, said)
    assert not (files / "out.pgm").exists()


@needs("carve")
@pytest.mark.parametrize("arguments,status,words", [
    (["--mask", "mask.pgm", "histeq"], 2, ["--mask"]),
    (["--mask", "mask.pgm", "--mask", "mask.pgm", "carve:dx=-3"], 2, ["--mask", "twice"]),
    (["--mask=", "carve:dx=-3"], 2, ["--mask", "file"]),
    (["--mask", "small.pgm", "carve:dx=-3"], 1, ["mask", "32 x 20", "32 x 24"]),
    (["--rmask", "small.pgm", "carve:dx=-3"], 1, ["rmask", "32 x 20", "32 x 24"]),
    (["--rmask", "nowhere.pgm", "carve:dx=-3"], 1, ["nowhere.pgm", "No such file"]),
    (["--mask", "text", "carve:dx=-3"], 1, ["mask", "PNG"]),
    (["--masks", "mask.pgm", "carve:dx=-3"], 2, ["--masks"]),
])
def test_run_with_masks(files, arguments, status, words):
    said = refused("run", *arguments, "in.pgm", "out.pgm", status=status, cwd=files)
    for word in words:
        assert word in said, (word, said)
    assert not (files / "out.pgm").exists()


@needs("carve")
def test_run_help_names_masks():
    text = burin("run", "--help", text=True).stdout
    assert "--mask FILE" in text and "--rmask FILE" in text
