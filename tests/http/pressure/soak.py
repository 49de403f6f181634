#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Half an hour of everything at once: pictures of all kinds, bad files, clients that leave in mid-body or before their answer,
slow ones, and a worker that is killed every two seconds.

Every answer is the one asked for: the same bytes each time, the right refusal for a bad file. At the end slots, descriptors
and the front's memory are where they were after the first minute."""
import argparse
import collections
import http.client
import io
import json
import os
import random
import re
import signal
import socket
import struct
import sys
import threading
import time

import numpy as np
from PIL import Image

from daemon import Daemon, head, pnm

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from conftest import jpeg, noise, png, smooth  # noqa: E402
from conftest import pnm as pnm_of  # noqa: E402


def pictures():
    for width, height in ((64, 48), (320, 240), (500, 375)):
        picture = smooth(width, height)
        yield from (jpeg(picture), jpeg(picture, progressive=True), png(picture), pnm_of(picture), png(noise(width, height, 4)),
                    pnm_of(noise(width, height, 1, 16)))
    picture = smooth(1920, 1080)
    yield from (jpeg(picture), png(picture[:, :, 0]))


PATHS = ("/histeq", "/edge?type=png", "/grayscale?type=jpeg", "/brightness?shift=9", "/carve?dx=-3&type=pnm", "/histogram",
         '/pipeline?type=jpeg&operations=[{"operation":"histeq"},{"operation":"edge"}]')


def bad():
    """Path, body, and the expected status."""
    whole = jpeg(smooth(320, 240))
    return [("/histeq", whole[:3000], 422), ("/histeq", b"no picture", 415), ("/histeq?bins=1", whole, 400),
            ("/histeq", png(smooth(200, 150))[:-20], 422), ("/histeq", b"P6\n8000 8000\n255\nabc", 422), ("/nowhere", whole, 404),
            ("/carve?width=99999", whole, 400)]


def difference(got, right):
    """Where an answer differs from the right one: its bytes or, of a picture, its pixels."""
    if not isinstance(got, bytes):
        return f"{got}, not {right}"
    first = next((i for i, (a, b) in enumerate(zip(got, right)) if a != b), min(len(got), len(right)))
    text = f"{len(got)} bytes in place of {len(right)}, other ones from {first} on"
    try:
        a, b = (np.array(Image.open(io.BytesIO(data))) for data in (got, right))
        places = np.argwhere(a != b)
        return f"{text}; {len(places)} samples, from {places.min(0)} to {places.max(0)}, of {a.shape}"
    except (OSError, ValueError) as error:
        return f"{text}; {error!r}"


