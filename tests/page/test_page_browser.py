# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: open a picture, change it, look at it, save it. The canvas is compared with the output of
`burin run` on the same file. After each test: no error is in the console, and every request went to the daemon.

covers: server/http/handle_document.c"""
import base64
import hashlib
import json
import os
import re
import subprocess
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from browser import needs_browser
from conftest import BURIN, LONG, Daemon, encode, noise, pnm, smooth, wait_until
from window import canvas_picture, check_canvas, choose_mask, middle_pixels, open_live, run_pixels, show_output_alone, strip, take_steps_away

pytest_plugins = "page_fixtures"
pytestmark = needs_browser


@pytest.mark.parametrize("policy", [True, False])
def test_a_request_to_another_server_is_seen(site, policy):
    """At each test's end: the page's policy refuses it, and without a policy it is among the requests."""
    page = site
    page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": not policy})
    try:
        page.open_page(page.url)
        page.run("return fetch('http://burin.invalid/picture').catch(() => null)")
        assert page.strangers() == ([] if policy else ["http://burin.invalid/picture"])
        assert any("burin.invalid" in line["message"] for line in page.errors())
    finally:
        page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})


# ---- opening

def give(browser, path, how):
    """A drop or a paste of a file, as the system makes them."""
    browser.run("""
        const bytes = Uint8Array.from(atob(arguments[0]), (c) => c.charCodeAt(0));
        const data = new DataTransfer();
        data.items.add(new File([bytes], arguments[1], { type: 'image/png' }));
        if (arguments[2] === 'paste') return dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }));
        const at = document.getElementById('canvas');
        for (const name of ['dragenter', 'dragover', 'drop'])
            at.dispatchEvent(new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true }));""",
                base64.b64encode(path.read_bytes()).decode(), path.name, how)


def check_open(page, photo):
    """The photograph is open, in a page that was empty."""
    page.opened()
    assert "rocket.png" in page.text("#file") and "480 × 320" in page.text("#file")
    assert not page.visible("#empty") and not page.visible("#drop") and not page.visible("#notice")
    check_canvas(page, np.array(Image.open(photo)))


def test_open_by_the_dialog(page, photo, tmp_path):
    """Also what a browser cannot read: PNM in 8 and 16 bits, gray and colour."""
    assert page.visible("#empty")
    page.choose_file(photo)
    check_open(page, photo)
    for picture in (smooth(90, 70), smooth(90, 70, 1), noise(50, 60, 3, 16), noise(50, 60, 1, 16)):
        path = tmp_path / "picture.pnm"
        path.write_bytes(pnm(picture))
        page.choose_file(path)
        page.opened()
        eight = (picture >> 8).astype(np.uint8) if picture.dtype == np.uint16 else picture
        check_canvas(page, np.repeat(eight[:, :, None], 3, 2) if eight.ndim == 2 else eight)


def test_open_by_a_drop(page, photo, axe):
    """While a picture is over the window, a sign covers what was there."""
    assert page.visible("#empty")
    page.run("""const data = new DataTransfer();
        data.items.add(new File(['x'], 'a.png', { type: 'image/png' }));
        document.getElementById('canvas').dispatchEvent(new DragEvent('dragenter', { dataTransfer: data, bubbles: true }));""")
    assert page.visible("#drop") and page.text("#drop").strip() == "Drop to open"
    assert page.run("return getComputedStyle(document.getElementById('empty')).visibility") == "hidden"
    axe(page, "#drop")
    give(page, photo, "drop")
    check_open(page, photo)


def test_open_by_a_paste_after_what_is_no_picture(page, photo, tmp_path):
    path = tmp_path / "letter.png"
    path.write_bytes(b"Dear Sir or Madam, this is not a picture.")
    page.choose_file(path)
    page.wait("!document.getElementById('notice').hidden")
    assert "send JPEG, PNG, WebP, GIF, BMP, PNM" in page.text("#notice")
    assert page.visible("#empty")
    assert page.run("return [...document.querySelectorAll('#view-tools button')].every((button) => button.disabled)")
    assert all("/info" in line["message"] and "415" in line["message"] for line in page.errors())
    give(page, photo, "paste")
    check_open(page, photo)


def test_samples_are_shown_as_they_are(page, tmp_path):
    """Gamma and profile change nothing. A picture with an orientation is turned, as the daemon does it."""
    picture = smooth(120, 80)
    plain = PngImagePlugin.PngInfo()
    plain.add(b"gAMA", (10000).to_bytes(4, "big"))
    path = tmp_path / "dark.png"
    Image.fromarray(picture).save(path, pnginfo=plain)
    page.choose_file(path)
    page.opened()
    check_canvas(page, picture)
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = tmp_path / "turned.jpg"
    Image.fromarray(picture).save(turned, exif=exif, quality=90)
    page.choose_file(turned)
    page.wait("document.getElementById('file').textContent.includes('80 × 120')")
    page.add_step("edge")
    page.shown("edge")
    check_canvas(page, run_pixels(tmp_path, turned, "edge"))


def open_large(page, tmp_path, picture, operator):
    """Opens a picture large enough that its previews are smaller, with one step."""
    path = tmp_path / "large.png"
    path.write_bytes(encode(picture, "PNG", compress_level=1))
    open_live(page, path)
    page.add_step(operator)
    page.shown(operator)


def test_transparency(page, tmp_path):
    """Transparency is kept, in previews too; opaque pixels are exact."""
    picture = np.dstack([np.tile(smooth(200, 150), (5, 5, 1)), np.full((750, 1000), 255, np.uint8)])
    picture[:, :500, 3] = 0
    open_large(page, tmp_path, picture, "brightness")
    page.set_field("brightness", "shift", 20)
    page.wait("document.documentElement.dataset.previewMs")
    page.shown("brightness:shift=20")
    show_output_alone(page)
    shown = middle_pixels(page, 400, 300)
    assert (shown[:, :200, 3] == 0).all() and (shown[:, 200:, 3] == 255).all()
    expected = np.clip(picture[225:525, 500:700, :3].astype(int) + 20, 0, 255)
    assert (shown[:, 200:, :3] == expected).all()


# ---- operators

BEGUN = {"width": 120, "height": 80, "top": 80, "right": 120, "bottom": 80, "left": 120}  # half of the picture, for operators that need a size


def operators(daemon):
    return daemon.get("/ops").json["operators"]


def test_each_operator(page, daemon, photo, tmp_path):
    """Every operator of GET /ops works alone, with the parameters that it is added with."""
    small = tmp_path / "small.png"
    Image.open(photo).crop((100, 60, 340, 220)).save(small)
    page.choose_file(small)
    page.opened()
    overlay = tmp_path / "overlay.png"
    Image.new("RGBA", (60, 40), (200, 30, 90, 128)).save(overlay)
    for operator in operators(daemon):
        name = operator["name"]
        page.add_step(name)
        needed = [part["name"] for part in operator["parts"] if part["kind"] == "picture"]
        for part in needed:  # without it the step waits
            assert not page.run("return document.documentElement.dataset.shown || document.querySelector('.paint')")
            page.find(f'.step input[name="{part}"]').send_keys(str(overlay))
        begun = [f"{p['name']}={BEGUN[p['name']]}" for p in operator["parameters"] if "example" in p]
        begun += ["taps=0,0,0,0,1,0,0,0,0"] if name == "convolve" else []
        begun += ["matrix=1,0,0,0,1,0,0,0,1"] if name == "matrix" else []
        text = name + (":" + ",".join(begun) if begun else "")
        page.shown(text)
        assert page.find(f'.step[data-operator="{name}"]')
        fields = page.run("return [...document.querySelectorAll('.step-body .field')].length")
        assert fields == len(operator["parameters"]) + len(operator["parts"])
        if operator.get("values"):
            assert page.visible("#values table") and name in page.text("#values")
        else:
            check_canvas(page, run_pixels(tmp_path, small, text, *(word for part in needed for word in (f"--{part}", str(overlay)))))
        page.click(f'.step[data-operator="{name}"] [aria-label^="Remove"]')
        page.wait("!document.querySelector('.step')")


CHANGES = [
    ("histeq", {"bins": 16}, "histeq:bins=16"),
    ("edge", {"threshold": 60, "brightness": -20}, "edge:brightness=-20,threshold=60"),
    ("carve", {"dx": -33}, "carve:dx=-33"),
    ("carve", {"width": 470, "height": 310}, "carve:width=470,height=310"),
    ("brightness", {"shift": -255}, "brightness:shift=-255"),
]


def test_fields_change_parameters(page, photo, tmp_path):
    """A field is of its parameter's kind: a number, a logarithmic slider for a wide range of decimals, positions as they lie in a
    picture, choices, switches, a filter's taps, a colour and its opacity."""
    page.choose_file(photo)
    page.opened()
    for operator, values, text in CHANGES:
        page.add_step(operator)
        for name, value in values.items():
            page.set_field(operator, name, value)
        page.shown(text)
        check_canvas(page, run_pixels(tmp_path, photo, text))
        assert page.run("return decodeURIComponent(location.hash)") == f"#steps={text}"
        page.click('.step [aria-label^="Remove"]')
        page.wait("!document.querySelector('.step')")

    page.add_step("blur")
    assert page.run("return Number(document.querySelector('.step input[type=range]').value)") == round(1000 * np.log(1 / 0.3) / np.log(64 / 0.3))
    page.run("""const slider = document.querySelector('.step input[type=range]'); slider.value = 500;
        slider.dispatchEvent(new Event('input')); slider.dispatchEvent(new Event('change'));""")
    text = f"blur:sigma={(0.3 * 64) ** 0.5:.2f}"
    page.shown(text)
    check_canvas(page, run_pixels(tmp_path, photo, text))
    page.add_step("resize")
    places = page.run("""return [...document.querySelectorAll('.step [data-name=position] label')]
        .map((e) => { const box = e.getBoundingClientRect(); return [e.control.value, Math.round(box.left), Math.round(box.top), box.width]; })""")
    left, top = (sorted({place[i] for place in places}) for i in (1, 2))
    for name, x, y, _ in places[:9]:
        assert ("west" in name, "east" in name) == (x == left[0], x == left[2]) and ("north" in name, "south" in name) == (y == top[0], y == top[2])
    assert [place[0] for place in places[9:]] == ["smart"] and len(left) == 4 and places[9][1] == left[3] and places[9][2] == top[0]
    assert len({place[3] for place in places[:9]}) == 1 and page.text(".step [data-name=position] .choices-of").startswith("↖↑↗←•→↙↓↘")
    page.run("document.querySelector('.step [data-name=position] [value=east]').click()")
    page.wait("document.documentElement.dataset.shown?.includes('position=east')")

    take_steps_away(page)
    page.add_step("edge")
    page.click('.step [data-name="kernel"] input[value="sobel5"]')
    page.click('.step input[name="binary"]')
    page.shown("edge:kernel=sobel5,binary=true")
    check_canvas(page, run_pixels(tmp_path, photo, "edge:kernel=sobel5,binary=true"))
    page.add_step("convolve")
    page.run("""const cells = document.querySelectorAll('.step[data-operator=convolve] .grid-of input');
        [0, -1, 0, -1, 5, -1, 0, -1, 0].forEach((tap, i) => { cells[i].value = tap; cells[i].dispatchEvent(new Event('input')); });
        cells[0].dispatchEvent(new Event('change'));""")
    text = "convolve:taps=0,-1,0,-1,5,-1,0,-1,0"
    page.shown("edge:kernel=sobel5,binary=true;" + text)
    check_canvas(page, run_pixels(tmp_path, photo, "edge:kernel=sobel5,binary=true", text))

    take_steps_away(page)
    page.add_step("resize")
    page.click('.step [data-name="fit"] input[value="contain"]')
    page.set_field("resize", "background", "#12ab34")
    page.run("document.querySelector('.lock input').click()")
    page.set_field("resize", "height", 240)
    text = "resize:width=240,height=240,fit=contain,background=12ab34"
    page.shown(text)
    check_canvas(page, run_pixels(tmp_path, photo, text))
    page.run("""const opacity = document.querySelector('.step input[aria-label="background, opacity"]'); opacity.value = 64;
        opacity.dispatchEvent(new Event('input')); opacity.dispatchEvent(new Event('change'));""")
    page.shown(text + "40")
    assert page.run("return decodeURIComponent(location.hash)") == f"#steps={text}40"


