# SPDX-License-Identifier: Apache-2.0
"""Each bad request gets one answer that says what to do, costs little and disturbs no other client: forms, parameters,
broken pictures, bombs, slow clients, clients that leave."""
import contextlib
import json
import os
import socket
import struct
import time
import zlib

import pytest

from conftest import (LONGER_PATH, PATIENCE_S, check_problem, chunk, cpu_seconds, form, freeze, jpeg, large_png, memory,
                      noise, png, png_of_chunks, pnm, read_to_end, responses, smooth, thaw, wait_until)

PICTURE = pnm(noise(32, 24))
MB = 1 << 20


# ---- forms

@pytest.mark.parametrize("parts,words", [
    ([("bins", "16", None)], ["image", "curl -F image="]),
    ([], ["image"]),
    ([("image", PICTURE, "a.pgm"), ("image", PICTURE, "b.pgm")], ["two image parts"]),
    ([("image", PICTURE, "a.pgm"), ("file", PICTURE, "b.pgm")], ["two image parts"]),
    ([("image", b"", "a.pgm")], ["empty", "curl -F image="]),
    ([("image", PICTURE, "a.pgm"), ("picture", PICTURE, "b.pgm")], ["picture", "image, file or media"]),
    ([("image", PICTURE, "a.pgm"), ("bins", "1", None)], ["bins", "2..65536"]),
    ([("image", PICTURE, "a.pgm"), ("bins", "4", None), ("bins", "4", None)], ["bins", "twice"]),
    ([("image", PICTURE, "a.pgm"), ("bins", b"4\x004", None)], ["bins", "zero byte"]),
    ([("image", PICTURE, "a.pgm"), ("bins", "4" * 20000, None)], ["bins", "longer than"]),
    ([("image", PICTURE, "a.pgm"), ("b" * 100, "4", None)], ["name"]),
    ([("image", PICTURE, "a.pgm"), ("b" * 200, "4", None)], ["name"]),
    ([(f"p{i}", "4", None) for i in range(9)], []),
], ids=["no image", "nothing", "two images", "image and file", "empty image", "file of another name", "bins of 1",
        "bins twice", "zero byte", "long value", "long name", "longer name", "nine parts"])
def test_forms(daemon, parts, words):
    body, content_type = form(parts) if parts else (b"--b--\r\n", "multipart/form-data; boundary=b")
    answer = daemon.request("POST", "/histeq", body, {"Content-Type": content_type})
    check_problem(answer, 400, *words)
    assert daemon.works()


def test_same_parameter_in_query_and_form(daemon):
    check_problem(daemon.post_form("/histeq?bins=4", [("image", PICTURE, "a"), ("bins", "4", None)]), 400,
                  "bins", "twice")


@pytest.mark.parametrize("content_type,words", [
    ("multipart/form-data", ["boundary", "curl -F"]),
    ("multipart/form-data; boundary=", ["boundary"]),
    ("multipart/form-data; boundary=\"\"", ["boundary", "curl -F"]),
    ("multipart/form-data; boundary=" + "b" * 200, ["boundary", "200", "70"]),
    ("multipart/form-data; boundary=testboundary7d1; boundary=b", ["boundary"]),
    ("multipart/form-data; boundary=another", ["boundary", "does not occur"]),
    ("multipart/form-data; boundary=\"te\u00e4st\"", ["boundary"]),
])
def test_boundaries(daemon, content_type, words):
    body, _ = form([("image", PICTURE, "a.pgm")])
    answer = daemon.request("POST", "/histeq", body, {"Content-Type": content_type.encode("latin-1")})
    check_problem(answer, 400, *words)
    assert daemon.works()


def test_boundary_of_seventy_characters(daemon):
    body, content_type = form([("image", PICTURE, "a.pgm")], boundary="b" * 70)
    assert daemon.request("POST", "/histeq", body, {"Content-Type": content_type}).status == 200


@pytest.mark.parametrize("change", [
    lambda body: body[:-4],                                      # no closing boundary
    lambda body: body[:len(body) // 2],                          # ends within the picture
    lambda body: body.replace(b"Content-Disposition", b"X"),     # a part without a name
    lambda body: body.replace(b"form-data;", b"attachment;"),
    lambda body: body.replace(b"application/octet-stream", b"multipart/mixed; boundary=" + b"x" * 3000),
    lambda body: body.replace(b"application/octet-stream", b"a" * 5000),
    lambda body: body.replace(b"Content-Type:", b"Content-Transfer-Encoding: base64\r\nContent-Type:"),
], ids=["not closed", "cut off", "no disposition", "attachment", "nested multipart", "long header", "base64"])
def test_broken_forms(daemon, change):
    body, content_type = form([("image", PICTURE, "a.pgm")])
    check_problem(daemon.request("POST", "/histeq", change(body), {"Content-Type": content_type}), 400)
    assert daemon.works()


def test_nested_boundaries_keep_nothing(daemon):
    """Forms with which libmicrohttpd's own parser leaks 15 MB are refused, and memory does not grow."""
    part = (b'--BB\r\nContent-Disposition: form-data; name="a"\r\nContent-Type: multipart/mixed, boundary='
            + b"n" * 3000 + b"\r\n\r\n--" + b"n" * 3000 + b"--\r\n")
    body = part * 500 + b"--BB--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=BB"}

    def once():
        check_problem(daemon.request("POST", "/histeq", body, headers), 400, "multipart within the multipart")

    once()
    before = memory(daemon.process.pid)
    for _ in range(10):
        once()
    assert memory(daemon.process.pid) - before < MB
    assert daemon.works()


def test_no_body(daemon):
    for headers in ({}, {"Content-Length": "0"}):
        check_problem(daemon.request("POST", "/histeq", None, headers), 400, "curl -F image=")
    check_problem(daemon.request("POST", "/histeq", iter([])), 400, "empty")
    assert daemon.works()


# ---- parameters

