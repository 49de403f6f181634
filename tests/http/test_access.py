# SPDX-License-Identifier: Apache-2.0
"""Requests that need a key: tokens, presets, rights, and keys that change while the daemon serves.

covers: server/access/judge.c server/access/grant.c server/http/access.c"""
import json
import os
import pathlib
import re
import signal
import subprocess

import numpy as np
import pytest

from conftest import BURIN, PATIENCE_S, Daemon, check_problem, form, needs, noise, pnm, responses, wait_until
from signing import Key, write_keys

pytestmark = needs("resize")
PICTURE = pnm(noise(40, 30))
SHOP = Key("shop-web", 1)
FEW = Key("few", 2, may=["resize", "fit", "info"])
OLD = Key("old", 3, not_after="2020-01-01T00:00:00Z")
YOUNG = Key("young", 4, not_after="2199-01-01T00:00:00Z", state="verify")
SMALL = Key("small", 5, limits={"body_bytes_max": 1000, "pixels_max": 600})
PRESETS = Key("presets", 6, may=["preset:thumb"])
NO_TOKEN = Key("no-token", 7, token_sha256=None)
KEYS = (SHOP, FEW, OLD, YOUNG, SMALL, PRESETS, NO_TOKEN)
NAMES = {"thumb": "resize?width=8&height=8&type=png", "two": 'pipeline?operations=[{"operation":"flip"},{"operation":"flop"}]&type=pnm',
         "fitted": "fit?width=20&height=20"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    daemon = Daemon("--keys-file", write_keys(path, *KEYS, **NAMES), "--cors-origins", "https://shop.example")
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


def check_no_key(answer, *words):
    problem = check_problem(answer, 401, *words)
    assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="burin"') and problem["code"] == "no_key"
    return problem


# ---- tokens

def test_a_token_opens(kept):
    answer = kept.post("/resize?width=20", PICTURE, SHOP.bearer)
    assert answer.status == 200 and answer.image.shape == (15, 20)
    assert kept.post_form("/grayscale", [("image", PICTURE, "a.pnm"), ("type", "png", None)], YOUNG.bearer).status == 200
    for header in (f"bearer {SHOP.token}", f"BEARER   {SHOP.token}"):
        assert kept.post("/info", PICTURE, {"Authorization": header}).status == 200


@pytest.mark.parametrize("path", ["/resize?width=20", "/info", "/pipeline?operations=[]", "/fit?width=20&height=20", "/imaginary/resize?width=20"])
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_without_a_key(kept, path, method):
    answer = kept.request(method, path, PICTURE, {"Content-Type": "image/jpeg"})
    problem = check_no_key(answer, "Authorization: Bearer")
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="burin"' and "key" not in problem


def other(token, at):
    return token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1:]


@pytest.mark.parametrize("header", [
    "", "Bearer", "Bearer ", f"Basic {SHOP.token}", SHOP.token, f"Bearer {SHOP.token}x", f"Bearer {SHOP.token[:-1]}",
    f"Bearer {other(SHOP.token, -1)}", f"Bearer {other(SHOP.token, -43)}", f"Bearer {other(SHOP.token, 8)}",
    f"Bearer {SHOP.token.replace('shop-web', 'few')}", f"Bearer {SHOP.token.upper()}", f"Bearer {SHOP.token[6:]}",
    "Bearer burin__" + "A" * 43, "Bearer burin_nobody_" + "A" * 43, f"Bearer burin_{'x' * 200}_" + "A" * 43,
    f"Bearer {NO_TOKEN.token}", f"Bearer {NO_TOKEN.token[:-43]}" + "A" * 43, "Bearer burin_shop-web_"])
def test_wrong_tokens(kept, header):
    answer = kept.post("/resize?width=20", PICTURE, {"Authorization": header})
    problem = check_no_key(answer, "needs a key")
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"] and "key" not in problem


def test_two_headers(kept):
    """It is not clear which of them counts."""
    line = f"Authorization: Bearer {SHOP.token}\r\n".encode()
    head = b"POST /info HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n" % len(PICTURE)
    assert responses(kept.raw(head + line + b"\r\n" + PICTURE))[0][0] == 200
    assert responses(kept.raw(head + line + line + b"\r\n" + PICTURE))[0][0] == 401


