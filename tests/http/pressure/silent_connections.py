#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""More connections than allowed, on which nothing is asked: are other clients served?

Each load opens 1,500 connections to a daemon that allows 1,024, then asks for /livez and for small pictures on the same
address, each on a new connection. The last load goes on opening silent connections as fast as one thread can. Shown is how
many requests were answered, and how long the slowest took. Goal: all. A load fails where one is not answered within
--longest seconds, or where no connection was closed by the daemon, so nothing was tested."""
import argparse
import resource
import socket
import sys
import threading
import time

from daemon import Daemon, head, pnm

COUNT, ASKED = 1500, 20
PICTURE = pnm(64, 64)


def connect(daemon, text=b"", reads=False):
    s = socket.create_connection(daemon.address, 60)
    if text:
        s.sendall(text)
    if reads:
        s.settimeout(10)
        try:
            s.recv(4096)
        except OSError:
            pass  # the daemon closed it
    return s


class Crowd:
    def __init__(self, daemon, text=b"", reads=False):
        self.sockets = [connect(daemon, text, reads) for _ in range(COUNT)]

    def close(self):
        for s in self.sockets:
            s.close()


class Flood:
    """Opens silent connections without end, and now and then closes those that the daemon has closed."""

    def __init__(self, daemon):
        self.done, self.opened, self.daemon, self.sockets = False, 0, daemon, []
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        time.sleep(2)

    def run(self):
        while not self.done:
            try:
                self.sockets.append(connect(self.daemon))
                self.opened += 1
            except OSError:
                pass
            if len(self.sockets) > 3000:
                for s in self.sockets[:1000]:
                    s.close()
                del self.sockets[:1000]

    def close(self):
        self.done = True
        self.thread.join()
        Crowd.close(self)
        print(f"  ({self.opened} silent connections were opened)")


LOADS = {
    "silent": lambda d: Crowd(d),
    "half a head": lambda d: Crowd(d, b"POST /histeq HTTP/1.1\r\nHost: x\r\nX: "),
    "idle after an answer": lambda d: Crowd(d, b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", True),
    "a head, and no byte of its body": lambda d: Crowd(d, head(10000)),
    "silent, and ever more of them": Flood,
}


def run(name, longest):
    daemon = Daemon("--header-ms", "120000", "--keep-alive-ms", "120000", "--body-ms", "120000")
    crowd = LOADS[name](daemon)
    answered, times = 0, []
    for i in range(2 * ASKED):
        begin = time.monotonic()
        work = i % 2
        status, _ = daemon.ask("POST" if work else "GET", "/histeq" if work else "/livez", PICTURE if work else None, longest)
        times.append(time.monotonic() - begin)
        answered += status == 200
    crowd.close()
    gone = daemon.metric(r'connections_ended_total\{reason="crowded"\}')
    daemon.stop()
    good = answered == 2 * ASKED and gone > 0
    times.sort()
    print(f"{'' if good else 'FAILED '}{name}: {answered} of {2 * ASKED} answered, half within {times[ASKED] * 1000:.0f} ms, the "
          f"slowest {times[-1]:.2f} s ({gone:.0f} let go)", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=float, default=5, help="seconds to wait for each answer (5)")
    arguments = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return 0 if all([run(name, arguments.longest) for name in LOADS]) else 1


if __name__ == "__main__":
    sys.exit(main())
