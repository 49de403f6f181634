# SPDX-License-Identifier: Apache-2.0
"""Files of keys: `burin keys new` makes entries, and every mistake is named with its line and member.

covers: server/access/key_file.c server/access/json_line.c server/access/key_table.c server/cli/command_keys.c"""
import base64
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from conftest import BURIN, needs

SECRET = base64.urlsafe_b64encode(bytes(range(32))).decode().rstrip("=")
DIGEST = hashlib.sha256(b"a token").hexdigest()
pytestmark = needs("resize")


def keys(*arguments):
    return subprocess.run([BURIN, "keys", *map(str, arguments)], capture_output=True, text=True, timeout=60)


def written(path, text, mode=0o600):
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def entry(**members):
    return {"id": "shop", "secret": SECRET, **members}


def whole(**members):
    """A file with every member. The second key stands in line 2, its limits in line 3."""
    return ('{"keys": [{"id": "other", "token_sha256": "%s"},\n' % DIGEST
            + json.dumps(entry(group="g", state="verify", not_after="2027-03-01T00:00:00Z", may=["resize", "fit", "info", "pipeline",
                         "preset:thumb"], share=2, note="of the shop", **members))[:-1]
            + ',\n"limits": {"requests_per_s": 50, "burst": 100, "pixels_per_s": "500M", "bytes_per_s": "20MiB", "device_ms_per_s": 200, '
            '"in_progress": 16, "body_bytes_max": "8MiB", "pixels_max": 24000000}}],\n'
            '"presets": {"thumb": "resize?width=320&height=320&position=smart&type=auto",\n"gray": "grayscale", "all": "pipeline"}}')


def test_a_whole_file(tmp_path):
    answer = keys("check", written(tmp_path / "keys.json", whole()))
    assert (answer.returncode, answer.stderr) == (0, "") and answer.stdout.endswith("OK, 2 keys, 3 presets\n")


def test_small_files(tmp_path):
    for text in ('{"keys": []}', '\ufeff{"keys": [], "presets": {}}', '{"keys": [%s]}' % json.dumps(entry())):
        assert keys("check", written(tmp_path / "keys.json", text)).returncode == 0


def second(**members):
    """A key in line 3, behind a right one with brackets, braces, commas and quotes in a text."""
    return '{"keys": [\n%s,\n%s]}' % (json.dumps(entry(id="first", note='a "{[,]}\\" b')), json.dumps(entry(**members)))


def limited(name, value):
    return '{"keys": [{"id": "a", "secret": "%s",\n "limits": {\n  "burst": 1,\n  "%s": %s}}]}' % (SECRET, name, json.dumps(value))


def preset(text, name="thumb"):
    return '{"keys": [],\n "presets": {"good": "grayscale",\n  %s: %s}}' % (json.dumps(name), json.dumps(text))


