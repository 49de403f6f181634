#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workers that are stopped, again and again, while clients ask: how soon that is noticed and how long a client waits; then
workers that must not be taken for stopped: one with a long job, one that gets next to no core, one of a machine that slept.
Goals: noticed within 1 s, no client waits over 2 s, no other worker is replaced. Exits with 1 if a request fails or a
worker is replaced wrongly."""
import argparse
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

from conftest import LONGER_PATH, Daemon, jpeg, large_png, smooth, wait_until  # noqa: E402

PICTURE = jpeg(smooth(320, 240))


class Load:
    """Clients that send one request after the other until end()."""

    def __init__(self, daemon, clients):
        self.daemon, self.stop, self.ms, self.failed = daemon, threading.Event(), [], 0
        self.threads = [threading.Thread(target=self.run) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self):
        connection = self.daemon.connect(120)
        while not self.stop.is_set():
            begin = time.monotonic()
            try:
                connection.request("POST", "/histeq", PICTURE)
                answer = connection.getresponse()
                answer.read()
                self.failed += answer.status != 200
            except OSError:
                self.failed += 1
                connection.close()
            self.ms.append(1000 * (time.monotonic() - begin))
        connection.close()

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def restarts(daemon):
    return int(daemon.metric("worker_restarts_total"))


def stop_often(times, clients):
    """-> ms until each stop was noticed, the clients' waits, the number of failed requests."""
    daemon = Daemon("--worker-still-ms", "500")
    load, noticed = Load(daemon, clients), []
    try:
        for n in range(times):
            wait_until(daemon.ready)
            time.sleep(0.3)
            worker, = daemon.children()
            begin = time.monotonic()
            os.kill(worker, signal.SIGSTOP)
            while daemon.get("/readyz").json["workers"][0]["healthy"] and restarts(daemon) <= n:
                time.sleep(0.01)
            noticed.append(1000 * (time.monotonic() - begin))
            wait_until(lambda: restarts(daemon) > n)
    finally:
        load.end()
        daemon.stop()
    return noticed, load.ms, load.failed


@contextlib.contextmanager
def starved(pid):
    core = {min(os.sched_getaffinity(0))}
    for task in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(task), core)
        os.sched_setscheduler(int(task), os.SCHED_IDLE, os.sched_param(0))
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        for hog in hogs:
            os.sched_setaffinity(hog.pid, core)
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def be_long(daemon):
    assert daemon.post(LONGER_PATH, large_png(8000, 8000), timeout=600).status == 200


def starve(daemon):
    with starved(daemon.children()[0]):
        time.sleep(10)


def sleep(daemon):
    pids = (daemon.process.pid, *daemon.children())
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(5)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def left_alone(what):
    """The number of replaced workers that only did WHAT; the daemon works afterwards."""
    daemon = Daemon("--worker-still-ms", "500", "--lanes", "1")
    try:
        what(daemon)
        assert daemon.works()
        return restarts(daemon)
    finally:
        daemon.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10, help="that a worker is stopped (10)")
    parser.add_argument("--clients", type=int, default=8, help="at once (8)")
    options = parser.parse_args()
    noticed, ms, failed = stop_often(options.times, options.clients)
    print(f"stopped {len(noticed)} times: noticed after {sorted(noticed)[len(noticed) // 2]:.0f} ms in the middle, "
          f"{max(noticed):.0f} at most (goal: 1000)")
    print(f"{len(ms)} requests, {failed} failed; the longest wait {max(ms):.0f} ms (goal: 2000)")
    wrong = 0
    for name, what in (("long job", be_long), ("10 s without a core", starve), ("5 s of sleep", sleep)):
        replaced = left_alone(what)
        print(f"{name}: {replaced} workers replaced (goal: 0)")
        wrong += replaced
    return bool(failed or wrong)


if __name__ == "__main__":
    sys.exit(main())
