# SPDX-License-Identifier: Apache-2.0
"""A picture goes in and comes out: every way to send it, every form of the answer, and the report of where the time went.

covers: server/request/upload.c server/http/reply.c server/request/submit.c server/http/handle_image.c server/api/ops_json.c"""
import email
import hashlib
import io
import json
import re
import shutil
import struct
import subprocess
import time

import numpy as np
import pytest
from PIL import Image, ImageCms

from conftest import (BURIN, check_problem, chunk, form, from_pnm, in_parallel, jpeg, needs, noise, png, png_of_chunks, pnm,
                      responses, smooth, wait_until)

PHOTO = smooth(64, 48)
STAGES = ["receive", "queue", "decode", "upload", "compute", "download", "encode", "wait"]


@pytest.fixture(scope="module")
def equalized(daemon):
    """The answer of /histeq?bins=16 to PHOTO."""
    answer = daemon.post("/histeq?bins=16", pnm(PHOTO))
    assert answer.status == 200, answer.body
    return from_pnm(answer.body)


# ---- ways to send it

@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_raw_body(daemon, equalized, method):
    for headers in ({}, {"Content-Type": "image/x-portable-pixmap"}):
        answer = daemon.request(method, "/histeq?bins=16", pnm(PHOTO), headers)
        assert answer.status == 200 and np.array_equal(from_pnm(answer.body), equalized)


def test_chunked_body(daemon, equalized):
    data = pnm(PHOTO)
    answer = daemon.request("POST", "/histeq?bins=16", iter([data[:100], data[100:5000], data[5000:]]))
    assert answer.status == 200 and np.array_equal(from_pnm(answer.body), equalized)


@pytest.mark.parametrize("name", ["image", "file", "media"])
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_form(daemon, equalized, name, method):
    body, content_type = form([(name, pnm(PHOTO), "photo.ppm")])
    answer = daemon.request(method, "/histeq?bins=16", body, {"Content-Type": content_type})
    assert answer.status == 200 and np.array_equal(from_pnm(answer.body), equalized)


def test_form_part_without_file_name(daemon, equalized):
    answer = daemon.post_form("/histeq?bins=16", [("image", pnm(PHOTO), None)])
    assert np.array_equal(from_pnm(answer.body), equalized)


@pytest.mark.parametrize("order", ["before", "behind", "on both sides"])
def test_parameters_as_fields(daemon, order):
    fields = [("bins", "7", None), ("scale", "maxabs", None), ("type", "png", None)]
    cut = {"before": 3, "behind": 0, "on both sides": 1}[order]
    answer = daemon.post_form("/histeq", fields[:cut] + [("image", pnm(PHOTO), "a.ppm")] + fields[cut:])
    assert answer.status == 200, answer.body
    query = daemon.post("/histeq?bins=7&scale=maxabs&type=png", pnm(PHOTO))
    assert answer.body == query.body and answer.headers["Content-Type"] == "image/png"
    mixed = daemon.post_form("/histeq?scale=maxabs", [("bins", "7", None), ("image", pnm(PHOTO), "a.ppm"),
                                                      ("type", "png", None)])
    assert mixed.body == query.body


