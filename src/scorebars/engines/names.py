"""The numbers that one pass gives, in the order in which the engines return them.

For each: the power of the label unit and of the weight unit that it carries. Label i has the difference
d = prediction - label, the error s, the weight w, z = |d|/s and c = label - reference; Z is standard normal,
g(z) = E|Z + z| - z and P = P(|d + s Z| <= tolerance).
"""

from __future__ import annotations

from typing import NamedTuple


class Units(NamedTuple):
    label: int
    weight: int


SUMS: dict[str, Units] = {
    "w": Units(0, 1),  # w
    "w2": Units(0, 2),  # w^2
    "d": Units(1, 1),  # w d
    "abs": Units(1, 1),  # w |d|
    "sq": Units(2, 1),  # w d^2
    "var": Units(2, 1),  # w s^2
    "fold": Units(1, 1),  # w s g(z)
    "d_w2": Units(1, 2),  # w^2 d
    "sq_w2": Units(2, 2),  # w^2 d^2
    "fourth_w2": Units(4, 2),  # w^2 d^4
    "expabs_w2": Units(1, 2),  # w^2 (|d| + s g(z))
    "var_w2": Units(2, 2),  # w^2 s^2
    "var2_w2": Units(4, 2),  # w^2 s^4
    "sqvar_w2": Units(4, 2),  # w^2 d^2 s^2
    "foldvar_w2": Units(2, 2),  # w^2 Var|d + s Z|
    "within": Units(0, 1),  # w 1[|d| <= tolerance]
    "within_p": Units(0, 1),  # w P
    "within_var_w2": Units(0, 2),  # w^2 P (1 - P)
    "y1": Units(1, 1),  # w c
    "y2": Units(2, 1),  # w c^2
    "d_var_w2": Units(3, 2),  # w^2 d s^2
    "y_var_w2": Units(3, 2),  # w^2 c s^2
    "y2_var_w2": Units(4, 2),  # w^2 c^2 s^2
    "y_d_var_w2": Units(4, 2),  # w^2 c d s^2
}

# Over the labels of positive weight.
LARGEST: dict[str, Units] = {
    "max_abs_d": Units(1, 0),
    "max_sigma": Units(1, 0),
    "max_weight": Units(0, 1),
    "max_abs_y": Units(1, 0),  # of |c|
}

# Over all labels: negative ones are not allowed, so these only serve to find them.
SMALLEST: tuple[str, ...] = ("min_sigma", "min_weight")

NAMES: tuple[str, ...] = (*SUMS, *LARGEST, *SMALLEST)

TOLERANCE_SUMS: tuple[str, ...] = ("within", "within_p", "within_var_w2")
LABEL_SUMS: tuple[str, ...] = ("y1", "y2", "d_var_w2", "y_var_w2", "y2_var_w2", "y_d_var_w2")
