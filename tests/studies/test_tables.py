"""Studies of tables: columns by name, rows that belong together, missing values that are never passed over."""

import numpy as np
import pytest

import scorebars as sb

RNG = np.random.default_rng(3)
N = 30
COLUMNS = {
    "y": RNG.normal(size=N),
    "y_err": RNG.uniform(0.1, 0.3, N),
    "upper": RNG.uniform(0.1, 0.3, N),
    "weight": RNG.uniform(0.5, 2.0, N),
    "site": np.where(RNG.random(N) < 0.5, "north", "south"),
}
COLUMNS |= {"a": COLUMNS["y"] + RNG.normal(0, 0.3, N), "b": COLUMNS["y"] + RNG.normal(0, 0.4, N)}
METRICS = ["mean_squared_error", "mean_absolute_error"]


def pandas_table(columns=COLUMNS):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(columns, index=[f"r{k}" for k in range(len(columns["y"]))])


def nullable_table():
    return pandas_table().convert_dtypes()


def arrow_backed_table():
    pytest.importorskip("pyarrow")
    return pandas_table().convert_dtypes(dtype_backend="pyarrow")


def polars_table():
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def lazy_table():
    return polars_table().lazy()


def arrow_table():
    return pytest.importorskip("pyarrow").table(COLUMNS)


def astropy_table():
    return pytest.importorskip("astropy.table").Table(COLUMNS)


def structured_array():
    return np.rec.fromarrays(list(COLUMNS.values()), names=list(COLUMNS))


TABLES = [
    pandas_table,
    nullable_table,
    arrow_backed_table,
    polars_table,
    lazy_table,
    arrow_table,
    astropy_table,
    structured_array,
    lambda: COLUMNS,
]


@pytest.mark.parametrize("make", TABLES, ids=lambda f: f.__name__)
def test_columns_by_name(make):
    plain = sb.evaluate(
        COLUMNS["y"],
        {"a": COLUMNS["a"], "b": COLUMNS["b"]},
        yerr=COLUMNS["y_err"],
        sample_weight=COLUMNS["weight"],
        by=COLUMNS["site"],
        metrics=METRICS,
    )
    found = sb.evaluate(
        make(), y="y", pred=["a", "b"], yerr="y_err", sample_weight="weight", by="site", metrics=METRICS
    )
    assert found.to_dict() == plain.to_dict() and found.omitted == 0


@pytest.mark.parametrize("make", TABLES, ids=lambda f: f.__name__)
def test_lower_and_upper_errors(make):
    found = sb.evaluate(make(), y="y", pred="a", yerr=("y_err", "upper"), metrics="mean_error")
    plain = sb.mean_error(COLUMNS["y"], COLUMNS["a"], yerr=np.stack([COLUMNS["y_err"], COLUMNS["upper"]]))
    assert found["a", "mean_error"] == plain and found["mean_error"].std == plain.std


def test_errors_that_are_no_column():
    table = pandas_table()
    for yerr in (0.2, sb.Uniform(0.3), COLUMNS["y_err"], table["y_err"]):
        found = sb.evaluate(table, y="y", pred="a", yerr=yerr, metrics="mean_squared_error")
        assert found["mean_squared_error"] == sb.mean_squared_error(COLUMNS["y"], COLUMNS["a"], yerr=yerr)
    draws = sb.Empirical(COLUMNS["y"][:, None] + RNG.normal(0, 0.1, (N, 9)))
    found = sb.evaluate(table, pred="a", yerr=draws, metrics="mean_squared_error")
    assert found["mean_squared_error"] == sb.mean_squared_error(None, COLUMNS["a"], yerr=draws)


def test_predictions_as_a_table():
    table = arrow_table()
    assert sb.evaluate(COLUMNS["y"], table.select(["a", "b"]), metrics=METRICS).models == ["a", "b"]
    assert sb.evaluate(COLUMNS["y"], polars_table().select("a", "b"), metrics=METRICS).models == ["a", "b"]


def test_compare_and_check_errors():
    table, models = pandas_table(), {"a": COLUMNS["a"], "b": COLUMNS["b"]}
    plain = sb.compare(COLUMNS["y"], models, yerr=COLUMNS["y_err"])
    assert str(sb.compare(table, y="y", pred=["a", "b"], yerr="y_err")) == str(plain)
    plain = sb.check_errors(COLUMNS["y"], COLUMNS["a"], yerr=COLUMNS["y_err"])
    assert str(sb.check_errors(table, y="y", pred="a", yerr="y_err")) == str(plain)
    with pytest.raises(ValueError, match="check_errors takes the predictions of one model, got those of 2"):
        sb.check_errors(table, y="y", pred=["a", "b"], yerr="y_err")


# missing values ------------------------------------------------------------------------------------


