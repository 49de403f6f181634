# SPDX-License-Identifier: Apache-2.0
"""Requests as clients of imaginary (github.com/h2non/imaginary) send them: server/README.md has the differences.

Sizes are asserted as in imaginary's own tests (server_test.go, image_test.go), on pictures of the same size; pixels equal
those of the native request.

covers: server/http/imaginary.c server/http/imaginary_values.c
        server/http/imaginary_steps.c"""
import functools
import io
import json
import shutil
import urllib.parse
import zipfile

import numpy as np
import pytest
from PIL import Image

import heif
from conftest import check_problem, encode, from_pnm, jpeg, needs, noise, png, pnm, smooth, wait_until

pytestmark = [needs(name) for name in ("resize", "crop", "smartcrop", "extract", "rotate", "flip", "flop", "blur", "zoom")]

PHOTO = jpeg(smooth(64, 48))
SIZES = {"large.jpg": (1920, 1080), "imaginary.jpg": (550, 740)}  # of imaginary's test pictures
SMALL = pnm(noise(60, 40, 3))
MEMBERS = {"width": int, "height": int, "type": str, "space": str, "hasAlpha": bool, "hasProfile": bool, "channels": int,
           "orientation": int}


@functools.lru_cache(None)
def as_large_as(name):
    return jpeg(smooth(*SIZES[name]))


def pipeline(*steps, root="", **query):
    """STEPS: (operation, {parameter: value})..."""
    listed = [{"operation": operation, "params": params} for operation, params in steps]
    return f"{root}/pipeline?" + urllib.parse.urlencode({"operations": json.dumps(listed), **query})


JSON = {"Accept": "application/json"}


def size(answer):
    assert answer.status == 200, answer.body
    return Image.open(io.BytesIO(answer.body)).size


# ---- imaginary's own tests

@pytest.mark.parametrize("name, path, picture, wanted", [
    ("TestCrop", "/crop?width=300", "large.jpg", (300, 1080)),
    ("TestResize", "/resize?width=300&nocrop=false", "large.jpg", (300, 1080)),
    ("TestEnlarge", "/enlarge?width=300&height=200", "large.jpg", (300, 200)),
    ("TestExtract", "/extract?top=100&left=100&areawidth=200&areaheight=120", "large.jpg", (200, 120)),
    ("TestFit", "/fit?width=300&height=300", "large.jpg", (300, 169)),
    ("TestImageResize", "/resize?width=300&height=300", "imaginary.jpg", (300, 300)),
    ("TestImageFit", "/fit?width=300&height=300", "imaginary.jpg", (223, 300)),
    # its tests of images by URL or path; here the images are sent
    ("TestRemoteHTTPSource", "/crop?width=200&height=200", "large.jpg", (200, 200)),
    ("TestSrcResponseHeaderWithCacheControl", "/resize?width=200", "large.jpg", (200, 113)),
])
def test_its_own_tests(daemon, name, path, picture, wanted):
    picture = as_large_as(picture)
    for root in ("", "/imaginary"):
        answer = daemon.request("POST", root + path, picture, {"Content-Type": "image/jpeg"})
        assert size(answer) == wanted and answer.headers["Content-Type"] == "image/jpeg"
        form = daemon.post_form(root + path, [("file", picture, "large.jpg")])
        assert form.body == answer.body == daemon.request("PUT", root + path, picture).body


@pytest.mark.parametrize("image, option, wanted", [
    ((1280, 1000), (710, 9999), (710, 555)), ((1279, 1000), (710, 9999), (710, 555)),
    ((1299, 2000), (710, 999), (649, 999)), ((1500, 2000), (710, 999), (710, 947))])
def test_calculate_destination_fit_dimension(daemon, image, option, wanted):
    picture = pnm(np.zeros((image[1], image[0]), np.uint8))
    answer = daemon.post(f"/fit?width={option[0]}&height={option[1]}&type=pnm", picture)
    assert from_pnm(answer.body).shape[1::-1] == wanted


def test_image_pipeline_operations(daemon):
    path = pipeline(("crop", {"width": 300, "height": 260}), ("convert", {"type": "webp"}))
    for root in ("", "/imaginary"):
        answer = daemon.post(root + path, as_large_as("imaginary.jpg"))
        assert size(answer) == (300, 260) and answer.headers["Content-Type"] == "image/webp"


def test_type_auto(daemon):
    """imaginary takes the first type that it knows; Burin the most preferred one and, among equals, the input's."""
    for accept, wanted, theirs in (("image/webp", "webp", "webp"), ("image/png", "png", "png"), ("", "jpeg", "jpeg"),
                                   ("image/webp,*/*;q=0.8", "webp", "webp"),
                                   ("image/webp,*/*", "jpeg", "webp"), ("image/png,*/*", "jpeg", "png"),
                                   ("image/webp;q=0.8,image/jpeg", "jpeg", "webp"),
                                   ("text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,image/apng,*/*;q=0.8",
                                    "jpeg", "webp")):
        answer = daemon.request("POST", "/crop?width=300&type=auto", as_large_as("large.jpg"), {"Accept": accept} if accept else {})
        assert size(answer) == (300, 1080) and answer.headers["Content-Type"] == f"image/{wanted}", (accept, theirs)
        assert answer.headers["Vary"] == "Accept" and answer.headers["Content-Length"]


# ---- the native form of each operation

