# SPDX-License-Identifier: Apache-2.0
"""trim through the service, against Pillow: the size that the pixels decide, what was cut off in every form of the answer, refusals
that the new size causes, animations.

covers: server/request/submit.c server/jobs/result_limits.c server/worker/batch_animation.c pipeline/animation.c"""
import io
import json

import numpy as np
import pytest
from PIL import Image, ImageChops

from conftest import check_problem, from_pnm, in_parallel, needs, png, pnm
from test_process import parts_of
from test_values import pipeline

pytestmark = [needs(name) for name in ("trim", "find_trim", "resize", "thumbhash", "blurhash", "extract")]


def framed(width, height, left, top, right, bottom, seed=1):
    """Noise below level 200 in a frame of 236 to 244."""
    rng = np.random.default_rng(seed)
    picture = rng.integers(236, 245, (height, width, 3), np.uint8)
    picture[0, 0] = 240
    picture[top:height - bottom, left:width - right] = rng.integers(0, 200, (height - top - bottom, width - left - right, 3))
    return picture


def box_of(picture, tolerance=10):
    """By Pillow: left, top, right, bottom of what is not the colour of the top left pixel."""
    image = Image.fromarray(picture)
    away = ImageChops.difference(image, Image.new("RGB", image.size, image.getpixel((0, 0))))
    return away.point(lambda level: 255 if level > tolerance else 0).getbbox()


def cut_of(picture):
    left, top, right, bottom = box_of(picture)
    return {"left": left, "top": top, "right": picture.shape[1] - right, "bottom": picture.shape[0] - bottom}


def part_of(picture):
    left, top, right, bottom = box_of(picture)
    return picture[top:bottom, left:right]


PICTURES = [framed(90, 70, 9, 8, 17, 5, 1), framed(140, 60, 60, 20, 31, 0, 2), framed(33, 90, 0, 1, 2, 70, 3)]


def test_what_is_cut_off_is_told_with_the_picture(daemon):
    for picture in PICTURES:
        answer = daemon.post("/trim", pnm(picture))
        part = part_of(picture)
        assert answer.status == 200, answer.body
        assert np.array_equal(from_pnm(answer.body), part)
        assert (answer.headers["X-Result-Width"], answer.headers["X-Result-Height"]) == (str(part.shape[1]), str(part.shape[0]))
        assert answer.timing["values"] == [{"operation": "trim", "step": 0, "value": cut_of(picture)}]
        assert answer.timing["output"]["width"] == part.shape[1]
        found = daemon.post("/find_trim", pnm(picture)).json["values"]
        assert found == [{"operation": "find_trim", "step": 0, "value": cut_of(picture)}]


def test_later_steps_get_what_is_left(daemon):
    steps = ["trim", ("resize", {"width": 60, "enlarge": True}), "thumbhash", "blurhash"]
    plain = [("resize", {"width": 60, "enlarge": True}), "thumbhash", "blurhash"]
    for picture in PICTURES:
        for accept in ("image/png", "image/jpeg", "image/webp"):
            trimmed = pipeline(daemon, steps, pnm(picture), accept=accept)
            expected = pipeline(daemon, plain, pnm(np.ascontiguousarray(part_of(picture))), accept=accept)
            assert trimmed.status == expected.status == 200, trimmed.body
            assert trimmed.body == expected.body
            assert [v["value"] for v in trimmed.timing["values"][1:]] == [v["value"] for v in expected.timing["values"]]


def test_ten_trims_with_long_numbers(daemon):
    """The values of ten steps stand in the header; the numbers that do not fit would go into a body."""
    wide = np.full((1, 60000, 3), 255, np.uint8)
    wide[0, 30000] = 0
    answer = pipeline(daemon, ["trim"] * 10, pnm(wide))
    assert answer.status == 200, answer.body
    assert from_pnm(answer.body).shape == (1, 1, 3)
    values = answer.timing["values"]
    assert [v["value"] for v in values] == [{"left": 30000, "top": 0, "right": 29999, "bottom": 0}] + [
        {"left": 0, "top": 0, "right": 0, "bottom": 0}] * 9


