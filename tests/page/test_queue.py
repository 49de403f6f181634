# SPDX-License-Identifier: Apache-2.0
"""Several files at once: the list of them, the ZIP file that comes out, and its writer. Archives are read by Python's zipfile,
and their files are compared with what `burin run` writes.

covers: server/http/handle_document.c"""
import base64
import io
import subprocess
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from browser import needs_browser
from conftest import BURIN, Daemon, encode, noise, operators, smooth, wait_until
from window import check_canvas

pytest_plugins = "page_fixtures"
pytestmark = needs_browser

ASKS_TO_SAVE = "return !dispatchEvent(new Event('beforeunload', { cancelable: true }))"


HELD = """window.held = []; window.real ??= window.fetch; window.fetch = async (target, options) => {
    if (!(options?.body instanceof FormData)) return real(target, options);
    await new Promise((go) => held.push(go));
    return real(target, options); };"""


def drop(page, *paths):
    """A drop of files and folders, as the system makes it."""
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        page.driver.execute_cdp_cmd("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": data})


def rows(page):
    return page.run("return [...document.querySelectorAll('#queue-list li')].map((e) => [e.children[0].textContent, e.dataset.state, e.children[2].textContent])")


def choose_type(page, kind, quality):
    page.click("#save")
    page.run("""document.querySelector(`#save-type input[value=${arguments[0]}]`).click();
        const box = document.getElementById('save-quality'); box.value = arguments[1]; box.dispatchEvent(new Event('change'));""", kind, quality)
    page.click("#saving-close")


def archive(page):
    path = page.downloads / "pictures.zip"
    assert wait_until(lambda: path.exists() and path.stat().st_size), list(page.downloads.iterdir())
    data = path.read_bytes()
    path.unlink()
    found = zipfile.ZipFile(io.BytesIO(data))
    assert found.testzip() is None
    return found


def pictures(folder, count):
    folder.mkdir(exist_ok=True)
    for i in range(count):
        (folder / f"p{i}.png").write_bytes(encode(smooth(80 + 10 * i, 60), "PNG"))
    return [folder / f"p{i}.png" for i in range(count)]


def test_many_become_one_archive(page, tmp_path):
    """The same steps and options for all; errors are listed and stop nothing; no more than four requests at a time."""
    paths = pictures(tmp_path / "in", 6)
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Sir or Madam, this is not a picture.")
    twin = tmp_path / "p1.jpg"
    twin.write_bytes(encode(smooth(50, 40), "JPEG", quality=90))
    page.run("""window.most = 0; let now = 0; const real = window.fetch;
        window.fetch = async (target, options) => {
            if (!(options?.body instanceof FormData)) return real(target, options);
            most = Math.max(most, ++now);
            return real(target, options).finally(() => now--);
        };""")
    drop(page, letter, *paths, twin)
    page.opened()
    assert "p0.png" in page.text("#file") and page.text("#queue-title") == "8 pictures"
    page.add_step("histeq")
    page.shown("histeq")
    choose_type(page, "jpeg", 60)
    assert page.text("#queue-how") == "Each as JPEG, quality 60, after histeq"
    page.run("most = 0")
    page.click("#queue-run")
    page.wait("document.documentElement.dataset.queue")
    assert 2 <= page.run("return most") <= 4
    found = archive(page)
    assert found.namelist() == ["p0.jpg", "p1.jpg", *(f"p{i}.jpg" for i in range(2, 6)), "p1-2.jpg"]
    for name, path in zip(found.namelist(), [*paths, twin]):
        out = tmp_path / "expected.jpg"
        subprocess.run([BURIN, "run", "histeq", "--quality", "60", str(path), str(out)], check=True, capture_output=True)
        assert found.read(name) == out.read_bytes()
        assert found.getinfo(name).compress_type == zipfile.ZIP_STORED
    shown = {name: (state, text) for name, state, text in rows(page)}
    assert shown["letter.txt"][0] == "failed" and "send JPEG" in shown["letter.txt"][1]
    assert all(state == "done" for name, (state, _) in shown.items() if name != "letter.txt")
    assert "7 of 8 done, 1 failed" == page.text("#queue-sum") and "Saved 7 of 8 pictures" in page.text("#status")
    refusals = [line["message"] for line in page.errors()]
    assert refusals and all("415" in line for line in refusals)


