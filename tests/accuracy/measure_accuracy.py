"""How exact are closed forms and distributions? Each against mpmath on a grid of at least 2,000 points, in units of the last place.

``python tests/accuracy/measure_accuracy.py`` writes worst_errors.csv here and docs/evidence/closed-forms.md. `test_accuracy.py` repeats it on a
thin grid and fails when a digit is lost. Exact values come from formulas in as many digits as cancellation needs, never from the
functions that are judged.
"""

from __future__ import annotations

import csv
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
from scipy import stats

import scorebars as sb
from scorebars import losses
from scorebars.errors import Laplace, Normal, Uniform
from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.moments import label_moments
from scorebars.numerics import special

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "evidence" / "closed-forms.md"
POINTS = 2000
SMALLEST = 2.3e-308
"""Below, doubles have fewer digits; such values are not judged."""


class Case(NamedTuple):
    """A function, its exact values, where both are compared, and others that have it."""

    name: str
    ours: Callable[..., Any]
    exact: Callable[..., Any]
    grid: Callable[[np.random.Generator, int], tuple[np.ndarray, ...]]
    digits: int = 60
    peers: Mapping[str, Callable[..., Any]] = MappingProxyType({})
    absolute: bool = False
    """Whether the error is counted in units of 2^-53 of 1, as for probabilities that are found by integration."""


# exact values ------------------------------------------------------------------------------------------


def upper(z: Any) -> Any:
    return mp.erfc(z / mp.sqrt(2)) / 2


def density(z: Any) -> Any:
    return mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)


def g(z: Any) -> Any:
    return 2 * (density(z) - z * upper(z))


def raw(z: Any) -> tuple[Any, Any, Any, Any]:
    """The first four moments of |Z + z|."""
    third = (z**3 + 3 * z) * (1 - 2 * upper(z)) + 2 * (z**2 + 2) * density(z)
    return z + g(z), 1 + z**2, third, z**4 + 6 * z**2 + 3


def kappa3(z: Any) -> Any:
    m1, m2, m3, _ = raw(z)
    return m3 - 3 * m2 * m1 + 2 * m1**3


def kappa4(z: Any) -> Any:
    m1, m2, m3, m4 = raw(z)
    return m4 - 4 * m3 * m1 - 3 * m2**2 + 12 * m2 * m1**2 - 6 * m1**4


def variance(z: Any) -> Any:
    return 1 - 2 * z * g(z) - g(z) ** 2


def pinball_mean(d: Any, s: Any) -> Any:
    """Of prediction - label = d + s Z with alpha = 0.3: 0.3 of what is too low, 0.7 of what is too high."""
    too_high = s * (density(d / s) + d / s * (1 - upper(d / s)))
    return mp.mpf("0.7") * too_high + mp.mpf("0.3") * (too_high - d)


def huber_mean(d: Any, s: Any) -> Any:
    """With delta = s: s^2 of Huber's loss of d/s + Z at 1."""
    z = d / s
    a, b = -1 - z, 1 - z
    inside = upper(a) - upper(b)
    square = (1 + z * z) * inside + (density(a) * (a + 2 * z) - density(b) * (b + 2 * z))
    above = (density(b) + z * upper(b)) - upper(b) / 2
    below = (density(a) - z * (1 - upper(a))) - (1 - upper(a)) / 2
    return s * s * (square / 2 + above + below)


def within(d: Any, s: Any) -> Any:
    return upper((-s - d) / s) - upper((s - d) / s)


def uniform_mean(d: Any, h: Any) -> Any:
    return d if d >= h else (d * d + h * h) / (2 * h)


def laplace_mean(d: Any, b: Any) -> Any:
    return d + b * mp.exp(-d / b)


def squares_of_two(x: Any, a: Any) -> Any:
    """P((Z + a)^2 / 2 + Z'^2 / 2 <= x) by the series of the non-central chi-square with 2 degrees of freedom."""
    total, weight, term, k = mp.mpf(0), mp.exp(-a * a / 2), mp.mpf(1), 0
    part = mp.exp(-x)  # 1 - P(chi-square with 2 + 2k <= 2x) = exp(-x) sum_{j<=k} x^j / j!
    tail = part
    while True:
        total += weight * (1 - tail)
        k += 1
        weight *= a * a / 2 / k
        term *= x / k
        tail += part * term
        if k > a * a and weight < mp.mpf(10) ** -45:
            return total


