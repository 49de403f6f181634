# SPDX-License-Identifier: Apache-2.0
"""docker/examples: what they sign, each in a language of its own, is what `burin sign` signs; README's site, started by README's
commands, lets its page post a picture, and nothing else.

covers: server/access/query.c server/access/judge.c"""
import pathlib
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pytest

from conftest import BURIN, Daemon, check_problem, jpeg, needs
from signing import Key, write_keys

pytestmark = needs("resize")
ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "docker/examples"
PHOTO = (ROOT / "tests/golden/photos/rocket.jpg").read_bytes()
LANGUAGES = {"py": ["/usr/bin/python3"], "js": ["node"], "php": ["php"], "go": ["go", "run"]}
SHOP = Key("shop-web", 81)
# In a query's value: what each language's own encoding leaves as it is, or writes in another way.
AWKWARD = ["", "a+b", "a b", "a%20b", "%", "/?#&=;:@$,", "!'()*-._~[]{}|\\^`\"<>", "münchen", "日本", "\U0001f4f7", "e\u0301", "=", "a=b=", "\x7f", "\t"]


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return write_keys(tmp_path_factory.mktemp("keys") / "keys.json", Key("other", 82), SHOP, Key("token", 83, secret=None), thumb="resize?width=8")


@pytest.fixture(scope="module")
def kept(keys):
    daemon = Daemon("--keys-file", keys)
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


@pytest.fixture(params=LANGUAGES)
def sign(request, keys, tmp_path):
    """Runs the example of one language."""
    command = LANGUAGES[request.param]
    if not shutil.which(command[0]):
        pytest.skip(f"there is no {command[0]} here")

    def run(*arguments, method="POST", path="/resize"):
        return subprocess.run([*command, str(EXAMPLES / f"sign/sign.{request.param}"), keys, SHOP.id, method, path, *arguments],
                              capture_output=True, text=True, timeout=120, cwd=tmp_path,
                              env={"PATH": "/usr/bin:/bin:" + str(pathlib.Path(shutil.which(command[0])).parent), "HOME": str(tmp_path), "LANG": "C.UTF-8"})
    return run


def burins(keys, request, *options):
    done = subprocess.run([BURIN, "sign", "--keys", keys, "--key", SHOP.id, *options, request], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- ten lines each

def test_addresses_are_those_of_burin_sign(sign, keys):
    """Under /imaginary/, where any name may stand in a query; the programs' arguments can have no = in a name."""
    pairs = [(f"{i}ü " + value.replace("=", ""), value) for i, value in enumerate(AWKWARD)]
    wanted = burins(keys, "POST /imaginary/resize?width=20&" + "&".join(f"{quote(name)}={quote(value)}" for name, value in pairs), "--origin", "")
    expires, = parse_qs(urlsplit(wanted).query)["expires"]
    done = sign("width=20", f"expires={expires}", "origin=", *(f"{name}={value}" for name, value in pairs), path="/imaginary/resize")
    assert (done.stdout, done.stderr) == (wanted, "")


def test_order_is_that_of_bytes(sign, keys):
    """Of capitals, digits, and names that have two units in UTF-16 and come after U+FFFD."""
    names = ["b", "B", "a.b", "a", "aa", "a-b", "9", "10", "_", "~", "é", "\ufffd", "\U0001f4f7"]
    wanted = burins(keys, "POST /imaginary/resize?width=20&" + "&".join(f"{quote(name)}=1" for name in names))
    expires, = parse_qs(urlsplit(wanted).query)["expires"]
    done = sign("width=20", f"expires={expires}", *(f"{name}=1" for name in names), path="/imaginary/resize")
    assert (done.stdout, done.stderr) == (wanted, "")


def test_their_addresses_work(sign, kept):
    for method, path, *arguments in (("POST", "/resize", "width=64", "type=png"), ("PUT", "/preset/thumb", "origin=https://a.example")):
        done = sign(*arguments, method=method, path=path)
        address = done.stdout.strip()
        headers = {"Content-Type": "image/jpeg", "Origin": "https://a.example"}
        answer = kept.request(method, address, PHOTO, headers)
        assert answer.status == 200 and answer.image.shape[1] == (64 if method == "POST" else 8), (done, answer.body[:300])
        check_problem(kept.request(method, address[:-1] + ("A" if address[-1] != "A" else "Q"), PHOTO, headers), 403)


def test_a_repeated_name_is_refused(sign):
    done = sign("width=20", "width=30")
    assert done.returncode != 0 and "twice" in done.stderr and not done.stdout


# ---- README's site

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Site:
    """Makes the key and starts the site as README says, beside a daemon with that key."""

    def __init__(self, folder):
        section = (ROOT / "README.md").read_text(encoding="utf-8").split("## A page that posts pictures")[1].split("\n## ")[0]
        new, serve, site = [line.split("#")[0].strip() for line in re.findall(r"^    ((?:build|docker)/.*)", section, re.M)]
        assert serve == "build/burin serve --keys-file keys.json"
        subprocess.run(["/bin/sh", "-c", new.replace("build/burin", BURIN)], cwd=folder, check=True, capture_output=True, timeout=60)
        self.daemon = Daemon("--keys-file", str(folder / "keys.json"))
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        command = site.replace("docker/", f"{ROOT}/docker/").split() + [f"http://127.0.0.1:{self.daemon.port}", str(self.port)]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout.readline() == f"The page is at {self.origin}\n"

    def get(self, path):
        with urllib.request.urlopen(self.origin + path, timeout=60) as answer:
            return answer.read().decode()

    def address(self):
        base = f"http://127.0.0.1:{self.daemon.port}"
        address = self.get("/address")
        assert address.startswith(base + "/resize?")
        return address.removeprefix(base)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()
        assert self.daemon.stop() == 0, self.daemon.log_text()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("site"))
    yield site
    site.stop()


