# SPDX-License-Identifier: Apache-2.0
"""The packages that only tests use, fetched with npm: axe-core and @redocly/cli, locked in tests/page/; blurhash and thumbhash,
locked in tests/reference/. Burin itself needs none of them."""
import pathlib
import shutil
import subprocess

import pytest

PAGE = pathlib.Path(__file__).parents[1] / "page"


def npm_packages(folder, lock=PAGE, develop=True):
    """node_modules in FOLDER with the packages of LOCK's package-lock.json, each checked by its digest; skips where npm cannot fetch.
    DEVELOP: with those for development."""
    npm = shutil.which("npm")
    if not npm:
        pytest.skip("npm is not installed")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(lock / name, folder)
    # Digests are locked: npm's cache need not be checked against the registry.
    done = subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-timeout=20000",
                           *([] if develop else ["--omit=dev"])], cwd=folder, capture_output=True, text=True, timeout=120)
    if done.returncode and "EINTEGRITY" not in done.stderr:
        pytest.skip("npm could not fetch the packages: " + done.stderr.strip()[-200:])
    assert done.returncode == 0, done.stderr
    return folder / "node_modules"
