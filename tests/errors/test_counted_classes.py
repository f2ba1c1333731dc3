"""Counts of checked labels that are not what they should be."""

import numpy as np
import pytest

import scorebars as sb


@pytest.mark.parametrize("pair", [3, (1, 2, 3), [[1, 2]]])
def test_a_class_has_two_counts(pair):
    with pytest.raises(ValueError, match=r"counts\['sick'\] must be \(wrong, checked\)"):
        sb.ClassFlip.from_counts({"sick": pair, "well": (1, 20)})


@pytest.mark.parametrize("matrix", [[1, 2, 3], [[1, 2, 3], [4, 5, 6]], [[]]])
def test_counts_of_classes_are_square(matrix):
    with pytest.raises(ValueError, match="matrix must be square"):
        sb.Transition.from_counts(matrix, labels=["cat", "dog"])


def test_a_matrix_of_set_points_is_uncertain_by_its_counted_rates_too():
    """Berkson error: rates from fewer checks leave more room in every cell."""
    labels, predictions = np.repeat(["cat", "dog"], 30), np.tile(["cat", "dog", "cat"], 20)
    stds = [
        sb.confusion_matrix(
            labels, predictions, yerr=sb.Transition.from_counts(counts, ["cat", "dog"], kind="berkson")
        ).truth.std
        for counts in ([[9, 1], [2, 8]], [[900, 100], [200, 800]])
    ]
    assert np.all(stds[0] > 1.2 * stds[1])


def test_limits_change_their_unit_with_their_errors():
    limits = sb.Censored([1.0, -np.inf], [1.0, 0.5], sigma=0.2).scaled(10.0)
    assert limits.sigma == pytest.approx(2.0)
    assert limits.upper.tolist() == [10.0, 5.0]


def _tables():
    pd = pytest.importorskip("pandas")
    swapped = pd.DataFrame([[5, 1], [2, 9]], index=["a", "b"], columns=["b", "a"])
    shares = swapped.div(swapped.sum(axis=1), axis=0)
    return {
        "counts": (lambda: sb.Transition.from_counts(swapped, ["a", "b"]), "matrix has columns in the order b, a"),
        "rows": (lambda: sb.Transition.from_counts(swapped.T, ["a", "b"]), "matrix has rows in the order b, a"),
        "matrix": (lambda: sb.Transition(shares, ["a", "b"]), "matrix has columns in the order b, a"),
        "p": (lambda: sb.LabelProbabilities(shares, ["a", "b"]), "p has columns in the order b, a"),
        "votes": (lambda: sb.Votes(swapped, ["a", "b"]), "counts has columns in the order b, a"),
    }


@pytest.mark.parametrize("name", ["counts", "rows", "matrix", "p", "votes"])
def test_tables_whose_classes_are_in_another_order(name):
    make, message = _tables()[name]
    with pytest.raises(ValueError, match=f"{message}, but labels names a, b. Nothing is realigned"):
        make()


def test_tables_whose_classes_are_in_order_or_have_other_names():
    pd = pytest.importorskip("pandas")
    counts = [[5, 1], [2, 9]]
    for names in (["a", "b"], ["first", "second"]):
        found = sb.Transition.from_counts(pd.DataFrame(counts, index=names, columns=names), ["a", "b"])
        assert found.matrix == pytest.approx(sb.Transition.from_counts(counts, ["a", "b"]).matrix)
