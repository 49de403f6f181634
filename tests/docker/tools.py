# SPDX-License-Identifier: Apache-2.0
"""Programs that the tests of docker/ need and this machine may not have."""
import glob
import os
import shutil
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def find_tool(name, package):
    """The path of a program: an installed one, or else one of a Debian package that is unpacked below build/, not installed, so no
    service starts and no rights are needed. Skips the test where neither can be had."""
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if found:
        return found
    folder = f"{TOP}/build/tools/{package}"
    places = [f"{folder}/usr/bin/{name}", f"{folder}/usr/sbin/{name}"]
    if not any(map(os.path.exists, places)) and shutil.which("apt-get"):
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, capture_output=True, timeout=300)
        for archive in glob.glob(f"{folder}/*.deb"):
            subprocess.run(["dpkg-deb", "-x", archive, folder], check=True, timeout=300)
            os.remove(archive)
    for place in places:
        if os.path.exists(place):
            return place
    pytest.skip(f"there is no {name} here, and Debian's package {package} cannot be fetched")
