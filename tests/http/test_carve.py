# SPDX-License-Identifier: Apache-2.0
"""Seam carving through the daemon, against the reference in tests/reference/carve.py: pictures of every kind,
masks as parts of the form, pipelines; and long carvings whose client leaves or whose time is up."""
import functools
import importlib.util
import io
import json
import os
import select
import time

import numpy as np
import pytest
from PIL import Image

from conftest import (check_problem, cpu_seconds, from_pnm, in_parallel, jpeg, large_png, needs, noise, png, pnm,
                      smooth, wait_until)

pytestmark = needs("carve")

REFERENCE = os.path.join(os.path.dirname(__file__), "../reference/carve.py")
PHOTO = os.path.join(os.path.dirname(__file__), "../golden/photos/rocket.jpg")
PICTURE = smooth(96, 72)


def load_reference():
    spec = importlib.util.spec_from_file_location("carve_reference", REFERENCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.carve


reference = load_reference()


@functools.lru_cache(None)
def carved_photo(photo, **options):
    """The answer of /carve?type=png, kept because several tests need the same."""
    return carved(np.array(Image.open(io.BytesIO(photo))), **options)


def carved(image, **options):
    """The reference, on arrays as PIL and PNM have them: gray without a third axis."""
    result = reference(image if image.ndim == 3 else image[..., None], **options)
    return result[..., 0] if result.shape[2] == 1 else result


def query(**parameters):
    return "&".join(f"{name}={value}" for name, value in parameters.items())


def blotch(width, height, left, top, right, bottom):
    """A mask that is set within the given rectangle."""
    mask = np.zeros((height, width), np.uint8)
    mask[top:bottom, left:right] = 255
    return mask


# ---- what comes out

CHANGES = [dict(width=80), dict(height=60), dict(dx=-9, dy=-7), dict(dx=12), dict(dy=40), dict(width=90, height=80),
           dict(dx=-6, energy="sobel3"), dict(dy=-6, energy="sobel5"), dict(dx=-9, dy=-7, show="seams"),
           dict(dx=12, show="seams"), dict(show="energy"), dict(show="energy", energy="sobel5"), dict(),
           dict(dx=-20, show="map"), dict(dy=23, show="map", energy="sobel3"), dict(show="map")]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: query(**change) or "nothing")
def test_equals_the_reference(daemon, change):
    for picture in (PICTURE, noise(61, 47, 1), noise(61, 47, 3, 16)):
        if "width" in change and picture is not PICTURE:
            continue
        answer = daemon.post(f"/carve?{query(**change)}", pnm(picture))
        assert answer.status == 200, answer.body
        wanted = carved(picture, **change)
        assert np.array_equal(from_pnm(answer.body), wanted)
        assert int(answer.headers["X-Result-Width"]) == wanted.shape[1]
        assert int(answer.headers["X-Result-Height"]) == wanted.shape[0]
        assert int(answer.headers["X-Origin-Width"]) == picture.shape[1]
        assert answer.timing["ms"]["operators"][0]["name"] == "carve"


@pytest.mark.parametrize("change", [dict(dx=-40), dict(dx=-15, dy=-15), dict(dx=30, energy="sobel3"),
                                    dict(dx=-20, show="seams")], ids=lambda change: query(**change))
def test_photograph(daemon, change):
    """A JPEG; its pixels are the answer to the same request without a change."""
    photo = jpeg(np.array(Image.open(PHOTO))[80:240, 120:360])
    whole = daemon.post("/carve?type=png", photo).image
    assert whole.shape == (160, 240, 3)
    answer = daemon.post(f"/carve?type=png&{query(**change)}", photo)
    assert np.array_equal(answer.image, carved(whole, **change))
    in_kind = daemon.post(f"/carve?{query(**change)}", photo)
    assert in_kind.headers["Content-Type"] == "image/jpeg" and in_kind.image.shape == answer.image.shape


# The map's numbers have 16 bits, unless the request names a type.
MAP_TYPES = [("", "*/*", "image/png"), ("", "image/*, */*;q=0.5", "image/png"), ("&type=auto", "*/*", "image/png"),
             ("&type=pnm", "*/*", "image/x-portable-anymap"), ("&type=jpeg", "*/*", "image/jpeg"), ("", "image/jpeg", "image/jpeg")]


