# SPDX-License-Identifier: Apache-2.0
"""The panel of Save: the size that it shows is the file's, the file is what `burin run` writes with the same options, and the
command lines beside it write the same.

covers: server/http/handle_document.c"""
import base64
import io
import os
import re
import subprocess

import numpy as np
import pytest
from PIL import Image

from browser import needs_browser
from conftest import BURIN, Daemon, encode, noise, smooth, wait_until
from test_page_browser import in_sight
from window import check_canvas, run_pixels, take_steps_away

pytest_plugins = "page_fixtures"
pytestmark = needs_browser

ASKS_TO_SAVE = "return !dispatchEvent(new Event('beforeunload', { cancelable: true }))"
ENDINGS = {"png": "png", "jpeg": "jpg", "webp": "webp", "avif": "avif", "gif": "gif", "pnm": "pnm"}


def choose(page, **choices):
    """Like a person who sets these fields of the panel."""
    for name, value in choices.items():
        if name == "type":
            page.run("document.querySelector(`#save-type input[value=${arguments[0]}]`).click()", value)
        elif isinstance(value, bool):
            page.click(f"#save-{name}")
        else:
            page.run("""const box = document.getElementById('save-' + arguments[0]);
                box.focus(); box.value = arguments[1];
                for (const name of ['input', 'change']) box.dispatchEvent(new Event(name, { bubbles: true }));""", name, str(value))


def size_shown(page, kind):
    """Waits until the panel shows the size of a file of that type; returns the bytes."""
    page.wait("document.getElementById('saving').getAttribute('aria-busy') === 'false' && "
              f"document.documentElement.dataset.saving?.startsWith('{kind} ')", f"the size as {kind}")
    return int(page.run("return document.documentElement.dataset.saving").split()[1])


def downloaded(page, name):
    """The bytes of the file that a press of Download gives."""
    path = page.downloads / name
    page.click("#download")
    assert wait_until(lambda: path.exists() and path.stat().st_size), list(page.downloads.iterdir())
    data = path.read_bytes()
    path.unlink()
    return data


def written(source, out, *words):
    """What `burin run` writes."""
    subprocess.run([BURIN, "run", *words, str(source), str(out)], check=True, capture_output=True)
    return out.read_bytes()


# Each list on one page, which keeps a choice for all types that have the option.
OPTIONS = [
    [("png", {}, []), ("jpeg", {}, []), ("pnm", {}, []), ("gif", {}, []), ("avif", {"effort": 0}, ["--effort", "0"]),
     ("webp", {"quality": 60, "effort": 1}, ["--quality", "60", "--effort", "1"]), ("png", {"compression": 3}, ["--compression", "3"]),
     ("jpeg", {"quality": 40}, ["--quality", "40"])],
    [("jpeg", {"progressive": True}, ["--progressive", "true"]), ("webp", {"lossless": True}, ["--lossless", "true"])],
    [("png", {"palette": True}, ["--palette", "true"]), ("png", {"colors": 40}, ["--palette", "true", "--colors", "40"])],
    [("jpeg", {"max_bytes": 12.5}, ["--max-bytes", "12500"])],
]


@pytest.mark.parametrize("options", OPTIONS, ids=["usual", "switches", "palette", "bytes"])
def test_what_is_saved_is_what_is_shown(page, photo, tmp_path, options):
    page.choose_file(photo)
    page.opened()
    page.add_step("histeq")
    for bins, (kind, choices, words) in zip(range(256, 0, -1), options):
        case = (kind, choices)
        page.set_field("histeq", "bins", bins)  # a result that is not saved yet
        step = "histeq" if bins == 256 else f"histeq:bins={bins}"
        page.shown(step)
        assert page.run(ASKS_TO_SAVE), case
        page.click("#save")
        choose(page, type=kind, **choices)
        size = size_shown(page, kind)
        data = downloaded(page, f"rocket-histeq.{ENDINGS[kind]}")
        assert data == written(photo, tmp_path / f"expected.{ENDINGS[kind]}", step, *words), case
        assert len(data) == size, case
        number, unit = page.text("#saving-size").split()
        assert abs(float(number) * {"B": 1, "kB": 1e3, "MB": 1e6}[unit] / size - 1) < 0.005, case
        percent = float(re.match(r"([\d.]+) % of the original", page.text("#saving-share"))[1])
        assert abs(percent - 100 * size / photo.stat().st_size) <= 0.5, case
        assert not page.run(ASKS_TO_SAVE), ("it is saved: no question", case)
        page.click("#saving-close")


