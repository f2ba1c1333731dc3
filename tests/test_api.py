"""The public names are frozen here; to add one is a decision, and so is to take one away."""

import inspect
import re

import pytest

import scorebars as sb
from scorebars._shared.metric_names import SHORT_NAMES
from scorebars.metrics.registry import declarations, entry_of

NAMES = {
    "sums": "Accumulator",
    "what a metric returns": (
        "Estimate Interval ChiSquaredScore ConfusionMatrix Law Score Scores UndefinedEstimate UndefinedMomentWarning"
    ),
    "what is known about the labels": (
        "errors Censored ClassFlip Empirical Flip LabelProbabilities Laplace LogNormal Normal Poisson Relative Repeats "
        "Rounding SplitNormal StudentT Thresholded Transition Triangular Uniform Verified Votes"
    ),
    "what is said of the labels": "EnsembleForecast Forecast LawForecast NormalForecast QuantileForecast",
    "forecasts": "crps dawid_sebastiani_score interval_coverage interval_score log_score",
    "regression": (
        "concordance_correlation concordance_index d2_absolute_error_score explained_variance_score fraction_within "
        "huber_loss intrinsic_scatter kendall_correlation log_cosh_loss max_error mean_absolute_error "
        "mean_absolute_percentage_error mean_error mean_pinball_loss mean_squared_error mean_squared_log_error "
        "median_absolute_error metric pearson_correlation r2_score reduced_chi_squared root_mean_squared_error "
        "root_mean_squared_log_error spearman_correlation symmetric_mean_absolute_percentage_error"
    ),
    "classification": (
        "accuracy_score zero_one_loss average_precision_score balanced_accuracy_score brier_score_loss "
        "cohen_kappa_score confusion_matrix f1_score fbeta_score jaccard_score log_loss matthews_corrcoef "
        "precision_score recall_score roc_auc_score specificity_score top_k_accuracy_score"
    ),
    "studies": (
        "Calibration Calibrations Capabilities Comparison CrossValidation ErrorCheck Evaluation Plan Propagated Ranking "
        "TripleCollocation calibration capabilities check_errors compare cross_validate evaluate guess_task plan propagate "
        "scorers triple_collocation"
    ),
    "data and machine": "datasets plot report show_config",
}
PUBLIC = " ".join(NAMES.values()).split()

functions = [getattr(sb, name) for name in sb.__all__ if inspect.isfunction(getattr(sb, name))]
models = [getattr(sb, name) for name in sb.errors.__all__ if hasattr(sb, name)]
forecasts = [sb.EnsembleForecast, sb.LawForecast, sb.NormalForecast, sb.QuantileForecast]


def test_public_names():
    assert sorted(sb.__all__) == sorted(PUBLIC)
    assert len(set(sb.__all__)) == len(sb.__all__)
    for name in sb.__all__:
        assert getattr(sb, name) is not None


def test_nothing_else_is_public():
    """What a user sees after `sb.` and TAB is the list, and the packages behind it."""
    assert {name for name in dir(sb) if not name.startswith("_")} == set(PUBLIC)
    with pytest.raises(AttributeError, match="module 'scorebars' has no attribute 'mse'"):
        sb.mse  # noqa: B018


def test_error_models_are_at_the_top_too():
    for name in sb.errors.__all__:
        if name not in ("ErrorModel", "MeasurementError", "ClassError"):  # the base classes
            assert getattr(sb, name) is getattr(sb.errors, name)


@pytest.mark.parametrize("thing", [*functions, *models], ids=lambda t: t.__name__)
def test_docstrings_have_an_example(thing):
    text = inspect.getdoc(thing) or ""
    assert ">>>" in text
    assert text.split("\n")[0].strip().endswith(("?", ".", ":", ";"))


