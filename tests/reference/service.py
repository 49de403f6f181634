# SPDX-License-Identifier: Apache-2.0
"""A daemon for the tests of one file, which import `service` and `burin`: a request costs a tenth of a program's start.
BURIN names the program, TEST_LIBRARY the library it is built from: build/cpu/libburin.so. BURIN_DEVICE=cuda:0 selects a GPU."""
import contextlib
import ctypes
import importlib.util
import json
import os
import pathlib
import re
import sys
import urllib.parse

import numpy as np
import pytest
from PIL import Image

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


@pytest.fixture(scope="session")
def library():
    """The program's functions. Python cannot load a sanitized library: then TEST_LIBRARY is empty."""
    path = os.environ.get("TEST_LIBRARY")
    return ctypes.CDLL(path) if path else pytest.skip("TEST_LIBRARY names no library")


def photograph(name):
    """One of scikit-image's photographs, without its modules, whose imports take seconds."""
    package = importlib.util.find_spec("skimage") or pytest.skip("scikit-image is not installed")
    path, = pathlib.Path(package.origin).parent.glob(f"data/{name}.[jp][pn]g")
    return np.array(Image.open(path))


def parameters(text):
    """Pairs of `name=value,name=value`, where a value may hold commas."""
    return [tuple(pair.split("=", 1)) for pair in re.split(r",(?=[a-z_]+=)", text) if pair]


def answer_of(body, step, masks=None, **output):
    """The answer for the file BODY after STEP, written as for `burin run`. MASKS: files by the names of their parameters.
    OUTPUT: type, compression and so on."""
    name, _, text = step.partition(":")
    path = f"/{name}?" + urllib.parse.urlencode([*parameters(text), *output.items(), ("device", DEVICE)])
    parts = [(part, file, part) for part, file in {"image": body, **(masks or {})}.items()]
    return running[-1].post_form(path, parts) if masks else running[-1].post(path, body)


def burin(body, step, masks=None, **output):
    """Returns the file of that answer."""
    answer = answer_of(body, step, masks, **output)
    assert answer.status == 200, answer.body
    return answer.body


def values(body, *steps):
    """The values that STEPS, each written as for `burin run`, compute from the file BODY."""
    split = [step.partition(":") for step in steps]
    operations = [{"operation": name, "params": dict(parameters(text))} for name, _, text in split]
    answer = running[-1].post_form(f"/pipeline?device={DEVICE}", [("image", body, "image"), ("operations", json.dumps(operations), None)])
    assert answer.status == 200, answer.body
    assert [value["step"] for value in answer.json["values"]] == list(range(len(steps)))
    return [value["value"] for value in answer.json["values"]]
