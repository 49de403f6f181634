# SPDX-License-Identifier: Apache-2.0
"""The configuration's file read again on SIGHUP: some keys change at once, the others are named, a mistake changes nothing, and
GET /readyz has the outcome.

covers: config/config.c server/http/reload.c server/cli/command_worker.c server/process/launcher_process.c server/process/process.c"""
import json
import os
import re
import shutil
import signal
import threading

import pytest

from conftest import BURIN, check_problem, noise, pnm, wait_until
from signing import Key, write_keys

SHOP, OTHER = "https://shop.example", "https://other.example"
OLD, NEW = Key("old", 1), Key("new", 2)
PICTURE = pnm(noise(16, 12))


@pytest.fixture(params=["on", "off"])
def configured(start, tmp_path, request):
    """configured(key=value...) -> a daemon with a file of these keys, with the sandbox and without it."""
    def begin(*flags, **keys):
        path = tmp_path / "burin.json"
        path.write_text(json.dumps(keys))
        daemon = start("--config", str(path), "--sandbox", request.param, *flags)
        daemon.file = path
        return daemon
    return begin


def outcome(daemon):
    return daemon.get("/readyz").json["reload"]


def reload(daemon, text=None, **keys):
    """Replaces the file as an editor does, reloads, and returns the outcome."""
    fresh, before = daemon.file.with_suffix(".new"), outcome(daemon)
    fresh.write_text(json.dumps(keys) if text is None else text)
    fresh.rename(daemon.file)
    daemon.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: outcome(daemon)["at"] != before["at"]), daemon.log_text()
    return outcome(daemon)


def allowed(daemon, origin):
    return daemon.post("/histeq", PICTURE, {"Origin": origin}).headers["Access-Control-Allow-Origin"]


def test_the_outcome_at_the_start(daemon):
    now = outcome(daemon)
    assert now["generation"] == 1 and now["ok"] is True and now["errors"] == [] and now["restart_needed_for"] == []
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", now["at"])


def test_keys_change_at_once(configured):
    daemon = configured(cors_origins=SHOP, parts_max=8, log_level="info", body_bytes_max="1MiB")
    assert (allowed(daemon, SHOP), allowed(daemon, OTHER)) == (SHOP, None)
    large = pnm(noise(400, 300))
    assert daemon.post("/histeq", large).status == 200
    now = reload(daemon, cors_origins=f"{OTHER}", parts_max=1, log_level="error", body_bytes_max="64KiB")
    assert (now["generation"], now["ok"], now["errors"], now["restart_needed_for"]) == (2, True, [], [])
    assert (allowed(daemon, SHOP), allowed(daemon, OTHER)) == (None, OTHER)
    check_problem(daemon.post("/histeq", large), 413, "65536")
    check_problem(daemon.post_form("/histeq", [("image", PICTURE, "a.pgm"), ("bins", "9", None)]), 400, "more than 1 parts")
    quiet = daemon.log_text().count('"event":"request"')
    assert daemon.works() and daemon.log_text().count('"event":"request"') == quiet, "level error has no line for a request"
    now = reload(daemon, body_bytes_max="1MiB")
    assert now["generation"] == 3 and allowed(daemon, OTHER) is None, "without the key its default"
    assert daemon.post("/histeq", large).status == 200
    assert wait_until(lambda: daemon.log_so_far().count('"event":"request"') > quiet)


def test_a_log_that_was_off(configured):
    daemon = configured(log_level="off")
    assert daemon.works()
    assert reload(daemon, log_level="info")["ok"]
    assert daemon.works() and wait_until(lambda: '"event":"request"' in daemon.log_so_far())
    assert reload(daemon, log_level="off")["ok"]
    size = len(daemon.log_text())
    assert daemon.works() and len(daemon.log_text()) == size


