# SPDX-License-Identifier: Apache-2.0
"""What an attacker could still do in a hijacked process of the daemon: ptrace makes the calls in the process itself. (The
lists, for each kind of process: tests/server/sandbox/sandbox.c.)

covers: server/sandbox/sandbox.c server/process/launcher.c"""
import contextlib
import ctypes
import errno
import os
import platform
import signal
import struct

import pytest

from conftest import (BURIN, LONGER_PATH, PATIENCE_S, alive, check_problem, freeze, large_png, name_of, noise, pnm, read_to_end,
                      responses, wait_until)

PTRACE_PEEKDATA, PTRACE_POKEDATA, PTRACE_SINGLESTEP, PTRACE_GETREGS, PTRACE_SETREGS = 2, 5, 9, 12, 13
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
# Offsets in struct user_regs_struct of x86-64.
R10, R9, R8, RAX, RDX, RSI, RDI, ORIG_RAX, RIP, RSP, REGISTERS = 7, 8, 9, 10, 12, 13, 14, 15, 16, 19, 27
MMAP, SOCKET, EXECVE, GETPID, PTRACE, OPENAT, FORK, KILL, TKILL, PIDFD_OPEN = 9, 41, 59, 39, 101, 257, 57, 62, 200, 434
WHITE = "#P2P_FUNC\nstatic unsigned char white(unsigned char pixel, int index) { return pixel > 127 ? 255 : 0; }\n"

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def sanitized():
    with open(BURIN, "rb") as f:
        return b"__asan_init" in (program := f.read()) or b"__tsan_init" in program


pytestmark = pytest.mark.skipif(sanitized(), reason="a sanitizer needs what the sandbox refuses")
by_ptrace = pytest.mark.skipif(platform.machine() != "x86_64" or os.geteuid() != 0,
                               reason="only root can, and the registers are those of x86-64")


def trace(request, pid, address=None, data=None):
    ctypes.set_errno(0)
    found = libc.ptrace(request, pid, address, data)
    if found == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), f"ptrace {request}")
    return found