OURS = [
    ("/fit?width=30&height=30", "/resize?width=30&height=30&fit=inside&enlarge=false"),
    ("/fit?width=300&height=300", "/resize?width=300&height=300&fit=inside&enlarge=false"),
    ("/fit?width=300&height=300&force=true", "/resize?width=300&height=300&fit=inside"),
    ("/fit?width=30&height=30&kernel=cubic", "/resize?width=30&height=30&fit=inside&kernel=cubic&enlarge=false"),
    ("/enlarge?width=90&height=90", "/resize?width=90&height=90"),
    ("/enlarge?width=90&height=90&gravity=west", "/resize?width=90&height=90&position=west"),
    ("/enlarge?width=90&height=90&nocrop=true", "/resize?width=90&height=90&fit=inside"),
    ("/enlarge?width=90&height=90&nocrop=true&embed=true&extend=white", "/resize?width=90&height=90&fit=contain"),
    ("/enlarge?width=90&height=90&force=true", "/resize?width=90&height=90&fit=fill"),
    ("/enlarge?width=96&aspectratio=16:9", "/resize?width=96&height=54"),
    ("/enlarge?height=45&aspectratio=16:9", "/resize?width=80&height=45"),
    ("/enlarge?width=90&height=90&aspectratio=16:9", "/resize?width=90&height=90"),
    ("/thumbnail?width=50&height=50", "/resize?width=50&height=50&fit=fill"),
    ("/thumbnail?width=50", "/resize?width=50"),
    ("/thumbnail?width=50&height=50&embed=true&extend=black",
     "/resize?width=50&height=50&fit=contain&background=000000&enlarge=false"),
    ("/resize?width=30", "/resize?width=30"),
    ("/resize?width=30&nocrop=true", "/resize?width=30&enlarge=false"),
    ("/resize?width=30&height=30&nocrop=false", "/resize?width=30&height=30&enlarge=false"),
    ("/resize?width=30&height=30&nocrop=false&gravity=smart", "/resize?width=30&height=30&enlarge=false&position=smart"),
    ("/resize?width=30&nocrop=false&gravity=east", "/crop?width=30&gravity=east"),
    ("/resize?width=30&nocrop=false&gravity=smart", "/smartcrop?width=30"),
    ("/resize?width=30&height=30&gravity=east", "/resize?width=30&height=30&position=east"),
    ("/resize?width=30&height=30&force=true", "/resize?width=30&height=30&fit=fill"),
    ("/resize?width=30&height=30&force=false", "/resize?width=30&height=30"),
    ("/resize?width=30&height=30&extend=white", "/resize?width=30&height=30&fit=contain&enlarge=false"),
    ("/resize?width=30&height=30&embed=true&extend=black&background=250,20,10",
     "/resize?width=30&height=30&fit=contain&background=000000&enlarge=false"),
    ("/resize?width=30&height=30&extend=background&background=250,20,10",
     "/resize?width=30&height=30&fit=contain&background=fa140a&enlarge=false"),
    ("/resize?width=30&height=30&extend=background", "/resize?width=30&height=30&fit=contain&background=000000&enlarge=false"),
    ("/crop?width=30&height=20", "/crop?width=30&height=20"),
    ("/crop?width=30&height=20&gravity=smart", "/resize?width=30&height=20&position=smart&enlarge=false"),
    ("/crop?width=30&gravity=smart", "/smartcrop?width=30"),
    ("/crop?width=30&height=30&force=true", "/resize?width=30&height=30&fit=fill"),
    ("/crop?width=32&aspectratio=16:9", "/crop?width=32&height=18"),
    ("/smartcrop?width=30&height=20&gravity=north", "/smartcrop?width=30&height=20"),
    ("/extract?top=3&left=5&areawidth=20&areaheight=12", "/extract?top=3&left=5&width=20&height=12"),
    ("/extract?areawidth=20&areaheight=12", "/extract?width=20&height=12"),
    ("/rotate?rotate=180", "/rotate?angle=180"),
    ("/rotate?rotate=0", "/rotate?angle=0"),
    ("/rotate?rotate=90&width=20&height=20", pipeline(("rotate", {"angle": "90"}), ("resize", {
        "width": 20, "height": 20, "fit": "inside", "enlarge": False}))),
    ("/flip?width=20&height=20&flip=false", pipeline(("flip", {}), ("resize", {"width": 20, "height": 20, "fit": "fill"}))),
    ("/flip?flop=true&rotate=270", pipeline(("rotate", {"angle": "270"}), ("flip", {}), ("flop", {}))),
    ("/flop?width=20&rotate=90", pipeline(("rotate", {"angle": "90"}), ("flop", {}), ("resize", {"width": 20, "enlarge": False}))),
    ("/zoom?factor=1", "/zoom"),
    ("/zoom?factor=2", "/zoom?times=3"),
    ("/zoom?factor=1", "/resize?width=120&height=80&kernel=nearest"),
    ("/zoom?factor=2&left=40&areawidth=30&areaheight=20&flop=true", pipeline(("flop", {}), ("zoom", {"times": 3}), ("extract", {
        "left": 40, "width": 30, "height": 20}))),
    ("/imaginary/zoom?factor=1&width=90&height=90&top=5&areawidth=30&areaheight=20&nocrop=true", pipeline(
        ("resize", {"width": 120, "height": 80, "kernel": "nearest"}), ("resize", {"width": 90, "height": 90, "fit": "fill"}),
        ("extract", {"top": 5, "width": 30, "height": 20}))),
    ("/blur?sigma=2.5&width=30&height=0", pipeline(("resize", {"width": 30}), ("blur", {"sigma": 2.5}))),
    ("/blur?sigma=5.0&minampl=0", "/blur?sigma=5"),
    ("/convert?type=pnm&width=30&height=30&embed=true&extend=white",
     "/resize?width=30&height=30&fit=contain&enlarge=false"),
    ("/convert?type=pnm&colorspace=bw", "/grayscale"),
    ("/autorotate", "/rotate?angle=0"),
    ("/fit?width=30&height=30&rotate=90&flip=true&flop=true&sigma=1.5&colorspace=bw&norotation=false&noprofile=false"
     "&stripmeta=true&interlace=true&palette=false&field=file&key=",
     pipeline(("rotate", {"angle": "90"}), ("flip", {}), ("flop", {}), ("resize", {
         "width": 30, "height": 30, "fit": "inside", "enlarge": False}), ("blur", {"sigma": 1.5}), ("grayscale", {}))),
    ("/imaginary/crop?width=30&height=30", "/resize?width=30&height=30&enlarge=false"),
    ("/imaginary/crop?width=30&height=30&gravity=west", "/resize?width=30&height=30&position=west&enlarge=false"),
    ("/imaginary/crop?width=30&gravity=west", "/crop?width=30&gravity=west"),
    ("/imaginary/crop?width=30", "/crop?width=30"),
    ("/imaginary/smartcrop?width=30&height=30", "/resize?width=30&height=30&position=smart&enlarge=false"),
    ("/imaginary/smartcrop?height=30", "/smartcrop?height=30"),
    ("/imaginary/resize?width=30", "/resize?width=30&enlarge=false"),
    ("/imaginary/resize?width=300", "/resize?width=300&enlarge=false"),
    ("/imaginary/resize?width=30&height=30&extend=white", "/resize?width=30&height=30&fit=contain&enlarge=false"),
    ("/imaginary/resize?width=30&height=30&nocrop=false", "/resize?width=30&height=30&enlarge=false"),
    ("/imaginary/flip", "/flip"),
]


