# SPDX-License-Identifier: Apache-2.0
"""The contents of the page's canvas, and the expected ones."""
import hashlib
import subprocess

import numpy as np
from PIL import Image

from conftest import BURIN


def run_pixels(tmp_path, source, *steps):
    """RGB of `burin run`'s output."""
    out = tmp_path / "expected.png"
    subprocess.run([BURIN, "run", *steps, "--device", "cpu", str(source), str(out)], check=True, capture_output=True)
    return np.array(Image.open(out).convert("RGB"))


def middle(page, width, height):
    """The rectangle of a picture of that size in the middle of the canvas: left, top, width, height."""
    across, down = page.run("""return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
        const canvas = document.getElementById('canvas'); done([canvas.width, canvas.height]); })))""")
    return int(np.floor(across / 2 - width / 2 + 0.5)), int(np.floor(down / 2 - height / 2 + 0.5)), width, height


def middle_pixels(page, width, height):
    """RGBA samples of that rectangle."""
    return np.frombuffer(page.canvas_pixels(*middle(page, width, height)), np.uint8).reshape(height, width, 4)


def show_output_alone(page):
    """Shows the output at its own size, its middle in the middle of the canvas if it was fitted before."""
    if page.run("return document.getElementById('compare').ariaPressed") == "true":
        page.click("#compare")
    if page.wait("true", painted=True) and page.text("#zoom") != "100 %":
        page.click("#zoom-real")
        page.wait("document.getElementById('zoom').textContent === '100 %'")


LOOK = """const [width, height] = arguments;
    return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(async () => {
        const canvas = document.getElementById('canvas'), corner = (side, length) => Math.floor(canvas[side] / 2 - length / 2 + 0.5);
        const { data } = canvas.getContext('2d').getImageData(corner('width', width), corner('height', height), width, height);
        const digest = [...new Uint8Array(await crypto.subtle.digest('SHA-256', data))];
        done([document.getElementById('compare').ariaPressed, document.getElementById('zoom').textContent,
            digest.map((byte) => byte.toString(16).padStart(2, '0')).join('')]); })));"""


def alone_digest(page, width, height):
    """SHA-256 of the output of that size, alone at its own size: megabytes of pixels as text would take longer than the rest of a
    test, and so would a request for each of these facts."""
    for _ in range(3):
        comparing, zoom, digest = page.run(LOOK, width, height)
        if comparing == "true":
            page.click("#compare")
        elif zoom != "100 %":
            page.click("#zoom-real")
        else:
            return digest
    raise AssertionError(f"compare is {comparing}, the zoom {zoom}")


def canvas_picture(page, width, height):
    """RGB of the picture on the canvas, in the middle at its own size, nothing beside it."""
    show_output_alone(page)
    data = middle_pixels(page, width, height)
    assert (data[:, :, 3] == 255).all(), "the picture does not lie where it should"
    return data[:, :, :3]


def check_canvas(page, expected):
    height, width = expected.shape[:2]
    opaque = np.dstack([expected, np.full((height, width), 255, np.uint8)])
    if alone_digest(page, width, height) != hashlib.sha256(opaque.tobytes()).hexdigest():
        shown = canvas_picture(page, width, height)
        raise AssertionError(f"{(shown != expected).any(axis=2).sum()} pixels differ")


def open_live(page, path):
    """Opens a picture and waits until its changes are previewed."""
    page.choose_file(path)
    page.opened()
    page.wait("document.documentElement.hasAttribute('data-live')")


def take_steps_away(page):
    """By an address without any: the picture stays, and what follows begins at it."""
    page.run("location.hash = ''")
    page.wait("!document.querySelector('.step')", "no step is left")


def choose_mask(page, part, path):
    """Until the step has the file: the page reads it first, and the text of the steps is the same with and without it."""
    page.find(f'.step input[name="{part}"]').send_keys(str(path))
    page.wait(f"document.querySelector('.mask:has([name={part}]) .unit').textContent.includes('{path.name}')")


def strip(page):
    """Names of the pictures in the strip below."""
    return page.run("return [...document.querySelectorAll('#filmstrip .name')].map((e) => e.textContent)")
