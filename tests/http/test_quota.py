# SPDX-License-Identifier: Apache-2.0
"""Limits of a key's group: requests, bytes, pixels and device milliseconds a second, requests in progress, and its share of the queue.

A limit of one a second, of which this daemon has the ten-thousandth part, comes back in almost three hours: no test waits for that.

covers: server/access/quota.c server/http/access.c server/http/handle_status.c server/http/problem.c"""
import json
import re

import numpy as np
import pytest

from conftest import LONGER_PATH, check_problem, large_png, needs, noise, pnm, read_to_end, responses, wait_until
from signing import Key, write_keys
from test_access import hang_up
from test_clients import Frozen

pytestmark = needs("resize")
PICTURE = pnm(noise(40, 30))
SMALL = pnm(noise(8, 8))
PART = ("--quota-divisor", "10000")
WAITED = 300  # seconds that a test may take


@pytest.fixture
def limited(start, tmp_path):
    """Starts a daemon for these keys."""
    def starter(*keys, flags=()):
        daemon = start("--keys-file", write_keys(tmp_path / "keys.json", *keys), *PART, *flags)
        daemon.keys = tmp_path / "keys.json"
        return daemon
    return starter


def fields(text):
    """The items of RateLimit and RateLimit-Policy with their parameters (RFC 9651)."""
    found = {}
    for item in text.split(", "):
        name, parameters = re.fullmatch(r'"([a-z_]+)"((?:;[a-z]+=(?:\d{1,15}|"[a-z-]+"))+)', item).groups()
        found[name] = {key: json.loads(value) for key, value in (pair.split("=") for pair in parameters[1:].split(";"))}
    return found


def check_over(answer, key, limit, least=1, most=WAITED):
    problem = check_problem(answer, 429, key.id, limit)
    assert problem["code"] == "over_quota" and problem["key"] == key.id
    assert least <= int(answer.headers["Retry-After"]) <= most
    assert limit in fields(answer.headers["RateLimit"]) and limit in fields(answer.headers["RateLimit-Policy"])


def quota(daemon, key):
    answer = daemon.get("/quota", **key.bearer)
    assert answer.status == 200
    return answer.json


def left(daemon, key, limit):
    return quota(daemon, key)["limits"][limit]["left"]


# ---- at the head

def test_requests(limited):
    key, free = Key("few", 1, limits={"requests_per_s": 1, "burst": 3}), Key("free", 2)
    daemon = limited(key, free)
    for expected in (2, 1, 0):
        answer = daemon.post("/resize?width=20", PICTURE, key.bearer)
        assert answer.status == 200 and answer.image.shape == (15, 20)
        assert fields(answer.headers["RateLimit-Policy"]) == {"requests_per_s": {"q": 3, "qu": "requests", "w": 30000}}
        now, = fields(answer.headers["RateLimit"]).values()
        assert now["r"] == expected and 10000 * (3 - expected) - WAITED < now["t"] <= 10000 * (3 - expected)
    for _ in range(2):
        check_over(daemon.post("/resize?width=20", PICTURE, key.bearer), key, "requests_per_s", 10000 - WAITED, 10000)
        check_over(daemon.post(key.sign("/info"), PICTURE), key, "requests_per_s", 10000 - WAITED, 10000)
    answer = daemon.post("/info", PICTURE, free.bearer)
    assert answer.status == 200 and "RateLimit" not in answer.headers and "RateLimit-Policy" not in answer.headers
    assert daemon.samples()['burin_quota_refused_total{key="few",limit="requests_per_s"}'] == 4
    lines = [json.loads(line) for line in daemon.log_text().splitlines()]
    found = [(line["key"], line["limit"], line["status"]) for line in lines if line["event"] == "request" and "limit" in line]
    assert found == 4 * [("few", "requests_per_s", 429)]


