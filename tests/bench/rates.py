#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rates.py [BURIN] [--seconds S] [--devices auto,cuda,cpu] [--rows large:1,64,128 small:64,128,256] [--json FILE] - requests a
second through HTTP, what they cost, and on whose cores: JPEG photographs, twelve in turn, histeq, the client on the daemon's cores.

Two programs are compared in one run, each row by turns: BEFORE=path AFTER=path rates.py. Both daemons stand all the while; the
one that is not asked is idle. Prints for each row: requests a second, p50 and p99 in ms, answers that failed and, among these,
those that differed from earlier ones; then microseconds of a core a request of front, workers and client, and how many cores they had.

Needs `load` (make tools, or the bundle's) and photographs (tests/bench/photos.py build/photos, or the bundle's). A phone's photographs to
thumbnails: --path '/resize?width=320' --rows phone:1,16,64. Other files, with --files A B...: one row for each number of connections given by --connections. Ends 1 where an answer failed or was wrong."""
import argparse
import glob
import json
import os
import shlex
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TICK = os.sysconf("SC_CLK_TCK")
ROWS = ["large:1,64,128", "small:64,128,256"]
SIZES = {"large": "1080p", "small": "320x240", "phone": "12 MP"}


def newest(*patterns):
    found = [path for pattern in patterns for path in glob.glob(pattern)]
    return max(found, key=os.path.getmtime) if found else None


def load_command():
    if os.path.isfile(f"{HERE}/bin/load"):
        return [f"{HERE}/with", "load"]
    found = newest(f"{HERE}/../../build/*/tests/bench/load")
    return [found] if found else sys.exit("rates.py: there is no load; run make tools")


def photographs(size):
    folder = f"{HERE}/photos" if os.path.isdir(f"{HERE}/photos") else f"{HERE}/../../build/photos"
    found = sorted(glob.glob(f"{folder}/{size}*.jpg"))
    return found or sys.exit(f"rates.py: there are no photographs in {folder}; make them with tests/bench/photos.py")


class Daemon:
    def __init__(self, name, program, flags):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.name, self.program = name, program
        self.process = subprocess.Popen([program, "serve", "--listen", f"127.0.0.1:{self.port}", "--log-level", "error", *flags],
                                        stdout=subprocess.DEVNULL)

    def wait(self):
        """Waits for all workers, the GPUs' too: a daemon is healthy as soon as one of them is."""
        for _ in range(600):
            if self.process.poll() is not None:
                sys.exit(f"rates.py: {self.program} ended with {self.process.returncode}")
            asked = subprocess.run(["curl", "-fs", f"http://127.0.0.1:{self.port}/readyz"], capture_output=True)
            if asked.returncode == 0 and b'"healthy":false' not in asked.stdout.replace(b" ", b""):
                return asked.stdout
            time.sleep(0.1)
        sys.exit(f"rates.py: {self.program} is not ready")

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def seconds(self):
        """Processor seconds so far: the front's, its workers'."""
        workers = [pid for task in glob.glob(f"/proc/{self.process.pid}/task/*/children") for pid in open(task).read().split()]
        return process_seconds(self.process.pid), sum(process_seconds(pid) for pid in workers)


