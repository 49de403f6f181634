# SPDX-License-Identifier: Apache-2.0
"""Runs the real daemon on a port that the system chooses, and talks to it through plain sockets.

The machine may be busy, so a test waits for a state for at most PATIENCE_S: less than the half-minute deadlines that would
bring the state about by themselves. A test asserts a lower bound of a wall time at most, and judges costs by processor time
alone. The daemon's keys get an hour, or seconds where milliseconds would do: unless a test says otherwise, a job may run, a
worker may stand still and a stop may wait for an hour."""
import contextlib
import functools
import glob
import http.client
import io
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import zlib

import numpy as np
import pytest
from PIL import Image

PATIENCE_S = 25
HOUR_MS = "3600000"
# Slots allocate 10 MB at start, which each worker maps. The program's own number of slots (52 MB) would cost each daemon of each
# test some time. The daemon that all tests share has more slots.
TEST_SLOTS = ("--slots", "74")
SHARED_SLOTS = ("--slots", "186")
# Set by `make pressure` (pressure/long_forms.py): far longer loads.
LONG = "LONG_FORMS" in os.environ
# Compiles users' operators in half of the time: that file says how.
QUICK_CC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "quick_cc")
BURIN = os.environ.get("BURIN", os.path.join(os.path.dirname(__file__), "../../build/burin"))


@functools.lru_cache(None)
def operators():
    """Names of the operators that the program was built with: OPS_SKIP leaves some out."""
    ops = subprocess.run([BURIN, "ops", "--json"], capture_output=True, check=True, timeout=60).stdout
    return {operator["name"] for operator in json.loads(ops)["operators"]}


def needs(operator):
    return pytest.mark.skipif(operator not in operators(), reason=f"this program was built without {operator}")


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


def responses(data, heads=0):
    """All that came over a connection -> [(status, headers, body)...]; fails if a byte belongs to none of them. The
    last HEADS of them answer HEAD, and have no body."""
    found = []
    while data:
        head, end, data = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        status = re.fullmatch(r"HTTP/1\.1 (\d{3}) .*", lines[0])
        assert end and status, f"no response here: {head[:200]!r}"
        headers = {}
        for line in lines[1:]:
            name, value = line.split(": ", 1)
            assert name.lower() not in headers, f"{name} stands twice"
            headers[name.lower()] = value
        length = int(headers.get("content-length", 0)) if int(status[1]) != 100 else 0
        assert len(data) >= length, f"{length} bytes are announced and {len(data)} came"
        found.append((int(status[1]), headers, data[:length]))
        data = data[length:]
    return found


def read_to_end(sock, timeout=PATIENCE_S):
    """Everything until the other side closes; fails where it does not."""
    sock.settimeout(timeout)
    data = bytearray()
    while True:
        try:
            got = sock.recv(1 << 20)
        except ConnectionResetError:
            return bytes(data)
        except socket.timeout:
            raise AssertionError(f"still open after {timeout} s of silence; it said {bytes(data[:300])!r}") from None
        if not got:
            return bytes(data)
        data += got


def check_problem(answer, status, *words):
    """The answer is a problem report of that status, well formed, and its message contains the words."""
    assert answer.status == status, (answer.status, answer.body[:300])
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    problem = answer.json
    assert problem["status"] == status and problem["title"] and problem["code"]
    assert problem["request_id"] == answer.headers["X-Request-ID"]
    assert problem["type"] == "about:blank" and problem["detail"] == problem["message"]
    assert len(problem["message"]) > 10
    for word in words:
        assert word in problem["message"], (word, problem["message"])
    return problem


def in_parallel(count, work):
    """Calls work(0)... work(count - 1) in a thread each; raises the first error of any."""
    errors = []

    def run(i):
        try:
            work(i)
        except BaseException as error:  # raised in the test's own thread below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def wait_until(condition, seconds=PATIENCE_S):
    """Checks every 10 ms at first, then less often, so that a long wait costs little."""
    begin = time.monotonic()
    while (waited := time.monotonic() - begin) < seconds:
        if condition():
            return True
        time.sleep(min(max(0.01, waited / 20), 0.05))
    return bool(condition())


# ---- what the system reports of a process

def memory(pid, what="VmRSS"):
    """The value of WHAT in /proc, in bytes."""
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(rf"{what}:\s+(\d+) kB", f.read())[1]) * 1024


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# The front's child that starts workers is no worker itself.
LAUNCHER = "burin-launcher"


def name_of(pid):
    """The process's name; "" of one that has ended."""
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return ""


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def thread_states(pid):
    """The state letter of each thread: R for one that runs or is ready to run."""
    found = set()
    for path in glob.glob(f"/proc/{pid}/task/*/stat"):
        with contextlib.suppress(OSError), open(path) as f:
            found.add(f.read().rpartition(")")[2].split()[0])
    return found


