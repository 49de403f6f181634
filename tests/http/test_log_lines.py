# SPDX-License-Identifier: Apache-2.0
"""A client's text cannot break a log line: it stays one line of JSON."""
import json
from urllib.parse import quote

from conftest import form, noise, pnm, wait_until

PICTURE = pnm(noise(32, 24))
ODD = ["\r\n", "\n{\"event\":\"request\"}", "\x1b[2J", "\0", "\u2028", "\u2029", "\x7f", "\x85", '"', "\\", "\ud800", "a" * 3000]


def test_odd_words_in_a_request(start):
    daemon = start("--log-level", "info")
    asked = 0
    for odd in ODD:
        raw = odd.encode("utf-8", "surrogatepass")
        word = quote(raw)
        for path in (f"/histeq?{word}=1", f"/histeq?bins={word}", f"/histeq?type={word}", f"/{word}",
                     f"/pipeline?operations=%5B%7B%22operation%22%3A%22{word}%22%7D%5D"):
            assert daemon.post(path, PICTURE).status in (400, 404, 405)
            asked += 1
        parts, content_type = form([("image", PICTURE, "a.pgm"), ("bins", raw, None)])
        assert daemon.request("POST", "/histeq", parts, {"Content-Type": content_type}).status == 400
        asked += 1

    def lines():
        return [json.loads(line) for line in daemon.log_text().splitlines() if line]

    assert wait_until(lambda: len([line for line in lines() if line["event"] == "request"]) == asked)
    assert all(ord(c) >= 32 and c not in "\x7f\x85\u2028\u2029" for c in daemon.log_text().replace("\n", "")), "not printable"
