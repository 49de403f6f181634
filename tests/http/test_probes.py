# SPDX-License-Identifier: Apache-2.0
"""The service's reports on itself: live, ready, metrics, and the second socket for them.

covers: server/http/handle_status.c server/http/engine/listen_socket.c server/log/log.c
covers: server/cli/command_worker.c
"""
import fcntl
import json
import os
import re
import select
import socket
import subprocess
import time

import pytest

from conftest import (BURIN, LONGER_PATH, TEST_SLOTS, alive, check_problem, cpu_seconds, freeze, jpeg, large_png, needs, noise, pnm, read_to_end,
                      responses, smooth, thaw, wait_until)

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\]|\\["\\n])*",?)*)\})? (\S+)')


def parse(text):
    """Parses Prometheus' text form strictly: {family: (type, help, {(sample, labels): value})}."""
    assert text.endswith("\n")
    families, current = {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, words = line.split(" ", 3)
            assert name not in families, f"{name} stands in two places"
            assert words
            families[name] = current = {"help": words, "type": None, "name": name, "samples": {}}
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert current and name == current["name"] and current["type"] is None and not current["samples"]
            assert kind in ("counter", "gauge", "histogram", "summary")
            current["type"] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            name, labels, value = match.groups()
            assert current and current["type"], f"{name} has no TYPE before it"
            suffixes = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}
            assert name in [current["name"] + s for s in suffixes.get(current["type"], ("",))], line
            key = (name, tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))))
            assert key not in current["samples"], f"{line} stands twice"
            current["samples"][key] = float(value)
    return families


def metrics(daemon):
    answer = daemon.get("/metrics")
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/plain")
    return parse(answer.body.decode())


def test_livez(daemon):
    for path in ("/livez", "/health"):
        answer = daemon.get(path)
        assert answer.status == 200 and answer.json["status"] == "live"
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Cache-Control"] == "no-cache"


def own_workers(facts):
    """Without cells, which other tests may have started."""
    return [worker for worker in facts["workers"] if worker["role"] != "decoding"]


def test_readyz(daemon):
    answer = daemon.get("/readyz")
    assert answer.status == 200
    facts = answer.json
    assert facts["status"] == "ready" and facts["queued"] == 0 and facts["queue_jobs"] == 256
    worker, = own_workers(facts)
    assert worker["device"] == "cpu" and worker["healthy"] is True and worker["restarts"] == 0
    assert worker["capacity"] > 0 and worker["standby"] is False and "trouble" not in worker


def test_metrics_are_in_form(daemon):
    daemon.works()
    families = metrics(daemon)
    for name, family in families.items():
        assert name.startswith("burin_")
        if family["type"] == "counter":
            assert name.endswith("_total")
            assert all(value >= 0 for value in family["samples"].values())
    for name in ("requests_total", "request_duration_seconds", "stage_duration_seconds", "rejected_total",
                 "queue_wait_seconds", "input_pixels_total", "worker_up", "jobs_in_progress", "worker_restarts_total",
                 "queue_depth", "queue_clients", "requests_in_progress", "slots_in_use", "slots", "body_bytes_held",
                 "answer_bytes_held", "connections", "connections_ended_total", "build_info"):
        assert families["burin_" + name]["samples"], name


def test_no_series_of_a_gpu_without_one(daemon):
    """A machine without a GPU has no such series, not series of 0."""
    assert [worker["device"] for worker in own_workers(daemon.get("/readyz").json)] == ["cpu"]
    for name, family in metrics(daemon).items():
        assert not name.startswith(("burin_gpu_", "burin_pinned_", "burin_workers")), name
        assert all(label != "gpu" for _, labels in family["samples"] for label, _ in labels), name