def test_escapes_in_the_query(daemon, equalized):
    for query in ("bins=%31%36", "b%69ns=16", "bins=16&", "&bins=16", "bins=+16", "bins=%2B16"):
        answer = daemon.post("/histeq?" + query, pnm(PHOTO))
        if answer.status != 200:  # a plus may be refused for a blank, an empty name for none: with a message
            check_problem(answer, 400)
            assert query in ("bins=16&", "&bins=16", "bins=+16"), (query, answer.body)
        else:
            assert np.array_equal(from_pnm(answer.body), equalized), query


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
@pytest.mark.parametrize("how", ["-F", "-T", "--data-binary", "-F and a field", "-T -"])
def test_with_curl(daemon, equalized, tmp_path, how):
    """The commands of the README work."""
    picture = tmp_path / "photo.ppm"
    picture.write_bytes(pnm(PHOTO))
    arguments = {"-F": ["-F", f"image=@{picture}", "URL?bins=16"],
                 "-F and a field": ["-F", f"image=@{picture}", "-F", "bins=16", "URL"],
                 "-T": ["-T", str(picture), "URL?bins=16"],
                 "-T -": ["-T", "-", "URL?bins=16"],
                 "--data-binary": ["--data-binary", f"@{picture}", "URL?bins=16"]}[how]
    url = f"http://127.0.0.1:{daemon.port}/histeq"
    with open(picture, "rb") as f:
        done = subprocess.run(["curl", "-sS", "--fail", *[a.replace("URL", url) for a in arguments]], stdin=f,
                              capture_output=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert np.array_equal(from_pnm(done.stdout), equalized)


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
@pytest.mark.parametrize("waits", [True, False], ids=["waits for leave", "sends at once"])
def test_curl_sees_why_it_was_too_large(daemon, tmp_path, waits):
    """A real client with 100 MB. Where it sends at once, the end of the connection may overtake the answer."""
    large = tmp_path / "large"
    with open(large, "wb") as f:
        f.truncate(100 << 20)
    command = ["curl", "-sS", "-T", str(large), *([] if waits else ["-H", "Expect:"]), "-w", "%{http_code}",
               f"http://127.0.0.1:{daemon.port}/histeq"]
    for _ in range(1 if waits else 5):
        done = subprocess.run(command, capture_output=True, timeout=30)
        if done.returncode == 0:
            break
    assert done.stdout.endswith(b"413") and b"body_bytes_max" in done.stdout, done
    assert daemon.works()


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_curl_sees_why_its_pipe_was_too_large(start):
    """curl sends a pipe in chunks, behind an Expect: it got 100 Continue before the size was known."""
    daemon = start("--body-bytes-max", "8MiB")
    command = ["curl", "-sS", "-T", "-", "-w", "%{http_code}", f"http://127.0.0.1:{daemon.port}/histeq"]
    done = subprocess.run(command, input=bytes(12000000), capture_output=True, timeout=30)
    assert done.stdout.endswith(b"413") and b"body_bytes_max" in done.stdout, done
    assert daemon.works()


# ---- forms of the answer

PICTURES = {"jpeg": jpeg(PHOTO), "png": png(PHOTO), "pnm": pnm(PHOTO)}
MEDIA = {"jpeg": "image/jpeg", "png": "image/png", "pnm": "image/x-portable-anymap"}
PIL_NAMES = {"jpeg": "JPEG", "png": "PNG", "pnm": "PPM"}


def check_type(answer, kind):
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"] == MEDIA[kind]
    assert Image.open(io.BytesIO(answer.body)).format == PIL_NAMES[kind]
    assert answer.timing["output"]["type"] == kind
    assert answer.timing["output"]["bytes"] == len(answer.body)


@pytest.mark.parametrize("given", PICTURES)
@pytest.mark.parametrize("wanted", [None, "jpeg", "png", "pnm"])
def test_type(daemon, given, wanted):
    check_type(daemon.post("/histeq" + (f"?type={wanted}" if wanted else ""), PICTURES[given]), wanted or given)


def test_other_names_of_types(daemon):
    for name, kind in (("jpg", "jpeg"), ("ppm", "pnm"), ("auto", "png")):
        check_type(daemon.post(f"/histeq?type={name}", PICTURES["png"]), kind)


@pytest.mark.parametrize("accept,kind", [
    ("image/png", "png"), ("image/jpeg", "jpeg"), ("image/x-portable-anymap", "pnm"), ("*/*", "jpeg"),
    ("image/*", "jpeg"), ("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", "jpeg"),
    ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", "jpeg"),
    ("IMAGE/PNG", "png"), ("image/png;q=1", "png"), ("image/png, application/json", "png"), ("text/html", "jpeg"),
    ("", "jpeg"), ("application/json, text/plain, */*", "jpeg"), ("image/*, application/json;q=0.1", "jpeg"),
    ("image/jpeg, multipart/mixed;q=0", "jpeg"), ("image/png;q=0.9, image/jpeg;q=0.8", "png")])
def test_accept(daemon, accept, kind):
    check_type(daemon.post("/histeq", PICTURES["jpeg"], {"Accept": accept}), kind)


@pytest.mark.parametrize("lines,media", [
    (("text/html", "image/png"), "image/png"), (("application/json", "image/png"), "image/png"),
    (("image/png;q=0.4", "image/jpeg;q=0.5"), "image/jpeg"), (("text/html", "application/json"), "application/json"),
    (("", "application/json", "text/html"), "application/json"), (("image/png", "multipart/mixed"), "multipart/mixed")])
def test_accept_in_several_lines(daemon, lines, media):
    """Several lines are one list, as if joined by commas."""
    body = PICTURES["jpeg"]
    head = "".join(f"accept: {line}\r\n" for line in lines)
    (status, headers, _), = responses(daemon.raw(
        b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n"
        % (head.encode(), len(body)) + body))
    assert status == 200 and headers["content-type"].split(";")[0] == media


def test_type_goes_before_accept(daemon):
    check_type(daemon.post("/histeq?type=pnm", PICTURES["jpeg"], {"Accept": "image/png"}), "pnm")


def test_json_alone(daemon):
    answer = daemon.post("/histeq", PICTURES["jpeg"], {"Accept": "application/json"})
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/json"
    report = answer.json
    assert report == answer.timing
    assert report["output"]["width"] == 64 and report["output"]["height"] == 48
    assert report["ms"]["encode"] == 0, "nothing is encoded where nobody wants it"


def parts_of(answer):
    """The parts of multipart/mixed, split by its boundary and each part's own length."""
    boundary = re.fullmatch(r'multipart/mixed; boundary="?([^"]+)"?', answer.headers["Content-Type"])[1].encode()
    rest, parts = answer.body, []
    while not rest.startswith(b"--" + boundary + b"--"):
        assert rest.startswith(b"--" + boundary + b"\r\n"), rest[:100]
        head, rest = rest[len(boundary) + 4:].split(b"\r\n\r\n", 1)
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        length = int(headers["Content-Length"])
        parts.append((headers, rest[:length]))
        assert rest[length:length + 2] == b"\r\n"
        rest = rest[length + 2:]
    assert rest == b"--" + boundary + b"--\r\n"
    return parts


@pytest.mark.parametrize("kind", ["jpeg", "png", "pnm"])
def test_picture_and_report_in_parts(daemon, kind):
    plain = daemon.post(f"/histeq?type={kind}", PICTURES["png"])
    answer = daemon.post(f"/histeq?type={kind}", PICTURES["png"], {"Accept": "multipart/mixed"})
    assert answer.status == 200 and int(answer.headers["Content-Length"]) == len(answer.body)
    (picture_headers, picture), (report_headers, report) = parts_of(answer)
    assert picture_headers["Content-Type"] == MEDIA[kind] and picture == plain.body
    assert report_headers["Content-Type"] == "application/json" and json.loads(report) == answer.timing


def test_a_profile_cannot_forge_the_report(daemon):
    """The answer repeats the upload's ICC profile; one that contains a boundary and a report is still a profile to a client that
    splits the answer by the boundary alone."""
    seen, boundary = set(), "burin-report-follows"
    for _ in range(3):
        evil = (f"\r\n--{boundary}\r\nContent-Type: application/json\r\n\r\n"
                f'{{"device": "evil"}}\r\n--{boundary}--\r\n').encode()
        profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes() + evil
        profile = struct.pack(">I", len(profile)) + profile[4:]
        answer = daemon.post("/histeq", jpeg(PHOTO, icc_profile=profile), {"Accept": "multipart/mixed"})
        assert answer.status == 200 and evil in answer.body, "the profile is carried"
        head = b"Content-Type: " + answer.headers["Content-Type"].encode() + b"\r\n\r\n"
        picture, report = email.message_from_bytes(head + answer.body).get_payload()
        assert evil in picture.get_payload(decode=True) and json.loads(report.get_payload()) == answer.timing
        boundary = re.search(r'boundary="?([^"]+)', answer.headers["Content-Type"])[1]
        seen.add(boundary)
    assert len(seen) == 3 and all(re.fullmatch("[0-9a-f]{32}", one) for one in seen)


@pytest.mark.parametrize("query,kind", [("", "png"), ("?type=auto", "png"), ("?type=pnm", "pnm")])
def test_accept_names_the_type_within_parts(daemon, query, kind):
    answer = daemon.post("/histeq" + query, PICTURES["jpeg"], {"Accept": "multipart/mixed, image/png"})
    (headers, _), _ = parts_of(answer)
    assert headers["Content-Type"] == MEDIA[kind]


def test_quality(daemon):
    sizes = [len(daemon.post(f"/histeq?type=jpeg&quality={q}", PICTURES["png"]).body) for q in (1, 30, 60, 85, 95, 100)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1] / 3
    assert len(daemon.post("/histeq?type=jpeg", PICTURES["png"]).body) == sizes[3], "85 is the default"


def test_compression(daemon):
    picture = smooth(300, 200)
    answers = [daemon.post(f"/histeq?type=png&compression={level}", pnm(picture)) for level in range(4)]
    for answer in answers[1:]:
        assert np.array_equal(answer.image, answers[0].image)
    sizes = [len(answer.body) for answer in answers]
    assert sizes[0] > picture.nbytes and max(sizes[1:]) < 0.7 * picture.nbytes
    assert sizes[3] < sizes[1], "what takes five times as long is smaller"
    assert daemon.post("/histeq?type=png", pnm(picture)).body == answers[1].body, "1 is the default"


@pytest.mark.parametrize("background,colour", [(None, (255, 255, 255)), ("ff0000", (255, 0, 0)),
                                               ("%230080FF", (0, 128, 255)), ("000000", (0, 0, 0))])
def test_background_under_alpha(daemon, background, colour):
    """histeq leaves an even colour unchanged, so the colour under it can be computed exactly."""
    picture = np.full((20, 30, 4), (200, 100, 50, 255), np.uint8)
    picture[:, 15:, 3] = 0
    picture[10:, :, 3] = picture[10:, :, 3] // 255 * 128
    query = f"&background={background}" if background else ""
    flat = daemon.post("/histeq?type=pnm" + query, png(picture))
    assert flat.status == 200, flat.body
    alpha = picture[..., 3:].astype(int)
    expected = (picture[..., :3] * alpha + np.array(colour) * (255 - alpha)) / 255
    assert np.abs(from_pnm(flat.body) - expected).max() <= 0.51
    lossy = daemon.post("/histeq?type=jpeg&quality=100" + query, png(picture))
    assert np.abs(lossy.image[2:8, 2:12] - expected[2:8, 2:12]).max() <= 4
    assert np.abs(lossy.image[2:8, 18:28] - expected[2:8, 18:28]).max() <= 4
    for answer in (flat, lossy):
        assert any("transparency" in note for note in answer.timing["notes"])
    kept = daemon.post("/histeq" + query.replace("&", "?"), png(picture))
    assert np.array_equal(kept.image, picture) and kept.timing["notes"] == []


def notes(answer):
    assert answer.status == 200, answer.body
    return " ".join(answer.timing["notes"])


def test_notes(daemon):
    deep = png(noise(20, 10, depth=16))
    assert "16-bit" in notes(daemon.post("/histeq?type=jpeg", deep))
    assert notes(daemon.post("/histeq", deep)) == notes(daemon.post("/histeq?type=pnm", deep)) == ""
    assert "transparency" in notes(daemon.post("/histeq?type=jpeg", png(noise(20, 10, 4))))
    assert notes(daemon.post("/histeq", png(noise(20, 10, 4)))) == ""
    cmyk = io.BytesIO()
    Image.fromarray(PHOTO).convert("CMYK").save(cmyk, "JPEG")
    assert "CMYK" in notes(daemon.post("/histeq", cmyk.getvalue()))
    frames = pnm(noise(20, 10))
    assert "first frame" in notes(daemon.post("/histeq", frames + frames))
    frames = io.BytesIO()
    second = Image.fromarray(noise(9, 9, seed=2))
    Image.fromarray(noise(9, 9)).save(frames, "PNG", save_all=True, append_images=[second])
    assert "first frame" in notes(daemon.post("/histeq", frames.getvalue()))
    profile = b"\0" * 12 + b"mntrRGB XYZ " + b"\0" * 500
    assert "profile" in notes(daemon.post("/grayscale", jpeg(PHOTO, icc_profile=profile))), "RGB profile, gray picture"
    assert "profile" in notes(daemon.post("/histeq?type=pnm", jpeg(PHOTO, icc_profile=profile)))
    large = jpeg(PHOTO, icc_profile=profile + bytes(2 << 20))
    assert "profile" in notes(daemon.post("/histeq", large))
    both = notes(daemon.post("/histeq?type=jpeg", encode16(noise(20, 10, 4, 16))))
    assert "16-bit" in both and "transparency" in both


def encode16(rgba):
    """PIL cannot write 16-bit RGBA."""
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in rgba)
    return png_of_chunks(rgba.shape[1], rgba.shape[0], 16, 6, rows)


