# SPDX-License-Identifier: Apache-2.0
"""More requests than the daemon can serve: each is refused at its head or waits in its socket, the connection goes on, and none
is lost. tests/http/pressure/goodput.py measures the cost.

covers: server/http/overload.c"""
import json
import os
import re
import select
import subprocess

import pytest

from conftest import check_problem, freeze, jpeg, noise, pnm, read_to_end, responses, smooth, thaw, wait_until

PICTURE = pnm(noise(32, 24))
FLAGS = ("--lanes", "1", "--queue-jobs", "2")
PROGRAMS = os.environ.get("BENCH_PROGRAMS", os.path.join(os.path.dirname(__file__), "../../build/cpu/tests/bench"))


def post(body, *headers, announced=None):
    return b"".join([b"POST /histeq HTTP/1.1\r\nHost: x\r\n", *headers,
                     b"Content-Length: %d\r\n\r\n" % (announced or len(body)), body])


def answer(s):
    """The next answer on a connection that stays open."""
    def some(most):
        got = s.recv(most)
        assert got, f"closed behind {data!r}"
        return got

    data = b""
    while not data.endswith(b"\r\n\r\n"):
        data += some(1)
    length = int(data.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while length > 0:
        data += (got := some(length))
        length -= len(got)
    (found,) = responses(data)
    return found


TRACE = b"0af7651916cd43dd8448eb211c80319c"
TRACED = b"traceparent: 00-" + TRACE + b"-b7ad6b7169203331-01\r\ntracestate: a=1\r\nTraceState: b=2\r\nX-Request-ID: a\r\n"


def check_same(short, long):
    """Two answers to a request with TRACED are the same but for their span, and the date that only the library adds."""
    assert short[0] == long[0] == 503 and json.loads(short[2]) == json.loads(long[2])
    assert "date" not in short[1], "it went the long way"
    spans = set()
    for _, headers, body in short, long:
        headers.pop("date", None)
        begin, span, end = re.fullmatch(r"(00-\w{32})-(\w{16})-(01)", headers.pop("traceparent")).groups()
        assert begin == "00-" + TRACE.decode() and headers["tracestate"] == "a=1,b=2"
        assert json.loads(body)["trace_id"] == TRACE.decode()
        spans.add(span)
    assert short[1] == long[1] and len(spans) == 2


def serves_again(daemon):
    """Waits until the daemon has noticed that clients left: their requests wait in their sockets before new ones."""
    return wait_until(lambda: daemon.post("/histeq", PICTURE).status == 200)


@pytest.fixture
def full(start, request):
    """A daemon whose worker stands still and whose queue is full; .fill: the connections that filled it. thaw() lets it go
    on. Parameter: further flags."""
    daemon = start(*FLAGS, *getattr(request, "param", ()))
    worker, = daemon.children()
    freeze(worker)
    daemon.fill, daemon.thaw = [], lambda: thaw(worker)
    try:
        for i in range(4):
            daemon.fill.append(daemon.socket())
            daemon.fill[-1].sendall(post(PICTURE))
            assert wait_until(lambda: daemon.metric("jobs_in_progress") + daemon.metric("queue_depth") == i + 1)
        yield daemon
    finally:
        thaw(worker)


def test_the_connection_goes_on(full):
    with full.socket() as s:
        for i in range(5):
            s.sendall(post(PICTURE, b"X-Request-ID: mine-%d\r\n" % i))
            status, headers, body = answer(s)
            problem = json.loads(body)
            assert status == 503 and "connection" not in headers and 1 <= int(headers["retry-after"]) <= 30
            assert headers["content-type"] == "application/problem+json" and headers["cache-control"] == "no-store"
            assert headers["x-request-id"] == problem["request_id"] == f"mine-{i}"
            assert problem["code"] == "busy" and problem["message"] == "2 jobs are waiting already; try again later"
            s.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answer(s)[0] == 200
        s.sendall(post(PICTURE, b"X-Request-ID: not harmless\r\n"))
        assert answer(s)[1]["x-request-id"] != "not harmless"
        assert full.samples()['burin_rejected_total{reason="queue"}'] == 6
        assert full.samples()['burin_requests_total{op="histeq",code="503"}'] == 6
        full.thaw()
        assert [answer(c)[0] for c in full.fill] == [200] * 4
        s.sendall(post(PICTURE))
        assert answer(s)[0] == 200
    assert full.becomes_idle()


def test_it_is_the_refusal_that_others_get(full):
    """Word for word the answer to a request with an unusual head, which the cheap check leaves to the full path."""
    with full.socket() as s:
        s.sendall(post(PICTURE, TRACED))
        short = answer(s)
    with full.socket() as s:
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\n%sTransfer-Encoding: chunked\r\n\r\n"
                  b"%x\r\n%s\r\n0\r\n\r\n" % (TRACED, len(PICTURE), PICTURE))
        long = answer(s)
    assert "date" in long[1]
    check_same(short, long)


LONGEST = "https://" + "a" * (1023 - len("https://"))


