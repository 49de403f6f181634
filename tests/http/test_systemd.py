# SPDX-License-Identifier: Apache-2.0
"""The daemon under a service manager, which this test plays: it opens the sockets, starts one daemon after the other on
them, and reads their notifications.

covers: server/systemd.c server/cli/command_serve.c server/http/front.c server/http/drain.c
covers: server/http/engine/listen_socket.c server/http/engine/listener.c"""
import collections
import ctypes
import fcntl
import http.client
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest

from conftest import (BURIN, HOUR_MS, LONG, PATIENCE_S, TEST_SLOTS, Daemon, freeze, jpeg, large_png, noise, pnm, read_to_end,
                      responses, smooth, thaw,
                      wait_until)
from signing import Key, write_keys

PICTURE = pnm(noise(32, 24))
PICTURES = [jpeg(smooth(320, 240)), PICTURE, pnm(noise(300, 200, 3)), jpeg(smooth(640, 480))]


def listening(path=None):
    """A socket as systemd passes one: bound, listening and, without NonBlocking=, blocking."""
    s = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
    s.bind(path or ("127.0.0.1", 0))
    s.listen(1024)
    return s


class Manager:
    """Keeps the sockets: {name: socket} in the order in which they are passed."""

    def __init__(self, folder, abstract=False, **sockets):
        self.sockets, self.messages = sockets, []
        self.path = f"\0burin-test-{os.getpid()}-{id(self)}" if abstract else str(folder / "notify")
        self.hears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.hears.bind(self.path)
        threading.Thread(target=self.hear, daemon=True).start()

    def hear(self):
        while True:
            try:
                text = self.hears.recv(4096).decode()
            except OSError:
                return
            self.messages.append((time.monotonic(), text))

    def said(self, line):
        """The times at which LINE was sent."""
        return [when for when, text in list(self.messages) if line in text.split("\n")]

    def close(self):
        self.hears.close()
        for s in self.sockets.values():
            s.close()


class Activated(Daemon):
    """A daemon that the manager starts. ENV changes its variables; None removes one."""

    def __init__(self, manager, *flags, **env):
        self.log = tempfile.TemporaryFile()
        count = len(manager.sockets)
        variables = {**os.environ, "LISTEN_FDS": str(count), "LISTEN_FDNAMES": ":".join(manager.sockets),
                     "NOTIFY_SOCKET": manager.path.replace("\0", "@"), **env}
        before = len(manager.said("READY=1"))
        passed = [fcntl.fcntl(s.fileno(), fcntl.F_DUPFD_CLOEXEC, 200) for s in manager.sockets.values()]
        moved = "".join(f" {3 + i}<&{fd} {fd}<&-" for i, fd in enumerate(passed))
        self.process = subprocess.Popen(
            # The shell learns its process id and gives the sockets their numbers; then exec makes it the daemon.
            ["bash", "-c", ("" if "LISTEN_PID" in env else "LISTEN_PID=$$ ") + 'exec "$0" "$@"' + moved, BURIN, "serve",
             "--devices", "cpu", "--processing-ms", HOUR_MS, "--drain-timeout-ms", HOUR_MS,
             "--drain-client-ms", HOUR_MS, "--body-pressed-ms", HOUR_MS, *TEST_SLOTS, *flags],
            stdout=subprocess.PIPE, stderr=self.log, pass_fds=passed,
            env={name: value for name, value in variables.items() if value is not None})
        for fd in passed:
            os.close(fd)
        address = manager.sockets["http"].getsockname() if "http" in manager.sockets else None
        self.port = address[1] if isinstance(address, tuple) else None
        self.is_ready = lambda: len(manager.said("READY=1")) > before

    def becomes_ready(self):
        assert wait_until(lambda: self.is_ready() or self.process.poll() is not None) and self.is_ready(), self.log_text()
        return self


