# SPDX-License-Identifier: Apache-2.0
"""The program from outside: every subcommand but serve and worker, its exit status and its messages.

covers: server/main.c server/cli/command_config.c server/cli/command_devices.c server/cli/command_health.c server/cli/command_ops.c
covers: server/cli/command_run.c server/cli/one_run.c server/cli/progress_line.c server/cli/command_version.c server/files.c server/api/ops_json.c
covers: server/cli/options.c server/version.c server/width_list.c
"""
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import threading
import time

import numpy as np
import pytest
from PIL import Image

from conftest import BURIN, from_pnm, jpeg, needs, noise, operators, png, pnm, smooth
from test_histeq import histeq

TEXT = {"text": True}


def burin(*arguments, input=None, env=None, cwd=None, **options):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("BURIN_")}
    return subprocess.run([os.path.abspath(BURIN), *map(str, arguments)], input=input, timeout=60, cwd=cwd,
                          capture_output=True, env={**clean, **(env or {})}, **options)


def refused(*arguments, status=2, **options):
    done = burin(*arguments, **TEXT, **options)
    assert done.returncode == status, done
    assert done.stdout == ""
    assert done.stderr.startswith("burin")
    return done.stderr


# ---- which command

def test_help_has_a_line_a_command():
    done = burin("--help", **TEXT)
    assert done.returncode == 0
    for name in "serve run info ops devices config health bench version worker".split():
        assert re.search(rf"^  {name} +\w", done.stdout, re.M), name


def test_no_command():
    done = burin(**TEXT)
    assert done.returncode == 2 and "usage" in done.stderr and done.stdout == ""


def test_unknown_command():
    assert 'did you mean "serve"?' in refused("srve")
    assert "burin --help" in refused("frobnicate")
    assert "burin run histeq" in refused("histeq")


@pytest.mark.parametrize("name", "serve run info ops devices config health bench version".split())
def test_each_helps(name):
    done = burin(name, "--help", **TEXT)
    assert done.returncode == 0 and f"burin {name}" in done.stdout and done.stderr == ""


@pytest.mark.parametrize("name", "serve run info ops devices config health version".split())
def test_each_refuses_an_unknown_argument(name):
    done = burin(name, "--no-such-flag", **TEXT)
    assert done.returncode == 2 and done.stderr


def test_bench_offers_what_is_built_in():
    listed = re.findall(r"^  (\w+) +", burin("bench", "--help", **TEXT).stdout, re.M)
    assert ("carve" in listed) == ("carve" in operators()) and "histeq" in listed
    for arguments in (["carve"], ["carve", "--help"]) if "carve" not in operators() else ():
        assert refused("bench", *arguments) == "burin bench carve: this program was built without carve\n"


def test_bench_may_not_be_installed(tmp_path):
    alone = shutil.copy(BURIN, tmp_path / "burin")
    done = subprocess.run([alone, "bench", "histeq"], env={**os.environ, "PATH": str(tmp_path)}, timeout=60, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == "burin bench: the program burin-bench is not installed; `make tools` in Burin's sources builds it\n"
    (tmp_path / "burin-bench").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "burin-bench").chmod(0o755)
    assert subprocess.run([alone, "bench", "histeq", "--json"], timeout=60, capture_output=True, text=True).stdout == "histeq --json\n"


@pytest.mark.parametrize("arguments, message", [
    (["--repeats", "0"], '--repeats must be 1..1000, not "0"'), (["--repeats", "1001"], "1..1000"),
    (["--repeats", "x"], "1..1000"), (["--repeats"], "--repeats needs a value: 1..1000"),
    (["--pixels-max", "-1"], "--pixels-max must be a number of pixels"), (["--sideways"], 'no option "--sideways"')])
def test_bench_names_the_range(arguments, message):
    assert message in refused("bench", "histeq", *arguments)


# ---- ops, devices, version

def test_ops():
    text = burin("ops", **TEXT).stdout
    listed = json.loads(burin("ops", "--json").stdout)["operators"]
    names = [op["name"] for op in listed]
    assert names == sorted(names) and "histeq" in names
    for op in listed:
        also = "; also " + " ".join(op["aliases"]) if "aliases" in op else ""
        assert re.search(rf"^{op['name']} +{re.escape(op['summary'])}\n    {op['group']} +{re.escape(op['title'] + also)}$", text, re.M)
        for param in op["parameters"]:
            assert f"    {param['name']}=" in text
    bins = [p for op in listed if op["name"] == "histeq" for p in op["parameters"] if p["name"] == "bins"]
    assert (bins[0]["min"], bins[0]["max"], bins[0]["default"]) == (2, 65536, 256)


