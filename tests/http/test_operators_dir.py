# SPDX-License-Identifier: Apache-2.0
"""Users' operators in the daemon, from outside: which are listed and served, which are left out, and that a faulty one
disturbs no other client.

covers: server/user_operators.c server/dispatch/culprit.c server/sandbox/sandbox_calls.c server/cli/command_worker.c"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import numpy as np
import pytest

from conftest import BURIN, LONG, QUICK_CC, Daemon, alive, check_problem, cpu_seconds, in_parallel, noise, png, pnm, wait_until

WHITE = """
#STRUCT
typedef struct {
    int level; // 127 [0,255] pixels above become white
} settings;

// White over a level, else black.
#P2P_FUNC
static unsigned char white(unsigned char pixel, int index, settings s) {
    return pixel > s.level ? 255 : 0;
}
"""
TOTALS = """
#R2S_FUNC int
static int total(int a, int b) { return a + b; }

#R2V_FUNC
static void tally(unsigned char pixel, int *out, int bins) { atomicAdd(&out[pixel % bins], 1); }
"""
# Returns the bytes at an address: a wild pointer that reads at any address its client names.
PEEK = """
#STRUCT
typedef struct {
    int high; // 0 [0,16777215]
    int low; // 0 [0,16777215]
} address;

#P2P_FUNC
static unsigned char peek(unsigned char pixel, int index, address a) {
    return ((const unsigned char *)(((unsigned long)a.high << 24) + (unsigned long)a.low))[index];
}

#P2P_FUNC
static unsigned char poke(unsigned char pixel, int index, address a) {
    ((unsigned char *)(((unsigned long)a.high << 24) + (unsigned long)a.low))[index] = pixel;
    return 0;
}
"""
WINDOW = "#N2P_FUNC\nstatic unsigned char window(unsigned char p[3][3], int x, int y) { return p[0][0] / 2 + p[2][2] / 3; }\n"
HOSTILE = {
    "spin": "#P2P_FUNC\nstatic unsigned char spin(unsigned char pixel, int index) {\n"
            "    while (pixel | 1) index += 3; return (unsigned char)index; }\n",
    "wild": "#P2P_FUNC\nstatic unsigned char wild(unsigned char pixel, int index) {\n"
            "    unsigned char *p = (unsigned char *)8; p[index] = pixel; return pixel; }\n",
    "divide": "#P2P_FUNC\nstatic unsigned char divide(unsigned char pixel, int index) {\n"
              "    return (unsigned char)(index / (pixel - 77)); }\n",
    "deep": "static int other(int a, int *b);\n"
            "static int one(int a, int *b) { int room[500]; room[a & 255] = a + b[a & 63]; int r = other(a + 1, room);\n"
            "    return r + room[r & 255]; }\n"
            "static int other(int a, int *b) { return a < 0 ? b[0] : one(a + 1, b) + b[a & 15]; }\n"
            "#P2P_FUNC\nstatic unsigned char deep(unsigned char pixel, int index) {\n"
            "    int first[64] = { index }; return (unsigned char)one(pixel, first); }\n",
}


def folder(tmp_path, **sources):
    path = tmp_path / "operators"
    path.mkdir(mode=0o755)
    for name, text in sources.items():
        (path / f"{name}.c").write_text(text)
        (path / f"{name}.c").chmod(0o644)
    return path


def begin(start, path, *flags, cache=None, env=None, **options):
    """Compiled operators are cached for all tests of a session, in all processes, unless a test has a CACHE of its own. ENV may
    name another compiler; {}: none."""
    env = {"BURIN_CC": QUICK_CC} if env is None else env
    cache = cache or path.parents[2 if "PYTEST_XDIST_WORKER" in os.environ else 1] / "operators-cache"
    return start("--operators-dir", str(path), "--operators-cache-dir", str(cache), *flags, env=env, **options)


def worker(daemon):
    """The entry in /readyz of the worker for users' operators."""
    found, = [w for w in daemon.get("/readyz").json["workers"] if w["role"] == "operators"]
    return found


def heals(daemon):
    assert wait_until(lambda: worker(daemon)["healthy"]), daemon.log_text()
    return True


def sandbox(daemon):
    """The sandbox's process id."""
    for child in daemon.children():
        with open(f"/proc/{child}/task/{child}/children") as f:
            for pid in f.read().split():
                with open(f"/proc/{pid}/cmdline") as g:
                    if "--sandbox" in g.read():
                        return int(pid)
    return None


