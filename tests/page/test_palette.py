# SPDX-License-Identifier: Apache-2.0
"""The palette of operators: groups, search, the ones used last, and the keys."""
import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import needs_browser
from conftest import operators

pytest_plugins = "page_fixtures"
pytestmark = needs_browser


def names(page):
    return page.run("return [...document.querySelectorAll('#palette button')].map((button) => button.dataset.operator)")


def headings(page):
    return page.run("return [...document.querySelectorAll('#palette h4')].map((e) => e.textContent)")


def press(page, *keys):
    for key in keys:
        page.driver.switch_to.active_element.send_keys(key)


def focused(page):
    return page.run("return document.activeElement.dataset.operator ?? document.activeElement.id")


@pytest.fixture
def fresh(site):
    """The page of somebody who has not used it before."""
    site.driver.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": site.url.rstrip("/"), "storageTypes": "local_storage"})
    site.open_page(site.url, "#")
    yield site
    site.run("localStorage.clear()")


SEARCHES = [
    ("auto contrast", "histeq"), ("local contrast", "clahe"), ("remove object", "remove-object"), ("person", "remove-object"), ("content-aware", "carve"), ("thumbnail", "thumbnail"), ("downscale", "resize"),
    ("outlines", "edge"), ("equalization", "histeq"), ("make it smaller", "thumbnail"), ("compress", "compress"),
    ("mirror left", "flop"), ("placeholder", "blurhash"), ("own filter", "convolve"), ("rotate left", "rotate"), ("filter", "convolve"), ("CLAHE", "clahe"), ("sobel", "edge"),
    ("unsharp", "sharpen"), ("quarters", "rotate"), ("  edge ", "edge"), ("bw", "grayscale"), ("xyzzy", None)]


def test_groups_and_search(fresh, daemon):
    """Groups are the records'. A search finds by anybody's word, and each word of other tools finds its operator; a word for what no
    operator does finds none, whatever hint the daemon has for it."""
    listed = daemon.get("/ops").json
    assert headings(fresh) == listed["groups"]
    tasks = [name for name in names(fresh) if name in ("remove-object", "thumbnail", "compress")]
    assert len(tasks) == ("carve" in operators()) + 2
    assert [name for name in names(fresh) if name not in tasks] == [op["name"] for group in listed["groups"] for op in listed["operators"] if op["group"] == group]
    for op in listed["operators"]:
        text = fresh.text(f'#palette [data-operator="{op["name"]}"]')
        assert op["name"] in text and op["title"] in text
    tall = fresh.run("return document.getElementById('palette').offsetHeight")
    assert tall < 330 + 45 * len(listed["operators"]), tall  # a line each, and the headings

    for query, first in SEARCHES:
        fresh.run("const box = document.getElementById('palette-search'); box.value = arguments[0]; box.dispatchEvent(new Event('input', { bubbles: true }))", query)
        found = names(fresh)
        assert found[:1] == ([first] if first else []), query
        assert fresh.text("#palette-found").startswith(f"{len(found)} operator" if first else "Nothing found."), query

    words = [[op["name"], word] for op in daemon.get("/ops").json["operators"] for word in op.get("aliases", [])]
    assert len(words) > 80
    fresh.module("palette")
    missed, found = fresh.run("""const [operators, listed, none] = arguments;
        const names = (word) => palette.search(operators, word).map(({ name }) => name);
        return [listed.filter(([name, word]) => !names(word).includes(name)), none.filter((word) => names(word).length)];""",
                              fresh.state("page.operators"), words, ["saturation", "sepia", "vignette", "posterize", "watermark", "composite"])
    assert missed == [] and found == []


