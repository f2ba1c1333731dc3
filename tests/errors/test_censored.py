"""Labels of which some are limits: what the model is made of, and what it refuses."""

import numpy as np
import pytest
from scipy.stats import CensoredData

import scorebars as sb

INF = np.inf


def test_open_ends():
    labels = sb.Censored([1.0, None, 2.0, np.nan], [1.0, 0.5, INF, 3.0])
    assert labels.lower.tolist() == [1.0, -INF, 2.0, -INF]
    assert labels.upper.tolist() == [1.0, 0.5, INF, 3.0]
    assert labels.counts() == {"number": 1, "upper limit": 2, "lower limit": 1, "range": 0}
    assert labels.labels().tolist() == [1.0, 0.5, 2.0, 3.0]
    assert repr(labels) == "Censored(4 labels: 1 number, 2 upper limits, 1 lower limit)"
    assert repr(labels[1:3]) == "Censored(2 labels: 1 upper limit, 1 lower limit)"


def test_from_strings():
    texts = ["<0.5", "1.2", "> 10", "3.1±0.2", "[2, 4]", "≤ -3", "1.23(5)", 7.5]
    labels = sb.Censored.from_strings(texts, sigma=0.1)
    assert labels.lower.tolist() == [-INF, 1.2, 10.0, 3.1, 2.0, -INF, 1.23, 7.5]
    assert labels.upper.tolist() == [0.5, 1.2, INF, 3.1, 4.0, -3.0, 1.23, 7.5]
    assert labels.sigma == pytest.approx([0.1, 0.1, 0.1, 0.2, 0.1, 0.1, 0.05, 0.1])


def test_from_strings_with_decimal_commas():
    labels = sb.Censored.from_strings(["<0,5", "1,2", "> 10", "3,1±0,2", "[2,5; 4,5]", "[2; 1.000]"], sigma=0.1)
    assert labels.lower.tolist() == [-INF, 1.2, 10.0, 3.1, 2.5, 2.0]
    assert labels.upper.tolist() == [0.5, 1.2, INF, 3.1, 4.5, 1000.0]
    assert labels.sigma == pytest.approx([0.1, 0.1, 0.1, 0.2, 0.1, 0.1])


def test_limits_take_the_median_of_written_errors():
    labels = sb.Censored.from_strings(["<0.5", "1±0.1", "2±0.3", "4", "[2, 3]"])
    assert labels.sigma == pytest.approx([0.2, 0.1, 0.3, 0.0, 0.2])
    assert sb.Censored.from_strings(["<0.5", "1"]).sigma == 0


@pytest.mark.parametrize(
    ("lower", "upper", "said", "of_them"),
    [
        ([1.0, 2.0], [1.0, 2.0], "none of 2 labels is a limit", "none is a limit"),
        ([-INF, 2.0], [1.0, 2.0], "1 of 2 labels is an upper limit", "1 is an upper limit"),
        ([-INF, -INF], [1.0, 2.0], "all 2 labels are upper limits", "all are upper limits"),
        ([-INF, -INF, 1.0], [1.0, 2.0, INF], "2 of 3 labels are upper limits and 1 a lower limit", None),
        (
            [-INF, 0.0, 1.0, 1.0],
            [1.0, 2.0, INF, INF],
            "1 of 4 labels is an upper limit, 2 lower limits and 1 a range",
            None,
        ),
    ],
)
def test_said(lower, upper, said, of_them):
    labels = sb.Censored(lower, upper)
    assert labels.said() == said
    assert of_them is None or labels.said_of_them() == of_them


def test_from_flags():
    values, flags = [1.0, 2.0, 3.0, 4.0], [False, True, 0, -1]
    labels = sb.Censored.from_flags(values, 0.1, flags)
    assert labels.lower.tolist() == [1.0, -INF, 3.0, 4.0]
    assert labels.upper.tolist() == [1.0, 2.0, 3.0, INF]
    again = sb.Censored.from_flags(values, 0.1, np.array(["", "U", "n", "L"]))
    assert again.lower.tolist() == labels.lower.tolist()


def test_from_scipy():
    data = CensoredData(uncensored=[1.0, 2.0], left=[0.5], right=[10.0], interval=[[3.0, 4.0]])
    labels = sb.Censored(data, sigma=0.2)
    assert labels.lower.tolist() == [1.0, 2.0, -INF, 10.0, 3.0]
    assert labels.upper.tolist() == [1.0, 2.0, 0.5, INF, 4.0]


