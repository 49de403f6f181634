# SPDX-License-Identifier: Apache-2.0
"""The forms of steps: whatever is dragged, the daemon accepts it; what did not change is not run again; a new step is entered
at its head.

covers: server/http/handle_document.c"""
import base64
import json
import time

import numpy as np
from PIL import Image

from browser import needs_browser
from conftest import encode, operators, pnm
from window import open_live, take_steps_away

pytest_plugins = "page_fixtures"
pytestmark = needs_browser

LARGE = (911, 607)  # more than a preview's half a megapixel, and wider than the window's part for it

COUNT_RUNS = """window.runs = []; const real = window.fetch;
    window.fetch = (target, ...rest) => { if (String(target).startsWith('/pipeline')) runs.push(String(target)); return real(target, ...rest); };"""

# Each number of each operator is dragged to its ends and between; at each place a preview is awaited, or the output. A long run of
# a carve is not: the next place ends it.
DRAG_ALL = """
    const [names, done] = arguments;
    const wait = (condition) => new Promise((resolve) => (function look() { condition() ? resolve() : setTimeout(look, 4); })());
    const root = document.documentElement.dataset, dragged = [], blank = new OffscreenCanvas(60, 40);
    blank.getContext('2d').fillRect(0, 0, 60, 40);
    (async () => {
        for (const name of names) {
            document.querySelector(`#palette [data-operator="${name}"]`).click();
            const overlay = document.querySelector('.step input[name=overlay]'), files = new DataTransfer();
            if (overlay) { // without it the step waits
                files.items.add(new File([await blank.convertToBlob()], 'overlay.png'));
                overlay.files = files.files;
                overlay.dispatchEvent(new Event('change', { bubbles: true }));
            }
            const sliders = document.querySelectorAll('.step .field:has(input[type=number]) input[type=range]');
            for (const [count, slider] of [...sliders].entries()) {
                const label = slider.ariaLabel.split(',')[0];
                for (const share of [1, 0, 0.618]) {
                    delete root.previewMs;
                    delete root.resultMs;
                    const [min, max] = [Number(slider.min), Number(slider.max)];
                    const place = min + share * (max - min);
                    if (Math.abs(Number(slider.value) - place) <= 1 && share !== 0.618) continue;
                    slider.value = place;
                    slider.dispatchEvent(new Event('input', { bubbles: true }));
                    await wait(() => root.previewMs || root.resultMs || !document.getElementById('notice').hidden);
                    dragged.push(`${name}:${label}`);
                    if (!document.getElementById('notice').hidden)
                        return done([dragged, `${label} ${slider.value} ${document.getElementById('notice').textContent}`]);
                }
            }
            document.querySelector('.step [aria-label^=Remove]').click();
        }
        done([dragged, '']);
    })();"""


def test_every_number_can_be_dragged(page, daemon, photo, tmp_path):
    """On a photograph of six megapixels; its sides and its previews' scale are no round numbers. The daemon refuses nothing. Previews are
    a tenth of its sides, about as those of 50 megapixels: larger ones would take twice as much of the processor."""
    path, size = tmp_path / "large.jpg", (301, 201)
    path.write_bytes(encode(np.array(Image.open(photo).resize((3001, 2003))), "JPEG", quality=90))
    open_live(page, path)
    preview = base64.b64encode(pnm(np.array(Image.open(photo).resize(size)))).decode()
    page.state(f"""Object.assign(page.input.preview, {{ bytes: Uint8Array.from(atob('{preview}'), (c) => c.charCodeAt(0)).buffer,
        scale: {size[0]} / 3001, width: {size[0]}, height: {size[1]} }}) && null""")
    logged = len(daemon.log_text())
    listed = daemon.get("/ops").json["operators"]
    dragged, problem = page.driver.execute_async_script(DRAG_ALL, [operator["name"] for operator in listed])
    assert not problem, (problem, page.run("return location.hash"))
    numbers = {f"{op['name']}:{p['name']}" for op in listed for p in op["parameters"] if p["type"] in ("integer", "number")}
    assert numbers == set(dragged)
    assert daemon.becomes_idle()
    lines = [json.loads(line) for line in daemon.log_text()[logged:].splitlines()]
    assert len(lines) > len(numbers) and [line for line in lines if 400 <= line.get("status", 0) != 499] == []


