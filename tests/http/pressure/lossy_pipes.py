#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests while one in a hundred reads and writes on the pipes between the daemon's own processes and threads has no
effect: half of them fail, the others report success. Every request must be answered with its picture; the goal for the
slowest is 2 s. Exits with 1 if a request is not, or if something stays held afterwards."""
import argparse
import os
import struct
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

from conftest import TEST_SLOTS, Daemon, jpeg, noise, pnm, smooth, wait_until  # noqa: E402

PRELOADS = os.environ.get("PRELOADS", os.path.join(HERE, "../../../build/cpu/tests/http/pressure"))


class Load:
    """CLIENTS that send one request after the other, each on a connection of its own, for COUNT answers in all."""

    def __init__(self, daemon, count, clients):
        self.daemon, self.left, self.lock = daemon, count, threading.Lock()
        self.ms, self.failed = [], []
        self.pictures = [pnm(noise(32, 24)), jpeg(smooth(320, 240)), pnm(noise(400, 300, 3))]
        threads = [threading.Thread(target=self.run, args=(i,)) for i in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def run(self, i):
        connection = self.daemon.connect(120)
        while True:
            with self.lock:
                if not self.left:
                    break
                self.left -= 1
                i = self.left
            begin = time.monotonic()
            try:
                connection.request("POST", "/histeq", self.pictures[i % len(self.pictures)])
                answer = connection.getresponse()
                body, status = answer.read(), answer.status
            except OSError as error:
                body, status = repr(error), 0
                connection.close()
            self.ms.append(1000 * (time.monotonic() - begin))
            if status != 200:
                self.failed.append((status, body[:200]))
        connection.close()


def run(count, clients, per_mille, *flags):
    """-> the load, how many reads and writes had no effect, restarts of the worker, whether everything was released."""
    with tempfile.NamedTemporaryFile() as counter:
        counter.write(bytes(8))
        counter.flush()
        daemon = Daemon(*flags, slots=TEST_SLOTS,
                        env={"LD_PRELOAD": os.path.abspath(os.path.join(PRELOADS, "lossy_pipes.so")),
                             "LOSSY_PER_MILLE": str(per_mille), "LOSSY_COUNT": counter.name})
        try:
            wait_until(daemon.ready)
            load = Load(daemon, count, clients)
            idle = wait_until(daemon.idle)
            restarts = daemon.metric("worker_restarts_total")
        finally:
            code = daemon.stop()
        counter.seek(0)
        lost, = struct.unpack("=Q", counter.read(8))
    return load, lost, restarts, idle and code == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=4000, help="(4000)")
    parser.add_argument("--clients", type=int, default=8, help="at once (8)")
    parser.add_argument("--per-mille", type=int, default=10, help="reads and writes of a thousand that are lost (10)")
    options = parser.parse_args()
    load, lost, restarts, whole = run(options.requests, options.clients, options.per_mille)
    ms = sorted(load.ms)
    print(f"{len(ms)} requests, {len(load.failed)} failed; {lost} reads and writes came to nothing; the worker was "
          f"started again {restarts:.0f} times")
    print(f"p50 {ms[len(ms) // 2]:.1f} ms, p99 {ms[len(ms) * 99 // 100]:.0f} ms, slowest {ms[-1]:.0f} ms (goal: 2000)")
    for failure in load.failed[:5]:
        print("failed:", *failure)
    if not whole:
        print("not all was given back, or the daemon did not end well")
    return bool(load.failed) or not whole or not lost


if __name__ == "__main__":
    sys.exit(main())
