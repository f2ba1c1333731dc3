"""Bad input is refused with a message that names the argument, the place, the count, and what to do."""

import math
import re

import numpy as np
import pytest

import scorebars as sb

REGRESSION = [sb.mean_squared_error, sb.root_mean_squared_error, sb.mean_absolute_error, sb.mean_error]
CLASSES = [sb.accuracy_score, sb.zero_one_loss]

every_regression = pytest.mark.parametrize("score", REGRESSION, ids=lambda f: f.__name__)
every_class_metric = pytest.mark.parametrize("score", CLASSES, ids=lambda f: f.__name__)
every_metric = pytest.mark.parametrize("score", REGRESSION + CLASSES, ids=lambda f: f.__name__)

Y = [1.0, 2.0, 3.0, 4.0]
P = [1.5, 2.0, 2.5, 4.0]
NAN, INF = math.nan, math.inf


def refuses(message, call, *args, **options):
    """`call` raises a ValueError whose whole text matches; dots are dots, ... is anything."""
    pattern = "^" + re.escape(message).replace(re.escape("..."), ".*") + "$"
    with pytest.raises(ValueError, match=re.compile(pattern, re.DOTALL)):
        call(*args, **options)


# labels and predictions --------------------------------------------------------------------------------------------


@every_metric
def test_lengths(score):
    refuses(
        "y_true and y_pred have inconsistent numbers of samples: 4 and 3. Each label needs its own entry in both.",
        score,
        [1, 2, 3, 4],
        [1, 2, 3],
    )


@every_regression
@pytest.mark.parametrize("argument", ["y_true", "y_pred"])
def test_values_that_are_not_finite(score, argument):
    def call(bad):
        return score(bad, P) if argument == "y_true" else score(Y, bad)

    hint = "Remove these rows or fill in the values."
    refuses(f"{argument} contains NaN: the first is nan at index 1, 2 in all. {hint}", call, [1.0, NAN, 2.0, NAN])
    refuses(f"{argument} contains infinity: the first is inf at index 3, 1 in all. {hint}", call, [1.0, 1.0, 2.0, INF])
    refuses(f"{argument} contains infinity: the first is inf at index 0, 2 in all. {hint}", call, [INF, -INF, 2.0, 1.0])
    refuses(f"{argument} contains NaN: the first is nan at index 2, 1 in all. {hint}", call, [INF, -INF, NAN, 1.0])
    refuses(f"{argument} contains NaN: the first is nan at index 0, 4 in all. {hint}", call, [NAN] * 4)


@every_regression
@pytest.mark.parametrize(
    "yerr",
    [
        0.1,
        [0.1] * 4,
        np.full((2, 4), 0.1),
        sb.Normal(cov=np.eye(4)),
        sb.Normal(0.1, shared=[1.0] * 4),
        sb.SplitNormal(1, 2),
    ],
    ids=["number", "array", "rows", "cov", "shared", "split"],
)
def test_values_that_are_not_finite_with_errors(score, yerr):
    refuses("y_true contains NaN: the first is nan at index 2, 1 in all. ...", score, [1, 2, NAN, 3], P, yerr=yerr)
    refuses(
        "y_pred contains infinity: the first is -inf at index 0, 1 in all. ...", score, Y, [-INF, 2, 1, 3], yerr=yerr
    )


@every_regression
def test_one_bad_value_of_many(score):
    y = np.zeros(300_000)
    y[123_456] = NAN
    refuses(
        "y_true contains NaN: the first is nan at index 123456, 1 in all. ...", score, y, np.zeros(300_000), yerr=0.1
    )


@every_regression
def test_two_outputs_name_row_and_column(score):
    y = np.ones((3, 2))
    bad = y.copy()
    bad[2, 1] = NAN
    for yerr in (None, 0.5, np.ones((3, 2))):
        refuses("y_pred contains NaN: the first is nan at index (2, 1), 1 in all. ...", score, y, bad, yerr=yerr)


