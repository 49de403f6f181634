# SPDX-License-Identifier: Apache-2.0
"""Undo and redo, by keys, buttons and the browser's Back and Forward; and the switches of steps: on, duplicate, reset, fold.

covers: server/http/handle_document.c"""
import subprocess

import numpy as np
import pytest
from PIL import Image
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import WINDOW, needs_browser
from conftest import BURIN, operators
from window import check_canvas, choose_mask, run_pixels, strip, take_steps_away

pytest_plugins = "page_fixtures"
pytestmark = needs_browser


@pytest.fixture
def tab(site):
    """A tab of its own, with a short history: a browser keeps some 50 entries, and lets those go first that no hand has made."""
    page, first = site, site.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.size(*WINDOW)
    page.open_page(page.url)
    yield page
    assert page.errors() == [] and page.strangers() == []
    page.driver.close()
    page.driver.switch_to.window(first)


@pytest.fixture
def opened(tab, photo):
    tab.choose_file(photo)
    tab.opened()
    return tab


def press(page, keys, shift=False):
    chain = ActionChains(page.driver).key_down(Keys.CONTROL)
    chain = chain.key_down(Keys.SHIFT).send_keys(keys).key_up(Keys.SHIFT) if shift else chain.send_keys(keys)
    chain.key_up(Keys.CONTROL).perform()


def now(page, text):
    """Exactly these steps are in the list and in the address, and their result is shown."""
    page.wait(f"decodeURIComponent(location.hash) === {'#steps=' + text if text else ''!r}", f"the address has {text}")
    if text:
        page.shown(text)
    else:
        page.wait("!document.querySelector('.step')")


def edits(page):
    """Whether undo and redo are possible."""
    return page.run("return ['undo', 'redo'].map((id) => !document.getElementById(id).disabled)")


def test_every_way_to_undo(opened, photo, tmp_path):
    page = opened
    assert edits(page) == [False, False]
    page.add_step("brightness")
    page.shown("brightness")
    page.set_field("brightness", "shift", 40)
    page.add_step("edge")
    now(page, "brightness:shift=40;edge")
    press(page, "z")
    now(page, "brightness:shift=40")
    check_canvas(page, run_pixels(tmp_path, photo, "brightness:shift=40"))
    page.click("#undo")
    now(page, "brightness")
    page.driver.back()
    now(page, "")
    assert edits(page) == [False, True]
    press(page, "z")
    press(page, "z", shift=True)
    now(page, "brightness")
    press(page, "y")
    now(page, "brightness:shift=40")
    page.driver.forward()
    now(page, "brightness:shift=40;edge")
    assert edits(page) == [True, False]
    page.click("#undo")
    page.click("#undo")
    now(page, "brightness")
    page.click("#redo")
    now(page, "brightness:shift=40")
    check_canvas(page, run_pixels(tmp_path, photo, "brightness:shift=40"))
    for text in ("brightness", ""):
        page.click("#undo")
        now(page, text)

    # Another edit ends what was undone.
    page.add_step("flip")
    page.add_step("flop")
    now(page, "flip;flop")
    press(page, "z")
    now(page, "flip")
    page.add_step("grayscale")
    now(page, "flip;grayscale")
    assert edits(page) == [True, False]
    press(page, "z")
    now(page, "flip")
    press(page, "z")
    now(page, "")

    # An address that is given is an edit.
    page.add_step("flip")
    now(page, "flip")
    page.run("location.hash = 'steps=grayscale'")
    now(page, "grayscale")
    press(page, "z")
    now(page, "flip")
    press(page, "y")
    now(page, "grayscale")
    for text in ("flip", ""):
        press(page, "z")
        now(page, text)

    # Each press counts, however fast they follow each other.
    texts = [""]
    for name in ("flip", "flop", "grayscale", "flip", "rotate"):
        page.add_step(name)
        texts.append(f"{texts[-1]};{name}".lstrip(";"))
        now(page, texts[-1])
    page.run("for (let i = 0; i < 4; i++) document.getElementById('undo').click()")
    now(page, texts[1])
    page.run("for (let i = 0; i < 9; i++) document.getElementById('redo').click()")
    now(page, texts[5])


