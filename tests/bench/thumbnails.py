#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""thumbnails.py BURIN [--rounds N] [--seconds S] - a JPEG of 1920x1080 to one of 320 pixels through HTTP, at concurrency 16, daemon
and client on this machine's own cores: Burin, and fastify + sharp, which decodes all of the picture and which decodes a half or a
quarter of it (shrink on load; other pixels). Round by round, so that what else runs on the machine meets all of them.

Needs `make tools`, photographs (tests/bench/photos.py build/photos) and `npm install` in tests/bench/sharp. Prints every round and
the medians, requests a second."""
import argparse
import glob
import statistics
import subprocess
import sys
import time

from share import service

PORT = 8311
WAYS = {"burin": (PORT, "/resize?width=320"), "sharp": (PORT + 1, "/thumbnail"), "sharp, shrink on load": (PORT + 1, "/thumbnail?shrink=true")}


def measure(rounds, seconds):
    photographs = sorted(glob.glob("build/photos/large*.jpg")) or sys.exit("thumbnails.py: there are no photographs in build/photos")
    rates = {name: [] for name in WAYS}
    for _ in range(rounds):
        for name, (port, path) in WAYS.items():
            rates[name].append(service(photographs, seconds, port, path))
        print("  ".join(f"{name} {rate[-1]:.1f}" for name, rate in rates.items()), flush=True)
    medians = {name: statistics.median(rate) for name, rate in rates.items()}
    for name, median in medians.items():
        print(f"{name}: median {median:.1f} a second; burin makes {medians['burin'] / median:.2f} times as many")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("burin")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--seconds", default="3")
    options = arguments.parse_args()
    peer = subprocess.Popen(["node", "server.mjs", str(PORT + 1)], cwd="tests/bench/sharp", stdout=subprocess.DEVNULL)
    daemon = subprocess.Popen([options.burin, "serve", "--listen", f"127.0.0.1:{PORT}", "--log-level", "error"], stdout=subprocess.DEVNULL)
    try:
        while subprocess.run([options.burin, "health", "--url", f"http://127.0.0.1:{PORT}"], capture_output=True).returncode:
            time.sleep(0.1)
        time.sleep(2)  # the peer listens by then
        measure(options.rounds, options.seconds)
    finally:
        for process in (daemon, peer):
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