@pytest.mark.parametrize("theirs, ours", OURS, ids=[theirs for theirs, _ in OURS])
def test_it_equals_the_native_request(daemon, theirs, ours):
    """Byte for byte, by the path, as form fields, and as a step of a pipeline."""
    def pnm_of(path, *post):
        joint = "&" if "?" in path else "?"
        answer = daemon.post(path if "type=pnm" in path else path + joint + "type=pnm", *post or (SMALL,))
        assert answer.status == 200, (path, answer.body)
        return answer.body

    wanted = pnm_of(ours)
    assert pnm_of(theirs) == wanted
    path, _, query = theirs.partition("?")
    given = urllib.parse.parse_qsl(query, keep_blank_values=True)
    fields = [(name, value, None) for name, value in [*given, ("type", "pnm")][::-1] if (name, value) != ("type", "pnm")]
    if len(fields) < 7:  # parts_max
        answer = daemon.post_form(path, [*fields, ("type", "pnm", None), ("file", SMALL, "a.pnm")])
        assert answer.status == 200 and answer.body == wanted, answer.body[:300]
    *root, operation = path[1:].split("/")
    steps = pipeline((operation, {name: value for name, value in given if name != "type"} | {"type": "pnm"}),
                     root="/imaginary" if root else "")
    assert daemon.post(steps, SMALL).body == wanted


# ---- what imaginary puts around a picture

@pytest.mark.parametrize("query, way", [
    ("", "edge"), ("&extend=copy", "edge"), ("&extend=lastpixel", "edge"), ("&extend=mirror", "symmetric"), ("&extend=%20Mirror", "symmetric"),
    ("&extend=", "symmetric"), ("&extend=blue", "symmetric"), ("&embed=true", "edge"), ("&nocrop=true&background=250,20,10", "edge")])
@pytest.mark.parametrize("width, height", [(50, 50), (120, 30), (7, 40), (64, 200)])
def test_around_a_picture(daemon, query, way, width, height):
    """imaginary's default call: scaled as Pillow scales, then numpy.pad, which libvips' embed equals; no larger than it came."""
    picture = noise(64, 48, 3)
    scale = min(width / 64, height / 48, 1)
    size = max(1, int(64 * scale + 0.5)), max(1, int(48 * scale + 0.5))
    scaled = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))
    before = (height - size[1]) // 2, (width - size[0]) // 2
    wanted = np.pad(scaled, [(before[0], height - size[1] - before[0]), (before[1], width - size[0] - before[1]), (0, 0)], way)
    paths = [f"/imaginary/resize?width={width}&height={height}{query}&type=pnm"]
    if query[1:] in ("extend=copy", "extend=mirror", "extend=lastpixel", "embed=true"):
        paths += [f"/resize?width={width}&height={height}{query}&type=pnm", f"/thumbnail?width={width}&height={height}{query}&embed=true&type=pnm"
                  if "embed" not in query else f"/thumbnail?width={width}&height={height}&embed=true&type=pnm"]
    for path in paths:
        answer = daemon.post(path, pnm(picture))
        assert answer.status == 200, (path, answer.body)
        assert (from_pnm(answer.body) == wanted).all(), path


def test_alpha_goes_on_too(daemon):
    picture = noise(10, 10, 4)
    answer = daemon.post("/imaginary/resize?width=30&height=10&type=png", png(picture))
    assert (np.asarray(Image.open(io.BytesIO(answer.body))) == np.pad(picture, [(0, 0), (10, 10), (0, 0)], "edge")).all()


# ---- values as imaginary reads them