def test_masks(page, photo, tmp_path):
    mask = np.zeros((320, 480), np.uint8)
    mask[:, 200:280] = 255
    path = tmp_path / "keep it.png"
    Image.fromarray(mask).save(path)
    page.choose_file(photo)
    page.opened()
    page.add_step("carve")
    choose_mask(page, "rmask", path)
    page.set_field("carve", "dx", -40)
    page.shown("carve:dx=-40")
    out = tmp_path / "out.png"
    subprocess.run([BURIN, "run", "carve:dx=-40", "--rmask", str(path), str(photo), str(out)], check=True)
    check_canvas(page, np.array(Image.open(out)))


def test_masks_follow_the_size_in_a_preview(page, tmp_path):
    """Of a size that is dragged, and of the picture behind any steps before it: a refused preview would be in the console. A PGM too,
    which the browser itself does not read."""
    mask = np.zeros((750, 1000), np.uint8)
    mask[:, 200:240] = 255
    open_large(page, tmp_path, np.tile(smooth(200, 150), (5, 5, 1)), "flip")
    for kind in ("png", "pgm"):
        path = tmp_path / f"remove.{kind}"
        Image.fromarray(mask).save(path)
        for name in ("resize", "carve"):
            page.add_step(name)
        choose_mask(page, "rmask", path)
        page.wait("document.documentElement.dataset.shown?.endsWith(';carve')", f"the result with the mask of a {kind}")
        page.run("delete document.documentElement.dataset.previewMs")
        page.run("""const box = document.querySelector('.step input[name=width]'); let width = 700;
            window.dragging = setInterval(() => { box.value = width += 3; box.dispatchEvent(new Event('input')); }, 100);""")
        page.wait("document.documentElement.dataset.previewMs", f"a preview with the mask of a {kind}")
        page.run("clearInterval(dragging)")
        page.set_field("resize", "width", 900)
        page.wait("/^flip;resize:.*width=900.*;carve$/.test(document.documentElement.dataset.shown)")
        page.run("location.hash = 'steps=flip'")
        page.shown("flip")

    page.run("location.hash = 'steps=rotate'")
    page.shown("rotate")
    mask = np.zeros((1000, 750), np.uint8)
    mask[:, 200:240] = 255
    path = tmp_path / "remove.png"
    Image.fromarray(mask).save(path)
    page.add_step("carve")
    choose_mask(page, "rmask", path)
    page.shown("rotate;carve")
    page.run("delete document.documentElement.dataset.previewMs")
    page.run("""const box = document.querySelector('.step input[name=dx]'); let dx = -60;
        window.dragging = setInterval(() => { box.value = dx = -140 - dx; box.dispatchEvent(new Event('input')); }, 100);""")
    page.wait("document.documentElement.dataset.previewMs", "a preview with the mask")
    page.run("clearInterval(dragging)")
    page.set_field("carve", "dx", -80)
    page.shown("rotate;carve:dx=-80")

