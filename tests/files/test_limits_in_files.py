"""Limits in the cells of labels, or marked by a column, are understood and said, and score as in Python."""

import numpy as np
import pytest

import scorebars as sb

Y = [5.2, 0.5, 7.45, 10.0, 3.3, 6.6]
E = [0.2, 0.1, 0.45, 0.3, 0.2, 0.2]
P = [5.3, 0.7, 7.1, 9.0, 3.0, 6.1]
LABELS = sb.Censored([5.2, None, 7.45, 10.0, 3.3, 6.6], [5.2, 0.5, 7.45, None, 3.3, 6.6], E)
SAID = "1 of 6 labels is an upper limit and 1 a lower limit"


def written(tmp_path, head, *columns):
    path = tmp_path / "limits.csv"
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in zip(*columns, strict=True))]) + "\n", "utf-8")
    return path


def same(found, labels=LABELS):
    for name in ("root_mean_squared_error", "mean_absolute_error", "median_absolute_error"):
        ours, score = getattr(sb, name)(None, P, yerr=labels), found["a", name]
        assert (ours.observed, ours.expected, ours.std, ours.bounds) == (
            score.observed,
            score.expected,
            score.std,
            score.bounds,
        )


@pytest.mark.parametrize(("below", "above"), [("<0.5", "> 10"), ("≤ 0.5", "≥10.0"), ("<=0.5", ">=10")])
def test_in_cells(tmp_path, below, above):
    cells = [5.2, below, 7.45, above, 3.3, 6.6]
    found = sb.evaluate(written(tmp_path, "y,y_err,pred_a", cells, E, P))
    same(found)
    assert SAID in found.assumed


def test_errors_in_cells(tmp_path):
    cells = ["5.2 ± 0.2", "<0.5", "7.45(45)", "> 10", "3.3 ± 0.2", "6.6 ± 0.2"]
    found = sb.evaluate(written(tmp_path, "y,pred_a", cells, P))
    same(found, sb.Censored(LABELS.lower, LABELS.upper, [0.2, 0.2, 0.45, 0.2, 0.2, 0.2]))


def test_errors_in_cells_that_others_replace_are_said(tmp_path):
    cells = ["5.2 ± 0.2", "<0.5", "7.45(45)", "> 10", "3.3 ± 0.2", "6.6 ± 0.2"]
    found = sb.evaluate(written(tmp_path, "y,pred_a", cells, P), yerr=0.3)
    assert "The errors in the cells of y are not used, since others were given" in found.assumed
    same(found, sb.Censored(LABELS.lower, LABELS.upper, 0.3))


@pytest.mark.parametrize("flags", [[0, 1, 0, -1, 0, 0], ["", "<", "", ">", "", ""]])
@pytest.mark.parametrize("name", ["y_lim", "y_ul", "is_ul"])
def test_marked(tmp_path, flags, name):
    found = sb.evaluate(written(tmp_path, f"y,y_err,{name},pred_a", Y, E, flags, P))
    same(found)
    assert f"The column {name} marks limits of y" in found.assumed


def test_limits_without_an_error_have_the_median_one(tmp_path):
    cells, errors = [5.2, "<0.5", 7.45, "> 10", 3.3, 6.6], [0.2, "", 0.45, "", 0.2, 0.2]
    found = sb.evaluate(written(tmp_path, "y,y_err,pred_a", cells, errors, P))
    assert "Limits without an error in y_err have the median one" in found.assumed
    same(found, sb.Censored(LABELS.lower, LABELS.upper, [0.2, 0.2, 0.45, 0.2, 0.2, 0.2]))


def test_compare(tmp_path):
    cells = [5.2, "<0.5", 7.45, "> 10", 3.3, 6.6]
    worse = [p + 1.0 for p in P]
    found = sb.compare(written(tmp_path, "y,y_err,pred_a,pred_b", cells, E, P, worse), metric="mae")
    ours = sb.compare(None, {"a": P, "b": worse}, yerr=LABELS, metric="mae")
    assert found.difference("a", "b").observed == ours.difference("a", "b").observed
    assert any(SAID in text for text in found.warnings)


