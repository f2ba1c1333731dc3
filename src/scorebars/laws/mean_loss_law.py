"""The distribution of a mean loss under any errors: exact where there is a formula, else by quadrature, else drawn.

Labels that err independently: the values of each label's loss and their probabilities (`loss_nodes`) give the characteristic
function of the mean (`fourier`), to about 1e-9. Of very many labels those that matter most are taken one by one, and some
thousand stand for the others: probabilities err by some 1e-5 then.

Drawn, with a fixed seed: labels that share errors, losses of labels and predictions that both err, losses without a
variance, and a label that dominates few others, whose loss may have an edge that waves do not show. There the labels that
dominate the spread are drawn; the many small ones together are normal with their exact mean and variance. A label that
dominates alone is drawn evenly over its distribution: probabilities err by some 1e-4 then.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr, ndtri

from scorebars.arrays import FloatArray
from scorebars.errors.continuous import Continuous
from scorebars.errors.measurement_error import MeasurementError
from scorebars.laws.affine import ScaledLaw
from scorebars.laws.counts.poisson_binomial import PoissonBinomial
from scorebars.laws.counts.weighted_bernoulli import WeightedBernoulliSum
from scorebars.laws.fourier import Addends, FourierLaw, addends, joined
from scorebars.laws.law import Law, NormalLaw
from scorebars.laws.loss_nodes import has_nodes, loss_nodes
from scorebars.laws.samples import SampleLaw, drawn_in_blocks
from scorebars.losses import Covered, IntervalScore, Loss, Within
from scorebars.moments import label_moments
from scorebars.numerics import FIXED_SEED

_DRAWS = 50_000
_FEWEST_DRAWS = 2_000
_DRAWN_LABELS = 256
_ENTRIES = 500_000
"""Labels drawn at once."""
_BUDGET = 50_000_000
"""Labels drawn in all, where many have to be."""
_NEVER = 1e-12
"""Labels that leave the domain of the loss less often than this do not do so in any draw."""
_NODES = 401
"""Values of a forecast's score from which draws are interpolated."""
_OUTERMOST = 6.5
_ALMOST_ONE = 1.0 - 1e-12
_ALL_LISTED = 16_384
"""Up to this many labels the values of each loss are listed."""
_LISTED, _STANDING_IN = 1024, 8192
"""Of more labels: how many that matter most are listed, and how many represent the others."""
_TOGETHER = 1024
"""Labels whose values are listed together."""
_MUCH = 0.02
"""Part of the variance: of labels with more, more values are listed, the more the fewer they are."""
_PIECES = 64
_FEW_STEPS = 16
"""The mean of fewer labels that take single values has steps, which a series of waves does not show."""
_FEW, _DOMINATED = 64, 0.05
"""Up to so many labels one may dominate: where the others have at most this part of the standard deviation."""
_RARE = 1e-3
_QUICK_LOOK = np.array([0.02, 0.16, 0.5, 0.84, 0.98])


def mean_law(
    loss: Loss,
    errors: MeasurementError,
    y: FloatArray,
    p: FloatArray,
    shares: FloatArray,
    mean: float | None = None,
    variance: float | None = None,
) -> Law:
    """Law of sum shares * loss(labels, p) if the labels are redrawn from their error bars around y.

    `mean` and `variance` may be given where they are known. The variance is needed where errors are correlated: only
    then is it not the sum of the labels' own.
    """
    if np.any(shares == 0):
        counts = np.flatnonzero(shares)
        errors, y, p, shares = errors[counts], y[counts], p[counts], shares[counts]
    if isinstance(loss, Within | Covered) and errors.independent:
        chance = label_moments(loss, errors, y, p).mean
        if np.any((chance > 0) & (chance < 1)):
            return _share_within(chance, shares)
        return NormalLaw(float(np.sum(shares * chance)), 0.0)
    if mean is None or variance is None:
        moments = label_moments(loss, errors, y, p)
        mean = float(np.sum(shares * moments.mean))
        variance = float(np.sum(np.square(shares) * moments.variance)) if variance is None else variance
    std = math.sqrt(variance)
    if std == 0:
        return NormalLaw(mean, 0.0)
    if not errors.independent:
        draws = _draws(loss, errors, y, p, shares, _affordable(loss, len(y)), np.random.default_rng(FIXED_SEED))
        return SampleLaw(draws, mean=mean, var=variance)
    if math.isfinite(std) and has_nodes(errors) and not _has_steps(loss, errors, y, p):
        law = _summed(loss, errors, y, p, shares, mean, std)
        if law.affordable and (law.converged or _dominating(loss, errors, y, p, shares) is None):
            return law
    return _drawn(loss, errors, y, p, shares)


