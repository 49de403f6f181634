#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How quick the page is in headless Chromium on this machine: first paint, from a file to its result, from a slider to its
preview. Medians of some runs, beside the goals.

    BURIN=build/burin /usr/bin/python3 tests/bench/page.py [photo.jpg]        # the photo: about 2 MP; else one is made"""
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests/http"), str(ROOT / "tests/page")]
from browser import Browser  # noqa: E402
from conftest import BURIN, Daemon  # noqa: E402

RUNS = 9
STEPS = 40  # of a slider

FIRST_PAINT = """const [entry] = performance.getEntriesByName('first-contentful-paint'); return entry && entry.startTime"""

# Each value waits for the preview of the one before: what is measured is one change, not how changes overtake each other.
DRAG = """const [count, done] = arguments;
const slider = document.querySelector('.step[data-operator="brightness"] input[type=range]');
const root = document.documentElement, found = [];
let start, level = 0;
const next = () => { slider.value = ++level; start = performance.now(); slider.dispatchEvent(new Event('input', { bubbles: true })); };
new MutationObserver(() => requestAnimationFrame(() => {
    if (start === null) return;
    found.push(performance.now() - start); start = null;
    if (found.length === count) done(found); else setTimeout(next, 5);
})).observe(root, { attributeFilter: ['data-preview-ms'] });
next();"""


def photo(folder):
    """2 MP of a real photograph, enlarged."""
    if len(sys.argv) > 1:
        return pathlib.Path(sys.argv[1])
    from PIL import Image
    path = pathlib.Path(folder, "photo.jpg")
    Image.open(ROOT / "tests/golden/photos/rocket.jpg").resize((1733, 1155), Image.LANCZOS).save(path, quality=90)
    return path


def first_paint(browser, url):
    browser.open_page(url)
    return browser.wait(f"(() => {{ {FIRST_PAINT} }})()")


def to_result(browser, url, path):
    """From the file's arrival to the frame that shows the result of histeq."""
    browser.open_page(url, "#steps=histeq")
    browser.run("""const root = document.documentElement;
        document.getElementById('file-input').addEventListener('change', () => { window.began = performance.now(); }, true);
        new MutationObserver(() => root.dataset.shown === 'histeq' && requestAnimationFrame(() => requestAnimationFrame(() => {
            window.took ??= performance.now() - window.began; }))).observe(root, { attributeFilter: ['data-shown'] });""")
    browser.choose_file(path)
    return browser.driver.execute_async_script("""const done = arguments[0];
        const look = () => window.took ? done(window.took) : setTimeout(look, 50);
        look();""")


def to_preview(browser, url, path):
    browser.open_page(url)
    browser.choose_file(path)
    browser.opened()
    browser.add_step("brightness")
    browser.shown("brightness")
    browser.wait("document.querySelectorAll('#histograms svg').length === 2")
    return statistics.median(browser.driver.execute_async_script(DRAG, STEPS))


def main():
    with tempfile.TemporaryDirectory() as folder:
        daemon, browser = Daemon(), Browser(folder, watched=False)
        try:
            url, path = f"http://127.0.0.1:{daemon.port}/", photo(folder)
            size = subprocess.run([BURIN, "run", "mean", str(path)], check=True, capture_output=True) and path.stat().st_size
            print(f"{path.name}, {size:,} bytes; median of {RUNS}")
            for name, goal, measure in (("first paint", 200, lambda: first_paint(browser, url)),
                                        ("file to result of histeq", 250, lambda: to_result(browser, url, path)),
                                        ("slider to preview, 0.5 MP", 60, lambda: to_preview(browser, url, path))):
                times = [measure() for _ in range(RUNS)]
                print(f"{name:28} {statistics.median(times):6.1f} ms, {min(times):.1f} to {max(times):.1f}; goal {goal} ms")
        finally:
            browser.quit()
            daemon.stop()


if __name__ == "__main__":
    main()
