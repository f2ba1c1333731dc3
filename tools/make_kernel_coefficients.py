"""Make the coefficients of src/scorebars/engines/_kernel.c with mpmath and print them as C arrays.

Functions of z >= 0 that are needed fast, in doubles:

    g(z) = E|Z + z| - z             its fourth root is a polynomial of degree 22 up to z = 8.3; beyond, g is
                                    below 1.4e-17. For the GPU's arithmetic in float32 (engines/coefficients.py)
                                    g(z) exp(z^2/2) is rational, degrees 3/5
    Q(z) = P(Z > z)                 Q(z) exp(z^2/2) falls as z^-1: rational, degrees 8/9, up to z = 26
    exp(-z^2/2) = 2^k 2^f           2^f for |f| <= 1/2: a polynomial (Chebyshev series cut off)

The root and the rational functions are fitted by least squares, reweighted until the error is level (Lawson).

g adds to |z|, so its absolute error counts: an error of the root weighs 4 g^(3/4). A little more weight at the far
end keeps the fourth power small there. The terms of the polynomial cancel only where g is small.

The error of a rational function is weighted by exp(-z^2/2), because g adds to |z| and Q to 1, plus a thousandth of the
relative error, so that the far tail keeps 14 digits too. They come out with positive coefficients only, which is what
makes their evaluation in doubles safe; the script fails otherwise.

Run:  python tools/make_kernel_coefficients.py      (a quarter of a minute)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mpmath as mp

mp.mp.dps = 60

Z_MAX = mp.mpf(26)
RELATIVE_SHARE = mp.mpf("1e-3")

ROOT = 4
ROOT_DEGREE = 22
ROOT_END = mp.mpf("8.3")
LEAST_ROOT_WEIGHT = mp.mpf("3e-14")

Number = mp.mpf
Function = Callable[[Number], Number]


def fold_scaled(z: Number) -> Number:
    """g(z) exp(z^2/2)."""
    return mp.sqrt(2 / mp.pi) - z * mp.exp(z * z / 2) * mp.erfc(z / mp.sqrt(2))


def tail_scaled(z: Number) -> Number:
    """Q(z) exp(z^2/2), Mills' ratio over sqrt(2 pi)."""
    return mp.exp(z * z / 2) * mp.erfc(z / mp.sqrt(2)) / 2


def value(coefficients: Sequence[Number], x: Number) -> Number:
    return mp.polyval(list(reversed(coefficients)), x)


def fit_points(count: int) -> list[Number]:
    """Points between 0 and Z_MAX, dense where the functions bend (z around 1) and at both ends."""
    bend = mp.mpf(2)
    unit = [(1 - mp.cos(mp.pi * (k + mp.mpf(1) / 2) / count)) / 2 for k in range(count)]
    return [bend * u * Z_MAX / (Z_MAX + bend) / (1 - u * (1 - bend / (Z_MAX + bend))) for u in unit]


def fit_rational(
    f: Function, top_degree: int, bottom_degree: int, points: int = 160, rounds: int = 22
) -> tuple[Number, list[Number], list[Number]]:
    """Smallest weighted error found, and the coefficients above and below the bar (constant term first)."""
    xs = fit_points(points)
    ys = [f(x) for x in xs]
    weights = [mp.exp(-x * x / 2) / (x + mp.mpf("0.8")) + RELATIVE_SHARE / y for x, y in zip(xs, ys, strict=True)]
    level = [mp.mpf(1)] * points
    top: list[Number] = []
    bottom = [mp.mpf(1)] + [mp.mpf(0)] * bottom_degree
    best: tuple[Number, list[Number], list[Number]] | None = None
    for round_number in range(rounds):
        design = mp.matrix(points, top_degree + 1 + bottom_degree)
        target = mp.matrix(points, 1)
        for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
            row = weights[i] * mp.sqrt(level[i]) / value(bottom, x)
            target[i] = row * y
            for k in range(top_degree + 1):
                design[i, k] = row * x**k
            for k in range(1, bottom_degree + 1):
                design[i, top_degree + k] = -row * y * x**k
        solution = mp.lu_solve(design.T * design, design.T * target)
        top = [solution[k] for k in range(top_degree + 1)]
        bottom = [mp.mpf(1)] + [solution[top_degree + k] for k in range(1, bottom_degree + 1)]
        errors = [abs(value(top, x) / value(bottom, x) - y) * w for x, y, w in zip(xs, ys, weights, strict=True)]
        largest = max(errors)
        if best is None or largest < best[0]:
            best = largest, top, bottom
        if round_number >= rounds // 2:
            level = [old * error / largest + mp.mpf("1e-30") for old, error in zip(level, errors, strict=True)]
            mean = mp.fsum(level) / points
            level = [x / mean for x in level]
    assert best is not None
    return best


