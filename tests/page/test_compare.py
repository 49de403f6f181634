# SPDX-License-Identifier: Apache-2.0
"""Comparing a result of another size with its input: both are always visible. A result of the same shape fills the input's
frame, a part lies at its place, anything else stands beside the input. Sizes come from the plan, and nothing jumps.

covers: server/http/handle_document.c"""
import itertools
import json

import numpy as np
import pytest
from PIL import Image

from browser import needs_browser
from conftest import encode, operators
from window import middle, run_pixels, strip

pytest_plugins = "page_fixtures"
pytestmark = needs_browser

WIDTH, HEIGHT = 480, 320  # of the photograph


@pytest.fixture
def opened(page, photo):
    page.choose_file(photo)
    page.opened()
    return page


def canvas(page):
    """RGBA of the whole canvas, and its size."""
    page.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    width, height = page.run("const c = document.getElementById('canvas'); return [c.width, c.height]")
    return np.frombuffer(page.canvas_pixels(0, 0, width, height), np.uint8).reshape(height, width, 4)


def run_steps(page, text):
    """The steps of the address; and the plan's result is shown."""
    page.run("location.hash = arguments[0]", f"steps={text}")
    page.shown(text)


def split(page):
    return float(page.run("return document.getElementById('divider').style.left").rstrip("%")) / 100


PARTS = [  # the part of the input by the parameters' meaning: left, top, width, height
    ("crop:width=200,height=120", (140, 100, 200, 120)),
    ("crop:width=100,gravity=west", (0, 0, 100, 320)),
    ("crop:height=100,gravity=southeast", (0, 220, 480, 100)),
    ("extract:left=370,top=10,width=90,height=200", (370, 10, 90, 200)),
    ("brightness:shift=40;extract:left=30,top=20,width=300,height=200;crop:width=100,height=100", (130, 70, 100, 100)),
]


def test_the_same_shape_or_a_part_lies_in_the_inputs_frame(opened, photo, tmp_path):
    """The same shape fills it, and a part lies where it came from."""
    for text in ("resize:width=240", "resize:width=101", "zoom", "resize:width=240,height=10,fit=outside"):
        run_steps(opened, text)
        shown = canvas(opened)
        left, top, width, height = middle(opened, WIDTH, HEIGHT)
        assert (shown[top + 1:top + height - 1, left + 1:left + width - 1, 3] == 255).all(), ("both halves are full", text)
        assert not shown[:, :left, 3].any() and not shown[:, left + width:, 3].any(), text

    # A part lies right of the divider, which is moved onto it; around it the input is a shade.
    for text, part in PARTS:
        run_steps(opened, text)
        left, top, width, height = part
        after = run_pixels(tmp_path, photo, *text.split(";"))
        assert after.shape[:2] == (height, width), text
        shown = canvas(opened)
        x0, y0, _, _ = middle(opened, WIDTH, HEIGHT)
        divider = round(split(opened) * shown.shape[1])
        assert x0 + left < divider < x0 + left + width, ("the divider shows some of the part", text)
        visible = divider - x0 - left
        assert (shown[y0 + top:y0 + top + height, divider:x0 + left + width, :3] == after[:, visible:]).all(), text
        before = np.array(Image.open(photo))
        assert (shown[y0:y0 + HEIGHT, x0:divider, :3] == before[:, :divider - x0]).all(), text
        around = shown[y0:y0 + HEIGHT, divider:x0 + WIDTH, 3].copy()
        around[top:top + height, :left + width - (divider - x0)] = 64
        assert (abs(around.astype(int) - 64) <= 1).all(), ("a quarter as strong", text)


