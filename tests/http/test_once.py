# SPDX-License-Identifier: Apache-2.0
"""Signed addresses that serve one request, whatever else the server refuses meanwhile.

covers: server/access/once.c server/http/access.c server/access/judge.c"""
import hashlib
import random

import pytest

from conftest import Daemon, check_problem, in_parallel, needs, noise, pnm, responses, wait_until
from signing import Key, text_of, write_keys

pytestmark = needs("resize")
PICTURE = pnm(noise(40, 30))
SHOP = Key("shop-web", 21)
OTHER = Key("other", 22)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    daemon = Daemon("--keys-file", write_keys(tmp_path_factory.mktemp("keys") / "keys.json", SHOP, OTHER))
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


def once(number=0):
    return text_of(hashlib.sha256(f"{number} {random.random()}".encode()).digest()[:16])


def test_once(kept):
    address = SHOP.sign("/info", once=once())
    assert kept.post(address, PICTURE).status == 200
    for _ in range(2):
        check_problem(kept.post(address, PICTURE), 410, "only request")
    """Of the same number another key's, and another address: each key counts for itself, and a number once."""
    same = once()
    assert kept.post(SHOP.sign("/info", once=same), PICTURE).status == kept.post(OTHER.sign("/info", once=same), PICTURE).status == 200
    check_problem(kept.post(SHOP.sign("/resize", width=20, once=same), PICTURE), 410)
    """A head that is refused does not use it up; a body that is no image does."""
    address = SHOP.sign("/info", once=once(), body_max=1500)
    check_problem(kept.post(address, bytes(1501)), 413)
    check_problem(kept.post(address, b"no picture"), 415)
    check_problem(kept.post(address, PICTURE), 410)
    for wrong in ("", "short", "A" * 21, "A" * 23, "A" * 21 + "=", "A" * 21 + "B"):
        check_problem(kept.post(SHOP.sign("/info", once=wrong), PICTURE), 400, "once")


def test_once_is_remembered_for_a_day(kept):
    check_problem(kept.post(SHOP.sign("/info", seconds=86500, once=once()), PICTURE), 400, "a day")
    assert kept.post(SHOP.sign("/info", seconds=86300, once=once()), PICTURE).status == 200


def test_once_for_many_at_the_same_time(kept):
    address, found = SHOP.sign("/info", once=once()), []
    in_parallel(16, lambda i: found.append(kept.post(address, PICTURE).status))
    assert sorted(found) == [200] + [410] * 15


@pytest.fixture
def small_queue(start, tmp_path):
    return start("--keys-file", write_keys(tmp_path / "keys.json", SHOP), "--queue-bytes", "1000", "--body-bytes-max", "1500")


def send_head(daemon, address, body=b"", length=b"Content-Length: 813"):
    """A connection with a request whose BODY has come so far. Without one its head has been accepted: it has taken its address."""
    client = daemon.socket()
    head = b"POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s\r\n" % (address.encode(), length)
    client.sendall(head + (b"\r\n" + body if body else b"Expect: 100-continue\r\n\r\n"))
    assert body or client.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
    return client


def fill(daemon):
    client = send_head(daemon, SHOP.sign("/info"), bytes(400))
    assert wait_until(lambda: daemon.samples()["burin_body_bytes_held"] > 300)
    return client


def test_once_after_a_full_server(small_queue):
    """A request that has taken its address, and is refused then for lack of room, may come again."""
    address, small = SHOP.sign("/info", once=once()), pnm(noise(40, 20))
    taker = send_head(small_queue, address)
    check_problem(small_queue.post(address, small), 410, "only request")
    hold = fill(small_queue)
    taker.sendall(small)
    assert responses(taker.makefile("rb").read())[0][0] == 503
    taker.close()
    hold.close()
    assert small_queue.becomes_idle()
    assert small_queue.post(address, small).status == 200
    check_problem(small_queue.post(address, small), 410)


def test_once_after_a_full_server_that_still_reads(small_queue):
    """The refusal is sent while the body comes: the address may be used at once, not when that body has ended."""
    address, small = SHOP.sign("/info", once=once()), pnm(noise(40, 20))
    taker = send_head(small_queue, address, length=b"Transfer-Encoding: chunked")
    check_problem(small_queue.post(address, small), 410, "only request")
    hold = fill(small_queue)
    taker.sendall(b"32d\r\n" + small + b"\r\n")  # and no last chunk
    assert taker.recv(4096).startswith(b"HTTP/1.1 503")
    hold.close()
    assert wait_until(lambda: small_queue.samples()["burin_body_bytes_held"] == 0)
    assert small_queue.post(address, small).status == 200
    check_problem(small_queue.post(address, small), 410)
    taker.close()


def test_once_is_not_used_twice_by_way_of_a_full_server(small_queue):
    """A head that is refused for lack of room gives nothing back that an earlier request took."""
    address, small = SHOP.sign("/info", once=once()), pnm(noise(40, 20))
    assert small_queue.post(address, small).status == 200
    hold = fill(small_queue)
    check_problem(small_queue.post(address, small), 503)
    hold.close()
    assert small_queue.becomes_idle()
    check_problem(small_queue.post(address, small), 410, "only request")


def test_once_is_used_up_by_work_whose_answer_has_no_room(start, tmp_path):
    """The job ran, so the address has served, although its client gets a 503."""
    daemon = start("--keys-file", write_keys(tmp_path / "keys.json", SHOP), "--answer-bytes", "1")
    small = pnm(noise(40, 20))
    address = SHOP.sign("/resize", width=8, once=once())
    taker = send_head(daemon, address, small[:100])
    assert wait_until(lambda: daemon.samples()["burin_body_bytes_held"] == 100)
    reader = send_head(daemon, SHOP.sign("/resize", width=4000, enlarge="true", type="pnm"), small)
    assert wait_until(lambda: daemon.metric("answer_bytes_held") > 8000000)
    taker.sendall(small[100:])
    status, _, body = responses(taker.makefile("rb").read())[0]
    assert status == 503 and b"answer_bytes" in body
    taker.close()
    reader.close()
    assert daemon.becomes_idle()
    check_problem(daemon.post(address, small), 410, "only request")
