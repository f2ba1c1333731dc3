"""Errors that are not normal: mean and variance of |x - c| and (x - c)^2 for one label x and a prediction c.

By quadrature of the density (in log x for the lognormal, in an angle for Student's t), or by direct sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
from high_precision import REACH, Case, Function, Real, exact, integrate, mean_of_independent, normal_pdf, pieces, total

Expectation = Callable[[Function], Real]


def four_moments(expectation: Expectation, c: Real) -> dict[str, Real]:
    mean_abs = expectation(lambda x: abs(x - c))
    mean_sq = expectation(lambda x: (x - c) ** 2)
    return {
        "mean_abs": mean_abs,
        "mean_sq": mean_sq,
        "var_abs": expectation(lambda x: (abs(x - c) - mean_abs) ** 2),
        "var_sq": expectation(lambda x: ((x - c) ** 2 - mean_sq) ** 2),
    }


def over_density(density: Function, low: Real, high: Real, kinks: list[Real], width: Real) -> Expectation:
    cuts = pieces(low, high, kinks, width)
    return lambda function: integrate(lambda x: function(x) * density(x), cuts)


def uniform(inputs: dict[str, Any], c: Real) -> Expectation:
    centre, w = exact(inputs["center"]), exact(inputs["half_width"])
    return over_density(lambda x: 1 / (2 * w), centre - w, centre + w, [c], w)


def triangular(inputs: dict[str, Any], c: Real) -> Expectation:
    centre, w = exact(inputs["center"]), exact(inputs["half_width"])
    return over_density(lambda x: (w - abs(x - centre)) / w**2, centre - w, centre + w, [c, centre], w)


def laplace(inputs: dict[str, Any], c: Real) -> Expectation:
    centre, b = exact(inputs["center"]), exact(inputs["scale"])
    density = lambda x: mp.exp(-abs(x - centre) / b) / (2 * b)  # noqa: E731
    return over_density(density, centre - 150 * b, centre + 150 * b, [c, centre], 12 * b)


def split_normal(inputs: dict[str, Any], c: Real) -> Expectation:
    mode, left, right = (exact(inputs[key]) for key in ("mode", "sigma_left", "sigma_right"))

    def density(x: Real) -> Real:
        side = left if x < mode else right
        return 2 * normal_pdf((x - mode) / side) / (left + right)

    # A side of zero width carries no probability, but it must not be divided by.
    low, high = mode - REACH * left, mode + REACH * right
    return over_density(density, low, high, [c, mode], 4 * max(left, right))


def lognormal(inputs: dict[str, Any], c: Real) -> Expectation:
    centre, s = mp.log(exact(inputs["median"])), exact(inputs["sigma_log"])
    kinks = [mp.log(c)] if c > 0 else []
    # x^4 moves the weight by 4 s^2 in log x.
    cuts = pieces(centre - REACH * s, centre + REACH * s + 4 * s**2, kinks, 3 * s)
    return lambda f: integrate(lambda u: f(mp.exp(u)) * normal_pdf((u - centre) / s) / s, cuts)


def student_t(inputs: dict[str, Any], c: Real) -> Expectation:
    """x = centre +- scale sqrt(df) cot(b), 0 < b < pi/2, turns the density into a power of the sine.

    Both tails meet at b = 0, where the sine keeps its relative precision.
    """
    nu, centre, scale = (exact(inputs[key]) for key in ("df", "center", "scale"))
    stretch = scale * mp.sqrt(nu)
    norm = mp.gamma((nu + 1) / 2) / (mp.sqrt(mp.pi) * mp.gamma(nu / 2))
    kinks = [mp.acot(abs(c - centre) / stretch)] if c != centre else []
    cuts = pieces(mp.mpf(0), mp.pi / 2, kinks, mp.pi / 4)

    def both(f: Function, b: Real) -> Real:
        x = stretch * mp.cot(b)
        return (f(centre + x) + f(centre - x)) * norm * mp.sin(b) ** (nu - 1)

    return lambda f: integrate(lambda b: both(f, b), cuts)


def poisson(inputs: dict[str, Any], c: Real) -> Expectation:
    mean = exact(inputs["mean"])

    def expectation(function: Function) -> Real:
        chance, terms = mp.exp(-mean), []
        for k in range(int(mean + 40 * mp.sqrt(mean)) + 120):
            terms.append(function(mp.mpf(k)) * chance)
            chance *= mean / (k + 1)
        return total(terms)

    return expectation


def empirical(inputs: dict[str, Any], c: Real) -> Expectation:
    values = exact(inputs["values"])
    return lambda function: total(function(x) for x in values) / len(values)


FAMILIES = {
    "uniform": uniform,
    "triangular": triangular,
    "laplace": laplace,
    "split_normal": split_normal,
    "lognormal": lognormal,
    "student_t": student_t,
    "poisson": poisson,
    "empirical": empirical,
}


def family(inputs: dict[str, Any]) -> dict[str, Any]:
    c = exact(inputs["c"])
    return four_moments(FAMILIES[inputs["family"]](inputs, c), c)


def split_normal_scores(inputs: dict[str, Any]) -> dict[str, Any]:
    """MSE and MAE of labels with a lower and an upper error, the label being the mode."""
    rows = []
    for y, p, low, high in zip(*(inputs[key] for key in ("y", "y_pred", "lower", "upper")), strict=True):
        rows.append(four_moments(split_normal({"mode": y, "sigma_left": low, "sigma_right": high}, exact(p)), exact(p)))
    return {
        "mse": mean_of_independent([(row["mean_sq"], row["var_sq"]) for row in rows]),
        "mae": mean_of_independent([(row["mean_abs"], row["var_abs"]) for row in rows]),
    }


DENSITY = "quadrature of the density"


def _family(id: str, digits: int, method: str, **inputs: Any) -> Case:
    return Case(id, "family", inputs, family, method, digits=digits)


def _uniform(c: float) -> Case:
    return _family(f"uniform_c{c}", 32, DENSITY, family="uniform", center=0.0, half_width=1.25, c=c)


def _triangular(c: float) -> Case:
    return _family(f"triangular_c{c}", 32, DENSITY, family="triangular", center=0.0, half_width=1.25, c=c)


def _laplace(c: float) -> Case:
    return _family(f"laplace_c{c}", 32, DENSITY, family="laplace", center=0.0, scale=0.75, c=c)


def _split_normal(c: float, left: float = 0.375, right: float = 1.125, suffix: str = "") -> Case:
    return _family(
        f"split_normal_c{c}{suffix}",
        32,
        DENSITY,
        family="split_normal",
        mode=0.0,
        sigma_left=left,
        sigma_right=right,
        c=c,
    )


def _lognormal(c: float, median: float = 1.5, sigma: float = 0.25, suffix: str = "") -> Case:
    return _family(
        f"lognormal_c{c}{suffix}", 40, "quadrature in log x", family="lognormal", median=median, sigma_log=sigma, c=c
    )


def _student(df: float, c: float) -> Case:
    return _family(
        f"student_nu{df}_c{c}",
        24,
        "quadrature after x=s sqrt(nu) tan a",
        family="student_t",
        df=df,
        center=0.0,
        scale=0.5,
        c=c,
    )


def _poisson(id: str, mean: float, c: float) -> Case:
    return _family(id, 40, "direct sum", family="poisson", mean=mean, c=c)


CASES = [
    _uniform(0.25),
    _triangular(0.25),
    _laplace(0.25),
    _split_normal(0.25),
    _uniform(-1.5),
    _laplace(-1.5),
    _lognormal(1.75),
    _student(9.0, 0.75),
    _poisson("poisson_mu4.25", 4.25, 3.5),
    _poisson("poisson_mu0.5", 0.5, 2.0),
    _family(
        "empirical_repeats",
        40,
        "direct average over the repeats (population weights 1/n)",
        family="empirical",
        values=[1.0, 1.5, 0.75, 2.0],
        c=1.25,
    ),
    _uniform(1.25),
    _triangular(-0.9),
    _triangular(2.0),
    _laplace(0.0),
    _split_normal(-0.6),
    _split_normal(2.0, 1.2, 0.1, "_steep"),
    _split_normal(0.3, 0.0, 0.5, "_one_sided"),
    _lognormal(-0.5),
    _lognormal(0.2, 0.4, 1.1, "_wide"),
    _student(5.5, -0.4),
    _student(30.0, 0.0),
    _poisson("poisson_mu4.25_c6", 4.25, 6.0),
    _poisson("poisson_mu120.5", 120.5, 117.25),
    _poisson("poisson_mu0.05_c-1", 0.05, -1.0),
    Case(
        "split_normal_M3",
        "split_normal_scores",
        {
            "y": [0.5, -1.0, 2.0],
            "y_pred": [0.1, -1.4, 2.6],
            "lower": [0.3, 0.2, 0.6],
            "upper": [0.5, 0.9, 0.15],
        },
        split_normal_scores,
        DENSITY,
        digits=36,
        note="the label is the mode; lower and upper are the two half widths",
    ),
]