def test_histograms_are_cumulative(daemon):
    for picture in (noise(10, 10), noise(800, 600)):
        daemon.post("/histeq", pnm(picture))
    family = metrics(daemon)["burin_request_duration_seconds"]["samples"]
    for op in {dict(labels)["op"] for _, labels in family}:
        buckets = [(dict(labels)["le"], value) for (name, labels), value in family.items()
                   if name.endswith("_bucket") and dict(labels)["op"] == op]
        edges, counts = [float(le) for le, _ in buckets], [value for _, value in buckets]
        assert edges == sorted(edges) and edges[-1] == float("inf") and counts == sorted(counts)
        assert counts[-1] == family["burin_request_duration_seconds_count", (("op", op),)]
        assert family["burin_request_duration_seconds_sum", (("op", op),)] > 0


def test_waiting_is_counted_once_a_job(daemon):
    def waits():
        return metrics(daemon)["burin_queue_wait_seconds"]["samples"]["burin_queue_wait_seconds_count", ()]
    assert daemon.becomes_idle()  # jobs of clients that have left count too
    before = waits()
    for _ in range(3):
        daemon.post("/histeq", pnm(noise(10, 10)))
    daemon.post("/histeq", b"no picture")
    assert wait_until(lambda: waits() == before + 3) and not wait_until(lambda: waits() != before + 3, 0.3)


def test_counters_move(daemon):
    def requests(op, code):
        return metrics(daemon)["burin_requests_total"]["samples"].get(
            ("burin_requests_total", (("code", str(code)), ("op", op))), 0)

    cases = [("/histeq", pnm(noise(5, 5)), "histeq", 200), ("/histeq?bins=1", pnm(noise(5, 5)), "histeq", 400),
             ("/grayscale", b"no picture here", "grayscale", 415), ("/info", jpeg(smooth(9, 9)), "info", 200),
             ("/histeq", jpeg(smooth(99, 99))[:500], "histeq", 422),
             ('/pipeline?operations=[{"operation":"histeq"}]', pnm(noise(5, 5)), "pipeline", 200)]
    for path, body, op, code in cases:
        before = requests(op, code)
        assert daemon.post(path, body).status == code
        assert wait_until(lambda: requests(op, code) == before + 1), (path, op, code)


def test_connections_are_counted(start):
    """Their number is right, and so is the reason for which the watcher closed one."""
    daemon = start("--lanes", "1", "--header-ms", "2000", "--body-ms", "2000", "--keep-alive-ms", "2000")
    head = b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"

    def ended(reason):
        return daemon.samples()[f'burin_connections_ended_total{{reason="{reason}"}}']

    for reason, said in (("headers", b"POST / HT"), ("body", head % 1000),
                         ("keep_alive", b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")):
        assert ended(reason) == 0
        with daemon.socket() as s:
            s.sendall(said)
            assert wait_until(lambda: ended(reason) == 1), reason
    worker, = daemon.children()
    picture = pnm(noise(9, 9))
    freeze(worker)
    try:
        with daemon.socket() as s:
            s.sendall(head % len(picture) + picture)
            assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1)
            assert wait_until(lambda: daemon.metric("connections") == 2), "this one, and the one that asks"
        assert wait_until(lambda: ended("left") == 1)
    finally:
        thaw(worker)
    assert wait_until(lambda: daemon.metric("connections") == 1)


def test_probes_are_not_counted_as_work(daemon):
    before = metrics(daemon)["burin_requests_total"]["samples"]
    for _ in range(5):
        daemon.get("/livez")
        daemon.get("/nosuch")
    assert metrics(daemon)["burin_requests_total"]["samples"] == before


def test_not_ready_without_a_worker(start):
    """A worker stands still: its heartbeat stops, /readyz reports that, and it is replaced."""
    daemon = start("--worker-still-ms", "3000")
    worker, = daemon.children()
    freeze(worker)
    assert wait_until(lambda: daemon.get("/readyz").status == 503)
    facts = daemon.get("/readyz").json
    assert facts["status"] == "no healthy worker" and facts["workers"][0]["healthy"] is False
    assert "no sign of life" in facts["workers"][0]["trouble"]
    assert daemon.metric("worker_up") == 0
    assert daemon.get("/livez").status == 200
    assert wait_until(daemon.ready)
    assert daemon.metric("worker_up") == 1
    assert daemon.children() != [worker] and not alive(worker)
    assert daemon.get("/readyz").json["workers"][0]["restarts"] == 1
    assert daemon.works()


def test_not_ready_while_a_job_stands_still(start):
    """A stopped worker with a job in progress is not taken for a busy one: not ready after half of worker_still_ms; then it is
    replaced, and the next worker does the job."""
    daemon = start("--worker-still-ms", "3000", "--lanes", "1")
    worker, = daemon.children()
    with daemon.socket() as s:
        picture = large_png(4000, 4000)
        used = cpu_seconds(worker)
        s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                  % (LONGER_PATH.encode(), len(picture)) + picture)
        assert wait_until(lambda: cpu_seconds(worker) > used + 0.05)
        freeze(worker)
        begin = time.monotonic()
        assert daemon.get("/readyz").status == 200
        assert wait_until(lambda: daemon.get("/readyz").status == 503)
        assert time.monotonic() - begin > 1.4
        facts, = daemon.get("/readyz").json["workers"]
        assert facts["running"] == 1 and "no sign of life" in facts["trouble"]
        assert daemon.metric("worker_up") == 0
        assert wait_until(daemon.ready)
        assert not alive(worker) and daemon.get("/readyz").json["workers"][0]["restarts"] == 1
        (status, _, body), = responses(read_to_end(s, 60))
        assert status == 200 and len(body) > 16000000
    assert daemon.becomes_idle()