# ---- headers and the report

def test_every_header(daemon):
    body = jpeg(smooth(123, 77))
    answer = daemon.post("/histeq?type=png", body, {"X-Request-ID": "a-1"})
    headers = answer.headers
    assert int(headers["Content-Length"]) == len(answer.body)
    assert headers["X-Request-ID"] == "a-1"
    assert headers["X-Burin-Device"] == "cpu" == answer.timing["device"]
    assert (headers["X-Origin-Width"], headers["X-Origin-Height"]) == ("123", "77")
    assert (headers["X-Result-Width"], headers["X-Result-Height"]) == ("123", "77")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Vary"] == "Accept" and "Date" in headers
    for name in headers.keys():
        assert len(headers.get_all(name)) == 1, f"{name} stands twice"
    report = answer.timing
    assert report["request_id"] == "a-1" and report["notes"] == []
    assert report["input"] == {"type": "jpeg", "width": 123, "height": 77, "channels": 3, "depth": 8,
                               "bytes": len(body)}
    assert report["output"] == {"type": "png", "width": 123, "height": 77, "channels": 3, "depth": 8,
                                "bytes": len(answer.body)}
    assert "\n" not in headers["X-Burin-Timing"] and headers["X-Burin-Timing"].isascii()


@pytest.mark.parametrize("accept", ["*/*", "multipart/mixed", "application/json"])
def test_headers_stand_beside_every_form_of_the_answer(daemon, accept):
    answer = daemon.post("/grayscale", PICTURES["png"], {"Accept": accept})
    for name in ("Server-Timing", "X-Burin-Timing", "X-Burin-Device", "X-Request-ID", "X-Origin-Width",
                 "X-Origin-Height", "X-Result-Width", "X-Result-Height", "Content-Length"):
        assert answer.headers[name], name


