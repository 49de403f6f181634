#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A log that is not read: standard error is a full pipe, and all clients go on.

Shown: how many requests were answered, what /livez took meanwhile, how many lines the daemon counts as lost, and how long its
end took while the pipe was still full; then the same number again with a reader that starts late, and whether each request
has its line or is reported as lost. Goals: all are answered, /livez within 20 ms (p99), an end within 2 s. A run fails where
a request is not answered, a line is neither there nor reported as lost, or the daemon does not exit well."""
import argparse
import http.client
import json
import os
import sys
import threading
import time

from daemon import Daemon, pnm

PICTURE = pnm(16, 12)


class Clients:
    """COUNT requests in all, CLIENTS at a time."""

    def __init__(self, daemon, count, clients):
        self.daemon, self.answered, self.lock = daemon, 0, threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(count // clients,)) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, count):
        connection = http.client.HTTPConnection(*self.daemon.address, timeout=60)
        good = 0
        try:
            for _ in range(count):
                connection.request("POST", "/histeq", PICTURE)
                response = connection.getresponse()
                response.read()
                good += response.status == 200
        except OSError as error:
            print(f"a client gave up: {error!r}")
        with self.lock:
            self.answered += good

    def alive(self):
        return any(thread.is_alive() for thread in self.threads)


def watch(daemon, clients):
    """Milliseconds of each GET /livez until the clients are done, sorted."""
    times = []
    while clients.alive():
        begin = time.monotonic()
        if daemon.ask("GET", "/livez")[0] != 200:
            sys.exit("/livez was not answered")
        times.append(1000 * (time.monotonic() - begin))
        time.sleep(0.02)
    return sorted(times)


def read_lines(end, wanted):
    """Reads until WANTED requests have their lines or are reported as lost, or nothing comes for 5 s; returns both numbers."""
    os.set_blocking(end, False)
    data, last = bytearray(), time.monotonic()
    while time.monotonic() < last + 5:
        try:
            data += os.read(end, 1 << 20)
            last = time.monotonic()
        except BlockingIOError:
            time.sleep(0.02)
        lines = [json.loads(line) for line in data[:data.rfind(b"\n") + 1].splitlines()]
        own = sum(line["event"] == "request" for line in lines)
        lost = sum(line.get("lines", 0) for line in lines)
        if own + lost >= wanted:
            break
    return own, lost


def load(options, late):
    end, write = os.pipe()
    daemon = Daemon("--log-level", "info", stderr=write)
    os.close(write)
    wrong = 0
    clients = Clients(daemon, options.requests, options.clients)
    times = watch(daemon, clients)
    lost = int(daemon.metric("log_lines_dropped_total"))
    own, reported = read_lines(end, options.requests) if late else (0, 0)
    begin = time.monotonic()
    code = daemon.stop()
    took = time.monotonic() - begin
    os.close(end)
    print(f"{'read late' if late else 'never read':12} answered {clients.answered} of {options.requests}; /livez p50 "
          f"{times[len(times) // 2]:.1f} ms, p99 {times[len(times) * 99 // 100]:.1f} ms; {lost} lines lost; ended after "
          f"{took:.2f} s" + (f"; {own} lines came, {reported} were reported as lost" if late else ""), flush=True)
    wrong += clients.answered != options.requests or code != 0 or not lost
    wrong += late and (own + reported != options.requests or reported != lost)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=20000, help="of each load (20000)")
    parser.add_argument("--clients", type=int, default=4, help="at a time; divides the requests (4)")
    options = parser.parse_args()
    sys.exit(1 if sum(load(options, late) for late in (False, True)) else 0)


if __name__ == "__main__":
    main()