def test_each_type_has_its_options(page, daemon, photo, tmp_path):
    """The fields are those that the daemon names for the type, with its ranges and defaults."""
    page.choose_file(photo)
    page.opened()
    page.click("#save")
    described = daemon.get("/openapi.json").json["components"]["parameters"]
    titles = {"png": "PNG", "jpeg": "JPEG", "webp": "WebP", "avif": "AVIF", "gif": "GIF", "pnm": "PNM"}
    for kind, title in titles.items():
        choose(page, type=kind)
        shown = set(page.run("return [...document.querySelectorAll('#saving-fields [data-option]:not([hidden])')].map((e) => e.dataset.option)"))
        assert shown == {name for name in ("quality", "compression", "progressive", "lossless", "effort", "max_bytes", "palette")
                         if re.search(rf"\b{title}\b", described[name]["description"])}
        for name in shown - {"max_bytes"}:
            schema = described[name]["schema"]
            box = page.run("const e = document.getElementById('save-' + arguments[0]); return [e.type, e.min, e.max, e.value, e.checked]", name)
            if schema["type"] == "boolean":
                assert box[0] == "checkbox" and box[4] == schema["default"]
            else:
                assert [int(text) for text in box[1:4]] == [schema["minimum"], schema["maximum"], schema["default"]]
    choose(page, type="webp", lossless=True)
    assert not page.visible('[data-option="quality"]') and not page.visible('[data-option="max_bytes"]')

    # Steps that only report leave the picture.
    page.add_step("mean")
    page.shown("mean")
    choose(page, type="jpeg")
    size_shown(page, "jpeg")
    data = downloaded(page, "rocket.jpg")
    assert data == written(photo, tmp_path / "expected.jpg")
    assert (np.array(Image.open(tmp_path / "expected.jpg")).shape) == run_pixels(tmp_path, photo).shape


def test_converting_needs_no_step(page, photo, tmp_path):
    page.choose_file(photo)
    page.opened()
    page.click("#save")
    assert size_shown(page, "png") > 0
    choose(page, type="webp", quality=50)
    size = size_shown(page, "webp")
    page.wait("document.documentElement.dataset.looked?.startsWith('webp ')", "the viewer shows the file")
    page.wait("document.getElementById('label-after').textContent === 'WebP, quality 50'")  # written with the next frame
    assert page.text("#label-before") == "Input"
    data = downloaded(page, "rocket.webp")
    assert data == written(photo, tmp_path / "expected.webp", "--quality", "50") and len(data) == size
    page.click("#saving-close")
    assert page.run("return document.activeElement.id") == "save"
    page.wait("document.getElementById('label-after').hidden", "the panel's picture goes with it")

    # After a drag the file of the new value is shown, not one that the full result replaces at once.
    page.add_step("brightness")
    page.click("#save")
    choose(page, type="jpeg", quality=40)
    size_shown(page, "jpeg")
    page.wait("document.getElementById('label-after').textContent === 'JPEG, quality 40'")
    page.run("""const box = document.querySelector('.step[data-operator=brightness] input[name=shift]');
        box.focus(); box.value = 50; box.dispatchEvent(new Event('input', { bubbles: true }));""")
    page.shown("brightness:shift=50")
    page.wait("document.getElementById('label-after').textContent === 'JPEG, quality 40'")