def test_other_refusals_cost_nothing(limited):
    """A head that is wrong is not counted, nor is one of another key."""
    key = Key("few", 1, may=["info"], limits={"requests_per_s": 1, "burst": 1, "body_bytes_max": 5000})
    daemon = limited(key)
    check_problem(daemon.post("/grayscale", PICTURE, key.bearer), 403)
    check_problem(daemon.post("/info", bytes(5001), key.bearer), 413)
    check_problem(daemon.post("/info?size=3", PICTURE, key.bearer), 400)
    check_problem(daemon.post("/info", PICTURE, {"Authorization": key.bearer["Authorization"][:-1]}), 401)
    assert quota(daemon, key)["limits"]["requests_per_s"] == {"most": 1, "left": 1, "full_after_s": 0}
    assert daemon.post("/info", PICTURE, key.bearer).status == 200
    check_over(daemon.post("/info", PICTURE, key.bearer), key, "requests_per_s", most=10000)


@pytest.mark.parametrize("length,more", [(50 << 20, ""), (50 << 20, "Expect: 100-continue\r\n"), (813, "Expect: 100-continue\r\n")])
def test_before_the_body(limited, length, more):
    """No byte of the body is sent; a client that waits for a 100 gets its refusal instead."""
    key = Key("few", 1, limits={"requests_per_s": 1, "burst": 1})
    daemon = limited(key)
    assert daemon.post("/info", PICTURE, key.bearer).status == 200
    with daemon.socket() as s:
        s.sendall(f"POST /info HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n{more}"
                  f"Authorization: Bearer {key.token}\r\n\r\n".encode())
        (status, headers, body), = responses(read_to_end(s))
    assert status == 429 and json.loads(body)["code"] == "over_quota"
    assert 10000 - WAITED < int(headers["retry-after"]) <= 10000
    assert fields(headers["ratelimit"])["requests_per_s"]["r"] == 0 and fields(headers["ratelimit-policy"])["requests_per_s"]["q"] == 1


def test_an_address_that_serves_once(limited):
    """A refusal does not use it up, and one that has served uses nothing up."""
    key = Key("few", 1, limits={"requests_per_s": 1, "burst": 2})
    daemon = limited(key)
    first, second = (key.sign("/info", once=letter * 21 + "A") for letter in "AB")
    assert daemon.post(first, PICTURE).status == 200
    for _ in range(3):
        check_problem(daemon.post(first, PICTURE), 410)
    assert daemon.post("/info", PICTURE, key.bearer).status == 200
    check_over(daemon.post(second, PICTURE), key, "requests_per_s", most=10000)
    more = Key("few", 1, limits={"requests_per_s": 1, "burst": 3})
    write_keys(daemon.keys, more)
    hang_up(daemon, "keys_file was read again")
    assert daemon.post(second, PICTURE).status == 200


def test_ten_times_the_quota(limited):
    greedy, modest = Key("greedy", 1, limits={"requests_per_s": 1, "burst": 5}), Key("modest", 2, limits={"requests_per_s": 1000, "burst": 1000})
    daemon = limited(greedy, modest)
    found = {key.id: [daemon.post("/info", PICTURE, key.bearer).status for _ in range(50)] for key in (greedy, modest)}
    assert found == {"greedy": 5 * [200] + 45 * [429], "modest": 50 * [200]}


def test_a_group(limited):
    limits = {"requests_per_s": 1, "burst": 3}
    old, new, other = Key("old", 1, group="shop", limits=limits), Key("new", 2, group="shop", limits=limits), Key("other", 3, limits=limits)
    daemon = limited(old, new, other)
    assert [daemon.post("/info", PICTURE, key.bearer).status for key in (old, new, old, new, old)] == [200, 200, 200, 429, 429]
    assert [daemon.post("/info", PICTURE, other.bearer).status for _ in range(4)] == [200, 200, 200, 429]
    for key, group in ((old, "shop"), (new, "shop"), (other, "other")):
        found = quota(daemon, key)
        assert (found["key"], found["group"]) == (key.id, group) and 0 <= found["limits"]["requests_per_s"]["left"] < 0.1


# ---- bytes, pixels, milliseconds

def head(key, length, path="/info", more=""):
    return (f"POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n{more}"
            f"Authorization: Bearer {key.token}\r\n\r\n").encode()


