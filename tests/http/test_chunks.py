# SPDX-License-Identifier: Apache-2.0
"""A chunked body that goes astray when its picture is there already: it is refused, and nothing is made of the picture."""
import pytest

from conftest import noise, pnm, read_to_end, responses, wait_until

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