def test_pictures_keep_their_types_until_one_is_chosen(page, tmp_path):
    (tmp_path / "a.png").write_bytes(encode(smooth(60, 40), "PNG"))
    (tmp_path / "b.jpg").write_bytes(encode(smooth(60, 40), "JPEG", quality=90))
    (tmp_path / "c.webp").write_bytes(encode(smooth(60, 40), "WEBP", quality=80))
    page.choose_file("\n".join(str(tmp_path / name) for name in ("a.png", "b.jpg", "c.webp")))
    page.opened()
    page.click("#queue-run")
    page.wait("document.documentElement.dataset.queue")
    found = archive(page)
    assert [(name, Image.open(io.BytesIO(found.read(name))).format) for name in found.namelist()] == [
        ("a.png", "PNG"), ("b.jpg", "JPEG"), ("c.webp", "WEBP")]


def test_a_folder_and_its_paths(page, tmp_path):
    folder = tmp_path / "holiday"
    pictures(folder, 2)
    pictures(folder / "sea", 1)
    for name in (".DS_Store", "sea/Thumbs.db"):
        (folder / name).write_bytes(b"of the system")
    (tmp_path / "empty").mkdir()
    drop(page, folder)
    page.opened()
    assert [name for name, _, _ in rows(page)] == ["holiday/p0.png", "holiday/p1.png", "holiday/sea/p0.png"]
    page.click("#queue-run")
    page.wait("document.documentElement.dataset.queue")
    assert archive(page).namelist() == ["holiday/p0.png", "holiday/p1.png", "holiday/sea/p0.png"]
    drop(page, tmp_path / "empty")
    page.wait("document.getElementById('status').textContent === 'There is no picture in it.'")


def test_another_one_is_opened(page, tmp_path):
    """A row opens its picture; a picture that is dropped beside the list joins it; a single one without a list makes none."""
    paths = pictures(tmp_path / "in", 3)
    drop(page, paths[0])
    page.opened()
    assert not page.visible("#queue")
    drop(page, *paths[:2])
    page.wait("document.querySelectorAll('#queue-list li').length === 2")
    page.click("#queue-list li:nth-child(2) button")
    page.wait("document.getElementById('file').textContent.startsWith('p1.png')")
    page.wait("document.querySelector('#queue-list [aria-current=true]')?.textContent === 'p1.png'")
    page.opened()
    check_canvas(page, np.array(Image.open(paths[1])))
    drop(page, paths[2])
    page.wait("document.getElementById('file').textContent.startsWith('p2.png')")
    assert [name for name, _, _ in rows(page)] == ["p0.png", "p1.png", "p2.png"]
    page.click("#queue-close")
    assert not page.visible("#queue") and "p2.png" in page.text("#file")


def test_cancel_and_go_on(page, daemon, tmp_path):
    """What is done is kept; a change of steps makes all of them again."""
    paths = []
    for i in range(8):
        paths.append(tmp_path / f"n{i}.png")
        paths[-1].write_bytes(encode(noise(700, 500, 3), "PNG"))
    drop(page, *paths)
    page.opened()
    page.add_step("carve")
    page.set_field("carve", "dx", -200)
    page.shown("carve:dx=-200")
    page.click("#queue-run")
    page.wait("document.querySelector('#queue-list [data-state=done]') && (document.getElementById('queue-cancel').click(), true)")
    page.wait("!document.getElementById('queue-run').closest('[hidden]')")
    assert daemon.becomes_idle()
    done = {name for name, state, _ in rows(page) if state == "done"}
    assert 1 <= len(done) < 8 and all(state == "waiting" for name, state, _ in rows(page) if name not in done)
    page.run("window.asked = 0; const real = window.fetch; window.fetch = (target, options) => {"
             "if (options?.body instanceof FormData) asked++; return real(target, options); };")
    page.click("#queue-run")
    page.wait("document.documentElement.dataset.queue === '8 of 8'")
    assert page.run("return asked") == 8 - len(done)
    assert len(archive(page).namelist()) == 8
    page.set_field("carve", "dx", -1)
    page.shown("carve:dx=-1")
    page.wait("document.querySelectorAll('#queue-list [data-state=waiting]').length === 8")


