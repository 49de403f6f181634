# SPDX-License-Identifier: Apache-2.0
"""What tests of the page have: a browser and a daemon for all of a file, the page for each test, and what its canvas shows.
After each test: no error in the console, and nothing was asked of anyone but the daemon."""
import pathlib
import subprocess

import numpy as np
import pytest
from PIL import Image

from browser import Browser
from conftest import BURIN, Daemon

ROOT = pathlib.Path(__file__).parents[2]
ROCKET = ROOT / "tests/golden/photos/rocket.jpg"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def daemon():
    daemon = Daemon()
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


@pytest.fixture(scope="module")
def photo(tmp_path_factory):
    """A real photograph, as a PNG: no decoder has a say in its pixels."""
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


def run_pixels(tmp_path, source, *steps):
    """RGB of what `burin run` makes of it."""
    out = tmp_path / "expected.png"
    subprocess.run([BURIN, "run", *steps, "--device", "cpu", str(source), str(out)], check=True, capture_output=True)
    return np.array(Image.open(out).convert("RGB"))


def middle_pixels(page, width, height):
    """RGBA samples of the canvas, from where a picture of that size begins that lies in the middle of it."""
    across, down = page.run("""return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
        const canvas = document.getElementById('canvas'); done([canvas.width, canvas.height]); })))""")
    left, top = int(np.floor(across / 2 - width / 2 + 0.5)), int(np.floor(down / 2 - height / 2 + 0.5))
    return np.frombuffer(page.canvas_pixels(left, top, width, height), np.uint8).reshape(height, width, 4)


def show_output_alone(page):
    """At its own size, its middle in the middle of the canvas where it was fitted before."""
    if page.run("return document.getElementById('compare').ariaPressed") == "true":
        page.find("#compare").click()
    if page.text("#zoom") != "100 %":
        page.find("#zoom-real").click()
        page.wait("document.getElementById('zoom').textContent === '100 %'")


def canvas_picture(page, width, height):
    """RGB of the picture on the canvas, in the middle of it at its own size, nothing beside it."""
    show_output_alone(page)
    data = middle_pixels(page, width, height)
    assert (data[:, :, 3] == 255).all(), "the picture does not lie where it should"
    return data[:, :, :3]


def check_canvas(browser, expected):
    shown = canvas_picture(browser, expected.shape[1], expected.shape[0])
    assert (shown == expected).all(), f"{(shown != expected).any(axis=2).sum()} pixels differ"


def open_live(page, path):
    """Until changes of it are previewed."""
    page.choose_file(path)
    page.opened()
    page.wait("document.documentElement.hasAttribute('data-live')")
