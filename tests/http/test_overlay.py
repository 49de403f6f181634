# SPDX-License-Identifier: Apache-2.0
"""A second picture as the part `overlay`: of any type and size, in pipelines and outputs, for many clients at once, and what is refused.
tests/reference/test_composite.py asks Pillow and numpy about its pixels."""
import io
import json
import pathlib
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from PIL import Image

from conftest import check_problem, encode, needs, noise, png
from test_cli import burin

pytestmark = needs("composite")

PICTURE = noise(64, 48, 3)
OVERLAY = np.dstack([noise(20, 30, 3), np.linspace(0, 255, 600).astype(np.uint8).reshape(30, 20)])


def laid(picture, overlay, left, top):
    """Pillow's result; RGB."""
    below, above = Image.fromarray(picture).convert("RGBA"), Image.new("RGBA", picture.shape[1::-1])
    above.paste(Image.fromarray(overlay).convert("RGBA"), (left, top))
    return np.array(Image.alpha_composite(below, above))[..., :3]


def ask(daemon, overlay, query="", picture=PICTURE, path="/composite"):
    return daemon.post_form(f"{path}{query}", [("image", png(picture), "a"), ("overlay", overlay, "b")])


def test_types_and_places(daemon):
    """A TIFF is decoded by a process of its own."""
    for kind in ("PNG", "TIFF", "WEBP"):
        overlay = encode(OVERLAY, kind, **({"lossless": True, "exact": True} if kind == "WEBP" else {}))
        answer = ask(daemon, overlay, "?position=southeast&x=3")
        assert answer.status == 200, answer.body
        assert np.array_equal(answer.image, laid(PICTURE, OVERLAY, 64 - 20 - 3, 48 - 30)), kind
    red = np.full((2, 2, 3), (255, 0, 0), np.uint8)
    gray = PICTURE[..., 0].copy()
    answer = ask(daemon, png(red), "?position=northwest", gray)
    assert np.array_equal(answer.image, laid(np.dstack([gray] * 3), red, 0, 0))
    answer = ask(daemon, png(red), "?position=northwest&colour=false", gray)
    assert answer.image.shape == gray.shape and (answer.image[:2, :2] == 77).all()


@needs("carve")
@needs("resize")
def test_steps_and_outputs(daemon):
    """The step that needs the picture gets it, even behind one that may have masks; each output lays it over its own size."""
    steps = [{"operation": "carve", "params": {"dx": -4}}, {"operation": "composite", "params": {"position": "west"}}]
    parts = [("image", png(PICTURE), "a"), ("overlay", png(OVERLAY), "b"), ("operations", json.dumps(steps), None)]
    answer = daemon.post_form("/pipeline", parts)
    narrow = daemon.post("/carve?dx=-4", png(PICTURE)).image
    assert np.array_equal(answer.image, laid(narrow, OVERLAY, 0, 9))
    branch = [{"operation": "resize", "params": {"width": 32}}, {"operation": "composite", "params": {"scale": 50}}]
    outputs = json.dumps([{"name": "a.png", "operations": branch[1:]}, {"name": "b.png", "operations": branch}])
    parts = [("image", png(PICTURE), "a"), ("overlay", png(OVERLAY), "b"), ("outputs", outputs, None)]
    answer = daemon.post_form("/pipeline", parts, {"Accept": "application/zip"})
    assert answer.status == 200, answer.body
    files = zipfile.ZipFile(io.BytesIO(answer.body))
    for name, operations in (("a.png", branch[1:]), ("b.png", branch)):
        alone = ask(daemon, png(OVERLAY), f"?operations={json.dumps(operations)}".replace(" ", ""), path="/pipeline")
        assert np.array_equal(np.array(Image.open(io.BytesIO(files.read(name)))), alone.image), name
    outputs = json.dumps([{"name": "a.png", "operations": steps[1:]}, {"name": "b.png", "operations": steps[:1]}])
    parts = [("image", png(PICTURE), "a"), ("outputs", outputs, None), ("operations", json.dumps(steps[:1]), None)]
    answer = daemon.post_form("/pipeline", parts + [("overlay", png(OVERLAY), "b")], {"Accept": "application/zip"})
    files = zipfile.ZipFile(io.BytesIO(answer.body))
    assert np.array_equal(np.array(Image.open(io.BytesIO(files.read("a.png")))), laid(narrow, OVERLAY, 0, 9))
    assert np.array_equal(np.array(Image.open(io.BytesIO(files.read("b.png")))), daemon.post("/carve?dx=-4", png(narrow)).image)
    mask = ("mask", png(np.ascontiguousarray(PICTURE[..., 0])), "c")
    check_problem(daemon.post_form("/pipeline", [parts[0], ("outputs", outputs, None), mask]), 400, "part mask", "another step")


def test_many_clients_get_each_their_own(daemon):
    def one(client):
        rng = np.random.default_rng(client)
        overlay = rng.integers(0, 256, (1 + client * 5, 40 - client, 4), dtype=np.uint8)
        answer = ask(daemon, png(overlay), "?position=northwest")
        return np.array_equal(answer.image, laid(PICTURE, overlay, 0, 0))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(16)))


def test_what_is_refused(daemon):
    check_problem(daemon.post("/composite", png(PICTURE)), 400, "part overlay")
    check_problem(ask(daemon, b"no picture"), 400, "overlay")
    check_problem(ask(daemon, png(OVERLAY)[:-200]), 422, "overlay")
    check_problem(ask(daemon, png(OVERLAY), path="/flip"), 400, "part named overlay")
    check_problem(ask(daemon, png(OVERLAY), '?operations=[{"operation":"composite"},{"operation":"composite"}]', path="/pipeline"), 400, "only one step")
    check_problem(ask(daemon, png(OVERLAY), "?opacity=1.5"), 400, "opacity", "0..1")


def test_command_line(tmp_path):
    for name, picture in (("a", PICTURE), ("b", OVERLAY)):
        pathlib.Path(tmp_path / name).write_bytes(png(picture))
    words = ["run", "composite:position=southwest", "--overlay", tmp_path / "b", tmp_path / "a", tmp_path / "c.png"]
    assert burin(*words).returncode == 0
    assert np.array_equal(np.array(Image.open(tmp_path / "c.png")), laid(PICTURE, OVERLAY, 0, 48 - 30))
    done = burin(*words, "--pixels-max", "3600")
    assert done.returncode == 1 and "overlay" in done.stderr.decode() and "3672 pixels together" in done.stderr.decode()
    done = burin("run", "composite", tmp_path / "a", tmp_path / "c.png")
    assert done.returncode in (1, 2) and "--overlay FILE" in done.stderr.decode()


@needs("resize")
def test_imaginarys_watermark(daemon):
    for root in ("", "/imaginary"):
        answer = ask(daemon, png(OVERLAY), "?left=7&top=2&type=png", path=root + "/watermarkimage")
        assert answer.status == 200 and np.array_equal(answer.image, laid(PICTURE, OVERLAY, 7, 2)), answer.body
        check_problem(daemon.post(root + "/watermarkimage", png(PICTURE)), 400, "part overlay")
    same = ask(daemon, png(OVERLAY), "?opacity=0", path="/imaginary/watermarkimage")
    assert np.array_equal(same.image, laid(PICTURE, OVERLAY, 0, 0))
    check_problem(ask(daemon, png(OVERLAY), "?image=http://a.example/b.png", path="/watermarkimage"), 400, "nothing is fetched", "part overlay")