def test_steps_are_moved_and_removed(page, photo, tmp_path):
    page.size(1440, 1400)  # one drag, without scrolling
    page.choose_file(photo)
    page.opened()
    for name in ("histeq", "edge", "threshold"):
        page.add_step(name)
    page.shown("histeq;edge;threshold")
    from selenium.webdriver.common.keys import Keys
    page.run("document.querySelectorAll('.handle')[1].focus()")
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_UP)
    page.shown("edge;histeq;threshold")
    check_canvas(page, run_pixels(tmp_path, photo, "edge", "histeq", "threshold"))
    from selenium.webdriver import ActionChains
    handles = page.driver.find_elements("css selector", ".handle")
    target = page.find(".step:first-child")
    ActionChains(page.driver).click_and_hold(handles[2]).move_to_element_with_offset(target, 0, -target.size["height"] // 2 - 4).release().perform()
    page.shown("threshold;edge;histeq")
    page.click('.step[data-operator="edge"] [aria-label^="Remove"]')
    page.shown("threshold;histeq")
    assert page.run("return [...document.querySelectorAll('#filmstrip .name')].map((e) => e.textContent)") == ["Input", "1 Threshold", "Output"]


def test_the_address_is_enough(site, daemon, photo, tmp_path):
    page = site
    text = "edge:threshold=40,binary=true;brightness:shift=9"
    page.open_page(page.url, f"#steps={text}&device=cpu")
    assert page.run("return document.getElementById('device').value") == "cpu"
    page.choose_file(photo)
    page.shown(text)
    check_canvas(page, run_pixels(tmp_path, photo, *text.split(";")))
    page.open_page(page.url, "#steps=histeq:bins=9,shine=3;sparkle")
    page.wait("!document.getElementById('notice').hidden")
    assert "shine=3" in page.text("#notice") and "sparkle" in page.text("#notice")


def test_a_step_of_the_address_has_what_stands_there(site, photo, tmp_path):
    """The step gets no initial values: without a height it follows the width."""
    page = site
    page.open_page(page.url, "#steps=resize:width=100")
    page.choose_file(photo)
    page.opened()
    page.shown("resize:width=100")
    check_canvas(page, run_pixels(tmp_path, photo, "resize:width=100"))


def test_values_and_texts(page, photo, tmp_path):
    """Numbers and lists equal the command line's, also beside a picture; so does a placeholder's text, for any two numbers of its
    field."""
    page.choose_file(photo)
    page.opened()
    page.add_step("mean")
    page.shown("mean")
    means = subprocess.run([BURIN, "run", "mean", str(photo)], check=True, capture_output=True, text=True).stdout.split()
    assert page.run("return [...document.querySelectorAll('#values td')].map((e) => e.textContent)") == [f"{float(n):.3f}" for n in means]
    page.add_step("grayscale")
    page.add_step("histogram")
    page.shown("mean;grayscale;histogram")
    counts = page.run("return [...document.querySelectorAll('#values details tbody td')].map((e) => Number(e.textContent.replaceAll(',', '')))")
    expected = subprocess.run([BURIN, "run", "grayscale", "histogram", str(photo), str(tmp_path / "out.png")], check=True, capture_output=True, text=True).stdout.split()
    assert counts == [int(n) for n in expected]

    take_steps_away(page)
    page.add_step("blurhash")
    page.shown("blurhash")
    for steps, sides in (("blurhash", ""), ("blurhash:components=9x3", "9,"), ("blurhash:components=9x8", "9,8")):
        page.run("""const boxes = document.querySelectorAll('.step input[name="components"]');
            arguments[0].split(',').forEach((side, i) => { if (!side) return;
                boxes[i].value = side; boxes[i].dispatchEvent(new Event('input')); boxes[i].dispatchEvent(new Event('change')); });""", sides)
        page.shown(steps)
        text = subprocess.run([BURIN, "run", steps, str(photo)], check=True, capture_output=True, text=True).stdout.strip()
        assert page.run("return [...document.querySelectorAll('#values td')].map((e) => e.textContent)") == [text]
        assert page.run("return decodeURIComponent(location.hash)") == f"#steps={steps}"


# ---- looking

def test_the_divider_compares_one_place_at_any_zoom(page, photo, tmp_path):
    """At any zoom and pan the input is left of it and the output right of it, each pixel at its place. With the wheel the place under
    the pointer stays there; pinching with two fingers does the same about their middle."""
    page.choose_file(photo)
    page.opened()
    page.add_step("histeq")
    page.shown("histeq")
    before, after = np.array(Image.open(photo)), run_pixels(tmp_path, photo, "histeq")
    page.run("document.getElementById('canvas').focus()")
    keys = page.driver.switch_to.active_element
    for press, zoom in (("1", 1), ("+++++++", 1.5 ** 7), ("0", 1)):
        keys.send_keys(press)
        page.wait(f"Math.abs(parseFloat(document.getElementById('zoom').textContent) - {100 * zoom}) < 0.01 * {100 * zoom}")
        if zoom > 2:
            from selenium.webdriver.common.keys import Keys
            keys.send_keys(Keys.ARROW_LEFT * 3 + Keys.ARROW_UP)
        found = page.run("""return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
            const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect();
            const split = Number(document.getElementById('divider').style.left.replace('%', '')) / 100 * canvas.width;
            const middle = Math.round(canvas.height / 2), found = [];
            for (const x of [Math.round(split) - 40, Math.round(split) + 40]) {
                canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + x + 0.5, clientY: box.top + middle + 0.5 }));
                found.push([x < split, document.getElementById('pixel').textContent, [...canvas.getContext('2d').getImageData(x, middle, 1, 1).data]]);
            }
            done(found); })))""")
        for left, text, samples in found:
            place, colours = text.split("  ")
            x, y = (int(part) for part in place.split(", "))
            assert colours == "#%02x%02x%02x → #%02x%02x%02x" % (*before[y, x], *after[y, x])
            assert samples[:3] == list((before if left else after)[y, x])

    take_steps_away(page)
    points, zoom = page.run("""return new Promise((done) => {
        const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect();
        const at = (x, y) => ({ clientX: box.left + x + 0.5, clientY: box.top + y + 0.5, bubbles: true, cancelable: true });
        const place = () => { canvas.dispatchEvent(new PointerEvent('pointermove', at(300, 250)));
            return document.getElementById('pixel').textContent.split('  ')[0].split(', ').map(Number); };
        const found = [place()];
        for (const by of [-240, -480, 300]) { canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: by, ...at(300, 250) })); found.push(place()); }
        const finger = (id, name, x, y) => canvas.dispatchEvent(new PointerEvent(name, { pointerId: id, pointerType: 'touch', ...at(x, y) }));
        canvas.setPointerCapture = () => {};
        finger(1, 'pointerdown', 280, 250); finger(2, 'pointerdown', 320, 250);
        for (let out = 1; out <= 40; out++) { finger(1, 'pointermove', 280 - out, 250); finger(2, 'pointermove', 320 + out, 250); }
        finger(1, 'pointerup', 240, 250); finger(2, 'pointerup', 360, 250);
        found.push(place());
        requestAnimationFrame(() => done([found, document.getElementById('zoom').textContent])); })""")
    assert all(abs(x - points[0][0]) <= 3 and abs(y - points[0][1]) <= 3 for x, y in points), points
    assert abs(float(zoom.split()[0]) - 100 * 2 ** ((240 + 480 - 300) / 240) * 3) < 10, zoom


def test_each_stage_can_be_compared(page, photo, tmp_path):
    """The strip has no stage beside the output where only value steps follow it; after a failure, whose message says what to do, the
    stages of the shown output."""
    page.choose_file(photo)
    page.opened()
    page.add_step("brightness")
    page.set_field("brightness", "shift", 60)
    page.add_step("edge")
    page.shown("brightness:shift=60;edge")
    page.wait("document.querySelectorAll('#filmstrip canvas').length === 3")
    page.click('#filmstrip [data-key="step-1"]')
    page.wait("document.getElementById('label-before').textContent === 'After step 1'")
    bright = run_pixels(tmp_path, photo, "brightness:shift=60")
    page.wait("document.querySelector('#filmstrip [data-key=step-1] .size').textContent.includes('480')")

    def same():
        data = page.run("""const canvas = document.getElementById('canvas');
            const left = Math.round(canvas.width / 2 - 240), top = Math.round(canvas.height / 2 - 160);
            return [...canvas.getContext('2d').getImageData(left, top + 100, 100, 1).data]""")
        return (np.array(data, np.uint8).reshape(100, 4)[:, :3] == bright[100, :100]).all()

    assert wait_until(same)
    # a new value before it: the stage follows, in full, and no button goes away meanwhile
    page.run("window.buttons = [...document.querySelectorAll('#filmstrip button')]")
    page.set_field("brightness", "shift", 61)
    page.shown("brightness:shift=61;edge")
    bright = run_pixels(tmp_path, photo, "brightness:shift=61")
    assert wait_until(same)
    assert page.text("#label-before") == "After step 1"
    assert page.run("return buttons.every((button) => button.isConnected)")
    page.click('#filmstrip [data-key="output"]')
    page.wait("document.getElementById('divider').hidden")

    # The strip is the output's.
    take_steps_away(page)
    page.run("document.getElementById('compare').ariaPressed === 'true' || document.getElementById('compare').click()")
    for name in ("brightness", "carve", "mean", "histogram"):
        page.add_step(name)
    page.set_field("carve", "dx", -9)
    page.shown("brightness;carve:dx=-9;mean;histogram")
    assert strip(page) == ["Input", "1 Brightness", "Output"]
    page.click('#filmstrip [data-key="step-1"]')
    page.wait("document.getElementById('label-before').textContent === 'After step 1'")
    page.set_field("brightness", "shift", 20)
    page.set_field("carve", "dx", -480)
    page.wait("!document.getElementById('notice').hidden")
    assert page.text("#status") == "Not done: the previous output is still shown."
    assert page.text("#notice").startswith("carve cannot take this dx carve: dx must be")
    assert strip(page) == ["Input", "1 Brightness", "Output"] and page.text("#label-before") == "After step 1"
    assert page.run("return [...document.querySelectorAll('#filmstrip .size')].every((e) => e.textContent.includes('×'))")
    page.set_field("carve", "dx", -4)
    page.shown("brightness:shift=20;carve:dx=-4;mean;histogram")
    assert not page.visible("#notice")
    assert all("pipeline" in line["message"] for line in page.errors())


def areas(page):
    """The height of each plot's bars, and the readout's rows."""
    return page.run("""return [[...document.querySelectorAll('#histograms .area')].map((e) => e.getBBox().height),
        [...document.querySelectorAll('.readout tr')].map((e) => e.firstChild.textContent)]""")


def test_progress_and_cancel_of_a_long_run(page, daemon, tmp_path, axe):
    """The preview has fewer pixels, and its histogram is as high. The bar counts seams. A cancelled run leaves the output's histogram."""
    last_row = "document.querySelector('.readout tr:last-child td')?.textContent === '%s'"
    path = tmp_path / "large.jpg"
    path.write_bytes(encode(np.tile(smooth(230, 175), (16, 16, 1)), "JPEG", quality=80))
    open_live(page, path)
    page.add_step("carve")
    page.shown("carve")
    page.wait(last_row % "after")
    (before, after), sides = areas(page)
    assert sides[1:] == ["before", "after"] and before == after > 60
    page.set_field("carve", "dx", -2600)
    page.wait(last_row % "preview")
    (before, after), sides = areas(page)
    assert sides[1:] == ["before", "preview"] and after > 0.6 * before
    text = page.wait("!document.getElementById('busy').hidden && /of 2,600 seams/.test(document.getElementById('busy-text').textContent)"
                     " && document.getElementById('busy-text').textContent")
    assert text.startswith("carve: ")
    assert page.run("return document.getElementById('progress').max") == 2600
    axe(page, "#busy")
    page.click("#cancel")
    page.wait("document.getElementById('busy').hidden")
    assert page.text("#status") == "Cancelled. Run again"
    page.wait(last_row % "after")
    (before, after), _ = areas(page)
    assert before == after
    assert daemon.becomes_idle()


def test_the_statistics_of_a_result(page, photo, tmp_path):
    """Histograms can be read. The digest is folded where there is no GPU, and stays open for the next result, of which it is. Times
    have three digits, in ms up to 999 and in s from there on."""
    page.choose_file(photo)
    page.opened()
    page.add_step("histeq")
    page.shown("histeq")
    page.wait("document.querySelectorAll('#histograms svg').length === 2")
    for side, picture in (("before", np.array(Image.open(photo))), ("after", run_pixels(tmp_path, photo, "histeq"))):
        counts = np.bincount(picture.max(axis=2).ravel(), minlength=256)
        page.run(f"document.querySelector('#histograms svg[data-side={side}]').focus()")
        from selenium.webdriver.common.keys import Keys
        page.driver.switch_to.active_element.send_keys(Keys.HOME + Keys.PAGE_UP + Keys.ARROW_RIGHT)
        said = page.run(f"return document.querySelector('#histograms svg[data-side={side}]').getAttribute('aria-valuetext')")
        assert said.startswith(f"Level 17: {counts[17]:,} pixels")
        assert f"{100 * counts[:18].sum() / counts.sum():.1f}" in said or f"{100 * counts[:18].sum() / counts.sum():.2f}" in said
    rows = page.run("return [...document.querySelectorAll('#histograms tbody tr')].map((r) => r.children[3].textContent)")
    assert [int(text.replace(",", "")) for text in rows] == [int(counts[i:i + 16].sum()) for i in range(0, 256, 16)]

    # The table is the daemon's report; beside the time to the screen stands what comes after the daemon's total.
    rows = page.run("return [...document.querySelectorAll('#times tr')].map((r) => [r.className, r.querySelector('th').textContent])")
    names = [name for _, name in rows]
    for name in ("receive", "decode", "compute", "encode", "total"):
        assert name in names
    assert not {"upload", "download"} & set(names), "a CPU has neither"
    assert names[names.index("compute") + 1] == "histeq" and names[names.index("histeq") + 1] == "histogram"
    assert "MP/s" in page.text("#times") and "480 × 320" in page.text("#times") and "cpu" in page.text("#times")

    figures = dict(page.run("return [...document.querySelectorAll('#times .figures div')].map((e) => [e.children[0].textContent, [...e.children].slice(1).map((f) => f.textContent)])"))
    found = re.fullmatch(r"\+ ([\d.]+) (ms|s) transfer and decoding", figures["To the screen"][1])
    number = {"ms": 1, "s": 1000}
    screen, total = (float(value) * number[unit] for value, unit in (figures[name][0].split() for name in ("To the screen", "Total")))
    assert abs(screen - total - float(found[1]) * number[found[2]]) <= 0.02 * screen

    assert page.run("return document.querySelector('#devices details').open") is False and page.text("#devices .digest") is None
    page.click("#devices summary")
    for steps in (["histeq"], ["histeq", "flip"]):
        if len(steps) > 1:
            page.add_step(steps[-1])
            page.shown(";".join(steps))
        run_pixels(tmp_path, photo, *steps)
        digest = hashlib.sha256((tmp_path / "expected.png").read_bytes()).hexdigest()
        page.wait(f"document.querySelector('#devices .digest')?.textContent === 'sha256 {digest}'")

    times = {0.0004: "0.000 ms", 0.05: "0.050 ms", 0.1234: "0.123 ms", 4.4149: "4.41 ms", 9.999: "10.0 ms", 99.96: "100 ms", 999.4: "999 ms", 999.6: "1.00 s",
             6691: "6.69 s", 13040: "13.0 s", 999600: "1,000 s", 4e6: "4,000 s"}
    page.module("element")
    assert page.run("return arguments[0].map(element.milliseconds)", list(times)) == list(times.values())


def test_the_codec_of_a_gpu_has_its_kernels(site, photo):
    """They stand below their stage. This machine has no GPU: a GPU's kernels are put into the daemon's report."""
    page = site
    script = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
        const parse = JSON.parse;
        JSON.parse = (text, ...rest) => {
            const value = parse(text, ...rest);
            if (value?.ms?.decode !== undefined) {
                value.ms.decode_kernels = [{ name: 'walk', ms: 0.75 }, { name: 'transform', ms: 0.25 }];
                value.ms.encode_kernels = [{ name: 'pack', ms: 0.5 }];
            }
            return value;
        };"""})
    try:
        page.open_page(page.url)
        page.choose_file(photo)
        page.opened()
        page.add_step("histeq")
        page.shown("histeq")
        rows = page.run("return [...document.querySelectorAll('#times tr')].map((r) => [r.querySelector('th').textContent, r.className])")
        names = [name for name, _ in rows]
        decode = names.index("decode")
        assert [name for name, _ in rows[decode:decode + 3]] == ["decode", "walk", "transform"]
        assert names[names.index("encode") + 1] == "pack"
        assert all("level-1" in kind for name, kind in rows if name in ("walk", "transform", "pack"))
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


SIDE = 8192 if LONG else 4096
TILES = (SIDE // 2048) ** 2  # bitmaps that the page keeps of it


@pytest.fixture(scope="module")
def huge(tmp_path_factory):
    """A square of 16 megapixels, or in the long form 64: red is the column, green the row, by 32."""
    picture = np.zeros((SIDE, SIDE, 3), np.uint8)
    picture[:, :, 0] = np.arange(SIDE) >> 5
    picture[:, :, 1] = np.arange(SIDE)[:, None] >> 5
    path = tmp_path_factory.mktemp("huge") / "huge.ppm"
    path.write_bytes(pnm(picture))
    packed = path.with_suffix(".png")
    subprocess.run([BURIN, "run", "--pixels-max", "70000000", str(path), str(packed)], check=True)
    path.unlink()
    return packed


def test_many_megapixels(page, huge):
    """It is opened, changed and looked at in full size, at both ends. The page stays responsive: its clock ticks."""
    page.run("window.ticks = 0; setInterval(() => ticks++, 20)")
    page.choose_file(huge)
    page.add_step("brightness")
    page.set_field("brightness", "shift", 3)
    page.shown("brightness:shift=3")
    page.opened()  # the daemon may be quicker than the browser
    assert f"{SIDE:,} × {SIDE:,}" in page.text("#file")
    page.click("#compare")
    page.click("#zoom-real")
    page.wait("document.documentElement.dataset.whole === 'true'", "the result at its own size")
    page.run("document.getElementById('canvas').focus()")
    for end, sign in ((0, 1), (SIDE - 1, -1)):
        x, y, samples = page.run("""return new Promise((done) => {
            const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect();
            const sign = arguments[0];
            canvas.dispatchEvent(new KeyboardEvent('keydown', { key: '1' }));
            for (let i = 0; i < 400; i++) {
                canvas.dispatchEvent(new KeyboardEvent('keydown', { key: sign > 0 ? 'ArrowLeft' : 'ArrowRight' }));
                canvas.dispatchEvent(new KeyboardEvent('keydown', { key: sign > 0 ? 'ArrowUp' : 'ArrowDown' }));
            }
            requestAnimationFrame(() => requestAnimationFrame(() => {
                const at = sign > 0 ? 1 : -2;
                const x = Math.round(canvas.width / 2) + at, y = Math.round(canvas.height / 2) + at;
                canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + x + 0.5, clientY: box.top + y + 0.5 }));
                const place = document.getElementById('pixel').textContent.split('  ')[0].split(', ').map(Number);
                done([...place, [...canvas.getContext('2d').getImageData(x, y, 1, 1).data]]);
            })); })""", sign)
        assert abs(x - end) < 4 and abs(y - end) < 4, (x, y)
        assert samples == [min(255, (x >> 5) + 3), min(255, (y >> 5) + 3), 3, 255]
    assert page.run("return ticks") > 10


def test_cancel_while_it_is_read(page, photo, huge):
    """No picture is open then, and the cancelled one is not shown later."""
    page.run("window.given = 0; const close = ImageBitmap.prototype.close;"
             "ImageBitmap.prototype.close = function () { window.given++; close.call(this); };"
             "const post = Worker.prototype.postMessage;"  # half a second late: this machine may be too fast for a bar
             "Worker.prototype.postMessage = function (...all) { setTimeout(() => post.apply(this, all), 500); };")
    size = huge.stat().st_size
    page.choose_file(huge)
    # By the page's own clock: a fast machine has read the picture before a driver's click comes.
    page.wait("!document.getElementById('busy').hidden && (window.said = document.getElementById('busy-text').textContent, "
              "document.getElementById('cancel').click(), true)")
    assert page.run("return said") == (f"Reading {size / 1e6:.2f} MB…" if size >= 1e6 else f"Reading {size / 1e3:.1f} kB…")
    assert page.visible("#empty") and not page.visible("#busy") and page.text("#file") == "No picture"
    page.wait(f"given >= {TILES}", "the tiles of what was read are given back")
    assert page.visible("#empty") and page.text("#file") == "No picture"
    page.choose_file(photo)
    page.opened()
    check_canvas(page, np.array(Image.open(photo)))


ASKS_TO_SAVE = "return !dispatchEvent(new Event('beforeunload', { cancelable: true }))"


def test_another_picture_asks_nothing(page, photo, tmp_path):
    """The steps stay, and the result can be made again."""
    other = tmp_path / "other.png"
    other.write_bytes(encode(smooth(60, 50), "PNG"))
    page.choose_file(photo)
    page.opened()
    assert not page.run(ASKS_TO_SAVE)
    page.add_step("histeq")
    page.shown("histeq")
    assert page.run(ASKS_TO_SAVE)
    page.choose_file(other)
    page.wait("document.getElementById('file').textContent.startsWith('other.png')")
    page.shown("histeq")
    check_canvas(page, run_pixels(tmp_path, other, "histeq"))


# ---- the same without the page

NASTY = ["it's a \"photo\"; rm -rf, 100%.png", "-o.png", "$(touch pwned) `id`.png", "a b\\c,d;type=x.png", "δύση.png"]


def test_the_lines_are_what_they_say(page, photo, tmp_path):
    """One step has a path of its own. Both lines work in a shell, with names that a shell or curl could misread, and every kind of
    parameter."""
    page.choose_file(photo)
    page.opened()
    page.add_step("histeq")
    page.set_field("histeq", "bins", 64)
    page.shown("histeq:bins=64")
    curl, run = page.run("return [...document.querySelectorAll('.command pre')].map((e) => e.textContent)")
    assert curl == f"curl -F image=@rocket.png '{page.url}histeq?bins=64' -o rocket-histeq.png"
    assert run == "burin run histeq:bins=64 rocket.png rocket-histeq.png"
    page.run("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } })")
    page.run("document.getElementById('commands').open = true; document.querySelector('.command button').click()")
    assert page.wait("window.copied") == curl

    take_steps_away(page)
    expected = run_pixels(tmp_path, photo, "convolve:taps=0,0,0,0,1,0,0,0,0", "edge:threshold=40")
    page.add_step("convolve")
    page.add_step("edge")
    page.set_field("edge", "threshold", 40)
    for name in NASTY:
        page.shown("convolve:taps=0,0,0,0,1,0,0,0,0;edge:threshold=40")
        (tmp_path / name).write_bytes(photo.read_bytes())
        page.choose_file(tmp_path / name)
        page.wait(f"document.getElementById('file').textContent.startsWith({json.dumps(name)})")
        lines = page.run("return [...document.querySelectorAll('.command pre')].map((e) => e.textContent)")
        assert len(lines) == 2 and lines[0].startswith("curl ") and lines[1].startswith("burin run ")
        run_lines(lines, tmp_path, name, expected)


def run_lines(lines, folder, name, expected):
    """Runs each line in a shell, in that folder: it makes the expected picture."""
    before = set(os.listdir(folder))
    for line in lines:
        path = f"{os.path.dirname(os.path.abspath(BURIN))}:{os.environ['PATH']}"
        done = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path}, timeout=60)
        assert done.returncode == 0, (line, done.stderr)
        made, = set(os.listdir(folder)) - before
        assert made == name[:-4] + "-convolve-edge.png"
        assert (np.array(Image.open(folder / made).convert("RGB")) == expected).all(), line
        (folder / made).unlink()


# ---- refusals, the end of the daemon

def test_a_file_that_is_too_large(site, tmp_path):
    """The page refuses it before reading it, and says so; it does not report a lost daemon."""
    page = site
    daemon = Daemon("--body-bytes-max", "1000000")
    path = tmp_path / "large.png"
    path.write_bytes(encode(noise(700, 600, 3), "PNG", compress_level=0))
    try:
        page.open_page(f"http://127.0.0.1:{daemon.port}/", "#steps=edge")
        page.choose_file(path)
        page.wait("!document.getElementById('notice').hidden")
        assert "too large" in page.text("#notice") and "1000000 bytes" in page.text("#notice")
        assert all("413" in line["message"] for line in page.errors())
    finally:
        daemon.stop()


def test_the_daemon_goes_and_comes_back(site, photo, tmp_path, axe):
    page = site
    first = Daemon()
    try:
        page.open_page(f"http://127.0.0.1:{first.port}/")
        page.choose_file(photo)
        page.opened()
        assert first.stop() == 0
        page.add_step("histeq")
        page.wait("document.getElementById('notice').textContent.includes('does not answer')")
        page.choose_file(photo)
        page.opened()
        assert page.visible("#notice"), "another picture does not bring the daemon back"
        axe(page, "#notice", "#status")
        first = Daemon("--listen", f"127.0.0.1:{first.port}")
        page.shown("histeq")
        assert not page.visible("#notice")
        check_canvas(page, run_pixels(tmp_path, photo, "histeq"))
    finally:
        first.stop()
    expected = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "/readyz")  # 503 until its worker is ready
    assert [line for line in page.errors() if not any(words in line["message"] for words in expected)] == []


USERS = """
#STRUCT
typedef struct {
    int level; // 127 [0,255] pixels above become white
} settings;