@pytest.fixture
def manage(tmp_path):
    """manage(name=socket...) -> a manager; manage.start(manager, *flags, **env) -> a daemon of it."""
    managers, daemons = [], []

    def make(**sockets):
        managers.append(Manager(tmp_path, **sockets))
        return managers[-1]

    def start(*arguments, **env):
        daemons.append(Activated(*arguments, **env))
        return daemons[-1]

    make.start = start
    yield make
    for daemon in daemons:
        daemon.stop()
    for manager in managers:
        manager.close()


def refusal(manage, manager, *flags, **env):
    """The message of a daemon that does not start."""
    daemon = manage.start(manager, *flags, **env)
    daemon.process.wait(60)
    text = daemon.log_text()
    assert daemon.process.returncode == 2, text
    assert not manager.said("READY=1")
    return text


# ---- restarts

class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Clients:
    """Clients that send one request after the other until end(), half of them on kept connections. A request on a kept connection
    that the daemon closed before any answer is sent again on a new one, as every HTTP client does; a failure on a new connection
    counts as lost."""

    def __init__(self, address, count):
        self.address, self.end_now, self.lock = address, threading.Event(), threading.Lock()
        self.seen, self.lost = collections.Counter(), []
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True) for i in range(count)]
        for thread in self.threads:
            thread.start()

    def connect(self):
        return (http.client.HTTPConnection(*self.address, timeout=60) if isinstance(self.address, tuple)
                else UnixConnection(self.address, 60))

    def ask(self, connection, body):
        new = connection.sock is None
        try:
            connection.request("POST", "/histeq", body)
            response = connection.getresponse()
        except (ConnectionError, http.client.RemoteDisconnected):
            if new:
                raise
            with self.lock:
                self.seen["asked again"] += 1
            connection.close()
            return self.ask(connection, body)
        whole = len(response.read()) == int(response.headers["Content-Length"])
        assert response.status == 200 and whole, (response.status, response.headers)

    def run(self, i):
        connection, kept = self.connect(), i % 2
        while not self.end_now.is_set():
            i += 1
            try:
                self.ask(connection, PICTURES[i % len(PICTURES)])
                with self.lock:
                    self.seen["kept" if kept else "new"] += 1
            except (OSError, http.client.HTTPException, AssertionError) as error:
                self.lost.append(repr(error))
                connection.close()
            if not kept:
                connection.close()
        connection.close()

    def wait_for(self, more):
        wanted = sum(self.seen.values()) + more
        assert wait_until(lambda: sum(self.seen.values()) >= wanted or self.lost, 120) and not self.lost, self.lost[:5]

    def end(self):
        self.end_now.set()
        for thread in self.threads:
            thread.join(120)
        return self.seen


@pytest.fixture
def clients():
    """clients(address, count) -> Clients, who end with the test."""
    begun = []

    def begin(*arguments):
        begun.append(Clients(*arguments))
        return begun[-1]

    yield begin
    for some in begun:
        some.end()


@pytest.mark.parametrize("kind, restarts", [("tcp", 20 if LONG else 3), ("unix", 2)])
def test_restarts_under_load_lose_nothing(manage, clients, tmp_path, kind, restarts):
    manager = manage(http=listening(str(tmp_path / "burin") if kind == "unix" else None))
    patient = "--worker-still-ms", HOUR_MS
    daemon = manage.start(manager, *patient).becomes_ready()
    load = clients(manager.sockets["http"].getsockname(), 8)
    logs = []
    for _ in range(restarts):
        load.wait_for(24)
        assert daemon.stop() == 0
        logs.append(daemon.log_text())
        daemon = manage.start(manager, *patient).becomes_ready()
    load.wait_for(24)
    seen = load.end()
    assert daemon.stop() == 0
    logs.append(daemon.log_text())
    print(f"{restarts} restarts, {dict(seen)}, lost: {len(load.lost)}")
    assert not load.lost, load.lost[:5]
    assert seen["kept"] > 3 * restarts and seen["new"] > 3 * restarts
    assert sum(log.count('"status":200') for log in logs) == seen["kept"] + seen["new"], "a request was done twice"
    assert not any('"status":499' in log or '"status":503' in log for log in logs)


