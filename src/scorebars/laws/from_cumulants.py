"""Distributions of metrics of very many labels, from six cumulants that are sums over the labels.

A mean over many labels is nearly normal, and its cumulants k1 ... k6 say how far it is from that. With X the value in
standard deviations from its mean, lr = kr / k2^(r/2) and

    K(t) = t^2/2 + l3 t^3/3! + l4 t^4/4! + l5 t^5/5! + l6 t^6/6!,

the distribution of X weighted by exp(tX), t the saddlepoint K'(t) = x, has its mean at x. Expanded there in Hermite
polynomials (the tilted Edgeworth series) it gives

    P(X > x) = exp(K - t x) sum_k a_k int_0^inf exp(-t s y) He_k(y) phi(y) dy,      s^2 = K''(t),

where sum a_k u^k = exp(L3 u^3/3! + ... + L6 u^6/6!) with Lr = K^(r)(t) / s^r. Both tails keep their relative accuracy. What
is left out begins with l7: a bound of it is the stated `error` of a distribution function, and where that is above 1e-9
nobody uses these laws. A mean of squares of like labels comes to that at about 10,000 labels.

Cumulants, from the rows of `engines.sums.HIGHER`:

    squared error     kr = 2^(r-1) (r-1)! sum (w s^2)^r (1 + r d^2/s^2)
    absolute error    kr = sum (w s)^r kr(|Z + z|), z = |d|/s
    R2 and its kin    P(value <= x) = P(N <= 0) with N = M - x D, a quadratic form of all labels, whose cumulants are
                      polynomials in x

References: H. E. Daniels, Ann. Math. Statist. 25 (1954) 631; J. E. Kolassa, Series Approximation Methods in Statistics.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.special import erfcx, ndtri

from scorebars.engines.sums import ORDERS, HigherSums
from scorebars.laws.contour import InvertedLaw
from scorebars.laws.law import Law, LawWithRoot

ACCURATE = 1e-9
"""These laws serve where their probabilities err by less."""
_SEVENTH = 4.3 / 5040.0
"""(1/7!) max |t^6 phi(t)|: what l7 = 1 would add to a probability."""
_CROSSED = 0.2
"""What l3^7 = 1 would add: it is the largest of the products that the series leaves out."""
_FOLDED_SEVENTH = 1.84
"""No z gives |Z + z| a larger seventh cumulant; that at z = 1.363 is 1.8355."""
_HALF_NORMAL = 0.21801361414499026, 0.11477068205421864, -0.004437688462617495, -0.15265853384165795
"""Cumulants 3 to 6 of |Z|."""
_FARTHEST = 38.0
"""Standard deviations beyond which a normal tail is no double."""
_SHORT, _LONG = 9, 18
"""Terms of the series, and what l3 allows the short one."""
_SHORT_UP_TO = 1e-3
_SHARP = 0.1
"""Of 1 - R2: a ratio that scatters by more is not nearly linear in its sums."""
_NORMAL_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_NORMAL_WEIGHTS: list[float] = (_WEIGHTS / np.sum(_WEIGHTS)).tolist()
_PHI = 1.0 / math.sqrt(2.0 * math.pi)
_AT_ZERO = [0.0] * (_LONG + 1)
"""He_k(0)"""
for _k in range(0, _LONG + 1, 2):
    _AT_ZERO[_k] = -(_k - 1) * _AT_ZERO[_k - 2] if _k else 1.0


class Cumulants:
    """Tails and density of a value in standard deviations from its mean, from l3 to l6 and a bound of |l7|."""

    def __init__(self, l3: float, l4: float, l5: float, l6: float, seventh: float) -> None:
        self._known = l3, l4, l5, l6
        self.error = 2.0 * _SEVENTH * seventh + _CROSSED * abs(l3) ** 7
        self._terms = _SHORT if abs(l3) < _SHORT_UP_TO else _LONG
        # beyond, the series of K is not good enough even for tails that are smaller than any error
        self.reach = min(_FARTHEST, 0.5 / (abs(l3) + 1e-9), (504.0 / (seventh + 1e-30)) ** (1.0 / 7.0))

    def place(self, t: float) -> tuple[float, float]:
        """K'(t) and K''(t)."""
        l3, l4, l5, l6 = self._known
        slope = t * (1.0 + t * (l3 / 2.0 + t * (l4 / 6.0 + t * (l5 / 24.0 + t * l6 / 120.0))))
        return slope, 1.0 + t * (l3 + t * (l4 / 2.0 + t * (l5 / 6.0 + t * l6 / 24.0)))

    def saddlepoint(self, x: float) -> float | None:
        """t with K'(t) = x by Newton's method; None where that is out of reach."""
        t = x
        for _ in range(50):
            slope, curvature = self.place(t)
            step = (slope - x) / max(curvature, 0.2)
            t -= step
            if abs(t) > self.reach:
                return None
            if abs(step) < 1e-13 * (1.0 + abs(t)):
                break
        return t

    def tail(self, t: float) -> tuple[float, float]:
        """P(X > K'(t)) for t >= 0, P(X <= K'(t)) for t < 0, and the density there."""
        l3, l4, l5, l6 = self._known
        x, curvature = self.place(t)
        k = t * t * (0.5 + t * (l3 / 6.0 + t * (l4 / 24.0 + t * (l5 / 120.0 + t * l6 / 720.0))))
        s = math.sqrt(curvature)
        side, zeta, cube = 1.0 if t >= 0 else -1.0, abs(t) * s, curvature * s
        third = side * (l3 + t * (l4 + t * (l5 / 2.0 + t * l6 / 6.0))) / (2.0 * cube)
        fourth = (l4 + t * (l5 + t * l6 / 2.0)) / (6.0 * cube * s)
        fifth, sixth = side * (l5 + t * l6) / (24.0 * cube * curvature), l6 / (120.0 * cube * cube)
        a = [1.0, 0.0, 0.0, third / 3.0, fourth / 4.0, fifth / 5.0]
        part = 0.5 * float(erfcx(zeta * math.sqrt(0.5)))
        total, density = part, 1.0
        for n in range(1, self._terms + 1):
            if n > 5:
                a.append((third * a[n - 3] + fourth * a[n - 4] + fifth * a[n - 5] + sixth * a[n - 6]) / n)
            part = _PHI * _AT_ZERO[n - 1] - zeta * part
            total += a[n] * part
            density += a[n] * _AT_ZERO[n]
        size = math.exp(min(k - t * x, 0.0))
        return min(max(size * total, 0.0), 1.0), max(size * density * _PHI / s, 0.0)

    def probabilities(self, x: float) -> tuple[float, float, float]:
        """P(X <= x), P(X > x) and the density."""
        t = self.saddlepoint(x)
        if t is None:
            return (1.0, 0.0, 0.0) if x > 0 else (0.0, 1.0, 0.0)
        tail, density = self.tail(t)
        return (1.0 - tail, tail, density) if t >= 0 else (tail, 1.0 - tail, density)

    def quantile(self, q: float) -> float:
        """x with P(X <= x) = q, by Newton's method on the saddlepoint, to which x = K'(t) belongs."""
        t = float(ndtri(q))
        for _ in range(50):
            t = min(max(t, -self.reach), self.reach)
            tail, density = self.tail(t)
            aim = 1.0 - q if t >= 0 else q
            if not tail > 0:
                break
            miss = (math.log(tail / aim) * tail) if min(tail, aim) < 0.1 else tail - aim
            step = (miss if t >= 0 else -miss) / (density * self.place(t)[1])
            t += step
            if abs(step) < 1e-9 * (1.0 + abs(t)):
                break  # the next step is the square of this one
        return self.place(min(max(t, -self.reach), self.reach))[0]


