# SPDX-License-Identifier: Apache-2.0
"""The page that a signed address is for may read its answers, and no other page may, whatever `cors_origins` says.

covers: server/http/cors.c server/http/access.c"""
import re
import socket

import pytest

from conftest import Daemon, check_problem, needs, noise, pnm, responses
from signing import Key, write_keys
from test_cors import check_allowed, check_refused, cors_headers, preflight, vary

pytestmark = needs("resize")
SHOP, OTHER, LISTED = "https://shop.example", "https://other.example", "https://listed.example"
PICTURE = pnm(noise(40, 30))
WEB, INFO, OLD, STRANGER = Key("web", 71), Key("info", 72, may=["info"]), Key("old", 73, not_after="2020-01-01T00:00:00Z"), Key("stranger", 74)
NOBODY = Key("nobody", 75)
NOBODY.secret = bytes(32)  # with which the daemon checks what an unknown key has signed


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return write_keys(tmp_path_factory.mktemp("keys") / "keys.json", WEB, INFO, OLD, thumb="resize?width=8&type=png")


@pytest.fixture(scope="module")
def kept(keys):
    daemon = Daemon("--keys-file", keys)
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


@pytest.fixture(scope="module")
def listed(keys):
    daemon = Daemon("--keys-file", keys, "--cors-origins", LISTED)
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


def check_nothing(headers):
    assert not cors_headers(headers) and "Origin" not in vary(headers)


def test_its_page_reads_the_answer(kept, listed):
    for daemon in kept, listed:
        for address in WEB.sign("/resize", width=20, origin=SHOP), WEB.sign("/preset/thumb", origin=SHOP, once="A" * 21 + "AQ"[daemon is kept]):
            answer = daemon.post(address, PICTURE, {"Origin": SHOP})
            assert answer.status == 200
            check_allowed(answer.headers, SHOP)
            assert "Origin" in vary(answer.headers)


def test_its_page_reads_refusals(kept):
    """Each is of an address whose signature is right."""
    late, small = WEB.sign("/resize", width=20, origin=SHOP, seconds=-9), WEB.sign("/resize", width=20, origin=SHOP, body_max=100)
    for address, body, status in ((late, PICTURE, 410), (small, PICTURE, 413), (WEB.sign("/resize", width=20, origin=SHOP), b"no picture", 415),
                                  (WEB.sign("/resize", width="x", origin=SHOP), PICTURE, 400),
                                  (INFO.sign("/resize", width=20, origin=SHOP), PICTURE, 403),
                                  (OLD.sign("/resize", width=20, origin=SHOP), PICTURE, 401),
                                  (WEB.sign("/resize", width=20, origin=SHOP, client="203.0.113.0/24"), PICTURE, 403)):
        answer = kept.post(address, body, {"Origin": SHOP})
        check_problem(answer, status)
        check_allowed(answer.headers, SHOP)


def test_a_refusal_in_the_middle_of_an_upload(kept):
    head = (f"POST {WEB.sign('/resize', width=20, origin=SHOP, body_max=5000)} HTTP/1.1\r\nHost: x\r\nOrigin: {SHOP}\r\n"
            "Content-Type: image/jpeg\r\nContent-Length: 50000000\r\n\r\n").encode()
    (status, headers, _), = responses(kept.raw(head + bytes(3000)))
    assert status == 413 and headers["access-control-allow-origin"] == SHOP and headers["vary"] == "Origin"


@pytest.mark.parametrize("origin", [OTHER, "null", "*", SHOP + "/", SHOP.upper(), f"{SHOP},{OTHER}", "https://shop.example.evil"])
def test_other_pages_read_nothing(kept, listed, origin):
    address = WEB.sign("/resize", width=20, origin=SHOP)
    for daemon in kept, listed:
        answer, asked = daemon.post(address, PICTURE, {"Origin": origin}), preflight(daemon, address, origin)
        assert answer.status == 403 and asked.status == (405 if daemon is kept else 204)
        for headers in answer.headers, asked.headers:
            (check_nothing if daemon is kept else check_refused)(headers)


@pytest.mark.parametrize("signed, origin", [("*", SHOP), (f"{SHOP},{OTHER}", SHOP), (f"{SHOP},{OTHER}", OTHER), ("", ""), ("https://", SHOP)])
def test_no_page_is_meant(kept, signed, origin):
    """A signed origin is one origin: no list, and nothing that stands for all of them."""
    address = WEB.sign("/resize", width=20, origin=signed)
    check_nothing(kept.post(address, PICTURE, {"Origin": origin}).headers)
    check_nothing(preflight(kept, address, origin).headers)


