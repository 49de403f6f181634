# SPDX-License-Identifier: Apache-2.0
"""Seam carving in numpy, written from the specification alone: the exact output of `carve`.

Images are (height, width, channels) arrays of uint8 or uint16, channels 1 (gray), 2 (gray, alpha), 3 (RGB) or
4 (RGB, alpha); masks are (height, width) arrays of bool. Vertical seams are described: a list of the column
that a seam has in each row. A horizontal one is a vertical one of the image with its axes swapped.
"""
import numpy as np

ENERGIES = ("gradient", "sobel3", "sobel5")  # and forward


# ---- energy

def luma8(image):
    """8-bit luma of an image of any channels and depth; where it has alpha, laid over white."""
    colours = image[..., :1 if image.shape[2] < 3 else 3].astype(np.int64)
    if image.shape[2] % 2 == 0:
        maximum, alpha = np.iinfo(image.dtype).max, image[..., -1:].astype(np.int64)
        colours = (2 * (colours * alpha + maximum * (maximum - alpha)) + maximum) // (2 * maximum)
    if image.shape[2] < 3:
        value = colours[..., 0]
    else:
        red, green, blue = (colours[..., i] for i in range(3))
        value = (77 * red + 150 * green + 29 * blue + 128) >> 8
    return value >> 8 if image.dtype == np.uint16 else value


def gradient(luma):
    """Differences to the right, the lower and the lower right neighbour; the last times 1 / sqrt(2)."""
    around = np.pad(luma, ((0, 1), (0, 1)), "edge")
    here, right, below, across = around[:-1, :-1], around[:-1, 1:], around[1:, :-1], around[1:, 1:]
    return abs(here - right) + abs(here - below) + (46341 * abs(here - across) >> 16)


def sobel(luma, across, along):
    """floor(sqrt(gx^2 + gy^2)); gx is ALONG from left to right, ACROSS from top to bottom; gy the other way."""
    reach = len(along) // 2
    height, width = luma.shape
    around = np.pad(luma, reach, "edge")

    def filtered(down, right):
        rows = sum(w * around[i:i + height] for i, w in enumerate(down))
        return sum(w * rows[:, i:i + width] for i, w in enumerate(right))

    gx, gy = filtered(across, along), filtered(along, across)
    return np.floor(np.sqrt((gx * gx + gy * gy).astype(np.float64))).astype(np.int64)  # exact: below 2^52


def energy(luma, kind):
    if kind == "gradient":
        return gradient(luma)
    if kind == "sobel3":
        return sobel(luma, (1, 2, 1), (-1, 0, 1))
    if kind == "forward":
        around = np.pad(luma, ((0, 0), (1, 1)), "edge")
        return abs(around[:, 2:] - around[:, :-2])
    return sobel(luma, (1, 4, 6, 4, 1), (-1, -2, 0, 2, 1))


# ---- one seam

class Rules:
    """What seams cost: the kind of energy, what a diagonal step costs more, whether masks weigh by their levels."""

    def __init__(self, kind, rigidity=0, soft=False):
        self.kind, self.rigidity, self.soft = kind, rigidity, soft


