"""One table of bad input. Every kind is refused within a second, and the message names argument or file, place and remedy.

A row of the table is what is done, what the message names, and where it says that the trouble is (empty where there is one
value only). What to do instead is looked for in every message.
"""

import io
import json
import math
import re
import time
import zipfile
from functools import partial

import numpy as np
import pytest

import scorebars as sb

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
import pyarrow.parquet as pq  # noqa: E402

NAN, INF, HUGE = math.nan, math.inf, 10**400
Y, P, N = [1.0, 2.0, 4.0, 3.0], [1.1, 2.3, 3.8, 3.3], 4
C, D = [0, 1, 1, 0], [0, 1, 0, 0]
S = [[0.8, 0.2], [0.1, 0.9], [0.4, 0.6], [0.7, 0.3]]
RAGGED = [[1.0, 2.0], [3.0], [4.0], [5.0]]
NORMAL = sb.NormalForecast(np.array(P), np.full(N, 0.3))


def bad(values, value, index=1):
    """The values with one of them replaced."""
    found = list(values)
    found[index] = value
    return found


def score(**options):
    return sb.mean_absolute_error(Y, P, **{"yerr": 0.1, **options})


def evaluate(y=Y, p=P, **options):
    return sb.evaluate(y, p, **{"metrics": "mean_error", **options})


FRAME = pd.DataFrame({"y": Y, "p": P, "e": [0.1] * N, "g": list("aabb")})
AT = r"index 1\b|row 1\b|index \(1|position 1"