@every_regression
def test_texts_and_mixtures(score):
    refuses(
        "y_true holds texts that are not numbers: the first is a at index 0, 4 in all. Correct these rows, or drop them.",
        score,
        list("abcd"),
        P,
    )
    refuses(
        "y_pred mixes numbers with other values (NoneType, str): the first is None at index 1, 2 in all. Convert the column "
        "to floats, or drop these rows.",
        score,
        Y,
        np.array([1.0, None, "x", 4.0], dtype=object),
    )
    refuses("y_true holds no numbers but NoneType: the first is None at index 0, 4 in all. ...", score, [None] * 4, P)
    refuses("y_true holds complex numbers. Complex data not supported: give its real part.", score, [1j, 2, 3, 4], P)
    refuses(
        "y_true holds values of type datetime64[D], not numbers. ...", score, np.array(["2020-01-01"] * 4, "M8[D]"), P
    )
    refuses(
        "y_true cannot be read as an array of numbers (...). Give one number for each label.", score, [[1], [2, 3]], P
    )


@every_regression
def test_masked_entries(score):
    masked = np.ma.masked_array(Y, mask=[False, True, False, True])
    hint = "Drop these rows from all arguments (for example with .compressed() on a common mask)."
    refuses(f"y_true has masked entries: the first is 2.0 at index 1, 2 in all. {hint}", score, masked, P)
    refuses("y_pred has masked entries: the first is 2.0 at index 1, 2 in all. ...", score, Y, masked)
    refuses("yerr has masked entries: the first is 2.0 at index 1, 2 in all. ...", score, Y, P, yerr=masked)
    refuses("sample_weight has masked entries: the first is 2.0 at index 1, ...", score, Y, P, sample_weight=masked)
    assert score(np.ma.masked_array(Y), P) == score(Y, P)


@every_class_metric
def test_masked_classes(score):
    masked = np.ma.masked_array([1, 0, 1], mask=[False, False, True])
    refuses("y_true has masked entries: the first is 1 at index 2, 1 in all. ...", score, masked, [1, 0, 1])
    refuses(
        "yerr has masked entries: the first is 1 at index 2, 1 in all. ...", score, [1, 0, 1], [1, 0, 1], yerr=masked
    )


@every_metric
def test_empty(score):
    refuses("y_true is empty: at least one label is needed (found array with 0 sample(s)).", score, [], [])
    refuses("y_pred is empty: at least one label is needed (found array with 0 sample(s)).", score, [1], [])


@every_regression
def test_shapes(score):
    refuses("y_true is a single number, not an array. Pass a sequence with one entry for each label.", score, 1.0, 2.0)
    refuses("y_pred is a single number, not an array. ...", score, Y, 2.0)
    refuses(
        "y_true has shape (2, 2, 2); at most (n, outputs) is meaningful.", score, np.zeros((2, 2, 2)), np.zeros((2, 2))
    )
    refuses(
        "y_true and y_pred have different number of output: shapes (4, 2) and (4, 3). Give one prediction for each label.",
        score,
        np.zeros((4, 2)),
        np.zeros((4, 3)),
    )
    refuses(
        "y_true and y_pred have different number of output: shapes (4,) and (4, 2). ...", score, Y, np.zeros((4, 2))
    )


@every_class_metric
def test_shapes_of_classes(score):
    for bad in (1, [[[1]]]):
        shape = np.shape(bad)
        refuses(f"y_true must hold one class for each item, shape (n,), but has shape {shape}.", score, bad, [1, 0])
    refuses(
        "y_true cannot be read as an array of classes (...). Give one class for each item.",
        score,
        [[1], [1, 0]],
        [1, 0],
    )


# label errors ------------------------------------------------------------------------------------------------------


