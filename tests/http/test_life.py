# SPDX-License-Identifier: Apache-2.0
"""The daemon through its life: workers that die, queues that fill, deadlines, thousands of requests, and the end. Every answer
is right and whole, or there is none.

covers: server/http/drain.c server/http/engine/listener.c
covers: server/cli/command_serve.c server/process/process.c
"""
import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from conftest import (BURIN, HOUR_MS, LONG, LONGER_PATH, PATIENCE_S, SHARED_SLOTS, alive, check_problem, cpu_seconds, freeze, in_parallel, jpeg,
                      large_png, memory, noise, png, pnm, read_to_end, responses, smooth, thaw, wait_until)

PICTURE = pnm(noise(32, 24))
MB = 1 << 20


@pytest.fixture(scope="module")
def long_job():
    return large_png(8000, 8000)


def post(path, body):
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body)


class Background:
    """A request in progress; .answer() waits for its outcome."""

    def __init__(self, daemon, path, body):
        self.sock = daemon.socket(600)
        self.sock.sendall(post(path, body))

    def answer(self, timeout=600):
        try:
            found, = responses(read_to_end(self.sock, timeout))
            return found
        finally:
            self.sock.close()


class Load:
    """Clients that send one request after the other until they are stopped, and note every outcome."""

    def __init__(self, daemon, count, pictures):
        self.daemon, self.pictures = daemon, pictures
        self.stop, self.statuses, self.broken, self.unanswered = threading.Event(), [], [], 0
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, i):
        connection = self.daemon.connect(60)
        while not self.stop.is_set():
            i += 1
            try:
                connection.request("POST", "/histeq", self.pictures[i % len(self.pictures)])
                response = connection.getresponse()
            except (OSError, http.client.RemoteDisconnected):
                self.unanswered += 1  # not a byte of an answer
                return
            try:
                body = response.read()
                assert len(body) == int(response.headers["Content-Length"])
                self.statuses.append(response.status)
            except (OSError, http.client.HTTPException, AssertionError) as error:
                self.broken.append(repr(error))
                return
            if response.status == 503:
                return
        connection.close()

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def pictures():
    return [jpeg(smooth(160, 120)), png(smooth(100, 75)), pnm(noise(300, 200, 3)), pnm(noise(31, 17, depth=16)),
            jpeg(smooth(320, 240), progressive=True)]


# ---- workers that die

def test_workers_killed_under_load(start):
    """The worker is killed again and again; clients notice nothing."""
    daemon = start()
    load = Load(daemon, 8, pictures())
    kills = 8 if LONG else 3
    for _ in range(kills):
        worker, = daemon.children()
        os.kill(worker, signal.SIGKILL)
        assert wait_until(lambda: daemon.children() not in ([worker], []) and daemon.ready())
        answered = len(load.statuses)
        assert wait_until(lambda: len(load.statuses) > answered + 24)
    load.end()
    assert not load.broken and not load.unanswered and set(load.statuses) == {200}, \
        (load.broken, load.unanswered, set(load.statuses))
    facts = daemon.get("/readyz").json["workers"][0]
    assert facts["healthy"] and facts["restarts"] == kills == daemon.metric("worker_restarts_total")
    assert daemon.becomes_idle()
    assert daemon.works()


def test_worker_killed_while_idle(start):
    daemon = start()
    worker, = daemon.children()
    os.kill(worker, signal.SIGKILL)
    assert daemon.works()
    assert daemon.children() != [worker] and not alive(worker)
    assert daemon.metric("worker_restarts_total") == 1


def kill_worker_at_work(daemon, known=()):
    """Waits until a worker that is not in KNOWN has used a tenth of a second of processor time, and kills it."""
    found = []

    def at_work():
        found[:] = [pid for pid in daemon.children() if pid not in known and alive(pid) and cpu_seconds(pid) > 0.15]
        return bool(found)

    assert wait_until(at_work, 30)
    freeze(found[0])
    assert daemon.metric("jobs_in_progress") > 0, "it was done before"
    os.kill(found[0], signal.SIGKILL)
    return found[0]


def test_job_that_kills_its_worker_twice(start, long_job):
    """Such a job is tried again once, alone, and not a third time; other jobs of those workers are served."""
    daemon = start("--lanes", "2")
    suspect = Background(daemon, LONGER_PATH, long_job)
    load = Load(daemon, 3, [PICTURE])
    first = kill_worker_at_work(daemon)
    assert wait_until(lambda: daemon.metric("worker_restarts_total") == 1)
    second = kill_worker_at_work(daemon, [first])
    status, headers, body = suspect.answer()
    assert status == 500 and b"two workers died" in body, body
    assert headers["content-type"] == "application/problem+json"
    load.end()
    assert not load.broken and not load.unanswered and set(load.statuses) == {200}
    assert daemon.becomes_idle(), "it is being tried once more"
    third, = daemon.children()
    assert third not in (first, second)
    assert daemon.metric("worker_restarts_total") == 2
    assert daemon.ready() and daemon.works()


def test_job_whose_worker_dies_once(start):
    """The next worker does the job, and the client notices nothing."""
    daemon = start("--lanes", "1")
    job = Background(daemon, LONGER_PATH, large_png(4000, 4000))
    kill_worker_at_work(daemon)
    status, _, body = job.answer()
    assert status == 200 and len(body) > 16000000
    assert daemon.becomes_idle()


