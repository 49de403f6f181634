# SPDX-License-Identifier: Apache-2.0
"""docker/nginx.conf in front of two daemons: what clients see when a daemon is killed, when one is drained, and when both are
full. Only addresses, folders and the time for which a killed daemon is left out are changed.

covers: docker/nginx.conf (with TLS: test_tls.py)"""
import collections
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../http")]
from conftest import freeze, jpeg, noise, pnm, smooth, start, thaw, wait_until  # noqa: E402,F401
from tools import TOP, find_tool  # noqa: E402

SMALL = jpeg(smooth(640, 480))  # nginx stores it, and can send it again
LARGE = pnm(noise(1200, 1000, 3))  # nginx passes it on as it comes
# nginx reads at once up to 1.25 times its buffer of 1 MB if the bytes are there, and could send that again.
HELD_MAX, DELAY_MS = 1.25 * (1 << 20), 3000
assert len(SMALL) < HELD_MAX < 2 * HELD_MAX < len(LARGE)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Nginx:
    def __init__(self, folder, ports, out_s=10, more=""):
        """MORE: a file of settings beside nginx.conf."""
        self.port, self.log, self.errors = free_port(), folder / "access", folder / "errors"
        with open(f"{TOP}/docker/nginx.conf") as f:
            text = f.read()
        for old, new in [(r"burin-(\d):8080", lambda m: f"127.0.0.1:{ports[int(m[1]) - 1]}"),
                         (r"listen 8080", f"listen 127.0.0.1:{self.port}"), (r"/tmp/", f"{folder}/"), (r"/etc/nginx/", f"{folder}/"),
                         (r"/dev/stdout", str(self.log)), (r"fail_timeout=10s", f"fail_timeout={out_s}s"),
                         (r"error_log stderr", f"error_log {self.errors}")]:
            text, changed = re.subn(old, new, text)
            assert changed, f"nginx.conf has no {old} any more"
        (folder / "nginx.conf").write_text(text)
        (folder / "burin").mkdir()
        if more:
            (folder / "burin/more.conf").write_text(more)
        os.chmod(folder, 0o755)  # its workers have a different user
        self.process = subprocess.Popen([find_tool("nginx", "nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf"),
                                         "-e", str(self.errors), "-g", f"daemon off; {'user root;' if os.geteuid() == 0 else ''}"])
        assert wait_until(self.answers, 10), self.errors.read_text()

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


class Clients:
    """Clients that send one request after the other on connections that stay open; each notes every outcome."""

    def __init__(self, nginx, **counts):
        self.nginx, self.end_now, self.lock = nginx, threading.Event(), threading.Lock()
        self.seen = {"small": collections.Counter(), "large": collections.Counter()}
        asked = {"small": ("/histeq", SMALL), "large": ("/histeq?type=pnm", LARGE)}
        self.threads = [threading.Thread(target=self.run, args=(self.seen[kind], *asked[kind]), daemon=True)
                        for kind, count in counts.items() for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, seen, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.nginx.port, timeout=60)
        while not self.end_now.is_set():
            try:
                connection.request("POST", path, body)
                response = connection.getresponse()
                whole = len(response.read()) == int(response.headers["Content-Length"])
                outcome = response.status if whole else "cut short"
            except http.client.IncompleteRead:
                outcome = "cut short"
            except (OSError, http.client.HTTPException) as error:
                outcome = repr(error)
            with self.lock:
                seen[outcome] += 1
            # After a 502 nginx closes the connection, on which the upload is unfinished: a further request there would be lost.
            if outcome not in (200, 503):
                connection.close()
                time.sleep(0.01)

    def done(self):
        with self.lock:
            return sum(sum(seen.values()) for seen in self.seen.values())

    def wait_for(self, more):
        """Waits until MORE requests have ended."""
        wanted = self.done() + more
        assert wait_until(lambda: self.done() >= wanted, 60), f"the clients are stuck: {self.seen}"

    def end(self):
        self.end_now.set()
        for thread in self.threads:
            thread.join()
        return self.seen


@pytest.fixture
def two(start, tmp_path, request):  # noqa: F811
    """Two daemons, and nginx in front of them."""
    daemons = [start("--drain-delay-ms", str(DELAY_MS)) for _ in range(2)]
    nginx = Nginx(tmp_path, [daemon.port for daemon in daemons], *getattr(request, "param", []))
    yield nginx, daemons
    nginx.stop()


def jobs_done(daemon):
    return sum(value for name, value in daemon.samples().items() if name.startswith('burin_requests_total{op="histeq"'))


