# SPDX-License-Identifier: Apache-2.0
"""overlay=NAME names a picture of overlays_dir: by query, field or preset, with the bytes that the same picture as a part gives, and what is
refused. tests/server/request/overlays.c has which files are taken."""
import json
import subprocess

import numpy as np
import pytest

from conftest import BURIN, Daemon, check_problem, encode, needs, noise, png, wait_until
from signing import Key, write_keys
from test_access import hang_up

pytestmark = needs("composite")

PICTURE = png(noise(40, 30, 3))
LOGO = encode(np.dstack([noise(9, 7, 3), noise(9, 7, seed=2)]), "WEBP", lossless=True, exact=True)
SITE = Key("site", 1)
OVER = [{"operation": "flip"}, {"operation": "composite"}]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("overlays")
    outside = folder / "outside"
    outside.mkdir()
    (folder / "dir").mkdir()
    (outside / "logo.webp").write_bytes(LOGO)
    (folder / "dir/link.png").symlink_to(outside / "logo.webp")
    (folder / "dir/logo.webp").write_bytes(LOGO)
    (folder / "dir/text").write_bytes(b"no picture")
    keys = write_keys(folder / "keys.json", SITE, marked="composite?overlay=logo.webp&position=north")
    daemon = Daemon("--overlays-dir", str(folder / "dir"), "--keys-file", keys, "--overlays-bytes-max", "4000", "--queue-bytes", "8000")
    daemon.folder = folder
    yield daemon
    assert daemon.stop() == 0, daemon.log_text()


def ask(daemon, path, *fields, image=PICTURE, headers=SITE.bearer):
    return daemon.post_form(path, [("image", image, "a")] + [(name, value, None) for name, value in fields], headers)


def with_part(daemon, query="", path="/composite"):
    answer = daemon.post_form(path + query, [("image", PICTURE, "a"), ("overlay", LOGO, "b")], SITE.bearer)
    assert answer.status == 200, answer.body
    return answer.body


def test_by_name_as_by_part(kept):
    expected = with_part(kept, "?position=north")
    answers = [kept.post("/composite?position=north&overlay=logo.webp", PICTURE, SITE.bearer),
               kept.request("PUT", "/composite?overlay=logo%2Ewebp&position=north", PICTURE, SITE.bearer),
               ask(kept, "/composite?position=north&overlay=logo.webp"),
               ask(kept, "/composite", ("overlay", "logo.webp"), ("position", "north")),
               kept.post("/preset/marked", PICTURE, SITE.bearer), ask(kept, "/preset/marked"),
               kept.post(SITE.sign("/composite", overlay="logo.webp", position="north", in_types="png"), PICTURE)]
    nameless = b"\r\n".join([b"--x", b'Content-Disposition: form-data; name="image"', b"", PICTURE, b"--x",
                             b'Content-Disposition: form-data; name="overlay"', b"Content-Type: image/webp", b"", LOGO, b"--x--", b""])
    answers.append(kept.post("/composite?position=north", nameless, {**SITE.bearer, "Content-Type": "multipart/form-data; boundary=x"}))
    assert [(answer.status, answer.body == expected) for answer in answers] == [(200, True)] * len(answers), [answer.body for answer in answers]
    expected = with_part(kept, f"?operations={json.dumps(OVER)}".replace(" ", ""), "/pipeline")
    answers = [kept.post(f"/pipeline?overlay=logo.webp&operations={json.dumps(OVER)}".replace(" ", ""), PICTURE, SITE.bearer),
               ask(kept, "/pipeline", ("overlay", "logo.webp"), ("operations", json.dumps(OVER)))]
    assert [answer.body == expected for answer in answers] == [True, True], answers[0].body
    command = ["curl", "-sS", "-T", "-", "-H", f"Authorization: Bearer {SITE.token}", f"http://127.0.0.1:{kept.port}/preset/marked"]
    assert subprocess.run(command, input=PICTURE, capture_output=True, check=True).stdout == with_part(kept, "?position=north")


def test_rights(kept):
    """The name is the signer's or the preset's, unless that leaves it free; the types of uploads are not asked of the server's picture."""
    check_problem(ask(kept, SITE.sign("/composite", position="north"), ("overlay", "logo.webp"), headers={}), 400, "overlay cannot be chosen")
    check_problem(kept.post("/preset/marked?overlay=text", PICTURE, SITE.bearer), 400, "overlay cannot be chosen")
    jpeg = SITE.sign("/composite", overlay="logo.webp", in_types="jpeg")
    check_problem(kept.post(jpeg, PICTURE), 415, "must be one of jpeg")
    parts = [("image", PICTURE, "a"), ("overlay", LOGO, "b")]
    check_problem(kept.post_form(SITE.sign("/composite", in_types="png", parts="image,overlay"), parts), 400, "overlay", "must be one of png")
    free = SITE.sign("/composite", free="overlay:logo.webp|text")
    assert ask(kept, free, ("overlay", "logo.webp"), headers={}).body == with_part(kept)
    check_problem(ask(kept, free, ("overlay", "link.png"), headers={}), 400, "overlay must be logo.webp|text")
    check_problem(kept.post("/composite?overlay=logo.webp", PICTURE), 401)


