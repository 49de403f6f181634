# SPDX-License-Identifier: Apache-2.0
"""Signed addresses: signatures come from Python's own hmac, and from `burin sign`. Nothing but what was signed is done, whatever
is changed in an address or added to a form.

covers: server/access/judge.c server/access/grant.c server/access/query.c server/http/access.c server/cli/command_sign.c"""
import base64
import hashlib
import http.client
import json
import pathlib
import random
import re
import string
import subprocess
import textwrap
import time
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from conftest import BURIN, Daemon, check_problem, form, needs, noise, png, pnm, responses, wait_until
from signing import Key, encoded, text_of, write_keys

pytestmark = needs("resize")
PIXELS = noise(40, 30)
PICTURE = pnm(PIXELS)
SHOP = Key("shop-web", 21)
OTHER = Key("other", 22)
VERIFIES = Key("verifies", 23, state="verify")
OLD = Key("old", 24, not_after="2020-01-01T00:00:00Z")
SMALL = Key("small", 25, limits={"body_bytes_max": 1000, "pixels_max": 600})
TOKEN = Key("token", 26, secret=None)
PRESETS = Key("presets", 27, may=["preset:thumb", "preset:slim", "preset:masked"])
KEYS = (SHOP, OTHER, VERIFIES, OLD, SMALL, TOKEN, PRESETS)
IMAGE = ("image", PICTURE, "a.pnm")


@pytest.fixture(scope="module")
def signed_keys(tmp_path_factory):
    return write_keys(tmp_path_factory.mktemp("keys") / "keys.json", *KEYS, thumb="resize?width=8&height=8&type=png", wide="resize?type=png",
                      plain="resize?width=8", auto="resize?width=8&type=auto",
                      slim="carve?width=38&type=png", masked="carve?width=38&type=png&parts=image,mask")


@pytest.fixture(scope="module")
def kept(signed_keys):
    daemon = Daemon("--keys-file", signed_keys, "--parts-max", "64")
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


def check_width(answer, width):
    assert answer.status == 200, answer.body
    assert answer.image.shape[1] == width


# ---- right ones

def test_an_address_opens(kept):
    address = SHOP.sign("/resize", width=20, type="png")
    check_width(kept.post(address, PICTURE), 20)
    check_width(kept.post_form(address, [IMAGE]), 20)
    assert kept.post(SHOP.sign("/info"), PICTURE).json["width"] == 40
    check_width(kept.request("PUT", SHOP.sign("/resize", "PUT", width=20), PICTURE), 20)
    check_width(kept.post(VERIFIES.sign("/resize", width=20), PICTURE), 20)
    check_width(kept.post(SHOP.sign("/imaginary/fit", width=20, height=20), PICTURE), 20)
    operations = json.dumps([{"operation": "flip"}])
    assert kept.post(SHOP.sign("/pipeline", operations=operations, type="pnm"), PICTURE).body == pnm(PIXELS[::-1])


def test_each_way_to_write_it(kept):
    """Other escapes and another order are the same query."""
    address = SHOP.sign("/pipeline", operations='[{"operation": "flip"}]', type="pnm")
    path, query = address.split("?")
    pairs = query.split("&")
    ways = ["&".join(reversed(pairs)), "&&" + query + "&", query.replace("%20", "+"), query.replace("%7B", "{").replace("%7D", "}"),
            re.sub("%..", lambda escape: escape[0].lower(), query), query.replace("operations=", "%6fperation%73="),
            "&".join(f"{name}={''.join(f'%{ord(c):02x}' for c in value)}" for name, value in parse_qsl(query))]
    for way in ways:
        assert kept.post(f"{path}?{way}", PICTURE).body == pnm(PIXELS[::-1]), way
    assert kept.post(f"/%70ipeline?{query}", PICTURE).status == 200
    """A sign that stands for a blank, or for itself, is another query."""
    plus = SHOP.sign("/resize", width="+20", type="png")
    check_width(kept.post(plus, PICTURE), 20)
    check_problem(kept.post(plus.replace("%2B", "+"), PICTURE), 403)


