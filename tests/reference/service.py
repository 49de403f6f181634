# SPDX-License-Identifier: Apache-2.0
"""A daemon for the tests of one file, which import `service` and `burin`: a request costs a tenth of a program's start.
BURIN names the program. BURIN_DEVICE=cuda:0 has a GPU do the work."""
import contextlib
import os
import pathlib
import re
import sys
import urllib.parse

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "http"))
from conftest import Daemon  # noqa: E402

DEVICE = os.environ.get("BURIN_DEVICE", "cpu")
running = []


@contextlib.contextmanager
def serving(*flags):
    running.append(Daemon("--devices", DEVICE, *flags))
    yield
    daemon = running.pop()
    assert daemon.stop() == 0, daemon.log_text()


@pytest.fixture(scope="module", autouse=True)
def service():
    with serving():
        yield


def parameters(text):
    """Pairs of `name=value,name=value`, where a value may hold commas."""
    return [tuple(pair.split("=", 1)) for pair in re.split(r",(?=[a-z_]+=)", text) if pair]


def burin(body, step, **output):
    """Returns the file BODY after STEP, which is written as for `burin run`. OUTPUT: type, compression and the like."""
    name, _, text = step.partition(":")
    query = urllib.parse.urlencode([*parameters(text), *output.items(), ("device", DEVICE)])
    answer = running[-1].post(f"/{name}?{query}", body)
    assert answer.status == 200, answer.body
    return answer.body
