# SPDX-License-Identifier: Apache-2.0
"""The answers that pages of other web sites may read, with `cors_origins` and without.

covers: server/http/cors.c"""
import json
import socket
import subprocess

import pytest

from conftest import BURIN, Daemon, check_problem, noise, pnm, responses

SHOP, OTHER = "https://shop.example", "http://localhost:5173"
PICTURE = pnm(noise(8, 8))
SMALL_HEADERS = ("--header-bytes", "2KiB", "--body-bytes-max", "2MiB")

# Pages see these without permission (Fetch standard, CORS-safelisted response-header name), or they belong to the browser.
SEEN_ANYWAY = {"cache-control", "content-language", "content-length", "content-type", "expires", "last-modified", "pragma"}
THE_BROWSERS = {"connection", "date", "vary", "x-content-type-options", "timing-allow-origin", "content-encoding",
                "content-security-policy", "cross-origin-opener-policy", "referrer-policy"}


@pytest.fixture(scope="module")
def listed():
    daemon = Daemon("--cors-origins", f"{SHOP},{OTHER}", *SMALL_HEADERS)
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


@pytest.fixture(scope="module")
def anyone():
    daemon = Daemon("--cors-origins", "*", *SMALL_HEADERS)
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


def vary(headers):
    return {name.strip() for line in headers.get_all("Vary") or [] for name in line.split(",")}


def cors_headers(headers):
    return {name.lower() for name in headers if name.lower().startswith(("access-control-", "timing-allow"))}


def check_allowed(headers, origin):
    """Pages of ORIGIN ("*": any) may read the answer, every header that is not readable anyway, and the answer's times."""
    for name in ("Access-Control-Allow-Origin", "Timing-Allow-Origin"):
        assert headers.get_all(name) == [origin]
    assert "Access-Control-Allow-Credentials" not in headers
    exposed = headers["Access-Control-Expose-Headers"].lower().split(", ")
    assert "*" not in exposed and len(exposed) == len(set(exposed))
    hidden = {name.lower() for name in headers} - SEEN_ANYWAY - THE_BROWSERS - cors_headers(headers)
    assert hidden <= set(exposed)
    assert ("Origin" in vary(headers)) == (origin != "*")


def check_refused(headers):
    assert not cors_headers(headers) and "Origin" in vary(headers)


def preflight(daemon, path, origin=SHOP, method="POST", wanted="content-type,x-request-id"):
    return daemon.request("OPTIONS", path, None, {"Origin": origin, "Access-Control-Request-Method": method,
                                                  "Access-Control-Request-Headers": wanted})


# ---- off

def test_off_by_default(daemon):
    """No request gets a CORS header or a permission."""
    for answer in (daemon.post("/histeq", PICTURE, {"Origin": SHOP}), daemon.get("/ops", Origin=SHOP),
                   daemon.post("/histeq", b"no picture", {"Origin": SHOP}), preflight(daemon, "/histeq")):
        assert not cors_headers(answer.headers) and "Origin" not in vary(answer.headers)
    check_problem(preflight(daemon, "/histeq"), 405, "POST")


# ---- answers

@pytest.mark.parametrize("origin", [SHOP, OTHER])
def test_listed_origins(listed, origin):
    image = listed.post("/histeq?type=png", PICTURE, {"Origin": origin})
    assert image.status == 200 and image.headers["X-Burin-Timing"] and image.headers["Server-Timing"]
    check_allowed(image.headers, origin)
    assert vary(image.headers) == {"Accept", "Origin"}
    for path in ("/ops", "/openapi.json", "/livez", "/readyz", "/metrics", "/progress/x", "/"):
        check_allowed(listed.get(path, Origin=origin).headers, origin)
    check_allowed(listed.post("/info", PICTURE, {"Origin": origin}).headers, origin)
    check_allowed(listed.post("/mean", PICTURE, {"Origin": origin}).headers, origin)
    etag = listed.get("/ops").headers["ETag"]
    known = listed.get("/ops", Origin=origin, **{"If-None-Match": etag})
    assert known.status == 304
    check_allowed(known.headers, origin)


