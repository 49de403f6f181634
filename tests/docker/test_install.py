# SPDX-License-Identifier: Apache-2.0
"""make install, make deb and make image: which files go where, that the program works from there, and the commands for docker,
podman and buildah. (The image itself, and the package on a bare Debian: test_image.py.)

covers: docker/deb.sh docker/man.sh docker/image.sh docker/depends.sh"""
import os
import re
import shutil
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../http")]
from conftest import BURIN, Daemon  # noqa: E402
from tools import TOP  # noqa: E402

PHOTO = f"{TOP}/tests/golden/photos/rocket.jpg"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=TOP, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


def make(*arguments):
    """Runs make with the program under test, of any build: nothing is compiled."""
    cuda = "0" if re.search(r"CUDA +none", run(BURIN, "version")) else "1"
    return run("make", "--no-print-directory", f"CUDA={cuda}", f"PROGRAM={os.path.abspath(BURIN)}", *arguments,
               env={name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"})


def files(folder):
    return {os.path.join(at, name)[len(str(folder)):] for at, _, names in os.walk(folder) for name in names}


def units():
    folder = f"{TOP}/docker/systemd"
    return [f for f in (os.listdir(folder) if os.path.isdir(folder) else []) if f.endswith((".service", ".socket"))]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dest")
    make("install", f"DESTDIR={folder}", "PREFIX=/opt/burin")
    return folder


def test_install_puts_all_in_place(installed):
    assert files(installed) >= {"/opt/burin/bin/burin", "/opt/burin/share/man/man1/burin.1", "/opt/burin/share/bash-completion/completions/burin",
                                "/opt/burin/share/zsh/vendor-completions/_burin", "/opt/burin/share/fish/vendor_completions.d/burin.fish", "/etc/burin/burin.json",
                                *(f"/opt/burin/lib/systemd/system/{unit}" for unit in units())}
    for unit in units():
        text = (installed / f"opt/burin/lib/systemd/system/{unit}").read_text()
        assert "/usr/bin/burin" not in text and "/usr/local/bin/burin" not in text, f"{unit} starts another program"


def test_installed_program_works(installed, tmp_path):
    program = str(installed / "opt/burin/bin/burin")
    run(program, "run", "histeq", PHOTO, str(tmp_path / "out.jpg"))
    here = subprocess.run([BURIN, "run", "histeq", PHOTO, "-"], capture_output=True, check=True, timeout=60)
    assert (tmp_path / "out.jpg").read_bytes() == here.stdout
    daemon = Daemon("--config", str(installed / "etc/burin/burin.json"), command=[program])
    assert daemon.works() and daemon.ready()
    assert daemon.stop() == 0


def test_settings_that_were_edited_stay(installed):
    (installed / "etc/burin/burin.json").write_text("{}")
    make("install", f"DESTDIR={installed}", "PREFIX=/opt/burin")
    assert (installed / "etc/burin/burin.json").read_text() == "{}"


def test_man_page_has_every_command_and_key(installed):
    page = installed / "opt/burin/share/man/man1/burin.1"
    if not shutil.which("man"):
        pytest.skip("no man here")
    done = subprocess.run(["man", "--warnings", "-l", str(page)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C"})
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr
    for command in re.findall(r"^  ([a-z]+)  ", run(BURIN, "--help"), re.M):
        assert f"BURIN {command.upper()}" in done.stdout, command
    for flag in re.findall(r"^  (--[a-z-]+)", run(BURIN, "serve", "--help"), re.M):
        assert flag in done.stdout, flag


# ---- the Debian package

@pytest.fixture(scope="module")
def package(tmp_path_factory):
    if not (shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps")):
        pytest.skip("no dpkg-dev here")
    file = make("deb").split()[-1]
    folder = tmp_path_factory.mktemp("package")
    run("dpkg-deb", "-x", file, str(folder))
    return os.path.join(TOP, file), folder


def test_package_says_what_it_is(package):
    file, folder = package
    fields = dict(re.findall(r"^([\w-]+): (.*)$", run("dpkg-deb", "-f", file), re.M))
    assert fields["Package"] in ("burin", "burin-cuda") and re.match(r"\d+[.~]", fields["Version"])
    assert os.path.basename(file) == f"{fields['Package']}_{fields['Version']}_{fields['Architecture']}.deb"
    libraries = set(re.findall(r"([\w.+-]+) \(>= ", fields["Depends"]))
    assert {"libc6", "libmicrohttpd12", "libjansson4"} <= libraries | {name.removesuffix("t64") for name in libraries}
    assert run("dpkg-deb", "-I", file, "conffiles").split() == ["/etc/burin/burin.json"]


def test_packaged_program_works(package, tmp_path):
    _, folder = package
    assert files(folder) >= {"/usr/bin/burin", "/etc/burin/burin.json", "/usr/share/man/man1/burin.1.gz"}
    run(str(folder / "usr/bin/burin"), "run", "edge", PHOTO, str(tmp_path / "out.jpg"))
    for line in run("dpkg-deb", "-I", package[0], "md5sums").splitlines():
        assert run("md5sum", str(folder / line.split()[1])).split()[0] == line.split()[0]


# ---- make image

@pytest.fixture
def image(tmp_path):
    """image(kind, present...) -> image.sh's result, and the commands that the first working builder got."""
    def build(kind, *present, arguments=()):
        for name in present:
            recorder = tmp_path / name
            recorder.write_text(f'#!/bin/sh\n[ "$1" = info ] || echo "$0 $*" >>{tmp_path}/calls\n')
            recorder.chmod(0o755)
        for name in "git", "tr", "dirname", "cat", "sh":
            if not (tmp_path / name).exists():
                (tmp_path / name).symlink_to(shutil.which(name))
        done = subprocess.run([f"{TOP}/docker/image.sh", "v1.2-3-gabc", kind, *arguments], capture_output=True, text=True,
                              env={"PATH": str(tmp_path)}, timeout=60)
        calls = tmp_path / "calls"
        return done, calls.read_text() if calls.exists() else ""
    return build


def test_image_by_docker(image):
    done, commands = image("cuda", "docker", "podman", "buildah")
    assert done.returncode == 0, done.stderr
    assert "/docker build -f docker/Dockerfile -t burin:v1.2-3-gabc -t burin:latest " in commands and commands.count("\n") == 1
    assert "--build-arg VERSION=v1.2-3-gabc" in commands and "CPU_BASE" not in commands
    assert re.search(r"docker run --gpus all -p 127.0.0.1:8080:8080 .*burin:v1.2-3-gabc\n", done.stdout)


def test_image_by_podman_without_cuda(image):
    done, commands = image("cpu", "podman", "buildah", arguments=["TCC=1"])
    assert done.returncode == 0, done.stderr
    assert "/podman build --format docker " in commands and "--build-arg CPU_BASE=debian:bookworm-slim --build-arg TCC=1" in commands
    assert "-t burin:v1.2-3-gabc-cpu -t burin:latest-cpu" in commands
    assert "gpu" not in done.stdout and "podman run -p 127.0.0.1:8080:8080" in done.stdout


def test_image_by_buildah(image):
    done, commands = image("cuda", "buildah")
    assert done.returncode == 0 and "/buildah bud --format docker " in commands
    assert "podman run --device nvidia.com/gpu=all -p 127.0.0.1:8080:8080" in done.stdout


def test_image_by_nothing(image):
    done, commands = image("cuda")
    assert done.returncode == 1 and not commands and "neither docker" in done.stderr
