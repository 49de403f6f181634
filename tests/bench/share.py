#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""share.py BURIN [--rounds N] [--seconds S] [--sharp] - what share of its codecs' speed the whole service reaches: JPEG at
concurrency 16, daemon and client on this machine's own cores, between two runs of decode + histeq + encode alone, round by round;
with --sharp a fastify + sharp service in every round too, which decodes and encodes only.

Needs `make tools` and photographs (tests/bench/photos.py build/photos); --sharp: `npm install` in tests/bench/sharp. Prints every
round and the medians, requests a second; what else runs on the machine shows itself in the spread."""
import argparse
import glob
import os
import re
import statistics
import subprocess
import sys
import time

PORT = 8301


def tool(name):
    found = sorted(glob.glob(f"build/*/tests/bench/{name}"), key=os.path.getmtime)
    return found[-1] if found else sys.exit(f"share.py: there is no {name}; run make tools")


def codec(photographs, seconds):
    out = subprocess.run([tool("throughput"), "--seconds", seconds, *photographs], capture_output=True, text=True, check=True).stdout
    return float(re.search(r"([\d.]+) images", out).group(1))


def service(photographs, seconds, port=PORT, path="/histeq"):
    out = subprocess.run([tool("load"), "--port", str(port), "--path", path, "--seconds", seconds, "--concurrency", "16", *photographs],
                         capture_output=True, text=True, check=True).stdout
    row = out.splitlines()[1].split()
    assert row[6] == "0", "requests failed: " + out
    return float(row[1])


def measure(size, rounds, seconds, sharp):
    photographs = sorted(glob.glob(f"build/photos/{size}*.jpg")) or sys.exit("share.py: there are no photographs in build/photos")
    shares, peers = [], []
    for _ in range(rounds):
        before, served, after = codec(photographs, seconds), service(photographs, seconds), codec(photographs, seconds)
        shares.append(2 * served / (before + after))
        print(f"{size}: codec {before:.0f}, service {served:.0f}, codec {after:.0f} a second: {shares[-1]:.3f}", flush=True)
        if sharp:
            peers.append(service(photographs, seconds, PORT + 1, "/decode"))
            print(f"{size}: fastify + sharp {peers[-1]:.0f} a second", flush=True)
    print(f"{size}: median {statistics.median(shares):.3f} of {rounds} rounds, {min(shares):.3f} to {max(shares):.3f}", flush=True)
    if sharp:
        print(f"{size}: fastify + sharp, median {statistics.median(peers):.0f} a second", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("burin")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--seconds", default="3")
    arguments.add_argument("--sharp", action="store_true")
    options = arguments.parse_args()
    peer = options.sharp and subprocess.Popen(["node", "server.mjs", str(PORT + 1)], cwd="tests/bench/sharp", stdout=subprocess.DEVNULL)
    daemon = subprocess.Popen([options.burin, "serve", "--listen", f"127.0.0.1:{PORT}", "--log-level", "error"], stdout=subprocess.DEVNULL)
    try:
        while subprocess.run([options.burin, "health", "--url", f"http://127.0.0.1:{PORT}"], capture_output=True).returncode:
            time.sleep(0.1)
        for size in ("small", "large"):
            measure(size, options.rounds, options.seconds, options.sharp)
    finally:
        for process in filter(None, (daemon, peer)):
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
