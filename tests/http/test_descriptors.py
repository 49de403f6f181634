# SPDX-License-Identifier: Apache-2.0
"""The open files of the daemon: who has which number, and what becomes of it where there are few.

covers: server/descriptors.c
"""
import os
import socket
import subprocess

from conftest import BURIN, PATIENCE_S, TEST_SLOTS, noise, pnm, read_to_end, responses, wait_until


def test_standard_descriptors_that_are_closed(tmp_path):
    """None of them is a socket or a pipe of ours, into which a message would be printed, and it works."""
    path = tmp_path / "socket"
    command = [BURIN, "serve", "--listen", f"unix:{path}", "--devices", "cpu", *TEST_SLOTS]
    process = subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command])
    try:
        assert wait_until(path.exists)
        picture = pnm(noise(32, 24))
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(path))
            s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                      % len(picture) + picture)
            (status, _, _), = responses(read_to_end(s))
        assert status == 200
        assert [os.readlink(f"/proc/{process.pid}/fd/{fd}") for fd in range(3)] == ["/dev/null"] * 3
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()


def test_a_result_that_cannot_be_printed_is_no_success(tmp_path):
    """As if standard output were closed, though its number is taken."""
    (tmp_path / "in.pnm").write_bytes(pnm(noise(32, 24)))
    done = subprocess.run(["sh", "-c", f"exec {BURIN} run histeq {tmp_path}/in.pnm - >&-"], stderr=subprocess.PIPE)
    assert done.returncode != 0 and done.stderr