def test_what_is_refused(kept):
    for name in ("none.png", "link.png", "../outside/logo.webp", ".", "logo.webp/"):
        problem = check_problem(kept.post(f"/composite?overlay={name}", PICTURE, SITE.bearer), 400, "the server has no overlay", "overlays_dir")
        assert "logo.webp" not in problem["message"].replace(name, "")
    both = [("image", PICTURE, "a"), ("overlay", LOGO, "b")]
    check_problem(kept.post_form("/composite?overlay=logo.webp", both, SITE.bearer), 400, "leave one of them out")
    check_problem(ask(kept, "/composite?overlay=logo.webp", ("overlay", "logo.webp")), 400, "given twice")
    check_problem(ask(kept, "/composite?overlay="), 400, "1 to 63 bytes")
    check_problem(ask(kept, "/composite?overlay=" + "a" * 64), 400, "1 to 63 bytes")
    check_problem(ask(kept, "/composite?overlay=text"), 400, "overlay")
    check_problem(ask(kept, "/flip?overlay=logo.webp"), 400, "overlay")
    check_problem(ask(kept, "/info?overlay=logo.webp"), 400, "overlay")
    check_problem(ask(kept, "/pipeline?overlay=logo.webp", ("operations", json.dumps(OVER[:1]))), 400, "overlay")
    inside = json.dumps([{"operation": "composite", "params": {"overlay": "logo.webp"}}])
    check_problem(ask(kept, "/pipeline", ("operations", inside)), 400, "beside operations")
    large = png(noise(40, 64, 3))
    assert len(large) < 8000 < len(large) + len(LOGO)
    assert kept.post("/flip", large, SITE.bearer).status == 200
    check_problem(kept.post("/composite?overlay=logo.webp", large, SITE.bearer), 413, "queue_bytes")
    with kept.socket() as slow:  # leaves queue_bytes for the image, and not for both
        held = 8000 - len(PICTURE) - len(LOGO) // 2
        slow.sendall(f"POST /flip HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {SITE.token}\r\nContent-Length: {held + 1}\r\n\r\n".encode())
        slow.sendall(bytes(held))
        assert wait_until(lambda: kept.metric("body_bytes_held") == held)
        assert kept.post("/flip", PICTURE, SITE.bearer).status == 200
        check_problem(kept.post("/composite?overlay=logo.webp", PICTURE, SITE.bearer), 503, "queue_bytes")
    assert wait_until(lambda: kept.metric("slots_in_use") == kept.metric("body_bytes_held") == 0)


def test_a_reload(kept):
    """Adds a picture, is refused as a whole where the sum is too large, and where a preset would lose its picture keeps the keys."""
    other = png(noise(5, 5, 3, seed=3))
    (kept.folder / "dir/new.png").write_bytes(other)
    hang_up(kept, "overlays_dir was read again: 3 overlays")
    expected = kept.post_form("/composite", [("image", PICTURE, "a"), ("overlay", other, "b")], SITE.bearer).body
    assert kept.post("/composite?overlay=new.png", PICTURE, SITE.bearer).body == expected
    (kept.folder / "dir/new.png").write_bytes(bytes(4000))
    hang_up(kept, "overlays_dir: all overlays stay as they were")
    assert kept.post("/composite?overlay=new.png", PICTURE, SITE.bearer).body == expected
    outcome = kept.get("/readyz").json["reload"]
    assert outcome["read"]["overlays_dir"] == "failed" and outcome["errors"] == [
        "dir: its files have more than 4000 bytes together: remove some, or raise overlays_bytes_max"]
    (kept.folder / "dir/new.png").unlink()
    write_keys(kept.folder / "keys.json", SITE, marked="composite?overlay=new.png")
    hang_up(kept, "keys_file: all keys stay as they were")
    assert "presets.marked is wrong: the server has no overlay" in kept.log_text()
    assert kept.post("/preset/marked", PICTURE, SITE.bearer).body == with_part(kept, "?position=north")


def test_a_start_with_a_wrong_folder(tmp_path):
    for flags, words in ((["--overlays-dir", str(tmp_path / "none")], "cannot be read: No such file"),
                         (["--keys-file", write_keys(tmp_path / "keys.json", SITE, a="composite?overlay=b")], "the server has no overlay")):
        done = subprocess.run([BURIN, "serve", "--listen", "127.0.0.1:0", *flags], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and words in done.stderr, done.stderr