@pytest.mark.parametrize("origin", [
    "https://evil.example", "null", "", "*", SHOP + "/", SHOP + ":443", SHOP.upper(), "http://shop.example",
    "https://shop.example.evil", "https://xshop.example", f"{SHOP},{OTHER}", f"{SHOP} {OTHER}", "https://shop.exampl",
    SHOP + "\t" + OTHER, "a" * 1500, "https://\xe9.example"])
def test_other_origins(listed, origin):
    """The answer is the same, as it is no secret; but no header lets the page read it."""
    answer = listed.request("POST", "/histeq", PICTURE, {"Content-Type": "image/jpeg", "Origin": origin.encode("latin-1")})
    assert answer.status == 200
    check_refused(answer.headers)
    asked = preflight(listed, "/histeq", origin.encode("latin-1"))
    assert asked.status == 204
    check_refused(asked.headers)


def test_no_origin_and_two(listed):
    """A cache must not give a page the stored answer to a request without an origin."""
    check_refused(listed.post("/histeq", PICTURE).headers)
    head = f"GET /ops HTTP/1.1\r\nHost: x\r\nConnection: close\r\nOrigin: {SHOP}\r\nOrigin: {SHOP}\r\n\r\n".encode()
    (status, headers, _), = responses(listed.raw(head))
    assert status == 200 and headers["vary"] == "Origin" and "access-control-allow-origin" not in headers


def test_anyone(anyone):
    for headers in ({"Origin": SHOP}, {"Origin": "null"}, {}):
        answer = anyone.post("/histeq", PICTURE, headers)
        assert answer.status == 200
        check_allowed(answer.headers, "*")
        check_allowed(anyone.post("/histeq?bins=1", PICTURE, headers).headers, "*")


def test_the_page_too(anyone):
    """The page itself and its files have the same headers as everything else."""
    answer = anyone.get("/", Accept="text/html", Origin=SHOP)
    assert answer.headers["Content-Type"].startswith("text/html")
    check_allowed(answer.headers, "*")


# ---- errors

def test_errors_can_be_read(listed):
    origin = {"Origin": SHOP}
    coded = {"Content-Type": "image/jpeg", "Content-Encoding": "br", **origin}
    for answer, status in (
            (listed.post("/histeq?bins=1", PICTURE, origin), 400), (listed.get("/nosuch", **origin), 404),
            (listed.get("/histeq", **origin), 405), (listed.post("/histeq", b"no picture", origin), 415),
            (listed.request("POST", "/histeq", PICTURE, coded), 415),
            (listed.post("/histeq", b"P5 8 8 255\nshort", origin), 422)):
        check_problem(answer, status)
        check_allowed(answer.headers, SHOP)
    long = listed.get("/" + "a" * 4500, **origin)  # the head is longer than header_bytes too
    assert long.status == 414


def test_a_long_target(start):
    """A target longer than header_bytes is refused before its Origin is read, so only "*" allows it."""
    daemon = start("--cors-origins", "*")
    answer = daemon.get("/" + "a" * 17000, Origin=SHOP)
    check_problem(answer, 414)
    check_allowed(answer.headers, "*")


def test_a_refusal_in_the_middle_of_an_upload(listed):
    """Such a refusal is written to the socket directly, not by the library."""
    for origin, allowed in ((SHOP, True), ("https://evil.example", False)):
        head = (f"POST /histeq HTTP/1.1\r\nHost: x\r\nOrigin: {origin}\r\nContent-Type: image/jpeg\r\n"
                "Content-Length: 50000000\r\n\r\n").encode()
        (status, headers, body), = responses(listed.raw(head + bytes(3000)))
        assert status == 413 and json.loads(body)["code"]
        assert headers.get("access-control-allow-origin") == (SHOP if allowed else None)
        assert headers.get("timing-allow-origin") == (SHOP if allowed else None)
        assert headers["vary"] == "Origin"
        assert ("X-Request-ID" in headers.get("access-control-expose-headers", "")) == allowed


