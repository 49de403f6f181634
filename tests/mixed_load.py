#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small images of many kinds and sizes at once, so that a lane's batches would mix them if anything could: every answer
must be the bytes that the CPU gave when it was asked alone. Needs a running daemon and nothing but the standard library.

    mixed_load.py [--port 8080] [--device cuda] [--seconds 10] [--connections 64]"""
import argparse
import collections
import http.client
import random
import threading
import time

SIZES = (1, 1), (31, 9), (64, 64), (97, 1), (320, 240)
PLANS = "/histeq?bins=64", "/histeq?channel=each", "/edge?kernel=sobel5", "/grayscale?quality=80", "/threshold?level=90", "/carve?dx=-1"


def picture(width, height, channels, depth, rng):
    """Noise over a slope, so that neither histogram nor seams are trivial."""
    most = (1 << depth) - 1
    samples = (min(most, (i * most // (width * height * channels) + rng.randrange(most)) // 2)
               for i in range(width * height * channels))
    body = b"".join(s.to_bytes(depth // 8, "big") for s in samples)
    return b"P%d\n%d %d\n%d\n" % (5 if channels == 1 else 6, width, height, most) + body


def ask(connection, path, device, body):
    connection.request("POST", f"{path}&type=pnm&device={device}", body)
    answer = connection.getresponse()
    return answer.status, answer.read()


def kinds(port):
    """(path, body, what the CPU says) of every plan, size and kind that can be worked on."""
    rng, connection, found = random.Random(7), http.client.HTTPConnection("127.0.0.1", port, timeout=60), []
    for width, height in SIZES:
        for channels, depth in ((1, 8), (3, 8), (1, 16), (3, 16)):
            body = picture(width, height, channels, depth, rng)
            for path in PLANS:
                status, expected = ask(connection, path, "cpu", body)
                if status == 200:
                    found.append((path, body, expected))
    return found


def work(arguments, jobs, end, seed, counts):
    rng, connection = random.Random(seed), http.client.HTTPConnection("127.0.0.1", arguments.port, timeout=60)
    path = rng.choice(PLANS)
    while time.time() < end:
        if rng.random() < 0.02:
            path = rng.choice(PLANS)  # for a while the same plan, for only such jobs can share a batch
        plan, body, expected = rng.choice([job for job in jobs if job[0] == path])
        status, got = ask(connection, plan, arguments.device, body)
        counts["right" if status == 200 and got == expected else "busy" if status == 503 else f"WRONG {status} {plan}"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("port", 8080), ("device", "cuda"), ("seconds", 10.0), ("connections", 64)):
        parser.add_argument(f"--{name}", type=type(default), default=default)
    arguments = parser.parse_args()
    jobs, counts = kinds(arguments.port), collections.Counter()
    end = time.time() + arguments.seconds
    threads = [threading.Thread(target=work, args=(arguments, jobs, end, seed, counts)) for seed in range(arguments.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{len(jobs)} kinds of job on {arguments.device}:", dict(counts))
    raise SystemExit(0 if counts["right"] and not any(key.startswith("WRONG") for key in counts) else 1)


if __name__ == "__main__":
    main()