class CumulantLaw(InvertedLaw, LawWithRoot):
    """Distribution of a mean loss over very many labels, which cannot be below 0."""

    method = "saddlepoint"
    support = (0.0, math.inf)

    def __init__(self, mean: float, variance: float, shape: Cumulants) -> None:
        self._moments, self._shape = (mean, variance), shape
        self._scale = math.sqrt(variance)
        self.error = shape.error
        """By how much probabilities may err."""

    def _probabilities(self, x: float) -> tuple[float, float, float]:
        under, over, density = self._shape.probabilities((x - self._moments[0]) / self._scale)
        return under, over, density / self._scale

    def _ppf(self, q: float) -> float:
        return max(self._moments[0] + self._scale * self._shape.quantile(q), 0.0)

    def root_deficit(self) -> float:
        """With e = Q / E Q - 1, sqrt(E Q) times 1 - E (1 + e)^(1/2), a series in the central moments of e."""
        mean, variance = self._moments
        relative = math.sqrt(variance) / mean
        kappa = [0.0, 0.0, 1.0, *self._shape._known, 0.0, 0.0]
        moments, term, lost = [1.0], 1.0, 0.0
        for r in range(1, 9):
            moments.append(sum(math.comb(r - 1, j - 1) * kappa[j] * moments[r - j] for j in range(1, r + 1)))
            term *= (1.5 - r) / r * relative
            lost -= term * moments[r]
        return math.sqrt(mean) * lost


