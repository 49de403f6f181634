# SPDX-License-Identifier: Apache-2.0
"""A daemon on loopback for the programs beside this file, and their requests to it. This file runs nothing by itself."""
import http.client
import os
import re
import subprocess
import sys
import tempfile
import time

BURIN = os.environ.get("BURIN", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../build/burin"))


def pnm(width, height):
    """A gray picture of one byte a pixel."""
    return b"P5\n%d %d\n255\n" % (width, height) + os.urandom(width * height)


def head(length, path="/histeq"):
    return b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path.encode(), length)


class Daemon:
    """Every default but a port of its own, the CPU alone, and no log. COMMAND runs the program; STDERR: where its log goes."""

    def __init__(self, *flags, command=(), stderr=None):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([*command, BURIN, "serve", "--listen", "127.0.0.1:0", "--devices", "cpu", "--log-level", "off",
                                         *flags], stdout=subprocess.PIPE, stderr=stderr or self.log)
        found = re.search(rb"127\.0\.0\.1:(\d+)", self.process.stdout.readline())
        if not found:
            self.log.seek(0)
            sys.exit(f"the daemon did not start: {self.log.read().decode()}")
        self.address = ("127.0.0.1", int(found[1]))

    def ask(self, method, path, body=None, timeout=60):
        """Status and body, on a new connection; 0: the connection was closed, or no answer came in time."""
        connection = http.client.HTTPConnection(*self.address, timeout=timeout)
        try:
            connection.request(method, path, body, {"Connection": "close"})
            response = connection.getresponse()
            return response.status, response.read()
        except OSError:
            return 0, b""
        finally:
            connection.close()

    def metric(self, name):
        text = self.ask("GET", "/metrics")[1].decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(rf"burin_{name}(\{{| )", line))

    def becomes(self, name, enough, seconds=60):
        """Whether the metric satisfies ENOUGH within SECONDS."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if enough(self.metric(name)):
                return True
            time.sleep(0.05)
        return False

    def stop(self, signalled=False):
        """SIGNALLED: the daemon has had SIGTERM already; a second one would end it at once."""
        if not signalled:
            self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        return self.process.returncode
