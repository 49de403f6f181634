# SPDX-License-Identifier: Apache-2.0
"""The reference of seam carving against exhaustive search: all paths of small images, pixels one by one, and independent
Sobel filters. No program is needed."""
import functools
import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

import carve


# ---- the same operator in the plainest way: a picture is a list of rows of pixels (samples, keep, remove, origin)

def half_up(value):
    return int(value + Fraction(1, 2))


def plain_laid(samples, depth):
    """The colours of a pixel over white."""
    if len(samples) % 2:
        return samples
    *colours, alpha = samples
    white = 2**depth - 1
    return [half_up(Fraction(colour * alpha + white * (white - alpha), white)) for colour in colours]


def plain_luma(samples, depth):
    samples = plain_laid(samples, depth)
    if len(samples) < 3:
        return samples[0] >> (depth - 8)
    return (77 * samples[0] + 150 * samples[1] + 29 * samples[2] + 128) // 256 >> (depth - 8)


def whole_root(square):
    root = 0
    while (root + 1) ** 2 <= square:
        root += 1
    return root


def plain_energy(rows, kind, depth):
    luma = [[plain_luma(pixel[0], depth) for pixel in row] for row in rows]
    height, width = len(rows), len(rows[0])

    def at(y, x):
        return luma[min(max(y, 0), height - 1)][min(max(x, 0), width - 1)]

    def one(y, x):
        if kind == "gradient":
            here = at(y, x)
            return (abs(here - at(y, x + 1)) + abs(here - at(y + 1, x))
                    + 46341 * abs(here - at(y + 1, x + 1)) // 65536)
        across, along = ([1, 2, 1], [-1, 0, 1]) if kind == "sobel3" else ([1, 4, 6, 4, 1], [-1, -2, 0, 2, 1])
        reach = len(across) // 2
        window = [(i, j) for i in range(len(across)) for j in range(len(across))]
        gx = sum(across[i] * along[j] * at(y + i - reach, x + j - reach) for i, j in window)
        gy = sum(along[i] * across[j] * at(y + i - reach, x + j - reach) for i, j in window)
        return whole_root(gx * gx + gy * gy)

    return [[one(y, x) for x in range(width)] for y in range(height)]


@functools.lru_cache(None)
def all_paths(height, width):
    """Every 8-connected way from the first row to the last: an array (paths, height) of columns."""
    paths = [[x] for x in range(width)]
    for _ in range(1, height):
        paths = [p + [x] for p in paths for x in range(max(p[-1] - 1, 0), min(p[-1] + 2, width))]
    return np.array(paths)


def outward(height):
    """The rows in the order in which a seam is settled."""
    middle = (height - 1) // 2
    return [*range(middle, -1, -1), *range(middle + 1, height)]


def plain_seam(rows, kind, depth):
    """(its cost as (kept, -removed, energy), its columns): the cheapest seam and, among equals, the first by its column in the
    middle row, then by those above it going up, then by those below it going down."""
    paths = all_paths(len(rows), len(rows[0]))
    each = np.arange(len(rows))

    def along(plane):
        return np.array(plane, np.int64)[each, paths].sum(1)

    keep = along([[pixel[1] for pixel in row] for row in rows])
    removed = -along([[pixel[2] for pixel in row] for row in rows])
    energy = along(plain_energy(rows, kind, depth))
    order = [paths[:, y] for y in outward(len(rows))]
    first = np.lexsort([*order[::-1], energy, removed, keep])[0]  # the last key sorts first
    return (int(keep[first]), int(removed[first]), int(energy[first])), paths[first].tolist()


def turned(rows):
    return [list(column) for column in zip(*rows)]


def plain_mean(three):
    """Of pixels; colours beside alpha weigh by it, unless it is 0 in all of them."""
    weights = [pixel[-1] if len(pixel) % 2 == 0 else 1 for pixel in three]
    if not any(weights):
        weights = [1, 1, 1]
    mean = [half_up(Fraction(sum(s * w for s, w in zip(samples, weights)), sum(weights))) for samples in zip(*three)]
    if len(mean) % 2 == 0:
        mean[-1] = half_up(Fraction(sum(pixel[-1] for pixel in three), 3))
    return tuple(mean)


def plain_doubled(rows, chosen):
    """CHOSEN: a set of (row, column)."""
    result = []
    for y, row in enumerate(rows):
        result.append([])
        for x, pixel in enumerate(row):
            result[-1].append(pixel)
            if (y, x) in chosen:
                three = row[max(x - 1, 0)][0], pixel[0], row[min(x + 1, len(row) - 1)][0]
                result[-1].append((plain_mean(three), pixel[1], pixel[2], None))
    return result


def plain_grow(rows, count, kind, depth, seen):
    left = [[(*pixel[:3], (y, x)) for x, pixel in enumerate(row)] for y, row in enumerate(rows)]
    chosen = set()
    for _ in range(count):
        _, columns = plain_seam(left, kind, depth)
        chosen |= {left[y].pop(x)[3] for y, x in enumerate(columns)}
    assert len(chosen) == count * len(rows)
    seen |= {rows[y][x][3] for y, x in chosen}
    return plain_doubled(rows, chosen)


def plain_clear(rows, least, kind, depth, seen):
    while True:
        (_, removed, _), columns = plain_seam(rows, kind, depth)
        if least <= 0 and not removed:
            return rows
        if len(rows[0]) == 1:
            raise carve.NotCleared
        seen |= {rows[y].pop(x)[3] for y, x in enumerate(columns)}
        least -= 1


def plain_first(rows, width, height, kind, depth, seen):
    """What is to be removed goes before a picture grows, as the specification says."""
    fewer, lower = len(rows[0]) - width, len(rows) - height
    ways = []
    for across, (lines, other, least) in enumerate([(rows, lower, fewer), (turned(rows), fewer, lower)]):
        most = max(sum(pixel[2] for pixel in line) for line in lines)
        if other <= 0 and most < len(lines[0]):
            ways.append((most, across, least))
    if ways and min(ways)[0]:
        _, across, least = min(ways)
        return turned(plain_clear(turned(rows), least, kind, depth, seen)) if across else plain_clear(rows, least, kind, depth, seen)
    if not ways and fewer <= 0 and lower <= 0:
        raise carve.NotCleared
    return rows


def plain_carve(rows, width, height, kind, depth, seen):
    rows = plain_first(rows, width, height, kind, depth, seen)
    while True:
        columns, lines = len(rows[0]), len(rows)
        if columns > width or lines > height:
            down = plain_seam(rows, kind, depth) if columns > width else None
            right = plain_seam(turned(rows), kind, depth) if lines > height else None
            if right is None or down is not None and down[0] <= right[0]:
                seen |= {rows[y].pop(x)[3] for y, x in enumerate(down[1])}
            else:
                rows = turned(rows)
                seen |= {rows[y].pop(x)[3] for y, x in enumerate(right[1])}
                rows = turned(rows)
        elif columns < width:
            rows = plain_grow(rows, min(width - columns, max(1, columns // 2)), kind, depth, seen)
        elif lines < height:
            rows = turned(plain_grow(turned(rows), min(height - lines, max(1, lines // 2)), kind, depth, seen))
        else:
            return rows


# ---- the reference beside it

SMALL = [(1, 1), (1, 6), (6, 1), (2, 2), (3, 2), (2, 5), (4, 4), (5, 6), (6, 5), (6, 6)]  # width, height


def small_picture(width, height, rng, depth=8, channels=1):
    """A picture that sometimes has few levels, so that many paths cost the same."""
    levels = rng.choice([1, 2, 3, 256])
    samples = rng.integers(0, levels, (height, width, channels)) * (255 // max(levels - 1, 1))
    if depth == 16:
        return (samples * 256 + rng.integers(0, 256, samples.shape)).astype(np.uint16)
    return samples.astype(np.uint8)


def as_rows(picture, keep, remove):
    return [[(tuple(int(v) for v in picture[y, x]), bool(keep[y, x]), bool(remove[y, x]), (y, x))
             for x in range(picture.shape[1])] for y in range(picture.shape[0])]


@pytest.mark.parametrize("kind", carve.ENERGIES)
@pytest.mark.parametrize("depth", [8, 16])
def test_energy(kind, depth):
    rng = np.random.default_rng(1)
    for size, channels in itertools.product(SMALL + [(13, 9)], (1, 2, 3, 4)):
        picture = small_picture(*size, rng, depth, channels)
        nothing = np.zeros(picture.shape[:2], bool)
        wanted = plain_energy(as_rows(picture, nothing, nothing), kind, depth)
        assert carve.energy(carve.luma8(picture), kind).tolist() == wanted


@pytest.mark.parametrize("kind,bound,picture", [
    ("gradient", 690, [[255, 0], [0, 0]]),
    ("sobel3", 1140, [[0, 0, 255], [0, 0, 255], [0, 255, 255]]),
    ("sobel5", 13072, [[0, 0, 0, 0, 255], [0, 0, 0, 255, 255], [0, 0, 0, 255, 255], [0, 255, 255, 255, 255],
                       [255, 255, 255, 255, 255]]),
])
def test_greatest_energy(kind, bound, picture):
    """One image reaches the bound, and random ones stay within it."""
    assert carve.energy(np.array(picture), kind).max() == bound
    rng = np.random.default_rng(2)
    assert carve.energy(rng.integers(0, 2, (300, 300)) * 255, kind).max() <= bound


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (7, 1), (40, 31), (123, 66)], ids=str)
@pytest.mark.parametrize("kind,length", [("sobel3", 3), ("sobel5", 5)])
def test_sobel_is_opencvs(size, kind, length):
    cv2 = pytest.importorskip("cv2", reason="no OpenCV here")
    luma = np.random.default_rng(3).integers(0, 256, size[::-1]).astype(np.uint8)
    gx, gy = (cv2.Sobel(luma, cv2.CV_64F, *order, ksize=length, borderType=cv2.BORDER_REPLICATE)
              for order in ((1, 0), (0, 1)))
    assert np.array_equal(carve.energy(luma.astype(np.int64), kind), np.floor(np.sqrt(gx * gx + gy * gy)))


@pytest.mark.parametrize("size", SMALL, ids=str)
def test_path_costs(size):
    """T and B of every pixel are right, and T + B - cost is the least through it."""
    width, height = size
    rng = np.random.default_rng(5)
    paths = all_paths(height, width)
    for levels in (2, 5, 1000):
        cost = rng.integers(0, levels, (height, width))
        from_top, from_bottom = carve.path_costs(cost)
        along = cost[np.arange(height), paths]
        for y, x in itertools.product(range(height), range(width)):
            through = along[paths[:, y] == x]
            assert from_top[y, x] == through[:, :y + 1].sum(1).min()
            assert from_bottom[y, x] == through[:, y:].sum(1).min()
            assert from_top[y, x] + from_bottom[y, x] - cost[y, x] == through.sum(1).min()


@pytest.mark.parametrize("size", SMALL, ids=str)
@pytest.mark.parametrize("kind", carve.ENERGIES)
def test_seam(size, kind):
    """The seam has the least total of all paths and, among equals, is the one that the rule names; with masks too."""
    rng = np.random.default_rng(6)
    ties = 0
    for i in range(15):
        picture = small_picture(*size, rng)
        keep, remove = (rng.random(picture.shape[:2]) < (0.3 if i % 3 else 0) for _ in range(2))
        cost, columns = plain_seam(as_rows(picture, keep, remove), kind, 8)
        found, total = carve.find_seam(carve.costs(carve.energy(carve.luma8(picture), kind), keep, remove))
        assert found == columns
        length = picture.shape[0]
        assert carve.rank(total, length) == (cost[0] << 48) + (cost[1] << 32) + cost[2]
        ties += len(set(picture.ravel().tolist())) == 1
    assert ties, "no image here was even"


@pytest.mark.parametrize("size", SMALL, ids=str)
def test_weighed_seam(size):
    """The same where steps cost something: a seam makes the corners beside its diagonal steps neighbours."""
    width, height = size
    rng = np.random.default_rng(8)
    paths = all_paths(height, width)
    before, after, row = paths[:, :-1], paths[:, 1:], np.arange(height - 1)
    for i in range(20):
        picture = small_picture(width, height, rng)
        luma, kind, rigidity = carve.luma8(picture), ("forward", "gradient")[i % 4 == 3], (0, 3, 90)[i % 3]
        energies = carve.energy(luma, kind)
        if kind == "forward":
            assert energies.tolist() == [[abs(int(line[min(x + 1, width - 1)]) - int(line[max(x - 1, 0)])) for x in range(width)]
                                         for line in luma]
        meet = abs(luma[row, after].astype(np.int64) - luma[row + 1, before]) if kind == "forward" else 0
        total = energies[np.arange(height), paths].sum(1) + ((before != after) * (rigidity + meet)).sum(1)
        first = np.lexsort([*[paths[:, y] for y in outward(height)][::-1], total])[0]
        assert carve.find_seam(energies, luma, carve.Rules(kind, rigidity)) == (paths[first].tolist(), total[first])


@pytest.mark.parametrize("size", SMALL, ids=str)
def test_seam_is_the_leftmost(size):
    """In no row does a seam of the least total lie further left: where two of them cross, the left one of both in each row makes
    a seam that costs as little. So the rule names the same seam from whichever row it starts."""
    width, height = size
    rng = np.random.default_rng(7)
    paths = all_paths(height, width)
    for levels in (1, 2, 3, 5):
        for _ in range(10):
            cost = rng.integers(0, levels, (height, width))
            along = cost[np.arange(height), paths].sum(1)
            columns, _ = carve.find_seam(cost)
            assert columns == paths[along == along.min()].min(0).tolist()


@pytest.mark.parametrize("depth,channels", [(8, 1), (8, 3), (8, 4), (16, 1), (16, 2), (16, 3)])
def test_whole_operator(depth, channels):
    """Shrinking, growing, both, masks: result and pixels seen."""
    rng, choose = np.random.default_rng(depth + channels), random.Random(channels)
    for _ in range(30):
        width, height = choose.choice(SMALL)
        goal = choose.randint(1, min(2 * width + 1, 7)), choose.randint(1, min(2 * height + 1, 7))
        kind = choose.choice(carve.ENERGIES)
        picture = small_picture(width, height, rng, depth, channels)
        keep, remove = (rng.random((height, width)) < choose.choice([0, 0.2, 0.5]) for _ in range(2))
        seen = set()
        options = dict(width=goal[0], height=goal[1], energy=kind, mask=keep, rmask=remove)
        try:
            wanted = plain_carve(as_rows(picture, keep, remove), *goal, kind, depth, seen)
        except carve.NotCleared:
            with pytest.raises(carve.NotCleared):
                carve.carve(picture, **options)
            continue
        assert carve.carve(picture, **options).tolist() == [[list(pixel[0]) for pixel in row] for row in wanted]
        shown = carve.carve(picture, **options, show="seams")
        red = (np.iinfo(picture.dtype).max, 0, 0)
        for y, x in itertools.product(range(height), range(width)):
            colours = picture[y, x, :3] if channels > 2 else picture[y, x, [0, 0, 0]]
            alpha = picture[y, x, [-1]] if channels in (2, 4) else []
            assert shown[y, x].tolist() == [*(red if (y, x) in seen else colours), *alpha]


def test_energy_shown():
    picture = np.array([[[255, 255], [0, 255]], [[10, 255], [0, 255]]], np.uint8)
    # |255 - 0| + |255 - 10| + floor(46341 * 255 / 65536) is over 255; |10 - 0| + 0 + floor(46341 * 10 / 65536)
    assert carve.carve(picture, show="energy").tolist() == [[[255, 255], [0, 255]], [[17, 255], [0, 255]]]
    wide = picture.astype(np.uint16) * 257
    assert carve.carve(wide, show="energy")[..., 0].tolist() == [[65535, 0], [17 * 257, 0]]
    assert np.array_equal(carve.carve(wide, show="energy")[..., 1], wide[..., 1])


def test_energy_shown_of_what_alpha_hides():
    picture = np.array([[[255, 0], [0, 0]], [[10, 51], [0, 0]]], np.uint8)
    # over white 255, 255; 206, 255: (10 * 51 + 255 * 204) / 255 is 206. Left above |255 - 206|, left below |206 - 255| and
    # floor(46341 * 49 / 65536), which is 34
    assert carve.carve(picture, show="energy").tolist() == [[[49, 0], [0, 0]], [[83, 51], [0, 0]]]