@pytest.mark.parametrize("path,words", [
    ("/histeq?bin=16", ['"bin"', 'did you mean "bins"']),
    ("/histeq?colour=red", ['"colour"', "bins, scale, channel"]),
    ("/histeq?bins=1", ["bins", "2..65536", "not 1"]),
    ("/histeq?bins=70000", ["bins", "2..65536", "not 70000"]),
    ("/histeq?bins=-5", ["bins", "2..65536"]),
    ("/histeq?bins=abc", ["bins", "2..65536", '"abc"']),
    ("/histeq?bins=", ["bins", "2..65536"]),
    ("/histeq?bins=16x", ["bins", "2..65536"]),
    ("/histeq?bins=99999999999999999999", ["bins", "2..65536"]),
    ("/histeq?bins=16&bins=17", ["bins", "twice", "give it once"]),
    ("/histeq?bins=16&bins=16", ["bins", "twice"]),
    ("/histeq?type=png&type=png", ["type", "twice", "give it once"]),
    ("/histeq?bins", ["bins", "2..65536"]),
    ("/histeq?scale=maxmin", ["scale", "minmax", "maxabs"]),
    ("/histeq?channel=red", ["channel", "value", "luma", "each"]),
    ("/histeq?type=bmp", ["type", "png", "jpeg", "pnm"]),
    ("/histeq?quality=0", ["quality", "1..100"]),
    ("/histeq?quality=101", ["quality", "1..100"]),
    ("/histeq?compression=4", ["compression", "0..3"]),
    ("/histeq?background=zzz", ["background", "RRGGBB"]),
    ("/histeq?background=12345g", ["background", "RRGGBB"]),
    ("/histeq?device=gpu", ["device", "auto", "cpu", "cuda"]),
    ("/histeq?device=cuda:-1", ["device"]),
    ("/histeq?device=cuda", ["cuda", "not served", "/readyz"]),
    ("/histeq?device=cuda:0", ["cuda:0", "not served"]),
    ("/histeq?operations=[]", ["operations"]),
    ("/grayscale?bins=16", ["grayscale", "bins"]),
    ("/info?bins=16", ["/info", "bins"]),
    ("/info?device=gpu", ["device", "auto", "cpu", "cuda"]),
    ("/info?device=cpu&device=cpu", ["device", "twice", "give it once"]),
    ("/histeq?" + "%01%0d%0a%1b=1", ["no parameter"]),
    ("/histeq?" + "x" * 3000 + "=1", ["no parameter"]),
])
def test_parameters(daemon, path, words):
    problem = check_problem(daemon.post(path, PICTURE), 400, *words)
    assert len(problem["message"]) < 400 and problem["message"].isprintable()
    assert daemon.works()


OPERATIONS = [
    ("", ["JSON list"]),
    ("[", ["JSON list"]),
    ("{", ["JSON list"]),
    ("null", ["JSON list"]),
    ('"histeq"', ["JSON list"]),
    ("[]", ["JSON list"]),
    ('{"operation":"histeq"}', ["JSON list"]),
    ('["histeq"]', ["operation"]),
    ("[1]", ["operation"]),
    ("[[]]", ["operation"]),
    ("[{}]", ["operation"]),
    ('[{"operation":5}]', ["operation"]),
    ('[{"operation":"histek"}]', ["histek", 'did you mean "histeq"']),
    ('[{"operation":"nosuch"}]', ["nosuch", "histeq"]),
    ('[{"operation":""}]', ["operator"]),
    ('[{"operation":"histeq","parms":{}}]', ["parms", "params"]),
    ('[{"operation":"histeq","params":[]}]', ["params"]),
    ('[{"operation":"histeq","params":{"bin":5}}]', ["bin", "bins"]),
    ('[{"operation":"histeq","params":{"bins":5.5}}]', ["bins", "integer"]),
    ('[{"operation":"histeq","params":{"bins":null}}]', ["bins", "whole number"]),
    ('[{"operation":"histeq","params":{"bins":1}}]', ["bins", "2..65536"]),
    ('[{"operation":"histeq","params":{"bins":1e9}}]', ["bins"]),
    ('[{"operation":"histeq","params":{"bins":123456789012345678901234567890}}]', ["operations"]),
    ('[{"operation":"brightness","params":{"shift":1e-400}}]', ["operations", "so small that it reads as 0"]),
    ('[{"operation":"brightness","params":{"shift":-0.1E-400}}]', ["operations", "so small that it reads as 0"]),
    ('[{"operation":"brightness","params":{"shift":5e-324}}]', ["shift", "integer"]),
    ('[{"operation":"brightness","params":{"shift":1e309}}]', ["operations", "overflow"]),
    ('[{"operation":"brightness","params":{"shift":1e-5}}]', ["shift", "integer"]),
    *((f'[{{"operation":"brightness","params":{{"shift":{number}}}}}]', ["operations"])
      for number in ("NaN", "Infinity", "-inf", "0x10", "0x1p4", "+1", "01", ".5", "1.", "1e", "- 1", "1_0", "\u0661")),
    *((f'[{{"operation":"brightness","params":{{"shift":"{text}"}}}}]', ["shift", "integer"])
      for text in ("1e-400", "1e0", "1.0", "-0.0", " 1", "1 ", "nan", "inf", "0x10", "--1", "+", "", "\u0661", "1\\n", "99999999999999999999")),
    ('[{"operation":"histeq","operation":"grayscale"}]', ["operations"]),
    ('[{"operation":"histeq","params":{"bins":5,"bins":6}}]', ["operations"]),
    ('[{"operation":"histeq","ignore_failure":true}]', ["ignore_failure", "must be false", "the request fails"]),
    ('[{"operation":"histeq","ignore_failure":"false"}]', ["ignore_failure", "must be false"]),
    ('[{"operation":"histeq","ignore_failure":null}]', ["ignore_failure", "must be false"]),
    ('[{"operation":"histeq","params":{"ignore_failure":false}}]', ["ignore_failure"]),
    ('[{"operation":"histeq","params":{"type":"png"}}]', ['"type" belongs beside operations', "query"]),
    ('[{"operation":"histeq"},{"operation":"grayscale","params":{"quality":80}}]', ['"quality" belongs beside']),
    (json.dumps([{"operation": "histeq"}] * 11), ["10 steps"]),
    ("[" * 5000, ["operations"]),
]


@pytest.mark.parametrize("operations,words", OPERATIONS, ids=[text[:48] for text, _ in OPERATIONS])
def test_pipelines(daemon, operations, words):
    check_problem(daemon.post_form("/pipeline", [("image", PICTURE, "a"), ("operations", operations, None)]), 400,
                  *words)
    assert daemon.works()


@pytest.mark.parametrize("operations", ['[{"KEY":1}]', '[{"operation":"KEY"}]',
                                        '[{"operation":"histeq","params":{"KEY":1.5}}]',
                                        '[{"operation":"histeq","params":{"KEY":[1.5]}}]',
                                        '[{"operation":"histeq","params":{"bins":"KEY"}}]', '["KEY"'])
def test_names_that_are_no_plain_text(daemon, operations):
    """A two-byte character wherever a message may be cut, so also in the middle of one."""
    for length in (1, 30, *range(36, 60)):
        text = operations.replace("KEY", "k" * length + "\u00e9")
        check_problem(daemon.post_form("/pipeline", [("image", PICTURE, "a"), ("operations", text, None)]), 400)
    assert daemon.works()


def test_pipeline_without_operations(daemon):
    check_problem(daemon.post("/pipeline", PICTURE), 400, "operations", '[{"operation": "histeq"}]')
    check_problem(daemon.post("/pipeline?operation=histeq", PICTURE), 400, 'did you mean "operations"')
    assert daemon.post('/pipeline?operations=' + "%5B" + ",".join(['{"operation":"grayscale"}'] * 10) + "%5D",
                       PICTURE).status == 200


