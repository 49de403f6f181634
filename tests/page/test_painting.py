# SPDX-License-Identifier: Apache-2.0
"""Masks that are painted on the picture, chosen as files, undone and removed. What is painted is compared with the distance to the
strokes, and what comes out with `burin run` and the same mask.

covers: server/http/handle_document.c"""
import subprocess

import numpy as np
import pytest
from PIL import Image
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import needs_browser
from conftest import BURIN, operators, wait_until
from window import check_canvas, middle_pixels, run_pixels, take_steps_away

pytest_plugins = "page_fixtures"
pytestmark = [needs_browser, pytest.mark.skipif("carve" not in operators(), reason="this program was built without carve")]
WIDTH, HEIGHT = 480, 320
GREEN, RED = (0x1f, 0x8f, 0x47), (0xc8, 0x28, 0x1e)


@pytest.fixture
def opened(page, photo):
    """At its own size in the middle of the window."""
    page.choose_file(photo)
    page.opened()
    page.photo = photo
    return page


def corner(page):
    """Of the picture that is painted on, in the window."""
    return page.run("""const box = document.getElementById('canvas').getBoundingClientRect();
        return [box.left + Math.floor(box.width / 2 - arguments[0] / 2 + 0.5), box.top + Math.floor(box.height / 2 - arguments[1] / 2 + 0.5)];""",
                    WIDTH, HEIGHT)


def drag(page, *points):
    """With the mouse, by pixels of the picture."""
    left, top = corner(page)
    chain = ActionChains(page.driver, duration=0)
    for i, (x, y) in enumerate(points):
        chain.w3c_actions.pointer_action.move_to_location(round(left + x), round(top + y))
        if i == 0:
            chain.w3c_actions.pointer_action.pointer_down()
    chain.w3c_actions.pointer_action.pointer_up()
    chain.perform()


def brush(page, diameter):
    page.run("const size = document.querySelector('.painting [name=brush-size]'); size.value = arguments[0]; size.dispatchEvent(new Event('input'));", diameter)


def paint(page, part, diameter, *points):
    count = edit(page)
    if not page.run("return !document.querySelector('.painting').hidden"):
        page.run("document.querySelector(`.mask:has([name=${arguments[0]}]) .paint`).click()", part)
        page.wait("!document.querySelector('.painting').hidden")
    page.run("document.querySelector(`.painting [name=paint-${arguments[0]}]`).click()", part)
    brush(page, diameter)
    drag(page, *points)
    page.wait(f"(history.state?.edit ?? 0) === {count + 1}", "the stroke is an edit")


def edit(page):
    return page.run("return history.state?.edit ?? 0")


def saved(page, part):
    """The mask's samples, from the file that the page hands out; None: there is none."""
    if not page.visible(f".mask:has([name={part}]) .mask-buttons [aria-label='Save {part}']"):
        return None
    path = page.downloads / page.text(f".mask:has([name={part}]) .unit").strip()
    page.run("document.querySelector(`[aria-label='Save ${arguments[0]}']`).click()", part)
    assert wait_until(lambda: path.exists() and path.stat().st_size)
    kept = path.with_name(f"kept-{part}.png")
    path.rename(kept)
    image = Image.open(kept)
    assert image.mode == "L" and image.format == "PNG"
    return np.array(image)


