# SPDX-License-Identifier: Apache-2.0
"""docker/Dockerfile, built by buildah without a daemon, and its program run as a container runtime would run it. The base
is not fetched from a registry: debootstrap makes it from Debian's packages, as small as debian:bookworm-slim. Needs root,
buildah and debootstrap; skipped where one is missing. The CUDA image is built where a toolkit is in /usr/local/cuda and
BURIN_TEST_CUDA_IMAGE names the generations of GPUs to compile for ("90"): it takes minutes.

covers: docker/Dockerfile docker/depends.sh"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../http")]
from conftest import BURIN  # noqa: E402
from signing import Key, write_keys  # noqa: E402
from test_install import make  # noqa: E402
from tools import TOP  # noqa: E402

PHOTO = f"{TOP}/tests/golden/photos/rocket.jpg"
WORK = f"{TOP}/build/docker"
BASE = "localhost/debian:slim"
# The only storage driver that works on every file system.
BUILDAH = ["buildah", "--root", f"{WORK}/store", "--runroot", f"{WORK}/run", "--storage-driver", "vfs"]
ENVIRONMENT = {**os.environ, "BUILDAH_ISOLATION": "chroot"}
TOOLKIT = "/usr/local/cuda"
CUDA_ARCHS = os.environ.get("BURIN_TEST_CUDA_IMAGE", "")
IMAGE_BYTES_MAX = 120_000_000
READY_S = 5  # the most on a loaded machine; the measured time is printed
# The files that debian:bookworm-slim leaves out of every package.
LEFT_OUT = ["/usr/share/doc/*", "/usr/share/info/*", "/usr/share/lintian/*", "/usr/share/locale/*", "/usr/share/man/*"]
EMPTIED = ["var/cache/apt", "var/lib/apt/lists", "var/log"]

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a base and change its root folder"),
              pytest.mark.skipif(not (shutil.which("buildah") and shutil.which("debootstrap")),
                                 reason="buildah or debootstrap is not installed")]


def buildah(*arguments, timeout=1800):
    done = subprocess.run([*BUILDAH, *arguments], env=ENVIRONMENT, cwd=TOP, timeout=timeout, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"buildah {' '.join(arguments)}:\n{done.stdout[-4000:]}"
    return done.stdout.strip()


def release():
    """The release of Debian that runs here, else the one whose image is the default base."""
    with open("/etc/os-release") as f:
        facts = dict(line.rstrip().split("=", 1) for line in f if "=" in line)
    return facts.get("VERSION_CODENAME", "bookworm") if facts.get("ID") == "debian" else "bookworm"


def make_tree(tree):
    """debootstrap's tree without the files that Debian's slim images leave out."""
    done = subprocess.run(["debootstrap", "--variant=minbase", release(), tree], text=True, timeout=900,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        shutil.rmtree(tree, ignore_errors=True)
        pytest.skip("debootstrap cannot make a base here: " + done.stdout.strip()[-300:])
    for path in LEFT_OUT:
        shutil.rmtree(tree + path.rstrip("/*"))
    for path in EMPTIED:
        shutil.rmtree(f"{tree}/{path}")
        os.mkdir(f"{tree}/{path}")
    with open(f"{tree}/etc/dpkg/dpkg.cfg.d/docker", "w") as f:
        f.writelines(f"path-exclude {path}\n" for path in LEFT_OUT)


@pytest.fixture(scope="session")
def base():
    """The base image, made once and kept below build/."""
    if subprocess.run([*BUILDAH, "inspect", "--type", "image", BASE], env=ENVIRONMENT, capture_output=True).returncode:
        os.makedirs(WORK, exist_ok=True)
        make_tree(f"{WORK}/tree")
        container = buildah("from", "scratch")
        buildah("copy", "-q", container, f"{WORK}/tree", "/")
        buildah("commit", "-q", "--rm", container, BASE)
        shutil.rmtree(f"{WORK}/tree")
    container = buildah("from", BASE)
    runs = subprocess.run([*BUILDAH, "run", container, "true"], env=ENVIRONMENT, capture_output=True, text=True)
    buildah("rm", container)
    if runs.returncode:
        pytest.skip("nothing can be run in another root folder here: " + runs.stderr.strip()[-300:])
    return BASE


class Image:
    def __init__(self, tag, *options, **arguments):
        begin = time.monotonic()
        listed = [f"--build-arg={name}={value}" for name, value in arguments.items()]
        buildah("bud", "--format", "docker", "-f", "docker/Dockerfile", "-t", tag, *options, *listed, ".")
        facts = json.loads(buildah("inspect", "--type", "image", tag))
        self.tag = tag
        self.config = facts["Docker"]["config"]
        self.bytes = self.layer_bytes()
        self.container = buildah("from", tag)
        self.root = buildah("mount", self.container)
        print(f"{tag}: built in {time.monotonic() - begin:.0f} s, {self.bytes / 1e6:.1f} MB")

    def layer_bytes(self):
        """The layers' bytes on disk, uncompressed, as in `docker image ls`."""
        size = buildah("images", "--format", "{{.Size}}", self.tag).split()
        return int(float(size[0]) * {"KB": 1e3, "MB": 1e6, "GB": 1e9}[size[1]])

    def remove(self):
        buildah("rm", self.container)
        buildah("rmi", self.tag)


