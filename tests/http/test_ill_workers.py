# SPDX-License-Identifier: Apache-2.0
"""Workers that cannot start, that die with jobs that have not begun, that have no memory left; and what clients and /metrics
see meanwhile."""
import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import time

import pytest

from conftest import (BURIN, HOUR_MS, LONGER_PATH, PATIENCE_S, TEST_SLOTS, Daemon, alive, check_problem, cpu_seconds, freeze,
                      in_parallel, large_png, memory, noise, pnm, read_to_end, responses, thaw, wait_until)

PICTURE = pnm(noise(32, 24))


class Sent:
    """A request in progress; .answer() waits for its answer."""

    def __init__(self, daemon, path, body, sent=None):
        self.sock = daemon.socket(600)
        self.data = (b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                     % (path.encode(), len(body)) + body)
        self.at = len(self.data) if sent is None else len(self.data) - len(body) + sent
        self.sock.sendall(self.data[:self.at])

    def rest(self):
        self.sock.sendall(self.data[self.at:])

    def answer(self):
        with self.sock:
            found, = responses(read_to_end(self.sock, 600))
            return found


@contextlib.contextmanager
def no_worker_can_start(daemon):
    """Without a stack no program can begin, not even to enlarge it: every worker dies as it starts. The launcher's own stacks are
    not changed."""
    soft, hard = resource.prlimit(daemon.starter(), resource.RLIMIT_STACK)
    resource.prlimit(daemon.starter(), resource.RLIMIT_STACK, (0, hard))
    try:
        yield
    finally:
        if daemon.process.poll() is None:
            resource.prlimit(daemon.starter(), resource.RLIMIT_STACK, (soft, hard))


def rejected(daemon, reason):
    return daemon.samples()['burin_rejected_total{reason="%s"}' % reason]


def test_no_worker_can_start(start):
    """Jobs wait for a worker that died, as its successor usually comes at once; when it does not, they are refused, and later ones
    at once, not after processing_ms. The start is tried again with growing pauses, and then all is well."""
    daemon = start()
    worker, = daemon.children()
    freeze(worker)
    waiting = Sent(daemon, "/histeq", PICTURE)
    assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1)
    with no_worker_can_start(daemon):
        begin = time.monotonic()
        os.kill(worker, signal.SIGKILL)
        status, headers, body = waiting.answer()
        assert status == 503 and b"no worker" in body and int(headers["retry-after"]) >= 1
        assert time.monotonic() - begin > 2.5, "nobody waited for the worker"
        facts = daemon.get("/readyz")
        assert facts.status == 503 and facts.json["status"] == "no healthy worker"
        # Each try shows as `starting` for a moment.
        assert wait_until(lambda: "died" in daemon.get("/readyz").json["workers"][0]["trouble"])
        before = rejected(daemon, "queue")
        for device in ("auto", "cpu"):
            check_problem(daemon.post(f"/histeq?device={device}", PICTURE), 503, f"no worker for device {device}")
        assert rejected(daemon, "queue") == before + 2, "they were not refused at once, but queued"
        # One start comes at once, the next 320 ms and then each 640 ms after the death before.
        assert wait_until(lambda: daemon.metric("worker_restarts_total") >= 6)
        assert time.monotonic() - begin > 0.32 + 3 * 0.64, "it is started over and over"
    assert wait_until(daemon.ready, 30)
    assert daemon.becomes_idle() and daemon.works()


def test_job_that_was_never_begun_is_no_suspect(start):
    """Its first worker died before the job began, so the job did not cause that death; it was running when the second died, so
    it may have caused that one. It is therefore tried again."""
    daemon = start("--lanes", "1", "--no-worker-ms", HOUR_MS)
    first, = daemon.children()
    freeze(first)
    job = Sent(daemon, LONGER_PATH, large_png(4000, 4000))
    assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1)
    os.kill(first, signal.SIGKILL)

    def at_work():
        return [pid for pid in daemon.children() if pid != first and alive(pid) and cpu_seconds(pid) > 0.25]

    assert wait_until(at_work)
    second, = at_work()
    freeze(second)
    assert daemon.metric("jobs_in_progress") == 1, "it was done before"
    os.kill(second, signal.SIGKILL)
    status, _, body = job.answer()
    assert status == 200, body
    assert daemon.metric("worker_restarts_total") == 2
    assert daemon.becomes_idle()


