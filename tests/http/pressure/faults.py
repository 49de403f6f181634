#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""System calls that fail: some of them at random, in the daemon and its workers, while clients ask: memory, pages,
descriptors, space; and clocks that jump. faults.c, loaded before the C library, makes them fail. In the middle of each fault
the worker is killed: a new one has to start in spite of the fault, or once the fault is over.

The daemon survives; a request that cannot be done is answered 503 or 500, or its connection ends; no answer is wrong; and one
second after the fault is over every answer is right."""
import argparse
import http.client
import mmap
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../../..")
BURIN = os.environ.get("BURIN", os.path.join(ROOT, "build/burin"))
LIBRARY = os.path.abspath(os.path.join(os.environ.get("BENCH_PROGRAMS", os.path.join(ROOT, "build/cpu/tests/bench")),
                                       "../http/pressure/faults.so"))
HOUR_NS = 3600 * 10 ** 9
PAGE = struct.Struct("=6I3q4Q")  # struct control of faults.c
ANSWERS = (200, 500, 503, 504)

# name: failing calls in a million: malloc, pages, descriptors, space; ns by which clocks are ahead: real, monotonic, boot
FAULTS = {
    "memory 1 %": (10000, 10000, 0, 0, 0, 0, 0),
    "memory 5 %": (50000, 50000, 0, 0, 0, 0, 0),
    "no memory": (1000000, 1000000, 0, 0, 0, 0, 0),
    "EMFILE": (0, 0, 1000000, 0, 0, 0, 0),
    "ENOSPC": (0, 0, 0, 1000000, 0, 0, 0),
    "an hour later": (0, 0, 0, 0, HOUR_NS, 0, 0),
    "an hour earlier": (0, 0, 0, 0, -HOUR_NS, 0, 0),
    "suspend of an hour": (0, 0, 0, 0, HOUR_NS, 0, HOUR_NS),
    "pause of an hour": (0, 0, 0, 0, HOUR_NS, HOUR_NS, HOUR_NS),
}


def picture():
    """A PPM, which needs no library: waves of 160 x 120."""
    rows = bytes((x * (3 + c) + y * 2) % 251 for y in range(120) for x in range(160) for c in range(3))
    return b"P6\n160 120\n255\n" + rows


class Control:
    """The shared page that faults.c reads."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile()
        self.file.write(bytes(4096))
        self.file.flush()
        self.page = mmap.mmap(self.file.fileno(), 4096)

    def set(self, fault):
        struct.pack_into("=4I", self.page, 0, *fault[:4])
        struct.pack_into("=3q", self.page, 24, *fault[4:])

    def made(self):
        return PAGE.unpack_from(self.page)[9:]


class Daemon:
    def __init__(self, control, flags):
        self.log = tempfile.TemporaryFile()
        environment = {**os.environ, "LD_PRELOAD": LIBRARY, "FAULTS_PAGE": control.file.name}
        self.process = subprocess.Popen([BURIN, "serve", "--listen", "127.0.0.1:0", "--devices", "cpu", "--slots", "86", *flags],
                                        env=environment, stdout=subprocess.PIPE, stderr=self.log)
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)", self.process.stdout.readline().decode())[1])

    def ask(self, path, body, connection=None):
        """The status and the body; None: no whole answer."""
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            own.request("POST", path, body)
            answer = own.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            own.close()
            return None, None
        finally:
            if not connection:
                own.close()

    def limit_descriptors(self, on):
        """Leaves the front no free descriptor, for accept too, which faults.c does not intercept."""
        count = len(os.listdir(f"/proc/{self.process.pid}/fd"))
        soft, hard = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (count if on else hard, hard))

    def workers(self):
        """The workers' names: the launcher, another child of the front, starts them."""
        pids = []
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/children") as f:
                pids += map(int, f.read().split())
        for pid in pids:
            with open(f"/proc/{pid}/cmdline") as f:
                if "worker" in f.read().split("\0"):
                    yield pid

    def metric(self, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(rf"{name}[ {{]", line))

    def last_words(self):
        self.log.seek(0)
        return [line[:200] for line in self.log.read().decode(errors="replace").splitlines() if '"request"' not in line][-6:]