@pytest.mark.parametrize("given", ["abc", "A-Z_0.9", "x" * 63, "4bf92f3577b34da6a3ce929d0e0e4736"])
def test_clean_request_id_is_kept(daemon, given):
    for path in ("/histeq", "/histeq?bins=1", "/nosuch"):
        answer = daemon.post(path, PICTURES["png"], {"X-Request-ID": given})
        assert answer.headers["X-Request-ID"] == given
        if answer.status == 200:
            assert answer.timing["request_id"] == given
        else:
            assert answer.json["request_id"] == given


@pytest.mark.parametrize("given", [None, "", "a b", 'a"b', "a;b", "<a>", "x" * 64, "\u00e4", "../..", "a,b"])
def test_other_request_ids_are_replaced(daemon, given):
    headers = {} if given is None else {"X-Request-ID": given.encode("latin-1")}
    ids = set()
    for _ in range(20):
        answer = daemon.post("/histeq", PICTURES["pnm"], headers)
        ids.add(answer.headers["X-Request-ID"])
        assert answer.timing["request_id"] == answer.headers["X-Request-ID"]
    assert len(ids) == 20 and given not in ids
    for value in ids:
        assert re.fullmatch(r"[0-9a-f]{32}", value)
    # A client cannot guess another's from its own: about half of the bits differ.
    numbers = [int(value, 16) for value in sorted(ids)]
    assert min(bin(a ^ b).count("1") for a in numbers for b in numbers if a != b) > 20


