"""Every metric under every error model, driven by the declarations: a new metric is tested without writing a test."""

import inspect
import math
import warnings

import numpy as np
import pytest

import scorebars as sb
from scorebars.metrics.registry import declarations, entry_of
from scorebars.studies import capabilities as table

PAIRS = table.pairs()
DRAWS = 1_000
_UNDEFINED = "Only one class|No positive|y_pred contains classes|A single label|.*(ill-defined|not defined)"
"""Drawn labels may lack a class; the observed score is what scikit-learn gives then."""


def drawn(metric, model, rng):
    """Values of the classical metric on labels drawn from the model."""
    entry, given = entry_of(metric), table.ARGUMENTS.get(metric, {})
    if entry.declaration.task != "classification":
        rows = model.sample(table.Y, DRAWS, rng)
        prediction = table.predictions_for(metric)
    else:
        held = model.labels() if hasattr(model, "labels") else None
        shown = table.LABELS if held is None else np.asarray(held)
        rows = draw_labels(model, shown, rng)
        prediction = table.predictions_for(metric)
    values = []
    warnings.filterwarnings("ignore", message=_UNDEFINED)  # pytest forgets it after the test
    for row in rows:
        if metric == "reduced_chi_squared":
            values.append(float(entry.function(row, prediction, yerr=model).observed))
            continue
        try:
            values.append(float(entry.function(row, prediction, **given).observed))
        except ValueError:  # a label that the metric is not defined for, such as one class only
            values.append(math.nan)
    return np.array(values)


def draw_labels(model, shown, rng):
    if isinstance(model, sb.Flip) and model.correlation:
        from scorebars.laws.counts.correlated_flips import conditional_flip_probabilities

        weights, flips = conditional_flip_probabilities(np.broadcast_to(model.q, shown.shape), model.correlation)
        state = rng.choice(2, DRAWS, p=weights)
        return np.where(rng.random((DRAWS, len(shown))) < flips[state], 1 - shown, shown)
    p = model.label_probabilities(shown, np.array([0, 1]))[:, 1]
    return (rng.random((DRAWS, len(shown))) < p).astype(int)


@pytest.mark.parametrize(("metric", "family", "model"), PAIRS, ids=[f"{m}-{f}" for m, f, _ in PAIRS])
def test_agrees_with_simulation(metric, family, model):
    """Expected value within 4 standard errors, std within what the draws can show, interval with its probability."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.UndefinedMomentWarning)
        try:
            s = table.sample_score(metric, model)
        except ValueError as refused:
            assert len(str(refused)) > 30  # a reason, not a stub
            return
    if metric == "reduced_chi_squared" and model.estimated:
        return  # it divides by estimates, as a new measurement would; tests of chi-squared look at it
    values = drawn(metric, model, np.random.default_rng(11))
    defined = np.isfinite(values)
    if not math.isfinite(s.expected):
        assert s.std == math.inf
        return
    values = values[defined]
    noise = values.std() / math.sqrt(len(values))
    assert (
        abs(s.expected - values.mean())
        <= 4 * noise + 1e-9 * abs(s.expected) + 2e-3 * (s.method == "simulation") * s.std
    )
    if math.isfinite(s.std):
        assert s.std == pytest.approx(values.std(), rel=0.2, abs=3e-3 if s.declaration.degree == 0 else 1e-9)
    low, high = s.interval(0.8)
    below, above = np.mean(values < low - 1e-9), np.mean(values > high + 1e-9)
    assert below <= 0.1 + 0.045 and above <= 0.1 + 0.045
    assert s.distribution.ppf(0.5) <= np.quantile(values, 0.56) + 1e-9
    assert s.distribution.ppf(0.5) >= np.quantile(values, 0.44) - 1e-9


@pytest.mark.parametrize("metric", sorted(declarations()))
def test_declaration(metric):
    declared = declarations()[metric]
    assert declared.name == metric == entry_of(metric).function.__name__
    assert declared.low <= declared.perfect <= declared.high
    assert declared.task in ("regression", "forecast", "classification")
    assert getattr(sb, metric) is entry_of(metric).function


def test_capabilities():
    found = sb.capabilities()
    assert found.methods["mean_squared_error", "Normal"] == "exact"
    assert found.methods["mean_absolute_error", "SplitNormal"] == "quadrature"
    assert found.methods["mean_absolute_error", "Normal(shared)"] == "simulation"  # of few labels
    assert set(found.methods.values()) <= {"exact", "quadrature", "saddlepoint", "delta", "simulation", "-"}
    assert set(found.metrics) == {name for name, d in declarations().items() if d.scored}
    assert "| metric | Normal |" in found.to_markdown() and "<table" in found._repr_html_()
    assert str(found).splitlines()[0].startswith("metric")


@pytest.mark.parametrize("name", sorted(declarations()))
def test_the_declaration_says_whether_weights_are_taken_and_labels_may_come_in_pieces(name):
    declared = declarations()[name]
    assert declared.weights == ("sample_weight" in inspect.signature(entry_of(name).function).parameters)
    assert (declared.keeps is not None) == any(name in taken for taken in sb.Accumulator.takes.values())
