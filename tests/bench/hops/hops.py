#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How many files one request goes through, and how often it passes from one to another.

    tests/bench/hops/hops.py [--form] [--list]     in the root of the tree; needs gcc, curl, addr2line

Builds the CPU daemon into build/hops with every function instrumented (record.c), without
optimisation, starts it, and sends `POST /histeq` with one small PNM, raw or with --form as curl -F
does, on a connection of its own. A hop is a pair of functions in different sources, the one called
by the other at least once in EACH of five requests (so what timers do beside them does not count),
from the connection's first event to its last, worker included. A callback counts as called by the
function that entered the library; a header's inline function counts as part of its caller. Both
ways: pairs of files that call each other, so that neither can be read first."""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = ROOT / "build/hops"
RECORDS = 1 << 20
ROUNDS = 5


def build():
    BUILD.mkdir(parents=True, exist_ok=True)
    recorder = BUILD / "record.o"
    subprocess.run(["gcc", "-O1", "-fPIE", "-c", ROOT / "tests/bench/hops/record.c", "-o", recorder], check=True)
    libs = "-lmicrohttpd -ljpeg -lz -lwebp -ljansson -lisal -lm -ldl"
    subprocess.run(["make", "-s", "-j2", "all", "CUDA=0", "B=build/hops", "PROGRAM=build/hops/burin",
                    "CC=gcc -finstrument-functions", f"LIBS={recorder} {libs}",
                    "CFLAGS=-std=c17 -O0 -g -fPIE -pthread -D_GNU_SOURCE -I. -Ibuild/hops"],
                   cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def pairs(data):
    count = struct.unpack_from("QQ", data, 0)[1]
    assert 0 < count < RECORDS, f"{count} records"
    return set(struct.iter_unpack("QQ", data[16:16 + 16 * count]))


def record(form):
    """Pairs of offsets that each of ROUNDS requests has."""
    log, image, socket = BUILD / "calls", BUILD / "in.pgm", BUILD / "socket"
    log.write_bytes(bytes(16 + 16 * RECORDS))
    image.write_bytes(b"P5\n16 16\n255\n" + bytes(range(256)))
    daemon = subprocess.Popen([BUILD / "burin", "serve", "--listen", f"unix:{socket}", "--log-level", "error"],
                              env=os.environ | {"HOPS": str(log)}, stdout=subprocess.DEVNULL)
    try:
        curl = ["curl", "-sf", "--retry", "20", "--retry-all-errors", "--retry-delay", "1", "--unix-socket", socket,
                *(["-F", f"image=@{image}"] if form else ["--data-binary", f"@{image}"]),
                "http://localhost/histeq", "-o", "/dev/null"]
        common = None
        for at in range(ROUNDS + 1):
            with open(log, "r+b") as file:
                file.write(struct.pack("QQ", 1, 0))
            subprocess.run(curl, check=True)
            time.sleep(0.05)  # the connection's end
            with open(log, "r+b") as file:
                file.write(struct.pack("Q", 0))
            found = pairs(log.read_bytes())
            if at:  # the first one finds everything cold
                common = found if common is None else common & found
            time.sleep(0.3)
        return common
    finally:
        daemon.terminate()
        daemon.wait()


def names(offsets):
    """{offset: (function, file)}."""
    text = "\n".join(hex(o) for o in offsets)
    out = subprocess.run(["addr2line", "-f", "-e", BUILD / "burin"], input=text, text=True,
                         capture_output=True, check=True).stdout.split("\n")
    where = {}
    for at, offset in enumerate(offsets):
        path = out[2 * at + 1].rsplit(":", 1)[0]
        where[offset] = (out[2 * at], os.path.relpath(path, ROOT) if path.startswith("/") else path)
    return where


def without_headers(calls, where):
    """An inline function of a header counts as part of its caller."""
    inline = {o for o, (_, file) in where.items() if file.endswith(".h")}
    callers = {}
    for caller, callee in calls:
        callers.setdefault(callee, set()).add(caller)

    def real(caller):
        return {r for c in callers.get(caller, ()) for r in real(c)} if caller in inline else {caller}

    return {(r, callee) for caller, callee in calls if callee not in inline for r in real(caller)}


def main():
    if "-h" in sys.argv or "--help" in sys.argv:
        print(__doc__)
        return
    for tool in ("gcc", "curl", "addr2line"):
        if not shutil.which(tool):
            sys.exit(f"hops.py needs {tool}")
    build()
    calls = record("--form" in sys.argv)
    where = names(sorted({o for pair in calls for o in pair if o}))
    hops = sorted({(where[a], where[b]) for a, b in without_headers(calls, where)
                   if a and where[a][1] != where[b][1]})
    files = sorted({file for _, file in where.values() if file.endswith(".c")})
    steps = {(a[1], b[1]) for a, b in hops}
    mutual = sorted((a, b) for a, b in steps if a < b and (b, a) in steps)
    if "--list" in sys.argv:
        for (caller, one), (callee, other) in hops:
            print(f"{one}:{caller} -> {other}:{callee}")
        print(*files, *(f"{a} <-> {b}" for a, b in mutual), sep="\n")
    http = sum(f.startswith("server/http/") for f in files)
    print(f"{len(hops)} hops, {len(steps)} pairs of files, {len(mutual)} of them both ways; "
          f"{len(files)} files, {http} of them in server/http")


if __name__ == "__main__":
    main()
