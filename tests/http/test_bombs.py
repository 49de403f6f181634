# SPDX-License-Identifier: Apache-2.0
"""Small files that claim much, of formats that are read by own readers or in cells: what they may cost in processor time and memory."""
import shutil
import struct

import pytest

import heif
import test_bmp_in as bmp
import test_tiff_in as tiff
from conftest import cpu_seconds, memory
from test_avif_in import COLOUR, avif
from test_avif_in import there as avif_there
from test_gif_in import frame, screen
from test_heic_in import there as heic_there

SAME = "/brightness?shift=0&compression=0&type="


def heic_of_one_tile(side):
    """1,024 tiles are the same item."""
    units, _ = heif.hevc(heif.planes_like(side, side, "420", 8), "420", 8)
    file = heif.Heif()
    return file.file(file.grid([file.picture(units, side, side)] * 1024, 32, 32 * side, 32 * side, heif.nclx(1, 6, True)))


def avif_that_claims(tmp_path, width, height):
    data = avif(tmp_path, COLOUR)
    at = data.index(b"ispe") + 8
    return data[:at] + struct.pack(">II", width, height) + data[at + 8:]


def gif_of_a_million():
    return screen(1, 1, *[frame(0, 0, 1, 1, b"\4\1", bits=2)] * 1000000)


def tiff_that_loops(pages):
    """PAGES smaller copies in a ring."""
    tags, blocks = tiff.page(tiff.samples(16, 16, 1, 8), t254=(4, [1]))
    data = bytearray(tiff.directories([(tags, blocks)] * pages))
    link = 4
    while at := struct.unpack_from("<I", data, link)[0]:
        link = at + 2 + 12 * struct.unpack_from("<H", data, at)[0]
    struct.pack_into("<I", data, link, struct.unpack_from("<I", data, 4)[0])
    return bytes(data)


# Name: the file, type and more, the status, and the most processor seconds and MiB of all processes beyond those of a start.
BOMBS = {
    "HEIC of 16 MP": (lambda _: heic_of_one_tile(128), "png", 200, 12, 600),
    "GIF": (lambda _: gif_of_a_million(), "png", 200, 2, 80),
    "GIF, all frames": (lambda _: gif_of_a_million(), "gif&animation=keep", 422, 2, 80),
    "AVIF of 65535 x 65535": (lambda path: avif_that_claims(path, 65535, 65535), "png", 422, 1, 20),
    "AVIF of 65536 x 65536": (lambda path: avif_that_claims(path, 65536, 65536), "png", 422, 1, 20),
    "AVIF of 65535 x 1000": (lambda path: avif_that_claims(path, 65535, 1000), "png", 422, 1, 60),
    "TIFF that loops": (lambda _: tiff_that_loops(3), "png", 200, 1, 60),
    "TIFF of 20,000 directories that loop": (lambda _: tiff_that_loops(20000), "png", 200, 1, 60),
    "BMP": (lambda _: bmp.file(2 ** 31 - 1, -2 ** 31, 24, b"abc"), "png", 422, 1, 20),
    "BMP of runs": (lambda _: bmp.file(2 ** 31 - 1, 1, 8, b"\0\1", compression=1, palette=bmp.stored_palette(256)), "png", 422, 1, 20),
}


def used(daemon):
    """Processor seconds and the most bytes; shared pages count for each process."""
    pids = daemon.process.pid, *daemon.descendants()
    return sum(map(cpu_seconds, pids)), sum(memory(pid, "VmHWM") for pid in pids)


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(start, tmp_path, name):
    make, kind, status, seconds, mib = BOMBS[name]
    if name.startswith("HEIC") and not (heic_there and shutil.which("x265")) or name.startswith("AVIF") and not (avif_there and shutil.which("avifenc")):
        pytest.skip("not read here, or there is no encoder")
    daemon, data = start(), make(tmp_path)
    assert daemon.works()
    before = used(daemon)
    answer = daemon.post(SAME + kind, data)
    assert answer.status == status, answer.body[:300]
    took = [after - first for after, first in zip(used(daemon), before)]
    assert took[0] < seconds and took[1] < mib << 20, took
    assert daemon.works()
