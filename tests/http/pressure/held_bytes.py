#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that hold what others need (slots, bytes of uploads, bytes of answers) and stand still or are slow.

Each load takes everything there is. Then a new client asks every 50 ms until it is let in; the program shows how long that
took. Goal: body_pressed_ms (2 s) after the holders fell silent, or a second once slow ones are 2 s old. A load fails where
the new client is not let in within --longest seconds, or where no client was refused or disconnected, so nothing was tested."""
import argparse
import selectors
import socket
import sys
import threading
import time

from daemon import Daemon, head, pnm

KIB, MB = 1 << 10, 1000000
PICTURE = pnm(64, 64)


class Clients:
    """COUNT uploads of SIZE bytes: all but LEFT are sent at once, then RATE bytes a second (0: nothing)."""

    def __init__(self, daemon, count, size, left, rate=0):
        self.rate, self.done = rate, False
        self.sockets = []
        body = bytes(size - left)
        for _ in range(count):
            s = socket.create_connection(daemon.address, 60)
            self.sockets.append(s)
            try:
                s.sendall(head(size) + body)
            except OSError:
                pass  # the daemon closed it already
        self.thread = threading.Thread(target=self.trickle)
        self.thread.start()

    def trickle(self):
        """Sends to each ten times a second; connections that the daemon closed are skipped from then on."""
        open_ones, piece = list(self.sockets), bytes(max(1, self.rate // 10))
        while self.rate and not self.done:
            begin = time.monotonic()
            for s in list(open_ones):
                try:
                    s.send(piece)
                except OSError:
                    open_ones.remove(s)
            time.sleep(max(0.001, 0.1 - (time.monotonic() - begin)))

    def close(self):
        self.done = True
        self.thread.join()
        for s in self.sockets:
            s.close()


class Readers:
    """COUNT clients, each with an answer of 16 MB, who read RATE bytes a second of it (0: nothing)."""

    def __init__(self, daemon, count, rate=0):
        self.rate, self.done = rate, False
        body = pnm(4096, 4096)
        self.sockets = []
        for _ in range(count):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * KIB)
            s.settimeout(60)
            s.connect(daemon.address)
            s.sendall(head(len(body), "/histeq?type=pnm") + body)
            self.sockets.append(s)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        selector = selectors.DefaultSelector()
        for s in self.sockets:
            s.setblocking(False)
            selector.register(s, selectors.EVENT_READ)
        while self.rate and not self.done:
            for key, _ in selector.select(0.1):
                try:
                    if not key.fileobj.recv(self.rate // 10):
                        selector.unregister(key.fileobj)
                except OSError:
                    selector.unregister(key.fileobj)
            time.sleep(0.1)

    close = Clients.close


def kept_out(daemon, body, longest):
    """Seconds until a new client is let in, and how often it was refused."""
    begin, refused = time.monotonic(), 0
    while time.monotonic() - begin < longest:
        if daemon.ask("POST", "/histeq", body)[0] == 200:
            return time.monotonic() - begin, refused
        refused += 1
        time.sleep(0.05)
    return None, refused


# name: (flags, the holders for a number of slots, the new client's body, seconds until it asks). Uploads and answers take all
# but less than the new client needs; the holders themselves are never refused.
LOADS = {
    "queue_bytes, silent: 63 of 8.4 MB without 100 bytes":
        ((), lambda d, slots: Clients(d, 63, 8400000, 100), pnm(4000, 2000), 0),
    "queue_bytes, a byte ten times a second behind 8.4 MB":
        ((), lambda d, slots: Clients(d, 63, 8400000, 1000, 1), pnm(4000, 2000), 0),
    "slots, silent: each without its last 100 bytes":
        ((), lambda d, slots: Clients(d, slots, 100000, 100), PICTURE, 0),
    "slots, each 70,000 bytes a second, 3 s old":
        ((), lambda d, slots: Clients(d, slots, 60 * MB, 60 * MB - 1000, 70000), PICTURE, 3),
    "answer_bytes (256 MB), nobody reads":
        (("--answer-bytes", "256MB"), lambda d, slots: Readers(d, 8), PICTURE, 0),
    "answer_bytes (256 MB), each reads 70,000 bytes a second, 3 s old":
        (("--answer-bytes", "256MB"), lambda d, slots: Readers(d, 8, 70000), PICTURE, 3),
}


def is_full(daemon, name):
    if name.startswith("queue"):
        return daemon.becomes("body_bytes_held", lambda held: held > 63 * 8390000)
    if name.startswith("slots"):
        return daemon.becomes("slots_in_use", lambda used: used >= daemon.metric("slots"))
    return daemon.becomes("answer_bytes_held", lambda held: held >= 256 * MB)


def run(name, longest):
    flags, clients, body, age = LOADS[name]
    daemon = Daemon("--connections-max", "2000", *flags)
    load = clients(daemon, int(daemon.metric("slots")))
    full = is_full(daemon, name)
    time.sleep(age)
    seconds, refused = kept_out(daemon, body, longest)
    ended = daemon.metric("connections_ended_total")
    load.close()
    daemon.stop()
    good = full and seconds is not None and refused + ended > 0
    shown = "never let in" if seconds is None else f"{seconds:6.2f} s"
    print(f"{'' if good else 'FAILED '}{name}: kept out {shown} (refused {refused} times, {ended:.0f} let go)", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=float, default=20, help="seconds to wait for each load (20)")
    arguments = parser.parse_args()
    return 0 if all([run(name, arguments.longest) for name in LOADS]) else 1


if __name__ == "__main__":
    sys.exit(main())
