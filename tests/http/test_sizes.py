# SPDX-License-Identifier: Apache-2.0
"""Units of a size, in every key that takes one."""
import json
import subprocess

import pytest

from conftest import BURIN


def config(*flags):
    done = subprocess.run([BURIN, "config", "--json", *flags], capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("text,size", [
    ("12345", 12345), ("12345B", 12345), ("7KB", 7000), ("7KiB", 7168), ("3MB", 3000000), ("3MiB", 3145728),
    ("2GB", 2000000000), ("2GiB", 2147483648), ("1TB", 10 ** 12), ("1TiB", 1 << 40), ("3mib", 3145728), ("3 MiB", 3145728)])
def test_units(text, size):
    assert config(f"--queue-bytes={text}")["queue_bytes"] == {"value": size, "from": "flag"}


@pytest.mark.parametrize("text", ["3M", "3K", "MiB", "3.5MiB", "-3MiB", "3MiBs", "0x10", "9999999999TiB", ""])
def test_no_sizes(text):
    message = config(f"--queue-bytes={text}")
    assert isinstance(message, str) and "queue_bytes" in message and "1024GiB" in message or "1TiB" in message, message