def test_names_in_unicode(kept):
    """They are signed as their bytes; the operator does not know them."""
    for name in ("größe", "宽", "a b", "e\u0301"):
        check_problem(kept.post(SHOP.sign("/resize", **{"width": 20, name: "ü&=+%"}), PICTURE), 400, "has no parameter")


# ---- wrong ones

def check_refused(answer, status=403):
    problem = check_problem(answer, status)
    assert "key" not in problem and ("WWW-Authenticate" in answer.headers) == (status == 401)
    return problem["message"]


def test_nothing_else_is_signed(kept):
    """One sentence for all of it."""
    sign = SHOP.sign
    good = sign("/resize", width=20)
    signature = good[-43:]
    said = {check_refused(kept.post(address, PICTURE)) for address in [
        good.replace("width=20", "width=21"), good + "&type=png", good.replace("width=20&", ""), good.replace("/resize", "/blur"),
        good.replace("/resize", "/imaginary/resize"), good[:-1], good + "A", good[:-43], good.replace(signature, signature.swapcase()),
        good.replace(signature, text_of(bytes(32))), good.replace("shop-web", "other"), sign("/resize", "PUT", width=20),
        good.replace(signature, SHOP.signature("POST", "/resize", [("width", "20")])), sign("/resize", expires=None, width=20),
        sign("/resize", expires="soon", width=20), sign("/resize", expires="", width=20), sign("/resize", expires="+99999999999", width=20)]}
    for limits in ({"not_before": int(time.time()) + 3600}, {"origin": "https://shop.example"}, {"client": "203.0.113.0/24"}):
        problem = check_problem(kept.post(sign("/resize", width=20, **limits), PICTURE), 403)
        assert problem["key"] == "shop-web"
        said.add(problem["message"])
    assert len(said) == 1
    check_problem(kept.post(good + f"&signature={signature}", PICTURE), 400, "signature twice")
    check_problem(kept.post(good + "&width=20", PICTURE), 400, "width twice")
    check_problem(kept.request("PUT", good, PICTURE), 403)
    check_problem(kept.post(good, PICTURE, SHOP.bearer), 400, "send one")
    assert kept.post(good, PICTURE, {"Authorization": "Basic abc"}).status == 200


def test_unknown_keys(kept):
    for address in (SHOP.sign("/resize", key=None, width=20), SHOP.sign("/resize", key="nobody", width=20), TOKEN.sign("/resize", width=20),
                    SHOP.sign("/resize", key="", width=20), Key("shop-web2", 21).sign("/resize", width=20), Key("nobody", 0).sign("/resize")):
        answer = kept.post(address, PICTURE)
        check_refused(answer, 401)
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="burin"'
    check_problem(kept.post(OLD.sign("/resize", width=20), PICTURE), 401, "old has expired")


def test_times(kept):
    check_refused(kept.post(SHOP.sign("/resize", seconds=-1, width=20), PICTURE), 410)
    check_refused(kept.post(SHOP.sign("/preset/thumb", seconds=-3600), PICTURE), 410)
    for seconds in (2, 10, 60):  # a machine that stood still meanwhile tries once more
        soon = int(time.time()) + seconds
        address = SHOP.sign("/info", expires=soon)
        answers = kept.post(SHOP.sign("/info", not_before=soon), PICTURE), kept.post(address, PICTURE)
        if time.time() < soon:
            break
    assert [answer.status for answer in answers] == [403, 200]
    later = SHOP.sign("/info", not_before=soon)
    assert wait_until(lambda: time.time() > soon + 0.01)
    check_refused(kept.post(address, PICTURE), 410)
    assert kept.post(later, PICTURE).status == 200


# ---- limits

