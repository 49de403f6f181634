# SPDX-License-Identifier: Apache-2.0
"""operators_dir read again on SIGHUP, from outside: new, changed and removed files take effect without a restart, and running
requests are not disturbed.

covers: server/http/exchange.c server/http/reload.c server/user_operators.c server/cli/command_serve.c"""
import contextlib
import os
import re
import shutil
import signal
import threading
import time
from collections import Counter

import numpy as np
import pytest

from conftest import BURIN, LONG, check_problem, memory, noise, pnm, wait_until
from test_operators_dir import CC, HOSTILE, WHITE, begin, folder, heals, sandbox, worker

pytestmark = pytest.mark.skipif(not CC, reason="there is no C compiler")

PICTURE = noise(61, 47)
WRONG = "\n#P2P_FUNC\nstatic unsigned char white(unsigned char p, int i) {\n    return p +;\n}\n"
TOTAL = "#R2S_FUNC int\nstatic int total(int a, int b) { return a + b; }\n"


def add(k):
    """An operator `white` that adds K, so each version has another answer."""
    return f"#P2P_FUNC\nstatic unsigned char white(unsigned char pixel, int index) {{ return (unsigned char)(pixel + {k}); }}\n"


def write(path, **sources):
    """Replaces each file as a whole, as an editor does."""
    for name, text in sources.items():
        fresh = path / f".{name}.new"
        fresh.write_text(text)
        fresh.chmod(0o644)
        fresh.rename(path / f"{name}.c")


def hang_up(daemon):
    daemon.process.send_signal(signal.SIGHUP)


def outcomes(daemon):
    return len(re.findall(r"operators_dir was read again|operators_dir: all operators stay as they were", daemon.log_so_far()))


def reload(daemon, times=1):
    """Reloads and waits until the last reload is done."""
    before = outcomes(daemon)
    for _ in range(times):
        hang_up(daemon)
    assert wait_until(lambda: outcomes(daemon) > before), daemon.log_text()


def names(daemon):
    return {op["name"] for op in daemon.get("/ops").json["operators"]}


def operators_processes(daemon):
    found = []
    for pid in daemon.children():
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                if "--operators" in f.read():
                    found.append(pid)
        except OSError:  # it has just ended
            pass
    return found


def settles(daemon):
    """Waits until one generation of workers is left: none of the old processes is ending, and their texts are closed."""
    assert wait_until(lambda: len(operators_processes(daemon)) == 1 and len(daemon.children()) == 2), daemon.log_text()
    assert wait_until(lambda: descriptors(daemon.process.pid).count("/memfd") == 3), "slots, their head, and texts"
    return True


def descriptors(pid):
    return sorted(os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0] for fd in os.listdir(f"/proc/{pid}/fd")
                  if os.path.islink(f"/proc/{pid}/fd/{fd}"))


# ---- what is there afterwards

def test_new_changed_and_removed_files(start, tmp_path):
    path = folder(tmp_path, white=add(1), gone=TOTAL)
    daemon = begin(start, path)
    builtin = daemon.children()[0]
    assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 1).tolist()
    write(path, white=add(2), fresh=TOTAL.replace("total", "sum_of_all"))
    (path / "gone.c").unlink()
    assert names(daemon) >= {"white", "total"}, "nothing changes before the signal"
    reload(daemon)
    assert names(daemon) >= {"white", "sum_of_all"} and "total" not in names(daemon)
    assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 2).tolist()
    assert daemon.post("/sum_of_all", pnm(PICTURE)).json["values"][0]["value"] == [int(PICTURE.sum())]
    check_problem(daemon.post("/total", pnm(PICTURE)), 404, "/total")
    steps = '[{"operation": "white"}, {"operation": "sum_of_all"}]'
    answer = daemon.post_form("/pipeline", [("image", pnm(PICTURE), "a.pgm"), ("operations", steps, None)])
    assert answer.status == 200 and answer.timing["values"][0]["value"] == [int((PICTURE + 2).sum())]
    check_problem(daemon.post_form("/pipeline", [("image", pnm(PICTURE), "a.pgm"),
                                                 ("operations", '[{"operation": "total"}]', None)]), 400, "total")
    log = daemon.log_text()
    assert "white.c: 1 operator" in log and "gone.c: its operators are removed" in log and "2 operators in force" in log
    assert wait_until(lambda: daemon.samples().get('burin_requests_total{op="sum_of_all",code="200"}') == 1)
    assert daemon.children()[0] == builtin and settles(daemon)
    assert worker(daemon)["healthy"] and daemon.works()