@every_regression
def test_negative_errors(score):
    text = "yerr has negative values: the first is -0.1 at index 1, 2 in all. yerr is a standard deviation (not a variance): "
    text += "it cannot be below 0."
    refuses(text, score, Y, P, yerr=[0.1, -0.1, 0.0, -2.0])
    refuses(text, score, Y, P, yerr=np.array([0.1, -0.1, 0.0, -2.0]).reshape(-1, 1))
    refuses("yerr = -0.5 is negative. ...standard deviation...", score, Y, P, yerr=-0.5)
    refuses(
        "yerr[1] (upper errors) has negative values: the first is -1.0 at index 2, 1 in all. ...",
        score,
        Y,
        P,
        yerr=[[1, 1, 1, 1], [1, 1, -1, 1]],
    )


@every_regression
def test_errors_that_are_not_finite(score):
    refuses("yerr contains NaN: the first is nan at index 3, 1 in all. ...", score, Y, P, yerr=[0.1, 0.1, 0.1, NAN])
    refuses(
        "yerr contains infinity: the first is inf at index 0, 1 in all. ...", score, Y, P, yerr=[INF, 0.1, 0.1, 0.1]
    )
    refuses("yerr = nan is not finite. ...", score, Y, P, yerr=NAN)
    refuses("yerr = inf is not finite. ...", score, Y, P, yerr=INF)
    refuses(
        "yerr[0] (lower errors) contains NaN: the first is nan at index 1, 1 in all. ...",
        score,
        Y,
        P,
        yerr=[[1, NAN, 1, 1], [1, 1, 1, 1]],
    )


@every_regression
def test_shape_of_errors(score):
    refuses(
        "yerr has shape (3,) but y_true has shape (4,): inconsistent numbers of samples. Give a number, one standard "
        "deviation for each label, or shape (2, 4) for lower and upper errors.",
        score,
        Y,
        P,
        yerr=[0.1] * 3,
    )
    refuses("yerr has shape (2, 3) but y_true has shape (4,): ...", score, Y, P, yerr=np.ones((2, 3)))
    refuses("yerr has shape (4, 2) but y_true has shape (4,): ...", score, Y, P, yerr=np.ones((4, 2)))
    refuses(
        "yerr holds numbers written as texts. Convert them: np.asarray(yerr, dtype=float).", score, Y, P, yerr="0.1"
    )
    refuses("yerr holds complex numbers. ...", score, Y, P, yerr=1j)
    refuses(
        "yerr mixes numbers with other values (NoneType): the first is None at index 1, ...",
        score,
        Y,
        P,
        yerr=[1, None, 1, 1],
    )
    two = np.zeros((4, 2))
    refuses(
        "yerr has shape (3,) but y_true has shape (4, 2). Give a number, shape (4,) or (4, 2), (2, 4, 2) for lower and upper "
        "errors, or a list of 2 error models.",
        score,
        two,
        two,
        yerr=[1, 1, 1],
    )


@every_regression
def test_models_of_another_size(score):
    for model in (
        sb.Normal([0.1] * 3),
        sb.Normal(cov=np.eye(3)),
        sb.Normal(0.1, shared=[1, 1, 1]),
        sb.SplitNormal([1, 1, 1], 1),
    ):
        refuses(
            "yerr describes 3 labels but y_true has 4. Give one error for each label, or a number.",
            score,
            Y,
            P,
            yerr=model,
        )


@every_regression
def test_class_errors_for_measured_numbers(score):
    refuses(
        "yerr is Flip, which describes class labels. Measured numbers need an error model such as Normal(sigma), or a "
        "standard deviation for each label.",
        score,
        Y,
        P,
        yerr=sb.Flip(0.1),
    )


@every_regression
def test_class_errors_for_outputs(score):
    refuses("yerr is Flip, which describes class labels. ...", score, np.eye(2), np.eye(2), yerr=sb.Flip(0.1))
    refuses(
        "yerr is Flip, which describes class labels. ...",
        score,
        np.eye(2),
        np.eye(2),
        yerr=[sb.Normal(1), sb.Flip(0.1)],
    )


@every_class_metric
def test_measurement_errors_for_classes(score):
    for model in (sb.Normal(0.1), sb.SplitNormal(0.1, 0.2)):
        refuses(
            f"yerr is {type(model).__name__}, which describes measured numbers. Class labels need the probability that a "
            "label is wrong: a number, one for each label, or Flip(q).",
            score,
            [1, 0],
            [1, 1],
            yerr=model,
        )


