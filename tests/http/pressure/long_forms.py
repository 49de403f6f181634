#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The longer forms of tests in tests/http and tests/page: restarts, reloads and requests by the dozen and the thousand, 64 megapixels.
Goal: as there, no request is lost, no answer is wrong, nothing is left behind. Takes about two minutes."""
import argparse
import os
import subprocess
import sys

FORMS = ("test_life.py::test_thousands_of_requests", "test_life.py::test_workers_killed_under_load", "test_life.py::test_sigterm_under_load",
         "test_life.py::test_drain_under_clients_that_retry", "test_bench.py::test_skeletons_that_are_wrong_have_no_row",
         "test_operators_dir.py::test_hostile_operators_under_load", "test_reload.py::test_under_load",
         "test_reload.py::test_many_in_a_row_leak_nothing", "test_systemd.py::test_restarts_under_load_lose_nothing", "../page/test_page_browser.py::test_many_megapixels")

argparse.ArgumentParser(description=__doc__).parse_args()
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.exit(subprocess.run([sys.executable, "-m", "pytest", "-q", "-rs", *(os.path.join(folder, form) for form in FORMS)],
                        env={**os.environ, "LONG_FORMS": "1"}).returncode)