def test_client_that_leaves_a_dead_worker(start, long_job):
    """The worker dies and the client leaves: the job is not tried again."""
    daemon = start("--lanes", "1")
    worker, = daemon.children()
    used = cpu_seconds(worker)
    job = Background(daemon, LONGER_PATH, long_job)
    assert wait_until(lambda: cpu_seconds(worker) > used + 0.1)
    freeze(worker)
    assert daemon.metric("jobs_in_progress") == 1
    job.sock.close()
    assert wait_until(lambda: daemon.samples()['burin_connections_ended_total{reason="left"}'] == 1)
    os.kill(worker, signal.SIGKILL)
    assert daemon.becomes_idle()
    assert daemon.works()
    successor, = daemon.children()
    assert successor != worker and cpu_seconds(successor) < 1, "it was done again"


def test_workers_do_not_outlive_the_front(start):
    daemon = start()
    workers = daemon.children()
    daemon.process.kill()
    daemon.process.wait()
    assert workers and wait_until(lambda: not any(alive(pid) for pid in workers))


# ---- no room

def test_full_queue(start):
    """Two jobs are at the worker, two wait: the fifth is refused while the worker stands still, and everything goes on
    afterwards."""
    daemon = start("--lanes", "1", "--queue-jobs", "2")
    worker, = daemon.children()
    freeze(worker)
    try:
        jobs = []
        for i in range(4):
            jobs.append(Background(daemon, "/histeq", PICTURE))
            assert wait_until(lambda: daemon.metric("jobs_in_progress") + daemon.metric("queue_depth") == i + 1)
        assert daemon.get("/readyz").status == 503 and daemon.get("/readyz").json["status"] == "queue full"
        assert daemon.get("/livez").status == 200
        # A full daemon is not ill: a supervisor must not restart it.
        health = [BURIN, "health", "--url", f"http://127.0.0.1:{daemon.port}"]
        assert subprocess.run(health, capture_output=True, timeout=60).returncode == 1
        assert subprocess.run([*health, "--live"], capture_output=True, timeout=60).returncode == 0
        for _ in range(10):
            answer = daemon.post("/histeq", PICTURE)
            check_problem(answer, 503, "waiting")
            assert 1 <= int(answer.headers["Retry-After"]) <= 30
        assert daemon.samples()['burin_rejected_total{reason="queue"}'] == 10
    finally:
        thaw(worker)
    assert [job.answer()[0] for job in jobs] == [200] * 4
    assert daemon.becomes_idle() and daemon.ready()
    assert daemon.works()


def test_no_slot_left(start):
    """Refused at the headers: nothing of a large body is read."""
    daemon = start("--lanes", "1", "--slots", "3")
    worker, = daemon.children()
    freeze(worker)
    try:
        jobs = [Background(daemon, "/histeq", PICTURE) for _ in range(3)]
        assert wait_until(lambda: daemon.metric("slots_in_use") == 3)
        for size in (10 * MB, 60 * MB):
            head = b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size
            (status, headers, body), = responses(daemon.raw(head))
            assert status == 503 and b"being served" in body and headers["connection"] == "close"
            assert 1 <= int(headers["retry-after"]) <= 30
        check_problem(daemon.post("/histeq", PICTURE), 503, "being served")
        assert daemon.samples()['burin_rejected_total{reason="slots"}'] == 3
    finally:
        thaw(worker)
    assert [job.answer()[0] for job in jobs] == [200] * 3
    assert daemon.becomes_idle()
    assert daemon.works()


def test_same_advice_whatever_the_size(start):
    """Retry-After depends on how long jobs take, not on the code that refuses."""
    daemon = start("--lanes", "1", "--slots", "1")
    worker, = daemon.children()
    used = cpu_seconds(worker)
    job = Background(daemon, LONGER_PATH, large_png(4000, 4000))
    assert wait_until(lambda: cpu_seconds(worker) > used + 0.05)
    freeze(worker)
    time.sleep(2.5)  # a job that stands still for so long sets how long jobs take
    thaw(worker)
    assert job.answer()[0] == 200 and daemon.becomes_idle()
    freeze(worker)
    try:
        job = Background(daemon, "/histeq", PICTURE)
        assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1)
        small = daemon.post("/histeq", PICTURE)
        assert small.status == 503 and int(small.headers["Retry-After"]) > 1
        for framing in (b"Content-Length: 60000000", b"Transfer-Encoding: chunked"):
            (status, headers, _), = responses(daemon.raw(b"POST /histeq HTTP/1.1\r\nHost: x\r\n" + framing
                                                         + b"\r\n\r\n"))
            assert status == 503 and headers["retry-after"] == small.headers["Retry-After"]
    finally:
        thaw(worker)
    assert job.answer()[0] == 200


@pytest.mark.parametrize("framing", [b"Content-Length: 1000", b"Transfer-Encoding: chunked",
                                     b"Content-Length: 1000\r\nContent-Type: multipart/form-data; boundary=x"],
                         ids=["length", "chunked", "form"])
def test_silent_clients_take_no_slot(start, framing):
    """Far more silent clients than slots, each within body_ms: all others are served at once, and so are they once they send."""
    daemon = start("--slots", "4", "--body-ms", HOUR_MS)
    silent, asks = [daemon.socket() for _ in range(30)], daemon.connect()
    for s in silent:
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + framing + b"\r\n\r\n")
    assert wait_until(lambda: daemon.samples(asks)["burin_requests_in_progress"] == 31), daemon.samples(asks)
    assert daemon.metric("slots_in_use") == 0
    for _ in range(5):
        assert daemon.works()
    # The request before, answered on another thread, may not have ended yet.
    assert wait_until(lambda: daemon.samples(asks)["burin_requests_in_progress"] == 31), "they were sent away: nothing is tested"
    asks.close()
    assert daemon.samples()['burin_rejected_total{reason="slots"}'] == 0
    for s in silent:
        s.close()
    assert daemon.becomes_idle()