def test_without_limits_the_errors_are_normal():
    y, p = np.array([1.0, 2.0, 3.0]), np.array([1.1, 1.7, 3.2])
    ours = sb.mean_absolute_error(None, p, yerr=sb.Censored(y, y, 0.2))
    plain = sb.mean_absolute_error(y, p, yerr=0.2)
    assert (ours.observed, ours.expected, ours.std, ours.perfect) == (
        plain.observed,
        plain.expected,
        plain.std,
        plain.perfect,
    )
    assert plain.bounds == (plain.observed, plain.observed)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: sb.Censored([2.0, 1.0], [1.0, 1.0]), r"lower is above upper: the first is 2\.0 at index 0, 1 in all"),
        (
            lambda: sb.Censored([np.nan], [None]),
            r"lower and upper are both open: .* index 0, 1 in all\. Such labels say",
        ),
        (lambda: sb.Censored([1.0, 2.0], [1.0]), "lower and upper describe different numbers of labels: 2 and 1"),
        (lambda: sb.Censored([INF], [INF]), "lower is inf, so that no value is allowed"),
        (lambda: sb.Censored(["<3"], ["<3"]), r"For texts such as '<0\.5' use Censored\.from_strings"),
        (lambda: sb.Censored([1.0]), "upper is missing"),
        (lambda: sb.Censored([1.0], [1.0], sigma=-1.0), r"sigma = -1\.0 is negative"),
        (
            lambda: sb.Censored.from_strings(["nd", "<3"]),
            r"the first is 'nd' at index 0, 1 in all\. Write a number, a limit",
        ),
        (lambda: sb.Censored.from_strings(["[2, x]"]), r"texts\[0\] is '\[2, x\]': a range needs two numbers"),
        (
            lambda: sb.Censored(CensoredData([1.0]), [2.0]),
            "lower is a CensoredData, which holds both ends: give no upper",
        ),
        (
            lambda: sb.mean_absolute_error(CensoredData([1.0]), [1.0]),
            r"Of a scipy\.stats\.CensoredData pass y_true=None and yerr=sb\.Censored",
        ),
        (
            lambda: sb.mean_absolute_error(None, [1.0], yerr=CensoredData([1.0])),
            r"Of a scipy\.stats\.CensoredData pass y_true=None and yerr=sb\.Censored",
        ),
        (
            lambda: sb.mean_absolute_error(["<0.5", "1"], [1.0, 1.0]),
            r"Limits are measurements too: pass y_true=None and yerr=sb\.Censored\.from_strings",
        ),
        (
            lambda: sb.mean_absolute_error(np.array(["<0.5", 1.0], dtype=object), [1.0, 1.0]),
            r"Limits are measurements too: pass y_true=None and yerr=sb\.Censored\.from_strings",
        ),
        (lambda: sb.Censored.from_strings("<0.5"), "texts is '<0.5', but must hold one text for each label"),
        (lambda: sb.Censored.from_strings(["[<2, 4]"]), r"texts\[0\] is '\[<2, 4\]': a range needs two numbers"),
        (lambda: sb.Censored.from_strings(["[2±1, 4]"]), r"texts\[0\] is '\[2±1, 4\]': a range needs two numbers"),
        (
            lambda: sb.Censored.from_strings(["[2,5; 4,5]", "1.5"]),
            "a range needs two numbers|neither numbers nor limits",
        ),
        (
            lambda: sb.Censored(np.ma.array([1.0, 2.0], mask=[0, 1]), [1.0, 3.0]),
            r"lower has masked entries: the first is 2\.0 at index 1, 1 in all\. .* write -inf, NaN or None",
        ),
        (lambda: sb.Censored([10**400], [2.0]), "lower must hold numbers, NaN or None"),
        (lambda: sb.Censored.from_flags([1.0], 0.1, 1), "flag is 1, but must hold one mark for each value"),
        (lambda: sb.Censored.from_flags([1.0], 0.1, ["x"]), "flag has entries that mark neither: the first is x"),
        (lambda: sb.Censored.from_flags([1.0, 2.0], 0.1, [0]), "flag has 1 entries but there are 2 values"),
        (
            lambda: sb.mean_absolute_error([5.0, 1.0], [1.0, 1.0], yerr=sb.Censored([None, 1.0], [2.0, 1.0])),
            r"y_true lies outside the limits in yerr: the first is 5\.0 at index 0, 1 in all\. .* pass y_true=None",
        ),
    ],
)
def test_messages(make, text):
    with pytest.raises(ValueError, match=text):
        make()
