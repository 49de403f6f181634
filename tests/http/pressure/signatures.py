#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""signatures.py [--count 1000000] [--processes 4] [--seconds 20]
Presses the check of keys:

    mutations   COUNT signed addresses with a change, over pipelined connections: none that means something else is served
    rotation    two keys take turns in the file, each turn by SIGHUP, while PROCESSES clients send requests with the key that is in both
                files: for SECONDS no request is refused

Prints the answers of each status and the requests a second; exits with 0 where none was wrong. Takes about a minute."""
import argparse
import collections
import multiprocessing
import pathlib
import random
import re
import signal
import socket
import sys
import tempfile
import time
from urllib.parse import quote

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from pressure.daemon import Daemon, pnm  # noqa: E402
from signing import Key, write_keys  # noqa: E402
from test_signed import SHOP, meaning, mutated  # noqa: E402

BATCH = 50
STAYS, ONE, TWO = Key("stays", 1), Key("one", 2), Key("two", 3)


class Pipeline:
    """Sends several requests at a time on one connection."""

    def __init__(self, address):
        self.address, self.socket, self.data = address, None, b""

    def send(self, targets, body, header=""):
        """The status of each. Some answers end the connection: the requests behind are sent again on another one."""
        found, tries = [], 0
        while len(found) < len(targets):
            if not self.socket:
                self.socket, self.data = socket.create_connection(self.address, 60), b""
            before = len(found)
            try:
                self.socket.sendall(b"".join(f"POST {target} HTTP/1.1\r\nHost: a\r\n{header}Content-Length: {len(body)}\r\n\r\n".encode() + body
                                             for target in targets[before:]))
                while len(found) < len(targets):
                    found.append(self.status())
            except ConnectionError:
                self.socket = None
                tries = tries + 1 if len(found) == before else 0
                if tries == 10:
                    raise
        return found

    def status(self):
        while True:
            head, end, rest = self.data.partition(b"\r\n\r\n")
            length = int(re.search(rb"Content-Length: (\d+)", head)[1]) if end else 0
            if end and len(rest) >= length:
                self.data = rest[length:]
                return int(head[9:12])
            got = self.socket.recv(1 << 16)
            if not got:
                raise ConnectionError("closed")
            self.data += got


def mutations(address, count, seed):
    chance, body = random.Random(seed), pnm(2, 2)
    good = SHOP.sign("/info", seconds=36000, body_max=5000, in_types="pnm,png")
    same, statuses, wrong = meaning(good), collections.Counter(), []
    pipeline = Pipeline(address)
    for start in range(0, count, BATCH):
        changed = [mutated(chance, good) for _ in range(min(BATCH, count - start))]
        found = pipeline.send([quote(target, safe="/?&=%+-._~:,") for target in changed], body)
        statuses.update(found)
        wrong += [target for target, status in zip(changed, found) if 200 <= status < 300 and meaning(target) != same]
    return statuses, wrong


def requests(address, seconds):
    pipeline, statuses, end = Pipeline(address), collections.Counter(), time.monotonic() + seconds
    body, signed = pnm(8, 8), STAYS.sign("/info", seconds=36000)
    while time.monotonic() < end:
        statuses.update(pipeline.send(["/info"] * BATCH, body, f"Authorization: Bearer {STAYS.token}\r\n"))
        statuses.update(pipeline.send([signed] * BATCH, body))
    return statuses


def run(pool, work, arguments):
    """The results of each process, and the seconds that they took."""
    start = time.monotonic()
    return pool.starmap(work, arguments), time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    folder = tempfile.TemporaryDirectory()
    path = pathlib.Path(folder.name) / "keys.json"
    daemon = Daemon("--keys-file", write_keys(path, SHOP, STAYS, ONE))
    with multiprocessing.Pool(options.processes) as pool:
        found, took = run(pool, mutations, [(daemon.address, options.count // options.processes, seed) for seed in range(options.processes)])
        wrong = sum((bad for _, bad in found), [])
        statuses = sum((counts for counts, _ in found), collections.Counter())
        print(f"mutations  {sum(statuses.values())} addresses, {sum(statuses.values()) / took:.0f} a second: {dict(statuses)}; "
              f"{len(wrong)} served that should not be (goal 0) {wrong[:3]}")
        waiting = pool.starmap_async(requests, [(daemon.address, options.seconds)] * options.processes)
        start, turns = time.monotonic(), 0
        while not waiting.ready():
            write_keys(path, SHOP, STAYS, (ONE, TWO)[turns % 2])
            daemon.process.send_signal(signal.SIGHUP)
            turns += 1
            time.sleep(0.05)
        statuses = sum(waiting.get(), collections.Counter())
        refused = sum(count for status, count in statuses.items() if status != 200)
        print(f"rotation   {turns} times in {time.monotonic() - start:.0f} s, {sum(statuses.values()) / options.seconds:.0f} requests a second: "
              f"{refused} refused (goal 0) {dict(statuses)}")
    daemon.process.terminate()
    daemon.process.wait(60)
    sys.exit(1 if wrong or refused else 0)


if __name__ == "__main__":
    main()
