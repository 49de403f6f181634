# SPDX-License-Identifier: Apache-2.0
"""While others are refused, the daemon closes clients that hold what is short and stand still, then the slowest of those that
move; none while there is room. Every daemon here has body_ms and write_ms of an hour or nearly.

covers: server/request/capacity.c
"""
import socket
import threading
import time

from conftest import HOUR_MS, large_png, noise, pnm, read_to_end, responses, wait_until

PICTURE = pnm(noise(32, 24))
SLOW = "--body-ms", HOUR_MS, "--write-ms", HOUR_MS
FEW_SLOTS = "--slots", "4"
MB = 1 << 20


def upload(daemon, body, announced):
    """An upload that has sent BODY and is longer."""
    s = daemon.socket()
    s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % announced + body)
    return s


def ended(daemon, reason):
    return daemon.samples()[f'burin_connections_ended_total{{reason="{reason}"}}']


def get_in(daemon, body, pressed=False):
    """Asks until it is let in; returns how often it was refused. It is refused at least once, or nothing is tested, unless
    the holders are still under pressure from an earlier refusal (PRESSED)."""
    statuses = []

    def asked():
        statuses.append(daemon.post("/histeq", body).status)
        time.sleep(0.05)
        return statuses[-1] == 200

    assert wait_until(asked), statuses
    assert statuses[0] == 503 and set(statuses) == {200, 503} or pressed and statuses == [200], statuses


