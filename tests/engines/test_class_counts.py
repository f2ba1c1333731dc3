"""Which classes occur in labels and predictions."""

import numpy as np
import pytest

from scorebars.arrays import classes_in

RNG = np.random.default_rng(3)


@pytest.mark.parametrize(
    "parts",
    [
        (np.array([3, 1, 1]), np.array([7, 3, 3])),
        (np.array([True, True]), np.array([True, True])),
        (np.array([True, False]), np.array([True, True])),
        (np.array([-128, 127], np.int8), np.array([0, 5], np.int8)),
        (np.array([-1, 4]), np.array([2, 255], np.uint8)),
        (np.array([2**63 + 5, 2**63 + 6], np.uint64), np.array([2**63 + 6], np.uint64)),
        (np.array([0, 10**12]), np.array([5, 5])),
        (np.array([-(2**63), -(2**63) + 2]), np.array([-(2**63)])),
        (np.array([2**63 - 1, 2**63 - 1]), np.array([2**63 - 2])),
        (np.array([0, 1, 1, 0]), np.array([1, 1, 1, 1], np.uint8)),
        (np.array([4, 4], np.int8), np.array([4, 4], np.int8)),
        (np.array(["b", "a"]), np.array(["ccc", "a"])),
        (np.array([1.0, 0.0]), np.array([2, 1])),
        (RNG.integers(-500, 500, 3000), RNG.integers(-500, 500, 3000)),
    ],
    ids=lambda parts: f"{parts[0].dtype} {parts[0][0]}",
)
def test_the_classes_that_occur(parts):
    found, expected = classes_in(*parts), np.union1d(*parts)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)
