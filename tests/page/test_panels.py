# SPDX-License-Identifier: Apache-2.0
"""The panels beside the picture, the sheet of a telephone, and the colour scheme."""
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from accessibility import PHONE
from browser import needs_browser
from test_page_browser import in_sight
from window import take_steps_away

pytest_plugins = "page_fixtures"
pytestmark = needs_browser


@pytest.fixture
def fresh(site):
    """The page as somebody sees it who was never here, and leaves it."""
    page = site
    page.size(1440, 900)
    page.driver.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": page.url.rstrip("/"), "storageTypes": "local_storage"})
    page.open_page(page.url, "#")
    yield page
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.run("localStorage.clear()")


def box(page, selector):
    return page.run("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.top, b.width, b.height]", selector)


def drag(page, selector, across, down):
    ActionChains(page.driver, duration=0).click_and_hold(page.find(selector)).move_by_offset(across, down).release().perform()


def press(page, *keys):
    page.driver.switch_to.active_element.send_keys(*keys)


# ---- colours

def test_dark_by_the_system_and_by_choice(fresh):
    """The choice stays, also after the page is loaded again."""
    def grounds():
        return fresh.run("const style = getComputedStyle(document.body); return [style.backgroundColor, style.colorScheme]")

    def system(scheme):
        fresh.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        fresh.wait(f"matchMedia('(prefers-color-scheme: {scheme})').matches")

    system("light")
    light = grounds()
    system("dark")
    fresh.wait("document.documentElement.dataset.theme === 'dark'")
    dark = grounds()
    assert (light[1], dark[1]) == ("light", "dark") and light[0] != dark[0]
    fresh.click("#settings-open")
    assert fresh.run("return document.querySelector('[name=scheme]:checked').value") == "system"
    fresh.click("#settings [value=light]")
    assert grounds() == light
    fresh.open_page(fresh.url, "#")
    assert grounds() == light
    fresh.click("#settings-open")
    press(fresh, Keys.ESCAPE)
    assert not fresh.run("return document.getElementById('settings').matches(':popover-open')")
    fresh.click("#settings-open")
    fresh.click("#settings [value=system]")
    assert grounds() == dark


def test_any_storage(fresh):
    for stored in ("{", "7", "null", '{"scheme": 1, "stepsWidth": "x", "sheet": null}', '{"scheme": "pink", "steps": "ajar", "stepsWidth": 1e9}'):
        fresh.run("localStorage.setItem('burin-look', arguments[0])", stored)
        fresh.open_page(fresh.url, "#")
        assert fresh.visible("#steps-panel") and box(fresh, "#view")[2] > 400 and box(fresh, "#steps-panel")[2] >= 220, stored


# ---- beside the picture

def test_panels_are_hidden_and_shown(fresh, photo):
    """A message at a step opens the panel of steps."""
    fresh.choose_file(photo)
    fresh.opened()
    fresh.add_step("carve")
    fresh.shown("carve")
    fresh.click("#show-steps")
    assert box(fresh, "#steps-panel")[2] == 0
    fresh.set_field("carve", "dx", -480)
    fresh.wait("!document.getElementById('notice').hidden")
    assert in_sight(fresh, "#notice")
    assert all("pipeline" in line["message"] for line in fresh.errors())

    take_steps_away(fresh)
    before = box(fresh, "#view")[2]
    wide = before
    for name in ("steps", "statistics"):
        width = box(fresh, f"#{name}-panel")[2]
        fresh.click(f"#show-{name}")
        assert box(fresh, f"#{name}-panel")[2] == 0 and box(fresh, "#view")[2] == wide + width
        assert fresh.run("return document.getElementById(arguments[0]).ariaExpanded", f"show-{name}") == "false"
        wide += width
    fresh.open_page(fresh.url, "#steps=flip")
    assert box(fresh, "#view")[2] == wide == 1440
    press(fresh, "/")
    assert in_sight(fresh, "#palette-search") and fresh.run("return document.activeElement.id") == "palette-search"
    fresh.click("#show-statistics")
    assert box(fresh, "#view")[2] == before


def test_panels_are_dragged_wider(fresh):
    """In a narrow window there stays room for the picture."""
    for name, sign in (("steps", 1), ("statistics", -1)):
        check_dragged(fresh, name, sign)
    drag(fresh, "#split-steps", 250, 0)
    fresh.size(768, 1024)
    fresh.wait("innerWidth === 768")
    assert box(fresh, "#view")[2] >= 0.6 * 768 - 1


def check_dragged(page, name, sign):
    panel, line = f"#{name}-panel", f"#split-{name}"
    usual = box(page, panel)[2]
    drag(page, line, sign * 60, 0)
    assert box(page, panel)[2] == usual + 60
    page.run("document.querySelector(arguments[0]).focus()", line)
    press(page, Keys.ARROW_LEFT if sign > 0 else Keys.ARROW_RIGHT)
    assert box(page, panel)[2] == usual + 44
    assert page.run("return document.querySelector(arguments[0]).ariaValueNow", line) == str(int(usual + 44))
    page.open_page(page.url, "#")
    assert box(page, panel)[2] == usual + 44
    drag(page, line, sign * 700, 0)
    assert box(page, panel)[2] == 0.4 * 1440
    drag(page, line, -sign * 560, 0)
    assert box(page, panel)[2] == 220
    ActionChains(page.driver, duration=0).double_click(page.find(line)).perform()
    assert box(page, panel)[2] == usual