def test_body_and_pixels(kept):
    small = pnm(noise(30, 20))
    address = SHOP.sign("/resize", width=40, enlarge="true", body_max=700, pixels_max=700)
    check_problem(kept.post(address, PICTURE), 413, "700 bytes")
    check_problem(kept.post(address, small), 422, "700")
    check_width(kept.post(SHOP.sign("/resize", width=20, body_max=700, pixels_max=600), small), 20)
    check_problem(kept.post(SHOP.sign("/info", pixels_max=599), small), 422, "599")
    """The smaller one counts, of the key's and the address's."""
    check_problem(kept.post(SMALL.sign("/info", body_max=10000, pixels_max=10000), PICTURE), 413, "1000 bytes")
    check_problem(kept.post(SMALL.sign("/info", pixels_max=10000), pnm(noise(31, 20))), 422, "600")
    body, content_type = form([("image", small, "a")])
    assert len(body) > 700
    check_problem(kept.request("POST", SHOP.sign("/info", body_max=700), iter([body[:300], body[300:]]), {"Content-Type": content_type}), 413)


def test_types(kept):
    for path, others in (("/resize", {"width": 20}), ("/info", {})):
        assert kept.post(SHOP.sign(path, in_types="jpeg,pnm", **others), PICTURE).status == 200
        check_problem(kept.post(SHOP.sign(path, in_types="jpeg,png,heic", **others), PICTURE), 415, "jpeg,png,heic")
        check_problem(kept.post(SHOP.sign(path, in_types="pnmx", **others), PICTURE), 415)


def test_origins(kept):
    address = SHOP.sign("/info", origin="https://shop.example")
    assert kept.post(address, PICTURE, {"Origin": "https://shop.example"}).status == 200
    for headers in ({}, {"Origin": "https://shop.example.evil"}, {"Origin": "null"}, {"Origin": "https://shop.exampl"}):
        check_problem(kept.post(address, PICTURE, headers), 403)
    line = b"Origin: https://shop.example\r\n"
    head = f"POST {address} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {len(PICTURE)}\r\n".encode()
    assert responses(kept.raw(head + line + b"\r\n" + PICTURE))[0][0] == 200
    assert responses(kept.raw(head + line + line + b"\r\n" + PICTURE))[0][0] == 403


def test_clients(kept):
    for networks, status in (("127.0.0.0/8", 200), ("127.0.0.1", 200), ("10.0.0.0/8,127.0.0.1", 200), ("203.0.113.0/24", 403), ("::1", 403),
                             ("unix", 403), ("127.0.0.1/8", 400), ("localhost", 400)):
        assert kept.post(SHOP.sign("/info", client=networks), PICTURE).status == status, networks


def test_parts(kept):
    mask = pnm(noise(40, 30))
    carve = {"width": 38}
    if "carve" not in subprocess.run([BURIN, "ops"], capture_output=True, text=True, check=True).stdout:
        pytest.skip("built without carve")
    files = [IMAGE, ("mask", mask, "m.pnm")]
    assert kept.post_form(SHOP.sign("/carve", parts="image,mask", **carve), files).status == 200
    assert kept.post_form(SHOP.sign("/carve", **carve), files[:1]).status == 200
    for parts in (None, "image", "image,rmask"):
        check_problem(kept.post_form(SHOP.sign("/carve", parts=parts, **carve), files), 403, "mask")
    check_problem(kept.post_form(SHOP.sign("/carve", parts="mask", **carve), files[:1]), 403, "image")
    masked = SHOP.sign("/carve", parts="image,mask", in_types="pnm", **carve)
    assert kept.post_form(masked, files).status == 200
    check_problem(kept.post_form(masked, [IMAGE, ("mask", png(noise(40, 30)), "m.png")]), 400, "mask", "png", "one of pnm")
    """Of a preset, the files that it names, for a token and an address; a key for presets alone adds none."""
    for key in (SHOP, PRESETS):
        check_problem(kept.post_form("/preset/slim", files, key.bearer), 403, "mask")
        check_problem(kept.post_form(key.sign("/preset/slim"), files), 403, "mask")
        assert kept.post_form("/preset/masked", files, key.bearer).status == kept.post_form(key.sign("/preset/masked"), files).status == 200
    assert kept.post_form(SHOP.sign("/preset/slim", parts="image,mask"), files).status == 200
    check_problem(kept.post_form(PRESETS.sign("/preset/slim", parts="image,mask"), files), 403, "leave parts of a preset free")


