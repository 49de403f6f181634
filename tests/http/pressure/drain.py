#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the end of the daemon takes after SIGTERM, while clients hold it up.

Each load begins uploads and lets them stand; SIGTERM follows 0.2 s later. Goal: drain_body_ms (1 s), and a second more at
most; whoever moves is served. A load fails where the end takes longer than --longest seconds, the daemon does not end with
0, or an upload that moves is not served."""
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
    """In 20 pieces, 0.1 s apart: the status."""
    sent, piece = 1000, len(PICTURE) // 20 + 1
    try:
        for at in range(sent, len(PICTURE), piece):
            moving.sendall(PICTURE[at:at + piece])
            time.sleep(0.1)
        answer = moving.recv(100)
    except OSError:
        answer = b""  # it was let go
    moving.close()
    return answer.startswith(b"HTTP/1.1 200 ")


def trickle(clients, ended):
    """A byte of each ten times a second."""
    while not ended.wait(0.1):
        for s in clients:
            try:
                s.send(b"x")
            except OSError:
                pass  # it was let go


# Uploads that stand, as many bytes of each as are sent; whether a byte of each follows now and then; whether one more is
# sent to its end meanwhile.
LOADS = {
    "one without its last byte": (1, len(PICTURE) - 1, False, False),
    "one without a byte": (1, 0, False, False),
    "200 in the middle": (200, 1000, False, False),
    "200 in the middle, and one that moves": (200, 1000, False, True),
    "200 in the middle, ten bytes a second of each": (200, 1000, True, False),
}


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
    good = code == 0 and served and seconds < longest
    print(f"{'' if good else 'FAILED '}{name}: ended after {seconds:.2f} s{', the other was served' if moves and served else ''}",
          flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=float, default=10, help="seconds that an end may take (10)")
    arguments = parser.parse_args()
    return 0 if all([run(name, arguments.longest) for name in LOADS]) else 1


if __name__ == "__main__":
    sys.exit(main())