def test_room_is_waited_for(site, tmp_path):
    """A daemon with little room refuses some with 503: they are tried again."""
    page = site
    daemon = Daemon("--queue-jobs", "1", "--codec-threads", "1")
    try:
        page.open_page(f"http://127.0.0.1:{daemon.port}/")
        refused = """const real = window.fetch; window.left = 3; window.fetch = async (target, options) => {
            if (!(options?.body instanceof FormData) || !window.left) return real(target, options);
            window.left--;
            return new Response(JSON.stringify({ message: 'the queue is full' }), { status: 503, headers: { 'Retry-After': '1' } }); };"""
        drop(page, *pictures(tmp_path / "in", 4))
        page.opened()
        page.run(refused)
        page.click("#queue-run")
        page.wait("document.documentElement.dataset.queue === '4 of 4'")
        assert page.run("return left") == 0 and len(archive(page).namelist()) == 4
    finally:
        daemon.stop()
    page.errors()


def test_keys_and_the_focus(page, tmp_path):
    """By keys alone. The end leaves the focus where it has gone; and waiting for room can be cancelled."""
    from selenium.webdriver.common.keys import Keys
    drop(page, *pictures(tmp_path / "in", 2))
    page.opened()
    page.run("document.querySelector('#queue-list li:nth-child(2) button').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.wait("document.getElementById('file').textContent.startsWith('p1.png')")
    page.run("document.getElementById('queue-run').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.wait("document.documentElement.dataset.queue === '2 of 2'")
    assert page.run("return document.activeElement.id") == "queue-run"
    archive(page)

    page.add_step("flip")
    page.shown("flip")
    page.run("delete document.documentElement.dataset.queue")
    page.run(HELD)
    page.click("#queue-run")
    page.wait("held.length === 2")
    assert page.run("return document.activeElement.id") == "queue-cancel"
    page.run("document.getElementById('compare').focus(); held.forEach((go) => go())")
    page.wait("document.documentElement.dataset.queue === '2 of 2'")
    archive(page)
    assert page.run("return document.activeElement.id") == "compare"

    page.run("window.fetch = real")
    page.add_step("flop")
    page.shown("flip;flop")
    page.run("""window.refused = 0; const real = window.fetch; window.fetch = async (target, options) => {
        if (!(options?.body instanceof FormData)) return real(target, options);
        refused++;
        return new Response(JSON.stringify({ message: 'the queue is full' }), { status: 503, headers: { 'Retry-After': '600' } }); };""")
    page.click("#queue-run")
    page.wait("document.querySelectorAll('#queue-list li').length === 2 && refused === 2")
    page.click("#queue-cancel")
    page.wait("!document.getElementById('queue-run').hidden")
    assert {state for _, state, _ in rows(page)} == {"waiting"}


def test_what_is_in_the_archive_is_saved(page, tmp_path):
    """A result of steps that were changed meanwhile is not."""
    drop(page, *pictures(tmp_path / "in", 2))
    page.opened()
    page.add_step("flip")
    page.shown("flip")
    page.run(HELD)
    page.click("#queue-run")
    page.wait("held.length === 2")
    assert page.run(ASKS_TO_SAVE)
    page.run("window.fetch = real")
    page.add_step("flop")
    page.shown("flip;flop")
    page.run("held.forEach((go) => go())")
    page.wait("document.documentElement.dataset.queue === '2 of 2'")
    archive(page)
    assert page.run(ASKS_TO_SAVE), "the shown result is in no archive"
    page.click("#queue-run")
    page.wait("document.getElementById('queue-sum').textContent === '2 of 2 done' && !document.getElementById('queue-run').hidden")
    archive(page)
    assert not page.run(ASKS_TO_SAVE)


def test_work_that_ends_early(page, tmp_path):
    """Leaving asks while it works, and after it was cancelled with some done."""
    drop(page, *pictures(tmp_path / "in", 6))
    page.opened()
    assert not page.run(ASKS_TO_SAVE)
    page.run(HELD)
    page.click("#queue-run")
    page.wait("held.length === 4")
    assert page.run(ASKS_TO_SAVE)
    page.run("held[0]()")
    page.wait("document.querySelector('#queue-list [data-state=done]')")
    page.click("#queue-cancel")
    page.run("window.fetch = real; held.forEach((go) => go())")
    page.wait("!document.getElementById('queue-run').hidden")
    assert "1 of 6 pictures are done" in page.text("#status") and page.run(ASKS_TO_SAVE)
    page.click("#queue-run")
    page.wait("document.documentElement.dataset.queue === '6 of 6'")
    archive(page)
    assert not page.run(ASKS_TO_SAVE)

    # A lost daemon ends the work: no row has failed, and the rest can be made when it is back.
    page.add_step("flip")
    page.shown("flip")
    assert {state for _, state, _ in rows(page)} == {"waiting"}
    page.run("delete document.documentElement.dataset.queue")
    page.run("""window.asked = 0; window.fetch = async (target, options) => {
        if (options?.body instanceof FormData && ++asked > 1) throw new TypeError('Failed to fetch');
        return real(target, options); };""")
    page.click("#queue-run")
    page.wait("!document.getElementById('queue-run').hidden && document.querySelector('#notice strong')?.textContent === 'The daemon does not answer'")
    assert {state for _, state, _ in rows(page)} <= {"waiting", "done"} and not page.run("return document.documentElement.dataset.queue")
    page.run("window.fetch = real")
    page.wait("document.getElementById('status').textContent === 'The daemon is back.'")
    page.click("#queue-run")
    page.wait("document.documentElement.dataset.queue === '6 of 6'")
    assert len(archive(page).namelist()) == 6


def test_rows_after_a_change_and_its_undo(page, tmp_path):
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Sir or Madam, this is not a picture.")
    drop(page, *pictures(tmp_path / "in", 2), letter)
    page.opened()
    page.click("#queue-run")
    page.wait("document.documentElement.dataset.queue === '2 of 3'")
    archive(page)
    before = rows(page)
    assert [state for _, state, _ in before] == ["done", "done", "failed"]
    page.add_step("flip")
    page.shown("flip")
    assert {state for _, state, _ in rows(page)} == {"waiting"}
    page.click("#undo")
    assert rows(page) == before
    assert page.errors()


def test_a_file_that_is_gone(page, tmp_path):
    """Its row says so; the others are made."""
    paths = pictures(tmp_path / "in", 3)
    drop(page, *paths)
    page.opened()
    paths[1].unlink()
    page.click("#queue-run")
    page.wait("document.documentElement.dataset.queue === '2 of 3'")
    assert rows(page)[1][1:] == ["failed", "The file cannot be read any more."]
    archive(page)
    assert "Saved 2 of 3 pictures" in page.text("#status")
    page.errors()


def torn(path, size=(300, 200)):
    """Half a JPEG."""
    whole = encode(smooth(*size), "JPEG", quality=90)
    path.write_bytes(whole[:len(whole) // 2])
    return path


ACCEPT = "#queue-list li:nth-child(2) .queue-state button"


def test_what_can_be_read_of_a_damaged_picture(page, tmp_path, axe):
    """Its row offers that, the others are made; it is made as `burin run --damaged accept` makes it, and joins the archive."""
    paths = pictures(tmp_path / "in", 2)
    paths.insert(1, torn(tmp_path / "torn.jpg"))
    drop(page, *paths, torn(tmp_path / "other.jpg", (90, 60)))
    page.opened()
    page.add_step("flip")
    page.shown("flip")
    page.click("#queue-run")
    page.wait("document.documentElement.dataset.queue === '2 of 4'")
    assert archive(page).namelist() == ["p0.png", "p1.png"]
    assert [state for _, state, _ in rows(page)] == ["done", "failed", "done", "failed"] and "--damaged" not in rows(page)[1][2]
    button = page.find(ACCEPT)
    assert button.text == "Use what can be read"
    page.run("document.documentElement.dataset.tab = 'queue'")  # of a telephone's sheet
    axe(page, "#queue")
    page.run("document.querySelector(arguments[0]).focus(); document.querySelector(arguments[0]).click()", ACCEPT)
    page.wait("document.querySelector('#queue-list li:nth-child(2)').dataset.state === 'done' && !document.getElementById('queue-run').hidden")
    assert page.run("return document.activeElement.textContent") == "torn.jpg"
    assert [state for _, state, _ in rows(page)] == ["done", "done", "done", "failed"], "the other one was not asked for"
    assert page.text("#status") == "torn.jpg is made of what can be read. Save all as ZIP takes it in." and page.run(ASKS_TO_SAVE)
    assert list(page.downloads.glob("*.zip")) == []
    page.click("#queue-run")
    page.wait("document.documentElement.dataset.queue === '3 of 4'")
    found = archive(page)
    assert found.namelist() == ["p0.png", "torn.jpg", "p1.png"]
    out = tmp_path / "expected.jpg"
    subprocess.run([BURIN, "run", "flip", "--damaged", "accept", str(paths[1]), str(out)], check=True, capture_output=True)
    assert found.read("torn.jpg") == out.read_bytes()
    page.click("#queue-list li:nth-child(2) .link")
    page.wait("document.getElementById('file').textContent === 'torn.jpg 300 × 200'")
    assert not page.visible("#notice")
    assert all("422" in line["message"] for line in page.errors())


def test_a_damaged_picture_is_accepted_while_others_are_made(page, tmp_path):
    paths = pictures(tmp_path / "in", 7)
    paths.insert(1, torn(tmp_path / "torn.jpg"))
    drop(page, *paths)
    page.opened()
    page.run(HELD)
    page.click("#queue-run")
    page.wait("held.length === 4")
    page.run("held[1]()")
    page.wait(f"document.querySelector('{ACCEPT}')")
    page.click(ACCEPT)
    page.run("window.fetch = real; held.forEach((go) => go())")
    page.wait("document.documentElement.dataset.queue === '8 of 8'")
    assert archive(page).namelist() == ["p0.png", "torn.jpg", *(f"p{i}.png" for i in range(1, 7))]
    assert all("422" in line["message"] for line in page.errors())


def test_a_mask_in_a_queue(page, tmp_path):
    """It has the size of what its step gets."""
    if "carve" not in operators():
        pytest.skip("this program was built without carve")
    paths = pictures(tmp_path / "in", 1)
    paths.append(tmp_path / "twin.png")
    paths[1].write_bytes(encode(smooth(80, 60)[::-1], "PNG"))
    mask = np.zeros((60, 80), np.uint8)
    mask[:, 40:60] = 255
    Image.fromarray(mask).save(tmp_path / "mask.png")
    Image.fromarray(mask[::2, ::2]).save(tmp_path / "half.png")
    drop(page, *paths)
    page.opened()
    for name in ("resize", "carve"):
        page.add_step(name)
    page.set_field("resize", "width", 40)
    page.set_field("carve", "dx", -5)
    page.find('.step input[name="rmask"]').send_keys(str(tmp_path / "mask.png"))
    page.wait("document.documentElement.dataset.shown?.endsWith(';carve:dx=-5')")
    steps = page.run("return document.documentElement.dataset.shown").split(";")
    page.click("#queue-run")
    page.wait("document.documentElement.dataset.queue === '2 of 2'")
    found = archive(page)
    for name, path in zip(found.namelist(), paths):
        out = tmp_path / "expected.png"
        subprocess.run([BURIN, "run", *steps, "--rmask", str(tmp_path / "half.png"), str(path), str(out)], check=True, capture_output=True)
        assert found.read(name) == out.read_bytes()


def overlap(one, other):
    return min(one[2], other[2]) - max(one[0], other[0]) > 0.5 and min(one[3], other[3]) - max(one[1], other[1]) > 0.5


def test_a_drop_that_cannot_be_read_and_one_that_fits_the_window(page, tmp_path):
    page.run("""const event = new Event('drop', { cancelable: true });
        const entry = { isDirectory: true, createReader: () => ({ readEntries: (_, no) => no(new DOMException('x', 'NotFoundError')) }) };
        event.dataTransfer = { types: ['Files'], files: [], items: [{ webkitGetAsEntry: () => entry }] };
        dispatchEvent(event);""")
    page.wait("document.querySelector('#notice strong')?.textContent === 'What was dropped cannot be opened'")
    drop(page, *pictures(tmp_path / "in", 12))
    page.opened()
    for width, height in ((375, 700), (768, 1024), (1440, 900), (2560, 1440)):
        page.resize(width, height)
        assert page.run("return document.documentElement.scrollWidth") <= width
        assert page.run("return document.getElementById('canvas').clientHeight") >= 180
        places = page.run("""return ['view', 'queue', 'status'].map((id) => document.getElementById(id).getBoundingClientRect())
            .concat(document.querySelector('.statistics').getBoundingClientRect()).map((box) => [box.left, box.top, box.right, box.bottom])""")
        assert not any(overlap(one, other) for i, one in enumerate(places) for other in places[:i]), (width, places)


# ---- the writer of archives

NAMES = [
    (["/a/x.png", "/a/x.webp", "x.png", "X.tif"], ["a/x.jpg", "a/x-2.jpg", "x.jpg", "X-2.jpg"]),
    (["../../etc/passwd", "..\\\\w.png", "/", "v1.2/name", ".png"], ["etc/passwd.jpg", "w.jpg", "picture.jpg", "v1.2/name.jpg", "picture-2.jpg"]),
    (["a.png", "a-2.png", "a.jpg"], ["a.jpg", "a-2.jpg", "a-3.jpg"]),
]


def test_the_archive(page):
    """Files of all sizes and names, read back by zipfile; the digests are zlib's. No two have one name. More than its 32 bits can say is
    refused, not written wrongly."""
    files = {"a.bin": b"", "δύση/b.bin": bytes(range(256)) * 300, "c d.bin": b"x", "e/f/g.bin": noise(300, 200, 3).tobytes()}
    page.module("zip")
    data, crcs = page.run("""const [files] = arguments;
        return (async () => {
            const { crcOf, zipOf } = zip, list = [];
            for (const [name, text] of files) {
                const blob = new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]);
                list.push({ name, blob, crc: await crcOf(blob) });
            }
            const bytes = new Uint8Array(await zipOf(list, new Date(2024, 1, 29, 13, 14, 16)).arrayBuffer());
            let text = '';
            for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
            return [btoa(text), list.map(({ crc }) => crc)];
        })();""", [[name, base64.b64encode(body).decode()] for name, body in files.items()])
    found = zipfile.ZipFile(io.BytesIO(base64.b64decode(data)))
    assert found.testzip() is None and found.namelist() == list(files)
    assert {name: found.read(name) for name in files} == files
    assert crcs == [zlib.crc32(body) for body in files.values()]
    assert all(info.date_time == (2024, 2, 29, 13, 14, 16) for info in found.infolist())

    for paths, names in NAMES:
        assert page.run("return zip.uniqueNames(arguments[0].map((path) => ({ path, ending: 'jpg' })))", paths) == names

    said = page.run("""const blob = new Blob([new Uint8Array(1 << 20)]), all = new Blob(Array(4096).fill(blob));
        try { zip.zipOf([{ name: 'a', blob: all, crc: 0 }]); return 'written'; } catch (error) { return error.message; }""")
    assert "4 GB" in said