def sections(thing):
    parts = re.split(r"^(\w+)\n-{3,}\n", inspect.getdoc(thing) or "", flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


# The first asks the metrics themselves, the second is a rule of thumb.
NOT_FROM_A_FORMULA = {"capabilities", "guess_task"}


@pytest.mark.parametrize("thing", [f for f in functions if f is not sb.show_config], ids=lambda t: t.__name__)
def test_docstrings_of_functions_are_complete(thing):
    """What goes in and comes out, the formula, where it is from, and an example."""
    found = sections(thing)
    assert set(found) >= {"Parameters", "Returns", "Notes", "Examples"}
    assert "References" in found
    if thing.__name__ not in NOT_FROM_A_FORMULA:
        assert ":math:" in found["Notes"] or ".. math::" in found["Notes"]


@pytest.mark.parametrize("thing", [*models, *forecasts], ids=lambda t: t.__name__)
def test_docstrings_of_models_are_complete(thing):
    found = sections(thing)
    assert set(found) >= {"Parameters", "Notes", "Examples"}
    assert ":math:" in found["Notes"] or ".. math::" in found["Notes"]


@pytest.mark.parametrize("thing", [*functions, *models, *forecasts], ids=lambda t: t.__name__)
def test_every_parameter_is_described(thing):
    """Those of the signature and no others."""
    heads = re.findall(r"^(\S[^:\n]*?)(?: :.*)?$", sections(thing).get("Parameters", ""), flags=re.MULTILINE)
    described = [name.strip().lstrip("*") for head in heads for name in head.split(",")]
    assert sorted(described) == sorted(inspect.signature(thing).parameters)


# Without label errors these have nothing to say, so yerr has no default.
NEED_ERRORS = {"intrinsic_scatter", "reduced_chi_squared"}


@pytest.mark.parametrize("name", declarations())
def test_signatures_follow_scikit_learn(name):
    parameters = inspect.signature(entry_of(name).function).parameters
    names = list(parameters)
    assert names[0] == "y_true"
    assert names[1] in ("y_pred", "y_score", "y_proba", "forecast", "lower")
    if name not in NEED_ERRORS:
        assert parameters["yerr"].default is None
        options = names[3:] if names[2] == "upper" else names[2:]
        assert all(parameters[other].kind is inspect.Parameter.KEYWORD_ONLY for other in options)
    theirs = getattr(pytest.importorskip("sklearn.metrics"), name, None)
    if theirs is not None:
        options = list(inspect.signature(theirs).parameters.values())[2:]  # labels and predictions go by place
        assert not {option.name for option in options if option.default != "deprecated"} - set(names)


def test_every_metric_is_declared():
    declared = declarations()
    scored = {f.__name__ for f in functions if "yerr" in inspect.signature(f).parameters}
    assert set(declared) <= scored
    for name, declaration in declared.items():
        assert entry_of(name).function is getattr(sb, name)
        assert declaration.name == name
        assert declaration.task in ("regression", "forecast", "classification")
        assert declaration.low < declaration.high
        assert declaration.low <= declaration.perfect <= declaration.high


def test_unknown_metric_is_named():
    with pytest.raises(ValueError, match=r"there is no metric 'nonsense'\. The metrics are: .*mean_squared_error"):
        entry_of("nonsense")
    with pytest.raises(ValueError, match=r"there is no metric 'rsme'\. Did you mean root_mean_squared_error or"):
        entry_of("rsme")


def test_short_names():
    assert entry_of("rmse").function is entry_of("RMSE").function is sb.root_mean_squared_error
    assert set(SHORT_NAMES.values()) <= set(declarations())
    y, models = [1.0, 2.0, 4.0, 3.0], {"a": [1.1, 2.2, 3.5, 3.1], "b": [1.3, 1.9, 4.5, 3.3]}
    found = sb.evaluate(y, models, yerr=0.1, metrics=["rmse", "mae"])
    assert found.metrics == ["root_mean_squared_error", "mean_absolute_error"]
    assert found["a", "mae"] is found["a", "mean_absolute_error"]
    assert sb.compare(y, models, yerr=0.1, metric="mae").metric == "mean_absolute_error"
    assert sb.Accumulator(["rmse"]).metrics == ("root_mean_squared_error",)
    with pytest.raises(ValueError, match="Did you mean root_mean_squared_error"):
        sb.evaluate(y, models, metrics=["rsme"])


def test_short_names_of_scorers():
    pytest.importorskip("sklearn")
    full = str(sb.scorers["neg_root_mean_squared_error"])
    assert str(sb.scorers["neg_rmse"]) == str(sb.scorers.get_scorer("rmse")) == full
    with pytest.raises(ValueError, match="there is no scorer 'neg_r2_score'"):
        sb.scorers["neg_r2"]


def test_version():
    assert sb.__version__.count(".") == 2


@pytest.mark.parametrize("name", dir(sb.plot))
def test_docstrings_of_figures_are_complete(name):
    """Completion shows figures only, and each says what goes in and comes out."""
    assert set(sections(getattr(sb.plot, name))) >= {"Parameters", "Returns", "Examples"}


def test_completion_shows_data_sets_only():
    assert all(name == "Dataset" or name.startswith("load_") for name in dir(sb.datasets))
