"""Make the coefficients of src/scorebars/engines/_kernel.c with mpmath and print them as C arrays.

Three functions of z are needed for 0 <= z <= 26, fast, in doubles:

    exp(-z^2/2) = 2^k 2^f           2^f for |f| <= 1/2: a polynomial (Chebyshev series cut off)
    g(z) = E|Z + z| - z             g(z) exp(z^2/2) is smooth and falls as z^-2: rational, degrees 8/10,
                                    and 3/5 for the GPU's arithmetic in float32 (engines/coefficients.py)
    Q(z) = P(Z > z)                 Q(z) exp(z^2/2) falls as z^-1: rational, degrees 8/9

The rational functions are fitted by linearised least squares, reweighted until the error is level
(Lawson). The error is weighted by exp(-z^2/2), because g adds to |z| and Q to 1, plus a thousandth of
the relative error, so that the far tail keeps 14 digits too. Both fits come out with positive
coefficients only, which is what makes their evaluation in doubles safe; the script fails otherwise.

Run:  python tools/make_kernel_coefficients.py      (half a minute)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mpmath as mp

mp.mp.dps = 60

Z_MAX = mp.mpf(26)
RELATIVE_SHARE = mp.mpf("1e-3")

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


def fit_exp2(degree: int) -> tuple[Number, list[Number]]:
    """2^f on |f| <= 1/2 by its Chebyshev series, as powers of f; and the largest relative error."""
    half = mp.mpf(1) / 2
    coefficients = mp.chebyfit(lambda f: mp.mpf(2) ** f, [-half, half], degree + 1)[::-1]
    grid = [mp.mpf(i) / 1000 - half for i in range(1001)]
    return max(abs(value(coefficients, f) / mp.mpf(2) ** f - 1) for f in grid), coefficients


def print_array(name: str, coefficients: Sequence[Number]) -> None:
    if any(c <= 0 for c in coefficients):
        raise ArithmeticError(f"{name}: a coefficient is not positive, its evaluation could cancel")
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
    fits = (
        ("FOLD", fold_scaled, (8, 10)),
        ("TAIL", tail_scaled, (8, 9)),
        ("SINGLE_FOLD", fold_scaled, (3, 5)),
    )
    for name, f, degrees in fits:
        error, top, bottom = fit_rational(f, *degrees)
        print(f"/* error {mp.nstr(error, 2)}; relative in the far tail {mp.nstr(error / RELATIVE_SHARE, 2)} */")
        print_array(f"{name}_TOP", top)
        print_array(f"{name}_BOTTOM", bottom)


if __name__ == "__main__":
    main()