// White over a level, else black.
#P2P_FUNC
static unsigned char white(unsigned char pixel, int index, settings s) { return pixel > s.level ? 255 : 0; }

#STRUCT
typedef struct { int constructor; int toString; int valueOf; int hasOwnProperty; } names;

#P2P_FUNC
static unsigned char named(unsigned char pixel, int index, names n) {
    return pixel ^ n.constructor ^ n.toString ^ n.valueOf ^ n.hasOwnProperty;
}
"""


@pytest.fixture
def with_users(site, tmp_path):
    """The page of a daemon with users' operators."""
    if not any(os.access(os.path.join(folder, name), os.X_OK) for folder in os.environ["PATH"].split(":") for name in ("cc", "tcc")):
        pytest.skip("no compiler for users' operators")
    folder = tmp_path / "operators"
    folder.mkdir(mode=0o755)
    (folder / "users.c").write_text(USERS)
    daemon = Daemon("--operators-dir", str(folder), "--operators-cache-dir", str(tmp_path / "cache"))
    site.url = f"http://127.0.0.1:{daemon.port}/"
    yield site
    daemon.stop()


def test_a_users_operator_appears(with_users, photo):
    """Also one whose parameters are named like members of every object."""
    page = with_users
    page.open_page(page.url)
    assert "White over a level" in page.text('#palette [data-operator="white"]')
    page.choose_file(photo)
    page.opened()
    page.add_step("white")
    page.set_field("white", "level", 90)
    page.shown("white:level=90")
    check_canvas(page, np.where(np.array(Image.open(photo)) > 90, 255, 0).astype(np.uint8))

    page.open_page(page.url, "#steps=named:constructor=3,valueOf=80")
    page.choose_file(photo)
    page.opened()
    page.shown("named:constructor=3,valueOf=80")
    page.set_field("named", "toString", 12)
    page.shown("named:constructor=3,toString=12,valueOf=80")
    check_canvas(page, np.array(Image.open(photo)) ^ 3 ^ 80 ^ 12)



