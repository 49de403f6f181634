# SPDX-License-Identifier: Apache-2.0
"""The units of docker/systemd, as `make install` installs them, are valid by systemd's own tools, leave an attacker inside the
daemon little, and let it work. (The daemon's part: tests/http/test_systemd.py.)"""
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
from signing import Key  # noqa: E402
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
    """A machine's folders with the units and the program in them, and the kind of the build. Only the installation is that of a
    CUDA build: the program stays the one under test."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd-analyze here")
    folder = tmp_path_factory.mktemp(request.param)
    command = ["make", "--no-print-directory", f"CUDA={int(request.param == 'gpu')}", f"PROGRAM={os.path.abspath(BURIN)}",
               "install", f"PREFIX={folder}/usr", f"SYSCONFDIR={folder}/etc"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=120,
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
    """Beside this machine's own units, as some refer to them; complaints about those do not count."""
    folder, _ = tree
    extended = f"{folder}/usr/lib/systemd/system/burin.service.d"
    os.makedirs(extended, exist_ok=True)
    try:
        shutil.copy(f"{TOP}/docker/systemd/keys.conf", extended)  # it is not installed: a unit with it needs the file of keys
        verify(folder)
    finally:
        os.remove(f"{extended}/keys.conf")
    verify(folder)


def verify(folder):
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *UNITS], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}/usr/lib/systemd/system:"})
    complaints = [line for line in done.stderr.splitlines() if "burin" in line or ".conf" in line]
    assert done.returncode == 0 and not complaints, done.stderr


def test_exposure(tree):
    folder, kind = tree
    done = subprocess.run(["systemd-analyze", "security", "--offline=yes", f"--root={folder}", "--no-pager", "burin.service"],
                          capture_output=True, text=True, timeout=120)
    exposure = float(re.search(r"exposure level for burin\.service: ([\d.]+)", done.stdout)[1])
    print(f"{kind}: {exposure}")
    assert exposure <= EXPOSURE_MAX[kind], "\n".join(line for line in done.stdout.splitlines() if line.startswith("✗"))


# ---- rules that no tool checks

def test_addresses_are_those_of_the_configuration():
    """8080 is the default of `listen`, and the port beside it is the image's port for probes; on loopback alone."""
    with open(f"{TOP}/config/burin.json") as f:
        listen = json.load(f)["listen"]
    http, admin = settings(source("burin.socket")), settings(source("burin-admin.socket"))
    assert http["Socket", "ListenStream"] == [listen] and admin["Socket", "ListenStream"] == ["127.0.0.1:8081"]
    assert http["Socket", "FileDescriptorName"] == ["http"] and admin["Socket", "FileDescriptorName"] == ["admin"]


def test_times_fit_the_daemon():
    """The daemon is not killed while it drains or starts."""
    with open(f"{TOP}/config/burin.json") as f:
        config = json.load(f)
    service = settings(source("burin.service"))
    assert int(service["Service", "TimeoutStopSec"][0]) * 1000 > config["drain_delay_ms"] + config["drain_timeout_ms"] + 5000
    assert int(service["Service", "TimeoutStartSec"][0]) * 1000 > config["worker_start_ms"]
    assert service["Service", "KillMode"] == ["mixed"], "workers have jobs when the daemon gets SIGTERM"


def test_compiled_operators_are_kept():
    """They are in a folder of the unit's own, as they are executed."""
    service = settings(source("burin.service"))
    assert service["Service", "CacheDirectory"] == ["burin"] and service["Service", "CacheDirectoryMode"] == ["0700"]


# ---- run by systemd itself

