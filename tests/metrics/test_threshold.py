"""The accuracy of probabilities, judged at a threshold."""

import numpy as np
import pytest

import scorebars as sb

RNG = np.random.default_rng(43)
Y = RNG.integers(0, 2, 60)
PROBABILITY = np.clip(Y * 0.4 + 0.6 * RNG.random(60), 0, 1)


@pytest.mark.parametrize("names", [[0, 1], [-1, 1], [3, 7], ["ill", "well"], [False, True]], ids=str)
@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.81])
def test_the_larger_class_is_predicted_from_the_threshold_on(names, threshold):
    y, predicted = np.array(names)[Y], np.array(names)[(threshold <= PROBABILITY).astype(int)]
    probable, plain = (
        sb.accuracy_score(y, PROBABILITY, yerr=0.1, threshold=threshold),
        sb.accuracy_score(y, predicted, yerr=0.1),
    )
    assert (probable.observed, probable.expected, probable.std) == (plain.observed, plain.expected, plain.std)
    assert probable.truth == plain.truth


def test_a_probability_at_the_threshold_predicts_the_larger_class():
    assert sb.accuracy_score([1, 0], [0.5, 0.4999], threshold=0.5).observed == 1.0


def test_labels_of_one_class_have_another_one():
    assert sb.accuracy_score([1, 1], [0.2, 0.9], threshold=0.5).observed == 0.5


def test_labels_that_the_error_model_holds():
    votes = sb.Votes([[3, 0], [1, 2]], labels=["cat", "dog"])
    assert sb.accuracy_score(None, [0.1, 0.9], yerr=votes, threshold=0.5).observed == 1.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"threshold": 2}, "threshold must be a probability"),
        ({"y_pred": [2.0, 3.0, 0.1]}, r"y_pred has values outside \[0, 1\].*probability of the larger"),
        ({"y_true": [0, 1, 2]}, "threshold is for two classes, but there are 3: 0, 1, 2"),
        ({"y_pred": [0.1, 0.2]}, "3 and 2"),
        ({"y_pred": [[0.1, 0.9]] * 3}, "y_pred"),
    ],
)
def test_what_cannot_be_thresholded_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        sb.accuracy_score(**({"y_true": [0, 1, 1], "y_pred": [0.1, 0.9, 0.4], "threshold": 0.5} | change))
