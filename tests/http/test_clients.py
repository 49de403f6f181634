# SPDX-License-Identifier: Apache-2.0
"""A client's identity: the address of the connection or, behind `trusted_proxies`, the last address in X-Forwarded-For that is
no trusted proxy's. The log shows it."""
import http.client
import json
import socket
import subprocess
import threading

import pytest

from conftest import BURIN, LONGER_PATH, TEST_SLOTS, form, freeze, large_png, noise, pnm, read_to_end, responses, thaw, wait_until

SMALL = pnm(noise(8, 8))


def lines_of(daemon):
    return [line for line in map(json.loads, daemon.log_text().splitlines()) if line["event"] == "request"]


def client(daemon, count):
    """The client address in the log of the COUNTth answered request."""
    assert wait_until(lambda: len(lines_of(daemon)) == count), daemon.log_text()
    return lines_of(daemon)[-1]["client"]


def post(daemon, source="127.0.0.1", forwarded=()):
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60, source_address=(source, 0))
    connection.putrequest("POST", "/threshold")
    connection.putheader("Content-Length", str(len(SMALL)))
    for line in forwarded:
        connection.putheader("X-Forwarded-For", line)
    connection.endheaders(SMALL)
    assert connection.getresponse().status == 200
    connection.close()


def test_it_is_the_connections_address(start):
    daemon = start()
    post(daemon)
    assert client(daemon, 1) == "127.0.0.1"
    post(daemon, "127.1.2.3", ["192.0.2.1"])
    assert client(daemon, 2) == "127.1.2.3"


def test_a_trusted_proxy_names_it(start):
    daemon = start("--trusted-proxies", "127.0.0.2,10.0.0.0/8")
    said = [("127.0.0.2", ["192.0.2.1"], "192.0.2.1"),
            ("127.0.0.2", ["9.9.9.9, 192.0.2.1"], "192.0.2.1"),
            ("127.0.0.2", ["9.9.9.9", "2001:db8::7, 10.3.2.1", "10.1.2.3"], "2001:db8::7"),
            ("127.0.0.2", ["unknown"], "127.0.0.2"),
            ("127.0.0.2", [], "127.0.0.2"),
            ("127.0.0.3", ["192.0.2.1"], "127.0.0.3")]
    for count, (source, forwarded, expected) in enumerate(said, 1):
        post(daemon, source, forwarded)
        assert client(daemon, count) == expected


def over_unix(path, *headers):
    body, content_type = form([("image", SMALL, "a.pgm")])
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(path)
        head = ["POST /threshold HTTP/1.1", "Host: a", f"Content-Length: {len(body)}", f"Content-Type: {content_type}", *headers, "", ""]
        s.sendall("\r\n".join(head).encode() + body)
        assert s.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


