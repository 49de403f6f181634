# SPDX-License-Identifier: Apache-2.0
"""Several results of one upload: each equals, byte for byte, the answer to a request for it alone; the forms of the
answer; what is refused.
covers: server/request/outputs.c server/request/settings.c server/request/result.c server/http/reply.c
"""
import io
import json
import re
import urllib.parse
import zipfile

import numpy as np
import pytest
from PIL import Image

from conftest import Daemon, check_problem, encode, from_pnm, needs, noise, png, pnm, smooth


def parts_of(answer):
    """[(headers, body)...] of a multipart answer, each as long as it announces; fails if a byte is left over."""
    assert answer.status == 200, answer.body[:300]
    boundary = re.fullmatch(r"multipart/mixed; boundary=(\w+)", answer.headers["Content-Type"])[1].encode()
    assert int(answer.headers["Content-Length"]) == len(answer.body)
    data, found = answer.body, []
    while True:
        assert data.startswith(b"--" + boundary), data[:80]
        data = data[len(boundary) + 2:]
        if data == b"--\r\n":
            return found
        head, _, data = data[2:].partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        length = int(headers["Content-Length"])
        found.append((headers, data[:length]))
        assert data[length:length + 2] == b"\r\n"
        data = data[length + 2:]


def name_of(headers):
    return re.fullmatch(r'attachment; filename="([\w.-]+)"', headers["Content-Disposition"])[1]


def results_of(answer):
    """({name: (type, bytes)}, the report) of a multipart answer; the manifest is checked against the parts."""
    *images, (headers, report) = parts_of(answer)
    report = json.loads(report)
    assert headers["Content-Type"] == "application/json" and name_of(headers) == "manifest.json"
    assert "output" not in report and len(report["manifest"]) == len(images)
    for (head, body), entry in zip(images, report["manifest"]):
        assert name_of(head) == entry["name"] and entry["bytes"] == len(body)
        assert head["Content-Type"] in (f"image/{entry['type']}", "image/x-portable-anymap")
        assert int(head["X-Result-Width"]) == entry["width"]
        assert int(head["X-Result-Height"]) == entry["height"]
        assert entry["ms"]["compute"] >= 0 and entry["ms"]["encode"] >= 0
        if entry["type"] != "pnm":
            assert Image.open(io.BytesIO(body)).size == (entry["width"], entry["height"])
    stages = {k: v for k, v in report["ms"].items() if isinstance(v, float) and k != "total"}
    assert abs(sum(stages.values()) - report["ms"]["total"]) <= 0.01 * report["ms"]["total"] + 0.01
    return {name_of(head): (head["Content-Type"], body) for head, body in images}, report


PHOTO = encode(smooth(200, 120), "JPEG")
WIDTHS = [40, 100, 200, 330]


# ---- widths

@needs("resize")
@pytest.mark.parametrize("settings", ["", "&fit=contain&height=50&background=ff0000", "&kernel=nearest&quality=40",
                                      "&fit=fill&height=33&linear=true", "&type=png", "&position=smart&height=20"])
def test_each_width_is_the_single_call(daemon, settings):
    widths = ",".join(map(str, WIDTHS))
    results, report = results_of(daemon.post(f"/resize?widths={widths}{settings}", PHOTO))
    kind = "png" if "png" in settings else "jpeg"
    assert list(results) == [f"{w}w.{kind}" for w in WIDTHS] and report["notes"] == []
    for width in WIDTHS:
        alone = daemon.post(f"/resize?width={width}{settings}", PHOTO)
        assert results[f"{width}w.{kind}"] == (alone.headers["Content-Type"], alone.body)


@needs("resize")
def test_widths_in_every_form_of_request(daemon):
    one = results_of(daemon.post("/resize?widths=30,60", PHOTO))[0]
    form = [("widths", "30, 60", None), ("image", PHOTO, "a.jpg")]
    assert results_of(daemon.post_form("/resize", form))[0] == one
    assert results_of(daemon.post_form("/resize", form[::-1]))[0] == one
    put = daemon.request("PUT", "/resize?widths=30,60", PHOTO, {"Content-Type": "image/jpeg"})
    assert results_of(put)[0] == one