def test_everything_by_the_keyboard(fresh, photo):
    """/ searches, Enter adds the first; the palette is one tab stop, in which the arrow keys move."""
    fresh.choose_file(photo)
    fresh.opened()
    press(fresh, "/")
    assert focused(fresh) == "palette-search" and fresh.run("return document.activeElement.value") == ""
    press(fresh, "auto con", Keys.ENTER)
    fresh.shown("histeq")
    assert fresh.run("return document.getElementById('palette-search').value") == "" and headings(fresh)[0] == "used last"
    fresh.click("#palette-search")
    press(fresh, Keys.ARROW_DOWN)
    assert focused(fresh) == "histeq"
    press(fresh, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert focused(fresh) == names(fresh)[2]
    press(fresh, Keys.TAB)
    assert not fresh.run("return document.getElementById('palette').contains(document.activeElement)")
    fresh.click("#palette-search")
    press(fresh, Keys.TAB)
    assert focused(fresh) == names(fresh)[2], "the tab stop stays where it was"
    press(fresh, Keys.END)
    assert focused(fresh) == names(fresh)[-1]
    press(fresh, Keys.HOME, Keys.ARROW_UP)
    assert focused(fresh) == "palette-search"
    press(fresh, "/")
    assert fresh.run("return document.activeElement.value") == "/", "in a box it is a character"
    press(fresh, Keys.ESCAPE, "flop", Keys.ARROW_DOWN, Keys.ENTER)
    fresh.shown("histeq;flop")
    assert fresh.run("return document.querySelectorAll('#palette [tabindex=\"0\"]').length") == 1


def test_long_forms_do_not_hide_it(fresh):
    """A button beside the heading leads to it, also where it is folded."""
    for width in (1440, 375):
        fresh.size(width, 812)
        fresh.open_page(fresh.url, "#steps=resize;edge;carve")
        fresh.click("#add-step")
        assert focused(fresh) == "palette-search"
        top, bottom = fresh.run("const box = document.activeElement.getBoundingClientRect(); return [box.top, box.bottom]")
        assert 0 <= top and bottom <= 812
        assert fresh.run("const b = document.activeElement.getBoundingClientRect(); return document.elementFromPoint(b.left + 9, b.top + 9).id") == "palette-search"


def test_the_ones_used_last_come_first(fresh):
    for name in ("edge", "mean", "edge", "flip", "blur", "crop"):
        fresh.add_step(name)
    assert names(fresh)[:5] == ["crop", "blur", "flip", "edge", "remove-object"] and headings(fresh)[0] == "used last"
    assert sorted(names(fresh)) == sorted(set(names(fresh)))
    fresh.open_page(fresh.url, "#")
    assert names(fresh)[:4] == ["crop", "blur", "flip", "edge"]
    for stored in ("{", "7", '["nosuch", null, "mean"]'):
        fresh.run("localStorage.setItem('burin-recent-operators', arguments[0])", stored)
        fresh.open_page(fresh.url, "#")
        assert names(fresh)[0] == ("mean" if "mean" in stored else "remove-object")


def test_samples_of_the_open_picture_and_tasks(fresh, photo):
    """One request for all, when the pointer comes there; none for an operator that changes nothing as it is added, or that a user wrote."""
    fresh.choose_file(photo)
    fresh.opened()
    assert not fresh.run("return document.querySelector('#palette canvas')")
    ActionChains(fresh.driver).move_to_element(fresh.find("#palette-search")).perform()
    fresh.wait("document.querySelector('#palette canvas')")
    shown = fresh.run("return [...document.querySelectorAll('#palette canvas')].map((canvas) => canvas.parentElement.dataset.operator)")
    assert {"histeq", "edge", "flop", "grayscale"} <= set(shown) and not {"brightness", "mean", "carve"} & set(shown)
    assert sum("/pipeline" in url for url in fresh.requests()) == 1
    red, green, blue, alpha = fresh.run("""return [...document.querySelector('#palette [data-operator=grayscale] canvas')
        .getContext('2d').getImageData(9, 9, 1, 1).data]""")
    assert red == green == blue and alpha == 255

    # Tasks are found in everyday words.
    for words, name, text in (("miniature", "thumbnail", "resize:width=320"), ("outlines", "edge", "resize:width=320;edge")):
        fresh.find("#palette-search").send_keys(words, Keys.ENTER)
        fresh.shown(text)
        assert fresh.run("return document.querySelector('.step:last-child').dataset.operator") == {"thumbnail": "resize"}.get(name, name)
    fresh.find("#palette-search").send_keys("compress", Keys.ENTER)
    fresh.wait("document.documentElement.dataset.saving")
    fresh.click("#saving-close")
    fresh.find("#palette-search").send_keys("xyzzy")
    assert headings(fresh) == [] and fresh.text("#palette-found") == "Nothing found."


def test_a_full_pipeline_takes_no_more(fresh):
    for _ in range(10):
        fresh.add_step("flip")
    fresh.find("#palette-search").send_keys("flip", Keys.ENTER)
    assert fresh.run("return document.querySelectorAll('.step').length") == 10
    assert fresh.text("#palette-found") == "A plan has at most 10 steps."
    assert fresh.run("return [...document.querySelectorAll('#palette button')].every((button) => button.disabled || button.dataset.operator === 'compress')")
