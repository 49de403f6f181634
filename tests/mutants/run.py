#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Puts deliberate mistakes into the sources, one at a time, and checks that the tests notice.

The working tree is copied into a temporary folder, built and tested there without any mistake first: a test that fails then
cannot judge. Then, for each row of table.py, the mistake is put into the copy, the copy is built, and the row's tests run:
the mistake is noticed when one of them fails. A row whose file or text does not exist, or exists twice, is an error: a
rename has to change the table too. So is a row that does not build.

Ends with 0 where there is no error and 95 % or more are noticed. Needs what `make test` needs, and no GPU.
"""
import argparse
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from table import TABLE

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
TIMEOUT_S = 600  # for a build or a test; a test that hangs counts as failed
WANTED = 0.95


class Wrong(Exception):
    """The row, not the source, is at fault."""


def tracked(root):
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                            capture_output=True, check=True).stdout.decode()
    return [name for name in listed.split("\0") if name and os.path.isfile(os.path.join(root, name))]


def ends_with(path, end):
    return path == end or path.endswith("/" + end)


def pattern(text):
    return re.compile(r"\s+".join(re.escape(word) for word in text.split()))


class Tree:
    """A copy of the working tree to put mistakes into."""

    def __init__(self, folder, names):
        self.folder, self.names = folder, names
        for name in names:
            to = os.path.join(folder, name)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), to)

    def only(self, end, where):
        found = [name for name in self.names if name.startswith(where) and ends_with(name, end)]
        if len(found) != 1:
            raise Wrong(f"{end} is {' and '.join(found) if found else 'no file'} below {' '.join(where)}")
        return found[0]

    def source(self, end):
        return self.only(end, ("server/", "pipeline/", "config/", "cuda/"))

    def read(self, name):
        with open(os.path.join(self.folder, name)) as f:
            return f.read()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)

    def mutated(self, end, text, instead):
        """The file's name and its text with the mistake."""
        name, wanted = self.source(end), pattern(text)
        before = self.read(name)
        count = len(wanted.findall(before))
        if count != 1:
            elsewhere = [n for n in self.names if n.endswith((".c", ".h")) and not n.startswith("tests/")
                         and wanted.search(self.read(n))]
            raise Wrong(f"{name} has {count} times `{text}`" + (f"; see {' '.join(elsewhere)}" if elsewhere else ""))
        return name, before, wanted.sub(lambda _: instead, before)

    def run(self, command):
        """Whether it succeeds, and its output."""
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   errors="replace", start_new_session=True)
        try:
            said, _ = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
        return process.returncode == 0, said

    def make(self, *what):
        return self.run(["make", "--no-print-directory", "-j2", "CUDA=0", *what])

    def test_program(self, end):
        where = ("tests/pipeline/", "tests/server/", "tests/config/", "tests/cuda/skeletons/", "tests/cuda/video_engine")
        in_c = any(name.startswith(where) and ends_with(name, end + ".c") for name in self.names)
        name = self.only(end + ".c", where) if in_c else self.only(end + ".cpp", ("tests/cuda/",))
        return os.path.join("build/cpu", os.path.splitext(name)[0])

    def commands(self, test):
        """The command that builds, and the command that tests."""
        kind, _, rest = test.partition(" ")
        if kind == "unit":
            program = self.test_program(rest)
            return [program], [os.path.join(self.folder, program)]
        if kind == "http":
            self.only(rest.split()[0], ("tests/http/",))
            return ["all"], ["make", "--no-print-directory", "http", "CUDA=0", f"PYTEST=-x tests/http/{rest}"]
        raise Wrong(f"no test of the kind `{kind}`")

    def passes(self, test):
        targets, command = self.commands(test)
        built, said = self.make(*targets)
        if not built:
            raise Wrong("it does not build:\n" + said[-2000:])
        return self.run(command)

    def notices(self, row):
        """Puts the mistake in, runs the tests, and takes it out."""
        _, end, text, instead, test = row
        name, before, after = self.mutated(end, text, instead)
        self.write(name, after)
        try:
            return not self.passes(test)[0]
        finally:
            self.write(name, before)


def check_unchanged(tree, rows):
    """Every mistake can be put in, and every test passes without one."""
    for row in rows:
        tree.mutated(*row[1:4])
        tree.commands(row[4])
    for test in dict.fromkeys(row[4] for row in rows):
        passed, said = tree.passes(test)
        if not passed:
            raise Wrong(f"`{test}` fails without any mistake:\n{said[-3000:]}")


def work(tree, left, results, lock):
    while True:
        try:
            number, row = left.get_nowait()
        except queue.Empty:
            return
        begin = time.monotonic()
        try:
            verdict, why = ("noticed", "") if tree.notices(row) else ("UNNOTICED", f" [{row[4]}]")
        except Wrong as wrong:
            verdict, why = "ERROR", f": {wrong}"
        with lock:
            results[number] = verdict
            print(f"{number:3} {verdict:9} {time.monotonic() - begin:5.1f} s  {row[1]}: {row[0]}{why}", flush=True)


def trial(rows, jobs):
    names, trees, results, left, lock = tracked(ROOT), [], {}, queue.Queue(), threading.Lock()
    for row in rows:
        left.put(row)
    with tempfile.TemporaryDirectory(prefix="burin-mutants-") as folder:
        for i in range(jobs):
            trees.append(Tree(os.path.join(folder, str(i)), names))
        print(f"{len(rows)} mistakes; first the tests without any", flush=True)
        check_unchanged(trees[0], [row for _, row in rows])
        threads = [threading.Thread(target=work, args=(tree, left, results, lock)) for tree in trees]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    noticed, errors = (sum(verdict == what for verdict in results.values()) for what in ("noticed", "ERROR"))
    print(f"{noticed} of {len(rows)} mistakes were noticed, {100 * noticed / len(rows):.0f} %; {errors} errors")
    return 0 if not errors and noticed >= WANTED * len(rows) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the rows by number, and stop")
    parser.add_argument("--check", action="store_true", help="say which rows are not to be found any more, and stop")
    parser.add_argument("--only", metavar="N", help="these rows alone: numbers or words of their names, by commas")
    parser.add_argument("-j", type=int, default=1, metavar="N", help="copies that work side by side (1)")
    options = parser.parse_args()
    wanted = options.only.split(",") if options.only else []
    rows = [(number, row) for number, row in enumerate(TABLE, 1)
            if not wanted or any(word == str(number) or not word.isdigit() and word in row[0] for word in wanted)]
    if not rows:
        parser.error("no row of that number or name; --list lists them")
    if options.list:
        for number, (name, file, text, instead, test) in rows:
            print(f"{number:3} {file}: {name}\n      `{text}` -> `{instead}`\n      {test}")
        return 0
    if options.check:
        bad = 0
        with tempfile.TemporaryDirectory(prefix="burin-mutants-") as folder:
            tree = Tree(folder, tracked(ROOT))
            for number, row in rows:
                try:
                    tree.mutated(*row[1:4])
                    tree.commands(row[4])
                except Wrong as wrong:
                    bad += 1
                    print(f"{number:3} {row[0]}: {wrong}")
        print(f"{len(rows) - bad} of {len(rows)} rows can be put in")
        return 1 if bad else 0
    try:
        return trial(rows, max(1, options.j))
    except Wrong as wrong:
        print(f"error: {wrong}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
