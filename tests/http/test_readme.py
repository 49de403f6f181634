# SPDX-License-Identifier: Apache-2.0
"""The README files agree with what the program reports of itself."""
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
README = ROOT / "README.md"


def printed(*command):
    return subprocess.run([os.environ["BURIN"], *command], capture_output=True, text=True, check=True).stdout


def test_operators_are_the_registrys():
    table = printed("ops", "--markdown")
    assert table.count("\n") > 10
    assert table in (ROOT / "server/README.md").read_text(encoding="utf-8"), \
        "`make docs` prints the table of operators into server/README.md"


def test_groups_are_the_records():
    """README has the operators of each group, in the groups' order."""
    section = README.read_text(encoding="utf-8").split("## Operators")[1].split("###")[0]
    rows = [row.strip("| ").split(" | ") for row in re.findall(r"^\| .*`.*", section, re.M)]
    listed = json.loads(printed("ops", "--json"))
    members = [", ".join(f"`{op['name']}`" for op in listed["operators"] if op["group"] == group) for group in listed["groups"]]
    assert rows == [list(row) for row in zip(listed["groups"], members)]
    assert sum(row[1].count(",") + 1 for row in rows) == len(listed["operators"])


def test_parameters_are_the_registrys():
    table = printed("ops", "--parameters")
    assert table.count("\n") > 20
    assert table in (ROOT / "server/README.md").read_text(encoding="utf-8"), \
        "`make docs` prints the table of parameters into server/README.md"


def test_metrics_are_the_daemons(daemon):
    """Each metric to watch is printed or, if only a GPU has it, is in its source."""
    known = set(re.findall(r"^# TYPE (\S+)", daemon.get("/metrics").body.decode(), re.M))
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "server/api").glob("metrics*.c"))
    for readme in (README, ROOT / "docker/README.md"):
        named = set(re.findall(r"`(burin_\w+)", readme.read_text(encoding="utf-8")))
        assert len(named) >= 5
        strangers = {name for name in named if name not in known and f'"{name.removeprefix("burin_")}"' not in source}
        assert not strangers, f"{readme} names metrics that there are not"


def test_files_are_there():
    """Every path in a README is a file of this tree; x.c is one that the reader makes."""
    for readme in (README, ROOT / "server/README.md", ROOT / "config/README.md", ROOT / "docker/README.md",
                   ROOT / "pipeline/skeletons/README.md"):
        text = readme.read_text(encoding="utf-8")
        named = re.findall(r"`((?:server|pipeline|cuda|config|tests|http|jobs|docker)/[\w./]+\.\w+)`", text)
        assert named
        missing = [name for name in named if not name.split("/")[-1].startswith("x.")
                   and not (ROOT / name).exists() and not (ROOT / "server" / name).exists()]
        assert not missing, f"{readme} names files that are not there"


def test_readme_is_short():
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 160
    assert max(map(len, lines)) <= 160


def test_keys_are_the_tables():
    table = printed("config", "--markdown")
    assert table.count("\n") > 30
    assert table in (ROOT / "config/README.md").read_text(encoding="utf-8"), \
        "`make docs` prints the table of keys into config/README.md"