class Soak:
    def __init__(self, daemon, seed):
        self.daemon, self.end, self.seed = daemon, False, seed
        self.lock = threading.Lock()
        self.counts, self.wrong = collections.Counter(), []
        self.files = list(pictures())
        self.right = {}

    def count(self, what, wrong=None):
        with self.lock:
            self.counts[what] += 1
            if wrong:
                self.wrong.append(f"{what}: {wrong}")

    def check(self, path, body, status, data, report):
        """An answer, but for its times, equals the first one to the same request. REPORT: the answer's own, for the message."""
        outcome = json.loads(data).get("operations") if data[:1] == b"{" and status == 200 else data
        with self.lock:
            right = self.right.setdefault((path, hash(body)), outcome) if status == 200 else None
        if status == 500 and b"two workers died" in data:
            self.count("killed twice")  # expected: a job that is running at two kills is given up
        elif status != 200:
            self.count("good", f"{path} of {len(body)} bytes was answered {status}: {data[:200]}")
        else:
            self.count("good", None if outcome == right else
                       f"{path} of {len(body)} bytes has another answer: {difference(outcome, right)}; {report}")

    # ---- clients

    def ask(self, connection, path, body):
        """Asks again once where the daemon has closed a connection that idled too long."""
        for attempt in range(2):
            try:
                connection.request("POST", path, body)
                answer = connection.getresponse()
                return answer.status, answer.read(), f"{answer.getheader('X-Burin-Device')} {answer.getheader('X-Burin-Timing')}"
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if attempt or not isinstance(error, (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)):
                    return 0, repr(error).encode(), ""

    def good_client(self, rng):
        connection = http.client.HTTPConnection(*self.daemon.address, timeout=60)
        while not self.end:
            path, body = rng.choice(PATHS), rng.choice(self.files)
            self.check(path, body, *self.ask(connection, path, body))
        connection.close()

    def bad_client(self, rng):
        cases = bad()
        connection = http.client.HTTPConnection(*self.daemon.address, timeout=60)
        while not self.end:
            path, body, wanted = rng.choice(cases)
            status, data, _ = self.ask(connection, path, body)
            self.count("bad", None if status == wanted else f"{path} was answered {status}, not {wanted}: {data[:200]}")
            time.sleep(0.02)
        connection.close()

    def leaving_client(self, rng):
        """Sends all or part of a body; then a FIN or a RST."""
        while not self.end:
            body = rng.choice(self.files)
            try:
                with socket.create_connection(self.daemon.address, 60) as s:
                    s.sendall(head(len(body)) + body[:rng.choice((0, len(body) // 2, len(body)))])
                    if rng.random() < 0.5:
                        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.count("left")
            except OSError as error:
                self.count("left", repr(error))
            time.sleep(0.05)

    def slow_client(self, rng):
        """Sends a picture in twenty pieces, for two seconds, and reads as slowly."""
        while not self.end:
            body = self.files[rng.randrange(6)]
            step = len(body) // 20 + 1
            try:
                with socket.create_connection(self.daemon.address, 60) as s:
                    s.sendall(head(len(body)).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
                    for at in range(0, len(body), step):
                        s.sendall(body[at:at + step])
                        time.sleep(0.1)
                    data = b""
                    while got := s.recv(4096):
                        data += got
                        time.sleep(0.01)
                self.count("slow", None if data.startswith(b"HTTP/1.1 200") else f"{data[:200]}")
            except OSError as error:
                self.count("slow", repr(error))

    def killer(self, _):
        while not self.end:
            time.sleep(2)
            if self.daemon.ask("GET", "/readyz")[0] != 200:
                continue  # a worker that never becomes ready is tested elsewhere
            for pid in list(self.workers()):
                os.kill(pid, signal.SIGKILL)
                self.count("killed")

    # ---- the state of the daemon

    def workers(self):
        for task in os.listdir(f"/proc/{self.daemon.process.pid}/task"):
            with open(f"/proc/{self.daemon.process.pid}/task/{task}/children") as f:
                for pid in map(int, f.read().split()):
                    with open(f"/proc/{pid}/cmdline") as line:
                        if "worker" in line.read().split("\0"):
                            yield pid

    def state(self):
        """Once no request is in progress: the front's own memory in MB, its descriptors, slots in use, whether all ended."""
        idle = self.daemon.becomes("slots_in_use", lambda n: n == 0) and self.daemon.becomes("connections", lambda n: n <= 1)
        descriptors = []
        for _ in range(50):  # a starting worker and the asking connection hold some for a moment
            descriptors.append(len(os.listdir(f"/proc/{self.daemon.process.pid}/fd")))
            time.sleep(0.1)
        with open(f"/proc/{self.daemon.process.pid}/status") as f:
            memory = int(re.search(r"RssAnon:\s+(\d+)", f.read())[1]) / 1024
        return memory, min(descriptors), self.daemon.metric("slots_in_use"), idle

    def press(self, seconds):
        kinds = [self.good_client] * 6 + [self.bad_client] * 2 + [self.leaving_client] * 2 + [self.slow_client] * 2 + [self.killer]
        self.end = False
        threads = [threading.Thread(target=kind, args=(random.Random(self.seed + i),)) for i, kind in enumerate(kinds)]
        self.seed += len(kinds)
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.end = True
        for thread in threads:
            thread.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120, help="all in all; the half hour is --seconds 1800 (120)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flag", action="append", default=[], help="of burin serve, one word each")
    options = parser.parse_args()
    daemon = Daemon(*options.flag)
    soak = Soak(daemon, options.seed)
    assert daemon.ask("POST", "/histeq", pnm(64, 64))[0] == 200
    first = min(60, options.seconds / 4)
    soak.press(first)
    before = soak.state()
    soak.press(options.seconds - first)
    after = soak.state()
    restarts = daemon.metric("worker_restarts_total")
    code = daemon.stop()
    wrong = list(soak.wrong)
    for what, was, now in zip(("MB of its own", "descriptors"), before, after):
        print(f"front, {what}: {was:.1f} after {first:.0f} s, {now:.1f} at the end")
    print(", ".join(f"{what} {count}" for what, count in sorted(soak.counts.items())) + f"; restarts {restarts:.0f}")
    if after[0] - before[0] > max(2, 0.05 * before[0]):
        wrong.append(f"the front's memory grew by {after[0] - before[0]:.1f} MB")
    if after[1] > before[1] or after[2] or not after[3]:
        wrong.append(f"not given back: {before} -> {after}")
    if code:
        wrong.append(f"it ended with {code}")
    print("\n".join(wrong[:20]) if wrong else "no answer but those that were asked for")
    print(f"wrong: {len(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