def test_slots_run_out_in_mid_body(start):
    """A client whose body continues when the last slot is taken gets the refusal, and its connection can be used again."""
    daemon = start("--slots", "1")
    with begun(daemon, len(PICTURE)) as first, daemon.socket() as second:
        second.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(PICTURE))
        assert wait_until(lambda: daemon.metric("requests_in_progress") == 3)
        first.sendall(PICTURE[:-1])
        assert wait_until(lambda: daemon.metric("slots_in_use") == 1)
        second.sendall(PICTURE)
        refusal = second.recv(1 << 16)
        assert refusal.startswith(b"HTTP/1.1 503") and b"being served" in refusal and b"Retry-After" in refusal
        assert daemon.metric("body_bytes_held") == len(PICTURE) - 1, "the refused one holds nothing"
        first.sendall(PICTURE[-1:])
        (status, _, _), = responses(read_to_end(first))
        assert status == 200
        assert wait_until(lambda: daemon.metric("slots_in_use") == 0)
        second.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                       % len(PICTURE) + PICTURE)
        (status, _, _), = responses(read_to_end(second))
        assert status == 200
    assert daemon.becomes_idle()


@pytest.mark.parametrize("flags,word", [(["--slots", "1"],
                                         b"being served"), (["--queue-bytes", "4MiB"], b"queue_bytes")],
                         ids=["slots", "bytes"])
def test_no_room_in_mid_body_is_answered_at_once(start, flags, word):
    """A client far from the end of its body gets the refusal at once, whether it goes on sending or not."""
    daemon = start(*flags)
    with begun(daemon, 3 * MB) as first, begun(daemon, 3 * MB + 1) as second:
        assert wait_until(lambda: daemon.metric("requests_in_progress") == 3)
        first.sendall(bytes(3 * MB - 1))
        assert wait_until(lambda: daemon.metric("body_bytes_held") == 3 * MB - 1)
        second.sendall(bytes(3 * MB // 2))
        (status, headers, refusal), = responses(read_to_end(second))
        assert status == 503 and word in refusal and headers["connection"] == "close" and int(headers["retry-after"]) >= 1
        assert daemon.metric("body_bytes_held") == 3 * MB - 1
    assert daemon.becomes_idle()


def begun(daemon, announced, body=b""):
    """An upload of ANNOUNCED bytes of which BODY has been sent."""
    s = daemon.socket()
    s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % announced + body)
    return s


def test_too_many_bytes_held(start):
    daemon = start("--queue-bytes", "3MiB")
    with begun(daemon, 2000000, bytes(1900000)):
        assert wait_until(lambda: daemon.metric("body_bytes_held") == 1900000)
        with begun(daemon, 1500000) as t:
            (status, headers, body), = responses(read_to_end(t))
        assert status == 503 and b"queue_bytes" in body and int(headers["retry-after"]) >= 1
        assert daemon.works(), "a small one still has room"
    assert daemon.becomes_idle()
    assert daemon.samples()['burin_rejected_total{reason="bytes"}'] == 1


def test_announced_bytes_keep_nobody_out(start):
    """More bytes are announced than may be held, and none arrives: all others are served."""
    daemon = start()
    announced = [begun(daemon, 64 * MB, bytes(10)) for _ in range(12)]
    assert wait_until(lambda: daemon.metric("slots_in_use") == 12)
    assert daemon.metric("body_bytes_held") == 120
    body = pnm(noise(2000, 1500))
    assert daemon.post("/histeq", body).status == 200 and daemon.works()
    for s in announced:
        s.close()
    assert daemon.becomes_idle()


def test_bytes_that_come_are_held_within_bounds(start):
    """Two uploads fit alone and not together: the later one is refused in mid-body, the first is not."""
    daemon = start("--queue-bytes", "1MiB")
    body = pnm(noise(1000, 700))
    with begun(daemon, len(body)) as first, begun(daemon, len(body)) as second:
        assert wait_until(lambda: daemon.metric("requests_in_progress") == 3)
        first.sendall(body[:-1])
        assert wait_until(lambda: daemon.metric("body_bytes_held") == len(body) - 1)
        second.sendall(body)
        (status, _, refusal), = responses(read_to_end(second))
        assert status == 503 and b"queue_bytes" in refusal
        assert daemon.metric("body_bytes_held") == len(body) - 1
        first.sendall(body[-1:])
        (status, _, answer), = responses(read_to_end(first))
        assert status == 200 and len(answer) == len(body)
    assert daemon.becomes_idle()


@pytest.mark.parametrize("framing", [b"Content-Length: 2000000\r\n\r\n",
                                     b"Transfer-Encoding: chunked\r\n\r\n1e8480\r\n" + bytes(1200000)],
                         ids=["length", "chunked"])
def test_refused_upload_holds_nothing(start, framing):
    """Its client has the answer and stays in mid-body: others must not be refused because of it."""
    daemon = start("--queue-bytes", "1MiB", "--keep-alive-ms", HOUR_MS, "--slots", "1")

    def stays_alone():
        """Only this client's request and the asking one count. A client can have its answer a moment before the slot that it is sent
        from is free, and the request is counted a moment before that."""
        now = daemon.samples()
        return (now['burin_rejected_total{reason="bytes"}'] == 1 and now["burin_requests_in_progress"] == 2
                and now["burin_body_bytes_held"] == now["burin_slots_in_use"] == 0)

    with daemon.socket() as s:
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\n" + framing)
        assert wait_until(stays_alone), daemon.samples()
        for _ in range(2):
            assert daemon.works()
            assert wait_until(stays_alone), daemon.samples()
    assert daemon.becomes_idle()


def test_more_connections_than_allowed(start):
    """Connections beyond the limit wait in the system's backlog until others end, and are then served."""
    daemon = start("--connections-max", "16")
    idle = [daemon.socket() for _ in range(10)]

    def ask(i):
        answer = daemon.post("/histeq", PICTURE, {"Connection": "close"})
        assert answer.status == 200

    asking = threading.Thread(target=in_parallel, args=(40, ask))
    asking.start()
    time.sleep(0.2)
    for s in idle:
        s.close()
    asking.join(120)
    assert not asking.is_alive()
    assert daemon.works()


def test_nobody_is_forgotten_at_the_limit(start):
    """At the limit the daemon does not accept; it accepts again as soon as one connection has ended."""
    daemon = start("--io-threads", "1", "--connections-max", "2")

    def ask(i):
        path = "/histeq" if i % 3 else "/grayscale"
        assert daemon.post(path, pnm(noise(2, 2)), {"Connection": "close"}).status == 200

    in_parallel(120, ask)
    assert daemon.becomes_idle()


@pytest.mark.parametrize("threads,most", [(2, 2), (4, 7), (3, 3)])
def test_as_many_connections_as_allowed(start, threads, most):
    """The limit is the same for any number of threads: MOST are served at once, and the next once one has left."""
    daemon = start("--io-threads", str(threads), "--connections-max", str(most))
    everybody = [daemon.connect() for _ in range(most)]
    for connection in everybody:
        connection.request("GET", "/livez")
        assert connection.getresponse().read()
    with daemon.socket(0.5) as one_more:
        one_more.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        with pytest.raises(socket.timeout):
            one_more.recv(100)
        everybody.pop().close()
        assert read_to_end(one_more).startswith(b"HTTP/1.1 200 ")
    for connection in everybody:
        connection.close()
    assert daemon.works()


def test_many_idle_connections_do_not_matter(daemon):
    idle = [daemon.socket() for _ in range(300)]
    for s in idle[:100]:
        s.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    for _ in range(20):
        assert daemon.works()
    for s in idle:
        s.close()
    assert daemon.becomes_idle()


# ---- deadlines

def test_deadline_while_it_runs(start, long_job):
    daemon = start("--processing-ms", "500", "--refuse-times", "0")
    workers = daemon.children()
    begin = time.monotonic()
    answer = daemon.post(LONGER_PATH, long_job, timeout=600)
    assert time.monotonic() - begin > 0.5
    check_problem(answer, 504, "time")
    assert daemon.becomes_idle()
    assert daemon.children() == workers, "it stopped by itself, there was no need to end the worker"
    assert daemon.works()


def test_what_is_predicted_to_be_late_is_refused_at_once(start, long_job):
    """422 where the job alone would be late, 503 where jobs ahead of it make it late."""
    daemon = start("--processing-ms", "200")
    worker, = daemon.children()
    used = cpu_seconds(worker)
    check_problem(daemon.post(LONGER_PATH, long_job), 422, "predicted to take", "only 0.2 s are allowed (processing_ms)")
    assert daemon.samples()['burin_rejected_total{reason="time"}'] >= 1
    assert cpu_seconds(worker) - used < 0.1, "nothing was decoded"
    assert daemon.works()
    daemon = start("--lanes", "1", "--processing-ms", "1500")  # it is predicted to take 0.7 s by default rates
    jobs = [Background(daemon, LONGER_PATH, long_job) for _ in range(2)]
    assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1 and daemon.metric("queue_depth") == 1)
    answer = daemon.post(LONGER_PATH, long_job)
    check_problem(answer, 503, "predicted to be done in", "s in the queue", "left for it")
    assert int(answer.headers["Retry-After"]) >= 1
    assert daemon.works(), "a short one is not"
    assert all(job.answer()[0] in (200, 504) for job in jobs)
    assert daemon.becomes_idle()


