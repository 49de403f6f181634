# SPDX-License-Identifier: Apache-2.0
"""The daemon's open files: their numbers, and what happens where few are left.

covers: server/descriptors.c server/http/front.c server/http/engine/accept_balance.c
"""
import functools
import os
import re
import resource
import signal
import socket
import subprocess
import time

import pytest

from conftest import (BURIN, HOUR_MS, PATIENCE_S, TEST_SLOTS, alive, cpu_seconds, noise, pnm, read_to_end, responses,
                      wait_until)


def test_standard_descriptors_that_are_closed(tmp_path):
    """No socket or pipe of the daemon gets one of their numbers, or a message would be printed into it; and it works."""
    path = tmp_path / "socket"
    command = [BURIN, "serve", "--listen", f"unix:{path}", "--devices", "cpu", *TEST_SLOTS]
    process = subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command])
    try:
        picture = pnm(noise(32, 24))
        with socket.socket(socket.AF_UNIX) as s:
            # The file exists before the daemon listens.
            assert wait_until(lambda: s.connect_ex(str(path)) == 0)
            s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                      % len(picture) + picture)
            (status, _, _), = responses(read_to_end(s))
        assert status == 200
        assert [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in range(3)] == ["/dev/null"] * 3
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()


def test_a_result_that_cannot_be_printed_is_no_success(tmp_path):
    """Like a closed standard output, though its descriptor is open."""
    (tmp_path / "in.pnm").write_bytes(pnm(noise(32, 24)))
    done = subprocess.run(["sh", "-c", f"exec {BURIN} run histeq {tmp_path}/in.pnm - >&-"], stderr=subprocess.PIPE)
    assert done.returncode != 0 and done.stderr


# ---- few

PATIENT = "--header-ms", HOUR_MS, "--keep-alive-ms", HOUR_MS, "--idle-pressed-ms", HOUR_MS


def limited(soft, hard=None):
    """A command that runs the program with this limit of open files."""
    return ["prlimit", f"--nofile={soft}:{hard or soft}", BURIN]


@functools.lru_cache(None)
def needed(*flags):
    """The least limit, which the program prints when it has fewer."""
    done = subprocess.run([*limited(20), "serve", "--listen", "127.0.0.1:0", *flags], capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout, done
    given, least = re.search(r"limit of open files is (\d+), and burin needs (\d+) with io_threads (\d+)",
                             done.stderr).groups()[:2]
    assert int(given) == 20 and "ulimit -n" in done.stderr
    return int(least)


def silent_clients(daemon, count):
    """Connections without a request; those that are not accepted wait in the backlog."""
    clients = [socket.socket() for _ in range(count)]
    for client in clients:
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", daemon.port))
    return clients


def work(connection):
    connection.request("POST", "/histeq", pnm(noise(32, 24)))
    response = connection.getresponse()
    assert response.read()
    return response.status


def connected(connection):
    """Number of connections, as the daemon reports on one of them."""
    connection.request("GET", "/metrics")
    return int(re.search(rb"^burin_connections (\d+)", connection.getresponse().read(), re.M)[1])


def test_the_soft_limit_is_raised(start):
    daemon = start(command=limited(100, 4000))
    for pid in daemon.process.pid, *daemon.children():
        assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (4000, 4000)
    assert "leaves room for" not in daemon.log_text()


@pytest.mark.parametrize("more, flags", [(0, ()), (40, ()), (1, ("--io-threads", "1")),
                                         (0, ("--admin-listen", "127.0.0.1:0", "--io-threads", "7"))])
def test_the_least_limit_suffices(start, more, flags):
    """It suffices to restart a worker too, while as many clients are connected as may be."""
    daemon = start(*PATIENT, *flags, command=limited(needed(*flags) + more))
    connection = daemon.connect(PATIENCE_S)
    assert work(connection) == 200
    line, = (line for line in daemon.log_text().splitlines() if "leaves room for" in line)
    room = int(re.search(r"leaves room for (\d+) connections", line)[1])
    clients = silent_clients(daemon, room + 20)
    assert wait_until(lambda: connected(connection) == room), (connected(connection), room)
    worker, = daemon.children()
    os.kill(worker, signal.SIGKILL)
    assert wait_until(lambda: not alive(worker))
    assert work(connection) == 200
    assert "could not be started" not in daemon.log_text() and "can be accepted" not in daemon.log_text()
    for client in clients:
        client.close()
    connection.close()  # there may be room for no second one
    assert daemon.works()


def test_one_less_than_the_least_is_refused():
    done = subprocess.run([*limited(needed() - 1), "serve", "--listen", "127.0.0.1:0"], capture_output=True, text=True)
    assert done.returncode == 2 and str(needed()) in done.stderr and str(needed() - 1) in done.stderr


def test_a_limit_that_is_lowered_meanwhile(start):
    """A waiting client is accepted once there is a descriptor again; until then the daemon does not poll without pause."""
    daemon = start("--admin-listen", "127.0.0.1:0")
    pid = daemon.process.pid
    limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    highest = max(int(fd) for fd in os.listdir(f"/proc/{pid}/fd"))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 1, limit[1]))
    free = highest + 1 - len(os.listdir(f"/proc/{pid}/fd"))
    clients = silent_clients(daemon, free + 3)
    assert wait_until(lambda: "no connection can be accepted" in daemon.log_so_far())
    used, begin = cpu_seconds(pid), time.monotonic()
    time.sleep(1)
    assert cpu_seconds(pid) - used < 0.3 * (time.monotonic() - begin)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)
    for client in clients:
        client.setblocking(True)
        client.settimeout(PATIENCE_S)
        client.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        (status, _, _), = responses(read_to_end(client))
        assert status == 200
        client.close()