def near(points, radius, shape=(HEIGHT, WIDTH)):
    """Distances of all pixels to the rim of the strokes through the points."""
    y, x = np.mgrid[:shape[0], :shape[1]] + 0.5
    least = np.full(shape, np.inf)
    for (x0, y0), (x1, y1) in zip(points, points[1:] or points):
        length = (x1 - x0) ** 2 + (y1 - y0) ** 2
        share = np.clip(((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length, 0, 1) if length else 0
        least = np.minimum(least, np.hypot(x - x0 - share * (x1 - x0), y - y0 - share * (y1 - y0)))
    return least - radius


def check_mask(mask, points, radius):
    """A pixel at the rim may be in or out."""
    far = near(points, radius, mask.shape)
    assert (mask[far < -0.01] == 255).all() and (mask[far > 0.01] == 0).all()


def done(page, text):
    page.run("document.querySelector('.painting [name=done]').click()")
    page.shown(text)
    page.wait("document.getElementById('status').textContent.startsWith('Done')")


def carved(tmp_path, photo, step, *options):
    out = tmp_path / "expected.png"
    subprocess.run([BURIN, "run", step, *options, "--device", "cpu", str(photo), str(out)], check=True, capture_output=True)
    return np.array(Image.open(out).convert("RGB"))


# The next file of a mask is made when goOn is called; or if `fails`, not at all.
SLOWLY = """(() => {
    const { prototype } = page.brush.masks.held.get('rmask').mask.constructor, real = prototype.file;
    window.goOn = null;
    prototype.file = async function (name) {
        prototype.file = real;
        await new Promise((resolve) => { window.goOn = resolve; });
        if (window.fails) throw new Error('no memory');
        return real.call(this, name);
    }; })()"""


def test_remove_an_object_and_keep_another(opened, photo, tmp_path):
    """One press in the palette, a stroke, and the picture has closed, at its own size. Both in their colours; a pixel is in one of them. The eraser takes from both."""
    page = opened
    page.find("#palette-search").send_keys("remove", Keys.ENTER)
    page.wait("!document.querySelector('.painting').hidden")
    assert page.run("return document.activeElement.name") == "brush-size"
    points = [(200, 90), (216, 180), (205, 230)]
    paint(page, "rmask", 30, *points)
    mask = saved(page, "rmask")
    check_mask(mask, points, 15)
    done(page, "carve")
    check_canvas(page, carved(tmp_path, photo, "carve", "--rmask", str(page.downloads / "kept-rmask.png")))

    take_steps_away(page)
    page.add_step("carve")
    page.set_field("carve", "dx", -60)
    paint(page, "mask", 40, (100, 60), (100, 260))
    paint(page, "rmask", 40, (60, 160), (300, 160))
    keep, remove = saved(page, "mask"), saved(page, "rmask")
    check_mask(remove, [(60, 160), (300, 160)], 20)
    only = near([(100, 60), (100, 260)], 20) < -0.01
    assert (keep[only & (remove == 0)] == 255).all() and not (keep & remove).any()
    shown = middle_pixels(page, WIDTH, HEIGHT)[:, :, :3].astype(float)
    source = np.array(Image.open(photo)).astype(float)
    for mask, colour in ((keep, GREEN), (remove, RED)):
        inside = np.abs(shown - (0.45 * source + 0.55 * np.array(colour)))[mask == 255]
        assert inside.max() <= 2
    assert (shown == source)[(keep | remove) == 0].all()
    page.run("document.querySelector('.painting [name=paint-none]').click()")
    count = edit(page)
    drag(page, (100, 100), (280, 160))
    page.wait(f"history.state.edit === {count + 1}")
    gone = near([(100, 100), (280, 160)], 20) < -0.01
    keep, remove = saved(page, "mask"), saved(page, "rmask")
    assert keep.any() and remove.any() and not keep[gone].any() and not remove[gone].any()
    done(page, "carve:dx=-60")
    files = [word for part in ("mask", "rmask") for word in (f"--{part}", str(page.downloads / f"kept-{part}.png"))]
    check_canvas(page, carved(tmp_path, photo, "carve:dx=-60", *files))


def test_a_stroke_is_an_edit(opened):
    page = opened
    page.add_step("carve")
    first, second = [(50, 50), (90, 60)], [(300, 200), (350, 250)]
    paint(page, "rmask", 20, *first)
    paint(page, "rmask", 20, *second)
    both = saved(page, "rmask")
    page.click("#undo")
    one = saved(page, "rmask")
    check_mask(one, first, 10)
    paint(page, "rmask", 20, (200, 100), (240, 100))  # on what undo has restored
    third = saved(page, "rmask")
    assert (third[one == 255] == 255).all() and third[100, 220] == 255 and not third[near(second, 9) < 0].any()
    for _ in range(2):
        page.click("#undo")
    page.wait("!document.querySelector('.mask:has([name=rmask]) .unit').textContent.includes('png')")
    assert saved(page, "rmask") is None and not page.run("return document.querySelector('.painting').hidden")
    page.click("#redo")
    assert (saved(page, "rmask") == one).all() and (both != one).any()
    page.run("document.querySelector('.painting [name=clear]').click()")
    page.wait("document.querySelector('[aria-label=\"Save rmask\"]').hidden")
    page.click("#undo")
    page.wait("!document.querySelector('[aria-label=\"Save rmask\"]').hidden")
    page.click("#undo")
    page.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert page.run("return document.querySelector('.painting').hidden")

    # Also one that is not kept yet.
    take_steps_away(page)
    page.add_step("carve")
    first, second = [(50, 50), (90, 60)], [(300, 200), (350, 250)]
    paint(page, "rmask", 20, *first)
    one, count = saved(page, "rmask"), edit(page)
    page.state(SLOWLY)
    drag(page, *second)
    page.wait("Boolean(window.goOn)")
    page.run("document.getElementById('undo').click(); goOn()")
    page.wait("!document.getElementById('redo').disabled")
    assert (saved(page, "rmask") == one).all() and edit(page) in (count, count + 1)  # the browser follows later
    page.click("#redo")
    both = saved(page, "rmask")
    assert (both[one == 255] == 255).all() and (both[near(second, 9) < 0] == 255).all()
    page.wait(f"history.state.edit === {count + 1}")
    page.state(SLOWLY)
    drag(page, (200, 100), (240, 100))
    page.wait("Boolean(window.goOn)")
    page.driver.back()  # does not wait: the stroke belongs to a plan that is no longer there
    page.wait(f"history.state.edit === {count}")
    page.run("goOn()")
    page.state("page.brush.masks.keeping")
    assert (saved(page, "rmask") == one).all() and edit(page) == count
    paint(page, "rmask", 20, (400, 60), (420, 60))
    assert not saved(page, "rmask")[near([(200, 100), (240, 100)], 10) < 0].any()


def test_a_file_of_another_size(opened, photo, tmp_path):
    """It is scaled to the picture, the page says so, and it is shown over the picture before."""
    page = opened
    small = np.zeros((32, 48), np.uint8)
    small[:, 20:24] = 255
    path = tmp_path / "small.png"
    Image.fromarray(small).save(path)
    page.add_step("carve")
    page.set_field("carve", "dx", -20)
    page.shown("carve:dx=-20")
    page.find('.step input[name="rmask"]').send_keys(str(path))
    page.wait("document.querySelector('.mask:has([name=rmask])').textContent.includes('Fitted from 48 × 32.')")
    mask = saved(page, "rmask")
    assert mask.shape == (HEIGHT, WIDTH) and set(np.unique(mask)) == {0, 255}
    assert (mask[:, 205:235] == 255).all() and not mask[:, :195].any() and not mask[:, 245:].any()
    page.shown("carve:dx=-20")
    page.wait("document.getElementById('status').textContent.startsWith('Done')")
    frame = page.run("const box = document.getElementById('frame-before').getBoundingClientRect(), c = document.getElementById('canvas').getBoundingClientRect();"
                     "return [box.left - c.left, box.top - c.top, box.width, box.height]")
    left, top, width, height = (round(x) for x in frame)

    def is_red():
        data = np.frombuffer(page.canvas_pixels(left, top, width, height), np.uint8).reshape(height, width, 4)
        middle = data[10:-10, width * 220 // WIDTH, :3].astype(float) - np.array(RED, float) * 0.55
        return middle.min() >= -2 and middle.max() <= 0.45 * 255 + 2

    assert wait_until(is_red)  # the page reads the mask for itself
    check_canvas(page, carved(tmp_path, photo, "carve:dx=-20", "--rmask", str(page.downloads / "kept-rmask.png")))
    page.run("document.querySelector('[aria-label=\"Remove rmask\"]').click()")
    page.wait("document.querySelector('[aria-label=\"Save rmask\"]').hidden")
    page.shown("carve:dx=-20")
    page.wait("document.getElementById('status').textContent.startsWith('Done')")
    check_canvas(page, run_pixels(tmp_path, photo, "carve:dx=-20"))

    # The file that is chosen last stays, also if the one before takes longer to be read.
    take_steps_away(page)
    for name, column in (("first", 5), ("last", 25)):
        small = np.zeros((32, 48), np.uint8)
        small[:, column:column + 10] = 255
        Image.fromarray(small).save(tmp_path / f"{name}.png")
    page.add_step("carve")
    page.run("""const real = window.createImageBitmap; window.createImageBitmap = async (...all) => {
        if (all[0].name === 'first.png') await new Promise((resolve) => { window.goOn = resolve; });
        window.read = all[0].name;
        return real(...all); };""")
    for name in ("first", "last"):
        page.find('.step input[name="rmask"]').send_keys(str(tmp_path / f"{name}.png"))
    page.wait("document.querySelector('.mask:has([name=rmask]) .unit').textContent.includes('last.png')")
    page.run("goOn()")
    page.wait("window.read === 'first.png'")
    page.driver.execute_async_script("setTimeout(arguments[0], 300)")
    assert page.text(".mask:has([name=rmask]) .unit").strip() == "last.png"


def test_a_mask_follows_the_size_that_its_step_gets(opened, photo, tmp_path):
    """A chosen file and a painted one; back at the first size nothing is lost, not even a line of one pixel."""
    page = opened
    keep = np.zeros((HEIGHT, WIDTH), np.uint8)
    keep[:, 100:140], keep[:, 301] = 255, 255
    path = tmp_path / "keep.png"
    Image.fromarray(keep).save(path)
    page.add_step("resize")
    page.run("document.querySelector('.step .lock input').click()")
    page.set_field("resize", "height", "")
    page.set_field("resize", "width", WIDTH)
    page.add_step("carve")
    page.set_field("carve", "dx", -20)
    page.find('.step input[name="mask"]').send_keys(str(path))
    points = [(200, 90), (216, 180)]
    page.shown(f"resize:width={WIDTH};carve:dx=-20")
    paint(page, "rmask", 30, *points)
    first = {part: saved(page, part) for part in ("mask", "rmask")}
    assert (first["mask"] == np.where(first["rmask"], 0, keep)).all()
    page.click(".painting [name=done]")
    page.set_field("resize", "width", WIDTH // 2)
    page.shown(f"resize:width={WIDTH // 2};carve:dx=-20")
    page.wait("document.getElementById('status').textContent.startsWith('Done')")
    assert page.text(".mask:has([name=rmask]) .help").startswith(f"Fitted from {WIDTH} × {HEIGHT}.")
    small = {part: saved(page, part) for part in ("mask", "rmask")}
    assert all(mask.shape == (HEIGHT // 2, WIDTH // 2) for mask in small.values())
    far = near([(x / 2, y / 2) for x, y in points], 7.5, (HEIGHT // 2, WIDTH // 2))
    assert (small["rmask"][far < -1] == 255).all() and not small["rmask"][far > 1].any()
    assert (small["mask"] == keep[::2, ::2])[:, :140][far[:, :140] > 1].all()
    files = [word for part in small for word in (f"--{part}", str(page.downloads / f"kept-{part}.png"))]
    out = tmp_path / "expected.png"
    subprocess.run([BURIN, "run", f"resize:width={WIDTH // 2}", "carve:dx=-20", *files, "--device", "cpu", str(photo), str(out)], check=True)
    check_canvas(page, np.array(Image.open(out).convert("RGB")))
    page.click("#undo")
    for _ in range(2):
        page.shown(f"resize:width={WIDTH};carve:dx=-20")
        assert all((saved(page, part) == mask).all() for part, mask in first.items())
        page.set_field("resize", "width", WIDTH // 2)
        page.shown(f"resize:width={WIDTH // 2};carve:dx=-20")
        page.set_field("resize", "width", WIDTH)
    page.click("#undo")


def test_a_mask_stays_where_it_is_on_the_picture(opened, photo, tmp_path):
    """A part that is cut out has the mask of that part; also a painted one, and a part of the same size at another place."""
    page = opened
    keep = np.zeros((HEIGHT, WIDTH), np.uint8)
    keep[50:70, 100:140], keep[200, 301] = 255, 255
    path = tmp_path / "keep.png"
    Image.fromarray(keep).save(path)
    page.add_step("crop")
    page.set_field("crop", "height", HEIGHT)
    page.set_field("crop", "width", WIDTH)
    page.add_step("carve")
    page.set_field("carve", "dx", -20)
    page.find('.step input[name="mask"]').send_keys(str(path))
    page.shown(f"crop:width={WIDTH},height={HEIGHT};carve:dx=-20")
    paint(page, "rmask", 30, (300, 90), (316, 180))
    first = {part: saved(page, part) for part in ("mask", "rmask")}
    page.click(".painting [name=done]")
    for gravity, left in (("", 20), ("west", 0), ("east", 40)):
        page.set_field("crop", "width", WIDTH - 40)
        page.run("document.querySelector(`.step[data-operator=crop] [value=${arguments[0]}]`).click()", gravity or "centre")
        text = f"crop:width={WIDTH - 40},height={HEIGHT}" + (f",gravity={gravity}" if gravity else "") + ";carve:dx=-20"
        page.shown(text)
        page.wait("document.getElementById('status').textContent.startsWith('Done')")
        now = {part: saved(page, part) for part in first}
        assert all((now[part] == first[part][:, left:left + WIDTH - 40]).all() for part in first), gravity
        files = [word for part in now for word in (f"--{part}", str(page.downloads / f"kept-{part}.png"))]
        check_canvas(page, carved(tmp_path, photo, text.split(";")[0], "carve:dx=-20", *files))
    page.set_field("crop", "width", WIDTH)
    page.shown(f"crop:width={WIDTH},height={HEIGHT},gravity=east;carve:dx=-20")
    assert all((saved(page, part) == mask).all() for part, mask in first.items())


def test_a_finger_paints_and_two_move_the_picture(opened):
    page = opened
    page.add_step("carve")
    page.run("document.querySelector('.mask:has([name=mask]) .paint').click()")
    page.wait("!document.querySelector('.painting').hidden")
    brush(page, 24)
    left, top = corner(page)
    count = edit(page)
    for kind, points in (("touchStart", [(60, 70)]), ("touchMove", [(120, 90)]), ("touchEnd", [])):
        page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": left + x, "y": top + y} for x, y in points]})
    page.wait(f"history.state.edit === {count + 1}")
    mask = saved(page, "mask")
    assert (mask[near([(60, 70), (120, 90)], 11) < 0] == 255).all() and not mask[near([(60, 70), (120, 90)], 13) > 0].any()
    page.click(".painting [name=done]")

    # Two fingers move the picture, and what the first one has painted until then is gone.
    take_steps_away(page)
    page.add_step("carve")
    page.run("document.querySelector('.mask:has([name=mask]) .paint').click()")
    page.wait("!document.querySelector('.painting').hidden")
    left, top = corner(page)
    count = edit(page)

    def touch(kind, *points):
        fingers = [{"x": left + x, "y": top + y, "id": i} for i, (x, y) in enumerate(points)]
        page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})

    touch("touchStart", (100, 100))
    touch("touchMove", (110, 100))
    touch("touchStart", (110, 100), (210, 100))
    touch("touchMove", (60, 100), (260, 100))
    touch("touchEnd")
    page.wait("parseFloat(document.getElementById('zoom').textContent) > 150")
    assert edit(page) == count and saved(page, "mask") is None
    page.click("#zoom-fit")
    assert (middle_pixels(page, WIDTH, HEIGHT)[:, :, :3] == np.array(Image.open(page.photo))).all()


def test_a_mask_that_cannot_be_written_is_written_with_the_next(opened, photo, tmp_path):
    page = opened
    page.add_step("carve")
    first, second = [(50, 50), (90, 60)], [(300, 200), (350, 250)]
    paint(page, "rmask", 20, (200, 100), (240, 100))
    page.shown("carve")  # a result that comes later would take the message away
    page.run("window.fails = true")
    page.state(SLOWLY)
    drag(page, *first)
    page.wait("Boolean(window.goOn)")
    page.run("goOn()")
    page.wait("document.getElementById('notice').textContent.includes('No memory')")
    paint(page, "rmask", 20, *second)
    mask = saved(page, "rmask")
    assert (mask[near(first, 9) < 0] == 255).all() and (mask[near(second, 9) < 0] == 255).all()

    # What is painted on is the picture that the step gets.
    page.click(".painting [name=done]")
    take_steps_away(page)
    page.add_step("crop")
    page.set_field("crop", "height", 200)
    page.set_field("crop", "width", 300)
    page.add_step("carve")
    page.set_field("carve", "dx", -30)
    page.shown("crop:width=300,height=200;carve:dx=-30")
    paint(page, "rmask", 20, (240, 160))
    assert (middle_pixels(page, 300, 200)[:80, :, :3] == run_pixels(tmp_path, photo, "crop:width=300,height=200")[:80]).all()
    mask = saved(page, "rmask")
    assert mask.shape == (200, 300)
    check_mask(mask, [(240 - 90, 160 - 60)], 10)  # the cut is in the middle
    done(page, "crop:width=300,height=200;carve:dx=-30")
    out = tmp_path / "expected.png"
    subprocess.run([BURIN, "run", "crop:width=300,height=200", "carve:dx=-30", "--rmask", str(page.downloads / "kept-rmask.png"), "--device", "cpu",
                    str(photo), str(out)], check=True, capture_output=True)
    check_canvas(page, np.array(Image.open(out).convert("RGB")))


def test_paint_is_pressed_twice_and_left_by_escape(opened):
    """The second press ends the request of the first. Escape closes one thing, and the focus goes back."""
    page = opened
    page.add_step("carve")
    page.run("document.querySelector('.mask:has([name=rmask]) .paint').click()")
    page.wait("!document.querySelector('.painting').hidden")
    page.click("#save")
    page.wait("document.getElementById('saving').matches(':popover-open')")
    page.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert page.run("return document.getElementById('saving').matches(':popover-open')") is False
    assert page.visible(".painting")
    page.click(".painting [name=done]")
    assert not page.visible(".painting")
    assert page.run("return document.activeElement === document.querySelector('.mask:has([name=rmask]) .paint')")

    take_steps_away(page)
    page.add_step("blur")
    page.add_step("carve")
    page.shown("blur;carve")
    page.run("""window.signals = []; const real = window.fetch; window.fetch = async (target, options) => {
        if (options?.method === 'POST') {
            signals.push(options.signal);
            await new Promise((resolve) => setTimeout(resolve, 200));
        }
        return real(target, options); };""")
    page.run("for (const button of document.querySelectorAll('.mask .paint')) button.click()")
    page.wait("!document.querySelector('.painting').hidden")
    assert page.run("return signals.map((signal) => signal?.aborted)") == [True, False]
    assert page.run("return [...document.querySelectorAll('.mask .paint')].map((e) => e.ariaPressed)") == ["false", "true"]