def squared_law_of_cumulants(of: HigherSums, perfect: bool = False) -> CumulantLaw | None:
    """Distribution of the mean squared error, or of that of a perfect model; None where cumulants are not enough."""
    s, misses = of.sums, 0.0 if perfect else 1.0
    mean, variance = s.var + misses * s.sq, 2.0 * s.var2_w2 + 4.0 * misses * s.sqvar_w2
    higher = [
        _of_squares(r) * (own + misses * r * offset) for r, (own, offset) in zip(ORDERS, of.by_order(), strict=True)
    ]
    return _law(of, mean, variance, higher, 14.0 * s.max_weight * s.max_sigma**2 * higher[-1], 2)


def absolute_law_of_cumulants(of: HigherSums, perfect: bool = False) -> CumulantLaw | None:
    """Distribution of the mean absolute error, or of that of a perfect model; None where cumulants are not enough."""
    s, (mean, variance) = of.sums, (of.sums.abs + of.sums.fold, of.sums.foldvar_w2)
    higher = [folded for _, folded in of.by_order()]
    if perfect:
        mean, variance = math.sqrt(2.0 / math.pi) * of.rows[-1], (1.0 - 2.0 / math.pi) * s.var_w2
        higher = [k * own for k, (own, _) in zip(_HALF_NORMAL, of.by_order(), strict=True)]
    return _law(of, mean, variance, higher, _FOLDED_SEVENTH * (s.max_weight * s.max_sigma) * of.by_order()[-1][0], 1)


def _law(
    of: HigherSums, mean: float, variance: float, higher: Sequence[float], seventh: float, degree: int
) -> CumulantLaw | None:
    """Cumulants of a sum over labels as the law of the mean, in the unit of the labels."""
    if not variance > 0:
        return None
    shape = _standardised(variance, higher, seventh)
    if not shape.error <= ACCURATE:
        return None
    size = math.ldexp(1.0, degree * of.power) / of.sums.w
    return CumulantLaw(mean * size, variance * size * size, shape)


def _standardised(variance: float, higher: Sequence[float], seventh: float) -> Cumulants:
    std = math.sqrt(variance)
    third, fourth, fifth, sixth = (k / std**r for r, k in zip(ORDERS, higher, strict=True))
    return Cumulants(third, fourth, fifth, sixth, seventh / std**7)


def _of_squares(r: int) -> float:
    """2^(r-1) (r-1)!"""
    return float(2 ** (r - 1) * math.factorial(r - 1))


_SQUARES = tuple(_of_squares(r) for r in range(2, 7))