def test_nothing_has_changed(start, tmp_path):
    daemon = begin(start, folder(tmp_path, white=WHITE))
    assert heals(daemon)
    before = daemon.children()
    reload(daemon)
    assert "nothing has changed" in daemon.log_text() and daemon.children() == before
    assert daemon.log_text().count("white.c: 1 operator") == 1, "nor is it checked again"


def test_from_none_to_some_to_none(start, tmp_path):
    path = folder(tmp_path)
    daemon = begin(start, path)
    assert [w["role"] for w in daemon.get("/readyz").json["workers"]] == ["built-in"]
    alone = daemon.children()
    write(path, white=WHITE)
    reload(daemon)
    assert daemon.post("/white", pnm(PICTURE)).status == 200
    assert [w["role"] for w in daemon.get("/readyz").json["workers"]] == ["built-in", "operators"]
    (path / "white.c").unlink()
    reload(daemon)
    check_problem(daemon.post("/white", pnm(PICTURE)), 404)
    assert [w["role"] for w in daemon.get("/readyz").json["workers"]] == ["built-in"]
    assert wait_until(lambda: daemon.children() == alone) and daemon.works()


# ---- what is wrong

def test_a_file_that_is_wrong_now_serves_as_it_was(start, tmp_path):
    path = folder(tmp_path, white=add(1), total=TOTAL)
    daemon = begin(start, path)
    write(path, white=WRONG, new=WRONG.replace("white", "never"), total=TOTAL.replace("a + b", "a ^ b"))
    reload(daemon)
    log = daemon.log_text()
    assert re.search(r"white\.c:4: ", log) and "white.c: its operators as read before stay in use" in log
    assert re.search(r"new\.c:4: ", log) and "new.c: what was" not in log and "never" not in names(daemon)
    assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 1).tolist()
    xor = int(np.bitwise_xor.reduce(PICTURE.ravel()))
    assert daemon.post("/total", pnm(PICTURE)).json["values"][0]["value"] == [xor], "the others are taken"
    write(path, white=add(3))
    reload(daemon)
    assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 3).tolist()


def test_a_file_that_cannot_be_trusted_now(start, tmp_path):
    path = folder(tmp_path, white=add(1))
    daemon = begin(start, path)
    write(path, white=add(2))
    (path / "white.c").chmod(0o666)
    reload(daemon)
    assert "white.c: not used: everyone may write" in daemon.log_text()
    assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 1).tolist()


def test_a_name_that_two_files_want(start, tmp_path):
    path = folder(tmp_path, white=add(1))
    daemon = begin(start, path)
    write(path, zz=add(2))
    reload(daemon)
    assert re.search(r"zz\.c:2: #P2P_FUNC: .*called white", daemon.log_text())
    assert "nothing has changed" in daemon.log_text()
    assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 1).tolist()
    (path / "white.c").unlink()
    reload(daemon)
    assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 2).tolist()


@pytest.mark.parametrize("how", ["writable", "missing"])
def test_a_folder_that_is_refused_as_a_whole(start, tmp_path, how):
    path = folder(tmp_path, white=add(1))
    daemon = begin(start, path)
    assert heals(daemon)
    before = daemon.children()
    write(path, white=add(2))
    if how == "writable":
        path.chmod(0o777)
    else:
        path.rename(tmp_path / "elsewhere")
    reload(daemon)
    assert "all operators stay as they were" in daemon.log_text()
    assert ("write" if how == "writable" else "No such file") in daemon.log_text()
    assert daemon.children() == before
    assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 1).tolist()


