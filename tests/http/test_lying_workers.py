# SPDX-License-Identifier: Apache-2.0
"""A hijacked worker writes arbitrary values into the shared memory (pressure/lying_worker.c): the front rejects them, runs the
job once more, and replaces the worker."""
import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import TEST_SLOTS, Daemon, check_problem, noise, pnm, wait_until

PICTURE = pnm(noise(32, 24))
PRELOADS = os.environ.get("PRELOADS", os.path.join(os.path.dirname(__file__), "../../build/cpu/tests/http/pressure"))

pytestmark = pytest.mark.skipif("san" in os.environ.get("BURIN", ""), reason="a sanitizer wants to be loaded first itself")


@pytest.fixture(scope="module")
def liar():
    daemon = Daemon(env={"LD_PRELOAD": os.path.abspath(os.path.join(PRELOADS, "lying_worker.so")), "LYING_SLOTS": TEST_SLOTS[1]})
    with ThreadPoolExecutor(8) as clients:  # so that slots other than the first serve later ones too
        assert {answer.status for answer in clients.map(lambda _: daemon.post("/histeq", PICTURE), range(16))} == {200}
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


def ask(daemon, how, what, replaced=0):
    """-> the answer, and how many workers were replaced for it, REPLACED if the count comes to that: a worker is replaced a moment
    after its job is answered."""
    wait_until(daemon.ready)
    before = daemon.metric("worker_restarts_total")
    answer = daemon.post("/histeq", PICTURE, {"X-Request-ID": f"{how}-{what}"}, timeout=20)
    wait_until(lambda: daemon.metric("worker_restarts_total") - before >= replaced and daemon.ready())
    return answer, daemon.metric("worker_restarts_total") - before


@pytest.mark.parametrize("what", ["offset", "length", "status"])
def test_an_impossible_answer_is_rejected(liar, what):
    right = liar.post("/histeq", PICTURE).body
    answer, replaced = ask(liar, "once", what, 1)
    assert answer.status == 200 and answer.body == right, "not what the second worker made of it"
    assert replaced == 1
    answer, replaced = ask(liar, "lie", what, 2)
    check_problem(answer, 500, "two workers died with this image")
    assert replaced == 2
    lines = [line for line in map(json.loads, liar.log_text().splitlines()) if line.get("id") == f"lie-{what}"]
    lines = [line for line in lines if line["event"] != "message_recovered"]  # of a worker that had no time to read
    assert [line["event"] for line in lines] == ["answer_invalid", "answer_invalid", "request"]
    assert lines[0]["message"] == f"job lie-{what}: the worker returned an invalid answer"
    assert {line["trace_id"] for line in lines} == {answer.json["trace_id"]}
    assert liar.works()


@pytest.mark.parametrize("what", ["spans", "text", "nan", "asked"])
def test_a_wrong_value_is_corrected(liar, what):
    right = liar.post("/histeq", PICTURE).body
    answer, replaced = ask(liar, "lie", what)
    assert answer.status == 200 and answer.body == right and replaced == 0
    assert "X-Forged" not in answer.headers and "\n" not in answer.headers["X-Burin-Device"]
    assert answer.timing["input"]["bytes"] == len(PICTURE)
    assert all(0 <= ms < 60000 for ms in answer.timing["ms"].values() if isinstance(ms, float))
