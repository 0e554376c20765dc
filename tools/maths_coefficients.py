#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the polynomial coefficients and constants of the maths library (src/ir/maths_*.hpp).

usage: tools/maths_coefficients.py [NAME...]      needs mpmath (python3-mpmath, or from PyPI); not part of any build

Each polynomial is a minimax fit (Remez exchange) of the error that the finished function makes,
with coefficients that are f32 numbers: after a fit the coefficient of the lowest degree is rounded
and held, the others are fitted again, and so on. `error` is the largest relative error of the
function if everything else were exact, as a power of two; an f32 result is rounded by 2^-25 to
2^-24. The lines printed here stand in the headers as they are.

The polynomials of maths_tables.hpp, which has each for f32 and f64, are fitted by weighted least
squares at Chebyshev points, with all arithmetic in mpmath: within a bit of the minimax fit, and f64
needs errors far below what a double can measure. They too are rounded and held one after the other.
"""

import math
import struct
import sys

from mpmath import mp, mpf

mp.prec = 1300  # the digits of 2/pi; the matrices of the fits hold powers of very small numbers
POINTS = 1500


def f32(x):
    """The nearest f32, ties to even (a float of Python is exact for it)."""
    return struct.unpack("<f", struct.pack("<f", float(x)))[0]


def hex_f32(x):
    """C++ spelling of an f32 without trailing zeros."""
    mantissa, exponent = float(x).hex().split("p")
    mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}p{int(exponent)}f"


def split(value, parts, bits=24):
    """`value` as a sum of f32 numbers; all but the last keep only `bits` bits."""
    out, rest = [], mpf(value)
    for i in range(parts):
        if i + 1 < parts and bits < 24:
            _, e = mp.frexp(rest)
            part = mp.nint(mp.ldexp(rest, bits - e))
            part = mp.ldexp(part, e - bits)
        else:
            part = mpf(f32(rest))
        out.append(float(part))
        rest -= part
    return out


def evaluate(coefficients, t):
    value = 0.0
    for c in reversed(coefficients):
        value = value * t + c
    return value


def remez(points, target, weight, degree):
    """Coefficients of the polynomial p with the least largest weight * |p - target| at the points.

    Targets and errors are doubles; the errors sought (2^-40 and up) are far above what they lose.
    """
    free, n = degree + 1, len(points)
    picks = [int(round((1 - math.cos(math.pi * i / free)) / 2 * (n - 1))) for i in range(free + 1)]
    coefficients = []
    for _ in range(60):
        matrix, right = mp.matrix(free + 1, free + 1), mp.matrix(free + 1, 1)
        for row, i in enumerate(picks):
            for j in range(free):
                matrix[row, j] = mpf(points[i]) ** j
            matrix[row, free] = (-1) ** row / mpf(weight[i])
            right[row] = mpf(target[i])
        solution = mp.lu_solve(matrix, right)
        coefficients = [float(solution[j]) for j in range(free)]
        level = abs(float(solution[free]))
        errors = [w * (evaluate(coefficients, t) - v) for t, v, w in zip(points, target, weight)]
        if max(map(abs, errors)) <= level * (1 + 1e-4):
            break
        # The largest error of each run of equal sign, then as many of them as there are unknowns.
        runs = []
        for i, e in enumerate(errors):
            if runs and (e > 0) == (errors[runs[-1]] > 0):
                if abs(e) > abs(errors[runs[-1]]):
                    runs[-1] = i
            else:
                runs.append(i)
        while len(runs) > free + 1:
            k = min(range(len(runs)), key=lambda i: abs(errors[runs[i]]))
            if k in (0, len(runs) - 1) or len(runs) == free + 2:
                runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
            else:  # one inside goes with its weaker neighbour, so that signs alternate
                other = k - 1 if abs(errors[runs[k - 1]]) < abs(errors[runs[k + 1]]) else k + 1
                for gone in sorted((k, other), reverse=True):
                    runs.pop(gone)
        if len(runs) < free + 1 or runs == picks:
            break
        picks = runs
    return coefficients


def fit(name, target, weight, first, last, degree, fixed=()):
    """Fits target(t) on [first, last]; weight(t) turns its error into that of the function."""
    first, last = mpf(first), mpf(last)
    # Chebyshev points, never exactly 0 where the targets are 0/0.
    ts = [(first + last) / 2 - (last - first) / 2 * mp.cos(mp.pi * (i + 0.5) / POINTS) for i in range(POINTS)]
    points = [float(t) for t in ts]
    values = [float(target(mpf(t))) for t in points]
    weights = [float(abs(weight(mpf(t)))) for t in points]
    held = [float(c) for c in fixed]
    while len(held) < degree + 1:
        # What is left of the target, divided by the power of t it starts with: the basis stays 1, t,
        # t^2 ... also where t changes its sign.
        power = len(held)
        rest = [(v - evaluate(held, t)) / t**power for t, v in zip(points, values)]
        scaled = [w * abs(t) ** power for t, w in zip(points, weights)]
        held.append(f32(remez(points, rest, scaled, degree - power)[0]))
    error = max(w * abs(evaluate(held, t) - v) for t, v, w in zip(points, values, weights))
    print(f"// {name}: degree {degree} on [{float(first):.6g}, {float(last):.6g}], error 2^{math.log2(error):.1f}")
    print("{" + ", ".join(hex_f32(c) for c in held) + "}\n")


def root(t):
    return mp.sqrt(t)


SMALL = mpf(2) ** -40  # the left end for targets that are 0/0 at 0
LN2, LOG2E = mp.log(2), 1 / mp.log(2)
HALF_LN2 = LN2 / 2 * mpf("1.005")  # rint() of a rounded product may pick the neighbour
LEFT, RIGHT = mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(mpf(2)) - 1
QUARTER_PI = (mp.pi / 4) * mpf("1.005")


def exp_poly():
    # e^r = 1 + r + r^2 q(r)
    fit("kExp", lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.exp(r), -HALF_LN2, HALF_LN2, 4)


def exp2_poly():
    # 2^r = 1 + r q(r)
    fit("kExp2", lambda r: mp.expm1(r * LN2) / r, lambda r: r / mp.mpf(2) ** r, -0.5, 0.5, 5)


def log_poly():
    # log(1 + f) = f + f^2 q(f)
    fit("kLog", lambda f: (mp.log1p(f) - f) / f**2, lambda f: f**2 / mp.log1p(f), LEFT, RIGHT, 8, fixed=[-0.5])


def log2_poly():
    # log2(1 + f) = f log2(e) + f^2 q(f)
    fit("kLog2", lambda f: (mp.log1p(f) - f) * LOG2E / f**2, lambda f: f**2 / (mp.log1p(f) * LOG2E), LEFT, RIGHT, 8)


def pow_poly():
    # log2(m) = s (2 log2(e) + s^2 (c + s^2 q(s^2))), s = (m - 1) / (m + 1); c is a pair
    def target(z):
        s = root(z)
        c = 2 * LOG2E / 3
        return ((2 * LOG2E * mp.atanh(s)) / s - 2 * LOG2E - c * z) / z**2

    def weight(z):
        s = root(z)
        return z**2 * s / (2 * LOG2E * mp.atanh(s))

    top = (RIGHT / (2 + RIGHT)) ** 2 * mpf("1.001")
    fit("kPowLog2", target, weight, SMALL, top, 2)


def sin_poly():
    # sin(r) = r + r^3 q(r^2)
    fit("kSin", lambda z: (mp.sin(root(z)) - root(z)) / root(z) ** 3, lambda z: root(z) ** 3 / mp.sin(root(z)),
        SMALL, QUARTER_PI**2, 3)


def cos_poly():
    # cos(r) = 1 - r^2 / 2 + r^4 q(r^2)
    fit("kCos", lambda z: (mp.cos(root(z)) - 1 + z / 2) / z**2, lambda z: z**2 / mp.cos(root(z)),
        SMALL, QUARTER_PI**2, 2)


def tan_poly():
    # tan(r) = r + r^3 q(r^2)
    fit("kTan", lambda z: (mp.tan(root(z)) - root(z)) / root(z) ** 3, lambda z: root(z) ** 3 / mp.tan(root(z)),
        SMALL, QUARTER_PI**2, 6)


def asin_poly():
    # asin(t) = t + t^3 q(t^2)
    fit("kAsin", lambda z: (mp.asin(root(z)) - root(z)) / root(z) ** 3, lambda z: root(z) ** 3 / mp.asin(root(z)),
        SMALL, 0.25, 4)


def atan_poly():
    # atan(t) = t + t^3 q(t^2)
    fit("kAtan", lambda z: (mp.atan(root(z)) - root(z)) / root(z) ** 3, lambda z: root(z) ** 3 / mp.atan(root(z)),
        SMALL, 1, 9)


def sinh_poly():
    # sinh(x) = x + x^3 q(x^2) for |x| < 1
    fit("kSinh", lambda z: (mp.sinh(root(z)) - root(z)) / root(z) ** 3, lambda z: root(z) ** 3 / mp.sinh(root(z)),
        SMALL, 1, 3)


def hyperbolic_polys():
    # The same and cosh(r) = 1 + r^2 q(r^2) for the reduced argument of the larger x
    fit("kSinhReduced", lambda z: (mp.sinh(root(z)) - root(z)) / root(z) ** 3, lambda z: root(z) ** 3 / mp.exp(-root(z)),
        SMALL, HALF_LN2**2, 1)
    fit("kCoshReduced", lambda z: (mp.cosh(root(z)) - 1) / z, lambda z: z / mp.exp(-root(z)),
        SMALL, HALF_LN2**2, 2)


def tanh_poly():
    # tanh(x) = x + x^3 q(x^2) for |x| < 0.55
    fit("kTanh", lambda z: (mp.tanh(root(z)) - root(z)) / root(z) ** 3, lambda z: root(z) ** 3 / mp.tanh(root(z)),
        SMALL, mpf("0.55") ** 2, 4)


def constants():
    def show(name, values):
        print(f"{name}: " + ", ".join(map(hex_f32, values)))

    show("ln 2, 24 bits and the rest", split(LN2, 2))
    show("ln 2, 15 bits and the rest", split(LN2, 2, 15))
    show("log2 e", split(LOG2E, 2))
    show("2 log2 e", split(2 * LOG2E, 2))
    show("2/3 log2 e", split(2 * LOG2E / 3, 2))
    show("pi/2", split(mp.pi / 2, 3))
    show("2/pi", split(2 / mp.pi, 1))
    show("pi", split(mp.pi, 2))
    bits = int(mp.floor(mp.ldexp(2 / mp.pi, 224)))
    print("2/pi, fraction words: " + ", ".join(f"0x{(bits >> (192 - 32 * i)) & 0xffffffff:08x}" for i in range(7)))
    print()


# ---- tables for f32 and f64 (maths_tables.hpp)


def hex_f64(x):
    return hex_f32(x)[:-1]


WIDTHS = (("Single", f32, hex_f32), ("Double", float, hex_f64))


def least_squares(ts, values, weights, powers):
    """Coefficients of the given powers of t that fit the values best under the weights."""
    matrix = mp.matrix(len(ts), len(powers))
    for row, (t, w) in enumerate(zip(ts, weights)):
        for j, power in enumerate(powers):
            matrix[row, j] = w * t**power
    return list(mp.lu_solve(matrix, mp.matrix([v * w for v, w in zip(values, weights)])))


def chebyshev(first, last, count):
    return [(first + last) / 2 - (last - first) / 2 * mp.cos(mp.pi * (i + mpf(1) / 2) / count) for i in range(count)]


def table(name, target, weight, first, last, degrees, only=("Single", "Double"), held=()):
    """Fits target(t) on [first, last] for each width; weight(t) turns its error into that of the function.

    `held`: coefficients that are given.
    """
    first, last = mpf(first) * mpf("1.0001"), mpf(last)  # no point at 0, where targets are 0/0
    for (width, rounded, shown), degree in zip(WIDTHS, degrees):
        if width not in only:
            continue
        ts = chebyshev(first, last, 2 * degree + 5)
        values, weights = [target(t) for t in ts], [weight(t) for t in ts]
        coefficients = [mpf(rounded(c)) for c in held]
        while len(coefficients) <= degree:
            rest = [v - mp.polyval(coefficients[::-1] or [0], t) for t, v in zip(ts, values)]
            found = least_squares(ts, rest, weights, range(len(coefficients), degree + 1))
            coefficients.append(mpf(rounded(found[0])))
        ts = chebyshev(first, last, 400)
        error = max(abs(weight(t) * (mp.polyval(coefficients[::-1], t) - target(t))) for t in ts)
        bits = float(mp.log(error, 2))
        print(f"// {width}::{name}: degree {degree} on [{float(first):.6g}, {float(last):.6g}], error 2^{bits:.1f}")
        print("{" + ", ".join(shown(float(c)) for c in coefficients) + "}\n", flush=True)


def exp_table():
    # e^r = 1 + r + r^2 / 2 + r^3 q(r)
    table("kExp", lambda r: (mp.expm1(r) - r - r**2 / 2) / r**3, lambda r: r**3 / mp.expm1(r), -HALF_LN2, HALF_LN2,
          (4, 9))


def log_table():
    # log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + z q(z)), s = f / (2 + f), z = s^2
    top = (RIGHT / (2 + RIGHT)) ** 2 * mpf("1.001")
    table("kLog", lambda z: (2 * mp.atanh(root(z)) / root(z) - 2) / z, lambda z: z / 2, SMALL, top, (2, 6))


def pow_table():
    # log2(m) = s (c1 + z (c3 + z (c5 + z q(z)))), the first three as pairs; s and z as for the logarithm
    top = (RIGHT / (2 + RIGHT)) ** 2 * mpf("1.001")

    def target(z):
        s = root(z)
        return (mp.atanh(s) / s - 1 - z / 3 - z**2 / 5) / z**3 * 2 * LOG2E

    table("kPow", target, lambda z: z**3 / (2 * LOG2E), mpf(2) ** -30, top, (1, 6), only=("Double",))


def atan_table():
    # atan(t) = t + t z q(z), z = t^2, t up to tan(pi/8)
    top = (mp.sqrt(2) - 1) ** 2 * mpf("1.001")
    table("kAtan", lambda z: (mp.atan(root(z)) / root(z) - 1) / z, lambda z: z, SMALL, top, (4, 11))


def asin_table():
    # asin(t) = t + t z q(z), z = t^2, t up to 1/2
    table("kAsin", lambda z: (mp.asin(root(z)) / root(z) - 1) / z, lambda z: z, SMALL, 0.25, (4, 12), only=("Double",))


def sin_table():
    # sin(r) = r + r z q(z); cos(r) = 1 - z / 2 + z^2 q(z)
    table("kSin", lambda z: (mp.sin(root(z)) / root(z) - 1) / z, lambda z: z, SMALL, QUARTER_PI**2, (3, 6),
          only=("Double",))
    table("kCos", lambda z: (mp.cos(root(z)) - 1 + z / 2) / z**2, lambda z: z**2 / mp.cos(root(z)), SMALL,
          QUARTER_PI**2, (2, 5), only=("Double",))


# [middle, from, to] of the pieces of erf beyond the first
ERF_PIECES = {"Single": (("1.1875", "0.875", "1.5"), ("2", "1.5", "2.5"), ("3.25", "2.5", "4")),
              "Double": (("1.1875", "0.875", "1.5"), ("1.875", "1.5", "2.25"), ("2.75", "2.25", "3.25"),
                         ("3.75", "3.25", "4.25"), ("5.125", "4.25", "6"))}
ERF_DEGREES = {"Single": 8, "Double": 17}


def erf_table():
    # erf(x) = x + x q(x^2) in the first piece, c + q(x - middle) in the others; q has the same degree in all
    for width, rounded, shown in WIDTHS:
        degree, digits = ERF_DEGREES[width], (24, 53)[width == "Double"]
        only = (width,)
        degrees = (degree, degree)
        table("kErf[0]", lambda z: mp.erf(root(z)) / root(z) - 1, lambda z: 1, SMALL, mpf("0.875") ** 2, degrees, only)
        for middle, first, last in ERF_PIECES[width]:
            m = mpf(middle)
            # The constant is a short number and its rest is the first coefficient.
            c = mpf(f32(mp.erf(m)))
            print(f"// {width}: at {middle} c = {shown(float(c))}")
            table("kErf", lambda t: mp.erf(m + t) - c, lambda t: 1, mpf(first) - m, mpf(last) - m, degrees, only)


def wide_constants():
    def show(name, values, shown):
        print(f"{name}: " + ", ".join(map(shown, values)))

    def pieces(value, count, rounded, bits=None):
        out, rest = [], mpf(value)
        for i in range(count):
            if i == 0 and bits:
                _, e = mp.frexp(rest)
                part = mp.ldexp(mp.nint(mp.ldexp(rest, bits - e)), e - bits)
            else:
                part = mpf(rounded(rest))
            out.append(float(part))
            rest -= part
        return out

    log10 = mp.log(10)
    for width, rounded, shown in WIDTHS:
        print(width)
        short = 15 if width == "Single" else 41
        for name, value, count, bits in (
                ("log2 e", LOG2E, 2, None), ("ln 2, short first", LN2, 3, short), ("ln 2", LN2, 2, None),
                ("log2 10", log10 / LN2, 1, None), ("log10 2, short first", LN2 / log10, 3, short), ("ln 10", log10, 2, None),
                ("log10 e", 1 / log10, 2, None), ("pi/4", mp.pi / 4, 3, None), ("pi/2", mp.pi / 2, 4, None), ("pi", mp.pi, 2, None),
                ("2/pi", 2 / mp.pi, 1, None), ("c1", 2 * LOG2E, 2, None), ("c3", 2 * LOG2E / 3, 2, None),
                ("c5", 2 * LOG2E / 5, 2, None), ("1/3", mpf(1) / 3, 1, None)):
            show(name, pieces(value, count, rounded, bits), shown)
    bits = int(mp.floor(mp.ldexp(2 / mp.pi, 1248)))
    words = [(bits >> (1216 - 64 * i)) & (2**64 - 1) for i in range(20)]
    print("2/pi after 32 zeros: " + ", ".join(f"0x{w:016x}" for w in words))


ALL = [exp_table, log_table, pow_table, atan_table, asin_table, sin_table, erf_table, wide_constants, constants, exp_poly, exp2_poly, log_poly, log2_poly, pow_poly, sin_poly, cos_poly, tan_poly, asin_poly,
       atan_poly, sinh_poly, hyperbolic_polys, tanh_poly]


def main(names):
    for make in ALL:
        if not names or make.__name__ in names:
            make()


if __name__ == "__main__":
    main(sys.argv[1:])