@needs("resize")
def test_one_width_comes_in_a_part_too(daemon):
    results, report = results_of(daemon.post("/resize?widths=50", PHOTO))
    assert list(results) == ["50w.jpeg"] and report["manifest"][0]["height"] == 30


@needs("resize")
@pytest.mark.parametrize("picture", [pnm(noise(60, 40, 1)), pnm(noise(60, 40, 3, 16)), encode(noise(60, 40, 4), "PNG"),
                                     encode(noise(60, 40, 2), "PNG")], ids=["gray", "16 bit", "RGBA", "gray and alpha"])
def test_samples_of_every_kind(daemon, picture):
    results, _ = results_of(daemon.post("/resize?widths=20,90&types=png,jpeg,pnm", picture))
    assert len(results) == 6
    for name, (kind, body) in results.items():
        width, suffix = re.fullmatch(r"(\d+)w\.(\w+)", name).groups()
        alone = daemon.post(f"/resize?width={width}&type={suffix}", picture)
        assert (alone.headers["Content-Type"], alone.body) == (kind, body)


@needs("resize")
def test_a_width_beyond_the_source_is_the_sources_once(daemon):
    results, report = results_of(daemon.post("/resize?widths=100,300,5000&enlarge=false", PHOTO))
    assert list(results) == ["100w.jpeg", "200w.jpeg"]
    assert len(report["notes"]) == 1 and "not as wide" in report["notes"][0]
    assert results["200w.jpeg"][1] == daemon.post("/resize?width=5000&enlarge=false", PHOTO).body
    results, report = results_of(daemon.post("/resize?widths=100,200&enlarge=false", PHOTO))
    assert list(results) == ["100w.jpeg", "200w.jpeg"] and report["notes"] == []


@needs("resize")
def test_widths_that_a_height_bounds_come_once(daemon):
    """Both inside 1000 x 60 and inside 2000 x 60 the picture has the same size."""
    results, report = results_of(daemon.post("/resize?widths=50,1000,2000&height=60&fit=inside", PHOTO))
    assert list(results) == ["50w.jpeg", "100w.jpeg"] and report["notes"]


@needs("resize")
def test_widths_that_come_to_one_stand_for_both(daemon):
    """Inside 5 x 540 it has 5 x 500 pixels, inside 6 x 540 5 x 540: one name, one file, a note."""
    tall = pnm(noise(10, 1000, 1))
    results, report = results_of(daemon.post("/resize?widths=5,6&height=540&fit=inside", tall))
    assert list(results) == ["5w.pnm"] and report["notes"]
    assert results["5w.pnm"][1] == daemon.post("/resize?width=5&height=540&fit=inside", tall).body


@pytest.mark.parametrize("name", ["manifest.json", "Manifest.JSON"])
def test_no_result_has_the_name_of_the_report(daemon, name):
    wish = json.dumps([{"operations": [], "name": name}])
    check_problem(daemon.post_form("/pipeline", [("image", PHOTO, "a.jpg"), ("outputs", wish, None)]), 400, "manifest.json")


@needs("carve")
def test_widths_of_carve_with_masks(daemon):
    picture, mask = encode(smooth(60, 40), "PNG"), encode(np.pad(np.full((40, 20), 255, np.uint8), ((0, 0), (20, 20))), "PNG")
    for name in ("mask", "rmask"):
        parts = [("image", picture, "a.png"), (name, mask, "m.png")]
        results, _ = results_of(daemon.post_form("/carve?widths=50,57,64", parts))
        for width in (50, 57, 64):
            assert results[f"{width}w.png"][1] == daemon.post_form(f"/carve?width={width}", parts).body
    wrong = encode(np.zeros((40, 50), np.uint8), "PNG")
    check_problem(daemon.post_form("/carve?widths=50", [("image", picture, "a.png"), ("mask", wrong, "m.png")]), 422, "mask")