READ = [
    ("resize?width=30.5", "resize?width=31"), ("resize?width=30.4", "resize?width=30"), ("resize?width=-30", "resize?width=30"),
    ("resize?width=%2B3e1", "resize?width=30"), ("resize?width=30&height=", "resize?width=30"), ("resize?width=30&height=0", "resize?width=30"),
    ("resize?width=30&quality=0&type=jpeg", "resize?width=30&type=jpeg"), ("resize?width=30&quality=&type=jpeg", "resize?width=30&type=jpeg"),
    ("resize?width=30&quality=59.5&type=jpeg", "resize?width=30&quality=60&type=jpeg"),
    ("resize?width=30&compression=6.4&type=png", "resize?width=30&compression=6&type=png"),
    ("resize?width=30&compression=0&type=png", "resize?width=30&type=png"), ("resize?width=30&type=JPEG", "resize?width=30&type=jpeg"),
    ("resize?width=30&interlace=t&type=jpeg", "resize?width=30&interlace=true&type=jpeg"),
    ("resize?width=30&height=30&nocrop=", "resize?width=30&height=30&nocrop=false"), ("resize?width=30&flip=&flop=f", "resize?width=30"),
    ("crop?width=30&height=30&gravity=%20North", "crop?width=30&height=30&gravity=north"),
    ("crop?width=30&height=30&gravity=up", "crop?width=30&height=30&gravity=centre"),
    ("crop?width=30&height=30&gravity=SMART", "crop?width=30&height=30&gravity=smart"),
    ("blur?sigma=1.23456", "blur?sigma=1.235"), ("blur?sigma=-2", "blur?sigma=2"), ("resize?width=30&sigma=0.0001", "resize?width=30"),
    ("zoom?factor=1.5", "zoom?factor=2"), ("extract?top=1.5&left=&areawidth=9.2&areaheight=9", "extract?top=2&areawidth=9&areaheight=9"),
    ("rotate?rotate=100", "rotate?rotate=90"), ("rotate?rotate=400", "rotate?rotate=270"), ("flip?rotate=45", "flip"),
    ("convert?type=jpeg&background=300,20,10,7", "convert?type=jpeg&background=255,20,10"), ("convert?type=jpeg&background=", "convert?type=jpeg"),
    ("crop?width=30&aspectratio=16", "crop?width=30"), ("crop?width=30&aspectratio=0:0", "crop?width=30"),
    ("resize?width=30&colorspace=cmyk", "resize?width=30"), ("resize?width=30&colorspace=", "resize?width=30"),
    ("resize?width=30&height=30&gravity=smart", "fit?width=30&height=30")]


@pytest.mark.parametrize("given, read", READ, ids=[given for given, _ in READ])
def test_values_as_imaginary_reads_them(daemon, given, read):
    clear = png(noise(60, 40, 4))
    answer, own = daemon.post("/imaginary/" + given, clear), daemon.post("/imaginary/" + read, clear)
    assert (answer.status, own.status) == (200, 200), (answer.body, own.body)
    assert answer.body == own.body and answer.headers["Content-Type"] == own.headers["Content-Type"]


def test_numbers_of_json_are_cut_off(daemon):
    """As Go's int() does it; texts are rounded."""
    for given, read in ((30.9, 30), ("30.5", 31), ("", 0), (0, 0)):
        answer = daemon.post(pipeline(("resize", {"width": given, "height": 20}), root="/imaginary", type="pnm"), SMALL)
        own = daemon.post(f"/imaginary/resize?height=20&width={read}&type=pnm", SMALL)
        assert answer.status == 200 and answer.body == own.body, (given, answer.body[:200])


IGNORED = [("speed=3", "speed"), ("minampl=0.5", "minampl"),
           ("dpi=150&text=a%20b", "dpi, text"), ("url=http://127.0.0.1/a.jpg", "url"), ("file=a.jpg", "file"),
           ("sign=abc", "sign"), ("nonsense=1", "nonsense"), ("top=3&factor=2", "top, factor"), ("extend=blue", "extend"),
           ("gravity=up", "gravity"), ("aspectratio=x", "aspectratio"), ("speed=1&speed=2", "speed"), ("%1b%22=1", '?"'),
           ("minampl=0&stripmeta=true&noprofile=f", ""), ("speed=&nonsense=&stripmeta=", ""), ("key=secret", ""), ("key=", ""),
           ("speed=1&=5", "speed"), ("=5", "")]


@pytest.mark.parametrize("query, names", IGNORED)
def test_what_is_harmless_is_ignored(daemon, query, names):
    """The picture is that of the request without them, and a note names them; so by a field, and in a step."""
    own = daemon.post("/imaginary/fit?width=30&height=30&type=pnm", SMALL)
    given = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
    fields = [(name, value, None) for name, value in given.items()
              if name not in ("", "file") and name.isprintable()]  # that part is the image; such names are refused
    answers = [daemon.post(f"/imaginary/fit?width=30&height=30&type=pnm&{query}", SMALL),
               daemon.post(pipeline(("fit", {"width": 30, "height": 30, **given}), root="/imaginary", type="pnm"), SMALL)]
    if len(fields) == len(given):
        answers.append(daemon.post_form("/imaginary/fit?width=30&height=30&type=pnm", [*fields, ("file", SMALL, "a")]))
    for answer in answers:
        assert answer.status == 200 and answer.body == own.body, answer.body[:300]
        notes = json.loads(answer.headers["X-Burin-Timing"])["notes"]
        assert notes == ([f"these parameters do nothing here: {names}"] if names else []), notes


def test_many_ignored_names_are_few_bytes(daemon):
    query = "&".join(f"{chr(97 + i % 26) * (i + 5)}={i}" for i in range(60))
    answer = daemon.post(f"/imaginary/flip?{query}", SMALL)
    assert answer.status == 200 and len(answer.headers["X-Burin-Timing"]) < 2000
    answer = daemon.post("/imaginary/flip?" + "&".join(f"speed={i}" for i in range(50)), SMALL)
    assert answer.status == 200 and answer.headers["X-Burin-Timing"].count("speed") == 1


