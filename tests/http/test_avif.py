# SPDX-License-Identifier: Apache-2.0
"""AVIF out, through workers in their sandbox: decoded by libavif's avifdec, which requests get one, and what is refused.

covers: pipeline/codecs/avif.c pipeline/codecs/avif/library.c"""
import io
import os
import signal
import subprocess
import threading
import time
import zipfile

import numpy as np
import pytest
from PIL import Image, ImageCms

from conftest import BURIN, alive, check_problem, from_pnm, jpeg, noise, png, pnm, smooth, wait_until

COLOUR = smooth(200, 150)
ALPHA = np.dstack([COLOUR, np.tile(np.linspace(0, 255, 200).astype(np.uint8), (150, 1))])
GRAY = smooth(90, 61, 1)
PLAIN = "/brightness?shift=0&type=avif"

there = subprocess.run([BURIN, "run", "--device", "cpu", "--type", "avif", "-", "-"], input=pnm(GRAY), capture_output=True,
                       timeout=60).returncode == 0
needs_avif = pytest.mark.skipif(not there, reason="there is no libavif here, or the program was built without")


def decoded(data, tmp_path, *options):
    """The picture that avifdec decodes from DATA, as PNG."""
    source, out = tmp_path / "read.avif", tmp_path / "read.png"
    source.write_bytes(data)
    subprocess.run(["avifdec", *options, str(source), str(out)], check=True, capture_output=True, timeout=60)
    return Image.open(io.BytesIO(out.read_bytes()))