# weights and outputs -----------------------------------------------------------------------------------------------


@every_metric
def test_weights(score):
    y = p = [1, 0, 1, 0]
    hint = "A weight says how much a label counts; it cannot be below 0."
    refuses(
        f"sample_weight has negative values: the first is -1.0 at index 2, 1 in all. {hint}",
        score,
        y,
        p,
        sample_weight=[1, 1, -1, 1],
    )
    refuses(
        "sample_weight contains NaN: the first is nan at index 0, 1 in all. ...",
        score,
        y,
        p,
        sample_weight=[NAN, 1, 1, 1],
    )
    refuses(
        "sample_weight contains infinity: the first is inf at index 3, ...", score, y, p, sample_weight=[1, 1, 1, INF]
    )
    refuses("sample_weight is all zero: at least one label must count.", score, y, p, sample_weight=[0] * 4)
    refuses(
        "sample_weight and y_true have inconsistent numbers of samples: 3 and 4. Each label needs its own weight. (Found input variables with inconsistent numbers of samples: [4, 4, 3])",
        score,
        y,
        p,
        sample_weight=[1, 1, 1],
    )
    refuses(
        "sample_weight must have one number for each label, shape (n,), but has shape (2, 4). Pass a flat array.",
        score,
        y,
        p,
        sample_weight=np.ones((2, 4)),
    )
    refuses(
        "sample_weight holds texts that are not numbers: the first is a at index 0, ...",
        score,
        y,
        p,
        sample_weight=list("abcd"),
    )
    refuses("sample_weight mixes numbers with other values (NoneType): ...", score, y, p, sample_weight=[1, None, 1, 1])


@every_regression
def test_outputs(score):
    two = np.zeros((4, 2))
    refuses(
        "Allowed 'multioutput' string values are 'raw_values' and 'uniform_average'. You provided 'mean'.",
        score,
        two,
        two,
        multioutput="mean",
    )
    refuses(
        "Allowed 'multioutput' string values are ... You provided 'variance_weighted'.",
        score,
        Y,
        P,
        multioutput="variance_weighted",
    )
    refuses("There must be equally many custom weights (3) as outputs (2).", score, two, two, multioutput=[1, 1, 1])
    refuses(
        "Custom weights are useful only in multi-output cases: y_true has one output.", score, Y, P, multioutput=[1]
    )
    refuses(
        "multioutput has negative values: the first is -1.0 at index 1, 1 in all. ...",
        score,
        two,
        two,
        multioutput=[1, -1],
    )
    refuses(
        "multioutput contains NaN: the first is nan at index 0, 1 in all. ...", score, two, two, multioutput=[NAN, 1]
    )
    refuses("multioutput weights are all zero: at least one output must count.", score, two, two, multioutput=[0, 0])
    refuses(
        "multioutput must be 'raw_values', 'uniform_average' or one weight for each output, got None.",
        score,
        two,
        two,
        multioutput=None,
    )
    refuses(
        "multioutput must be 'raw_values', 'uniform_average' or one weight for each output, got 2.",
        score,
        two,
        two,
        multioutput=2,
    )


# classes -----------------------------------------------------------------------------------------------------------


@every_class_metric
def test_continuous_classes(score):
    refuses(
        "y_pred holds continuous values, which is not supported: the first is 0.3 at index 1, 2 in all. Classification "
        "metrics need classes: threshold or round the values first.",
        score,
        [1, 0, 1],
        [1.0, 0.3, 0.7],
    )
    refuses("y_true contains NaN: the first is nan at index 2, 1 in all. ...", score, [1.0, 0.0, NAN], [1, 0, 1])
    refuses("y_true holds continuous values, ...", score, np.array([1, 0, 0.5], dtype=object), [1, 0, 1])


