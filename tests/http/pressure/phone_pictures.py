#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""phone_pictures.py [--pictures 110] [--memory-mib 2048] [--patience-s 600] [--only defaults,patient]
    [-- FLAGS of the daemon]
PICTURES clients send a HEIC of a telephone's shape at once, 4032 x 3024 in 48 tiles, to be 1024 pixels wide, in two loads:

    defaults    with every default: 30 s for a job. Who is answered 503 or 504 asks again after Retry-After, or a second
    patient     with processing_ms of PATIENCE_S, once

Prints the statuses of first answers, how often clients asked, when the last one had its picture, and the most memory that all processes of
the daemon had at the same time, beside what the headers promise: the bytes of all uploads, of the slots at start, and for each cell of its codec's
estimate, its upload and its pixels, which the CPU's worker has too. Where cgroups can be made, the daemon is in one of MEMORY_MIB without swap.
Exits with 0 where each picture came within PATIENCE_S, all the same, nothing but 200, 503 and 504 was answered, and memory stayed below 1.2 of
the promise. Takes some four minutes on two cores."""
import argparse
import collections
import contextlib
import http.client
import os
import pathlib
import re
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import heif  # noqa: E402
from conftest import in_parallel  # noqa: E402
from pressure.daemon import Daemon  # noqa: E402

WIDTH, HEIGHT, SIDE, MIB, SLOT_BYTES, FRONT_BYTES = 4032, 3024, 512, 1 << 20, 128 << 10, 96 << 20
PATH = "/resize?width=1024&type=jpeg"


class Group:
    """A control group for memory, of either version; without the right to make one, no limit."""

    def __init__(self, limit):
        first, second = pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")
        self.folder = (first if first.is_dir() else second) / f"burin-{os.getpid()}"
        names = ("memory.limit_in_bytes", "memory.swappiness") if first.is_dir() else ("memory.max", "memory.swap.max")
        try:
            self.folder.mkdir()
            (self.folder / names[0]).write_text(str(limit))
            (self.folder / names[1]).write_text("0")
        except OSError as error:
            print(f"no limit of memory: {error}")
            self.remove()
            self.folder = None

    def command(self):
        return ["sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh"] if self.folder else []

    def remove(self):
        if self.folder:
            with contextlib.suppress(OSError):
                self.folder.rmdir()


def processes(pid):
    """PID and all processes that it has started, and that these have."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):
                found += [int(child) for child in pathlib.Path(f"/proc/{parent}/task/{task}/children").read_text().split()]
    return found


def resident(pid):
    """Bytes, of shared pages this process's part; and of what is in swap."""
    with contextlib.suppress(OSError):
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        return [1024 * int(re.search(rf"^{name}: +(\d+)", text, re.M)[1]) for name in ("Pss", "SwapPss")]
    return 0, 0


class Peak:
    """Looks five times a second."""

    def __init__(self, pid):
        self.bytes, self.swapped, self.over = 0, 0, threading.Event()
        self.thread = threading.Thread(target=self.look, args=(pid,))
        self.thread.start()

    def look(self, pid):
        while not self.over.wait(0.2):
            now = [resident(process) for process in processes(pid)]
            self.bytes, self.swapped = max(self.bytes, sum(a for a, _ in now)), max(self.swapped, sum(b for _, b in now))

    def end(self):
        self.over.set()
        self.thread.join()


def post(address, body, timeout):
    """Status, Retry-After in seconds, the answer."""
    connection = http.client.HTTPConnection(*address, timeout=timeout)
    try:
        connection.request("POST", PATH, body, {"Connection": "close"})
        answer = connection.getresponse()
        return answer.status, int(answer.headers.get("Retry-After", 1)), answer.read()
    except OSError as error:
        return repr(error), 1, b""
    finally:
        connection.close()


def promised(picture, pictures, flags):
    """What headers and settings say that the load takes: the codec's part comes from the refusal of a daemon that allows too little."""
    daemon = Daemon(*flags, "--codec-memory-bytes", "64KiB")
    message = daemon.ask("POST", PATH, picture)[1].decode()
    daemon.stop()
    codec = int(re.search(r"takes (\d+) bytes", message)[1])
    cells = os.cpu_count()
    return (FRONT_BYTES + 384 * SLOT_BYTES + pictures * len(picture) + cells * (codec + len(picture) + 2 * 3 * WIDTH * HEIGHT)), codec


def load(name, picture, options, flags):
    group = Group(options.memory_mib * MIB)
    daemon = Daemon(*flags, *options.flags, command=group.command())
    first, asked, answers, begin = collections.Counter(), collections.Counter(), set(), time.monotonic()
    peak, lock, together = Peak(daemon.process.pid), threading.Lock(), threading.Barrier(options.pictures)
    end = begin + options.patience_s

    def client(number):
        together.wait()
        status = None
        while status != 200 and time.monotonic() < end:
            status, retry_s, body = post(daemon.address, picture, options.patience_s)
            with lock:
                first[status] += number not in asked
                asked[number] += 1
                other.update([] if status in (200, 503, 504) else [status])
                if status == 200:
                    answers.add(body)
                    served.append(time.monotonic() - begin)
                else:
                    refused.append(body[:300])
            time.sleep(0 if status == 200 else retry_s)

    served, other, refused = [], collections.Counter(), []
    in_parallel(options.pictures, client)
    peak.end()
    good = daemon.stop() == 0 and len(served) == options.pictures and len(answers) == 1 and not other and not peak.swapped
    group.remove()
    share = peak.bytes / options.promise
    print(f"{name:10} first answers {dict(first)}, {sum(asked.values()) - options.pictures} asked again; {len(served)} pictures, the half of them after "
          f"{sorted(served)[len(served) // 2]:.0f} s, the last after {max(served):.0f} s; memory {peak.bytes // MIB} MiB, {share:.2f} of "
          f"the promise (goal 1.2), swapped {peak.swapped}; other answers {dict(other)}", flush=True)
    for text in sorted(set(re.sub(rb".*\"message\": \"([^\"]*).*", rb"\1", text).decode() for text in refused))[:4]:
        print(f"           {text}")
    return good and share <= 1.2


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--pictures", type=int, default=110)
    arguments.add_argument("--memory-mib", type=int, default=2048)
    arguments.add_argument("--patience-s", type=int, default=600)
    arguments.add_argument("--only", default="defaults,patient")
    arguments.add_argument("flags", nargs="*", help="of the daemon, behind --")
    options = arguments.parse_args()
    picture, _ = heif.tiled(8, 6, SIDE, WIDTH, HEIGHT, heif.nclx(1, 6, True), options=("--qp", "32"))
    options.promise, codec = promised(picture, options.pictures, options.flags)
    print(f"{options.pictures} times {len(picture)} bytes; the codec's estimate {codec // MIB} MiB, the whole promise {options.promise // MIB} MiB")
    flags, good = {"defaults": [], "patient": ["--processing-ms", str(1000 * options.patience_s)]}, True
    for name in options.only.split(","):
        good = load(name, picture, options, flags[name]) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
