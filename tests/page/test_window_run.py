# SPDX-License-Identifier: Apache-2.0
"""A large result is asked for at the size of the window, and as a whole when more of it is to be seen. What is shown is compared
with what `burin run` makes with one more step, and at 100 % with the result itself.

covers: server/http/handle_document.c"""
import re
import subprocess

import numpy as np
import pytest
from PIL import Image

from browser import needs_browser
from conftest import BURIN, encode, smooth, wait_until
from window import check_canvas, middle_pixels, open_live, run_pixels

pytest_plugins = "page_fixtures"
pytestmark = needs_browser

WIDTH, HEIGHT = 3000, 2000

# The bytes of each answer with a picture, but those for the page's own small copy of it.
COUNTS = """window.got = []; const real = window.fetch; window.fetch = async (target, options) => {
    const answer = await real(target, options);
    if (options?.body instanceof FormData) got.push(Number(answer.headers.get('Content-Length')));
    return answer; };"""


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large.jpg"
    path.write_bytes(encode(np.tile(smooth(300, 200), (10, 10, 1)), "JPEG", quality=90))
    return path


def window_size(page):
    width, height = page.run("const c = document.getElementById('canvas'); return [c.width, c.height]")
    scale = min(width / WIDTH, height / HEIGHT)
    return int(np.floor(WIDTH * scale + 0.5)), int(np.floor(HEIGHT * scale + 0.5))


def test_the_window_first_and_the_whole_at_100_percent(page, large, tmp_path):
    page.size(1440, 900)
    open_live(page, large)
    page.run(COUNTS)
    page.add_step("blur")
    page.shown("blur")
    assert page.run("return document.documentElement.dataset.whole") == "false"
    whole = run_pixels(tmp_path, large, "blur")
    bytes_of_whole = (tmp_path / "expected.png").stat().st_size
    assert sum(page.run("return got")) < bytes_of_whole / 10
    width, height = window_size(page)
    assert "3,000 × 2,000" in page.text('#filmstrip [data-key="output"]') and f"3,000 × 2,000, for the window {width:,} × {height:,}" in page.text("#times")
    readout = """const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + canvas.width / 2 + 60, clientY: box.top + canvas.height / 2 }));
        return document.getElementById('pixel').textContent.split('  ')[1].split(' → ').map((text) => text.startsWith('≈ #'));"""
    assert page.run(readout) == [False, True]
    assert re.fullmatch(r"[\d, ]+  #\w{6} → ≈ #\w{6}", page.text("#pixel"))

    # Before the whole is there, the saved file is that of the whole.
    page.click("#save")
    page.wait("document.documentElement.dataset.saving?.startsWith('jpeg ')")
    page.click("#download")
    saved = page.downloads / "large-blur.jpg"
    expected = tmp_path / "expected.jpg"
    subprocess.run([BURIN, "run", "blur", str(large), str(expected)], check=True)
    assert wait_until(lambda: saved.exists() and saved.read_bytes() == expected.read_bytes())
    saved.unlink()
    asks = "return !dispatchEvent(new Event('beforeunload', { cancelable: true }))"
    assert not page.run(asks)
    page.click("#saving-close")

    page.click("#compare")
    expected = run_pixels(tmp_path, large, "blur", f"resize:width={width},height={height},fit=fill").astype(int)
    shown = middle_pixels(page, width, height)
    assert (shown[:, :, 3] == 255).all() and np.abs(shown[:, :, :3] - expected).mean() < 2
    page.click("#zoom-real")
    page.wait("document.documentElement.dataset.whole === 'true'")
    x, y = WIDTH // 2 - 200, HEIGHT // 2 - 150
    assert (middle_pixels(page, 400, 300)[:, :, :3] == whole[y:y + 300, x:x + 400]).all()
    assert not page.run(asks), "the whole of the saved result is saved"
    assert page.run(readout) == [False]
    page.click("#compare")
    page.wait("document.getElementById('compare').ariaPressed === 'true'")
    assert page.run(readout) == [False, False]
    assert re.fullmatch(r"[\d, ]+  #\w{6} → #\w{6}", page.text("#pixel"))
    page.click("#devices summary")
    page.wait("document.querySelector('#devices .digest')")
    page.wait("document.querySelector('.readout tr:last-child td')?.textContent === 'after'")


def test_the_window_grows(page, large, photo, tmp_path):
    """A small picture's result is always whole."""
    open_live(page, large)
    page.resize(800, 720)
    page.add_step("blur")
    page.shown("blur")
    assert page.run("return document.documentElement.dataset.whole") == "false"
    page.size(1440, 900)
    page.wait("document.documentElement.dataset.whole === 'true'")

    page.choose_file(photo)
    page.opened()
    page.shown("blur")
    assert page.run("return document.documentElement.dataset.whole") == "true"
    check_canvas(page, run_pixels(tmp_path, photo, "blur"))


def test_transparency_stays(page, tmp_path):
    picture = np.dstack([np.tile(smooth(300, 200), (10, 10, 1)), np.full((HEIGHT, WIDTH), 255, np.uint8)])
    picture[:, :WIDTH // 2, 3] = 0
    path = tmp_path / "alpha.png"
    path.write_bytes(encode(picture, "PNG", compress_level=1))
    open_live(page, path)
    page.add_step("brightness")
    page.shown("brightness")
    assert page.run("return document.documentElement.dataset.whole") == "false"
    page.click("#compare")
    width, height = window_size(page)
    shown = middle_pixels(page, width, height)
    assert (shown[:, :width // 2 - 4, 3] == 0).all() and (shown[:, width // 2 + 4:, 3] == 255).all()


def test_what_is_asked_for_as_a_whole(site, large, tmp_path):
    """Slow steps are run once, and a result that is not large is sent as it is."""
    page = site
    page.open_page(page.url, "#steps=carve:dx=-20")
    page.choose_file(large)
    page.shown("carve:dx=-20")
    assert page.run("return document.documentElement.dataset.whole") == "true"
    page.run("delete document.documentElement.dataset.whole; location.hash = 'steps=resize:width=1200'")
    page.shown("resize:width=1200")
    assert page.run("return document.documentElement.dataset.whole") == "true"
    page.click("#compare")
    page.click("#zoom-real")
    found = run_pixels(tmp_path, large, "resize:width=1200")
    shown = middle_pixels(page, 400, 300)[:, :, :3]
    assert (shown == found[250:550, 400:800]).all()


def test_a_whole_that_fails_is_asked_for_once(page, large):
    """Not again and again. Values stand beside the result."""
    open_live(page, large)
    page.add_step("mean")
    page.add_step("blur")
    page.shown("mean;blur")
    means = subprocess.run([BURIN, "run", "mean", str(large)], check=True, capture_output=True, text=True).stdout.split()
    assert page.run("return [...document.querySelectorAll('#values td')].map((e) => e.textContent)") == [f"{float(n):.3f}" for n in means]
    assert Image.open(large).size == (WIDTH, HEIGHT) and page.run("return document.documentElement.dataset.whole") == "false"
    page.run("""window.asked = 0; const real = window.fetch; window.fetch = async (target, options) => {
        if (!(options?.body instanceof FormData)) return real(target, options);
        asked++;
        return new Response(JSON.stringify({ message: 'too late', code: 'deadline' }), { status: 504 }); };""")
    page.click("#zoom-real")
    page.wait("!document.getElementById('notice').hidden")
    page.click("#zoom-in")
    page.driver.execute_async_script("setTimeout(arguments[0], 300)")
    assert page.run("return asked") == 1