def test_ops_has_the_files_and_what_is_wrong(start, tmp_path):
    """Which operators came from which file, and each mistake of the last reading, also one in a file that is new or stays wrong."""
    path = folder(tmp_path, white=add(1), both=TOTAL + add(0).replace("white", "same"), bad=WRONG.replace("white", "never"))
    daemon = begin(start, path)

    def ops():
        answer = daemon.get("/ops")
        assert daemon.get("/ops", **{"If-None-Match": answer.headers["ETag"]}).status == 304
        return answer.headers["ETag"], {f["file"]: f["operators"] for f in answer.json["files"]}, answer.json["problems"]

    first, files, problems = ops()
    assert files == {"white.c": ["white"], "both.c": ["total", "same"]}
    assert problems[0].startswith("bad.c:4: ") and all(problem.startswith("bad.c:") for problem in problems), problems
    reload(daemon)
    assert "nothing has changed" in daemon.log_text()
    assert ops() == (first, files, problems)
    write(path, white=WRONG, bad=add(5).replace("white", "never"))
    (path / "both.c").unlink()
    reload(daemon)
    second, files, problems = ops()
    assert second != first and files == {"white.c": ["white"], "bad.c": ["never"]}
    assert any(problem.startswith("white.c:4: ") for problem in problems)
    assert problems[-1] == "white.c: its operators as read before stay in use" and not any("bad.c" in p for p in problems)
    path.chmod(0o777)
    reload(daemon)
    assert wait_until(lambda: not daemon.get("/readyz").json["reload"]["ok"])
    outcome = daemon.get("/readyz").json["reload"]
    assert outcome["generation"] == 3 and len(outcome["errors"]) == 1 and "write" in outcome["errors"][0]
    assert ops()[1] == files and daemon.get("/readyz").status == 200
    path.chmod(0o755)
    write(path, white=add(7))
    reload(daemon)
    assert ops()[2] == []


def test_without_a_folder(start):
    daemon = start()
    before = daemon.children()
    hang_up(daemon)
    assert wait_until(lambda: '"event":"reloaded"' in daemon.log_so_far())
    assert daemon.children() == before and daemon.works()


def test_the_signal_to_every_process(start, tmp_path):
    """A kill by name or by control group sends it so."""
    daemon = begin(start, folder(tmp_path, white=WHITE))
    assert heals(daemon)
    everyone = [*daemon.children(), sandbox(daemon)]
    for pid in everyone:
        with open(f"/proc/{pid}/status") as f:
            blocked = int(re.search(r"SigBlk:\s+(\w+)", f.read())[1], 16)
        assert blocked >> signal.SIGHUP - 1 & 1, "from its first instruction on"
        os.kill(pid, signal.SIGHUP)
    reload(daemon)
    assert [*daemon.children(), sandbox(daemon)] == everyone and worker(daemon)["restarts"] == 0
    assert daemon.post("/white", pnm(PICTURE)).status == 200 and daemon.works()


# ---- requests under way

def test_begun_before_and_finished_after(start, tmp_path):
    """Half a body has arrived when the operator changes, and when it is removed: those requests get the old operator."""
    path = folder(tmp_path, white=add(1), total=TOTAL)
    daemon = begin(start, path)
    body = pnm(PICTURE)

    def half(target):
        s = daemon.socket()
        s.sendall(f"POST {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                  + body[:1000])
        return s

    def rest(s):
        with s:
            s.sendall(body[1000:])
            data = b"".join(iter(lambda: s.recv(65536), b""))
        head, _, answer = data.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), data[:500]
        return answer

    begun = [half("/white"), half('/pipeline?operations=[{"operation":"white"}]'), half("/total")]
    assert wait_until(lambda: daemon.metric("slots_in_use") == 3)
    write(path, white=add(2))
    (path / "total.c").unlink()
    reload(daemon)
    assert daemon.post("/white", body).image.tolist() == (PICTURE + 2).tolist()
    check_problem(daemon.post("/total", body), 404)
    assert len(operators_processes(daemon)) == 2, "those that began before still need theirs"
    # A third generation waits for them; no other request does.
    write(path, white=add(3))
    hang_up(daemon)
    assert wait_until(lambda: "the new ones have waited" in daemon.log_so_far()), daemon.log_text()
    assert daemon.works() and daemon.post("/white", body).image.tolist() == (PICTURE + 2).tolist()
    for s in begun[:2]:
        assert rest(s).endswith((PICTURE + 1).tobytes())
    assert str(int(PICTURE.sum())).encode() in rest(begun[2])
    assert wait_until(lambda: daemon.post("/white", body).image.tolist() == (PICTURE + 3).tolist()), daemon.log_text()
    assert settles(daemon)


