# SPDX-License-Identifier: Apache-2.0
"""How the page is served: its files, made of those in server/web/, in both codings, with the headers that a browser needs. What the page
does in a browser is tested in tests/page/.

covers: server/http/handle_document.c"""
import gzip
import json
import pathlib
import re
import subprocess

import pytest

from conftest import check_problem

ROOT = pathlib.Path(__file__).parents[2]
WEB = ROOT / "server/web"
SOURCES = sorted(path.name for path in WEB.iterdir())
FILES = ["coffee.webp", "decoder.js", "icon.svg", "index.html", "look.js", "main.js", "page.css"]  # as they are served
RECORDS = ROOT / "pipeline/codecs"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml", ".webp": "image/webp"}
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Accept-Encoding": "gzip, deflate, br"}
GZIPPED_MAX = 90_000  # bytes of all files together


def version_of(daemon):
    """The folder in which the page names its files."""
    return re.search(r'"/web/([0-9a-f]{24})/main.js"', daemon.get("/", Accept=BROWSER["Accept"]).body.decode())[1]


def page_of(daemon):
    """index.html with that folder."""
    return (WEB / "index.html").read_bytes().replace(b'"/web/', f'"/web/{version_of(daemon)}/'.encode())


def check_headers(headers):
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "style-src 'self';" in policy
    assert "unsafe" not in policy and "data:" not in policy and "http" not in policy and "*" not in policy
    assert "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-cache"
    assert re.fullmatch(r'"[0-9a-f]{24}(-gzip)?"', headers["ETag"])
    assert "Accept-Encoding" in headers["Vary"]


@pytest.mark.parametrize("name", FILES)
def test_every_file_in_both_forms(daemon, name):
    plain = daemon.get(f"/web/{name}")
    packed = daemon.get(f"/web/{name}", **{"Accept-Encoding": "gzip"})
    assert plain.status == packed.status == 200
    assert plain.body == gzip.decompress(packed.body)
    if name == "index.html":
        assert plain.body == page_of(daemon)
    elif not name.endswith((".js", ".css")):
        assert plain.body == (WEB / name).read_bytes()
    assert plain.headers["Content-Encoding"] is None and packed.headers["Content-Encoding"] == "gzip"
    assert plain.headers["ETag"] != packed.headers["ETag"]
    for answer in (plain, packed):
        check_headers(answer.headers)
        assert answer.headers["Content-Type"] == TYPES[pathlib.Path(name).suffix]
        assert int(answer.headers["Content-Length"]) == len(answer.body)


def test_scripts_and_styles_are_joined(daemon):
    """A browser asks for one file of each kind: no module asks for another, and every rule is in the style sheet."""
    styles = daemon.get("/web/page.css").body.decode()
    sources = [path.read_text() for path in WEB.glob("*.css")]
    assert all(source in styles for source in sources) and len(styles) == sum(map(len, sources)) and styles.startswith((WEB / "tokens.css").read_text())
    scripts = "".join(daemon.get(f"/web/{name}").body.decode() for name in ("main.js", "decoder.js", "look.js"))
    assert set(re.findall(r"""["'`]\./([\w.]+)""", scripts)) == {"coffee.webp", "decoder.js"}
    for module in WEB.glob("*.js"):
        words = re.findall(r"'([\w -]{4,})'", module.read_text())
        assert not words or any(f'"{word}"' in scripts for word in words), module


def test_a_file_of_this_version_is_kept(daemon):
    """A browser asks for it once; a version of another daemon gets this one's file, and asks again."""
    version, plain = version_of(daemon), daemon.get("/web/main.js")
    kept = daemon.get(f"/web/{version}/main.js")
    assert kept.status == 200 and kept.body == plain.body and kept.headers["ETag"] == plain.headers["ETag"]
    assert kept.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert plain.headers["Cache-Control"] == daemon.get("/", **BROWSER).headers["Cache-Control"] == "no-cache"
    other = daemon.get(f"/web/{'0' * 24}/main.js")
    assert other.status == 200 and other.body == plain.body and other.headers["Cache-Control"] == "no-cache"
    for path in (f"/web/{version}", f"/web/{version}/", f"/web/{version}/nothing.js", f"/web/{version}/{version}/main.js",
                 f"/web/{version[1:]}/main.js", f"/web/{version}0/main.js", f"/web/{version.upper()}0/main.js", f"/web/{version}/../main.js"):
        assert daemon.get(path).status == 404, path