# what is wrong: (call, what the message names, the place)
ARRAYS = {
    "propagated formula missing": (lambda: sb.propagate(None, [Y], [0.1]), r"\bf\b", ""),
    "propagated error a number": (lambda: sb.propagate(np.exp, [Y], 0.1), "errors", ""),
    "propagated errors too few": (lambda: sb.propagate(np.exp, Y, [0.1]), "errors", ""),
    "label NaN": (lambda: sb.mean_squared_error(bad(Y, NAN), P), "y_true", AT),
    "label infinite": (lambda: sb.mean_squared_error(bad(Y, INF), P), "y_true", AT),
    "label None": (lambda: sb.mean_squared_error(bad(Y, None), P), "y_true", AT),
    "label a text": (lambda: sb.mean_squared_error(bad(Y, "x"), P), "y_true", AT),
    "label complex": (lambda: sb.mean_squared_error(bad(Y, 1j), P), "y_true", ""),
    "label beyond doubles": (lambda: sb.mean_squared_error(bad(Y, HUGE), P), "y_true", AT),
    "label an object": (lambda: sb.mean_squared_error(bad(Y, object()), P), "y_true", AT),
    "labels dates": (lambda: sb.mean_squared_error(np.array(["2020-01-01"] * N, "M8[D]"), P), "y_true", ""),
    "labels ragged": (lambda: sb.mean_squared_error(RAGGED, P), "y_true", ""),
    "labels a number": (lambda: sb.mean_squared_error(1.0, P), "y_true", ""),
    "labels a text": (lambda: sb.mean_squared_error("1234", P), "y_true", ""),
    "labels a dict": (lambda: sb.mean_squared_error({"a": 1}, P), "y_true", ""),
    "labels a generator": (lambda: sb.mean_squared_error(iter(Y), P), "y_true is of type list_iterator", "list(...)"),
    "labels missing": (lambda: sb.mean_squared_error(None, P), "y_true", ""),
    "labels empty": (lambda: sb.mean_squared_error([], []), "y_true", ""),
    "labels of three dimensions": (
        lambda: sb.mean_squared_error(np.zeros((2, 2, 2)), np.zeros((2, 2, 2))),
        "y_true",
        "",
    ),
    "labels masked": (lambda: sb.mean_squared_error(np.ma.array(Y, mask=[0, 1, 0, 0]), P), "y_true", AT),
    "prediction NaN": (lambda: sb.mean_squared_error(Y, bad(P, NAN)), "y_pred", AT),
    "prediction infinite": (lambda: sb.mean_absolute_error(Y, bad(P, -INF)), "y_pred", AT),
    "prediction None": (lambda: sb.r2_score(Y, bad(P, None)), "y_pred", AT),
    "prediction beyond doubles": (lambda: sb.mean_error(Y, bad(P, HUGE)), "y_pred", AT),
    "predictions ragged": (lambda: sb.mean_squared_error(Y, RAGGED), "y_pred", ""),
    "predictions a set": (lambda: sb.mean_squared_error(Y, set(P)), "y_pred is of type set", "for each label"),
    "predictions missing": (lambda: sb.mean_squared_error(Y, None), "y_pred is None", ""),
    "predictions too few": (lambda: sb.mean_squared_error(Y, P[:3]), "y_true and y_pred", "4 and 3"),
    "predictions of two outputs": (lambda: sb.mean_squared_error(Y, np.zeros((N, 2))), "y_true and y_pred", ""),
    "rows in another order": (
        lambda: sb.mean_squared_error(FRAME["y"], FRAME["p"].iloc[::-1]),
        "y_true and y_pred",
        "row 0",
    ),
    "weight negative": (lambda: score(sample_weight=bad([1.0] * N, -1.0)), "sample_weight", AT),
    "weight NaN": (lambda: score(sample_weight=bad([1.0] * N, NAN)), "sample_weight", AT),
    "weights all zero": (lambda: score(sample_weight=[0.0] * N), "sample_weight", ""),
    "weights too few": (lambda: score(sample_weight=[1.0, 2.0]), "sample_weight", "2 and 4"),
    "weights ragged": (lambda: score(sample_weight=RAGGED), "sample_weight", ""),
    "weight beyond doubles": (lambda: score(sample_weight=bad([1] * N, HUGE)), "sample_weight", AT),
    "weight a text": (lambda: score(sample_weight=bad([1.0] * N, "x")), "sample_weight", AT),
    "groups too few": (lambda: score(groups=[1, 2]), "groups", ""),
    "groups ragged": (lambda: score(groups=RAGGED), "groups", ""),
    "groups missing": (lambda: score(groups=bad(list("aabb"), None)), "groups", "row 1"),
    "multioutput unknown": (
        lambda: sb.mean_squared_error(np.ones((N, 2)), np.ones((N, 2)), multioutput="x"),
        "multioutput",
        "",
    ),
}
ERRORS = {
    "error negative": (lambda: score(yerr=bad([0.1] * N, -0.1)), "yerr", AT),
    "error NaN": (lambda: score(yerr=bad([0.1] * N, NAN)), "yerr", AT),
    "error infinite": (lambda: score(yerr=bad([0.1] * N, INF)), "yerr", AT),
    "error a text": (lambda: score(yerr="x"), "yerr", ""),
    "error beyond doubles": (lambda: score(yerr=HUGE), "yerr", ""),
    "errors too few": (lambda: score(yerr=[0.1, 0.2]), "yerr", ""),
    "errors ragged": (lambda: score(yerr=[[0.1, 0.2], [0.3]]), "yerr", ""),
    "errors of three rows": (lambda: score(yerr=np.ones((3, N))), "yerr", ""),
    "one error negative": (lambda: score(yerr=-0.5), "yerr", ""),
    "errors a dict": (lambda: score(yerr={"a": 0.1}), "yerr", ""),
    "error a flag": (lambda: score(yerr=True), "yerr", ""),
    "errors flags": (lambda: score(yerr=np.array([True, False, True, True])), "yerr", ""),
    "errors a class": (lambda: score(yerr=sb.Normal), "yerr", ""),
    "prediction error negative": (lambda: score(prederr=-0.1), "prederr", ""),
    "prediction errors too few": (lambda: score(prederr=[0.1, 0.2]), "prederr", ""),
    "covariance not square": (lambda: score(yerr=sb.Normal(cov=np.ones((2, 3)))), "cov", ""),
    "covariance not symmetric": (
        lambda: score(yerr=sb.Normal(cov=np.eye(N) + np.triu(np.ones((N, N)), 1) * 0.1)),
        "cov",
        "",
    ),
    "covariance not positive": (lambda: score(yerr=sb.Normal(cov=-np.eye(N))), "cov", ""),
    "covariance NaN": (lambda: score(yerr=sb.Normal(cov=np.full((N, N), NAN))), "cov", ""),
    "covariance of other labels": (lambda: score(yerr=sb.Normal(cov=np.eye(3))), "cov|yerr", ""),
    "shared of other labels": (lambda: score(yerr=sb.Normal(0.1, shared=[0.1, 0.2])), "yerr", ""),
    "kind unknown": (lambda: sb.Normal(0.1, kind="psychic"), "kind", ""),
    "half width negative": (lambda: sb.Uniform(-1.0), "halfwidth", ""),
    "degrees of freedom zero": (lambda: sb.StudentT(0.1, 0), "df", ""),
    "degrees of freedom of sigma": (lambda: sb.Normal(0.1, dof=0), "dof", ""),
    "split error negative": (lambda: sb.SplitNormal(0.1, -0.1), "upper", ""),
    "log error of negative label": (
        lambda: sb.mean_absolute_error([-1.0, 1.0], [1.0, 1.0], yerr=sb.LogNormal(0.1)),
        "y_true|label",
        "index 0",
    ),
    "count negative": (
        lambda: sb.mean_absolute_error([-1.0, 1.0], [1.0, 1.0], yerr=sb.Poisson()),
        "y_true|label",
        "index 0",
    ),
    "rounding step negative": (lambda: sb.Rounding(-1.0), "step", ""),
    "draws infinite": (lambda: sb.Empirical([[1.0, INF]]), "samples", ""),
    "draws of other labels": (
        lambda: sb.mean_error(Y, P, yerr=sb.Empirical(np.ones((2, 5)))),
        "label|samples|yerr",
        "",
    ),
    "repeats without values": (lambda: sb.Repeats([[NAN, NAN], [1.0, 2.0]]), "values|row|label", ""),
    "relative negative": (lambda: sb.Relative(-0.1), "fraction", ""),
    "limits crossed": (lambda: sb.Censored([2.0], [1.0]), "lower|upper", "index 0"),
    "limit unreadable": (lambda: sb.Censored.from_strings(["<1", "about 3"]), "about 3|text", ""),
}
CLASSES = {
    "q above one": (lambda: sb.accuracy_score(C, D, yerr=bad([0.1] * N, 1.5)), "yerr|q", AT),
    "q negative": (lambda: sb.accuracy_score(C, D, yerr=-0.1), "yerr|q", ""),
    "q NaN": (lambda: sb.accuracy_score(C, D, yerr=NAN), "yerr|q", ""),
    "q a flag": (lambda: sb.accuracy_score(C, D, yerr=True), "yerr", ""),
    "q ragged": (lambda: sb.accuracy_score(C, D, yerr=RAGGED), "yerr|q", ""),
    "class missing": (lambda: sb.accuracy_score(bad(list("abba"), None), list("abba")), "y_true", AT),
    "class NaN": (lambda: sb.accuracy_score(bad([0.0, 1.0, 1.0, 0.0], NAN), D), "y_true", AT),
    "class no whole number": (lambda: sb.accuracy_score([0.5, 1.0], [0.0, 1.0]), "y_true", "index 0"),
    "class beyond 64 bits": (lambda: sb.accuracy_score([10**20, 1], [1, 1]), "y_true", ""),
    "class bytes": (lambda: sb.accuracy_score(np.array([b"a", b"b"]), np.array([b"a", b"b"])), "y_true", ""),
    "classes ragged": (lambda: sb.accuracy_score(RAGGED, D), "y_true", ""),
    "classes of two types": (lambda: sb.accuracy_score([0, 1], ["a", "b"]), "y_pred|y_true|labels", ""),
    "classes too few": (lambda: sb.accuracy_score(C, D[:2]), "y_true and y_pred", "4 and 2"),
    "average unknown": (lambda: sb.f1_score(C, D, average="best"), "average", ""),
    "average missing": (lambda: sb.f1_score([0, 1, 2], [0, 1, 1]), "average", ""),
    "positive class unknown": (lambda: sb.f1_score(C, D, pos_label=7), "pos_label", ""),
    "beta negative": (lambda: sb.fbeta_score(C, D, beta=-1.0), "beta", ""),
    "zero_division unknown": (lambda: sb.f1_score(C, D, zero_division="x"), "zero_division", ""),
    "normalize unknown": (lambda: sb.confusion_matrix(C, D, normalize="x"), "normalize", ""),
    "labels of the matrix unknown": (lambda: sb.confusion_matrix(C, D, labels=[7, 8]), "label", ""),
    "kappa weights unknown": (lambda: sb.cohen_kappa_score(C, D, weights="x"), "weights", ""),
    "probability above one": (lambda: sb.log_loss(C, [0.1, 1.2, 0.3, 0.4]), "y_pred|y_prob|y_score", AT),
    "score NaN": (lambda: sb.roc_auc_score(C, bad([0.1, 0.2, 0.3, 0.4], NAN)), "y_score|y_pred", AT),
    "k too large": (lambda: sb.top_k_accuracy_score([0, 1], S[:2], k=0), r"\bk\b", ""),
    "flip correlation": (lambda: sb.Flip(0.1, correlation=2.0), "correlation", ""),
    "flips of no dict": (lambda: sb.ClassFlip(0.1), "ClassFlip|q", ""),
    "matrix not stochastic": (lambda: sb.Transition([[0.5, 0.1], [0.1, 0.9]], [0, 1]), "matrix|row", ""),
    "matrix of other size": (lambda: sb.Transition(np.eye(3), [0, 1]), "matrix|labels", ""),
    "label probabilities do not add up": (lambda: sb.LabelProbabilities([[0.5, 0.1]], [0, 1]), "p|row", ""),
    "votes negative": (lambda: sb.Votes([[-1, 2]], [0, 1]), "counts", ""),
    "no votes": (lambda: sb.Votes([[0, 0]], [0, 1]), "counts|vote", ""),
    "counts: more wrong than checked": (lambda: sb.Flip.from_counts(5, 3), "wrong|checked", ""),
    "error model of numbers": (lambda: sb.accuracy_score(C, D, yerr=sb.Normal(0.1)), "yerr", ""),
    "error model of classes": (lambda: sb.mean_error(Y, P, yerr=sb.Flip(0.1)), "yerr", ""),
    "truth without information": (lambda: sb.accuracy_score(C, D, yerr=0.5).truth, "truth|true|label", ""),
}
OPTIONS = {
    "level zero": (lambda: score().interval(0), "level", ""),
    "level above one": (lambda: score().interval(95), "level", ""),
    "level NaN": (lambda: score().interval(NAN), "level", ""),
    "level a text": (lambda: score().interval("0.95"), "level", ""),
    "level None": (lambda: score().interval(None), "level", ""),
    "repeats zero": (lambda: score().remeasured(0), "repeats", ""),
    "repeats negative": (lambda: score().remeasured(-1), "repeats", ""),
    "repeats NaN": (lambda: score().remeasured(NAN), "repeats", ""),
    "quantile above one": (lambda: score().distribution.ppf(1.5), "q|probabilit", ""),
    "quantile a text": (lambda: score().distribution.ppf("x"), r"\bq\b", ""),
    "quantile of draws a text": (lambda: sb.kendall_correlation(Y, P, yerr=0.5).distribution.ppf("x"), r"\bq\b", ""),
    "value of a distribution missing": (lambda: score().distribution.cdf(None), r"\bx\b", ""),
    "value of a listed distribution a text": (
        lambda: sb.accuracy_score(C, D, yerr=0.1).distribution.cdf("x"),
        r"\bx\b",
        "",
    ),
    "draws negative": (lambda: score().distribution.rvs(-3), "size", ""),
    "draws more than memory": (lambda: score().distribution.rvs(10**15), "size", ""),
    "draws no whole number": (lambda: score().distribution.rvs((2, 2.5)), "size", ""),
    "tolerance negative": (lambda: sb.fraction_within(Y, P, tolerance=-1.0), "tolerance", ""),
    "tolerance NaN": (lambda: sb.fraction_within(Y, P, tolerance=NAN), "tolerance", ""),
    "alpha above one": (lambda: sb.mean_pinball_loss(Y, P, alpha=2.0), "alpha", ""),
    "delta zero": (lambda: sb.huber_loss(Y, P, delta=0.0), "delta", ""),
    "log of a negative label": (lambda: sb.mean_squared_log_error([-2.0, 1.0], [1.0, 1.0]), "y_true", "index 0"),
    "pulls without errors": (lambda: sb.reduced_chi_squared(Y, P, yerr=0.0), "yerr", ""),
    "correlation of a constant": (
        lambda: sb.pearson_correlation([1.0, 1.0], [1.0, 2.0], yerr=0.1).truth,
        "correlation|label|truth",
        "",
    ),
    "own loss no function": (lambda: sb.metric("x"), "loss", ""),
    "own loss of one number": (lambda: sb.metric(lambda y, p: 1.0, name="mine")(Y, P), "loss", ""),
    "own loss NaN": (lambda: sb.metric(lambda y, p: y * NAN, name="mine")(Y, P), "loss|mine", ""),
}
STUDIES = {
    "evaluate: prediction a number": (lambda: sb.evaluate(Y, 5), "y_pred", ""),
    "evaluate: predictions ragged": (lambda: sb.evaluate(Y, RAGGED), "y_pred", ""),
    "evaluate: one model ragged": (lambda: sb.evaluate(Y, {"a": RAGGED}), "y_pred", ""),
    "evaluate: no model": (lambda: sb.evaluate(Y, {}), "y_pred", ""),
    "evaluate: errors ragged": (lambda: evaluate(yerr=[[0.1, 0.2], [0.3]]), "yerr", ""),
    "evaluate: groups ragged": (lambda: evaluate(by=RAGGED), "by", ""),
    "evaluate: groups too few": (lambda: evaluate(by=["a"]), "by", ""),
    "evaluate: metrics a number": (lambda: evaluate(metrics=5), "metrics", ""),
    "evaluate: metrics of numbers": (lambda: evaluate(metrics=[5]), "metrics", ""),
    "evaluate: metrics empty": (lambda: evaluate(metrics=[]), "metrics", ""),
    "evaluate: metric unknown": (lambda: evaluate(metrics="mean_sqared_error"), "mean_sqared_error", ""),
    "evaluate: metric without its option": (lambda: evaluate(metrics="fraction_within"), "tolerance", ""),
    "evaluate: metric with another option": (lambda: evaluate(metrics=partial(sb.mean_error, beta=1)), "beta", ""),
    "evaluate: task unknown": (lambda: evaluate(metrics=None, task="cooking"), "task", ""),
    "evaluate: nan_policy unknown": (lambda: evaluate(nan_policy="guess"), "nan_policy", ""),
    "evaluate: keyword unknown": (lambda: sb.evaluate(Y, P, yer=0.1), "yer", ""),
    "evaluate: labels beyond doubles": (lambda: evaluate(bad(Y, HUGE)), "y_true", AT),
    "evaluate: column unknown": (lambda: sb.evaluate(FRAME, y="z", pred="p"), "'z'", ""),
    "evaluate: error column unknown": (lambda: sb.evaluate(FRAME, y="y", pred="p", yerr="err"), "err", ""),
    "evaluate: value missing in a table": (
        lambda: sb.evaluate(FRAME.assign(p=bad(P, NAN)), y="y", pred="p"),
        "p",
        "row 1",
    ),
    "evaluate: every row missing": (
        lambda: sb.evaluate(FRAME.assign(p=[NAN] * N), y="y", pred="p", nan_policy="omit"),
        "row|label|omit",
        "",
    ),
    "evaluate: model unknown": (lambda: evaluate()["nobody", "mean_error"], "nobody", ""),
    "evaluate: tracker of no file": (lambda: sb.evaluate("nowhere.csv"), "nowhere.csv", ""),
    "compare: one model": (lambda: sb.compare(Y, {"a": P}, yerr=0.1), "model", ""),
    "compare: metric unknown": (lambda: sb.compare(Y, {"a": P, "b": Y}, yerr=0.1, metric="nothing"), "nothing", ""),
    "compare: model unknown": (lambda: sb.compare(Y, {"a": P, "b": Y}, yerr=0.1).difference("a", "c"), "'c'", ""),
    "compare: rope negative": (lambda: sb.compare(Y, {"a": P, "b": Y}, yerr=0.1, rope=-1.0), "rope", ""),
    "plan: nothing to plan": (lambda: sb.plan(), "variance|pilot", ""),
    "plan: power above one": (lambda: sb.plan(difference=0.1, sampling_variance=1.0, power=2.0), "power", ""),
    "plan: difference zero": (lambda: sb.plan(difference=0.0, sampling_variance=1.0), "difference", ""),
    "plan: variance negative": (lambda: sb.plan(difference=0.1, sampling_variance=-1.0), "variance", ""),
    "plan: cost negative": (lambda: sb.plan(difference=0.1, sampling_variance=1.0, cost_label=-1), "cost_label", ""),
    "check_errors: errors zero": (lambda: sb.check_errors(Y, P, yerr=0.0), "yerr", ""),
    "triple collocation: lengths": (lambda: sb.triple_collocation(Y, P, [1.0]), r"\b[abc]\b", ""),
    "report: level": (lambda: sb.report.build(Y, P, yerr=0.1, level=2), "level", ""),
    "forecast: spread negative": (lambda: sb.NormalForecast(P, -0.1), "std", ""),
    "forecast: spread NaN": (lambda: sb.NormalForecast(P, bad([0.1] * N, NAN)), "std", AT),
    "forecast: levels out of order": (lambda: sb.QuantileForecast([0.9, 0.1], np.ones((N, 2))), "levels", ""),
    "forecast: quantiles cross": (lambda: sb.QuantileForecast([0.1, 0.9], [[2.0, 1.0]]), "values", ""),
    "forecast: members ragged": (lambda: sb.EnsembleForecast(RAGGED), "members", ""),
    "forecast: of other labels": (lambda: sb.crps(Y[:2], NORMAL), "forecast|y_true", ""),
    "forecast: ends crossed": (lambda: sb.interval_score(Y, [2.0] * N, [1.0] * N, level=0.9), "lower|upper", "index 0"),
    "forecast: level of ends": (lambda: sb.interval_score(Y, [0.0] * N, [9.0] * N, level=90), "level", ""),
}


