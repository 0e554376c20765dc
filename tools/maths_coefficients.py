#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the polynomial coefficients and constants of the maths library (src/ir/maths_*.hpp).

usage: tools/maths_coefficients.py [NAME...]      needs python3-mpmath; not part of any build

Each polynomial is a minimax fit (Remez exchange) of the error that the finished function makes,
with coefficients that are f32 numbers: after a fit the coefficient of the lowest degree is rounded
and held, the others are fitted again, and so on. `error` is the largest relative error of the
function if everything else were exact, as a power of two; an f32 result is rounded by 2^-25 to
2^-24. The lines printed here stand in the headers as they are.
"""

import math
import struct
import sys

from mpmath import mp, mpf

mp.prec = 600  # the matrices of the fits hold powers of very small numbers
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


ALL = [constants, exp_poly, exp2_poly, log_poly, log2_poly, pow_poly, sin_poly, cos_poly, tan_poly, asin_poly,
       atan_poly, sinh_poly, hyperbolic_polys, tanh_poly]


def main(names):
    for make in ALL:
        if not names or make.__name__ in names:
            make()


if __name__ == "__main__":
    main(sys.argv[1:])