@pytest.mark.parametrize("setting, accept, kind", MAP_TYPES, ids=[s + a for s, a, _ in MAP_TYPES])
def test_type_of_a_map(daemon, setting, accept, kind):
    with open(PHOTO, "rb") as file:
        photo = file.read()
    answer = daemon.post(f"/carve?dx=-30&show=map{setting}", photo, headers={"Accept": accept})
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"] == kind
    if kind == "image/jpeg":
        assert any("16-bit" in note for note in answer.timing["notes"])
        return
    pixels = daemon.post("/carve?type=png", photo).body
    numbers = from_pnm(answer.body) if "anymap" in kind else answer.image
    assert np.array_equal(numbers, carved_photo(pixels, dx=-30, show="map")) and not answer.timing["notes"]
    assert daemon.post("/carve?show=map", pnm(PICTURE)).headers["Content-Type"] == "image/x-portable-anymap"


@pytest.mark.parametrize("order", [1, -1], ids=["columns", "rows"])
def test_a_map_has_every_width(daemon, order):
    """From the map a page makes every width: it keeps the pixels that none of the first K seams goes through, or doubles the others."""
    picture = noise(64, 48, 3)
    side, length = ("dx", 64) if order == 1 else ("dy", 48)
    parts = [("image", png(picture), "a.png"), ("mask", png(blotch(64, 48, 10, 10, 40, 40)), "k")]
    numbers = daemon.post_form(f"/carve?{side}={1 - length}&show=map", parts).image
    lines = picture if order == 1 else picture.swapaxes(0, 1)
    numbers = numbers if order == 1 else numbers.T
    for change in (-length + 1, -21, -1, 1, 7, length // 2):
        times = np.where((numbers > 0) & (numbers <= abs(change)), 1 + np.sign(change), 1)
        around = np.pad(lines.astype(int), ((0, 0), (1, 1), (0, 0)), "edge")
        means = (around[:, :-2] + around[:, 1:-1] + around[:, 2:]) / 3 + 0.5
        wanted = [[pixel for p, m, t in zip(row, mean, time) for pixel in (p, m.astype(np.uint8))[:t]]
                  for row, mean, time in zip(lines, means, times)]
        got = daemon.post_form(f"/carve?{side}={change}", parts).image
        assert np.array_equal(got if order == 1 else got.swapaxes(0, 1), np.array(wanted))


def test_png_with_alpha(daemon):
    picture = noise(50, 40, 4)
    for change in (dict(dx=-8), dict(dy=9), dict(dx=-5, show="seams"), dict(dx=-7, show="map")):
        assert np.array_equal(daemon.post(f"/carve?{query(**change)}", png(picture)).image, carved(picture, **change))


@pytest.mark.parametrize("size", [(1, 1), (1, 30), (30, 1), (2, 2)], ids=str)
def test_sides_of_a_pixel(daemon, size):
    """A side of one pixel cannot shrink, but it grows, and the other side shrinks."""
    picture = noise(*size)
    for change in (dict(width=1, height=1), dict(width=3, height=4), dict(dx=1), dict(dy=30)):
        answer = daemon.post(f"/carve?{query(**change)}", pnm(picture))
        assert answer.status == 200, answer.body
        assert np.array_equal(from_pnm(answer.body), carved(picture, **change))
    wide, high = (f"{side} pixel{'s' * (side > 1)} {way}, not" for side, way in zip(size, ("wide", "high")))
    check_problem(daemon.post(f"/carve?dx=-{size[0]}", pnm(picture)), 400, "carve: dx", wide)
    check_problem(daemon.post(f"/carve?dy=-{size[1]}", pnm(picture)), 400, "carve: dy", high)
    assert daemon.works()


@pytest.mark.parametrize("order", ["behind", "before"])
@pytest.mark.parametrize("kind", [png, pnm, lambda mask: jpeg(mask, quality=100)], ids=["PNG", "PNM", "JPEG"])
def test_masks(daemon, kind, order):
    """In any format, before or behind the image, in one form with the parameters."""
    keep, remove = blotch(96, 72, 10, 10, 40, 60), blotch(96, 72, 64, 24, 80, 48)
    masks = [("mask", kind(keep), "keep"), ("rmask", kind(remove), "remove")]
    image = [("image", png(PICTURE), "in.png"), ("dx", "-20", None)]
    wanted = carved(PICTURE, dx=-20, mask=keep > 0, rmask=remove > 0)
    answer = daemon.post_form("/carve", masks + image if order == "before" else image + masks)
    assert answer.status == 200, answer.body
    assert np.array_equal(answer.image, wanted)
    assert not np.array_equal(wanted, carved(PICTURE, dx=-20))


@pytest.mark.parametrize("change", ["", "dx=12", "dx=-3&dy=4", "width=200&height=90"])
def test_an_object_is_removed_in_one_request(daemon, change):
    """Without a size the picture keeps its own."""
    picture = np.minimum(noise(96, 72, 3), 200)
    remove = blotch(96, 72, 60, 20, 74, 50)
    picture[remove > 0] = 255
    answer = daemon.post_form(f"/carve?{change}", [("image", png(picture), "a"), ("rmask", png(remove), "b")])
    assert answer.status == 200, answer.body
    assert not (answer.image == 255).all(2).any()
    if not change:
        assert np.array_equal(answer.image, carved(picture, rmask=remove > 0)) and answer.image.shape == picture.shape


def test_a_mask_that_leaves_nothing(daemon):
    everything = np.full((72, 96), 255, np.uint8)
    parts = [("image", png(PICTURE), "a"), ("rmask", png(everything), "b")]
    for query_of in ("", "dx=5", "dy=5", "width=96&height=72"):
        check_problem(daemon.post_form(f"/carve?{query_of}", parts), 422, "rmask marks too much", "mark less")
    for change in (dict(dx=-5), dict(dx=-5, dy=3), dict(dx=-5, dy=-4)):
        wanted = carved(PICTURE, rmask=everything > 0, **change)
        assert np.array_equal(daemon.post_form(f"/carve?{query(**change)}", parts).image, wanted)
    assert daemon.works()


def test_each_mask_alone(daemon):
    keep = blotch(96, 72, 10, 10, 40, 60)
    for name in ("mask", "rmask"):
        answer = daemon.post_form("/carve?dx=-12&dy=-6", [("image", png(PICTURE), "a"), (name, png(keep), "b")])
        assert np.array_equal(answer.image, carved(PICTURE, dx=-12, dy=-6, **{name: keep > 0}))
    assert daemon.works(), "and no mask is left over for the next one"
    assert np.array_equal(daemon.post("/carve?dx=-12&dy=-6", png(PICTURE)).image, carved(PICTURE, dx=-12, dy=-6))


def test_mask_in_colour_and_of_16_bit(daemon):
    """The luma of a mask counts, from half of the range on."""
    keep = blotch(96, 72, 10, 10, 40, 60)
    wanted = carved(PICTURE, dx=-12, mask=keep > 0)
    deep = np.where(keep > 0, 32768, 32767).astype(np.uint16)
    colour = np.zeros((72, 96, 3), np.uint8)
    colour[..., 1] = np.where(keep > 0, 218, 217)  # a luma of 128, and of 127
    for mask in (deep, colour):
        answer = daemon.post_form("/carve?dx=-12", [("image", png(PICTURE), "a"), ("mask", pnm(mask), "b")])
        assert np.array_equal(answer.image, wanted)


# ---- pipelines

def pipeline(daemon, data, steps, parts=()):
    operations = json.dumps([{"operation": name, "params": params} for name, params in steps])
    return daemon.post_form("/pipeline", [("image", data, "a"), ("operations", operations, None),
                                          ("type", "png", None), *parts])


STEPS = [("brightness", {"shift": 30}), ("convolve", {"taps": "0 1 0 1 4 1 0 1 0"}), ("carve", {"dx": -16}),
         ("edge", {"kernel": "sobel3", "threshold": 20}), ("carve", {"dy": 9, "energy": "sobel3"}),
         ("threshold", {"level": 60})]


@pytest.mark.parametrize("data", [jpeg(PICTURE), png(PICTURE), png(noise(40, 30, 4)), pnm(noise(40, 30, 3, 16))],
                         ids=["JPEG", "PNG", "PNG with alpha", "PNM of 16 bit"])
def test_pipeline_is_its_steps_one_after_the_other(daemon, data):
    """Each step alone, with the previous step's result as its input, gives the same bytes."""
    one_by_one = data
    for name, params in STEPS:
        answer = pipeline(daemon, one_by_one, [(name, params)])
        assert answer.status == 200, (name, answer.body)
        one_by_one = answer.body
    together = pipeline(daemon, data, STEPS)
    assert together.status == 200, together.body
    assert together.body == one_by_one
    assert [o["name"] for o in together.timing["ms"]["operators"]] == [name for name, _ in STEPS]


def test_mask_goes_to_the_step_that_takes_it(daemon):
    """The mask goes to the first step that takes one: not to the first step of all, and to no later one."""
    keep = blotch(96, 72, 20, 20, 70, 50)
    parts = [("mask", png(keep), "m")]
    answer = pipeline(daemon, png(PICTURE), [("brightness", {"shift": 0}), ("carve", {"dx": -9}),
                                             ("carve", {"dx": -4})], parts)
    assert np.array_equal(answer.image, carved(carved(PICTURE, dx=-9, mask=keep > 0), dx=-4))


def test_many_clients_get_each_their_own(daemon):
    """Eight clients at once, with different pictures, changes and masks."""
    def ask(client):
        for i in range(4):
            picture = noise(40 + client, 30 + i, 3, seed=8 * client + i)
            keep = blotch(40 + client, 30 + i, client, i, 20, 20)
            change = dict(dx=client - 4, dy=-i, energy=["gradient", "sobel3", "sobel5"][client % 3])
            parts = [("mask", pnm(keep), "m")] if client % 2 else []
            answer = daemon.post_form(f"/carve?{query(**change)}", [("image", pnm(picture), "a"), *parts])
            assert answer.status == 200, answer.body
            wanted = carved(picture, **change, mask=keep > 0 if parts else None)
            assert np.array_equal(from_pnm(answer.body), wanted), (client, i)

    in_parallel(8, ask)
    assert daemon.becomes_idle()


def test_ops_lists_it(daemon):
    operator, = (o for o in daemon.get("/ops").json["operators"] if o["name"] == "carve")
    parameters = {p["name"]: p for p in operator["parameters"]}
    assert set(parameters) == {"width", "height", "dx", "dy", "energy", "show", "background", "rigidity", "soft"}
    assert [part["name"] for part in operator["parts"]] == ["mask", "rmask"]
    assert all(part["summary"] for part in operator["parts"])


# ---- long carvings whose client has left or whose time is up

# Seconds of work each, on 9 million even pixels (64 for the one of few long steps).
LONG = {
    "columns": ("width=1", 3000), "rows": ("height=1", 3000), "both": ("width=1&height=1", 3000),
    "sobel5": ("width=1&energy=sobel5", 3000), "growing": ("width=4500", 3000), "seams": ("dx=-2900&show=seams", 3000),
    "large": ("dx=-200", 8000), "map": ("dx=-2900&show=map", 3000), "widths": ("widths=100,2000,4000", 3000),
}
END_S = 0.1  # processor time within which cancelled work must end


@pytest.fixture(scope="module")
def pictures():
    return {side: large_png(side, side) for side in (3000, 8000)}


def start_long(daemon, what, pictures, extra=()):
    """A client whose job has been running for some time, past its decoding."""
    path, side = LONG[what]
    worker, = daemon.children()
    used = cpu_seconds(worker)
    body = pictures[side]
    s = daemon.socket()
    s.sendall(b"POST /carve?type=png&%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
              % (path.encode(), len(body)) + body)
    assert wait_until(lambda: cpu_seconds(worker) > used + (0.2 if side < 8000 else 1), 60)
    assert daemon.metric("jobs_in_progress") == 1, "done before the client could leave"
    return s


def check_soon(wait, end_s=END_S, tries=20):
    """The least of the seconds that WAIT returns counts: in other tries the test itself may have noticed late. None is not
    counted as a try."""
    waited = []
    while min((took for took in waited if took is not None), default=end_s) >= end_s:
        assert len(waited) < tries, waited
        waited.append(wait())


@pytest.mark.parametrize("what", LONG)
def test_hang_up_in_a_long_carving(shared, what, pictures):
    """The one lane is free at once: the next client is served as if nothing had happened."""
    daemon = shared("--lanes", "1")
    daemon.works()
    workers = daemon.children()

    def wait_behind_one_that_left():
        client = start_long(daemon, what, pictures)
        used = cpu_seconds(workers[0])
        client.close()
        assert daemon.works()
        return cpu_seconds(workers[0]) - used

    check_soon(wait_behind_one_that_left)
    assert daemon.becomes_idle()
    assert daemon.children() == workers, "it stopped by itself, there was no need to end the worker"


def test_hang_up_behind_the_last_seam(start):
    """Rows of 40000 pixels lose nearly all of them: assembling the remaining pixels takes long too, and stops as soon."""
    row = np.random.default_rng(1).integers(0, 256, 40000, dtype=np.uint8)
    row[24000:] = 100  # expensive seams on the left are found last
    picture = pnm(np.repeat(row[np.newaxis, :], 8, axis=0))
    daemon = start("--lanes", "1")
    worker, = daemon.children()
    used = cpu_seconds(worker)
    assert daemon.post("/carve?width=1", picture, timeout=600).status == 200
    whole = cpu_seconds(worker) - used

    def leave_late():
        nonlocal whole
        used = cpu_seconds(worker)
        with daemon.socket() as s:
            s.sendall(b"POST /carve?width=1 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(picture)
                      + picture)
            assert wait_until(lambda: select.select([s], [], [], 0)[0] or cpu_seconds(worker) > used + 0.93 * whole,
                              600)
            done, late = select.select([s], [], [], 0)[0], cpu_seconds(worker)
        assert daemon.becomes_idle()
        if done:  # it was faster than under load, so nothing was tried
            whole = late - used
            return None
        return cpu_seconds(worker) - late

    check_soon(leave_late, end_s=0.03)  # the rest would take several times that
    assert daemon.children() == [worker]
    for ms in (100, 300, 1000, 3000):  # a short time may end before the carving begins; a slow machine may need a longer one
        late = start("--lanes", "1", "--processing-ms", str(ms), "--refuse-times", "0")
        message = check_problem(late.post("/carve?width=1", picture), 504)["message"]
        if "of 39999 seams were done" in message:
            break
    assert "of 39999 seams were done" in message


@pytest.mark.parametrize("what", ["columns", "growing", "large", "widths"])
def test_deadline_in_a_long_carving(shared, what, pictures):
    """A job ends at its deadline in the same places where it ends when its client leaves: progress_check looks at both."""
    path, side = LONG[what]
    allowed = 0.3 if side < 8000 else 1.2
    daemon = shared("--lanes", "1", "--processing-ms", str(int(allowed * 1000)), "--refuse-times", "0")
    daemon.works()
    workers = daemon.children()

    begin = time.monotonic()
    check_problem(daemon.post(f"/carve?type=png&{path}", pictures[side]), 504, "time")
    assert time.monotonic() - begin >= allowed
    assert daemon.works()
    assert daemon.becomes_idle()
    assert daemon.children() == workers


def test_masks_of_a_client_that_leaves(shared, pictures):
    """They are released with everything else, and the next job's carving is not affected by them."""
    daemon = shared("--lanes", "1")
    mask = large_png(3000, 3000)
    for _ in range(2):
        body_of = [("image", pictures[3000], "a"), ("mask", mask, "m"), ("rmask", mask, "r"), ("width", "1", None)]
        with pytest.raises(TimeoutError):
            daemon.post_form("/carve", body_of, timeout=0.3)
        assert np.array_equal(daemon.post("/carve?dx=-12", png(PICTURE)).image, carved(PICTURE, dx=-12))
    assert daemon.becomes_idle()