def squares_of_pairs(x: Any, r: Any) -> Any:
    """P(MSE <= x) of six labels at residuals of 0, two with each of `sizes(r)`: exponential variables added up."""
    w = [s**2 / 3 for s in sizes(r)]
    shares = [mp.fprod(a / (a - b) for b in w if b != a) for a in w]
    return 1 - mp.fsum(share * mp.exp(-x / a) for share, a in zip(shares, w, strict=True))


# grids ---------------------------------------------------------------------------------------------------


def of_z(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """z from 0 to 40, evenly, and down to 1e-20."""
    half = n // 2
    return (np.concatenate([[0.0], np.linspace(0.0, 40.0, n - half - 1), 10.0 ** rng.uniform(-20, 1.6, half)]),)


def of_normal_z(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """z as far as g(z) is a normal double."""
    return (of_z(rng, n)[0] * (37.0 / 40.0),)


def of_residual_and_error(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """z as above, the error from 1e-100 to 1e100."""
    (z,) = of_z(rng, n)
    s = 10.0 ** rng.uniform(-100, 100, z.size)
    return z * s, s


def of_square(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    a = rng.uniform(0.0, 6.0, n)
    return np.maximum((a * a + 2) / 2 * 10.0 ** rng.uniform(-1.0, 0.5, n), 1e-3), a


def of_pairs(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    r = rng.uniform(0.1, 0.9, n)
    return sum(s**2 for s in sizes(r)) / 3 * 10.0 ** rng.uniform(-1.0, 0.5, n), r


def of_chances(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    return rng.integers(0, 21, n).astype(float), rng.uniform(1e-6, 1 - 1e-6, n)


# the functions -------------------------------------------------------------------------------------------


def moment(loss: Any, errors: Callable[[Any], Any], which: str = "mean") -> Callable[..., Any]:
    """Mean or variance of a loss of one label at 0 with prediction d and an error of this size."""

    def found(d: np.ndarray, s: np.ndarray) -> np.ndarray:
        return np.asarray(getattr(label_moments(loss, errors(s), np.zeros_like(d), d), which))

    return found


def scaled(loss: Callable[[float], Any]) -> Callable[..., Any]:
    """The same for losses whose own scale is the error: found for each label by itself."""

    def found(d: np.ndarray, s: np.ndarray) -> np.ndarray:
        out = [
            label_moments(loss(float(b)), Normal(float(b)), np.zeros(1), np.array([a])).mean[0]
            for a, b in zip(d, s, strict=True)
        ]
        return np.array(out)

    return found


def two_squares(x: np.ndarray, a: np.ndarray) -> np.ndarray:
    law = [sb.mean_squared_error([0.0, 0.0], [shift, 0.0], yerr=1.0).distribution for shift in a]
    return np.array([float(one.cdf(value)) for one, value in zip(law, x, strict=True)])


def sizes(r: Any) -> tuple[Any, Any, Any]:
    """Label errors of three sizes; each belongs to two labels."""
    return 1 + 0 * r, r, r * r


def squares_of_unequal(x: np.ndarray, r: np.ndarray) -> np.ndarray:
    law = [sb.mean_squared_error([0.0] * 6, [0.0] * 6, yerr=np.repeat(sizes(q), 2)).distribution for q in r]
    return np.array([float(one.cdf(value)) for one, value in zip(law, x, strict=True)])


def _gx2_two(x: np.ndarray, a: np.ndarray) -> np.ndarray:
    import gx2

    return np.array([gx2.cdf(value, [0.5], [2], [shift**2], 0, 0) for value, shift in zip(x, a, strict=True)])


def _gx2_pairs(x: np.ndarray, r: np.ndarray) -> np.ndarray:
    import gx2

    rows = zip(x, np.square(sizes(r)).T / 6, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says itself where an integral did not converge
        return np.array([gx2.cdf(value, list(w), [2] * 3, [0] * 3, 0, 0) for value, w in rows])


def _moments_of_pairs(x: np.ndarray, r: np.ndarray) -> np.ndarray:
    """By the method of Hall, Buckley and Eagleson; that of Lindsay, Pilla and Basak fails under NumPy 2."""
    import momentchi2

    w = np.repeat(np.square(sizes(r)).T / 6, 2, axis=1)
    return np.array([momentchi2.hbe(v, float(value)) for value, v in zip(x, w, strict=True)])


def installed(peers: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Those of the peers that are installed; `make accuracy` installs all of them."""
    return {name: ask for name, ask in peers.items() if find_spec(name)}


def trials(k: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.array([float(PoissonBinomial(chances(q)).cdf(x)) for x, q in zip(k, p, strict=True)])


def chances(q: float) -> np.ndarray:
    """Twenty chances that differ: those of a few kinds of labels."""
    return np.array([q, q * q, 0.5 * q, 1 - q] * 5)


def trials_exactly(k: Any, q: Any) -> Any:
    pmf = [mp.mpf(1)]
    for chance in [q, q * q, q / 2, 1 - q] * 5:
        pmf = [a * (1 - chance) + b * chance for a, b in zip([*pmf, mp.mpf(0)], [mp.mpf(0), *pmf], strict=True)]
    return mp.fsum(pmf[: int(k) + 1])


def _scipy_trials(k: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.array([float(stats.poisson_binom.cdf(x, chances(q))) for x, q in zip(k, p, strict=True)])


def cases() -> Iterator[Case]:
    """All of them."""
    yield Case("g(z), what noise adds to |z|", special.g, g, of_z)
    yield Case("g2(z) = E (Z - z)+^2", special.g2, lambda z: (1 + z * z) * upper(z) - z * density(z), of_z)
    yield Case("Var|Z + z|", special.v, variance, of_z)
    yield Case("1 - Var|Z + z|", special.one_minus_v, lambda z: 2 * z * g(z) + g(z) ** 2, of_z)
    yield Case("third cumulant of |Z + z|, z to 37", special.kappa3, kappa3, of_normal_z, 360)
    yield Case("fourth cumulant of |Z + z|, z to 37", special.kappa4, kappa4, of_normal_z, 360)
    naive = {"as printed, in doubles": lambda z: 2 * (stats.norm.pdf(z) - z * stats.norm.sf(z))}
    yield Case("the same g(z) by SciPy's normal", special.g, g, of_z, 60, naive)
    both = of_residual_and_error
    yield Case(
        "absolute error, normal: mean", moment(losses.AbsoluteError(), Normal), lambda d, s: d + s * g(d / s), both
    )
    yield Case(
        "absolute error, normal: variance",
        moment(losses.AbsoluteError(), Normal, "variance"),
        lambda d, s: s * s * variance(d / s),
        both,
    )
    yield Case("squared error, normal: mean", moment(losses.SquaredError(), Normal), lambda d, s: d * d + s * s, both)
    yield Case(
        "squared error, normal: variance",
        moment(losses.SquaredError(), Normal, "variance"),
        lambda d, s: 4 * d * d * s * s + 2 * s**4,
        lambda rng, n: tuple(x**0.5 for x in both(rng, n)),
    )
    yield Case("pinball loss (0.3), normal: mean", moment(losses.Pinball(0.3), Normal), pinball_mean, both)
    yield Case("Huber loss (delta = error), normal: mean", scaled(losses.Huber), huber_mean, both)
    yield Case("share within one error, normal", scaled(losses.Within), within, both, absolute=True)
    yield Case("absolute error, uniform: mean", moment(losses.AbsoluteError(), Uniform), uniform_mean, both)
    yield Case("absolute error, Laplace: mean", moment(losses.AbsoluteError(), Laplace), laplace_mean, both)
    ncx2 = {"scipy.stats.ncx2": lambda x, a: stats.ncx2.cdf(2 * x, 2, a * a), **installed({"gx2": _gx2_two})}
    yield Case("MSE of two labels, P(MSE <= x)", two_squares, squares_of_two, of_square, 60, ncx2, True)
    peers = installed({"gx2": _gx2_pairs, "momentchi2": _moments_of_pairs})
    unequal = "MSE of six labels with unequal errors, P(MSE <= x)"
    yield Case(unequal, squares_of_unequal, squares_of_pairs, of_pairs, 60, peers, True)
    binomial = {"scipy.stats.poisson_binom": _scipy_trials} if hasattr(stats, "poisson_binom") else {}
    yield Case("accuracy of 20 labels, P(hits <= k)", trials, trials_exactly, of_chances, 60, binomial, True)


# measuring -----------------------------------------------------------------------------------------------


class Worst(NamedTuple):
    """The largest error of a function, in units of the last place, and where it is."""

    name: str
    points: int
    worst: float
    where: str
    peers: str


def measured(case: Case, n: int = POINTS) -> Worst:
    """The worst error on a grid of n points, and that of the peers on the same grid."""
    grid = case.grid(np.random.default_rng(7), n)
    with mp.workdps(case.digits), np.errstate(all="ignore"):
        exact = [case.exact(*map(mp.mpf, map(float, point))) for point in zip(*grid, strict=True)]
        worst, place, judged = _worst(case, case.ours(*grid), exact)
        peers = [f"{name}: {_shown(_worst(case, ask(*grid), exact)[0])}" for name, ask in case.peers.items()]
    where = ", ".join(f"{float(axis[place]):.6g}" for axis in grid)
    return Worst(case.name, judged, worst, where, "; ".join(peers))


def _worst(case: Case, found: Any, exact: list[Any]) -> tuple[float, int, int]:
    """The largest error in units of the last place, its index, and the number of values that are judged."""
    worst, place, judged = 0.0, 0, 0
    for k, (ours, right) in enumerate(zip(np.asarray(found, dtype=float).tolist(), exact, strict=True)):
        if not case.absolute and not SMALLEST < abs(right) < mp.mpf(1.7e308):
            continue
        judged += 1
        unit = mp.mpf(2) ** -53 if case.absolute else mp.mpf(math.ulp(float(abs(right))))
        error = float(abs(mp.mpf(ours) - right) / unit) if math.isfinite(ours) else math.inf
        if error > worst:
            worst, place = error, k
    return worst, place, judged


def _shown(error: float) -> str:
    return "all digits" if error > 1e15 else f"{error:.3g}"


def read() -> dict[str, float]:
    """The worst errors that were measured last."""
    with (HERE / "worst_errors.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: float(row["worst"]) for row in csv.DictReader(file)}


EXAMPLE = """\
For example, the mean of an absolute error at a residual of 0 is the root of 2/pi, and the last digit is off by one unit:

```python
>>> import math
>>> import scorebars as sb
>>> found, exact = sb.mean_absolute_error([0.0], [0.0], yerr=1.0).expected, math.sqrt(2 / math.pi)
>>> abs(found - exact) / math.ulp(exact)
1.0

```
"""


def page(rows: list[Worst]) -> str:
    """The table for the docs."""
    lines = [
        "# How exact the closed forms are",
        "",
        "Closed forms and distributions against [mpmath](https://mpmath.org), z = residual / error from 0 to 40, errors from 1e-100 to",
        "1e100. Errors are in units of the last place (ulp: 1 means that the last binary digit is wrong); of probabilities,",
        "which are found by integration, in units of 2^-53 = 1.1e-16 of 1. `make accuracy` measures it again, and a test fails when a",
        "digit is lost. Values below 2.3e-308, where doubles have fewer digits, are not judged.",
        "",
        "The last column has the errors of other packages on the same grid. gx2 takes a series where label errors are of similar size, with",
        "all digits, and an integral with a tolerance of its own elsewhere. momentchi2 matches the first moments: a fast approximation.",
        "",
        EXAMPLE,
        "| function | points | worst error | where | others on the same grid |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.name.replace('|', chr(92) + '|')} | {row.points} | {_shown(row.worst)} | {row.where} | {row.peers or '-'} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure everything."""
    rows = []
    for case in cases():
        rows.append(measured(case))
        print(*rows[-1], sep="  ", flush=True)
    with (HERE / "worst_errors.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Worst._fields)
        writer.writerows([row.name, row.points, f"{row.worst:.4g}", row.where, row.peers] for row in rows)
    PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
