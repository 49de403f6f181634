#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/pipeline/skeletons/exact_math_values.h: correctly rounded values of the functions of exact_math.h, from
mpmath alone. By hand: tests/pipeline/skeletons/exact_math_values.py >tests/pipeline/skeletons/exact_math_values.h"""
import math
import random

from mpmath import mp, mpf

mp.prec = 1300  # a sine near 2^1023 needs 1023 bits of pi, and the result its own


def rounded(value):
    """The double nearest to value, below the least normal number too."""
    if value == 0:
        return 0.0
    places = min(52 - (mp.frexp(value)[1] - 1), 1074)
    try:
        return math.ldexp(int(mp.nint(mp.ldexp(value, places))), -places)
    except OverflowError:
        return math.copysign(math.inf, value)


h = float.fromhex
BOUNDS = {  # where arguments come from, and some that are hard
    "exp": (-745, 709, [709.782712893384, -745.1332191019411, -708.4, 1e-9, h("-0x1p-54")]),
    "exp2": (-1074, 1023, [-1074.5, -1022.3, 1023.9999999999999, 0.5, 1e-9]),
    "expm1": (-5, 5, [0.0054, -0.0055, 1e-10, -40.0, 709.5]),
    "log": (0, 10, [h("0x1p-1074"), h("0x1.fffffffffffffp-1"), h("0x1.0000000000001p0"), h("0x1.fffffffffffffp1023"), 1.004]),
    "log2": (0, 10, [8.0, h("0x1p-1074"), h("0x1.0000000000001p0"), h("0x1.fffffffffffffp1023"), 1.004]),
    "log10": (0, 10, [1000.0, 1e22, h("0x1p-1074"), h("0x1.fffffffffffffp-1"), h("0x1.fffffffffffffp1023")]),
    "log1p": (-1, 3, [h("0x1.fffffffffffffp-53"), h("-0x1p-40"), h("0x1.8p-30"), h("0x1.fffffffffffffp1023"), -0.999999999]),
    "sin": (-20, 20, [math.pi, h("0x1.921fb54442d18p20"), h("0x1.6ac5b262ca1ffp849"), h("0x1.fffffffffffffp1023"), 1e-9]),
    "cos": (-20, 20, [math.pi / 2, h("0x1.921fb54442d18p19"), h("0x1.6ac5b262ca1ffp849"), h("0x1.fffffffffffffp1023"), 1e-9]),
    "tan": (-20, 20, [math.pi / 2, h("0x1.921fb54442d18p20"), h("0x1.6ac5b262ca1ffp849"), h("0x1.fffffffffffffp1023"), 1e-9]),
    "asin": (-1, 1, [h("0x1.fffffffffffffp-1"), -0.5, 0.7071067811865476, 1e-9, h("0x1p-1060")]),
    "acos": (-1, 1, [h("0x1.fffffffffffffp-1"), -0.5, 0.7071067811865476, 1e-9, h("-0x1.fffffffffffffp-1")]),
    "atan": (-10, 10, [h("0x1.fffffffffffffp1023"), 1.0, 0.03125, 1e-9, h("0x1p-1060")]),
    "sinh": (-20, 20, [710.4, 1e-9, 0.0055, 40.5, h("0x1p-1060")]),
    "cosh": (-20, 20, [710.4, 1e-9, 0.0055, 40.5, 0.25]),
    "tanh": (-5, 5, [19.0, 1e-9, 0.0055, 0.3, h("0x1p-1060")]),
    "sqrt": (0, 100, [h("0x1p-1074"), h("0x1.fffffffffffffp1023"), h("0x1.fffffffffffffp-1"), h("0x1.0000000000001p0"), 2.0]),
    "cbrt": (-100, 100, [h("0x1p-1074"), h("0x1.fffffffffffffp1023"), 27.0, h("-0x1.0000000000001p0"), 2.0]),
    "pow": (0, 10, [(h("0x1.0000000000001p0"), h("0x1p58")), (0.5, 1074.0), (10.0, 22.0), (-3.0, 5.0), (1.0039, 180000.0)]),
    "atan2": (-5, 5, [(h("0x1p-1074"), 1.0), (1.0, h("-0x1p-1074")), (h("0x1p1023"), h("0x1p1000")), (h("0x1p-1000"), h("0x1.8p-30")), (-1.0, 1e300)]),
    "hypot": (-5, 5, [(3.0, 4.0), (h("0x1p1023"), h("0x1p1023")), (h("0x1p-1074"), h("0x1p-1074")), (1.0, h("0x1p-27")), (h("0x1.8p-1023"), h("0x1p-1024"))]),
}
TRUTH = {"exp2": lambda x: mpf(2) ** x, "log2": lambda x: mp.log(x, 2), "log10": mp.log10, "pow": lambda x, y: x ** y,
         "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x))}


def truth(name):
    return TRUTH.get(name) or getattr(mp, name)


def rows(name):
    low, high, hard = BOUNDS[name]
    draw = random.Random(name)
    for _ in range(6):
        hard = hard + [(draw.uniform(low, high), draw.uniform(-5, 5)) if isinstance(hard[0], tuple) else draw.uniform(low, high)]
    for x in hard:
        x = x if isinstance(x, tuple) else (x,)
        yield x, rounded(truth(name)(*map(mpf, x)))


def main():
    print("""// SPDX-License-Identifier: Apache-2.0
/* Correctly rounded values: function, arguments, result; exact_math_values.py makes them. */
// clang-format off""")
    for name in BOUNDS:
        for x, value in rows(name):
            print(f"ROW({name}, {', '.join(v.hex() for v in (*x, 0.0)[:2])}, {value.hex() if value < math.inf else 'BURIN_INF'})")
    print("// clang-format on")


if __name__ == "__main__":
    main()
