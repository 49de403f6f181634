#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where the numbers of pipeline/skeletons/exact_math/ come from: prints every table and coefficient as C, computed by
mpmath to 60 digits. Polynomials interpolate at Chebyshev nodes, which is near the best of their degree; the error that
is printed beside each is what is left of it before its coefficients are rounded.
By hand: tests/pipeline/skeletons/exact_math_tables.py"""
from mpmath import mp, mpf

mp.dps = 60
LN2 = mp.log(2)


def pair(value):
    """The double nearest to value, and the one nearest to what that leaves."""
    high = float(value)
    return high, float(value - mpf(high))


def on_grid(value, exponent):
    """value rounded to a multiple of 2^exponent, and the rest."""
    high = float(mp.nint(value / mpf(2) ** exponent) * mpf(2) ** exponent)
    return high, float(value - mpf(high))


def show(name, numbers, per_line=4):
    print(f"{name}: {len(numbers)}")
    for i in range(0, len(numbers), per_line):
        print("    " + " ".join((n if isinstance(n, str) else n.hex()) + "," for n in numbers[i:i + per_line]))


def polynomial(name, function, low, high, count, weight):
    """The coefficients, lowest first, of what approximates function on [low, high]; weight: what its error is multiplied
    by in the result."""
    coefficients = mp.chebyfit(function, [low, high], count)[::-1]
    worst = max(abs((mp.polyval(coefficients[::-1], x) - function(x)) * weight(x))
                for x in (low + (high - low) * mpf(2 * i + 1) / 402 for i in range(201)))
    print(f"/* {name}: error 2^{float(mp.log(worst, 2)):.1f} of the result */")
    show(name, [float(c) for c in coefficients], 3)


def series(function, terms):
    """function, from its series where it would cancel."""
    return lambda x: function(x) if abs(x) > mpf(10) ** -6 else terms(x)


def exp_numbers():
    show("exp table", [n for i in range(64) for n in pair(mpf(2) ** (mpf(i) / 64))])
    step = LN2 / 64
    show("64/ln2, ln2/64 in two", [float(1 / step), *on_grid(step, -41)])
    edge = step / 2 * mpf("1.001")
    polynomial("exp(r) = 1 + r + r^2/2 + r^3 P(r)",
               series(lambda r: (mp.exp(r) - 1 - r - r * r / 2) / r ** 3, lambda r: mpf(1) / 6 + r / 24), -edge, edge, 5,
               lambda r: r ** 2)


def log_intervals():
    """128 intervals of equal bits from about sqrt(1/2), one of which has 1 in its middle; for each the factor of 10 bits
    that brings it nearest to 1."""
    one, step = 0x3ff << 52, 1 << 45
    start = one - 74 * step - step // 2

    def value(bits):
        exponent = (bits >> 52) - 1023
        return mpf((bits & ((1 << 52) - 1)) | (1 << 52)) * mpf(2) ** (exponent - 52)
    numbers, largest = [], mpf(0)
    for i in range(128):
        low, high = value(start + i * step), value(start + (i + 1) * step)
        factor = mpf(int(mp.nint(1024 / (low + high)))) / 512
        if i == 74:
            factor = mpf(1)
        largest = max(largest, abs(low * factor - 1), abs(high * factor - 1))
        numbers += [float(factor), *on_grid(-mp.log(factor), -42)]
    return start, largest, numbers


def log_numbers():
    start, largest, numbers = log_intervals()
    print(f"/* log: the intervals begin at bits {start:#x}; |r| <= {float(largest):.6f} */")
    show("log table: factor, -log(factor) in two", numbers, 3)
    show("ln2 in two", list(on_grid(LN2, -42)))
    show("1/ln2, 1/ln10 in two each", [*pair(1 / LN2), *pair(1 / mp.log(10))])
    polynomial("log(1 + r) = r - r^2/2 + r^3 P(r)",
               series(lambda r: (mp.log1p(r) - r + r * r / 2) / r ** 3, lambda r: mpf(1) / 3 - r / 4 + r * r / 5),
               -largest, largest, 7, lambda r: r ** 2)


def trig_numbers():
    half_pi = mp.pi / 2
    first = on_grid(half_pi, -32)[0]
    second = on_grid(half_pi - mpf(first), -66)[0]
    third = on_grid(half_pi - mpf(first) - mpf(second), -99)[0]
    show("2/pi; pi/2 in four", [float(1 / half_pi), first, second, third,
                                float(half_pi - mpf(first) - mpf(second) - mpf(third))])
    show("pi/2 in two, pi in two", [*pair(half_pi), *pair(mp.pi)])
    mp.dps = 420
    bits = int(mp.floor(2 / mp.pi * mpf(2) ** (32 * 38)))
    mp.dps = 60
    show("2/pi in words", [f"{bits >> (32 * (37 - i)) & 0xffffffff:#010x}" for i in range(38)], 8)
    top = mpf("0.6170")
    sin = series(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1 + z / 6) / z ** 2, lambda z: mpf(1) / 120 - z / 5040)
    cos = series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2 - z * z / 24) / z ** 3, lambda z: -mpf(1) / 720 + z / 40320)
    show("-1/6, 1/24 in two each", [*pair(-mpf(1) / 6), *pair(mpf(1) / 24)])
    polynomial("sin(r) = r - r^3/6 + r^5 P(r^2)", sin, mpf(0), top, 7, lambda z: z ** 2)
    polynomial("cos(r) = 1 - r^2/2 + r^4/24 + r^6 P(r^2)", cos, mpf(0), top, 6, lambda z: z ** 3)


def atan_numbers():
    show("atan(k/16) in two each", [n for k in range(17) for n in pair(mp.atan(mpf(k) / 16))])
    atan = series(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: -mpf(1) / 3 + z / 5)
    polynomial("atan(t) = t + t^3 P(t^2)", atan, mpf(0), (mpf(1) / 32 + mpf(2) ** -40) ** 2, 5, lambda z: z)


if __name__ == "__main__":
    exp_numbers()
    log_numbers()
    trig_numbers()
    atan_numbers()