def test_beside_operations_and_info(daemon):
    """Parameters beside operations do nothing in imaginary; its key may go in a header."""
    path = pipeline(("flip", {}), root="/imaginary", key="secret", width="9", speed="3", type="pnm")
    answer = daemon.request("POST", path, SMALL, {"API-Key": "secret"})
    assert answer.status == 200 and answer.body == daemon.post("/flip?type=pnm", SMALL).body
    assert json.loads(answer.headers["X-Burin-Timing"])["notes"] == ["these parameters do nothing here: width, speed"]
    answer = daemon.request("POST", "/imaginary/info?key=secret&stripmeta=true&device=cpu", SMALL, {"API-Key": "secret"})
    assert answer.status == 200 and answer.json["width"] == 60
    check_problem(daemon.post("/info?key=secret", SMALL), 400, "key")
    answer = daemon.request("POST", "/imaginary/flip?type=pnm", SMALL, {"API-Key": "secret"})
    assert answer.status == 200 and answer.body == daemon.post("/flip?type=pnm", SMALL).body


def test_only_the_last_step_is_written(daemon):
    """imaginary writes a file after each step; what an earlier one says of quality is left out, with a note."""
    steps = ("crop", {"width": 30, "height": 20, "quality": 10, "interlace": True, "type": "jpeg"}), ("convert", {"type": "jpeg"})
    answer = daemon.post(pipeline(*steps, root="/imaginary"), PHOTO)
    assert answer.status == 200 and answer.body == daemon.post("/imaginary/crop?width=30&height=20&type=jpeg", PHOTO).body
    assert json.loads(answer.headers["X-Burin-Timing"])["notes"] == ["these parameters do nothing here: quality, interlace"]


def test_several_widths(daemon):
    """Each result is that of a request for its width alone, with any of imaginary's parameters."""
    for query in ("height=30&extend=white", "height=30&extend=copy", "nocrop=false&gravity=east", "height=20&nocrop=false", "aspectratio=16:9",
                  "sigma=2", "colorspace=bw&flop=true&rotate=90", "height=20&extend=background&background=250,20,10"):
        for root in ("", "/imaginary"):
            answer = daemon.post(f"{root}/resize?widths=16,30&type=png&{query}", SMALL, {"Accept": "application/zip"})
            assert answer.status == 200, (query, answer.body)
            with zipfile.ZipFile(io.BytesIO(answer.body)) as files:
                for width in (16, 30):
                    own = daemon.post(f"{root}/resize?width={width}&type=png&{query}", SMALL)
                    assert own.status == 200 and files.read(f"{width}w.png") == own.body, (root, query, width)


# ---- output settings

def test_type_and_quality(daemon):
    for kind in ("jpeg", "png", "auto"):
        answer = daemon.post_form(f"/histeq?type={kind}&quality=80", [("file", PHOTO, "photo.jpg")])
        assert answer.status == 200 and answer.headers["Content-Type"] == f"image/{kind.replace('auto', 'jpeg')}"
        assert Image.open(io.BytesIO(answer.body)).size == (64, 48)
    small = daemon.post("/histeq?quality=5", PHOTO).body
    assert len(small) < len(daemon.post("/histeq?quality=100", PHOTO).body)


def test_its_settings_are_the_native_ones(daemon):
    clear = png(noise(20, 10, 4))
    for theirs, ours, picture in (
            ("/convert?type=jpeg&interlace=true", "/rotate?angle=0&type=jpeg&progressive=true", PHOTO),
            ("/convert?type=jpeg&background=250,20,10", "/rotate?angle=0&type=jpeg&background=fa140a", clear),
            ("/convert?type=jpeg&background= 0, 255 ,7".replace(" ", "%20"), "/rotate?angle=0&type=jpeg&background=00ff07", clear),
            ("/flip?type=jpeg&background=250,20,10", "/flip?type=jpeg&background=fa140a", clear),
            ("/resize?width=9&type=jpeg&background=250,20,10", "/resize?width=9&type=jpeg&background=fa140a", clear),
            ("/convert?type=png&compression=6", "/rotate?angle=0&type=png&compression=2", PHOTO),
            ("/convert?type=png&compression=9", "/rotate?angle=0&type=png&compression=3", PHOTO),
            ("/convert?type=png&compression=0", "/rotate?angle=0&type=png&compression=0", PHOTO),
            ("/imaginary/convert?type=png&palette=1", "/rotate?angle=0&type=png&palette=true", PHOTO),
            (pipeline(("resize", {"width": 9, "background": "250,20,10"}), ("convert", {"type": "jpeg", "quality": 60})),
             "/resize?width=9&type=jpeg&quality=60&background=fa140a", clear),
            (pipeline(("convert", {"type": "png", "background": "250,20,10"}), ("fit", {
                "type": "jpeg", "width": 9, "height": 9, "background": "1,2,3", "interlace": True})),
             "/fit?width=9&height=9&type=jpeg&progressive=true&background=fa140a", clear),
            (pipeline(("convert", {"type": "png"}), ("flip", {"compression": 9})), "/flip?type=png&compression=3", PHOTO)):
        answer, own = daemon.post(theirs, picture), daemon.post(ours, picture)
        assert (answer.status, own.status) == (200, 200), (answer.body, own.body)
        assert answer.headers["Content-Type"] == own.headers["Content-Type"] and answer.body == own.body, theirs


def test_several_results(daemon):
    """In their steps too, though each item has its own output settings."""
    outputs = json.dumps([{"operations": [{"operation": "fit", "params": {"width": 9, "height": 9}}], "type": "png"},
                          {"operations": [{"operation": "autorotate"}], "type": "png"}])
    answer = daemon.post_form("/pipeline", [("file", PHOTO, "a"), ("outputs", outputs, None)], JSON)
    assert [(item["width"], item["height"]) for item in answer.json["manifest"]] == [(9, 7), (64, 48)]
    wrong = outputs.replace('"height": 9', '"height": 9, "type": "png"')
    check_problem(daemon.post_form("/pipeline", [("file", PHOTO, "a"), ("outputs", wrong, None)]), 400, "item 1", "type")
    answer = daemon.post("/thumbnail?widths=8,16&flop=true&type=png", PHOTO, JSON)
    assert [item["width"] for item in answer.json["manifest"]] == [8, 16]
    answer = daemon.post("/convert?types=png,jpeg", PHOTO, JSON)
    assert [item["type"] for item in answer.json["manifest"]] == ["png", "jpeg"]


