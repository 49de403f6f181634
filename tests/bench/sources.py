#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sources.py [COMMIT] - the size and shape of the sources at a commit (default HEAD), as a Markdown table: lines by folder, lengths of
functions, files and headers, and how many headers state who uses them. `sources.py OLD NEW` counts beside it which names are new."""
import re
import statistics
import subprocess
import sys

SOURCE = (".c", ".h", ".cu", ".cuh")
FACTS = re.compile(r"^ \* (Used by|Owns|Fails|Threads|Limits|Source):", re.M)
FUNCTION = re.compile(r"^[a-zA-Z_][^;{}#]*\)\s*\{\n(.*?)^\}", re.M | re.S)
NAMES = re.compile(r"^(?:[a-zA-Z_][\w\s*]*?[\s*])([a-z_][a-z0-9_]*)\([^;{}]*\)\s*\{", re.M)
TYPES = re.compile(r"^\s*(?:struct|enum|union) ([a-z_][a-z0-9_]*) \{", re.M)


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True).stdout.decode(errors="replace")


def sources(commit):
    """Path to text, of all sources but those of tests."""
    paths = [p for p in git("ls-tree", "-r", "--name-only", commit).split("\n") if p.endswith(SOURCE)]
    return {p: git("show", f"{commit}:{p}") for p in paths}


def folder(path):
    return path.rsplit("/", 1)[0]


def lengths(texts):
    return sorted(m.group(0).count("\n") + 1 for t in texts for m in FUNCTION.finditer(t))


def spread(numbers):
    return f"{statistics.median(numbers):.0f} / {numbers[int(0.9 * len(numbers))]} / {numbers[-1]}"


def rows(commit):
    every = sources(commit)
    program = {p: t for p, t in every.items() if not p.startswith("tests/")}
    headers = {p: t for p, t in program.items() if p.endswith((".h", ".cuh"))}
    found = {"lines of the program": sum(t.count("\n") for t in program.values())}
    for name in sorted({folder(p) for p in program}):
        found[f"lines in {name}/"] = sum(t.count("\n") for p, t in program.items() if folder(p) == name)
    found["lines of tests"] = sum(t.count("\n") for p, t in every.items() if p.startswith("tests/"))
    found["functions: median / p90 / max lines"] = spread(lengths(program.values()))
    found["files: median / p90 / max lines"] = spread(sorted(t.count("\n") for t in program.values()))
    found["files of 440 lines and more"] = sum(t.count("\n") >= 440 for t in program.values())
    stating = {p for p, t in headers.items() if FACTS.search(t.split("*/")[0] + "*/")}
    found["headers that state a fact on a line of its own"] = f"{len(stating)} of {len(headers)}"
    used = sum(" * Used by:" in t for t in headers.values())
    found["headers that say who uses them"] = f"{used} of {len(headers)}"
    return found


def names(commit):
    program = {p: t for p, t in sources(commit).items() if not p.startswith("tests/")}
    return (set(p.rsplit("/", 1)[1] for p in program), {m for t in program.values() for m in NAMES.findall(t)},
            {m for t in program.values() for m in TYPES.findall(t)})


def main():
    if any(a in ("-h", "--help") for a in sys.argv[1:]):
        print(__doc__)
        return
    commits = sys.argv[1:] or ["HEAD"]
    tables = [rows(c) for c in commits]
    print("| |", " | ".join(git("rev-parse", "--short", c).strip() for c in commits), "|")
    print("|---" * (len(commits) + 1) + "|")
    for key in dict.fromkeys(k for t in tables for k in t):
        print(f"| {key} |", " | ".join(str(t.get(key, "")) for t in tables), "|")
    if len(commits) == 2:
        for what, old, new in zip(("files", "functions", "types"), names(commits[0]), names(commits[1])):
            print(f"| names of {what}: gone / new | {len(old - new)} of {len(old)} | {len(new - old)} of {len(new)} |")


main()