def test_each_is_served_by_the_daemon_it_reached(manage):
    """The old daemon serves an upload in progress and a request on a kept connection, the next one serves clients that connect
    after the signal; connections without a request are closed."""
    manager = manage(http=listening())
    daemon = manage.start(manager, "--header-ms", HOUR_MS, "--body-ms", HOUR_MS, "--keep-alive-ms", HOUR_MS).becomes_ready()
    slow, kept, idle, silent = daemon.socket(), daemon.connect(), daemon.connect(), daemon.socket()
    data = b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(PICTURE) + PICTURE
    slow.sendall(data[:-100])
    assert wait_until(lambda: daemon.metric("slots_in_use") == 1)
    half = daemon.socket()
    half.sendall(b"POST /histeq HTTP/1.1\r\n")
    for connection in kept, idle:
        connection.request("GET", "/livez")
        connection.getresponse().read()
    daemon.process.send_signal(signal.SIGTERM)
    assert wait_until(lambda: manager.said("STOPPING=1"))

    def ends():
        kept.request("POST", "/histeq", PICTURE)
        response = kept.getresponse()
        assert response.status == 200 and response.read()
        return response.headers.get_all("Connection") == ["close"]

    assert wait_until(ends), "it may be asked once more between what is said and what is done"
    half.sendall(data[len(b"POST /histeq HTTP/1.1\r\n"):])
    (status, headers, _), = responses(read_to_end(half))
    assert status == 200 and headers["connection"] == "close"
    assert read_to_end(idle.sock) == b"" == read_to_end(silent)
    assert daemon.process.poll() is None, "it has an upload to wait for"
    late = [daemon.socket() for _ in range(20)]
    for s in late:
        s.sendall(data)
    time.sleep(0.2)
    for s in late:
        with pytest.raises(BlockingIOError):
            s.setblocking(False)
            s.recv(1)
    slow.sendall(data[-100:])
    (status, headers, _), = responses(read_to_end(slow))
    assert status == 200 and headers["connection"] == "close"
    assert daemon.process.wait(60) == 0
    assert daemon.log_text().count('"status":200') == 3
    manage.start(manager).becomes_ready()
    for s in late:
        s.settimeout(60)
        assert s.recv(12) == b"HTTP/1.1 200"
        s.close()


def test_drain_has_an_end(manage):
    """A job that never ends gets 503 when the time is over; clients that connected meanwhile are served."""
    manager = manage(http=listening())
    daemon = manage.start(manager, "--drain-timeout-ms", "400", "--worker-still-ms", HOUR_MS).becomes_ready()
    worker, = daemon.children()
    freeze(worker)
    data = b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(PICTURE) + PICTURE
    stuck = daemon.socket()
    stuck.sendall(data)
    assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1)
    daemon.process.send_signal(signal.SIGTERM)
    assert wait_until(lambda: manager.said("STOPPING=1"))
    assert daemon.process.wait(60) == 0
    (status, _, _), = responses(read_to_end(stuck))
    assert status == 503
    assert manage.start(manager).becomes_ready().works()


def test_clients_that_left_or_stand_still_delay_no_other(manage):
    """A job that never ends, without its client, and an answer that is not read: clients that connect meanwhile are served."""
    manager = manage(http=listening())
    daemon = manage.start(manager, "--self-test-ms", HOUR_MS, "--worker-still-ms", HOUR_MS, "--drain-client-ms", "100",
                          "--write-ms", HOUR_MS).becomes_ready()
    worker, = daemon.children()
    still = daemon.socket()
    body = large_png(3000, 4000)
    still.sendall(b"POST /grayscale?type=pnm HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert wait_until(lambda: daemon.metric("answer_bytes_held") >= 12000000)
    freeze(worker)
    data = b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(PICTURE) + PICTURE
    with daemon.socket() as gone:
        gone.sendall(data)
        assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1)
    assert wait_until(lambda: daemon.samples()['burin_connections_ended_total{reason="left"}'] == 1)
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(PATIENCE_S) == 0
    assert len(read_to_end(still)) < 12000000
    assert manage.start(manager).becomes_ready().works()