def test_bytes(limited):
    """One byte a second: as announced, and at the end as they came."""
    keys = whole, chunked, short = [Key(id, i, limits={"bytes_per_s": 10000}) for i, id in enumerate(("whole", "chunked", "short"))]
    daemon = limited(*keys)
    assert daemon.post("/info", PICTURE, whole.bearer).status == 200
    assert daemon.request("POST", "/info", iter([PICTURE[:500], PICTURE[500:]]), chunked.bearer).status == 200
    for key in (whole, chunked):
        assert wait_until(lambda: quota(daemon, key)["in_progress"] == 0)
        assert 1 - len(PICTURE) <= left(daemon, key, "bytes_per_s") < 1 - len(PICTURE) + WAITED
        check_over(daemon.post("/info", PICTURE, key.bearer), key, "bytes_per_s", len(PICTURE) - WAITED, len(PICTURE))
    with daemon.socket() as s:
        s.sendall(head(short, 50000) + bytes(2000))
        assert wait_until(lambda: left(daemon, short, "bytes_per_s") < -40000)
    assert wait_until(lambda: quota(daemon, short)["in_progress"] == 0)
    assert 1 - 2000 <= left(daemon, short, "bytes_per_s") < 1 - 2000 + WAITED


def test_pixels(limited):
    """Those of the image and of the result; a request that is refused before it runs costs none."""
    key = Key("small", 1, limits={"pixels_per_s": 10000, "pixels_max": 5000})
    daemon = limited(key)
    check_problem(daemon.post("/resize?width=100&enlarge=true", PICTURE, key.bearer), 422)
    check_problem(daemon.post("/resize?width=20", b"no picture", key.bearer), 415)
    assert left(daemon, key, "pixels_per_s") == 1
    assert daemon.post("/resize?width=20", PICTURE, key.bearer).status == 200
    expected = 1 - 40 * 30 - 20 * 15
    assert expected <= left(daemon, key, "pixels_per_s") < expected + WAITED
    check_over(daemon.post("/resize?width=20", PICTURE, key.bearer), key, "pixels_per_s", -expected - WAITED, -expected)


@needs("trim")
def test_pixels_that_trim_decides(limited):
    """The header leads to a result of 40 x 1, the run makes one of 40 x 40."""
    thin = np.full((4, 400, 3), 255, np.uint8)
    thin[:, 200:204] = 0
    key = Key("cut", 1, limits={"pixels_per_s": 10000})
    daemon = limited(key)
    steps = '[{"operation":"trim"},{"operation":"resize","params":{"width":40,"enlarge":true}}]'
    assert daemon.post(f"/pipeline?operations={steps}", pnm(thin), key.bearer).status == 200
    assert wait_until(lambda: quota(daemon, key)["in_progress"] == 0)
    expected = 1 - 400 * 4 - 40 * 40
    assert expected <= left(daemon, key, "pixels_per_s") < expected + WAITED


def test_several_images(limited):
    two = [{"name": name, "operations": [{"operation": "resize", "params": {"width": width}}]} for name, width in (("a", 20), ("b", 4))]
    key = Key("several", 1, limits={"pixels_per_s": 10000})
    daemon = limited(key)
    answer = daemon.post_form("/pipeline", [("image", PICTURE, "a.pnm"), ("outputs", json.dumps(two), None)], key.bearer)
    assert answer.status == 200, answer.body
    expected = 1 - 40 * 30 - 20 * 15 - 4 * 3
    assert expected <= left(daemon, key, "pixels_per_s") < expected + WAITED


@needs("carve")
def test_a_mask_counts(limited):
    key = Key("masked", 1, limits={"pixels_per_s": 10000})
    daemon = limited(key)
    answer = daemon.post_form("/carve?width=38", [("image", PICTURE, "a.pnm"), ("mask", pnm(noise(40, 30, seed=2)), "b.pnm")], key.bearer)
    assert answer.status == 200, answer.body
    expected = 1 - 2 * 40 * 30 - 38 * 30
    assert expected <= left(daemon, key, "pixels_per_s") < expected + WAITED