def server_timing(answer):
    return {name: float(ms) for name, ms in re.findall(r"(\w+);dur=([\d.]+)", answer.headers["Server-Timing"])}


@pytest.mark.parametrize("picture", [jpeg(smooth(900, 700)), png(smooth(900, 700)), pnm(noise(900, 700, 3)),
                                     pnm(noise(1, 1))], ids=["JPEG", "PNG", "PNM", "a pixel"])
def test_the_report_adds_up(daemon, picture):
    for _ in range(5):
        answer = daemon.post('/pipeline?operations=[{"operation":"histeq"},{"operation":"grayscale"},'
                             '{"operation":"histeq"}]', picture)
        ms = answer.timing["ms"]
        assert server_timing(answer) == {name: ms[name] for name in [*STAGES, "total"]}
        stages = [ms[name] for name in STAGES]
        assert all(value >= 0 for value in stages)
        if len(picture) > 1000:  # a pixel takes less than the half microsecond that would be reported
            assert ms["decode"] > 0 and ms["encode"] > 0
        assert abs(sum(stages) - ms["total"]) <= max(0.01 * ms["total"], 0.005)
        assert [o["name"] for o in ms["operators"]] == ["histeq", "grayscale", "histeq"]
        assert sum(o["ms"] for o in ms["operators"]) <= ms["compute"] * 1.01 + 0.005
        for operator in ms["operators"]:
            assert sum(k["ms"] for k in operator["kernels"]) <= operator["ms"] * 1.01 + 0.005


def test_stages_of_metrics_are_those_of_the_report(daemon):
    daemon.works()
    stages = re.findall(r'burin_stage_duration_seconds_sum\{op="histeq",stage="(\w+)"\}',
                        daemon.get("/metrics").body.decode())
    assert stages == STAGES
    before = daemon.samples()
    answer = daemon.post("/histeq", pnm(noise(1500, 1000, 3)))
    count = 'burin_stage_duration_seconds_count{op="histeq",stage="decode"}'
    # A request is counted when its answer is sent, which may be after this test has read it.
    assert wait_until(lambda: daemon.samples()[count] > before[count])
    after = daemon.samples()
    for stage in STAGES:
        name = 'burin_stage_duration_seconds_sum{op="histeq",stage="%s"}' % stage
        assert abs((after[name] - before[name]) * 1000 - answer.timing["ms"][stage]) < 0.01, stage


def test_receive_counts_the_upload(daemon):
    """A slow body counts as time to receive, not as work of the daemon."""
    data = pnm(noise(50, 40))
    with daemon.socket() as s:
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
                  % len(data))
        assert s.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"  # the daemon's clock runs from here on
        s.sendall(data[:1000])
        time.sleep(0.15)
        s.sendall(data[1000:])
        answer = b""
        while got := s.recv(65536):
            answer += got
    ms = json.loads(re.search(rb"X-Burin-Timing: (.*)\r\n", answer)[1])["ms"]
    assert 150 <= ms["receive"] <= ms["total"]
    assert sum(ms[stage] for stage in STAGES) == pytest.approx(ms["total"], abs=0.01)


def test_pixels_are_counted(daemon):
    before = daemon.metric("input_pixels_total")
    daemon.post("/histeq", pnm(noise(40, 25)))
    assert daemon.metric("input_pixels_total") == before + 1000