BEGIN = """
import json, os, signal, subprocess, threading, time, urllib.request
URL, PHOTO, seen = "http://127.0.0.1:8080", open("/shared/photo", "rb").read(), {}

def show(name):
    return subprocess.check_output(["systemctl", "show", "burin.service", "--value", "-p", name], text=True).strip()

def pid():
    return int(show("MainPID"))

def get(url, body=None):
    with urllib.request.urlopen(url, body, timeout=60) as answer:
        return answer.status, answer.read()

def wait_for(condition):
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
"""
END = """
try:
    probe()
except Exception as error:
    seen["error"] = repr(error)
with open("/shared/seen", "w") as f:
    json.dump(seen, f)
subprocess.run(["systemctl", "exit"])
"""
PROBE = BEGIN + """
def probe():
    seen["state"], seen["says"] = show("ActiveState"), show("StatusText")
    with open(f"/proc/{pid()}/status") as f:
        seen["process"] = {name: value.split() for name, value in (line.split(":", 1) for line in f)}
    seen["own network"] = os.readlink(f"/proc/{pid()}/ns/net") != os.readlink("/proc/self/ns/net")
    seen["ready"] = get("http://127.0.0.1:8081/readyz")[0]
    if os.path.exists("/usr/bin/gcc"):
        seen["user's"] = get(URL + "/white", b"P5 2 1 255\\n" + bytes([3, 200]))[1][-2:].hex()
        seen["kept"] = sorted(name.split(".")[-1] for name in os.listdir("/var/cache/burin"))
        sandbox = subprocess.check_output(["pgrep", "-f", "--", "--sandbox"], text=True).split()[0]
        seen["priorities"] = [os.getpriority(os.PRIO_PROCESS, int(tid)) for tid in os.listdir(f"/proc/{sandbox}/task")]
        seen["kept by"] = oct(os.stat("/var/cache/burin/").st_mode)[-3:]
    stopped, = [p for p in subprocess.check_output(["pgrep", "-P", str(pid())], text=True).split()
                if open(f"/proc/{p}/comm").read() != "burin-launcher\\n" and "--operators" not in open(f"/proc/{p}/cmdline").read()]
    os.kill(int(stopped), signal.SIGSTOP)
    begin = time.monotonic()
    wait_for(lambda: not os.path.exists(f"/proc/{stopped}"))
    seen["worker stood still for"] = time.monotonic() - begin
    seen["answers"], end = [], threading.Event()
    def ask():
        while not end.is_set():
            try:
                seen["answers"].append(get(URL + "/histeq", PHOTO)[0])
            except Exception as error:
                seen["answers"].append(repr(error))
    clients = [threading.Thread(target=ask) for _ in range(3)]
    for client in clients:
        client.start()
    pids = [pid()]
    for _ in range(3):
        before = len(seen["answers"])
        wait_for(lambda: len(seen["answers"]) > before + 20)
        subprocess.run(["systemctl", "restart", "burin.service"], check=True)
        pids.append(pid())
    end.set()
    for client in clients:
        client.join()
    seen["daemons"] = len(set(pids))
    os.kill(pid(), signal.SIGKILL)
    seen["after a kill"] = get(URL + "/livez")[0]
    wait_for(lambda: show("ActiveState") == "active")
    hung = pid()
    os.kill(hung, signal.SIGSTOP)
    wait_for(lambda: pid() not in (0, hung) and show("ActiveState") == "active")
    seen["after a hang"], seen["restarts"] = get(URL + "/livez")[0], show("NRestarts")
    subprocess.run(["systemctl", "stop", "burin.socket", "burin-admin.socket", "burin.service"])
    seen["result"] = [show("Result"), show("ExecMainStatus")]
""" + END
# The file is changed as `burin keys` does it: another one is put in its place.
PROBE_OF_KEYS = BEGIN + """
def status(token):
    request = urllib.request.Request(URL + "/histeq", PHOTO, {"Authorization": "Bearer " + token})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code

def probe():
    first, second = open("/shared/tokens").read().split()
    at = "/run/credentials/burin.service/keys"
    seen["state"], seen["first"] = show("ActiveState"), [status(first), status(second)]
    seen["environment"] = [line for line in open(f"/proc/{pid()}/environ").read().split("\\0") if line.startswith("BURIN_KEYS_FILE=")]
    seen["mode"], seen["owner"] = os.stat(at).st_mode & 0o777, os.stat(at).st_uid
    user = int(open(f"/proc/{pid()}/status").read().split("Uid:")[1].split()[0])
    seen["others"] = subprocess.run(["setpriv", f"--reuid={user + 1}", "--regid=65534", "--clear-groups", "cat", at], capture_output=True).returncode
    os.rename("/etc/burin/next.json", "/etc/burin/keys.json")
    subprocess.run(["systemctl", "restart", "burin.service"], check=True)
    seen["second"] = [status(first), status(second)]
""" + END
TARGET = """[Unit]
DefaultDependencies=no
Wants=burin.service probe.service
"""
PROBE_SERVICE = """[Unit]
DefaultDependencies=no
After=burin.service
[Service]
ExecStart=/usr/bin/python3 /shared/probe.py
"""
# Shorter than the default; and a process stopped by SIGSTOP does not receive SIGABRT.
SHORTER = """[Service]
WatchdogSec=2
TimeoutAbortSec=1
Environment=BURIN_OPERATORS_DIR=/etc/burin/operators
StandardOutput=file:/shared/log
StandardError=file:/shared/log
"""


OPERATOR = """#P2P_FUNC
static unsigned char white(unsigned char pixel, int index) { return pixel > 127 ? 255 : 0; }
"""


@pytest.fixture
def own_group():
    """A cgroup for one systemd, as a container has one."""
    kinds = {}
    with open("/proc/self/mounts") as f:
        for line in f:
            _, path, kind, *_ = line.split()
            kinds.setdefault(kind, path)
    if os.geteuid() != 0 or not os.path.exists("/lib/systemd/systemd") or "cgroup2" not in kinds:
        pytest.skip("systemd cannot be run here: it needs root, its own program, and cgroup2")
    group = f"{kinds['cgroup2']}/burin-test-{os.getpid()}"
    try:
        os.mkdir(group)
    except OSError as error:
        pytest.skip(f"systemd cannot be run here: {error}")
    yield group
    for folder, _, _ in os.walk(group, topdown=False):
        os.rmdir(folder)


