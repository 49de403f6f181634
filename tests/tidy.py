#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py - the rules of this tree that a machine can check: lengths, walls, twins, headers, tests, banned calls."""
import os
import re
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
complaints = []


def complain(text):
    complaints.append(text)
    print(f"tidy: {text}", file=sys.stderr)


listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True,
                        check=True).stdout.split("\n")
files = sorted({name for name in listed if os.path.isfile(name)})
# Users' operators are C under directives of ours, as users may write it.
sources = {name: open(name, encoding="utf-8").read().split("\n")[:-1] for name in files
           if name.endswith((".c", ".h", ".cpp", ".cu", ".cuh")) and not name.startswith("tests/operators/")
           and not (name.startswith("tests/reference/") and name.endswith(".c"))}
product = {name: lines for name, lines in sources.items() if not name.startswith("tests/")}


def stem(name):
    return name.rpartition(".")[0]


# ---- lines, files, functions: two files fit side by side; a file is one noun; 70 lines of a function are the wall.

COLUMNS, FILE_LINES, FUNCTION_LINES = 100, 500, 70
for name, lines in sources.items():
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            complain(f"{name}:{number} is {len(line)} columns long")
    if not lines or "SPDX-License-Identifier" not in lines[0]:
        complain(f"{name} lacks its SPDX line")
    if len(lines) > FILE_LINES:
        complain(f"{name} is over {FILE_LINES} lines: one file, one noun")

# A function begins in column 0 with its brace and ends with one there.
begins = re.compile(r"[a-zA-Z].*\) *\{$|[a-zA-Z ].*\{$")
no_function = re.compile(r"(struct|enum|union|static const|const|extern)")
continued = re.compile(r" .*\) \{$")
for name, lines in product.items():
    start = 0
    for number, line in enumerate(lines, 1):
        if begins.match(line) and not no_function.match(line) and (line[0] != " " or not start):
            start = number
        elif continued.match(line) and not start:
            start = number
        if line.startswith("}"):
            if start and number - start > FUNCTION_LINES:
                complain(f"{name}:{number}: a function of {number - start} lines")
            start = 0

# ---- words: plain English, in comments, messages and documents. A comment's first sentence has a subject and a verb.

banned = re.compile(r"\b(tells?|told|telling|accounts?|whoever|whomever|whom|of theirs|so many|in question)\b", re.I)
no_subject = re.compile(r"(/\*\*?|^ *//|^#) (Of|To|As|Who|Whoever|Whom|Whose|What|Where)\b")
written = [name for name in files if name != "tests/tidy.py"
           and name.endswith((".c", ".h", ".cpp", ".cu", ".cuh", ".md", ".py", ".sh", ".js", ".css", ".html", "Makefile"))]