def accumulator(*metrics, **options):
    return sb.Accumulator(list(metrics) or "mean_error", **options)


STREAMS = {
    "accumulator: needs all labels": (lambda: accumulator("median_absolute_error"), "median_absolute_error", ""),
    "accumulator: two tasks": (lambda: accumulator("mean_error", "accuracy_score"), "accuracy_score", ""),
    "accumulator: nothing yet": (lambda: accumulator().result(), "update", ""),
    "accumulator: other models": (lambda: accumulator().update(Y, {"a": P}).update(Y, {"b": P}), "models", ""),
    "accumulator: errors of another kind": (
        lambda: accumulator().update(Y, P, yerr=0.1).update(Y, P, yerr=sb.Normal(0.1, kind="berkson")),
        "kind",
        "",
    ),
    "accumulator: errors not normal": (lambda: accumulator().update(Y, P, yerr=sb.Uniform(0.1)), "yerr", ""),
    "accumulator: bad value": (lambda: accumulator().update(bad(Y, NAN), P), "y_true", AT),
    "accumulator: merge with a number": (lambda: accumulator().merge(5), "Accumulator", ""),
    "accumulator: merge of others": (lambda: accumulator().merge(accumulator("mean_squared_error")), "metrics", ""),
    "from_json: a number": (lambda: sb.Accumulator.from_json(5), "from_json", ""),
    "from_json: None": (lambda: sb.Accumulator.from_json(None), "from_json", ""),
    "from_json: no JSON": (lambda: sb.Accumulator.from_json("hello"), "JSON", ""),
    "from_json: another file": (lambda: sb.Accumulator.from_json("{}"), "JSON of an accumulator", ""),
    "from_json: nested": (lambda: sb.Accumulator.from_json("[" * 100_000), "JSON", ""),
    "from_json: damaged": (
        lambda: sb.Accumulator.from_json(
            accumulator().update(Y, P).to_json().replace('"_waiting": 4', '"_waiting": 5')
        ),
        "JSON",
        "",
    ),
    "from_json: another version": (
        lambda: sb.Accumulator.from_json(json.dumps({"schema": "scorebars/accumulator/99"})),
        "version",
        "",
    ),
}