# ---- paths and methods

@pytest.mark.parametrize("method,path,words", [
    ("GET", "/nosuch", ["/nosuch", "/ops"]),
    ("POST", "/nosuch", ["/nosuch", "/ops"]),
    ("POST", "/histek", ["/histek", "/histeq"]),
    ("POST", "/graysacle", ["/grayscale"]),
    ("POST", "/histeq/", ["/histeq"]),
    ("GET", "/../etc/passwd", []),
    ("GET", "/%2e%2e/x", []),
    ("GET", "/" + "a" * 3000, []),
])
def test_paths_that_are_not_there(daemon, method, path, words):
    problem = check_problem(daemon.request(method, path, PICTURE if method == "POST" else None), 404, *words)
    assert problem["message"].isprintable() and problem["code"] == "not_found"
    assert daemon.works()


@pytest.mark.parametrize("path", ["/%ff", "/" + "a" * 58 + "%c3%a9", "/%c3%a9", "/%22%5c%7f"])
def test_paths_that_are_no_plain_text(daemon, path):
    """Bytes that are no UTF-8, or a character where the message is cut, get the same answer as any unknown path."""
    for head in ("GET", "POST"):
        problem = check_problem(daemon.request(head, path, PICTURE if head == "POST" else None), 404, "/ops")
        assert problem["message"].isascii() and problem["message"].isprintable()
    assert daemon.works()


@pytest.mark.parametrize("method,path,allow", [
    ("GET", "/histeq", "POST, PUT"), ("HEAD", "/histeq", "POST, PUT"), ("DELETE", "/histeq", "POST, PUT"),
    ("GET", "/pipeline", "POST, PUT"), ("PATCH", "/pipeline", "POST, PUT"), ("GET", "/info", "POST, PUT"),
    ("POST", "/ops", "GET, HEAD"), ("DELETE", "/livez", "GET, HEAD"), ("POST", "/metrics", "GET, HEAD"),
    ("BREW", "/readyz", "GET, HEAD"), ("OPTIONS", "/histeq", "POST, PUT")])
def test_methods(daemon, method, path, allow):
    answer = daemon.request(method, path, PICTURE if method == "POST" else None)
    assert answer.status == 405
    assert answer.headers["Allow"] == allow
    if method != "HEAD":
        assert check_problem(answer, 405, path)["code"] == "method_not_allowed"
    assert daemon.works()


# ---- pictures

@pytest.mark.parametrize("data,name", [
    (b"This is a text, not a picture, and it goes on for a while.", None), (b"x", None), (bytes(1000), None),
    (b"\xff\x0a" + bytes(100), "JPEG XL"), (b"%PDF-1.4" + bytes(100), "PDF"), (b"<svg></svg>", "SVG"),
    (b"Pf\n1 1\n-1.0\nabcd", "PNM"), (b"\0\0\0\x20ftyphevm" + bytes(50), "HEIC"), (b"\xff\xd8", None),
    (b"\x89PNG", None), (b"P6", None)], ids=lambda v: str(v)[:24])
def test_no_picture(daemon, data, name):
    problem = check_problem(daemon.post("/histeq", data), 415)
    for word in (["PNG", "JPEG"] if name is None else [name]):
        assert word.lower() in problem["message"].lower(), problem["message"]
    assert daemon.works()


@pytest.mark.parametrize("kind", ["JPEG", "progressive JPEG", "PNG", "PNG of 16 bit", "PNM"])
def test_cut_off_anywhere(daemon, kind):
    data = {"JPEG": lambda: jpeg(smooth(120, 90), quality=90),
            "progressive JPEG": lambda: jpeg(smooth(120, 90), quality=90, progressive=True),
            "PNG": lambda: png(smooth(70, 50)),
            "PNG of 16 bit": lambda: png(noise(60, 50, depth=16)),
            "PNM": lambda: pnm(noise(70, 50, 3))}[kind]()
    connection = daemon.connect()
    needed = len(data) - (12 if "PNG" in kind else 0)  # IEND may be missing
    for length in [*range(64, needed, 64), needed - 1]:
        connection.request("POST", "/histeq", data[:length])
        response = connection.getresponse()
        body = response.read()
        assert response.status == 422, (length, body)
        assert json.loads(body)["message"]
    connection.request("POST", "/histeq", data)
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "PNM"])
def test_bytes_flipped(daemon, kind):
    """Any flipped byte gets an answer, and the daemon goes on with the same workers."""
    data = {"JPEG": jpeg(smooth(60, 40)), "PNG": png(smooth(40, 30)), "PNM": pnm(noise(40, 30, 3))}[kind]
    workers = daemon.children()
    connection = daemon.connect()
    for at in range(0, min(len(data), 1500), 3):
        broken = bytearray(data)
        broken[at] ^= 0x55
        connection.request("POST", "/histeq", bytes(broken))
        response = connection.getresponse()
        response.read()
        assert response.status in (200, 415, 422), at
    connection.close()
    assert daemon.children() == workers
    assert daemon.works()


def test_names_and_types_do_not_matter(daemon):
    """Magic bytes alone decide the format."""
    picture = smooth(20, 10)
    for data in (jpeg(picture), png(picture), pnm(picture)):
        for content_type in ("image/png", "image/jpeg", "text/html", "application/x-www-form-urlencoded", "nonsense"):
            assert daemon.post("/histeq", data, {"Content-Type": content_type}).status == 200
        for name in ("a.png", "a.jpg", "a.exe", "../../a", "a" * 300, ""):
            assert daemon.post_form("/histeq", [("image", data, name)]).status == 200