class Taken:
    """A process whose first thread makes the test's calls. It is stopped at the end of a system call, as all waiting ones are."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        trace(PTRACE_SEIZE, self.pid)
        trace(PTRACE_INTERRUPT, self.pid)
        os.waitpid(self.pid, 0x40000000)  # __WALL: it is not this process's child
        self.before = self.registers()
        return self

    def __exit__(self, *error):
        with contextlib.suppress(OSError):  # it may have ended
            self.set(self.before)
            trace(PTRACE_DETACH, self.pid)

    def registers(self):
        room = (ctypes.c_ulonglong * REGISTERS)()
        trace(PTRACE_GETREGS, self.pid, None, ctypes.addressof(room))
        return list(room)

    def set(self, registers):
        room = (ctypes.c_ulonglong * REGISTERS)(*registers)
        trace(PTRACE_SETREGS, self.pid, None, ctypes.addressof(room))

    def put(self, text):
        """Writes TEXT below the used part of its stack; returns the address."""
        address = (self.before[RSP] - 4096) & ~7
        text += b"\0" * (8 - len(text) % 8)
        for i in range(0, len(text), 8):
            trace(PTRACE_POKEDATA, self.pid, address + i, struct.unpack("Q", text[i:i + 8])[0])
        return address

    def call(self, number, *arguments):
        """The result of the call: minus the errno where it fails."""
        registers = list(self.before)
        # The call in which the process waits is repeated behind these.
        registers[RIP] -= 2
        assert trace(PTRACE_PEEKDATA, self.pid, registers[RIP]) & 0xffff == 0x050f, "it was not in a call"
        registers[RAX], registers[ORIG_RAX] = number, 2 ** 64 - 1
        for place, value in zip((RDI, RSI, RDX, R10, R8, R9), arguments):
            registers[place] = value & (2 ** 64 - 1)
        self.set(registers)
        trace(PTRACE_SINGLESTEP, self.pid)
        _, how = os.waitpid(self.pid, 0x40000000)
        assert os.WIFSTOPPED(how), f"it ended: {how:#x}"
        return ctypes.c_long(self.registers()[RAX]).value


def tried(pid, with_others):
    """{attempt: the errno, or "done"} of a process. WITH_OTHERS: other processes' entries in /proc are tried too."""
    with Taken(pid) as taken:
        assert taken.call(GETPID) == pid, "no call can be made there"

        def outcome(answer):
            return errno.errorcode[-answer] if answer < 0 else "done"

        seen = {"open": outcome(taken.call(OPENAT, -100, taken.put(b"/etc/passwd"), os.O_RDONLY)),
                "list": outcome(taken.call(OPENAT, -100, taken.put(b"/"), os.O_RDONLY | os.O_DIRECTORY)),
                "create": outcome(taken.call(OPENAT, -100, taken.put(b"/tmp/burin-taken"), os.O_WRONLY | os.O_CREAT, 0o600)),
                "socket": outcome(taken.call(SOCKET, 2, 1, 0)), "unix socket": outcome(taken.call(SOCKET, 1, 1, 0)),
                "code": outcome(taken.call(MMAP, 0, 4096, 7, 0x22, -1, 0)), "trace": outcome(taken.call(PTRACE, 0, 0, 0, 0)),
                "fork": outcome(taken.call(FORK)), "run": outcome(taken.call(EXECVE, taken.put(b"/bin/sh"), 0, 0)),
                "kill": outcome(taken.call(KILL, os.getpid(), 0)), "kill a group": outcome(taken.call(KILL, -os.getpgrp(), 0)),
                "kill all": outcome(taken.call(KILL, -1, 0)), "kill a thread": outcome(taken.call(TKILL, os.getpid(), 0)),
                "find": outcome(taken.call(PIDFD_OPEN, os.getpid(), 0))}
        if with_others:
            seen |= {path: outcome(taken.call(OPENAT, -100, taken.put(path.encode()), os.O_RDONLY))
                     for path in ("/proc", "/proc/1/cmdline", f"/proc/{os.getpid()}/cmdline")}
    with contextlib.suppress(OSError):
        os.remove("/tmp/burin-taken")
    return seen


def operators(tmp_path):
    folder = tmp_path / "operators"
    folder.mkdir(mode=0o755)
    (folder / "white.c").write_text(WHITE)
    (folder / "white.c").chmod(0o644)
    return str(folder)


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return int(f.read().split()[0])