CC = next(filter(None, map(shutil.which, ("cc", "gcc", "clang", "tcc"))), None)
pytestmark = pytest.mark.skipif(not CC, reason="there is no C compiler")


LONG_NAME = "w" * 40
KEEP_BITS = """#STRUCT
typedef struct { int mask; } data;
#P2P_FUNC
static unsigned char keep_bits(unsigned char v, int i, data d) { return v & d.mask; }
"""


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A daemon with several operators for tests that do not change it. It may dump core; its workers may not."""
    path = folder(tmp_path_factory.mktemp("several"), white=WHITE, totals=TOTALS, keep_bits=KEEP_BITS,
                  long_name=WHITE.replace("white(", LONG_NAME + "("))
    daemon = begin(Daemon, path, "--io-threads", "4", command=["prlimit", "--core=1000000:1000000", BURIN])
    assert heals(daemon)
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


# ---- like any other operator

def test_listed_and_run(start, tmp_path):
    daemon = begin(start, folder(tmp_path, white=WHITE, totals=TOTALS), env={})
    listed = {op["name"]: op for op in daemon.get("/ops").json["operators"]}
    level, = [p for p in listed["white"]["parameters"] if p["name"] == "level"]
    assert level["default"] == 127 and listed["white"]["summary"].startswith("White over a level")
    assert (listed["white"]["group"], listed["total"]["group"], listed["tally"]["group"]) == ("light and contrast", "values", "values")
    picture = noise(61, 47)
    assert (daemon.post("/white", pnm(picture)).image == np.where(picture > 127, 255, 0)).all()
    assert (daemon.post("/white?level=200", pnm(picture)).image == np.where(picture > 200, 255, 0)).all()
    check_problem(daemon.post("/white?level=256", pnm(picture)), 400, "level", "255")
    answer = daemon.post("/total", pnm(picture))
    assert answer.json["values"] == [{"operation": "total", "step": 0, "value": [int(picture.sum())]}]
    answer = daemon.post("/tally?bins=16", pnm(picture))
    assert answer.json["values"][0]["value"] == [np.bincount(picture.ravel() % 16, minlength=16).tolist()]


def test_a_parameter_called_like_a_file_of_another_operator(several):
    """`mask` is an image of carve, and here a number."""
    picture = noise(20, 20)
    for answer in (several.post("/keep_bits?mask=12", pnm(picture)),
                   several.post_form("/keep_bits", [("image", pnm(picture), "a.pgm"), ("mask", "12", None)],
                                    {"Accept": "image/x-portable-anymap"})):
        assert answer.status == 200, answer.body
        assert (answer.image == picture & 12).all()


def test_compiler_from_the_environment(start, tmp_path):
    """BURIN_CC is no key of the configuration; the compiler that it names compiles the operators."""
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\ntouch "{tmp_path}/called"\nexec {os.path.realpath(CC)} "$@"\n')
    compiler.chmod(0o755)
    daemon = begin(start, folder(tmp_path, white=WHITE), env={"BURIN_CC": str(compiler)})
    assert daemon.post("/white", pnm(noise(9, 9))).status == 200
    assert (tmp_path / "called").exists()


def test_a_name_of_forty_characters(several):
    picture = noise(20, 10)
    assert (several.post(f"/{LONG_NAME}", pnm(picture)).image == np.where(picture > 127, 255, 0)).all()
    assert wait_until(lambda: several.samples().get(f'burin_requests_total{{op="{LONG_NAME}",code="200"}}') == 1)


def test_with_builtin_steps(several):
    picture = noise(300, 200)
    steps = '[{"operation": "brightness", "params": {"shift": 40}}, {"operation": "white", "params": {"level": 160}}, {"operation": "total"}]'
    answer = several.post_form("/pipeline", [("image", pnm(picture), "a.pgm"), ("operations", steps, None)],
                               {"Accept": "image/x-portable-anymap"})
    assert answer.status == 200, answer.body
    expected = np.where(np.minimum(picture.astype(int) + 40, 255) > 160, 255, 0)
    assert (answer.image == expected).all()
    assert answer.timing["values"] == [{"operation": "total", "step": 2, "value": [int(expected.sum())]}]


FIRST = """
#define SCALE 3
static int helper(int v) { return v * SCALE; }
#P2P_FUNC
static unsigned char placed(unsigned char v, int index) { return helper(v) + index * 11; }
"""
SECOND = """
#define SCALE 5
static int helper(int v) { return v / SCALE; }
#P2P_FUNC
static unsigned char fifth(unsigned char v, int index) { return helper(v); }
#N2P_FUNC
static unsigned char above(unsigned char p[3][3], int x, int y) { return p[0][0] + 2 * p[0][2]; }
"""


def placed(picture):
    return (picture.astype(int) * 3 + np.arange(picture.size).reshape(picture.shape) * 11) % 256


def test_steps_in_a_row_are_as_they_are_one_by_one(start, tmp_path):
    """On a GPU such steps become one kernel from the third time on, or later, once it is compiled."""
    daemon = begin(start, folder(tmp_path, first=FIRST, second=SECOND), env={})
    picture = noise(123, 66)
    steps = json.dumps([{"operation": name} for name in ("placed", "fifth", "above", "placed")])
    wide = np.pad(placed(picture) // 5, 1, mode="edge")
    height, width = picture.shape
    expected = placed((wide[:height, :width] + 2 * wide[:height, 2:2 + width]) % 256)

    def post():
        answer = daemon.post_form("/pipeline", [("image", pnm(picture), "a.pgm"), ("operations", steps, None)],
                                  {"Accept": "image/x-portable-anymap"})
        assert answer.status == 200 and (answer.image == expected).all()
        return [operator["name"] for operator in answer.timing["ms"]["operators"]]

    assert post() == ["placed", "fifth", "above", "placed"]
    if worker(daemon)["device"].startswith("cuda"):
        assert wait_until(lambda: post() == ["placed+fifth+above", "placed"])
    else:
        assert post() == post() == ["placed", "fifth", "above", "placed"]


def test_where_jobs_go(several):
    assert [(w["device"], w["role"]) for w in several.get("/readyz").json["workers"]] == [
        ("cpu", "built-in"), ("cpu", "operators")]
    assert several.metric("worker_up") == 2
    os.kill(sandbox(several), 19)  # only the one for users' operators stands still
    assert several.works()
    os.kill(sandbox(several), 18)
    assert several.post("/white", pnm(noise(9, 9))).status == 200


def test_off_without_a_folder(start):
    daemon = start()
    assert [w["role"] for w in daemon.get("/readyz").json["workers"]] == ["built-in"]


# ---- files that are left out

def test_broken_files_beside_good_ones(start, tmp_path):
    path = folder(tmp_path, white=WHITE, broken="\n#P2P_FUNC\nstatic unsigned char f(unsigned char p, int i) {\n    return p +;\n}\n",
                  again=WHITE.replace("static", "static inline"), passwd='#include "/etc/passwd"\n' + WHITE.replace("white(", "w2("),
                  calls='#P2P_FUNC\nstatic unsigned char f(unsigned char p, int i) { system("id"); return p; }\n',
                  large="#P2P_FUNC\nstatic unsigned char f(unsigned char p, int i) { int a[1000000]; a[p * 1000 + i % 9] = i; "
                        "return (unsigned char)a[(p ^ i) % 1000000]; }\n",
                  vast="//" + "x" * (10 << 20))
    (path / "open.c").write_text(WHITE.replace("white(", "open_to_all("))
    (path / "open.c").chmod(0o666)
    daemon = begin(start, path)
    log = daemon.log_text()
    for words in (r"broken\.c:4: ", r"white\.c:\d+: .*white", r"passwd\.c:1: ", r"calls\.c:2: .*system", r"large\.c.*large",
                  r"vast\.c: .*operators_source_bytes_max", r"open\.c: not used: everyone may write"):
        assert re.search(words, log), (words, log)
    names = {op["name"] for op in daemon.get("/ops").json["operators"]}
    assert "white" in names and not names & {"f", "w2", "open_to_all"}
    assert daemon.post("/white", pnm(noise(9, 9))).status == 200 and daemon.works()


@pytest.mark.parametrize("how, words", [("missing", "No such file"), ("open", "may write to it"), ("file", "no folder")])
def test_an_unusable_cache_is_logged(start, tmp_path, how, words):
    """The log says once that every start of a sandbox compiles again."""
    cache = tmp_path / "not" / "there" if how == "missing" else tmp_path / "cache"
    if how == "open":
        cache.mkdir()
        cache.chmod(0o770)
    if how == "file":
        cache.write_text("")
    daemon = start("--operators-dir", str(folder(tmp_path, white=WHITE)), "--operators-cache-dir", str(cache), env={"BURIN_CC": QUICK_CC})
    assert heals(daemon) and daemon.post("/white", pnm(noise(9, 9))).status == 200
    lines = [line for line in daemon.log_text().splitlines() if "operators_cache_dir" in line]
    assert len(lines) == 1 and words in lines[0] and str(cache) in lines[0], lines


def test_a_compiler_message_is_logged_whole(start, tmp_path):
    """However long its path is; and a name in UTF-8 stays searchable."""
    path = tmp_path / ("long_" * 15) / ("σφάλμα_" * 4)
    path.mkdir(parents=True, mode=0o755)
    (path / "a.c").write_text("#import <x>\n" + WHITE)
    daemon = begin(start, path)
    message, = [e["message"] for e in map(json.loads, daemon.log_text().splitlines()) if e["event"] == "operators_problem"]
    assert message.startswith(f"{path}/a.c:1: ") and message.endswith("#include"), message


@pytest.mark.parametrize("how", ["writable", "missing"])
def test_a_folder_that_cannot_be_used(tmp_path, how):
    path = tmp_path / "operators"
    if how == "writable":
        path.mkdir()
        path.chmod(0o777)
    ended = subprocess.run([BURIN, "serve", "--listen", "127.0.0.1:0", "--devices", "cpu", "--operators-dir", str(path)],
                           capture_output=True, timeout=60)
    assert ended.returncode == 2
    assert (b"write" if how == "writable" else b"No such file") in ended.stderr


def test_a_file_that_changes_later_changes_nothing(start, tmp_path):
    path = folder(tmp_path, white=WHITE)
    daemon = begin(start, path)
    picture = noise(20, 20)
    assert heals(daemon)
    (path / "white.c").write_text(WHITE.replace("? 255 : 0", "? 1 : 2"))
    os.kill(sandbox(daemon), 9)
    assert wait_until(lambda: worker(daemon)["restarts"] == 1) and heals(daemon)
    assert (daemon.post("/white", pnm(picture)).image == np.where(picture > 127, 255, 0)).all()


# ---- contained

def maps(pid):
    with open(f"/proc/{pid}/maps") as f:
        for line in f:
            at, mode, _, device, inode, *name = line.split(None, 5)
            first, end = (int(part, 16) for part in at.split("-"))
            yield first, end, mode, (device, inode), name[0].strip() if name else ""


def writable(daemon):
    """(first, end) of each writable part of the sandbox's memory; None while there is no sandbox."""
    with contextlib.suppress(OSError):
        return [(first, end) for first, end, mode, _, _ in maps(sandbox(daemon)) if "w" in mode]
    return None


