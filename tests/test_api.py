"""The public names are frozen here; to add one is a decision, and so is to take one away."""

import inspect

import pytest

import scorebars as sb
from scorebars.metrics.registry import declarations, function_of

PUBLIC = [
    # what a metric returns
    "Estimate",
    "Interval",
    "Score",
    "Scores",
    "UndefinedEstimate",
    "UndefinedMomentWarning",
    # error models
    "Flip",
    "Normal",
    "SplitNormal",
    "errors",
    # regression
    "mean_absolute_error",
    "mean_error",
    "mean_squared_error",
    "root_mean_squared_error",
    # classification
    "accuracy_score",
    "zero_one_loss",
    # data
    "datasets",
]

functions = [getattr(sb, name) for name in sb.__all__ if inspect.isfunction(getattr(sb, name))]
models = [getattr(sb, name) for name in sb.errors.__all__ if hasattr(sb, name)]


def test_public_names():
    assert sorted(sb.__all__) == sorted(PUBLIC)
    assert len(set(sb.__all__)) == len(sb.__all__)
    for name in sb.__all__:
        assert getattr(sb, name) is not None


def test_nothing_else_is_public():
    """What a user sees after `sb.` and TAB is the list, and the packages behind it."""
    extra = {name for name in vars(sb) if not name.startswith("_")} - set(PUBLIC)
    assert all(inspect.ismodule(getattr(sb, name)) for name in extra), extra


def test_error_models_are_at_the_top_too():
    for name in sb.errors.__all__:
        if name not in ("ErrorModel", "MeasurementError"):
            assert getattr(sb, name) is getattr(sb.errors, name)


@pytest.mark.parametrize("thing", [*functions, *models], ids=lambda t: t.__name__)
def test_docstrings_have_an_example(thing):
    text = inspect.getdoc(thing) or ""
    assert ">>>" in text
    assert text.split("\n")[0].strip().endswith(("?", ".", ":", ";"))


@pytest.mark.parametrize("function", functions, ids=lambda f: f.__name__)
def test_signatures_follow_scikit_learn(function):
    names = list(inspect.signature(function).parameters)
    parameters = inspect.signature(function).parameters
    if "y_true" not in names:
        return
    assert names[:2] == ["y_true", "y_pred"]
    for name in names[2:]:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY, name
    assert parameters["yerr"].default is None
    metrics = pytest.importorskip("sklearn.metrics")
    theirs = getattr(metrics, function.__name__, None)
    if theirs is not None:
        expected = set(inspect.signature(theirs).parameters) - {"squared"}
        assert expected <= set(names), expected - set(names)


def test_every_metric_is_declared():
    declared = declarations()
    scored = {f.__name__ for f in functions if "yerr" in inspect.signature(f).parameters}
    assert set(declared) <= scored
    for name, declaration in declared.items():
        assert function_of(name) is getattr(sb, name)
        assert declaration.name == name
        assert declaration.task in ("regression", "classification")
        assert declaration.low < declaration.high
        assert declaration.low <= declaration.perfect <= declaration.high


def test_unknown_metric_is_named():
    with pytest.raises(ValueError, match=r"there is no metric 'mse'\. The metrics are: .*mean_squared_error"):
        function_of("mse")


def test_version():
    assert sb.__version__.count(".") == 2