def process_seconds(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / TICK


def ask(daemon, path, files, connections, options):
    """One row: what load measured, and the microseconds of a core a request of front, workers and load."""
    threads = max(1, min(options.threads, connections))
    command = [*load_command(), "--json", "--port", str(daemon.port), "--path", path, "--threads", str(threads),
               "--concurrency", str(connections), "--seconds"]
    subprocess.run([*command, "0.5", *files], stdout=subprocess.DEVNULL)  # caches, learned costs
    front, workers = daemon.seconds()
    client = subprocess.Popen([*command, str(options.seconds), *files], stdout=subprocess.PIPE)
    text = client.stdout.read()
    _, status, usage = os.wait4(client.pid, 0)
    client.returncode = os.waitstatus_to_exitcode(status)
    front_now, workers_now = daemon.seconds()
    row, = json.loads(text)
    spent = {"front": front_now - front, "worker": workers_now - workers, "load": usage.ru_utime + usage.ru_stime}
    seconds = row["requests"] / row["requests_s"] if row["requests_s"] else options.seconds
    row.update({f"{who}_us": value * 1e6 / max(1, row["requests"]) for who, value in spent.items()})
    row.update({f"{who}_cores": value / seconds for who, value in spent.items()})
    return row


def show(name, what, device, row):
    print(f"{name:8} {what:8} {device:5} {row['concurrency']:5} {row['requests_s']:10.1f} {row['p50_ms']:8.2f} {row['p99_ms']:8.2f} "
          f"{row['failed']:6} {row.get('wrong', 0):6}  {row['front_us']:8.1f} {row['worker_us']:9.1f} {row['load_us']:7.1f}  "
          f"{row['front_cores']:5.2f} {row['worker_cores']:6.2f} {row['load_cores']:5.2f}", flush=True)


def plan(options):
    """[(what, files, connections)...]"""
    if options.files:
        return [("files", options.files, int(n)) for n in options.connections.split(",")]
    rows = [row.partition(":") for row in options.rows]
    return [(SIZES.get(size, size), photographs(size), int(n)) for size, _, counts in rows for n in counts.split(",")]


def measure(daemons, devices, options):
    found = []
    print(f"{'program':8} {'what':8} {'on':5} {'conns':>5} {'requests/s':>10} {'p50 ms':>8} {'p99 ms':>8} {'failed':>6} {'wrong':>6}  "
          f"{'front us':>8} {'worker us':>9} {'load us':>7}  {'front':>5} {'worker':>6} {'load':>5} cores", flush=True)
    for what, files, connections in plan(options):
        for device in devices:
            path = options.path + ("" if device == "auto" else ("&" if "?" in options.path else "?") + f"device={device}")
            for daemon in daemons:
                row = ask(daemon, path, files, connections, options)
                show(daemon.name, what, device, row)
                found.append({"program": daemon.name, "what": what, "device": device, **row})
    return found


def parse():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("burin", nargs="?")
    arguments.add_argument("--seconds", type=float, default=5, help="of a row, 8 at most (default 5)")
    arguments.add_argument("--devices", default="auto,cuda,cpu", help="cuda is left out where there is no GPU")
    arguments.add_argument("--rows", nargs="+", default=ROWS)
    arguments.add_argument("--files", nargs="+")
    arguments.add_argument("--connections", default="64,128")
    arguments.add_argument("--path", default="/histeq")
    arguments.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 1) // 8), help="of load (default: an eighth of the cores)")
    arguments.add_argument("--flags", default="", help="further ones of `burin serve`, for both programs")
    arguments.add_argument("--json", help="a file for all rows")
    return arguments.parse_args()


def programs(options):
    """[(name, path)...]"""
    given = [(name.lower(), os.environ[name]) for name in ("BEFORE", "AFTER") if os.environ.get(name)]
    if options.burin or not given:
        here = options.burin or (f"{HERE}/burin" if os.path.isfile(f"{HERE}/burin") else f"{HERE}/../../build/burin")
        given.append(("after" if given and "AFTER" not in os.environ else "burin", here))
    return given


def main():
    options = parse()
    options.seconds = min(options.seconds, 8)
    daemons = []
    try:
        for name, program in programs(options):
            daemons.append(Daemon(name, program, shlex.split(options.flags)))
        ready = [daemon.wait() for daemon in daemons]
        has_gpu = all(b"cuda:0" in text for text in ready)
        devices = [device for device in options.devices.split(",") if has_gpu or device != "cuda"]
        print(f"{os.cpu_count()} cores, {'a GPU' if has_gpu else 'no GPU'}, load on {options.threads} threads of the same cores")
        found = measure(daemons, devices, options)
    finally:
        for daemon in daemons:
            daemon.stop()
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)
    return 1 if any(row["failed"] for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