@pytest.mark.parametrize("data,status,words", [
    (b"P5\n65535 65535\n255\n" + bytes(100), 422, ["pixels_max"]),
    (b"P5\n4294967296 1\n255\n" + bytes(100), 422, []),
    (b"P5\n99999999999 1\n255\n" + bytes(100), 422, []),
    (b"P5\n0 5\n255\n", 422, []),
    (b"P5\n5 5\n0\n" + bytes(25), 422, []),
    (b"P5\n5 5\n65536\n" + bytes(50), 422, []),
    (b"P5\n5 5\n9\n" + b"\xff" * 25, 422, []),
    (b"P6\n-5 5\n255\n" + bytes(75), 422, []),
    (png_of_chunks(65535, 65535, 8, 6, b""), 422, ["pixels_max"]),
    (png_of_chunks(0, 5, 8, 0, b""), 422, []),
    (png_of_chunks(1 << 31, 1, 8, 0, b""), 422, []),
    (png_of_chunks(70000, 1, 8, 0, b"\0" + bytes(70000)), 422, ["side_max"]),
    (png_of_chunks(5, 5, 3, 0, bytes(30)), 422, []),
    (png_of_chunks(5, 5, 8, 3, bytes(30)), 422, ["palette"]),
    (png_of_chunks(5, 5, 8, 0, bytes(5)), 422, []),
    (png_of_chunks(5, 5, 8, 0, bytes(30)).replace(b"IDAT", b"IDAX"), 422, []),
    (b"\xff\xd8\xff\xc0\x00\x0b\x08\xff\xdc\xff\xdc\x01\x01\x11\x00\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\xff\xd9",
     422, ["pixels_max"]),
    (b"\xff\xd8\xff\xc0\x00\x0b\x08\xff\xff\xff\xff\x01\x01\x11\x00\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00\xff\xd9",
     422, ["65535 x 65535"]),
    (b"\xff\xd8\xff\xd9" + bytes(20), 422, []),
    (b"\xff\xd8\xff\xe0\xff\xff" + bytes(20), 422, []),
], ids=lambda v: str(v)[:32])
def test_headers_that_lie(daemon, data, status, words):
    check_problem(daemon.post("/histeq", data), status, *words)
    check_problem(daemon.post("/histeq?type=png", data), status, *words)
    assert daemon.works()


def test_sixteen_bit_cut_short_of_its_pixels(daemon):
    check_problem(daemon.post("/histeq", pnm(noise(50, 40, depth=16))[:-1]), 422)
    assert daemon.works()


# ---- bombs

def growth_of(daemon, work):
    """Bytes by which the worker's peak memory grew. The peak mark is reset first."""
    worker, = daemon.children()
    with open(f"/proc/{worker}/clear_refs", "w") as f:
        f.write("5")
    before = memory(worker)
    work()
    assert daemon.children() == [worker], "the worker died of it"
    return memory(worker, "VmHWM") - before


def test_many_pixels_in_few_bytes(daemon):
    bomb = large_png(50000, 50000, depth=1)
    assert len(bomb) < 400000
    before = memory(daemon.process.pid)
    cost = daemon.cost(lambda: check_problem(daemon.post("/histeq", bomb), 422, "pixels", "pixels_max"))
    assert cost < 1, "2.5 billion pixels were decoded"
    assert memory(daemon.process.pid) - before < 2 * MB
    assert daemon.works()


# The start of a JPEG of 8000 x 8000: no tables, and no data of a scan.
BARE_JPEG = (b"\xff\xd8\xff\xc0\x00\x11\x08\x1f\x40\x1f\x40\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01"
             b"\xff\xda\x00\x0c\x03\x01\x00\x02\x11\x03\x11\x00\x3f\x00")


@pytest.mark.parametrize("query", ["", "?damaged=accept"])
@pytest.mark.parametrize("data", [
    b"P6\n8000 8000\n255\nabcdef",
    b"P6\n8000 8000\n255\n" + bytes(8000 * 3),
    png_of_chunks(8000, 8000, 8, 6, bytes(10)),
    png_of_chunks(8000, 8000, 8, 6, bytes(10), interlace=1),
    png_of_chunks(8000, 8000, 8, 6, bytes(10)) + bytes(300000),
    BARE_JPEG + bytes(100),
    BARE_JPEG.replace(b"\xff\xc0", b"\xff\xc2") + bytes(100),
], ids=["PNM", "a row of a PNM", "PNG", "interlaced PNG", "padded PNG", "JPEG", "progressive JPEG"])
def test_pixels_that_the_bytes_cannot_hold(daemon, data, query):
    """Refused at the header: no worker gets the job, and nothing is allocated."""
    daemon.works()
    grown = growth_of(daemon, lambda: check_problem(daemon.post("/histeq" + query, data), 422, "cut off", "8000 x 8000"))
    assert grown < 4 * MB
    assert daemon.post("/info", data).json["width"] == 8000, "what the header says can be asked for all the same"


def test_a_mask_that_its_bytes_cannot_hold(daemon):
    parts = [("image", pnm(noise(64, 64)), "a.pgm"), ("mask", png_of_chunks(64, 64000, 8, 0, bytes(10)), "b.png")]
    problem = check_problem(daemon.post_form("/carve?dx=-1", parts), 422, "mask", "cut off")
    assert problem["code"] == "corrupt"


def text_bomb(kind):
    megabytes = zlib.compress(bytes(7900000), 9)
    head = {b"zTXt": b"Comment\0\0", b"iTXt": b"Comment\0\1\0\0\0", b"iCCP": b"profile\0\0"}[kind]
    count = 1 if kind == b"iCCP" else 120
    return png_of_chunks(4, 4, 8, 0, bytes(20), *[chunk(kind, head + megabytes)] * count)


@pytest.mark.parametrize("kind", [b"zTXt", b"iTXt", b"iCCP"])
def test_png_text_bomb(daemon, kind):
    """A gigabyte of text in a megabyte is never unpacked."""
    bomb = text_bomb(kind)
    daemon.works()

    def send():
        answer = daemon.post("/histeq", bomb)
        assert answer.status in (200, 422), answer.body
        if kind == b"iCCP" and answer.status == 200:
            assert any("profile" in note for note in answer.timing["notes"])

    assert growth_of(daemon, send) < 4 * MB
    assert daemon.cost(send) < 2, "it was unpacked"
    assert daemon.works()


