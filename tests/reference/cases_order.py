"""Metrics of order: largest and median absolute error, Kendall's and Spearman's rank correlation.

Order statistics: quadrature of survival functions, the counts enumerated. Rank correlations: enumeration of the orders
of three labels, each probability one quadrature; for four labels the products of signs, pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations, combinations_with_replacement, permutations, product
from typing import Any

import mpmath as mp
from cases_losses import THREE, count_law
from cases_squares import differences
from high_precision import REACH, Case, Real, exact, integrate, normal_cdf, normal_pdf, pieces, sign, total

# ------------------------------------------------------------------------------------------------ order statistics


def folded_probability(x: Real, delta: Real, sigma: Real) -> Real:
    """P(|delta + sigma Z| <= x)."""
    if sigma == 0:
        return mp.mpf(abs(delta) <= x)
    return normal_cdf((x - delta) / sigma) - normal_cdf((-x - delta) / sigma)


class AbsoluteErrors:
    """Independent |delta_i + sigma_i Z_i| and their order statistics."""

    def __init__(self, inputs: dict[str, Any]) -> None:
        self.delta, self.sigma = differences(inputs), exact(inputs["sigma"])
        self.size = len(self.delta)
        self.top = max(abs(d) + 12 * s for d, s in zip(self.delta, self.sigma, strict=True))
        self.width = min(s for s in self.sigma if s > 0)
        self.fixed = [abs(d) for d, s in zip(self.delta, self.sigma, strict=True) if s == 0]

    def below(self, x: Real) -> list[Real]:
        return [folded_probability(x, d, s) for d, s in zip(self.delta, self.sigma, strict=True)]

    def cdf(self, rank: int, x: Real) -> Real:
        """P(the rank-th smallest <= x): at least `rank` of them below."""
        return total(count_law(self.below(x))[rank:])

    def cuts(self) -> list[Real]:
        return pieces(mp.mpf(0), self.top, self.fixed, 2 * self.width)

    def moment(self, rank: int, power: int) -> Real:
        """E X^p = int p x^(p-1) P(X > x) dx."""
        return integrate(lambda x: power * x ** (power - 1) * (1 - self.cdf(rank, x)), self.cuts())

    def both_above(self, rank: int, below_low: list[Real], below_high: list[Real]) -> Real:
        """P(X_(rank) > low and X_(rank+1) > high): at most rank-1 below low, at most rank below high >= low."""
        chances = [(a, b - a, 1 - b) for a, b in zip(below_low, below_high, strict=True)]
        table = {(0, 0): mp.mpf(1)}
        for first, middle, last in chances:
            grown: dict[tuple[int, int], Real] = {}
            for (i, j), chance in table.items():
                for key, factor in (((i + 1, j), first), ((i, j + 1), middle), ((i, j), last)):
                    if key[0] < rank and sum(key) <= rank:
                        grown[key] = grown.get(key, 0) + chance * factor
            table = grown
        return total(table.values())

    def product_of_neighbours(self, rank: int) -> Real:
        """E X_(rank) X_(rank+1) = E X_(rank)^2 / 2 + int int_{s < t} P(X_(rank) > s, X_(rank+1) > t) ds dt.

        Gauss-Legendre panel by panel; a panel on the diagonal is a triangle, mapped to a square.
        """
        with mp.workdps(36):
            count = int(mp.ceil(self.top / (3 * self.width)))
            side = self.top / count
            rule = [(side * (1 + x) / 2, side * w / 2) for x, w in gauss_legendre(36)]
            panels = [[(k * side + u, w, self.below(k * side + u)) for u, w in rule] for k in range(count)]
            parts = []
            for k, panel in enumerate(panels):
                for (s, ws, below_s), (u, wu) in product(panel, rule):
                    # t runs from s to the end of its panel.
                    length = (k + 1) * side - s
                    t = s + length * u / side
                    parts.append(ws * wu * length / side * self.both_above(rank, below_s, self.below(t)))
                for other in panels[k + 1 :]:
                    for (_, ws, below_s), (_, wt, below_t) in product(panel, other):
                        parts.append(ws * wt * self.both_above(rank, below_s, below_t))
            double = total(parts)
        return self.moment(rank, 2) / 2 + double


def gauss_legendre(n: int) -> list[tuple[Real, Real]]:
    """Nodes and weights on [-1, 1]: Newton steps from the usual first guess."""

    def slope(x: Real) -> Real:
        return n * (x * mp.legendre(n, x) - mp.legendre(n - 1, x)) / (x * x - 1)

    rule = []
    for k in range(1, n + 1):
        x = mp.cos(mp.pi * (k - mp.mpf(1) / 4) / (n + mp.mpf(1) / 2))
        for _ in range(8):
            x -= mp.legendre(n, x) / slope(x)
        rule.append((x, 2 / ((1 - x * x) * slope(x) ** 2)))
    if abs(total(w for _, w in rule) - 2) > mp.mpf(10) ** -30:
        raise ArithmeticError("a Gauss-Legendre node was found twice")
    return rule


def max_error(inputs: dict[str, Any], cdf: list[float]) -> dict[str, Any]:
    return single_rank(AbsoluteErrors(inputs), len(inputs["y"]), cdf)


def single_rank(errors: AbsoluteErrors, rank: int, cdf: list[float]) -> dict[str, Any]:
    mean = errors.moment(rank, 1)
    return {
        "mean": mean,
        "var": errors.moment(rank, 2) - mean**2,
        "cdf": [{"x": x, "p": errors.cdf(rank, exact(x))} for x in cdf],
    }


def median_error(inputs: dict[str, Any], cdf: list[float]) -> dict[str, Any]:
    errors = AbsoluteErrors(inputs)
    half = errors.size // 2
    if errors.size % 2:
        return single_rank(errors, half + 1, cdf)
    mean = (errors.moment(half, 1) + errors.moment(half + 1, 1)) / 2
    square = (errors.moment(half, 2) + errors.moment(half + 1, 2)) / 4 + errors.product_of_neighbours(half) / 2
    return {
        "mean": mean,
        "var": square - mean**2,
        "cdf": [{"x": x, "p": even_median_cdf(errors, half, exact(x))} for x in cdf],
    }


def even_median_cdf(errors: AbsoluteErrors, half: int, x: Real) -> Real:
    """P((X_(k) + X_(k+1))/2 <= x): the lower of the two is item i at t, the upper is at most 2x - t."""

    def density(t: Real, i: int) -> Real:
        d, s = errors.delta[i], errors.sigma[i]
        return (normal_pdf((t - d) / s) + normal_pdf((t + d) / s)) / s

    def integrand(t: Real) -> Real:
        under, over = errors.below(t), errors.below(2 * x - t)
        found = []
        for i in range(errors.size):
            others = [j for j in range(errors.size) if j != i]
            for low in combinations(others, half - 1):
                rest = [j for j in others if j not in low]
                # The smallest of the rest lies above t; not all of them lie above 2x - t.
                reach = mp.fprod(1 - under[j] for j in rest) - mp.fprod(1 - over[j] for j in rest)
                found.append(density(t, i) * mp.fprod(under[j] for j in low) * reach)
        return total(found)

    return integrate(integrand, pieces(mp.mpf(0), x, [], errors.width))


# ------------------------------------------------------------------------------------------------ rank correlation


def ranks(values: list[Real]) -> list[int]:
    """1 for the smallest; no ties."""
    return [1 + sum(other < value for other in values) for value in values]


def spearman_of(a: list[int], b: list[int]) -> Real:
    size = len(a)
    squares = sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
    return 1 - mp.mpf(6) * squares / (size * (size**2 - 1))


def kendall_of(a: list[int], b: list[int]) -> Real:
    pairs = list(combinations(range(len(a)), 2))
    return mp.mpf(sum(sign(a[i] - a[j]) * sign(b[i] - b[j]) for i, j in pairs)) / len(pairs)


def three_orders(inputs: dict[str, Any], correlation: Callable[[list[int], list[int]], Real]) -> dict[str, Any]:
    """All six orders of three labels: P(a < b < c) is one integral over the middle one."""
    y, sigma = exact(inputs["y"]), exact(inputs["sigma"])
    predicted = ranks(exact(inputs["y_pred"]))
    chances, values = [], []
    for a, b, c in permutations(range(3)):

        def integrand(x: Real, a: int = a, b: int = b, c: int = c) -> Real:
            density = normal_pdf((x - y[b]) / sigma[b]) / sigma[b]
            return density * normal_cdf((x - y[a]) / sigma[a]) * normal_cdf((y[c] - x) / sigma[c])

        chances.append(integrate(integrand, pieces(y[b] - REACH * sigma[b], y[b] + REACH * sigma[b], [], 3 * sigma[b])))
        order = [0, 0, 0]
        order[a], order[b], order[c] = 1, 2, 3
        values.append(correlation(order, predicted))
    mean = total(p * v for p, v in zip(chances, values, strict=True))
    return {"mean": mean, "var": total(p * (v - mean) ** 2 for p, v in zip(chances, values, strict=True))}


def sign_products(inputs: dict[str, Any], weight: Callable[[int, int, list[int]], Real]) -> dict[str, Any]:
    """Mean and variance of sum over pairs of weight * sgn(y_i - y_j): every product of two signs by quadrature."""
    y, sigma = exact(inputs["y"]), exact(inputs["sigma"])
    predicted = ranks(exact(inputs["y_pred"]))
    size = len(y)

    def expected(x: Real, j: int) -> Real:
        """E sgn(x - y_j)."""
        return 1 - 2 * normal_cdf((y[j] - x) / sigma[j])

    def over(i: int, function: Callable[[Real], Real]) -> Real:
        cuts = pieces(y[i] - REACH * sigma[i], y[i] + REACH * sigma[i], [], 2 * sigma[i])
        return integrate(lambda x: function(x) * normal_pdf((x - y[i]) / sigma[i]) / sigma[i], cuts)

    pairs = list(combinations(range(size), 2))
    weights = {pair: weight(*pair, predicted) for pair in pairs}
    means = {(i, j): over(i, lambda x, j=j: expected(x, j)) for i, j in pairs}
    covariance = []
    for first, second in combinations_with_replacement(pairs, 2):
        common = set(first) & set(second)
        if len(common) == 2:
            value = 1 - means[first] ** 2
        elif len(common) == 1:
            (i,) = common
            (j,), (k,) = set(first) - common, set(second) - common
            orientation = (1 if first[0] == i else -1) * (1 if second[0] == i else -1)
            joint = over(i, lambda x, j=j, k=k: expected(x, j) * expected(x, k))
            value = orientation * joint - means[first] * means[second]
        else:
            value = mp.mpf(0)
        covariance.append((1 if first == second else 2) * weights[first] * weights[second] * value)
    return {"mean": total(weights[pair] * means[pair] for pair in pairs), "var": total(covariance)}


def kendall_weight(i: int, j: int, predicted: list[int]) -> Real:
    size = len(predicted)
    return mp.mpf(2 * sign(predicted[i] - predicted[j])) / (size * (size - 1))


def spearman_weight(i: int, j: int, predicted: list[int]) -> Real:
    """rank_i - (M+1)/2 is half the sum of sgn(y_i - y_j), and rho is a sum of rank times rank."""
    size = len(predicted)
    return mp.mpf(6 * (predicted[i] - predicted[j])) / (size * (size**2 - 1))


RANK3 = {"y": [0.0, 0.5, 1.5], "y_pred": [0.25, 0.0, 2.0], "sigma": [0.5, 1.0, 0.75]}
RANK4 = {"y": [0.3, -0.4, 1.1, 0.9], "y_pred": [0.2, 0.0, 0.8, 1.4], "sigma": [0.5, 0.8, 0.3, 0.6]}
FOUR = {"y": [0.5, -1.25, 3.0, 0.2], "y_pred": [0.0, 0.0, 2.25, 0.1], "sigma": [0.75, 0.5, 1.0, 0.6]}
ORDER_METHOD = "moments by quadrature of the survival function; cdf exact"
EVEN_METHOD = "moments of the two middle order statistics by quadrature of joint survival; cdf by quadrature"

CASES = [
    Case(
        "max_error_M1",
        "max_error",
        {"y": [0.5], "y_pred": [0.0], "sigma": [1.0]},
        partial(max_error, cdf=[0.5, 1.0]),
        ORDER_METHOD,
        digits=28,
    ),
    Case("max_error_M3", "max_error", THREE, partial(max_error, cdf=[1.5, 2.5, 4.0]), ORDER_METHOD, digits=28),
    Case("median_ae_M3", "median_ae", THREE, partial(median_error, cdf=[0.5, 1.0]), ORDER_METHOD, digits=28),
    Case(
        "median_ae_M4",
        "median_ae",
        FOUR,
        partial(median_error, cdf=[0.3, 0.7, 1.2]),
        EVEN_METHOD,
        digits=24,
        note="average of the two middle values",
    ),
    Case("spearman_M3", "spearman", RANK3, partial(three_orders, correlation=spearman_of), "six orderings, quadrature"),
    Case("kendall_M3", "kendall", RANK3, partial(three_orders, correlation=kendall_of), "six orderings, quadrature"),
    Case(
        "spearman_M4",
        "spearman",
        RANK4,
        partial(sign_products, weight=spearman_weight),
        "products of signs pair by pair, quadrature",
    ),
    Case(
        "kendall_M4",
        "kendall",
        RANK4,
        partial(sign_products, weight=kendall_weight),
        "products of signs pair by pair, quadrature",
    ),
]