def test_device_time(limited):
    """It is settled with what the job took, which /metrics sums up, and not with what was predicted."""
    key = Key("timed", 1, limits={"device_ms_per_s": 1})
    daemon = limited(key)
    frozen = Frozen(daemon)
    frozen.send("127.0.0.1", "/resize?width=20", PICTURE, f"Authorization: Bearer {key.token}\r\n")
    predicted = left(daemon, key, "device_ms_per_s")
    assert predicted < 0
    assert frozen.end() == [200]
    assert wait_until(lambda: quota(daemon, key)["in_progress"] == 0)
    took = 1000 * daemon.samples()['burin_key_job_seconds_total{key="timed"}']
    settled = left(daemon, key, "device_ms_per_s")
    assert took > 0 and -took <= settled < -took + WAITED / 10000
    check_over(daemon.post("/resize?width=20", PICTURE, key.bearer), key, "device_ms_per_s", most=10 ** 9)


def test_what_never_ran_is_given_back(limited):
    """One key's jobs fill the queue, and its newest makes room for a key of the same address."""
    first, second = Key("first", 1, limits={"pixels_per_s": 10000}), Key("second", 2)
    daemon = limited(first, second, flags=("--lanes", "1", "--self-test-ms", "60000", "--queue-jobs", "4"))
    frozen, sockets = Frozen(daemon), [daemon.socket() for _ in range(6)]
    for s in sockets:  # all are let in before any is charged
        s.sendall(head(first, len(SMALL), "/threshold") + SMALL[:-1])
    assert wait_until(lambda: quota(daemon, first)["in_progress"] == 6)
    for i, s in enumerate(sockets):
        s.sendall(SMALL[-1:])
        assert wait_until(lambda: left(daemon, first, "pixels_per_s") < 1 - i * 128)
    assert daemon.metric("queue_depth") == 4
    frozen.send("127.0.0.1", "/threshold", SMALL, f"Authorization: Bearer {second.token}\r\n", slots=0)
    (status, _, body), = responses(read_to_end(sockets.pop()))
    assert status == 503 and "most of them yours" in json.loads(body)["message"]
    assert daemon.metric("queue_clients") == 2
    assert wait_until(lambda: quota(daemon, first)["in_progress"] == 5)
    assert 1 - 5 * 128 <= left(daemon, first, "pixels_per_s") < 1 - 5 * 128 + 128
    assert frozen.end() == [200]
    assert [responses(read_to_end(s))[0][0] for s in sockets] == 5 * [200]


# ---- in progress

def test_in_progress(limited):
    key = Key("slow", 1, limits={"in_progress": 2})
    daemon = limited(key)
    sockets = [daemon.socket() for _ in range(2)]
    for s in sockets:
        s.sendall(head(key, len(PICTURE)) + PICTURE[:100])
    assert wait_until(lambda: quota(daemon, key)["in_progress"] == 2)
    check_over(daemon.post("/info", PICTURE, key.bearer), key, "in_progress", 1, 1)
    assert quota(daemon, key)["limits"] == {"in_progress": {"most": 2, "left": 0, "full_after_s": 0}}
    sockets[0].sendall(PICTURE[100:])
    (status, headers, _), = responses(read_to_end(sockets[0]))
    assert status == 200 and fields(headers["ratelimit"]) == {"in_progress": {"r": 0}}
    assert fields(headers["ratelimit-policy"]) == {"in_progress": {"q": 2, "qu": "concurrent-requests"}}
    assert wait_until(lambda: quota(daemon, key)["in_progress"] == 1)
    assert daemon.post("/info", PICTURE, key.bearer).status == 200
    for s in sockets:  # one goes away in the middle of its body
        s.close()
    assert wait_until(lambda: quota(daemon, key)["in_progress"] == 0)


# ---- the file while the daemon serves

def test_a_reload_resets_nothing(limited):
    def key(burst):
        return Key("few", 1, limits={"requests_per_s": 1, "burst": burst})

    daemon = limited(key(3))

    def statuses(count):
        return [daemon.post("/info", PICTURE, key(3).bearer).status for _ in range(count)]

    assert statuses(4) == [200, 200, 200, 429]
    write_keys(daemon.keys, key(3))
    hang_up(daemon, "keys_file was read again")
    assert statuses(1) == [429]
    write_keys(daemon.keys, key(5), Key("other", 2))
    hang_up(daemon, "keys_file was read again")
    assert statuses(3) == [200, 200, 429]
    write_keys(daemon.keys, key(1))
    hang_up(daemon, "keys_file was read again")
    check_over(daemon.post("/info", PICTURE, key(1).bearer), key(1), "requests_per_s", 50000 - WAITED, 50000)


