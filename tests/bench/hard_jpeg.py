# SPDX-License-Identifier: Apache-2.0
"""A valid gray JPEG that no decoder can enter in the middle: every block has 63 coefficients of one bit behind codes of 8 bits,
so a block's end is not recognizable, and a decoder that begins at a wrong bit stays wrong to the end. For fairness.py."""
import struct

import numpy as np


def segment(marker, data):
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


def scan(blocks, rng):
    """A block is a DC difference of 0, '0', then 63 times a code of 8 bits, never all ones, and a sign."""
    codes = rng.integers(0, 255, (blocks, 63), np.uint16) << 1 | rng.integers(0, 2, (blocks, 63), np.uint16)
    bits = codes[:, :, None] >> np.arange(8, -1, -1, np.uint16) & 1
    bits = np.concatenate([np.zeros((blocks, 1), np.uint16), bits.reshape(blocks, -1)], 1)
    return np.packbits(bits.astype(np.uint8)).tobytes().replace(b"\xff", b"\xff\x00")


def hard_jpeg(side, seed=1):
    rng = np.random.default_rng(seed)
    across = (side + 7) // 8
    one_code = bytes([1] + [0] * 15) + b"\x00"
    same_length = bytes([0] * 7 + [255] + [0] * 8) + b"\x01" * 255
    return (b"\xff\xd8" + segment(0xDB, b"\x00" + b"\x01" * 64) + segment(0xC0, struct.pack(">BHHBBBB", 8, side, side, 1, 1, 0x11, 0))
            + segment(0xC4, b"\x00" + one_code) + segment(0xC4, b"\x10" + same_length)
            + segment(0xDA, b"\x01\x01\x00\x00\x3f\x00") + scan(across * across, rng) + b"\xff\xd9")