# Widths from 120 columns: those that one map serves, shrinking and growing; those that it does not; and the unchanged one.
CARVED = [("widths=1,40,118,119", ""), ("widths=60,121,150,180", ""), ("widths=119,180,181,400", ""), ("widths=100,120", ""),
          ("widths=30,100,130", "&energy=sobel5"), ("widths=30,100", "&height=50"), ("widths=30,100", "&dy=-3"), ("widths=77", "")]


@needs("carve")
@pytest.mark.parametrize("widths, more", CARVED, ids=[w + m for w, m in CARVED])
def test_widths_of_carve(daemon, widths, more):
    for picture in (smooth(120, 53), noise(120, 30, 1, 16)):
        results, report = results_of(daemon.post(f"/carve?{widths}{more}&type=pnm", pnm(picture)))
        wanted = widths.removeprefix("widths=").split(",")
        assert list(results) == [f"{width}w.pnm" for width in wanted]
        for width in wanted:
            assert results[f"{width}w.pnm"][1] == daemon.post(f"/carve?width={width}{more}", pnm(picture)).body


@needs("carve")
def test_seams_in_common_are_predicted_once(start):
    """By default rates, eight widths are predicted to take hardly longer than the 50 seams that they have in common."""
    predicted = []
    for widths in ("width=590", "widths=590,595,600,605,610,650,670,690"):
        daemon = start("--lanes", "1")
        assert daemon.post(f"/carve?{widths}&type=pnm", pnm(smooth(640, 400))).status == 200
        predicted.append(daemon.metric("job_predicted_seconds_total"))
    assert 0 < predicted[0] < predicted[1] < 1.5 * predicted[0]


@needs("carve")
def test_carvings_of_a_list_share_what_they_can(daemon):
    """Common steps before them, steps behind them, other operators beside them; each seam is removed once."""
    wish = [{"operations": [{"operation": "carve", "params": {"width": width}}, *more], "type": "png", "name": f"n{i}"}
            for i, (width, more) in enumerate([(90, []), (150, [{"operation": "histeq"}]), (70, [{"operation": "mean"}])])]
    wish += [{"operations": [{"operation": "edge"}], "type": "png", "name": "edge"}]
    common = [{"operation": "grayscale"}]
    picture = png(noise(120, 60, 3))
    results, report = results_of(daemon.post_form("/pipeline", [
        ("image", picture, "a.png"), ("operations", json.dumps(common), None), ("outputs", json.dumps(wish), None)]))
    for item in wish:
        alone = daemon.post_form("/pipeline", [("image", picture, "a.png"), ("type", "png", None),
                                               ("operations", json.dumps(common + item["operations"]), None)])
        assert results[item["name"] + ".png"][1] == alone.body
    kernels = [[k["name"] for k in o["kernels"]] for o in report["ms"]["operators"] if o["name"] == "carve"]
    assert len(kernels) == 4
    assert sum("seam" in names or "seams" in names for names in kernels) == 1


@needs("resize")
def test_orientation_and_profile_are_kept_in_each(daemon):
    exif = Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    Image.fromarray(smooth(90, 60)).save(out, "JPEG", exif=exif, icc_profile=b"x" * 300)
    results, _ = results_of(daemon.post("/resize?widths=20,30&types=jpeg,png", out.getvalue()))
    for name, (_, body) in results.items():
        alone = daemon.post(f"/resize?width={name[:2]}&type={name.split('.')[1]}", out.getvalue())
        assert alone.body == body
        assert Image.open(io.BytesIO(body)).size == {"20": (20, 30), "30": (30, 45)}[name[:2]]


# ---- types

def test_types_of_any_operator(daemon):
    results, report = results_of(daemon.post("/histeq?types=png,jpeg,pnm&quality=30", PHOTO))
    assert list(results) == ["histeq.png", "histeq.jpeg", "histeq.pnm"]
    for name, (_, body) in results.items():
        assert daemon.post(f"/histeq?quality=30&type={name[7:]}", PHOTO).body == body
    assert [span["name"] for span in report["ms"]["operators"]] == ["histeq"], "it is done once"
    steps = json.dumps([{"operation": "grayscale"}, {"operation": "histeq"}])
    form = [("operations", steps, None), ("types", "png,pnm", None), ("image", PHOTO, "a.jpg")]
    assert list(results_of(daemon.post_form("/pipeline", form))[0]) == ["pipeline.png", "pipeline.pnm"]