def scan_bomb(side, scans):
    """A sound gray progressive JPEG whose scans add nothing: 70 bytes a scan."""
    blocks = ((side + 7) // 8) ** 2

    def segment(marker, data):
        return struct.pack(">BBH", 0xff, marker, len(data) + 2) + data

    def packed(bits):
        bits += "1" * (-len(bits) % 8)
        return int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\0")

    def table(place, symbol):  # a Huffman table of one symbol, whose code is 0
        return segment(0xc4, bytes([place, 1] + [0] * 15 + [symbol]))

    def scan(first, last, bits):
        return segment(0xda, bytes([1, 1, 0, first, last, 0])) + packed(bits)

    runs, left = "", blocks
    while left:  # end-of-band runs: 2^14 and 14 extra bits of blocks at once
        run = left if left <= 32767 else min(32767, left - (1 << 14))
        runs += "0" + format(run - (1 << 14), "014b")
        left -= run
    return (b"\xff\xd8" + segment(0xdb, bytes([0]) + b"\x10" * 64)
            + segment(0xc2, struct.pack(">BHHBBBB", 8, side, side, 1, 1, 0x11, 0))
            + table(0x00, 0) + table(0x10, 0xe0) + scan(0, 0, "0" * blocks)
            + scan(1, 63, runs) * (scans - 1) + b"\xff\xd9")


def test_the_scan_bomb_is_a_sound_jpeg(daemon):
    """The bomb is a valid JPEG, so the tests below reach the limits and no other error."""
    answer = daemon.post("/histeq?type=pnm", scan_bomb(1280, 20))
    assert answer.status == 200, answer.body


def test_jpeg_of_too_many_scans(daemon):
    check_problem(daemon.post("/histeq", scan_bomb(1280, 101)), 422, "scans", "scans_max")
    check_problem(daemon.post("/histeq", scan_bomb(1280, 30000)), 422, "scans", "scans_max")
    assert daemon.works()


def test_jpeg_of_too_many_scans_for_its_size(daemon):
    """Within the number of scans, but their total cost is over the limit."""
    bomb = scan_bomb(6000, 64)
    cost = daemon.cost(lambda: check_problem(daemon.post("/histeq", bomb), 422, "scan_pixels_max"), times=1)
    assert cost < 10
    assert daemon.works()


def test_jpeg_that_needs_too_much_memory(start):
    daemon = start("--codec-memory-bytes", "1MiB")
    check_problem(daemon.post("/histeq", jpeg(smooth(1000, 1000), progressive=True)), 422, "codec_memory_bytes")
    assert daemon.works()


# ---- bodies that are too large, or do not arrive

def test_announced_gigabyte(daemon):
    """Refused at its header, whether the client waits for 100 Continue or not; the test sends no more than the header."""
    before = memory(daemon.process.pid)
    for expect in (b"", b"Expect: 100-continue\r\n"):
        head = b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n" + expect + b"\r\n"
        (status, headers, body), = responses(daemon.raw(head))
        assert status == 413
        assert headers["connection"] == "close" and b"body_bytes_max" in body
    assert memory(daemon.process.pid) - before < 2 * MB
    assert daemon.works()


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "in chunks"])
def test_more_than_all_bodies_may_hold(start, announced):
    """Waiting does not help such a body, so the answer is not 503; the message names the key that is too small."""
    daemon = start("--queue-bytes", "100KB")
    body = pnm(noise(400, 300))
    for _ in range(3):
        answer = daemon.request("POST", "/histeq", body if announced else iter([body[:70000], body[70000:]]))
        check_problem(answer, 413, "100000", "queue_bytes")
        assert "Retry-After" not in answer.headers
    assert daemon.request("POST", "/histeq", pnm(noise(300, 300))).status == 200
    assert daemon.becomes_idle()


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate, gzip", "x" * 200, "\u00e9"])
def test_content_encoding(daemon, coding):
    """A coded body is refused by its header: it is not unpacked, and its coded bytes are not taken for a picture."""
    for path in ("/histeq", "/info"):
        answer = daemon.post(path, zlib.compress(PICTURE), {"Content-Encoding": coding.encode("latin-1")})
        problem = check_problem(answer, 415, "Content-Encoding", "without it")
        assert answer.headers["Accept-Encoding"] == "identity"
        assert coding[:20].replace("\u00e9", "?") in problem["message"] and problem["message"].isprintable()
    for none in ("Identity", "", " "):
        assert daemon.post("/histeq", PICTURE, {"Content-Encoding": none}).status == 200
    answer = daemon.post("/histeq", b"no picture", {"Content-Encoding": "identity"})
    check_problem(answer, 415)
    assert "Accept-Encoding" not in answer.headers, "the coding is not what is wrong"


@pytest.mark.parametrize("framing", [b"Content-Length: %d\r\n\r\n" % len(PICTURE) + PICTURE,
                                     b"Content-Length: 20000000\r\n\r\n"], ids=["small", "large"])
def test_content_encoding_in_a_second_line(daemon, framing):
    """Header lines of one name are one list. A large body is refused before it arrives, by different code."""
    head = (b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            b"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n")
    (status, headers, body), = responses(daemon.raw(head + framing))
    assert status == 415 and b"gzip" in body and headers["accept-encoding"] == "identity"


def test_gigabyte_that_is_sent_all_the_same(daemon):
    """A client that does not read while it sends: the daemon drops the body for a while, then cuts the client off, which sees it."""
    daemon.works()
    before, sent = memory(daemon.process.pid), 0
    with daemon.socket(PATIENCE_S) as s:
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for sent in range(0, 1024 * MB, MB):
                s.sendall(bytes(MB))
        (status, _, _), = responses(read_to_end(s))
    assert sent < 160 * MB and status == 413
    assert memory(daemon.process.pid) - before < 4 * MB
    assert daemon.works()


@pytest.mark.parametrize("expect", [b"", b"Expect: 100-continue\r\n"], ids=["sends at once", "waits for leave"])
def test_chunked_body_without_end(shared, expect):
    """A gigabyte in chunks, from a client that reads while it writes: it sees 413, and memory does not grow. What has been
    received by then is released. A 100 Continue sent earlier changes nothing."""
    daemon = shared("--body-bytes-max", "8MiB")
    daemon.works()
    before = memory(daemon.process.pid)
    block = b"100000\r\n" + bytes(MB) + b"\r\n"
    with daemon.socket() as s:
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" + expect + b"\r\n")
        if expect:
            assert s.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        s.setblocking(False)
        answer, sent, at = b"", 0, 0
        end = time.monotonic() + 120
        while sent < 1024 * MB and time.monotonic() < end and not answer:
            try:
                at += s.send(block[at:])
                sent, at = (sent + MB, 0) if at == len(block) else (sent, at)
            except BlockingIOError:
                pass
            except (BrokenPipeError, ConnectionResetError):
                break
            try:
                answer += s.recv(65536)
            except BlockingIOError:
                pass
        answer += read_to_end(s)
    (status, headers, body), = responses(answer)
    assert status == 413 and b"body_bytes_max" in body and headers["connection"] == "close"
    assert 8 * MB <= sent < 24 * MB, f"{sent / MB:.0f} MB were taken before it was refused"
    assert daemon.becomes_idle()
    assert memory(daemon.process.pid) - before < 4 * MB
    assert daemon.works()


def test_many_small_chunks(daemon):
    body = b"".join(b"1\r\n%c\r\n" % byte for byte in PICTURE)
    before = memory(daemon.process.pid)
    head = b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    (status, _, _), = responses(daemon.raw(head + body + b"0\r\n\r\n"))
    assert status == 200
    (status, _, _), = responses(daemon.raw(head + b"1\r\nx\r\n" * 200000 + b"0\r\n\r\n", timeout=30))
    assert status in (400, 413, 415)
    assert memory(daemon.process.pid) - before < 4 * MB
    assert daemon.works()


@pytest.mark.parametrize("tail", [b"zz\r\n", b"-1\r\nx\r\n", b"ffffffffffffffffff\r\n", b"5\r\nabcdefgh\r\n",
                                  b"\r\n\r\n"])
