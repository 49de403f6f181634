# SPDX-License-Identifier: Apache-2.0
"""The form of log lines. A client's text cannot break one: it stays one line of JSON or of logfmt, with the same values in both.

covers: server/log/log.c"""
import glob
import json
import os
import re
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


# ---- logfmt

PAIR = re.compile(r'([a-z_]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s"=\\]+))(?: |$)')


def logfmt(line):
    """Reads a line by the rules of go-logfmt: blanks between pairs, quotes around a value with a blank, a quote, `=` or an escape."""
    fields, at = {}, 0
    while at < len(line):
        pair = PAIR.match(line, at)
        assert pair, f"no pair at {line[at:at + 60]!r} of {line!r}"
        name, quoted, bare = pair.groups()
        assert name not in fields and bare != "", line
        fields[name] = bare if quoted is None else json.loads(f'"{quoted}"')
        at = pair.end()
    return fields


def without_times(fields):
    return {name: str(value) for name, value in fields.items()
            if name not in ("time", "ms", "trace_id", "span_id") and not re.fullmatch(r"\d+\.\d{3}", str(value))}


def test_logfmt_has_the_values_of_json(start):
    """The same requests to two daemons: each line in logfmt has what the line in JSON has."""
    lines = {}
    for form in ("json", "text"):
        daemon = start("--log-format", form)
        for i, odd in enumerate(['say "hi" = 4.4', "a=b", "back\\slash", "", "plain", '"', "\t\n", "\u00e4\u2028", "x y", '="\\"']):
            for path in (f"/histeq?bins={quote(odd)}", f"/histeq?{quote(odd)}=1", f"/{quote(odd)}x"):
                asked = f"{i}-{len(path)}"
                agent = odd.encode("latin-1", "replace").replace(b"\n", b" ").replace(b"\t", b" ").strip()
                assert daemon.request("POST", path, PICTURE, {"X-Request-ID": asked, "User-Agent": agent}).status in (200, 400, 404)
        read = json.loads if form == "json" else logfmt
        found = [without_times(fields) for fields in map(read, daemon.log_text().splitlines()) if fields["event"] == "request"]
        lines[form] = sorted(found, key=lambda line: line["id"])
    assert len({line["id"] for line in lines["json"]}) == len(lines["json"]) == 30 and lines["json"] == lines["text"]
    assert any('\\"' in str(line) or '"' in line.get("error", "") for line in lines["text"])


# ---- names of events

ROOT = os.path.join(os.path.dirname(__file__), "../..")


def test_the_names_of_events_are_documented():
    """Each name in the sources is in the table of the README, and the reverse."""
    named = set()
    for path in glob.glob(f"{ROOT}/server/**/*.c", recursive=True):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        calls = re.findall(r"\blog_event(?:_of)?\((?!enum)\s*[^\"]*?\"(\w+)\"", text)
        assert len(calls) == len(re.findall(r"\blog_event(?:_of)?\((?!enum)", text)), path
        named |= {*calls, *re.findall(r'"event", "(\w+)"', text), *re.findall(r'event\\":\\"(\w+)', text)}
    with open(f"{ROOT}/server/README.md", encoding="utf-8") as f:
        table = f.read().partition("| `event` |")[2].partition("\n\n")[0]
    listed = re.findall(r"`(\w+)`", "\n".join(row.split("|")[1] for row in table.splitlines()[2:]))
    assert len(listed) == len(set(listed)) and set(listed) == named
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", name) for name in named)


def test_an_ordinary_400_is_one_line(start):
    """Without a word of internal errors, even where the connection is closed in the middle of a body."""
    daemon = start("--body-bytes-max", "1MiB")
    assert daemon.post("/histeq?bins=0", PICTURE).status == 400
    daemon.raw(b"POST /histeq?bins=0 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n400000\r\n" + bytes(4 << 20))
    assert wait_until(lambda: daemon.log_so_far().count('"status":400') == 2)
    events = [(line["event"], line["level"]) for line in map(json.loads, daemon.log_text().splitlines())]
    assert "internal error" not in daemon.log_text()
    assert [event for event in events if event[0] not in ("sandbox_on", "worker_started", "http_library")] == [("request", "info")] * 2
