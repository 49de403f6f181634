# SPDX-License-Identifier: Apache-2.0
"""Lost reads and writes between the daemon's own processes: every request is answered all the same."""
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "pressure"))

import lossy_pipes


@pytest.mark.skipif("san" in os.environ.get("BURIN", ""), reason="a sanitizer wants to be loaded first itself")
def test_no_client_waits_for_a_lost_message():
    """One in twenty is lost, both ways, also during start and stop; no worker is taken for ill because of it."""
    load, lost, restarts, whole = lossy_pipes.run(500, 8, 50, "--lanes", "2")
    assert not load.failed and len(load.ms) == 500, load.failed[:3]
    assert lost > 20 and restarts == 0 and whole
    assert max(load.ms) < 8000, "a client waited for longer than a resend takes"
