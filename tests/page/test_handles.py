# SPDX-License-Identifier: Apache-2.0
"""Handles on the picture: dragged and moved by keys, they write the step's fields; they follow the fields, and a drag is one edit.

covers: server/http/handle_document.c"""
import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import needs_browser
from conftest import operators
from window import check_canvas, run_pixels, take_steps_away

pytest_plugins = "page_fixtures"
pytestmark = needs_browser


@pytest.fixture
def opened(page, photo):
    """480 x 320, at its own size."""
    page.choose_file(photo)
    page.opened()
    return page


def adjust(page, operator):
    page.run("document.querySelector(`.step[data-operator=${arguments[0]}] .adjust button`).click()", operator)
    page.wait("document.querySelector('.cut:not([hidden])')")


def edges(page):
    return page.run("return [...document.querySelectorAll('.cut .grip')].map((grip) => grip.dataset.edges)")


def drag(page, grip, *ways):
    """From the middle of the handle, by each way after the other, with rests between them."""
    box = page.run("const b = document.querySelector(`.cut [data-edges='${arguments[0]}']`).getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]", grip)
    x, y = (int(n) for n in box)
    chain = ActionChains(page.driver, duration=0)
    pointer = chain.w3c_actions.pointer_action
    pointer.move_to_location(x, y)
    pointer.pointer_down()
    for i, (dx, dy) in enumerate(ways):
        x, y = x + dx, y + dy
        if i:
            pointer.pause(0.4)
        pointer.move_to_location(x, y)
    pointer.pointer_up()
    chain.perform()


def values(page, *names):
    return [page.run("return document.querySelector(`.step:last-child input[name=${arguments[0]}]`).value", name) for name in names]


def frame(page, width=480, height=320):
    """The cut in pixels of a picture of that size in the middle of the window: left, top, width, height."""
    return page.run("""return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
        const cut = document.querySelector('.cut').getBoundingClientRect(), box = document.getElementById('canvas').getBoundingClientRect();
        const left = box.left + Math.floor(box.width / 2 - arguments[0] / 2 + 0.5), top = box.top + Math.floor(box.height / 2 - arguments[1] / 2 + 0.5);
        done([cut.left - left, cut.top - top, cut.width, cut.height].map(Math.round)); })))""", width, height)


def test_extract_crop_and_the_point_of_a_resize(opened, photo, tmp_path):
    page = opened
    page.add_step("extract")
    for name, value in (("left", 100), ("top", 80), ("width", 200), ("height", 120)):
        page.set_field("extract", name, value)
    page.shown("extract:left=100,top=80,width=200,height=120")
    adjust(page, "extract")
    assert page.run("return document.activeElement.dataset.edges") == ""
    assert frame(page) == [100, 80, 200, 120] and sorted(edges(page)) == sorted(["", "nw", "n", "ne", "e", "se", "s", "sw", "w"])
    first = page.run("return history.state.edit")
    drag(page, "nw", (-10, -5), (-20, -5))
    assert values(page, "left", "top", "width", "height") == ["70", "70", "230", "130"]
    page.wait(f"history.state.edit === {first + 1}", "a drag is one edit")
    drag(page, "e", (30, 40))
    assert values(page, "left", "top", "width", "height") == ["70", "70", "260", "130"] and frame(page) == [70, 70, 260, 130]
    drag(page, "", (500, -250))  # no further than the picture
    assert values(page, "left", "top", "width", "height") == ["220", "0", "260", "130"]
    page.wait(f"history.state.edit === {first + 3}")
    page.click("#undo")
    page.wait("document.querySelector('.step input[name=left]').value === '70'")
    assert frame(page) == [70, 70, 260, 130]
    page.set_field("extract", "height", 50)
    assert frame(page) == [70, 70, 260, 50]
    page.run("document.querySelector('.cut [data-edges=s]').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_LEFT)
    page.driver.switch_to.active_element.send_keys(Keys.SHIFT, Keys.ARROW_DOWN)
    assert values(page, "left", "top", "width", "height") == ["70", "70", "260", "62"]
    assert page.run("return document.activeElement.dataset.edges") == "s"
    page.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    text = "extract:left=70,top=70,width=260,height=62"
    page.shown(text)
    assert not page.visible(".cut")
    check_canvas(page, run_pixels(tmp_path, photo, text))

    # In the middle both edges of a crop move; moved, it snaps to a side, whose edges then stay.
    take_steps_away(page)
    page.add_step("crop")
    page.set_field("crop", "width", 200)
    page.set_field("crop", "height", 100)
    page.shown("crop:width=200,height=100")
    adjust(page, "crop")
    assert frame(page) == [140, 110, 200, 100]
    drag(page, "e", (30, 0))
    assert values(page, "width", "height") == ["260", "100"] and frame(page) == [110, 110, 260, 100]
    drag(page, "", (90, 5))
    assert frame(page) == [220, 110, 260, 100] and sorted(edges(page)) == sorted(["", "n", "s", "w", "nw", "sw"])
    drag(page, "nw", (60, 20))
    assert values(page, "width", "height") == ["200", "60"] and frame(page) == [280, 130, 200, 60]
    page.click(".cut:not([hidden]) ~ .painting:not([hidden]) [name=done]")
    text = "crop:width=200,height=60,gravity=east"
    page.shown(text)
    check_canvas(page, run_pixels(tmp_path, photo, text))

    # The point of a resize.
    take_steps_away(page)
    page.add_step("resize")
    page.shown("resize:width=240,height=160")
    adjust(page, "resize")
    assert edges(page) == [""] and frame(page)[:2] == [240, 160]
    drag(page, "", (120, -80))
    assert values(page, "x", "y") == ["750", "250"] and frame(page)[:2] == [360, 80]
    page.shown("resize:width=240,height=160,x=750,y=250")
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert values(page, "x", "y") == ["752", "250"]


@pytest.mark.skipif("carve" not in operators(), reason="this program was built without carve")
def test_the_edge_of_a_carve(opened, photo, tmp_path):
    """After another step, whose picture it is on; wider than that, too."""
    page = opened
    page.add_step("rotate")
    page.add_step("carve")
    page.set_field("carve", "dx", -20)
    page.shown("rotate;carve:dx=-20")
    adjust(page, "carve")
    assert edges(page) == ["e", "se", "s"] and frame(page, 320, 480) == [0, 0, 300, 480]
    drag(page, "e", (-20, 7))
    assert values(page, "width", "height", "dx") == ["280", "", "0"]
    drag(page, "se", (60, -20))
    assert values(page, "width", "height") == ["340", "460"] and frame(page, 320, 480) == [0, 0, 340, 460]
    page.run("document.querySelector('.step:last-child .adjust button').click()")
    text = "rotate;carve:width=340,height=460"
    page.shown(text)
    check_canvas(page, run_pixels(tmp_path, photo, *text.split(";")))