def test_only_a_right_signature_opens(kept):
    good = WEB.sign("/resize", width=20, origin=SHOP)
    path, _, query = good.partition("?")
    wrong = [good[:-1] + ("A" if good[-1] != "A" else "E"), good.replace("width=20", "width=21"), good.replace("/resize", "/histeq"),
             good.replace("key=web", "key=info"), good.replace("key=web", "key=none"), good + f"&origin={SHOP}", good.replace("&signature=", "&sig="),
             f"{path}?{'&'.join(part for part in query.split('&') if not part.startswith('signature='))}", f"/resize?width=20&origin={SHOP}",
             STRANGER.sign("/resize", width=20, origin=SHOP), NOBODY.sign("/resize", width=20, origin=SHOP), WEB.sign("/resize", width=20)]
    for address in wrong:
        check_nothing(kept.post(address, PICTURE, {"Origin": SHOP}).headers)
        asked = preflight(kept, address)
        check_nothing(asked.headers)
        check_problem(asked, 405)


# ---- preflights

@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_preflights_of_its_page(kept, listed, method):
    address = WEB.sign("/resize", method, width=20, origin=SHOP)
    for daemon in kept, listed:
        answer = preflight(daemon, address, method=method)
        assert answer.status == 204 and not answer.body
        check_allowed(answer.headers, SHOP)
        assert method in answer.headers["Access-Control-Allow-Methods"].split(", ")
        assert "content-type" in answer.headers["Access-Control-Allow-Headers"].lower().split(", ")
        for other in {"POST", "PUT", "GET", "DELETE", method.lower()} - {method}:  # for which the address is not signed
            (check_nothing if daemon is kept else check_refused)(preflight(daemon, address, method=other).headers)


def test_preflights_let_the_request_have_the_error(kept):
    for address in WEB.sign("/resize", width=20, origin=SHOP, seconds=-9), INFO.sign("/resize", width=20, origin=SHOP):
        answer = preflight(kept, address)
        assert answer.status == 204
        check_allowed(answer.headers, SHOP)


def test_preflights_use_nothing_up(kept):
    """Neither the only request of an address nor one of the key."""
    def counted():
        return {name: value for name, value in kept.samples().items() if name.startswith("burin_key_requests_total") and 'key="web"' in name}

    before, address = counted(), WEB.sign("/resize", width=20, origin=SHOP, once="B" * 21 + "A")
    for _ in range(3):
        assert preflight(kept, address).status == 204
    assert counted() == before
    assert kept.post(address, PICTURE, {"Origin": SHOP}).status == 200
    assert kept.post(address, PICTURE, {"Origin": SHOP}).status == 410


def test_requests_behind_a_preflight_have_their_own_origin(kept):
    """On one connection: what one request may be read by says nothing of the next."""
    connection = kept.connect()
    for address, allowed in ((WEB.sign("/resize", width=20, origin=SHOP), True), ("/resize?width=20", False), ("/ops", False)) * 2:
        for method in "OPTIONS", "POST":
            connection.request(method, address, PICTURE if method == "POST" else None,
                               {"Origin": SHOP, "Access-Control-Request-Method": "POST", "Content-Type": "image/jpeg"})
            answer = connection.getresponse()
            answer.read()
            (check_allowed(answer.headers, SHOP) if allowed else check_nothing(answer.headers))
    connection.close()


def test_the_longest_origin(kept):
    """Its page reads a refusal in the middle of an upload, too; a longer one is no page's."""
    for length, allowed in ((1023, True), (1024, False)):
        origin = "https://" + "a" * (length - len("https://"))
        address = WEB.sign("/resize", width=20, origin=origin, body_max=5000)
        asked = preflight(kept, address, origin)
        assert asked.headers["Access-Control-Allow-Origin"] == (origin if allowed else None)
        head = (f"POST {address} HTTP/1.1\r\nHost: x\r\nOrigin: {origin}\r\nContent-Type: image/jpeg\r\n"
                "Content-Length: 50000000\r\n\r\n").encode()
        (status, headers, _), = responses(kept.raw(head + bytes(3000)))
        assert status == 413 and headers.get("access-control-allow-origin") == (origin if allowed else None)


def test_the_admin_address_is_no_pages_business(start, keys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    daemon = start("--keys-file", keys, "--admin-listen", f"127.0.0.1:{port}")
    daemon.port, public = port, daemon.port
    check_nothing(preflight(daemon, WEB.sign("/resize", width=20, origin=SHOP)).headers)
    daemon.port = public


def test_pages_may_send_tokens(listed):
    """A page that `cors_origins` names: its preflight allows the header, by name, since the asterisk does not."""
    asked = preflight(listed, "/resize?width=20", LISTED, wanted="authorization")
    assert "authorization" in re.split(", ", asked.headers["Access-Control-Allow-Headers"].lower())
    answer = listed.post("/resize?width=20", PICTURE, {"Origin": LISTED, **WEB.bearer})
    assert answer.status == 200
    check_allowed(answer.headers, LISTED)
