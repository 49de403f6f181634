# SPDX-License-Identifier: Apache-2.0
"""The examples for web front ends work as printed, in a real browser on a page of another origin: server/README's with `cors_origins`,
and README's site, whose page posts pictures with signed addresses.

covers: server/http/cors.c"""
import base64
import functools
import http.server
import pathlib
import re
import threading

import pytest

from browser import needs_browser
from conftest import Daemon, jpeg, smooth
from signing import Key, write_keys
from test_examples import Site

pytest_plugins = "page_fixtures"
pytestmark = needs_browser
ROOT = pathlib.Path(__file__).parents[2]
README, ROCKET = ROOT / "server/README.md", ROOT / "tests/golden/photos/rocket.jpg"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A web site of its own, with one empty page; its origin."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "index.html").write_text('<!doctype html><link rel="icon" href="data:,"><title>shop</title>')
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=folder))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def clean(browser):
    """A page of another test finds nothing of what these do."""
    yield
    browser.address = None
    browser.errors(), browser.strangers()


@pytest.fixture
def serve(request):
    def serve(*flags):
        daemon = Daemon(*flags)
        request.addfinalizer(daemon.stop)
        return daemon

    return serve


def example(daemon):
    block, = re.findall(r"(?:^    .*\n)*^    .*fetch\(.*\n(?:^    .*\n)*", README.read_text(encoding="utf-8"), re.M)
    assert block.count("http://127.0.0.1:8080") == 1
    return block.replace("http://127.0.0.1:8080", f"http://127.0.0.1:{daemon.port}")


def run(browser, script, *arguments):
    """Runs SCRIPT, the body of an async function; returns its result, or the text of its exception."""
    return browser.driver.execute_async_script(
        f"const done = arguments[arguments.length - 1];"
        f"(async (...given) => {{ {script} }})(...arguments).then(done, problem => done(String(problem)));", *arguments)


POST = """
const bytes = Uint8Array.from(atob(given[0]), c => c.charCodeAt(0));
const address = await thumbnail(new Blob([bytes]));
const got = new Uint8Array(await (await fetch(address)).arrayBuffer());
return btoa(String.fromCharCode(...got));
"""


def test_the_example(browser, serve, shop):
    daemon = serve("--cors-origins", f"https://shop.example,{shop}")
    browser.driver.get(shop)
    photo = jpeg(smooth(96, 64))
    got = run(browser, example(daemon) + POST, base64.b64encode(photo).decode())
    assert base64.b64decode(got) == daemon.post("/resize?width=320", photo).body
    refusal = run(browser, example(daemon) + POST, base64.b64encode(b"this is no image").decode())
    assert refusal == "Error: " + daemon.post("/resize?width=320", b"this is no image").json["message"]


def test_headers_and_times_can_be_read(browser, serve, shop):
    """After a preflight too: for a body with a type of its own, a header, PUT."""
    daemon = serve("--cors-origins", shop)
    browser.driver.get(shop)
    got = run(browser, """
        const address = given[0] + "/grayscale";
        const bytes = Uint8Array.from(atob(given[1]), c => c.charCodeAt(0));
        const answer = await fetch(address, { method: "PUT", body: bytes,
                                              headers: { "Content-Type": "image/jpeg", "X-Request-ID": "shop-1" } });
        await answer.arrayBuffer();
        let entry;
        while (!(entry = performance.getEntriesByName(address).find(one => one.serverTiming.length)))
            await new Promise(soon => setTimeout(soon, 10));
        return { status: answer.status, headers: Object.fromEntries(answer.headers), stages: entry.serverTiming.map(one => one.name) };
        """, f"http://127.0.0.1:{daemon.port}", base64.b64encode(jpeg(smooth(96, 64))).decode())
    assert got["status"] == 200 and got["headers"]["x-request-id"] == "shop-1"
    assert {"x-burin-timing", "x-burin-device", "server-timing", "x-origin-width", "x-result-height"} <= set(got["headers"])
    assert {"queue", "decode", "compute", "encode", "total"} <= set(got["stages"])


@pytest.mark.parametrize("flags", [(), ("--cors-origins", "https://shop.example")], ids=["off", "another site"])
def test_an_unlisted_origin_reads_nothing(browser, serve, shop, flags):
    daemon = serve(*flags)
    browser.driver.get(shop)
    got = run(browser, example(daemon) + POST, base64.b64encode(jpeg(smooth(96, 64))).decode())
    assert got == "TypeError: Failed to fetch"


# ---- README's site

@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("site"))
    yield site
    site.stop()


def choose(browser, site, width, path):
    """Chooses a picture on the page, as a visitor does; returns what the page shows: the message, or the result's width."""
    browser.driver.get(site.origin)
    browser.run("document.getElementById('width').value = arguments[0]", width)
    browser.driver.find_element("id", "file").send_keys(str(path))
    return browser.wait("message.textContent || (!result.hidden && result.naturalWidth)")


def test_a_visitor_posts_a_picture(browser, site):
    assert choose(browser, site, 200, ROCKET) == 200
    got = run(browser, "const got = new Uint8Array(await (await fetch(document.getElementById('result').src)).arrayBuffer());"
              "return btoa(String.fromCharCode(...got));")
    with open(ROCKET, "rb") as f:
        wanted = site.daemon.post_form(site.address(), [("width", "200", None), ("image", f.read(), "a.jpg")], {"Origin": site.origin})
    assert wanted.status == 200 and base64.b64decode(got) == wanted.body


def test_a_visitor_reads_why_not(browser, site, tmp_path):
    (tmp_path / "none.jpg").write_bytes(b"this is no image")
    assert "width" in choose(browser, site, 641, ROCKET)
    assert choose(browser, site, 200, tmp_path / "none.jpg") == site.daemon.post_form(
        site.address(), [("width", "200", None), ("image", b"this is no image", "none.jpg")], {"Origin": site.origin}).json["message"]


UPLOAD = """
const form = new FormData();
form.append("image", new Blob([Uint8Array.from(atob(given[1]), c => c.charCodeAt(0))]));
const answer = await fetch(given[0], { method: given[2], body: given[2] === "PUT" ? form.get("image") : form,
                                       headers: given[2] === "PUT" ? { "Content-Type": "image/jpeg" } : {} });
return [answer.status, (await answer.arrayBuffer()).byteLength];
"""


@pytest.mark.parametrize("method", ["POST", "PUT"], ids=["without a preflight", "with one"])
def test_the_page_alone_uses_an_address(browser, shop, serve, tmp_path, method):
    key = Key("shop", 91)
    daemon = serve("--keys-file", write_keys(tmp_path / "keys.json", key))
    photo = jpeg(smooth(96, 64))
    base = f"http://127.0.0.1:{daemon.port}"
    browser.driver.get(shop)
    for origin, seconds, wanted in ((shop, 300, 200), (shop, -9, 410), ("https://shop.example", 300, None), (None, 300, None)):
        address = base + key.sign("/resize", method, seconds, width=32, origin=origin)
        got = run(browser, UPLOAD, address, base64.b64encode(photo).decode(), method)
        assert got == "TypeError: Failed to fetch" if wanted is None else got[0] == wanted and got[1] > 0
