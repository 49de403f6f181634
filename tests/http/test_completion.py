# SPDX-License-Identifier: Apache-2.0
"""`burin completion`, in the shells themselves where they are installed.

covers: server/cli/command_completion.c server/cli/commands.c
"""
import os
import shlex
import shutil
import subprocess

import pytest

from conftest import BURIN, operators
from test_cli import TEXT, burin


def words(*line):
    """What the last word may become, without descriptions."""
    done = burin("completion", "words", "--", *line, **TEXT)
    assert done.returncode == 0 and done.stderr == ""
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


def test_words():
    assert {"run", "serve", "info", "completion"} <= set(words("")) and words("ru") == ["run"]
    assert set(words("ops", "")) == operators() and set(words("run", "")) == operators() | {":files"}
    assert words("run", "histeq:") == ["histeq:bins=", "histeq:scale=", "histeq:channel="]
    assert words("run", "grayscale;histeq:bins=3,scale=") == [f"grayscale;histeq:bins=3,scale={s}" for s in ("minmax", "maxabs")]
    assert words("run", "histeq:bins=") == words("run", "no_such:") == words("no_such", "") == words("bench", "--") == []
    assert {"--out-dir", "--type", "--json"} <= set(words("run", "-")) and words("run", "--recu") == ["--recursive"]
    assert words("run", "--damaged", "") == ["accept", "refuse"][::-1] and words("run", "--device", "c") == ["cpu", "cuda"]
    assert words("run", "--type", "j") == ["jpeg"] and words("run", "--out-dir", "") == words("check", "") == [":files"]
    assert words("serve", "--queue-j") == ["--queue-jobs"] and words("serve", "--log-format", "") == ["json", "text"]
    assert words("run", "--type=j") == ["--type=jpeg"] and words("serve", "--log-format=t") == ["--log-format=text"]
    assert words("completion", "") == ["bash", "zsh", "fish"]
    for arguments in ([], ["csh"], ["bash", "zsh"], ["words"]):
        assert burin("completion", *arguments, **TEXT).returncode == 2


def shell(name, script):
    """What SCRIPT prints, with the completion loaded, in a folder with two files."""
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    path = f"{os.path.dirname(os.path.abspath(BURIN))}:{os.environ['PATH']}"
    done = subprocess.run([name, *{"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[name], "-c", script], timeout=60, text=True,
                          capture_output=True, env={**os.environ, "PATH": path, "HOME": os.getcwd()})
    assert done.returncode == 0 and done.stderr == "", done
    return [line.split() for line in done.stdout.splitlines()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("rest.png", "histories"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)


LINES = ["burin ru", "burin run hist", "burin run histeq:scale=m", "burin run --damaged r", "burin info re"]


def test_in_bash(folder):
    ask = "".join(f"COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}; _burin; echo \"${{COMPREPLY[@]}}\"\n" for line in LINES)
    assert shell("bash", 'eval "$(burin completion bash)"\ncomplete -p burin >/dev/null || exit 1\n' + ask) == [
        ["run"], ["histeq", "histogram", "histories"], ["minmax", "maxabs"], ["refuse"], ["rest.png"]]


def test_in_zsh(folder):
    """compadd works in the line editor alone: a function in its place prints what it would add. Loading compinit takes 5 s."""
    ask = "".join(f"words=({shlex.join(line.split())}); CURRENT=$#words; PREFIX=$words[-1]; _burin; echo\n" for line in LINES)
    assert shell("zsh", 'compdef() { [[ "$*" == "_burin burin" ]] || exit 1 }\neval "$(burin completion zsh)"\n'
                 'compadd() { print -rn -- $names "" }\n_files() { print -rn -- "(files)" }\n' + ask) == [
        ["run"], ["histeq", "histogram", "(files)"], ["histeq:scale=minmax", "histeq:scale=maxabs"], ["refuse"], ["(files)"]]


def test_in_fish(folder):
    ask = "".join(f"complete -C {shlex.quote(line)} | string split -f1 \\t | string join ' '\n" for line in LINES)
    rows = shell("fish", "burin completion fish | source\n" + ask + "true\n")
    for row, wanted in zip(rows, [{"run"}, {"histeq", "histogram", "histories"}, {"histeq:scale=minmax", "histeq:scale=maxabs"},
                                  {"refuse"}, {"rest.png"}], strict=True):
        assert wanted <= set(row) and ("rest.png" in row) == ("rest.png" in wanted), rows
