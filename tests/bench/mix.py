# SPDX-License-Identifier: Apache-2.0
"""A mixed load, for limits.py: gray and RGB, PNM, PNG and JPEG of 8x8 to a megapixel, through all operators, a third of the requests
without keep-alive, 15 in 100 of them bad: no picture, cut off, a byte flipped, a wrong parameter, hung up on in the middle."""
import collections
import http.client
import multiprocessing
import random
import struct
import zlib

CONNECTIONS = 8
SIZES, WEIGHTS = ((8, 8), (31, 17), (120, 90), (320, 240), (640, 480), (1024, 1000)), (6, 6, 5, 4, 2, 1)
PATHS = ("/histeq", "/histeq?channel=each&type=pnm", "/grayscale?type=png", "/brightness?shift=20", "/threshold?level=90",
         "/edge?kernel=sobel5", "/convolve?taps=0%20-1%200%20-1%205%20-1%200%20-1%200", "/carve?dx=-2", "/info",
         "/pipeline?operations=[{%22operation%22:%22grayscale%22},{%22operation%22:%22histeq%22}]")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_header(width, height, depth):
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, 0, 0, 0, 0))


def pnm(width, height, channels, rng):
    """Slopes and a little noise."""
    slope = bytes(min(255, i // (2 * channels) % 240 + rng.randrange(16)) for i in range(width * channels + 256))
    rows = (slope[at:at + width * channels] for at in (rng.randrange(24) + y % 200 for y in range(height)))
    return f"P{5 if channels == 1 else 6}\n{width} {height}\n255\n".encode() + b"".join(rows)


def pictures(daemon, rng):
    """Of each size: gray and RGB, PNM, PNG and JPEG; the daemon itself packs the last two."""
    found = []
    for width, height in SIZES:
        plain = [pnm(width, height, channels, rng) for channels in (1, 3)]
        packed = [daemon.ask("POST", f"/brightness?type={kind}", picture) for kind in ("png", "jpeg") for picture in plain]
        assert all(status == 200 for status, _ in packed), packed
        found.append(plain + [body for _, body in packed])
    return found


def bad_requests(some):
    """[(path, body, status)...] from pictures of a middle size; None: hung up on in the middle."""
    gray, _, png, _, jpeg, _ = some
    flipped = png[:len(png) // 2] + bytes([png[len(png) // 2] ^ 0x55]) + png[len(png) // 2 + 1:]
    return [("/histeq", b"This is a text, not a picture." * 40, 415), ("/histeq", png[:len(png) // 2], 422),
            ("/edge", jpeg[:len(jpeg) // 2], 422), ("/grayscale", gray[:-100], 422), ("/histeq", flipped, 422),
            ("/histeq?bins=1", gray, 400), ("/carve?width=70000", png, 400), ("/nosuch", gray, 404), ("/histeq", b"", 400),
            ("/histeq", png_header(50000, 50000, 1) + bytes(3000), 422), ("/histeq", gray, None)]


def hang_up(daemon, path, body):
    with daemon.socket() as s:
        s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(body)) + body[:len(body) // 2])


def client(daemon, count, rng, good, bad, results):
    """Asks COUNT times, mostly on one connection, and puts into RESULTS the Counter of outcomes."""
    tally = collections.Counter()
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
    for _ in range(count):
        path, body, expected = rng.choice(PATHS), rng.choice(rng.choices(good, WEIGHTS)[0]), 200
        if rng.random() < 0.15:
            path, body, expected = rng.choice(bad)
        if expected is None:
            hang_up(daemon, path, body)
            tally["hung up"] += 1
            continue
        connection.request("POST", path, body, {"Connection": "close"} if rng.random() < 0.3 else {})
        answer = connection.getresponse()
        answer.read()
        tally[answer.status if answer.status == expected else f"{answer.status} for {expected}"] += 1
    connection.close()
    results.put(tally)


class Mix:
    def __init__(self, daemon):
        self.daemon, self.seed, self.good = daemon, 1, pictures(daemon, random.Random(1))
        self.bad = bad_requests(self.good[3])

    def load(self, count):
        """COUNT requests over CONNECTIONS clients, never the same ones twice. -> Counter of outcomes"""
        context = multiprocessing.get_context("fork")  # threads of Python would share one core
        results, clients = context.SimpleQueue(), []
        for i in range(CONNECTIONS):
            self.seed += 1
            share = count // CONNECTIONS + (i < count % CONNECTIONS)
            work = self.daemon, share, random.Random(self.seed), self.good, self.bad, results
            clients.append(context.Process(target=client, args=work))
            clients[-1].start()
        tally = sum((results.get() for _ in clients), collections.Counter())
        for one in clients:
            one.join()
        return tally