# ---- GET /quota

def test_quota_needs_a_key(limited):
    key = Key("shop-web", 1, may=["resize"], limits={"requests_per_s": 2, "burst": 7, "in_progress": 3})
    daemon = limited(key)
    for headers in ({}, {"Authorization": f"Bearer {key.token}x"}):
        answer = daemon.get("/quota", **headers)
        check_problem(answer, 401)
        assert answer.headers["WWW-Authenticate"].startswith("Bearer") and "RateLimit" not in answer.headers
    for _ in range(9):
        answer = daemon.get("/quota", **key.bearer)
        assert answer.json == {"key": "shop-web", "group": "shop-web", "in_progress": 0,
                               "limits": {"requests_per_s": {"most": 7, "left": 7, "full_after_s": 0},
                                          "in_progress": {"most": 3, "left": 3, "full_after_s": 0}}}
    assert fields(answer.headers["RateLimit"]) == {"requests_per_s": {"r": 7, "t": 0}, "in_progress": {"r": 3}}
    assert daemon.get(key.sign("/quota", method="GET")).json == answer.json
    assert daemon.request("HEAD", "/quota", None, key.bearer).status == 200
    check_problem(daemon.post("/quota", PICTURE, key.bearer), 405)


def test_quota_is_as_described(limited):
    import jsonschema
    key = Key("all", 1, limits={"requests_per_s": 5, "bytes_per_s": "20MiB", "pixels_per_s": "500M", "device_ms_per_s": 200, "in_progress": 16})
    daemon = limited(key)
    document = daemon.get("/openapi.json").json
    answer = daemon.get("/quota", **key.bearer)
    jsonschema.Draft202012Validator(document["components"]["schemas"]["Quota"]).validate(answer.json)
    assert list(answer.json["limits"]) == ["requests_per_s", "bytes_per_s", "pixels_per_s", "device_ms_per_s", "in_progress"]
    assert [row["most"] for row in answer.json["limits"].values()] == [1, 2097.152, 50000, 0.02, 16]
    assert "$ref" in document["paths"]["/resize"]["post"]["responses"]["429"]


def test_without_keys_there_is_no_quota(daemon):
    check_problem(daemon.get("/quota"), 404)


# ---- beside the queue

def test_a_full_server_is_no_quota(limited):
    """503, and nothing is charged."""
    key = Key("few", 1, limits={"requests_per_s": 1, "burst": 2})
    daemon = limited(key, flags=("--queue-bytes", "1000", "--body-bytes-max", "1500"))
    small = pnm(noise(40, 20))
    with daemon.socket() as s:
        s.sendall(head(key, 813) + bytes(400))
        assert wait_until(lambda: daemon.metric("body_bytes_held") > 300)
        for _ in range(3):
            answer = daemon.post("/info", small, key.bearer)
            check_problem(answer, 503)
            assert int(answer.headers["Retry-After"]) <= 30
    assert daemon.becomes_idle()
    assert [daemon.post("/info", small, key.bearer).status for _ in range(2)] == [200, 429]


def test_the_queue_goes_by_key_and_share(limited):
    """Two keys of one address: the later one's jobs come first for their greater share."""
    one, many = Key("one", 1), Key("many", 2, share=100)
    daemon = limited(one, many, flags=("--lanes", "1", "--self-test-ms", "60000"))
    frozen, body = Frozen(daemon), large_png(1500, 1500)  # each takes some 100 ms, so the log shows the order
    for key in 8 * [one] + 6 * [many]:
        frozen.send("127.0.0.1", LONGER_PATH, body, f"Authorization: Bearer {key.token}\r\n")
    assert daemon.metric("queue_clients") == 2
    assert frozen.end() == 14 * [200]

    def order():
        lines = [json.loads(line) for line in daemon.log_text().splitlines()]
        return [line["key"] for line in lines if line["event"] == "request" and line["method"] == "POST"]

    assert wait_until(lambda: len(order()) == 14)
    places = [i for i, key in enumerate(order()) if key == "many"]
    assert places[-1] <= 2 + 6, "two of the first key's were at the worker"