def test_readme_has_the_pages_script(site):
    section = (ROOT / "README.md").read_text(encoding="utf-8")
    function, = re.findall(r"^    async function thumbnail.*?^    }\n", section, re.M | re.S)
    assert function in (EXAMPLES / "upload.html").read_text(encoding="utf-8")


def post(site, fields, image=PHOTO, address=None, **headers):
    headers = {"Origin": site.origin, **headers}
    return site.daemon.post_form(address or site.address(), [*((name, value, None) for name, value in fields), ("image", image, "a.jpg")], headers)


def test_the_site_gives_its_page(site):
    assert site.get("/") == (EXAMPLES / "upload.html").read_text(encoding="utf-8")
    with pytest.raises(urllib.error.HTTPError):
        site.get("/keys.json")


def test_a_picture_is_posted(site):
    answer = post(site, [("width", "320")])
    assert answer.status == 200 and answer.headers["Content-Type"] == "image/webp" and answer.image.shape[1] == 320
    assert answer.headers["Access-Control-Allow-Origin"] == site.origin
    check_problem(site.daemon.post("/resize?width=320", PHOTO), 401)


@pytest.mark.parametrize("fields, image, headers, status", [
    ([("width", "641")], PHOTO, {}, 400), ([("width", "15")], PHOTO, {}, 400), ([("width", "320"), ("height", "9")], PHOTO, {}, 400),
    ([("width", "320"), ("type", "png")], PHOTO, {}, 400), ([("width", "320"), ("width", "320")], PHOTO, {}, 400),
    ([("width", "320"), ("operations", "[]")], PHOTO, {}, 400), ([("width", "320")], PHOTO, {"Origin": "https://other.example"}, 403),
    ([("width", "320")], b"P5 2 1 255 ab", {}, 415), ([("width", "320")], PHOTO + bytes(8 << 20), {}, 413),
    ([("width", "320")], None, {}, 422)],
    ids=["wide", "narrow", "height", "type", "twice", "operations", "page", "kind", "bytes", "pixels"])
def test_no_more_than_was_signed(site, fields, image, headers, status):
    image = image or jpeg(np.zeros((4001, 6000, 3), np.uint8))  # made here: each process that only imports this file would make it
    check_problem(post(site, fields, image, **headers), status)


def test_an_address_is_for_one_picture(site):
    address = site.address()
    assert post(site, [("width", "32")], address=address).status == 200
    check_problem(post(site, [("width", "32")], address=address), 410)
    for changed in address.replace("/resize", "/histeq"), address.replace("640", "641"), address + "&height=8":
        assert post(site, [("width", "32")], address=changed).status in (400, 403)
