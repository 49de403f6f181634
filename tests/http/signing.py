# SPDX-License-Identifier: Apache-2.0
"""Keys and signed addresses as a client in Python makes them, apart from the program's own code."""
import base64
import hashlib
import hmac
import json
import time
from urllib.parse import quote


def text_of(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def encoded(pairs):
    """One way to write them: letters, digits and - . _ ~ as they are."""
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in pairs)


class Key:
    """A key of a file of keys: its entry, its token, and what it signs."""

    def __init__(self, id, seed, **members):
        self.id = id
        self.secret = hashlib.sha256(f"secret of {seed}".encode()).digest()
        self.token = f"burin_{id}_" + text_of(hashlib.sha256(f"token of {seed}".encode()).digest())
        self.members = members

    @property
    def entry(self):
        entry = {"id": self.id, "secret": text_of(self.secret), "token_sha256": hashlib.sha256(self.token.encode()).hexdigest(),
                 **self.members}
        return {name: value for name, value in entry.items() if value is not None}

    @property
    def bearer(self):
        return {"Authorization": f"Bearer {self.token}"}

    def signature(self, method, path, pairs):
        pairs = sorted((name.encode(), name, value) for name, value in pairs if name != "signature")
        message = f"burin-1\n{method}\n{path}\n" + encoded((name, value) for _, name, value in pairs)
        return text_of(hmac.new(self.secret, message.encode(), hashlib.sha256).digest())

    def sign(self, path, method="POST", seconds=3600, **arguments):
        """The address for PATH with these arguments."""
        pairs = [(name, str(value)) for name, value in {"key": self.id, "expires": int(time.time()) + seconds, **arguments}.items()
                 if value is not None]
        return f"{path}?{encoded(pairs + [('signature', self.signature(method, path, pairs))])}"


def write_keys(path, *keys, **presets):
    """As a whole, as an editor does."""
    fresh = path.with_suffix(".new")
    fresh.touch(0o600)
    fresh.write_text(json.dumps({"keys": [key.entry for key in keys], "presets": presets}))
    fresh.rename(path)
    return str(path)