# ---- connections

def test_keep_alive(daemon):
    """200 requests of all kinds over one connection, refusals among them."""
    connection = daemon.connect()
    connection.connect()
    line = connection.sock
    pictures = [pnm(noise(10 + i, 7 + i, seed=i)) for i in range(8)]
    expected = [daemon.post("/histeq", p).body for p in pictures]
    for i in range(200):
        if i % 10 == 7:
            connection.request("POST", "/histeq?bins=1", pictures[0])
        elif i % 10 == 8:
            connection.request("POST", "/histeq", b"no picture at all")
        elif i % 10 == 9:
            connection.request("GET", "/nosuch" if i % 20 == 9 else "/livez")
        elif i % 10 == 6:
            body, content_type = form([("image", pictures[6], "a.pgm")])
            connection.request("POST", "/histeq", body, {"Content-Type": content_type})
        else:
            connection.request("POST", "/histeq", pictures[i % 8])
        response = connection.getresponse()
        body = response.read()
        wanted = {7: 400, 8: 415, 9: 404 if i % 20 == 9 else 200}.get(i % 10, 200)
        assert response.status == wanted, (i, body)
        if i % 10 < 7:
            assert body == expected[6 if i % 10 == 6 else i % 8], i
        assert connection.sock is line, f"the connection was closed after request {i}"
    connection.close()
    assert daemon.becomes_idle()