def test_digest(kept):
    digest = "sha-256:" + text_of(hashlib.sha256(PICTURE).digest())
    large = pnm(noise(900, 1000))  # more than the library sees
    address, of_large = SHOP.sign("/info", digest=digest), SHOP.sign("/info", digest="sha-256:" + text_of(hashlib.sha256(large).digest()))
    assert kept.post(address, PICTURE).status == kept.post_form(address, [IMAGE]).status == 200
    assert kept.post(of_large, large).status == kept.post_form(of_large, [("image", large, "a")]).status == 200
    for body in (PICTURE + b"x", PICTURE[:-1] + b"?", large):
        check_problem(kept.post(address, body), 403, "another image")
        check_problem(kept.post_form(address, [("image", body, "a")]), 403, "another image")
    check_problem(kept.post(of_large, large[:-1] + b"\0"), 403)
    for wrong in ("md5:abc", digest + "=", digest[8:], digest[:-1]):
        check_problem(kept.post(SHOP.sign("/info", digest=wrong), PICTURE), 400, "digest")


@pytest.mark.parametrize("name,value", [("body_max", "8MiB"), ("body_max", "0"), ("body_max", "-1"), ("pixels_max", "x"), ("free", ""),
                                        ("free", "width"), ("free", "width:"), ("free", ":1..2"), ("free", "width:1.."), ("free", "width:2..1"),
                                        ("free", "width:a..b"), ("free", "width:1..2,"), ("free", ",width:1..2"), ("not_before", "now")])
def test_limits_that_are_wrong(kept, name, value):
    check_problem(kept.post(SHOP.sign("/info", **{name: value}), PICTURE), 400, name)


# ---- fields that are free

FREE = {"free": "width:16..24,quality:40..90,type:jpeg|png", "height": 15, "fit": "fill"}


def test_free_fields(kept):
    address = SHOP.sign("/resize", **FREE)
    check_width(kept.post_form(address, [("width", "16", None), IMAGE]), 16)
    check_width(kept.post_form(address, [IMAGE, ("width", "24", None), ("type", "jpeg", None), ("quality", "40", None)]), 24)
    for name, value in (("width", "15"), ("width", "25"), ("width", "2e1"), ("width", "20%"), ("width", " 16"), ("width", "16 "), ("width", ""), ("width", "16..24"),
                        ("width", "1" * 40), ("width", "0x10"), ("quality", "91"), ("type", "webp"), ("type", "jpeg|png"), ("type", "JPEG"),
                        ("type", ""), ("type", "jpe"), ("height", "15"), ("height", "20"), ("fit", "cover"), ("device", "cpu"), ("free", "x:1..2"),
                        ("signature", "x"), ("key", "x"), ("expires", "1"), ("Width", "16"), ("width:16", "16")):
        answer = kept.post_form(address, [("width", "16", None), IMAGE, (name, value, None)] if name != "width" else [(name, value, None), IMAGE])
        check_problem(answer, 400)
    check_problem(kept.post_form(address, [("width", "16", None), ("width", "17", None), IMAGE]), 400, "twice")
    check_problem(kept.post(address + "&width=20", PICTURE), 403)
    """Free, and given as well: a form cannot change it."""
    check_problem(kept.post_form(SHOP.sign("/resize", free="width:16..24", width=20), [("width", "16", None), IMAGE]), 400, "twice")
    check_problem(kept.post_form(SHOP.sign("/pipeline", free="width:16..24"), [("operations", "[]", None), IMAGE]), 400, "operations")