def test_a_key_that_has_expired(kept):
    problem = check_no_key(kept.post("/info", PICTURE, OLD.bearer), "old has expired")
    assert problem["key"] == "old"


@pytest.mark.parametrize("path,status", [("/resize?width=20", 200), ("/fit?width=20&height=20", 200), ("/info", 200), ("/imaginary/fit?width=20&height=20", 200),
                                         ("/grayscale", 403), ("/pipeline?operations=[{\"operation\":\"resize\"}]", 403),
                                         ("/imaginary/thumbnail?width=20", 403), ("/preset/thumb", 403)])
def test_rights(kept, path, status):
    answer = kept.post(path, PICTURE, FEW.bearer)
    assert answer.status == status, answer.body
    if status == 403:
        assert check_problem(answer, 403, "few may not be used for")["key"] == "few"


def test_unknown_paths_stay_unknown(kept):
    check_problem(kept.post("/nothing", PICTURE), 404)
    for name in ("nothing", "thumb", "", "x" * 500):
        check_no_key(kept.post(f"/preset/{name}", PICTURE))
        if name != "thumb":
            check_problem(kept.post(f"/preset/{name}", PICTURE, SHOP.bearer), 404)
    check_problem(kept.get("/resize"), 405)
    check_problem(kept.get("/preset/nothing"), 405)
    check_problem(kept.get("/preset/thumb"), 405)