BROKEN = [
    ("", 1, ""),
    ('{"keys": [\n{"id": "a" "secret": "%s"}]}' % SECRET, 2, "expected"),
    ('{"keys": [\n{"id": "a", "secret" "%s"}]}' % SECRET[:12], 2, "expected"),
    ('{"keys": [\n{"id": "a",\n "id": "b"}]}', 3, '"id"'),
    ('{"keys": []}\n}', 2, ""),
    ("[]", 1, "the file must hold one object"),
    ("{}", 1, "keys must be a list"),
    ('{\n"keys": {}}', 2, "keys must be a list"),
    ('{"keys": [],\n"preset": {}}', 2, 'preset is not known; did you mean "presets"?'),
    ('{"keys": [\n"shop"]}', 2, "keys[0] must be an object"),
    (second(secrets="x"), 3, 'keys[1].secrets is not known; did you mean "secret"?'),
    ('{"keys": [\n{"secret": "%s"}]}' % SECRET, 2, "keys[0].id must be 1 to 32"),
    (second(id=""), 3, "keys[1].id must be 1 to 32"),
    (second(id="a b"), 3, "keys[1].id must be 1 to 32"),
    (second(id="x" * 33), 3, "keys[1].id must be 1 to 32"),
    (second(id=7), 3, "keys[1].id must be 1 to 32"),
    (second(id="first"), 3, "keys[1].id is that of an earlier key"),
    ('{"keys": [\n\n{"id": "a"}]}', 3, "keys[0] needs a secret"),
    (second(secret="short"), 3, "keys[1].secret must be 32 bytes"),
    (second(secret=SECRET + "="), 3, "keys[1].secret must be 32 bytes"),
    (second(secret=SECRET[:-1] + "9"), 3, "keys[1].secret must be 32 bytes"),  # two bits that belong to no byte
    (second(secret=None), 3, "keys[1].secret must be 32 bytes"),
    (second(token_sha256=DIGEST.upper()), 3, "keys[1].token_sha256 must be 64 digits"),
    (second(token_sha256=DIGEST[1:]), 3, "keys[1].token_sha256 must be 64 digits"),
    (second(group="a/b"), 3, "keys[1].group must be 1 to 32"),
    (second(state="off"), 3, 'keys[1].state must be "active" or "verify"'),
    (second(state=True), 3, 'keys[1].state must be "active" or "verify"'),
    (second(not_after="2027-02-30T00:00:00Z"), 3, "keys[1].not_after must be a time"),
    (second(not_after="2027-02-03"), 3, "keys[1].not_after must be a time"),
    (second(not_after="2027-2-3T00:00:00Z"), 3, "keys[1].not_after must be a time"),
    (second(not_after=1800000000), 3, "keys[1].not_after must be a time"),
    (second(may="resize"), 3, "keys[1].may must be a list"),
    (second(may=["resize", "reszie"]), 3, 'keys[1].may names "reszie"'),
    (second(may=["preset:thumb"]), 3, 'keys[1].may names "preset:thumb"'),
    (second(may=[1]), 3, "keys[1].may names"),
    (second(share=0), 3, "keys[1].share must be an integer 1..1000"),
    (second(share=1.5), 3, "keys[1].share must be an integer 1..1000"),
    (second(note=1), 3, "keys[1].note must be a text"),
    (second(limits={"burst": 3}), 3, "keys[1].limits.burst needs requests_per_s"),
    (second(limits=[]), 3, "keys[1].limits must be an object"),
    (limited("bursts", 1), 4, 'keys[0].limits.bursts is not known; did you mean "burst"?'),
    (limited("requests_per_s", 0), 4, "keys[0].limits.requests_per_s must be an integer"),
    (limited("requests_per_s", "50/s"), 4, "keys[0].limits.requests_per_s must be an integer"),
    (limited("requests_per_s", -1), 4, "keys[0].limits.requests_per_s must be an integer"),
    (limited("bytes_per_s", "20MiBs"), 4, "keys[0].limits.bytes_per_s must be a size"),
    (limited("pixels_per_s", "5X"), 4, "keys[0].limits.pixels_per_s must be pixels"),
    (limited("pixels_per_s", "99999999999999999999"), 4, "keys[0].limits.pixels_per_s must be pixels"),
    (limited("pixels_max", "5G"), 4, "keys[0].limits.pixels_max must be pixels"),
    (limited("in_progress", 1.5), 4, "keys[0].limits.in_progress must be an integer"),
    (limited("device_ms_per_s", None), 4, "keys[0].limits.device_ms_per_s must be an integer"),
    (limited("body_bytes_max", "-8MiB"), 4, "keys[0].limits.body_bytes_max must be a size"),
    ('{"keys": [],\n "presets": []}', 2, "presets must be an object"),
    (preset("grayscale", "a b"), 3, "presets.a b needs a name"),
    (preset(5), 3, "presets.thumb must be a text"),
    (preset("reszie?width=3"), 3, "presets.thumb must begin with an operator"),
    (preset("info"), 3, "presets.thumb must begin with an operator"),
    (preset("resize?wdth=3"), 3, 'presets.thumb is wrong: resize has no parameter "wdth"'),
    (preset("resize?width=3&width=4"), 3, "presets.thumb is wrong: resize: width is given twice"),
    (preset("resize?width=%"), 3, "presets.thumb is no query"),
    (preset("pipeline?operations=histeq"), 3, "presets.thumb is wrong: operations"),
]


@pytest.mark.parametrize("text,line,words", BROKEN)
def test_broken(text, line, words, tmp_path):
    path = written(tmp_path / "keys.json", text)
    answer = keys("check", path)
    assert answer.returncode == 1 and answer.stdout == ""
    found = re.fullmatch(rf"burin keys: {re.escape(str(path))}: line (\d+): (.*)\n", answer.stderr)
    if len(str(path)) > 89:  # a long path is cut in the message
        found = re.fullmatch(r"burin keys: .*: line (\d+): (.*)\n", answer.stderr)
    assert found, answer.stderr
    assert int(found[1]) == line and words in found[2], answer.stderr
    assert SECRET[:12] not in answer.stderr and DIGEST not in answer.stderr


def test_files_that_are_none(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "large.json").write_text('{"keys": []}' + " " * (1 << 20))
    (tmp_path / "large.json").chmod(0o600)
    for path, words in ((tmp_path / "none.json", "No such file"), (tmp_path, "not a regular file"), (tmp_path / "pipe", "not a regular file"),
                        (tmp_path / "large.json", "larger than 1 MiB")):
        answer = keys("check", path)
        assert answer.returncode == 1 and words in answer.stderr