def test_killed_daemon_loses_no_new_connection(manage):
    manager = manage(http=listening())
    daemon = manage.start(manager).becomes_ready()
    daemon.process.kill()
    daemon.process.wait()
    with daemon.socket() as s:
        s.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        manage.start(manager).becomes_ready()
        (status, _, _), = responses(read_to_end(s))
        assert status == 200


def test_second_signal_ends_at_once(manage):
    manager = manage(http=listening())
    daemon = manage.start(manager).becomes_ready()
    with daemon.socket() as s:
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + bytes(100))
        assert wait_until(lambda: daemon.metric("slots_in_use") == 1)
        daemon.process.send_signal(signal.SIGTERM)
        assert wait_until(lambda: manager.said("STOPPING=1"))
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(60) == 0
    assert manage.start(manager).becomes_ready().works()


# ---- sockets

def admin_get(manager, path):
    connection = http.client.HTTPConnection(*manager.sockets["admin"].getsockname(), timeout=60)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize("names", ["http:admin", "admin:http", None], ids=["http first", "admin first", "no names"])
def test_both_sockets(manage, names):
    order = (names or "http:admin").split(":")
    manager = manage(**{name: listening() for name in order})
    daemon = manage.start(manager, LISTEN_FDNAMES=names).becomes_ready()
    assert daemon.works()
    assert admin_get(manager, "/readyz")[0] == 200 and admin_get(manager, "/ops")[0] == 404
    assert daemon.stop() == 0
    if names == "admin:http":
        manage.start(manager, LISTEN_FDNAMES=names).becomes_ready()
        assert admin_get(manager, "/readyz")[0] == 200


def test_admin_socket_alone(manage):
    """Requests come in at the configured address."""
    manager = manage(admin=listening())
    daemon = manage.start(manager, "--listen", "127.0.0.1:0").becomes_ready()
    daemon.port = int(re.search(r"127\.0\.0\.1:(\d+)", daemon.process.stdout.readline().decode())[1])
    assert daemon.works() and admin_get(manager, "/readyz")[0] == 200
    assert daemon.stop() == 0
    assert manage.start(manager, "--listen", "127.0.0.1:0").becomes_ready()
    assert admin_get(manager, "/readyz")[0] == 200


def test_no_socket_is_passed(manage):
    manager = manage()
    daemon = manage.start(manager, "--listen", "127.0.0.1:0", LISTEN_FDNAMES=None).becomes_ready()
    assert re.search(r"listens on 127\.0\.0\.1:\d+", daemon.process.stdout.readline().decode())


def test_greeting_names_the_socket(manage, tmp_path):
    manager = manage(http=listening())
    daemon = manage.start(manager, "--listen", "127.0.0.1:1").becomes_ready()
    assert f"127.0.0.1:{daemon.port}" in daemon.process.stdout.readline().decode()
    daemon.stop()
    manager.sockets["http"] = listening(str(tmp_path / "burin"))
    daemon = manage.start(manager).becomes_ready()
    assert f"unix:{tmp_path}/burin" in daemon.process.stdout.readline().decode()
    assert manager.said(f"STATUS=Serving on unix:{tmp_path}/burin")
    assert daemon.stop() == 0 and os.path.exists(tmp_path / "burin"), "the file is the manager's"


