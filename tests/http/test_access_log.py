# SPDX-License-Identifier: Apache-2.0
"""The log line of a request: enough to send it again, and no secret.

covers: server/http/access_log.c"""
import json
from urllib.parse import parse_qsl, quote, unquote

import pytest

from conftest import jpeg, noise, pnm, png, smooth, wait_until

PICTURE = pnm(noise(16, 12))
SECRET = "s3cr3t-Value_0123456789abcdef"


def post(daemon, path, body=PICTURE, id="a", method="POST", **headers):
    answer = daemon.request(method, path, body, {"X-Request-ID": id, **headers})
    return answer, daemon.logged(id=id)


def test_types_and_sizes(start):
    daemon = start()
    body = png(smooth(40, 30))
    answer, logged = post(daemon, "/rotate?angle=90&type=jpeg", body, **{"User-Agent": "shop/1.2 (thumbnails)"})
    assert answer.status == 200
    assert (logged["type_in"], logged["width_in"], logged["height_in"], logged["bytes_in"]) == ("image/png", 40, 30, len(body))
    assert (logged["type_out"], logged["width_out"], logged["height_out"]) == ("image/jpeg", 30, 40)
    assert logged["bytes_out"] == len(answer.body) and logged["agent"] == "shop/1.2 (thumbnails)"
    answer, logged = post(daemon, "/resize?widths=10,20&type=png", body, "b")
    assert answer.status == 200 and logged["type_out"] == "multipart/mixed" and "width_out" not in logged
    _, logged = post(daemon, "/mean", jpeg(smooth(40, 30)), "c")
    assert (logged["type_in"], logged["type_out"], logged["width_in"]) == ("image/jpeg", "application/json", 40)
    _, logged = post(daemon, "/info", body, "d")
    assert (logged["type_in"], logged["width_in"], logged["height_in"]) == ("image/png", 40, 30)
    answer, logged = post(daemon, "/resize?width=60000&height=60000", body, "e")
    assert answer.status == 422 and (logged["type_in"], logged["width_in"]) == ("image/png", 40) and "type_out" not in logged
    answer, logged = post(daemon, "/resize?width=10", b"no picture", "f")
    assert answer.status == 415 and "type_in" not in logged and logged["bytes_in"] == 10
    answer, logged = post(daemon, "/nothing", b"no picture", "g")
    assert answer.status == 404 and logged["path"] == "/nothing" and "query" not in logged


@pytest.mark.parametrize("path", [
    "/resize?width=7&fit=fill&height=5&type=png", "/histeq?type=png&bins=64", "/pipeline?type=png&operations=" + quote(
        '[{"operation": "resize", "params": {"width": 9}}, {"operation": "rotate", "params": {"angle": 180}}]'),
    "/histeq?type=png&&bins=64&", "/histeq?bins=%36%34&type=png", "/imaginary/resize?width=8&type=png&background=255%2c+128,0"])
def test_it_can_be_sent_again(daemon, path):
    first, logged = post(daemon, path, id=f"first-{abs(hash(path))}")
    assert first.status == 200
    again, relogged = post(daemon, logged["path"] + "?" + logged["query"], id=f"again-{abs(hash(path))}")
    assert again.status == 200 and again.body == first.body and relogged["query"] == logged["query"]
    assert parse_qsl(logged["query"], True) == [pair for pair in parse_qsl(path.partition("?")[2], True)]


NAMES = ["signature", "Signature", "sig", "sign", "key", "api_key", "API-Key", "token", "access_token", "client_secret",
         "password", "authorization", "%73ignature", "x-amz-signature", "jwt", "hmac", "credential", "session", "x-sig", "%6a%77t", "%256a%2577t", "texts",
         "operation", "image", "", "a=b"]
