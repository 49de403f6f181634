#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nginx.py BURIN [--rounds N] [--seconds S] - requests a second through docker/nginx.conf beside those of a daemon asked directly, in
turn, round by round; daemon, nginx and client on this machine's own cores. Both of nginx' servers are the one daemon, so that the same
work is compared. Where other work is on the machine the rates vary; the processor time that a request takes of the daemon and of nginx
varies less, and is printed too. Needs `make tools`, and Debian's nginx (unpacked below build/ where it is not installed). Prints every round and the
medians."""
import argparse
import glob
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("burin")
options.add_argument("--rounds", type=int, default=5)
options.add_argument("--seconds", default="3")
options.add_argument("--concurrency", default="16")
options = options.parse_args()
os.environ["BURIN"] = os.path.abspath(options.burin)
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "../docker"), os.path.join(here, "../http")]
from conftest import Daemon, cpu_seconds, jpeg, noise, pnm, smooth  # noqa: E402
from test_nginx import Nginx  # noqa: E402

PICTURES = {"JPEG 320x240": jpeg(smooth(320, 240)), "JPEG 1920x1080": jpeg(smooth(1920, 1080)),
            "PNM 1200x1000, 3.6 MB": pnm(noise(1200, 1000, 3))}


def load(port, file):
    tools = sorted(glob.glob(f"{here}/../../build/*/tests/bench/load"), key=os.path.getmtime) or sys.exit("nginx.py: run make tools")
    done = subprocess.run([tools[-1], "--json", "--port", str(port), "--concurrency", options.concurrency, "--seconds",
                           options.seconds, file], capture_output=True, text=True)
    row, = json.loads(done.stdout)
    assert not row["failed"], row
    return row


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(child) for child in f.read().split()]


def used(daemon, nginx):
    """Seconds of a processor: of the daemon with its workers, and of nginx with its own."""
    return (sum(cpu_seconds(pid) for pid in (daemon.process.pid, *daemon.children())),
            sum(cpu_seconds(pid) for pid in (nginx.process.pid, *children(nginx.process.pid))))


def measure(name, daemon, nginx, file):
    rates, costs = {"direct": [], "nginx": []}, {"direct": [], "nginx": []}
    for _ in range(options.rounds):
        rows = {}
        for way, port in ("direct", daemon.port), ("nginx", nginx.port):
            before = used(daemon, nginx)
            row = rows[way] = load(port, file)
            rates[way].append(row["requests_s"])
            costs[way].append([(now - then) / row["requests"] * 1e3 for now, then in zip(used(daemon, nginx), before)])
        print(f"{name}: " + ", ".join(f"{way} {row['requests_s']:.0f} a second, p50 {row['p50_ms']:.1f} ms, p99 {row['p99_ms']:.1f} ms"
                                      for way, row in rows.items()), flush=True)
    direct, through = (statistics.median(rates[way]) for way in ("direct", "nginx"))
    print(f"{name}: medians {direct:.0f} direct, {through:.0f} through nginx: {through / direct:.0%}", flush=True)
    alone, behind, own = (statistics.median(cost[part] for cost in costs[way]) for way, part in
                          [("direct", 0), ("nginx", 0), ("nginx", 1)])
    print(f"{name}: a request takes {alone:.2f} ms of a processor; through nginx {behind:.2f} ms, and {own:.2f} ms of nginx", flush=True)


def main():
    daemon = Daemon("--log-level", "error")
    with tempfile.TemporaryDirectory() as folder:
        nginx = Nginx(pathlib.Path(folder), [daemon.port] * 2)
        try:
            for name, picture in PICTURES.items():
                file = os.path.join(folder, "picture")
                pathlib.Path(file).write_bytes(picture)
                measure(name, daemon, nginx, file)
        finally:
            nginx.stop()
            daemon.stop()


main()