class Container:
    """The image's program, started as the image's configuration says, isolated from this machine."""

    def __init__(self, image, log, *environment):
        config = image.config
        self.log = log
        self.begin = time.monotonic()
        with open(log, "w") as f:
            self.process = subprocess.Popen(
                ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "/usr/bin/python3", f"{HERE}/contain.py",
                 image.root, config["User"], *config["Env"], *environment, "--", *config["Entrypoint"], *config["Cmd"]],
                stdout=f, stderr=subprocess.STDOUT)
        self.config = config

    @property
    def pid(self):
        """The program's own process id: unshare's child."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as f:
            return int(f.read())

    def inside(self, *command, **options):
        """Runs a program of this machine in the container's network."""
        return subprocess.run(["nsenter", "-t", str(self.pid), "-n", *command], capture_output=True, timeout=60, **options)

    def health(self):
        """Runs the image's HEALTHCHECK in the container: with its root folder and user."""
        user, group = self.config["User"].split(":")
        kind, *command = self.config["Healthcheck"]["Test"]
        assert kind == "CMD", "a health check through a shell"
        return subprocess.run(["nsenter", "-t", str(self.pid), "-m", "-n", "-p", "-r", "-w", "-G", group, "-S", user,
                               "env", "-i", *self.config["Env"], *command], capture_output=True, timeout=60)

    def wait_ready(self):
        while time.monotonic() - self.begin < READY_S:
            if self.process.poll() is not None:
                break
            try:
                if self.inside("curl", "-sf", "http://127.0.0.1:8081/readyz").returncode == 0:
                    return time.monotonic() - self.begin
            except (OSError, ValueError):
                pass  # unshare has no child yet
            time.sleep(0.01)
        self.stop()
        with open(self.log) as f:
            raise AssertionError(f"not ready within {READY_S} s:\n{f.read()}")

    def stop(self):
        """Seconds from SIGTERM to the end, and the exit status."""
        begin = time.monotonic()
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return time.monotonic() - begin, self.process.returncode


@pytest.fixture(scope="session")
def cpu_image(base):
    image = Image("localhost/burin:cpu", CPU_BASE=base, VERSION="v0.0.0-test", REVISION="0123abc", TCC="1")
    yield image
    image.remove()