def nextcloud(operation, width, height, first=({"operation": "autorotate"},), kind="jpeg"):
    """The address that lib/private/Preview/Imaginary.php of nextcloud/server makes. FIRST: its step before, which depends on the file's type."""
    steps = [*first, {"operation": operation, "params": {"width": width, "height": height, "stripmeta": "true", "type": kind, "norotation": "true",
                                                         "quality": "80"}}]
    return "/imaginary/pipeline?" + urllib.parse.urlencode({"operations": json.dumps(steps), "key": ""})


def test_a_preview_of_nextcloud(daemon):
    turned = Image.new("RGB", (400, 300)).getexif()
    turned[0x0112] = 6
    photo = jpeg(smooth(400, 300), exif=turned.tobytes())
    for operation, ours in (("fit", "fit=inside"), ("smartcrop", "position=smart")):
        answer = daemon.post(nextcloud(operation, 256, 200), photo)
        own = daemon.post(f"/resize?width=256&height=200&{ours}&enlarge=false&type=jpeg&quality=80", photo)
        assert answer.status == 200 and answer.body == own.body
    answer = daemon.post(nextcloud("fit", 256, 200), photo)
    assert size(answer) == (150, 200)
    assert (answer.headers["Image-Width"], answer.headers["Image-Height"]) == ("150", "200")  # Nextcloud lays out by these
    assert not daemon.post("/fit?width=9&height=9", PHOTO).headers["Image-Width"]


def test_norotation_is_for_what_exif_rotates(daemon):
    """Under /imaginary, in the first step; HEIC and AVIF are rotated by themselves: test_each_type_that_nextcloud_claims."""
    turned = Image.new("RGB", (40, 30)).getexif()
    for path in ("/imaginary/flip?norotation=true", nextcloud("fit", 30, 20, first=())):
        for orientation in (1, 6):
            turned[0x0112] = orientation
            answer = daemon.post(path, jpeg(smooth(40, 30), exif=turned.tobytes()))
            assert answer.status == (200 if orientation == 1 else 400), answer.body
            if orientation != 1:
                check_problem(answer, 400, "norotation", "EXIF")


CONVERT = ({"operation": "convert", "params": {"type": "png"}},)
# Each type that its provider claims: the step before, the type asked for, how the file is made (of 400 x 300), what a refusal names.
CLAIMED = {
    "image/jpeg": (None, "jpeg", lambda: jpeg(smooth(400, 300)), None),
    "image/png": (None, "png", lambda: png(smooth(400, 300)), None),
    "image/gif": (None, "png", lambda: encode(smooth(400, 300), "GIF"), None),
    "image/webp": (None, "jpeg", lambda: encode(smooth(400, 300), "WEBP"), None),
    "image/bmp": (None, "jpeg", lambda: encode(smooth(400, 300), "BMP"), None),
    "image/tiff": (None, "jpeg", lambda: encode(smooth(400, 300), "TIFF", compression="tiff_lzw"), None),
    "image/heic": ((), "jpeg", lambda: heif.plain(300, 400, heif.nclx(1, 6, True), heif.irot(1))[0], None),
    "image/heif": (None, "jpeg", lambda: heif.plain(400, 300, heif.nclx(1, 6, True))[0].replace(b"heic", b"mif1", 1), None),
    "image/x-bitmap": (None, "jpeg", lambda: encode(smooth(400, 300, 1) > 127, "XBM"), "an XBM image"),
    "image/svg+xml": (CONVERT, "png", lambda: b'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="300"><rect width="9" height="9"/></svg>', "an SVG image"),
    "application/pdf": (CONVERT, "png", lambda: encode(smooth(400, 300), "PDF"), "a PDF document"),
    "application/illustrator": (CONVERT, "png", lambda: b"%!PS-Adobe-3.0\n%%Creator: Adobe Illustrator(R) 8.0\n%%EndComments\n", "a PostScript or Illustrator file"),
}


@pytest.mark.parametrize("claimed", CLAIMED)
def test_each_type_that_nextcloud_claims(shared, claimed):
    first, kind, make, refusal = CLAIMED[claimed]
    if claimed in ("image/heic", "image/heif") and not shutil.which("x265"):
        pytest.skip("there is no x265 here")
    daemon, step = shared(), {} if first is None else {"first": first}
    for operation, sides in (("fit", (256, 192)), ("smartcrop", (256, 200))):
        answer = daemon.post(nextcloud(operation, 256, 200, kind=kind, **step), make(), {"Content-Type": claimed})
        if refusal is None or b"libde265" in answer.body:
            assert answer.status == 200, answer.body
            assert answer.headers["Content-Type"] == f"image/{kind}" and size(answer) == sides
            assert (int(answer.headers["Image-Width"]), int(answer.headers["Image-Height"])) == sides
        else:
            check_problem(answer, 415, refusal)


# ---- the rest of its interface

def test_info_has_its_members(daemon):
    """Every member has its type, and comes from the header alone: the file has no pixels."""
    for data, wanted in ((PHOTO, dict(width=64, height=48, type="jpeg", hasAlpha=False, channels=3)),
                         (png(noise(20, 10, 4))[:60], dict(width=20, height=10, type="png", hasAlpha=True, channels=4)),
                         (jpeg(smooth(64, 48), icc_profile=b"x" * 300), dict(hasProfile=True))):
        for path in ("/info", "/imaginary/info"):
            answer = daemon.post_form(path, [("file", data, "photo.jpg")])
            assert answer.status == 200, answer.body
            facts = answer.json
            assert {name: type(facts[name]) for name in MEMBERS} == MEMBERS
            assert {name: facts[name] for name in wanted} == wanted


