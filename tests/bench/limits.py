#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""limits.py BURIN [--devices LIST] [--requests N] [--warm-up N] [--only PROPERTY] - four properties of the service, measured on one daemon:

    memory    N mixed requests leave memory, descriptors and slots as they were: all memory together (Pss), each
              process's (VmRSS, Pss) and descriptors at most 2 % up, what is a process's own at most 2 % or 1 MB
    body      1 GB, announced or in chunks, is refused, and memory stays flat
    bomb      a PNG of 50000x50000 in 300 KB is refused from its header, in less than 50 ms at the median
    headers   a request that two parsers could read in two ways is refused once, and one hidden behind it never runs

Prints one table; exit code 1 if a property fails. A body in chunks may grow memory by body_bytes_max, 64 MB, until it is over it.
Runs as root, as only root sees the descriptors of the daemon's processes."""
import argparse
import collections
import http.client
import os
import pathlib
import re
import select
import socket
import statistics
import subprocess
import sys
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "http"))
from request_cases import CASES, IN_THE_BODY, SMUGGLED
from mix import Mix, chunk, png_header

MB = 1 << 20
PARTS = 4
failed = []


def row(what, case, measured, goal, verdict):
    """VERDICT: whether the goal is met, or a text in its place."""
    verdict = verdict if isinstance(verdict, str) else "yes" if verdict else "NO"
    failed.extend([case] * (verdict == "NO"))
    print(f"{what:8} {case:37} {measured:78} {goal:27} {verdict}", flush=True)


# ---- the daemon, and the system's figures of it

class Daemon:
    def __init__(self, burin, devices):
        self.process = subprocess.Popen([burin, "serve", "--listen", "127.0.0.1:0", "--devices", devices, "--log-level", "error"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)", self.process.stdout.readline()).group(1))
        while b'"healthy":false' in self.ask("GET", "/readyz")[1].replace(b" ", b""):
            time.sleep(0.1)  # a GPU's worker comes last

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, {"Connection": "close"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def metric(self, name):
        lines = self.ask("GET", "/metrics")[1].decode().splitlines()
        return int(sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("burin_" + name)))

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), 30)

    def processes(self):
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children")
        children = sorted(int(pid) for task in tasks for pid in task.read_text().split())
        workers = [pid for pid in children if pathlib.Path(f"/proc/{pid}/comm").read_text() != "burin-launcher\n"]
        return {"front": self.process.pid, **{f"worker {i}" if i else "worker": pid for i, pid in enumerate(workers)}}

    def settle(self):
        """Waits for up to half a minute until only this request is in progress, and a second for descriptors to be closed."""
        end = time.monotonic() + 30
        while (self.metric("slots_in_use") or self.metric("requests_in_progress") > 1) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(1)


def kilobytes(pid, key, file="status"):
    return int(re.search(rf"^{key}:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/{file}").read_text(), re.M).group(1))


def held(daemon):
    daemon.settle()
    found = {"all, Pss, kB": 0}
    for name, pid in daemon.processes().items():
        found[f"{name}, descriptors"] = len(os.listdir(f"/proc/{pid}/fd"))
        for key in ("VmRSS", "RssAnon", "RssShmem"):
            found[f"{name}, {key}, kB"] = kilobytes(pid, key)
        found[f"{name}, Pss, kB"] = kilobytes(pid, "Pss", "smaps_rollup")
        found["all, Pss, kB"] += found[f"{name}, Pss, kB"]
    # Counted last: the request itself has a descriptor.
    return {**found, **{name: daemon.metric(name) for name in ("gpu_memory_used_bytes", "pinned_pool_bytes", "slots_in_use")}}


def growing(daemon, work):
    """WORK's result; the MB by which the memory of both processes together grew at its highest, and in the end."""
    daemon.settle()
    pids = daemon.processes().values()
    for pid in pids:
        pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")  # VmHWM starts anew
    before, result = sum(kilobytes(pid, "VmRSS") for pid in pids), work()
    peak = sum(kilobytes(pid, "VmHWM") for pid in pids)
    daemon.settle()
    return result, (peak - before) / 1024, (sum(kilobytes(pid, "VmRSS") for pid in pids) - before) / 1024


# ---- the properties