def test_broken_chunks(daemon, tail):
    """Each gets one 400, like every request that two parsers could read in two ways."""
    data = daemon.raw(b"POST /histeq HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + tail)
    (status, headers, body), = responses(data)
    assert (status, headers["connection"]) == (400, "close"), data[:200]
    assert b"chunk" in body
    assert daemon.becomes_idle()
    assert daemon.works()


def test_refusal_is_seen_behind_a_body_of_any_size(daemon):
    """A wrong parameter is known at the headers; the client can read why, however much it sends."""
    for size in (10, 10000, MB):
        check_problem(daemon.post("/histeq?bins=1", bytes(size)), 400, "bins")
    head = b"POST /histeq?bins=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n"
    (status, headers, _), = responses(daemon.raw(head))
    assert status == 400 and headers["connection"] == "close"
    assert daemon.becomes_idle()


def test_refusal_is_seen_by_a_client_that_reads_at_the_end(shared):
    """Most client libraries write the whole body before they look for an answer."""
    daemon = shared("--body-bytes-max", "8MiB")
    for path, size, status in (("/histeq?bins=1", 3 * MB, 400), ("/histeq", 12 * MB, 413)):
        for _ in range(5):
            assert daemon.post(path, bytes(size)).status == status
    two = [("image", PICTURE, "a.pgm"), ("file", bytes(6 * MB), "b.pgm")]
    for _ in range(5):
        check_problem(daemon.post_form("/histeq", two), 400, "two image parts")


@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "in chunks"])
def test_refusal_in_mid_body_is_sent_at_once(daemon, chunked):
    """A second image shows after 1 KB of 24 MB: the client gets the refusal before it has sent the rest."""
    body, content_type = form([("image", PICTURE, "a.pgm"), ("file", PICTURE, "b.pgm")])
    with daemon.socket() as s:
        s.sendall(f"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\n".encode()
                  + (b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" if chunked else b"Content-Length: %d\r\n\r\n")
                  % 24000000 + body)
        (status, headers, refusal), = responses(read_to_end(s))
    assert status == 400 and b"two image parts" in refusal and headers["connection"] == "close"
    assert daemon.becomes_idle()


def test_little_that_is_left_is_read_to_its_end(daemon):
    """The same with less than a MiB to come: the connection can be used again."""
    body, content_type = form([("image", PICTURE, "a.pgm"), ("file", PICTURE, "b.pgm"), ("file", bytes(900000), "c")])
    head = f"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\n".encode()
    data = daemon.raw(head + b"Content-Length: %d\r\n\r\n" % len(body) + body
                      + b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert [status for status, _, _ in responses(data)] == [400, 200]


@pytest.mark.parametrize("framing", [b"Content-Length: 70000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"
                                     b"400000\r\n" + bytes(4 * MB)], ids=["announced", "in chunks"])
def test_refusal_is_in_log_and_metrics(start, framing):
    """Both have the status that the client read, though the rest of its body never came; 499 means that no answer was sent."""
    daemon = start("--body-bytes-max", "2MiB")
    for _ in range(3):
        with daemon.socket() as s:
            s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\n" + framing)
            (status, _, _), = responses(read_to_end(s))
            assert status == 413
    assert daemon.becomes_idle()
    counted = {key: value for key, value in daemon.samples().items() if key.startswith("burin_requests_total") and value}
    assert counted == {'burin_requests_total{op="histeq",code="413"}': 3}
    log = daemon.log_text()
    assert log.count('"status":413') == 3 and '"status":499' not in log


# ---- slow clients

def closed_after(sock, trickle, every, longest):
    """Sends a byte every EVERY seconds until the other side closes; returns the seconds until then."""
    start = time.monotonic()
    sock.settimeout(every)
    while time.monotonic() - start < longest:
        try:
            sock.sendall(trickle)
            if not sock.recv(4096):
                return time.monotonic() - start
        except socket.timeout:
            pass
        except (BrokenPipeError, ConnectionResetError):
            return time.monotonic() - start
    raise AssertionError(f"still open after {longest} s")


def test_clients_that_trickle(start):
    """All are disconnected long before the ten seconds and more that they would have without these flags."""
    daemon = start("--header-ms", "400", "--body-ms", "700", "--keep-alive-ms", "500")
    with daemon.socket() as s:
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nX: ")
        assert closed_after(s, b"a", 0.05, 8) > 0.3
    with daemon.socket() as s:  # not a byte
        s.settimeout(8)
        assert s.recv(10) == b""
    for framing in (b"Content-Length: 1000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\nfffff\r\n"):
        with daemon.socket() as s:
            s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\n" + framing)
            assert closed_after(s, b"a", 0.05, 20) > 0.5
        assert daemon.becomes_idle()
    with daemon.socket() as s:  # one request, then nothing
        s.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert s.recv(4096).startswith(b"HTTP/1.1 200")
        s.settimeout(12)
        begin = time.monotonic()
        assert s.recv(10) == b"" and time.monotonic() - begin > 0.3
    assert daemon.works()


def test_slow_but_steady_is_served(start):
    """A client slower than body_ms, but faster than body_rate_bytes, is waited for."""
    daemon = start("--body-ms", "3000", "--body-rate-bytes", "20")
    with daemon.socket() as s:
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                  % len(PICTURE))
        for at in range(0, len(PICTURE), 100):
            s.sendall(PICTURE[at:at + 100])
            time.sleep(0.5)
        (status, _, _), = responses(read_to_end(s))
    assert status == 200


FEW_SLOTS = "--slots", "4"


def trickle(daemon, sent=b"P"):
    """An upload that sends next to nothing."""
    s = daemon.socket()
    s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + sent)
    return s


def test_a_byte_keeps_nobody_out_for_long(start):
    """As many clients as there are slots send one byte, again and again: soon all others are served, and /readyz says so
    meanwhile. As soon as one slot is free the rest are left alone, so the number of cut uploads varies."""
    daemon = start(*FEW_SLOTS, "--body-pressed-ms", "4000")
    cut = 0
    for _ in range(2):
        begin = time.monotonic()
        clients = [trickle(daemon) for _ in range(4)]
        assert wait_until(lambda: daemon.metric("slots_in_use") == 4)
        check_problem(daemon.post("/histeq", PICTURE), 503, "being served")
        ready = daemon.get("/readyz")
        assert ready.status == 503 and ready.json["status"] == "no slot free"
        assert daemon.get("/livez").status == 200
        assert wait_until(daemon.ready)
        assert time.monotonic() - begin > 3.9
        assert daemon.works()
        before, cut = cut, daemon.samples()['burin_connections_ended_total{reason="body"}']
        assert 1 <= cut - before <= 4
        for s in clients:
            s.close()
        assert daemon.becomes_idle()