def test_workers_inherit_nothing(manage):
    """Neither the variables nor the sockets."""
    manager = manage(http=listening(), admin=listening())
    daemon = manage.start(manager, WATCHDOG_USEC="60000000").becomes_ready()
    inode = {os.fstat(s.fileno()).st_ino for s in manager.sockets.values()}
    worker, = daemon.children()
    with open(f"/proc/{worker}/environ") as f:
        assert not re.search("LISTEN_|NOTIFY_SOCKET|WATCHDOG", f.read())
    for fd in os.listdir(f"/proc/{worker}/fd"):
        found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{worker}/fd/{fd}"))
        assert not found or int(found[1]) not in inode


@pytest.mark.parametrize("env, words", [
    (dict(LISTEN_FDS="one"), ["LISTEN_FDS", "one named admin"]),
    (dict(LISTEN_FDS="-1"), ["LISTEN_FDS", "0, 1 or 2"]),
    (dict(LISTEN_FDS="3"), ["LISTEN_FDS", "0, 1 or 2"]),
    (dict(LISTEN_PID=None), ["LISTEN_PID is not", "unset LISTEN_FDS"]),
    (dict(LISTEN_PID="1"), ["LISTEN_PID", "a different program", "exec"]),
    (dict(LISTEN_PID="x"), ["LISTEN_PID", "exec"]),
    (dict(LISTEN_FDNAMES="burin.socket"), ["burin.socket", "FileDescriptorName="]),
    (dict(LISTEN_FDNAMES=""), ["FileDescriptorName="]),
    (dict(LISTEN_FDNAMES="http:admin"), ["as many names"]),
    (dict(LISTEN_FDS="2"), ["as many names"]),
    (dict(LISTEN_FDS="2", LISTEN_FDNAMES="http:http"), ["two sockets", "FileDescriptorName="]),
    (dict(LISTEN_FDS="2", LISTEN_FDNAMES="http:admin"), ["descriptor 4", "not open"]),
    (dict(NOTIFY_SOCKET="relative"), ["NOTIFY_SOCKET", "unset"]),
    (dict(NOTIFY_SOCKET="/" + "x" * 200), ["NOTIFY_SOCKET", "shorter"]),
    (dict(WATCHDOG_USEC="soon"), ["WATCHDOG_USEC", "microseconds"]),
    (dict(WATCHDOG_USEC="0"), ["WATCHDOG_USEC", "WatchdogSec="]),
], ids=lambda value: "-".join(f"{k}={v}"[:30] for k, v in value.items()) if isinstance(value, dict) else "")
def test_wrong_variables_say_what_to_do(manage, env, words):
    manager = manage(http=listening())
    text = refusal(manage, manager, **env)
    for word in ["burin serve: ", *words]:
        assert word in text, text


@pytest.mark.parametrize("kind", ["not listening", "datagram", "no socket", "connection"])
def test_wrong_descriptors_say_what_to_do(manage, kind, tmp_path):
    server = listening()
    wrong = {"not listening": socket.socket, "datagram": lambda: socket.socket(type=socket.SOCK_DGRAM),
             "no socket": lambda: open(tmp_path / "file", "w"),
             "connection": lambda: socket.create_connection(server.getsockname())}[kind]()
    if kind == "no socket":
        wrong.getsockname = lambda: None
    text = refusal(manage, manage(http=wrong))
    assert '"http"' in text and "ListenStream=" in text and "Accept=no" in text


def test_public_address_needs_insecure(manage):
    s = socket.socket()
    s.bind(("0.0.0.0", 0))
    s.listen(16)
    manager = manage(http=s)
    text = refusal(manage, manager)
    assert "can be reached from other machines" in text and "--insecure" in text and "0.0.0.0" in text


def test_keys_open_no_public_admin_socket(manage, tmp_path):
    s = socket.socket()
    s.bind(("0.0.0.0", 0))
    s.listen(16)
    text = refusal(manage, manage(admin=s), "--keys-file", write_keys(tmp_path / "keys.json", Key("shop", 1)))
    assert "can be reached from other machines" in text and '"admin"' in text


# ---- notifications