def test_keys_that_need_a_restart_are_named(configured):
    """They stay as they are; so does body_bytes_max where it would grow: slots were laid out for it."""
    daemon = configured(queue_jobs=256, body_bytes_max="64KiB")
    now = reload(daemon, queue_jobs=5, body_bytes_max="1MiB", pixels_max=1000, refuse_times=7)
    assert now["ok"] and set(now["restart_needed_for"]) == {"queue_jobs", "body_bytes_max", "pixels_max"}
    assert daemon.get("/readyz").json["queue_jobs"] == 256
    check_problem(daemon.post("/histeq", pnm(noise(400, 300))), 413, "65536")
    assert '"event":"reloaded"' in daemon.log_text() and "a restart is needed for" in daemon.log_text()
    assert reload(daemon, body_bytes_max="64KiB")["restart_needed_for"] == []


def test_all_keys_that_need_a_restart_are_named(configured):
    """However long the list is."""
    fresh = {"header_ms": 9001, "body_ms": 9002, "body_rate_bytes": 9003, "pressed_rate_bytes": 9004, "write_ms": 9005, "write_rate_bytes": 9006,
             "keep_alive_ms": 9007, "slot_idle_ms": 9008, "queue_jobs": 90, "queue_bytes": "90MiB", "answer_bytes": "91MiB", "pixels_max": 9009,
             "many_lanes": 2, "codec_threads": 3, "batch": 5, "staging_bytes": "92MiB", "idle_bytes": "93MiB", "cpu_memory_bytes": "940MiB",
             "arena_bytes": "95MiB", "pinned_pool_bytes": "96MiB", "device_pool_bytes": "97MiB", "worker_start_ms": 9010, "self_test_ms": 9011,
             "launcher_still_ms": 9012, "no_worker_ms": 9013, "operators_source_bytes_max": 9014, "operators_compile_ms": 9015,
             "operators_compile_bytes": "980MiB", "log_buffer_bytes": "99KiB", "part_headers_bytes": 901, "operators_dir": "/nowhere",
             "operators_cache_dir": "/nowhere", "trusted_proxies": "10.0.0.1", "devices": "cuda:0", "connections_max": 900, "io_threads": 3}
    daemon = configured()
    now = reload(daemon, **fresh)
    assert now["errors"] == []
    assert set(now["restart_needed_for"]) == set(fresh) - {"devices"}, "the flag of the tests wins"
    assert len(now["restart_needed_for"]) == len(fresh) - 1 and len(", ".join(fresh)) > 512


def test_flags_win_as_they_did_at_the_start(configured):
    daemon = configured("--cors-origins", SHOP, log_level="info")
    assert reload(daemon, cors_origins=OTHER, slots=500)["restart_needed_for"] == []
    assert allowed(daemon, SHOP) == SHOP


@pytest.mark.parametrize("text, words", [
    ("{", ["burin.json", "line 1"]), ('{"cors_origins": "ftp//x", "log_level": "error"}', ["cors_origins"]),
    ('{"log_level": "error",\n "log_levle": "info"}', ["log_levle", "log_level"]), ('{"log_level": "error", "parts_max": 0}', ["parts_max", "1..64"]),
    ('{"log_level": "error", "log_level": "error"}', ["line 1", "duplicate"]), ("[]", ["one object"]), (None, ["unable to open"])])
def test_a_mistake_changes_nothing(configured, text, words):
    """Not even the keys that are right; the next right file is taken."""
    daemon = configured(cors_origins=SHOP)
    if text is None:
        before = outcome(daemon)
        daemon.file.unlink()
        daemon.process.send_signal(signal.SIGHUP)
        assert wait_until(lambda: outcome(daemon)["at"] != before["at"])
        now = outcome(daemon)
    else:
        now = reload(daemon, text)
    (error,) = now["errors"]
    assert now["generation"] == 1 and now["ok"] is False and all(word in error for word in words), error
    assert allowed(daemon, SHOP) == SHOP
    assert wait_until(lambda: '"event":"request"' in daemon.log_so_far()), "log_level is as it was"
    line, = [line for line in map(json.loads, daemon.log_text().splitlines()) if line["event"] == "reload_failed"]
    assert line["message"].endswith(error.rpartition("burin.json")[2]) and "burin.json" in error and str(daemon.file)[:20] not in error
    assert daemon.get("/readyz").status == 200
    now = reload(daemon, cors_origins=OTHER)
    assert (now["generation"], now["ok"], now["errors"]) == (2, True, []) and allowed(daemon, OTHER) == OTHER