def test_unix_sockets_are_one_client_unless_they_are_trusted(tmp_path):
    for flags, expected in (([], "unix"), (["--trusted-proxies", "unix"], "192.0.2.1")):
        path = str(tmp_path / "socket")
        process = subprocess.Popen([BURIN, "serve", "--listen", f"unix:{path}", "--devices", "cpu", *TEST_SLOTS, *flags],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stdout.readline()
            over_unix(path, "X-Forwarded-For: 192.0.2.1")
        finally:
            process.terminate()
            log = process.communicate(timeout=60)[1]
        assert [line["client"] for line in map(json.loads, log.splitlines()) if line["event"] == "request"] == [expected]


def test_a_bad_list_is_refused():
    run = subprocess.run([BURIN, "serve", "--trusted-proxies", "10.0.0.1/8"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert "--trusted-proxies: trusted_proxies must be nothing, or networks and unix: 10.0.0.0/8,::1,unix, not" in run.stderr


# ---- its share

class Frozen:
    """A daemon whose frozen worker is not noticed: all requests wait. Two jobs are at the worker, all others in the queue."""

    def __init__(self, daemon):
        self.daemon, self.sent = daemon, []
        self.worker, = daemon.children()
        freeze(self.worker)

    def send(self, source, path="/threshold", body=SMALL, forwarded="", slots=1):
        """SLOTS: how many more slots are then in use."""
        before = self.daemon.metric("slots_in_use")
        self.sent.append(socket.create_connection(("127.0.0.1", self.daemon.port), 60, (source, 0)))
        self.sent[-1].sendall(b"POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s"
                              % (path.encode(), forwarded.encode(), len(body), body))
        assert wait_until(lambda: self.daemon.metric("slots_in_use") == before + slots)

    def end(self):
        """The status of each answer."""
        thaw(self.worker)
        found = [responses(read_to_end(s))[0][0] for s in self.sent]
        for s in self.sent:
            s.close()
        return found


def test_a_client_of_one_job_comes_before_the_rest_of_anothers(start):
    daemon = start("--lanes", "1", "--self-test-ms", "60000")
    frozen, body = Frozen(daemon), large_png(1500, 1500)  # each takes some 100 ms, so the log shows the order
    for _ in range(8):
        frozen.send("127.0.0.2", LONGER_PATH, body)
    frozen.send("127.0.0.3", LONGER_PATH, body)
    assert daemon.metric("queue_clients") == 2
    assert frozen.end() == 9 * [200]
    assert wait_until(lambda: len(lines_of(daemon)) == 9)
    place, = [i for i, line in enumerate(lines_of(daemon)) if line["client"] == "127.0.0.3"]
    assert place <= 4, "it was the last to come, and is third at the worker"


def test_one_client_may_fill_the_queue(start):
    """All of it is served: while there is room, a client is not refused for what others might send."""
    daemon = start("--lanes", "1", "--self-test-ms", "60000", "--queue-jobs", "40", "--slots", "106")
    frozen = Frozen(daemon)
    for _ in range(2 + 40):
        frozen.send("127.0.0.2")
    assert daemon.metric("queue_depth") == 40
    assert frozen.end() == 42 * [200]
    assert daemon.samples()['burin_rejected_total{reason="queue"}'] == 0


@pytest.mark.parametrize("proxy", [False, True], ids=["direct", "behind a proxy"])
def test_who_has_most_makes_room(start, proxy):
    """One client's jobs fill the queue: its next one is refused, another client's is accepted, and the first one's newest gets 503."""
    daemon = start("--lanes", "1", "--self-test-ms", "60000", "--queue-jobs", "4", "--trusted-proxies", "127.0.0.9" if proxy else "")
    frozen = Frozen(daemon)

    def of_client(client):
        return {"source": "127.0.0.9", "forwarded": f"X-Forwarded-For: {client}\r\n"} if proxy else {"source": client}

    for _ in range(2 + 4):
        frozen.send(**of_client("127.0.0.2"))
    frozen.send(**of_client("127.0.0.2"), slots=0)
    (status, headers, body), = responses(read_to_end(frozen.sent.pop()))
    assert status == 503 and int(headers["retry-after"]) >= 1
    assert json.loads(body)["message"] == "4 jobs are waiting already; try again later"
    frozen.send(**of_client("127.0.0.3"), slots=0)  # one job replaces another
    (status, headers, body), = responses(read_to_end(frozen.sent.pop(5)))
    assert status == 503 and int(headers["retry-after"]) >= 1
    assert "most of them yours" in json.loads(body)["message"]
    assert daemon.metric("queue_clients") == 2 and daemon.metric("queue_depth") == 4
    assert frozen.end() == 6 * [200]
    assert daemon.samples()['burin_rejected_total{reason="queue"}'] == 2


def test_a_small_one_waits_for_no_long_one(start):
    """A small job is not delayed by a long one on a single core, even where one client sent both."""
    daemon, body, ended = start("--lanes", "1"), large_png(3000, 3000), []
    assert daemon.works()
    threads = [threading.Thread(target=lambda: ended.append(daemon.post(LONGER_PATH, body, timeout=600).status)) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert wait_until(lambda: daemon.metric("jobs_in_progress") == 1 and daemon.metric("queue_depth") == 1)
    for _ in range(5):
        assert daemon.works()
    assert len(ended) < 2, "each of them takes most of half a second"
    for thread in threads:
        thread.join()
    assert ended == 2 * [200]
