# SPDX-License-Identifier: Apache-2.0
"""Opening: a file is read first, and replaces the open picture only then. What Burin does not read is refused by its name; of a
damaged picture what can be read is offered.

covers: server/http/handle_document.c"""
import io
import subprocess

import numpy as np
import pytest
from PIL import Image

from browser import needs_browser
from conftest import BURIN, smooth
from window import check_canvas, run_pixels, take_steps_away

pytest_plugins = "page_fixtures"
pytestmark = needs_browser

ROCKET_IS_OPEN = "rocket.png 480 × 320"


def in_type(kind):
    out = io.BytesIO()
    Image.fromarray(smooth(60, 50)).save(out, kind)
    return out.getvalue()


HEIC = (24).to_bytes(4, "big") + b"ftypheic" + bytes(4) + b"mif1heic" + bytes(400)

FOREIGN = [("ICO", lambda: in_type("ICO")), ("PDF", lambda: in_type("PDF")),
           ("HEIC", lambda: HEIC)]


def refuses(page):
    """The lines of the console about refusals of what was asked."""
    return [line["message"] for line in page.errors()]


def test_what_is_not_read_is_refused_by_its_name(page, daemon, photo, tmp_path):
    """At opening, and the open picture stays, with its result. Text is no picture."""
    page.choose_file(photo)
    page.opened()
    page.add_step("histeq")
    page.shown("histeq")
    for name, content in FOREIGN:
        path = tmp_path / f"file.{name.lower()}"
        path.write_bytes(content())
        if daemon.post("/info", path.read_bytes()).status != 415:
            continue  # this program reads that type
        page.choose_file(path)
        page.wait(f"document.querySelector('#notice strong')?.textContent === 'Burin does not read {name}'")
        assert f"file.{name.lower()}" in page.text("#notice") and "send JPEG" in page.text("#notice")
        assert page.text("#file") == ROCKET_IS_OPEN and page.run("return document.documentElement.dataset.shown") == "histeq"
    assert page.text("#status").endswith("rocket.png is still open.")
    check_canvas(page, run_pixels(tmp_path, photo, "histeq"))
    page.click("#notice .close")
    assert not page.visible("#notice")
    assert all("/info" in line and "415" in line for line in refuses(page))
    path = tmp_path / "letter.jpg"
    path.write_bytes(b"Dear Sir or Madam, this is not a picture.")
    page.choose_file(path)
    page.wait("document.querySelector('#notice strong')?.textContent === 'Not a picture'")
    assert page.text("#file") == ROCKET_IS_OPEN
    assert len(refuses(page)) == 1


@pytest.mark.parametrize("kind,saved", [("GIF", "gif"), ("BMP", "png"), ("TIFF", "png")])
def test_what_is_only_read_becomes_a_png(page, tmp_path, kind, saved):
    path = tmp_path / f"picture.{kind.lower()}"
    path.write_bytes(in_type(kind))
    page.choose_file(path)
    page.opened()
    assert page.text("#file") == f"{path.name} 60 × 50"
    page.add_step("histeq")
    page.shown("histeq")
    check_canvas(page, run_pixels(tmp_path, path, "histeq"))
    page.click("#save")
    page.wait("document.documentElement.dataset.saving?.startsWith('%s ')" % saved)
    assert not refuses(page)