def measure_memory(daemon, options):
    mix, tally = Mix(daemon), collections.Counter()
    mix.load(options.warm_up)
    states, start = [held(daemon)], time.monotonic()
    for _ in range(PARTS):
        tally += mix.load(options.requests // PARTS)
        states.append(held(daemon))
    counts = ", ".join(f"{count} {status}" for status, count in sorted(tally.items(), key=str))
    row("memory", f"{sum(tally.values())} requests, {time.monotonic() - start:.0f} s", counts, "each its status",
        sum(tally.values()) == options.requests // PARTS * PARTS and " for " not in counts)
    for what, before in states[0].items():
        values = [state[what] for state in states]
        change = f"{100 * (values[-1] - before) / before:+.2f} %" if before else f"{values[-1] - before:+d}"
        room = max(before * 0.02, MB // 1024 if "RssAnon" in what else 0)
        goal = "2 %, or 1 MB, more at most" if "RssAnon" in what else "2 % more at most"
        row("memory", what, f"{change}: {before} before, then {', '.join(map(str, values[1:]))}",
            goal, values[-1] <= before + room)


def push(daemon, head, block, listens):
    """Sends up to 1 GB in blocks; who LISTENS stops at an answer. -> statuses, MB sent, ms until the connection's end"""
    sent, start, left = 0, time.perf_counter(), memoryview(head)
    with daemon.socket() as s:
        try:
            while sent < 1024 * MB and not (listens and select.select([s], [], [], 0)[0]):
                left = left or memoryview(block)
                count = s.send(left)
                left, sent = left[count:], sent + count
        except (BrokenPipeError, ConnectionResetError):
            pass  # its earlier answer can still be read
        return heads(rest(s)), sent / MB, (time.perf_counter() - start) * 1000


def measure_body(daemon, _):
    for framing, block, room in (("Content-Length: 1073741824", bytes(MB), 4),
                                 ("Transfer-Encoding: chunked", b"100000\r\n" + bytes(MB) + b"\r\n", 64 + 4)):
        head = f"POST /histeq HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n".encode()
        for listens in (True, False):
            (statuses, sent, took), peak, after = growing(daemon, lambda: push(daemon, head, block, listens))
            row("body", f"{framing.split(':')[0]}, {'answer awaited' if listens else 'read at the end'}",
                f"{describe(statuses)}; {sent:.0f} MB sent, {took:.0f} ms; {peak:+.1f} MB at most, {after:+.1f} after",
                f"413; +{room} MB, +4 after", statuses == [413] and peak <= room and after <= 4)


def rest(sock):
    """All that comes until the daemon closes."""
    data = b""
    try:
        while got := sock.recv(65536):
            data += got
    except ConnectionResetError:
        pass
    return data


def heads(data):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", data)]


def describe(statuses):
    return f"{' '.join(map(str, statuses)) or 'no answer'}, {len(statuses)} head{'s' * (len(statuses) != 1)}"


def measure_bomb(daemon, _):
    packer, rows = zlib.compressobj(9), bytes((50000 // 8 + 1) * 1000)
    packed = b"".join(packer.compress(rows) for _ in range(50)) + packer.flush()
    bomb, times = png_header(50000, 50000, 1) + chunk(b"IDAT", packed) + chunk(b"IEND", b""), []

    def send():
        start = time.perf_counter()
        status, _ = daemon.ask("POST", "/histeq", bomb)
        times.append((time.perf_counter() - start) * 1000)
        return status

    statuses, peak, _ = growing(daemon, lambda: {send() for _ in range(21)})
    row("bomb", f"50000x50000, {len(bomb) / 1000:.0f} KB, 21 times",
        f"{statuses}; p50 {statistics.median(times):.1f} ms, worst {max(times):.1f}; {peak:+.1f} MB at most",
        "422; p50 under 50 ms, +4 MB", statuses == {422} and statistics.median(times) < 50 and peak <= 4)


def measure_headers(daemon, _):
    for name, data in {**CASES, **IN_THE_BODY}.items():
        before = daemon.metric('requests_total{op="grayscale"')
        with daemon.socket() as s:
            s.sendall(data + SMUGGLED.replace(b"Host:", b"Connection: close\r\nHost:"))
            answer = rest(s)
        found, ran = heads(answer), daemon.metric('requests_total{op="grayscale"') - before
        row("headers", name, describe(found) + ran * "; the next request has run", "400, 1 head",
            found == [400] and not ran and b"\r\nConnection: close\r\n" in answer)


def check_first(burin):
    facts = pathlib.Path("/proc/cpuinfo").read_text()
    names, mhz = re.findall(r"^model name\s*: (.*)", facts, re.M), re.findall(r"^cpu MHz\s*: (\d+)", facts, re.M)
    print(f"{len(names)} cores of {' '.join(names[:1])}, {' '.join(mhz[:1])} MHz\n{time.strftime('%Y-%m-%d')}")
    print(subprocess.run([burin, "version"], capture_output=True, text=True, check=True).stdout.rstrip())
    print("python3", *sys.argv, "\n")
    print(f"{'property':8} {'case':37} {'measured':78} {'goal':27} met", flush=True)


MEASURES = {"memory": measure_memory, "body": measure_body, "bomb": measure_bomb, "headers": measure_headers}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("burin")
    arguments.add_argument("--devices", default="cpu", help="as `burin serve` has it: auto takes GPUs in too (cpu)")
    arguments.add_argument("--requests", type=int, default=20000)
    arguments.add_argument("--warm-up", type=int, default=500, help="requests before memory is looked at first (500)")
    arguments.add_argument("--only", choices=MEASURES)
    options = arguments.parse_args()
    if os.geteuid() != 0:
        sys.exit("limits.py: run it as root: the daemon's processes show their descriptors to nobody else")
    check_first(options.burin)
    daemon = Daemon(options.burin, options.devices)
    try:
        for name, measure in MEASURES.items():
            if options.only in (None, name):
                measure(daemon, options)
    finally:
        daemon.process.terminate()
        daemon.process.wait()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