def test_what_needs_no_key(kept):
    for path in ("/", "/ops", "/openapi.json", "/livez", "/readyz", "/health", "/metrics", "/progress/x", "/imaginary/", "/imaginary/health"):
        assert kept.get(path).status == 200, path
    preflight = kept.request("OPTIONS", "/resize", None, {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"})
    assert preflight.status == 204


def test_a_page_reads_the_refusal(kept):
    answer = kept.post("/info", PICTURE, {"Origin": "https://shop.example"})
    check_no_key(answer)
    assert answer.headers["Access-Control-Allow-Origin"] == "https://shop.example"


# ---- imaginary's clients

def test_keys_of_imaginary(kept):
    for headers, query in (({"API-Key": SHOP.token}, ""), ({}, f"&key={SHOP.token}"), (SHOP.bearer, ""), (SHOP.bearer, "&key=x")):
        assert kept.post(f"/imaginary/resize?width=20{query}", PICTURE, headers).status == 200
    for headers, query in (({"API-Key": "x"}, ""), ({}, "&key=x"), ({}, "&key="), ({"API-Key": "x"}, f"&key={SHOP.token}")):
        check_no_key(kept.post(f"/imaginary/resize?width=20{query}", PICTURE, headers))
    """Elsewhere a token in an address would be in every log between."""
    check_no_key(kept.post("/resize?width=20", PICTURE, {"API-Key": SHOP.token}))
    check_no_key(kept.post(f"/resize?width=20&key={SHOP.token}", PICTURE))


# ---- at the head

def expecting(daemon, headers, length=10 ** 9, path="/resize?width=20"):
    """The answer to a head that announces LENGTH bytes and waits for a 100."""
    with daemon.socket(PATIENCE_S) as s:
        s.sendall((f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: image/jpeg\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n"
                   + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n").encode())
        return s.recv(4096).decode()


def test_judged_before_the_body(kept):
    assert expecting(kept, {}).startswith("HTTP/1.1 401")
    assert expecting(kept, FEW.bearer, path="/grayscale").startswith("HTTP/1.1 403")
    assert expecting(kept, SMALL.bearer, 1001).startswith("HTTP/1.1 413")
    assert expecting(kept, SMALL.bearer, 1000).startswith("HTTP/1.1 100")
    assert expecting(kept, SHOP.bearer, 1001).startswith("HTTP/1.1 100")


def test_a_large_body_is_refused_at_once(kept):
    """Without Expect too: the answer comes while the body is still to come."""
    with kept.socket(PATIENCE_S) as s:
        s.sendall(b"POST /resize?width=20 HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n")
        assert s.recv(4096).startswith(b"HTTP/1.1 401")
    assert kept.samples()["burin_body_bytes_held"] == 0


# ---- limits of a key

def test_limits_of_a_request(kept):
    small, large = pnm(noise(30, 20)), pnm(noise(31, 20))
    assert kept.post("/info", small, SMALL.bearer).status == 200
    check_problem(kept.post("/info", large, SMALL.bearer), 422, "600")
    check_problem(kept.post("/resize?width=40&enlarge=true", small, SMALL.bearer), 422)
    problem = check_problem(kept.post("/info", PICTURE, SMALL.bearer), 413, "1000 bytes", "the key or the address")
    assert problem["key"] == "small"
    body, content_type = form([("image", small, "a.pnm")])
    chunks = [body[i:i + 100] for i in range(0, len(body), 100)]
    assert kept.request("POST", "/info", iter(chunks), {"Content-Type": content_type, **SMALL.bearer}).status == 200
    chunks.insert(0, b"x" * 300)  # a preamble is no part
    assert kept.request("POST", "/info", iter(chunks), {"Content-Type": content_type, **SMALL.bearer}).status == 413


# ---- presets

def test_presets(kept):
    for key in (SHOP, PRESETS):
        answer = kept.post("/preset/thumb", PICTURE, key.bearer)
        assert answer.status == 200 and answer.headers["Content-Type"] == "image/png"
        assert answer.body == kept.post("/resize?width=8&height=8&type=png", PICTURE, SHOP.bearer).body
    answer = kept.post_form("/preset/two", [("image", PICTURE, "a")], SHOP.bearer)
    assert answer.body == pnm(noise(40, 30)[::-1, ::-1])
    assert kept.post("/preset/fitted", PICTURE, SHOP.bearer).image.shape == (15, 20)
    check_problem(kept.post("/resize?width=8", PICTURE, PRESETS.bearer), 403, "presets may not be used for resize")
    check_problem(kept.post("/preset/two", PICTURE, PRESETS.bearer), 403)
    check_no_key(kept.post("/preset/thumb", PICTURE))


def test_a_preset_is_whole(kept):
    """Neither the query nor the form adds to it."""
    for name in ("height", "width", "quality", "device", "type", "operations"):
        check_problem(kept.post(f"/preset/thumb?{name}=9", PICTURE, SHOP.bearer), 400, name)
        check_problem(kept.post_form("/preset/thumb", [("image", PICTURE, "a"), (name, "9", None)], SHOP.bearer), 400, name)


# ---- logs

def test_logs_have_the_id_alone(kept):
    answer = kept.post("/resize?width=20", PICTURE, {**SHOP.bearer, "X-Request-ID": "with-key"})
    assert answer.status == 200
    kept.post(f"/imaginary/resize?width=x&key={SHOP.token}", PICTURE, {"X-Request-ID": "imaginary"})
    kept.post("/grayscale", PICTURE, {**FEW.bearer, "X-Request-ID": "few"})
    kept.post("/grayscale", PICTURE, {"Authorization": f"Bearer {other(SHOP.token, -1)}", "X-Request-ID": "wrong"})
    assert wait_until(lambda: kept.log_so_far().count('"id":"wrong"') == 1)
    log = kept.log_text()
    lines = {line["id"]: line for line in map(json.loads, filter(None, log.splitlines())) if "id" in line}
    assert lines["with-key"]["key"] == lines["imaginary"]["key"] == "shop-web" and lines["few"]["key"] == "few"
    assert "key" not in lines["wrong"] and lines["few"]["status"] == 403 and lines["wrong"]["status"] == 401
    for key in KEYS:
        for secret in (key.token[-43:], key.entry["secret"], key.entry.get("token_sha256", "none")):
            assert secret[:20] not in log


def test_metrics_name_the_key(start, tmp_path):
    """Requests by code, pixels and time of the key that was proved; none of who only names one."""
    daemon = start("--keys-file", write_keys(tmp_path / "keys.json", SHOP, FEW))
    assert "burin_key_" in daemon.get("/metrics").body.decode()
    for headers, count in ((SHOP.bearer, 3), (FEW.bearer, 2), ({"Authorization": f"Bearer {other(SHOP.token, -1)}"}, 4), ({}, 1)):
        for _ in range(count):
            daemon.post("/grayscale", PICTURE, headers)
    daemon.post(SHOP.sign("/resize", width=20), PICTURE)
    fresh = Key("fresh", 16)
    write_keys(tmp_path / "keys.json", FEW, fresh)
    hang_up(daemon, "keys_file was read again: 2 keys")
    assert daemon.post("/info", PICTURE, fresh.bearer).status == 200
    assert wait_until(lambda: 'burin_key_requests_total{key="fresh",code="200"}' in daemon.samples())
    samples = {name: value for name, value in daemon.samples().items() if name.startswith("burin_key_")}
    assert {name: value for name, value in samples.items() if "seconds" not in name} == {
        'burin_key_requests_total{key="shop-web",code="200"}': 4, 'burin_key_requests_total{key="few",code="403"}': 2,
        'burin_key_requests_total{key="fresh",code="200"}': 1, 'burin_key_input_pixels_total{key="shop-web"}': 4 * 40 * 30}
    assert [name for name in samples if "seconds" in name] == ['burin_key_job_seconds_total{key="shop-web"}']


# ---- the file while the daemon serves

def hang_up(daemon, words):
    before = daemon.log_so_far().count(words)
    daemon.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: daemon.log_so_far().count(words) > before), daemon.log_text()


def test_rotation(start, tmp_path):
    """A new key beside the old one, then the new one alone; a request under way keeps what it began with."""
    path = tmp_path / "keys.json"
    old, new = Key("old-key", 11), Key("new-key", 12)
    daemon = start("--keys-file", write_keys(path, old, half="resize?width=4"))
    assert daemon.post("/info", PICTURE, old.bearer).status == 200
    check_no_key(daemon.post("/info", PICTURE, new.bearer))
    write_keys(path, old, new)
    hang_up(daemon, "keys_file was read again: 2 keys")
    assert all(daemon.post("/info", PICTURE, key.bearer).status == 200 for key in (old, new))
    check_problem(daemon.post("/preset/half", PICTURE, old.bearer), 404)
    with daemon.socket() as s:
        s.sendall((f"POST /resize?width=20 HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: image/jpeg\r\nContent-Length: {len(PICTURE)}\r\n"
                   f"Authorization: Bearer {old.token}\r\n\r\n").encode() + PICTURE[:100])
        assert wait_until(lambda: daemon.samples()["burin_slots_in_use"] == 1)
        write_keys(path, new)
        hang_up(daemon, "keys_file was read again: 1 key")
        check_no_key(daemon.post("/info", PICTURE, old.bearer))
        s.sendall(PICTURE[100:])
        assert s.recv(4096).startswith(b"HTTP/1.1 200")
    assert daemon.post("/info", PICTURE, new.bearer).status == 200


@needs("carve")
def test_a_reload_while_a_form_comes(start, tmp_path):
    """The files that a preset names are those of its table, however often another one came into force meanwhile."""
    path, key = tmp_path / "keys.json", Key("one", 14)
    daemon = start("--keys-file", write_keys(path, key, masked="carve?width=38&parts=image,mask"))
    body, kind = form([("image", PICTURE, "a.pnm"), ("mask", pnm(np.zeros((30, 40), np.uint8)), "m.pnm")])
    wrong, _ = form([("image", PICTURE, "a.pnm"), ("rmask", pnm(np.zeros((30, 40), np.uint8)), "m.pnm")])
    for text, status in ((body, 200), (wrong, 403)):
        with daemon.socket() as s:
            s.sendall((f"POST /preset/masked HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n"
                       f"Authorization: Bearer {key.token}\r\n\r\n").encode() + text[:20])
            assert wait_until(lambda: daemon.samples()["burin_slots_in_use"] == 1)
            for number in range(3):
                write_keys(path, key, **{f"other{i}": f"resize?width={number + 1}{i}" for i in range(20)})
                hang_up(daemon, "keys_file was read again: 1 key")
            s.sendall(text[20:])
            assert s.recv(4096).startswith(b"HTTP/1.1 %d" % status)
        write_keys(path, key, masked="carve?width=38&parts=image,mask")
        hang_up(daemon, "keys_file was read again: 1 key")


def test_a_broken_file_changes_nothing(start, tmp_path):
    path = tmp_path / "keys.json"
    key = Key("one", 13)
    daemon = start("--keys-file", write_keys(path, key))
    good = path.read_text()
    for text, mode, words in ((good[:-1], 0o600, "line 1"), (good.replace('"id"', '"di"'), 0o600, "keys[0].di is not known"),
                              (good, 0o644, "chmod 600"), (None, 0, "unable to open")):
        path.unlink()
        if text is not None:
            path.write_text(text)
            path.chmod(mode)
        hang_up(daemon, "keys_file: all keys stay as they were")
        assert words in [line for line in daemon.log_so_far().splitlines() if "stay as they were" in line][-1]
        assert daemon.post("/info", PICTURE, key.bearer).status == 200
    path.write_text('{"keys": []}')
    path.chmod(0o600)
    hang_up(daemon, "keys_file was read again: 0 keys")
    check_no_key(daemon.post("/info", PICTURE, key.bearer))


def test_the_file_may_be_a_link(start, tmp_path):
    """Kubernetes changes a link to a folder beside the file; others link to a file that is replaced."""
    one, two = Key("one", 14), Key("two", 15)
    for folder in ("secret/..1", "secret/..2", "etc", "run"):
        (tmp_path / folder).mkdir(parents=True)
    write_keys(tmp_path / "secret/..1/keys.json", one)
    write_keys(tmp_path / "secret/..2/keys.json", two)
    write_keys(tmp_path / "run/keys.json", one)
    (tmp_path / "secret/..data").symlink_to("..1")
    (tmp_path / "secret/keys.json").symlink_to("..data/keys.json")
    (tmp_path / "etc/keys.json").symlink_to(tmp_path / "run/keys.json")
    daemons = [start("--keys-file", tmp_path / where / "keys.json") for where in ("secret", "etc")]
    (tmp_path / "secret/..data").unlink()
    (tmp_path / "secret/..data").symlink_to("..2")
    write_keys(tmp_path / "run/keys.json", two)
    for daemon in daemons:
        hang_up(daemon, "keys_file was read again: 1 key")
        assert daemon.post("/info", PICTURE, two.bearer).status == 200
        check_no_key(daemon.post("/info", PICTURE, one.bearer))


def memory_of(pid):
    """What the process has in memory of its own, region by region."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            addresses, rights, *rest = line.split()
            start, end = (int(address, 16) for address in addresses.split("-"))
            if rights.startswith("rw-p"):
                memory.seek(start)
                yield memory.read(end - start)


@pytest.mark.skipif(os.geteuid() != 0 or b"__asan_init" in pathlib.Path(BURIN).read_bytes(), reason="only root sees memory; a sanitizer keeps it")
def test_no_text_of_a_secret_stays_in_memory(start, tmp_path):
    key = Key("shop", 31)
    daemon = start("--keys-file", write_keys(tmp_path / "keys.json", key))
    found = {secret: any(secret in region for region in memory_of(daemon.process.pid)) for secret in (key.secret, key.entry["secret"].encode())}
    assert list(found.values()) == [True, False]


# ---- the start

def serve(*flags):
    return subprocess.run([BURIN, "serve", "--devices", "cpu", *map(str, flags)], capture_output=True, text=True, timeout=60)


def test_no_start_without_its_keys(tmp_path):
    path = tmp_path / "keys.json"
    answer = serve("--keys-file", path)
    assert answer.returncode == 2 and "unable to open" in answer.stderr
    path.write_text('{"keys": []}')
    path.chmod(0o644)
    answer = serve("--keys-file", path)
    assert answer.returncode == 2 and "chmod 600" in answer.stderr and "listens" not in answer.stdout


def test_keys_open_the_address_to_others(tmp_path):
    path = write_keys(tmp_path / "keys.json", SHOP)
    answer = serve("--listen", "0.0.0.0:0")
    assert answer.returncode == 2 and "--keys-file" in answer.stderr
    process = subprocess.Popen([BURIN, "serve", "--devices", "cpu", "--listen", "0.0.0.0:0", "--keys-file", path], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    try:
        assert re.match(r"burin listens on 0\.0\.0\.0:\d+", process.stdout.readline())
    finally:
        process.terminate()
        assert process.wait(60) == 0
        process.stdout.close()


def test_keys_do_not_open_the_admin_address(tmp_path):
    """There nobody is asked for a key."""
    answer = serve("--listen", "127.0.0.1:0", "--admin-listen", "0.0.0.0:0", "--keys-file", write_keys(tmp_path / "keys.json", SHOP))
    assert answer.returncode == 2 and "--insecure" in answer.stderr and "listens" not in answer.stdout


def test_without_the_file_all_is_as_before(daemon):
    assert daemon.post("/resize?width=20", PICTURE, {"Authorization": "Bearer x"}).status == 200
    check_problem(daemon.post("/preset/thumb", PICTURE), 404)
    check_problem(daemon.post("/resize?width=20&signature=x", PICTURE), 400, "signature")
