# SPDX-License-Identifier: Apache-2.0
"""The program's `carve` equals the reference in carve.py in every byte. CARVE_CASES=5000 sets the number of random cases."""
import itertools
import os
import random
import subprocess
import zlib

import numpy as np
import pytest
from PIL import Image

import carve
from service import DEVICE, answer_of, photograph, service  # noqa: F401
from conftest import BURIN, from_pnm, needs, png_of_chunks, pnm

pytestmark = needs("carve")

CASES = int(os.environ.get("CARVE_CASES", 150))
PHOTO = os.path.join(os.path.dirname(__file__), "../golden/photos/rocket.jpg")
CHANNELS_OF_PNG = {0: 1, 2: 3, 4: 2, 6: 4}  # by colour type


# ---- files

def png(image):
    height, width, channels = image.shape
    rows = image.astype(">u2" if image.dtype == np.uint16 else np.uint8).reshape(height, -1)
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    return png_of_chunks(width, height, 8 * image.dtype.itemsize, colour, b"".join(b"\0" + row.tobytes() for row in rows))


def chunks(data):
    at = 8
    while at < len(data):
        length = int.from_bytes(data[at:at + 4], "big")
        yield data[at + 4:at + 8], data[at + 8:at + 8 + length]
        at += 12 + length


def unfiltered(kind, row, above, step):
    """A row of a PNG, whose bytes are differences to the bytes STEP before and to those ABOVE."""
    for i in range(len(row)):
        left, up, corner = row[i - step] if i >= step else 0, above[i], above[i - step] if i >= step else 0
        near = left + up - corner
        paeth = min((abs(near - v), order, v) for order, v in enumerate((left, up, corner)))[2]
        row[i] = row[i] + (0, left, up, (left + up) // 2, paeth)[kind] & 255
    return row


def from_png(data):
    header = next(body for name, body in chunks(data) if name == b"IHDR")
    width, height = (int.from_bytes(header[i:i + 4], "big") for i in (0, 4))
    depth, channels = header[8], CHANNELS_OF_PNG[header[9]]
    raw = zlib.decompress(b"".join(body for name, body in chunks(data) if name == b"IDAT"))
    step = channels * depth // 8
    size, above, rows = 1 + width * step, bytes(width * step), []
    assert depth in (8, 16) and len(raw) == height * size
    for y in range(height):
        row = bytearray(raw[y * size + 1:(y + 1) * size])
        above = unfiltered(raw[y * size], row, above, step) if raw[y * size] else row
        rows.append(bytes(above))
    samples = np.frombuffer(b"".join(rows), ">u2" if depth == 16 else np.uint8)
    return samples.reshape(height, width, channels).astype(np.uint16 if depth == 16 else np.uint8)


def shaped(image):
    return image[..., None] if image.ndim == 2 else image


# ---- the program

def written(image):
    """The file of IMAGE: PNG where PNM cannot have alpha."""
    return png(image) if image.shape[2] in (2, 4) else pnm(image[..., 0] if image.shape[2] == 1 else image)


def answer_for(image, mask=None, rmask=None, **parameters):
    step = "carve:" + ",".join(f"{name}={str(value).lower()}" for name, value in parameters.items())
    masks = {name: written(shaped(plane)) for name, plane in (("mask", mask), ("rmask", rmask)) if plane is not None}
    output = dict(type="png", compression=0) if image.shape[2] in (2, 4) else dict(type="pnm")
    return answer_of(written(image), step, masks, **output)


def run(image, mask=None, rmask=None, **parameters):
    """The output of carve for IMAGE."""
    answer = answer_for(image, mask, rmask, **parameters)
    assert answer.status == 200, answer.body
    return from_png(answer.body) if image.shape[2] in (2, 4) else shaped(from_pnm(answer.body))


def check(image, mask=None, rmask=None, **parameters):
    """MASK, RMASK: 8-bit gray images, set where they are 128 and more. Returns False where nothing would be left."""
    try:
        wanted = carve.carve(image, mask=mask, rmask=rmask, **parameters)
    except carve.NotCleared:
        answer = answer_for(image, mask, rmask, **parameters)
        assert answer.status == 422 and "rmask marks too much" in answer.json["detail"], answer.body
        return False
    found = run(image, mask, rmask, **parameters)
    what = f"{image.shape} {image.dtype} {parameters}"
    assert found.shape == wanted.shape and found.dtype == wanted.dtype, (what, found.shape, wanted.shape)
    wrong = np.argwhere(found != wanted)
    assert not len(wrong), (f"{what}: {len(wrong)} samples differ, the first at row, column, channel {wrong[0]}:"
                            f" {found[tuple(wrong[0])]}, not {wanted[tuple(wrong[0])]}")
    return True


# ---- pictures

def noise(width, height, channels=1, depth=8, seed=1):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2 ** depth, (height, width, channels), dtype=np.uint8 if depth == 8 else np.uint16)


