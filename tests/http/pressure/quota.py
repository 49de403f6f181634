#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""quota.py [--seconds 60] [--processes 4] [--rate 500] [--only limits,others,keys] [--devices cpu] [--picture FILE] [--path PATH]
    [--connections 8] [--threads 1]
Presses the quotas of keys:

    limits      for each limit a second, PROCESSES clients of one key ask for ten times as much as it allows: RATE requests a second, for
                SECONDS after the first three; the key gets 98 to 102 % of its quota (goal)
    others      the p99 of another key's requests, 50 a second, alone and beside such a key: at most 1.2 times as long (goal)
    keys        requests a second of PICTURE (320x240) by PATH, over CONNECTIONS of THREADS, without a file of keys, with a bearer token, and
                with a signature: 95 % of the first (goal), by wrk, for a tenth of SECONDS each, in five rounds

Exits with 0 where every quota was kept. Takes about seven minutes; times are for people, as a busy machine changes them."""
import argparse
import collections
import multiprocessing
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from pressure.daemon import Daemon, pnm  # noqa: E402
from pressure.signatures import Pipeline  # noqa: E402
from signing import Key, write_keys  # noqa: E402

PATH, PIXELS, WARM_S, ROUNDS = "/resize?width=160", 320 * 240 + 160 * 120, 3, 5
MODEST, FREE = Key("modest", 2), Key("free", 3)


def greedy(**limits):
    return Key("greedy", 1, limits=limits)


def bearer(key):
    return f"Authorization: Bearer {key.token}\r\n"


def paced(address, key, rate, begin, end):
    """Sends RATE requests a second from BEGIN to END, times of the monotonic clock, as long as answers come as fast. Returns when each was
    sent, its status, and its milliseconds."""
    pipeline, body, header, found = Pipeline(address), pnm(320, 240), bearer(key), []
    for number in range(int((end - begin) * rate)):
        time.sleep(max(begin + number / rate - time.monotonic(), 0))
        sent = time.monotonic()
        if sent > end:
            break
        status, = pipeline.send([PATH], body, header)
        found.append((sent, status, 1000 * (time.monotonic() - sent)))
    return found


class Keys:
    """A daemon with a file of keys that may change."""

    def __init__(self, *keys, flags=()):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "keys.json"
        self.daemon = Daemon("--keys-file", write_keys(self.path, *keys), *flags)

    def change(self, *keys):
        before = self.generation()
        write_keys(self.path, *keys)
        self.daemon.process.send_signal(signal.SIGHUP)
        while self.generation() == before:
            time.sleep(0.05)

    def generation(self):
        return self.daemon.ask("GET", "/readyz")[1].partition(b'"generation":')[2].split(b",")[0]

    def device_ms(self, key):
        return 1000 * self.daemon.metric(r'key_job_seconds_total\{key="%s"\}' % key.id)


def press(pool, keys, key, options):
    """All that clients of KEY got from the third second on, and the device time that they used meanwhile, in ms a second."""
    begin = time.monotonic() + 0.5
    start, end = begin + WARM_S, begin + WARM_S + options.seconds
    waiting = pool.starmap_async(paced, [(keys.daemon.address, key, options.rate / options.processes, begin, end + 0.5)] * options.processes)
    time.sleep(max(start - time.monotonic(), 0))
    used, since = keys.device_ms(key), time.monotonic()
    time.sleep(max(end - time.monotonic(), 0))
    used, took = keys.device_ms(key) - used, time.monotonic() - since
    found = [answer for answers in waiting.get() for answer in answers if start <= answer[0] < end]
    return collections.Counter(status for _, status, _ in found), used / took


def limits(pool, options):
    keys = Keys(FREE)
    part = options.rate / 10
    mean = [keys.device_ms(FREE), paced(keys.daemon.address, FREE, 100, time.monotonic(), time.monotonic() + 2), keys.device_ms(FREE)]
    cases = {"requests_per_s": part, "bytes_per_s": part * len(pnm(320, 240)), "pixels_per_s": part * PIXELS,
             "device_ms_per_s": max(part * (mean[2] - mean[0]) / len(mean[1]), 1)}
    good = True
    for name, quota in cases.items():
        key = greedy(**{name: int(quota)})
        keys.change(key)
        statuses, device_ms = press(pool, keys, key, options)
        unit = {"requests_per_s": 1, "bytes_per_s": len(pnm(320, 240)), "pixels_per_s": PIXELS}.get(name)
        got = 100 * (statuses[200] * unit / options.seconds if unit else device_ms) / int(quota)
        good = good and 98 <= got <= 102
        print(f"limits     {name} {int(quota)}: {got:.2f} % of it (goal 98 to 102), of {sum(statuses.values()) / options.seconds:.0f} requests a "
              f"second; {dict(statuses)}", flush=True)
    keys.daemon.stop()
    return good


def others(pool, options):
    key, p99 = greedy(requests_per_s=int(options.rate / 10)), []
    for processes in (0, options.processes):
        keys, begin = Keys(key, MODEST), time.monotonic() + 0.5
        end = begin + WARM_S + options.seconds
        loads = [(keys.daemon.address, key, options.rate / options.processes, begin, end)] * processes
        found = pool.starmap_async(paced, [(keys.daemon.address, MODEST, 50, begin, end), *loads]).get()[0]
        times = sorted(ms for _, status, ms in found[WARM_S * 50:] if status == 200)
        p99.append(times[int(len(times) * 0.99)])
        print(f"others     {'beside' if processes else 'alone'}: {len(times)} of {len(found[WARM_S * 50:])} answered, p50 {statistics.median(times):.2f} ms, "
              f"p99 {p99[-1]:.2f} ms", flush=True)
        keys.daemon.stop()
    print(f"others     p99 beside such a key: {p99[1] / p99[0]:.2f} times alone (goal 1.2)", flush=True)


def wrk(folder, daemon, target, header, options):
    """Requests a second, by a client that costs little."""
    host, port = daemon.address
    script = folder / "post.lua"
    script.write_text(f'local f = io.open("{folder}/picture", "rb"); wrk.body = f:read("*a"); f:close(); wrk.method = "POST"; {header}')
    said = subprocess.run(["wrk", f"-t{options.threads}", f"-c{options.connections}", f"-d{max(1, options.seconds // 10)}s", "-s", script,
                           f"http://{host}:{port}{target}"], check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in said, said
    return float(re.search(r"Requests/sec: *([\d.]+)", said)[1])


def keys_cost(options):
    flags = "--devices", options.devices
    keys, plain, folder = Keys(FREE, flags=flags), Daemon(*flags), tempfile.TemporaryDirectory()
    for daemon in (keys.daemon, plain):
        if options.devices != "cpu" and not daemon.becomes("gpu_up", bool):
            sys.exit("there is no GPU")
    path = pathlib.Path(folder.name)
    (path / "picture").write_bytes(pathlib.Path(options.picture).read_bytes() if options.picture else pnm(320, 240))
    asked, _, query = options.path.partition("?")
    signed = FREE.sign(asked, seconds=36000, **dict(urllib.parse.parse_qsl(query)))
    cases = {"without keys": (plain, options.path, ""), "signature": (keys.daemon, signed, ""),
             "bearer": (keys.daemon, options.path, f'wrk.headers["Authorization"] = "Bearer {FREE.token}"')}
    rates = collections.defaultdict(list)
    for _ in range(ROUNDS):
        for name, case in cases.items():
            rates[name].append(wrk(path, *case, options))
    first = statistics.median(rates["without keys"])
    for name, found in rates.items():
        print(f"keys       {name}: {statistics.median(found):.0f} requests a second, {100 * statistics.median(found) / first:.1f} % (goal 95)", flush=True)
    plain.stop()
    keys.daemon.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--rate", type=int, default=500)
    parser.add_argument("--only", default="limits,others,keys")
    parser.add_argument("--devices", default="cpu")
    parser.add_argument("--picture")
    parser.add_argument("--path", default=PATH)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    only, good = options.only.split(","), True
    with multiprocessing.Pool(options.processes + 1) as pool:
        if "limits" in only:
            good = limits(pool, options)
        if "others" in only:
            others(pool, options)
        if "keys" in only:
            keys_cost(options)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