def test_a_pipeline(daemon):
    """All members, in the query as in imaginary, or in the form; every step counts as one that must not fail."""
    steps = json.dumps([{"operation": "grayscale", "ignore_failure": False},
                        {"operation": "histeq", "ignore_failure": False, "params": {"bins": "16"}}], separators=(",", ":"))
    picture = pnm(noise(30, 20, 3))
    plain = daemon.post('/pipeline?operations=[{"operation":"grayscale"},{"operation":"histeq","params":{"bins":16}}]', picture)
    for answer in (daemon.post_form("/pipeline?type=pnm&operations=" + steps.replace('"', "%22"), [("file", picture, "a")]),
                   daemon.post_form("/pipeline?type=pnm", [("file", picture, "a"), ("operations", steps, None)])):
        assert answer.status == 200, answer.body
        assert (from_pnm(answer.body) == from_pnm(plain.body)).all()


def test_names_are_counted(start):
    """Each operation is counted by its own name, under /imaginary too."""
    daemon = start()
    for path in ("/fit?width=9&height=9", "/imaginary/fit?width=9&height=9", "/convert?type=png", "/imaginary/crop?width=9"):
        assert daemon.post(path, PHOTO).status == 200
    for label, code, count in (("fit", 200, 2), ("convert", 200, 1), ("crop", 200, 1)):
        line = f'\nburin_requests_total{{op="{label}",code="{code}"}} {count}\n'
        assert wait_until(lambda: line in daemon.get("/metrics").body.decode()), line


# ---- what is not supported

REFUSED = [
    ("/fit?width=30", ["fit", "width and height"]),
    ("/enlarge?height=30", ["enlarge", "width and height"]),
    ("/thumbnail", ["width or height"]),
    ("/convert", ["convert", "type"]),
    ("/convert?type=tiff", ["type", "png, jpeg"]),
    ("/imaginary/rotate", ["rotate must be given"]),
    ("/imaginary/zoom", ["factor must be given"]),
    ("/zoom?factor=0", ["factor", "1..63"]),
    ("/zoom?factor=1&times=2", ["twice"]),
    ("/zoom?factor=1&top=5", ["areawidth and areaheight"]),
    ("/zoom?factor=1&areawidth=5&areaheight=5", ["top or left"]),
    ("/zoom?factor=1&top=5&areawidth=5&areaheight=5&nocrop=false", ["nocrop"]),
    ("/imaginary/blur", ["sigma must be given"]),
    ("/imaginary/crop", ["width or height"]),
    ("/imaginary/extract?top=1&left=1", ["areawidth and areaheight"]),
    ("/extract?areawidth=3", ["areawidth and areaheight"]),
    ("/extract?areawidth=3&areaheight=4&width=9", ["areawidth", "/pipeline"]),
    ("/rotate?rotate=45", ["rotate", "0 | 90 | 180 | 270"]),
    ("/rotate?rotate=90&angle=90", ["twice"]),
    ("/fit?width=9&height=9&fit=cover", ["fit", "leave it out"]),
    ("/resize?width=9&height=9&fit=cover&force=true", ["fit", "leave it out"]),
    ("/resize?width=9&height=9&extend=mirror&around=edge", ["around", "leave it out"]),
    ("/resize?width=9&extend=blue", ["extend", "white | black"]),
    ("/resize?width=9&height=9&position=north&gravity=east", ["position", "leave it out"]),
    ("/crop?width=9&gravity=smart&gravity=north", ["twice"]),
    ("/fit?width=9&height=9&gravity=up", ["gravity", "centre"]),
    ("/fit?width=9&height=9&flip=perhaps", ["flip", "true | false"]),
    ("/fit?width=9&height=9&flip=true&flip=true", ["twice"]),
    ("/fit?width=9&height=9&aspectratio=16", ["16:9"]),
    ("/fit?width=9&height=9&aspectratio=0:9", ["16:9"]),
    ("/fit?width=9&height=9&aspectratio=16:9&aspectratio=16:9", ["twice"]),
    ("/fit?width=9&height=9&aspectratio=99999999999999999999:1", ["16:9"]),
    ("/fit?width=9&height=70000", ["height", "65535"]),
    ("/flip?width=70000", ["width", "65535"]),
    ("/flip?sigma=100", ["sigma", "64"]),
    ("/flip?colorspace=cmyk", ["colorspace", "srgb | bw"]),
    ("/flip?norotation=true", ["norotation", "EXIF"]),
    ("/blur?sigma=2&minampl=0.5", ["minampl", "sigma alone"]),
    ("/flip?field=picture", ["field", "file | image | media"]),
    ("/flip?url=http://127.0.0.1/a.jpg", ["fetched"]),
    ("/flip?file=a.jpg", ["file", "body"]),
    ("/flip?key=secret", ["key", "Authorization"]),
    ("/flip?sign=abc", ["sign"]),
    ("/flip?speed=3", ["effort"]),
    ("/flip?flipp=1", ["flipp", "flip"]),
    ("/flip?factor=2", ["factor"]),
    ("/autorotate?width=9", ["width"]),
    ("/convert?type=png&compression=10", ["compression"]),
    ("/convert?type=jpeg&background=256,0,0", ["background"]),
    ("/convert?type=jpeg&background=1,2", ["background"]),
    ("/convert?type=jpeg&background=1,2,3,4", ["background"]),
    ("/pipeline?key=secret", ["key"]),
    ("/imaginary/fit?width=9", ["fit", "width and height"]),
    ("/imaginary/fit?width=0&height=9", ["fit", "width and height"]),
    ("/imaginary/rotate?rotate=0", ["rotate must be given"]),
    ("/imaginary/resize?width=", ["width or height"]),
    ("/imaginary/resize?width=wide", ["width", '"wide"']),
    ("/imaginary/resize?width=1e9", ["width", '"1e9"']),
    ("/imaginary/resize?width=nan", ["width", '"nan"']),
    ("/imaginary/resize?width=70000.2", ["width", "65535"]),
    ("/imaginary/resize?width=9&quality=101", ["quality", "1..100"]),
    ("/imaginary/resize?width=9&flip=perhaps", ["flip", "true | false"]),
    ("/imaginary/convert?type=", ["type"]),
    ("/imaginary/convert?type=tiff", ["type", "png, jpeg"]),
    ("/imaginary/convert?type=jpeg&background=1,2", ["background"]),
    ("/imaginary/info?type=tiff", ["type", "png, jpeg"]),
    (pipeline(("fit", {"width": -9, "height": 9}), root="/imaginary"), ["width", "-9"]),
    ("/fit?width=9&height=9&interlace=true&progressive=false", ["progressive", "twice"]),
    ("/fit?width=9&height=9&progressive=false&interlace=true", ["progressive", "twice"]),
    (pipeline(("flip", {"interlace": True}), progressive="false"), ["progressive", "twice"]),
    ("/pipeline?progressive=false&" + pipeline(("flip", {"interlace": True})).partition("?")[2], ["progressive", "twice"]),
    (pipeline(("flip", {"background": "250,20,10"}), background="000000"), ["background", "twice"]),
    ("/pipeline?background=000000&" + pipeline(("flip", {"background": "250,20,10"})).partition("?")[2], ["background", "twice"]),
    (pipeline(("flip", {"interlace": True}), ("flip", {})), ["progressive", "last"]),
    ("/fit?width=9&height=9&interlace=perhaps", ["progressive", "true or false"]),
    ("/fit?widths=9,8", ["fit", "width and height"]),
    ("/resize?widths=9,8&width=7", ["width"]),
    (pipeline(("convert", {})), ["type"]),
    (pipeline(("fit", {"width": 9})), ["width and height"]),
    (pipeline(("fit", {"width": 9, "height": 9, "norotation": True})), ["norotation"]),
    (pipeline(("fit", {"width": 9, "height": 9, "quality": 60}), ("flip", {})), ["quality", "last"]),
    (pipeline(("convert", {"type": "png"}), type="jpeg"), ["type", "twice"]),
    (pipeline(("histeq", {"type": "png"})), ["belongs beside"]),
    (pipeline(("fit", {"width": [9], "height": {}})), ["height"]),
    (pipeline(("watermark", {"text": "a"})), ["watermark"]),
    (pipeline(*[("flip", {"flop": True})] * 6), ["at most 10 steps"]),
    ('/pipeline?operations=[{"operation":"histeq","ignore_failure":true}]', ["ignore_failure", "false"]),
    # what imaginary allows for its own operations alone
    ("/histeq?stripmeta=true", ["stripmeta"]), ("/histeq?type=tiff", ["type", "png", "jpeg"]),
    ("/histeq?compression=6", ["compression", "0..3"]), ("/histeq?background=250,20,10", ["RRGGBB"]),
]