# ---- live

def test_dragging_shows_a_preview_first(page, tmp_path):
    """For it, parameters in pixels become smaller as the picture does."""
    picture = np.tile(smooth(200, 150), (5, 5, 1))
    open_large(page, tmp_path, picture, "threshold")
    page.run("""
        window.labels = [];
        new MutationObserver(() => labels.push(document.getElementById('label-after').textContent))
            .observe(document.getElementById('label-after'), { childList: true, characterData: true, subtree: true });
        const slider = document.querySelector('.step input[type=range]');
        let level = 100;
        const drag = setInterval(() => {
            const last = labels.includes('Preview') && level >= 120;
            slider.value = last ? 120 : ++level;
            slider.dispatchEvent(new Event('input', { bubbles: true }));
            if (last) { clearInterval(drag); slider.dispatchEvent(new Event('change', { bubbles: true })); }
        }, 25);""")
    page.shown("threshold:level=120")
    # On a slow machine, the pointer seems to rest on its way: then the output of another level is shown in between.
    labels = page.run("return labels")
    assert "Preview" in labels and labels[-1] == "Output"
    shown = canvas_picture(page, 400, 300)
    expected = np.where(picture > 120, 255, 0).astype(np.uint8)[375 - 150:375 + 150, 500 - 200:500 + 200]
    assert (shown == expected).all()

    take_steps_away(page)
    page.add_step("blur")
    page.shown("blur")
    page.run("""window.asked = []; const real = window.fetch; window.fetch = (...all) => { asked.push(String(all[0])); return real(...all); };""")
    page.set_field("blur", "sigma", 10)
    page.shown("blur:sigma=10")
    plans = [parse_qs(urlsplit(path).query)["operations"][0] for path in page.run("return asked") if "type=pnm" in path]
    sigma, = {float(json.loads(plan)[0]["params"]["sigma"]) for plan in plans}
    assert abs(sigma / 10 - (500000 / (1000 * 750)) ** 0.5) < 0.001