def test_both_work_and_report_the_time(two):
    nginx, daemons = two
    clients = Clients(nginx, small=4, large=2)
    clients.wait_for(200)
    seen = clients.end()
    assert set(seen["small"]) == set(seen["large"]) == {200}, seen
    asked = sum(seen["small"].values()) + sum(seen["large"].values())
    # A request is counted a moment after its answer has been sent.
    assert wait_until(lambda: sum(map(jobs_done, daemons)) == asked), "a request was done twice or never"
    shares = [jobs_done(daemon) for daemon in daemons]
    assert min(shares) > sum(shares) / 4, shares
    response, body = nginx.request("POST", "/histeq", SMALL)
    assert response.status == 200 and body
    assert response.headers["X-Request-ID"] and "total" in response.headers["Server-Timing"]
    assert json.loads(response.headers["X-Burin-Timing"])["ms"]["total"] > 0


@pytest.mark.parametrize("two", [(2,)], indirect=True)
def test_one_is_killed_under_load(two, start):  # noqa: F811
    """Small uploads are not affected. Of the large ones, those in progress at the killed daemon are lost: nginx has no copy. Once
    it is back it gets work again."""
    nginx, daemons = two
    clients = Clients(nginx, small=6, large=2)
    clients.wait_for(100)
    os.kill(daemons[0].process.pid, signal.SIGKILL)
    daemons[0].process.wait()
    clients.wait_for(200)
    again = start("--listen", f"127.0.0.1:{daemons[0].port}")
    assert wait_until(lambda: jobs_done(again) > 10, 60), "nobody asks the one that is back"
    seen = clients.end()
    print(seen)
    assert set(seen["small"]) == {200}, seen
    assert set(seen["large"]) <= {200, 502, "cut short"}, seen
    assert sum(seen["large"].values()) - seen["large"][200] <= 2, f"more than the two clients had under way: {seen}"


@pytest.mark.parametrize("counts", [{"small": 6, "large": 2}, {"large": 3}], ids=["mixed", "large"])
def test_one_is_drained_under_load(two, counts):
    """No client is affected, however large its upload: nginx learns from the probes before the daemon refuses any."""
    nginx, daemons = two
    clients = Clients(nginx, **counts)
    clients.wait_for(60)
    daemons[0].process.send_signal(signal.SIGTERM)
    assert daemons[0].process.wait(60) == 0
    clients.wait_for(60)
    seen = clients.end()
    print(seen)
    assert set(seen["small"]) | set(seen["large"]) == {200}, seen


def test_both_full_is_answered_and_passes(start, tmp_path):  # noqa: F811
    """A rush that fills both queues gets the daemons' own 503, and excludes no client afterwards."""
    daemons = [start("--queue-jobs", "1", "--lanes", "1") for _ in range(2)]
    nginx = Nginx(tmp_path, [daemon.port for daemon in daemons])
    try:
        workers = [worker for daemon in daemons for worker in daemon.children()]
        for worker in workers:
            freeze(worker)
        clients = Clients(nginx, small=16)
        clients.wait_for(100)
        for worker in workers:
            thaw(worker)
        clients.wait_for(100)
        seen = clients.end()["small"]
        print(seen)
        assert set(seen) == {200, 503}, seen
        assert wait_until(lambda: all(daemon.ready() for daemon in daemons))
        for body in SMALL, LARGE:
            assert nginx.request("POST", "/histeq", body)[0].status == 200
    finally:
        nginx.stop()


def test_large_uploads_are_passed_on_as_they_come(two):
    """The daemon has the first half before the second was sent; of a small upload it has nothing yet."""
    nginx, daemons = two

    def held():
        return sum(daemon.samples()["burin_body_bytes_held"] for daemon in daemons)

    for body, comes in (LARGE, True), (SMALL, False):
        with socket.create_connection(("127.0.0.1", nginx.port), 30) as s:
            s.sendall(f"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                      + body[:len(body) // 2])
            if comes:
                assert wait_until(lambda: held() > 0)
            else:
                time.sleep(0.2)
                assert held() == 0
            s.sendall(body[len(body) // 2:])
            assert s.recv(12) == b"HTTP/1.1 200"


def test_private_paths_are_not_passed_on(two):
    nginx, _ = two
    assert nginx.request("GET", "/metrics")[0].status == 404
    assert nginx.request("GET", "/probe")[0].status == 404
    assert nginx.request("GET", "/ops")[0].status == 200
    assert nginx.request("GET", "/readyz")[0].status == 200


@pytest.mark.parametrize("limit, body", [("100KiB", noise(400, 300).tobytes()), ("2MiB", LARGE)], ids=["held", "streamed"])
def test_too_large_is_answered_by_the_daemon(start, tmp_path, limit, body):  # noqa: F811
    """The daemon reads up to twice its limit, so that its answer is read; nginx refuses more than that."""
    nginx = Nginx(tmp_path, [start("--body-bytes-max", limit).port] * 2)
    try:
        response, answer = nginx.request("POST", "/histeq", body)
        assert response.status == 413 and response.headers["Content-Type"] == "application/problem+json", answer
    finally:
        nginx.stop()