@pytest.mark.parametrize("full", [("--cors-origins", "https://a.example,http://b:8080"), ("--cors-origins", "*"),
                                  ("--cors-origins", LONGEST)], ids=["listed", "anyone", "the longest"], indirect=True)
def test_pages_of_other_sites_get_it_too(full):
    """Their refusal is as cheap and has the same words, whatever the Origin; only the library would add a date."""
    for origins in ([], [b"http://b:8080"], [b"https://evil.example"], [b"http://b:8080"] * 2, [b"a" * 1500], [LONGEST.encode()]):
        lines = b"".join(b"oRigin: %s \r\n" % origin for origin in origins) + TRACED
        with full.socket() as s:
            s.sendall(post(PICTURE, lines))
            short = answer(s)
            s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\n%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
                      % (lines, len(PICTURE), PICTURE))
            long = answer(s)
        check_same(short, long)


def test_what_asks_for_no_work_is_answered(full):
    """Such a request is answered though it has a body; HEAD gets a head alone."""
    with full.socket() as s:
        s.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde")
        assert answer(s)[0] == 200
        s.sendall(b"HEAD /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nabcde")
        head = read_to_end(s)
        assert head.startswith(b"HTTP/1.1 200 ") and head.endswith(b"\r\n\r\n")


def test_it_comes_before_the_body(full):
    """The rest of the body is dropped, and gets no answer of its own."""
    body = bytes(300000)
    with full.socket() as s:
        s.sendall(post(body[:1000], announced=len(body)))
        assert answer(s)[0] == 503
        s.sendall(body[1000:-1])
        assert not select.select([s], [], [], 0.2)[0]
        s.sendall(body[-1:] + b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        status, _, body_of_livez = answer(s)
        assert status == 200 and json.loads(body_of_livez) == {"status": "live"}


@pytest.mark.parametrize("how", [b"Connection: close\r\n", b"connection: Close\r\n", b"Connection: x\r\n"])
def test_who_wants_it_closed_gets_it_closed(full, how):
    (status, headers, _), = responses(full.raw(post(PICTURE, how)))
    assert status == 503 and headers["connection"] == "close"


def test_pipelined(full):
    """Each gets an answer of its own, in order; so do probes in between."""
    data = b"".join(post(PICTURE, b"X-Request-ID: %d\r\n" % i) + b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" for i in range(5))
    found = responses(full.raw(data + post(PICTURE, b"Connection: close\r\n")))
    assert [status for status, _, _ in found] == [503, 200] * 5 + [503]
    assert [headers["x-request-id"] for _, headers, _ in found[:10:2]] == [str(i) for i in range(5)]


def test_who_waits_and_leaves_is_forgotten(full):
    """Many clients send much at once, are refused or wait, and leave before or after there is room: nothing stays held."""
    clients = [full.socket() for _ in range(20)]
    for c in clients:
        c.sendall(post(PICTURE) * 20)
    for c in clients[::2]:
        c.close()
    full.thaw()
    for c in clients[1::2]:
        assert answer(c)[0] in (200, 503)
        c.close()
    assert [answer(c)[0] for c in full.fill] == [200] * 4
    assert full.becomes_idle() and serves_again(full)


def press(daemon, folder, connections, *flags, seconds=0.3):
    """The outcome of each request."""
    picture = folder / "a.jpg"
    picture.write_bytes(jpeg(smooth(320, 240)))
    run = subprocess.run([f"{PROGRAMS}/overload", "--port", str(daemon.port), "--connections", str(connections), "--warm", "0.1",
                          "--seconds", str(seconds), *flags, picture], stdout=subprocess.PIPE, check=True, timeout=60)
    return json.loads(run.stdout.splitlines()[-1])


def test_one_client_for_whom_there_is_room(start, tmp_path):
    """128 connections of one address, as behind a proxy, and a queue of 256: no request is refused, however many threads let
    requests in at once."""
    daemon = start("--io-threads", "8", "--lanes", "16", "--slots", "436")
    found = press(daemon, tmp_path, 128, seconds=1)
    assert found["good"]["count"] > 0 and found["refused"]["count"] == 0, found
    assert found["other"] == found["wrong"] == found["broken"] == 0, found


@pytest.mark.parametrize("flags", [(), ("--fresh",), ("--rate", "20000")], ids=["closed loop", "fresh", "open loop"])
def test_overload(start, tmp_path, flags):
    """64 connections and a queue of two: every request gets a good answer or a refusal."""
    daemon = start(*FLAGS, "--refusals-percent", "1")
    for seconds in (0.5, 2, 8):  # a busy machine may answer none in half a second
        found = press(daemon, tmp_path, 64, *flags, seconds=seconds)
        if found["good"]["count"] and found["livez"]["count"]:
            break
    assert found["good"]["count"] > 0 and found["other"] == found["wrong"] == found["broken"] == 0, found
    assert found["livez"]["count"] > 0 and found["livez_failed"] == 0
    assert daemon.becomes_idle()
    assert serves_again(daemon)
    check_problem(daemon.post("/histeq?bins=1", PICTURE), 400)
