# SPDX-License-Identifier: Apache-2.0
"""The key of a daemon with a file of keys: asked for when it is needed, sent with each request, and kept in the tab alone.

covers: server/web/access_key.js"""
import numpy as np
import pytest
from PIL import Image

from browser import needs_browser
from conftest import Daemon
from signing import Key, write_keys
from window import check_canvas

pytest_plugins = "page_fixtures"
pytestmark = needs_browser

ALL, FEW = Key("studio", 1), Key("few", 2, may=["info"])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    daemon = Daemon("--keys-file", write_keys(tmp_path_factory.mktemp("keys") / "keys.json", ALL, FEW))
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


@pytest.fixture
def asked(site, kept, photo):
    """The page of that daemon, which has refused a step for want of a key."""
    page = site
    page.open_page(f"http://127.0.0.1:{kept.port}/", "#")
    assert page.run("return sessionStorage.length") == 0
    assert not page.visible("#access")
    page.choose_file(photo)
    page.opened()
    page.add_step("flip")
    page.wait("!document.getElementById('notice').hidden")
    assert page.text("#notice strong") == "This daemon asks for a key"
    yield page
    page.run("sessionStorage.clear()")
    assert all("401" in line["message"] or "403" in line["message"] for line in page.errors())


def enter(page, key):
    page.run("const box = document.getElementById('access-key'); box.value = arguments[0]; box.form.requestSubmit()", key)


def test_a_key_is_asked_for_and_kept_in_the_tab(asked, photo):
    page = asked
    page.click("#notice button")
    page.wait("document.activeElement.id === 'access-key'")
    assert page.visible("#access") and page.find("#access-key").get_attribute("type") == "password"
    page.find("#access-key").send_keys(ALL.token)
    assert page.find("#access-key").get_property("value") == ALL.token  # no letter or / of it is a shortcut
    page.find("#access-key").send_keys("\n")
    page.shown("flip")
    assert not page.visible("#notice")
    check_canvas(page, np.array(Image.open(photo))[::-1])
    assert page.run("return [Object.values(sessionStorage), JSON.stringify(localStorage).includes('burin_'), location.href.includes('burin_')]") == [[ALL.token], False, False]
    page.open_page(page.address, "#")  # loaded again: the key is still there
    page.choose_file(photo)
    page.opened()
    page.add_step("flip")
    page.shown("flip")
    page.driver.switch_to.new_window("tab")  # in another tab there is none
    try:
        page.driver.get(page.address)
        assert page.run("return sessionStorage.length") == 0
    finally:
        page.driver.close()
        page.driver.switch_to.window(page.driver.window_handles[0])


def test_wrong_keys(asked):
    page = asked
    enter(page, ALL.token[:-1] + ("A" if ALL.token[-1] != "A" else "B"))
    page.wait("document.querySelector('#notice strong')?.textContent === 'The daemon does not take this key'")
    enter(page, f"  {FEW.token} ")
    page.wait("document.querySelector('#notice strong')?.textContent === 'This key may not do this'")
    assert "few" in page.text("#notice .detail")
    enter(page, "")
    page.wait("document.querySelector('#notice strong')?.textContent === 'This daemon asks for a key'")
    assert page.run("return sessionStorage.length") == 0
    enter(page, ALL.token)
    page.shown("flip")