def test_the_last_choice_wins(page, photo):
    """The daemon is asked once for values that follow each other, and an answer that is not wanted any more is not shown."""
    page.choose_file(photo)
    page.opened()
    page.click("#save")
    choose(page, type="jpeg")
    size_shown(page, "jpeg")
    page.run("""window.asked = []; const real = window.firstFetch = window.fetch;
        window.fetch = async (target, options) => {
            if (!(options?.body instanceof FormData)) return real(target, options);
            const quality = Number(options.body.get('quality'));
            asked.push([quality, options.signal]);
            const answer = await real(target, { ...options, signal: undefined }); // the end of a request comes too late
            if (quality === 30) await new Promise((go) => { window.late = go; });
            return answer;
        };
        const slider = document.querySelector('[data-option=quality] input[type=range]');
        for (const value of [70, 50, 30]) { slider.value = value; slider.dispatchEvent(new Event('input', { bubbles: true })); }""")
    page.wait("asked.length === 1")
    page.run("const slider = document.querySelector('[data-option=quality] input[type=range]'); slider.value = 90;"
             "slider.dispatchEvent(new Event('change', { bubbles: true }))")
    page.wait("asked.length === 2")
    size = size_shown(page, "jpeg")
    assert page.run("return asked.map(([quality, signal]) => [quality, signal.aborted])") == [[30, True], [90, False]]
    page.wait("Boolean(window.late)")
    page.run("late()")
    page.driver.execute_async_script("setTimeout(arguments[0], 300)")
    assert size_shown(page, "jpeg") == size
    assert len(downloaded(page, "rocket.jpg")) == size

    # While the daemon has not been asked for the next choice, too.
    page.run("""window.late = null; const real = window.firstFetch;
        window.fetch = async (target, options) => {
            const answer = await real(target, options);
            if (options?.body instanceof FormData && options.body.get('quality') === '30') await new Promise((go) => { window.late = go; });
            return answer;
        };""")
    choose(page, quality=30)
    page.wait("Boolean(window.late)")
    page.run("""window.sizes = []; const panel = document.getElementById('saving');
        new MutationObserver(() => {
            if (panel.getAttribute('aria-busy') === 'false') sizes.push(document.documentElement.dataset.saving);
        }).observe(panel, { attributes: true, attributeFilter: ['aria-busy'] });
        const slider = document.querySelector('[data-option=quality] input[type=range]');
        slider.value = 90; slider.dispatchEvent(new Event('change', { bubbles: true })); late();""")
    page.wait("sizes.length")
    assert page.run("return sizes") == [f"jpeg {len(downloaded(page, 'rocket.jpg'))}"]


def test_the_choice_stays(page, photo, tmp_path):
    """For the next picture; without a choice each picture keeps its type."""
    other = tmp_path / "other.jpg"
    other.write_bytes(encode(smooth(60, 50), "JPEG", quality=90))
    page.choose_file(photo)
    page.opened()
    page.click("#save")
    size_shown(page, "png")
    page.choose_file(other)
    page.wait("document.getElementById('file').textContent.startsWith('other.jpg')")
    size_shown(page, "jpeg")
    choose(page, quality=33)
    size_shown(page, "jpeg")
    page.choose_file(photo)
    page.wait("document.getElementById('file').textContent.startsWith('rocket.png')")
    size_shown(page, "jpeg")
    assert downloaded(page, "rocket.jpg") == written(photo, tmp_path / "expected.jpg", "--quality", "33")


REFUSALS = [
    ("webp", {}, (17000, 4), "Too large for WebP", "16383"),
    ("jpeg", {"max_bytes": 0.3}, (300, 200), "Does not fit into 300 B", "quality 10"),
]


def test_why_it_cannot_be_saved(page, tmp_path, axe):
    """The cause stands in the panel, in sight on a telephone too, and goes with the next choice."""
    for kind, choices, size, title, detail in REFUSALS:
        if kind == "jpeg":
            page.size(375, 812)
        path = tmp_path / f"for-{kind}.png"
        path.write_bytes(encode(smooth(*size), "PNG"))
        page.choose_file(path)
        page.opened()
        page.click("#save")
        choose(page, type=kind, **choices)
        page.wait("document.querySelector('#saving-problem strong')", f"why it cannot be {kind}")
        assert page.text("#saving-problem strong") == title and detail in page.text("#saving-problem span")
        assert page.find("#download").get_property("disabled") and not page.visible("#notice")
        assert in_sight(page, "#saving-problem strong")
        covers = page.run("return innerWidth < 700")
        assert page.run("return document.getElementById('add-step').checkVisibility({ visibilityProperty: true })") != covers
        if kind == "jpeg":
            axe(page, "#saving")
        page.run("delete document.documentElement.dataset.saving")  # of the picture before
        choose(page, type="png")
        assert size_shown(page, "png") > 0
        assert page.text("#saving-problem") == ""
        assert all("pipeline" in line["message"] and "422" in line["message"] for line in page.errors())
        page.click("#saving-close")


