# SPDX-License-Identifier: Apache-2.0
"""No token, signature or secret is in a line of the log, nor in what anyone may read, whatever is asked, and whichever file is
broken while the daemon serves.

covers: server/http/access_log.c server/access/judge.c server/access/key_file.c"""
import json
import signal
from urllib.parse import quote

import pytest

from conftest import form, needs, noise, pnm, wait_until
from signing import Key, write_keys

pytestmark = needs("resize")
PICTURE = pnm(noise(16, 12))
SHOP, FEW, OLD, STRANGER = Key("shop-web", 61), Key("few", 62, may=["info"]), Key("old", 63, not_after="2020-01-01T00:00:00Z"), Key("stranger", 64)
KEYS = (SHOP, FEW, OLD, STRANGER)
IMAGE = ("image", PICTURE, "a.pgm")


def requests():
    """Path, headers and body of requests with something secret, right and wrong."""
    for key in KEYS:
        for token in (key.token, key.token[:-1], key.token + "x", key.token[:-43] + key.token[-43:].swapcase()):
            for path in ("/resize?width=8", "/resize?width=x", "/info", "/nothing", "/preset/thumb", "/preset/none", "/imaginary/resize?width=8"):
                yield path, {"Authorization": f"Bearer {token}"}, PICTURE
            yield "/resize?width=8", {"Authorization": token}, PICTURE
            for name in ("key", "API-Key", "signature", "once", "token", "sign"):
                for path in ("/imaginary/resize", "/resize", "/info", "/preset/thumb", "/livez"):
                    yield f"{path}?width=8&{name}={token}", {"API-Key": token}, PICTURE
            yield "/resize?width=8", {**key.bearer, "traceparent": token, "tracestate": f"a={token}!"}, PICTURE
        for address in (key.sign("/resize", width=8), key.sign("/resize", width="x"), key.sign("/resize", seconds=-9, width=8), key.sign("/nothing"),
                        key.sign("/info"), key.sign("/preset/thumb"), key.sign("/resize", width=8, once="A" * 22),
                        key.sign("/resize", width=8, origin="https://a.example/?" + key.token), key.sign("/resize", width=8, in_types="jpeg"),
                        key.sign("/resize", width=8, digest="sha-256:" + "B" * 43), key.sign("/resize", free="width:1..9", body_max=10)):
            for changed in (address, address[:-1], address + "A", address.replace("width=8", "width=9"), address.replace("&signature=", "&Signature="),
                            address.replace("?", "?url=" + quote(f"https://b.example/x?{address.partition('?')[2]}", "") + "&"),
                            address + "&" + address.rpartition("&")[2]):
                yield changed, {}, PICTURE
                yield changed, {**key.bearer, "API-Key": key.token}, PICTURE
            body, content_type = form([IMAGE, ("width", "8", None), ("key", key.token, None), ("signature", address[-43:], None)])
            yield address, {"Content-Type": content_type}, body


def broken(good):
    """Files of keys that are wrong, in which the secrets stand."""
    entry = good["keys"][0]
    text = json.dumps(good)
    return [text[:-1], text.replace('"secret": ', '"secret" '), text.replace(entry["secret"], entry["secret"] + "x"), text.replace('"id"', '"di"'),
            text.replace(entry["token_sha256"], entry["token_sha256"].upper()), text.replace(entry["secret"] + '"', entry["secret"]),
            json.dumps({"keys": [entry, entry]}), json.dumps({entry["secret"]: [entry]}[entry["secret"]]), text.replace('"shop-web"', "7"),
            json.dumps({"keys": [{**entry, "note": [entry["secret"]]}]}), text.replace('"secret": "', '"secret": "\\u00'), text[:text.index("secret") + 30]]


@pytest.mark.parametrize("log_format", ["json", "text"])
@pytest.mark.parametrize("level", ["info", "error"])
def test_nothing_secret_is_shown(start, tmp_path, log_format, level):
    path, settings = tmp_path / "keys.json", tmp_path / "burin.json"
    write_keys(path, *KEYS[:3], thumb="resize?width=8")
    settings.write_text(json.dumps({"log_level": level}))
    daemon = start("--config", settings, "--keys-file", path, "--log-format", log_format)
    answers, statuses = [], set()
    for where, headers, body in requests():
        answer = daemon.request("POST", where, body, {"Content-Type": "image/x-portable-anymap", **headers})
        statuses.add(answer.status)
        if answer.status >= 400:
            answers.append(answer.body.decode() + str(answer.headers))
    assert statuses >= {200, 400, 401, 403, 404, 405, 410, 413}, statuses
    good = json.loads(path.read_text())
    for number, text in enumerate(broken(good)):
        path.write_text(text)
        settings.write_text('{"log_level": %s}' % json.dumps("loud" if number == 0 else level))
        daemon.process.send_signal(signal.SIGHUP)
        assert wait_until(lambda: daemon.log_so_far().count("keys_file: all keys stay as they were") > number), text
        answers.append(daemon.get("/readyz").body.decode())
        assert len(json.loads(answers[-1])["reload"]["errors"]) == (2 if number == 0 else 1)
    answers += [daemon.get(page, Accept=accept).body.decode() for page in ("/metrics", "/readyz", "/ops", "/openapi.json", "/livez")
             for accept in ("*/*", "application/openmetrics-text")]
    assert daemon.stop() == 0
    log = daemon.log_text()
    assert (log.count("shop-web") > 20) == (level == "info"), "the ids are there"
    for text in [log] + answers:
        for key in KEYS:
            for secret in (key.token[-43:], key.entry["secret"]):
                for part in (secret[:16], secret[14:30], secret[-16:]):
                    assert part.lower() not in text.lower(), [line for line in text.splitlines() if part.lower() in line.lower()][:2]
    for where, *_ in requests():
        for signature in [pair.partition("=")[2] for pair in where.split("&") if pair.lower().startswith("signature=")]:
            assert not any(signature[-16:] in text for text in [log] + answers), where
