"""Files of different types: no number is rounded to the type of the first file, and what cannot be read is said."""

import numpy as np
import pytest

import scorebars as sb

pa = pytest.importorskip("pyarrow")
pads = pytest.importorskip("pyarrow.dataset")
import pyarrow.csv as pacsv  # noqa: E402
import pyarrow.feather as pafeather  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

EXACT = 1.0 + 2.0**-40
"""Not a number of single precision."""


def observed(data, **options):
    return sb.evaluate(data, y="y", pred="p", metrics="mean_error", **options)["mean_error"].observed


def write(folder, *tables, ending="parquet"):
    for k, table in enumerate(tables):
        path = str(folder / f"{k}.{ending}")
        pq.write_table(table, path) if ending == "parquet" else pafeather.write_feather(table, path)
    return folder


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize("first", [np.float32, np.int32, np.int64, np.uint8])
def test_no_file_is_rounded_to_the_type_of_the_first(tmp_path, ending, first):
    tables = (
        pa.table({"y": np.zeros(1, first), "p": np.zeros(1)}),
        pa.table({"y": np.zeros(1), "p": [EXACT]}),
        pa.table({"y": np.array([EXACT]), "p": np.zeros(1, first)}),
    )
    folder = write(tmp_path, *tables, ending=ending)
    for data in (folder, pads.dataset(folder, format=ending)):
        assert sb.evaluate(data, y="y", pred="p", metrics="mean_squared_error")["mean_squared_error"].observed == (
            pytest.approx(2 * EXACT**2 / 3, rel=1e-15)
        )


def test_a_filtered_dataset_says_that_it_would_round(tmp_path):
    single = pa.schema({"y": pa.float32(), "p": pa.float64()})
    folder = write(tmp_path, pa.table({"y": [0.0], "p": [0.0]}, schema=single), pa.table({"y": [EXACT], "p": [0.0]}))
    keep = pads.field("p") < 1
    with pytest.raises(ValueError, match=r"column 'y' is of type float in the first file, but holds double in others"):
        observed(pads.dataset(folder).filter(keep))
    union = pads.dataset([pads.dataset(folder / "0.parquet"), pads.dataset(folder / "1.parquet", schema=single)])
    assert observed(union) == -EXACT / 2
    with pytest.raises(ValueError, match="column 'y' is of type float in the first file, but holds double in others"):
        observed(union.filter(keep))
    wide = pads.dataset(folder, schema=pa.schema({"y": pa.float64(), "p": pa.float64()}))
    assert observed(wide.filter(keep)) == -EXACT / 2


def csv(folder, *texts):
    for k, text in enumerate(texts):
        (folder / f"{k}.csv").write_text(text)
    return folder


def test_whole_numbers_first_in_csv(tmp_path):
    folder = csv(tmp_path, "y,p\n1,2\n", "y,p\n1.5,2\n")
    assert observed(folder) == 0.75
    long = "y,p\n" + "1,2\n" * 500_000 + "1.5,2.25\n"  # beyond the block by which types are guessed
    (tmp_path / "long.csv").write_text(long)
    assert observed(tmp_path / "long.csv") == pytest.approx((500_000 + 0.75) / 500_001, rel=1e-15)


def test_texts_in_a_column_of_numbers(tmp_path):
    folder = csv(tmp_path, "y,p\n1,2\n", "y,p\nbad,2\n")
    with pytest.raises(ValueError, match=r"column 'y' is of type string in .*1\.csv, but of type int64 before"):
        observed(folder)
    (tmp_path / "long.csv").write_text("y,p\n" + "1,2\n" * 500_000 + "bad,2\n")
    with pytest.raises(ValueError, match=r"long\.csv cannot be read: .*'bad'.*'y' as double.*correct the file"):
        observed(tmp_path / "long.csv")


def test_classes_of_whole_numbers_keep_their_type(tmp_path):
    folder = csv(tmp_path, "y,p,q\n1,2,0\n", "y,p,q\n2,2,0.25\n")
    found = sb.evaluate(folder, y="y", pred="p", yerr="q", metrics="accuracy_score")["accuracy_score"]
    assert found.to_dict() == sb.accuracy_score([1, 2], [2, 2], yerr=[0, 0.25]).to_dict()


def test_texts_by_value_and_by_code(tmp_path):
    words = pa.array(["a", "b"])
    folder = write(
        tmp_path,
        pa.table({"y": words.dictionary_encode(), "p": words}),
        pa.table({"y": words, "p": words.cast("large_string")}),
    )
    assert sb.evaluate(folder, y="y", pred="p").metrics[0] == "accuracy_score"
    assert sb.evaluate(folder, y="y", pred="p")["accuracy_score"] == 1.0


def test_a_text_whose_numbers_are_whole_at_first(tmp_path):
    """The type of a column is not that of its first rows, also where these tell whether labels are classes."""
    y = np.append(np.zeros(100_000), 0.5)
    pacsv.write_csv(pa.table({"y": y, "p": y + 1}), tmp_path / "t.csv")
    found = sb.evaluate(tmp_path / "t.csv", y="y", pred="p")
    assert found["mean_error"].observed == 1
    assert found.n == len(y)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_rows_that_miss_a_value_are_left_out(tmp_path, ending):
    table = pa.table({"y": [0.0, None, 2.0, np.nan], "p": [1.0, 2.0, 3.0, 4.0]})
    path = tmp_path / f"t.{ending}"
    pq.write_table(table, path) if ending == "parquet" else pacsv.write_csv(table, path)
    found = sb.evaluate(path, y="y", pred="p", metrics="mean_error", nan_policy="omit")
    assert (found.n, found.omitted, found["mean_error"].observed) == (2, 2, 1)
    with pytest.raises(ValueError, match=r"column 'y' has missing values: the first in row 1 of .*nan_policy='omit'"):
        sb.evaluate(path, y="y", pred="p")
    with pytest.raises(ValueError, match=r"'p' contains infinity: the first is inf in row 3 of the dataset \(row 3"):
        table = pa.table({"y": [0.0, None, 2.0, 3.0], "p": [1.0, 2.0, 3.0, np.inf]})
        pq.write_table(table, path) if ending == "parquet" else pacsv.write_csv(table, path)
        sb.evaluate(path, y="y", pred="p", metrics="mean_error", nan_policy="omit")
    with pytest.raises(ValueError, match="every one of the 2 rows misses a value"):
        sb.evaluate(pads.dataset(pa.table({"y": [None, 1.0], "p": [1.0, None]})), y="y", pred="p", nan_policy="omit")
    with pytest.raises(ValueError, match="nan_policy must be 'raise' or 'omit', got 'skip'"):
        sb.evaluate(path, y="y", pred="p", nan_policy="skip")