def test_too_large_for_avif(site, photo):
    page = site
    daemon = Daemon("--cpu-memory-bytes", "12000000", "--codec-memory-bytes", "1000000")  # a quarter is for 100000 pixels
    try:
        page.open_page(f"http://127.0.0.1:{daemon.port}/")
        page.choose_file(photo)
        page.opened()
        page.click("#save")
        choose(page, type="avif")
        page.wait("document.querySelector('#saving-problem strong')")
        assert page.text("#saving-problem strong") == "Too large for AVIF" and "at most 100000" in page.text("#saving-problem span")
        assert all("422" in line["message"] for line in page.errors())
    finally:
        daemon.stop()


def test_slow_steps_are_not_run_again(page, tmp_path):
    """Another quality of a carved picture is made from the output; the bytes are the same as those of steps and encoding together."""
    path = tmp_path / "large.png"
    path.write_bytes(encode(noise(900, 700, 3), "PNG"))
    page.choose_file(path)
    page.opened()
    page.run("""const parse = JSON.parse; JSON.parse = (...all) => { // the daemon reports that computing took a second
        const value = parse(...all); if (value?.ms?.compute !== undefined) value.ms.compute = 1000; return value; };""")
    page.add_step("carve")
    page.set_field("carve", "dx", -300)
    page.shown("carve:dx=-300")
    page.run("window.plans = []; const real = window.fetch; window.fetch = (target, options) => {"
             "if (options?.body instanceof FormData) plans.push(options.body.has('operations')); return real(target, options); };")
    page.click("#save")
    choose(page, type="jpeg", quality=50)
    size_shown(page, "jpeg")
    assert downloaded(page, "large-carve.jpg") == written(path, tmp_path / "expected.jpg", "carve:dx=-300", "--quality", "50")
    assert page.run("return plans") == [False]


@pytest.fixture
def clipboard(page):
    """The page may use the system's clipboard. Returns what reads the picture in it, as RGB."""
    facts = {"origin": page.url.rstrip("/"), "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    page.driver.execute_cdp_cmd("Browser.grantPermissions", facts)
    yield lambda: np.array(Image.open(io.BytesIO(base64.b64decode(page.driver.execute_async_script("""const done = arguments[0];
        navigator.clipboard.read().then(async ([item]) => {
            const reader = new FileReader();
            reader.onload = () => done(reader.result.split(',')[1]);
            reader.readAsDataURL(await item.getType('image/png'));
        }, (error) => done(String(error)));""")))).convert("RGB"))
    page.driver.execute_cdp_cmd("Browser.resetPermissions", {})


def test_copy_and_paste(page, clipboard, photo, tmp_path):
    """Into the real clipboard, as a PNG whatever type is chosen; where that is not allowed, the button says so."""
    page.choose_file(photo)
    page.opened()
    page.add_step("edge")
    page.shown("edge")
    page.click("#save")
    choose(page, type="jpeg", quality=20)
    size_shown(page, "jpeg")
    page.note_texts("#copy-picture")
    page.click("#copy-picture")
    page.wait("texts.includes('Copied')")
    assert (clipboard() == run_pixels(tmp_path, photo, "edge")).all()
    page.wait("document.getElementById('copy-picture').textContent === 'Copy as PNG'")
    choose(page, type="png")
    page.click("#saving-close")

    # What was copied is pasted by Ctrl+V, with the steps that are there.
    take_steps_away(page)
    page.add_step("flip")
    page.shown("flip")
    page.click("#save")
    size_shown(page, "png")
    page.note_texts("#copy-picture")
    page.click("#copy-picture")
    page.wait("texts.includes('Copied')")
    page.click("#saving-close")
    page.run("document.getElementById('canvas').focus(); delete document.documentElement.dataset.opened")
    key = {"key": "v", "code": "KeyV", "windowsVirtualKeyCode": 86, "modifiers": 2}
    page.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", "commands": ["paste"], **key})
    page.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyUp", **key})
    page.opened()
    assert page.text("#file").endswith("480 × 320") and page.text("#file") != "rocket.png 480 × 320"
    page.shown("flip")
    check_canvas(page, np.array(Image.open(photo).convert("RGB")))

    origin = page.url.rstrip("/")
    page.driver.execute_cdp_cmd("Browser.setPermission", {"permission": {"name": "clipboard-write"}, "setting": "denied", "origin": origin})
    page.click("#save")
    size_shown(page, "png")
    page.note_texts("#copy-picture")
    page.click("#copy-picture")
    page.wait("texts.includes('Not copied')")


def test_the_lines_write_the_same(page, photo, tmp_path):
    """The command lines carry the choice: each writes the bytes that Download gives."""
    (tmp_path / "rocket.png").write_bytes(photo.read_bytes())
    path = f"{os.path.dirname(os.path.abspath(BURIN))}:{os.environ['PATH']}"
    page.choose_file(photo)
    page.opened()
    page.click("#save")
    for steps in ("", "histeq", "histeq;flip"):
        if steps:
            page.add_step(steps.split(";")[-1])
            page.shown(steps)
        for kind, choices in (("png", {}), ("jpeg", {"quality": 44, "max_bytes": 11}), ("webp", {"effort": 2})):
            choose(page, type=kind, **choices)
            size_shown(page, kind)
            name = "-".join(["rocket", *filter(None, steps.split(";"))]) + "." + ENDINGS[kind]
            name = "rocket-new.png" if name == "rocket.png" else name
            data = downloaded(page, name)
            for line in page.run("return [...document.querySelectorAll('.command pre')].map((e) => e.textContent)"):
                done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=60)
                assert done.returncode == 0, (line, done.stderr)
                assert (tmp_path / name).read_bytes() == data, line
                (tmp_path / name).unlink()