def test_uploads_at_an_honest_rate_are_not_pressed(start):
    """They are left alone however long they take while no slot is free; uploads beside them that stand still are cut, each time."""
    daemon = start(*FEW_SLOTS, "--body-pressed-ms", "1500", "--body-rate-bytes", "1", "--pressed-rate-bytes", "1")
    picture = pnm(noise(96, 64))

    def cut():
        return daemon.samples()['burin_connections_ended_total{reason="body"}']

    with daemon.socket() as s:
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                  % len(picture))
        s.sendall(picture[:2000])
        at, others, begin = 2000, [], time.monotonic()
        while cut() < 6 or time.monotonic() - begin < 3:
            if daemon.metric("slots_in_use") < 4:
                others.append(trickle(daemon))
            s.sendall(picture[at:at + 1])  # at most 20 bytes a second: the upload takes minutes
            at += 1
            time.sleep(0.05)
            assert at < len(picture), "no slot was ever short"
        s.sendall(picture[at:])
        (status, _, _), = responses(read_to_end(s))
    assert status == 200
    for t in others:
        t.close()
    assert daemon.becomes_idle()


def test_slow_uploads_are_not_pressed_while_there_is_room(start):
    """Stalled uploads are cut only once the last slot is taken; a client that has sent nothing holds no slot and is left alone."""
    daemon = start(*FEW_SLOTS, "--body-pressed-ms", "2000")
    with trickle(daemon) as a, trickle(daemon) as b, trickle(daemon) as c, trickle(daemon, b"") as silent:
        assert wait_until(lambda: daemon.metric("slots_in_use") == 3)
        time.sleep(2.5)
        assert daemon.metric("slots_in_use") == 3 and daemon.ready()
        with trickle(daemon):
            assert wait_until(lambda: daemon.metric("slots_in_use") == 1), "the last slot is taken, and they are late"
            time.sleep(2.5)
            assert daemon.metric("slots_in_use") == 1, "who took it is pressed no more"
        assert daemon.samples()['burin_connections_ended_total{reason="body"}'] == 3
        silent.sendall(bytes(1000))
        assert silent.recv(100).startswith(b"HTTP/1.1 415"), "one that had sent nothing kept nobody out"
        for s in (a, b, c):
            assert read_to_end(s) == b""
    assert daemon.becomes_idle()


def reader(daemon, body):
    """A client that has sent BODY and has little room for its answer."""
    s = daemon.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return s


def test_client_that_does_not_read(start):
    """An answer larger than the sockets' buffers that its client does not read: the client is disconnected after write_ms, not
    after the minutes that the answer's size would allow a reading client, and its slot is released."""
    daemon = start("--write-ms", "1000")
    with asker(daemon), asker(daemon):
        assert wait_until(lambda: daemon.metric("requests_in_progress") == 3)
        assert daemon.becomes_idle(60), "its size would allow minutes"
    assert daemon.samples()['burin_connections_ended_total{reason="write"}'] == 2
    assert daemon.works()


TALL = large_png(4000, 2000)  # 8 KB that become 8 MB of PNM
AS_PNM = "/grayscale?type=pnm"


def pool_bytes(daemon):
    """Shared memory that is really allocated."""
    folder = f"/proc/{daemon.process.pid}/fd"
    for fd in os.listdir(folder):
        try:
            if "memfd:burin-slots " in os.readlink(f"{folder}/{fd}"):
                return os.stat(f"{folder}/{fd}").st_blocks * 512
        except FileNotFoundError:
            pass  # the connection has just ended
    raise AssertionError("no slots among its descriptors")


def asker(daemon):
    """A client that requests 8 MB and reads nothing of them."""
    s = daemon.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
              % (AS_PNM.encode(), len(TALL)) + TALL)
    return s


def test_answers_that_nobody_takes_are_bounded(start):
    """The answer that reaches the bound is still sent; then work is refused at its headers until an answer has been read."""
    daemon = start("--answer-bytes", "10MB")
    with asker(daemon) as first:
        assert wait_until(lambda: 0 < daemon.metric("answer_bytes_held") - 8000000 - len(TALL) < 5000)
        assert daemon.works(), "under the bound"
        with asker(daemon):
            assert wait_until(lambda: daemon.metric("answer_bytes_held") >= 16000000)
            check_problem(daemon.post("/histeq", PICTURE), 503, "answer_bytes", "10000000")
            head = b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n"
            (status, headers, body), = responses(daemon.raw(head))
            assert status == 503 and b"answer_bytes" in body and int(headers["retry-after"]) >= 1
            assert daemon.samples()['burin_rejected_total{reason="answers"}'] == 2
            assert daemon.post("/info", PICTURE).status == 200, "that makes no answer of any size"
            (status, _, body), = responses(read_to_end(first))
            assert status == 200 and 8000000 < len(body) < 8000100
            assert wait_until(lambda: daemon.metric("answer_bytes_held") < 10000000)
            assert daemon.works()
    assert daemon.becomes_idle()


def test_answers_made_meanwhile_are_bounded_too(start):
    """All requests were let in while no answer was held: those whose answers exceed the bound in the end are disconnected at once."""
    daemon = start("--answer-bytes", "10MB", "--lanes", "1")
    worker, = daemon.children()
    before = pool_bytes(daemon)
    freeze(worker)
    try:
        clients = [asker(daemon) for _ in range(6)]
        assert wait_until(lambda: daemon.metric("jobs_in_progress") + daemon.metric("queue_depth") == 6)
    finally:
        thaw(worker)
    assert wait_until(lambda: daemon.metric("jobs_in_progress") + daemon.metric("queue_depth") == 0)
    assert wait_until(lambda: daemon.metric("slots_in_use") == 2), "the others hold nothing"
    assert 0 < daemon.metric("answer_bytes_held") - 2 * (8000000 + len(TALL)) < 10000
    assert 12500000 < pool_bytes(daemon) - before < 17000000  # each slot had 1.5 MiB before
    assert daemon.samples()['burin_rejected_total{reason="answers"}'] == 4
    found = []
    for s in clients:
        (status, headers, body), = responses(read_to_end(s))
        found.append(status)
        if status == 503:
            assert b"answer_bytes" in body and int(headers["retry-after"]) >= 1
        s.close()
    assert sorted(found) == [200] * 2 + [503] * 4
    assert daemon.becomes_idle()
    assert pool_bytes(daemon) == before
    assert daemon.works()


def test_answer_that_is_left_holds_nothing(start):
    daemon = start("--answer-bytes", "1")
    with asker(daemon):
        assert wait_until(lambda: daemon.metric("answer_bytes_held") >= 8000000)
        check_problem(daemon.post("/histeq", PICTURE), 503, "answer_bytes")
    assert daemon.becomes_idle()
    assert daemon.works()