@every_class_metric
def test_missing_and_mixed_classes(score):
    missing = "y_true has missing labels: the first is None at index 1, 1 in all. Drop these items or label them."
    refuses(missing, score, [1, None, 0], [1, 0, 1])
    refuses(missing, score, ["a", None, "b"], ["a", "b", "a"])
    refuses(
        "y_true has missing labels: the first is nan at index 0, 1 in all. ...",
        score,
        np.array([NAN, "a"], dtype=object),
        ["a", "a"],
    )
    mixed = (
        "y_true mixes texts with other labels: the first is b at index 1, 1 in all. These are the texts: use one type "
    )
    mixed += "for all classes."
    refuses(mixed, score, np.array([1, "b", 0], dtype=object), [1, 0, 1])
    refuses(mixed, score, [1, "b", 0], [1, 0, 1])
    refuses(
        "Labels in y_true and y_pred should be of the same type: y_true holds int64, y_pred holds <U1. Convert one of them.",
        score,
        [1, 0],
        ["1", "0"],
    )
    refuses("y_true holds complex128; classes are whole numbers, booleans or texts.", score, [1j, 0], [1, 0])
    refuses(
        "y_true holds bytes; classes are whole numbers, booleans or texts. Decode them first.",
        score,
        [b"a", b"b"],
        ["a", "b"],
    )
    refuses("y_true holds datetime64[D]; ...", score, np.array(["2020-01-01"] * 2, "M8[D]"), [1, 0])
    refuses(
        "y_true holds values of type dict: the first is {} at index 1, 1 in all. ...",
        score,
        np.array([1, {}], dtype=object),
        [1, 0],
    )


@every_class_metric
def test_flip_probabilities(score):
    y = p = [1, 0, 1]
    hint = "For classes, yerr is the probability that a label is wrong."
    refuses(f"yerr = 1.5 is not in [0, 1]. {hint}", score, y, p, yerr=1.5)
    refuses(f"yerr = -0.1 is not in [0, 1]. {hint}", score, y, p, yerr=-0.1)
    refuses("yerr = nan is not finite. ...", score, y, p, yerr=NAN)
    refuses(
        f"yerr has values outside [0, 1]: the first is 2.0 at index 1, 2 in all. {hint}",
        score,
        y,
        p,
        yerr=[0.1, 2.0, -1.0],
    )
    refuses("yerr contains NaN: the first is nan at index 2, 1 in all. ...", score, y, p, yerr=[0.1, 0.2, NAN])
    refuses("yerr describes 2 labels but y_true has 3. ...", score, y, p, yerr=[0.1, 0.2])
    refuses("yerr describes 2 labels but y_true has 3. ...", score, y, p, yerr=sb.Flip([0.1, 0.2]))
    refuses(
        "yerr must have one number for each label, shape (n,), but has shape (2, 3). ...",
        score,
        y,
        p,
        yerr=np.zeros((2, 3)),
    )
    refuses(
        "yerr holds numbers written as texts. Convert them: np.asarray(yerr, dtype=float).", score, y, p, yerr="0.1"
    )


# what people try first ---------------------------------------------------------------------------------------------


@every_regression
def test_remedies_for_measured_labels(score):
    refuses(
        "yerr has shape (4, 4), one row and column for each label. A covariance matrix is yerr=sb.Normal(cov=...).",
        score,
        Y,
        P,
        yerr=np.eye(4),
    )
    refuses(
        "yerr is a dict, which has no order. ... sb.ClassFlip({class: probability}); ...", score, Y, P, yerr={0: 0.1}
    )
    refuses(
        "y_true holds texts that are not numbers: the first is n.d. at index 2, 1 in all. Correct these rows, or drop them.",
        score,
        ["1", "2", "n.d.", "4"],
        P,
    )
    measured = pytest.importorskip("uncertainties").ufloat(1.0, 0.1)
    refuses(
        "y_pred has correlated uncertainties (the first at index 1): it shares a source of error with other predictions or with "
        "labels, and scorebars takes prediction errors as independent. Pass nominal values, and prederr with the part that is "
        "independent.",
        score,
        Y,
        [measured] * 4,
    )


