# SPDX-License-Identifier: Apache-2.0
"""A daemon that listens on `localhost`: both loopback addresses, with one port."""
import socket
import subprocess

import pytest

from conftest import BURIN, noise, pnm
from test_cli import burin


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            return probe.bind(("::1", 0)) is None
    except OSError:
        return False


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_localhost_is_both_addresses(start):
    daemon = start("--listen", "localhost:0", "--io-threads", "1")
    for host in ("127.0.0.1", "::1"):
        with socket.create_connection((host, daemon.port), 60) as client:
            body = pnm(noise(9, 8))
            client.sendall(b"POST /flip HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            assert client.recv(20).startswith(b"HTTP/1.1 200")
    assert burin("health", "--listen", f"localhost:{daemon.port}").returncode == 0
    with socket.socket(socket.AF_INET6) as other:  # a program at one of them would get the requests
        other.bind(("::1", 0))
        other.listen()
        port = other.getsockname()[1]
        refused = subprocess.run([BURIN, "serve", "--devices", "cpu", "--listen", f"localhost:{port}"], capture_output=True, text=True, timeout=60)
        assert refused.returncode == 1 and f"cannot listen on localhost:{port}: Address already in use" in refused.stderr