@pytest.mark.parametrize("abstract", [False, True], ids=["path", "abstract"])
def test_notifications_and_their_times(manage, abstract):
    manager = manage(abstract=abstract, http=listening())
    daemon = manage.start(manager, "--drain-delay-ms", "300")
    assert wait_until(lambda: manager.said("READY=1"))
    assert daemon.get("/readyz").status == 200
    assert [text.split("=")[0] for _, text in manager.messages] == ["STATUS", "READY"]
    assert manager.said(f"STATUS=Serving on 127.0.0.1:{daemon.port}")
    assert not manager.said("STOPPING=1") and not manager.said("WATCHDOG=1")
    daemon.process.send_signal(signal.SIGTERM)
    assert wait_until(lambda: manager.said("STOPPING=1"))
    assert daemon.process.wait(60) == 0
    assert time.monotonic() - manager.said("STOPPING=1")[0] > 0.25, "at the beginning of the drain"
    assert len(manager.messages) == 3


@pytest.mark.parametrize("how", ["right", "refused", "nothing to read"])
def test_a_reload_is_announced(manage, tmp_path, how):
    """Type=notify-reload waits for these lines, and `systemctl status` shows the status."""
    manager = manage(http=listening())
    folder = tmp_path / "operators"
    folder.mkdir(mode=0o755)
    daemon = manage.start(manager, *(["--operators-dir", str(folder)] if how != "nothing to read" else [])).becomes_ready()
    if how == "refused":
        folder.chmod(0o777)
    before = time.monotonic()
    daemon.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: len(manager.said("READY=1")) == 2), daemon.log_text()
    texts = [text for _, text in manager.messages]
    begun, = [text for text in texts if text.startswith("RELOADING=1\n")]
    when = int(re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=(\d+)", begun)[1]) / 1e6
    assert before <= when <= time.monotonic(), "the clock of both is CLOCK_MONOTONIC"
    assert texts.index(begun) == len(texts) - 2 and "STATUS=Serving on" in texts[-1]
    assert ("not reloaded: " in texts[-1] and "write" in texts[-1]) == (how == "refused")
    assert daemon.works()


def test_a_files_name_is_no_variable(manage, tmp_path):
    """Nor is the name in a reload's status."""
    folder = tmp_path / "operators"
    folder.mkdir(mode=0o755)
    (folder / "a\nREADY=1\nSTATUS=All is well\nMAINPID=1\n.c").write_text("this is no operator\n")
    manager = manage(http=listening())
    daemon = manage.start(manager, "--operators-dir", str(folder)).becomes_ready()
    (folder / "new\nMAINPID=2.c").write_text("nor is this\n")
    daemon.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: len(manager.said("READY=1")) == 2), daemon.log_text()
    assert all(line.split("=")[0] in ("STATUS", "EXTEND_TIMEOUT_USEC", "READY", "RELOADING", "MONOTONIC_USEC")
               for _, text in manager.messages for line in text.split("\n")), manager.messages
    assert not manager.said("STATUS=All is well")


def test_a_reload_asks_for_time(manage, tmp_path):
    """It asks for time for each file that it checks, and for what follows the last."""
    folder = tmp_path / "operators"
    folder.mkdir(mode=0o755)
    manager = manage(http=listening())
    daemon = manage.start(manager, "--operators-dir", str(folder), "--worker-start-ms", "3500000").becomes_ready()
    (folder / "a.c").write_text("this is no operator\n")
    daemon.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: len(manager.said("READY=1")) == 2), daemon.log_text()
    assert asked_for(manager, f"Reloading: checking {folder}/a.c") > 3650


def asked_for(manager, status):
    """Seconds for which the manager is asked to wait, in the message with that STATUS."""
    (_, text), = [m for m in manager.messages if f"STATUS={status}" in m[1]]
    return int(dict(line.split("=", 1) for line in text.split("\n"))["EXTEND_TIMEOUT_USEC"]) / 1e6


