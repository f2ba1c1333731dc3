"""Errors as a fraction of the label are normal errors of that size, in every metric and study."""

import numpy as np
import pytest

import scorebars as sb
from scorebars.metrics.registry import declarations
from scorebars.studies.capabilities import ARGUMENTS, P, Y

MEASURED = [name for name, declared in declarations().items() if declared.task == "regression" and declared.scored]
SIGMA = 0.05 * np.abs(Y)


@pytest.mark.filterwarnings("ignore::scorebars.UndefinedMomentWarning")
@pytest.mark.parametrize("name", MEASURED)
def test_every_metric(name):
    metric, options = getattr(sb, name), ARGUMENTS.get(name, {})
    ours, theirs = (metric(Y, P, yerr=yerr, **options) for yerr in (sb.Relative(0.05), SIGMA))
    assert (ours.observed, ours.expected, ours.std) == (theirs.observed, theirs.expected, theirs.std)
    assert ours.perfect == theirs.perfect


def test_alone():
    """Asked by itself, the model answers as the normal one."""
    model, normal = sb.Relative(0.05), sb.Normal(SIGMA)
    x = Y + 0.1
    for answer in ("cdf", "sf", "pdf"):
        assert getattr(model, answer)(Y, x) == pytest.approx(getattr(normal, answer)(Y, x))
    assert model.ppf(Y, np.full_like(Y, 0.3)) == pytest.approx(normal.ppf(Y, np.full_like(Y, 0.3)))
    assert model.variance(Y) == pytest.approx(normal.variance(Y))
    assert model.fourth(Y) == pytest.approx(normal.fourth(Y))
    drawn = [one.sample(Y, 2, np.random.default_rng(1)) for one in (model, normal)]
    assert drawn[0] == pytest.approx(drawn[1])
    assert repr(model) == "Relative(fraction=0.05)"


def test_per_label_outputs_and_parts():
    fractions = np.linspace(0.01, 0.1, len(Y))
    ours = sb.mean_squared_error(Y, P, yerr=sb.Relative(fractions))
    assert ours.expected == sb.mean_squared_error(Y, P, yerr=fractions * np.abs(Y)).expected
    both = sb.mean_squared_error(np.c_[Y, -Y], np.c_[P, -P], yerr=sb.Relative(0.05), multioutput="raw_values")
    assert [score.expected for score in both] == [sb.mean_squared_error(Y, P, yerr=SIGMA).expected] * 2
    assert sb.Relative(fractions)[2:4].fraction == pytest.approx(fractions[2:4])


def test_studies():
    models = {"a": P, "b": P + 0.1}
    ours, theirs = (sb.compare(Y, models, yerr=yerr).difference("a", "b") for yerr in (sb.Relative(0.05), SIGMA))
    assert (ours.expected, ours.std) == (theirs.expected, theirs.std)
    total = sb.Accumulator("mean_squared_error").update(Y, P, yerr=sb.Relative(0.05)).result()
    assert total["mean_squared_error"].expected == sb.mean_squared_error(Y, P, yerr=SIGMA).expected
    assert sb.check_errors(Y, P, yerr=sb.Relative(0.05)).pulls == pytest.approx(sb.check_errors(Y, P, yerr=SIGMA).pulls)


def test_messages():
    with pytest.raises(ValueError, match=r"fraction goes up to 5, an error of 500 %\. For 5 % say Relative\(0\.05\)"):
        sb.Relative(5)
    with pytest.raises(ValueError, match=r"fraction = -0\.1 is negative\. fraction is a standard deviation divided by"):
        sb.Relative(-0.1)