# ---- outputs of a pipeline

def pipeline(daemon, operations, outputs, headers=None, **fields):
    parts = [(name, value, None) for name, value in fields.items()]
    if operations:
        parts.append(("operations", json.dumps(operations), None))
    parts += [("outputs", json.dumps(outputs), None), ("image", PHOTO, "a.jpg")]
    return daemon.post_form("/pipeline", parts, headers)


def step(operation, **params):
    return {"operation": operation, "params": params}


def alone(daemon, operations, **fields):
    answer = daemon.post_form("/pipeline", [("operations", json.dumps(operations), None), ("image", PHOTO, "a.jpg"),
                                            *((name, str(value), None) for name, value in fields.items())])
    assert answer.status == 200, answer.body
    return answer.body


def test_outputs_are_the_whole_ways(daemon):
    common = [step("brightness", shift=9)]
    outputs = [{"operations": [step("grayscale"), step("threshold", level=90)], "type": "png", "name": "mask"},
               {"operations": [step("edge")], "quality": 30},
               {"type": "pnm", "name": "all.ppm"},
               {"operations": [step("edge")], "type": "png", "compression": 3},
               {}]
    results, report = results_of(pipeline(daemon, common, outputs))
    assert list(results) == ["mask.png", "2.jpeg", "all.ppm", "4.png", "5.jpeg"]
    for (_, body), output in zip(results.values(), outputs):
        ways = {key: value for key, value in output.items() if key not in ("operations", "name")}
        assert alone(daemon, common + output.get("operations", []), **ways) == body
    names = [span["name"] for span in report["ms"]["operators"]]
    assert names == ["brightness", "grayscale", "threshold", "edge"], "equal operations are done once"


def test_outputs_without_common_operations(daemon):
    results, _ = results_of(pipeline(daemon, None, [{"type": "png"}, {"operations": [step("grayscale")], "type": "pnm"}]))
    assert from_pnm(results["2.pnm"][1]).shape == (120, 200)
    assert results["1.png"][1] == daemon.post("/pipeline?operations=%5B%7B%22operation%22%3A%22mean%22%7D%5D&type=png",
                                              PHOTO, {"Accept": "image/png"}).body


def test_settings_beside_outputs_are_all_outputs(daemon):
    outputs = [{"operations": [step("grayscale")]}, {"quality": 90, "type": "jpeg"}, {"type": "pnm"}]
    results, _ = results_of(pipeline(daemon, None, outputs, type="png", quality="20"))
    assert list(results) == ["1.png", "2.jpeg", "3.pnm"]
    assert results["2.jpeg"][1] == alone(daemon, [step("minimum")], type="jpeg", quality=90)


def test_values_name_their_output(daemon):
    outputs = [{"operations": [step("grayscale"), step("mean")]}, {"type": "png"},
               {"operations": [step("minimum"), step("maximum")], "type": "pnm"}]
    _, report = results_of(pipeline(daemon, [step("mean")], outputs))
    assert [(v["operation"], v["step"], v.get("output")) for v in report["values"]] == [
        ("mean", 0, None), ("mean", 2, 0), ("minimum", 1, 2), ("maximum", 2, 2)]
    pixels = np.array(Image.open(io.BytesIO(PHOTO))).reshape(-1, 3)
    assert report["values"][2]["value"] == pixels.min(0).tolist()
    assert np.allclose(report["values"][0]["value"], pixels.mean(0))


def test_values_too_long_for_a_header(daemon):
    outputs = [{"operations": [step("histogram", bins=200)], "type": "png"}, {"operations": [step("histogram", bins=256)]}]
    for accept in ("multipart/mixed", "application/json", "application/zip"):
        answer = pipeline(daemon, [step("histogram", bins=64)], outputs, {"Accept": accept})
        assert "values" not in json.loads(answer.headers["X-Burin-Timing"])
        if accept == "application/zip":
            report = json.loads(zipfile.ZipFile(io.BytesIO(answer.body)).read("manifest.json"))
        else:
            report = answer.json if accept == "application/json" else results_of(answer)[1]
        assert [len(v["value"][0]) for v in report["values"]] == [64, 200, 256]
        assert [sum(v["value"][0]) for v in report["values"]] == [24000] * 3


