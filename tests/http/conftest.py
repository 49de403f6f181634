# SPDX-License-Identifier: Apache-2.0
"""Runs the real daemon on a port of the system's choice, and talks to it through plain sockets."""
import http.client
import io
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

import numpy as np
import pytest
from PIL import Image

BURIN = os.environ.get("BURIN", os.path.join(os.path.dirname(__file__), "../../build/burin"))


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def timing(self):
        return json.loads(self.headers["X-Burin-Timing"])

    @property
    def image(self):
        return np.array(Image.open(io.BytesIO(self.body)))


def form(parts, boundary="testboundary7d1"):
    """parts: (name, bytes or str, filename or None)... -> body, content type"""
    body = b""
    for name, value, filename in parts:
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"'.encode()
        if filename is not None:
            body += f'; filename="{filename}"\r\nContent-Type: application/octet-stream'.encode()
        body += b"\r\n\r\n" + (value.encode() if isinstance(value, str) else value) + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


class Daemon:
    def __init__(self, *flags, env=None, command=None):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*(command or [BURIN]), "serve", "--listen", "127.0.0.1:0", "--devices", "cpu", *flags],
            stdout=subprocess.PIPE, stderr=self.log, env={**os.environ, **(env or {})})
        line = self.process.stdout.readline().decode()
        match = re.search(r"127\.0\.0\.1:(\d+)", line)
        assert match, f"no greeting but {line!r}; log: {self.log_text()}"
        self.port = int(match.group(1))

    def log_text(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def connect(self, timeout=30):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def socket(self, timeout=30):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def request(self, method, path, body=None, headers=None, timeout=30):
        connection = self.connect(timeout)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.request("GET", path, None, headers)

    def post(self, path, image, headers=None, timeout=30):
        """The image as a raw body."""
        return self.request("POST", path, image, {"Content-Type": "image/jpeg", **(headers or {})},
                            timeout)

    def post_form(self, path, parts, headers=None, timeout=30):
        body, content_type = form(parts)
        return self.request("POST", path, body, {"Content-Type": content_type, **(headers or {})},
                            timeout)

    def metric(self, name):
        text = self.get("/metrics").body.decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if re.match(rf"burin_{name}(\{{| )", line))

    def children(self):
        """Process ids of the workers."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as f:
            pids = f.read().split()
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            try:
                with open(f"/proc/{self.process.pid}/task/{task}/children") as f:
                    pids += f.read().split()
            except OSError:
                pass
        return sorted({int(p) for p in pids})

    def works(self):
        """The next request works: said after everything bad that was done to it."""
        answer = self.post("/histeq", pnm(noise(32, 24)))
        assert answer.status == 200, answer.body
        return True

    def wait_until(self, condition, seconds=5):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.02)
        return False

    def stop(self, timeout=40):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        return self.process.returncode


@pytest.fixture(scope="session")
def daemon():
    d = Daemon()
    yield d
    assert d.stop() == 0, d.log_text()


@pytest.fixture
def start():
    """start(*flags) -> a daemon of the test's own."""
    started = []

    def starter(*flags, **options):
        started.append(Daemon(*flags, **options))
        return started[-1]

    yield starter
    for d in started:
        d.stop()


# ---- pictures

def noise(width, height, channels=1, depth=8, seed=1):
    rng = np.random.default_rng(seed)
    shape = (height, width) if channels == 1 else (height, width, channels)
    return rng.integers(0, 2 ** depth, shape, dtype=np.uint8 if depth == 8 else np.uint16)


def smooth(width, height, channels=3):
    """Something like a photograph: waves and a little noise."""
    y, x = np.mgrid[0:height, 0:width].astype(float)
    planes = [120 + 60 * np.sin(x / (17 + 5 * c)) + 50 * np.cos(y / (23 + 3 * c)) for c in range(channels)]
    picture = np.stack(planes, -1) + np.random.default_rng(3).normal(0, 3, (height, width, channels))
    picture = np.clip(picture, 0, 255).astype(np.uint8)
    return picture[:, :, 0] if channels == 1 else picture


def pnm(array):
    magic = b"P5" if array.ndim == 2 else b"P6"
    maximum = 65535 if array.dtype == np.uint16 else 255
    data = array.astype(">u2").tobytes() if maximum == 65535 else array.tobytes()
    return magic + f"\n{array.shape[1]} {array.shape[0]}\n{maximum}\n".encode() + data


def from_pnm(data):
    fields = re.match(rb"(P[56])\s+(\d+)\s+(\d+)\s+(\d+)\s", data)
    width, height, maximum = (int(fields.group(i)) for i in (2, 3, 4))
    dtype = ">u2" if maximum > 255 else np.uint8
    shape = (height, width) if fields.group(1) == b"P5" else (height, width, 3)
    return np.frombuffer(data[fields.end():], dtype).reshape(shape).astype(
        np.uint16 if maximum > 255 else np.uint8)


def encode(array, kind, **options):
    out = io.BytesIO()
    Image.fromarray(array).save(out, kind, **options)
    return out.getvalue()


def jpeg(array, **options):
    return encode(array, "JPEG", **options)


def png(array, **options):
    return encode(array, "PNG", **options)
