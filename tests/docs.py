#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs.py PROGRAM - prints what PROGRAM says of its operators and keys into the READMEs and config/burin.json."""
import pathlib
import subprocess
import sys

TABLES = [("server/README.md", "ops", "--markdown"), ("server/README.md", "ops", "--parameters"), ("config/README.md", "config", "--markdown")]


def printed(*command):
    return subprocess.run([sys.argv[1], *command], capture_output=True, text=True, check=True).stdout


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    for name, *command in TABLES:
        path, table = pathlib.Path(name), printed(*command)
        lines, head = path.read_text(encoding="utf-8").split("\n"), table.split("\n")[0]
        first = last = lines.index(head)  # the table of the same columns
        while lines[last].startswith("|"):
            last += 1
        path.write_text("\n".join([*lines[:first], *table.rstrip("\n").split("\n"), *lines[last:]]), encoding="utf-8")
    pathlib.Path("config/burin.json").write_text(printed("config", "--defaults"), encoding="utf-8")


main()