def rights(pid):
    """The system's record of each thread: no-new-privileges, a filter, capabilities."""
    found = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status") as f:
            lines = dict(line.split(":", 1) for line in f)
        found.add((int(lines["NoNewPrivs"]), int(lines["Seccomp"]),
                   *(int(lines[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"))))
    return found


@by_ptrace
def test_nothing_can_be_opened_or_run(start, tmp_path):
    """In the front, a worker, the worker for users' operators and its sandbox; and all serve as before afterwards."""
    daemon = start("--operators-dir", operators(tmp_path))
    assert wait_until(lambda: len(daemon.children()) == 2 and daemon.post("/white", pnm(noise(9, 9))).status == 200)
    users, = daemon.children_with("--operators")
    for pid in (daemon.process.pid, *daemon.children(), child_of(users)):
        seen = tried(pid, pid != users)  # this one may look at the process that it started
        assert set(seen.values()) <= {"EPERM", "EACCES"}, (pid, seen)
    assert daemon.works() and daemon.post("/white", pnm(noise(9, 9))).status == 200
    assert daemon.metric("worker_restarts_total") == 0


@by_ptrace
def test_off(start):
    """Without the sandbox the same calls succeed, so the test above can fail."""
    daemon = start("--sandbox", "off")
    worker, = daemon.children()
    assert daemon.starter() == daemon.process.pid
    with Taken(worker) as taken:
        assert taken.call(OPENAT, -100, taken.put(b"/etc/passwd"), os.O_RDONLY) >= 0
        assert taken.call(SOCKET, 2, 1, 0) >= 0
        assert taken.call(EXECVE, taken.put(b"/nowhere/sh"), 0, 0) == -errno.ENOENT


def test_every_thread_has_lost_its_rights(start, tmp_path):
    daemon = start("--operators-dir", operators(tmp_path))
    assert wait_until(lambda: len(daemon.children()) == 2 and daemon.post("/white", pnm(noise(9, 9))).status == 200)
    users, = daemon.children_with("--operators")
    for pid in (*daemon.children(), child_of(users)):
        assert rights(pid) == {(1, 2, 0, 0, 0, 0, 0)}, (pid, name_of(pid))
    # CAP_NET_ADMIN, where the kernel requires it to filter incoming TCP, as a drain does.
    front, = {found[:2] + tuple(bits & ~(1 << 12) for bits in found[2:]) for found in rights(daemon.process.pid)}
    assert front == (1, 2, 0, 0, 0, 0, 0)
    assert rights(daemon.starter()) == {(1, 0, 0, 0, 0, 0, 0)}
    assert '"event":"sandbox_on"' in daemon.log_text()


def begin_long(daemon):
    """Sends an upload of a job of a tenth of a second or more, all but its last byte."""
    body = large_png(2000, 2000)
    upload = daemon.socket()
    upload.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                   % (LONGER_PATH.encode(), len(body)) + body[:-1])
    assert wait_until(lambda: daemon.metric("slots_in_use") == 1)
    return upload, body[-1:]


def test_without_the_process_that_starts_workers(start):
    """No worker can be replaced: accepted work is finished, new requests are refused, and it fails, so that it is restarted."""
    daemon = start()
    upload, last = begin_long(daemon)
    os.kill(daemon.starter(), signal.SIGKILL)
    assert wait_until(lambda: daemon.get("/readyz").status == 503)
    assert daemon.get("/readyz").json["status"] == "draining" and daemon.get("/livez").status == 200
    check_problem(daemon.post("/histeq", pnm(noise(9, 9))), 503, "stopping")
    upload.sendall(last)
    (status, _, _), = responses(read_to_end(upload))
    assert status == 200
    assert daemon.process.wait(PATIENCE_S) == 1
    log = daemon.log_text()
    assert log.count("the process that starts workers has ended: none can be replaced") == 1 and '"event":"stopped"' in log


def test_without_it_and_without_workers(start):
    """Jobs that wait for a worker that cannot come back are refused: the end does not wait for them."""
    daemon = start()
    worker, = daemon.children()
    freeze(worker)
    with daemon.socket() as waiting:
        waiting.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(pnm(noise(9, 9))) + pnm(noise(9, 9)))
        assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1)
        os.kill(daemon.starter(), signal.SIGKILL)
        os.kill(worker, signal.SIGKILL)
        (status, _, refusal), = responses(read_to_end(waiting))
    assert status == 503 and b"no worker" in refusal
    assert daemon.process.wait(PATIENCE_S) == 1


def test_with_a_launcher_that_stands_still(start):
    """No worker can be replaced meanwhile: it is killed after launcher_still_ms, and the daemon ends as without it."""
    daemon = start("--launcher-still-ms", "1000")
    worker, = daemon.children()
    os.kill(daemon.starter(), signal.SIGSTOP)
    os.kill(worker, signal.SIGKILL)
    assert daemon.process.wait(PATIENCE_S) == 1
    assert "stands still, and is ended" in daemon.log_text()


def test_it_ends_with_its_daemon(start):
    daemon = start()
    starter = daemon.starter()
    assert starter != daemon.process.pid
    os.kill(daemon.process.pid, signal.SIGKILL)
    assert wait_until(lambda: not alive(starter))
