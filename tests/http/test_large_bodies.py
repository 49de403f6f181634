# SPDX-License-Identifier: Apache-2.0
"""Large bodies reach their slot without passing through the library: the same answers however they are cut, and whatever
follows the image in a form; refusals in mid-body; memory for the form's other bytes; requests that follow at once.

covers: server/request/upload.c server/http/request_flow.c server/http/engine/connection.c
"""
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from conftest import form, memory, needs, noise, pnm, read_to_end, responses, wait_until

MB = 1 << 20
PICTURE = noise(300, 200, 3)  # 180 KB: always several pieces
BODY = pnm(PICTURE)
SUM = pnm(np.minimum(PICTURE.astype(int) + 5, 255).astype(np.uint8))
BOUNDARY = "testboundary7d1"


def head(path, length, *lines):
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {length}", *lines, "", ""]).encode()


def form_head(path, body, *lines):
    return head(path, len(body), f"Content-Type: multipart/form-data; boundary={BOUNDARY}", *lines)


def say(client, data, cuts):
    """Sends DATA in pieces that the daemon reads one by one: waits until each has been read."""
    at = 0
    for cut in [*sorted(cuts), len(data)]:
        client.sendall(data[at:cut])
        at = cut
        time.sleep(0.002)


def ask(daemon, data, cuts=()):
    with daemon.socket() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        say(client, data, cuts)
        return responses(read_to_end(client))


def test_raw_bodies_in_any_pieces(daemon):
    draw = random.Random(1)
    start = head("/brightness?shift=5", len(BODY), "Connection: close")
    for cuts in ([], [len(start)], [len(start) + 1], [len(start) - 3], [len(start) + len(BODY) - 1],
                 *(draw.sample(range(1, len(start + BODY)), 7) for _ in range(6))):
        (status, _, body), = ask(daemon, start + BODY, cuts)
        assert status == 200 and body == SUM, cuts


def test_requests_that_do_not_wait_for_answers(daemon):
    """Each connection sends 24 at once; the library may read of a body before it has begun its request."""
    def ask_many(_):
        with daemon.socket() as client:
            sender = threading.Thread(target=client.sendall, args=[
                23 * (head("/brightness?shift=5", len(BODY)) + BODY) + head("/brightness?shift=5", len(BODY), "Connection: close") + BODY])
            sender.start()
            answers = responses(read_to_end(client))
            sender.join()
            return answers
    with ThreadPoolExecutor(6) as pool:
        for answers in pool.map(ask_many, range(6)):
            assert [(status, body == SUM) for status, _, body in answers] == 24 * [(200, True)]


def test_forms_in_any_pieces(daemon):
    """Cuts fall around every delimiter, and the data contains near delimiters."""
    lookalike = PICTURE.copy()
    text = f"\r\n--{BOUNDARY}x\r\n--{BOUNDARY[:-1]}\r\n--{BOUNDARY} \t \r-\r\n\r\n--".encode()
    for at in (0, 70_000, 100_001, lookalike.size - len(text)):
        lookalike.reshape(-1)[at:at + len(text)] = np.frombuffer(text, np.uint8)
    wanted = pnm(np.minimum(lookalike.astype(int) + 5, 255).astype(np.uint8))
    body, _ = form([("image", pnm(lookalike), "f"), ("shift", "5", None)])
    data = form_head("/brightness", body, "Connection: close") + body
    places = [i for i in range(len(data)) if data.startswith(b"\r\n--", i)]
    draw = random.Random(2)
    for round_ in range(25):
        near = [place + draw.randrange(-3, 24) for place in places]
        cuts = near if round_ < 12 else draw.sample(range(1, len(data)), 9)
        (status, _, got), = ask(daemon, data, [cut for cut in cuts if 0 < cut < len(data)])
        assert status == 200 and got == wanted, cuts


@needs("carve")
@pytest.mark.parametrize("first", ["image", "mask"])
def test_two_images_of_a_form(daemon, first):
    """The second image begins at an aligned place of the slot, not where its bytes arrived: for all remainders."""
    picture, mask = noise(210, 190, 3), np.full((190, 210), 0, np.uint8)
    mask[:, 40:60] = 255
    wanted = None
    for pad in range(0, 70, 3):
        parts = [("image", pnm(picture), "f"), ("mask", pnm(mask)[:2] + b"\n#" + b"x" * pad + pnm(mask)[2:], "m")]
        body, _ = form(parts if first == "image" else parts[::-1])
        (status, _, got), = ask(daemon, form_head("/carve?width=208", body, "Connection: close") + body,
                                [2000, len(body) - 41_000 + pad])
        assert status == 200, got
        wanted = wanted or got
        assert got == wanted, pad


