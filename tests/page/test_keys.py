# SPDX-License-Identifier: Apache-2.0
"""The list of keys: how it opens and closes, and that it has every key to which a module of the page listens; and all from opening
to saving by keys alone."""
import re
import subprocess

from selenium.webdriver.common.keys import Keys

from browser import WEB, needs_browser
from conftest import BURIN, wait_until

pytest_plugins = "page_fixtures"
pytestmark = needs_browser

# The parts of the list in which a module's keys stand.
PARTS = {"main.js": ["Everywhere"], "palette.js": ["Everywhere", "The palette"], "viewer.js": ["The picture", "The divider"],
         "steps.js": ["A step's ⋮⋮"], "handles.js": ["A handle on the picture"], "histogram.js": ["A histogram"],
         "panels.js": ["A panel's edge"]}
# The browser turns these into events of their own: paste, submit, close.
BROWSERS = {("Everywhere", "Ctrl+V"), ("Save", "Enter")}


def listened(source):
    """The keys that a module compares with event.key, or uses as names of what they do."""
    named = re.findall(r"\b(Arrow(?:Left|Right|Up|Down)|PageUp|PageDown|Home|End|Enter|Escape)\b", source)
    compared = re.findall(r"(?:event\.key|letter) [!=]== '(.)'", source) + re.findall(r"^ +'?([^\w\s]|\d)'?: \(\) =>", source, re.M)
    compared += [letter for listed in re.findall(r"\[([^\]]*)\]\.includes\(letter\)", source) for letter in re.findall(r"'(.)'", listed)]
    return set(named) | {key.upper() for key in compared}


def listed(page):
    """{part: its keys, without Ctrl and Shift}, as the module has them."""
    page.module("keys")
    return page.run("return keys.keyList.map(([part, rows]) => [part, rows.flatMap(([keys]) => keys)])")


def check_every_key(page):
    """It is in the list."""
    parts = dict(listed(page))
    plain = {part: {key.rpartition("+")[2] or "+" for key in keys} for part, keys in parts.items()}
    with_keys = [path for path in WEB.glob("*.js") if "'keydown'" in path.read_text()]
    assert {path.name for path in with_keys} == set(PARTS)
    expected = {part: set() for part in parts}
    for path in with_keys:
        keys = listened(path.read_text())
        assert keys, path
        assert keys <= set().union(*(plain[part] for part in PARTS[path.name])), path
        for part in PARTS[path.name]:
            expected[part] |= keys
    invented = {(part, key) for part, keys in parts.items() for key in keys if (key.rpartition("+")[2] or "+") not in expected[part]}
    assert invented == BROWSERS


def opened(page):
    return page.run("return document.getElementById('keys').open")


def press(page, *keys):
    for key in keys:
        page.driver.switch_to.active_element.send_keys(key)


def test_the_list_opens_and_closes_and_has_every_key(page, photo):
    """By ? and by its button; Escape closes nothing else, and the focus goes back. A key meanwhile does nothing below."""
    page.choose_file(photo)
    page.opened()
    page.add_step("crop")
    page.run("document.querySelector('.adjust button').click()")
    page.wait("document.querySelector('.cut .grip') && !document.querySelector('.cut').hidden")
    page.run("document.getElementById('canvas').focus()")
    press(page, "?")
    assert opened(page) and page.run("return document.getElementById('keys').contains(document.activeElement)")
    assert page.find("#keys").aria_role == "dialog" and page.find("#keys").accessible_name == "Keys"
    shown = page.run("return [...document.querySelectorAll('#keys tbody')].map((part) => [part.querySelector('[scope=rowgroup]').textContent, "
                     "[...part.querySelectorAll('kbd')].map((key) => key.textContent)])")
    assert [part for part, _ in shown] == [part for part, _ in listed(page)]
    assert dict(shown)["The divider"] == ["←", "↓", "→", "↑", "Page Down", "Page Up", "Home", "End"] and "Ctrl+Shift+Z" in dict(shown)["Everywhere"]
    press(page, "c", Keys.CONTROL + "z", "/")
    assert page.find("#compare").get_attribute("aria-pressed") == "true" and page.run("return document.querySelectorAll('.step').length") == 1
    press(page, Keys.ESCAPE)
    assert not opened(page) and page.run("return document.activeElement.id") == "canvas"
    assert page.run("return !document.querySelector('.cut').hidden"), "the handles are still there"
    page.click("#keys-open")
    assert opened(page)
    page.click("#keys button")
    assert not opened(page) and page.run("return document.activeElement.id") == "keys-open"
    page.click("#palette-search")
    press(page, "?")
    assert not opened(page) and page.run("return document.activeElement.value") == "?", "in a box it is a character"
    check_every_key(page)


def test_from_open_to_save_by_keys_alone(page, photo, tmp_path):
    """But for the system's dialog: that it is asked for is seen, and the file is given to its input."""
    page.run("window.asked = 0; document.getElementById('file-input').addEventListener('click', (event) => { asked++; event.preventDefault(); })")

    def focused():
        return page.run("const e = document.activeElement; return e.name || e.id")

    press(page, Keys.TAB)
    assert page.run("return document.activeElement.className") == "skip"
    press(page, Keys.TAB)
    assert focused() == "open"
    press(page, Keys.ENTER)
    page.wait("asked === 1")
    press(page, Keys.CONTROL + "o")
    page.wait("asked === 2")
    page.choose_file(photo)
    page.opened()
    press(page, "/", "brightness", Keys.ENTER)
    page.shown("brightness")
    assert focused() == "shift"
    press(page, "40")
    page.shown("brightness:shift=40")
    press(page, Keys.TAB)
    assert page.run("return document.activeElement.type") == "range"
    press(page, Keys.ARROW_RIGHT)
    page.shown("brightness:shift=41")
    press(page, "/", "edge", Keys.ENTER)
    page.shown("brightness:shift=41;edge")
    press(page, Keys.CONTROL + "z")
    page.shown("brightness:shift=41")
    press(page, Keys.CONTROL + "s")
    page.wait("document.activeElement.value === 'png'")
    press(page, Keys.ARROW_RIGHT)
    page.wait("document.getElementById('saving').getAttribute('aria-busy') === 'false' && document.documentElement.dataset.saving?.startsWith('jpeg ')")
    press(page, Keys.ENTER)
    expected, saved = tmp_path / "expected.jpg", page.downloads / "rocket-brightness.jpg"
    subprocess.run([BURIN, "run", "brightness:shift=41", str(photo), str(expected)], check=True, capture_output=True)
    assert wait_until(lambda: saved.exists() and saved.read_bytes() == expected.read_bytes())
    saved.unlink()
    press(page, Keys.ESCAPE)
    page.wait("document.activeElement.id === 'save'")
