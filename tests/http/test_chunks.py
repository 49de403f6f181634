# SPDX-License-Identifier: Apache-2.0
"""A chunked body that is malformed behind a whole picture is refused, and no picture is made."""
import pytest

from conftest import memory, noise, pnm, read_to_end, responses, wait_until

PICTURE = pnm(noise(32, 24))
HEAD = b"POST /histeq HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(PICTURE)


@pytest.mark.parametrize("tail", [b"\n0\r\n\r\n", b"\r\nno size\r\n", b"\r\n0\r\nno trailer\r\n\r\n", b"x"])
def test_picture_is_whole_and_the_body_is_not(start, tail):
    daemon = start()
    with daemon.socket() as s:
        s.sendall(HEAD + PICTURE)
        assert wait_until(lambda: daemon.metric("body_bytes_held") == len(PICTURE))
        s.sendall(tail)
        (status, headers, body), = responses(read_to_end(s))
    assert status == 400 and headers["connection"] == "close"
    assert b"chunk" in body or b"trailer" in body
    assert daemon.becomes_idle()
    assert daemon.samples()['burin_rejected_total{reason="malformed"}'] == 1
    assert daemon.metric("queue_wait_seconds_count") == 0, "it was worked on"
    assert daemon.works()


@pytest.mark.parametrize("size,count", [(1, 65537), (6, 500000), (1, 1000000)])
def test_very_many_chunks_cost_the_front_no_memory(daemon, size, count):
    daemon.works()
    before = memory(daemon.process.pid)
    chunks = b"%x\r\n%s\r\n" % (size, b"x" * size) * count + b"0\r\n\r\n"
    (status, _, _), = responses(daemon.raw(b"POST /histeq HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                                           b"Connection: close\r\n\r\n" + chunks))
    assert status in (400, 415)
    assert memory(daemon.process.pid) - before < 4 << 20
    assert daemon.works()