@pytest.fixture
def truncated(photo, tmp_path):
    path = tmp_path / "torn photo.jpg"
    whole = io.BytesIO()
    Image.open(photo).save(whole, "JPEG", quality=90)
    path.write_bytes(whole.getvalue()[:len(whole.getvalue()) // 2])
    return path


def test_a_damaged_picture_is_opened_as_far_as_it_can_be_read(page, photo, truncated, tmp_path, axe):
    page.choose_file(photo)
    page.opened()
    page.choose_file(truncated)
    page.wait("document.querySelector('#notice strong')?.textContent === 'The picture is damaged'")
    assert page.text("#file") == ROCKET_IS_OPEN and "torn photo.jpg" in page.text("#notice")
    button = page.find("#notice button:not(.close)")
    assert button.text == "Open what can be read"
    axe(page, "#notice")
    button.click()
    page.wait("document.getElementById('file').textContent === 'torn photo.jpg 480 × 320'")
    assert not page.visible("#notice")
    out = tmp_path / "read.png"
    subprocess.run([BURIN, "run", "--damaged", "accept", str(truncated), str(out)], check=True, capture_output=True)
    check_canvas(page, np.array(Image.open(out).convert("RGB")))
    page.add_step("flip")
    page.shown("flip")
    check_canvas(page, np.array(Image.open(out).convert("RGB"))[::-1])
    lines = page.run("return [...document.querySelectorAll('.command pre')].map((e) => e.textContent)")
    assert "damaged=accept" in lines[0] and "--damaged accept" in lines[1]
    made = subprocess.run(["sh", "-c", lines[1]], cwd=tmp_path, env={"PATH": f"{BURIN.rpartition('/')[0]}:/usr/bin:/bin"}, capture_output=True, check=False)
    assert made.returncode == 0, made.stderr
    assert all("/pipeline" in line and "422" in line for line in refuses(page))


def test_what_the_daemon_has_read_is_the_users_file(page, photo, truncated):
    """Its row is marked as open, and the share that Save shows is of its own bytes."""
    page.choose_file(f"{photo}\n{truncated}")
    page.opened()
    page.click("#queue-list li:nth-child(2) button")
    page.wait("document.querySelector('#notice strong')?.textContent === 'The picture is damaged'")
    page.click("#notice button:not(.close)")
    page.wait("document.getElementById('file').textContent === 'torn photo.jpg 480 × 320'")
    assert page.run("return [...document.querySelectorAll('#queue-list button')].map((e) => e.ariaCurrent)") == ["false", "true"]
    page.click("#save")
    page.wait("document.getElementById('saving').getAttribute('aria-busy') === 'false' && document.documentElement.dataset.saving?.startsWith('jpeg ')")
    size = int(page.run("return document.documentElement.dataset.saving").split()[1])
    assert page.text("#saving-share") == f"{round(100 * size / truncated.stat().st_size)} % of the original"
    assert len(refuses(page)) == 1


def test_another_picture_is_read_first(page, photo, tmp_path):
    """Until it has been read, the open one stays; and reading can be cancelled. The sample is a picture like any other."""
    page.click("#open-sample")
    page.opened()
    assert "coffee.webp" in page.text("#file") and "480 × 320" in page.text("#file")
    page.add_step("histeq")
    page.shown("histeq")
    take_steps_away(page)
    page.choose_file(photo)
    page.opened()
    path = tmp_path / "other.png"
    Image.fromarray(smooth(90, 70)).save(path)
    page.add_step("flop")
    page.shown("flop")
    page.run("""const post = Worker.prototype.postMessage; window.later = [];
        Worker.prototype.postMessage = function (message, ...rest) {
            if (message.kind === 'open' && message.preview) later.push(() => post.call(this, message, ...rest));
            else post.call(this, message, ...rest); };""")
    page.run("""document.getElementById('file-input').addEventListener('change', () => (window.begun = performance.now()), { capture: true });
        new MutationObserver(() => (window.waited ??= performance.now() - begun)).observe(document.getElementById('busy'), { attributes: true });""")
    page.choose_file(path)
    page.wait("later.length === 1 && !document.getElementById('busy').hidden")
    assert page.text("#busy-text") == f"Reading {path.stat().st_size / 1000:.1f} kB…" and page.text("#file") == ROCKET_IS_OPEN
    assert page.run("return waited") >= 299, "what is read at once shows no bar"
    assert page.run("return document.getElementById('progress').hasAttribute('value')") is False
    page.click("#cancel")
    assert page.text("#status") == "Cancelled." and not page.visible("#busy")
    page.choose_file(path)
    page.wait("later.length === 2")
    page.run("later.forEach((send) => send())")
    page.wait("document.getElementById('file').textContent === 'other.png 90 × 70'")
    page.shown("flop")
    check_canvas(page, smooth(90, 70)[:, ::-1])