def with_gaps():
    columns = {name: values.copy() for name, values in COLUMNS.items()}
    columns["a"][3] = columns["b"][5] = columns["y_err"][3] = columns["weight"][7] = np.nan
    columns["site"] = columns["site"].astype(object)
    columns["site"][9] = None
    return columns


KEPT = np.setdiff1d(np.arange(N), [3, 5, 7, 9])


def gap_tables():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    pandas = pandas_table(with_gaps())
    return [pandas, pandas.convert_dtypes(), pl.from_pandas(pandas), pa.Table.from_pandas(pandas), with_gaps()]


@pytest.mark.parametrize("kind", range(5), ids=["pandas", "nullable", "polars", "arrow", "mapping"])
def test_rows_with_missing_values_are_left_out_on_request(kind):
    names = {"y": "y", "pred": ["a", "b"], "sample_weight": "weight", "by": "site", "metrics": METRICS}
    for yerr in ("y_err", ("y_err", "upper"), sb.Normal(COLUMNS["upper"])):
        found = sb.evaluate(gap_tables()[kind], **names, yerr=yerr, nan_policy="omit")
        clean = {name: values[KEPT] for name, values in COLUMNS.items()}
        errors = sb.Normal(COLUMNS["upper"][KEPT]) if isinstance(yerr, sb.Normal) else yerr
        plain = sb.evaluate(clean, **names, yerr=errors)
        assert found.n == N - 4 and found.omitted == 4
        assert found.rows() == plain.rows()
        assert str(found).endswith("\n4 rows with missing values were left out")
        assert "4 rows with missing values were left out" in found.to_html()
        assert found.to_dict()["omitted"] == 4


def test_plain_arrays_with_gaps():
    y, p = COLUMNS["y"].copy(), np.ma.masked_array(COLUMNS["a"], np.arange(N) == 2)
    y[0] = np.nan
    yerr = np.stack([COLUMNS["y_err"], COLUMNS["upper"]])
    yerr[1, 4] = np.nan
    found = sb.evaluate(y, p, yerr=yerr, metrics="mean_squared_error", nan_policy="omit")
    keep = np.setdiff1d(np.arange(N), [0, 2, 4])
    plain = sb.mean_squared_error(y[keep], COLUMNS["a"][keep], yerr=yerr[:, keep])
    assert found["mean_squared_error"] == plain and found.omitted == 3
    comparison = sb.compare(y, {"a": p, "b": COLUMNS["b"]}, yerr=yerr, nan_policy="omit")
    assert comparison.omitted == 3 and "3 rows with missing values were left out" in str(comparison)
    check = sb.check_errors(y, p, yerr=yerr, nan_policy="omit")
    assert check.omitted == 3 and check.n == N - 3 and "3 rows with missing values were left out" in str(check)
    with pytest.raises(ValueError, match="repeats cannot be given where rows are left out"):
        sb.check_errors(y, p, yerr=yerr, nan_policy="omit", repeats=sb.Repeats(np.zeros((N, 2))))


def test_missing_values_are_named_by_their_row():
    table = pandas_table(with_gaps())
    with pytest.raises(
        ValueError,
        match=r"y_pred\['b'\] contains NaN or missing values: the first in row 'r5' \(position 5\), 1 in all",
    ):
        sb.evaluate(table, y="y", pred="b", yerr="upper")
    with pytest.raises(ValueError, match=r"yerr contains NaN or missing values: the first in row 'r3'"):
        sb.evaluate(table, y="y", pred="y", yerr=("y_err", "upper"))
    with pytest.raises(ValueError, match=r"by contains NaN or missing values: the first in row 9, 1 in all"):
        sb.evaluate(COLUMNS["y"], COLUMNS["a"], by=with_gaps()["site"])
    for name in ("mean_squared_error", "r2_score"):
        with pytest.raises(ValueError, match=r"y_pred contains NaN or missing values: the first in row 'r3'"):
            getattr(sb, name)(table["y"], table["a"])
        with pytest.raises(ValueError, match=r"y_pred contains NaN: the first is nan at index 3, 1 in all"):
            getattr(sb, name)(COLUMNS["y"], pytest.importorskip("polars").from_pandas(table)["a"])


def test_nullable_classes():
    pd = pytest.importorskip("pandas")
    y, p = [True, False, True, True], [True, True, True, False]
    for dtype in ("boolean", "Int64", "category", "bool[pyarrow]"):
        a, b = pd.Series(y).astype(dtype), pd.Series(p).astype(dtype)
        assert sb.accuracy_score(a, b, yerr=0.1) == sb.accuracy_score(y, p, yerr=0.1)
        a[2] = None if dtype == "category" else pd.NA
        with pytest.raises(ValueError, match=r"y_true contains NaN or missing values: the first in row 2"):
            sb.accuracy_score(a, b)
        found = sb.evaluate(a, b, task="classification", metrics="accuracy_score", nan_policy="omit")
        assert found["accuracy_score"].observed == pytest.approx(1 / 3) and found.omitted == 1