def test_ops_of_one():
    done = burin("ops", "histeq", **TEXT)
    assert done.returncode == 0 and done.stdout.startswith("histeq") and "grayscale" not in done.stdout
    assert 'did you mean "histeq"?' in refused("ops", "histq")


def test_ops_equals_the_daemons(daemon):
    assert daemon.get("/ops").json == json.loads(burin("ops", "--json").stdout)


def test_devices():
    devices = json.loads(burin("devices", "--json").stdout)
    assert devices[0]["device"] == "cpu" and devices[0]["cores"] >= 1 and devices[0]["name"]
    assert burin("devices", **TEXT).stdout.startswith("cpu\n")


def test_version():
    text = burin("version", **TEXT).stdout
    facts = json.loads(burin("version", "--json").stdout)
    assert text.startswith(f"burin {facts['version']}\n")
    for name in ("libmicrohttpd", "libjpeg-turbo", "isa-l", "jansson", "libcrypto"):
        assert re.match(r"\d+\.\d+", facts["libraries"][name]["built"])
        assert name in text
    assert burin("--version", **TEXT).stdout == text


# ---- config

def test_config_names_sources(tmp_path):
    file = tmp_path / "burin.json"
    file.write_text('{"queue_jobs": 1}')
    done = burin("config", "--json", "--batch", "3", env={"BURIN_CONFIG": str(file), "BURIN_LANES": "2"})
    settings = json.loads(done.stdout)
    assert settings["queue_jobs"] == {"value": 1, "from": "file"}
    assert settings["lanes"] == {"value": 2, "from": "environment"}
    assert settings["batch"] == {"value": 3, "from": "flag"}
    assert settings["listen"] == {"value": "127.0.0.1:8080", "from": "default"}


@pytest.mark.parametrize("program, read", [
    ("burin", True), ("build/burin", True), ("build/cpu/burin", True), ("bin/burin", True), ("lib/x/burin", False),
    ("build/a/b/burin", False)])
def test_config_file_beside_the_program(tmp_path, program, read):
    """Also beside `build`, for a variant in a subfolder, and not beside any folder further up."""
    program, file = tmp_path / program, tmp_path / "config/burin.json"
    program.parent.mkdir(parents=True, exist_ok=True)
    file.parent.mkdir()
    file.write_text('{"queue_jobs": 7}')
    shutil.copy(BURIN, program)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("BURIN_")}
    done = subprocess.run([program, "config"], capture_output=True, env=clean, timeout=60, **TEXT)
    assert done.returncode == 0 and done.stderr == ""
    assert bool(re.search(rf"^queue_jobs +7 +file {re.escape(str(file))}$", done.stdout, re.M)) == read
    assert (f"file that was read is {file}." if read else "No file was read") in done.stdout


def test_config_defaults_load(tmp_path):
    file = tmp_path / "burin.json"
    file.write_bytes(burin("config", "--defaults").stdout)
    assert {k: v["value"] for k, v in json.loads(burin("config", "--json", "--config", file).stdout).items()} == \
        {k: v["value"] for k, v in json.loads(burin("config", "--json").stdout).items()}


@pytest.mark.parametrize("command", ["config", "serve", "health"])
def test_config_refuses(command):
    assert "--queue-job; did you mean --queue-jobs?" in refused(command, "--queue-job", "3")
    assert "BURIN_QUEUE_JOBS?" in refused(command, env={"BURIN_QUEUE_JOB": "3"})
    assert "/no/such/file" in refused(command, "--config", "/no/such/file")
    for flag, value in (("listen", "127.0.0.1:99999"), ("listen", "8080"), ("listen", "example.com:8080"), ("listen", "localhost"),
                        ("listen", "unix:"), ("admin-listen", "foo"), ("devices", "gpu"), ("devices", "")):
        message = refused(command, f"--{flag}={value}")
        assert f"--{flag}: {flag.replace('-', '_')} must be" in message and f'not "{value}"' in message
    message = refused(command, "--connections-max", "1", "--io-threads", "2")
    assert "connections_max" in message and "io_threads" in message
    message = refused(command, "--insecure", "maybe")
    assert "insecure must be true | false" in message and 'not "maybe"' in message