def shared(pid):
    return {file for _, _, _, file, name in maps(pid) if "burin-slots" in name}


def untouched(pid, at, length):
    """Whether no page is allocated in this part of a process's own memory, as in most of a thread's stack."""
    with open(f"/proc/{pid}/pagemap", "rb") as f:
        f.seek(at // 4096 * 8)
        pages = np.frombuffer(f.read(length // 4096 * 8), np.uint64)
    assert len(pages) == length // 4096
    return not (pages >> np.uint64(62)).any()  # in memory, or swapped


def test_a_wild_pointer_finds_only_its_own_job(start, tmp_path):
    """An operator reads the sandbox's whole address space, except read-only files. It finds no mark of another job, of
    built-in or users' operators, in a thread's stack or in freed memory; it finds its own job's mark, which shows that the
    search works. The alpha of a mark, as pixels of four samples, equals its red, so a loop that covers alpha on its stack leaves
    the mark whole."""
    marks = {name: f"mark {name} ".ljust(16).encode() for name in ("builtin", "gray", "coloured", "window", "itself")}
    marks = {name: b"".join(mark[at:at + 3] + mark[at:at + 1] for at in range(0, 15, 3)) * 80 for name, mark in marks.items()}

    def marked(name, channels=1):
        shape = (60, 200 // channels, channels)[:2 if channels == 1 else 3]
        return np.frombuffer((marks[name] * 100)[:60 * 200], np.uint8).reshape(shape).copy()

    daemon = begin(start, folder(tmp_path, white=WHITE, window=WINDOW, peek=PEEK), "--lanes", "2", env={})
    assert heals(daemon)
    pid = sandbox(daemon)
    assert shared(pid) and not shared(pid) & shared(daemon.process.pid)
    assert daemon.post("/histeq", pnm(marked("builtin"))).status == 200
    for _ in range(3):
        assert daemon.post("/white", pnm(marked("gray"))).status == 200
        for name in ("coloured", "window"):
            operator = "white" if name == "coloured" else name
            assert daemon.post(f"/{operator}", png(marked(name, 4))).status == 200
            assert daemon.post(f"/{operator}?type=webp&lossless=true", pnm(marked(name))).status == 200
    with daemon.socket() as waiting:  # half a body stays in a slot as long as this is open
        body = pnm(marked("builtin"))
        waiting.sendall(b"POST /histeq HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (len(body) + 1) + body)
        assert wait_until(lambda: daemon.metric("slots_in_use") == 1)
        found, seen = set(), 0
        for first, end, mode, _, name in list(maps(pid)):
            file = name.startswith("/") and "memfd" not in name
            if "r" not in mode or name.startswith("[v") or (file and "w" not in mode):
                continue
            size = min(end - first, 9 << 20)
            for at in range(first, first + size, 1 << 20):
                length = min(1 << 20, first + size - at) // 4096 * 4096
                if not name and untouched(pid, at, length):
                    continue
                picture = np.resize(np.frombuffer(marks["itself"], np.uint8), length).reshape(-1, 4096)
                answer = daemon.post(f"/peek?high={at >> 24}&low={at & 0xffffff}", pnm(picture))
                assert answer.status == 200, (name, mode, answer.body)
                memory = answer.image.tobytes()
                seen += len(memory)
                found |= {what for what, mark in marks.items() if mark[:40] in memory}
        assert sandbox(daemon) == pid, "it was one process that was read"
    assert found == {"itself"} and seen > 1 << 20


def test_a_wild_pointer_writes_only_its_own_memory(start, tmp_path):
    daemon = begin(start, folder(tmp_path, white=WHITE, peek=PEEK), "--processing-ms", "6000")
    picture, stop, wrong = noise(320, 200), threading.Event(), []
    expected = daemon.post("/histeq", pnm(picture)).body

    def others():
        while not stop.wait(0.02):
            answer = daemon.post("/histeq", pnm(picture))
            if answer.status != 200 or answer.body != expected:
                wrong.append((answer.status, answer.body[:200]))

    thread = threading.Thread(target=others)
    thread.start()
    try:
        assert heals(daemon)
        for part in np.linspace(0, 1, 12):
            answer = None
            while not answer or answer.status == 503:  # the sandbox may end only now from the damage of the poke before
                targets = []
                assert heals(daemon) and wait_until(lambda: targets.extend(writable(daemon) or []) or targets)
                first, end = targets[int(part * (len(targets) - 1))]
                before = worker(daemon)["restarts"]
                rows = min(end - first, 1 << 18) // 4096
                answer = daemon.post(f"/poke?high={first >> 24}&low={first & 0xffffff}", pnm(noise(4096, rows)))
            assert answer.status in (200, 500, 504), answer.body
            if answer.status != 200:
                assert wait_until(lambda: worker(daemon)["restarts"] > before)
    finally:
        stop.set()
        thread.join()
    assert not wrong
    assert heals(daemon) and daemon.works()
    assert wait_until(lambda: daemon.post("/white", pnm(noise(9, 9))).status == 200)


def test_what_a_sandbox_may_not_do(several):
    """It has no new privileges, a filter of system calls, no core dump, and may start no process."""
    pid = sandbox(several)
    with open(f"/proc/{pid}/status") as f:
        status = f.read()
    assert re.search(r"NoNewPrivs:\s+1", status) and re.search(r"Seccomp:\s+2", status)
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status") as f:
            assert re.search(r"Seccomp:\s+2", f.read()), "every thread is under the filter"
    with open(f"/proc/{pid}/limits") as f:
        limits = f.read()
    for limit in ("core file size", "processes"):
        assert re.search(rf"Max {limit}\s+0\s+0", limits), limits
    assert several.post("/white", pnm(noise(9, 9))).status == 200


def slow_compiler(tmp_path, how):
    """An environment in which `cc` runs HOW, in sh, before it compiles."""
    (tmp_path / "bin").mkdir()
    compiler = tmp_path / "bin/cc"
    compiler.write_text(f'#!/bin/sh\n{how}\nexec {shutil.which("cc")} "$@" -O1\n')
    compiler.chmod(0o755)
    return {**os.environ, "PATH": f"{compiler.parent}:{os.environ['PATH']}"}


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_start_that_compiles_is_ended_at_once(tmp_path, end):
    """The processes that it started end too; and a reload does not end it."""
    env = slow_compiler(tmp_path, f"echo $$ >{tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; sleep 1000")
    daemon = subprocess.Popen([BURIN, "serve", "--listen", "127.0.0.1:0", "--devices", "cpu", "--operators-dir",
                               str(folder(tmp_path, white=WHITE)), "--operators-cache-dir", str(tmp_path / "cache")], env=env)
    try:
        assert wait_until((tmp_path / "pid").exists)
        compiler = int((tmp_path / "pid").read_text())
        daemon.send_signal(signal.SIGHUP)
        daemon.send_signal(end)
        assert daemon.wait(60) == 0
        assert wait_until(lambda: not alive(compiler))
    finally:
        daemon.kill()
        daemon.wait()


def test_a_start_that_ends_leaves_no_part_of_a_compiler(tmp_path):
    """A compiler starts other programs, and these end too."""
    env = slow_compiler(tmp_path, f"sleep 1000 & echo $! >{tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; wait")
    daemon = subprocess.Popen([BURIN, "serve", "--listen", "127.0.0.1:0", "--devices", "cpu", "--operators-dir",
                               str(folder(tmp_path, white=WHITE)), "--operators-cache-dir", str(tmp_path / "cache")], env=env)
    assert wait_until((tmp_path / "pid").exists)
    part = int((tmp_path / "pid").read_text())
    try:
        daemon.send_signal(signal.SIGTERM)
        assert daemon.wait(60) == 0
        assert wait_until(lambda: not alive(part), 5)
    finally:
        daemon.kill()
        daemon.wait()
        with contextlib.suppress(ProcessLookupError):
            os.kill(part, signal.SIGKILL)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
def test_a_start_checks_several_files_at_a_time(start, tmp_path):
    """The first compiler waits for a second one, so both must run. Each file becomes an operator, or is left out for its own
    fault, and the log shows the progress."""
    env = slow_compiler(tmp_path, f"mkdir {tmp_path}/first 2>/dev/null && while [ ! -e {tmp_path}/second ]; do sleep 0.02; done || "
                                  f": >{tmp_path}/second")
    sources = {f"white{i}": WHITE.replace("white(", f"white{i}(") for i in (0, 16)}
    wrong = {f"wrong{i}": "no operator is here\n" for i in range(1, 16)}
    daemon = begin(start, folder(tmp_path, **sources, **wrong), env=env)
    names = [op["name"] for op in daemon.get("/ops").json["operators"]]
    assert [name for name in names if name.startswith("white")] == sorted(sources)
    assert set(re.findall(r"(wrong\d+)\.c:1: ", daemon.log_text())) == set(wrong)
    assert re.search(r"operators_dir: checking 17 files, \d+ at a time", daemon.log_text())
    assert "operators_dir: 16 of 17 files are checked" in daemon.log_text()


def test_more_files_than_operators_are_not_read(start, tmp_path):
    path = folder(tmp_path, **{f"open{i}": "" for i in range(257)}, a=WHITE)
    for file in path.glob("open*"):
        file.chmod(0o666)  # and not checked
    daemon = begin(start, path)
    assert "2 files are not used: at most 256 are read" in daemon.log_text()
    assert "white" in [op["name"] for op in json.loads(daemon.get("/ops").body)["operators"]]


def test_a_compiler_has_its_time(start, tmp_path):
    """A key limits the compiler's time. Here one computes for ever, and its file is left out."""
    env = slow_compiler(tmp_path, "while :; do :; done")
    daemon = begin(start, folder(tmp_path, white=WHITE), "--operators-compile-ms", "1000", env=env)
    assert re.search(r"white\.c:1: the C compiler failed", daemon.log_text()), daemon.log_text()
    assert "white" not in [op["name"] for op in json.loads(daemon.get("/ops").body)["operators"]]


def test_what_a_sandbox_has_open(several):
    """Only its own slot with its head, its channel and pipe, and no descriptor of its worker: a message in an I/O thread's pipe
    would end another client's job."""
    def files(pid):
        found = {}
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                found[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}")
        return found

    own = files(sandbox(several))
    assert set(own) == {0, 1, 2, 3, 4, 6, 7} and own[0] == own[1] == "/dev/null", own
    front = set(files(several.process.pid).values())
    assert not front & {own[4], own[7]}, (own, front)


def test_workers_dump_no_core(several):
    """All clients' pictures are in their memory. The limit that the daemon was started with does not apply to them."""
    for pid in (*several.children(), sandbox(several)):
        with open(f"/proc/{pid}/limits") as f:
            core, = [line.split()[4:6] for line in f if line.startswith("Max core file size")]
        assert core == ["0", "0"], pid


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can become another user")
def test_workers_memory_is_no_other_process(start):
    """Another process of the same user cannot read it: an operator that escaped its sandbox would run as that user."""
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        place.chmod(0o755)
        shutil.copy(BURIN, place / "burin")
        daemon = start("--operators-dir", str(folder(place, white=WHITE)), "--operators-cache-dir", str(place / "cache"),
                       command=["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(place / "burin")])
        assert heals(daemon)
        for pid in (daemon.process.pid, *daemon.children(), sandbox(daemon)):
            reader = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "head", "-c1", f"/proc/{pid}/fd/3"]
            assert b"denied" in subprocess.run(reader, capture_output=True).stderr, pid


def test_a_sandbox_that_lacks_an_operator_is_not_ready(start, tmp_path):
    """No compiler is left: the client is not at fault (503), and /readyz reports it."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    daemon = start("--operators-dir", str(folder(tmp_path, white=WHITE)), "--operators-cache-dir",
                   str(tmp_path / "not" / "there"), env={"TMPDIR": str(temporary), "BURIN_CC": QUICK_CC})
    assert heals(daemon) and daemon.post("/white", pnm(noise(9, 9))).status == 200
    temporary.rename(tmp_path / "gone")
    os.kill(sandbox(daemon), signal.SIGKILL)
    assert wait_until(lambda: "cannot make a folder to compile in" in daemon.log_text()), daemon.log_text()
    answer = daemon.post("/white", pnm(noise(9, 9)))
    assert answer.status == 503, answer.body
    assert not worker(daemon)["healthy"]
    (tmp_path / "gone").rename(temporary)
    assert heals(daemon) and daemon.post("/white", pnm(noise(9, 9))).status == 200


def test_a_sandbox_that_compiles_ends_with_its_worker(start, tmp_path):
    """It counts as a worker from the first moment: Ctrl-C does not reach it, and nothing of it is left behind."""
    env = slow_compiler(tmp_path, f"if [ -e {tmp_path}/checked ]; then while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; fi; "
                                  f": >{tmp_path}/checked")
    (tmp_path / "cache").write_text("no folder: nothing is kept, so that the sandbox compiles again")
    daemon = begin(start, folder(tmp_path, white=WHITE), cache=tmp_path / "cache", env=env)
    assert (tmp_path / "checked").exists(), daemon.log_text()
    assert wait_until(lambda: sandbox(daemon))
    pid = sandbox(daemon)

    def compiles():
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return f.read() != ""

    assert wait_until(compiles)
    with open(f"/proc/{pid}/status") as f:
        status = f.read()
    ignored = int(re.search(r"SigIgn:\s+(\w+)", status)[1], 16)
    assert ignored >> (signal.SIGINT - 1) & 1 and ignored >> (signal.SIGTERM - 1) & 1
    os.kill(int(re.search(r"PPid:\s+(\d+)", status)[1]), signal.SIGKILL)
    assert wait_until(lambda: not alive(pid))
    (tmp_path / "go").touch()
    assert heals(daemon) and daemon.post("/white", pnm(noise(9, 9))).status == 200


def test_an_operator_that_crashes(start, tmp_path):
    daemon = begin(start, folder(tmp_path, white=WHITE, **HOSTILE))
    for name, word in (("wild", "Segmentation"), ("divide", "Floating"), ("deep", "Segmentation")):
        assert heals(daemon)
        before = worker(daemon)["restarts"]
        problem = check_problem(daemon.post(f"/{name}", pnm(noise(50, 50))), 500, f"{name} of {name}.c: the operator crashed")
        assert word in problem["message"] or "code 1" in problem["message"]  # a sanitizer handles the signal itself
        assert wait_until(lambda: worker(daemon)["restarts"] == before + 1)
    assert daemon.post("/white", pnm(noise(9, 9))).status == 200
    builtin, = [w for w in daemon.get("/readyz").json["workers"] if w["role"] == "built-in"]
    assert builtin["restarts"] == 0 and builtin["healthy"]


def test_a_crash_after_other_jobs_is_tried_again(start, tmp_path):
    """Earlier jobs may have left damage: the job gets a fresh process, and the message comes from its run there."""
    daemon = begin(start, folder(tmp_path, white=WHITE, wild=HOSTILE["wild"]))
    assert daemon.post("/white", pnm(noise(9, 9))).status == 200
    check_problem(daemon.post("/wild", pnm(noise(9, 9))), 500, "operator crashed")
    assert wait_until(lambda: worker(daemon)["restarts"] == 2)


def test_an_endless_loop_ends_at_its_deadline(start, tmp_path):
    """A job of another client's, which comes at the loop's last moment, waits for the worker's restart."""
    daemon = begin(start, folder(tmp_path, white=WHITE, spin=HOSTILE["spin"]), "--processing-ms", "1500")
    assert heals(daemon)
    began, answers = time.monotonic(), []
    steps = '/pipeline?operations=[{"operation":"white"},{"operation":"spin"}]'
    loop = threading.Thread(target=lambda: answers.append(daemon.post(steps, pnm(noise(50, 50)))))
    loop.start()
    time.sleep(1.6)
    assert daemon.post("/white", pnm(noise(9, 9))).status == 200
    loop.join()
    check_problem(answers[0], 504, "spin of spin.c: not done within the time allowed: the operator did not stop")
    assert time.monotonic() - began >= 1.5
    assert wait_until(lambda: worker(daemon)["restarts"] == 1) and heals(daemon)
    assert daemon.works()


def test_an_endless_loop_whose_client_has_gone(start, tmp_path):
    """A job may take an hour here, so its client's end is what ends it."""
    daemon = begin(start, folder(tmp_path, white=WHITE, spin=HOSTILE["spin"]))
    assert heals(daemon)
    body = pnm(noise(300, 300))
    with daemon.socket() as s:
        s.sendall(b"POST /spin HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        used = cpu_seconds(sandbox(daemon))
        assert wait_until(lambda: cpu_seconds(sandbox(daemon)) > used + 0.05), "it is in its loop, not merely at the worker"
    assert wait_until(lambda: worker(daemon)["restarts"] == 1) and heals(daemon)
    assert daemon.post("/white", pnm(noise(9, 9))).status == 200


def test_hostile_operators_under_load(start, tmp_path):
    """All faulty operators run at once and repeatedly, beside built-in jobs: each of those is right, and in time."""
    daemon = begin(start, folder(tmp_path, white=WHITE, peek=PEEK, **HOSTILE), "--processing-ms", "8000" if LONG else "1500",
                   "--queue-jobs", "16")
    picture, done = noise(320, 200), threading.Event()
    expected = daemon.post("/histeq", pnm(picture)).body
    served, statuses = [0] * 4, {}

    def work(i):
        if i < 4:
            while not done.wait(0.02):  # leaves the processors to the others
                answer = daemon.post("/histeq", pnm(picture))
                assert answer.status == 200 and answer.body == expected, answer.body[:300]
                served[i] += 1
            return
        try:
            # The shorter form has one endless loop: each uses a core until half a second after its deadline.
            for name in ("wild", "divide", "deep", "peek", "white", *(["spin"] if LONG or i == 4 else [])):
                answer = daemon.post(f"/{name}", pnm(noise(300, 300)))
                assert answer.status in ((200, 503, 504) if name == "white" else (500, 503, 504)), (name, answer.body)
                statuses.setdefault(name, set()).add(answer.status)
        finally:
            if i == 4:
                done.set()

    in_parallel(7 if LONG else 6, work)
    assert all(served), served
    assert 504 in statuses["spin"] or 503 in statuses["spin"], statuses
    assert heals(daemon) and daemon.works()
    assert wait_until(lambda: daemon.post("/white", pnm(noise(9, 9))).status == 200)
    builtin, = [w for w in daemon.get("/readyz").json["workers"] if w["role"] == "built-in"]
    assert builtin["restarts"] == 0


SLOW = """#P2P_FUNC
static unsigned char slow(unsigned char pixel, int index) {
    unsigned k = pixel | 1;
    for (int n = 0; n < 300; n++) k = k * 1664525u + index;
    return k >> 24;
}
"""


def test_progress_names_a_users_step(start, tmp_path):
    daemon = begin(start, folder(tmp_path, slow=SLOW))
    heals(daemon)
    steps = '/pipeline?operations=[{"operation":"threshold"},{"operation":"slow"}]'
    answers = []
    thread = threading.Thread(target=lambda: answers.append(daemon.post(steps, pnm(noise(1500, 1000)), {"X-Request-ID": "one"})))
    thread.start()
    reports = []
    assert wait_until(lambda: reports.append(daemon.get("/progress/one").json) or answers)
    thread.join()
    assert answers[0].status == 200, answers[0].body
    assert {"state": "running", "step": 1, "operation": "slow"} in reports