def test_deadline_in_the_queue(start, long_job):
    """A job waits behind one that takes longer than jobs may wait."""
    daemon = start("--lanes", "1", "--processing-ms", "4000")
    worker, = daemon.children()
    freeze(worker)
    try:
        begin = time.monotonic()
        jobs = [Background(daemon, "/histeq", PICTURE) for _ in range(5)]
        assert wait_until(lambda: daemon.metric("queue_depth") == 3)
        assert wait_until(lambda: daemon.metric("queue_depth") == 0), "still waiting after their time"
        assert time.monotonic() - begin > 4
    finally:
        if alive(worker):
            thaw(worker)
    statuses = [job.answer()[0] for job in jobs]
    assert statuses[2:] == [504] * 3 and set(statuses) <= {200, 504}
    assert daemon.becomes_idle()
    assert daemon.works()


@pytest.mark.parametrize("begun", [True, False], ids=["in a job", "before it looks at the job"])
def test_worker_that_hangs(start, long_job, begun):
    """A worker that never answers is replaced after twice the allowed time, and its job gets 504."""
    daemon = start("--lanes", "1", "--processing-ms", "2000", "--self-test-ms", HOUR_MS)
    worker, = daemon.children()
    if begun:
        late = True
        while late:  # on a busy machine the job's time may end before the worker is frozen
            used, began = cpu_seconds(worker), time.monotonic()
            job = Background(daemon, LONGER_PATH, long_job)
            assert wait_until(lambda: cpu_seconds(worker) > used + 0.05)
            freeze(worker)
            late = time.monotonic() - began > 1.9
            if late:
                thaw(worker)
                job.answer()
    else:
        freeze(worker)
        job = Background(daemon, "/histeq", PICTURE)
    try:
        status, _, body = job.answer()
        assert status == 504, body
        assert wait_until(lambda: daemon.children() not in ([worker], []))
    finally:
        if alive(worker):
            os.kill(worker, signal.SIGKILL)
    assert wait_until(daemon.ready)
    assert daemon.becomes_idle()
    assert daemon.works()