@pytest.mark.parametrize("path, words", REFUSED)
def test_what_is_not_supported_is_named(daemon, path, words):
    """No parameter is ignored silently; under /imaginary none that changes the picture is."""
    problem = check_problem(daemon.post(path, PHOTO), 400, *words)
    assert problem["message"] and problem["status"] == 400  # the members of imaginary's errors


def test_what_would_be_too_large(daemon):
    """Each step's size is checked before any step runs."""
    check_problem(daemon.post(pipeline(("zoom", {"factor": 63}), ("zoom", {"factor": 63})), PHOTO), 422, "zoom", "65535")
    check_problem(daemon.post("/enlarge?width=60000&height=60000", PHOTO), 422, "resize", "pixels_max")
    assert daemon.works()


def test_paths(daemon):
    for path in ("/fit", "/imaginary/crop", "/imaginary/pipeline", "/convert"):
        answer = daemon.get(path + "?width=9&height=9&url=http://127.0.0.1/a.jpg")
        check_problem(answer, 405, path, "POST")
        assert answer.headers["Allow"] == "POST, PUT"
    for path, words in (("/thumbnial", ["did you mean /thumbnail"]), ("/imaginary/histeq", ["/histeq"]),
                        ("/watermark", ["/watermark"]), ("/imaginary", []), ("/imaginary/ops", []), ("/imaginary/form", [])):
        check_problem(daemon.post(path, PHOTO), 404, *words)
    check_problem(daemon.post("/imaginary/", PHOTO), 405, "GET")


def test_documents(daemon):
    """The members of imaginary's answers, as its controllers.go and health.go have them."""
    answer = daemon.get("/imaginary/")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/json"
    assert {name: type(answer.json[name]) for name in ("imaginary", "bimg", "libvips")} == dict.fromkeys(("imaginary", "bimg", "libvips"), str)
    answer = daemon.get("/imaginary/health")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/json"
    assert {name: type(value) for name, value in answer.json.items()} == {
        "uptime": int, "allocatedMemory": float, "totalAllocatedMemory": float, "goroutines": int, "completedGCCycles": int, "cpus": int,
        "maxHeapUsage": float, "heapInUse": float, "objectsInUse": int, "OSMemoryObtained": float}
    health = answer.json
    assert health["cpus"] >= 1 and 0 <= health["uptime"] < 100000 and 0 < health["heapInUse"] <= health["OSMemoryObtained"] < 4096
    check_problem(daemon.post("/imaginary/health", PHOTO), 405, "GET")
