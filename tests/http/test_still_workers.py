# SPDX-License-Identifier: Apache-2.0
"""Workers that stand still are replaced within a second and others do their jobs; a worker that only takes long, gets no core,
sleeps with the machine or is debugged is left alone. Daemons of `start` have the program's default worker_still_ms here."""
import contextlib
import ctypes
import os
import signal
import subprocess
import time

import pytest

from conftest import (LONGER_PATH, alive, cpu_seconds, freeze, large_png, noise, pnm, read_to_end, responses, thaw,
                      wait_until)

PICTURE = pnm(noise(32, 24))
STILL = ("--worker-still-ms", "500", "--no-worker-ms", "3600000")
BUSY_S = 15  # one second's work may take so long on a busy machine


class Sent:
    """A request in progress; .answer() waits for its answer."""

    def __init__(self, daemon, path, body):
        self.sock = daemon.socket(600)
        self.sock.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                          % (path.encode(), len(body)) + body)

    def answer(self):
        with self.sock:
            found, = responses(read_to_end(self.sock, 600))
            return found


def restarts(daemon):
    return daemon.metric("worker_restarts_total")


def test_stopped_worker_is_replaced(start):
    """With a job and without: the next worker does the job, and the job is not blamed."""
    daemon = start(*STILL)
    for n in range(1, 3):
        worker, = daemon.children()
        freeze(worker)
        begin = time.monotonic()
        job = Sent(daemon, "/histeq", PICTURE) if n < 2 else None
        if job:
            assert job.answer()[0] == 200
        assert wait_until(lambda: restarts(daemon) == n)
        assert time.monotonic() - begin < BUSY_S
        assert not alive(worker) and wait_until(daemon.ready)
    assert "stands still" in daemon.log_text()
    assert daemon.becomes_idle() and daemon.works()


def test_job_of_a_stopped_worker_is_no_suspect(start):
    """The job has begun on two workers that were stopped, and the third does it."""
    daemon = start(*STILL, "--lanes", "1")
    job = Sent(daemon, LONGER_PATH, large_png(4000, 4000))
    for n in range(1, 3):
        known = [] if n == 1 else [worker]
        assert wait_until(lambda: [p for p in daemon.children() if p not in known and cpu_seconds(p) > 0.2])
        worker, = [p for p in daemon.children() if p not in known and alive(p)]
        freeze(worker)
        assert wait_until(lambda: restarts(daemon) == n)
    assert job.answer()[0] == 200
    assert daemon.becomes_idle()


def test_long_job_is_left_alone(start):
    """Ten operators on many megapixels, on one lane, take longer than a worker may stand still (STILL)."""
    daemon = start(*STILL, "--lanes", "1")
    worker, = daemon.children()
    took = 0
    for side in (4500, 6500, 8000):
        begin = cpu_seconds(worker)
        assert Sent(daemon, LONGER_PATH, large_png(side, side)).answer()[0] == 200
        assert daemon.children() == [worker] and restarts(daemon) == 0
        took = cpu_seconds(worker) - begin
        if took > 0.6:
            break
    assert took > 0.6, "the job was too short to show anything"


@contextlib.contextmanager
def starved(pid):
    """Its threads get what a busy thread leaves of the same core: next to nothing."""
    core = {min(os.sched_getaffinity(0))}
    for task in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(task), core)
        os.sched_setscheduler(int(task), os.SCHED_IDLE, os.sched_param(0))
    hogs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(4)]
    try:
        for hog in hogs:
            os.sched_setaffinity(hog.pid, core)
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def test_starved_worker_is_left_alone(start):
    daemon = start(*STILL, "--lanes", "2")
    worker, = daemon.children()
    with starved(worker):
        used = cpu_seconds(worker)
        job = Sent(daemon, "/histeq?type=pnm", large_png(4000, 4000))
        time.sleep(1.1)
        assert daemon.children() == [worker] and restarts(daemon) == 0
        assert cpu_seconds(worker) - used < 1, "it was not starved: nothing is tested"
    assert job.answer()[0] == 200
    assert daemon.children() == [worker] and restarts(daemon) == 0


def test_sleep_of_the_machine_is_left_alone(start):
    """Front and worker both stand still for longer than a worker may, and wake one after the other."""
    daemon = start(*STILL)
    worker, = daemon.children()
    for pids in ((daemon.process.pid, worker), (worker, daemon.process.pid)):
        for pid in pids:
            freeze(pid)
        time.sleep(1.1)
        for pid in pids:
            thaw(pid)
        for _ in range(10):
            assert daemon.works()
            time.sleep(0.05)
    assert daemon.children() == [worker] and restarts(daemon) == 0


def test_traced_worker_is_left_alone(start):
    """A debugger holds it for longer than a worker may stand still: it is not killed, and the log names the reason."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    PTRACE_ATTACH, PTRACE_DETACH, WALL = 16, 17, 0x40000000
    daemon = start(*STILL)
    worker, = daemon.children()
    tasks = [int(task) for task in os.listdir(f"/proc/{worker}/task")]
    if libc.ptrace(PTRACE_ATTACH, tasks[0], None, None):
        pytest.skip("no process may be debugged here")
    try:
        os.waitpid(tasks[0], WALL)
        for task in tasks[1:]:
            assert libc.ptrace(PTRACE_ATTACH, task, None, None) == 0
            os.waitpid(task, WALL)
        assert wait_until(lambda: daemon.get("/readyz").status == 503)
        assert "debugger" in daemon.get("/readyz").json["workers"][0]["trouble"]
        time.sleep(1.5)
        assert daemon.children() == [worker] and restarts(daemon) == 0
    finally:
        for task in tasks:
            libc.ptrace(PTRACE_DETACH, task, None, None)
    assert wait_until(daemon.ready)
    assert daemon.works() and daemon.children() == [worker]