def costs(energies, keep, remove):
    """What a pixel adds to its seam, in order of weight: whether it is kept, whether it is not to be removed, energy.
    KEEP and REMOVE: arrays of bool, or levels where masks are soft."""
    if keep.dtype != bool:
        return energies + 16 * ((255 + keep.astype(np.int64) - remove + 1) // 2)
    return (keep.astype(np.int64) << 48) + ((~remove).astype(np.int64) << 32) + energies


def step_costs(luma, rules):
    """down, up: [row, pixel] what a step costs between a pixel of that row and the lower right one, or between its lower and
    its right neighbour, that is from there up to the right."""
    corner = luma.astype(np.int64)
    right_up, left_down = corner[:-1, 1:], corner[1:, :-1]  # (y-1, x) and (y, x-1), of a step from (y-1, x-1) to (y, x)
    left_up, right_down = corner[:-1, :-1], corner[1:, 1:]  # (y-1, x) and (y, x+1), of a step from (y-1, x+1) to (y, x)
    forward = rules.kind == "forward"
    return rules.rigidity + forward * abs(right_up - left_down), rules.rigidity + forward * abs(left_up - right_down)


def path_costs(cost, down=None, up=None):
    """T, B: the least cost of a path from the first and from the last row to each pixel, inclusive."""
    height, width = cost.shape
    down, up = (np.zeros((height, width - 1), np.int64) if steps is None else steps for steps in (down, up))
    nothing = np.iinfo(np.int64).max // 2

    def sums(order):
        result = np.full((height, width + 2), nothing)  # a column of nothing on both sides
        result[order[0], 1:-1] = cost[order[0]]
        for before, y in zip(order, order[1:]):
            least = result[before, 1:-1].copy()
            first, second = (down, up) if y > before else (up, down)
            row = min(y, before)
            least[1:] = np.minimum(least[1:], result[before, 1:-2] + first[row])      # from the left
            least[:-1] = np.minimum(least[:-1], result[before, 2:-1] + second[row])   # from the right
            result[y, 1:-1] = cost[y] + least
        return result[:, 1:-1]

    return sums(range(height)), sums(range(height - 1, -1, -1))


def nearest(sums, column, left, right):
    """The least of SUMS in a neighbouring row, with what the step costs, and its column, the leftmost one.
    LEFT, RIGHT: what steps cost between a column of the row and the next, as seen from COLUMN."""
    ways = [(sums[column], column)]
    if column:
        ways.append((sums[column - 1] + left[column - 1], column - 1))
    if column + 1 < len(sums):
        ways.append((sums[column + 1] + right[column], column + 1))
    return min(ways)


def find_seam(cost, luma=None, rules=Rules("gradient")):
    """(columns, total) of a seam of the least total: the leftmost one in the middle row, which then, row by row outward from
    there, takes the smallest column that keeps the total."""
    height = cost.shape[0]
    down, up = step_costs(np.zeros_like(cost) if luma is None else luma, rules)
    from_top, from_bottom = path_costs(cost, down, up)
    middle = (height - 1) // 2
    through = from_top[middle] + from_bottom[middle] - cost[middle]
    columns = [0] * height
    columns[middle] = int(through.argmin())  # the first of equals
    for y in range(middle - 1, -1, -1):
        columns[y] = int(nearest(from_top[y], columns[y + 1], down[y], up[y])[1])
    for y in range(middle + 1, height):
        columns[y] = int(nearest(from_bottom[y], columns[y - 1], up[y - 1], down[y - 1])[1])
    return columns, int(through.min())


def rank(total, length, rules=Rules("gradient")):
    """A key to compare totals of seams of different length: kept pixels, minus the removed ones, energy. Soft: what weighs
    more than black masks."""
    return total - (16 * 128 * length if rules.soft else length << 32)


# ---- a picture and what moves with its pixels

class Picture:
    """pixels: as above; keep, remove: bool, or levels where masks are soft; origin: place of each pixel in the input, counted row by row, or -1."""

    def __init__(self, pixels, keep, remove, origin):
        self.planes = [pixels, keep, remove, origin]

    pixels = property(lambda self: self.planes[0])
    remove = property(lambda self: self.planes[2])
    origin = property(lambda self: self.planes[3])
    width = property(lambda self: self.planes[0].shape[1])
    height = property(lambda self: self.planes[0].shape[0])

    def turned(self):
        """The picture with rows and columns swapped."""
        return Picture(*(plane.swapaxes(0, 1) for plane in self.planes))

    def seam(self, rules):
        pixels, keep, remove, _ = self.planes
        luma = luma8(pixels)
        return find_seam(costs(energy(luma, rules.kind), keep, remove), luma, rules)

    def without(self, columns):
        stays = np.ones((self.height, self.width), bool)
        stays[np.arange(self.height), columns] = False
        shape = (self.height, self.width - 1)
        return Picture(*(plane[stays].reshape(shape + plane.shape[2:]) for plane in self.planes))

    def doubled(self, chosen):
        """The picture with a new pixel right of each pixel of CHOSEN (bool), which has equally many in every row."""
        pixels, keep, remove, origin = self.planes
        height, width, channels = pixels.shape
        around = np.pad(pixels.astype(np.int64), ((0, 0), (1, 1), (0, 0)), "edge")
        three = np.stack([around[:, :-2], around[:, 1:-1], around[:, 2:]])
        weights = np.ones_like(three)
        if channels % 2 == 0:  # colours weigh by alpha
            weights[..., :-1] = np.where(three[..., -1:].sum(0) > 0, three[..., -1:], 1)
        total = weights.sum(0)
        mean = ((2 * (three * weights).sum(0) + total) // (2 * total)).astype(pixels.dtype)
        source = np.repeat(np.arange(height * width), 1 + chosen.ravel()).reshape(height, -1)
        new = np.zeros(source.shape, bool)
        new[:, 1:] = source[:, 1:] == source[:, :-1]
        flat = [plane.reshape((height * width,) + plane.shape[2:]) for plane in (pixels, mean, keep, remove, origin)]
        pixels, mean, keep, remove, origin = (plane[source] for plane in flat)
        return Picture(np.where(new[..., None], mean, pixels), keep, remove, np.where(new, -1, origin))


# ---- from one size to the other

def shrink(picture, columns, rows, rules, seen):
    """Removes one seam a step, of the cheaper direction while both are needed. SEEN: origins of all pixels of seams."""
    while columns or rows:
        turned = picture.turned()
        down, down_total = picture.seam(rules) if columns else (None, 0)
        right, right_total = turned.seam(rules) if rows else (None, 0)
        if not rows or columns and rank(down_total, picture.height, rules) <= rank(right_total, picture.width, rules):
            seen.append(picture.origin[np.arange(picture.height), down])
            picture = picture.without(down)
            columns -= 1
        else:
            seen.append(turned.origin[np.arange(turned.height), right])
            picture = turned.without(right).turned()
            rows -= 1
    return picture


class NotCleared(Exception):
    """Without what is to be removed nothing would be left."""


def clear(picture, least, rules, seen):
    """Removes LEAST columns, then as many more as there are seams that cross a pixel to be removed."""
    while True:
        columns, _ = picture.seam(rules)
        crossed = picture.remove[np.arange(picture.height), columns].any()
        if least <= 0 and not crossed:
            return picture
        if picture.width == 1:
            raise NotCleared
        seen.append(picture.origin[np.arange(picture.height), columns])
        picture = picture.without(columns)
        least -= 1


def clear_or_shrink(picture, columns, rows, rules, seen):
    """Removes COLUMNS and ROWS; if not both are wanted, all that is to be removed too, in one direction."""
    if rules.soft:
        return shrink(picture, columns, rows, rules, seen)
    in_row, in_column = picture.remove.sum(1).max(), picture.remove.sum(0).max()
    down = not rows and in_row < picture.width       # vertical seams can do it
    across = not columns and in_column < picture.height
    if not in_row or columns and rows:
        return shrink(picture, columns, rows, rules, seen)
    if down and (not across or in_row <= in_column):
        return clear(picture, columns, rules, seen)
    if across:
        return clear(picture.turned(), rows, rules, seen).turned()
    if not columns and not rows:
        raise NotCleared
    return shrink(picture, columns, rows, rules, seen)


def grow(picture, count, rules, seen):
    """Adds COUNT columns: doubles the pixels of the first COUNT seams that shrinking would take, all at once."""
    height, width = picture.height, picture.width
    places = np.arange(height * width).reshape(height, width)
    left = Picture(*picture.planes[:3], places)
    chosen = np.zeros(height * width, bool)
    for _ in range(count):
        columns, _ = left.seam(rules)
        chosen[left.origin[np.arange(height), columns]] = True
        left = left.without(columns)
    seen.append(picture.origin.ravel()[chosen])
    return picture.doubled(chosen.reshape(height, width))


def grow_in_steps(picture, goal, rules, seen):
    while picture.width < goal:
        picture = grow(picture, min(goal - picture.width, max(1, picture.width // 2)), rules, seen)
    return picture


# ---- the operator

def with_red(image, seen):
    """RGB of IMAGE, with the pixels of places SEEN in red; alpha is kept."""
    colours = image[..., :1].repeat(3, 2) if image.shape[2] < 3 else image[..., :3].copy()
    places = np.concatenate([np.zeros(0, np.int64), *seen])
    colours.reshape(-1, 3)[places[places >= 0]] = (np.iinfo(image.dtype).max, 0, 0)
    return np.concatenate([colours, image[..., 3:] if image.shape[2] > 2 else image[..., 1:]], 2)


def energy_image(image, kind):
    value = np.minimum(energy(luma8(image), kind), 255) * (257 if image.dtype == np.uint16 else 1)
    alpha = image[..., image.shape[2] - 1:] if image.shape[2] in (2, 4) else image[..., :0]
    return np.concatenate([value[..., None].astype(image.dtype), alpha], 2)


def seam_map(picture, columns, rows, rules):
    """16-bit gray: the number of the seam through each pixel, 0 without a seam."""
    seen = []
    shrink(picture, columns, rows, rules, seen)
    numbers = np.zeros(picture.height * picture.width, np.uint16)
    for number, places in enumerate(seen, 1):
        numbers[places] = number
    return numbers.reshape(picture.height, picture.width, 1)


def carve(image, width=None, height=None, dx=0, dy=0, energy="gradient", show="result", mask=None, rmask=None, rigidity=0,
          soft=False):
    """The output of `carve` for IMAGE and these parameters; masks are 8-bit levels, or bool."""
    old_height, old_width, _ = image.shape
    width = old_width + dx if width is None else width
    height = old_height + dy if height is None else height
    if show == "energy":
        return energy_image(image, energy)
    soft = soft and (mask is not None or rmask is not None)
    rules = Rules(energy, rigidity, soft)
    levels = [np.zeros((old_height, old_width), np.uint8) if m is None else m for m in (mask, rmask)]
    keep, remove = levels if soft else (level if level.dtype == bool else level >= 128 for level in levels)
    picture = Picture(image, keep, remove,
                      np.arange(old_height * old_width).reshape(old_height, old_width))
    if show == "map":
        return seam_map(picture, abs(old_width - width), abs(old_height - height), rules)
    seen = []
    picture = clear_or_shrink(picture, max(old_width - width, 0), max(old_height - height, 0), rules, seen)
    picture = grow_in_steps(picture, width, rules, seen)
    picture = grow_in_steps(picture.turned(), height, rules, seen).turned()
    return with_red(image, seen) if show == "seams" else np.ascontiguousarray(picture.pixels)