# ---- seams and devices

def carved_from(page, width, height, result):
    """The picture that a carve to RESULT columns gets, beside it; the gap is a fiftieth of the longer side."""
    page.resize(2000, 900)
    whole = middle_pixels(page, width + int(np.ceil(max(width, height) / 50)) + result, height)
    return whole[:, :width, :3]


def test_seams_over_the_input_in_their_order(page, photo, tmp_path):
    """Every pixel of a seam has a colour, and no other pixel; the first eighth of the seams has the first colour. Seams of
    both directions have no order."""
    page.choose_file(photo)
    page.opened()
    page.add_step("carve")
    page.set_field("carve", "dx", -40)
    page.shown("carve:dx=-40")
    page.click("#show-seams")
    page.wait("document.documentElement.dataset.seams === 'carve:dx=-40'")
    shown = carved_from(page, 480, 320, 440)
    before = np.array(Image.open(photo))
    red = (255, 0, 0)
    seams, first = ((run_pixels(tmp_path, photo, f"carve:dx={dx},show=seams") == red).all(axis=2) & (before != red).any(axis=2) for dx in (-40, -5))
    assert first.sum() >= 5 * 320 and seams.sum() >= 40 * 320
    assert (shown[~seams] == before[~seams]).all()
    assert (shown[first] == (0xff, 0xe9, 0x45)).all()
    assert (shown[seams & ~first] != (0xff, 0xe9, 0x45)).any(axis=1).all()
    page.click("#show-seams")
    page.wait("document.getElementById('show-seams').ariaPressed === 'false'")

    take_steps_away(page)
    page.add_step("carve")
    page.shown("carve")
    page.click("#show-seams")
    for values, text, said in (({}, "carve", "None: this step does not change the size."),
                               ({"dx": -9, "dy": -9}, "carve:dx=-9,dy=-9", "Seams of both directions, without their order.")):
        for name, value in values.items():
            page.set_field("carve", name, value)
        page.wait(f"document.documentElement.dataset.seams === {text!r}")
        assert page.text("#seams .hint").strip() == said
        assert not page.run("return Boolean(document.querySelector('#seams .legend'))")


