# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the page's tests: a browser and a daemon for the whole run, and the page for each test. A test file names this
one in pytest_plugins. After each test: no error is in the console, and every request went to the daemon."""
import pathlib

import pytest
from PIL import Image

from accessibility import Eye, axe_core
from browser import WINDOW, Browser
from conftest import Daemon

ROCKET = pathlib.Path(__file__).parents[2] / "tests/golden/photos/rocket.jpg"


def pytest_collection_modifyitems(items):
    """Short tests are last, so that no process waits long for another's last one."""
    items.sort(key=lambda item: item.path.name in ("test_palette.py", "test_panels.py"))


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.quit()


@pytest.fixture(scope="session")
def daemon():
    daemon = Daemon()
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


@pytest.fixture(scope="session")
def photo(tmp_path_factory):
    """A real photograph, as a PNG, so no decoder changes its pixels."""
    path = tmp_path_factory.mktemp("photo") / "rocket.png"
    Image.open(ROCKET).convert("RGB").save(path)
    return path


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """axe(page, "#notice"): asserts that everybody can use this part in each window and scheme; without parts, the whole page."""
    return Eye(axe_core(tmp_path_factory))


@pytest.fixture
def site(browser, daemon):
    """The browser before the page is open, for a test that opens it at an address of its own: a page takes a third of a second."""
    if browser.sized != WINDOW:
        browser.size(*WINDOW)
    browser.url = f"http://127.0.0.1:{daemon.port}/"
    yield browser
    errors, strangers = browser.errors(), browser.strangers()
    assert (errors, strangers) == ([], [])


@pytest.fixture
def page(site):
    """The page, open and empty."""
    site.open_page(site.url)
    return site
