# SPDX-License-Identifier: Apache-2.0
"""GET /progress/{request-id}: how far a request of another connection is.

covers: server/http/handle_status.c"""
import threading

import pytest

from conftest import LONGER_PATH, check_problem, large_png, needs, noise, pnm, smooth, wait_until

UNKNOWN = {"state": "unknown"}


def ask(daemon, name):
    answer = daemon.get(f"/progress/{name}")
    assert answer.status == 200 and answer.headers["Cache-Control"] == "no-cache"
    return answer.json


# With several widths the map is reported as the step of the first one.
CARVING = [("/pipeline?operations=[{\"operation\":\"grayscale\"},{\"operation\":\"carve\",\"params\":{\"dx\":-500}}]", 1),
           ("/carve?widths=1100,700,1250", 0)]


@needs("carve")
@pytest.mark.parametrize("path, step", CARVING, ids=["one", "several"])
def test_a_carve_reports_its_seams(start, path, step):
    daemon = start()
    picture = pnm(smooth(1200, 900))
    answers = []
    thread = threading.Thread(target=lambda: answers.append(daemon.post(path, picture, {"X-Request-ID": "long-one"})))
    thread.start()
    seen = []

    def far():
        now = ask(daemon, "long-one")
        if now.get("operation") == "carve" and "done" in now:
            seen.append(now)
        return len({now["done"] for now in seen}) >= 3 or answers

    assert wait_until(far)
    thread.join()
    assert answers[0].status == 200 and seen
    assert all(now == {"state": "running", "step": step, "operation": "carve", "done": now["done"], "total": 500, "unit": "seams"}
               for now in seen)
    counts = [now["done"] for now in seen]
    assert counts == sorted(counts) and counts[-1] <= 500
    assert ask(daemon, "long-one") == UNKNOWN


def test_what_waits_says_so(start):
    """More jobs than the lanes and the worker's own queue hold: the last is in the queue."""
    daemon = start()
    picture = large_png(6000, 6000)
    done = []

    def post(name):
        try:
            done.append(daemon.post(LONGER_PATH, picture, {"X-Request-ID": name}).status)
        except OSError:
            pass  # the daemon was killed

    names = [f"job-{i}" for i in range(8)]
    threads = [threading.Thread(target=post, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    states = set()

    def both():
        states.update(ask(daemon, name)["state"] for name in names)
        return {"waiting", "running"} <= states or len(done) == len(names)

    assert wait_until(both)
    daemon.process.kill()
    for thread in threads:
        thread.join()
    assert {"waiting", "running"} <= states


def test_nobody_and_nothing(daemon):
    for name in ("never-was", "a" * 3000, "%00", "..%2f", "%ff", "a/b"):
        answer = daemon.get(f"/progress/{name}")
        assert answer.status in (200, 400), name
        if answer.status == 200:
            assert answer.json == UNKNOWN
    assert daemon.post("/grayscale", pnm(noise(9, 9)), {"X-Request-ID": "short"}).status == 200
    assert ask(daemon, "short") == UNKNOWN
    check_problem(daemon.get("/progress"), 404)
    check_problem(daemon.request("POST", "/progress/short", b""), 405, "GET")