def fit_root(points: int = 160, rounds: int = 25) -> tuple[Number, list[Number]]:
    """The fourth root of g as powers of z from 0 to ROOT_END, and the largest error of g."""
    xs = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / points) for k in range(points)]
    g = [mp.exp(-(z**2) / 2) * fold_scaled(z) for z in (ROOT_END * (1 + x) / 2 for x in xs)]
    roots = [mp.root(value, ROOT) for value in g]
    weights = [ROOT * root ** (ROOT - 1) + LEAST_ROOT_WEIGHT for root in roots]
    rows = [[mp.chebyt(k, x) for k in range(ROOT_DEGREE + 1)] for x in xs]
    level = [mp.mpf(1)] * points
    best: tuple[Number, list[Number]] | None = None
    for _ in range(rounds):
        scales = [w * mp.sqrt(share) for w, share in zip(weights, level, strict=True)]
        design = mp.matrix([[scale * t for t in row] for scale, row in zip(scales, rows, strict=True)])
        target = mp.matrix([scale * root for scale, root in zip(scales, roots, strict=True)])
        series = list(mp.lu_solve(design.T * design, design.T * target))
        fitted = [mp.fdot(row, series) for row in rows]
        error = max(abs(f**ROOT - value) for f, value in zip(fitted, g, strict=True))
        if best is None or error < best[0]:
            best = error, series
        missed = [abs(f - root) * w for f, root, w in zip(fitted, roots, weights, strict=True)]
        level = [old * x / max(missed) + mp.mpf("1e-25") for old, x in zip(level, missed, strict=True)]
        level = [share * points / mp.fsum(level) for share in level]
    assert best is not None
    return best[0], in_powers(best[1])


def in_powers(series: Sequence[Number]) -> list[Number]:
    """A Chebyshev series in x = 2 z/ROOT_END - 1 as powers of z."""
    before, last = [mp.mpf(1)], [mp.mpf(-1), 2 / ROOT_END]
    powers = [mp.mpf(0)] * len(series)
    for c in series:
        for k, term in enumerate(before):
            powers[k] += c * term
        following = [mp.mpf(0), *(4 / ROOT_END * term for term in last)]
        for k, term in enumerate(last):
            following[k] -= 2 * term
        for k, term in enumerate(before):
            following[k] -= term
        before, last = last, following
    return powers


def fit_exp2(degree: int) -> tuple[Number, list[Number]]:
    """2^f on |f| <= 1/2 by its Chebyshev series, as powers of f; and the largest relative error."""
    half = mp.mpf(1) / 2
    coefficients = mp.chebyfit(lambda f: mp.mpf(2) ** f, [-half, half], degree + 1)[::-1]
    grid = [mp.mpf(i) / 1000 - half for i in range(1001)]
    return max(abs(value(coefficients, f) / mp.mpf(2) ** f - 1) for f in grid), coefficients


def print_array(name: str, coefficients: Sequence[Number]) -> None:
    numbers = [float(c).hex() for c in coefficients]
    lines = [", ".join(numbers[i : i + 4]) for i in range(0, len(numbers), 4)]
    print(f"static const double {name}[{len(numbers)}] = {{")
    for line in lines:
        print(f"    {line},")
    print("};")


def main() -> None:
    error, exp2 = fit_exp2(11)
    print(f"/* 2^f: relative error {mp.nstr(error, 2)} */")
    print_array("EXP2", exp2)
    error, root = fit_root()
    print(f"/* error of the fourth power {mp.nstr(error, 2)} */")
    print_array("FOLD_ROOT", root)
    fits = (
        ("TAIL", tail_scaled, (8, 9)),
        ("SINGLE_FOLD", fold_scaled, (3, 5)),
    )
    for name, f, degrees in fits:
        error, top, bottom = fit_rational(f, *degrees)
        if any(c <= 0 for c in (*top, *bottom)):
            raise ArithmeticError(f"{name}: a coefficient is not positive, its evaluation could cancel")
        print(f"/* error {mp.nstr(error, 2)}; relative in the far tail {mp.nstr(error / RELATIVE_SHARE, 2)} */")
        print_array(f"{name}_TOP", top)
        print_array(f"{name}_BOTTOM", bottom)


if __name__ == "__main__":
    main()
