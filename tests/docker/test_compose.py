# SPDX-License-Identifier: Apache-2.0
"""docker/compose.yaml read by Compose itself, and the monitoring beside it: Prometheus' own checks of its settings,
alerts and every query of the dashboard; each queried series is one that a daemon prints.

covers: docker/compose.yaml docker/compose.keys.yaml docker/compose.tls.yaml docker/monitoring/prometheus.yaml docker/monitoring/alerts.yaml docker/monitoring/burin.json"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../http")]
from conftest import jpeg, smooth, start, wait_until  # noqa: E402,F401
from tools import TOP, find_tool  # noqa: E402

COMPOSE = f"{TOP}/docker/compose.yaml"
MONITORING = f"{TOP}/docker/monitoring"
HARDENED = {"cap_drop": ["ALL"], "security_opt": ["no-new-privileges:true"], "read_only": True}
PROFILES = {"gpu": {"burin"}, "cpu": {"burin-cpu"}, "nginx": {"burin-1", "burin-2", "nginx"},
            "monitoring": {"prometheus", "grafana"}}
# Words of a query that are no metrics: functions, and words of the language.
WORDS = re.compile(r"\b(burin_\w+|up)\b")


def compose(*arguments):
    """Compose's reading of the file, as JSON."""
    if subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0 if shutil.which("docker") else False:
        command = ["docker", "compose"]
    elif shutil.which("docker-compose"):
        command = ["docker-compose"]
    else:
        pytest.skip("no Compose here: Debian's package docker-compose has one")
    done = subprocess.run([*command, "-f", COMPOSE, *arguments, "config"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "KEYS_FILE": "", "TLS_FOLDER": "", "BIND_ADDRESS": ""})
    assert done.returncode == 0, done.stderr
    yaml = pytest.importorskip("yaml")
    config = yaml.safe_load(done.stdout)
    for service in config["services"].values():
        service.get("volumes", []).sort(key=json.dumps)  # merged files are in no order
    return config


def profile_arguments():
    return [word for name in PROFILES for word in ("--profile", name)]


def test_compose_accepts_it():
    services = compose(*profile_arguments())["services"]
    for profile, names in PROFILES.items():
        assert {name for name, service in services.items() if profile in service["profiles"]} == names
    for name, service in services.items():
        for key, value in HARDENED.items():
            assert service[key] == value, (name, key)
        assert service["deploy"]["resources"]["limits"]["memory"] and service["pids_limit"], name
        assert all("127.0.0.1" in json.dumps(port) for port in service.get("ports", [])), f"{name} is open to the world"


def test_the_word_is_said_where_no_key_is_asked_for():
    """The image does not start without; the port of probes, which asks nobody, is no port of the machine."""
    for name, service in compose(*profile_arguments())["services"].items():
        if name.startswith("burin"):
            assert service["environment"]["BURIN_INSECURE"] == "true" and "BURIN_KEYS_FILE" not in service["environment"]
            assert not any("8081" in json.dumps(port) for port in service.get("ports", [])) and "8081" in map(str, service["expose"])


def test_keys_are_a_secret():
    """Of every daemon, and of nothing else; where the daemon looks for it, and from the folder that README names."""
    config = compose("-f", f"{TOP}/docker/compose.keys.yaml", *profile_arguments())
    (name, secret), = config["secrets"].items()
    assert secret["file"] == f"{TOP}/docker/keys.json"
    for service, facts in config["services"].items():
        mounted = [f"/run/secrets/{entry['source']}" for entry in facts.get("secrets", []) if not entry.get("target") or entry["target"] == name]
        assert mounted == ([facts["environment"]["BURIN_KEYS_FILE"]] if service.startswith("burin") else []), service
    plain = compose(*profile_arguments())["services"]
    for service, facts in config["services"].items():  # and all else is as it was
        facts.pop("secrets", None), facts.get("environment", {}).pop("BURIN_KEYS_FILE", None)
        assert facts == plain[service], service


def test_tls_is_nginx_alone():
    plain, config = compose(*profile_arguments())["services"], compose("-f", f"{TOP}/docker/compose.tls.yaml", *profile_arguments())["services"]
    nginx = config.pop("nginx")
    assert config == {name: service for name, service in plain.items() if name != "nginx"}
    assert [port for port in map(json.dumps, nginx["ports"]) if "8443" in port] and all("127.0.0.1" in json.dumps(port) for port in nginx["ports"])
    mounted = json.dumps(nginx["volumes"])
    with open(f"{TOP}/docker/nginx-tls.conf") as f:
        folders = set(re.findall(r"^ssl_certificate\w* (/.*)/", f.read(), re.M))
    assert folders == {"/etc/nginx/tls"} and "/etc/nginx/tls" in mounted and "nginx-tls.conf" in mounted and "/etc/nginx/burin/tls.conf" in mounted