def avif_info(data, tmp_path):
    (tmp_path / "in.avif").write_bytes(data)
    text = subprocess.run(["avifdec", "--info", str(tmp_path / "in.avif")], check=True, capture_output=True, text=True, timeout=60).stdout
    return {key.strip(" *"): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


@needs_avif
@pytest.mark.parametrize("picture", [COLOUR, ALPHA, noise(33, 18, 3), noise(1, 1, 3), noise(5, 1, 4)],
                         ids=["colour", "alpha", "noise", "1x1", "5x1"])
def test_lossless_keeps_every_sample(daemon, tmp_path, picture):
    answer = daemon.post(f"{PLAIN}&lossless=true", png(picture))
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"] == "image/avif" and answer.timing["notes"] == []
    assert np.array_equal(np.array(decoded(answer.body, tmp_path)), picture)


@needs_avif
@pytest.mark.parametrize("quality,least", [(30, 30), (60, 33), (85, 37), (95, 40)])
def test_lossy_is_close(daemon, tmp_path, quality, least):
    """LEAST: dB over all samples. A smaller quality gives a smaller file."""
    answer = daemon.post(f"{PLAIN}&quality={quality}", png(ALPHA))
    read = np.array(decoded(answer.body, tmp_path))
    error = np.mean((read[..., :3].astype(float) - COLOUR) ** 2)
    assert 10 * np.log10(255 ** 2 / error) > least
    assert np.array_equal(read[..., 3], ALPHA[..., 3])
    assert len(answer.body) < len(daemon.post(f"{PLAIN}&quality={quality + 5}", png(ALPHA)).body)


@needs_avif
def test_avifdec_reads_the_facts(daemon, tmp_path):
    for query, picture, kind in [("quality=85", COLOUR, "YUV420"), ("quality=90", COLOUR, "YUV444"), ("lossless=true", COLOUR, "YUV444"),
                                 ("quality=85", GRAY, "YUV400")]:
        facts = avif_info(daemon.post(f"{PLAIN}&{query}", png(picture)).body, tmp_path)
        assert facts["Format"] == kind and facts["Bit Depth"] == "8" and facts["Range"] == "Full"
        assert facts["Resolution"] == f"{picture.shape[1]}x{picture.shape[0]}" and facts["Alpha"] == "Absent"
        assert facts["Matrix Coeffs."] == ("0" if "lossless" in query else "6")


@needs_avif
def test_16_bits_become_8(daemon, tmp_path):
    deep = noise(50, 40, 3, 16)
    answer = daemon.post(f"{PLAIN}&lossless=true", pnm(deep))
    assert np.array_equal(np.array(decoded(answer.body, tmp_path)), np.floor(deep / 257 + 0.5).astype(np.uint8))
    assert ["8 bits" in note for note in answer.timing["notes"]] == [True]


@needs_avif
def test_profiles_travel(daemon, tmp_path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    out = io.BytesIO()
    Image.fromarray(ALPHA).save(out, "PNG", icc_profile=profile)
    assert decoded(daemon.post(PLAIN, out.getvalue()).body, tmp_path).info["icc_profile"] == profile


@needs_avif
@pytest.mark.parametrize("effort", range(7))
def test_the_same_request_gets_the_same_bytes(daemon, effort):
    bodies = {daemon.post(f"{PLAIN}&effort={effort}", png(ALPHA)).body for _ in range(3)}
    assert len(bodies) == 1
    assert daemon.works()


@needs_avif
@pytest.mark.parametrize("accept,kind", [
    ("image/avif", "avif"), ("image/avif,image/*;q=0.5", "avif"), ("image/avif,image/webp", "webp"), ("image/avif;q=0.5,image/*;q=0.6", "jpeg"),
    ("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", "jpeg"),
    ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", "jpeg")])
def test_accept(daemon, accept, kind):
    answer = daemon.post("/grayscale", jpeg(COLOUR), headers={"Accept": accept})
    assert answer.headers["Content-Type"] == f"image/{kind}" and answer.headers["Vary"] == "Accept"


@needs_avif
def test_prefer(start):
    chosen = start("--prefer", "avif,webp")
    for accept, kind in [("image/avif,image/webp,image/*", "avif"), ("image/webp,image/*", "webp"), ("image/*", "jpeg"), ("image/avif;q=0,*/*", "jpeg"),
                         ("text/html,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", "avif")]:
        answer = chosen.post("/grayscale", jpeg(COLOUR), headers={"Accept": accept})
        assert answer.headers["Content-Type"] == f"image/{kind}", accept


@needs_avif
def test_several_results(daemon):
    answer = daemon.post("/resize?widths=60,30&types=jpeg,avif", png(COLOUR))
    assert answer.status == 200, answer.body
    assert answer.body.count(b"Content-Type: image/avif") == 2 and answer.body.count(b"ftypavif") == 2


@needs_avif
def test_max_bytes(daemon):
    whole = daemon.post(PLAIN, png(COLOUR))
    limit = len(whole.body) * 2 // 3
    answer = daemon.post(f"{PLAIN}&max_bytes={limit}", png(COLOUR))
    output = answer.timing["output"]
    assert len(answer.body) <= limit and 10 <= output["quality"] < 85 and 3 <= output["tries"] <= 9
    assert answer.body == daemon.post(f"{PLAIN}&quality={output['quality']}", png(COLOUR)).body
    lossless = daemon.post(f"{PLAIN}&lossless=true", png(COLOUR)).body
    check_problem(daemon.post(f"{PLAIN}&lossless=true&max_bytes={len(lossless) - 1}", png(COLOUR)), 422, f"{len(lossless)} bytes")


@needs_avif
def test_memory_is_limited(start):
    """30 bytes a pixel, of a quarter; 60 if nothing may be lost."""
    small = start("--cpu-memory-bytes", "4800000", "--codec-memory-bytes", "1000000")
    larger = png(smooth(250, 200))
    check_problem(small.post(PLAIN, larger), 422, "50000", "an AVIF may have at most 40000", "cpu_memory_bytes")
    check_problem(small.post(f"{PLAIN}&lossless=true", png(COLOUR)), 422, "at most 20000", "cpu_memory_bytes")
    check_problem(small.post("/resize?width=250&types=webp,avif", larger), 422, "cpu_memory_bytes")
    assert small.post("/resize?width=100&type=avif", larger).status == 200
    assert small.post(PLAIN, png(COLOUR)).status == 200


@needs_avif
def test_who_encodes(start):
    """Neither the front nor a worker: no other process of the daemon but the cell maps libaom beside the front, which asks what is there."""
    busy = start()
    assert busy.post(PLAIN, png(COLOUR)).status == 200
    maps = {}
    for pid in busy.descendants():
        with open(f"/proc/{pid}/cmdline", "rb") as f, open(f"/proc/{pid}/maps") as g:
            maps[f.read().replace(b"\0", b" ").decode().strip()] = "libavif" in g.read()
    assert [name.rpartition(" ")[2] for name, there in maps.items() if there] == ["--decode"]
    assert any(name.endswith("--device cpu") for name in maps)


@needs_avif
def test_zip_has_right_sums(daemon):
    answer = daemon.post("/resize?widths=60,30&types=png,avif", png(COLOUR), headers={"Accept": "application/zip"})
    with zipfile.ZipFile(io.BytesIO(answer.body)) as made:
        assert made.testzip() is None
        assert {name: made.read(name)[4:12] == b"ftypavif" for name in made.namelist()} == {
            "60w.png": False, "60w.avif": True, "30w.png": False, "30w.avif": True, "manifest.json": False}


@needs_avif
def test_times_of_a_file(daemon):
    """The cell's time counts as `encode`; all stages together are the whole."""
    answer = daemon.post(f"{PLAIN}&effort=6&quality=100", png(noise(200, 150, 3)))
    ms = answer.timing["ms"]
    assert ms["encode"] > 0.3 * ms["total"] and ms["decode"] > 0
    assert abs(sum(value for name, value in ms.items() if name not in ("total", "operators")) - ms["total"]) <= 0.01 * ms["total"] + 0.01


LONG = f"{PLAIN}&effort=6&quality=100"  # two seconds and more for a megapixel of noise


@pytest.fixture(scope="module")
def long_body():
    return png(noise(1200, 900, 3))


def cells(daemon):
    found = []
    for pid in daemon.descendants():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                found += [pid] if b"--decode" in f.read() else []
        except OSError:  # it has ended
            pass
    return found


@needs_avif
def test_a_deadline_ends_the_encoder(start, long_body):
    hurried = start("--processing-ms", "700", "--refuse-times", "0")
    begin = time.monotonic()
    check_problem(hurried.post(LONG, long_body, timeout=60), 504, "time allowed")
    assert 0.7 <= time.monotonic() - begin < 10
    assert wait_until(lambda: hurried.post("/resize?width=20&type=avif", png(COLOUR)).status == 200)
    assert hurried.becomes_idle()


@needs_avif
def test_an_encoder_ends_with_its_client(start, long_body):
    lonely = start()
    with lonely.socket() as sock:
        sock.sendall(b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (LONG.encode(), len(long_body)) + long_body)
        assert wait_until(lambda: lonely.samples().get('burin_jobs_in_progress{device="cpu",role="decoding"}') == 1)
        (cell,) = cells(lonely)
    assert wait_until(lambda: not alive(cell)), "it encodes for nobody"
    assert lonely.post(PLAIN, png(COLOUR)).status == 200 and lonely.becomes_idle()


@needs_avif
@pytest.mark.parametrize("times,status", [(1, 200), (2, 500)])
def test_an_encoder_is_killed(start, long_body, times, status):
    """Its job runs once more; others get their answers."""
    daemon = start()
    outcomes, killed = [], set()
    thread = threading.Thread(target=lambda: outcomes.append(daemon.post(LONG, long_body, timeout=100)))
    thread.start()
    while not killed or times == 2 and thread.is_alive():  # one that has not got the job yet may be killed too
        assert wait_until(lambda: outcomes or daemon.samples().get('burin_jobs_in_progress{device="cpu",role="decoding"}') == 1
                          and set(cells(daemon)) - killed)
        for pid in set(cells(daemon)) - killed if not outcomes else ():
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
        assert daemon.works()
    thread.join()
    assert outcomes[0].status == status
    if status == 200:
        assert outcomes[0].body == daemon.post(LONG, long_body, timeout=100).body
    else:
        check_problem(outcomes[0], 500, "encoder crashed")
    assert daemon.post(PLAIN, png(COLOUR)).status == 200 and daemon.becomes_idle()


@needs_avif
def test_in_and_out(daemon, tmp_path):
    """An AVIF becomes an AVIF in three runs, and keeps its profile."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    out = io.BytesIO()
    Image.fromarray(ALPHA).save(out, "PNG", icc_profile=profile)
    first = daemon.post(f"{PLAIN}&lossless=true", out.getvalue()).body
    answer = daemon.post(f"{PLAIN}&lossless=true", first)
    read = decoded(answer.body, tmp_path)
    assert np.array_equal(np.array(read), ALPHA) and read.info["icc_profile"] == profile
    assert answer.timing["ms"]["decode"] > 0 and answer.timing["ms"]["encode"] > 0


@needs_avif
def test_without_the_sandbox_the_bytes_are_the_same(start, daemon):
    assert start("--sandbox", "off").post(PLAIN, png(COLOUR)).body == daemon.post(PLAIN, png(COLOUR)).body


@needs_avif
def test_burin_run(tmp_path, daemon):
    source, out = tmp_path / "in.png", tmp_path / "out.avif"
    source.write_bytes(png(COLOUR))
    subprocess.run([BURIN, "run", "--device", "cpu", "--effort", "2", "--quality=70", "brightness:shift=0", str(source), str(out)], check=True, timeout=60)
    assert out.read_bytes() == daemon.post(f"{PLAIN}&effort=2&quality=70", png(COLOUR)).body


# ---- without the library

@pytest.fixture
def without(tmp_path):
    """An environment in which no libavif can be opened: an empty file of its name is found first."""
    for name in ("libavif.so.15", "libavif.so.16"):
        (tmp_path / name).write_bytes(b"")
    return {"LD_LIBRARY_PATH": str(tmp_path)}


def test_a_machine_without_the_library(start, without):
    bare = start(env=without)
    problem = check_problem(bare.post(PLAIN, png(COLOUR)), 400, "AVIF", "install", "another type")
    assert problem["code"] == "bad_param"
    check_problem(bare.post("/resize?width=20&types=jpeg,avif", png(COLOUR)), 400, "AVIF")
    # Accept lists what the client can read; AVIF is not demanded.
    for accept, kind in [("image/avif,image/webp;q=0.5", "webp"), ("image/avif", "png"), ("image/avif,*/*;q=0.1", "png")]:
        answer = bare.post("/grayscale", png(COLOUR), headers={"Accept": accept})
        assert (answer.status, answer.headers["Content-Type"]) == (200, f"image/{kind}"), accept
    assert bare.works()


def test_burin_run_without_the_library(tmp_path, without):
    (tmp_path / "in.pgm").write_bytes(pnm(GRAY))
    run = [BURIN, "run", "--device", "cpu", str(tmp_path / "in.pgm")]
    ended = subprocess.run([*run, str(tmp_path / "out.avif")], env={**os.environ, **without}, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2 and "AVIF" in ended.stderr and "install" in ended.stderr
    subprocess.run([*run, str(tmp_path / "out.pgm")], env={**os.environ, **without}, check=True, timeout=60)
    assert np.array_equal(from_pnm((tmp_path / "out.pgm").read_bytes()), GRAY)
