"""Make the rational coefficients in src/scorebars/special.py (mpmath, 60 digits); run it to print them.

g(z) exp(z^2/2) and g2(z) exp(z^2/2) are interpolated on [0, inf) by rational functions of z of degree
10 over 12 and 10 over 13 (so that they fall as 1/z^2 and 1/z^3) at the Chebyshev points of u = (z - 4)/(z + 4).
All coefficients come out positive: the float evaluation has no cancellation. Relative error below 6e-17.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp

DIGITS = 60
CENTRE = mp.mpf(4)


def scaled_g(z: mp.mpf) -> mp.mpf:
    """2 [phi(z) - z Q(z)] exp(z^2/2), with the digits that the difference loses carried along."""
    if z > 60:
        t = _fraction(z, 2)
        tail = 1 / (z + t)
        return mp.sqrt(2 / mp.pi) * tail / (z + tail)
    with mp.workdps(DIGITS + int(z)):
        return mp.sqrt(2 / mp.pi) - z * mp.erfc(z / mp.sqrt(2)) * mp.exp(z * z / 2)


def scaled_g2(z: mp.mpf) -> mp.mpf:
    """[(1 + z^2) Q(z) - z phi(z)] exp(z^2/2)."""
    if z > 60:
        s = _fraction(z, 2)
        tail = 1 / (z + s)
        return s * tail / (z + tail) / mp.sqrt(2 * mp.pi)
    with mp.workdps(DIGITS + 2 * int(z)):
        return (1 + z * z) * mp.erfc(z / mp.sqrt(2)) * mp.exp(z * z / 2) / 2 - z / mp.sqrt(2 * mp.pi)


def _fraction(z: mp.mpf, start: int, levels: int = 200) -> mp.mpf:
    """start/(z + (start+1)/(z + ...)), Laplace's continued fraction."""
    t = mp.mpf(0)
    for k in range(levels, start - 1, -1):
        t = k / (z + t)
    return t


def rational(f: Callable[[mp.mpf], mp.mpf], top: int, bottom: int) -> tuple[list[mp.mpf], list[mp.mpf]]:
    """Coefficients (constant term first, denominator starting with 1) that interpolate f at Chebyshev points."""
    size = top + bottom + 1
    matrix, ones = mp.matrix(size, size), mp.matrix(size, 1)
    for row in range(size):
        u = mp.cos(mp.pi * (2 * row + 1) / (2 * size))
        z = CENTRE * (1 + u) / (1 - u)
        scale = 1 / (1 + z) ** bottom
        for k in range(top + 1):
            matrix[row, k] = z**k * scale / f(z)
        for k in range(1, bottom + 1):
            matrix[row, top + k] = -(z**k) * scale
        ones[row] = scale
    x = mp.lu_solve(matrix, ones)
    return [x[k] for k in range(top + 1)], [mp.mpf(1)] + [x[top + k] for k in range(1, bottom + 1)]


if __name__ == "__main__":
    mp.mp.dps = DIGITS
    for name, function, bottom in (("G", scaled_g, 12), ("G2", scaled_g2, 13)):
        for part, coefficients in zip(("TOP", "BOTTOM"), rational(function, 10, bottom), strict=True):
            print(f"_{name}_{part} = (")
            for c in coefficients:
                print(f"    {float(c)!r},")
            print(")")