def _has_steps(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray) -> bool:
    """Whether the mean takes single values with a probability that shows: few counts, or all labels in their intervals."""
    if isinstance(loss, IntervalScore):
        return float(np.prod(label_moments(Covered(), errors, y, p).mean)) > _RARE
    return errors.discrete and len(y) < _FEW_STEPS


def _summed(
    loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray, shares: FloatArray, mean: float, std: float
) -> FourierLaw:
    """From the values of each label's loss, or of some labels that stand for others."""
    n = len(y)
    if n <= _ALL_LISTED:
        given, lowest = _listed(loss, errors, y, p, shares, std)
        return FourierLaw(mean, std, given, lowest=lowest)
    order = np.argsort(_range_of_losses(loss, errors, y, p, shares))
    most, others = order[-_LISTED:], order[:-_LISTED]
    some = others[((np.arange(_STANDING_IN) + 0.5) * (others.size / _STANDING_IN)).astype(np.intp)]
    given, lowest = _listed(loss, errors[most], y[most], p[most], shares[most], std)
    standing_in, _ = _listed(loss, errors[some], y[some], p[some], shares[some], std)
    cumulants = np.sum(standing_in.cumulants, axis=1) * (others.size / some.size)
    cumulants[2] = max(1.0 - float(np.sum(given.cumulants[2])), 0.0)
    return FourierLaw(mean, std, given, cumulants, lowest)


def _dominating(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray, shares: FloatArray) -> int | None:
    """The label beside which few others hardly scatter; None where there is none, or it has no density."""
    if len(y) > _FEW or errors.discrete or loss.of_forecast or errors.of_labels() is not errors:
        return None
    spread = np.square(shares) * label_moments(loss, errors, y, p).variance
    first = int(np.argmax(spread))
    return first if float(np.sum(np.delete(spread, first))) <= (_DOMINATED**2) * float(spread[first]) else None