def test_a_slow_body_without_a_users_operator_keeps_no_reload_waiting(start, tmp_path):
    """A body of a built-in operator, named by the path, the query or a form, or a body that is dropped."""
    path = folder(tmp_path, white=add(1))
    daemon = begin(start, path)
    body = pnm(noise(300, 200))
    boundary, steps = "limit", '[{"operation":"histeq"}]'
    begun_form = (f'--{boundary}\r\nContent-Disposition: form-data; name="operations"\r\n\r\n{steps}\r\n'
                  f'--{boundary}\r\nContent-Disposition: form-data; name="image"; filename="a.pgm"\r\n\r\n').encode()
    form = begun_form + body + f"\r\n--{boundary}--\r\n".encode()
    multipart = f"Content-Type: multipart/form-data; boundary={boundary}\r\n"
    cases = [("POST", "/histeq", "", body), ("POST", f"/pipeline?operations={steps}", "", body),
             ("POST", "/pipeline", multipart, form), ("POST", "/info", "", body), ("GET", "/ops", "", body),
             ("POST", "/nothing_here", "", body)]
    sockets = []
    for method, target, fields, data in cases:
        s = daemon.socket()
        s.sendall(f"{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}"
                  f"Content-Length: {len(data)}\r\n\r\n".encode() + data[:2000])
        sockets.append(s)
    assert wait_until(lambda: daemon.metric("slots_in_use") == 4)
    for k in (2, 3, 4):
        write(path, white=add(k))
        reload(daemon)
        assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + k).tolist()
        assert settles(daemon)
    for s, (method, target, fields, data) in zip(sockets, cases):
        with s:
            s.sendall(data[2000:])
            head = b"".join(iter(lambda: s.recv(65536), b"")).partition(b"\r\n")[0]
        assert head.split()[1] == (b"404" if target == "/nothing_here" else b"200"), (target, head)


def test_a_reload_waits_for_a_body_no_longer_than_for_a_job(start, tmp_path):
    path = folder(tmp_path, white=add(1))
    daemon = begin(start, path, "--processing-ms", "1500")
    with daemon.socket() as s:
        s.sendall(b"POST /white HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n" + pnm(PICTURE))
        assert wait_until(lambda: daemon.metric("slots_in_use") == 1)
        write(path, white=add(2))
        reload(daemon)
        write(path, white=add(3))
        hang_up(daemon)

        def in_force():
            with contextlib.suppress(OSError):
                s.sendall(b"x")
            return daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 3).tolist()

        assert wait_until(in_force), daemon.log_text()
        assert s.recv(1000).startswith(b"HTTP/1.1 503 ")
    assert settles(daemon) and daemon.becomes_idle()