def test_previews_of_a_large_picture(page, photo, tmp_path):
    """Sharpness is dragged on a scale of three places: the preview of blur's usual sigma is as blurred as the result."""
    path = tmp_path / "large.png"
    path.write_bytes(encode(np.array(Image.open(photo).resize(LARGE)), "PNG", compress_level=1))
    open_live(page, path)
    page.run(COUNT_RUNS)
    page.add_step("blur")
    page.shown("blur")
    sent = [json.loads(page.run("return new URL(arguments[0], location).searchParams.get('operations')", target))[0]["params"]
            for target in page.run("return runs") if "type=pnm" in target]
    width = page.state("page.input.preview.width")
    assert {params["sigma"] for params in sent} == {f"{width / LARGE[0]:.3f}"}

    # A preview that fails is shown at once, while the value is still dragged, and goes when the next one succeeds.
    take_steps_away(page)
    page.add_step("threshold")
    page.shown("threshold")
    page.run("""const real = window.fetch;
        window.fetch = async (target, ...rest) => {
            if (String(target).includes('type=pnm'))
                return new Response('{"message":"threshold: level must be 0..1, not 9","code":"bad_param"}', { status: 400 });
            if (String(target).startsWith('/pipeline')) await new Promise((go) => { window.goOn = go; });
            return real(target, ...rest); };
        const slider = document.querySelector('.step input[type=range]'); slider.value = 90;
        slider.dispatchEvent(new Event('input'));""")
    page.wait("document.getElementById('notice').textContent.includes('threshold: level must be 0..1')")
    page.wait("Boolean(window.goOn)")
    page.run("goOn()")
    page.shown("threshold:level=90")
    assert not page.visible("#notice")


def test_what_runs_when_a_box_is_left(page, photo):
    """Nothing, neither for a value that was typed and shown, nor for the value that was there; but a value that waits. A cancelled run
    begins only by a change."""
    page.choose_file(photo)
    page.opened()
    page.run(COUNT_RUNS)
    page.add_step("resize")
    page.shown("resize:width=240,height=160")
    for text, height in (("300", 200), ("480", 320)):
        page.set_field("resize", "width", 480)
        page.shown("resize:width=480,height=320")
        page.run("""const box = document.querySelector('.step input[name=width]'); box.focus(); box.select();""")
        page.driver.switch_to.active_element.send_keys(text)
        page.shown(f"resize:width={text},height={height}")
        ran = len(page.run("return runs"))
        page.run("document.activeElement.blur()")
        page.run("document.getElementById('canvas').focus()")
        page.run("return new Promise((done) => setTimeout(done, 350))")  # longer than a value rests before it is run
        assert len(page.run("return runs")) == ran, text
        assert page.text("#status").startswith("Done: Resize")

    take_steps_away(page)
    page.add_step("brightness")
    page.shown("brightness")
    page.run("runs.length = 0")
    page.set_field("brightness", "shift", 30)  # input, then change
    page.shown("brightness:shift=30")
    assert len(page.run("return runs")) == 1

    page.run("""const real = window.fetch; window.held = true; window.fetch = (target, options) => held && String(target).startsWith('/pipeline')
        ? new Promise((_, fail) => options.signal.addEventListener('abort', () => fail(new DOMException('', 'AbortError')))) : real(target, options);""")
    page.set_field("brightness", "shift", 5)
    page.wait("!document.getElementById('busy').hidden")
    page.click("#cancel")
    page.run("held = false; document.querySelector('.step input[name=shift]').dispatchEvent(new Event('change'))")
    assert page.text("#status") == "Cancelled. Run again"
    page.click("#status button")
    page.shown("brightness:shift=5")


def test_a_new_step_is_shown_from_its_head_on(page, photo):
    """However long its form is; its first field has the focus."""
    page.resize(1440, 700)
    page.choose_file(photo)
    page.opened()
    check_new_steps(page)
    take_steps_away(page)
    page.resize(390, 844)
    check_new_steps(page)


def check_new_steps(page):
    for name, first in (("resize", "width"), ("edge", "kernel"), ("carve", "width"), ("flip", None)):
        if name not in operators():
            continue
        page.add_step(name)
        head, top, focus = page.run("""const card = document.querySelector('.step:last-child'), box = card.getBoundingClientRect();
            const active = document.activeElement;
            return [box.top, document.getElementById('steps').closest('.panel').getBoundingClientRect().top,
                [card.contains(active), active.closest('.field')?.querySelector('[name]').name.split('-')[0] ?? null]];""")
        seen = page.run("return document.querySelector('.step:last-child .step-head').getBoundingClientRect().bottom <= innerHeight")
        assert seen and head >= max(0, top) - 1, (page.sized, name, head, top)
        assert focus == [True, first], (page.sized, name, focus)