def test_gpu_is_asked_for_by_one_service():
    services = compose(*profile_arguments())["services"]
    asking = {name: service["deploy"]["resources"].get("reservations", {}).get("devices") for name, service in services.items()}
    device, = asking.pop("burin")
    assert device["driver"] == "nvidia" and device["capabilities"] == [["gpu"]] or device["capabilities"] == ["gpu"]
    assert not any(asking.values())


def test_mounted_files_exist():
    for name, service in compose(*profile_arguments())["services"].items():
        for volume in service.get("volumes", []):
            source = volume["source"] if isinstance(volume, dict) else volume.split(":")[0]
            assert "/" not in source or os.path.isfile(os.path.join(TOP, "docker", source)), (name, source)


def test_keys_in_the_environment_exist():
    """A misspelt BURIN_ name would otherwise show only when the container does not start."""
    with open(f"{TOP}/config/burin.json") as f:
        known = {f"BURIN_{key.upper()}" for key in json.load(f)}
    files = [COMPOSE, f"{TOP}/docker/Dockerfile"]
    for folder, _, names in os.walk(f"{TOP}/docker/kubernetes"):
        files += [os.path.join(folder, name) for name in names]
    for path in files:
        with open(path) as f:
            used = set(re.findall(r"(?<![${\w])BURIN_[A-Z_]+(?=[=:]|\n)", f.read()))
        assert used <= known, (path, used - known)


# ---- monitoring

def dashboard():
    with open(f"{MONITORING}/burin.json") as f:
        return json.load(f)


def queries():
    return [(panel["title"], target["expr"]) for panel in dashboard()["panels"] for target in panel.get("targets", [])]


def alerts():
    with open(f"{MONITORING}/alerts.yaml") as f:
        return f.read()


def promtool(*arguments, text=None):
    done = subprocess.run([find_tool("promtool", "prometheus"), *arguments], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_accepts_its_settings():
    promtool("check", "config", f"{MONITORING}/prometheus.yaml")


def test_prometheus_accepts_every_query(tmp_path):
    rules = [{"record": f"panel:{i}", "expr": expr.replace("$__rate_interval", "5m").replace("$instance", ".*")}
             for i, (_, expr) in enumerate(queries())]
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", str(tmp_path / "rules.yaml"))


@pytest.fixture(scope="module")
def printed():
    """Metrics that /metrics prints: those of a daemon on a CPU, and those that its source has for GPUs."""
    from conftest import Daemon
    daemon = Daemon()
    assert daemon.post("/histeq", jpeg(smooth(64, 48))).status == 200
    texts = []

    def counted():  # counted a moment after the answer was sent
        texts.append(daemon.get("/metrics").body.decode())
        return "burin_requests_total{" in texts[-1]

    assert wait_until(counted), texts[-1]
    text = texts[-1]
    daemon.stop()
    names = set(re.findall(r"^(burin_\w+)", text, re.M))
    for source in glob.glob(f"{TOP}/server/api/metrics*.c"):
        with open(source) as f:
            names |= {f"burin_{name}" for name in re.findall(r'"((?:gpu|pinned|codec|quota)_\w+|workers\w*)"', f.read())}
    return names, text


def test_metrics_are_well_formed(printed):
    promtool("check", "metrics", text=printed[1])


def test_dashboard_and_alerts_query_existing_metrics(printed):
    for title, text in [*queries(), ("alerts", alerts())]:
        used = {name for name in WORDS.findall(text) if name.startswith("burin_")}
        assert used <= printed[0], (title, used - printed[0])


def test_labels_are_those_printed(printed):
    """Labels in `by (label)` and {label=...} of a metric that a CPU's daemon prints too."""
    labels = {}
    for name, inside in re.findall(r"^(burin_\w+)(?:\{(.*)\})? ", printed[1], re.M):
        labels.setdefault(name, set()).update(re.findall(r'(\w+)="', inside))
    for title, expr in queries():
        for by, name in re.findall(r"by \(([\w, ]+)\) \((?:\w+\()?(burin_\w+)", expr):
            if name in labels:
                assert set(re.split(r", *", by)) <= labels[name] | {"instance", "gpu"}, (title, name)


def test_dashboard_shows_all_metrics(printed):
    """A metric without a panel is superfluous, or a panel is missing."""
    shown = {name for _, expr in queries() for name in WORDS.findall(expr)}
    names = {re.sub(r"_(sum|count|bucket)$", "", name) for name in printed[0]}
    assert names <= {re.sub(r"_(sum|count|bucket)$", "", name) for name in shown}


def test_panels_do_not_overlap():
    places = [panel["gridPos"] for panel in dashboard()["panels"]]
    taken = {(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])}
    assert len(taken) == sum(p["w"] * p["h"] for p in places)
    assert all(p["x"] + p["w"] <= 24 for p in places)
    numbers = [panel["id"] for panel in dashboard()["panels"]]
    assert len(numbers) == len(set(numbers))