def test_files_are_no_way_around(kept):
    address = SHOP.sign("/resize", **FREE)
    for part, status in ((("width", "2000", "a.txt"), 400), (("operations", "[]", "a.json"), 400), (("mask", PICTURE, "m.pnm"), 403)):
        check_problem(kept.post_form(address, [("width", "16", None), IMAGE, part]), status, part[0])
    for name in ("file", "media"):
        check_problem(kept.post_form(address, [("width", "16", None), IMAGE, (name, PICTURE, "b.pnm")]), 400, "two image parts")


def test_two_thousand_forms(kept):
    """None of them gets a picture of another width, type or height, or another operator's work."""
    chance = random.Random(5)
    address = SHOP.sign("/resize", free="width:16..24", height=15, fit="fill", type="png")
    names = ["width", "height", "fit", "type", "quality", "device", "widths", "types", "outputs", "operations", "max_bytes", "background",
             "free", "width ", "Width", "width[]", "preset", "key", "signature", "mask", "rmask", "file", "effort", "lossless", "share"]
    values = ["1", "15", "25", "99", "2000", "20", "16,2000", "cover", "webp", "-20", "+20", "20.5", "020", "2e3", "20\0", "[]", "true",
              '[{"operation":"zoom","params":{"times":9}}]', "\uff12\uff10", " 20", "0x14", "16..24", "9" * 30]
    connection = kept.connect()
    done = 0
    for _ in range(2000):
        parts = [IMAGE] + [(chance.choice(names), chance.choice(values), chance.choice([None] * 6 + ["a.json", ""]))
                           for _ in range(chance.randint(1, 3))]
        chance.shuffle(parts)
        body, content_type = form(parts)
        connection.request("POST", address, body, {"Content-Type": content_type})
        answer = connection.getresponse()
        data = answer.read()
        assert answer.status in (200, 400, 403), (parts, data)
        if answer.status != 200:
            continue
        done += 1
        assert data[:4] == b"\x89PNG" and answer.headers["X-Result-Height"] == "15"
        assert 16 <= int(answer.headers["X-Result-Width"]) <= 24, parts
    connection.close()
    assert 0 < done < 200  # those whose only field was a width that is allowed


# ---- presets

def test_signed_presets(kept):
    for key in (SHOP, PRESETS):
        check_width(kept.post(key.sign("/preset/thumb"), PICTURE), 8)
        check_problem(kept.post_form(key.sign("/preset/thumb"), [IMAGE, ("quality", "9", None)]), 400, "quality")
        check_problem(kept.post(key.sign("/preset/thumb", quality=9), PICTURE), 400, "quality")
    check_width(kept.post_form(SHOP.sign("/preset/wide", free="width:4..20"), [("width", "9", None), IMAGE]), 9)
    check_problem(kept.post_form(SHOP.sign("/preset/wide", free="width:4..20"), [("width", "21", None), IMAGE]), 400, "4..20")
    check_problem(kept.post(PRESETS.sign("/resize", width=8), PICTURE), 403, "may not be used for resize")
    check_problem(kept.post(PRESETS.sign("/preset/wide"), PICTURE), 403)
    check_problem(kept.post(PRESETS.sign("/preset/thumb", free="quality:1..100"), PICTURE), 403, "leave parts of a preset free")
    check_problem(kept.post(SHOP.sign("/preset/thumb").replace("thumb", "wide"), PICTURE), 403)