# ---- the end

def check_gone(daemon, workers, code=0):
    assert daemon.process.returncode == code, daemon.log_text()[-2000:]
    assert wait_until(lambda: not any(alive(pid) for pid in workers)), "a worker is left over"


def test_sigterm_under_load(start):
    """Begun answers are whole, accepted requests are answered, later ones get 503."""
    for _ in range(6 if LONG else 1):
        daemon = start()
        workers = daemon.children()
        load = Load(daemon, 16, pictures())
        assert wait_until(lambda: len(load.statuses) > 100)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.wait(60)
        load.end()
        assert not load.broken, load.broken
        assert set(load.statuses) <= {200, 503}
        assert not load.unanswered, "each client got an answer before its connection was closed"
        check_gone(daemon, workers)
        log = daemon.log_text()
        assert '"status":499' not in log, "a request that was accepted got no answer"
        assert log.count('"event":"request"') == len(load.statuses)


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_end_of_an_idle_daemon(start, which):
    """Idle connections do not delay the end, though they may stay for an hour."""
    daemon = start("--header-ms", HOUR_MS, "--keep-alive-ms", HOUR_MS)
    workers = daemon.children()
    idle = [daemon.socket() for _ in range(3)]
    kept = daemon.connect()
    kept.request("GET", "/livez")
    kept.getresponse().read()
    daemon.process.send_signal(which)
    daemon.process.wait(60)
    check_gone(daemon, workers)
    for s in idle:
        s.close()
    kept.close()


def test_drain_finishes_what_was_accepted(start):
    """A running job, a waiting one and one whose upload is incomplete are all served. New ones are refused."""
    daemon = start("--lanes", "1")
    workers = daemon.children()
    slow = daemon.socket()
    data = post("/histeq", PICTURE)
    slow.sendall(data[:len(data) // 2])
    kept = daemon.connect()
    kept.request("GET", "/livez")
    kept.getresponse().read()
    freeze(workers[0])
    running = [Background(daemon, "/histeq", PICTURE) for _ in range(2)]  # a worker has two at once
    assert wait_until(lambda: daemon.metric("jobs_in_progress") == 2)
    waiting = Background(daemon, "/histeq", PICTURE)
    assert wait_until(lambda: daemon.metric("queue_depth") == 1 and daemon.metric("slots_in_use") == 4)
    daemon.process.send_signal(signal.SIGTERM)
    assert wait_until(lambda: daemon.get("/readyz").status == 503)
    assert daemon.get("/readyz").json["status"] == "draining"
    assert daemon.get("/livez").status == 200
    refused = daemon.post("/histeq", PICTURE)
    check_problem(refused, 503, "stopping")
    assert refused.headers["Connection"] == "close" and int(refused.headers["Retry-After"]) >= 1
    kept.request("POST", "/histeq", PICTURE)
    response = kept.getresponse()
    assert response.status == 503 and response.headers["Connection"] == "close"
    response.read()
    thaw(workers[0])
    slow.sendall(data[len(data) // 2:])
    (status, _, _), = responses(read_to_end(slow))
    assert status == 200
    assert [job.answer()[0] for job in (*running, waiting)] == [200] * 3
    daemon.process.wait(60)
    check_gone(daemon, workers)
    slow.close()


def ask_until_refused_connection(daemon, keep, answers, cut):
    """Sends the next request at once after every answer. Notes each request that had a connection."""
    connection = daemon.connect()
    while True:
        try:
            if connection.sock is None:
                connection.connect()
        except ConnectionRefusedError:
            return
        try:
            connection.request("POST", "/histeq", PICTURE)
            response = connection.getresponse()
            assert len(response.read()) == int(response.headers["Content-Length"])
            assert response.status == 200 or response.headers["Connection"] == "close"
            answers.append(response.status)
        except (OSError, http.client.HTTPException, AssertionError) as error:
            cut.append(repr(error))
            connection.close()
        if not keep:
            connection.close()


@pytest.mark.parametrize("keep", [True, False], ids=["kept connections", "new connections"])
def test_drain_under_clients_that_retry(start, keep):
    """Clients that ignore Retry-After do not delay the end, and each of their requests gets a whole answer."""
    for _ in range(6 if LONG else 1):
        daemon = start()
        workers, answers, cut = daemon.children(), [], []
        asking = threading.Thread(target=in_parallel, args=(
            8, lambda i: ask_until_refused_connection(daemon, keep, answers, cut)))
        asking.start()
        assert wait_until(lambda: len(answers) > 50)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.wait(60)
        check_gone(daemon, workers)
        asking.join(30)
        assert not cut, cut
        assert set(answers) == {200, 503} and answers.count(503) > 8
        log = daemon.log_text()
        assert '"status":499' not in log and log.count('"event":"request"') == len(answers)


def test_drain_waits_for_accepted_work_among_clients_that_retry(start):
    """Accepted work is finished, though many requests are refused before it begins."""
    daemon = start()
    answers, cut = [], []
    worker, = daemon.children()
    freeze(worker)
    job = Background(daemon, "/histeq", PICTURE)
    assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1)
    daemon.process.send_signal(signal.SIGTERM)
    asking = threading.Thread(target=in_parallel, args=(
        4, lambda i: ask_until_refused_connection(daemon, False, answers, cut)))
    asking.start()
    assert wait_until(lambda: answers.count(503) > 20 or cut) and daemon.process.poll() is None
    thaw(worker)
    status, _, body = job.answer()
    assert status == 200 and len(body) == len(PICTURE)
    daemon.process.wait(60)
    check_gone(daemon, [worker])
    asking.join(60)
    assert not cut, cut


def test_drain_delay(start):
    """Balancers see that the daemon is no longer ready while it still serves requests."""
    daemon = start("--drain-delay-ms", "4000")
    begin = time.monotonic()
    daemon.process.send_signal(signal.SIGTERM)
    assert wait_until(lambda: daemon.get("/readyz").status == 503)
    assert daemon.works()
    daemon.process.wait(60)
    assert time.monotonic() - begin > 3.9
    check_gone(daemon, [])


def test_second_signal_ends_at_once(start):
    """The daemon does not wait for the drain's time or the job's."""
    daemon = start("--self-test-ms", HOUR_MS)
    worker, = daemon.children()
    freeze(worker)  # so that no job would ever end
    job = Background(daemon, "/histeq", PICTURE)
    assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1)
    daemon.process.send_signal(signal.SIGTERM)
    assert wait_until(lambda: daemon.get("/readyz").status == 503)
    assert daemon.process.poll() is None
    daemon.process.send_signal(signal.SIGTERM)
    daemon.process.wait(60)
    check_gone(daemon, [worker])
    status, _, _ = job.answer()
    assert status == 503


def test_drain_has_an_end(start):
    """A job that never ends delays the end for drain_ms and no longer. It gets 503."""
    daemon = start("--drain-timeout-ms", "400", "--self-test-ms", HOUR_MS)
    worker, = daemon.children()
    freeze(worker)
    job = Background(daemon, "/histeq", PICTURE)
    assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1)
    begin = time.monotonic()
    daemon.process.send_signal(signal.SIGTERM)
    daemon.process.wait(60)
    assert time.monotonic() - begin > 0.35
    check_gone(daemon, [worker])
    assert job.answer()[0] == 503


def test_end_while_a_client_uploads_for_ever(start):
    """A body that never ends does not delay the end beyond the drain's time."""
    daemon = start("--drain-timeout-ms", "300", "--body-ms", HOUR_MS)
    with daemon.socket() as s:
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + bytes(100))
        assert wait_until(lambda: daemon.metric("slots_in_use") == 1)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.wait(60)
    check_gone(daemon, [])