def test_no_memory_is_answered_as_temporary(start):
    """A worker that gets no memory for a job reports that, lives on, and does the job once memory is free."""
    daemon = start("--lanes", "1")
    daemon.works()
    worker, = daemon.children()
    picture = pnm(noise(3000, 2000))
    soft, hard = resource.prlimit(worker, resource.RLIMIT_AS)
    resource.prlimit(worker, resource.RLIMIT_AS, (memory(worker, "VmSize") + (8 << 20), hard))
    answer = daemon.post("/histeq", picture)
    assert check_problem(answer, 503, "memory")["code"] == "no_memory"
    assert int(answer.headers["Retry-After"]) >= 1
    assert daemon.works(), "a small one has room"
    resource.prlimit(worker, resource.RLIMIT_AS, (soft, hard))
    assert daemon.post("/histeq", picture).status == 200
    assert daemon.children() == [worker] and daemon.becomes_idle()


def test_large_jobs_take_turns_where_memory_is_short(start):
    """`ulimit -d` leaves room for one of them: a job that gets no memory waits for earlier jobs, on any lane."""
    daemon = start("--lanes", "3", "--idle-bytes", "1MiB")
    worker, = daemon.children()
    picture = pnm(noise(2000, 1250, 3))  # 7.5 MB of pixels
    soft, hard = resource.prlimit(worker, resource.RLIMIT_DATA)
    resource.prlimit(worker, resource.RLIMIT_DATA, (memory(worker, "VmData") + (12 << 20), hard))
    bodies = []

    def ask(_):
        bodies.append(daemon.post("/brightness?shift=1", picture, timeout=600))

    ask(0)
    in_parallel(4, ask)
    assert [answer.status for answer in bodies] == [200] * 5
    assert len({answer.body for answer in bodies}) == 1
    assert daemon.children() == [worker] and daemon.becomes_idle()


def test_deadline_counts_from_the_whole_upload(start):
    """A client whose upload took longer than a job may take still has all of a job's time."""
    daemon = start("--processing-ms", "3000")
    slow = Sent(daemon, "/histeq", PICTURE, sent=100)
    time.sleep(3.2)
    slow.rest()
    status, _, body = slow.answer()
    assert status == 200, body


def test_time_in_the_queue_is_reported(start):
    """The time is in the answer and in /metrics, and in no other stage."""
    daemon = start("--lanes", "1")
    worker, = daemon.children()
    freeze(worker)
    try:
        job = Sent(daemon, "/histeq", PICTURE)
        assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1)
        time.sleep(0.6)
    finally:
        thaw(worker)
    status, headers, _ = job.answer()
    ms = json.loads(headers["x-burin-timing"])["ms"]
    assert status == 200 and ms["queue"] >= 600
    assert ms["total"] >= ms["queue"] and ms["decode"] + ms["compute"] + ms["encode"] + ms["wait"] <= ms["total"] - 600
    assert float(re.search(r"queue;dur=([\d.]+)", headers["server-timing"])[1]) == ms["queue"]
    assert daemon.becomes_idle()
    assert daemon.metric("queue_wait_seconds_sum") >= 0.6


def test_refused_while_stopping_is_counted(start):
    daemon = start()
    worker, = daemon.children()
    freeze(worker)
    job = Sent(daemon, "/histeq", PICTURE)
    assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1)
    assert rejected(daemon, "draining") == 0
    daemon.process.send_signal(signal.SIGTERM)
    assert wait_until(lambda: daemon.get("/readyz").json["status"] == "draining")
    for n in range(1, 4):
        check_problem(daemon.post("/histeq", PICTURE), 503, "stopping")
        assert rejected(daemon, "draining") == n
    thaw(worker)
    assert job.answer()[0] == 200
    assert daemon.stop() == 0


# ---- the end while there is no worker

class Early(Daemon):
    """A daemon whose start is not waited for."""

    def __init__(self):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([BURIN, "serve", "--listen", "127.0.0.1:0", "--devices", "cpu", *TEST_SLOTS],
                                        stdout=subprocess.PIPE, stderr=self.log)


def command_of(pid):
    """[] of one that has ended."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as f:
        return f.read().split("\0")
    return []


def end_with_one_that_stands_still(daemon, find):
    """The daemon ends on SIGTERM: it does not wait for READY, nor for a process that never ends by itself."""
    try:
        assert wait_until(lambda: find())
        pid = find()
        os.kill(pid, signal.SIGSTOP)
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(PATIENCE_S) == 0
        assert not alive(pid)
        assert "no worker is ready yet" not in daemon.log_text(), "it waited to say that, not for the signal"
    finally:
        daemon.process.kill()
        daemon.stop()


def test_sigterm_while_no_worker_gets_ready():
    daemon = Early()

    def worker():
        """A worker, and no other child: the front waits for the others before it handles signals, and they end by themselves."""
        return next((pid for pid in daemon.children() if command_of(pid)[1:2] == ["worker"]), None)

    end_with_one_that_stands_still(daemon, worker)


def test_sigterm_while_the_launcher_stands_still(start):
    daemon = start()
    if daemon.starter() == daemon.process.pid:
        pytest.skip("there is none without a sandbox")
    end_with_one_that_stands_still(daemon, daemon.starter)
