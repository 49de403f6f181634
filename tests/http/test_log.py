# SPDX-License-Identifier: Apache-2.0
"""A log that is not read, or too slowly: requests do not wait for it, and missing lines are counted.

covers: server/log/log.c
"""
import json
import os
import signal

from conftest import PATIENCE_S, Daemon, in_parallel, noise, pnm, wait_until

PICTURE = pnm(noise(16, 12))
REQUESTS, CLIENTS = 2000, 4


class Unread(Daemon):
    """Its standard error is a pipe, read by the test or not at all."""

    def __init__(self, *flags):
        self.end, write = os.pipe()
        try:
            super().__init__("--log-buffer-bytes", "16KiB", *flags, stderr=write)
        finally:
            os.close(write)

    def ask(self, count, client):
        connection = self.connect(PATIENCE_S)
        for i in range(count):
            connection.request("POST", "/histeq", PICTURE, {"X-Request-ID": f"{client}-{i}"})
            response = connection.getresponse()
            assert response.status == 200 and response.read()
        connection.close()

    def read(self, requests):
        """Reads lines until each of REQUESTS requests has its own or is reported as lost."""
        os.set_blocking(self.end, False)
        data = bytearray()

        def all_there():
            try:
                data.extend(os.read(self.end, 1 << 20))
            except BlockingIOError:
                pass
            lines[:] = map(json.loads, data[:data.rfind(b"\n") + 1].decode().splitlines())
            return sum(line.get("lines", line["event"] == "request") for line in lines) >= requests

        lines = []
        assert wait_until(all_there), bytes(data[-500:])
        return lines


def test_a_full_pipe_that_is_read_later():
    """Each request is answered; each has its line, or is counted among the lines that the log reports as lost."""
    daemon = Unread()
    try:
        in_parallel(CLIENTS, lambda client: daemon.ask(REQUESTS // CLIENTS, client))
        assert daemon.get("/livez").status == 200
        lost = daemon.metric("log_lines_dropped_total")
        lines = daemon.read(REQUESTS)
        reported = sum(line.get("lines", 0) for line in lines)
        requests = [line["id"] for line in lines if line["event"] == "request"]
        assert len(set(requests)) == len(requests)
        assert lost == reported == REQUESTS - len(requests) > 0, (lost, reported, len(requests))
        daemon.ask(1, "again")
        assert [line["id"] for line in daemon.read(1)] == ["again-0"]
        assert daemon.metric("log_lines_dropped_total") == lost
    finally:
        assert daemon.stop() == 0
        os.close(daemon.end)


def test_a_full_pipe_does_not_delay_the_stop():
    daemon = Unread()
    in_parallel(CLIENTS, lambda client: daemon.ask(REQUESTS // CLIENTS, client))
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(PATIENCE_S) == 0
    daemon.stop()
    os.close(daemon.end)


def test_a_closed_pipe():
    """SIGPIPE ends neither the daemon nor a worker, though each has something to log."""
    daemon = Unread()
    os.close(daemon.end)
    daemon.ask(10, 0)
    worker, = daemon.children()
    os.kill(worker, signal.SIGKILL)
    daemon.ask(10, 1)
    assert daemon.metric("worker_restarts_total") == 1
    assert wait_until(lambda: daemon.metric("log_lines_dropped_total") >= 20)
    assert daemon.stop() == 0
