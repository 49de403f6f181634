# SPDX-License-Identifier: Apache-2.0
"""Requests as clients of imaginary (github.com/h2non/imaginary) send them: server/README.md has what differs."""
import io
import json

from PIL import Image

from conftest import check_problem, from_pnm, jpeg, noise, png, pnm, smooth

PHOTO = jpeg(smooth(64, 48))
MEMBERS = {"width": int, "height": int, "type": str, "space": str, "hasAlpha": bool, "hasProfile": bool, "channels": int,
           "orientation": int}


def test_info_has_its_members(daemon):
    """Each of its type, from the header alone: pixels are missing."""
    for data, wanted in ((PHOTO, dict(width=64, height=48, type="jpeg", hasAlpha=False, channels=3)),
                         (png(noise(20, 10, 4))[:60], dict(width=20, height=10, type="png", hasAlpha=True, channels=4)),
                         (jpeg(smooth(64, 48), icc_profile=b"x" * 300), dict(hasProfile=True))):
        answer = daemon.post_form("/info", [("file", data, "photo.jpg")])
        assert answer.status == 200, answer.body
        facts = answer.json
        assert {name: type(facts[name]) for name in MEMBERS} == MEMBERS
        assert {name: facts[name] for name in wanted} == wanted


def test_type_and_quality(daemon):
    for kind in ("jpeg", "png", "auto"):
        answer = daemon.post_form(f"/histeq?type={kind}&quality=80", [("file", PHOTO, "photo.jpg")])
        assert answer.status == 200 and answer.headers["Content-Type"] == f"image/{kind.replace('auto', 'jpeg')}"
        assert Image.open(io.BytesIO(answer.body)).size == (64, 48)
    small = daemon.post("/histeq?quality=5", PHOTO).body
    assert len(small) < len(daemon.post("/histeq?quality=100", PHOTO).body)


def test_a_pipeline(daemon):
    """All its members, in the query as it has them, or in the form; a step that must not fail is every step."""
    steps = json.dumps([{"operation": "grayscale", "ignore_failure": False},
                        {"operation": "histeq", "ignore_failure": False, "params": {"bins": "16"}}], separators=(",", ":"))
    picture = pnm(noise(30, 20, 3))
    plain = daemon.post('/pipeline?operations=[{"operation":"grayscale"},{"operation":"histeq","params":{"bins":16}}]', picture)
    for answer in (daemon.post_form("/pipeline?type=pnm&operations=" + steps.replace('"', "%22"), [("file", picture, "a")]),
                   daemon.post_form("/pipeline?type=pnm", [("file", picture, "a"), ("operations", steps, None)])):
        assert answer.status == 200, answer.body
        assert (from_pnm(answer.body) == from_pnm(plain.body)).all()


def test_what_it_has_and_burin_has_not_is_named(daemon):
    """Nothing is left out in silence."""
    for path, words in (("/histeq?stripmeta=true", ["stripmeta"]), ("/histeq?type=tiff", ["type", "png", "jpeg"]),
                        ("/histeq?compression=6", ["compression", "0..3"]), ("/histeq?background=250,20,10", ["RRGGBB"]),
                        ('/pipeline?operations=[{"operation":"convert","params":{"type":"png"}}]', ["convert"]),
                        ('/pipeline?operations=[{"operation":"histeq","ignore_failure":true}]', ["ignore_failure", "false"])):
        problem = check_problem(daemon.post(path, PHOTO), 400, *words)
        assert problem["message"] and problem["status"] == 400  # the members of its errors