def _range_of_losses(
    loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray, shares: FloatArray
) -> FloatArray:
    """How far apart the loss of each label lies at a few quantiles, times its share."""
    out = np.empty(len(y))
    for start in range(0, len(y), _ENTRIES // 10):
        part = slice(start, start + _ENTRIES // 10)
        count = 1 if isinstance(errors, Continuous) else len(y[part])
        at = [errors[part].ppf(y[part], np.full(count, q)) for q in _QUICK_LOOK]
        with np.errstate(all="ignore"):
            out[part] = np.ptp(np.nan_to_num([loss(x, p[part]) for x in at]), axis=0)
    return out * shares


def _listed(
    loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray, shares: FloatArray, std: float
) -> tuple[Addends, float]:
    """`_values`, with more of them for labels that matter much."""
    found, lowest = _values(loss, errors, y, p, shares, std)
    much = np.flatnonzero(found.cumulants[2] > _MUCH)
    if much.size and (pieces := _PIECES // much.size) > 1:
        finer = addends(loss_nodes(loss, errors[much], y[much], p[much], pieces), shares[much], std)
        found = joined([found.without(much), finer])
    return found, lowest


def _values(
    loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray, shares: FloatArray, std: float
) -> tuple[Addends, float]:
    """The labels' shares of the mean loss, and its lower end where that is known."""
    parts, lowest = [], 0.0
    step = max(1, _TOGETHER // (p.numbers_per_label if loss.of_forecast else 1))  # type: ignore[attr-defined]
    for start in range(0, len(y), step):
        part = slice(start, start + step)
        nodes = loss_nodes(loss, errors[part], y[part], p[part])
        lowest = lowest if nodes.value.min(initial=0.0) >= 0 else -math.inf
        parts.append(addends(nodes, shares[part], std))
    return joined(parts), lowest


def _share_within(probability: FloatArray, shares: FloatArray) -> Law:
    """A weighted count of independent hits."""
    if float(np.ptp(shares)) == 0:
        return ScaledLaw(PoissonBinomial(probability), float(shares[0]))
    return WeightedBernoulliSum(shares, probability)


def _affordable(loss: Loss, labels: int) -> int:
    most = _DRAWS // 3 if loss.of_forecast else _DRAWS
    return int(min(max(_BUDGET // labels, _FEWEST_DRAWS), most))


def _drawn(loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray, shares: FloatArray) -> Law:
    """Draws of the labels that matter most and of all wild ones; the others as one normal variable."""
    means, variances = label_moments(loss, errors, y, p)
    spread = np.square(shares) * variances
    wild = int(np.sum(~np.isfinite(spread)))
    chosen = np.sort(np.argsort(spread, kind="stable")[-max(_DRAWN_LABELS, wild) :])
    rest = np.ones(len(y), dtype=bool)
    rest[chosen] = False
    rng, count = np.random.default_rng(FIXED_SEED), _affordable(loss, len(chosen))
    draws = float(np.sum((shares * means)[rest])) + math.sqrt(float(np.sum(spread[rest]))) * rng.standard_normal(count)
    draws += _draws(loss, errors[chosen], y[chosen], p[chosen], shares[chosen], count, rng)
    defined = np.isfinite(draws)
    if not defined.any():
        raise ValueError(
            "the metric is not defined for any of the labels that these errors allow: it has no distribution."
        )
    with np.errstate(invalid="ignore"):
        return SampleLaw(draws[defined], mean=float(np.sum(shares * means)), var=float(np.sum(spread)))


def _draws(
    loss: Loss,
    errors: MeasurementError,
    y: FloatArray,
    p: FloatArray,
    shares: FloatArray,
    count: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Draws of the weighted mean loss, each label given that its loss exists."""
    if loss.of_forecast and loss.continuous and not errors.discrete and count > _NODES:
        return _from_table(loss, errors, y, p, shares, count, rng)
    first = _dominating(loss, errors, y, p, shares) if errors.independent else None

    def draw(rng: Generator, rows: int) -> FloatArray:
        labels, predictions = errors.sample_both(y, p, rows, rng)
        if first is not None:  # evenly over its distribution
            place = (rng.permutation(rows) + 0.5) / rows
            labels[:, first] = errors[[first]].ppf(y[[first]], place[:, None])[:, 0]
        if math.isfinite(loss.least_label):
            labels = _above(errors.of_labels(), y, labels, loss.least_label, rng)
            own = errors.of_predictions()
            predictions = p if own is None else _above(own, p, predictions, loss.least_label, rng)
        with np.errstate(over="ignore"):
            return np.asarray(loss(labels, predictions) @ shares)

    return drawn_in_blocks(draw, count, len(y), rng, _ENTRIES)


def _from_table(
    loss: Loss, errors: MeasurementError, y: FloatArray, p: FloatArray, shares: FloatArray, count: int, rng: Generator
) -> FloatArray:
    """Draws of a mean score of forecasts, from a table of each label's score at some quantiles of its error.

    Scores of 100 members at 1000 labels take 0.6 s so, and 1.9 s where every draw is scored.
    """
    scores = np.linspace(-_OUTERMOST, _OUTERMOST, _NODES)
    at = np.stack([errors.ppf(y, np.full(len(y), q)) for q in ndtr(scores)])
    values = np.ascontiguousarray((loss(at, p) * shares).T).reshape(-1)
    first, step = np.arange(len(y)) * _NODES, scores[1] - scores[0]

    def draw(rng: Generator, rows: int) -> FloatArray:
        if errors.independent:
            z = rng.standard_normal((rows, len(y)))
        else:
            z = ndtri(errors.cdf(y, errors.sample(y, rows, rng)))
        z = np.clip(z + _OUTERMOST, 0.0, 2.0 * _OUTERMOST - 1e-9) / step
        place = z.astype(np.int64)
        part = z - place
        place += first
        return np.asarray(np.sum(values[place] * (1.0 - part) + values[place + 1] * part, axis=1))

    return drawn_in_blocks(draw, count, len(y), rng, _ENTRIES)


def _above(
    errors: MeasurementError, y: FloatArray, labels: FloatArray, least: float, rng: np.random.Generator
) -> FloatArray:
    """Draws of labels that are above `least`: each label's law cut there.

    Independent labels that are not are drawn again from what is above. Where labels share errors, a label at the
    quantile u of its law moves to the quantile u of the law that is cut, so that errors stay shared.
    """
    lost = errors.cdf(y, np.full_like(y, least))
    if errors.independent:
        bad = labels <= least
        column = np.nonzero(bad)[1]
        quantile = lost[column] + (1.0 - lost[column]) * rng.random(column.size)
        found = errors[column].ppf(y[column], quantile) if column.size else quantile
        labels[bad] = np.maximum(found, np.nextafter(least, math.inf))
        return labels
    quantile = lost + (1.0 - lost) * errors.cdf(y, labels)
    # a label far above stays as it is: its quantile has no digits left
    cut = np.where(quantile < _ALMOST_ONE, errors.ppf(y, np.minimum(quantile, _ALMOST_ONE)), labels)
    return np.where(lost > _NEVER, np.maximum(cut, np.nextafter(least, math.inf)), labels)
