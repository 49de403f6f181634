#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""site.py FILE KEY [BURIN [PORT]] - a web site with a page that posts pictures to a Burin at another address.

The key stays here. The page gets addresses that are signed with it: each for one picture, from this page alone, within five
minutes. A site of yours first looks at who asks for one."""
import http.server
import os
import secrets
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/sign")
from sign import secret_of, signed  # noqa: E402

file, key = sys.argv[1:3]
burin = sys.argv[3] if len(sys.argv) > 3 else "http://127.0.0.1:8080"
port = sys.argv[4] if len(sys.argv) > 4 else "8000"
ORIGIN = f"http://127.0.0.1:{port}"  # as browsers write it: the name by which your visitors know the site
SECRET = secret_of(file, key)
with open(f"{HERE}/upload.html", "rb") as f:
    PAGE = f.read()


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/":
            self.answer(200, "text/html; charset=utf-8", PAGE)
        elif self.path == "/address":
            limits = {"origin": ORIGIN, "once": secrets.token_urlsafe(16), "body_max": 8 << 20, "pixels_max": 24_000_000,
                      "in_types": "jpeg,png,webp", "free": "width:16..640"}
            self.answer(200, "text/plain", (burin + signed("POST", "/resize", key, SECRET, {**limits, "type": "webp"})).encode())
        else:
            self.answer(404, "text/plain", b"there is no such page")

    def answer(self, status, kind, body):
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": len(body), "Cache-Control": "no-store"}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Site)
print(f"The page is at {ORIGIN}", flush=True)
server.serve_forever()