# ---- forms of the answer

@needs("resize")
def test_a_zip_of_stored_files(daemon):
    path = "/resize?widths=40,80&types=jpeg,png"
    answer = daemon.post(path, PHOTO, {"Accept": "application/zip"})
    assert answer.headers["Content-Type"] == "application/zip"
    assert int(answer.headers["Content-Length"]) == len(answer.body)
    archive = zipfile.ZipFile(io.BytesIO(answer.body))
    assert archive.testzip() is None
    assert archive.namelist() == ["40w.jpeg", "40w.png", "80w.jpeg", "80w.png", "manifest.json"]
    assert all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
    results, report = results_of(daemon.post(path, PHOTO))
    for name, (_, body) in results.items():
        assert archive.read(name) == body
    packed = json.loads(archive.read("manifest.json"))
    assert [{**entry, "ms": 0} for entry in packed["manifest"]] == [{**entry, "ms": 0} for entry in report["manifest"]]


@needs("resize")
@pytest.mark.parametrize("accept, form", [
    ("application/zip", "application/zip"), ("application/zip, */*;q=0.5", "application/zip"),
    ("multipart/mixed, application/zip;q=0.5", "multipart/mixed"), ("*/*", "multipart/mixed"),
    ("image/png", "multipart/mixed"), ("application/zip;q=0", "multipart/mixed"),
    ("application/json", "application/json"), ("application/json, */*;q=0.1", "multipart/mixed"),
    ("text/html", "multipart/mixed")])
def test_accept_chooses_the_form(daemon, accept, form):
    answer = daemon.post("/resize?widths=40,80", PHOTO, {"Accept": accept})
    assert answer.status == 200 and answer.headers["Content-Type"].split(";")[0] == form
    assert answer.headers["X-Origin-Width"] == "200" and answer.headers["X-Result-Width"] is None
    if form == "application/json":
        assert [entry["width"] for entry in answer.json["manifest"]] == [40, 80]
        assert all(entry["bytes"] == 0 for entry in answer.json["manifest"]), "nothing was encoded"
    if accept == "image/png":
        assert list(results_of(answer)[0]) == ["40w.png", "80w.png"]


def test_one_result_is_no_archive(daemon):
    answer = daemon.post("/histeq", PHOTO, {"Accept": "application/zip"})
    assert answer.headers["Content-Type"] == "image/jpeg"


@needs("resize")
def test_sixteen_widths_in_two_types(daemon):
    widths = list(range(5, 133, 8))
    results, _ = results_of(daemon.post(f"/resize?widths={','.join(map(str, widths))}&types=jpeg,png", PHOTO))
    assert list(results) == [f"{w}w.{t}" for w in widths for t in ("jpeg", "png")]
    for width in (5, 125):
        assert daemon.post(f"/resize?width={width}", PHOTO).body == results[f"{width}w.jpeg"][1]


# ---- what is refused

