#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fairness.py [--seconds 5] [--server 0] [--clients 1] [--only carves,photos,flood,both] [-- FLAGS of the daemon]
How much other clients slow one client's small request on a CPU (a JPEG of 4 KB through histeq, one after the other on one connection):

    alone       no other client
    carves      eight clients, each a PNG of 64 megapixels in 65 KB through carve?dx=-4000, again and again
    photos      fifty clients, each a photograph of 4 megapixels through edge, again and again
    flood       one client with 64 connections that send the same small request
    both        the carves and the photos

Each client has an address of its own, 127.0.x.y. The daemon runs on the processors named by --server (none: on all), the clients on those
of --clients; the loading clients have a lower priority than the measuring one, so its figures show the daemon. Prints requests, p50, p99
and the worst in ms, the goal for p99, which is 3 times alone and 5 ms, and how many answers of each status the others got; a carving takes
longer than a phase. Exits with 0 where no small request failed and the photographs and the flood were answered too; times are for people,
as a busy machine changes them. Takes about a minute."""
import argparse
import http.client
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import numpy as np
from PIL import Image

TOP = pathlib.Path(__file__).resolve().parents[3]
BURIN = os.environ.get("BURIN", TOP / "build/burin")
LOAD = pathlib.Path(os.environ.get("BENCH_PROGRAMS", TOP / "build/cpu/tests/bench")) / "load"


def jpeg(width, height, quality):
    y, x = np.mgrid[0:height, 0:width].astype(float)
    planes = [120 + 60 * np.sin(x / (17 + 5 * c)) + 50 * np.cos(y / (23 + 3 * c)) for c in range(3)]
    picture = np.stack(planes, -1) + np.random.default_rng(3).normal(0, 3, (height, width, 3))
    out = io.BytesIO()
    Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8)).save(out, "JPEG", quality=quality)
    return out.getvalue()


def even_png(side):
    """Gray and even: 64 megapixels are 65 KB."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(9)
    row = bytes(side + 1)
    data = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) + chunk(b"IDAT", data)
            + chunk(b"IEND", b""))


def post(connection, path, body):
    """Status; 0 where the connection broke."""
    try:
        connection.request("POST", path, body, {"Content-Type": "application/octet-stream"})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException):
        connection.close()
        return 0


def connect(port, source):
    return http.client.HTTPConnection("127.0.0.1", port, timeout=120, source_address=(source, 0))


class Others:
    """Clients that send one request after the other, each from an address of its own, in a process of their own."""

    def __init__(self, port, count, network, path, body):
        reading, self.writing = os.pipe()
        self.results, results = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.writing)
            self.run(port, count, network, path, body, reading, results)
            os._exit(0)
        os.close(reading)
        os.close(results)

    @staticmethod
    def run(port, count, network, path, body, reading, results):
        os.nice(10)
        statuses, over = [], threading.Event()

        def client(number):
            while not over.is_set():
                status = post(connect(port, f"127.0.{network}.{number + 1}"), path, body)
                statuses.append(status)
                if status != 200:
                    time.sleep(0.1)

        threads = [threading.Thread(target=client, args=(i,), daemon=True) for i in range(count)]
        for thread in threads:
            thread.start()
        os.read(reading, 1)
        os.write(results, json.dumps(statuses).encode())

    def end(self):
        """{status: count} of the requests answered so far."""
        os.write(self.writing, b".")
        os.close(self.writing)
        text = b""
        while piece := os.read(self.results, 1 << 16):
            text += piece
        os.close(self.results)
        os.waitpid(self.pid, 0)
        statuses = json.loads(text)
        return {status: statuses.count(status) for status in sorted(set(statuses))}


class Flood:
    def __init__(self, port, file, seconds):
        self.process = subprocess.Popen([LOAD, "--port", str(port), "--path", "/histeq", "--concurrency", "64", "--seconds",
                                         str(seconds + 4), "--json", file], stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: os.nice(10))

    def end(self):
        report = json.loads(self.process.communicate()[0])
        row = report[0] if isinstance(report, list) else report
        return {"requests_s": round(row["requests_s"]), "failed": row["failed"]}


def small_requests(port, body, seconds):
    """Milliseconds of each request, and the statuses other than 200."""
    took, bad = [], []
    connection = connect(port, "127.0.0.9")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        status = post(connection, "/histeq", body)
        took.append(1000 * (time.monotonic() - began))
        if status != 200:
            bad.append(status)
        time.sleep(0.005)
    connection.close()
    return sorted(took), bad


def start(options):
    flags = ["--listen", "127.0.0.1:0", "--devices", "cpu", "--log-level", "error", *options.flags]
    pin = ["taskset", "-c", options.server] if options.server else []
    daemon = subprocess.Popen([*pin, BURIN, "serve", *flags], stdout=subprocess.PIPE, text=True)
    return daemon, int(re.search(r"127\.0\.0\.1:(\d+)", daemon.stdout.readline())[1])


def show(name, took, goal, others):
    at = [took[min(len(took) - 1, len(took) * part // 100)] for part in (50, 99)]
    print(f"{name:10}{len(took):9}{at[0]:10.2f}{at[1]:10.2f}{took[-1]:10.2f}{goal or '':>10}   {others}", flush=True)
    return at[1]


def phase(name, options, pictures):
    """p99, and whether the counts are right."""
    small, photo, large, file = pictures
    daemon, port = start(options)
    others = []
    try:
        took, bad = small_requests(port, small, 1)  # the daemon learns from these how long a job takes
        if name in ("carves", "both"):
            others.append(Others(port, 8, 1, "/carve?dx=-4000&type=jpeg", large))
        if name in ("photos", "both"):
            others.append(Others(port, 50, 2, "/edge?type=jpeg", photo))
        if name == "flood":
            others.append(Flood(port, file, options.seconds))
        time.sleep(2 if others else 0)
        took, bad = small_requests(port, small, options.seconds)
        results = [one.end() for one in others]
        goal = f"{3 * options.alone_p99 + 5:.2f}" if others else None
        p99 = show(name, took, goal, " ".join(map(str, results)) + (f" bad: {bad[:5]}" if bad else ""))
        others_good = name in ("alone", "carves") or any(one.get(200) or one.get("requests_s") for one in results)
        return p99, bool(took) and not bad and others_good
    finally:
        daemon.kill()
        daemon.wait()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=5, help="of each of the loads")
    arguments.add_argument("--server", default="0", help="processors, as taskset takes them; empty: all")
    arguments.add_argument("--clients", default="1")
    arguments.add_argument("--only", default="carves,photos,flood,both")
    arguments.add_argument("flags", nargs="*", help="of the daemon, behind --")
    options = arguments.parse_args()
    if options.clients:
        os.sched_setaffinity(0, {int(c) for c in options.clients.split(",")} & os.sched_getaffinity(0) or os.sched_getaffinity(0))
    small, photo, large = jpeg(192, 144, 60), jpeg(2304, 1728, 85), even_png(8000)
    print(f"small {len(small)} bytes, photograph {len(photo)}, large {len(large)}")
    print(f"{'beside':10}{'requests':>9}{'p50 ms':>10}{'p99 ms':>10}{'max ms':>10}{'goal p99':>10}   others")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "small.jpg")
        pathlib.Path(file).write_bytes(small)
        pictures = small, photo, large, file
        options.alone_p99, good = phase("alone", options, pictures)
        for name in options.only.split(","):
            good = phase(name, options, pictures)[1] and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