@pytest.mark.parametrize("flag, value, words", [
    ("--devices", "cuda:31", ['devices names "cuda:31"', "GPUs here"]),
    ("--listen", "0.0.0.0:0", ["0.0.0.0:0", "--insecure"])])
def test_serve_refuses_what_it_cannot_have(flag, value, words):
    """The configuration is at fault, not the machine, and a second try would fail too: status 2, as for a value out of range."""
    message = refused("serve", *(["--listen", "127.0.0.1:0"] if flag != "--listen" else ["--devices", "cpu"]), flag, value)
    for word in words:
        assert word in message


# ---- health

def test_health(daemon):
    done = burin("health", "--url", f"http://127.0.0.1:{daemon.port}", **TEXT)
    assert done.returncode == 0 and json.loads(done.stdout)["status"] == "ready"
    assert burin("health", "--listen", f"127.0.0.1:{daemon.port}").returncode == 0
    assert burin("health", env={"BURIN_LISTEN": f"127.0.0.1:{daemon.port}"}).returncode == 0
    assert burin("health", "--url", f"http://127.0.0.1:{daemon.port}/nowhere").returncode == 1


def test_health_live(daemon):
    url = f"http://127.0.0.1:{daemon.port}"
    for arguments in ("--live", "--url", url), ("--url", url, "--live"), ("--live", "--listen", url[len("http://"):]):
        done = burin("health", *arguments, **TEXT)
        assert done.returncode == 0 and json.loads(done.stdout) == {"status": "live"}
    assert burin("health", "--live", "--url", f"{url}/nowhere").returncode == 1, "a path that is given counts"


def test_health_without_a_daemon():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        message = refused("health", "--url", f"http://127.0.0.1:{free.getsockname()[1]}", status=1)
    assert "refused" in message


def test_health_gives_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        start = time.monotonic()
        message = refused("health", "--url", f"http://127.0.0.1:{silent.getsockname()[1]}", status=1)
        assert time.monotonic() - start > 4.5
    assert "timed out" in message


def test_health_of_something_else():
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            with server.accept()[0] as connection:
                connection.recv(1000)
                connection.sendall(b"220 mail.example ready\r\n")
        thread = threading.Thread(target=answer)
        thread.start()
        assert "no HTTP" in refused("health", "--url", f"http://127.0.0.1:{server.getsockname()[1]}", status=1)
        thread.join()