BAD = [
    ("/resize?widths=", 400, "widths"),
    ("/resize?widths=20,", 400, "widths"),
    ("/resize?widths=,20", 400, "widths"),
    ("/resize?widths=20,20", 400, "widths"),
    ("/resize?widths=20,020", 400, "widths"),
    ("/resize?widths=0,20", 400, "widths"),
    ("/resize?widths=-1", 400, "widths"),
    ("/resize?widths=65536", 400, "65535"),
    ("/resize?widths=1.5", 400, "widths"),
    ("/resize?widths=20;30", 400, "widths"),
    ("/resize?widths=" + ",".join(map(str, range(1, 18))), 400, "16"),
    ("/resize?widths=" + "1" * 3000, 400, "widths"),
    ("/resize?widths=20&width=30", 400, "width and widths"),
    ("/resize?widths=20&widths=30", 400, "twice"),
    ("/resize?widths=20&types=", 400, "types"),
    ("/resize?widths=20&types=bmp", 400, "types"),
    ("/resize?widths=20&types=jpeg,jpg", 400, "types"),
    ("/resize?widths=20&types=auto", 400, "types"),
    ("/resize?widths=20&types=png&type=png", 400, "type and types"),
    ("/resize?widths=" + ",".join(map(str, range(1, 17))) + "&types=png,jpeg,pnm", 400, "32"),
    ("/resize?widths=65535,20", 422, "pixels_max"),
    ("/resize?widths=8000,8001", 422, "pixels_max"),
    ("/histeq?widths=20", 400, "widths"),
    ("/histeq?outputs=%5B%7B%7D%5D", 400, "outputs"),
    ("/pipeline?widths=20&outputs=%5B%7B%7D%5D", 400, "per width under outputs"),
    ("/carve?widths=190&show=seams", 400, "show"),
    ("/carve?widths=190&show=energy", 400, "show"),
    ("/carve?widths=190&show=map", 400, "show"),
    ("/carve?widths=190&dx=-5", 400, "dx"),
]


@needs("resize")
@needs("carve")
@pytest.mark.parametrize("path, status, word", BAD, ids=[path[:48] for path, _, _ in BAD])
def test_bad_lists(daemon, path, status, word):
    check_problem(daemon.post(path, PHOTO), status, word)
    assert daemon.works()


def test_quality_and_its_least_may_be_the_requests_and_an_items(daemon):
    """An item may set either one alone: the list is read before the rest of the form, and the request supplies the other."""
    items = [{"type": "jpeg", "min_quality": 90, "max_bytes": 1000000}]
    results, _ = results_of(pipeline(daemon, None, items, quality="95"))
    assert results["1.jpeg"][1] == alone(daemon, [step("rotate", angle=0)], type="jpeg", quality=95)
    form = [("outputs", json.dumps(items), None), ("quality", "95", None), ("image", PHOTO, "a.jpg")]
    assert daemon.post_form("/pipeline", form).status == 200
    results, _ = results_of(pipeline(daemon, None, [{"type": "jpeg", "quality": 95, "max_bytes": 1000000}], min_quality="90"))
    assert results["1.jpeg"][1] == alone(daemon, [step("rotate", angle=0)], type="jpeg", quality=95)
    check_problem(pipeline(daemon, None, items), 400, "item 1")
    check_problem(pipeline(daemon, None, [{"quality": 50, "min_quality": 60}]), 400, "item 1")
    check_problem(pipeline(daemon, None, [{"quality": 95}, {"quality": 80}], min_quality="90"), 400, "item 2")


BAD_OUTPUTS = [
    ("", "outputs"), ("[", "outputs"), ("{}", "outputs"), ("[]", "outputs"), ("3", "outputs"), ("null", "outputs"),
    ("[3]", "item 1"), ("[{},[]]", "item 2"), ('[{"operations":{}}]', "operations"), ('[{"operations":[3]}]', "item 1"),
    ('[{"operations":[{"operation":"unheard_of"}]}]', "unheard_of"), ('[{"type":"bmp"}]', "type"), ('[{"quality":0}]', "quality"),
    ('[{"quality":"x"}]', "quality"), ('[{"color":1}]', "color"), ('[{"name":""}]', "name"), ('[{"name":"../a"}]', "name"),
    ('[{"name":".a"}]', "name"), ('[{"name":"a b"}]', "name"), ('[{"name":3}]', "name"), ('[{"name":"%s"}]' % ("a" * 61), "name"),
    ('[{"name":"a\\r\\nX-Evil: 1"}]', "name"), ('[{"name":"a"},{"name":"a"}]', "item 2"), ('[{},{"name":"1.jpeg"}]', "item 2"),
    ('[{"type":"png","type":"png"}]', "outputs"), ("[%s]" % ",".join(["{}"] * 33), "32"),
    ('[{"operations":[%s]}]' % ",".join(['{"operation":"mean"}'] * 10), "10"),
    ('[{"operations":[{"operation":"edge","params":{"type":"png"}}]}]', "type"),
]


