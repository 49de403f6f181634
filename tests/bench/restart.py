#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""restart.py BURIN [--starts N] [--restarts N] - how long a daemon takes from its start until it is ready, and what clients notice
when it is restarted by socket activation: lost requests, and the time of the longest one. A service manager is played by
tests/http/test_systemd.py, whose clients these are: eight, half of them on kept connections, JPEG and PNM of up to 640x480."""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("burin")
options.add_argument("--starts", type=int, default=20)
options.add_argument("--restarts", type=int, default=20)
options.add_argument("--devices", default="cpu", help="as the key of burin serve")
options = options.parse_args()
os.environ["BURIN"] = os.path.abspath(options.burin)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../http"))
from test_systemd import Activated, Clients, Manager, listening  # noqa: E402


class Timed(Clients):
    """Notes how long the longest request took."""
    longest_s = 0

    def ask(self, connection, body):
        begin = time.monotonic()
        super().ask(connection, body)
        self.longest_s = max(self.longest_s, time.monotonic() - begin)


def start(manager, *flags, **env):
    begin = time.monotonic()
    count = len(manager.said("READY=1"))
    daemon = Activated(manager, "--devices", options.devices, *flags, **env)
    while len(manager.said("READY=1")) == count:
        time.sleep(0.0005)
    return daemon, manager.said("READY=1")[-1] - begin


def stop(daemon):
    begin = time.monotonic()
    assert daemon.stop() == 0, daemon.log_text()
    return time.monotonic() - begin


def show(what, seconds):
    print(f"{what}: median {statistics.median(seconds) * 1e3:.0f} ms of {len(seconds)}, {min(seconds) * 1e3:.0f} to "
          f"{max(seconds) * 1e3:.0f} ms", flush=True)


def measure_starts(manager, what, *flags, **env):
    ready = []
    for _ in range(options.starts):
        daemon, seconds = start(manager, *flags, **env)
        ready.append(seconds)
        stop(daemon)
    show(f"start to ready, {what}", ready)


def measure_restarts(manager):
    daemon, _ = start(manager)
    clients, stops, starts = Timed(manager.sockets["http"].getsockname(), 8), [], []
    for _ in range(options.restarts):
        clients.wait_for(100)
        stops.append(stop(daemon))
        daemon, seconds = start(manager)
        starts.append(seconds)
    clients.wait_for(100)
    seen = clients.end()
    stop(daemon)
    show("under load, SIGTERM to end", stops)
    show("under load, start to ready", starts)
    print(f"{options.restarts} restarts under load: {seen['new']} requests on new connections, {seen['kept']} on kept ones, "
          f"among them {seen['asked again']} asked again; lost: {len(clients.lost)}; the longest took {clients.longest_s * 1e3:.0f} ms")


def main():
    with tempfile.TemporaryDirectory() as folder:
        manager = Manager(pathlib.Path(folder), http=listening())
        measure_starts(manager, "activated")
        manager.sockets, kept = {}, manager.sockets
        measure_starts(manager, "plain", "--listen", "127.0.0.1:0", LISTEN_FDNAMES=None)
        manager.sockets = kept
        measure_restarts(manager)


main()
