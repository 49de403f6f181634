#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""digests.py BURIN PHOTOGRAPH... - one daemon with a GPU, every operator that it has on every photograph, on the CPU and on the
GPU: the answers are the same in every byte.

Prints a line a photograph; exit code 1 where two answers differ, 77 where there is no GPU."""
import hashlib
import json
import socket
import subprocess
import sys
import time
import urllib.request

# Pipelines: path and query. Seams are few, since the CPU takes them one by one from 20 megapixels too.
WORK = ["grayscale?quality=85", "histeq?bins=256", "histeq?channel=each&bins=100", "edge?threshold=30", "edge?kernel=sobel5&brightness=40&binary=true",
        "blur?sigma=1", "blur?sigma=7.5", "blur?sigma=40", "brightness?shift=-50", "clahe?tiles=8", "clahe?tiles=13&clip=4.5&channel=luma",
        "sharpen?sigma=2&amount=150&threshold=3", "threshold?level=90",
        "smartcrop?width=200&height=150", "smartcrop?width=100", "smartcrop?height=90",
        "resize?width=320", "resize?height=1000&kernel=cubic&linear=true", "resize?width=300&height=300&position=smart",
        "resize?width=640&height=300&fit=contain&background=203040", "resize?width=300&height=300&fit=carve&share=20",
        "resize?width=700&height=700&fit=fill&kernel=nearest",
        "convolve?taps=1+2+1+2+4+2+1+2+1", "carve?dx=-24", "carve?dy=-10&energy=sobel3",
        "carve?dx=-6&dy=-6&energy=sobel5", "carve?dx=20", "carve?dx=-12&show=seams", "carve?show=energy"]
# Value operators on the photograph: their values are compared.
VALUES = ["histogram?bins=256", "histogram?bins=5000", "minimum?quality=85", "maximum?quality=85",
          "mean?quality=85", "dominant?quality=85", "blurhash?components=4x3", "blurhash?components=9x9", "thumbhash?quality=85"]
# With a block to keep and one to remove.
MASKED = ["carve?dx=-10", "carve?dx=-5&dy=-5&energy=sobel3", "carve?dy=-8&show=seams"]
BOUNDARY = "between-the-parts"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def block(width, height, left, top, right, bottom):
    """A mask, P5: white from LEFT to RIGHT and TOP to BOTTOM, each a share of the side."""
    inside = round(width * right) - round(width * left)
    row = bytes(round(width * left)) + b"\xff" * inside
    rows = round(height * bottom) - round(height * top)
    return b"P5 %d %d 255\n" % (width, height) + bytes(width * round(height * top)) + row.ljust(width, b"\0") * rows + bytes(
        width * (height - round(height * top) - rows))


def with_masks(port, photograph):
    """The photograph and its masks as one form."""
    with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/info", photograph, method="POST"), timeout=120) as answer:
        facts = json.loads(answer.read())
    parts = {"image": photograph, "mask": block(facts["width"], facts["height"], 0.25, 0.2, 0.4, 0.6),
             "rmask": block(facts["width"], facts["height"], 0.6, 0.3, 0.61, 0.9)}
    form = b"".join(b'--%s\r\nContent-Disposition: form-data; name="%s"; filename="x"\r\n\r\n%s\r\n' % (BOUNDARY.encode(), name.encode(), data)
                    for name, data in parts.items())
    return form + b"--%s--\r\n" % BOUNDARY.encode()


def ask(port, work, device, body, kind="application/octet-stream"):
    url = f"http://127.0.0.1:{port}/{work}&type=pnm&device={device}"
    wanted = "application/json" if work in VALUES else "*/*"
    request = urllib.request.Request(url, body, {"Content-Type": kind, "Accept": wanted}, method="POST")
    with urllib.request.urlopen(request, timeout=120) as answer:
        got = answer.read()
        if work in VALUES:
            got = json.dumps(json.loads(got)["values"]).encode()
        return hashlib.sha256(got).hexdigest(), answer.headers["X-Burin-Device"]


def built_in(burin):
    """The work that the program can do: OPS_SKIP leaves operators out."""
    ops = json.loads(subprocess.run([burin, "ops", "--json"], capture_output=True, check=True).stdout)
    names = {operator["name"] for operator in ops["operators"]}
    return [work for work in WORK + VALUES if work.split("?")[0] in names], [work for work in MASKED if work.split("?")[0] in names]


def compare(port, name, photograph, plain, masked):
    wrong = []
    start = time.monotonic()
    form = with_masks(port, photograph)
    works = [(work, photograph, "application/octet-stream") for work in plain]
    works += [(work, form, "multipart/form-data; boundary=" + BOUNDARY) for work in masked]
    for work, body, kind in works:
        cpu, _ = ask(port, work, "cpu", body, kind)
        gpu, device = ask(port, work, "cuda", body, kind)
        if cpu != gpu or not device.startswith("cuda"):
            wrong.append(work)
    print(f"{name}: {len(works) - len(wrong)} of {len(works)} equal on CPU and GPU, {time.monotonic() - start:.1f} s", *wrong, flush=True)
    return not wrong


def main():
    if len(sys.argv) < 3 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    burin, photographs = sys.argv[1], sys.argv[2:]
    if subprocess.run([burin, "worker", "--count"], capture_output=True, text=True, check=True).stdout.strip() == "0":
        print("no GPU here")
        sys.exit(77)
    port = free_port()
    daemon = subprocess.Popen([burin, "serve", "--listen", f"127.0.0.1:{port}", "--log-level", "error", "--processing-ms", "100000"],
                              stdout=subprocess.DEVNULL)
    try:
        while subprocess.run([burin, "health", "--url", f"http://127.0.0.1:{port}"], capture_output=True).returncode:
            time.sleep(0.1)
        works = built_in(burin)
        good = [compare(port, path.rsplit("/", 1)[-1], open(path, "rb").read(), *works) for path in photographs]
    finally:
        daemon.terminate()
        daemon.wait()
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
