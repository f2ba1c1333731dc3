"""Forecasts that are distributions of SciPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import ndtr

from scorebars import checks
from scorebars.arrays import FloatArray
from scorebars.forecasts.forecast import Forecast, check_claims, crps_by_integral
from scorebars.forecasts.tabulated import Distances

_SCORES = np.linspace(-8.2, 8.2, 165)
"""Normal scores of the nodes of a table."""
_BEYOND = 12.0
_BENDS = np.array([-6.0, -2.0, 0.0, 2.0, 6.0])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(3)
_TAIL_NODES, _TAIL_WEIGHTS = np.polynomial.legendre.leggauss(40)


class LawForecast(Forecast):
    r"""A continuous distribution of SciPy for each label.

    Parameters
    ----------
    frozen : frozen distribution of scipy.stats, or a list of them
        Parameters are numbers, or arrays with one entry for each label. A list has one distribution of the same family
        for each label.
    n : int, optional
        Number of labels, where all parameters are single numbers: the same distribution for each.
    claims : {"truth", "label"}
        Whether the forecast speaks of the true value behind the label (the default) or of the label with its error.

    Notes
    -----
    With :math:`q` the quantile function, the CRPS is found from partial means, by Gauss's rule:

    .. math:: E|X - y| - \tfrac12 E|X - X'| = y\,(2F(y) - 1) + \mu - 2\int_0^{F(y)} q(u)\,du - \int_0^1 (2u - 1)\,q(u)\,du ,

    tabulated for each label and read between the nodes to about 1e-10.

    Examples
    --------
    >>> import scorebars as sb
    >>> from scipy import stats
    >>> forecast = sb.LawForecast(stats.gamma([2.0, 3.0], scale=0.5))
    >>> forecast.crps([1.2, 1.5]).round(4).tolist()
    [0.2242, 0.2034]
    """

    per_label = ("_rows",)
    kept = ("mean", "_distances")
    common = ("claims", "unit", "_family")

    def __init__(self, frozen: Any, n: int | None = None, *, claims: str = "truth") -> None:
        self.claims = check_claims(claims)
        laws = list(frozen) if isinstance(frozen, Sequence) else [frozen]
        for k, one in enumerate(laws):
            where = "frozen" if laws is not frozen and len(laws) == 1 else f"frozen[{k}]"
            if not all(hasattr(one, name) for name in ("dist", "args", "kwds")):
                raise ValueError(
                    f"{where} is a {type(one).__name__}, not a frozen distribution of scipy.stats like gamma(2.0)."
                )
            if not hasattr(one.dist, "pdf"):
                raise ValueError(
                    f"{where} is a discrete distribution ({one.dist.name}), which gives single values probability. Draw "
                    "members from it: EnsembleForecast(frozen.rvs((m, n)).T)."
                )
        families = {one.dist.name for one in laws}
        if len(families) > 1:
            raise ValueError(
                f"frozen mixes families ({', '.join(sorted(families))}): give one family, or draws as an EnsembleForecast."
            )
        self._family: Any = laws[0].dist
        rows = [_parameters(one) for one in laws]
        if len(rows) > 1 and any(row.shape[0] > 1 for row in rows):
            raise ValueError(
                "frozen is a list: each distribution in it is of one label, with single numbers as parameters."
            )
        self._rows = np.concatenate(rows)
        if len(self._rows) == 1 and n is not None:
            self._rows = np.repeat(self._rows, n, axis=0)
        checks.require_finite(self._rows, "parameters of frozen")
        hint = f"These are outside what scipy.stats.{self._family.name} allows."
        bad = np.isnan(self.ppf(0.5))
        checks.refuse("frozen", "has parameters without a distribution", bad, self._rows[:, 0], hint)

    def _shown(self) -> str:
        return f"{self._family.name}, <{len(self)} labels>"

    @property
    def frozen(self) -> Any:
        """The distribution of SciPy, with one parameter of each kind for each label."""
        *shapes, loc, scale = self._rows.T
        return self._family(*shapes, loc=loc, scale=scale)

    def joined(self, other: Self) -> Self:
        if self._family.name != other._family.name or self.claims != other.claims:
            raise ValueError(f"{self!r} and {other!r} are forecasts of different kinds: they cannot be joined.")
        return self._changed(_rows=np.concatenate([self._rows, other._rows]))

    def scaled(self, factor: float) -> Self:
        rows = self._rows.copy()
        rows[:, -2:] *= factor
        return self._changed(_rows=rows)

    @cached_property
    def mean(self) -> FloatArray:
        return np.asarray(self.frozen.mean(), dtype=np.float64)

    @cached_property
    def std(self) -> FloatArray:
        return np.asarray(self.frozen.std(), dtype=np.float64)

    def cdf(self, x: FloatArray) -> FloatArray:
        return np.asarray(self.frozen.cdf(x))

    def sf(self, x: FloatArray) -> FloatArray:
        return np.asarray(self.frozen.sf(x))

    def below(self, x: FloatArray) -> FloatArray:
        return self.cdf(x)

    def pdf(self, x: FloatArray) -> FloatArray:
        return np.asarray(self.frozen.pdf(x))

    def ppf(self, q: FloatArray | float) -> FloatArray:
        return np.asarray(self.frozen.ppf(q))

    def knots(self) -> FloatArray:
        """Where a forecast that is narrow beside a label error bends."""
        return self.at_score(np.broadcast_to(_BENDS[:, None], (len(_BENDS), len(self))))

    def log_score(self, y: FloatArray) -> FloatArray:
        return -np.asarray(self.frozen.logpdf(y))

    def at_score(self, z: FloatArray) -> FloatArray:
        """From whichever tail keeps its digits."""
        z, law = np.asarray(z), self.frozen
        return np.where(z < 0, law.ppf(ndtr(np.minimum(z, 0.0))), law.isf(ndtr(-np.maximum(z, 0.0))))

    # mean distances ----------------------------------------------------------------------------

    @property
    def numbers_per_label(self) -> int:
        """Each label costs as much as many numbers."""
        return 64

    def crps(self, y: FloatArray, estimator: str = "plain") -> FloatArray:
        if not np.all(np.isfinite(self.mean)):  # even a distribution without a mean has a CRPS
            return crps_by_integral(self, y)
        return self._distances.crps(y)

    @cached_property
    def _distances(self) -> Distances:
        """Each distribution is tabulated once, however many labels share it."""
        different, place = np.unique(self._rows, axis=0, return_inverse=True)
        if len(different) == len(self):
            return self._tabulated()
        return self._changed(_rows=different)._tabulated()[place.reshape(-1)]

    def _tabulated(self) -> Distances:
        """Partial means up to each node, by Gauss's rule; those beyond the outermost nodes from the mean."""
        law, n = self.frozen, len(self)
        at = np.broadcast_to(_SCORES[:, None], (len(_SCORES), n))
        x = self.at_score(at)
        half = 0.5 * np.diff(_SCORES)[:, None, None]
        z = (0.5 * (_SCORES[1:] + _SCORES[:-1]))[:, None, None] + half * _NODES[:, None]
        q = self.at_score(np.broadcast_to(z, (*z.shape[:2], n)).reshape(-1, n)).reshape(*z.shape[:2], n)
        mass = _WEIGHTS[:, None] * half * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) * q
        lower, upper = self._tail(_SCORES[0] - _BEYOND, _SCORES[0]), self._tail(_SCORES[-1], _SCORES[-1] + _BEYOND)
        with np.errstate(invalid="ignore"):
            below = lower + np.concatenate([np.zeros((1, n)), np.cumsum(mass.sum(axis=1), axis=0)])
            mean = below[-1] + upper
            spread = np.sum((ndtr(z) - ndtr(-z)) * mass, axis=(0, 1)) - lower + upper
            rank = law.cdf(x) - law.sf(x)
            distance = x * rank + mean - 2.0 * below
        nodes, value, slope, bend = (column.T.copy() for column in (x, distance, rank, 2.0 * law.pdf(x)))
        return Distances(nodes, value, slope, bend, mean, spread)

    def _tail(self, low: float, high: float) -> FloatArray:
        """The integral of the quantile function between two far normal scores."""
        half = 0.5 * (high - low)
        z = (low + half + half * _TAIL_NODES)[:, None]
        with np.errstate(under="ignore", invalid="ignore"):
            mass = _TAIL_WEIGHTS[:, None] * half * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
            values = self.at_score(np.broadcast_to(z, (len(_TAIL_NODES), len(self))))
            return np.asarray(np.sum(np.where(np.isfinite(values), mass * values, 0.0), axis=0))


def _parameters(frozen: Any) -> FloatArray:
    """Shapes, location and scale of each label, (n, k)."""
    shapes, loc, scale = frozen.dist._parse_args(*frozen.args, **frozen.kwds)
    columns = np.broadcast_arrays(
        *(np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in (*shapes, loc, scale))
    )
    if columns[0].ndim != 1:
        raise ValueError(
            f"frozen has parameters of shape {columns[0].shape}: give one of each kind for each label, (n,)."
        )
    return np.stack(columns, axis=1)