def test_more_edits_than_a_browser_remembers(tab):
    """All are undone and redone, and the address follows."""
    tab.add_step("flip")
    tab.wait("location.hash === '#steps=flip'")
    tab.run("for (let i = 0; i < 60; i++) document.querySelector('.step .switch').click()")
    tab.run("document.querySelector('.step .remove').click()")
    tab.wait("location.hash === ''")
    tab.run("for (let i = 0; i < 61; i++) document.getElementById('undo').click()")
    tab.wait("location.hash === '#steps=flip' && document.querySelector('.step .switch').ariaChecked === 'true'")
    tab.click("#undo")
    tab.wait("location.hash === '' && !document.querySelector('.step')")
    assert edits(tab) == [False, True]
    tab.run("for (let i = 0; i < 62; i++) document.getElementById('redo').click()")
    tab.wait("location.hash === '' && !document.querySelector('.step')")
    assert edits(tab) == [True, False]


def test_what_is_typed_or_dragged_is_one_edit(opened):
    """What is typed in the search is no edit. Dragging is one also where the pointer rests on its way, and what is still being
    dragged can be undone. A number that is typed is undone as a whole, and the focus stays in its field."""
    page = opened
    page.add_step("flip")
    now(page, "flip")
    page.find("#palette-search").send_keys("blur")
    press(page, "z")
    page.driver.execute_async_script("setTimeout(arguments[0], 100)")
    assert edits(page) == [True, False] and page.visible(".step")
    page.click("#undo")
    now(page, "")
    page.click("#palette-search")
    press(page, "y")
    page.driver.execute_async_script("setTimeout(arguments[0], 100)")
    assert edits(page) == [False, True] and not page.visible(".step")
    page.driver.switch_to.active_element.send_keys(Keys.ESCAPE)

    page.add_step("threshold")
    page.shown("threshold")
    page.run("const slider = document.querySelector('.step input[type=range]'); window.drag = (to, last) => {"
             "slider.value = to; slider.dispatchEvent(new Event('input')); if (last) slider.dispatchEvent(new Event('change')); }")
    for level in (60, 90):
        page.run("drag(arguments[0])", level)
        now(page, f"threshold:level={level}")  # it rests
    page.run("drag(77, true)")
    now(page, "threshold:level=77")
    press(page, "z")
    now(page, "threshold")
    press(page, "y")
    now(page, "threshold:level=77")
    page.run("const slider = document.querySelector('.step input[type=range]'); slider.value = 200; slider.dispatchEvent(new Event('input'));")
    press(page, "z")
    now(page, "threshold:level=77")

    take_steps_away(page)
    page.add_step("resize")
    page.shown("resize:width=240,height=160")
    page.run("document.querySelector('.step input[name=height]').select()")
    page.driver.switch_to.active_element.send_keys("123")
    now(page, "resize:width=185,height=123")
    press(page, "z")
    now(page, "resize:width=240,height=160")
    assert page.run("return document.activeElement.name") == "height"


def test_after_a_reload_the_address_is_taken(opened, photo):
    page = opened
    page.add_step("flip")
    page.add_step("flop")
    now(page, "flip;flop")
    page.run("document.querySelector('.step .switch').click()")
    page.wait("location.hash.endsWith('&off=1')")
    page.run("addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), true)")
    page.driver.refresh()
    page.wait("document.documentElement.hasAttribute('data-ready')")
    page.choose_file(photo)
    page.shown("flop")
    press(page, "z")
    now(page, "flip;flop")
    press(page, "z")
    now(page, "flip")


# ---- what a card's buttons do

def check_masks_come_back(page, photo, tmp_path):
    """A file that was chosen is kept with the plan that has it."""
    mask = np.zeros((320, 480), np.uint8)
    mask[:, 200:280] = 255
    path = tmp_path / "remove.png"
    Image.fromarray(mask).save(path)
    page.add_step("carve")
    page.set_field("carve", "dx", -40)
    choose_mask(page, "rmask", path)
    now(page, "carve:dx=-40")
    page.wait("document.getElementById('status').textContent.startsWith('Done')")
    page.click('.step .remove')
    now(page, "")
    press(page, "z")
    now(page, "carve:dx=-40")
    assert "remove.png" in page.text(".step .field:has([name=rmask]) label")
    out = tmp_path / "out.png"
    subprocess.run([BURIN, "run", "carve:dx=-40", "--rmask", str(path), str(photo), str(out)], check=True)
    check_canvas(page, np.array(Image.open(out)))
    press(page, "z")
    page.wait("!document.querySelector('.step .field:has([name=rmask]) label').textContent.includes('remove.png')")
    page.shown("carve:dx=-40")
    check_canvas(page, run_pixels(tmp_path, photo, "carve:dx=-40"))