def test_several_results(daemon):
    outputs = [{"operations": [{"operation": "trim"}], "name": "a", "type": "png"},
               {"operations": [{"operation": "flop"}, {"operation": "trim"}, {"operation": "resize", "params": {"width": 20}}],
                "name": "b", "type": "pnm"}, {"operations": [], "name": "c", "type": "pnm"}]
    answer = daemon.post_form("/pipeline", [("image", pnm(PICTURES[0]), "a"), ("outputs", json.dumps(outputs), None)],
                              {"Accept": "multipart/mixed"})
    assert answer.status == 200, answer.body
    *images, (_, report) = parts_of(answer)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(images[0][1]))), part_of(PICTURES[0]))
    assert from_pnm(images[1][1]).shape[1] == 20
    assert np.array_equal(from_pnm(images[2][1]), PICTURES[0])
    cut = cut_of(PICTURES[0])
    values = json.loads(report)["values"]
    assert [(v["output"], v["value"]["left"]) for v in values] == [(0, cut["left"]), (1, cut["right"])]


def test_what_is_left_may_be_too_small(daemon):
    """Of three requests at once the second fails alone, and says why."""
    pictures = PICTURES[0], framed(90, 70, 30, 9, 40, 8), PICTURES[1]

    def ask(i):
        answer = pipeline(daemon, ["trim", ("extract", {"width": 30, "height": 10})], pnm(pictures[i]))
        if i == 1:
            check_problem(answer, 400, "left + width must be at most 20, not 30")
        else:
            assert np.array_equal(from_pnm(answer.body), part_of(pictures[i])[:10, :30])
    in_parallel(3, ask)


def test_limits_hold_for_the_size_that_the_pixels_decide(start):
    """The header leads to 200 x 2 pixels, and the run to 200 x 200."""
    daemon = start("--pixels-max", "60000", "--encode-still-ms", "2")
    thin = np.full((4, 400, 3), 255, np.uint8)
    thin[:, 200:204] = 0
    steps = [("resize", {"width": 200, "enlarge": True})]
    assert pipeline(daemon, ["trim"] + steps, pnm(thin), accept="image/png").status == 200
    check_problem(pipeline(daemon, ["trim"] + steps, pnm(thin), accept="image/webp"), 422, "of 40000 pixels", "encode_still_ms")
    operations = [{"operation": "trim"}, {"operation": "resize", "params": steps[0][1]}]
    outputs = [{"operations": operations, "name": "a", "type": "png"},
               {"operations": operations + [{"operation": "flip"}], "name": "b", "type": "png"}]
    answer = daemon.post_form("/pipeline", [("image", pnm(thin), "a"), ("outputs", json.dumps(outputs), None)])
    check_problem(answer, 422, "80000 pixels together", "pixels_max")
    file, frame = io.BytesIO(), Image.fromarray(thin)
    frame.save(file, "GIF", save_all=True, append_images=[Image.fromarray(thin // 2)])
    path = f"/pipeline?animation=keep&operations={json.dumps(operations)}".replace(" ", "")
    check_problem(daemon.post(path, file.getvalue()), 422, "2 frames", "80000 pixels together")


@pytest.mark.parametrize("name", ["GIF", "WEBP"])
def test_all_frames_of_an_animation_get_one_cut(daemon, name):
    frames = [np.full((40, 60, 3), 255, np.uint8) for _ in range(4)]
    frames[1][10:20, 5:30] = 0
    frames[2][12:30, 20:50] = (200, 0, 0)
    file = io.BytesIO()
    first, *rest = [Image.fromarray(frame) for frame in frames]
    first.save(file, name, save_all=True, append_images=rest, duration=50, loop=0, lossless=True)
    answer = daemon.post("/trim?animation=keep", file.getvalue())
    assert answer.status == 200, answer.body
    image = Image.open(io.BytesIO(answer.body))
    assert (image.size, image.n_frames) == ((45, 20), 4)
    assert answer.timing["values"] == [{"operation": "trim", "step": 0, "value": {"left": 5, "top": 10, "right": 10, "bottom": 10}}]
    image.seek(2)
    assert abs(np.asarray(image.convert("RGB")).astype(int) - frames[2][10:30, 5:50]).max() < 20


def test_a_picture_that_is_border_alone_stays(daemon):
    plain = np.full((5, 7, 3), 9, np.uint8)
    answer = daemon.post("/trim", png(plain))
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(answer.body))), plain)
    assert answer.timing["values"][0]["value"] == {"left": 0, "top": 0, "right": 0, "bottom": 0}
