# SPDX-License-Identifier: Apache-2.0
"""Seam carving in numpy, written from the specification alone: the exact output of `carve`.

Images are (height, width, channels) arrays of uint8 or uint16, channels 1 (gray), 2 (gray, alpha), 3 (RGB) or
4 (RGB, alpha); masks are (height, width) arrays of bool. Vertical seams are described: a list of the column
that a seam has in each row. A horizontal one is a vertical one of the image with its axes swapped.
"""
import numpy as np

ENERGIES = ("gradient", "sobel3", "sobel5")


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
    return sobel(luma, (1, 4, 6, 4, 1), (-1, -2, 0, 2, 1))


# ---- one seam

def costs(energies, keep, remove):
    """What a pixel adds to its seam, in order of weight: whether it is kept, whether it is not to be removed, energy.
    KEEP and REMOVE: arrays of bool."""
    return (keep.astype(np.int64) << 48) + ((~remove).astype(np.int64) << 32) + energies


def path_costs(cost):
    """T, B: the least cost of a path from the first and from the last row to each pixel, inclusive."""
    height, width = cost.shape
    ends = np.stack([cost, cost[::-1]], 1)  # [row, T or B, column]
    sums = np.full((height, 2, width + 2), np.iinfo(np.int64).max)  # a column of nothing on both sides
    sums[0, :, 1:-1] = ends[0]
    for y in range(1, height):
        last = sums[y - 1]
        sums[y, :, 1:-1] = ends[y] + np.minimum(np.minimum(last[:, :-2], last[:, 1:-1]), last[:, 2:])
    return sums[:, 0, 1:-1], sums[::-1, 1, 1:-1]


def find_seam(cost):
    """(columns, total) of a seam of the least total: the leftmost one in the middle row, which then, row by row outward from
    there, takes the smallest column that keeps the total."""
    height = cost.shape[0]
    from_top, from_bottom = path_costs(cost)
    middle = (height - 1) // 2
    through = from_top[middle] + from_bottom[middle] - cost[middle]
    columns = [0] * height
    columns[middle] = int(through.argmin())  # the first of equals
    for y in range(middle - 1, -1, -1):
        first = max(columns[y + 1] - 1, 0)
        columns[y] = first + int(from_top[y, first:columns[y + 1] + 2].argmin())
    for y in range(middle + 1, height):
        first = max(columns[y - 1] - 1, 0)
        columns[y] = first + int(from_bottom[y, first:columns[y - 1] + 2].argmin())
    return columns, int(through.min())


def rank(total, length):
    """A key to compare totals of seams of different length: kept pixels, minus the removed ones, energy."""
    return total - (length << 32)


# ---- a picture and what moves with its pixels

class Picture:
    """pixels: as above; keep, remove: bool; origin: place of each pixel in the input, counted row by row, or -1."""

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

    def seam(self, kind):
        pixels, keep, remove, _ = self.planes
        return find_seam(costs(energy(luma8(pixels), kind), keep, remove))

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

def shrink(picture, columns, rows, kind, seen):
    """Removes one seam a step, of the cheaper direction while both are needed. SEEN: origins of all pixels of seams."""
    while columns or rows:
        turned = picture.turned()
        down, down_total = picture.seam(kind) if columns else (None, 0)
        right, right_total = turned.seam(kind) if rows else (None, 0)
        if not rows or columns and rank(down_total, picture.height) <= rank(right_total, picture.width):
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


def clear(picture, least, kind, seen):
    """Removes LEAST columns, then as many more as there are seams that cross a pixel to be removed."""
    while True:
        columns, _ = picture.seam(kind)
        crossed = picture.remove[np.arange(picture.height), columns].any()
        if least <= 0 and not crossed:
            return picture
        if picture.width == 1:
            raise NotCleared
        seen.append(picture.origin[np.arange(picture.height), columns])
        picture = picture.without(columns)
        least -= 1


def clear_or_shrink(picture, columns, rows, kind, seen):
    """Removes COLUMNS and ROWS; if not both are wanted, all that is to be removed too, in one direction."""
    in_row, in_column = picture.remove.sum(1).max(), picture.remove.sum(0).max()
    down = not rows and in_row < picture.width       # vertical seams can do it
    across = not columns and in_column < picture.height
    if not in_row or columns and rows:
        return shrink(picture, columns, rows, kind, seen)
    if down and (not across or in_row <= in_column):
        return clear(picture, columns, kind, seen)
    if across:
        return clear(picture.turned(), rows, kind, seen).turned()
    if not columns and not rows:
        raise NotCleared
    return shrink(picture, columns, rows, kind, seen)


def grow(picture, count, kind, seen):
    """Adds COUNT columns: doubles the pixels of the first COUNT seams that shrinking would take, all at once."""
    height, width = picture.height, picture.width
    places = np.arange(height * width).reshape(height, width)
    left = Picture(*picture.planes[:3], places)
    chosen = np.zeros(height * width, bool)
    for _ in range(count):
        columns, _ = left.seam(kind)
        chosen[left.origin[np.arange(height), columns]] = True
        left = left.without(columns)
    seen.append(picture.origin.ravel()[chosen])
    return picture.doubled(chosen.reshape(height, width))


def grow_in_steps(picture, goal, kind, seen):
    while picture.width < goal:
        picture = grow(picture, min(goal - picture.width, max(1, picture.width // 2)), kind, seen)
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


def seam_map(picture, columns, rows, kind):
    """16-bit gray: the number of the seam through each pixel, 0 without a seam."""
    seen = []
    shrink(picture, columns, rows, kind, seen)
    numbers = np.zeros(picture.height * picture.width, np.uint16)
    for number, places in enumerate(seen, 1):
        numbers[places] = number
    return numbers.reshape(picture.height, picture.width, 1)


def carve(image, width=None, height=None, dx=0, dy=0, energy="gradient", show="result", mask=None, rmask=None):
    """The output of `carve` for IMAGE and these parameters; masks are True where they are set."""
    old_height, old_width, _ = image.shape
    width = old_width + dx if width is None else width
    height = old_height + dy if height is None else height
    if show == "energy":
        return energy_image(image, energy)
    nothing = np.zeros((old_height, old_width), bool)
    picture = Picture(image, nothing if mask is None else mask, nothing if rmask is None else rmask,
                      np.arange(old_height * old_width).reshape(old_height, old_width))
    if show == "map":
        return seam_map(picture, abs(old_width - width), abs(old_height - height), energy)
    seen = []
    picture = clear_or_shrink(picture, max(old_width - width, 0), max(old_height - height, 0), energy, seen)
    picture = grow_in_steps(picture, width, energy, seen)
    picture = grow_in_steps(picture.turned(), height, energy, seen).turned()
    return with_red(image, seen) if show == "seams" else np.ascontiguousarray(picture.pixels)
