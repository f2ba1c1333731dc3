"""Where a classical score is 0/0 the user is told, as by scikit-learn."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import scorebars as sb
from scorebars.answers.score import UndefinedMomentWarning

UNDEFINED = pytest.importorskip("sklearn.exceptions").UndefinedMetricWarning
ONES = [0, 0, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: sb.precision_score([0, 1], [0, 0]),
            "Precision is ill-defined and being set to 0.0 due to no predicted samples",
        ),
        (lambda: sb.recall_score([0, 0], [0, 1]), "Recall is ill-defined and being set to 0.0 due to no true samples"),
        (lambda: sb.f1_score([0, 0], [0, 0]), "F-score is ill-defined .* due to no true nor predicted samples"),
        (lambda: sb.jaccard_score([0, 0], [0, 0]), "Jaccard is ill-defined .* due to no true or predicted samples"),
        (lambda: sb.specificity_score([1, 1], [0, 1]), "Specificity is ill-defined .* no true negative samples"),
        (lambda: sb.precision_score([0, 1], [0, 0], average="macro"), "in labels with no predicted samples"),
        (lambda: sb.precision_score([0, 1], [0, 1], average="micro", labels=[2]), "due to no predicted samples"),
        (lambda: sb.cohen_kappa_score(ONES, ONES), "have only one label in common"),
        (lambda: sb.cohen_kappa_score([0, 1], [2, 2], labels=[0, 1]), "contains no labels that are present in both"),
        (lambda: sb.roc_auc_score(ONES, [0.1, 0.2, 0.3]), "Only one class is present in y_true"),
        (lambda: sb.average_precision_score(ONES, [0.1, 0.2, 0.3]), "No positive class found in y_true"),
        (
            lambda: sb.top_k_accuracy_score([0, 1], [0.1, 0.9], k=2),
            r"'k' \(2\) greater than or equal to 'n_classes' \(2\)",
        ),
    ],
)
def test_undefined_scores_warn(call, message):
    with pytest.warns(UNDEFINED, match=message):
        call()


@pytest.mark.parametrize("value", [0.0, 1.0, np.nan])
def test_no_warning_where_the_user_has_decided(value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in (sb.precision_score, sb.recall_score, sb.f1_score, sb.specificity_score):
            function([0, 1], [1, 0], zero_division=value)
        sb.precision_score([0, 1], [0, 0], zero_division=value)


def test_without_scikit_learn_it_is_a_plain_warning():
    code = (
        "import warnings, scorebars as sb\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    sb.precision_score([0, 1], [0, 0])\n"
        "print(*[w.category.__name__ for w in seen])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "UserWarning"


def test_other_warnings_of_the_namesakes():
    with pytest.warns(UserWarning, match="A single label was found in 'y_true' and 'y_pred'"):
        assert sb.confusion_matrix(ONES, ONES).shape == (1, 1)
    with pytest.warns(UserWarning, match="y_pred contains classes not in y_true"):
        sb.balanced_accuracy_score([0, 0], [0, 1])
    with pytest.warns(UserWarning, match=r"Labels passed were \['b', 'a'\]. .* Pass the ordered labels=\['a', 'b'\]"):
        sb.log_loss(["a", "b"], [[0.9, 0.1], [0.2, 0.8]], labels=["b", "a"])


def test_pairs_of_the_classes_that_are_there():
    """One-vs-one AUC leaves out pairs with a class that no label shows, as scikit-learn does."""
    metrics = pytest.importorskip("sklearn.metrics")
    scores = np.array([[0.2, 0.0, 0.8], [0.6, 0.0, 0.4], [0.55, 0.0, 0.45], [0.4, 0.0, 0.6]])
    for average in ("macro", "weighted"):
        options = {"labels": [0, 1, 2], "multi_class": "ovo", "average": average}
        found = sb.roc_auc_score([0, 2, 0, 2], scores, **options)
        assert found.observed == pytest.approx(metrics.roc_auc_score([0, 2, 0, 2], scores, **options), rel=1e-14)
        noisy = sb.roc_auc_score([0, 2, 0, 2], scores, yerr=0.1, **options)
        assert 0 <= noisy.expected <= 1 and np.isfinite(noisy.std)


def test_a_confusion_matrix_reads_like_an_array():
    y, p = [0, 1, 1, 0, 1], [0, 1, 0, 0, 1]
    exact, noisy = sb.confusion_matrix(y, p), sb.confusion_matrix(y, p, yerr=0.1)
    tn, fp, fn, tp = exact.ravel()
    assert (tn, fp, fn, tp) == (2, 0, 1, 2) and exact.dtype == np.int64 and exact.sum() == 5
    assert exact[1, 0] == 1 and len(exact) == 2 and exact.tolist() == [[2, 0], [1, 2]]
    np.testing.assert_allclose(noisy / noisy.sum(), noisy.expected / 5)
    np.testing.assert_array_equal(exact.T, [[2, 1], [0, 2]])
    with pytest.raises(AttributeError, match="'ConfusionMatrix' object has no attribute 'iloc'"):
        exact.iloc  # noqa: B018


def test_scores_are_indexed_like_arrays():
    scores = sb.recall_score([0, 1, 2], [0, 1, 1], average=None)
    assert isinstance(scores[0], sb.Score) and list(scores[[2, 0]]) == [0.0, 1.0]
    assert list(scores[np.array([True, False, True])]) == [1.0, 0.0] and isinstance(scores[1:], sb.Scores)


REGRESSION = [
    sb.mean_squared_error,
    sb.root_mean_squared_error,
    sb.mean_absolute_error,
    sb.mean_error,
    sb.huber_loss,
    sb.mean_absolute_percentage_error,
    sb.mean_squared_log_error,
    sb.root_mean_squared_log_error,
]


@pytest.mark.filterwarnings("ignore::scorebars.answers.score.UndefinedMomentWarning")
@pytest.mark.parametrize("df", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("metric", REGRESSION, ids=lambda f: f.__name__)
def test_a_perfect_score_lies_in_its_interval(metric, df):
    """An infinite mean too: its interval has no upper end. Nothing is NaN."""
    rng = np.random.default_rng(0)
    y = 5 + rng.random(20)
    score = metric(y, y + 0.3 * rng.normal(size=20), yerr=sb.errors.StudentT(0.3, df))
    low, high = score.perfect.interval()
    assert low <= score.perfect <= high
    assert np.isfinite(low) or score.perfect == low == -np.inf
    assert not any(np.isnan([score.std, *score.interval(), *score.total_interval(), score.sampling_std]))


@pytest.mark.filterwarnings("ignore::scorebars.answers.score.UndefinedMomentWarning")
@pytest.mark.parametrize("metric", [sb.mean_squared_log_error, sb.root_mean_squared_log_error])
def test_errors_are_cut_where_a_logarithm_ends(metric):
    """One rule, whether errors are independent or shared: each label has its law given that it is above -1."""
    rng = np.random.default_rng(1)
    y, p, n = np.full(6, 0.2), np.full(6, 0.5), 6
    own, common = (
        metric(y, p, yerr=np.full(n, 1.0)),
        metric(y, p, yerr=sb.Normal(np.full(n, 1e-9), shared=np.full(n, 1.0))),
    )
    labels = 0.2 + rng.standard_normal((400_000, n))
    squares = np.square(np.log1p(np.where(labels > -1, labels, np.nan)) - np.log1p(0.5))
    power = 0.5 if metric is sb.root_mean_squared_log_error else 1.0
    exact = np.nanquantile(np.mean(squares, axis=1) ** power, [0.1, 0.5, 0.9])  # given that all are above
    assert own.distribution.ppf([0.1, 0.5, 0.9]) == pytest.approx(exact, rel=0.03)
    exact = np.nanquantile(squares[:, 0] ** power, [0.1, 0.5, 0.9])  # all labels move as one
    assert common.distribution.ppf([0.1, 0.5, 0.9]) == pytest.approx(exact, rel=0.05)
    assert np.isinf(own.expected) and np.isinf(common.expected)
    with pytest.warns(UndefinedMomentWarning, match="errors are cut at -1"):
        metric(y, p, yerr=1.0)


@pytest.mark.parametrize("sigma", ["per_item", "pooled", "shrunk"])
def test_repeats_have_one_expected_value(sigma):
    """`expected` and the mean of `distribution` speak of the same single repeat."""
    rng = np.random.default_rng(2)
    t = rng.uniform(5, 15, 40)
    model = sb.Repeats(t[:, None] + 0.5 * rng.standard_normal((40, 3)), sigma=sigma)
    for metric in (
        *REGRESSION[:5],
        sb.mean_pinball_loss,
        sb.log_cosh_loss,
        sb.symmetric_mean_absolute_percentage_error,
    ):
        score = metric(None, t + 0.3, yerr=model)
        assert score.distribution.mean == pytest.approx(score.expected, rel=1e-9)
        assert score.distribution.std == pytest.approx(score.std, rel=1e-6)


@pytest.mark.parametrize(
    ("metric", "n", "df", "expected", "std"),
    [
        (sb.max_error, 40, 0.8, False, False),
        (sb.max_error, 40, 1.5, True, False),
        (sb.max_error, 40, 2.5, True, True),
        (sb.median_absolute_error, 1, 1.5, True, False),
        (sb.median_absolute_error, 3, 0.8, True, False),  # two labels must err together
        (sb.median_absolute_error, 4, 0.4, False, False),
        (sb.median_absolute_error, 40, 0.8, True, True),
    ],
)
def test_order_statistics_of_heavy_tails(metric, n, df, expected, std):
    """Draws always have a mean; the distribution need not."""
    y = np.arange(float(n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        score = metric(y, y + 0.5, yerr=sb.StudentT(1.0, df))
        assert (np.isfinite(score.expected), np.isfinite(score.std)) == (expected, std)
        assert (np.isfinite(score.perfect.value), np.isfinite(score.perfect.std)) == (expected, std)
        assert np.all(np.isfinite(score.interval(0.95))) and "df" in score._answers.why_undefined()


SHARES = ["r2_score", "explained_variance_score", "d2_absolute_error_score"]


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize(("y", "p"), [([2.0], [1.0]), ([2.0], [2.0])])
def test_share_explained_of_one_exact_label_is_that_of_scikit_learn(name, y, p):
    theirs = getattr(pytest.importorskip("sklearn.metrics"), name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = theirs(y, p)
    with pytest.warns(UNDEFINED, match=f"{name} is not well-defined with less than two samples"):
        score = getattr(sb, name)(y, p)
    assert float(score) == pytest.approx(value, nan_ok=True)
    with pytest.raises(ValueError, match=r"not defined with 1 label\(s\)"):
        getattr(sb, name)(y, p, yerr=0.1)


@pytest.mark.parametrize("name", SHARES[:2])
@pytest.mark.parametrize("p", [[1.0, -1.0], [1.0, 1.0]])
@pytest.mark.parametrize("weights", [None, [1.0, 3.0]])
def test_exact_labels_that_do_not_vary_are_nan_or_infinite_if_that_is_asked_for(name, p, weights):
    theirs, y = getattr(pytest.importorskip("sklearn.metrics"), name), [1.0, 1.0]
    with pytest.warns(UNDEFINED, match=f"y_true does not vary, so {name} is not finite"):
        score = getattr(sb, name)(y, p, force_finite=False, sample_weight=weights)
    assert float(score) == score.observed or np.isnan(score)
    with np.errstate(divide="ignore", invalid="ignore"):
        assert float(score) == pytest.approx(theirs(y, p, force_finite=False, sample_weight=weights), nan_ok=True)
    assert score.std == 0
    for ask in (lambda: score.truth, lambda: score.perfect, lambda: score.remeasured(2), score.total_interval):
        with pytest.raises(sb.UndefinedEstimate, match="does not vary"):
            ask()
    assert "not vary" in score.undefined
    assert isinstance(score.explain(), str)
    assert isinstance(score.to_dict(), dict)
    with pytest.raises(ValueError, match="y_true does not vary"):
        getattr(sb, name)(y, p, force_finite=False, yerr=0.1)


@pytest.mark.parametrize("multioutput", ["uniform_average", "variance_weighted", "raw_values", [0.3, 0.7]])
@pytest.mark.parametrize("p", [[[1, 4], [1, 1]], [[1, 4], [2, 1]]])
def test_one_output_without_a_value_leaves_the_average_without(multioutput, p):
    theirs, y = pytest.importorskip("sklearn.metrics").r2_score, [[1, 3], [1, 2]]
    with pytest.warns(UNDEFINED, match="does not vary"):
        found = sb.r2_score(y, p, multioutput=multioutput, force_finite=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = theirs(y, p, multioutput=multioutput, force_finite=False)
    np.testing.assert_allclose(np.asarray(found, dtype=float), expected)


@pytest.mark.parametrize("dtype", [bool, np.int32, np.uint64, np.float32, np.float64, object])
def test_whole_weights_give_whole_confusion_matrices(dtype):
    theirs = pytest.importorskip("sklearn.metrics").confusion_matrix
    y, p, weight = [0, 1, 1, 1], [0, 1, 1, 0], np.ones(4).astype(dtype)
    found = sb.confusion_matrix(y, p, sample_weight=weight)
    assert found.dtype == theirs(y, p, sample_weight=weight).dtype
    assert found.observed.tolist() == theirs(y, p, sample_weight=weight).tolist()
    assert sb.confusion_matrix(y, p, sample_weight=weight, normalize="all").dtype == np.float64
    assert np.asarray(sb.confusion_matrix(y, p, sample_weight=weight, yerr=0.1)).dtype == np.float64


def test_weights_beyond_the_whole_doubles_do_not_wrap_around():
    found = sb.confusion_matrix([0, 1, 1], [0, 1, 1], sample_weight=np.full(3, 2**63 - 1))
    assert found[1, 1] == pytest.approx(2.0**64)


def test_the_old_name_of_probabilities():
    y, p = [0, 1, 1, 0], [[0.1, 0.9], [0.9, 0.1], [0.8, 0.2], [0.35, 0.65]]
    with pytest.warns(FutureWarning, match="`y_pred` was renamed to `y_proba`"):
        assert sb.log_loss(y, y_pred=p) == sb.log_loss(y, p)
    for given in ({"y_proba": p}, {}):
        args = (y,) if given else (y, p)
        with pytest.raises(ValueError, match="Cannot use both `y_pred` and `y_proba`"):
            sb.log_loss(*args, y_pred=p, **given)
    with pytest.raises(TypeError, match="y_proba"):
        sb.brier_score_loss(y, y_pred=p)


@pytest.mark.parametrize(
    "call",
    [
        lambda: sb.r2_score([1.0, 2, 3], [1, 2, 3.1], yerr=0.1),
        lambda: sb.evaluate([1.0, 2, 3], [1, 2, 3.1], yerr=0.1, metrics=["r2"]),
        lambda: sb.pearson_correlation([1.0, 2, 3], [1, 1, 1.0], yerr=0.1),
        lambda: sb.f1_score([0, 0, 0], [0, 0, 0], yerr=0.1),
        lambda: sb.recall_score([[0, 0], [0, 1]], [[0, 0], [0, 0]], average="samples"),
        lambda: sb.precision_score([0, 1, 2], [0, 1, 1], average="macro"),
        lambda: sb.precision_score([0, 1, 2], [0, 1, 1], average="macro", pos_label=2, zero_division=0),
        lambda: sb.balanced_accuracy_score([1, 1], [0, 1]),
        lambda: sb.confusion_matrix([1], [1]),
        lambda: sb.log_loss([0, 1], [[0.5, 0.6], [0.5, 0.5]]),
    ],
)
def test_a_warning_names_the_line_that_called(call):
    with pytest.warns() as seen:
        call()
    assert {record.filename for record in seen} == {__file__}