NESTED = [  # arguments with a secret in a value, or in place of a name
    "url=" + quote(f"https://b/x?X-Amz-Signature={SECRET}", ""), "url=" + quote(quote(f"https://b/x?X-Amz-Signature={SECRET}", ""), ""),
    f"url=https://b/x?{SECRET}", f"url=https://{SECRET}@b/x", f"url=https://u:{SECRET}@b/x?a=b", f"URL=https://b/{SECRET}", SECRET,
    "type=" + quote(f"https://b/x?X-Amz-Signature={SECRET}", ""), f"operations={SECRET}", f"operations=%22{SECRET}%22",
    "operations=" + quote(json.dumps([{"operation": "resize", "params": {"width": 9, "jwt": SECRET}}])),
    "operations=" + quote(json.dumps([{"operation": "resize", "params": {"width": 9}, "url": f"https://b/{SECRET}"}])),
    "operations=" + quote(json.dumps([{"operation": f"https://b/x?a={SECRET}"}])),
    "outputs=" + quote(json.dumps([{"name": "a", "operations": [{"operation": "resize", "params": {"token": SECRET}}]}])),
]


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_secrets_are_left_out(start, log_format):
    """No byte of them is in the log, whatever becomes of the request."""
    daemon = start("--log-format", log_format)
    asked = 0
    for name in NAMES:
        for path in ("/histeq", "/imaginary/resize", "/nothing", "/pipeline", "/info", "/livez"):
            daemon.request("POST", f"{path}?width=8&{name}={SECRET}&bins=9", PICTURE, {"API-Key": SECRET, "Authorization": f"Bearer {SECRET}"})
            asked += 1
    assert wait_until(lambda: daemon.log_so_far().count("REDACTED") >= asked), daemon.log_so_far()
    log = daemon.log_text()
    assert SECRET not in log and SECRET.lower() not in log.lower() and SECRET[:8] not in log
    assert log.count("width=8") >= asked, "the other arguments are there"


@pytest.mark.parametrize("argument", NESTED)
def test_secrets_within_values_are_left_out(daemon, argument):
    for i, path in enumerate(("/histeq", "/imaginary/pipeline", "/imaginary/resize", "/nothing", "/pipeline")):
        answer, logged = post(daemon, f"{path}?{argument}", id=f"nested-{i}-{NESTED.index(argument)}")
        if answer.status >= 400 or path.startswith("/imaginary"):
            named = "error" if argument == SECRET or "b/x%3Fa%3D" in argument else None  # it has unknown names, but no values
            assert SECRET[:8] not in json.dumps({key: value for key, value in logged.items() if key != named})
            assert "REDACTED" in logged["query"] or logged["query"] in ("url=https://b/x", "url=https")


def test_a_parameter_of_another_operator(daemon):
    """Its name is no secret's: the line shows what was wrong."""
    answer, logged = post(daemon, "/histeq?angle=90&url=https://b/x", id="other")
    assert answer.status == 400 and logged["query"] == "angle=90&url=https://b/x"


def test_long_texts_are_cut(start):
    daemon = start()
    for i, (path, agent, method) in enumerate([
            ("/" + "a" * 5000, "b" * 3000, "POST"), ("/" + "%0a" * 2000, "\x80" * 3000, "POST"),
            ("/histeq?" + "&".join(f"bins={'%22' * 80}" for i in range(40)), '"' * 3000, "POST"),
            ("/histeq?bins=" + "y" * 9000, "\\" * 3000, "POST"), ("/histeq", "c", "M" * 6000), ("/histeq?" + "a" * 9000 + "=", "", "G"),
    ]):
        _, logged = post(daemon, path, id=f"long-{i}", method=method, **{"User-Agent": agent.encode("latin-1")})
        assert len(json.dumps(logged)) < 4096 and logged["status"] >= 400
        whole = path.partition("?")
        assert len(logged["path"]) < 300 and len(logged.get("query", "")) < 1100 and len(logged["method"]) <= 16
        if len(whole[0]) > 300:
            assert unquote(whole[0]).startswith(unquote(logged["path"].removesuffix("..."))) and logged["path"].endswith("...")
        if whole[2]:
            assert unquote(whole[2]).startswith(unquote(logged["query"].removesuffix("..."))) and logged["query"].endswith("...")
        assert daemon.works()


def test_a_client_that_left(start):
    """Its line has all of this, too."""
    daemon = start("--body-ms", "1000")
    with daemon.socket() as s:
        s.sendall(b"POST /histeq?bins=9&key=%s HTTP/1.1\r\nHost: x\r\nUser-Agent: gone\r\nX-Request-ID: gone\r\n"
                  b"Content-Length: 1000\r\n\r\nabc" % SECRET.encode())
        assert wait_until(lambda: daemon.metric("requests_in_progress") == 2)
    logged = daemon.logged(id="gone")
    assert (logged["status"], logged["path"], logged["query"], logged["agent"]) == (499, "/histeq", "bins=9&key=REDACTED", "gone")
