# SPDX-License-Identifier: Apache-2.0
"""What README tells of the program is what the program tells of itself."""
import os
import pathlib
import subprocess

README = pathlib.Path(__file__).parents[2] / "README.md"


def test_operators_are_the_registrys():
    table = subprocess.run([os.environ["BURIN"], "ops", "--markdown"], capture_output=True, text=True, check=True).stdout
    readme = README.read_text(encoding="utf-8").splitlines()
    missing = [row for row in table.splitlines() if row not in readme]
    assert not missing, "replace README's table of operators by what `burin ops --markdown` prints"