def test_under_load(start, tmp_path):
    """Files change all the time; each answer comes from a version that was in force, never from one before that, and none fails.
    Other requests are not affected."""
    path = folder(tmp_path, white=add(1))
    daemon = begin(start, path)
    body, stop = pnm(PICTURE), threading.Event()
    histeq = daemon.post("/histeq", body).body
    served, wrong, in_force = [0, 0, 0], [], [1]

    def builtin():
        while not stop.is_set():
            answer = daemon.post("/histeq", body)
            stop.wait(0.02)  # leaves the processors to the compiler
            served[0] += 1
            if answer.status != 200 or answer.body != histeq:
                wrong.append(("histeq", answer.status, answer.body[:200]))

    def mine(i, target):
        while not stop.is_set():
            least = in_force[0]
            answer = daemon.post(target, body, {"Accept": "image/x-portable-anymap"})
            stop.wait(0.02)
            served[i] += 1
            if answer.status != 200:
                wrong.append((target, answer.status, answer.body[:200]))
                continue
            shift = int(answer.image[0, 0]) - int(PICTURE[0, 0])
            if not (answer.image == (PICTURE + np.uint8(shift % 256))).all() or shift % 256 < least:
                wrong.append((target, shift, least))

    threads = [threading.Thread(target=builtin), threading.Thread(target=mine, args=(1, "/white")),
               threading.Thread(target=mine, args=(2, '/pipeline?operations=[{"operation":"white"}]'))]
    for thread in threads:
        thread.start()
    try:
        for k in range(2, 9 if LONG else 5):
            write(path, white=add(k) if k % 3 else WRONG)
            reload(daemon, times=1 + k % 3)
            if k % 3:
                assert wait_until(lambda: daemon.post("/white", body).image.tolist() == (PICTURE + k).tolist())
                in_force[0] = k
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong, (wrong[:5], daemon.log_text())
    assert all(served), served
    assert settles(daemon) and daemon.becomes_idle()
    first, = [w for w in daemon.get("/readyz").json["workers"] if w["role"] == "built-in"]
    assert first["restarts"] == 0 and worker(daemon)["restarts"] == 0


def test_as_the_first_process_of_a_container(start, tmp_path):
    """Orphans become its children: none stays behind as a zombie, of the workers that a reload ends or of those that an operator
    ends."""
    path = folder(tmp_path, white=add(1), wild=HOSTILE["wild"])
    reaper = ["/usr/bin/python3", "-c", "import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])",
              BURIN]
    daemon = begin(start, path, command=reaper)

    def zombies():
        found = []
        for pid in daemon.children():
            with open(f"/proc/{pid}/stat") as f:
                found += [pid] if f.read().rpartition(")")[2].split()[0] == "Z" else []
        return found

    for k in range(2, 4):
        write(path, white=add(k))
        reload(daemon)
        assert settles(daemon)
        check_problem(daemon.post("/wild", pnm(PICTURE)), 500)
        assert heals(daemon)
    assert wait_until(lambda: not zombies()), [open(f"/proc/{pid}/cmdline").read() for pid in zombies()]
    assert wait_until(lambda: len(daemon.children()) == 2)


def test_many_in_a_row_leak_nothing(start, tmp_path):
    path = folder(tmp_path, white=add(1), total=TOTAL)
    daemon = begin(start, path)

    def again(k):
        write(path, white=add(k), **{f"other{k % 2}": TOTAL.replace("total", f"other{k % 2}")})
        (path / f"other{1 - k % 2}.c").unlink(missing_ok=True)
        reload(daemon, times=20)
        assert wait_until(lambda: daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + k).tolist())

    for k in range(2):
        again(k)
    assert settles(daemon)
    files, children = descriptors(daemon.process.pid), len(daemon.children())
    before = memory(daemon.process.pid)
    last = 15 if LONG else 4
    for k in range(2, last):
        again(k)
    assert settles(daemon) and len(daemon.children()) == children
    # The connection of a client that has left may count at first, and not later.
    assert wait_until(lambda: not Counter(descriptors(daemon.process.pid)) - Counter(files)), (descriptors(daemon.process.pid), files)
    assert outcomes(daemon) < last * 20, "twenty signals were not twenty times the work"
    if "san-" not in BURIN:  # a sanitizer keeps freed memory
        assert memory(daemon.process.pid) < before + (4 << 20)
    assert names(daemon) >= {"white", "total", f"other{(last - 1) % 2}"} and f"other{last % 2}" not in names(daemon)


# ---- slow compilers, workers that do not come