def test_accept_chooses_no_type(kept):
    """It chooses only where the address or the preset has type=auto."""
    webp = {"Accept": "image/webp"}
    for path in (SHOP.sign("/resize", width=20), SHOP.sign("/imaginary/resize", width=20), SHOP.sign("/preset/plain")):
        answer = kept.post(path, PICTURE, webp)
        assert answer.status == 200 and answer.body[:2] == b"P5", path
    assert kept.post("/preset/plain", PICTURE, {**SHOP.bearer, **webp}).body[:2] == b"P5"
    for path, headers in ((SHOP.sign("/resize", width=20, type="auto"), {}), (SHOP.sign("/preset/auto"), {}), ("/preset/auto", SHOP.bearer),
                          ("/resize?width=20", SHOP.bearer)):
        assert kept.post(path, PICTURE, {**headers, **webp}).headers["Content-Type"] == "image/webp", path


# ---- mutations

def mutated(chance, address):
    """ADDRESS with a small change somewhere."""
    at = chance.randrange(1, len(address))
    kind = chance.randrange(6)
    character = chance.choice(string.ascii_letters + string.digits + "-_.~%&=+")
    if kind == 0:
        return address[:at] + character + address[at + 1:]
    if kind == 1:
        return address[:at] + address[at + 1:]
    if kind == 2:
        return address[:at] + character + address[at:]
    if kind == 3:
        end = min(len(address), at + chance.randrange(1, 12))
        return address[:at] + address[end:]
    path, _, query = address.partition("?")
    pairs = query.split("&")
    one, two = chance.randrange(len(pairs)), chance.randrange(len(pairs))
    if kind == 4:
        pairs[one] = pairs[one].split("=")[0] + "=" + pairs[two].split("=")[-1]
    else:
        pairs.insert(one, chance.choice(["width=9", "free=width:1..9", "a", "key=other", "expires=9999999999", pairs[two]]))
    return f"{path}?{'&'.join(pairs)}"


def meaning(address):
    """The method's path and arguments as a server sees them, to know a change that changes nothing."""
    parts = urlsplit(address)
    query = [pair for pair in parts.query.split("&") if pair not in ("", "=")]
    return parts.path, sorted(tuple(parse_qsl(pair, keep_blank_values=True)[:1]) for pair in query)


def send_mutations(port, count, seed):
    """COUNT changed addresses over pipelined connections; those that were served although their meaning is another."""
    chance = random.Random(seed)
    good = SHOP.sign("/info", body_max=5000, once=None, in_types="pnm,png")
    body = pnm(noise(2, 2))
    accepted, same = [], meaning(good)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    statuses = {}
    for _ in range(count):
        address = mutated(chance, good)
        connection.request("POST", quote(address, safe="/?&=%+-._~:,"), body)
        answer = connection.getresponse()
        answer.read()
        statuses[answer.status] = statuses.get(answer.status, 0) + 1
        if answer.status < 300 and meaning(address) != same:
            accepted.append(address)
        if answer.will_close:
            connection.close()
    connection.close()
    return accepted, statuses


def test_mutations(kept):
    accepted, statuses = send_mutations(kept.port, 3000, 7)
    assert not accepted and statuses.get(403, 0) > 1000 and set(statuses) <= {200, 400, 401, 403, 404, 410}, (accepted[:5], statuses)


# ---- burin sign

def sign(keys, *arguments):
    return subprocess.run([BURIN, "sign", "--keys", str(keys), *map(str, arguments)], capture_output=True, text=True, timeout=60)