def test_all_rows_are_scored(tmp_path):
    """Limits are never taken for missing values, whatever the policy."""
    cells = [5.2, "<0.5", 7.45, "> 10", 3.3, "n.d."]
    found = sb.evaluate(written(tmp_path, "y,y_err,pred_a", cells, E, P), nan_policy="omit")
    assert (found.n, found.omitted) == (5, 1)
    assert np.isfinite(found["a", "mean_absolute_error"].observed)


@pytest.mark.parametrize("yerr", [sb.Normal(0.3), np.full(6, 0.3), sb.Censored(LABELS.lower, LABELS.upper, 0.3)])
def test_errors_given_in_python_leave_limits_limits(tmp_path, yerr):
    cells = [5.2, "<0.5", 7.45, "> 10", 3.3, 6.6]
    same(sb.evaluate(written(tmp_path, "y,pred_a", cells, P), yerr=yerr), sb.Censored(LABELS.lower, LABELS.upper, 0.3))
    with pytest.raises(ValueError, match="take the standard deviations of independent normal errors"):
        sb.evaluate(written(tmp_path, "y,pred_a", cells, P), yerr=sb.Laplace(0.3))


def test_marks_and_cells_together(tmp_path):
    cells, flags = [5.2, "<0.5", 7.45, 10.0, 3.3, 6.6], [0, 0, 0, -1, 0, 0]
    same(sb.evaluate(written(tmp_path, "y,y_err,y_lim,pred_a", cells, E, flags, P)))
    against = written(tmp_path, "y,y_err,y_lim,pred_a", cells, E, [0, -1, 0, 0, 0, 0], P)
    with pytest.raises(ValueError, match=r"is a limit of the other kind than 'y_lim' says in row 2 .* Correct one"):
        sb.evaluate(against)


@pytest.mark.parametrize("name", ["relation", "y_relation", "standard_relation", "flag", "y_qualifier"])
def test_signs_in_a_column_of_their_own(tmp_path, name):
    signs = ["=", "<", "~", ">>", "=", ""]
    found = sb.evaluate(written(tmp_path, f"y,y_err,{name},pred_a", Y, E, signs, P))
    same(found)
    assert f"The column {name} marks limits of y" in found.assumed
    quality = written(tmp_path, f"y,y_err,{name},pred_a", Y, E, [1, 0, 2, 1, 1, 0], P)
    assert "marks limits" not in sb.evaluate(quality).assumed


@pytest.mark.parametrize("head", ["y,y_err,y_ul,pred_a", "y,y_err,relation,pred_a"])
def test_named_columns_do_not_hide_marks(tmp_path, head):
    flags = [0, 1, 0, -1, 0, 0] if "ul" in head else ["=", "<", "=", ">", "=", "="]
    same(sb.evaluate(written(tmp_path, head, Y, E, flags, P), y="y", pred={"a": "pred_a"}, yerr="y_err"))


def test_a_limit_needs_its_number(tmp_path):
    path = written(tmp_path, "y,y_err,pred_a", [5.2, "<LOD", 7.45, 10.0, 3.3, 6.6], E, P)
    with pytest.raises(ValueError, match=r"'<LOD'\. A limit needs its number: .* would bias the scores"):
        sb.evaluate(path)


def test_texts_in_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    cells = ["5.2", "<0.5", "7.45", "> 10", "3.3", "6.6"]
    pandas.DataFrame({"y": cells, "y_err": E, "pred_a": P}).to_parquet(tmp_path / "x.parquet")
    same(sb.evaluate(tmp_path / "x.parquet", y="y", pred={"a": "pred_a"}, yerr="y_err"))


def test_correlated_errors_leave_no_limits(tmp_path):
    path = written(tmp_path, "y,y_lim,pred_a", Y, [0, 1, 0, 0, 0, 0], P)
    np.savetxt(tmp_path / "cov.csv", np.diag(np.square(E)), delimiter=",")
    with pytest.raises(ValueError, match=r"holds a limit in row 2 .* Only labels with errors of their own"):
        sb.evaluate(path, cov=str(tmp_path / "cov.csv"))