def freeze(pid):
    """Stops a process, and returns once none of its threads runs."""
    os.kill(pid, signal.SIGSTOP)
    assert wait_until(lambda: thread_states(pid) == {"T"}), thread_states(pid)


def thaw(pid):
    os.kill(pid, signal.SIGCONT)


class Daemon:
    def __init__(self, *flags, env=None, command=None, slots=TEST_SLOTS, stderr=None):
        """STDERR: where the log goes; None: to a file that log_text reads."""
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*(command or [BURIN]), "serve", "--listen", "127.0.0.1:0", "--devices", "cpu", "--processing-ms", HOUR_MS,
             "--drain-timeout-ms", HOUR_MS, "--drain-client-ms", HOUR_MS, "--body-pressed-ms", HOUR_MS,
             "--worker-still-ms", HOUR_MS, "--idle-pressed-ms", HOUR_MS, *slots, *flags],
            stdout=subprocess.PIPE, stderr=stderr or self.log, env={**os.environ, **(env or {})})
        line = self.process.stdout.readline().decode()
        match = re.search(r"(?:127\.0\.0\.1|localhost):(\d+)", line)
        assert match, f"no greeting but {line!r}; log: {self.log_text()}"
        self.port = int(match.group(1))

    def log_so_far(self):
        """Whole lines: one may be written just now. Reads without moving the file's offset, which the daemon shares: it would overwrite
        its own lines."""
        fd = self.log.fileno()
        lines = os.pread(fd, os.fstat(fd).st_size, 0)
        return lines[:lines.rfind(b"\n") + 1].decode(errors="replace")

    def log_text(self):
        """The whole log. A thread writes it a little later than the event. It is complete once it stops growing and no thread is about
        to run; where a thread always runs, for a job or for other clients, once it has not grown for a while."""
        size, now = -1, time.monotonic()
        end = grown = now + 2
        while now < end and now < grown + 0.5 and self.process.poll() is None:
            before, size = size, os.fstat(self.log.fileno()).st_size
            if size != before:
                grown = now
            elif not {"R", "D"} & set().union(*map(thread_states, (self.process.pid, *self.processes()))):
                break
            time.sleep(0.01)
            now = time.monotonic()
        return self.log_so_far()

    def logged(self, **wanted):
        """The only line of the log with these members, once it is there: logged(id="a")."""
        def lines():
            return [line for line in map(json.loads, self.log_so_far().splitlines()) if wanted.items() <= line.items()]
        assert wait_until(lines), self.log_so_far()
        (line,) = lines()
        return line

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def socket(self, timeout=60):
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def request(self, method, path, body=None, headers=None, timeout=60):
        connection = self.connect(timeout)
        try:
            with contextlib.suppress(BrokenPipeError):  # the daemon refused the rest of the body; its answer can be read
                connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.request("GET", path, None, headers)

    def post(self, path, image, headers=None, timeout=60):
        """Sends the image as a raw body."""
        return self.request("POST", path, image, {"Content-Type": "image/jpeg", **(headers or {})},
                            timeout)

    def post_form(self, path, parts, headers=None, timeout=60):
        body, content_type = form(parts)
        return self.request("POST", path, body, {"Content-Type": content_type, **(headers or {})},
                            timeout)

    def cost(self, work, times=5):
        """Processor seconds that front and worker together took for WORK, done TIMES times."""
        def used():
            return sum(cpu_seconds(pid) for pid in (self.process.pid, *self.children()))

        before = used()
        for _ in range(times):
            work()
        return used() - before

    def metric(self, name):
        text = self.get("/metrics").body.decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if re.match(rf"burin_{name}(\{{| )", line))

    def descendants(self):
        """The daemon's children, and the processes that these have started."""
        found, pids = [], self.children()
        while pids:
            pid = pids.pop()
            found.append(pid)
            try:
                with open(f"/proc/{pid}/task/{pid}/children") as f:
                    pids += [int(child) for child in f.read().split()]
            except OSError:
                pass
        return found

    def children_with(self, option):
        """Process ids of the children whose command has OPTION; one may end while it is looked at."""
        found = []
        for pid in self.children():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as f:
                found += [pid] if option in f.read().split("\0") else []
        return found

    def children(self):
        """Process ids of the workers."""
        return [pid for pid in self.processes() if name_of(pid) not in (LAUNCHER, "")]

    def starter(self):
        """Process id of the launcher, which starts the workers."""
        return next((pid for pid in self.processes() if name_of(pid) == LAUNCHER), self.process.pid)

    def processes(self):
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
        """The next request works: called after a test has done something bad to the daemon."""
        answer = self.post("/histeq", pnm(noise(32, 24)))
        assert answer.status == 200, answer.body
        return True

    def raw(self, data, timeout=PATIENCE_S):
        """Sends DATA on a connection of its own; returns all that comes until the daemon closes it."""
        with self.socket(timeout) as s:
            try:
                s.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the daemon has closed already; its answer can still be read
            return read_to_end(s, timeout)

    def samples(self, connection=None):
        """Every line of /metrics: {name with labels: value}. A kept CONNECTION ensures that its earlier requests have ended."""
        if connection:
            connection.request("GET", "/metrics")
            lines = connection.getresponse().read().decode().splitlines()
        else:
            lines = self.get("/metrics").body.decode().splitlines()
        return {key: float(value) for key, value in
                (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}

    def ready(self):
        answer = self.get("/readyz")
        return answer.status == 200 and answer.json["status"] == "ready"

    def idle(self):
        """No request holds anything; the one that asks is in progress itself."""
        now = self.samples()
        return (now["burin_slots_in_use"] == 0 and now["burin_requests_in_progress"] == 1
                and now["burin_body_bytes_held"] == now["burin_answer_bytes_held"] == 0
                and now["burin_queue_depth"] == 0
                and now['burin_jobs_in_progress{device="cpu"}'] == 0)

    def becomes_idle(self, seconds=PATIENCE_S):
        assert wait_until(self.idle, seconds), self.get("/metrics").body.decode()
        return True

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
    d = Daemon(slots=SHARED_SLOTS)
    yield d
    assert d.stop() == 0, d.log_text()


@pytest.fixture
def start():
    """start(*flags) -> a daemon for this test alone."""
    started = []

    def starter(*flags, **options):
        started.append(Daemon(*flags, **options))
        return started[-1]

    yield starter
    for d in started:
        d.stop()


@pytest.fixture(scope="module")
def shared():
    """shared(*flags) -> a daemon shared by all tests of a module with these flags. The test before has left nothing in progress."""
    kept = {}

    def found(*flags):
        if flags not in kept:
            kept[flags] = Daemon(*flags)
        assert kept[flags].becomes_idle()
        return kept[flags]

    yield found
    for d in kept.values():
        assert d.stop() == 0, d.log_text()


# ---- pictures

def noise(width, height, channels=1, depth=8, seed=1):
    rng = np.random.default_rng(seed)
    shape = (height, width) if channels == 1 else (height, width, channels)
    return rng.integers(0, 2 ** depth, shape, dtype=np.uint8 if depth == 8 else np.uint16)


def smooth(width, height, channels=3):
    """Something like a photograph: waves and a little noise."""
    y, x = np.arange(height)[:, None], np.arange(width)
    planes = [(120 + 60 * np.sin(x / (17 + 5 * c))) + 50 * np.cos(y / (23 + 3 * c)) for c in range(channels)]
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


def chunk(kind, data):
    """One chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def exif(orientation):
    """As in a JPEG's APP1; a PNG's eXIf has no "Exif" and NULs in front."""
    return b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0" + bytes([orientation]) + bytes(6)


def png_of_chunks(width, height, depth, colour, raw, *extra, interlace=0, compressed=None):
    """A PNG made by hand. RAW: filter bytes and rows; EXTRA: chunks before the IDAT."""
    data = zlib.compress(raw, 9) if compressed is None else compressed
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))
            + b"".join(extra) + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def packed_zeros(length):
    """A zlib stream of LENGTH zeros. All MiB of it are the same bytes, packed once."""
    def packed(count, flush):
        packer = zlib.compressobj(9, wbits=-15)
        return packer.compress(bytes(count)) + packer.flush(flush)

    return (b"\x78\xda" + packed(1 << 20, zlib.Z_FULL_FLUSH) * (length >> 20) + packed(length % (1 << 20), zlib.Z_FINISH)
            + struct.pack(">I", length % 65521 << 16 | 1))


def large_png(width, height, depth=8):
    """Gray and even: a small upload that takes long to process."""
    return png_of_chunks(width, height, depth, 0, b"", compressed=packed_zeros((1 + width * depth // 8) * height))


# Three processor seconds on large_png(8000, 8000).
LONGER_PATH = "/pipeline?type=pnm&operations=[" + ",".join(
    ['{"operation":"convolve","params":{"taps":"%s"}}' % ",".join("1" * 25)] * 10) + "]"


def jpeg(array, **options):
    return encode(array, "JPEG", **options)


def png(array, **options):
    return encode(array, "PNG", **options)