def test_burin_sign(kept, signed_keys, tmp_path):
    """It signs as Python does, and the daemon takes it."""
    image = tmp_path / "a.pnm"
    image.write_bytes(PICTURE)
    answer = sign(signed_keys, "--key", "shop-web", "--expires", 100, "--not-before", 0, "--body-max", "8KiB", "--pixels-max", 2000, "--in-types",
                  "pnm,png", "--free", "width:16..24,type:png|jpeg", "--parts", "image", "--client", "127.0.0.0/8", "--origin", "https://shop.example",
                  "--digest", image, "--once", "POST http://host.example/resize?height=15&fit=fill&background=ff%30000")
    assert answer.returncode == 0, answer.stderr
    address = answer.stdout.strip()
    assert address.startswith("http://host.example/resize?")
    pairs = parse_qsl(urlsplit(address).query)
    found = dict(pairs)
    assert abs(int(found["expires"]) - time.time() - 100) < 60 and found["body_max"] == "8192" and found["background"] == "ff0000"
    assert len(base64.urlsafe_b64decode(found["once"] + "==")) == 16 and pairs[-1][0] == "signature"
    assert found["signature"] == SHOP.signature("POST", "/resize", pairs)
    assert encoded(pairs) == urlsplit(address).query
    answer = sign(signed_keys, "--key", "shop-web", "--origin", "https://shop.example", "--client", "127.0.0.1", "--digest", image, "--free",
                  "width:16..24", "POST /resize?height=15&fit=fill")
    check_width(kept.post_form(answer.stdout.strip(), [("width", "20", None), IMAGE], {"Origin": "https://shop.example"}), 20)
    check_width(kept.post(sign(signed_keys, "--key", "presets", "POST /preset/thumb").stdout.strip(), PICTURE), 8)
    flip = sign(signed_keys, "--key", "shop-web", 'POST /pipeline?operations=[{"operation":+"flip"}]&type=pnm').stdout.strip()
    assert "%3A%20%22flip" in flip and kept.post(flip, PICTURE).body == pnm(PIXELS[::-1])
    for networks in ("203.0.113.0/24", "0.0.0.0/0", "::/0", "2001:db8::1", "unix", "unix,10.0.0.0/8"):
        assert sign(signed_keys, "--key", "shop-web", "--client", networks, "POST /info").returncode == 0, networks
    assert kept.post(sign(signed_keys, "--key", "shop-web", "POST /imaginary/fit?width=9&height=9").stdout.strip(), PICTURE).status == 200
    assert kept.request("PUT", sign(signed_keys, "--key", "shop-web", "PUT /info").stdout.strip(), PICTURE).status == 200


@pytest.mark.parametrize("arguments,words", [
    (("--key", "nobody", "POST /info"), "no key nobody here that signs"), (("POST /info",), "no key"),
    (("--key", "verifies", "POST /info"), "no key verifies here that signs"), (("--key", "token", "POST /info"), "no key token"),
    (("--key", "old", "POST /info"), "expired"), (("--key", "presets", "POST /info"), "may not be used for info"),
    (("--key", "presets", "--free", "quality:1..9", "POST /preset/thumb"), "free"), (("--key", "shop-web", "--free", "width", "POST /info"), "free"),
    (("--key", "shop-web", "--expires", "-1", "POST /info"), "expires"), (("--key", "shop-web", "--expires", "soon", "POST /info"), "expires"),
    (("--key", "shop-web", "--body-max", "big", "POST /info"), "body_max"), (("--key", "shop-web", "--pixels-max", "0", "POST /info"), "pixels_max"),
    (("--key", "shop-web", "--client", "here", "POST /info"), "client"), (("--key", "shop-web", "--digest", "/nowhere", "POST /info"), "/nowhere"),
    (("--key", "shop-web", "GET /info"), "POST /resize"), (("--key", "shop-web", "/info"), "POST /resize"), (("--key", "shop-web", "POST"), "POST /resize"),
    (("--key", "shop-web", "POST http://host"), "POST /resize"), (("--key", "shop-web", "POST /info?a=%"), "%"),
    (("--key", "shop-web", "POST /info?a=1&a=2"), "a is given twice"), (("--key", "shop-web", "POST /info?key=x"), "key is given twice"),
    (("--key", "shop-web", "--wat", "x", "POST /info"), "--wat"), (("--key", "shop-web", "POST /info", "more"), "more"),
    (("--key", "shop-web"), "are needed"), (("--key", "shop-web", "POST /resise?width=9"), "did you mean /resize"),
    (("--key", "shop-web", "POST /preset/nothing"), "/preset/nothing"), (("--key", "shop-web", "POST /ops"), "/ops"),
    (("--key", "shop-web", "POST /resize?width=many"), "width"), (("--key", "shop-web", "POST /resize?wide=9"), "wide"),
    (("--key", "shop-web", "--free", "type:png", "POST /resize?width=9&fit=wat"), "fit"), (("--key", "shop-web", "POST /info?width=9"), "width"),
    (("--key", "shop-web", "POST /preset/thumb?quality=9"), "quality"), (("--key", "shop-web", "--in-types", "jpeg,jpg2", "POST /info"), "jpg2"),
    (("--key", "shop-web", "--parts", "image,masque", "POST /info"), "masque"), (("--key", "shop-web", "POST /pipeline"), "operations"),
    (("--key", "shop-web", "POST /imaginary/fit?width=a&height=9"), "width"),
    (("--key", "presets", "--client", "203.0.113.0/24", "POST /info"), "may not be used for info"),
    (("--key", "presets", "--client", "unix", "--free", "quality:1..9", "POST /preset/thumb"), "free")])