for name in written:
    with open(name, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if match := banned.search(line):
                complain(f'{name}:{number}: "{match[0]}": say it in plain words: report, distinguish, statistics, the client...')
            if not name.endswith(".md") and (match := no_subject.search(line)):
                complain(f'{name}:{number}: a comment begins with "{match[2]}"; begin with a subject')

# ---- walls: which folder may include which

walls = [
    (r"pipeline/", r"(server|cuda|config)/", "pipeline/ is the ground floor: it knows no server, no CUDA, no config"),
    (r"pipeline/(codecs|rows)/", r"pipeline/ops/", "codecs and row kernels know no operator"),
    (r"cuda/", r"(server|config)/", "cuda/ stands on pipeline/ alone"),
    (r"(server|cuda|pipeline|config)/", r"tests/", "what is shipped includes nothing of its tests and benchmarks"),
    (r"config/", r"(server|cuda)/", "config/ stands on pipeline/ alone"),
    (r"server/(http|request)/", r"pipeline/(run|device|codecs/|ops/)|server/(worker|process)/|server/jobs/channel|cuda/",
     "http/ and request/ link no codec, no operator and no device"),
    (r"server/request/", r"server/http/", "a request knows no socket and no HTTP library"),
    (r"server/http/engine/", r"config/|server/(jobs|dispatch|worker|process|request)/|server/http/[a-z_]*\.h",
     "engine/ knows no request: nothing of http/ outside it"),
    (r"server/(jobs|dispatch|worker|process)/", r"server/(http|request)/", "jobs know no request and no HTTP"),
    (r"server/jobs/", r"server/(worker|process)/|server/dispatch/(?!cost)",
     "jobs/ is what the front and its workers agree on: it knows neither side"),
    (r"server/dispatch/", r"server/worker/(?!heartbeat)", "dispatch/ is the front's side of jobs"),
    (r"server/worker/", r"server/dispatch/(?!sweep|worker_handle)",
     "worker/ is the worker's side of jobs; only for its sandbox it is a front itself"),
]
for where, forbidden, reason in walls:
    include = re.compile(rf'#include "({forbidden})')
    for name in filter(re.compile(where).match, sources):
        if any(include.match(line) for line in sources[name]):
            complain(f"{name}: {reason}")
for name, lines in sources.items():
    for number, line in enumerate(lines, 1):
        if not name.startswith("cuda/") and re.search(r"ifdef.*CUDA", line) and not re.search("__CUDACC__|__CUDA_ARCH__", line):
            complain(f"{name}:{number}: no #ifdef CUDA outside cuda/")

# ---- operators: each has a test; every CUDA twin has its reference.

for name in files:
    if re.fullmatch(r"pipeline/ops/[^/]*\.c", name) and f"tests/{name}" not in files:
        complain(f"{name} has no tests/{name}")
    if re.fullmatch(r"cuda/ops/[^/]*\.cu", name) and f"pipeline/ops/{os.path.basename(stem(name))}.c" not in files:
        complain(f"{name} has no reference in pipeline/ops/")
modules = [os.path.basename(name) for name in files if re.fullmatch(r"tests/.*test_[^/]*\.py", name)]
for name in {name for name in modules if modules.count(name) > 1}:
    complain(f"two tests are called {name}: pytest takes no more than one of a name")

# ---- headers: what it is in the first line, who uses it, every label on a line of its own.

labels = "Used by|Owns|Fails|Threads|Limits|Source|How|Why|Kinds|Bounds|Invariant|Method|Ownership|Ends|Names"
melted = re.compile(rf"[^*] +({labels}):  ")
included = {match[1] for lines in sources.values() for line in lines if (match := re.match(r'#include "([^"]*)"', line))}
for name, lines in product.items():
    if not (name.endswith(".h") or (name.endswith(".cuh") and name in included)):
        continue
    end = next((i for i, line in enumerate(lines) if i and "*/" in line), len(lines) - 1)
    if not lines[1].startswith(f"/* {os.path.basename(name)} - "):
        complain(f'{name} does not begin with "/* {os.path.basename(name)} - what it is"')
    elif not any(line.startswith(" * Used by:") for line in lines[1:end + 1]):
        complain(f"{name} does not say who uses it (Used by:)")
    for number, line in enumerate(lines[1:end + 1], 2):
        if melted.search(line):
            complain(f"{name}:{number}: a label in the middle of a line")

# Sources that do not fit a screen or three say how they work before they begin.
for name, lines in product.items():
    if name.endswith((".c", ".cu", ".cuh")) and len(lines) > 140 and not any(
            re.match(r"(/\*| \*) *how\b", line, re.I) for line in lines[:40]):
        complain(f"{name} is over 140 lines and does not open with How it works")

# ---- tests: the source's own path and name below tests/, or a test that says `covers:` and the path.

covered = set()
for name in files:
    if not (name.startswith("tests/") and name.endswith((".c", ".cpp", ".cu", ".h", ".cuh", ".py"))):
        continue
    with open(name, encoding="utf-8") as f:
        covers = False
        for number, line in zip(range(30), f):
            covers = covers or "covers: " in line
            if covers:
                words = [re.sub('[,"]', "", word) for word in line.split()]
                covered.update(word for word in words if re.match(r"[a-z]+/.*\.(c|cu|cuh|h)$", word))
                if "*/" in line or '"""' in line or not words:
                    break
for path in sorted(covered):
    if not os.path.isfile(path):
        complain(f"a test covers {path}, which is not there")
tested = [name for name in product if name.endswith((".c", ".cu")) and not name.endswith("_none.c") and name != "server/main.c"]
untested = [name for name in tested if name not in covered
            and not any(os.path.isfile(f"tests/{stem(name)}.{kind}") for kind in ("c", "cu", "py"))]
if untested:
    complain(f"{len(untested)} of {len(tested)} sources have no test:" + "".join(f"\n      {name}" for name in untested))

# Deliberate mistakes: a change to a quoted line changes the table too.
stale = subprocess.run(["tests/mutants/run.py", "--check"], capture_output=True, text=True)
if stale.returncode:
    complain(f"tests/mutants/table.py: {stale.stdout.strip()}")

# ---- calls that bound nothing, or end the process behind the caller's back

for name, lines in product.items():
    ends = name.startswith(("pipeline/", "cuda/", "server/jobs/", "server/dispatch/", "server/worker/", "server/process/"))
    for number, line in enumerate(lines, 1):
        if re.search(r"\b(strcat|sprintf|gets|alloca|system|popen)\(", line):
            complain(f"{name}:{number}: a banned call")
        if ends and re.search(r"\b(abort|exit)\(", line) and "_exit" not in line:
            complain(f"{name}:{number}: nothing below main.c ends the process")

if complaints:
    sys.exit(1)
print("tidy: fine")