def test_the_same_place_is_on_both_sides_and_alone(opened, photo, tmp_path):
    """What is looked at stays when compare is switched: a place of the result under the pointer is there alone, too, as large as before.
    At the divider a halved picture goes on where the input ends: it is enlarged without a filter of its own at 8 to 1."""
    run_steps(opened, "resize:width=240,kernel=box")
    opened.run("document.getElementById('canvas').dispatchEvent(new WheelEvent('wheel', { deltaY: -480, clientX: 700, clientY: 400, cancelable: true }))")
    found = opened.run("""const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect(), found = [];
        for (const x of [-60, 60]) {
            canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + canvas.width / 2 + x + 0.5, clientY: box.top + 200.5 }));
            found.push(document.getElementById('pixel').textContent); }
        return found;""")
    before, after = np.array(Image.open(photo)), run_pixels(tmp_path, photo, "resize:width=240,kernel=box")
    for side, text in enumerate(found):
        place, colours = text.split("  ")
        x, y = (int(part) for part in place.split(", "))
        full, half = ((x, y), (x // 2, y // 2)) if side == 0 else ((2 * x, 2 * y), (x, y))
        first, second = colours.split(" → ")
        near = [before[full[1] + dy, full[0] + dx] for dx, dy in itertools.product(range(2), range(2))]
        assert second == "#%02x%02x%02x" % tuple(after[half[1], half[0]])
        exact = ["#%02x%02x%02x" % tuple(before[full[1], full[0]])]
        assert first in (exact if side == 0 else ["#%02x%02x%02x" % tuple(p) for p in near])

    opened.click("#zoom-fit")
    opened.wait("document.getElementById('zoom').textContent === '100 %'")
    run_steps(opened, "resize:width=240")
    opened.run("document.getElementById('canvas').dispatchEvent(new WheelEvent('wheel', { deltaY: -600, clientX: 760, clientY: 300, cancelable: true }))")
    opened.wait("document.getElementById('zoom').textContent !== '100 %'")
    pointed = """const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + canvas.width / 2 + 90, clientY: box.top + 200 }));
        return document.getElementById('pixel').textContent.split('  ')[0].split(', ').map(Number);"""
    zoom, place = float(opened.text("#zoom").split()[0]), opened.run(pointed)
    opened.click("#compare")
    opened.wait("document.getElementById('compare').ariaPressed === 'false'")
    alone = opened.run(pointed)
    assert abs(alone[0] - place[0]) <= 1 and abs(alone[1] - place[1]) <= 1
    opened.wait(f"Math.abs(parseFloat(document.getElementById('zoom').textContent) - {2 * zoom}) < {0.02 * zoom}")


def test_anything_else_stands_beside_the_input(opened, photo, tmp_path):
    opened.resize(1600, 900)
    for text in ("carve:dx=-180", "rotate", "resize:width=200,height=300,fit=fill", "smartcrop:width=150,height=150"):
        if text.split(":")[0] in operators():
            check_beside(opened, photo, tmp_path, text)

    # In a narrow window one stands above the other.
    run_steps(opened, "rotate:angle=270")
    opened.size(390, 844)
    opened.wait("innerWidth === 390")
    run_steps(opened, "resize:width=480,height=100,fit=fill")
    opened.wait("document.getElementById('label-after').offsetTop > document.getElementById('label-before').offsetTop + 60")


def check_beside(page, photo, folder, text):
    run_steps(page, text)
    after = run_pixels(folder, photo, text)
    height, width = after.shape[:2]
    gap = int(np.ceil(max(WIDTH, HEIGHT, width, height) / 50))
    shown = canvas(page)
    x0, y0, _, _ = middle(page, WIDTH + gap + width, max(HEIGHT, height))

    def at(left, size):
        top = int(np.floor(y0 + (max(HEIGHT, height) - size[1]) / 2 + 0.5))
        return shown[top:top + size[1], left:left + size[0]]

    assert not page.visible("#divider")
    assert (at(x0, (WIDTH, HEIGHT))[:, :, :3] == np.array(Image.open(photo))).all()
    assert (at(x0 + WIDTH + gap, (width, height))[:, :, :3] == after).all()
    assert not shown[:, x0 + WIDTH:x0 + WIDTH + gap, 3].any()
    labels = page.run("return ['before', 'after'].map((side) => document.getElementById(`label-${side}`).offsetLeft)")
    assert labels == [x0 + 8, x0 + WIDTH + gap + 8]


# ---- sizes

PLANS = [
    "crop:width=100", "crop:height=33,gravity=northwest", "extract:left=3,top=5,width=7,height=11", "rotate", "rotate:angle=180", "rotate:angle=270", "rotate:angle=-33.3", "rotate:angle=300",
    "zoom:times=3", "pad:top=3,left=40,right=7", "smartcrop:width=99,height=77", "carve:dx=-21", "carve:width=500,height=300", "carve:dy=9", "carve:dx=9,show=seams", "edge",
    *(f"resize:{goal},fit={fit}{more}" for goal, fit, more in itertools.product(
        ("width=101", "height=77", "width=203,height=77", "width=77,height=203", "width=700,height=650", "width=3,height=300"),
        ("cover", "contain", "fill", "inside", "outside"), ("", ",enlarge=false"))),
    "resize:width=120,height=300,fit=carve", "resize:width=120,height=300,fit=carve,share=40", "resize:width=300,height=90,position=smart",
    "resize:width=300,height=90,x=200,y=900", "resize:width=1", "rotate;resize:width=91;zoom;crop:width=50,height=51",
]


REFUSED = ["crop:width=481", "extract:left=400,width=81,height=1", "extract:top=319,width=1,height=2", "zoom:times=64", "carve:dx=-480",
           "carve:dx=65100", "resize:width=60000,height=60000", "smartcrop:height=321", "pad:left=65056", "resize:width=480,height=4,fit=carve,position=north,x=1"]


def sizes(page, texts, all_operators):
    """The page's sizes of the outputs of these plans, from 480 x 320."""
    return page.run("return arguments[0].map((text) => geometry.sizesOf(plan.readPlan(text, arguments[1]).steps, { width: 480, height: 320 }).at(-1))",
                    texts, all_operators)


def test_sizes_are_the_daemons(page, daemon, photo, tmp_path):
    """The page's rules, for each operator that changes the size, against the result's own size; and what is refused."""
    page.module("geometry")
    page.module("plan")
    here = [text for text in PLANS if all(step.split(":")[0] in operators() for step in text.split(";"))]
    found = sizes(page, here, daemon.get("/ops").json["operators"])
    source = encode(np.array(Image.open(photo)), "PNG")
    for text, size in zip(here, found, strict=True):
        steps = [{"operation": name, "params": dict(item.split("=") for item in rest.split(",") if item)}
                 for name, _, rest in (step.partition(":") for step in text.split(";"))]
        answer = daemon.post_form("/pipeline", [("operations", json.dumps(steps), None), ("type", "png", None), ("image", source, "image")])
        assert answer.status == 200, (text, answer.body)
        assert answer.image.shape[1::-1] == (size["width"], size["height"]), text

    # What would be refused has no size.
    here = [text for text in REFUSED if text.split(":")[0] in operators()]
    found = sizes(page, here, daemon.get("/ops").json["operators"])
    assert here and found == [None] * len(here)
    for text in here:
        name, _, rest = text.partition(":")
        steps = [{"operation": name, "params": dict(item.split("=") for item in rest.split(","))}]
        answer = daemon.post_form("/pipeline", [("operations", json.dumps(steps), None), ("image", source, "image")])
        assert answer.status in (400, 422), text


def test_the_strip_has_the_plans_sizes(page, photo, tmp_path):
    """From the preview on, exactly; those of a large picture too."""
    path = tmp_path / "large.png"
    path.write_bytes(encode(np.array(Image.open(photo).resize((2561, 1600))), "PNG", compress_level=1))
    page.choose_file(path)
    page.opened()
    page.wait("document.documentElement.hasAttribute('data-live')")
    run_steps(page, "resize:width=1280;brightness:shift=9;crop:width=1001")
    page.wait("document.querySelectorAll('#filmstrip canvas').length === 4 && [...document.querySelectorAll('#filmstrip .size')].every((e) => e.textContent !== '…')")
    sizes = page.run("return [...document.querySelectorAll('#filmstrip .size')].map((e) => e.textContent)")
    assert sizes == ["2,561 × 1,600", "1,280 × 800", "1,280 × 800", "1,001 × 800"]
    page.click('#filmstrip [data-key="step-1"]')
    page.wait("document.getElementById('label-before').textContent === 'After step 1'")


def test_the_strip_and_the_picture_keep_their_places(opened):
    """The strip marks what is shown. The picture's window is as high with steps, without, while it runs, and with a message."""
    heights = "return document.getElementById('view').getBoundingClientRect().height"
    high = opened.run(heights)
    opened.add_step("brightness")
    assert opened.run(heights) == high
    opened.shown("brightness")
    assert opened.run(heights) == high and strip(opened) == ["Input", "Output"]
    opened.set_field("brightness", "shift", 12)
    opened.shown("brightness:shift=12")
    assert opened.run(heights) == high
    opened.run("document.querySelector('.step [aria-label^=Remove]').click()")
    assert strip(opened) == ["Input"] and opened.run(heights) == high

    def marked():
        return opened.run("return [...document.querySelectorAll('#filmstrip button')].map((b) => [b.dataset.key, b.dataset.side, b.ariaPressed])")

    assert marked() == [["input", "after", "true"]]
    opened.add_step("brightness")
    opened.add_step("edge")
    opened.shown("brightness;edge")
    assert marked() == [["input", "before", "true"], ["step-1", "", "false"], ["output", "after", "true"]]
    colours = opened.run("return [...document.querySelectorAll('#filmstrip [data-side]:not([data-side=\"\"])')].map((b) => getComputedStyle(b).borderColor)")
    assert len(set(colours)) == 2
    opened.click("#compare")
    assert marked() == [["input", "", "false"], ["step-1", "", "false"], ["output", "after", "true"]]
    opened.click('#filmstrip [data-key="step-1"]')
    opened.wait("document.getElementById('label-before').textContent === 'After step 1'")
    assert marked() == [["input", "", "false"], ["step-1", "before", "true"], ["output", "after", "true"]]
