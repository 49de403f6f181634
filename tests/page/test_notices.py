# SPDX-License-Identifier: Apache-2.0
"""Messages: each stands at its cause, names it, goes with the next change, and can be closed. The line below the picture is
about what is shown now.

covers: server/http/handle_document.c"""
import numpy as np
import pytest
from PIL import Image

from browser import needs_browser
from conftest import encode, operators, smooth
from window import check_canvas, run_pixels

pytest_plugins = "page_fixtures"
pytestmark = needs_browser


@pytest.fixture
def opened(page, photo):
    page.choose_file(photo)
    page.opened()
    yield page
    assert all("pipeline" in line["message"] for line in page.errors())


def title(page):
    page.wait("!document.getElementById('notice').hidden")
    return page.text("#notice strong")


def test_a_value_out_of_range(opened):
    opened.add_step("edge")
    opened.add_step("crop")
    opened.set_field("crop", "width", 481)
    assert title(opened) == "crop cannot take this width"
    assert opened.run("return document.getElementById('notice').closest('.field').querySelector('input').name") == "width"
    assert opened.run("return document.querySelector('.step[data-operator=crop] input[name=width]').ariaInvalid") == "true"
    opened.set_field("crop", "width", 100)
    opened.shown("edge;crop:width=100,height=160")
    assert not opened.visible("#notice") and not opened.run("return Boolean(document.querySelector('.step.wrong'))")


@pytest.mark.skipif("carve" not in operators(), reason="this program was built without carve")
def test_a_mask_of_another_size(opened, tmp_path):
    small, text = tmp_path / "small.png", tmp_path / "text.png"
    Image.new("L", (50, 40)).save(small)
    text.write_bytes(b"not a picture at all")
    opened.add_step("carve")
    opened.shown("carve")
    opened.find('.step input[name="rmask"]').send_keys(str(small))
    assert title(opened) == "The rmask has another size" and "50 x 40" in opened.text("#notice")
    where = "return document.getElementById('notice').closest('.field').querySelector('input').name"
    assert opened.run(where) == "rmask"
    opened.find('.step input[name="rmask"]').send_keys(str(text))
    opened.wait("document.querySelector('#notice strong')?.textContent === 'The rmask cannot be read'")
    assert opened.run(where) == "rmask"


def test_too_large_to_be_saved(page, tmp_path):
    """The message is at Save, and gone with the next thing that is done."""
    path = tmp_path / "large.png"
    path.write_bytes(encode(np.tile(smooth(256, 256), (17, 16, 1)), "PNG", compress_level=1))
    page.choose_file(path)
    page.opened()
    page.add_step("flip")
    page.shown("flip")
    page.run("const s = document.getElementById('save-type'); s.value = 'avif'; s.dispatchEvent(new Event('change'))")
    page.find("#save").click()
    assert title(page) == "Too large for AVIF" and page.text("#status") == "Not saved."
    assert page.run("return document.getElementById('notice').parentElement.contains(document.getElementById('save'))")
    box = page.run("const b = document.getElementById('notice').getBoundingClientRect(); return [b.left, b.right, b.bottom]")
    assert box[0] >= 0 and box[1] <= 1440 and box[2] < 400
    page.size(375, 812)
    page.wait("innerWidth === 375")
    assert page.run("const b = document.getElementById('notice').getBoundingClientRect(); return b.left >= 0 && b.right <= 375")
    page.run("const s = document.getElementById('save-type'); s.value = 'png'; s.dispatchEvent(new Event('change'))")
    page.find("#save").click()
    page.wait("document.getElementById('status').textContent === 'Saved as large-flip.png.'")
    assert not page.visible("#notice")
    (page.downloads / "large-flip.png").unlink(missing_ok=True)
    assert all("pipeline" in line["message"] for line in page.errors())


def test_a_message_can_be_closed(opened):
    opened.add_step("crop")
    opened.set_field("crop", "width", 481)
    title(opened)
    opened.find("#notice .close").click()
    assert not opened.visible("#notice")
    assert opened.run("return document.getElementById('notice').nextElementSibling.tagName") == "MAIN"


def test_too_large_a_result(opened):
    opened.add_step("zoom")
    opened.shown("zoom")
    opened.set_field("zoom", "times", 64)
    assert title(opened) == "zoom makes too large a picture"
    opened.run("document.querySelector('.step [aria-label^=Remove]').click()")
    assert not opened.visible("#notice") and opened.text("#status") == ""


def test_the_line_below_is_about_now(opened, photo, tmp_path):
    opened.add_step("histeq")
    opened.shown("histeq")
    assert opened.text("#status").startswith("Done: histeq")
    opened.run("document.querySelector('.step [aria-label^=Remove]').click()")
    assert opened.text("#status") == ""
    opened.add_step("flop")
    opened.shown("flop")
    other = tmp_path / "other.png"
    Image.fromarray(smooth(90, 70)).save(other)
    opened.choose_file(other)
    opened.wait("document.getElementById('file').textContent.startsWith('other.png')")
    opened.shown("flop")
    assert opened.text("#status").startswith("Done: flop")
    check_canvas(opened, run_pixels(tmp_path, other, "flop"))