def test_seams_keep_to_the_masks(page, photo, tmp_path):
    """They cross the pixels to be removed, as the output's seams do; also in a picture with transparent pixels."""
    before = np.array(Image.open(photo))
    picture = np.dstack([before, np.full(before.shape[:2], 255, np.uint8)])
    picture[:20, :20, 3] = 0
    Image.fromarray(picture).save(tmp_path / "alpha.png")
    check_seams_and_mask(page, photo, before, tmp_path)
    page.click("#show-seams")
    take_steps_away(page)
    check_seams_and_mask(page, tmp_path / "alpha.png", before, tmp_path)


def check_seams_and_mask(page, photo, before, tmp_path):
    mask = np.zeros((320, 480), np.uint8)
    mask[:, 200:280] = 255
    path = tmp_path / "remove.png"
    Image.fromarray(mask).save(path)
    page.choose_file(photo)
    page.opened()
    page.add_step("carve")
    choose_mask(page, "rmask", path)
    page.set_field("carve", "dx", -40)
    page.shown("carve:dx=-40")
    page.run("delete document.documentElement.dataset.seams")
    page.click("#show-seams")
    page.wait("document.documentElement.dataset.seams === 'carve:dx=-40'")
    out = tmp_path / "seams.ppm"
    subprocess.run([BURIN, "run", "carve:dx=-40,show=seams", "--rmask", str(path), str(photo), str(out)], check=True)
    seams = (np.array(Image.open(out)) == (255, 0, 0)).all(axis=2) & (before != (255, 0, 0)).any(axis=2)
    shown = carved_from(page, 480, 320, 440)
    assert seams.sum() >= 40 * 320 and not seams[20:, :150].any()
    assert (shown[20:][~seams[20:]] == before[20:][~seams[20:]]).all()
    assert (shown[seams] != before[seams]).any(axis=1).mean() > 0.99


