# SPDX-License-Identifier: Apache-2.0
"""The units of docker/systemd, as `make install` installs them, by systemd's own tools: that they are sound, and how much
they leave to somebody who has taken over the daemon. (That the daemon does its part: tests/http/test_systemd.py.)"""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../http")]
from conftest import BURIN  # noqa: E402
from tools import TOP  # noqa: E402

UNITS = ["burin.service", "burin.socket", "burin-admin.socket"]
EXPOSURE_MAX = {"cpu": 1.5, "gpu": 3.0}


def settings(text):
    """{(section, key): [every value]} of a unit."""
    found, section = {}, None
    for line in text.splitlines():
        if header := re.fullmatch(r"\[(\w+)\]", line):
            section = header[1]
        elif line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found.setdefault((section, key), []).append(value)
    return found


def source(name):
    with open(f"{TOP}/docker/systemd/{name}") as f:
        return f.read()


@pytest.fixture(scope="module", params=["cpu", "gpu"])
def tree(request, tmp_path_factory):
    """A machine's folders with the units and the program in them, and the kind of the build. What is installed of a CUDA
    build is asked of make alone: the program stays the one under test."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd-analyze here")
    folder = tmp_path_factory.mktemp(request.param)
    told = ["make", "--no-print-directory", f"CUDA={int(request.param == 'gpu')}", f"PROGRAM={os.path.abspath(BURIN)}",
            "install", f"PREFIX={folder}/usr", f"SYSCONFDIR={folder}/etc"]
    done = subprocess.run(told, cwd=TOP, capture_output=True, text=True, timeout=120,
                          env={k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"})
    assert done.returncode == 0, done.stderr
    return folder, request.param


def test_what_is_installed(tree):
    folder, kind = tree
    units = folder / "usr/lib/systemd/system"
    found = {os.path.relpath(os.path.join(at, name), folder / "usr/lib") for at, _, names in os.walk(folder / "usr/lib")
             for name in names}
    gpu = {"systemd/system/burin.service.d/gpu.conf", "modules-load.d/burin.conf"}
    assert found == {f"systemd/system/{unit}" for unit in UNITS} | (gpu if kind == "gpu" else set())
    assert f"ExecStart={folder}/usr/bin/burin serve\n" in (units / "burin.service").read_text()


def test_they_are_sound(tree):
    """Beside this machine's own units, for they refer to some; what those are told is of no matter here."""
    folder, _ = tree
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *UNITS], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}/usr/lib/systemd/system:"})
    told = [line for line in done.stderr.splitlines() if "burin" in line or "gpu.conf" in line]
    assert done.returncode == 0 and not told, done.stderr


def test_exposure(tree):
    folder, kind = tree
    done = subprocess.run(["systemd-analyze", "security", "--offline=yes", f"--root={folder}", "--no-pager", "burin.service"],
                          capture_output=True, text=True, timeout=120)
    exposure = float(re.search(r"exposure level for burin\.service: ([\d.]+)", done.stdout)[1])
    print(f"{kind}: {exposure}")
    assert exposure <= EXPOSURE_MAX[kind], "\n".join(line for line in done.stdout.splitlines() if line.startswith("✗"))


# ---- what no tool checks

def test_addresses_are_those_of_the_configuration():
    """8080 as `listen`, and beside it the port that the image has for probes; on loopback alone."""
    with open(f"{TOP}/config/burin.json") as f:
        listen = json.load(f)["listen"]
    http, admin = settings(source("burin.socket")), settings(source("burin-admin.socket"))
    assert http["Socket", "ListenStream"] == [listen] and admin["Socket", "ListenStream"] == ["127.0.0.1:8081"]
    assert http["Socket", "FileDescriptorName"] == ["http"] and admin["Socket", "FileDescriptorName"] == ["admin"]


def test_times_fit_the_daemon():
    """It is not killed while it drains or starts."""
    with open(f"{TOP}/config/burin.json") as f:
        config = json.load(f)
    service = settings(source("burin.service"))
    assert int(service["Service", "TimeoutStopSec"][0]) * 1000 > config["drain_delay_ms"] + config["drain_timeout_ms"] + 5000
    assert int(service["Service", "TimeoutStartSec"][0]) * 1000 > config["worker_start_ms"]
    assert service["Service", "KillMode"] == ["mixed"], "workers have jobs when the daemon is told to stop"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="a network of its own needs root")
def test_it_serves_without_a_network(tmp_path):
    """PrivateNetwork=yes: all it has are the sockets that it was given."""
    from test_systemd import Activated, Manager, listening
    manager = Manager(tmp_path, http=listening(), admin=listening())
    wrapper = tmp_path / "burin"
    wrapper.write_text(f'#!/bin/sh\nLISTEN_PID=$$ exec unshare --net "{os.path.abspath(BURIN)}" "$@"\n')
    wrapper.chmod(0o755)
    daemon = Activated(manager, program=str(wrapper))
    try:
        assert daemon.becomes_ready().works()
    finally:
        assert daemon.stop() == 0
        manager.close()
