# SPDX-License-Identifier: Apache-2.0
"""Memory that jobs of the CPU's worker may take together, and the shipped limits of containers.

covers: config/memory.c"""
import os
import re
import subprocess
import zlib

from conftest import BURIN, check_problem, in_parallel, memory, png_of_chunks

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
MIB = 1 << 20


def even_png(width, height):
    """16 bits, RGBA: 8 bytes a pixel from a tiny upload."""
    packer = zlib.compressobj(1)
    data = b"".join(packer.compress(b"\0" + bytes(8 * width)) for _ in range(height)) + packer.flush()
    return png_of_chunks(width, height, 16, 6, b"", compressed=data)


def test_jobs_wait_for_memory(start):
    """Eight jobs at once, each of 15 MiB before and after the step: lanes for four are free, memory for one."""
    daemon = start("--lanes", "4", "--cpu-memory-bytes", "16MiB", "--idle-bytes", "64KiB", "--staging-bytes", "64KiB")
    worker, = daemon.children()
    upload, found = even_png(1000, 1000), [None] * 8
    expected = daemon.post("/flip?type=png", even_png(40, 40))
    before = memory(worker, "VmHWM")
    assert expected.status == 200

    def send(i):
        found[i] = daemon.post("/flip?type=png", upload, timeout=120)

    in_parallel(8, send)
    assert {(answer.status, answer.body) for answer in found} == {(200, found[0].body)}
    assert memory(worker, "VmHWM") - before < 25 * MIB, "more than one was at work"
    assert daemon.becomes_idle() and daemon.works()


def test_what_takes_more_than_all_may(start):
    daemon = start("--lanes", "1", "--cpu-memory-bytes", "32MiB")
    worker, = daemon.children()
    for path in ("/flip?type=png", "/convert?type=webp"):
        check_problem(daemon.post(path, even_png(1600, 1600)), 422, "cpu_memory_bytes")
    assert daemon.post("/flip?type=png", even_png(1000, 1000)).status == 200
    check_problem(daemon.post("/convert?type=webp", even_png(1000, 1000)), 422, "this takes")  # its encoder takes too much
    assert daemon.children() == [worker]


def most_mib(**settings):
    run = subprocess.run([BURIN, "config", "--memory"], capture_output=True, text=True, check=True, timeout=60,
                         env={**os.environ, **{f"BURIN_{name.upper()}": str(value) for name, value in settings.items()}})
    return int(re.search(r"^at most +(\d+) MiB", run.stdout, re.M)[1])


def test_memory_adds_up():
    before = most_mib(lanes=2, cells=2)
    # A quarter more for cells' codecs, and pixels of 8 bytes for each 30 of that, twice.
    assert before + 1024 + 256 + 136 <= most_mib(lanes=2, cells=2, cpu_memory_bytes="5GiB") <= before + 1024 + 256 + 138
    # An answer, what cells leave and masks; pixels of cells, twice. An upload beside an answer, and in each cell.
    assert before + 26 + 16 <= most_mib(lanes=2, cells=2, pixels_max=65 << 20) <= before + 26 + 17
    assert before + 1 + 2 <= most_mib(lanes=2, cells=2, body_bytes_max="65MiB") <= before + 1 + 3
    assert most_mib(lanes=3, cells=2) == before + 6 * 8
    assert most_mib(lanes=2, cells=3) == before + 24 + 64 + 2 * 1  # two processes with their logs, an upload


def limits_of(path, pattern):
    with open(f"{TOP}/docker/{path}") as f:
        return [int(gib) * 1024 for gib in re.findall(pattern, f.read())]


def test_shipped_limits_suffice():
    compose = limits_of("compose.yaml", r"\$\{MEMORY:-(\d+)g\}")
    assert len(compose) == 2 and min(compose) >= most_mib(lanes=2, cells=2)
    kubernetes = limits_of("kubernetes/cpu/deployment.yaml", r"memory: (\d+)Gi")
    assert len(kubernetes) == 2 and min(kubernetes) >= most_mib(lanes=4, cells=4)
    assert min(limits_of("kubernetes/base/deployment.yaml", r"memory: (\d+)Gi")) >= most_mib(lanes=8, cells=8)