def test_seams_wait_for_the_smaller_copy(site, photo):
    """A press before the picture's copy for previews is there shows them when it is."""
    page = site
    script = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
        const real = Object.getOwnPropertyDescriptor(Worker.prototype, 'onmessage').set;
        window.held = [];
        Object.defineProperty(Worker.prototype, 'onmessage', { set(act) {
            let holds = false;
            real.call(this, (event) => {
                holds ||= event.data.part === 'preview';
                return holds ? held.push(() => act(event)) : act(event);
            }); } });"""})
    try:
        page.open_page(page.url)
        page.choose_file(photo)
        page.opened()
        page.add_step("carve")
        page.set_field("carve", "dx", -9)
        page.shown("carve:dx=-9")
        page.click("#show-seams")
        page.wait("held.length")
        assert not page.run("return document.documentElement.dataset.seams")
        page.run("for (const pass of held) pass()")
        page.wait("document.documentElement.dataset.seams === 'carve:dx=-9'")
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def test_cpu_and_gpu_side_by_side(site, photo, axe):
    """The page offers both where /readyz names both. There is no GPU here: the page sees one, and the CPU does its work."""
    page = site
    script = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
        const real = window.fetch;
        window.fetch = async (target, options) => {
            if (options?.body instanceof FormData && options.body.get('device') === 'cuda') options.body.set('device', 'cpu');
            const response = await real(target, options);
            if (!String(target).endsWith('/readyz')) return response;
            const health = await response.json();
            health.workers.unshift({ ...health.workers[0], device: 'cuda:0' });
            return new Response(JSON.stringify(health));
        };"""})
    try:
        page.open_page(page.url)
        assert page.run("return [...document.getElementById('device').options].map((o) => o.value)") == ["auto", "cpu", "cuda"]
        page.choose_file(photo)
        page.opened()
        page.add_step("histeq")
        page.shown("histeq")
        page.click("#compare-devices")
        page.wait("document.querySelector('#devices .same, #devices .different')")
        assert page.text("#devices .same").startswith("The same bytes.")
        digests = page.run("return [...document.querySelectorAll('#devices .digest')].map((e) => e.textContent.split(' ').pop())")
        assert len(digests) == 2 and digests[0] == digests[1] and len(digests[0]) == 64
        rows = page.run("return [...document.querySelectorAll('#devices tbody th')].map((e) => e.textContent)")
        assert rows == ["compute", "total", "compute rate"]
        page.run("document.documentElement.dataset.tab = 'statistics'")  # of a telephone's sheet
        axe(page, "#devices")
    finally:
        page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


# ---- accessibility

def in_sight(page, selector):
    """All of its height is on the screen, and nothing covers its middle."""
    return page.run("""const e = document.querySelector(arguments[0]), box = e.getBoundingClientRect();
        const over = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight && (e.contains(over) || over.contains(e));""", selector)


def test_what_went_wrong_is_in_sight(page, photo):
    """The message shows however the page is scrolled; and in a large window added steps leave the picture in place."""
    page.choose_file(photo)
    page.opened()
    for width, height in ((390, 844), (768, 1024), (1000, 520), (1280, 800)):
        page.resize(width, height)
        page.run("scrollTo(0, 0)")
        for name in ("carve", "edge", "histogram"):
            page.add_step(name)
        page.shown("carve;edge;histogram")
        if (width, height) != (1000, 520):
            assert page.run("const box = document.getElementById('view').getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight && box.height > 200")
        page.run("scrollTo(0, 600)")
        page.set_field("carve", "dx", -480)
        page.wait("!document.getElementById('notice').hidden")
        assert in_sight(page, "#notice")
        take_steps_away(page)
    assert all("pipeline" in line["message"] for line in page.errors())


ACTING = {"button", "slider", "spinbutton", "checkbox", "radio", "combobox", "textbox", "link", "progressbar", "img"}


def test_axe_finds_nothing(page, photo, axe):
    """After a look at the whole, only the parts that change are looked at. Other states are looked at by the tests that make them."""
    axe(page)
    page.click("#settings-open")
    page.run("document.getElementById('access').hidden = false")
    axe(page, "#settings")
    page.run("document.getElementById('settings').hidePopover(); document.getElementById('keys-open').click()")
    axe(page, "#keys")
    page.run("document.getElementById('keys').close()")
    page.choose_file(photo)
    page.opened()
    for name in ("carve", "convolve", "histogram", "dominant"):
        page.add_step(name)
    page.set_field("carve", "dx", -40)
    page.shown("carve:dx=-40;convolve:taps=0,0,0,0,1,0,0,0,0;histogram;dominant")
    page.wait("document.querySelectorAll('#histograms svg').length === 2")
    page.run("for (const e of document.querySelectorAll('details')) e.open = true")
    page.run("document.querySelector('.live-of button').click()")
    page.wait("document.documentElement.dataset.liveWidth")
    page.run("for (const e of document.querySelectorAll('#values tr:nth-child(n+9)')) e.remove()")  # hundreds, all alike
    axe(page)
    nodes = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    nameless = [node for node in nodes if not node["ignored"] and node["role"]["value"] in ACTING and not node.get("name", {}).get("value")]
    assert not nameless, nameless[:3]
    page.run("document.querySelector('.step:nth-child(2) .fold').click(); document.querySelector('.step:nth-child(4) .switch').click()")
    page.click("#save")
    page.wait("document.documentElement.dataset.saving")
    axe(page, "#saving", ".step:nth-child(2)", ".step:nth-child(4)")
    page.click("#saving-close")
    page.run("document.querySelector('.mask .paint').click()")
    page.wait("!document.querySelector('.painting').hidden")
    axe(page, "#view", ".step:nth-child(1)")
    page.run("document.querySelector('.step .adjust button').click()")
    page.wait("document.querySelector('.cut:not([hidden])')")
    axe(page, "#view", ".step:nth-child(1)")
    page.run("document.querySelector('.step .adjust button').click()")
    page.set_field("carve", "dx", -480)
    page.wait("!document.getElementById('notice').hidden")
    axe(page, ".step:nth-child(1)")
    assert all("pipeline" in line["message"] for line in page.errors())
    if not axe.source:
        pytest.skip("npm cannot fetch axe-core: its rules were not looked at")