def test_end_while_clients_stand_still(start):
    """Clients that stop in the middle of a body or an answer are disconnected long before body_ms and write_ms, and so are those
    that send or read a byte now and then; a body or an answer that moves is finished."""
    daemon = start("--drain-client-ms", "2500", "--pressed-rate-bytes", "100", "--body-ms", HOUR_MS, "--body-rate-bytes", "100",
                   "--write-ms", HOUR_MS, "--write-rate-bytes", "100")
    picture = pnm(noise(400, 300))
    head = b"POST /histeq HTTP/1.1\r\nHost: x\r\n"
    silent = [daemon.socket() for _ in range(3)]
    for s, rest in zip(silent, (b"Content-Length: 9\r\n\r\n", b"Content-Length: 99999\r\n\r\n" + bytes(100),
                                b"Transfer-Encoding: chunked\r\n\r\nfffff\r\n" + bytes(100))):
        s.sendall(head + rest)
    taken, tasted, ignored = (daemon.socket() for _ in range(3))
    for s in taken, tasted, ignored:
        s.sendall(post("/grayscale?type=pnm", large_png(3000, 4000)))
    assert wait_until(lambda: daemon.metric("answer_bytes_held") >= 3 * 12000000)
    with daemon.socket() as moving, daemon.socket() as trickling:
        moving.sendall(head + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(picture) + picture[:1])
        trickling.sendall(head + b"Content-Length: 99999\r\n\r\n")
        assert wait_until(lambda: daemon.metric("requests_in_progress") == 9)
        daemon.process.send_signal(signal.SIGTERM)
        answer = b""
        for at in range(1, 60001, 1000):
            moving.sendall(picture[at:at + 1000])
            with contextlib.suppress(OSError):
                trickling.sendall(b"x")
            answer += taken.recv(100000)
            tasted.recv(10)
            time.sleep(0.1)
        assert all(read_to_end(s) == b"" for s in (*silent, trickling)) and daemon.process.poll() is None
        assert all(len(read_to_end(s)) < 12000000 for s in (tasted, ignored))
        moving.sendall(picture[60001:])
        (status, _, _), = responses(read_to_end(moving))
        assert status == 200
        (status, _, body), = responses(answer + read_to_end(taken))
        assert status == 200 and len(body) > 12000000
        assert daemon.process.wait(60) == 0
    check_gone(daemon, [])
    for s in (*silent, taken, tasted, ignored):
        s.close()


def test_end_while_a_job_of_nobody_runs(start):
    """The client of the job has left, and the job cannot be interrupted: the end does not wait for it."""
    daemon = start("--self-test-ms", HOUR_MS)
    worker, = daemon.children()
    freeze(worker)
    with daemon.socket() as s:
        s.sendall(post("/histeq", PICTURE))
        assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1)
    assert wait_until(lambda: daemon.samples()['burin_connections_ended_total{reason="left"}'] == 1)
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(PATIENCE_S) == 0
    check_gone(daemon, [worker])