def compiler(tmp_path, body):
    """A C compiler that does BODY first."""
    path = tmp_path / "cc"
    path.write_text(f"#!/bin/sh\n{body}\nexec {shutil.which('cc')} \"$@\" -O1\n")
    path.chmod(0o755)
    return {"PATH": f"{tmp_path}:{os.environ['PATH']}"}


def compiling(start, tmp_path):
    """A daemon with `white`, in the middle of a reload: its compiler goes on when the file `slow` is removed."""
    path = folder(tmp_path, white=add(1))
    slow = compiler(tmp_path, f"while [ -e {tmp_path}/slow ]; do sleep 0.05; done")
    daemon = begin(start, path, env=slow)
    (tmp_path / "slow").touch()
    write(path, white=add(2))
    hang_up(daemon)
    assert wait_until(lambda: daemon.children_with("--check"))
    return daemon


def test_a_slow_compiler_delays_no_request(start, tmp_path):
    daemon = compiling(start, tmp_path)
    for _ in range(10):
        assert daemon.works() and daemon.get("/readyz").status == 200
        assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 1).tolist()
        hang_up(daemon)
    (tmp_path / "slow").unlink()
    assert wait_until(lambda: outcomes(daemon) == 2), daemon.log_text()
    assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 2).tolist()
    assert "nothing has changed" in daemon.log_text(), "ten signals were one"


def test_stops_in_the_middle_of_it(start, tmp_path):
    daemon = compiling(start, tmp_path)
    children = daemon.children()
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(60) == 0
    assert wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children))


def test_workers_that_do_not_become_ready(start, tmp_path):
    """The old generation stays, and a later reload loads what this one could not."""
    path = folder(tmp_path, white=add(1))
    hangs = compiler(tmp_path, f"""if [ -e {tmp_path}/hangs ] && grep -q sandbox /proc/$PPID/cmdline; then exec sleep 1000; fi""")
    daemon = start("--operators-dir", str(path), "--worker-start-ms", "4000", env={**hangs, "XDG_CACHE_HOME": "/nowhere"})
    assert heals(daemon)
    (tmp_path / "hangs").touch()
    write(path, white=add(2))
    reload(daemon)
    assert "were not ready within worker_start_ms" in daemon.log_text() and "all operators stay as they were" in daemon.log_text()
    assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 1).tolist()
    (tmp_path / "hangs").unlink()
    assert settles(daemon)

    def taken():
        reload(daemon)
        return daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 2).tolist()

    assert wait_until(taken), daemon.log_text()


def test_a_check_that_crashes_is_a_problem_of_its_file(start, tmp_path):
    """GET /ops has it as the log does."""
    daemon = compiling(start, tmp_path)
    os.kill(daemon.children_with("--check")[0], signal.SIGKILL)
    (tmp_path / "slow").unlink()
    assert wait_until(lambda: any(problem.startswith("white.c: not used: it could not be checked: its process crashed")
                                  for problem in daemon.get("/ops").json["problems"])), daemon.log_text()
    assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 1).tolist()


def test_signals_from_the_first_moment(tmp_path, start):
    """They neither end it nor are lost."""
    path = folder(tmp_path, white=add(1))
    slow = compiler(tmp_path, f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done")

    def hang_up_early():
        for _ in range(200):
            pids = [pid for pid in os.listdir("/proc") if pid.isdigit()]
            for pid in pids:
                try:
                    with open(f"/proc/{pid}/cmdline") as f:
                        words = f.read().split("\0")
                except OSError:
                    continue
                if "serve" in words and str(path) in words and "check" not in words:
                    time.sleep(0.5)
                    write(path, white=add(2))
                    os.kill(int(pid), signal.SIGHUP)
                    time.sleep(0.1)
                    (tmp_path / "go").touch()
                    return
            time.sleep(0.01)

    thread = threading.Thread(target=hang_up_early)
    thread.start()
    try:
        daemon = begin(start, path, env=slow)
    finally:
        thread.join()
    assert wait_until(lambda: outcomes(daemon) == 1), daemon.log_text()
    assert daemon.post("/white", pnm(PICTURE)).image.tolist() == (PICTURE + 2).tolist()