# ---- the sheet

@pytest.fixture
def phone(fresh):
    fresh.size(390, 844)
    fresh.wait("innerWidth === 390")
    return fresh


def sheet(page):
    """What is shown of it: the panel's name, and the height of all in hundredths of the window's."""
    shown = page.run("""return ['steps-panel', 'statistics-panel', 'queue'].filter((id) => document.getElementById(id).getClientRects().length)""")
    return shown, round((844 - box(page, "#sheet-head")[1]) / 8.44)


def test_the_sheet_and_its_tabs(phone, photo, axe):
    """The picture is always in sight above it. A search opens it, and so does a new step."""
    phone.choose_file(photo)
    phone.opened()
    assert sheet(phone) == (["steps-panel"], 44)
    phone.click("#tab-statistics")
    assert sheet(phone) == (["statistics-panel"], 44)
    axe(phone, "#sheet-head", "#statistics-panel", windows=PHONE)
    phone.click("#tab-statistics")
    shown, height = sheet(phone)
    assert shown == [] and height < 10
    high = box(phone, "#view")[3]
    assert high > 500
    phone.click("#tab-steps")
    assert sheet(phone) == (["steps-panel"], 44) and 200 < box(phone, "#view")[3] < high
    assert phone.run("return [document.documentElement.scrollHeight, document.documentElement.scrollWidth]") == [844, 390]

    drag(phone, "#split-sheet", 0, 350)
    assert sheet(phone)[0] == []
    press(phone, "/")
    assert sheet(phone) == (["steps-panel"], 44) and in_sight(phone, "#palette-search")
    phone.click("#tab-statistics")
    phone.add_step("blur")
    phone.shown("blur")
    assert sheet(phone)[0] == ["steps-panel"] and in_sight(phone, ".step .step-head")


def test_the_sheet_is_dragged(phone):
    drag(phone, "#split-sheet", 0, -200)
    assert sheet(phone) == (["steps-panel"], 72), "it rests at the nearest height"
    drag(phone, "#split-sheet", 0, 590)
    assert sheet(phone)[0] == []
    phone.click("#split-sheet")
    assert sheet(phone) == (["steps-panel"], 44), "a click opens it"
    phone.run("document.getElementById('split-sheet').focus()")
    press(phone, Keys.ARROW_UP)
    assert sheet(phone)[1] == 46
    press(phone, Keys.HOME)
    assert sheet(phone)[0] == []
    press(phone, Keys.ARROW_UP)
    assert sheet(phone)[0] == []
    phone.click("#tab-steps")
    assert sheet(phone) == (["steps-panel"], 44), "a sheet too low for a panel counts as closed"
    phone.run("document.getElementById('split-sheet').focus()")
    press(phone, Keys.END)
    assert sheet(phone)[1] == 72


def test_several_pictures_have_a_tab(phone, photo, axe):
    """It does not stay chosen when the list is closed, in a wide window either."""
    assert not phone.visible("#tab-queue")
    phone.choose_file(f"{photo}\n{photo}")
    phone.opened()
    assert phone.visible("#tab-queue") and sheet(phone)[0] == ["queue"]
    assert phone.run("return document.getElementById('tab-queue').ariaExpanded") == "true"
    axe(phone, "#sheet-head", "#queue", windows=PHONE)
    phone.click("#queue-close")
    assert not phone.visible("#tab-queue") and sheet(phone)[0] == ["steps-panel"]

    phone.choose_file(f"{photo}\n{photo}")
    phone.opened()
    assert sheet(phone)[0] == ["queue"]
    phone.size(1440, 900)
    phone.wait("innerWidth === 1440")
    phone.click("#queue-close")
    phone.size(390, 844)
    phone.wait("innerWidth === 390")
    assert sheet(phone)[0] == ["steps-panel"]


def test_the_painting_bar_fits(phone, photo):
    phone.choose_file(photo)
    phone.opened()
    for width in (320, 360, 390, 768):
        phone.size(width, 800)
        phone.wait(f"innerWidth === {width}")
        phone.run("document.querySelector('#palette [data-operator=remove-object]').click()")
        phone.wait("document.querySelector('.painting [name=done]')?.getClientRects().length", f"the bar at {width}")
        edges = phone.run("const view = document.getElementById('view').getBoundingClientRect(); return [...document.querySelectorAll('.painting:not([hidden]) :is(button, input)')]"
                          ".map((e) => e.getBoundingClientRect()).flatMap((b) => [b.left - view.left, view.right - b.right])")
        assert len(edges) == 12 and min(edges) >= 0, width
        take_steps_away(phone)
        phone.wait("!document.querySelector('.painting [name=done]')?.getClientRects().length")
