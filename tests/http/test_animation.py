# SPDX-License-Identifier: Apache-2.0
"""animation=keep: every frame as Pillow shows it, through a plan and back, with delays and loops; awkward files; limits; damage.

covers: pipeline/animation.c pipeline/codecs/gif/animation.c pipeline/codecs/webp/animation.c server/worker/batch_animation.c"""
import io
import random
import subprocess
import warnings

import numpy as np
import pytest
from PIL import Image

from conftest import BURIN, Daemon, check_problem, noise, png, smooth
from test_gif_in import PALETTE, frame, gif, indices, le, literals, picture, screen

KEEP = "/brightness?shift=0&animation=keep"


def frames_of(data):
    """RGBA of each frame, its milliseconds, and how often all are played (0: without end)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image = Image.open(io.BytesIO(data))
        arrays, times = [], []
        for i in range(getattr(image, "n_frames", 1)):
            image.seek(i)
            image.load()
            arrays.append(np.array(image.convert("RGBA")))
            times.append(image.info.get("duration", 0))
    loop = image.info.get("loop")
    plays = loop if image.format == "WEBP" else 1 if loop is None else loop + 1 if loop else 0
    return arrays, times, plays


def same(a, b):
    """What is transparent has no colour."""
    return len(a) == len(b) and all(x.shape == y.shape and np.array_equal(x[..., 3], y[..., 3]) and
                                    np.array_equal(x * (x[..., 3:] > 0), y * (y[..., 3:] > 0)) for x, y in zip(a, b))


def kept(daemon, data, query=""):
    answer = daemon.post(KEEP + query, data)
    assert answer.status == 200, answer.body
    return answer


def control(disposal=0, delay=10, transparent=None):
    return b"!\xf9\4" + bytes([disposal << 2 | (transparent is not None)]) + le(delay) + bytes([transparent or 0, 0])


LOOP = b"!\xff\x0bNETSCAPE2.0\3\1"
TABLE = np.frombuffer(PALETTE, np.uint8).reshape(256, 3)
SECOND = noise(256, 1, 3, seed=8).tobytes()


def order(rows):
    return [y for start, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for y in range(start, rows, step)]


class Recipe:
    """Frames of a GIF, and by the rules of GIF89a what is shown: the canvas is composed here with numpy."""

    def __init__(self, width, height, loops=None):
        self.blocks, self.shown, self.times = ([LOOP + le(loops) + b"\0"] if loops is not None else []), [], []
        self.width, self.height = width, height
        self.canvas = np.zeros((height, width, 4), np.uint8)

    def add(self, left, top, array, disposal=0, delay=10, transparent=None, own=False, interlaced=False, bare=False):
        rows, columns = array.shape
        codes = array[order(rows)] if interlaced else array
        flags = (0x87 if own else 0) | (0x40 if interlaced else 0)
        self.blocks += [b"" if bare else control(disposal, delay, transparent),
                        frame(left, top, columns, rows, literals(codes.ravel()), flags=flags, palette=SECOND if own else b"")]
        table = np.frombuffer(SECOND, np.uint8).reshape(256, 3) if own else TABLE
        before = self.canvas.copy()
        for y in range(min(rows, self.height - top)):
            for x in range(min(columns, self.width - left)):
                if array[y, x] != transparent:
                    self.canvas[top + y, left + x] = (*table[array[y, x]], 255)
        self.shown.append(self.canvas.copy())
        self.times.append(0 if bare else delay * 10)
        if disposal == 2:
            self.canvas[top:top + rows, left:left + columns] = 0
        if disposal == 3:
            self.canvas = before
        return self

    def file(self):
        return screen(self.width, self.height, *self.blocks)


def small(seed, width=9, height=7):
    return indices(width, height, 100, seed=seed)


RECIPES = {
    "whole": Recipe(9, 7, 0).add(0, 0, small(1)).add(0, 0, small(2)).add(0, 0, small(3)),
    "once": Recipe(9, 7).add(0, 0, small(1)).add(0, 0, small(2)),
    "three times": Recipe(9, 7, 3).add(0, 0, small(1)).add(0, 0, small(2)),
    "one frame with a loop": Recipe(9, 7, 0).add(0, 0, small(1)),
    "offsets": Recipe(20, 16, 0).add(0, 0, small(1, 20, 16)).add(3, 2, small(2)).add(11, 9, small(3)),
    "a small first frame": Recipe(20, 16, 0).add(4, 5, small(1)).add(0, 0, small(2)),
    "local palettes": Recipe(9, 7, 0).add(0, 0, small(1)).add(0, 0, small(2), own=True).add(2, 1, small(3, 4, 4)),
    "interlaced": Recipe(20, 16, 0).add(0, 0, small(1, 20, 16), interlaced=True).add(2, 3, small(2, 11, 13), interlaced=True, transparent=8),
    "transparent": Recipe(9, 7, 0).add(0, 0, small(1)).add(0, 0, small(2) % 8, transparent=3).add(0, 0, small(3) % 4, transparent=1),
    "a transparent first": Recipe(9, 7, 0).add(0, 0, small(1) % 8, transparent=3).add(0, 0, small(2) % 8, transparent=4),
    "beyond the canvas": Recipe(12, 8, 0).add(0, 0, small(1, 12, 8)).add(8, 5, small(2)).add(30, 40, small(3)),
    "without a control": Recipe(9, 7, 0).add(0, 0, small(1) % 8, transparent=3).add(0, 0, small(2) % 8, bare=True).add(1, 1, small(3, 4, 4), bare=True),
    "no delays": Recipe(9, 7, 0).add(0, 0, small(1), delay=0).add(0, 0, small(2), delay=0),
    "long delays": Recipe(9, 7, 0).add(0, 0, small(1), delay=65535).add(0, 0, small(2), delay=1),
} | {f"disposal {a} {b}": Recipe(20, 16, 0).add(0, 0, small(1, 20, 16), disposal=c).add(3, 2, small(2), disposal=a, transparent=5)
     .add(5, 4, small(3), disposal=b).add(1, 1, small(4, 18, 3) % 16, transparent=2).add(0, 0, small(5, 3, 3))
     for a in range(4) for b in range(4) for c in ((0, 2, 3) if a == 3 else (0,))}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("kind", ["gif", "webp"])
def test_frames_are_as_shown(daemon, name, kind):
    recipe = RECIPES[name]
    answer = kept(daemon, recipe.file(), f"&type={kind}&lossless=true")
    assert answer.headers["Content-Type"] == f"image/{kind}"
    if len(recipe.shown) == 1:
        assert answer.timing["notes"] == [] and same(frames_of(answer.body)[0], recipe.shown)
        return
    arrays, times, plays = frames_of(answer.body)
    loops = {"once": 1, "three times": 4}.get(name, 0)
    assert times == recipe.times and plays == loops and answer.timing["notes"] == []
    assert same(arrays, recipe.shown)
    info = daemon.post("/info", recipe.file()).json
    assert (info["frames"], info["loops"], info["animated"]) == (len(recipe.shown), loops, True)


def gif_of(frames, **options):
    return gif(frames[0], save_all=True, append_images=frames[1:], **options)


def test_files_of_pillow(daemon):
    """It writes what has changed only, with palettes and disposals of its own choice. Its reader composes the frames."""
    for disposal in (0, 1, 2):
        frames = [picture(indices(60, 40, 40, kind="steps", seed=s)) for s in range(3)] + [picture(indices(60, 40, 16, seed=s)) for s in range(4)]
        data = gif_of(frames, duration=[20, 30, 40, 50, 60, 70, 80], loop=2, disposal=disposal)
        arrays, times, plays = frames_of(data)
        for kind in ("gif", "webp"):
            again = frames_of(kept(daemon, data, f"&type={kind}&lossless=true").body)
            assert same(again[0], arrays) and again[1:] == (times, plays)


def webp_of(arrays, **options):
    out = io.BytesIO()
    first, *others = [Image.fromarray(a) for a in arrays]
    first.save(out, "WEBP", **{"save_all": True, "append_images": others, "lossless": True, **options})
    return out.getvalue()


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("partial", [False, True])
def test_webp(daemon, channels, partial):
    """Pillow has libwebp compose, and libwebp finds the parts that change."""
    arrays = []
    for i in range(6):
        array = smooth(60, 40, channels).copy()
        array[5 + i:15 + i, 3 * i:3 * i + 20] = noise(20, 10, channels, seed=i)
        if channels == 4 and not partial:
            array[..., 3] = np.where(array[..., 3] > 100, 255, 0)
        arrays.append(array)
    data = webp_of(arrays, duration=[33, 33, 33, 7, 0, 100], loop=3, minimize_size=partial)
    shown, times, plays = frames_of(data)
    answer = kept(daemon, data)
    assert answer.headers["Content-Type"] == "image/webp"
    assert frames_of(answer.body)[1:] == (times, plays) and same(frames_of(answer.body)[0], shown)
    info = daemon.post("/info", data).json
    assert (info["frames"], info["loops"]) == (6, 3)
    as_gif = frames_of(kept(daemon, data, "&type=gif").body)
    assert as_gif[2] == 3 and abs(sum(as_gif[1]) - sum(times)) <= 10 and all(abs(a - b) <= 10 for a, b in zip(as_gif[1], times))


def riff(name, data):
    return name + len(data).to_bytes(4, "little") + data + bytes(len(data) & 1)


def number(value):
    return value.to_bytes(3, "little")


def test_webp_by_hand(daemon):
    """Frames that replace and that lie over, that stay and that are removed, at places of their own."""
    width, height = 30, 20
    chunks, canvas, shown = [], np.zeros((height, width, 4), np.uint8), []
    for i, (left, top, flags) in enumerate([(0, 0, 0), (4, 2, 1), (8, 6, 2), (10, 8, 3), (2, 10, 0), (0, 0, 1), (6, 4, 0)]):
        array = noise(12, 9, 4, seed=i)
        array[..., 3] = np.where(array[..., 3] > 120, 255, 0)
        still = io.BytesIO()
        Image.fromarray(array).save(still, "WEBP", lossless=True, exact=True)
        picture = still.getvalue()[12:]
        picture = picture[18:] if picture[:4] == b"VP8X" else picture
        head = number(left // 2) + number(top // 2) + number(11) + number(8) + number(40) + bytes([flags])
        chunks.append(riff(b"ANMF", head + picture))
        place = np.s_[top:top + 9, left:left + 12]
        seen = (array[..., 3:] > 0) | bool(flags & 2)
        canvas[place] = np.where(seen, array, canvas[place])
        shown.append(canvas.copy())
        if flags & 1:
            canvas[place] = 0
    head = riff(b"VP8X", bytes([0x12, 0, 0, 0]) + number(width - 1) + number(height - 1)) + riff(b"ANIM", bytes(4) + le(7))
    data = riff(b"RIFF", b"WEBP" + head + b"".join(chunks))
    assert same(frames_of(data)[0], shown)
    arrays, times, plays = frames_of(kept(daemon, data).body)
    assert same(arrays, shown) and times == [40] * 7 and plays == 7


@pytest.mark.parametrize("seed", range(40))
def test_webp_of_soft_edges(daemon, seed):
    """Any alpha, places and flags: to the level as libwebp composes, which copies onto what is bare and rounds elsewhere."""
    rng, width, height, chunks = random.Random(seed), 30, 20, []
    for i in range(6):
        w, h = rng.choice([(12, 9), (30, 20), (17, 20), (30, 5)])
        left, top = 2 * rng.randint(0, (width - w) // 2), 2 * rng.randint(0, (height - h) // 2)
        still = io.BytesIO()
        Image.fromarray(noise(w, h, 4, seed=10 * seed + i)).save(still, "WEBP", lossless=True, exact=True)
        picture = still.getvalue()[still.getvalue().index(b"VP8L"):]
        chunks.append(riff(b"ANMF", b"".join(map(number, (left // 2, top // 2, w - 1, h - 1, 40))) + bytes([rng.randrange(4)]) + picture))
    head = riff(b"VP8X", bytes([0x12, 0, 0, 0]) + number(width - 1) + number(height - 1)) + riff(b"ANIM", bytes(6))
    data = riff(b"RIFF", b"WEBP" + head + b"".join(chunks))
    assert same(frames_of(kept(daemon, data).body)[0], frames_of(data)[0])


def test_alpha_that_no_head_has_is_not_seen(daemon):
    """Frames of VP8L whose heads deny their alpha: the canvas has three channels, and sides without room behind their rows."""
    arrays, chunks = [noise(16, 8, 4, seed=i) for i in range(3)], []
    for array in arrays:
        still = io.BytesIO()
        Image.fromarray(array).save(still, "WEBP", lossless=True, exact=True)
        picture = bytearray(still.getvalue()[still.getvalue().index(b"VP8L"):])
        picture[12] &= 0xef
        chunks.append(riff(b"ANMF", bytes(6) + bytes([15, 0, 0, 7, 0, 0, 40, 0, 0, 0]) + picture))
    head = riff(b"VP8X", bytes([2, 0, 0, 0, 15, 0, 0, 7, 0, 0])) + riff(b"ANIM", bytes(6))
    got = frames_of(kept(daemon, riff(b"RIFF", b"WEBP" + head + b"".join(chunks))).body)[0]
    assert all((one[..., 3] == 255).all() and np.array_equal(one[..., :3], array[..., :3]) for one, array in zip(got, arrays))


def test_each_frame_goes_through_the_plan(daemon):
    """It is the answer for the frame alone, also where the operator looks at the whole picture."""
    frames = [picture(indices(60, 40, 200, seed=s), noise(256, 1, 3, seed=s).tobytes()) for s in range(5)]
    data = gif_of(frames, duration=50, loop=0)
    for plan in ("/histeq?", "/resize?width=31&", "/carve?width=55&", "/grayscale?", "/rotate?angle=90&"):
        answer = daemon.post(f"{plan}animation=keep&type=webp&lossless=true", data)
        assert answer.status == 200, answer.body
        alone = [daemon.post(f"{plan}type=png", png(a[..., :3])).image for a in frames_of(data)[0]]
        for got, wanted in zip(frames_of(answer.body)[0], alone):
            wanted = wanted if wanted.ndim == 3 and wanted.shape[2] > 1 else np.repeat(wanted.reshape(*wanted.shape[:2], 1), 3, 2)
            assert np.array_equal(got[..., :3], wanted[..., :3])
        assert (answer.timing["output"]["height"], answer.timing["output"]["width"]) == alone[0].shape[:2]
        stages = answer.timing["ms"]
        parts = sum(v for k, v in stages.items() if k != "total" and isinstance(v, (int, float)))
        assert parts <= stages["total"] * 1.01 + 0.1


def test_first_is_the_default(daemon):
    data = RECIPES["whole"].file()
    for query in ("", "&animation=first"):
        answer = daemon.post(f"/brightness?shift=0{query}", data)
        assert len(frames_of(answer.body)[0]) == 1 and len(answer.timing["notes"]) == 1
    check_problem(daemon.post("/brightness?shift=0&animation=all", data), 400, "animation", "first or keep")


@pytest.mark.parametrize("query,headers", [("&type=png", {}), ("&type=jpeg", {}), ("", {"Accept": "image/jpeg"})])
def test_types_without_animations(daemon, query, headers):
    answer = daemon.post(KEEP + query, RECIPES["disposal 2 2"].file(), headers=headers)
    assert answer.status == 200 and any("first frame" in note for note in answer.timing["notes"])


def test_stills_are_stills(daemon):
    for data in (png(noise(9, 7, 3)), gif(picture(indices(9, 7, 4)))):
        assert daemon.post(KEEP, data).body == daemon.post("/brightness?shift=0", data).body
    assert daemon.post("/info", png(noise(9, 7, 3))).json["frames"] == 1


def test_what_does_not_go_together(daemon):
    data = RECIPES["whole"].file()
    check_problem(daemon.post("/resize?widths=5,6&animation=keep", data), 400, "animation=keep", "one result")
    check_problem(daemon.post("/histogram?animation=keep&type=gif", data), 400, "animation=keep", "values")
    check_problem(daemon.post(KEEP + "&max_bytes=100", data), 422, "max_bytes")
    assert daemon.post(KEEP + "&max_bytes=100000", data).status == 200
    report = daemon.post(KEEP, data, headers={"Accept": "application/json"})
    assert report.status == 200 and report.json["input"]["type"] == "gif"


def test_burin_run(daemon, tmp_path):
    """The same bytes, however many frames a group has."""
    arrays = [np.dstack([smooth(50, 40), np.where(noise(50, 40, seed=s) > 99, 255, 0).astype(np.uint8)]) for s in range(70)]
    for name, data in (("in.gif", RECIPES["disposal 3 2"].file()), ("in.webp", webp_of(arrays, duration=20))):
        (tmp_path / name).write_bytes(data)
        for kind in ("gif", "webp"):
            run = [BURIN, "run", "--device", "cpu", "--animation", "keep", "histeq", name, f"out.{kind}"]
            subprocess.run(run, check=True, timeout=60, cwd=tmp_path, capture_output=True)
            assert (tmp_path / f"out.{kind}").read_bytes() == daemon.post(f"/histeq?animation=keep&type={kind}", data).body
        for arguments in (["histogram", name, "out.gif"], ["resize", "--widths", "9,8", name, "%w.gif"]):
            run = subprocess.run([BURIN, "run", "--animation", "keep", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert run.returncode == 2 and "--animation keep" in run.stderr
    still = subprocess.run([BURIN, "run", "--animation", "keep", "histeq", "in.gif", "out.png"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert still.returncode == 0 and "first frame" in still.stderr


def test_users_operators(tmp_path):
    """They run in a process of their own, frame by frame."""
    (tmp_path / "white.c").write_text("#STRUCT typedef struct { int level; /* 127 [0,255] pixels above become white */ } settings;\n"
                                      "#P2P_FUNC static unsigned char white(unsigned char pixel, int index, settings s) { return pixel > s.level ? 255 : 0; }\n")
    own = Daemon("--operators-dir", str(tmp_path))
    answer = own.post("/white?level=90&animation=keep&type=webp&lossless=true", RECIPES["whole"].file())
    assert answer.status == 200, answer.body
    for got, wanted in zip(frames_of(answer.body)[0], RECIPES["whole"].shown):
        assert np.array_equal(got[..., :3], (wanted[..., :3] > 90) * 255)
    assert own.stop() == 0


def test_limits(start):
    daemon = start("--frames-max", "5", "--pixels-max", "1000")
    five = [picture(indices(14, 14, 9, seed=s)) for s in range(6)]
    assert len(frames_of(kept(daemon, gif_of(five[:5])).body)[0]) == 5
    check_problem(daemon.post(KEEP, gif_of(five)), 422, "frames_max", "5 frames", "animation=keep")
    larger = gif_of([picture(indices(15, 15, 9, seed=s)) for s in range(5)])
    for query in (KEEP, "/resize?width=2&animation=keep"):
        check_problem(daemon.post(query, larger), 422, "pixels_max", "1125")
    check_problem(daemon.post("/zoom?factor=1&animation=keep", gif_of(five[:5])), 422, "pixels_max", "3920")
    assert daemon.post("/brightness?shift=0", gif_of(five)).status == 200
    check_problem(daemon.post(KEEP, webp_of([noise(14, 14, 3, seed=s) for s in range(6)])), 422, "frames_max")


def test_a_million_frames(daemon):
    """What they cost: test_bombs.py."""
    data = screen(1, 1, *[frame(0, 0, 1, 1, b"\4\1", bits=2)] * 1000000)
    assert daemon.post("/info", data).json["frames"] > 500000


def test_damage(daemon):
    data = gif_of([picture(indices(60, 40, 256, seed=s), noise(256, 1, 3, seed=s).tobytes()) for s in range(5)], duration=50)
    arrays = frames_of(data)[0]
    part = data[:len(data) * 7 // 10]
    check_problem(daemon.post(KEEP, part), 422, "cut off")
    answer = kept(daemon, part, "&damaged=accept&type=webp&lossless=true")
    got = frames_of(answer.body)[0]
    assert any("damaged" in note for note in answer.timing["notes"]) and 3 <= len(got) <= 4 and same(got[:3], arrays[:3])
    webp = webp_of([noise(60, 40, 3, seed=s) for s in range(5)])
    check_problem(daemon.post(KEEP, webp[:len(webp) * 7 // 10]), 422, "cut off")
    answer = kept(daemon, webp[:len(webp) * 7 // 10], "&damaged=accept")
    assert any("damaged" in note for note in answer.timing["notes"]) and same(frames_of(answer.body)[0][:3], frames_of(webp)[0][:3])


@pytest.mark.parametrize("head,word", [
    (b"," + bytes(4) + le(9) + le(7), "cut off"), (frame(0, 0, 0, 7, b"\0"), "side"), (frame(0, 0, 9, 7, b"\0", bits=1), "2 to 8 bits"),
    (frame(0, 0, 9, 7, b"\0", flags=0x87, palette=b"\1\2"), "palette"), (frame(0, 0, 65535, 65535, bytes(300)), "larger than the canvas")])
def test_heads_of_later_frames(daemon, head, word):
    """The first frame alone is read all the same."""
    whole = Recipe(9, 7, 0).add(0, 0, small(1)).add(0, 0, small(2))
    data = screen(9, 7, *whole.blocks, head, end=b"")
    check_problem(daemon.post(KEEP, data), 422, word)
    answer = kept(daemon, data, "&damaged=accept")
    assert any("damaged" in note for note in answer.timing["notes"]) and same(frames_of(answer.body)[0], whole.shown)
    assert daemon.post("/brightness?shift=0", data).status == 200


def test_a_profile_stays(daemon):
    from PIL import ImageCms
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = webp_of([noise(20, 10, 3, seed=s) for s in range(3)], icc_profile=profile)
    assert Image.open(io.BytesIO(kept(daemon, data).body)).info["icc_profile"] == profile
    assert len(kept(daemon, data, "&type=gif").timing["notes"]) >= 1