def test_finished_work_is_no_upload(start):
    """Two clients read nothing of their answers: their uploads count among the answers, and keep no new upload out."""
    picture = pnm(noise(3000, 2000))
    daemon = start("--queue-bytes", "12MiB")
    with reader(daemon, picture), reader(daemon, picture):
        assert wait_until(lambda: daemon.metric("answer_bytes_held") >= 4 * len(picture))
        assert daemon.metric("body_bytes_held") == 0
        assert 4 * len(picture) <= daemon.metric("answer_bytes_held") < 4 * len(picture) + 20000
        assert daemon.post("/histeq", picture).status == 200, "it has the room of both to itself"
        assert daemon.samples()['burin_rejected_total{reason="bytes"}'] == 0
    assert daemon.becomes_idle()


def half_read(daemon, picture, answer="*/*"):
    """A client that leaves in the middle of a long answer."""
    with daemon.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nAccept: %s\r\nContent-Length: %d\r\n\r\n"
                  % (answer.encode(), len(picture)) + picture)
        assert len(s.recv(1000)) > 0


WAYS_OUT = {
    "an image": lambda d, p: d.post("/histeq", p),
    "image and report": lambda d, p: d.post("/histeq", p, {"Accept": "multipart/mixed"}),
    "the report": lambda d, p: d.post("/histeq", p, {"Accept": "application/json"}),
    "values alone": lambda d, p: d.post("/histogram", p, {"Accept": "application/json"}),
    "facts": lambda d, p: d.post("/info", p),
    "no such parameter": lambda d, p: d.post_form("/histeq", [("image", p, "a"), ("bins", "1", None)]),
    "no image": lambda d, p: d.post("/histeq", b"x" * len(p)),
    "no whole image": lambda d, p: d.post("/histeq", p[:-1]),
    "left in the middle": half_read,
    "left in the middle of two parts": lambda d, p: half_read(d, p, "multipart/mixed"),
}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_nothing_stays_held_on_any_way_out(shared, way):
    """Uploads and answers have room for just one such request, so a request that leaves bytes held makes the next one fail."""
    picture = pnm(noise(3000, 1000)) if "left" in way else pnm(noise(800, 600))  # larger than the sockets' buffers, or than a small slot
    daemon = shared("--queue-bytes", str(len(picture) + 1000), "--answer-bytes", "1")
    for _ in range(2):
        WAYS_OUT[way](daemon, picture)
        assert daemon.becomes_idle()
    assert daemon.samples()['burin_rejected_total{reason="bytes"}'] == 0
    assert daemon.samples()['burin_rejected_total{reason="answers"}'] == 0
    assert daemon.post("/histeq", picture).status == 200


def test_client_that_reads_slowly_is_served(start):
    """A client above write_rate_bytes gets its whole answer, though that takes many times write_ms."""
    daemon = start("--write-ms", "1000", "--write-rate-bytes", "100KiB")
    picture = pnm(noise(3000, 2500))
    with reader(daemon, picture) as s:
        answer, begin = bytearray(), time.monotonic()
        while got := s.recv(1 << 16):
            answer += got
            time.sleep(0.03)
    assert time.monotonic() - begin > 2, "it was not slow: nothing is tested"
    (status, _, body), = responses(bytes(answer))
    assert status == 200 and len(body) == len(picture)
    assert daemon.becomes_idle()


# ---- clients that leave

@pytest.mark.parametrize("how", ["FIN", "RST"])
def test_hang_up_in_mid_upload(daemon, how):
    clients = []
    for i in range(8):
        s = daemon.socket()
        s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" + bytes(100000 * i))
        clients.append(s)
    assert wait_until(lambda: daemon.metric("slots_in_use") == 7), "all but the one that has sent none of its body"
    for s in clients:
        if how == "RST":
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    assert daemon.becomes_idle()
    assert daemon.works()


def test_hang_up_with_the_last_bytes(daemon):
    """Data and FIN arrive in one burst: libmicrohttpd sometimes overlooks the FIN."""
    for i in range(40):
        with daemon.socket() as s:
            s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: 3000\r\n\r\n" + bytes(70 * i))
            s.shutdown(socket.SHUT_WR)
    assert daemon.becomes_idle()
    assert daemon.works()


def test_hang_up_while_the_job_runs(start):
    """The worker stops the job too, which would have taken seconds."""
    daemon = start("--lanes", "1")
    body = large_png(4000, 4000)
    worker, = daemon.children()
    used = cpu_seconds(worker)
    assert daemon.post(LONGER_PATH, body, timeout=600).status == 200
    alone, used = cpu_seconds(worker) - used, cpu_seconds(worker)
    with daemon.socket() as s:
        s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (LONGER_PATH.encode(), len(body)) + body)
        assert wait_until(lambda: cpu_seconds(worker) > used + 0.03)
    assert daemon.becomes_idle()
    assert cpu_seconds(worker) - used < 0.6 * alone, "the job was not cancelled"
    assert wait_until(lambda: 'code="499"' in daemon.get("/metrics").body.decode())
    assert daemon.works()


def test_hang_up_while_waiting_in_the_queue(start):
    """Its job is returned at once; the jobs before and behind it are not disturbed."""
    daemon = start("--lanes", "1")
    worker, = daemon.children()
    head = b"POST /histeq HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(PICTURE)
    freeze(worker)
    try:
        clients = []
        for _ in range(6):  # two at the worker, four in the queue
            clients.append(daemon.socket())
            clients[-1].sendall(head + PICTURE)
            assert wait_until(lambda: daemon.metric("slots_in_use") == len(clients))
        assert wait_until(lambda: daemon.metric("queue_depth") == 4)
        for s in clients[3:5]:
            s.close()
        assert wait_until(lambda: daemon.metric("queue_depth") == 2 and daemon.metric("slots_in_use") == 4)
        clients[0].close()  # the worker has this job: it ends when the worker checks for cancellation
    finally:
        thaw(worker)
    for s in clients[1:3] + clients[5:]:
        (status, _, _), = responses(read_to_end(s))
        assert status == 200
        s.close()
    assert daemon.becomes_idle()
    assert daemon.children() == [worker]
    assert daemon.works()


def test_storm_of_clients_that_leave(daemon):
    """Clients cut off at random points, in both ways, leave nothing behind."""
    body, content_type = form([("image", jpeg(smooth(320, 240)), "a.jpg")])
    data = (b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Type: " + content_type.encode()
            + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    for i in range(300):
        s = daemon.socket()
        s.sendall(data[:1 + i * 7919 % len(data)] if i % 4 else data)
        if i % 2:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    assert daemon.becomes_idle()
    assert daemon.works()


def test_half_closed_client_gets_its_answer_or_is_let_go(daemon):
    """A FIN behind a whole request counts as leaving while the job waits; both outcomes are orderly."""
    for _ in range(20):
        with daemon.socket() as s:
            s.sendall(b"POST /histeq HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(PICTURE) + PICTURE)
            s.shutdown(socket.SHUT_WR)
            for status, _, _ in responses(read_to_end(s)):
                assert status in (200, 499)
    assert daemon.becomes_idle()
    assert daemon.works()