@pytest.fixture
def kept(configured, tmp_path):
    """A daemon with a file of keys beside its configuration, with the sandbox and without it."""
    daemon = configured(cors_origins=SHOP, keys_file=write_keys(tmp_path / "keys.json", OLD))
    daemon.keys = tmp_path / "keys.json"
    return daemon


def opens(daemon, key):
    return daemon.post("/histeq", PICTURE, {**key.bearer, "Origin": SHOP}).status


def test_configuration_and_keys_at_once(kept):
    """One signal takes over both; a mistake in either leaves that one as it was, and the outcome names it."""
    keys = {"keys_file": str(kept.keys)}
    write_keys(kept.keys, NEW)
    now = reload(kept, cors_origins=OTHER, **keys)
    assert (now["generation"], now["ok"], now["errors"], now["restart_needed_for"]) == (2, True, [], [])
    assert (opens(kept, OLD), opens(kept, NEW), allowed(kept, OTHER)) == (401, 200, OTHER)
    kept.keys.write_text('{"keys": [{}]}')
    now = reload(kept, cors_origins=SHOP, **keys)
    assert (now["generation"], now["ok"]) == (2, False)
    assert now["errors"] == ['keys.json: line 1: keys[0].id must be 1 to 32 letters, digits and - _ .']
    assert (opens(kept, NEW), allowed(kept, SHOP)) == (200, SHOP), "the configuration is in force, the keys are as they were"
    write_keys(kept.keys, OLD)
    now = reload(kept, "{")
    assert (now["generation"], now["ok"], len(now["errors"])) == (2, False, 1) and now["errors"][0].startswith("burin.json: line 1")
    assert (opens(kept, OLD), opens(kept, NEW), allowed(kept, SHOP)) == (200, 401, SHOP), "and the reverse"
    kept.keys.unlink()
    now = reload(kept, "{")
    assert now["read"] == {"config": "failed", "keys_file": "failed", "overlays_dir": "none", "operators_dir": "none"}
    assert [error.partition(":")[0] for error in now["errors"]] == ["burin.json", "unable to open keys.json"] and opens(kept, OLD) == 200
    write_keys(kept.keys, OLD, NEW)
    now = reload(kept, cors_origins=SHOP, keys_file="")
    assert (now["generation"], now["ok"], now["restart_needed_for"]) == (3, True, ["keys_file"]), "another file needs a restart"
    assert (opens(kept, OLD), opens(kept, NEW)) == (200, 200)
    events = [line["event"] for line in map(json.loads, kept.log_text().splitlines()) if "load" in line["event"]]
    assert events == ["reloaded", "keys_loaded", "reloaded", "reload_failed", "reload_failed", "keys_loaded", "reload_failed", "reload_failed",
                      "reloaded", "keys_loaded"]


@pytest.mark.skipif(os.path.exists("/etc/burin/burin.json"), reason="the system has a configuration")
@pytest.mark.parametrize("parts, words", [((), "there is nothing to read again"), (("keys_file",), "there is no configuration file"),
                                          (("operators_dir", "overlays_dir"), "there is no configuration file"),
                                          (("keys_file", "operators_dir", "config"), "the configuration was read again")])