def test_uploads_that_stop_short_of_their_end(start):
    """They hold nearly all of queue_bytes. That most of their bytes came fast does not save them."""
    daemon = start("--queue-bytes", "4MiB", "--body-pressed-ms", "1000", *SLOW)
    still = [upload(daemon, bytes(19 * MB // 10), 2 * MB) for _ in range(2)]
    assert wait_until(lambda: daemon.metric("body_bytes_held") == 2 * (19 * MB // 10))
    assert daemon.works(), "there is room for a small one"
    time.sleep(1.5)
    assert ended(daemon, "body") == 0, "nobody was refused so far"
    get_in(daemon, pnm(noise(1000, 700)))
    assert ended(daemon, "body") == 2
    for s in still:
        assert read_to_end(s) == b""
        s.close()
    assert daemon.becomes_idle()


def test_answers_that_nobody_takes(start):
    daemon = start("--answer-bytes", "10MB", "--body-pressed-ms", "1000", *SLOW)
    tall = large_png(4000, 2000)  # 8 MB as PNM
    askers = [daemon.socket() for _ in range(2)]
    for s in askers:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        s.sendall(b"POST /grayscale?type=pnm HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(tall) + tall)
    assert wait_until(lambda: daemon.metric("answer_bytes_held") >= 16000000)
    get_in(daemon, PICTURE)
    assert ended(daemon, "write") >= 1 and ended(daemon, "body") == 0
    for s in askers:
        s.close()
    assert daemon.becomes_idle()


class Sender:
    """An upload that sends PIECE bytes every 20 ms, until the daemon closes it or end()."""

    def __init__(self, daemon, piece):
        self.body = pnm(noise(2000, 1000))
        self.sock = upload(daemon, self.body[:1], len(self.body))
        self.piece, self.sent, self.cut, self.stop = piece, 1, None, False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stop:
            try:
                self.sock.sendall(self.body[self.sent:self.sent + self.piece])
            except OSError:
                self.cut = time.monotonic()
                return
            self.sent += self.piece
            time.sleep(0.02)

    def end(self):
        """Sends the rest at once; returns the answer."""
        self.stop = True
        self.thread.join()
        self.sock.sendall(self.body[self.sent:])
        (status, _, _), = responses(read_to_end(self.sock))
        return status


def test_the_slowest_go_first(start):
    """Every slot has an upload faster than body_rate_bytes: others get in all the same, and a far faster upload is served."""
    daemon = start(*FEW_SLOTS, "--body-pressed-ms", "1000", "--body-rate-bytes", "50", *SLOW)
    slow = [Sender(daemon, piece) for piece in (2, 20, 20)]
    fast = Sender(daemon, 500)
    assert wait_until(lambda: daemon.metric("slots_in_use") == 4)
    try:
        for round in range(2):
            get_in(daemon, PICTURE, pressed=round > 0)
            assert wait_until(lambda: sum(s.cut is not None for s in slow) >= round + 1)
            if round == 0:
                slow.append(Sender(daemon, 20))  # takes the last slot again, until the next one is cut
                assert wait_until(lambda: daemon.metric("slots_in_use") == 4 or sum(s.cut is not None for s in slow) > 1)
        assert fast.end() == 200
    finally:
        for s in (*slow, fast):
            s.stop = True
            s.thread.join()
            s.sock.close()
    assert fast.cut is None and slow[0].cut, [s.cut for s in slow]
    assert daemon.becomes_idle()


def test_moving_uploads_stay_beside_stalled_ones(start):
    """Slots are short: closing the stalled uploads suffices, though they began later and are not yet certain to be stalled."""
    daemon = start(*FEW_SLOTS, "--body-pressed-ms", "2000", "--body-rate-bytes", "50", *SLOW)
    moving = Sender(daemon, 5)
    time.sleep(1)
    still = [upload(daemon, b"P", 1000) for _ in range(3)]
    assert wait_until(lambda: daemon.metric("slots_in_use") == 4)
    get_in(daemon, PICTURE)
    assert 1 <= ended(daemon, "body") <= 3 and moving.end() == 200
    for s in (*still, moving.sock):
        s.close()
    assert daemon.becomes_idle()


def test_requests_without_a_slot_close_no_upload(start):
    """Clients that move slowly hold all slots: probes and pages need none, so no client is closed for them."""
    daemon = start(*FEW_SLOTS, "--body-pressed-ms", "1000", "--body-rate-bytes", "50", *SLOW)
    moving = [Sender(daemon, 20) for _ in range(4)]
    try:
        assert wait_until(lambda: daemon.metric("slots_in_use") == 4)
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            time.sleep(0.05)
            for path in ("/metrics", "/readyz", "/ops", "/"):
                daemon.get(path)
            assert daemon.request("POST", "/livez", None).status == 405
        assert ended(daemon, "body") == 0
        assert [s.end() for s in moving] == [200] * 4
    finally:
        for s in moving:
            s.stop = True
            s.thread.join()
            s.sock.close()


# ---- connections

def ask(s):
    s.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    assert s.recv(1000).startswith(b"HTTP/1.1 200 ")


def busy(daemon):
    """A client whose request is in progress."""
    return upload(daemon, PICTURE[:100], len(PICTURE))


def is_open(s):
    s.setblocking(False)
    try:
        return bool(s.recv(1))
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def test_connections_without_a_request_go_first(start):
    """The oldest ones go, none that has a request in progress, and none at all while no connection waits."""
    daemon = start("--io-threads", "2", "--connections-max", "8", "--idle-pressed-ms", "200", *SLOW)
    at_work = [busy(daemon) for _ in range(3)]
    rest = []
    for i in range(5):
        rest.append(daemon.socket())
        if i % 2:
            ask(rest[-1])  # then this one is idle; the others have sent no head, or half of one
        elif i == 2:
            rest[-1].sendall(b"GET /livez HT")
        time.sleep(0.1)
    time.sleep(0.5)
    assert all(is_open(s) for s in (*at_work, *rest)), "nobody waits"
    for i in range(5):
        at_work.append(busy(daemon))
        assert wait_until(lambda: not is_open(rest[i])), i
        assert all(is_open(s) for s in (*at_work, *rest[i + 1:]))
    with daemon.socket(0.5) as one_more:
        one_more.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        try:
            assert not one_more.recv(100), "all others are at work"
        except socket.timeout:
            pass
        at_work[0].setblocking(True)
        at_work[0].sendall(PICTURE[100:])
        (status, _, _), = responses(read_to_end(at_work[0]))
        assert status == 200
        assert read_to_end(one_more).startswith(b"HTTP/1.1 200 ")
    for s in at_work:
        s.close()
    assert wait_until(lambda: daemon.ready()) and ended(daemon, "crowded") == 5
    for s in rest:
        s.close()


def test_the_client_with_the_most_connections_loses_them(start):
    """One thread accepts them all, in the order in which they came."""
    daemon = start("--connections-max", "8", "--idle-pressed-ms", "1000", "--io-threads", "1", *SLOW)

    def from_host(host):
        return socket.create_connection(("127.0.0.1", daemon.port), 60, (f"127.0.0.{host}", 0))

    few = [from_host(2) for _ in range(2)]  # the oldest of all
    many = [from_host(3) for _ in range(6)]
    time.sleep(1.2)
    others = [busy(daemon) for _ in range(4)]
    assert wait_until(lambda: sum(not is_open(s) for s in many) == 4)
    assert all(is_open(s) for s in (*few, *others, *many[4:]))
    for s in (*few, *others, *many):
        s.close()


def test_probes_are_answered_beside_silent_connections(start):
    """Half as many again as allowed are open and silent, and every client that asks is served, again and again."""
    daemon = start("--connections-max", "64", "--idle-pressed-ms", "200")
    silent = [daemon.socket() for _ in range(96)]
    for _ in range(20):
        assert daemon.get("/livez").status == 200
    assert daemon.works() and ended(daemon, "crowded") >= 32
    for s in silent:
        s.close()