@pytest.fixture(scope="session")
def cuda_image(base):
    if not CUDA_ARCHS:
        pytest.skip("takes minutes: BURIN_TEST_CUDA_IMAGE=90 builds it")
    if not os.path.exists(f"{TOOLKIT}/bin/nvcc"):
        pytest.skip(f"no CUDA toolkit in {TOOLKIT}")
    # The toolkit lies in the build's base as in NVIDIA's: mounted, because copying it takes longer than the build.
    image = Image("localhost/burin:cuda", "--volume", f"{os.path.realpath(TOOLKIT)}:{TOOLKIT}:ro", BUILD_BASE=base,
                  RUNTIME_BASE=base, VERSION="v0.0.0-test", CUDA_ARCHS=CUDA_ARCHS, NVRTC="1")
    yield image
    image.remove()


def check_image(image):
    """The configuration that every runtime and orchestrator reads."""
    config = image.config
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", config["User"]), "not a numeric user other than root"
    assert config["StopSignal"] == "SIGTERM"
    assert set(config["ExposedPorts"]) == {"8080/tcp"}
    environment = dict(line.split("=", 1) for line in config["Env"])
    assert environment["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert environment["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility,video"
    assert config["Healthcheck"]["Test"] == ["CMD", "/usr/bin/burin", "health", "--live"]
    labels = {name.removeprefix("org.opencontainers.image.") for name in config["Labels"]}
    assert {"title", "description", "licenses", "version", "revision"} <= labels
    assert config["Labels"]["org.opencontainers.image.version"] == "v0.0.0-test"
    for tool in "gcc", "cc", "nvcc", "make":
        assert not shutil.which(tool, path=f"{image.root}/usr/bin:{image.root}/usr/local/bin"), f"{tool} is in the image"


def check_life(image, log):
    """The container becomes ready, works, reports its health, and stops on SIGTERM."""
    container = Container(image, log, "BURIN_INSECURE=true")
    ready_s = container.wait_ready()
    try:
        with open(f"/proc/{container.pid}/status") as f:
            status = {name: value.strip() for name, value in (line.split(":", 1) for line in f)}
        assert status["Uid"].split() == [image.config["User"].split(":")[0]] * 4
        assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0 and status["NoNewPrivs"] == "1"
        answer = container.inside("curl", "-sf", "-F", f"image=@{PHOTO}", "http://127.0.0.1:8080/histeq")
        assert answer.returncode == 0, answer.stderr
        here = subprocess.run([BURIN, "run", "histeq", PHOTO, "-"], capture_output=True, check=True, timeout=60)
        assert answer.stdout == here.stdout, "the image's program makes other bytes than this tree's"
        health = container.health()
        assert health.returncode == 0 and b'"live"' in health.stdout, health
    finally:
        stop_s, code = container.stop()
    with open(log) as f:
        assert code == 0, f"ended with {code}:\n{f.read()}"
    assert stop_s < 10, "docker stop would have killed it"
    print(f"{image.tag}: ready in {ready_s:.2f} s, stopped in {stop_s:.2f} s")


def test_cpu_image(cpu_image):
    check_image(cpu_image)
    assert cpu_image.bytes <= IMAGE_BYTES_MAX, f"{cpu_image.bytes} bytes"


def test_cpu_image_runs(cpu_image, tmp_path):
    check_life(cpu_image, tmp_path / "log")


def test_without_a_word_it_does_not_start(cpu_image, tmp_path):
    """Nobody would be asked for a key; the message has the two words."""
    container = Container(cpu_image, tmp_path / "log")
    assert container.process.wait(60) == 2
    log = (tmp_path / "log").read_text()
    assert "0.0.0.0:8080 can be reached" in log and "BURIN_KEYS_FILE" in log and "BURIN_INSECURE=true" in log, log
    # The one for probes stays inside, or wants the word as well.
    container = Container(cpu_image, tmp_path / "log", "BURIN_KEYS_FILE=/keys.json", "BURIN_ADMIN_LISTEN=0.0.0.0:8081")
    assert container.process.wait(60) == 2


def test_with_keys_it_starts(cpu_image, tmp_path):
    """As a secret of Docker or Kubernetes lies there: root's, and readable for the group."""
    path, user = f"{cpu_image.root}/keys.json", int(cpu_image.config["User"].split(":")[0])
    shop = Key("shop", 1)
    try:
        write_keys(pathlib.Path(path), shop)
        os.chown(path, 0, user)
        os.chmod(path, 0o440)
        container = Container(cpu_image, tmp_path / "log", "BURIN_KEYS_FILE=/keys.json")
        container.wait_ready()
        try:
            for header, status in (("X-None: 1", b"401"), (f"Authorization: Bearer {shop.token}", b"200")):
                answer = container.inside("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", header, "-F", f"image=@{PHOTO}",
                                          "http://127.0.0.1:8080/histeq")
                assert answer.stdout == status, answer
        finally:
            assert container.stop()[1] == 0
    finally:
        os.remove(path)


def test_health_reports_a_missing_daemon(cpu_image):
    """The check fails where nothing listens: a container that is not ready is not reported healthy."""
    done = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "/usr/bin/python3",
                           f"{HERE}/contain.py", cpu_image.root, cpu_image.config["User"], *cpu_image.config["Env"], "--",
                           *cpu_image.config["Healthcheck"]["Test"][1:]], capture_output=True, timeout=60)
    assert done.returncode == 1 and b"no answer from" in done.stderr, done