def test_sliders_end_where_the_picture_does(page, photo):
    """That of the step's own picture: smaller after a step before it. A number is replaced by typing, and a parameter
    by one that excludes it."""
    def ends(name):
        return page.run("""const field = document.querySelector(`.step[data-operator=extract] input[name=${arguments[0]}]`).closest('.field');
            const slider = field.querySelector('input[type=range]'); return [Number(slider.min), Number(slider.max)];""", name)

    page.choose_file(photo)
    page.opened()
    page.add_step("resize")
    page.click(".lock input")
    page.set_field("resize", "width", 300)
    page.set_field("resize", "height", 200)
    page.add_step("extract")
    page.set_field("extract", "width", 100)
    page.shown("resize:width=300,height=200;extract:width=100,height=100")
    assert [ends(name) for name in ("left", "top", "width", "height")] == [[0, 200], [0, 100], [1, 300], [1, 200]]
    page.set_field("extract", "left", 150)
    page.shown("resize:width=300,height=200;extract:left=150,width=100,height=100")
    assert ends("width") == [1, 150]
    page.set_field("resize", "width", 280)
    page.shown("resize:width=280,height=200;extract:left=150,width=100,height=100")
    assert [ends(name) for name in ("left", "width")] == [[0, 180], [1, 130]]

    # The first box of a new step has the focus, and its number is selected; / searches from there.
    take_steps_away(page)
    page.add_step("resize")
    press = page.driver.switch_to.active_element.send_keys
    press("120")
    assert page.run("return document.activeElement.value") == "120"
    press("/")
    assert page.run("return document.activeElement.id") == "palette-search"
    page.shown("resize:width=120,height=80")

    # Of parameters that exclude each other the later one counts; the daemon would refuse both.
    take_steps_away(page)
    page.add_step("resize")
    page.shown("resize:width=240,height=160")
    page.unfold()
    page.click('.step [data-name="position"] input[value="north"]')
    page.shown("resize:width=240,height=160,position=north")
    page.set_field("resize", "x", 30)
    page.shown("resize:width=240,height=160,x=30")
    assert page.run("return document.querySelector('.step [data-name=position] input:checked').value") == "centre"
    page.click('.step [data-name="position"] input[value="west"]')
    page.shown("resize:width=240,height=160,position=west")
    assert page.run("return document.querySelector('.step input[name=x]').value") == ""
    if "carve" in operators():
        page.run("document.querySelector('.step .remove').click()")
        page.add_step("carve")
        page.set_field("carve", "dx", -20)
        page.shown("carve:dx=-20")
        page.set_field("carve", "width", 470)
        page.shown("carve:width=470")
        assert page.run("return document.querySelector('.step input[name=dx]').value") == "0"


def test_a_finger_scrolls_across_sliders(page, photo):
    """Their values stay; a finger that moves along a slider sets it."""
    page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        page.size(390, 844)
        page.wait("innerWidth === 390")
        page.choose_file(photo)
        page.opened()
        page.add_step("threshold")
        page.shown("threshold")
        slider = ".step .field input[type=range]"
        x, y, width = page.run("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.top + b.height / 2, b.width]", slider)
        scrolled = page.run("return document.getElementById('steps-panel').scrollTop")

        def gesture(at, across, down):
            page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": at, "y": y}]})
            for i in range(1, 9):
                page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": at + across * i / 8, "y": y + down * i / 8}]})
            time.sleep(0.2)  # the finger rests before it leaves: the panel does not roll on
            page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

        gesture(x + 0.9 * width, 0, -80)
        page.wait(f"document.getElementById('steps-panel').scrollTop > {scrolled}", "the panel scrolls")
        assert page.run("return document.querySelector(arguments[0]).value", slider) == "128"
        assert page.run("return document.documentElement.dataset.shown") == "threshold"
        page.add_step("resize")
        page.shown("threshold;resize:width=240,height=160")
        page.run("document.querySelector('.step .remove').click(); document.getElementById('steps-panel').scrollTop = 0")
        page.run("document.querySelector('.lock input').click()")
        page.set_field("resize", "height", "")
        page.shown("resize:width=240")
        y, scrolled = page.run("""const slider = document.querySelector('input[name=height]').closest('.field').querySelector('[type=range]');
            slider.scrollIntoView({ block: 'center' });
            const box = slider.getBoundingClientRect(); return [box.top + box.height / 2, document.getElementById('steps-panel').scrollTop];""")
        gesture(x + 0.9 * width, 0, -60)
        page.wait(f"document.getElementById('steps-panel').scrollTop > {scrolled}", "the panel scrolls")
        page.shown("resize:width=240")
        page.run("document.getElementById('steps-panel').scrollTop = 0")
        y = page.run("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return b.top + b.height / 2", slider)
        gesture(x + 0.5 * width, 0.4 * width, 0)
        page.wait("Number(document.querySelector('.step .field input[type=range]').value) > 400")
    finally:
        page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_folded_settings_open_for_a_message(page, photo):
    """They stay open when the step is undone and redone, and a task stays what it is."""
    page.choose_file(photo)
    page.opened()
    page.add_step("resize")
    page.shown("resize:width=240,height=160")
    page.unfold()
    page.run("""document.querySelector('.more').open = false;
        window.real = window.fetch; window.fetch = async (target, options) => options?.body instanceof FormData
            ? new Response(JSON.stringify({ message: 'resize: share must be 1..50', code: 'bad_param' }), { status: 400 })
            : real(target, options);""")
    page.set_field("resize", "share", 60)
    page.wait("!document.getElementById('notice').hidden && document.querySelector('#notice').getClientRects().length")
    page.click("#undo")
    assert page.run("return document.querySelector('.more').open")
    page.run("window.fetch = real")
    take_steps_away(page)
    page.run("document.querySelector('#palette [data-operator=remove-object]').click()")
    page.wait("!document.querySelector('.painting').hidden")
    named = "return document.querySelector('.step .fold').textContent"
    assert page.run(named) == "1 Remove an object"
    page.run("document.querySelector('.step .reset-step').click()")
    assert page.run(named) == "1 Remove an object"
    page.run("document.querySelector('.step .duplicate').click()")
    assert page.run(named.replace(".step ", ".step:nth-child(2) ")) == "2 Content-aware resize"
