"""A quote that is not closed swallows rows in every reader of text files: it is found before, in the whole file and in pieces."""

import csv
import gzip
import io
import random

import pytest

import scorebars as sb
from scorebars.files.quotes import quotes_of

ROWS = [f"{i},{i + 0.5},note {i}" for i in range(1, 2001)]
WAYS = {"whole": {}, "in pieces": {"y": "y", "pred": "pred_a"}, "omitting": {"nan_policy": "omit"}}


def text(rows):
    return "\n".join(["y,pred_a,note", *rows, ""])


def with_note(note, at=1500):
    return [*ROWS[:at], f"{at + 1},{at + 1.5},{note}", *ROWS[at + 1 :]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("note", ['"open', '"open "inside', '"'])
def test_an_open_quote_is_refused(way, note, tmp_path):
    path = tmp_path / "a.csv"
    for rows in (with_note(note), [*with_note(note)[:1700], *with_note(note)[1500:1501], *ROWS[1700:]]):
        path.write_text(text(rows))
        if note == '"open "inside':  # closed in its line: a letter too many, but no row is lost
            assert sb.evaluate(path, metrics="mean_error", **WAYS[way]).n == len(rows)
            continue
        with pytest.raises(ValueError, match=r"line 1502 of a\.csv opens a quote that is not closed.*write it twice"):
            sb.evaluate(path, metrics="mean_error", **WAYS[way])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize("way", WAYS)
def test_cells_of_several_lines_are_one_cell(way, encoding, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(text(with_note('"é: two\nlines, and ""more"""')).encode(encoding))
    if (way, encoding) == ("in pieces", "utf-16"):  # pyarrow does not take these, and says so
        with pytest.raises(ValueError, match="cannot be read"):
            sb.evaluate(path, metrics="mean_error", **WAYS[way])
    else:
        assert sb.evaluate(path, metrics="mean_error", **WAYS[way]).n == len(ROWS)
    path.write_bytes(text(with_note('"é: two\nlines')).encode(encoding))
    with pytest.raises(ValueError, match="line 1502 of"):
        sb.evaluate(path, metrics="mean_error", **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_several_lines_where_blocks_meet(way, tmp_path):
    """Pieces of a megabyte end inside such cells."""
    rows = [f'{i},{i + 0.5},"{"line" * 30}\n{"line" * 30}"' for i in range(10_000)]
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(text(rows).encode(), 1))
    found = sb.evaluate(path, metrics="mean_error", **WAYS[way])
    assert found.n == len(rows) and [float(score) for score in found.scores.values()] == [0.5]


def test_comments_between_the_rows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(text([*ROWS[:5], "# a comment", *with_note('"open')[5:]]))
    with pytest.raises(ValueError, match=r"a\.csv cannot be read"):
        sb.evaluate(path, metrics="mean_error")


@pytest.mark.parametrize("seed", range(20))
def test_valid_texts_are_taken(seed):
    """What the csv module takes when it is strict is not refused, and blocks change nothing."""
    rng = random.Random(seed)
    pieces = ["a", '"', '""', ",", "\n", "\r\n", '"x"', ',"', '",', '"two\nlines"']
    for _ in range(200):
        given = "".join(rng.choices(pieces, k=rng.randrange(1, 14)))
        found = quotes_of([given.encode()], ",", 99)
        size = rng.randrange(1, 5)
        assert found == quotes_of([given.encode()[k : k + size] for k in range(0, len(given), size)], ",", 99)
        try:
            rows = list(csv.reader(io.StringIO(given, newline=""), strict=True))
        except csv.Error:
            continue
        assert found.open_in is None, given
        assert found.over_lines == any("\n" in cell for row in rows for cell in row), given
