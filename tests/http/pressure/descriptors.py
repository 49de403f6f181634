#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Few descriptors: more clients connect than may, and stay; a worker is killed; the limit is lowered while the daemon runs.

Shown: how many clients are connected, how long a client waits for an answer after the worker was killed, and what part of
a core the daemon takes while it has no descriptor for waiting clients. Goals: an answer within 0.5 s, 1 % of a core. A load
fails where a request is not answered, or the limit is exceeded."""
import argparse
import http.client
import os
import re
import resource
import signal
import socket
import sys
import time

from daemon import Daemon, pnm

PICTURE = pnm(32, 24)
HOUR_MS = "3600000"
PATIENT = "--header-ms", HOUR_MS, "--keep-alive-ms", HOUR_MS, "--idle-pressed-ms", HOUR_MS


def processor_s(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share(pid, seconds):
    """Percent of a core that PID uses."""
    used, begin = processor_s(pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (processor_s(pid) - used) / (time.monotonic() - begin)


def worker_of(pid):
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as f:
            for child in f.read().split():
                with open(f"/proc/{child}/cmdline", "rb") as g:
                    if b"\0worker\0" in g.read():
                        return int(child)
    sys.exit("there is no worker")


def silent(daemon, count):
    clients = [socket.socket() for _ in range(count)]
    for client in clients:
        client.setblocking(False)
        client.connect_ex(daemon.address)
    return clients


def ask(connection, method="POST", path="/histeq"):
    connection.request(method, path, PICTURE if method == "POST" else None)
    response = connection.getresponse()
    return response.status, response.read()


def connected(connection):
    return int(re.search(rb"^burin_connections (\d+)", ask(connection, "GET", "/metrics")[1], re.M)[1])


def killed(options):
    daemon = Daemon(*PATIENT, command=["prlimit", f"--nofile={options.limit}:{options.limit}"])
    kept = http.client.HTTPConnection(*daemon.address, timeout=60)
    wrong = ask(kept)[0] != 200
    clients = silent(daemon, options.connections)
    time.sleep(1)
    idle, waits = share(daemon.process.pid, 2), []
    for _ in range(options.kills):
        os.kill(worker_of(daemon.process.pid), signal.SIGKILL)
        begin = time.monotonic()
        wrong += ask(kept)[0] != 200
        waits.append(time.monotonic() - begin)
    print(f"limit {options.limit}: {connected(kept)} of {options.connections + 1} are connected; {idle:.1f} % of a core; "
          f"an answer after each of {options.kills} kills within {max(waits):.2f} s", flush=True)
    wrong += len(os.listdir(f"/proc/{daemon.process.pid}/fd")) > options.limit
    for client in clients:
        client.close()
    kept.close()
    return wrong + (daemon.stop() != 0)


def lowered(options):
    daemon = Daemon(*PATIENT)
    pid = daemon.process.pid
    limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    highest = max(int(fd) for fd in os.listdir(f"/proc/{pid}/fd"))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 1, limit[1]))
    clients = silent(daemon, 10)
    time.sleep(1)
    print(f"no descriptor is left, and {len(clients)} want one: {share(pid, 3):.1f} % of a core", flush=True)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)
    wrong = daemon.ask("POST", "/histeq", PICTURE)[0] != 200
    for client in clients:
        client.close()
    return wrong + (daemon.stop() != 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=1024, help="of open files (1024)")
    parser.add_argument("--connections", type=int, default=1200, help="that are made and stay (1200)")
    parser.add_argument("--kills", type=int, default=5, help="of the worker (5)")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sys.exit(1 if killed(options) + lowered(options) else 0)


if __name__ == "__main__":
    main()