def test_the_outcome_says_what_was_read(start, tmp_path, parts, words):
    """Each of the four may be missing, and only what is there is said to be read. A program that is elsewhere finds no configuration."""
    paths = {"keys_file": write_keys(tmp_path / "keys.json", OLD), "operators_dir": tmp_path / "operators", "config": tmp_path / "burin.json"}
    paths["overlays_dir"] = paths["operators_dir"]
    paths["operators_dir"].mkdir(mode=0o755)
    paths["config"].write_text("{}")
    shutil.copy(BURIN, tmp_path / "burin")
    flags = (flag for part in parts for flag in ("--" + part.replace("_", "-"), str(paths[part])))
    daemon = start(*flags, command=[str(tmp_path / "burin")])
    expected = {part: "read" if part in parts else "none" for part in paths}
    before = outcome(daemon)
    assert before["read"] == expected
    daemon.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: outcome(daemon)["at"] != before["at"])
    assert outcome(daemon)["ok"] and outcome(daemon)["read"] == expected
    assert words in daemon.logged(event="reloaded")["message"]
    assert ("keys_loaded" in daemon.log_text(), "operators_unchanged" in daemon.log_text()) == ("keys_file" in parts, "operators_dir" in parts)


def test_a_pipe_is_read_at_the_start_alone(start, tmp_path):
    """A reload does not wait for another writer."""
    path = tmp_path / "pipe.json"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(json.dumps({"cors_origins": SHOP}),))
    writer.start()
    daemon = start("--config", str(path))
    writer.join()
    assert allowed(daemon, SHOP) == SHOP
    before = outcome(daemon)
    daemon.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: outcome(daemon)["at"] != before["at"])
    assert outcome(daemon)["errors"] == ["pipe.json is not a regular file"] and allowed(daemon, SHOP) == SHOP


def test_requests_go_on(configured):
    """None is refused or gets half of a list while the file changes again and again."""
    daemon = configured(cors_origins=SHOP)
    done, seen, statuses = threading.Event(), set(), set()

    def ask():
        while not done.is_set():
            answer = daemon.post("/histeq", PICTURE, {"Origin": SHOP})
            statuses.add(answer.status)
            seen.add(answer.headers["Access-Control-Allow-Origin"])

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(10):
        assert reload(daemon, cors_origins=SHOP if i % 2 else f"{OTHER},https://{'a' * 900}.example")["ok"]
    done.set()
    for thread in threads:
        thread.join()
    assert statuses == {200} and seen == {SHOP, None}


@pytest.mark.parametrize("sandbox", ["on", "off"])
def test_a_line_of_the_loader_changes_nothing(start, tmp_path, sandbox):
    """A process that starts may write to standard error before it is Burin; the configuration stays whole."""
    path = tmp_path / "burin.json"
    path.write_text(json.dumps({"body_bytes_max": "1MiB", "parts_max": 1}))
    daemon = start("--config", str(path), "--sandbox", sandbox, env={"LD_PRELOAD": "/nonexistent.so"})
    daemon.file = path
    now = reload(daemon, body_bytes_max="1MiB", parts_max=2)
    assert (now["ok"], now["errors"]) == (True, []) and not now["restart_needed_for"]
    assert daemon.works() and "ld.so" in daemon.log_text()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_began_before_keeps_its_limit(configured, chunked):
    """A reload that lowers body_bytes_max meanwhile holds for the next request."""
    daemon = configured(body_bytes_max="1MiB")
    large = pnm(noise(400, 300))
    pieces = [large[i:i + 30000] for i in range(0, len(large), 30000)]
    framed = [b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece for piece in pieces]
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(large)}"
    with daemon.socket() as s:
        s.sendall(f"POST /histeq HTTP/1.1\r\nHost: x\r\n{length}\r\nConnection: close\r\n\r\n".encode() + framed[0])
        assert wait_until(lambda: daemon.metric("slots_in_use") == 1)
        assert reload(daemon, body_bytes_max="64KiB")["ok"]
        check_problem(daemon.post("/histeq", large), 413, "65536")
        for piece in framed[1:]:
            s.sendall(piece)
        s.sendall(b"0\r\n\r\n" if chunked else b"")
        answer = b"".join(iter(lambda: s.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200 ")