def test_the_longest_origin_in_the_middle_of_an_upload(start):
    """The refusal's head has room for the longest origin."""
    longest = "https://" + "a" * (1023 - len("https://"))
    daemon = start("--cors-origins", longest, "--body-bytes-max", "2MiB")
    head = (f"POST /histeq?{'b' * 300} HTTP/1.1\r\nHost: x\r\nOrigin: {longest}\r\nContent-Type: image/jpeg\r\n"
            f"X-Request-ID: {'i' * 63}\r\nContent-Length: 50000000\r\n\r\n").encode()
    (status, headers, body), = responses(daemon.raw(head + bytes(3000)))
    assert headers["access-control-allow-origin"] == headers["timing-allow-origin"] == longest
    assert json.loads(body)["status"] == status


def test_heads_that_cannot_be_read(anyone, listed):
    """A head refused before the library parses it has no origin; with "*" every page may read the reason."""
    broken = b"POST /histeq HTTP/1.1\r\nHost: x\r\nOrigin: " + SHOP.encode() + b"\r\nContent-Length: x\r\n\r\n"
    (status, headers, _), = responses(anyone.raw(broken))
    assert status == 400 and headers["access-control-allow-origin"] == "*"
    (status, headers, _), = responses(listed.raw(broken))
    assert status == 400 and "access-control-allow-origin" not in headers and headers["vary"] == "Origin"


# ---- preflights

@pytest.mark.parametrize("path", ["/histeq", "/pipeline", "/info", "/ops", "/", "/nosuch", "/histeq?bins=1", "/%20", "/web/page.js"])
def test_preflights(listed, anyone, path):
    for daemon, origin in ((listed, SHOP), (anyone, "*")):
        for method in ("POST", "PUT", "GET"):
            answer = preflight(daemon, path, method=method)
            assert answer.status == 204 and answer.body == b""
            check_allowed(answer.headers, origin)
            assert method in answer.headers["Access-Control-Allow-Methods"].split(", ")
            allowed = answer.headers["Access-Control-Allow-Headers"].lower().split(", ")
            assert {"content-type", "x-request-id", "if-none-match"} <= set(allowed)
            assert 600 <= int(answer.headers["Access-Control-Max-Age"]) <= 86400
    assert listed.works() and anyone.works()


def test_options_that_are_no_preflight(listed):
    """Any other OPTIONS is a method that is not allowed."""
    for headers in ({}, {"Origin": SHOP}, {"Access-Control-Request-Method": "POST"}):
        answer = listed.request("OPTIONS", "/histeq", None, headers)
        check_problem(answer, 405)
        assert answer.headers["Allow"] == "POST, PUT"


def test_preflights_share_a_connection(listed):
    """A preflight may have a body, which is dropped; the requests behind it are answered."""
    connection = listed.connect()
    for body in (None, b"x" * 70000, None):
        connection.request("OPTIONS", "/histeq", body, {"Origin": SHOP, "Access-Control-Request-Method": "PUT"})
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (204, b"")
    connection.request("PUT", "/histeq", PICTURE, {"Origin": SHOP, "Content-Type": "image/jpeg"})
    answer = connection.getresponse()
    assert answer.status == 200 and answer.read()
    check_allowed(answer.headers, SHOP)
    connection.close()


# ---- where it applies

def test_the_admin_address_is_no_pages_business(start):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    daemon = start("--cors-origins", "*", "--admin-listen", f"127.0.0.1:{port}")
    daemon.port, public = port, daemon.port
    for answer in (daemon.get("/metrics", Origin=SHOP), preflight(daemon, "/metrics")):
        assert not cors_headers(answer.headers)
    daemon.port = public
    check_allowed(daemon.get("/livez").headers, "*")


@pytest.mark.parametrize("origins", ["null", "https://shop.example/", "https://shop.example:443", "shop.example",
                                     "*,https://shop.example", "https://a.example, https://b.example", "https://*.example",
                                     "https://" + "a" * 1024, SHOP + "\r\nX-Header: 1"])
def test_wrong_lists_are_refused_at_start(origins):
    run = subprocess.run([BURIN, "serve", "--listen", "127.0.0.1:0", "--cors-origins", origins],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode != 0 and run.stdout == ""
    assert "--cors-origins: cors_origins must be nothing, *, or origins as browsers send them" in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_from_the_environment(start):
    daemon = start(env={"BURIN_CORS_ORIGINS": OTHER})
    check_allowed(daemon.get("/ops", Origin=OTHER).headers, OTHER)
    check_refused(daemon.get("/ops", Origin=SHOP).headers)