@every_class_metric
def test_remedies_for_classes(score):
    refuses("yerr is a dict, which has no order. ...", score, [0, 1], [0, 1], yerr={0: 0.1, 1: 0.2})
    refuses(
        "yerr has shape (2, 2). How often each class is shown as another is yerr=sb.Transition(matrix, labels).",
        score,
        [0, 1],
        [0, 1],
        yerr=[[0.9, 0.1], [0.2, 0.8]],
    )


# models ------------------------------------------------------------------------------------------------------------


def test_normal():
    refuses("Normal needs sigma, cov or shared.", sb.Normal)
    refuses(
        "Normal takes either sigma (with or without shared) or cov, not both: cov holds all of it.",
        sb.Normal,
        0.1,
        cov=np.eye(2),
    )
    refuses("Normal takes either sigma (with or without shared) or cov, ...", sb.Normal, shared=[1, 1], cov=np.eye(2))
    refuses(
        "sigma = -1.0 is negative. sigma is a standard deviation (not a variance, not a lower error): it cannot be below 0.",
        sb.Normal,
        -1,
    )
    refuses("sigma has negative values: the first is -2.0 at index 1, 1 in all. ...", sb.Normal, [1, -2])
    refuses("sigma contains NaN: the first is nan at index 0, 1 in all. ...", sb.Normal, [NAN, 1])
    refuses("sigma = inf is not finite. ...", sb.Normal, INF)
    refuses("sigma must have one number for each label, shape (n,), but has shape (2, 2). ...", sb.Normal, np.eye(2))
    refuses("sigma = 'x' is a text, not a number. Give a number.", sb.Normal, "x")
    refuses(
        "kind must be 'classical' (label = truth + error: a measurement) or 'berkson' (truth = label + error: a set point, a "
        "calibrated posterior), got 'bayes'.",
        sb.Normal,
        1,
        kind="bayes",
    )


def test_covariance():
    refuses("cov must be a square (n, n) matrix, but has shape (2, 3).", sb.Normal, cov=np.ones((2, 3)))
    refuses("cov must be a square (n, n) matrix, but has shape (3,).", sb.Normal, cov=[1, 1, 1])
    refuses("cov must be a square (n, n) matrix, but has shape (0, 0).", sb.Normal, cov=np.ones((0, 0)))
    refuses(
        "cov is not symmetric: the first is 0.5 at index (0, 1), 2 in all. Pass a covariance matrix; (cov + cov.T) / 2 if "
        "rounding is to blame.",
        sb.Normal,
        cov=[[1, 0.5], [0, 1]],
    )
    refuses(
        "cov is not positive semidefinite: its smallest eigenvalue is -1 (largest entry 2). No errors have this covariance; "
        "check its entries.",
        sb.Normal,
        cov=[[1, 2], [2, 1]],
    )
    refuses(
        "cov is not positive semidefinite: its smallest eigenvalue is -1 (largest entry 1). ...", sb.Normal, cov=[[-1]]
    )
    refuses("cov contains NaN: the first is nan at index (1, 1), 1 in all. ...", sb.Normal, cov=[[1, 0], [0, NAN]])
    refuses("cov contains infinity: the first is inf at index (0, 0), 1 in all. ...", sb.Normal, cov=[[INF, 0], [0, 1]])
    refuses("cov holds complex numbers. ...", sb.Normal, cov=np.eye(2) * 1j)
    # what is fine: zero, singular, off by rounding
    sb.Normal(cov=np.zeros((2, 2)))
    sb.Normal(cov=np.ones((3, 3)))
    sb.Normal(cov=[[1, 0.5 + 1e-15], [0.5, 1]])


def test_shared_shifts():
    refuses("sigma and shared describe different numbers of labels: 2 and 3.", sb.Normal, [1, 1], shared=[1, 1, 1])
    refuses("shared must have shape (n,) or (k, n), but has shape (1, 1, 2).", sb.Normal, 1, shared=[[[1, 1]]])
    refuses("shared must have shape (n,) or (k, n), but has shape (0,).", sb.Normal, 1, shared=[])
    refuses("shared must have shape (n,) or (k, n), but has shape ().", sb.Normal, 1, shared=0.5)
    refuses("shared contains NaN: the first is nan at index (0, 1), 1 in all. ...", sb.Normal, 1, shared=[1, NAN])
    refuses(
        "shared holds texts that are not numbers: the first is a at index 0, 1 in all. ...", sb.Normal, 1, shared=["a"]
    )


