#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fairness.py BURIN [--device cuda|cpu] [--side 8192] [--seams 800] [--carvers 2] [--type pnm|jpeg|hard] [--seconds 8] - how long requests
delay small ones: 320x240 through histeq and threshold at 8 connections, alone, then beside two clients that carve 800 seams out of
8192 x 8192 one after the other, or with --type hard send a JPEG that cannot be cut for a GPU. Runs in less than a minute.

Out of build/bundle: python3 fairness.py ./burin, with `load` from bin/. For each operator: requests a second, p50, p99, the worst,
how many failed; then both ratios beside their goals (p50 1.2, p99 2.0), and what the carves took, beside one alone.
Ends 0 where the goals are met and nothing failed."""
import argparse
import glob
import http.client
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

from hard_jpeg import hard_jpeg

HERE = pathlib.Path(__file__).resolve().parent
OPERATORS = {"histeq": "/histeq", "threshold": "/threshold?level=100"}
CONNECTIONS, P50_GOAL, P99_GOAL = 8, 1.2, 2.0


def pgm(width, height, channels=1):
    """Slopes with noise: rows of one long random text, each from another place, so that a large image is made in no time."""
    rng = random.Random(width)
    row = width * channels
    text = bytes(min(255, (i // 7) % 200 + rng.randrange(50)) for i in range(row + 4096))
    return f"P{5 if channels == 1 else 6}\n{width} {height}\n255\n".encode() + b"".join(text[y * 37 % 4096:][:row] for y in range(height))


def tool(name):
    """The bundle's, or the one built last."""
    if (HERE / "bin" / name).exists():
        return [str(HERE / "with"), name]
    found = sorted(glob.glob(str(HERE.parents[1] / f"build/*/tests/bench/{name}")), key=os.path.getmtime)
    return [found[-1]] if found else sys.exit(f"fairness.py: there is no {name}; run make tools")


def post(port, path, body):
    """Status and answer; (0, b"") where the connection broke."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/octet-stream"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


class Carver(threading.Thread):
    """Carves until `stop` is set."""

    def __init__(self, port, path, body):
        super().__init__()
        self.request, self.took_ms, self.bad, self.over = (port, path, body), [], [], threading.Event()

    def run(self):
        while not self.over.is_set():
            began = time.monotonic()
            status, body = post(*self.request)
            if status == 200:
                self.took_ms.append(1000 * (time.monotonic() - began))
            else:
                self.bad.append((status, body[:200]))


def measure(port, path, file, seconds):
    ended = subprocess.run([*tool("load"), "--port", str(port), "--path", path, "--seconds", str(seconds), "--concurrency",
                            str(CONNECTIONS), "--json", file], capture_output=True, text=True)
    lines = json.loads(ended.stdout) if ended.stdout else sys.exit(ended.stderr)
    return lines[0] if isinstance(lines, list) else lines


def show(name, where, row):
    print(f"{name:10} {where:12} {row['requests_s']:12.0f} {row['p50_ms']:9.3f} {row['p99_ms']:9.3f} {row['max_ms']:9.3f} "
          f"{row['failed']:7}", flush=True)


def judge(name, alone, beside):
    p50, p99 = (beside[key] / alone[key] for key in ("p50_ms", "p99_ms"))
    print(f"{name}: p50 {p50:.2f} times (goal {P50_GOAL}), p99 {p99:.2f} times (goal {P99_GOAL}), "
          f"{100 * beside['requests_s'] / alone['requests_s']:.0f} of 100 requests, {beside['failed']} failed")
    return p50 <= P50_GOAL and p99 <= P99_GOAL and not beside["failed"] and not alone["failed"]


def run(port, options, file):
    path = f"/carve?dx=-{options.seams}&type={options.type}&device={options.device}"
    large = pgm(options.side, options.side) if options.type != "hard" else hard_jpeg(options.side)
    if options.type == "hard":
        path = "/histeq?type=jpeg"
    if options.type == "jpeg":
        _, large = post(port, "/brightness?type=jpeg", large)
    first = Carver(port, path, large)
    for turn in range(3):  # the first one pins memory
        status, body = post(port, path, large) if turn < 2 else (200, b"")
        if status != 200:
            sys.exit(f"fairness.py: {path} was answered {status}: {body[:300]}")
    began = time.monotonic()
    post(port, path, large)
    lone_ms = 1000 * (time.monotonic() - began)
    paths = {name: path + ("&" if "?" in path else "?") + f"device={options.device}" for name, path in OPERATORS.items()}
    print(f"{'operator':10} {'':12} {'requests/s':>12} {'p50 ms':>9} {'p99 ms':>9} {'max ms':>9} {'failed':>7}")
    alone, beside = {}, {}
    for name in paths:
        measure(port, paths[name], file, 1)
        alone[name] = measure(port, paths[name], file, options.seconds)
        show(name, "alone", alone[name])
    carvers = [first] + [Carver(port, path, large) for _ in range(options.carvers - 1)]
    for carver in carvers:
        carver.start()
    time.sleep(1)
    for name in paths:
        beside[name] = measure(port, paths[name], file, options.seconds)
        show(name, "beside carves", beside[name])
    for carver in carvers:
        carver.over.set()
    for carver in carvers:
        carver.join()
    took = sorted(ms for carver in carvers for ms in carver.took_ms)
    bad = [one for carver in carvers for one in carver.bad]
    print(f"carves: {len(took)} done, {took[len(took) // 2] if took else 0:.0f} ms p50, {took[-1] if took else 0:.0f} ms at most, "
          f"{lone_ms:.0f} ms alone, {len(bad)} failed {bad[:1] if bad else ''}")
    good = [judge(name, alone[name], beside[name]) for name in paths]
    return all(good) and took and not bad


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("burin")
    arguments.add_argument("--device", default="cuda")
    arguments.add_argument("--side", type=int, default=8192)
    arguments.add_argument("--seams", type=int, default=800)
    arguments.add_argument("--carvers", type=int, default=2)
    arguments.add_argument("--type", choices=("pnm", "jpeg", "hard"), default="pnm",
                           help="of the large images: bodies of 67 or some 20 MB; hard: see hard_jpeg.py, with --side 4096")
    arguments.add_argument("--seconds", type=int, default=8)
    arguments.add_argument("--port", type=int, default=8303)
    arguments.add_argument("--flag", action="append", default=[], help="for the daemon: --flag=--lanes=6")
    options = arguments.parse_args()
    daemon = subprocess.Popen([options.burin, "serve", "--listen", f"127.0.0.1:{options.port}", "--log-level", "error", "--body-bytes-max",
                               "256MiB", *options.flag], stdout=subprocess.DEVNULL)
    try:
        while subprocess.run([options.burin, "health", "--url", f"http://127.0.0.1:{options.port}"], capture_output=True).returncode:
            if daemon.poll() is not None:
                sys.exit("fairness.py: the daemon did not start")
            time.sleep(0.1)
        with tempfile.TemporaryDirectory() as folder:
            status, small = post(options.port, "/brightness?type=jpeg", pgm(320, 240, 3))
            file = os.path.join(folder, "small.jpg")
            pathlib.Path(file).write_bytes(small)
            good = status == 200 and run(options.port, options, file)
    finally:
        daemon.terminate()
        daemon.wait()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
