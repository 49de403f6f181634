#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sign.py FILE KEY METHOD PATH [NAME=VALUE]... - prints an address that a key of a file of keys has signed, for five minutes."""
import base64
import hashlib
import hmac
import json
import sys
import time
from urllib.parse import quote, urlencode


def signed(method, path, key, secret, query):
    query = {"key": key, "expires": int(time.time()) + 300, **query}
    text = urlencode(sorted(query.items()), quote_via=quote, safe="")
    message = f"burin-1\n{method}\n{path}\n{text}"
    digest = hmac.new(base64.urlsafe_b64decode(secret + "="), message.encode(), hashlib.sha256).digest()
    return f"{path}?{text}&signature={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def secret_of(file, key):
    with open(file, encoding="utf-8") as f:
        return next(entry["secret"] for entry in json.load(f)["keys"] if entry["id"] == key)


if __name__ == "__main__":
    file, key, method, path, *arguments = sys.argv[1:]
    query = dict(argument.split("=", 1) for argument in arguments)
    if len(query) < len(arguments):
        sys.exit("a name is given twice")
    print(signed(method, path, key, secret_of(file, key), query))