def test_by_keys_and_right_after_typing(page, photo):
    """Ctrl+S opens the panel, arrows choose, Enter saves, Escape closes it and gives the focus back."""
    from selenium.webdriver.common.keys import Keys
    page.choose_file(photo)
    page.opened()
    page.run("document.getElementById('canvas').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.CONTROL + "s")
    page.wait("document.activeElement.value === 'png'")
    assert page.run("return document.getElementById('save').ariaExpanded") == "true"
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    size = size_shown(page, "jpeg")
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert wait_until(lambda: (page.downloads / "rocket.jpg").exists() and (page.downloads / "rocket.jpg").stat().st_size == size)
    (page.downloads / "rocket.jpg").unlink()
    page.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    page.wait("!document.getElementById('saving').matches(':popover-open') && document.activeElement.id === 'save'")

    # A press of Download right after typing leaves the box, which is a change, and is not lost while the file is made.
    page.click("#save")
    choose(page, type="jpeg")
    size_shown(page, "jpeg")
    page.find('[name="save-max_bytes"], #save-max_bytes').send_keys("9")
    page.note_texts("#download")
    page.click("#download")
    assert wait_until(lambda: (page.downloads / "rocket.jpg").exists())
    page.wait("texts.includes('Saved')")
    assert 4000 < (page.downloads / "rocket.jpg").stat().st_size <= 9000
    (page.downloads / "rocket.jpg").unlink()
    page.wait("document.getElementById('saving-name').textContent === 'rocket.jpg, 480 × 320'")
    page.wait("document.getElementById('download').textContent === 'Download'")


def test_the_panel_fits_the_window(page, photo):
    page.choose_file(photo)
    page.opened()
    for width, height in ((375, 700), (768, 1024), (1440, 900), (1000, 420)):
        page.resize(width, height)
        page.click("#save")
        choose(page, type="webp")
        size_shown(page, "webp")
        box = page.run("const b = document.getElementById('saving').getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]")
        assert box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height
        page.run("document.getElementById('download').scrollIntoView()")
        button = page.run("const b = document.getElementById('download').getBoundingClientRect(); return [b.top, b.bottom]")
        assert box[1] <= button[0] and button[1] <= box[3]
        page.click("#saving-close")