def constant(width, height, channels=1, depth=8):
    return np.full_like(noise(width, height, channels, depth), 77)


def ramp(width, height, channels=1, depth=8):
    """Rises to the right and downwards, more slowly in each further channel: many seams cost the same."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [(3 * x + 2 * y) // (1 + c) % 256 * (2 ** (depth - 8)) for c in range(channels)]
    return np.stack(planes, -1).astype(np.uint8 if depth == 8 else np.uint16)


def few_levels(width, height, channels=1, depth=8, seed=1):
    return (noise(width, height, channels, depth, seed) >> (depth - 1)) * (2 ** depth - 1)


def stripes(width, height, channels=1, depth=8):
    """Every other pixel white: the largest energies."""
    return constant(width, height, channels, depth) * 0 + (np.indices((height, width)).sum(0) % 2 * (2 ** depth - 1)
                                                           )[..., None].astype(np.uint8 if depth == 8 else np.uint16)


MAKERS = [noise, constant, ramp, few_levels, stripes]
SIZES = [(1, 1), (1, 2), (1, 9), (9, 1), (2, 1), (2, 2), (3, 3), (1, 97), (97, 1), (13, 42), (31, 97), (97, 31)]


def goals(width, height):
    """Target sizes worth a try, with as few seams as show a difference."""
    def near(side):
        return max(side - 3, 1), side, side + 2

    yield from itertools.product(near(width), near(height))
    if width * height <= 1000:
        yield from [(1, 1), (1, height), (width, 1), (width // 2 + 1, 2 * height + 1), (3 * width + 1, height)]


# ---- the tests

@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sizes(size):
    """Each goal has a different energy, picture, number of channels and depth."""
    turn = sum(size)
    for i, (width, height) in enumerate(sorted(set(goals(*size)))):
        maker, kind = MAKERS[(turn + i) % 5], carve.ENERGIES[(turn + i) % 3]
        picture = maker(*size, channels=(1, 3)[i // 2 % 2], depth=(8, 16)[(turn + i // 5) % 2])
        check(picture, width=width, height=height, energy=kind)


@pytest.mark.parametrize("kind", carve.ENERGIES)
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_pictures(maker, kind):
    picture = maker(123, 66)
    for change in (dict(dx=-9), dict(dy=-9), dict(dx=-7, dy=-6), dict(dx=6), dict(dy=6), dict(dx=-4, dy=5),
                   dict(dx=5, dy=-4)):
        check(picture, energy=kind, **change)


@pytest.mark.parametrize("kind", carve.ENERGIES)
def test_all_the_way_down(kind):
    """To a single pixel, by each way: one count is used up first, then the other."""
    for maker in (noise, constant, few_levels):
        check(maker(42, 13), width=1, height=1, energy=kind)
        check(maker(13, 42, 3), width=1, height=2, energy=kind)
        check(maker(40, 40), width=5, height=30, energy=kind)


@pytest.mark.parametrize("maker", [noise, constant, few_levels], ids=lambda maker: maker.__name__)
def test_growing_in_steps(maker):
    """A step at most doubles half of the side: 7, 10, 15, 22, 23."""
    for kind, depth in zip(carve.ENERGIES, (8, 16, 8)):
        check(maker(7, 19, 3, depth), width=23, energy=kind)
        check(maker(19, 7, 1, depth), height=23, energy=kind)
        check(maker(5, 4, 1, depth), width=17, height=13, energy=kind)
        check(maker(1, 1, 3, depth), width=9, height=6, energy=kind)
        check(maker(9, 8, 3, depth), width=4, height=21, energy=kind)


@pytest.mark.parametrize("depth", [8, 16])
@pytest.mark.parametrize("channels", [2, 4])
def test_alpha_rides_along(channels, depth):
    """Energies are of the picture over white; alpha is removed and averaged like gray, and colours weigh by it."""
    picture = noise(31, 22, channels, depth)
    picture[5:15, 3:20, -1] = 0
    for change in (dict(dx=-6), dict(dy=-5), dict(dx=7, dy=6), dict(dx=-3, dy=-3), dict(dx=-3, show="seams"),
                   dict(dy=4, show="seams"), dict(show="energy", energy="sobel3")):
        check(picture, **change)


@pytest.mark.parametrize("kind", carve.ENERGIES)
def test_energy_shown(kind):
    for maker, (channels, depth), size in zip(itertools.cycle(MAKERS), itertools.product((1, 3), (8, 16)),
                                              [(123, 66), (1, 5), (5, 1), (2, 2)]):
        check(maker(*size, channels, depth), show="energy", energy=kind)
    check(noise(64, 64), show="energy", energy=kind)
    check(noise(64, 64), show="energy", energy=kind, dx=-5, dy=3)  # the input's energy, before the first step


def test_seams_shown():
    for channels, depth in itertools.product((1, 3), (8, 16)):
        picture = noise(42, 33, channels, depth)
        for change in (dict(), dict(dx=-9), dict(dy=-9), dict(dx=-8, dy=-8), dict(dx=10), dict(dy=40),
                       dict(dx=50, dy=-4), dict(dx=5, dy=6)):
            check(picture, show="seams", **change)
    check(noise(42, 33), show="seams", width=1, height=1)


def test_map_shown():
    """For every kind of picture, to the last possible seam."""
    for maker, (channels, depth) in zip(itertools.cycle(MAKERS), itertools.product((1, 2, 3, 4), (8, 16))):
        picture = maker(42, 33, channels, depth)
        for change in (dict(), dict(dx=-9), dict(dy=-9), dict(dx=21), dict(dy=16), dict(width=1), dict(height=1)):
            check(picture, show="map", energy=carve.ENERGIES[(channels + depth) % 3], **change)
    for size, change in (((1, 1), dict(dx=1)), ((1, 1), dict(dy=1)), ((1, 9), dict(dx=1)), ((9, 1), dict(dy=1)),
                         ((2, 2), dict(dx=-1)), ((97, 1), dict(dx=-60)), ((1, 97), dict(dy=48))):
        check(noise(*size), show="map", **change)


def retargeted(picture, numbers, change):
    """PICTURE with CHANGE columns more or less, made from its map."""
    crossed = (numbers[..., 0] > 0) & (numbers[..., 0] <= abs(change))
    if change < 0:
        return picture[~crossed].reshape(picture.shape[0], -1, picture.shape[2])
    around = np.pad(picture.astype(np.int64), ((0, 0), (1, 1), (0, 0)), "edge")
    means = (2 * (around[:, :-2] + around[:, 1:-1] + around[:, 2:]) + 3) // 6
    pairs = np.stack([picture, means.astype(picture.dtype)], 2)
    return pairs[np.stack([np.ones_like(crossed), crossed], 2)].reshape(picture.shape[0], -1, picture.shape[2])


@pytest.mark.parametrize("masked", [False, True], ids=["plain", "masked"])
def test_a_map_is_every_width(masked):
    """The map gives every width, and every height of the turned picture; not with rmask, which is removed first."""
    for i, kind in enumerate(carve.ENERGIES):
        picture = MAKERS[3 * i % 5](48, 21, (1, 3, 4)[i], (8, 16, 8)[i])
        masks = {"mask": mask_of(21, 48, 0.3, 5 * i)} if masked else {}
        turned = {name: np.ascontiguousarray(mask.T) for name, mask in masks.items()}
        numbers = run(picture, show="map", dx=-47, energy=kind, **masks)
        rows = run(np.ascontiguousarray(picture.swapaxes(0, 1)), show="map", dy=-47, energy=kind, **turned)
        assert np.array_equal(rows.swapaxes(0, 1), numbers)
        for change in (-47, -20, -1, 1, 7, 24):
            wanted = carve.carve(picture, dx=change, energy=kind, **masks)
            assert np.array_equal(retargeted(picture, numbers, change), wanted), (kind, change)


def mask_of(height, width, share, seed):
    """A blotch and single pixels; levels around the limit of 128."""
    rng = np.random.default_rng(seed)
    mask = np.where(rng.random((height, width)) < share / 4, 128, 127).astype(np.uint8)
    y, x = rng.integers(0, height), rng.integers(0, width)
    mask[y:y + int(height * share) + 1, x:x + int(width * share) + 1] = rng.integers(128, 256)
    return mask


def test_map_of_what_to_remove():
    picture, rmask = noise(40, 21), mask_of(21, 40, 0.3, 3)
    for change in (dict(dx=-20), dict(dx=-2), dict(dx=15), dict(dy=-9), dict(dy=4), dict()):
        numbers = run(picture, show="map", rmask=rmask, **change)
        assert np.array_equal(numbers, carve.carve(picture, show="map", rmask=rmask, **change))


@pytest.mark.parametrize("which", ["mask", "rmask", "both"])
def test_masks(which):
    for i, (size, change) in enumerate(itertools.product(
            [(31, 24), (24, 31), (66, 40)],
            [dict(dx=-8), dict(dy=-8), dict(dx=-6, dy=-6), dict(dx=9), dict(dy=20), dict(dx=-5, dy=4)])):
        picture = MAKERS[i % 5](*size, channels=(1, 3)[i % 2], depth=(8, 16)[i // 2 % 2])
        masks = {name: mask_of(*size[::-1], (0.2, 0.5)[i % 2], 10 * i + k)
                 for k, name in enumerate(("mask", "rmask")) if which in (name, "both")}
        check(picture, energy=carve.ENERGIES[i % 3], **change, **masks)
        check(picture, energy=carve.ENERGIES[i % 3], **change, **masks, show="seams")


@pytest.mark.parametrize("size", [(13, 42), (42, 13), (1, 30), (30, 1), (2, 9), (1, 1), (40, 33)], ids=str)
def test_objects_are_removed(size):
    """In one request: an object of a colour of its own is gone, and the picture has the size asked for."""
    width, height = size
    for i, change in enumerate([dict(), dict(dx=-1), dict(dy=-2), dict(dx=3), dict(dx=5, dy=4), dict(dx=-2, dy=7), dict(width=2 * width)]):
        if height + change.get("dy", 0) < 1 or width + change.get("dx", 0) < 1:
            continue
        rng = np.random.default_rng(i + 100 * width)
        picture = noise(width, height, 3, seed=i) // 2  # below 128
        rmask = np.zeros((height, width), np.uint8)
        left, top = rng.integers(0, width), rng.integers(0, height)
        rmask[top:top + 1 + height // 3, left:left + 1 + width // 4] = 255
        picture[rmask > 0] = (255, 0, 255)
        if not check(picture, rmask=rmask, energy=carve.ENERGIES[i % 3], **change):
            assert min(size) < 3  # no line is left without it
            continue
        result = run(picture, rmask=rmask, energy=carve.ENERGIES[i % 3], **change)
        assert result.shape[:2] == (change.get("dy", 0) + height, change.get("width", width + change.get("dx", 0)))
        blocked = "dx" in change and change["dx"] < 0 and (rmask > 0).all(1).any() or change.get("dy", 0) < 0 and (rmask > 0).all(0).any()
        assert blocked or not (result > 127).any()


def test_kept_pixels_beside_those_to_remove():
    """Seams go round what is kept, until none reaches what is to be removed: that stays then."""
    picture = noise(30, 24, 3)
    mask, rmask = np.zeros((2, 24, 30), np.uint8)
    mask[4, 5:20] = 255
    rmask[6:16, 8:14] = 255
    assert check(picture, mask=mask, rmask=rmask)
    mask[:, :20] = 255
    assert np.array_equal(run(picture, mask=mask, rmask=rmask), picture)


def test_masks_of_everything_and_nothing():
    picture = noise(20, 15, 3)
    for level in (0, 127, 128, 255):
        mask = np.full((15, 20), level, np.uint8)
        for masks in (dict(mask=mask), dict(rmask=mask), dict(mask=mask, rmask=mask)):
            check(picture, dx=-4, dy=-3, **masks)
            check(picture, dx=4, dy=12, **masks)


def test_masks_do_what_they_are_for():
    """Kept pixels remain and pixels to be removed are gone, though the energy says the opposite."""
    picture = constant(40, 30)
    picture[5:12, 10:16] = noise(6, 7)          # expensive, to be removed
    mask, rmask = np.zeros((2, 30, 40), np.uint8)
    rmask[5:12, 10:16] = 255
    mask[20:26, 5:20] = 255
    picture[20:26, 5:20] = 78                   # cheap, to be kept
    result = run(picture, dx=-6, mask=mask, rmask=rmask)
    assert (result == 78).sum() == 6 * 15 and set(np.unique(result)) == {77, 78}


def test_mask_in_colour():
    """The luma of a mask counts: green of 218 is 128, of 217 is 127."""
    picture, gray = noise(24, 18), np.zeros((18, 24), np.uint8)
    colour = np.zeros((18, 24, 3), np.uint8)
    colour[..., 1] = 217
    colour[3:9, 4:12, 1], gray[3:9, 4:12] = 218, 128
    found = run(picture, colour, dx=-8)
    assert np.array_equal(found, carve.carve(picture, dx=-8, mask=gray))
    assert not np.array_equal(found, carve.carve(picture, dx=-8))


WEIGHED = [dict(energy="forward"), dict(rigidity=7), dict(energy="sobel3", rigidity=4095), dict(soft=True),
           dict(energy="forward", rigidity=40, soft=True)]


@pytest.mark.parametrize("which", ["none", "mask", "rmask", "both"])
def test_weighed(which):
    """What steps cost, and masks of all levels, in every way: fewer, more, both directions, seams and maps."""
    for i, (weighed, change) in enumerate(itertools.product(
            WEIGHED, [dict(dx=-6), dict(dy=-5), dict(dx=-5, dy=-4), dict(dx=9), dict(dx=-3, dy=7), dict(show="energy"),
                      dict(dx=-4, show="map"), dict(dx=-4, dy=-4, show="seams")])):
        width, height = [(23, 18), (17, 31), (40, 9)][i % 3]
        picture = MAKERS[i % 5](width, height, channels=(1, 3, 4)[i % 3], depth=(8, 16)[i // 2 % 2])
        masks = {name: noise(width, height, seed=50 * i + k)[..., 0] if weighed.get("soft") else mask_of(height, width, 0.3, i + k)
                 for k, name in enumerate(("mask", "rmask")) if which in (name, "both")}
        check(picture, **weighed, **change, **masks)


def test_black_soft_masks_change_nothing():
    picture, black = noise(30, 44, 3), np.zeros((44, 30), np.uint8)
    for change in (dict(dx=-9, dy=-9), dict(dx=5), dict(dy=-9, energy="forward")):
        assert np.array_equal(run(picture, black, black, soft=True, **change), run(picture, **change))


def photos():
    photo = Image.open(PHOTO)
    yield np.array(photo.resize((300, 200)))
    yield np.array(photo.convert("L"))[100:300, 100:400]
    yield photograph("chelsea")[60:260, 100:400]
    yield photograph("coins")[:200, :300]
    yield photograph("page")[:180, :250].astype(np.uint16) * 257


@pytest.mark.parametrize("kind", carve.ENERGIES)
def test_photographs(kind):
    changes = [dict(dx=-12), dict(dx=-5, dy=-5), dict(dx=4, dy=4)]
    for i, picture in enumerate(photos(), carve.ENERGIES.index(kind)):
        check(np.ascontiguousarray(shaped(picture)), **changes[i % 3], energy=kind)


def test_wide_and_high():
    """Rows are split among threads, and there are more rows than columns."""
    for kind, (width, height) in itertools.product(carve.ENERGIES, [(4097, 3), (3, 4097), (1025, 66)]):
        check(few_levels(width, height), dx=-2, energy=kind)
        check(noise(width, height), dy=-2, energy=kind)
        check(noise(width, height), dx=-1, dy=-1, energy=kind)


@pytest.mark.parametrize("part", range(5))
def test_random_cases(part):
    """All options at once, drawn with a fixed seed."""
    for seed in range(part, CASES, 5):
        draw = random.Random(seed)
        width, height = draw.choice([(draw.randint(1, 12), draw.randint(1, 12)),
                                     (draw.randint(1, 70), draw.randint(1, 50))])
        picture = draw.choice([*MAKERS, few_levels])(width, height, draw.choice([1, 1, 3, 3, 2, 4]), draw.choice([8, 16]))
        span = 12 if width * height < 150 else 6
        parameters = dict(energy=draw.choice(carve.ENERGIES), show=draw.choice(["result"] * 4 + ["seams"]),
                          width=draw.randint(max(1, width - span), width + span),
                          height=draw.randint(max(1, height - span), height + span))
        masks = {name: mask_of(height, width, draw.random(), seed) for name in ("mask", "rmask") if not draw.randint(0, 2)}
        check(picture, **parameters, **masks)


@pytest.mark.parametrize("size,change", [((257, 130), dict(dx=-3, dy=-3)), ((257, 130), dict(dx=4, energy="sobel5")), ((13, 42), dict(dx=-5)),
                                         ((1, 97), dict(dy=-9)), ((97, 1), dict(dx=30, energy="sobel3"))], ids=str)
def test_any_number_of_threads(tmp_path, size, change):
    """With `burin run`: a daemon chooses the number itself."""
    picture = noise(*size, 3)
    wanted = carve.carve(picture, **change)
    source, result = tmp_path / "in.pnm", tmp_path / "out.pnm"
    source.write_bytes(written(picture))
    step = "carve:" + ",".join(f"{name}={value}" for name, value in change.items())
    for threads in (1, 2, 3, 4, 5, 7, 16):
        subprocess.run([BURIN, "run", "--device", DEVICE, "--threads", str(threads), step, source, result], check=True, timeout=60)
        assert np.array_equal(from_pnm(result.read_bytes()), wanted), threads