@pytest.mark.parametrize("mode,good", [(0o600, True), (0o400, True), (0o700, True), (0o640, False), (0o604, False), (0o602, False),
                                       (0o666, False), (0o620, False)])
def test_mode(mode, good, tmp_path):
    answer = keys("check", written(tmp_path / "keys.json", '{"keys": []}', mode))
    assert (answer.returncode == 0) == good
    assert good or ("chmod 600" in answer.stderr and f"mode {mode:o}" in answer.stderr)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_owners():
    """Root's file may be read by the group, as Kubernetes mounts it, and no other's."""
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program = shutil.copy(BURIN, folder)
        for owner, mode, good in ((0, 0o640, True), (0, 0o440, True), (65534, 0o600, True), (65534, 0o640, False), (1234, 0o640, False),
                                  (1234, 0o440, False), (0, 0o644, False), (0, 0o660, False)):
            path = written(pathlib.Path(folder, "keys.json"), '{"keys": []}', mode)
            os.chown(path, owner, 65534)
            answer = subprocess.run([program, "keys", "check", path], capture_output=True, text=True, timeout=60, **nobody)
            assert (answer.returncode == 0) == good and (good or "chmod 600" in answer.stderr), (owner, oct(mode), answer.stderr)
        path.chmod(0o600)
        os.chown(path, 1234, 1234)
        assert keys("check", path).returncode == 0
        path.chmod(0o640)
        assert keys("check", path).returncode == 1


# ---- new

def check_entry(made, token, id):
    assert re.fullmatch(rf"burin_{id}_[A-Za-z0-9_-]{{43}}", token)
    assert made["token_sha256"] == hashlib.sha256(token.encode()).hexdigest()
    assert len(base64.urlsafe_b64decode(made["secret"] + "=")) == 32
    assert made["secret"] not in token and re.fullmatch(id, made["id"])


def token_of(answer):
    assert answer.returncode == 0, answer.stderr
    return answer.stderr.rpartition(" ")[2].strip()


def test_new_entries(tmp_path):
    answers = [keys("new"), keys("new"), keys("new", "--id", "a_b.c-d", "--may", "resize,info", "--not-after", "2030-01-01T00:00:00Z")]
    entries = [json.loads(answer.stdout) for answer in answers]
    for made, answer, id in zip(entries, answers, (r"key-[0-9a-f]{8}", r"key-[0-9a-f]{8}", r"a_b\.c-d")):
        check_entry(made, token_of(answer), id)
    assert len({made["secret"] for made in entries}) == 3 and entries[0]["id"] != entries[1]["id"]
    assert entries[2]["may"] == ["resize", "info"] and entries[2]["not_after"] == "2030-01-01T00:00:00Z"
    assert keys("check", written(tmp_path / "keys.json", json.dumps({"keys": entries}))).returncode == 0


def test_new_in_a_file(tmp_path):
    """The file is made for its owner alone, and what was in it stays."""
    path = tmp_path / "keys.json"
    tokens = [token_of(keys("new", "--id", id, "--add", path)) for id in ("one", "two")]
    assert path.stat().st_mode & 0o777 == 0o600
    found = json.loads(path.read_text())["keys"]
    for made, token, id in zip(found, tokens, ("one", "two")):
        check_entry(made, token, id)
    before = path.read_bytes()
    for arguments in (("--id", "one"), ("--may", "nothing"), ("--not-after", "tomorrow"), ("--id", "a b")):
        answer = keys("new", *arguments, "--add", path)
        assert answer.returncode == 1 and "burin_" not in answer.stderr
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["keys.json"]
    path.write_text("{")
    assert keys("new", "--add", path).returncode == 1 and path.read_text() == "{"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_new_in_a_file_that_a_group_may_read(tmp_path):
    """The daemon reads it by its group, perhaps through a link: both stay."""
    path, link = written(tmp_path / "keys.json", '{"keys": []}', 0o400), tmp_path / "link.json"
    os.chown(path, 0, 65534)
    link.symlink_to(path)
    assert keys("new", "--id", "one", "--add", link).returncode == 0
    facts = path.stat()
    assert link.is_symlink() and (facts.st_mode & 0o777, facts.st_uid, facts.st_gid) == (0o400, 0, 65534)
    assert len(json.loads(path.read_text())["keys"]) == 1


@pytest.mark.parametrize("arguments", [(), ("old",), ("new", "--id"), ("new", "--what", "x"), ("check",), ("check", "a", "b"),
                                       ("check", "--operators-dir", "x")])
def test_wrong_arguments(arguments):
    answer = keys(*arguments)
    assert answer.returncode == 2 and answer.stderr.startswith("usage: burin keys")


def test_help():
    answer = keys("--help")
    assert answer.returncode == 0 and answer.stdout.startswith("usage: burin keys new")