def text(contents, name="t.csv", **options):
    """A file with these contents, evaluated."""

    def call(folder):
        path = folder / name
        path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        return sb.evaluate(path, **{"metrics": "mean_error", **options})

    return call


def parquet(table, **options):
    def call(folder):
        pq.write_table(pa.table(table), folder / "t.parquet")
        return sb.evaluate(folder / "t.parquet", **{"y": "y", "pred": "p", "metrics": "mean_error", **options})

    return call


def zipped(contents):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, inside in contents.items():
            archive.writestr(name, inside)
    return sink.getvalue()


GOOD = "y,y_err,pred_a\n1,0.1,1.1\n2,0.1,2.2\n3,0.1,2.9\n"
FILES = {
    "file missing": (lambda folder: sb.evaluate(folder / "no.csv", y="y", pred="p"), "no.csv", ""),
    "file of no name": (lambda folder: sb.evaluate(""), "''", ""),
    "file of unknown ending": (text(GOOD, "t.doc"), "t.doc", ""),
    "file empty": (text(""), "t.csv", ""),
    "file of names only": (text("y,y_err,pred_a\n"), "t.csv", ""),
    "file without names": (text("1,2,3\n4,5,6\n"), "t.csv", ""),
    "cell no number": (text(GOOD.replace("2.2", "two"), task="regression"), "pred_a", "line 3 of t.csv"),
    "cell missing": (text(GOOD.replace("2.2", "")), "pred_a", "line 3 of t.csv|row 2"),
    "quote not closed": (text(GOOD.replace("2.2", '"2.2')), "t.csv", "line 3"),
    "row too long": (text(GOOD + "4,0.1,4,4,4\n"), "t.csv", "line 5"),
    "row too short": (text(GOOD + "4\n"), "t.csv", "line 5"),
    "error negative in a file": (text(GOOD.replace("2,0.1", "2,-0.1")), "y_err", "line 3|row 2"),
    "two columns of one name": (text("y,pred_a,pred_a\n1,2,3\n", y="y", pred="pred_a"), "pred_a", ""),
    "column of a file unknown": (text(GOOD, y="mass", pred="pred_a"), "mass", ""),
    "no column of predictions": (text("y,y_err\n1,0.1\n2,0.1\n"), "predictions", ""),
    "decimal comma or thousands": (text("y;pred_a\n1,234;1,235\n2,345;2,346\n"), "decimal|comma", ""),
    "delimiter unknown": (text(GOOD, delimiter="xx"), "delimiter", ""),
    "encoding unknown": (text(GOOD, encoding="klingon"), "encoding|klingon", ""),
    "decimal unknown": (text(GOOD, decimal="x"), "decimal", ""),
    "skip_rows negative": (text(GOOD, skip_rows=-1), "skip_rows", ""),
    "format unknown": (text(GOOD, format="abacus"), "format", ""),
    "sheet unknown": (text(b"PK", "t.xlsx", sheet="x"), "t.xlsx", ""),
    "not the kind of its ending": (text(GOOD, "t.parquet"), "t.parquet", ""),
    "no FITS file": (text(GOOD, "t.fits"), "t.fits", ""),
    "no NetCDF file": (text(GOOD, "t.nc"), "t.nc", ""),
    "no archive": (text(GOOD, "t.zip"), "t.zip", ""),
    "archive of no table": (text(zipped({"a.doc": "x"}), "t.zip"), "t.zip", ""),
    "archive of several kinds": (text(zipped({"a.csv": GOOD, "b.parquet": "x"}), "t.zip"), "t.zip", ""),
    "files with other columns": (
        text(zipped({"a.csv": GOOD, "b.csv": GOOD.replace("pred_a", "pred_b")}), "t.zip"),
        "pred_[ab]",
        "",
    ),
    "no gzip": (text(GOOD, "t.csv.gz"), "t.csv.gz", ""),
    "null in Parquet": (parquet({"y": Y, "p": bad(P, None)}), "column 'p'", "row 1"),
    "texts in Parquet": (parquet({"y": Y, "p": list("abcd")}), "column 'p'", "row 0"),
    "lists in Parquet": (parquet({"y": Y, "p": [[1.0]] * N}, by=None), "'p'", ""),
    "Parquet without rows": (parquet({"y": pa.array([], pa.float64()), "p": pa.array([], pa.float64())}), "row", ""),
    "name with a null": (lambda folder: sb.evaluate("a\0b.csv"), "a.*b.csv", ""),
    "data set unknown": (lambda folder: sb.evaluate("dataset:nuclear_mases"), "nuclear_mases", ""),
}
COMMANDS = {
    "command unknown": ("evaluat", "evaluat"),
    "option unknown": ("evaluate {file} --yer y_err", "--yer"),
    "output empty": ("evaluate {file} -o ''", "--output"),
    "output a folder": ("evaluate {file} -o {folder}", "--output"),
    "output nowhere": ("evaluate {file} -o {folder}/no/x.json", "--output"),
    "output over the data": ("evaluate {file} -o {file}", "--output"),
    "report a folder": ("evaluate {file} --report {folder}", "--report"),
    "two formats": ("evaluate {file} --json --csv", "--json and --csv"),
    "level of the command": ("evaluate {file} --level 95", "--level"),
    "metric of the command": ("evaluate {file} -m rmsee", "rmsee"),
    "option of a metric": ("evaluate {file} -m fraction_within:width=1", "width"),
    "column of the command": ("evaluate {file} --y mass", "mass"),
    "file of the command": ("evaluate {folder}/no.csv", "no.csv"),
    "data set of the command": ("evaluate dataset:masses", "masses"),
    "policy of the command": ("evaluate {file} --nan-policy guess", "--nan-policy"),
    "stream of groups": ("evaluate {file} --stream --by y_err", "--by"),
    "compare of one model": ("compare {file}", "model"),
    "plan of nothing": ("plan", "difference|--std|FILE"),
}
TABLE = {**ARRAYS, **ERRORS, **CLASSES, **OPTIONS, **STUDIES, **STREAMS}
REMEDY = re.compile(
    r"\b(give|pass|name|use|choose|remove|correct|convert|drop|must|needs?|did you mean|is it|fill in|merge|write|check|"
    r"cannot be|add|say|take|leave|at least|rename|copy|read|accumulate|call|only|make|quote|there (is|are)|score|put|set|"
    r"between|has to|should|supported|decode|wait|meaningful|would|swap|divide|sort|no more|possible options|allowed|"
    r"is the probability|are probabilities)\b|(are|has|have|ones|takes|metrics): |is sb\.",
    re.IGNORECASE,
)


