# SPDX-License-Identifier: Apache-2.0
"""docker/nginx-tls.conf: TLS in front of a daemon that asks for keys. Who sends a picture and what is signed come through; nothing
comes without TLS; no log of nginx has a token or a signature.

covers: docker/nginx-tls.conf docker/nginx.conf"""
import json
import os
import re
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../http")]
from conftest import BURIN, noise, pnm, wait_until  # noqa: E402
from conftest import Daemon  # noqa: E402
from signing import Key, write_keys  # noqa: E402
from test_nginx import HELD_MAX, Nginx, free_port  # noqa: E402
from tools import TOP, find_tool  # noqa: E402

SHOP = Key("shop-web", 101)
PHOTO = f"{TOP}/tests/golden/photos/rocket.jpg"
CLIENT = "127.0.0.2"  # the proxy is 127.0.0.1


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.daemon = Daemon("--keys-file", write_keys(folder / "keys.json", SHOP), "--trusted-proxies", "127.0.0.1")
        find_tool("nginx", "nginx")
        (folder / "tls").mkdir()
        with open(f"{TOP}/docker/nginx-tls.conf") as f:
            text = f.read()
        command = re.search(r"^#   (openssl .*)$", text, re.M)[1]  # a certificate as the file says
        subprocess.run([*command.replace("DNS:localhost", "DNS:localhost,IP:127.0.0.1").split()], cwd=folder / "tls", check=True,
                       capture_output=True, timeout=60)
        self.port = free_port()
        for old, new in ("listen 8443", f"listen 127.0.0.1:{self.port}"), ("/etc/nginx/", f"{folder}/"):
            assert old in text
            text = text.replace(old, new)
        self.nginx = Nginx(folder, [self.daemon.port] * 2, more=text)

    def ask(self, path, *arguments, plain=False, body=f"@{PHOTO}"):
        """curl's answer: status, head and body."""
        address = f"http://127.0.0.1:{self.nginx.port}" if plain else f"https://127.0.0.1:{self.port}"
        post = ["--data-binary", body, "-H", "Content-Type: image/jpeg"] if body else []
        done = subprocess.run(["curl", "-s", "-S", "-i", "--interface", CLIENT, "--cacert", self.folder / "tls/tls.crt", "-H", "Expect:", *post, *arguments,
                               address + path], capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        head = head.decode()
        return int(head.split()[1]), dict(line.lower().split(": ", 1) for line in head.splitlines()[1:]), answer

    def logs(self):
        """What nginx has written, in every file of its folder that is a log."""
        return self.nginx.log.read_text() + self.nginx.errors.read_text()

    def stop(self):
        self.nginx.stop()
        self.daemon.stop()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("tls"))
    yield site
    site.stop()


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_a_signed_address_and_a_token(site, version):
    here = subprocess.run([BURIN, "run", "resize:width=64", PHOTO, "-"], capture_output=True, check=True, timeout=60).stdout
    for path, header in ((SHOP.sign("/resize", width=64, client=CLIENT, once="A" * 21 + "AQ"[version == "--http2"]), "X-None: 1"),
                         ("/resize?width=64", f"Authorization: Bearer {SHOP.token}")):
        status, headers, answer = site.ask(path, version, "-H", header)
        assert status == 200 and answer == here
        assert headers["strict-transport-security"] == "max-age=31536000" and headers["server-timing"]
    assert site.ask(SHOP.sign("/resize", width=64)[:-2], version)[0] == 403
    assert site.ask("/resize?width=64", version)[0] == 401


def test_a_large_picture(site):
    """It is passed on as it comes."""
    path = site.folder / "large"
    path.write_bytes(pnm(noise(1200, 1000, 3)))
    assert path.stat().st_size > 2 * HELD_MAX
    assert site.ask(SHOP.sign("/resize", width=64, body_max=4 << 20), body=f"@{path}")[0] == 200
    assert site.ask(SHOP.sign("/resize", width=64, body_max=2 << 20), body=f"@{path}")[0] == 413


def test_the_client_is_the_one_that_nginx_sees(site):
    """Addresses that a client writes itself change nothing: neither for the log nor for `client=`."""
    forged = "203.0.113.9"
    assert site.ask(SHOP.sign("/resize", width=64, client=CLIENT), "-H", f"X-Forwarded-For: {forged}", "-H", "X-Request-ID: forged")[0] == 200
    assert site.ask(SHOP.sign("/resize", width=64, client=forged), "-H", f"X-Forwarded-For: {forged}, {forged}")[0] == 403
    lines = []
    assert wait_until(lambda: lines.extend(line for line in map(json.loads, site.daemon.log_so_far().splitlines()) if line.get("id") == "forged") or lines)
    assert lines[0]["client"] == CLIENT


def test_nothing_without_tls(site):
    for path, header in ((SHOP.sign("/resize", width=64), "X-None: 1"), ("/resize?width=64", f"Authorization: Bearer {SHOP.token}"), ("/livez", "X-None: 1")):
        status, headers, answer = site.ask(path, "-H", header, plain=True)
        assert status == 403 and answer == b"use https\n" and "location" not in headers
    status, headers, _ = site.ask("/ops?a=b%20c", plain=True, body=None)
    assert status == 308 and headers["location"] == "https://127.0.0.1/ops?a=b%20c"
    done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"http://127.0.0.1:{site.port}/livez"], capture_output=True, timeout=60)
    assert done.stdout == b"400"  # on the port for TLS
    done = subprocess.run(["curl", "-s", "--cacert", site.folder / "tls/tls.crt", "--tls-max", "1.1", f"https://127.0.0.1:{site.port}/livez"],
                          capture_output=True, timeout=60)
    assert done.returncode == 35  # no handshake


def test_no_secret_is_in_a_log_of_nginx(site, tmp_path):
    """Nor when daemons do not answer, when a body is too large for nginx, or when a client leaves."""
    secrets = [SHOP.token, SHOP.token[-43:]]

    def signed(*arguments, **limits):
        path = SHOP.sign("/resize", width=64, **limits)
        secrets.append(path.rpartition("=")[2])
        return site.ask(path, *arguments)[0]

    assert signed() == 200
    assert site.ask(f"/imaginary/resize?width=64&key={SHOP.token}", "-H", f"Authorization: Basic {SHOP.token}")[0] == 200
    assert site.ask("/resize?width=64", "-H", f"Authorization: Bearer {SHOP.token}", "-H", f"X-Forwarded-For: {SHOP.token}")[0] == 200
    assert site.ask(f"/{SHOP.sign('/resize')}%0a%zz", "-H", f"Cookie: {SHOP.token}")[0] == 404
    with open(tmp_path / "huge", "wb") as f:
        f.truncate(80 << 20)
    path = SHOP.sign("/resize", width=64)
    secrets.append(path.rpartition("=")[2])
    assert site.ask(path, body=f"@{tmp_path / 'huge'}")[0] == 413
    path = SHOP.sign("/resize", width=65)
    secrets.append(path.rpartition("=")[2])
    subprocess.run(["curl", "-s", "-k", "--limit-rate", "100k", "-m", "0.5", "--data-binary", f"@{tmp_path / 'huge'}", f"https://127.0.0.1:{site.port}{path}"],
                   capture_output=True, timeout=60)
    site.daemon.stop()
    assert signed() == 502
    assert wait_until(lambda: " 502 " in site.logs())
    text = site.logs()
    assert '"POST /resize" 200' in text and '"POST /imaginary/resize" 200' in text
    for secret in secrets:
        assert secret not in text, [line for line in text.splitlines() if secret in line]