@pytest.mark.parametrize("outputs, word", BAD_OUTPUTS, ids=[text[:40] for text, _ in BAD_OUTPUTS])
def test_bad_outputs(daemon, outputs, word):
    form = [("operations", '[{"operation":"histeq"}]', None), ("outputs", outputs, None), ("image", PHOTO, "a.jpg")]
    check_problem(daemon.post_form("/pipeline", form), 400, word)
    assert daemon.works()


def test_outputs_and_types_exclude_each_other(daemon):
    check_problem(pipeline(daemon, None, [{}], types="png"), 400, "types")


def test_the_limit_of_pixels_holds_for_the_sum(start):
    small = start("--pixels-max", "30000")
    assert small.post("/histeq?types=png", PHOTO).status == 200
    check_problem(small.post("/histeq?types=png,jpeg", PHOTO), 422, "2 results", "48000", "pixels_max")
    assert small.works() and small.becomes_idle()


@needs("resize")
def test_an_image_that_is_damaged(daemon):
    check_problem(daemon.post("/resize?widths=20,40", PHOTO[:len(PHOTO) // 2]), 422)
    results, report = results_of(daemon.post("/resize?widths=20,40&damaged=accept", PHOTO[:len(PHOTO) // 2]))
    assert len(results) == 2 and any("damaged" in note for note in report["notes"])


@needs("resize")
def test_nothing_is_held_afterwards(start):
    """Slots, bytes of bodies and of answers are released, in every form of the answer, and whether it is read or not."""
    own = start()
    for accept in ("*/*", "application/zip", "application/json"):
        assert own.post("/resize?widths=40,80&types=png,jpeg", PHOTO, {"Accept": accept}).status == 200
    with own.socket() as s:
        s.sendall(b"POST /resize?widths=900,1800&types=png HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(PHOTO) + PHOTO)
        s.recv(100)
    assert own.becomes_idle()


# ---- users' operators

WHITE = """
#STRUCT
typedef struct { int level; /* 127 [0,255] pixels above become white */ } settings;
#P2P_FUNC
static unsigned char white(unsigned char pixel, int index, settings s) { return pixel > s.level ? 255 : 0; }
#R2S_FUNC int
static int total(int a, int b) { return a + b; }
"""


@pytest.fixture(scope="module")
def users(tmp_path_factory):
    folder = tmp_path_factory.mktemp("operators")
    (folder / "white.c").write_text(WHITE)
    own = Daemon("--operators-dir", str(folder))
    yield own
    assert own.stop() == 0, own.log_text()


@pytest.mark.parametrize("order", ["outputs last", "outputs first", "in the query"])
def test_users_operators_in_outputs(users, order):
    """They run in a process of their own; in a form, outputs may arrive while only built-in steps are known."""
    picture = pnm(noise(40, 30, 3))
    steps = json.dumps([step("brightness", shift=5)])
    outputs = json.dumps([{"operations": [step("white", level=90)], "type": "png"}, {"operations": [step("total")]},
                          {"operations": [step("white", level=90)]}])
    parts = [("operations", steps, None), ("image", picture, "a.ppm"), ("outputs", outputs, None)]
    if order == "in the query":
        query = urllib.parse.urlencode({"operations": steps, "outputs": outputs})
        answer = users.post(f"/pipeline?{query}", picture)
    else:
        answer = users.post_form("/pipeline", parts if order == "outputs last" else parts[::-1])
    results, report = results_of(answer)
    brighter = np.minimum(noise(40, 30, 3).astype(int) + 5, 255)
    assert np.array_equal(np.array(Image.open(io.BytesIO(results["1.png"][1]))), (brighter > 90) * 255)
    assert np.array_equal(from_pnm(results["3.pnm"][1]), (brighter > 90) * 255)
    assert np.array_equal(from_pnm(results["2.pnm"][1]), brighter)
    assert report["values"] == [{"operation": "total", "step": 1, "output": 1, "value": brighter.sum((0, 1)).tolist()}]
    archive = users.post_form("/pipeline", parts, {"Accept": "application/zip"})
    assert zipfile.ZipFile(io.BytesIO(archive.body)).testzip() is None
