# SPDX-License-Identifier: Apache-2.0
"""ICC profiles made here (ICC.1:2001-04 and ICC.1:2010), and what their colours are in sRGB, by plain arithmetic in doubles."""
import struct

import numpy as np

D50 = np.array([0.9642, 1.0, 0.8249])
BRADFORD = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
D65_XY, D50_XY = (0.3127, 0.3290), (0.3457, 0.3585)
SRGB = ((0.64, 0.33), (0.30, 0.60), (0.15, 0.06)), D65_XY, "srgb"
DISPLAY_P3 = ((0.68, 0.32), (0.265, 0.69), (0.15, 0.06)), D65_XY, "srgb"
ADOBE_RGB = ((0.64, 0.33), (0.21, 0.71), (0.15, 0.06)), D65_XY, 2.19921875
PROPHOTO = ((0.7347, 0.2653), (0.1596, 0.8404), (0.0366, 0.0001)), D50_XY, 1.8
MATRICES = {"srgb": SRGB, "display-p3": DISPLAY_P3, "adobe-rgb": ADOBE_RGB, "prophoto": PROPHOTO}


def xyz(x, y):
    return np.array([x / y, 1, (1 - x - y) / y])


def to_d50(white):
    gains = (BRADFORD @ D50) / (BRADFORD @ white)
    return np.linalg.inv(BRADFORD) @ np.diag(gains) @ BRADFORD


def matrix(space):
    """Linear light of the space to XYZ under D50; in a profile it is rounded to 1/65536."""
    primaries, white, _ = space
    columns = np.stack([xyz(*p) for p in primaries], 1)
    light = np.linalg.solve(columns, xyz(*white))
    return np.round(to_d50(xyz(*white)) @ (columns * light) * 65536) / 65536


def light_of(samples, curve):
    if curve == "srgb":
        return np.where(samples <= 0.04045, samples / 12.92, ((samples + 0.055) / 1.055) ** 2.4)
    return samples ** (round(curve * 65536) / 65536)


def srgb_of(light):
    """0..1, clipped."""
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def expected(space, samples):
    """The space's samples, 0..1, in sRGB, 0..1: curves, two matrices, clipping, sRGB's curve."""
    return srgb_of(light_of(samples, space[2]) @ (np.linalg.inv(matrix(SRGB)) @ matrix(space)).T)


def fixed(*values):
    return b"".join(struct.pack(">i", round(v * 65536)) for v in values)


def profile(space, tags, pcs=b"XYZ ", kind=b"mntr"):
    """An ICC file with TAGS, a dict from signature to data."""
    tags = {b"desc": b"desc" + bytes(4) + struct.pack(">I", 5) + b"test\0" + bytes(78), b"cprt": b"text" + bytes(4) + b"none\0",
            b"wtpt": b"XYZ " + bytes(4) + fixed(*D50), **tags}
    table, body, at = b"", b"", 128 + 4 + 12 * len(tags)
    for name, data in tags.items():
        data += bytes(-len(data) % 4)
        table += name + struct.pack(">II", at, len(data))
        body += data
        at += len(data)
    head = struct.pack(">I4sI4s4s4s12s4s", at, b"lcms", 0x02400000, kind, space, pcs, bytes([7, 234, 0, 1, 0, 1] + [0] * 6), b"acsp")
    head += bytes(128 - len(head) - 60) + fixed(*D50) + bytes(48)
    return head + struct.pack(">I", len(tags)) + table + body


def curve_tag(curve):
    if curve == "srgb":
        return b"para" + bytes(4) + struct.pack(">HH", 3, 0) + fixed(2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)
    return b"para" + bytes(4) + struct.pack(">HH", 0, 0) + fixed(curve)


def matrix_profile(space, more=None):
    columns = matrix(space)
    tags = {name: b"XYZ " + bytes(4) + fixed(*columns[:, i]) for i, name in enumerate((b"rXYZ", b"gXYZ", b"bXYZ"))}
    return profile(b"RGB ", {**tags, **{name: curve_tag(space[2]) for name in (b"rTRC", b"gTRC", b"bTRC")}, **(more or {})})


def gray_profile(curve):
    return profile(b"GRAY", {b"kTRC": curve_tag(curve)})


def lab_of(colours):
    """XYZ under D50 to the encoding of Lab in a lut16."""
    ratio = colours / D50
    f = np.where(ratio > 216 / 24389, np.cbrt(np.maximum(ratio, 1e-9)), (24389 / 27 * ratio + 16) / 116)
    lab = np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], -1)
    return np.clip(np.round((lab + [0, 128, 128]) * [652.8, 256, 256]), 0, 65535).astype(">u2")


def lut_profile(signature, side, xyz_at):
    """A profile with a table of SIDE places along each axis; XYZ_AT: from samples, 0..1, the last axis a sample's, to XYZ."""
    axes = {b"RGB ": 3, b"CMYK": 4}[signature]
    places = np.stack(np.meshgrid(*[np.linspace(0, 1, side)] * axes, indexing="ij"), -1)
    head = b"mft2" + bytes(4) + bytes([axes, 3, side, 0]) + fixed(1, 0, 0, 0, 1, 0, 0, 0, 1) + struct.pack(">HH", 2, 2)
    straight = struct.pack(">HH", 0, 65535)
    table = head + straight * axes + lab_of(xyz_at(places)).tobytes() + straight * 3
    return profile(signature, {b"A2B0": table, b"A2B1": table}, pcs=b"Lab ", kind=b"prtr" if axes == 4 else b"scnr")
