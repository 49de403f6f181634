# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the page's tests: a browser and a daemon for the whole run, and the page for each test. A test file names this
one in pytest_plugins. After each test: no error is in the console, and every request went to the daemon."""
import pathlib

import pytest
from PIL import Image

from browser import Browser
from conftest import Daemon

ROCKET = pathlib.Path(__file__).parents[2] / "tests/golden/photos/rocket.jpg"


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


@pytest.fixture
def page(browser, daemon):
    """The page, open and empty."""
    browser.errors(), browser.strangers()
    browser.size(1440, 900)
    browser.url = f"http://127.0.0.1:{daemon.port}/"
    browser.open_page(browser.url)
    yield browser
    assert browser.errors() == []
    assert browser.strangers() == []