# rows that belong together -------------------------------------------------------------------------

SHUFFLED = [
    lambda a, b, c: sb.mean_absolute_error(a, b),
    lambda a, b, c: sb.mean_absolute_error(a, a, yerr=b),
    lambda a, b, c: sb.mean_absolute_error(a, a.to_numpy(), yerr=a.to_numpy(), sample_weight=b),
    lambda a, b, c: sb.pearson_correlation(a, b),
    lambda a, b, c: sb.reduced_chi_squared(a, a, yerr=b),
    lambda a, b, c: sb.accuracy_score(c, b > 0),
    lambda a, b, c: sb.accuracy_score(c, c, yerr=b),
    lambda a, b, c: sb.f1_score(c, c, yerr=b),
    lambda a, b, c: sb.confusion_matrix(c, c, sample_weight=b),
    lambda a, b, c: sb.log_loss(c, b),
    lambda a, b, c: sb.brier_score_loss(c, b),
    lambda a, b, c: sb.roc_auc_score(c, b),
    lambda a, b, c: sb.average_precision_score(c, b),
    lambda a, b, c: sb.top_k_accuracy_score(c, b, k=1),
    lambda a, b, c: sb.evaluate(a, b),
    lambda a, b, c: sb.evaluate(a, {"first": a, "second": b}),
    lambda a, b, c: sb.evaluate(a, a, by=b),
    lambda a, b, c: sb.compare(a, {"first": a, "second": b}),
    lambda a, b, c: sb.check_errors(a, b, yerr=0.1),
]


@pytest.mark.parametrize("call", SHUFFLED)
def test_misaligned_rows_are_refused(call):
    pd = pytest.importorskip("pandas")
    a = pd.Series([0.1, 0.2, 0.3, 0.4], index=list("wxyz"))
    b = a.loc[list("wyxz")]
    with pytest.raises(
        ValueError,
        match=r"have different row labels: the first is 'x' in .* but 'y' in .* at row 1, 2 in all. Nothing is realigned",
    ):
        call(a, b, a > 0.2)


def test_aligned_rows_are_taken():
    pd = pytest.importorskip("pandas")
    a = pd.Series([0.1, 0.2, 0.4], index=[5, 3, 1])
    plain = sb.mean_absolute_error([0.1, 0.2, 0.4], [0.2, 0.2, 0.2], yerr=0.1)
    assert sb.mean_absolute_error(a, pd.Series([0.2, 0.2, 0.2], index=[5.0, 3.0, 1.0]), yerr=0.1) == plain
    assert sb.mean_absolute_error(a, [0.2, 0.2, 0.2], yerr=a * 0 + 0.1) == plain


# bad input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": "Y_", "pred": "a"}, r"y names a column 'Y_' that the table does not have. Near matches: 'y'"),
        ({"y": "y", "pred": ["a", "c"]}, r"pred\[1\] names a column 'c' .* The columns are: 'y', 'y_err'"),
        ({"y": "y", "pred": "a", "yerr": "yerr"}, r"yerr names a column 'yerr' .* Near matches: 'y_err'"),
        (
            {"y": "y", "pred": "a", "yerr": ("y_err", "uper")},
            r"yerr\[1\] names a column 'uper' .* Near matches: 'upper'",
        ),
        ({"y": "y", "pred": "a", "by": "sites"}, r"by names a column 'sites' .* Near matches: 'site'"),
        ({"y": "y"}, "pred is missing: name the column"),
        ({"y": "y", "pred": []}, "pred is empty: name the columns"),
        ({"pred": "a"}, "y is missing: name the column that holds the labels"),
        ({"y": "y", "pred": "a", "y_pred": COLUMNS["a"]}, "give predictions either as y_pred or, for a table"),
        ({}, "y_pred is missing: give predictions, or name the columns of a table"),
        ({"y": "y", "pred": "a", "nan_policy": "drop"}, "nan_policy must be 'raise' or 'omit', got 'drop'"),
    ],
)
def test_bad_names(options, message):
    with pytest.raises(ValueError, match=message):
        sb.evaluate(pandas_table(), **options)


def test_bad_tables():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="the first argument is a list, not a table"):
        sb.evaluate([1.0, 2.0], y="y", pred="a")
    twice = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["y", "a", "a"])
    with pytest.raises(ValueError, match=r"pred\[0\] names a column 'a' that occurs 2 times"):
        sb.evaluate(twice, y="y", pred="a")
    with pytest.raises(ValueError, match="every one of the 3 rows misses a value"):
        sb.evaluate([np.nan] * 3, [1.0, 2.0, 3.0], nan_policy="omit")
    with pytest.raises(ValueError, match=r"yerr and y_true have inconsistent numbers of samples: 2 and 3"):
        sb.evaluate([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], yerr=[0.1, 0.2], nan_policy="omit")