def test_split_normal():
    refuses("lower has negative values: the first is -1.0 at index 0, 1 in all. ...", sb.SplitNormal, [-1, 1], 1)
    refuses("upper = nan is not finite. ...", sb.SplitNormal, 1, NAN)
    refuses("lower and upper describe different numbers of labels: 2 and 3.", sb.SplitNormal, [1, 1], [1, 1, 1])
    refuses("kind must be 'classical' ... got 'x'.", sb.SplitNormal, 1, 1, kind="x")


def test_flip():
    hint = "q is the probability that a label is wrong."
    refuses(f"q = 1.2 is not in [0, 1]. {hint}", sb.Flip, 1.2)
    refuses(f"q has values outside [0, 1]: the first is -0.5 at index 1, 1 in all. {hint}", sb.Flip, [0.1, -0.5])
    refuses("q contains NaN: the first is nan at index 0, 1 in all. ...", sb.Flip, [NAN])
    refuses("correlation must lie between 0 and 1, got 1.5.", sb.Flip, 0.1, correlation=1.5)
    refuses("correlation must lie between 0 and 1, got -0.1.", sb.Flip, 0.1, correlation=-0.1)
    refuses("correlation must lie between 0 and 1, got nan.", sb.Flip, 0.1, correlation=NAN)
    refuses("correlation must lie between 0 and 1, got '1'.", sb.Flip, 0.1, correlation="1")
    refuses("kind must be 'classical' ...", sb.Flip, 0.1, kind="")


@every_class_metric
def test_correlation_that_cannot_be(score):
    """Flips of very different probability cannot happen together: said when the score is made, not later."""
    model = sb.Flip([0.01, 0.4, 0.1], correlation=0.9)
    refuses(
        "correlation=0.9 cannot be shared by flip probabilities between 0.01 and 0.4: at most 0.123091 is possible. Lower the "
        "correlation or make the flip probabilities more alike.",
        score,
        [1, 0, 1],
        [1, 0, 0],
        yerr=model,
    )


# what a score is asked for -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, -1, 0.5, 1.5, NAN, "2", None, -INF])
def test_repeats(bad):
    for score in (sb.mean_squared_error(Y, P, yerr=0.1), sb.accuracy_score([1, 0], [1, 1], yerr=0.1)):
        with pytest.raises(ValueError, match=r"repeats must be a whole number of at least 1 \(or math.inf\), got"):
            score.remeasured(bad)


def test_truth_that_labels_do_not_tell():
    with pytest.raises(
        sb.UndefinedEstimate, match=r"at q = 0\.5 a label says nothing about the true class \(3 of 3 labels\)"
    ):
        sb.accuracy_score([1, 0, 1], [1, 0, 0], yerr=0.5).truth  # noqa: B018
    with pytest.raises(sb.UndefinedEstimate, match=r"\(1 of 3 labels\)"):
        sb.accuracy_score([1, 0, 1], [1, 0, 0], yerr=[0.1, 0.5, 0.2]).truth  # noqa: B018
    with pytest.raises(sb.UndefinedEstimate, match=r"at q = 0\.666667"):
        sb.accuracy_score([1, 0, 2], [1, 0, 0], yerr=2 / 3).truth  # noqa: B018
    assert issubclass(sb.UndefinedEstimate, ValueError)


@every_metric
def test_unknown_arguments_are_refused(score):
    with pytest.raises(TypeError, match="unexpected keyword argument 'sigma'"):
        score([1, 0], [1, 1], sigma=0.1)
    with pytest.raises(TypeError, match="positional argument"):
        score([1, 0], [1, 1], 0.1)