class CumulantRatio(Law):
    """Distribution of R2, or with `centred` of the explained variance, of very many labels.

    With c and d the labels and differences about their means (d as it is for R2), u = w s and W the sum of weights,

        N = M - x D = (1 - x) sum w (c + s Z)^2 - sum w (d - s Z)^2 + g (u . Z)^2,   g = -(1 - x)/W, centred: x/W,

    is a quadratic form Z'BZ + 2 Z'(u e) + const with B = -x diag(w s^2) + g u u' and e = (1 - x) c + d, and its cumulants
    are 2^(r-1) (r-1)! tr B^r + 2^(r-1) r! (u e)' B^(r-2) (u e). In traces g counts to first order: it is one direction
    among very many.
    """

    method = "saddlepoint"
    support = (-math.inf, 1.0)

    def __init__(self, of: HigherSums, centred: bool) -> None:
        s = of.sums
        at_c, at_d = s.y1 / s.w, s.d / s.w if centred else 0.0
        self._centred, self._weight = centred, s.w
        self._seen = s.y2 - at_c * s.y1, s.sq - at_d * s.d, s.var
        second = (s.var2_w2, s.sqvar_w2, s.var_w2, s.d_var_w2, s.y_var_w2, s.y_d_var_w2, s.y2_var_w2)
        self._orders = [_about_means(row, at_c, at_d) for row in (second, *of.by_order())]
        self._largest = s.max_weight * s.max_sigma**2
        total, lost, noise = self._seen
        about_mean = noise - s.var_w2 / s.w
        self._scatter = total + about_mean  # the mean of D
        self._middle = 1.0 - (lost + (about_mean if centred else noise)) / self._scatter
        _, self._unit, shape = self._of_form(self._middle)
        self.error, self._reach = shape.error, shape.reach
        """By how much probabilities may err."""

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """By Gauss' rule for normal numbers: as a function of these the quantiles are nearly straight."""
        x = [self._at_normal(z) for z in _NORMAL_NODES.tolist()]
        mean = self._middle + math.fsum(w * (v - self._middle) for w, v in zip(_NORMAL_WEIGHTS, x, strict=True))
        return mean, math.fsum(w * (v - mean) ** 2 for w, v in zip(_NORMAL_WEIGHTS, x, strict=True))

    def _of_form(self, x: float) -> tuple[float, float, Cumulants]:
        """Where 0 lies in standard deviations of N from its mean, about the std of the value, and the cumulants of N."""
        a, left = -x, 1.0 - x
        g = (x if self._centred else -left) / self._weight
        total, lost, noise = self._seen
        own, plain, v, w = zip(*((o, p, left * c + d, left * (left * cc + 2.0 * cd) + dd)
                                 for o, dd, p, d, c, cd, cc in self._orders), strict=True)  # fmt: skip
        mean = left * total - lost + a * noise + g * plain[0]
        # B u e = a D u e + one u and B^2 u e = a^2 D^2 u e + a one D u + two u, with D = diag(w s^2)
        one = g * v[0]
        two = g * (a * v[1] + one * plain[0])
        a2 = a * a
        forms = (
            w[0],
            a * w[1] + one * v[0],
            a2 * w[2] + one * (2.0 * a * v[1] + one * plain[0]),
            a2 * (a * w[3] + 2.0 * one * v[2]) + a * (two * v[1] + one * one * plain[1]) + one * two * plain[0],
            a2 * (a2 * w[4] + 2.0 * (a * one * v[3] + two * v[2]) + one * one * plain[2])
            + two * (2.0 * a * one * plain[1] + two * plain[0]),
        )
        q, q1 = g * plain[0], a * g * plain[1]
        more = (
            q * q,
            q * (3.0 * q1 + q * q),
            q * (4.0 * a2 * g * plain[2] + q * (4.0 * q1 + q * q)) + 2.0 * q1 * q1,
            0.0,
            0.0,
        )
        ahead, higher = a, []
        for i, form in enumerate(forms):
            trace = ahead * (a * own[i] + ((i + 2) * g * plain[i + 1] if i < 4 else 0.0)) + more[i]
            higher.append(_SQUARES[i] * (trace + (i + 2) * form))
            ahead *= a
        variance = higher.pop(0)
        std, largest = math.sqrt(variance), abs(x) * self._largest + abs(g) * plain[0]
        shape = _standardised(variance, higher, 14.0 * largest * abs(higher[-1]))
        return -mean / std, std / self._scatter, shape

    def _tails(self, x: float) -> tuple[float, float]:
        """P(value <= x) and P(value > x)."""
        place, _, shape = self._of_form(x)
        return shape.probabilities(place)[:2]

    def _cdf(self, x: float) -> float:
        return self._tails(x)[0]

    def _sf(self, x: float) -> float:
        return self._tails(x)[1]

    def _ppf(self, q: float) -> float:
        return self._at_normal(float(ndtri(q)))

    def _at_normal(self, z: float) -> float:
        """The quantile that a normal number has at z: by secants, since one is nearly linear in the other."""
        middle, std, most = self._middle, self._unit, 0.5 * self._reach
        aim = min(max(z, -most), most)
        x, slope, before = min(middle + aim * std, 0.5 * (1.0 + middle)), 1.0 / std, (math.nan, math.nan)
        for _ in range(40):
            lower, upper = self._tails(x)
            miss = (float(ndtri(lower)) if lower < 0.5 else -float(ndtri(upper))) - aim
            if math.isfinite(before[0]) and x != before[0] and miss != before[1]:
                slope = (miss - before[1]) / (x - before[0])
            before, step = (x, miss), -miss / slope
            x = min(x + step, 0.5 * (1.0 + x))
            if abs(step) < 1e-9 * std:
                break
        return x


def _about_means(row: Sequence[float], at_c: float, at_d: float) -> tuple[float, ...]:
    """Sums of one order with c and d counted from elsewhere: own, d2, one, d, c, cd, c2."""
    own, dd, one, d, c, cd, cc = row
    c_moved = c - at_c * one
    return (
        own,
        dd - at_d * (2.0 * d - at_d * one),
        one,
        d - at_d * one,
        c_moved,
        cd - at_c * d - at_d * c_moved,
        cc - at_c * (c + c_moved),
    )


def explained_law(of: HigherSums, centred: bool) -> CumulantRatio | None:
    """Distribution of R2 or, with `centred`, of the explained variance; None where cumulants are not enough."""
    sums = of.sums
    if not (sums.y2 - sums.y1 * sums.y1 / sums.w > 0 and sums.var2_w2 > 0):
        return None
    law = CumulantRatio(of, centred)
    return law if law.error <= ACCURATE and law._unit < _SHARP * (1.0 - law._middle) else None