def boot(folder, group, tmp_path, probe, settings, **files):
    """Boots systemd with the units of FOLDER, of which one is extended by SETTINGS, and with FILES in /etc/burin. Returns what the
    PROBE has seen there, and the daemon's log."""
    shutil.copytree(folder / "usr/lib/systemd/system", tmp_path / "units")
    shutil.copytree(folder / "etc", tmp_path / "etc")
    shutil.copy(folder / "usr/bin/burin", tmp_path / "program")
    shutil.copy(f"{TOP}/tests/golden/photos/rocket.jpg", tmp_path / "photo")
    units = tmp_path / "units"
    service = (units / "burin.service").read_text().replace(f"{folder}/usr/bin/burin", "/shared/program")
    (units / "burin.service").write_text(service)
    (tmp_path / "etc/burin/operators").mkdir(mode=0o755)
    (tmp_path / "etc/burin/operators/white.c").write_text(OPERATOR)
    for name, text in files.items():
        (tmp_path / f"etc/burin/{name}.json").touch(0o600)
        (tmp_path / f"etc/burin/{name}.json").write_text(text)
    (units / "burin.service.d").mkdir(exist_ok=True)
    (units / "burin.service.d/test.conf").write_text(settings)
    (units / "default.target").write_text(TARGET)
    (units / "probe.service").write_text(PROBE_SERVICE)
    (tmp_path / "probe.py").write_text(probe)
    for path in tmp_path, tmp_path.parent, tmp_path.parent.parent:
        os.chmod(path, 0o755)  # the daemon runs as a user without a name
    done = subprocess.run(["sh", "-c", f'echo $$ >{group}/cgroup.procs && exec timeout -s KILL 200 unshare --mount --pid'
                           f' --net --cgroup --uts --ipc --fork --kill-child {HERE}/boot.sh {tmp_path}'],
                          capture_output=True, text=True, timeout=220)
    if not (tmp_path / "seen").exists():
        pytest.skip(f"systemd did not boot here: {done.stderr[-300:]}")
    seen = json.loads((tmp_path / "seen").read_text())
    log = (tmp_path / "log").read_text() if (tmp_path / "log").exists() else ""
    assert "error" not in seen, (seen, log)
    return seen, log


def test_they_run_under_systemd(tree, own_group, tmp_path):
    """With all their restrictions, those for GPUs too, though this machine needs none; and no client notices a daemon that is
    restarted, killed or stands still."""
    seen, log = boot(tree[0], own_group, tmp_path, PROBE, SHORTER)
    assert seen["state"] == "active" and seen["says"] == "Serving on 127.0.0.1:8080" and seen["ready"] == 200, (seen, log)
    process = seen["process"]
    assert process["Uid"][0] == process["Uid"][1] != "0" and int(process["CapBnd"][0], 16) == 0
    assert process["NoNewPrivs"] == ["1"] and process["Seccomp"] == ["2"] and seen["own network"]
    if os.path.exists("/usr/bin/gcc"):
        assert seen["user's"] == "00ff" and seen["kept"] == ["c", "so"] and seen["kept by"] == "700", (seen, log)
        assert min(seen["priorities"]) > 0, seen["priorities"]
    assert seen["worker stood still for"] < 10, (seen, log)  # and not three times self_test_ms
    assert seen["daemons"] == 4 and set(seen["answers"]) == {200}, (seen["answers"], log)
    assert seen["after a kill"] == seen["after a hang"] == 200 and seen["restarts"] == "2", seen
    assert seen["result"] == ["success", "0"]
    print(f"{len(seen['answers'])} requests through three restarts, none lost")


def test_keys_are_a_credential(tree, own_group, tmp_path):
    """keys.conf: the daemon's user reads a copy of root's file, which no other user can; a restart takes the changed one."""
    first, second = Key("first", 1), Key("second", 2)
    (tmp_path / "tokens").write_text(f"{first.token} {second.token}")
    seen, log = boot(tree[0], own_group, tmp_path, PROBE_OF_KEYS, source("keys.conf") + SHORTER,
                     keys=json.dumps({"keys": [first.entry]}), next=json.dumps({"keys": [second.entry]}))
    assert seen["state"] == "active" and seen["environment"] == ["BURIN_KEYS_FILE=/run/credentials/burin.service/keys"], (seen, log)
    assert seen["first"] == [200, 401] and seen["second"] == [401, 200], (seen, log)
    assert seen["mode"] & 0o007 == 0 and seen["others"] != 0, seen
    print(f"mode {seen['mode']:o}, user {seen['owner']}")
    assert not any(key.token in log or key.entry["secret"] in log for key in (first, second))