class Load:
    """Clients that send one request after the other; half of them on a new connection each time."""
    PATHS = ("/histeq?type=png", "/brightness?shift=3", "/edge?type=jpeg", "/histogram")

    def __init__(self, daemon, body, right, clients):
        self.daemon, self.body, self.right = daemon, body, right
        self.counts, self.wrong, self.on, self.lock = {}, [], True, threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        kept = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=10) if number % 2 else None
        i = number
        while self.on:
            path = self.PATHS[i % len(self.PATHS)]
            status, data = self.daemon.ask(path, self.body, kept)
            with self.lock:
                self.counts[status] = self.counts.get(status, 0) + 1
                if status == 200 and path in self.right and data != self.right[path]:
                    self.wrong.append(path)
                if status is not None and status not in ANSWERS:
                    self.wrong.append((status, data[:200]))
            i += 1
            if status != 200:
                time.sleep(0.01)

    def stop(self):
        self.on = False
        for thread in self.threads:
            thread.join()


def recovery_s(daemon, body, right):
    """Seconds from now until 20 requests in a row were answered right; None: more than 20 s."""
    start, since, row = time.monotonic(), None, 0
    while time.monotonic() - start < 20:
        path = Load.PATHS[row % 3]
        status, data = daemon.ask(path, body)
        if status == 200 and data == right[path]:
            since = since or time.monotonic()
            row += 1
            if row == 20:
                return since - start
        else:
            since, row = None, 0
            time.sleep(0.005)
    return None


def idle(daemon):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if daemon.metric("burin_slots_in_use") == 0 and daemon.metric("burin_queue_depth") == 0:
            return True
        time.sleep(0.05)
    return False


def press(name, fault, options):
    """One daemon, one fault; returns the line to print, and what is wrong."""
    control = Control()
    daemon = Daemon(control, options.flag)
    body, wrong = picture(), []
    right = {path: daemon.ask(path, body)[1] for path in Load.PATHS[:3]}
    restarts = daemon.metric("burin_worker_restarts_total")
    control.set(fault)
    load = Load(daemon, body, right, options.clients)
    daemon.limit_descriptors(fault[2])
    time.sleep(options.seconds / 2)
    for worker in list(daemon.workers()):
        os.kill(worker, signal.SIGKILL)
    time.sleep(options.seconds / 2)
    late = time.monotonic() + options.well_s
    while any(fault[:4]) and not sum(control.made()) and time.monotonic() < late:  # a busy machine may need longer
        time.sleep(0.05)
    made = sum(control.made())
    load.stop()
    control.set((0,) * 4 + fault[4:])  # a clock that jumped stays there
    daemon.limit_descriptors(False)
    dead = daemon.process.poll()
    after = recovery_s(daemon, body, right) if dead is None else None
    if dead is not None:
        wrong.append(f"the front ended with {dead}: {daemon.last_words()}")
    elif after is None or after > options.well_s:
        wrong.append(f"well again after {after} s: {daemon.last_words()}")
    if load.wrong:
        wrong.append(f"wrong answers: {load.wrong[:3]}")
    if any(fault[:4]) and not made:
        wrong.append("no call failed: nothing was tested")
    if dead is None and not idle(daemon):
        wrong.append("slots or jobs are still held")
    restarts = daemon.metric("burin_worker_restarts_total") - restarts if daemon.process.poll() is None else -1
    daemon.process.terminate()
    code = daemon.process.wait(60)
    if code and dead is None:
        wrong.append(f"it ended with {code}")
    counts = load.counts
    others = sum(count for status, count in counts.items() if status not in (200, 500, 503, 504, None))
    print(f"{name:20} {made:9} {counts.get(200, 0):7} {counts.get(503, 0):6} {counts.get(500, 0):5} {counts.get(504, 0):5} "
          f"{others:6} {counts.get(None, 0):9} {restarts:8.0f} {'-' if after is None else f'{after:.2f}':>8}", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5, help="of each fault (5)")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--well-s", type=float, default=1, help="most that it may take until all is well again (1)")
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--flag", action="append", default=[], help="of burin serve, one word each")
    options = parser.parse_args()
    print(f"{'':20} failing     200    503   500   504  other no answer restarts     well\n{'':20}   calls"
          f"{'':47}again, s")
    wrong = []
    for name, fault in FAULTS.items():
        if options.only in name:
            wrong += [f"{name}: {what}" for what in press(name, fault, options)]
    print("\n".join(wrong) or "as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