def test_the_next_request_may_come_in_the_same_piece(daemon):
    request, last = head("/brightness?shift=5", len(BODY)) + BODY, head("/brightness?shift=5", len(BODY), "Connection: close") + BODY
    small = head("/brightness?shift=5", len(pnm(noise(4, 4)))) + pnm(noise(4, 4))
    for middle in (request, small, b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"):
        for cuts in ([], [len(request) - 5, len(request) + 20], [len(request) + len(middle) + 9]):
            found = ask(daemon, request + middle + last, cuts)
            assert [status for status, _, _ in found] == [200, 200, 200]
            assert found[0][2] == found[2][2] == SUM


def test_permission_to_send_is_still_given(daemon):
    with daemon.socket() as client:
        client.sendall(head("/brightness?shift=5", len(BODY), "Expect: 100-continue", "Connection: close"))
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(BODY)
        (status, _, body), = responses(read_to_end(client))
        assert status == 200 and body == SUM


def test_a_body_that_is_not_a_jobs(daemon):
    (status, _, body), = ask(daemon, head("/info", len(BODY), "Connection: close") + BODY, [150, 90_000])
    assert status == 200 and b'"width":300' in body.replace(b" ", b"")


@pytest.mark.parametrize("line,status", [("GET /livez", 200), ("POST /nothing", 404), ("DELETE /histeq", 405), ("POST /brightness?shift=x", 400)])
def test_bodies_that_nobody_wants(daemon, line, status):
    """They are read so that the connection can be used again."""
    unwanted = f"{line} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(BODY)}\r\n\r\n".encode() + BODY
    last = head("/brightness?shift=5", len(BODY), "Connection: close") + BODY
    for cuts in ([], [60, 300, 70_000], [len(unwanted) - 1], [len(unwanted) + 7]):
        found = ask(daemon, unwanted + last, cuts)
        assert [status for status, _, _ in found] == [status, 200] and found[1][2] == SUM


def test_refusals_at_a_bodys_middle_and_end(daemon):
    """A wrong field behind the image; a second image; a body without an end."""
    for parts, word in (([("image", BODY, "f"), ("shift", "lots", None)], b"shift"),
                        ([("image", BODY, "f"), ("image", BODY, "f"), ("shift", "1", None)], b"two image parts")):
        body, _ = form(parts)
        (status, _, got), = ask(daemon, form_head("/brightness", body, "Connection: close") + body, [60_000])
        assert status == 400 and word in got
    body = b"x" * 200_000
    found = ask(daemon, form_head("/brightness", body, "Connection: close") + body, [60_000])
    assert [status for status, _, _ in found] == [400] and b"boundary" in found[0][2]
    assert daemon.works()


def test_clients_that_leave_in_the_middle(daemon):
    for sent in (100, 20_000, 100_000, len(BODY) - 1):
        with daemon.socket() as client:
            client.sendall(head("/brightness?shift=5", len(BODY)) + BODY[:sent])
            assert wait_until(lambda: daemon.samples()["burin_body_bytes_held"] == sent)
    assert wait_until(lambda: daemon.samples()["burin_slots_in_use"] == 0)
    assert daemon.samples()["burin_body_bytes_held"] == 0


def test_memory_behind_the_image_is_given_back(start):
    """Bytes behind the last delimiter of a form are read and dropped; the memory of those received in the slot is released."""
    daemon = start()
    daemon.works()
    before = memory(daemon.process.pid, "RssShmem")
    body, _ = form([("image", pnm(noise(32, 32)), "f")])
    body += b"e" * (30 * MB)
    for _ in range(3):
        (status, _, _), = ask(daemon, form_head("/brightness", body, "Connection: close") + body)
        assert status == 200
    assert wait_until(lambda: daemon.samples()["burin_slots_in_use"] == 0)
    assert memory(daemon.process.pid, "RssShmem") <= before


def test_a_body_that_exceeds_what_may_be_held(start):
    """There is room for it when its head arrives and none in its middle: 503, and what it held is released at once."""
    daemon = start("--queue-bytes", "400000")
    clients = [daemon.socket() for _ in range(3)]

    def held(count):
        return wait_until(lambda: daemon.samples()["burin_body_bytes_held"] == count)

    for i, client in enumerate(clients):
        client.sendall(head("/brightness?shift=5", len(BODY), "Connection: close") + BODY[:100])
        assert held(100 * (i + 1))
    for i, client in enumerate(clients[:2]):
        client.sendall(BODY[100:-1])
        assert held(300 + (i + 1) * (len(BODY) - 101))
    clients[2].sendall(BODY[100:])
    (status, _, body), = responses(read_to_end(clients[2]))
    assert status == 503 and b"queue_bytes" in body
    assert held(2 * (len(BODY) - 1))
    for client in clients[:2]:
        client.sendall(BODY[-1:])
        (status, _, body), = responses(read_to_end(client))
        assert status == 200 and body == SUM
    assert held(0) and wait_until(lambda: daemon.samples()["burin_slots_in_use"] == 0)