def test_health_through_a_unix_socket(tmp_path):
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()

        def answer():
            with server.accept()[0] as connection:
                assert connection.recv(1000).startswith(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n")
                connection.sendall(b"HTTP/1.1 503 Service Unavailable\r\n\r\ndraining")
        thread = threading.Thread(target=answer)
        thread.start()
        done = burin("health", "--listen", f"unix:{path}", **TEXT)
        thread.join()
    assert (done.returncode, done.stdout) == (1, "draining\n")


@pytest.mark.parametrize("url", ["", "127.0.0.1:80", "https://a", "http://", "http://a:b", "http://a:70000",
                                 "http://a b", "http://" + "a" * 300])
def test_health_refuses_urls(url):
    assert "--url must be" in refused("health", "--url", url)


# ---- run

@pytest.fixture
def files(tmp_path):
    rgb = smooth(61, 47)
    (tmp_path / "in.png").write_bytes(png(rgb))
    (tmp_path / "in.jpg").write_bytes(jpeg(rgb))
    (tmp_path / "in.ppm").write_bytes(pnm(rgb))
    return tmp_path


def test_run_is_the_operator(files):
    done = burin("run", "histeq:bins=64,scale=maxabs", "in.ppm", "out.ppm", cwd=files)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert np.array_equal(from_pnm((files / "out.ppm").read_bytes()),
                          histeq(smooth(61, 47), bins=64, scale="maxabs"))


def test_run_equals_the_daemon(files, daemon):
    assert burin("run", "histeq", "--device", "cpu", "in.jpg", "out.jpg", cwd=files).returncode == 0
    answer = daemon.post("/histeq", (files / "in.jpg").read_bytes())
    assert answer.body == (files / "out.jpg").read_bytes()


def test_run_steps_in_order(files):
    assert burin("run", "grayscale", "histeq:bins=9", "in.png", "out.png", cwd=files).returncode == 0
    assert burin("run", "grayscale;histeq:bins=9", "in.png", "again.png", cwd=files).returncode == 0
    assert (files / "out.png").read_bytes() == (files / "again.png").read_bytes()
    assert Image.open(files / "out.png").mode == "L"


def test_run_converts(files):
    assert burin("run", "in.png", "out.ppm", cwd=files).returncode == 0
    assert (files / "out.ppm").read_bytes() == (files / "in.ppm").read_bytes()


@pytest.mark.parametrize("output, flags, kind", [
    ("o.png", [], "PNG"), ("o.jpeg", [], "JPEG"), ("o.JPG", [], "JPEG"), ("o.pgm", [], "PPM"), ("o", [], "PNG"),
    ("o.d/x", [], "PNG"), ("o.png", ["--type", "jpeg"], "JPEG"), ("o.png", ["--type=pnm"], "PPM"), ("o.", [], "PNG"),
    (".o", [], "PNG"), ("o.bmp", ["--type", "jpeg"], "JPEG")])
def test_run_output_type(files, output, flags, kind):
    (files / "o.d").mkdir()
    assert burin("run", *flags, "in.png", output, cwd=files).returncode == 0
    assert Image.open(files / output).format == kind


def test_run_through_pipes(files):
    image = (files / "in.ppm").read_bytes()
    done = burin("run", "-", "-", input=image)
    assert (done.returncode, done.stdout) == (0, image)
    large = pnm(noise(2000, 1500, 3))  # more than one read takes
    assert burin("run", "-", "-", input=large).stdout == large


def test_run_options(files):
    def size(*flags):
        assert burin("run", *flags, "in.png", "o.jpg", cwd=files).returncode == 0
        return (files / "o.jpg").stat().st_size
    assert size("--quality", 10) < size() < size("--quality=100")
    rgba = np.zeros((4, 4, 4), np.uint8)
    (files / "clear.png").write_bytes(png(rgba))
    done = burin("run", "--background", "1020fF", "clear.png", "o.ppm", cwd=files, **TEXT)
    assert done.stderr.startswith("burin: note: transparency")
    assert from_pnm((files / "o.ppm").read_bytes())[0, 0].tolist() == [0x10, 0x20, 0xFF]
    if "resize" in operators():  # with a border too, unless the step says otherwise
        done = burin("run", "--background", "010203", "resize:width=4,height=6,fit=contain", "clear.png", "o.ppm", cwd=files, **TEXT)
        assert from_pnm((files / "o.ppm").read_bytes())[0, 0].tolist() == [1, 2, 3], done.stderr
        done = burin("run", "--background", "010203", "resize:width=4,height=6,fit=contain,background=090807", "clear.png", "o.ppm", cwd=files, **TEXT)
        assert from_pnm((files / "o.ppm").read_bytes())[[0, 2], 0].tolist() == [[9, 8, 7], [1, 2, 3]], done.stderr
    (files / "half.jpg").write_bytes((files / "in.jpg").read_bytes()[:-100])
    done = burin("run", "--damaged", "accept", "half.jpg", "o.ppm", cwd=files, **TEXT)
    assert done.returncode == 0 and done.stderr.startswith("burin: note: the image is damaged")
    assert burin("run", "--damaged=refuse", "half.jpg", "o.ppm", cwd=files, **TEXT).returncode == 1


@needs("resize")
def test_run_several_widths(files):
    """One file for each width, as if it were the only one; a width that is not possible becomes the nearest possible one."""
    image = (files / "in.png").read_bytes()
    done = burin("run", "grayscale", "resize:kernel=box", "--widths", "20,70", "-", "o-%w.png", cwd=files, input=image)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    for width in (20, 70):
        assert burin("run", "grayscale", f"resize:kernel=box,width={width}", "in.png", "one.png", cwd=files).returncode == 0
        assert (files / "one.png").read_bytes() == (files / f"o-{width}.png").read_bytes()
    assert burin("run", "resize:enlarge=false", "--widths=20,900", "in.jpg", "%w/o.jpg", cwd=files).returncode == 1
    for width in (20, 61):
        (files / str(width)).mkdir()
    assert burin("run", "resize:enlarge=false", "--widths=20,900", "in.jpg", "%w/o.jpg", cwd=files).returncode == 0
    assert Image.open(files / "61/o.jpg").size == (61, 47)
    done = burin("run", "resize", "--widths", "20,30", "--timing", "in.png", "t%w.ppm", cwd=files, **TEXT)
    reports = json.loads("[" + done.stdout.replace("}\n{", "},{") + "]")
    assert [report["output"]["width"] for report in reports] == [20, 30]


@needs("carve")
def test_run_several_widths_with_a_mask(files):
    (files / "mask.png").write_bytes(png(np.pad(np.full((47, 11), 255, np.uint8), ((0, 0), (25, 25)))))
    assert burin("run", "carve", "--mask", "mask.png", "--widths", "50,55", "in.png", "c%w.png", cwd=files).returncode == 0
    for width in (50, 55):
        assert burin("run", f"carve:width={width}", "--mask", "mask.png", "in.png", "one.png", cwd=files).returncode == 0
        assert (files / "one.png").read_bytes() == (files / f"c{width}.png").read_bytes()


def test_run_threads_do_not_matter(tmp_path):
    (tmp_path / "in.ppm").write_bytes(pnm(noise(700, 500, 3)))
    results = set()
    for threads in (1, 2, 5):
        assert burin("run", "--device", "cpu", "--threads", threads, "histeq", "in.ppm", f"{threads}.ppm",
                     cwd=tmp_path).returncode == 0
        results.add((tmp_path / f"{threads}.ppm").read_bytes())
    assert len(results) == 1


def check_report(report, steps):
    ms = report["ms"]
    stages = ["receive", "queue", "decode", "upload", "compute", "download", "encode", "wait"]
    assert set(ms) == {*stages, "operators", "total"}
    assert abs(sum(ms[s] for s in stages) - ms["total"]) <= max(0.01 * ms["total"], 0.005)
    assert ms["queue"] == 0
    assert [op["name"] for op in ms["operators"]] == steps
    for op in ms["operators"]:
        assert all(kernel["ms"] >= 0 for kernel in op["kernels"])


def test_run_timing(files):
    done = burin("run", "--timing", "--device", "cpu", "grayscale", "histeq", "in.png", "o.jpg", cwd=files)
    report = json.loads(done.stdout)
    check_report(report, ["grayscale", "histeq"])
    assert report["device"] == "cpu" and report["notes"] == []
    assert report["input"] == {"type": "png", "width": 61, "height": 47, "channels": 3, "depth": 8,
                               "bytes": (files / "in.png").stat().st_size}
    assert report["output"] == {"type": "jpeg", "width": 61, "height": 47, "channels": 1, "depth": 8,
                                "bytes": (files / "o.jpg").stat().st_size}
    done = burin("run", "--timing", "in.png", "-", cwd=files)
    check_report(json.loads(done.stderr), [])
    assert done.stdout.startswith(b"\x89PNG")


@pytest.mark.parametrize("arguments, message", [
    ([], "INPUT is missing"),
    (["histeq"], "INPUT is missing"),
    (["histeq", "in.png"], "OUTPUT is missing"),
    (["histq", "in.png", "o.png"], 'did you mean "histeq"?'),
    (["histeq:bins=1", "in.png", "o.png"], "bins must be 2..65536, not 1"),
    (["histeq:bin=2", "in.png", "o.png"], 'did you mean "bins"?'),
    (["--qualty", "3", "in.png", "o.png"], "did you mean --quality?"),
    (["--quality", "0", "in.png", "o.png"], '--quality must be a whole number 1..100, not "0"'),
    (["--quality", "101", "in.png", "o.png"], "1..100"),
    (["--compression", "4", "in.png", "o.png"], "0..3"),
    (["--background", "fff", "in.png", "o.png"], "RRGGBB"),
    (["--damaged", "yes", "in.png", "o.png"], "refuse or accept"),
    (["--type", "bmp", "in.png", "o.png"], "png, jpeg, webp, avif, gif, pnm or auto"),
    (["--threads", "0", "in.png", "o.png"], "1..1024"),
    (["--pixels-max", "x", "in.png", "o.png"], "--pixels-max must be"),
    (["--device", "gpu", "in.png", "o.png"], "auto, cpu, cuda or cuda:N"),
    (["--device", "cuda:99", "in.png", "o.png"], 'no device "cuda:99"'),
    (["in.png", "o.png", "--type"], "needs a value"),
    (["in.png", "o.png", "--timing=1"], "takes no value"),
    (["histeq", "in.png", "in.jpg", "o.png"], "one INPUT and one OUTPUT, not 3 files"),
    (["in.png", "in.jpg", "in.ppm", "o.png"], "one INPUT and one OUTPUT, not 4 files"),
    (["nowhere.jpg", "in.jpg", "o.png"], "one INPUT and one OUTPUT, not 3 files"),
    (["", "in.jpg", "o.png"], "one INPUT and one OUTPUT"),
    (["histq:bins=2.5", "in.png", "o.png"], 'did you mean "histeq"?'),
    (["in.png", "o.bmp"], 'burin does not write ".bmp": OUTPUT must end in .png, .jpg'),
    (["in.jpg", "o.d/o.tiff"], "--type png, jpeg, webp, avif, gif or pnm"),
    (["histeq", "--widths", "20", "in.png", "o-%w.png"], "an operator whose width may be a list"),
    (["--widths", "20", "in.png", "o-%w.png"], "an operator whose width may be a list"),
    *((["resize", "--widths", text, "in.png", "o-%w.png"], "--widths must be 1 to 16 different whole numbers")
      for text in ("", "0", "20,20", "x", "65536", ",".join(map(str, range(1, 18)))) if "resize" in operators()),
    *[(["resize", "--widths", "20", "in.png", "o.png"], "%w"), (["resize:width=3", "--widths", "20", "in.png", "o%w.png"], "width"),
      (["carve:show=seams", "--widths", "20", "in.png", "o%w.png"], "show")][:3 if {"resize", "carve"} <= operators() else 0],
])
def test_run_refuses(files, arguments, message):
    assert message in refused("run", *arguments, cwd=files)
    assert not (files / "o.png").exists()


@pytest.mark.parametrize("arguments, message", [
    (["nowhere.png", "o.png"], "cannot open nowhere.png: No such file"),
    (["in.png", "nowhere/o.png"], "cannot write nowhere/o.png: No such file"),
    ([".", "o.png"], "cannot read"),
    (["text", "o.png"], "not an image of a known format"),
    (["cut.png", "o.png"], ""),
    (["--pixels-max", "2866", "in.png", "o.png"], "pixels_max"),
])
def test_run_fails(files, arguments, message):
    (files / "text").write_text("no image")
    (files / "cut.png").write_bytes((files / "in.png").read_bytes()[:-200])
    assert message in refused("run", *arguments, status=1, cwd=files)
    assert not (files / "o.png").exists()


def test_run_replaces_a_file(files):
    """A link is followed, and rights stay; no room for the result: the file stays as it was."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    path, link = files / "in.png", files / "link.png"
    before, image = path.read_bytes(), np.array(Image.open(path))[::-1]
    path.chmod(0o640)
    link.symlink_to("in.png")
    assert "File too large" in refused("run", "flip", "in.png", "in.png", status=1, cwd=files, preexec_fn=limit)
    assert path.read_bytes() == before
    assert burin("run", "flip", "link.png", "link.png", cwd=files).returncode == 0
    assert np.array_equal(np.array(Image.open(path)), image)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    assert "No such file" in refused("run", "in.png", "none/out.png", status=1, cwd=files)
    assert not [name for name in os.listdir(files) if name.startswith(".burin")]


def test_run_leaves_the_files_of_others(files):
    """One that a process with the same id, in another container, has not renamed yet, and one that is open for the result."""
    def begin():
        (files / f".burin-{os.getpid()}").write_text("half a file")
    with open(files / "o.png", "w+b") as output:
        run = [os.path.abspath(BURIN), "run", "flip", "in.png", "/dev/stdout"]
        assert subprocess.run(run, stdout=output, cwd=files, preexec_fn=begin).returncode == 0
        assert np.array_equal(np.array(Image.open(output)), np.array(Image.open(files / "in.png"))[::-1])
    assert burin("run", "in.png", "o.png", cwd=files, preexec_fn=begin).returncode == 0
    assert len([name for name in os.listdir(files) if name.startswith(".burin")]) == 2


def test_run_to_a_full_disk(files):
    assert "No space left" in refused("run", "in.png", "/dev/full", status=1, cwd=files)

    with open("/dev/full", "w") as full:
        done = subprocess.run([os.path.abspath(BURIN), "ops"], stdout=full, stderr=subprocess.PIPE, **TEXT)
    assert (done.returncode, done.stderr) == (1, "burin: cannot write all of standard output\n")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    for arguments in (["o.ppm"], ["--out-dir", "few", "--name", "o.ppm%n"]):  # no part of a file is left
        assert re.search(r"cannot write (few/)?o.ppm\S*: File too large", burin(
            "run", "--type", "pnm", "in.png", *arguments, cwd=files, preexec_fn=limit, **TEXT).stderr)
    assert not (files / "o.ppm").exists() and os.listdir(files / "few") == []


def on_a_terminal(*arguments, feed=None):
    """All that was printed to the terminal; FEED writes the input."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([os.path.abspath(BURIN), "run", *arguments], stdin=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    feed(process.stdin)
    process.stdin.close()
    text = b""
    while True:
        try:
            text += os.read(ours, 4096)
        except OSError:  # the last writer has closed it
            break
    os.close(ours)
    return process.wait(60), text.decode()


@pytest.mark.parametrize("steps, seams", [
    (["histeq"], "^histeq, "), ([], None), (["histeq", "grayscale"], "^step 1 of 2, histeq, "),
    pytest.param(["carve:dx=-900"], r"^carve: \d+ of 900 seams, +\d+ %, ", marks=needs("carve"))])
def test_run_shows_its_stages(tmp_path, steps, seams):
    """A job that takes more than half a second shows its stages; here its input is slow. The line is drawn every 0.1 s; carving
    takes three times that."""
    picture = pnm(noise(*((1800, 1800) if steps == ["carve:dx=-900"] else (300, 200)), 3))

    def slowly(pipe):
        pipe.write(picture[:1000])
        pipe.flush()
        time.sleep(0.8)
        pipe.write(picture[1000:])

    code, text = on_a_terminal("--device", "cpu", *steps, "-", str(tmp_path / "o.png"), feed=slowly)
    assert code == 0 and text.endswith("\r\x1b[K")
    lines = [line for line in text.replace("\x1b[K", "").split("\r") if line]
    assert all(re.search(r", \d+\.\d s$", line) for line in lines), lines
    stages = ["^reading, ", "^decoding, ", *([seams] if seams else []), "^encoding, ", "^writing, "]
    first = [next((i for i, line in enumerate(lines) if re.search(stage, line)), None) for stage in stages]
    assert None not in first and first == sorted(first), (stages, lines)


def test_run_on_a_terminal(files):
    """Where stderr is a terminal, nothing of the progress line is left behind."""
    ours, theirs = pty.openpty()
    done = subprocess.run([os.path.abspath(BURIN), "run", "histeq", "in.png", "o.png"], cwd=files,
                          stderr=theirs, timeout=60)
    os.close(theirs)
    text = os.read(ours, 4096) if select.select([ours], [], [], 1)[0] else b""
    os.close(ours)
    assert done.returncode == 0 and text.endswith(b"\r\x1b[K")


@needs("carve")
def test_run_shows_seams_on_a_terminal(files):
    """Done and total seams are drawn ten times a second, in rising numbers."""
    (files / "large.pgm").write_bytes(pnm(noise(3000, 2000)))
    ours, theirs = pty.openpty()
    running = subprocess.Popen([os.path.abspath(BURIN), "run", "--threads", "1", "grayscale", "carve:dx=-1400", "large.pgm", "o.pgm"],
                               cwd=files, stderr=theirs)
    os.close(theirs)
    text = b""
    while text.count(b" seams,") < 4 and select.select([ours], [], [], 20)[0]:
        text += os.read(ours, 4096)
    running.kill()
    running.wait()
    os.close(ours)
    drawn = re.findall(r"\rstep 2 of 2, carve: (\d+) of 1400 seams, +(\d+) %, [\d.]+ s\x1b\[K", text.decode())
    assert len(drawn) >= 3 and [int(done) for done, _ in drawn] == sorted(int(done) for done, _ in drawn)
    assert all(int(share) == round(int(done) / 14) for done, share in drawn)