def test_the_buttons_of_a_step(opened, photo, tmp_path):
    """It is switched off and on, duplicated, reset and folded. Folding is no edit: nothing runs, and there is nothing to undo. The
    head says then what is set."""
    page = opened
    for name in ("brightness", "grayscale", "flip"):
        page.add_step(name)
    page.set_field("brightness", "shift", 50)
    page.shown("brightness:shift=50;grayscale;flip")
    page.click(".step:nth-child(2) .switch")
    page.shown("brightness:shift=50;flip")
    assert page.run("return document.activeElement.className") == "switch"
    check_canvas(page, run_pixels(tmp_path, photo, "brightness:shift=50", "flip"))
    assert page.run("return decodeURIComponent(location.hash)") == "#steps=brightness:shift=50;grayscale;flip&off=2"
    assert page.run("return document.querySelector('.step:nth-child(2) .switch').ariaChecked") == "false"
    page.click(".step:nth-child(1) .switch")
    page.shown("flip")
    assert strip(page) == ["Input", "Output"]
    lines = page.run("return [...document.querySelectorAll('.command pre')].map((e) => e.textContent)")
    assert lines[1] == "burin run flip rocket.png rocket-flip.png"
    press(page, "z")
    page.shown("brightness:shift=50;flip")
    assert strip(page) == ["Input", "1 Brightness", "Output"]
    page.click(".step:nth-child(2) .switch")
    page.shown("brightness:shift=50;grayscale;flip")
    for number in (1, 2, 3):
        page.click(f".step:nth-child({number}) .switch")
    page.wait("document.getElementById('statistics-empty').hidden === false")
    assert strip(page) == ["Input"]

    take_steps_away(page)
    page.add_step("resize")
    page.click(".lock input")
    page.set_field("resize", "width", 300)
    page.set_field("resize", "height", 100)
    page.shown("resize:width=300,height=100")
    page.click(".step .duplicate")
    now(page, "resize:width=300,height=100;resize:width=300,height=100")
    assert page.run("return [...document.querySelectorAll('.step')].findIndex((card) => card.contains(document.activeElement))") == 1
    page.click(".step:nth-child(2) .reset-step")
    now(page, "resize:width=300,height=100;resize:width=150,height=50")  # half of what it gets
    press(page, "z")
    now(page, "resize:width=300,height=100;resize:width=300,height=100")

    take_steps_away(page)
    page.add_step("edge")
    page.set_field("edge", "threshold", 30)
    page.shown("edge:threshold=30")
    possible = edits(page)
    page.click(".step .fold")
    assert page.run("return [document.querySelector('.step .field'), document.querySelector('.step .fold').ariaExpanded]") == [None, "false"]
    assert page.text(".step-summary") == "threshold 30" and page.run("return document.documentElement.dataset.shown") == "edge:threshold=30"
    assert edits(page) == possible
    page.add_step("flip")
    page.shown("edge:threshold=30;flip")
    assert page.text(".step-summary") == "threshold 30"
    page.run("document.querySelector('.step .fold').click()")
    assert page.run("return document.querySelector('.step input[name=threshold]').value") == "30"

    if "carve" in operators():
        take_steps_away(page)
        check_masks_come_back(page, photo, tmp_path)


def test_an_address_waits_for_the_daemon(site):
    """Its steps stay in it while the daemon does not answer."""
    page = site
    page.driver.get("about:blank")
    page.driver.execute_cdp_cmd("Network.enable", {})
    page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/ops"]})
    try:
        page.driver.get(page.url + "#steps=flip;edge")
        page.wait("document.getElementById('notice').textContent.includes('does not answer')")
        page.wait("performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/ops')).length >= 3")
        assert page.run("return location.hash") == "#steps=flip;edge" and page.visible("#notice")
        assert page.text("#status") == "Waiting for the daemon."
    finally:
        page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
        page.driver.execute_cdp_cmd("Network.disable", {})
    page.wait("document.documentElement.hasAttribute('data-ready')")
    assert page.run("return [...document.querySelectorAll('.step')].map((e) => e.dataset.operator)") == ["flip", "edge"]
    assert page.run("return location.hash") == "#steps=flip;edge" and not page.visible("#notice")
    assert edits(page) == [False, False]
    blocked = [line for line in page.errors() if "ERR_BLOCKED_BY_CLIENT" not in line["message"]]
    assert blocked == []
