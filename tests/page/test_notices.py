# SPDX-License-Identifier: Apache-2.0
"""Messages: each stands at its cause, names it, goes with the next change, and can be closed. The line below the picture is
about what is shown now.

covers: server/http/handle_document.c"""
import pytest
from PIL import Image

from browser import needs_browser
from conftest import operators, smooth
from window import check_canvas, run_pixels, take_steps_away

pytest_plugins = "page_fixtures"
pytestmark = needs_browser


@pytest.fixture
def opened(page, photo):
    """For tests that make the daemon refuse something."""
    page.choose_file(photo)
    page.opened()
    yield page
    lines = [line["message"] for line in page.errors()]
    assert lines and all("pipeline" in line for line in lines), lines


def title(page):
    page.wait("!document.getElementById('notice').hidden")
    return page.text("#notice strong")


def test_a_value_out_of_range_and_too_large_a_result(opened):
    opened.add_step("edge")
    opened.add_step("crop")
    opened.set_field("crop", "width", 481)
    assert title(opened) == "crop cannot take this width"
    assert opened.run("return document.getElementById('notice').closest('.field').querySelector('input').name") == "width"
    assert opened.run("return document.querySelector('.step[data-operator=crop] input[name=width]').ariaInvalid") == "true"
    opened.set_field("crop", "width", 100)
    opened.shown("edge;crop:width=100,height=160")
    assert not opened.visible("#notice") and not opened.run("return Boolean(document.querySelector('.step.wrong'))")

    # A message can be closed.
    opened.set_field("crop", "width", 481)
    title(opened)
    opened.click("#notice .close")
    assert not opened.visible("#notice")
    assert opened.run("return document.getElementById('notice').nextElementSibling.tagName") == "MAIN"

    take_steps_away(opened)
    opened.add_step("zoom")
    opened.shown("zoom")
    opened.set_field("zoom", "times", 64)
    assert title(opened) == "zoom makes too large a picture"
    opened.run("document.querySelector('.step [aria-label^=Remove]').click()")
    assert not opened.visible("#notice") and opened.text("#status") == ""


@pytest.mark.skipif("carve" not in operators(), reason="this program was built without carve")
def test_a_mask_of_another_size(opened, tmp_path):
    """The page fits masks to what the step gets, so one that does not fit is put into its request."""
    mask, text = tmp_path / "mask.png", tmp_path / "text.png"
    Image.new("L", (480, 320)).save(mask)
    text.write_bytes(b"not a picture at all")  # of 20 bytes
    opened.add_step("crop")
    opened.set_field("crop", "width", 480)
    opened.set_field("crop", "height", 320)
    opened.add_step("carve")
    opened.shown("crop:width=480,height=320;carve")
    opened.find('.step input[name="rmask"]').send_keys(str(mask))
    opened.wait("document.querySelector('.mask:has([name=rmask]) .unit').textContent.includes('mask.png')")
    opened.run("""const real = window.fetch, [mask] = document.querySelector('.step input[name="rmask"]').files;
        window.fetch = (target, options) => {
            if (options?.body instanceof FormData && options.body.get('rmask')?.size !== 20) options.body.set('rmask', mask);
            return real(target, options); };""")
    opened.set_field("crop", "width", 440)
    assert title(opened) == "The rmask has another size" and "480 x 320" in opened.text("#notice")
    where = "return document.getElementById('notice').closest('.field').querySelector('input').name"
    assert opened.run(where) == "rmask"
    opened.find('.step input[name="rmask"]').send_keys(str(text))
    opened.wait("document.querySelector('#notice strong')?.textContent === 'The rmask cannot be read'")
    assert opened.run(where) == "rmask"


def test_the_line_below_is_about_now(page, photo, tmp_path):
    page.choose_file(photo)
    page.opened()
    page.add_step("histeq")
    page.shown("histeq")
    assert page.text("#status").startswith("Done: Auto contrast")
    page.run("document.querySelector('.step [aria-label^=Remove]').click()")
    assert page.text("#status") == ""
    page.add_step("flop")
    page.shown("flop")
    other = tmp_path / "other.png"
    Image.fromarray(smooth(90, 70)).save(other)
    page.choose_file(other)
    page.wait("document.getElementById('file').textContent.startsWith('other.png')")
    page.shown("flop")
    assert page.text("#status").startswith("Done: Mirror left-right")
    check_canvas(page, run_pixels(tmp_path, other, "flop"))