def refused(call, names, place):
    start = time.process_time()  # a busy machine is not our fault
    with pytest.raises((ValueError, TypeError, OverflowError, KeyError, OSError)) as caught:
        call()
    took = time.process_time() - start
    message = str(caught.value)
    assert re.search(names, message), f"the message does not name {names}: {message}"
    assert re.search(place, message), f"the message does not say where, {place}: {message}"
    assert REMEDY.search(message) and len(message) > 25, f"the message does not say what to do: {message}"
    assert took < 1.0, f"it took {took:.1f} s: {message}"


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """Libraries that are loaded when they are needed are loaded before the clock runs."""
    import astropy.table  # noqa: F401
    import python_calamine  # noqa: F401
    import scipy.stats  # noqa: F401
    import xarray  # noqa: F401

    import scorebars.cli.app  # noqa: F401

    str(evaluate(yerr=0.1))
    sb.accuracy_score(C, D, yerr=0.1).interval()
    sb.crps(Y, NORMAL, yerr=0.1)
    sb.report.build(Y, P, yerr=0.1)


@pytest.mark.parametrize("kind", TABLE)
def test_bad_values(kind):
    refused(*TABLE[kind])


@pytest.mark.parametrize("kind", FILES)
def test_bad_files(kind, tmp_path):
    call, names, place = FILES[kind]
    refused(partial(call, tmp_path), names, place)


@pytest.mark.parametrize("kind", COMMANDS)
def test_bad_commands(kind, tmp_path, monkeypatch):
    import shlex

    from typer.testing import CliRunner

    from scorebars.cli.app import app

    monkeypatch.setenv("COLUMNS", "400")
    line, names = COMMANDS[kind]
    file = tmp_path / "t.csv"
    file.write_text(GOOD)

    def call():
        done = CliRunner().invoke(app, shlex.split(line.format(file=file, folder=tmp_path)), prog_name="scorebars")
        assert done.exit_code == 2, done.stdout
        assert not done.stdout
        raise ValueError(re.sub(r"[\s│╭╮╰╯─]+", " ", done.stderr))

    refused(call, names, "")
    assert file.read_text() == GOOD


def test_the_table_is_long():
    assert len(TABLE) + len(FILES) + len(COMMANDS) >= 150
