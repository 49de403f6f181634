# SPDX-License-Identifier: Apache-2.0
"""What the page paints beside a picture's own pixels: transparency, histograms, colours and placeholders."""
import base64
import io
import json
import pathlib
import subprocess

import numpy as np
import pytest
from PIL import Image

from browser import needs_browser
from conftest import encode, smooth
from npm import npm_packages
from window import check_canvas, show_output_alone, take_steps_away

pytest_plugins = "page_fixtures"
pytestmark = needs_browser


def screen(page, left=0, top=0, width=1440, height=900):
    """RGB of the window, or of a part, two frames later."""
    page.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    clip = {"x": left, "y": top, "width": width, "height": height, "scale": 1}
    shot = page.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})
    return np.array(Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB"))


def token(page, name):
    text = page.run("return getComputedStyle(document.documentElement).getPropertyValue(arguments[0]).trim()", name)
    return tuple(int(text[i:i + 2], 16) for i in (1, 3, 5))


def open_step(page, path, step):
    page.open_page(page.url, f"#steps={step}")
    page.choose_file(path)
    page.opened()
    page.shown(step)


# ---- transparency

def test_a_checkerboard_under_transparency_and_a_line_around(page, tmp_path):
    picture = np.dstack([np.full((200, 300, 3), 200, np.uint8), np.full((200, 300), 255, np.uint8)])
    picture[:, 150:, 3] = 0
    path = tmp_path / "half.png"
    path.write_bytes(encode(picture, "PNG"))
    page.choose_file(path)
    page.opened()
    canvas = page.run("const box = document.getElementById('canvas').getBoundingClientRect(); return [box.left, box.top, box.width, box.height]")
    left, top = int(canvas[0] + canvas[2] / 2 - 150 + 0.5), int(canvas[1] + canvas[3] / 2 - 100 + 0.5)
    shown = screen(page)
    assert (shown[top:top + 200, left:left + 150] == 200).all()
    greys = {tuple(colour) for colour in shown[top + 5:top + 195, left + 155:left + 295].reshape(-1, 3)}
    assert greys >= {token(page, "--check-1"), token(page, "--check-2")} and len(greys) <= 6, "two greys, and where they meet"
    line = shown[top - 1, left + 5:left + 295]
    assert (line == line[0]).all() and tuple(line[0]) != token(page, "--surround")
    assert tuple(shown[top - 3, left + 5]) == token(page, "--surround")
    page.click("#zoom-in")
    page.wait("document.getElementById('zoom').textContent === '150 %'")
    moved = screen(page)
    assert tuple(moved[top - 51, left + 5]) != (200, 200, 200) and tuple(moved[top - 50, left + 5]) == (200, 200, 200)


# ---- histograms

def choose_view(page, view):
    page.run("""const select = document.querySelector('#histograms select');
        select.value = arguments[0]; select.dispatchEvent(new Event('change'));""", view)


def bars(page, channel, side="before"):
    """The height of the area at each level, from the path itself."""
    path = page.run("return document.querySelector(arguments[0]).getAttribute('d')", f"#histograms svg[data-side={side}] .area.{channel}")
    tops = [float(part.split("H")[0]) for part in path.split("V")[1:257]]
    return float(path.split("V")[0].split(" ")[1]) - np.array(tops)


def test_histograms(page, photo, tmp_path):
    """Channels have their colours, marks are round numbers, and a scale is logarithmic on demand."""
    page.choose_file(photo)
    page.opened()
    page.wait("document.querySelector('#histograms svg')")
    picture = np.array(Image.open(photo))
    assert "largest of red, green and blue" in page.text("#histograms .hint")
    fills = []
    for i, channel in enumerate(("red", "green", "blue")):
        choose_view(page, channel)
        counts = np.bincount(picture[:, :, i].ravel(), minlength=256)
        drawn = bars(page, channel)
        used = drawn < 79.9  # others are cut off at the top
        assert np.abs(drawn[used] / drawn[used].sum() - counts[used] / counts[used].sum()).max() < 0.003
        fills.append(page.run("return getComputedStyle(document.querySelector('#histograms .area')).fill"))
    assert [max(range(3), key=lambda i: eval(fill[3:])[i]) for fill in fills] == [0, 1, 2]
    choose_view(page, "RGB")
    assert page.run("return document.activeElement.tagName") == "SELECT"
    assert page.run("return [...document.querySelectorAll('#histograms .over .area')].map((e) => getComputedStyle(e).fill)") == fills
    said = page.run("return document.querySelector('#histograms svg').getAttribute('aria-valuetext')")
    counts = [(picture[:, :, i] == 128).sum() for i in range(3)]
    assert all(f"{name} {count:,} pixels" in said for name, count in zip(("red", "green", "blue"), counts))

    # Marks are round numbers.
    for view in ("value", "RGB"):
        choose_view(page, view)
        labels = page.run("return [...document.querySelectorAll('#histograms svg text[text-anchor=end]')].map((e) => e.textContent)")
        numbers = np.array([float(label.split()[0]) for label in labels])
        assert 2 <= len(numbers) <= 4 and np.allclose(numbers, numbers[0] * np.arange(1, len(numbers) + 1))
        assert f"{numbers[0]:e}"[0] in "125" and f"{numbers[0]:e}"[2:5] == "000"

    # On a logarithmic scale ten times as many pixels are one decade higher, and a level that a thousandth of them have is seen.
    picture = np.full((100, 100), 50, np.uint8)
    picture.ravel()[:1000], picture.ravel()[1000:1100], picture.ravel()[1100:1110] = 100, 150, 200
    path = tmp_path / "steps.png"
    Image.fromarray(picture).save(path)
    page.choose_file(path)
    page.opened()
    page.wait("document.querySelector('#histograms svg')")
    choose_view(page, "value")
    page.click("#histograms .head button")
    assert page.run("return document.activeElement.ariaPressed") == "true"
    heights = bars(page, "value")[[50, 100, 150, 200]]
    steps = -np.diff(heights)
    assert heights[3] > 5 and np.abs(steps[1:] - steps[1]).max() < 0.2 and abs(steps[0] - steps[1] * np.log10(8.89)) < 0.2
    labels = page.run("return [...document.querySelectorAll('#histograms svg text[text-anchor=end]')].map((e) => e.textContent)")
    assert labels == ["10 %", "1 %", "0.1 %"]


def test_what_is_drawn_around_a_result(site, photo):
    """No checkerboard in the shade around a part: the input around a cropped result is shaded over the surround."""
    page = site
    open_step(page, photo, "crop:width=100")
    edges = page.run("return [...document.querySelectorAll('.frame')].filter((e) => !e.hidden).map((e) => e.getBoundingClientRect().width)")
    assert edges == [480, 100]
    box = page.run("const box = document.querySelectorAll('.frame')[1].getBoundingClientRect(); return [box.right, box.top]")
    greys = screen(page)[int(box[1]) + 20:int(box[1]) + 200, int(box[0]) + 20:int(box[0]) + 150]
    assert len(np.unique(greys.reshape(-1, 3), axis=0)) > 20
    show_output_alone(page)
    page.wait("[...document.querySelectorAll('.frame')].filter((e) => !e.hidden).length === 1")


# ---- colours and placeholders

def test_a_colour_is_shown_and_copied(site, tmp_path):
    page = site
    path = tmp_path / "plain.png"
    Image.new("RGB", (40, 30), (40, 56, 88)).save(path)
    open_step(page, path, "dominant;mean;grayscale;minimum")
    luma = (77 * 40 + 150 * 56 + 29 * 88 + 128) >> 8
    shown = page.run("return [...document.querySelectorAll('.swatch')].map((e) => [e.querySelector('code').textContent, getComputedStyle(e.firstChild).backgroundColor])")
    assert shown == [["#283858", "rgb(40, 56, 88)"]] * 2 + [[f"#{luma:02x}" + f"{luma:02x}" * 2, f"rgb({luma}, {luma}, {luma})"]]
    page.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.click(".swatch button")
    page.wait("['Copied', 'Selected'].includes(document.querySelector('.swatch button').textContent)")

    # 16 bits are no colour of the screen; the dominant colour always is one.
    path = tmp_path / "deep.png"
    Image.fromarray(np.full((9, 9), 300, np.uint16)).save(path)
    page.choose_file(path)
    page.wait("document.getElementById('file').textContent.startsWith('deep.png')")
    page.run("location.hash = 'steps=mean;dominant'")
    page.shown("mean;dominant")
    assert page.run("return [...document.querySelectorAll('.swatch')].map((e) => e.textContent.slice(0, 10))") == ["2 dominant"]


def test_what_trim_cut_off_is_shown(site, tmp_path):
    """By name; the strip shows the sizes that the page cannot know before."""
    page = site
    picture = np.full((50, 80, 3), 255, np.uint8)
    picture[10:45, 20:60] = 30
    path = tmp_path / "framed.png"
    Image.fromarray(picture).save(path)
    open_step(page, path, "trim;zoom;mean")
    table = "return document.querySelector('[aria-label=\"trim: values\"]').innerText.split(/\\s+/).join(' ')"
    assert page.run(table) == "step left top right bottom 1 trim 20 10 20 5"
    sizes = page.run("return [...document.querySelectorAll('#filmstrip .size')].map((e) => e.textContent)")
    assert (sizes[0], sizes[-1]) == ("80 × 50", "80 × 70")


@pytest.fixture(scope="module")
def decoders(tmp_path_factory):
    """The published decoders, in node: [text, width, height] of a BlurHash, or [text] of a ThumbHash, gives RGBA."""
    folder = tmp_path_factory.mktemp("decoders")
    modules = npm_packages(folder, pathlib.Path(__file__).parents[1] / "reference")

    def decode(*job):
        script = ("import { pathToFileURL } from 'node:url'; const load = (path) => import(pathToFileURL(path)); const job = JSON.parse(process.argv[1]);"
                  f"const blur = await load('{modules}/blurhash/dist/esm/index.js').catch(() => load('{modules}/blurhash/dist/index.mjs'));"
                  f"const thumb = await load('{modules}/thumbhash/thumbhash.js');"
                  "const rgba = job.length > 1 ? blur.decode(...job) : thumb.thumbHashToRGBA(Uint8Array.from(Buffer.from(job[0], 'base64'))).rgba;"
                  "console.log(JSON.stringify([...rgba]));")
        done = subprocess.run(["node", "--input-type=module", "-e", script, json.dumps(job)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return np.array(json.loads(done.stdout))
    return decode


def test_placeholders_are_painted(site, photo, decoders, tmp_path):
    """As the published decoders paint them, to a rounding; a wide picture, a tall one, and one with alpha."""
    page = site
    tall, clear = tmp_path / "tall.png", tmp_path / "clear.png"
    Image.open(photo).crop((100, 0, 260, 320)).save(tall)
    picture = np.dstack([smooth(90, 60), np.linspace(0, 255, 90 * 60).reshape(60, 90).astype(np.uint8)])
    Image.fromarray(picture).save(clear)
    open_step(page, photo, "blurhash:components=5x4;thumbhash")
    for path in (photo, tall, clear):
        if path != photo:
            page.choose_file(path)
            page.opened()
            page.shown("blurhash:components=5x4;thumbhash")
        texts = page.run("return [...document.querySelectorAll('.texts td')].map((e) => e.textContent)")
        painted = page.run("""return [...document.querySelectorAll('.placeholder canvas')].map((canvas) => [canvas.width, canvas.height,
            [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data]])""")
        (width, height, blur), (_, _, thumb) = painted
        assert np.abs(decoders(texts[0], width, height) - blur).max() <= 1
        expected, thumb = decoders(texts[1]).reshape(-1, 4), np.array(thumb).reshape(-1, 4)
        opaque = expected[:, 3] > 200  # the canvas multiplies by alpha
        assert np.abs(expected[:, 3] - thumb[:, 3]).max() <= 1 and np.abs(expected - thumb)[opaque].max() <= 2


# ---- sliders and presets

def filled(page, name):
    """The ends of the part of a slider's track that has the accent's colour, in shares of its length; None: no such part."""
    page.run("document.activeElement.blur()")
    left, top, width, height = page.run("""const slider = document.querySelector(`.step input[type=range][aria-label="${arguments[0]}, slider"]`);
        slider.scrollIntoView({ block: 'center' });
        const box = slider.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]""", name)
    row = screen(page, int(left), int(top + height / 2 + 1), int(left + width) - int(left), 1)[0]
    accent = np.flatnonzero((row == token(page, "--accent")).all(axis=1))
    return (accent[0] / width, accent[-1] / width) if len(accent) else None


FILLS = {"brightness:shift=127": {"shift": (0.5, 0.75)}, "brightness:shift=-127": {"shift": (0.25, 0.5)}, "brightness": {"shift": (0.5, 0.5)},
         "threshold": {"level": (0, 0.5)}, "resize:width=240": {"width": (0, 0.25), "height": None}}


def test_a_slider_is_filled_from_its_zero(page, photo):
    page.choose_file(photo)
    page.opened()
    for step, fills in FILLS.items():
        page.run("location.hash = arguments[0]", f"steps={step}")
        page.shown(step)
        for name, fill in fills.items():
            seen = filled(page, name)
            assert seen is None if fill is None else np.abs(np.subtract(seen, fill)).max() < 0.05, (step, name, seen)


PRESETS = [("convolve", "Emboss", "convolve:taps=-2,-1,0,-1,1,1,0,1,2"), ("convolve", "Negative", "convolve:taps=0,0,0,0,-1,0,0,0,0,divisor=1,offset=255"),
           ("convolve", "Sharpen", "convolve:taps=0,-1,0,-1,5,-1,0,-1,0"), ("resize", "Square avatar, 256", "resize:width=256,height=256,position=smart"),
           ("resize", "Thumbnail, 320 wide", "resize:width=320")]


def test_presets_and_shapes(page, photo):
    """Each preset sets all that it is about, and is named until a value is another."""
    page.choose_file(photo)
    page.opened()
    page.add_step("convolve")
    page.add_step("resize")
    select = """const choice = document.querySelector(`.step[data-operator="${arguments[0]}"] .preset select`);"""
    shown = {"convolve": "", "resize": "resize:width=240,height=160"}
    for operator, name, text in PRESETS:
        page.run(select + "choice.value = arguments[1]; choice.dispatchEvent(new Event('change'));", operator, name)
        shown[operator] = text
        page.shown(";".join(shown.values()))
        assert page.run(select + "return [choice.value, choice === document.activeElement]", operator) == [name, True]
    page.set_field("resize", "width", 100)
    page.shown(shown["convolve"] + ";resize:width=100")
    assert page.run(select + "return choice.value", "resize") == ""
    page.run(select + "choice.value = 'Negative'; choice.dispatchEvent(new Event('change'));", "convolve")
    page.run("document.querySelector('.step[data-operator=resize] [aria-label^=Remove]').click()")
    page.shown("convolve:taps=0,0,0,0,-1,0,0,0,0,divisor=1,offset=255")
    check_canvas(page, 255 - np.array(Image.open(photo)))

    # The shape of 480 x 320 is kept or not.
    take_steps_away(page)
    page.add_step("resize")
    for side, length, text in (("width", 90, "width=90,height=60"), ("height", 100, "width=150,height=100")):
        page.set_field("resize", side, length)
        page.shown("resize:" + text)
    assert page.run("return document.querySelector('.step input[name=width]').value") == "150"
    page.click(".lock input")
    page.set_field("resize", "width", 90)
    page.shown("resize:width=90,height=100")
    page.open_page(page.url, "#steps=resize:width=90,height=100")
    page.choose_file(photo)
    page.opened()
    assert not page.run("return document.querySelector('.lock input').checked")