def test_tcc_is_an_argument(cpu_image):
    assert os.access(f"{cpu_image.root}/usr/bin/tcc", os.X_OK)


def test_package_on_a_bare_debian(base):
    """apt finds the dependencies; the program runs; removing leaves the settings, purging leaves nothing."""
    if not shutil.which("dpkg-shlibdeps"):
        pytest.skip("no dpkg-dev here")
    file = make("deb").split()[-1]
    container = buildah("from", base)

    def inside(*command):
        return buildah("run", container, *command)

    try:
        buildah("copy", "-q", container, file, "/burin.deb")
        buildah("copy", "-q", container, PHOTO, "/photo.jpg")
        inside("apt-get", "update", "-qq")
        inside("apt-get", "install", "-qq", "-y", "--no-install-recommends", "/burin.deb")
        inside("burin", "run", "histeq", "/photo.jpg", "/out.jpg")
        assert "burin" in inside("burin", "version")
        name = os.path.basename(file).split("_")[0]
        left_out = re.compile(r"/usr/share/(doc|man)/") # left out by the base's settings
        assert not [line for line in inside("dpkg", "--verify", name).splitlines() if not left_out.search(line)]
        inside("apt-get", "remove", "-qq", "-y", name)
        inside("test", "-e", "/etc/burin/burin.json")
        inside("dpkg", "--purge", name)
        inside("test", "!", "-e", "/etc/burin")
    finally:
        buildah("rm", container)


def test_cuda_image_runs_without_gpu(cuda_image, tmp_path):
    check_image(cuda_image)
    check_life(cuda_image, tmp_path / "log")
    version = subprocess.run(["chroot", cuda_image.root, "/usr/bin/burin", "version"], capture_output=True, text=True, check=True)
    assert "cuda" in version.stdout.lower(), version.stdout


def test_nvrtc_is_an_argument(cuda_image):
    libraries = os.listdir(f"{cuda_image.root}/usr/local/lib")
    for library in ("nvrtc", "nvJitLink"):
        assert any(re.fullmatch(rf"lib{library}\.so\.\d+", name) for name in libraries), libraries


def test_packages_are_those_of_the_makefile():
    """The Dockerfile installs the packages that the Makefile lists for the build."""
    with open(f"{TOP}/Makefile") as f:
        wanted = re.search(r"^PACKAGES *= (.*)$", f.read(), re.M).group(1).split()
    with open(f"{TOP}/docker/Dockerfile") as f:
        installed = re.search(r"--no-install-recommends \\\n([^&]*?) \\\n", f.read()).group(1).split()
    assert set(wanted) <= set(installed), set(wanted) - set(installed)
