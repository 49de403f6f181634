# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, driven by Debian's selenium, and the queries that the tests of the page make.

The headless shell does not draw what is not looked at, and takes two thirds of the whole browser's time. Downloads go to a
folder of the tests' own. Every network request except to 127.0.0.1 goes to a proxy that does not exist, so a request to the
outside fails and is in the log."""
import base64
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "http"))
from conftest import PATIENCE_S  # noqa: E402

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
except ImportError:
    webdriver = None

WEB = pathlib.Path(__file__).parents[2] / "server/web"
# Not the program of that name in the path: that is a script, which would end alone.
CHROMIUM, DRIVER = shutil.which("chromium-headless-shell", path="/usr/lib/chromium"), shutil.which("chromedriver")
missing = [name for name, found in (("python3-selenium", webdriver), ("chromium-headless-shell", CHROMIUM), ("chromium-driver", DRIVER)) if not found]
needs_browser = pytest.mark.skipif(bool(missing), reason="not installed: " + ", ".join(missing))


@functools.lru_cache(None)
def bundled(name):
    """The text of a module of the page with those that it imports, which sets a variable of its name."""
    line = ["esbuild", "--bundle", "--format=iife", f"--global-name={name}", WEB / f"{name}.js"]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout + f"window.{name} = {name};"


WINDOW = 1200, 760  # each frame is drawn by the processor: a window of 1440 x 900 takes a fifteenth more time in all


class Browser:
    def __init__(self, folder):
        self.downloads = pathlib.Path(folder, "downloads")
        self.downloads.mkdir()
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        flags = ["--hide-scrollbars", "--force-device-scale-factor=1",
                 f"--window-size={WINDOW[0]},{WINDOW[1]}", "--disable-gpu",
                 # Processes are expensive: as few as possible.
                 "--disable-site-isolation-trials", "--process-per-site", "--in-process-gpu", "--enable-features=NetworkServiceInProcess2",
                 "--disable-features=BackForwardCache,IsolateOrigins,site-per-process",
                 "--incognito",  # the cache of files is in memory
                 "--force-prefers-reduced-motion",  # each frame of a transition is drawn by the processor
                 "--proxy-server=127.0.0.1:9", "--proxy-bypass-list=127.0.0.1"]
        memory = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
        if not memory or memory.f_bavail * memory.f_frsize < 1 << 30:  # a container has little; otherwise it is quicker than files
            flags.append("--disable-dev-shm-usage")
        if os.getuid() == 0:
            flags.append("--no-sandbox")
        for flag in flags:
            options.add_argument(flag)
        options.add_experimental_option("prefs", {"download.default_directory": str(self.downloads)})  # of further tabs
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.set_capability("unhandledPromptBehavior", "ignore")
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        self.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(self.downloads)})
        self.driver.set_script_timeout(3 * PATIENCE_S)
        self.daemons = []  # daemons whose pages were open
        self.asked = []  # addresses requested by pages that are closed
        self.address = None  # of the daemon whose page is open
        self.size(*WINDOW)

    def quit(self):
        self.driver.quit()

    # ---- looking and acting

    def evaluate(self, expression):
        """The value of a JavaScript expression, or what its promise becomes: in half the time of selenium's own scripts."""
        asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        answer = self.driver.execute_cdp_cmd("Runtime.evaluate", asked)
        problem = answer.get("exceptionDetails")
        assert not problem, (problem["exception"].get("description", problem["text"]), expression)
        return answer["result"].get("value")

    def run(self, script, *arguments):
        return self.evaluate(f"(function () {{ {script}\n}}).apply(null, {json.dumps(arguments)})")

    def wait(self, condition, what=None, patience_s=PATIENCE_S, painted=False):
        """Waits until the JavaScript expression is true; returns its value. PAINTED: and until the viewer has drawn what it shows
        then, with its labels, zoom, divider and frames: all follow with the next frame."""
        value = self.evaluate(f"""new Promise((done, fail) => {{
            const end = performance.now() + {1000 * patience_s};
            (function look() {{
                let value;
                try {{ value = {condition}; }} catch (problem) {{ return fail(problem); }}
                if (value instanceof Node) value = true;
                if (!value && performance.now() < end) setTimeout(look, 5);
                else if (value && {json.dumps(painted)}) requestAnimationFrame(() => done(value));
                else done(value);
            }})(); }})""")
        if value:
            return value
        notice = self.run("return document.getElementById('notice').textContent")
        raise AssertionError(f"never true: {what or condition}; the page says {notice!r}, {self.text('#status')!r}")

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def click(self, selector):
        """A press in the middle of an element that nothing covers, at once: while selenium's own click is on its way, which takes ten
        times as long, an element may move."""
        hit = self.run("""const element = document.querySelector(arguments[0]);
            element.scrollIntoView({ block: 'nearest', inline: 'nearest' });
            const { left, top, width, height } = element.getBoundingClientRect();
            const place = { clientX: left + width / 2, clientY: top + height / 2 };
            const there = document.elementFromPoint(place.clientX, place.clientY);
            if (!element.contains(there) && there?.closest('label')?.control !== element) return there?.outerHTML.slice(0, 100) ?? 'nothing';
            const facts = { bubbles: true, cancelable: true, composed: true, detail: 1, ...place };
            const send = (Kind, name, buttons) => there.dispatchEvent(new Kind(name, { ...facts, buttons, pointerId: 1, isPrimary: true }));
            send(PointerEvent, 'pointerdown', 1);
            if (send(MouseEvent, 'mousedown', 1)) there.closest('button, input, select, summary, a, [tabindex]')?.focus({ preventScroll: true });
            send(PointerEvent, 'pointerup', 0);
            send(MouseEvent, 'mouseup', 0);
            if (!there.closest(':disabled')) send(PointerEvent, 'click', 0);
            return '';""", selector)
        assert not hit, f"{selector} is covered by {hit}"

    def note_texts(self, selector):
        """From now on `texts` lists what the element shows, however shortly."""
        self.run("""window.texts = []; const element = document.querySelector(arguments[0]);
            new MutationObserver(() => texts.push(element.textContent)).observe(element, { childList: true, characterData: true, subtree: true });""", selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def visible(self, selector):
        return self.run("const e = document.querySelector(arguments[0]); return Boolean(e && !e.closest('[hidden]'))", selector)

    def size(self, width, height):
        self.sized = (width, height)
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def scheme(self, name):
        """The system's: light or dark; None: the browser's own."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}] if name else []})

    def resize(self, width, height):
        """The window has another size, and the viewer fills its part of it."""
        self.size(width, height)
        self.wait(f"innerWidth === {width} && ['Width', 'Height'].every((side) => canvas['client' + side] === canvas[side.toLowerCase()])",
                  painted=True)

    # ---- the page

    def module(self, name):
        """A copy of a module of the page, as a variable of its name. The page itself has all modules in one script."""
        self.run(bundled(name))

    def state(self, expression):
        """The value of an expression of `page`, the state that the page's script keeps."""
        return self.run("return import(document.querySelector('script[type=module]').src).then(({ page }) => " + expression + ")")

    def open_page(self, url, address=""):
        self.daemons.append(url)
        self.asked += self.requests()
        if address and url == self.address:  # an address that differs only in its fragment is the same page, and is not loaded again
            self.driver.get("about:blank")
        self.address = url
        self.driver.get(url + address)
        self.wait("performance.setResourceTimingBufferSize(1e6) || document.documentElement.hasAttribute('data-ready')", "the page is ready")

    def choose_file(self, path):
        """Like the file dialog: the file is given to its input."""
        # The mark is of the picture before.
        asked = {"expression": "delete document.documentElement.dataset.opened, document.getElementById('file-input')"}
        box = self.driver.execute_cdp_cmd("Runtime.evaluate", asked)["result"]["objectId"]
        self.driver.execute_cdp_cmd("DOM.setFileInputFiles", {"objectId": box, "files": str(path).split("\n")})

    def opened(self):
        self.wait("document.documentElement.dataset.opened", "a picture is open", painted=True)

    def add_step(self, operator):
        self.run("document.querySelector(`#palette [data-operator=\"${arguments[0]}\"]`).click()", operator)

    def unfold(self):
        """Shows the later fields of all forms."""
        self.run("for (const more of document.querySelectorAll('.more')) more.open = true")

    def shown(self, text):
        """The result of exactly these steps is on the screen."""
        self.wait(f"document.documentElement.dataset.shown === {text!r}", f"the result of {text} is shown", painted=True)

    def set_field(self, operator, name, value):
        """Like a person who types and leaves the field."""
        self.run("""
            const box = document.querySelector(`.step[data-operator="${arguments[0]}"] input[name="${arguments[1]}"]`);
            box.focus(); box.value = arguments[2];
            box.dispatchEvent(new Event('input', { bubbles: true })); box.dispatchEvent(new Event('change', { bubbles: true }));""",
                 operator, name, str(value))

    def canvas_pixels(self, left, top, width, height):
        """RGB samples of the viewer's canvas, at full size, with the picture's corner at the canvas's."""
        data = self.run("""
            const canvas = document.getElementById('canvas');
            const data = canvas.getContext('2d').getImageData(arguments[0], arguments[1], arguments[2], arguments[3]).data;
            let text = '';
            for (let i = 0; i < data.length; i += 32768) text += String.fromCharCode(...data.subarray(i, i + 32768));
            return btoa(text);""", left, top, width, height)
        return base64.b64decode(data)

    # ---- what must not be

    def errors(self):
        """Lines of the console that are errors or warnings, except those that the tests cause: they read the canvas back, and leave
        the page without ever having touched it."""
        ours = ("willReadFrequently", "Blocked attempt to show a 'beforeunload'")
        return [line for line in self.driver.get_log("browser")
                if line["level"] in ("SEVERE", "WARNING") and not any(words in line["message"] for words in ours)]

    def requests(self):
        """Addresses that the page requested, failed ones too; each is returned once."""
        return self.run("""
            const asked = performance.getEntriesByType('resource').map((request) => request.name);
            performance.clearResourceTimings();
            return asked;""")

    def strangers(self):
        """Requests to other servers than the daemons, since the last call."""
        asked, self.asked = self.asked + self.requests(), []
        return [url for url in asked if not url.startswith((*self.daemons, *("blob:" + url for url in self.daemons)))]