def test_ready_again_when_it_goes_on(start):
    """A worker that stood still for less than worker_still_ms is healthy with its first heartbeat."""
    daemon = start("--worker-still-ms", "6000")
    worker, = daemon.children()
    freeze(worker)
    assert wait_until(lambda: daemon.get("/readyz").status == 503)
    thaw(worker)
    assert wait_until(daemon.ready)
    assert daemon.children() == [worker] and daemon.works()


def test_ready_after_a_pause_of_all(start):
    """A front that did not run itself does not report its workers as silent."""
    daemon = start("--self-test-ms", "500", "--worker-still-ms", "500")
    workers = daemon.children()
    for pid in (daemon.process.pid, *workers):
        freeze(pid)
    time.sleep(4.5)
    for pid in (daemon.process.pid, *workers):
        thaw(pid)
        time.sleep(0.1)
    for _ in range(20):
        assert daemon.ready()
        time.sleep(0.02)
    assert daemon.children() == workers and daemon.works()


@needs("carve")
def test_ready_through_a_long_job(start):
    """The only lane for long jobs carves for much longer than a worker may be silent, while other processes use these cores: the
    worker is never unhealthy or killed, and a short job is done beside it."""
    daemon = start("--self-test-ms", "500", "--worker-still-ms", "500", "--lanes", "1")
    worker, = daemon.children()
    with daemon.socket() as s, daemon.socket() as other:
        for client, dx, body in (s, -2900, pnm(noise(3000, 2400))), (other, -1, pnm(noise(30, 24))):
            client.sendall(b"POST /carve?dx=%d HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                           % (dx, len(body)) + body)
            assert wait_until(lambda: daemon.metric("jobs_in_progress") + daemon.metric("queue_depth") == 1)
        (status, _, _), = responses(read_to_end(other))  # the lane for short jobs is free
        assert status == 200
        hogs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
        try:
            end = time.monotonic() + 1
            while time.monotonic() < end:
                facts = daemon.get("/readyz")
                assert facts.status == 200 and facts.json["workers"][0]["healthy"], facts.body
                time.sleep(0.05)
            assert not select.select([s], [], [], 0)[0], "the job was too short to show anything"
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()
    assert daemon.children() == [worker]


def test_live_while_busy(start):
    """Probes are answered at once while every lane works and jobs wait. The frozen worker counts as busy here: it is not checked
    before worker_still_ms are over."""
    daemon = start("--lanes", "1", "--self-test-ms", "60000")
    worker, = daemon.children()
    freeze(worker)
    waiting = []
    try:
        picture = pnm(noise(32, 24))
        for _ in range(20):
            waiting.append(daemon.socket())
            waiting[-1].sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                                % len(picture) + picture)
        assert wait_until(lambda: daemon.metric("queue_depth") == 18)
        assert daemon.get("/livez").status == 200
        facts = daemon.get("/readyz")
        assert facts.status == 200 and facts.json["queued"] == 18 and facts.json["workers"][0]["running"] == 2
    finally:
        thaw(worker)
    for s in waiting:
        assert s.recv(4096).startswith(b"HTTP/1.1 200")
        s.close()
    assert daemon.becomes_idle()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