def test_a_long_start_and_end_are_announced(manage, tmp_path):
    """A unit cannot know how long it takes to check the operators, to start the workers and to drain."""
    operators = tmp_path / "operators"
    operators.mkdir(mode=0o755)
    for name in "ab":
        (operators / f"{name}.c").write_text("this is no operator\n")
        (operators / f"{name}.c").chmod(0o644)
    manager = manage(http=listening())
    daemon = manage.start(manager, "--operators-dir", str(operators), "--worker-start-ms", "123000", "--operators-compile-ms", "60000",
                          "--drain-timeout-ms", "234000").becomes_ready()
    for name in "ab":
        assert asked_for(manager, f"Starting: checking {operators / name}.c") > 150
    assert asked_for(manager, "Starting: no worker is ready yet") > 2 * 123
    assert [text.split("=")[0] for _, text in manager.messages] == ["STATUS"] * 3 + ["READY"]
    assert daemon.stop() == 0
    assert asked_for(manager, "Stopping") > 234


def started_without_worker(manage, manager, *flags):
    """A daemon whose worker was stopped in the few milliseconds before it was ready."""
    for _ in range(20):
        daemon = manage.start(manager, *flags)
        while daemon.process.poll() is None and not manager.said("READY=1"):
            try:
                for worker in daemon.children():
                    with open(f"/proc/{worker}/cmdline") as f:
                        if "worker" not in f.read():
                            continue  # the daemon itself, which waits until its child has called exec
                    freeze(worker)
                    time.sleep(0.1)
                    if not manager.said("READY=1"):
                        return daemon, worker
                    thaw(worker)
            except OSError:
                pass  # it has just begun, or ended
        assert daemon.stop() == 0
        manager.messages.clear()
    pytest.skip("this machine is too quick or too busy: the worker was ready each time")


def test_not_ready_before_a_worker_is(manage):
    manager = manage(http=listening())
    daemon, worker = started_without_worker(manage, manager)
    answer = daemon.get("/readyz")
    assert answer.status == 503 and answer.json["status"] == "no healthy worker"
    assert manager.said("STATUS=Starting: no worker is ready yet") and not manager.said("READY=1")
    thaw(worker)
    assert wait_until(lambda: manager.said("READY=1")) and daemon.get("/readyz").status == 200
    assert daemon.works()


def test_a_start_is_ended_at_once(manage):
    """A stop while no worker is ready takes effect before the daemon gives up waiting for one."""
    given_up = "no worker is ready yet; GET"
    manager = manage(http=listening())
    daemon, _ = started_without_worker(manage, manager)
    in_time = given_up not in daemon.log_text()
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(60) == 0
    assert manager.said("STOPPING=1") and not manager.said("READY=1")
    if not in_time:
        pytest.skip("this machine is too busy: it had given up before it was stopped")
    assert given_up not in daemon.log_text()


def test_full_from_the_start(manage):
    """A rush that fills every slot keeps balancers away, but the start does not fail."""
    manager = manage(http=listening())
    daemon, worker = started_without_worker(manage, manager, "--slots", "1")
    with daemon.socket() as s:
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + bytes(100))
        assert wait_until(lambda: daemon.metric("slots_in_use") == 1)
        thaw(worker)
        assert wait_until(lambda: daemon.get("/readyz").json["status"] == "no slot free")
        assert wait_until(lambda: manager.said("READY=1"))
        assert daemon.get("/readyz").status == 503


def test_without_a_notify_socket(manage, tmp_path):
    """It serves all the same, and logs the failure."""
    manager = manage(http=listening())
    daemon = manage.start(manager, NOTIFY_SOCKET=str(tmp_path / "nobody"))
    assert daemon.works()
    assert wait_until(lambda: "service manager did not receive" in daemon.log_so_far())