@pytest.mark.parametrize("when", ["at the headers", "in mid-body"])
def test_end_while_a_refused_client_stays(start, when):
    """A client with its refusal neither sends the rest nor leaves: the end does not wait for it."""
    daemon = start("--queue-bytes", "1MiB", "--keep-alive-ms", HOUR_MS, "--body-ms", HOUR_MS)
    with daemon.socket() as s:
        if when == "in mid-body":
            s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n"
                      + bytes(1200000))
        else:
            s.sendall(b"POST /histeq?bins=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n")
        assert s.recv(100).startswith(b"HTTP/1.1 4")
        assert daemon.metric("requests_in_progress") == 2, "it is gone: nothing is tested"
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.wait(60)
    check_gone(daemon, [])


def counting(tmp_path, how):
    """A daemon whose GPU-counting process does HOW, as the GPUs' driver may."""
    cc = shutil.which("cc") or shutil.which("gcc")
    if not cc:
        pytest.skip("there is no C compiler")
    source, library = tmp_path / "driver.c", tmp_path / "driver.so"
    source.write_text("#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
                      "__attribute__((constructor)) static void start(int count, char **arguments) {\n"
                      f'    if (count > 2 && !strcmp(arguments[2], "--count")) {how};\n}}\n')
    subprocess.run([cc, "-shared", "-fPIC", "-o", library, source], check=True)
    return subprocess.Popen([BURIN, "serve", "--listen", "127.0.0.1:0", "--worker-start-ms", "600000"],
                            env={**os.environ, "LD_PRELOAD": str(library), "ASAN_OPTIONS": "verify_asan_link_order=0"},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_end_while_gpus_are_counted(tmp_path):
    daemon = counting(tmp_path, "sleep(1000)")
    try:
        def is_counting():
            with open(f"/proc/{daemon.pid}/task/{daemon.pid}/children") as f:
                return any("--count" in open(f"/proc/{pid}/cmdline").read() for pid in f.read().split())

        assert wait_until(is_counting)
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(60) == 0
    finally:
        daemon.kill()
        daemon.communicate()


def test_gpus_that_cannot_be_counted(tmp_path):
    """The start fails with a message: the daemon does not silently serve on the CPU alone."""
    daemon = counting(tmp_path, "abort()")
    try:
        _, log = daemon.communicate(timeout=30)
    finally:
        daemon.kill()
        daemon.wait()
    assert daemon.returncode == 1 and b"Aborted" in log and b"devices=cpu" in log, log


def test_end_while_a_worker_restarts(start):
    for _ in range(6 if LONG else 2):
        daemon = start()
        worker, = daemon.children()
        os.kill(worker, signal.SIGKILL)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.wait(60)
        check_gone(daemon, [worker])


# ---- the long run

def descriptors(pid):
    """Number of open descriptors, and whether it is exact: where /proc does not show them, it is the size of the table, which
    doubles when it is full and never shrinks."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd")), True
    except PermissionError:
        with open(f"/proc/{pid}/status") as f:
            return int(re.search(r"FDSize:\s+(\d+)", f.read())[1]), False


def test_thousands_of_requests(start):
    """All sizes and formats, good, bad and cut off. Afterwards memory, descriptors and slots are where they were."""
    daemon = start(slots=SHARED_SLOTS)
    worker, = daemon.children()
    bodies = [("/histeq", data, 200) for data in pictures()]
    bodies += [("/histeq", pnm(noise(800, 700, 3)), 200), ("/histeq?type=png", jpeg(smooth(250, 200)), 200),
               ("/grayscale?type=jpeg", png(noise(90, 80, 4)), 200), ("/info", png(smooth(50, 40)), 200),
               ("/histeq", jpeg(smooth(320, 240))[:3000], 422), ("/histeq", b"no picture", 415),
               ("/histeq?bins=1", PICTURE, 400), ("/histeq", png(smooth(200, 150))[:-20], 422)]

    def client(i):
        connection = daemon.connect(60)
        for n in range(rounds):
            path, body, status = bodies[(i + n) % len(bodies)]
            if n % 25 == 24:  # leave in the middle, and come back
                with daemon.socket() as s:
                    s.sendall(post(path, body)[:max(60, len(body) // 2)])
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                continue
            connection.request("POST", path, body)
            response = connection.getresponse()
            response.read()
            assert response.status == status, (path, response.status)
        connection.close()

    def state():
        assert daemon.becomes_idle()
        front = daemon.process.pid
        return (memory(front), memory(front, "RssAnon"), memory(worker), memory(worker, "RssAnon"), descriptors(front),
                descriptors(worker))

    def grown():
        """The figures that grew, in bytes: a leak grows each time, a lane only at its first large picture, and there are few lanes."""
        return {what: now - was for what, was, now in zip(("front", "front's own", "worker", "worker's own"), before, after)
                if now - was > max(0.02 * was, 2 * MB)}

    rounds = 375 if LONG else 50
    in_parallel(8, client)
    after = state()
    for _ in range(5):
        before = after
        in_parallel(8, client)
        after = state()
        if not grown():
            break
    assert not grown()
    open_then, exact = before[4]
    most = open_then if exact else 2 * open_then  # a leak of one a request would be thousands
    assert wait_until(lambda: descriptors(daemon.process.pid)[0] <= most), "descriptors of the front"
    assert after[5] == before[5], "descriptors of the worker"
    assert daemon.children() == [worker]
    assert daemon.works()


SLOT_KB = 140  # 128 KiB, and three pages of the job


def test_slots_are_mapped_from_the_start(start):
    """A worker has every page of shared memory that the front has touched, after a restart too, and none beyond."""
    daemon = start("--lanes", "1", "--slots", "100")
    touched = memory(daemon.process.pid, "RssShmem")
    assert touched >= 100 * SLOT_KB * 1024
    for _ in range(2):
        worker, = daemon.children()
        assert abs(memory(worker, "RssShmem") - touched) < MB // 4
        assert memory(daemon.process.pid, "RssShmem") == touched
        os.kill(worker, signal.SIGKILL)
        assert wait_until(lambda: daemon.children() not in ([worker], []) and daemon.ready())


def test_photographs_of_64_clients_keep_the_memory_that_they_need(start):
    """All bodies of 300 KB and their answers are in slots at once: the second time no page is allocated. What is not used any
    more is freed."""
    daemon = start("--slot-idle-ms", "2000", slots=())
    at_start = memory(daemon.process.pid, "RssShmem")
    assert 384 * SLOT_KB * 1024 <= at_start <= 384 * SLOT_KB * 1024 + MB  # what config/README.md says
    body = pnm(noise(400, 256, 3))
    assert 300_000 < len(body) < 310_000
    head = f"POST /brightness?shift=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    grown = []
    for _ in range(2):
        clients = [daemon.socket() for _ in range(64)]
        for client in clients:
            client.sendall(head + body[:-1])
        assert wait_until(lambda: daemon.samples()["burin_body_bytes_held"] == 64 * (len(body) - 1))
        assert daemon.samples()["burin_slots_grown_bytes"] == 64 * (768 - 128) * 1024
        for client in clients:
            client.sendall(body[-1:])
        answers = {responses(read_to_end(client))[0][2] for client in clients}
        assert len(answers) == 1 and len(answers.pop()) == len(body)
        grown.append(memory(daemon.process.pid, "RssShmem"))
    # Body and answer of each, 600 KiB, of which 128 were there before; at most what the slots grew by, and 1 MB of others.
    assert at_start + 27 * MB < grown[0] < at_start + 41 * MB and grown[1] == grown[0]
    assert wait_until(lambda: daemon.samples()["burin_slots_grown_bytes"] == 0)
    assert memory(daemon.process.pid, "RssShmem") <= at_start + MB // 4
    worker, = daemon.children()
    assert memory(worker, "RssShmem") <= at_start + MB // 4
    assert daemon.works()


def test_addresses_that_do_not_suffice(start):
    """Under `ulimit -v` the daemon says which key to lower before it starts anything, and the lower value works."""
    limited = ["bash", "-c", 'ulimit -v 8000000; exec "$@"', "-", BURIN]
    flags = ("--listen", "127.0.0.1:0", "--devices", "cpu", "--io-threads", "2")
    done = subprocess.run([*limited, "serve", *flags], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 2 and done.stdout == ""
    assert "8000000" in done.stderr
    most = int(re.search(r"lower slots to (\d+)", done.stderr)[1])
    assert most >= 4
    daemon = start("--io-threads", "2", command=limited, slots=("--slots", str(most)))
    assert daemon.works()


@pytest.mark.parametrize("limit,code", [("-f 1000000", 2), ("-d 65536", 1), ("-s 64", 1)])
def test_a_limit_that_does_not_suffice_is_named(limit, code):
    """Limits of a file's length (shared memory is a file), of private memory, and of stacks."""
    done = subprocess.run(["bash", "-c", f'ulimit {limit}; exec "$@"', "-", BURIN, "serve", "--listen", "127.0.0.1:0",
                           "--devices", "cpu"], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    which, kilobytes = limit.split()
    assert f"ulimit {which} allows" in done.stderr and kilobytes in done.stderr and len(done.stderr.splitlines()) == 1


def test_small_stacks_are_made_larger(start):
    """Stacks of threads, for which glibc takes the main thread's limit."""
    daemon = start(command=["bash", "-c", 'ulimit -s 1024; exec "$@"', "-", BURIN])
    assert daemon.works()
    assert daemon.post("/carve?dx=-1&type=webp", PICTURE).status == 200


def test_idle_lanes_keep_little(start):
    """The memory of a large job, and what is kept for similar jobs, is released soon after the last of them."""
    daemon = start("--lanes", "2", "--idle-bytes", "1MiB")
    worker, = daemon.children()
    picture = noise(1500, 1200, 3)
    bodies = pnm(picture), png(picture, compress_level=1), jpeg(picture, progressive=True)
    daemon.works()
    before = memory(worker, "RssAnon")
    in_parallel(2, lambda i: [daemon.post("/histeq", body) for body in bodies])
    assert daemon.becomes_idle()
    # A lane for short jobs and one for medium ones on each of two cores keep a MiB of three areas each; those for long ones none.
    assert wait_until(lambda: memory(worker, "RssAnon") - before < 2 * 2 * 3 * MB + 4 * MB), memory(worker, "RssAnon") / MB
    assert daemon.works()


def test_large_requests_give_their_memory_back(start):
    """12 MB in and out, several times: pages beyond what is kept are released without another job."""
    daemon = start("--lanes", "1", "--staging-bytes", "1000000", "--self-test-ms", "3600000", "--slot-idle-ms", "500")
    worker, = daemon.children()
    daemon.works()
    before = memory(daemon.process.pid), memory(worker)
    body = pnm(noise(4000, 3000))
    for _ in range(2):
        answer = daemon.post("/histeq", body, timeout=60)
        assert answer.status == 200 and len(answer.body) == len(body)
    assert daemon.becomes_idle()
    assert wait_until(lambda: memory(daemon.process.pid) - before[0] < 4 * MB)
    assert wait_until(lambda: memory(worker) - before[1] < 8 * MB)
    assert daemon.works()