@pytest.mark.parametrize("key", ["listen", "admin-listen"])
def test_address_in_use_is_reported_by_its_flag(key):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        flags = {"listen": "127.0.0.1:0", key: address}
        done = subprocess.run([BURIN, "serve", "--devices", "cpu", *TEST_SLOTS, *[f"--{k}={v}" for k, v in flags.items()]],
                              capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and address in done.stderr and f"another port with --{key}\n" in done.stderr


def test_address_is_reported_as_it_was_given(tmp_path):
    """Even where it contains a flag's name."""
    path = tmp_path / "--listen" / "burin.sock"
    done = subprocess.run([BURIN, "serve", "--devices", "cpu", *TEST_SLOTS, "--listen", "127.0.0.1:0", f"--admin-listen=unix:{path}"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and f"cannot listen on unix:{path}: " in done.stderr, done


def test_admin_socket(start):
    """Probes on an address of their own, operators on the other; neither serves the other's paths."""
    port = free_port()
    daemon = start("--admin-listen", f"127.0.0.1:{port}")
    main, daemon.port = daemon.port, port
    for path in ("/livez", "/readyz", "/health", "/metrics"):
        assert daemon.get(path).status == 200, path
    parse(daemon.get("/metrics").body.decode())
    for path in ("/histeq", "/pipeline", "/info"):
        check_problem(daemon.post(path, pnm(noise(5, 5))), 404, path)
    for path in ("/ops", "/"):
        assert daemon.get(path).status == 404
    daemon.port = main
    assert daemon.works() and daemon.get("/livez").status == 200


def test_unix_socket(tmp_path):
    """The same daemon on a path; a socket file that a killed daemon left behind does not prevent the start."""
    path = str(tmp_path / "burin.sock")
    for _ in range(2):
        process = subprocess.Popen([BURIN, "serve", "--listen", "unix:" + path, "--devices", "cpu", *TEST_SLOTS],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            assert path in process.stdout.readline().decode()
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(10)
                s.connect(path)
                picture = pnm(noise(9, 9))
                s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(picture) + picture)
                assert s.recv(4096).startswith(b"HTTP/1.1 200")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


@pytest.mark.parametrize("flag", ["--listen", "--admin-listen"])
def test_unix_socket_takes_nothing_away(start, tmp_path, flag):
    """A file of another kind, a link to one, and the socket of a running daemon all stay."""
    precious, link, live = tmp_path / "notes.txt", tmp_path / "link", tmp_path / "live.sock"
    precious.write_text("not to be lost")
    link.symlink_to(precious)
    daemon = start("--admin-listen", f"unix:{live}")
    for path in (precious, link, tmp_path, live):
        done = subprocess.run([BURIN, "serve", "--listen", "127.0.0.1:0", "--devices", "cpu", *TEST_SLOTS, flag, f"unix:{path}"],
                              capture_output=True, text=True, timeout=20)
        assert done.returncode == 1 and str(path) in done.stderr, done
        assert ("in use" if path == live else "not a socket") in done.stderr
    assert precious.read_text() == "not to be lost" and link.is_symlink()
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(10)
        s.connect(str(live))
        s.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert s.recv(4096).startswith(b"HTTP/1.1 200")
    assert daemon.stop() == 0
    assert not live.exists(), "left behind after a clean stop"


def test_unix_socket_of_another_is_left_at_the_end(start, tmp_path):
    """A socket that another process has put in its place stays there."""
    path = tmp_path / "burin.sock"
    daemon = start("--admin-listen", f"unix:{path}")
    path.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        assert daemon.stop() == 0
        assert path.exists()


def test_log_is_json_whatever_clients_send(start):
    """One line of JSON a request, in which every byte of the client's is escaped."""
    daemon = start("--log-format", "json", "--log-level", "info")
    for target in (b"/\\x1b[2J%0d%0a{", b'/"},{"event":"forged"', b"/%00%ff%fe", b"/" + b"a" * 3000,
                   b"/histeq?%22%0a=1"):
        daemon.raw(b"POST " + target + b" HTTP/1.1\r\nHost: x\r\nX-Request-ID: a\"b\\c\r\nConnection: close\r\n"
                   b"Content-Length: 9\r\n\r\nno pixels")
    assert daemon.works()
    assert wait_until(lambda: daemon.log_so_far().count('"event":"request"') == 6), daemon.log_text()
    for line in daemon.log_text().splitlines():
        entry = json.loads(line)
        assert entry["event"] != "forged" and entry["time"] and line.isprintable() and len(line) < 2000
    assert json.loads(daemon.log_text().splitlines()[-1])["status"] == 200


def test_clients_write_no_errors_into_the_log(start):
    """Clients that leave in mid-body get one line each at level info; a daemon that logs errors alone logs nothing."""
    for level in ("info", "error"):
        daemon = start("--log-level", level)
        for _ in range(5):
            with daemon.socket() as s:
                s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + bytes(10))
                assert wait_until(lambda: daemon.metric("slots_in_use") == 1)
            assert daemon.becomes_idle()
        entries = [json.loads(line) for line in daemon.log_text().splitlines()]
        assert all(entry["level"] == "info" and entry.get("message", "").isprintable() for entry in entries), entries
        lines = [entry for entry in entries if entry["event"] == "http_library"]
        assert (0 < len(lines) <= 5) if level == "info" else not lines, entries


def test_worker_writes_the_log_in_its_form(start):
    """A worker without its device reports that in the daemon's format, at its level."""
    for form, level in (("json", "error"), ("text", "error"), ("json", "off")):
        daemon = start("--log-format", form, "--log-level", level)
        worker, = daemon.children()
        try:
            files = [os.open(f"/proc/{worker}/fd/3", os.O_RDWR), os.open(f"/proc/{worker}/fd/6", os.O_RDONLY)]
        except PermissionError:
            pytest.skip("the system does not let us have its memory")
        slots = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in (*files, files[0])]  # above the numbers that they get
        for fd in files:
            os.close(fd)
        moved = 'exec "$@" ' + " ".join(f"{at}<&{fd}" for fd, at in zip(slots, (3, 6, 4)))
        done = subprocess.run(["bash", "-c", moved, "bash", BURIN, "worker", "--device", "cuda:99"], stderr=subprocess.PIPE, text=True,
                              timeout=20, pass_fds=slots)
        for fd in slots:
            os.close(fd)
        assert done.returncode != 0
        lines = done.stderr.splitlines()
        if level == "off":
            assert not lines
        else:
            line, = lines
            assert "cuda:99" in line
            if form == "json":
                entry = json.loads(line)
                assert entry["level"] == "error" and entry["event"] == "worker_failed" and entry["message"].startswith("worker: ")
            else:
                assert ' level=error event=worker_failed message="worker: ' in line
