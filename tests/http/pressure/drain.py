#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the daemon takes to end after SIGTERM, while clients hold it up.

Each load begins uploads and stops sending, or reads an answer slowly or not at all, or leaves while its job runs; SIGTERM
follows 0.2 s later. Goal: an end within drain_client_ms (1 s) and one second more; two seconds more for a client that moves
at nearly the required rate. A client that moves faster is served. A load fails where the end takes longer than --longest
seconds, the daemon does not exit with 0, or an upload that moves is not served."""
import argparse
import signal
import socket
import sys
import threading
import time

from daemon import Daemon, head, pnm

PICTURE = pnm(400, 400)


def upload(daemon, text):
    s = socket.create_connection(daemon.address, 60)
    s.sendall(text)
    return s


def stalled(daemon, count, sent):
    return [upload(daemon, head(len(PICTURE)) + PICTURE[:sent]) for _ in range(count)]


def finish(moving):
    """Sends the rest in 20 pieces, 0.02 s apart; returns whether the answer is 200."""
    sent, piece = 1000, len(PICTURE) // 20 + 1
    try:
        for at in range(sent, len(PICTURE), piece):
            moving.sendall(PICTURE[at:at + piece])
            time.sleep(0.02)
        answer = moving.recv(100)
    except OSError:
        answer = b""  # the daemon closed it
    moving.close()
    return answer.startswith(b"HTTP/1.1 200 ")


def trickle(clients, ended):
    """Sends a byte on each connection ten times a second."""
    while not ended.wait(0.1):
        for s in clients:
            try:
                s.send(b"x")
            except OSError:
                pass  # the daemon closed it


# name: (stalled uploads, bytes sent of each, whether each then sends a byte now and then, whether one more upload is sent to
# its end meanwhile)
LOADS = {
    "one without its last byte": (1, len(PICTURE) - 1, False, False),
    "one without a byte": (1, 0, False, False),
    "200 in the middle": (200, 1000, False, False),
    "200 in the middle, and one that moves": (200, 1000, False, True),
    "200 in the middle, ten bytes a second of each": (200, 1000, True, False),
}


def end(daemon):
    """Seconds until the daemon has ended, and its exit code."""
    begin = time.monotonic()
    daemon.process.send_signal(signal.SIGTERM)
    code = daemon.stop(signalled=True)
    return time.monotonic() - begin, code


# Bytes a second that the client reads of an answer of 16 MB.
READERS = {"an answer that nobody takes": 0, "an answer at 100 bytes a second": 100, "an answer at 70 KB a second": 70000}


def take(s, rate, ended):
    while not ended.wait(0.05):
        try:
            s.recv(max(1, rate // 20))
        except OSError:
            return  # the daemon closed it


def run_reader(name, longest):
    daemon, ended = Daemon(), threading.Event()
    body = pnm(4000, 4000)
    s = upload(daemon, head(len(body)) + body)
    s.recv(1)
    if READERS[name]:
        threading.Thread(target=take, args=(s, READERS[name], ended)).start()
    time.sleep(0.2)
    seconds, code = end(daemon)
    ended.set()
    s.close()
    return show(name, seconds, code == 0 and seconds < longest)


def run_left(longest):
    """The client of an AVIF job leaves; its encoder cannot be interrupted. Needs libavif."""
    name = "a job whose client has left"
    daemon = Daemon()
    body = pnm(4000, 4000)
    s = upload(daemon, head(len(body), "/histeq?type=avif&effort=6") + body)
    if not daemon.becomes("jobs_in_progress", lambda now: now >= 1):
        return show(f"{name}: the job did not begin", 0, False)
    s.close()
    time.sleep(0.2)
    seconds, code = end(daemon)
    return show(name, seconds, code == 0 and seconds < longest)


def show(name, seconds, good):
    print(f"{'' if good else 'FAILED '}{name}: ended after {seconds:.2f} s", flush=True)
    return good


def run(name, longest):
    count, sent, trickles, moves = LOADS[name]
    ended = threading.Event()
    daemon = Daemon()
    clients = stalled(daemon, count, sent)
    moving = upload(daemon, head(len(PICTURE)) + PICTURE[:1000]) if moves else None
    if not daemon.becomes("requests_in_progress", lambda now: now >= count + 1):
        print(f"FAILED {name}: the uploads did not begin")
        return False
    time.sleep(0.2)
    if trickles:
        threading.Thread(target=trickle, args=(clients, ended)).start()
    begin = time.monotonic()
    daemon.process.send_signal(signal.SIGTERM)
    served = finish(moving) if moves else True
    code = daemon.stop(signalled=True)
    seconds = time.monotonic() - begin
    ended.set()
    for s in clients:
        s.close()
    return show(name + (", which was served" if moves and served else ""), seconds, code == 0 and served and seconds < longest)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=float, default=10, help="seconds that an end may take (10)")
    arguments = parser.parse_args()
    good = [run(name, arguments.longest) for name in LOADS] + [run_reader(name, arguments.longest) for name in READERS]
    return 0 if all([*good, run_left(arguments.longest)]) else 1


if __name__ == "__main__":
    sys.exit(main())
