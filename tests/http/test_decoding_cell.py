# SPDX-License-Identifier: Apache-2.0
"""The processes that decode AVIF and nothing else: when they exist, what they may do, and that nobody else notices their end.

covers: server/worker/decoding_cell.c server/dispatch/supervisor.c"""
import fcntl
import json
import os
import re
import signal
import subprocess
import threading
import time

import numpy as np
import pytest

from conftest import BURIN, HOUR_MS, alive, check_problem, in_parallel, memory, noise, pnm, smooth, wait_until

SAME = "/brightness?shift=0&type=pnm"
made = subprocess.run([BURIN, "run", "--device", "cpu", "--type", "avif", "-", "-"], input=pnm(smooth(200, 150)), capture_output=True,
                      timeout=60)
pytestmark = pytest.mark.skipif(made.returncode != 0, reason="there is no libavif here, or the program was built without")
SMALL = made.stdout
LARGE = (4000, 3000)
DECODED = '{device="cpu",role="decoding"}'


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """12 megapixels of noise: half a second of decoding, and more. Processes of pytest that run side by side make the file once."""
    folder = tmp_path_factory.getbasetemp()
    path = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "large.avif"
    with open(path, "ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        found = file.read()
        if not found:
            found = subprocess.run([BURIN, "run", "--device", "cpu", "--type", "avif", "--effort", "0", "--quality", "89", "-", "-"],
                                   input=pnm(noise(*LARGE, 3)), capture_output=True, check=True, timeout=280).stdout
            file.write(found)
    return found


def with_option(pids, option):
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if option.encode() in f.read().split(b"\0"):
                    found.append(pid)
        except OSError:
            pass
    return found


def cells(daemon):
    """The processes that decode: children of the daemon's workers."""
    found = []
    for worker in with_option(daemon.children(), "--cell"):
        try:
            with open(f"/proc/{worker}/task/{worker}/children") as f:
                found += with_option([int(pid) for pid in f.read().split()], "--decode")
        except OSError:
            pass
    return found


def workers(daemon):
    return [worker for worker in daemon.get("/readyz").json["workers"] if worker["role"] == "decoding"]


def test_it_exists_from_its_first_job_until_it_was_idle(start):
    daemon = start("--cell-idle-ms", "300")
    assert daemon.works() and not cells(daemon) and not workers(daemon) and "decoding" not in daemon.get("/metrics").body.decode()
    for _ in range(2):
        answer = daemon.post(SAME, SMALL)
        assert answer.status == 200
        assert np.array_equal(answer.image, np.array(answer.image)) and answer.timing["ms"]["decode"] > 0
        assert abs(sum(ms for name, ms in answer.timing["ms"].items() if name not in ("total", "operators")) - answer.timing["ms"]["total"]) \
            <= 0.01 * answer.timing["ms"]["total"] + 0.01
        assert wait_until(lambda: not with_option(daemon.children(), "--cell"))
        assert wait_until(lambda: not workers(daemon))
    assert "worker_died" not in daemon.log_text()


def test_it_is_shown_while_it_exists(start):
    daemon = start("--cell-idle-ms", HOUR_MS)
    assert daemon.post(SAME, SMALL).status == 200
    (worker,) = workers(daemon)
    assert worker["healthy"] and worker["capacity"] == 1 and worker["restarts"] == 0 and not worker["standby"]
    assert daemon.samples()[f"burin_worker_up{DECODED}"] == 1
    (pid,) = cells(daemon)
    assert memory(pid, "RssAnon") < 10 << 20


def test_what_it_may_do(start):
    """No file, no program, no other memory than its slot: what the kernel says of the process."""
    daemon = start()
    assert daemon.post(SAME, SMALL).status == 200
    (pid,) = cells(daemon)
    with open(f"/proc/{pid}/status") as f:
        status = dict(line.rstrip("\n").split(":\t") for line in f if ":\t" in line)
    assert status["Seccomp"].strip() == "2" and status["NoNewPrivs"].strip() == "1"
    assert int(status["CapEff"], 16) == 0
    with open(f"/proc/{pid}/limits") as f:
        assert re.search(r"Max data size +(\d+) +(\d+)", f.read())
    with open(f"/proc/{pid}/maps") as f:
        maps = f.read()
    assert "libdav1d" in maps and maps.count("/memfd:burin-slots ") == 1
    own = next(line for line in maps.splitlines() if line.endswith("burin-slots (deleted)"))
    for other in (daemon.process.pid, *daemon.children()):
        with open(f"/proc/{other}/maps") as f:
            fronts = [line for line in f.read().splitlines() if line.endswith("burin-slots (deleted)")]
        if other not in with_option(daemon.children(), "--cell"):
            assert own.split()[4] not in [line.split()[4] for line in fronts], "it maps the slots of others"
    names = {os.readlink(f"/proc/{pid}/fd/{fd}").partition(":")[0] for fd in os.listdir(f"/proc/{pid}/fd")}
    assert names <= {"/dev/null", "pipe", "socket", "/memfd"} | {os.readlink(f"/proc/{pid}/fd/2").partition(":")[0]}


@pytest.mark.parametrize("times,status", [(1, 200), (2, 422)])
def test_it_is_killed_under_load(start, large, times, status):
    """Others get their answers. Its job runs once more, and counts as damaged when the second process dies too."""
    daemon = start()
    outcomes, others, over = [], [], threading.Event()

    def ask():
        outcomes.append(daemon.post(SAME, large, timeout=200).status)

    def work():
        while not over.is_set():
            others.append(daemon.post("/histeq", pnm(noise(64, 64))).status)

    threads = [threading.Thread(target=run) for run in (ask, work, work)]
    for thread in threads:
        thread.start()
    try:
        killed = set()
        while not killed or times == 2 and threads[0].is_alive():  # one that has not got the job yet may be killed too
            assert wait_until(lambda: outcomes or daemon.samples().get(f"burin_jobs_in_progress{DECODED}") == 1 and set(cells(daemon)) - killed)
            for pid in set(cells(daemon)) - killed if not outcomes else ():
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        threads[0].join()
    finally:
        over.set()
        for thread in threads[1:]:
            thread.join()
    assert outcomes == [status]
    assert others and set(others) == {200}
    assert daemon.post(SAME, SMALL).status == 200
    assert daemon.becomes_idle()


def test_its_worker_is_killed(start, large):
    """As with any worker: the job runs once more."""
    daemon = start()
    answers = []
    thread = threading.Thread(target=lambda: answers.append(daemon.post(SAME, large, timeout=200)))
    thread.start()
    assert wait_until(lambda: daemon.samples().get(f"burin_jobs_in_progress{DECODED}") == 1)
    (worker,), (cell,) = with_option(daemon.children(), "--cell"), cells(daemon)
    os.kill(worker, signal.SIGKILL)
    thread.join()
    assert answers[0].status == 200 and answers[0].image.shape == (*LARGE[::-1], 3)
    assert wait_until(lambda: not alive(cell))
    assert workers(daemon)[0]["restarts"] == 1


def test_deadline(start, large):
    daemon = start("--processing-ms", "400", "--refuse-times", "0")
    begin = time.monotonic()
    check_problem(daemon.post(SAME, large, timeout=100), 504, "time allowed")
    assert time.monotonic() - begin >= 0.4
    assert wait_until(lambda: daemon.post(SAME, SMALL).status == 200)
    assert daemon.becomes_idle()


def test_a_client_that_leaves(start, large):
    daemon = start()
    head = f"POST {SAME} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(large)}\r\n\r\n".encode()
    with daemon.socket() as s:
        s.sendall(head + large)
        assert wait_until(lambda: daemon.samples().get(f"burin_jobs_in_progress{DECODED}") == 1)
        (cell,) = cells(daemon)
    assert wait_until(lambda: not alive(cell)), "it decodes for nobody"
    assert daemon.post(SAME, SMALL).status == 200
    assert daemon.becomes_idle()
    samples = daemon.samples()
    assert samples[f"burin_worker_cancelled_total{DECODED}"] == 1 and samples[f"burin_worker_restarts_total{DECODED}"] == 0
    events = {line["event"]: line["level"] for line in map(json.loads, daemon.log_text().splitlines())}
    assert events["worker_cancelled"] == events["job_killed"] == "info" and "worker_died" not in events
    (cell,) = cells(daemon)
    os.kill(cell, signal.SIGKILL)
    assert wait_until(lambda: daemon.samples()[f"burin_worker_restarts_total{DECODED}"] == 1)
    assert daemon.samples()[f"burin_worker_cancelled_total{DECODED}"] == 1 and "worker_died" in daemon.log_text()


def test_more_than_one_while_jobs_wait(start, large):
    """As many as `cells`; each ends when it is idle."""
    daemon = start("--cells", "2", "--cell-idle-ms", "300", "--processing-ms", "200000")
    answers, most = [], 0
    threads = [threading.Thread(target=lambda: answers.append(daemon.post("/resize?width=60&type=pnm", large, timeout=250))) for _ in range(5)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        most = max(most, len(cells(daemon)))
        (worker,) = workers(daemon) or [{"capacity": 0, "running": 0}]
        assert worker["running"] <= worker["capacity"] <= 2
        time.sleep(0.02)
    assert most == 2 and [answer.status for answer in answers] == [200] * 5 and len({answer.body for answer in answers}) == 1
    assert wait_until(lambda: not with_option(daemon.children(), "--cell") and not workers(daemon))
    assert daemon.post(SAME, SMALL).status == 200 and len(cells(daemon)) == 1
    assert daemon.becomes_idle() and "worker_died" not in daemon.log_text()


def test_kills_at_random(start):
    """Of cells and their workers, under a load of JPEGs, of AVIFs and of pictures that become AVIFs. No other request is hurt; a job whose
    process was killed twice may be."""
    daemon = start("--cells", "3")
    jpeg = subprocess.run([BURIN, "run", "--device", "cpu", "--type", "jpeg", "-", "-"], input=pnm(smooth(64, 48)), capture_output=True,
                          check=True, timeout=60).stdout
    out = SAME.replace("pnm", "avif")
    right = {path: daemon.post(path, SMALL).body for path in (SAME, out)}
    others, ours, wrong, over, random = [], [], [], threading.Event(), np.random.default_rng(5)

    def load(path, body, statuses):
        while not over.is_set():
            answer = daemon.post(path, body, timeout=100)
            statuses.append(answer.status)
            if body is SMALL and answer.status == 200 and answer.body != right[path]:
                wrong.append(len(answer.body))

    threads = [threading.Thread(target=load, args=pair) for pair in [(SAME, jpeg, others)] * 2 + [(SAME, SMALL, ours), (out, SMALL, ours)] * 2]
    for thread in threads:
        thread.start()
    killed = 0
    try:
        end = time.monotonic() + 6
        while time.monotonic() < end:
            time.sleep(random.uniform(0.02, 0.2))
            victims = cells(daemon) if random.random() < 0.7 else with_option(daemon.children(), "--cell")
            if victims:
                killed += 1
                os.kill(victims[random.integers(len(victims))], signal.SIGKILL)
    except ProcessLookupError:
        pass  # it ended by itself meanwhile
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert killed > 5 and len(others) > 20 and set(others) == {200}
    assert not wrong and set(ours) <= {200, 422, 500} and ours.count(200) > 0.5 * len(ours)
    assert daemon.post(out, SMALL).body == right[out] and daemon.becomes_idle()


def test_many_jobs_take_no_more_memory(start):
    daemon = start("--cells", "1")
    results = set()

    def ask(_):
        for _ in range(50):
            results.add(daemon.post(SAME, SMALL).body)

    in_parallel(4, ask)
    before = [memory(pid, "RssAnon") for pid in sorted(cells(daemon) + daemon.children())]
    in_parallel(4, ask)
    after = [memory(pid, "RssAnon") for pid in sorted(cells(daemon) + daemon.children())]
    assert len(results) == 1 and len(before) == len(after)
    assert all(b - a < 2 << 20 for a, b in zip(before, after)), (before, after)
    assert workers(daemon)[0]["restarts"] == 0
    assert daemon.becomes_idle()


def test_a_device_that_is_not_served(daemon):
    check_problem(daemon.post(f"{SAME}&device=cuda:7", SMALL), 400, "cuda:7")


def test_users_operators_get_the_pixels(start, tmp_path):
    (tmp_path / "invert.c").write_text("#P2P_FUNC\nstatic unsigned char invert(unsigned char pixel, int index) { return 255 - pixel; }\n")
    daemon = start("--operators-dir", str(tmp_path))
    assert wait_until(lambda: any(worker["role"] == "operators" and worker["healthy"] for worker in daemon.get("/readyz").json["workers"])), \
        daemon.log_text()
    plain, inverted = daemon.post(SAME, SMALL), daemon.post("/invert?type=pnm", SMALL)
    assert inverted.status == 200, inverted.body
    assert np.array_equal(inverted.image, 255 - plain.image)
    written = daemon.post("/invert?type=avif&lossless=true", SMALL)  # and leave pixels for a cell
    assert np.array_equal(daemon.post(SAME, written.body).image, inverted.image)


def test_without_the_library(start, tmp_path):
    """A libavif that is none: /etc/ld.so.cache is not asked where LD_LIBRARY_PATH has one."""
    for name in ("libavif.so.15", "libavif.so.16"):
        (tmp_path / name).write_bytes(b"this is no library")
    daemon = start(env={"LD_LIBRARY_PATH": str(tmp_path)})
    problem = check_problem(daemon.post(SAME, SMALL), 415, "AVIF")
    assert "install libavif" in problem["message"] or "cannot read AVIF" in problem["message"]
    assert daemon.works() and not cells(daemon)