def test_http_1_0(daemon, equalized):
    data = pnm(PHOTO)
    answer = daemon.raw(b"POST /histeq?bins=16 HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
    head, body = answer.split(b"\r\n\r\n", 1)
    assert b" 200 " in head and np.array_equal(from_pnm(body), equalized)


def test_many_clients_get_each_their_own(daemon):
    """32 clients at once, each with pictures of its own in all formats: every answer reaches its own client."""
    def digest(data):
        return hashlib.sha256(data).hexdigest()

    def picture(client, i):
        array = noise(40 + client, 30 + 3 * i, 3, seed=100 * client + i)
        return [pnm, png, jpeg][i % 3](array)

    wanted = {}
    for client in range(32):
        for i in range(3):
            wanted[client, i] = digest(daemon.post("/histeq", picture(client, i)).body)
    assert len(set(wanted.values())) == 96

    def run(client):
        connection = daemon.connect()
        data = [picture(client, i) for i in range(3)]
        for i in range(18):
            connection.request("POST", "/histeq", data[i % 3], {"X-Request-ID": f"{client}-{i}"})
            response = connection.getresponse()
            body = response.read()
            assert response.status == 200, body
            assert response.headers["X-Request-ID"] == f"{client}-{i}"
            assert digest(body) == wanted[client, i % 3], (client, i)
        connection.close()

    in_parallel(32, run)
    assert daemon.becomes_idle()
    assert daemon.works()


def test_same_picture_same_bytes(daemon):
    for data in PICTURES.values():
        assert len({daemon.post("/histeq?bins=100", data).body for _ in range(8)}) == 1


# ---- lists and facts

def test_root_lists_every_path(daemon):
    """Each listed path answers, and every path in README's table is listed."""
    endpoints = daemon.get("/").json["endpoints"]
    for path in ("/ops", "/openapi.json", "/livez", "/readyz", "/health", "/metrics"):
        assert f"GET {path}" in endpoints and daemon.get(path).status == 200
    for path in ("/{operator}", "/pipeline", "/info"):
        assert f"POST {path}" in endpoints
    assert daemon.get("/progress/nobody").status == 200 and "GET /progress/{request-id}" in endpoints
    assert len(endpoints) == 10


@pytest.mark.parametrize("path", ["/ops", "/", "/livez", "/readyz", "/health", "/metrics"])
def test_head_is_get_without_its_body(daemon, path):
    got, head = daemon.get(path), daemon.request("HEAD", path)
    assert got.status == head.status == 200 and got.body and head.body == b""
    assert head.headers["Content-Type"] == got.headers["Content-Type"]
    if path != "/metrics":
        assert int(head.headers["Content-Length"]) == len(got.body)
    assert got.headers["X-Request-ID"] != head.headers["X-Request-ID"]


def test_ops_lists_every_operator(daemon):
    operators = {o["name"]: o for o in daemon.get("/ops").json["operators"]}
    bins = {p["name"]: p for p in operators["histeq"]["parameters"]}["bins"]
    assert (bins["type"], bins["min"], bins["max"], bins["default"]) == ("integer", 2, 65536, 256)
    for name, operator in operators.items():
        assert operator["summary"]
        answer = daemon.post(f"/{name}?nosuchparameter=1", PICTURES["png"])
        check_problem(answer, 400, name, "nosuchparameter")
        for parameter in operator["parameters"]:
            if parameter["type"] == "integer":
                answer = daemon.post(f"/{name}?{parameter['name']}={parameter['max'] + 1}", PICTURES["png"])
                check_problem(answer, 400, parameter["name"], str(parameter["min"]), str(parameter["max"]))


def animated():
    out = io.BytesIO()
    Image.fromarray(PHOTO).save(out, "PNG", save_all=True, append_images=[Image.fromarray(255 - PHOTO)])
    return out.getvalue()


def with_orientation(value):
    exif = Image.Exif()
    exif[0x0112] = value
    return jpeg(PHOTO, exif=exif.tobytes())


def cmyk():
    out = io.BytesIO()
    Image.fromarray(PHOTO).convert("CMYK").save(out, "JPEG")
    return out.getvalue()


FACTS = {
    "JPEG": (jpeg(PHOTO), dict(type="jpeg", mime_type="image/jpeg", space="ycbcr", channels=3)),
    "gray JPEG": (jpeg(PHOTO[..., 0]), dict(type="jpeg", space="gray", channels=1)),
    "CMYK JPEG": (cmyk(), dict(type="jpeg", space="cmyk", channels=3)),
    "progressive JPEG": (jpeg(PHOTO, progressive=True), dict(type="jpeg", progressive=True)),
    "JPEG with a profile": (jpeg(PHOTO, icc_profile=b"x" * 200), dict(hasProfile=True)),
    "turned JPEG": (with_orientation(6), dict(width=48, height=64, orientation=6)),
    "PNG": (png(PHOTO), dict(type="png", mime_type="image/png", space="rgb", channels=3)),
    "PNG with alpha": (png(noise(64, 48, 4)), dict(type="png", hasAlpha=True, channels=4)),
    "PNG of 16 bit": (png(noise(64, 48, depth=16)), dict(type="png", space="gray", channels=1, depth=16)),
    "PNG of 1 bit": (png_of_chunks(64, 48, 1, 0, bytes(9 * 48)), dict(type="png", channels=1, depth=8)),
    "PNG with a palette": (png_of_chunks(64, 48, 8, 3, bytes(65 * 48), chunk(b"PLTE", b"abc")),
                           dict(type="png", space="rgb", channels=3)),
    "PNG with a clear palette": (png_of_chunks(64, 48, 8, 3, bytes(65 * 48), chunk(b"PLTE", b"abc"),
                                               chunk(b"tRNS", b"\0")),
                                 dict(type="png", hasAlpha=True, channels=4)),
    "moving PNG": (animated(), dict(type="png", animated=True)),
    "PGM": (pnm(noise(64, 48)), dict(type="pnm", mime_type="image/x-portable-anymap", space="gray", channels=1)),
    "PPM of 16 bit": (pnm(noise(64, 48, 3, 16)), dict(type="pnm", space="rgb", channels=3, depth=16)),
}


@pytest.mark.parametrize("name", FACTS)
@pytest.mark.parametrize("as_form", [False, True], ids=["raw", "form"])
def test_info(daemon, name, as_form):
    data, wanted = FACTS[name]
    usual = dict(width=64, height=48, depth=8, orientation=1, pixels=3072, size=len(data), hasAlpha=False,
                 hasProfile=False, progressive=False, animated=False)
    answer = daemon.post_form("/info", [("image", data, "a")]) if as_form else daemon.post("/info", data)
    assert answer.status == 200, answer.body
    facts = answer.json
    for key, value in {**usual, **wanted}.items():
        assert facts[key] == value, (key, facts)


def test_info_takes_a_device_as_every_request_does(daemon):
    for device in ("auto", "cpu", "cuda", "cuda:7"):
        assert daemon.post(f"/info?device={device}", PICTURES["png"]).json["type"] == "png"
    answer = daemon.post_form("/info", [("image", PICTURES["png"], "a"), ("device", "cpu", None)])
    assert answer.json["type"] == "png"


@pytest.mark.parametrize("name,value", [("bins", "3"), ("type", "png"), ("quality", "9"), ("operations", "[]"),
                                        ("devise", "cpu")])
def test_info_takes_nothing_else(daemon, name, value):
    """In the query as in the form: the same message, which names /info."""
    in_query = daemon.post(f"/info?{name}={value}", PICTURES["png"])
    in_form = daemon.post_form("/info", [("image", PICTURES["png"], "a"), (name, value, None)])
    for answer in (in_query, in_form):
        check_problem(answer, 400, f'/info accepts only the parameter device; remove "{name}"')
    twice = daemon.post_form("/info?device=cpu", [("image", PICTURES["png"], "a"), ("device", "cpu", None)])
    check_problem(twice, 400, "device is given twice")


def test_info_decodes_nothing(daemon):
    """The file has a header and no pixels; but a limit that the header exceeds is reported."""
    assert daemon.post("/info", png(PHOTO)[:60]).status == 200
    assert daemon.post("/info", b"P5\n8000 8000\n255\n").status == 200
    check_problem(daemon.post("/info", b"P5\n60000 60000\n255\n"), 422, "pixels_max")
    check_problem(daemon.post("/info", b"nothing"), 415)


# ---- a form's unused file inputs: browsers cannot leave them out

IMAGE = pnm(PHOTO)
UNUSED = ("image", b"", "")


@pytest.mark.parametrize("parts", [
    [UNUSED, ("file", IMAGE, "a.pgm")], [("file", IMAGE, "a.pgm"), UNUSED], [UNUSED, UNUSED, ("image", IMAGE, "a.pgm")],
    [("mask", b"", ""), ("image", IMAGE, "a.pgm"), ("rmask", b"", "")], [("picture", b"", ""), ("image", IMAGE, "a.pgm")],
    [("image", IMAGE, "")],
], ids=["before", "behind", "two", "masks", "of a name that nothing has", "a file without a name"])
@pytest.mark.parametrize("picture", [pnm(PHOTO), pnm(noise(1000, 600))], ids=["small", "beside the library"])
def test_unused_file_inputs_are_not_there(daemon, parts, picture):
    parts = [(name, picture if value == IMAGE else value, filename) for name, value, filename in parts]
    answer, plain = daemon.post_form("/carve?dx=-1", parts), daemon.post("/carve?dx=-1", picture)
    assert (answer.status, plain.status) == (200, 200) and answer.body == plain.body


def test_an_unused_input_is_no_image(daemon):
    check_problem(daemon.post_form("/carve?dx=-1", [UNUSED]), 400, "the form has no image")
    check_problem(daemon.post_form("/carve?dx=-1", [("image", b"", "a.pgm")]), 400, "empty")
    check_problem(daemon.post_form("/carve?dx=-1", [("image", IMAGE, "a"), ("file", IMAGE, "")]), 400, "two image parts")
    check_problem(daemon.post_form("/carve?dx=-1", [("image", IMAGE, "a"), ("mask", b"", "m")]), 400, "mask is empty")


@needs("resize")
def test_light_by_another_profile_is_noted(daemon, tmp_path):
    """The note comes where an operator averages linear light and the picture has a profile, which may define another curve."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    with_profile = jpeg(PHOTO, icc_profile=profile)
    word = "sRGB"
    assert word in notes(daemon.post("/resize?width=20&linear=true", with_profile))
    assert word not in notes(daemon.post("/resize?width=20&linear=true", jpeg(PHOTO)))
    assert word not in notes(daemon.post("/resize?width=20", with_profile))
    assert word not in notes(daemon.post("/resize?width=20&linear=true&kernel=nearest", with_profile))
    steps = json.dumps([{"operation": "histeq"}, {"operation": "resize", "params": {"width": 9, "linear": True}}])
    assert word in notes(daemon.post_form("/pipeline", [("image", with_profile, "a"), ("operations", steps, None)]))
    (tmp_path / "in.jpg").write_bytes(with_profile)
    done = subprocess.run([BURIN, "run", "resize:width=20,linear=true", "in.jpg", "out.jpg"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert word in done.stderr


@needs("resize")
@pytest.mark.parametrize("background,around", [(None, (255, 255, 255)), ("ff0000", (255, 0, 0)), ("%230080FF80", (0, 128, 255))])
def test_background_around_and_under(daemon, background, around):
    """One parameter sets the colour of the canvas and under transparency. A canvas that is not opaque lies on its own colour."""
    picture = np.full((10, 20, 4), (200, 100, 50, 255), np.uint8)
    picture[:, 10:, 3] = 0
    query = f"&background={background}" if background else ""
    flat = daemon.post("/resize?type=pnm&width=20&height=30&fit=contain" + query, png(picture))
    assert flat.status == 200, flat.body
    expected = np.full((30, 20, 3), around)
    expected[10:20, :10] = (200, 100, 50)
    assert np.array_equal(from_pnm(flat.body), expected)
    steps = [{"operation": "resize", "params": {"width": 20, "height": 30, "fit": "contain"}}]
    many = daemon.post_form("/pipeline?type=pnm" + query, [("image", png(picture), "a"), ("operations", json.dumps(steps), None)])
    assert many.body == flat.body
    steps[0]["params"]["background"] = "010203"
    own = daemon.post_form("/pipeline?type=pnm" + query, [("image", png(picture), "a"), ("operations", json.dumps(steps), None)])
    expected[:10], expected[20:] = (1, 2, 3), (1, 2, 3)
    assert np.array_equal(from_pnm(own.body), expected)