def test_what_is_not_signed(arguments, words, signed_keys):
    answer = sign(signed_keys, *arguments)
    assert answer.returncode == 1 and answer.stdout == "" and words in answer.stderr
    assert SHOP.entry["secret"] not in answer.stderr


def test_sign_helps(tmp_path):
    answer = subprocess.run([BURIN, "sign", "--help"], capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0 and answer.stdout.startswith("usage: burin sign")
    assert sign(tmp_path / "none.json", "--key", "a", "POST /info").returncode == 1


def test_the_readmes_client(kept):
    """The lines of Python in server/README.md sign as the daemon checks."""
    text = (pathlib.Path(__file__).parents[2] / "server/README.md").read_text(encoding="utf-8")
    lines = text[text.index("    import base64, hashlib, hmac"):].split("\n\n")[0]
    client = {}
    exec(textwrap.dedent(lines), client)
    address = client["signed"]("POST", "/resize", "shop-web", SHOP.entry["secret"], type="png", free="width:16..24", background="f f+%~ü")
    check_problem(kept.post(address, PICTURE), 400, "background")
    address = client["signed"]("POST", "/resize", "shop-web", SHOP.entry["secret"], type="png", free="width:16..24")
    check_width(kept.post_form(address, [("width", "20", None), IMAGE]), 20)


# ---- logs

def test_limits_are_in_the_log(kept):
    """With the path they say what was signed; the address cannot be used from the log."""
    address = SHOP.sign("/resize", width=20, free="type:png|jpeg", body_max=9999, in_types="png,pnm", once=text_of(bytes(16)))
    kept.post(address, PICTURE, {"X-Request-ID": "limits"})
    shown, sent = parse_qsl(kept.logged(id="limits")["query"]), parse_qsl(address.partition("?")[2])
    assert shown == [(name, "REDACTED" if name in ("key", "once", "signature") else value) for name, value in sent]


def test_no_signature_in_the_log(kept):
    addresses = [SHOP.sign("/resize", width=20), SHOP.sign("/resize", width="x"), SHOP.sign("/resize", width=20).replace("20", "21"),
                 SHOP.sign("/nothing"), SHOP.sign("/resize", seconds=-9), SHOP.sign("/imaginary/resize", width=20), SHOP.sign("/blur") + "x"]
    for i, address in enumerate(addresses):
        kept.post(address, PICTURE, {"X-Request-ID": f"signed-{i}"})
    assert wait_until(lambda: '"id":"signed-6"' in kept.log_so_far())
    log = kept.log_text()
    lines = {line["id"]: line for line in map(json.loads, filter(None, log.splitlines())) if "id" in line}
    assert lines["signed-0"]["key"] == lines["signed-1"]["key"] == "shop-web" and "key" not in lines["signed-2"]
    for address in addresses:
        assert address[-43:-20] not in log and address[-24:-1] not in log
    for key in KEYS:
        assert text_of(key.secret)[:20] not in log