def test_the_manager_reads_nothing(manage, tmp_path):
    """Its socket is full: notifications are lost, and the daemon starts and ends all the same."""
    path = str(tmp_path / "full")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as full, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        full.bind(path)
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            while True:
                other.sendto(b"x", path)
        daemon = manage.start(manage(http=listening()), NOTIFY_SOCKET=path)
        assert daemon.works()
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(60) == 0
        assert "service manager did not receive" in daemon.log_text()


# ---- the watchdog

def test_watchdog_beats_at_half_its_time(manage):
    manager = manage(http=listening())
    daemon = manage.start(manager, "--io-threads", "4", WATCHDOG_USEC="600000").becomes_ready()
    for _ in range(50):  # each wakes all threads, and one of them serves it
        assert daemon.get("/livez").status == 200
    assert wait_until(lambda: len(manager.said("WATCHDOG=1")) >= 5)
    beats = manager.said("WATCHDOG=1")
    assert manager.said("READY=1")[0] <= beats[0]
    assert beats[4] - beats[0] > 4 * 0.3 - 0.25, "more often than at half its time"


def test_watchdog_of_another_process(manage):
    manager = manage(http=listening())
    daemon = manage.start(manager, WATCHDOG_USEC="50000", WATCHDOG_PID="1").becomes_ready()
    assert daemon.works()
    time.sleep(0.3)
    assert not manager.said("WATCHDOG=1")


def test_watchdog_beats_while_draining(manage):
    manager = manage(http=listening())
    daemon = manage.start(manager, "--drain-delay-ms", "3000", WATCHDOG_USEC="400000").becomes_ready()
    daemon.process.send_signal(signal.SIGTERM)
    assert wait_until(lambda: manager.said("STOPPING=1"))
    assert wait_until(lambda: manager.said("WATCHDOG=1")[-1:] > [manager.said("STOPPING=1")[0] + 0.5])
    assert daemon.process.wait(60) == 0


class Held:
    """One thread of a process is stopped by ptrace; the others go on."""
    SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000

    def __init__(self, tid):
        self.tid, self.libc = tid, ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.libc.ptrace.restype = ctypes.c_long
        if self.libc.ptrace(self.SEIZE, tid, None, None) < 0:
            pytest.skip(f"threads cannot be held here: {os.strerror(ctypes.get_errno())}")
        assert self.libc.ptrace(self.INTERRUPT, tid, None, None) == 0
        os.waitpid(tid, self.WALL)

    def release(self):
        assert self.libc.ptrace(self.DETACH, self.tid, None, None) == 0


def threads(daemon, name):
    found = []
    for task in os.listdir(f"/proc/{daemon.process.pid}/task"):
        with open(f"/proc/{daemon.process.pid}/task/{task}/comm") as f:
            if f.read().strip() == name:
                found.append(int(task))
    return sorted(found)


@pytest.mark.parametrize("name, which", [("io", 0), ("io", 1), ("io", 2), ("supervisor", 0)],
                         ids=["I/O", "another I/O", "admin's I/O", "supervisor"])
def test_watchdog_is_silent_while_a_thread_hangs(manage, name, which):
    """Each thread that requests depend on counts; and it beats again when the thread goes on."""
    manager = manage(http=listening(), admin=listening())
    daemon = manage.start(manager, "--io-threads", "2", WATCHDOG_USEC="400000").becomes_ready()
    assert wait_until(lambda: len(manager.said("WATCHDOG=1")) > 1)
    assert len(threads(daemon, "io")) == 3
    held = Held(threads(daemon, name)[which])
    try:
        time.sleep(0.5)  # a beat that was decided before
        before = len(manager.said("WATCHDOG=1"))
        time.sleep(1.2)
        assert len(manager.said("WATCHDOG=1")) == before
        assert wait_until(lambda: "makes no progress" in daemon.log_so_far())
    finally:
        held.release()
    assert wait_until(lambda: len(manager.said("WATCHDOG=1")) > before + 1)
    assert daemon.works()
    assert daemon.stop() == 0