def test_formats_come_of_their_records(daemon):
    """formats.js is made by server/formats_js.awk: what it says is what the daemon does."""
    module = subprocess.run(["awk", "-f", ROOT / "server/formats_js.awk", *RECORDS.glob("*.c")], check=True, capture_output=True, text=True).stdout
    formats = {}
    for text in re.findall(r"\{\n(.*?)\n    \},", module, re.S):
        fields = dict(re.findall(r"^ +(\w+): (.*),$", text, re.M))
        formats[json.loads(fields["name"])] = fields
    described = daemon.get("/openapi.json").json
    places = {name: int((re.search(r"offered: (\d+)", fields.get("places", "")) or [0, 256])[1]) for name, fields in formats.items()}
    offered = sorted((name for name in formats if "written" in formats[name]), key=places.get)
    assert ["auto", *offered] == described["components"]["parameters"]["type"]["schema"]["enum"]
    media_types = {json.loads(fields["media_types"])[0] for fields in formats.values() if "read" in fields}
    body = described["components"]["requestBodies"]["Image"]["content"]
    assert media_types == {name for name in body if name.startswith("image/")}
    assert sorted(formats) == sorted(path.stem for path in RECORDS.glob("*.c"))
    assert all(json.loads(fields["title"]).lower() == name for name, fields in formats.items())
    assert all(json.loads(fields["endings"]) for fields in formats.values())
    for name, fields in formats.items():
        for option in ("quality", "lossless", "effort", "progressive", "compression", "palette"):
            listed = re.search(rf'\b{json.loads(fields["title"])}\b', described["components"]["parameters"][option]["description"])
            assert (option in json.loads(fields.get("abilities", "[]"))) == bool(listed), (name, option)


def test_all_of_it_is_small(daemon):
    total = sum(len(daemon.get(f"/web/{name}", **{"Accept-Encoding": "gzip"}).body) for name in FILES)
    assert 0 < total < GZIPPED_MAX, total


def test_the_page_is_for_browsers_and_json_for_programs(daemon):
    page = daemon.get("/", Accept=BROWSER["Accept"])
    assert page.status == 200 and page.body == page_of(daemon)
    check_headers(page.headers)
    for accept in (None, "*/*", "application/json", "text/plain"):
        answer = daemon.get("/", **({"Accept": accept} if accept else {}))
        assert answer.status == 200 and answer.headers["Content-Type"] == "application/json"
        assert answer.json["name"] == "burin"
        assert "Accept" in answer.headers["Vary"].split(", ")
    assert "Accept" in page.headers["Vary"].split(", ")


@pytest.mark.parametrize("path", ["/", "/web/main.js"])
def test_head_says_the_same(daemon, path):
    got, head = daemon.get(path, **BROWSER), daemon.request("HEAD", path, None, BROWSER)
    assert got.status == head.status == 200 and got.body and head.body == b""
    for name in ("Content-Type", "Content-Length", "Content-Encoding", "ETag", "Cache-Control", "Content-Security-Policy", "Vary"):
        assert got.headers[name] == head.headers[name], name


@pytest.mark.parametrize("coding", ["gzip", "identity"])
def test_what_is_known_is_not_sent_again(daemon, coding):
    first = daemon.get("/web/main.js", **{"Accept-Encoding": coding})
    tag = first.headers["ETag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = daemon.get("/web/main.js", **{"Accept-Encoding": coding, "If-None-Match": known})
        assert answer.status == 304 and answer.body == b"", known
        assert answer.headers["Content-Length"] in (None, first.headers["Content-Length"])
        check_headers(answer.headers)
        assert answer.headers["ETag"] == tag
    for unknown in ('"other"', tag.strip('"'), tag[:-2] + '"'):
        answer = daemon.get("/web/main.js", **{"Accept-Encoding": coding, "If-None-Match": unknown})
        assert answer.status == 200 and answer.body == first.body, unknown


def test_a_tag_of_one_form_is_none_of_the_other(daemon):
    tag = daemon.get("/web/main.js").headers["ETag"]
    assert daemon.get("/web/main.js", **{"Accept-Encoding": "gzip", "If-None-Match": tag}).status == 200


@pytest.mark.parametrize("path", ["/web", "/web/", "/web/nothing.js", "/web/../main.c", "/web/steps.js", "/web/formats.js", "/web/steps.css", "/web/%2e%2e/main.c", "/web/main.js/",
                                  "/web/MAIN.JS", "/web//main.js", "/web/index.html%00", "/main.js", "//"])
def test_no_other_path(daemon, path):
    answer = daemon.get(path)
    assert answer.status in (400, 404), answer.status
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_only_to_be_read(daemon):
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        answer = daemon.request(method, "/web/main.js", b"")
        check_problem(answer, 405, "GET")
        assert answer.headers["Allow"] == "GET, HEAD"


def test_not_on_the_admin_socket(start):
    import socket
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    daemon = start("--admin-listen", f"127.0.0.1:{port}")
    daemon.port = port
    assert daemon.get("/", **BROWSER).status == 404
    assert daemon.get("/web/main.js").status == 404


def test_files_name_each_other_and_nothing_outside():
    """Every file is used, every named file exists, and no file names an address outside the daemon."""
    named = {"index.html", *(name for name in SOURCES if name.endswith(".css"))}
    for name in SOURCES:
        text = (WEB / name).read_text(encoding="utf-8", errors="replace")
        found = set(re.findall(r"""["'(]/web/([\w.]+)""", text)) | set(re.findall(r"""(?:from |URL\()'\./([\w.]+)'""", text))
        named |= found
        assert found <= {*SOURCES, "formats.js"}, (name, found - set(SOURCES))
        outside = set(re.findall(r"\bhttps?://[^\s'\"]+", text)) - {"http://www.w3.org/2000/svg"}
        assert not outside, (name, outside)
        assert "innerHTML" not in text and "eval(" not in text, name
    assert named == {*SOURCES, "formats.js"}, set(SOURCES) - named
    page = (WEB / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|style=|<script(?![^>]* src=)|\son\w+=", page), "the policy forbids what stands inline"
