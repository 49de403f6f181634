# SPDX-License-Identifier: Apache-2.0
"""Forms, queries and texts as ordinary clients write them: heads folded over lines, quotes as browsers write them, JSON as a
browser's Blob, pairs left empty, byte order marks.

covers: server/request/upload.c server/request/multipart_parser.c server/http/request_flow.c config/config.c"""
import json
import subprocess
import urllib.parse

import numpy as np
import pytest

from conftest import BURIN, check_problem, from_pnm, noise, pnm

PICTURE = noise(20, 10)
IMAGE = (b'Content-Disposition: form-data; name="image"; filename="a.pgm"\r\n', pnm(PICTURE))
FLOP = json.dumps([{"operation": "flop"}]).encode()
MARK = b"\xef\xbb\xbf"


def post(daemon, *parts, path="/pipeline"):
    """PARTS: their heads, each line with its end, and their bodies."""
    body = b"".join(b"--bb\r\n" + head + b"\r\n" + value + b"\r\n" for head, value in parts) + b"--bb--\r\n"
    return daemon.post(path, body, {"Content-Type": "multipart/form-data; boundary=bb"})


def is_flopped(answer):
    assert answer.status == 200, answer.body
    return np.array_equal(from_pnm(answer.body), PICTURE[:, ::-1])


def field(name, value, rest=b""):
    return b'Content-Disposition: form-data; name="%s"%s\r\n' % (name, rest), value


def test_folded_heads(daemon):
    image = b'Content-Disposition: form-data;\r\n name="image";\r\n\tfilename="a\r\n b.pgm"\r\nContent-Type:\r\n  image/x-portable-anymap\r\n'
    operations = b'Content-Disposition:\r\n form-data; name=operations\r\nX-Other: a\r\n \r\n b\r\n'
    assert is_flopped(post(daemon, (image, IMAGE[1]), (operations, FLOP)))
    check_problem(post(daemon, (b" " + image, IMAGE[1])), 400, "part 1 has a header line without a name")


@pytest.mark.parametrize("filename", [b"a\\", b"\\", b"C:\\pictures\\a.pgm", b"a%22b", b'a\\"b', b"a\\\\", b""])
def test_file_names_as_browsers_and_curl_write_them(daemon, filename):
    head = b'Content-Disposition: form-data; name="image"; filename="%s"\r\n' % filename
    assert is_flopped(post(daemon, (head, IMAGE[1]), field(b"operations", FLOP)))


@pytest.mark.parametrize("content_type", [b"application/json", b"Application/JSON;charset=utf-8"])
def test_json_as_a_blob(daemon, content_type):
    """A browser gives a part a Content-Type only with a file name."""
    def blob(name, value):
        head, value = field(name, value, b'; filename="blob"')
        return head + b"Content-Type: %s\r\n" % content_type, value

    assert is_flopped(post(daemon, IMAGE, blob(b"operations", FLOP)))
    answer = post(daemon, blob(b"outputs", json.dumps([{"operations": json.loads(FLOP), "type": "pnm"}]).encode()), IMAGE)
    assert answer.status == 200 and pnm(PICTURE[:, ::-1]) in answer.body
    check_problem(post(daemon, IMAGE, blob(b"operations", b"[")), 400, "operations must be a JSON list")
    check_problem(post(daemon, IMAGE, blob(b"bins", b"16"), path="/histeq"), 400, '"bins" is a file')
    check_problem(post(daemon, IMAGE, blob(b"operations", FLOP), path="/histeq"), 400, "operations")


@pytest.mark.parametrize("content_type", [b"", b"Content-Type: application/octet-stream\r\n", b"Content-Type: application/jsonx\r\n"])
def test_other_files_are_no_parameters(daemon, content_type):
    head, value = field(b"operations", FLOP, b'; filename="blob"')
    check_problem(post(daemon, IMAGE, (head + content_type, value)), 400, '"operations" is a file')


def test_a_boundary_is_followed_by_few_blanks(daemon):
    for blanks, status in ((32, 200), (33, 400), (34, 400)):
        body = b"--bb\r\n" + b"\r\n".join(IMAGE) + b"\r\n--bb" + b" " * blanks + b"\r\n" + b"\r\n".join(field(b"bins", b"16"))
        answer = daemon.post("/histeq", body + b"\r\n--bb--", {"Content-Type": "multipart/form-data; boundary=bb"})
        assert answer.status == status, (blanks, answer.body)


@pytest.mark.parametrize("query", ["?", "?&", "?&&bins=16", "?bins=16&", "?bins=16&&type=pnm&"])
def test_empty_pairs_of_a_query(daemon, query):
    assert daemon.post("/histeq" + query, pnm(PICTURE)).status == 200
    check_problem(daemon.post("/histeq" + query + "&=16", pnm(PICTURE)), 400)


def test_a_byte_order_mark_is_no_part_of_json(daemon):
    assert is_flopped(post(daemon, IMAGE, field(b"operations", MARK + FLOP)))
    assert is_flopped(daemon.post("/pipeline?operations=" + urllib.parse.quote(MARK + FLOP), pnm(PICTURE)))
    check_problem(post(daemon, IMAGE, field(b"operations", MARK * 2 + FLOP)), 400, "operations must be a JSON list")
    check_problem(post(daemon, IMAGE, field(b"operations", MARK + b'[{"operation":"zoom","params":{"factor":1e-400}}]')), 400, "so small")


def test_a_byte_order_mark_is_no_part_of_an_operator(start, tmp_path):
    folder = tmp_path / "operators"
    folder.mkdir(mode=0o755)
    (folder / "marked.c").write_bytes(MARK + b"#P2P_FUNC\r\nstatic unsigned char marked(unsigned char v, int index) { return 255 - v; }\r\n")
    daemon = start("--operators-dir", str(folder), "--operators-cache-dir", str(tmp_path / "cache"))
    assert np.array_equal(from_pnm(daemon.post("/marked", pnm(PICTURE)).body), 255 - PICTURE)


def test_a_byte_order_mark_is_no_part_of_a_configuration(tmp_path):
    """Also where the file cannot be read twice."""
    def config(text, path="/dev/stdin"):
        return subprocess.run([BURIN, "config", "--config", path], input=text, capture_output=True, timeout=60)

    text = b'{"parts_max": 21}\n'
    plain = config(text).stdout
    assert b"21" in plain and config(MARK + text).stdout == plain
    (tmp_path / "marked.json").write_bytes(MARK + text)
    assert config(b"", str(tmp_path / "marked.json")).returncode == 0
    for bad in (MARK, b"", MARK * 2 + text, MARK[:2] + text, text + b"\0", MARK + b"{\n]"):
        failed = config(bad)
        assert failed.returncode != 0 and b"line " in failed.stderr, bad
    assert b"No such file" in config(b"", str(tmp_path / "none.json")).stderr
