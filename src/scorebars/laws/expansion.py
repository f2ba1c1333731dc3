"""Mean and standard deviation of roots and ratios of sums over very many labels, from the engine's sums alone.

Expanded about the means of the sums. The first terms left out hold the squared relative variance of a sum, 3 v^2, and its
relative third cumulant, at most 6 v times the share of the largest label. Where both are below `NEGLIGIBLE` (from about
1e5 labels on, none of which dominates) the expansion stands in for the law, whose moments cost far more than the pass:

    E sqrt(Q)  = sqrt(q) (1 - v / 8),               std = sqrt(q v) / 2,              v = Var Q / q^2
    E (A / B)  = (a / b) (1 + v_b - c),             std = (a / b) sqrt(v_a + v_b - 2 c),

with v_a, v_b the relative variances and c the relative covariance of A and B.
"""

from __future__ import annotations

import math

from scorebars.engines.sums import NormalSums

NEGLIGIBLE = 1e-8


def root_moments(sums: NormalSums) -> tuple[float, float] | None:
    """Mean and std of the root mean squared error; None where an expansion would not do."""
    if sums.scale != 1.0 or sums.weight_scale != 1.0:
        return None
    mean = sums.sq + sums.var
    spread = (2.0 * sums.var2_w2 + 4.0 * sums.sqvar_w2) / mean**2 if mean > 0 else 0.0
    if not _negligible(spread, sums, mean):
        return None
    root = math.sqrt(mean / sums.w)
    return root * (1.0 - spread / 8.0), 0.5 * root * math.sqrt(spread)


def explained_moments(sums: NormalSums, centred: bool) -> tuple[float, float, float] | None:
    """Observed value, mean and std of R2, or with `centred` of the explained variance; None where it would not do.

    `sums` hold those of the labels. For R2 A = sum w (y - p)^2, else about its mean, and B = sum w (y - mean y)^2.
    """
    if sums.scale != 1.0 or sums.weight_scale != 1.0:
        return None
    s, centre = sums, sums.y1 / sums.w
    offset = s.d / s.w if centred else 0.0
    lost, total = s.sq - offset * s.d, s.y2 - centre * s.y1
    about_mean = s.var - s.var_w2 / s.w
    a, b = lost + (about_mean if centred else s.var), total + about_mean
    if not (a > 0 and total > 0):
        return None
    own = 2.0 * s.var2_w2
    of_a = own + 4.0 * (s.sqvar_w2 - 2.0 * offset * s.d_var_w2 + offset**2 * s.var_w2)
    of_b = own + 4.0 * (s.y2_var_w2 - 2.0 * centre * s.y_var_w2 + centre**2 * s.var_w2)
    cross = s.y_d_var_w2 - centre * s.d_var_w2 - offset * (s.y_var_w2 - centre * s.var_w2)
    joint = (own - 4.0 * cross) / (a * b)  # labels that rise bring p - y down
    of_a, of_b = of_a / a**2, of_b / b**2
    if not _negligible(max(of_a, of_b), sums, min(a, b)):
        return None
    std = a / b * math.sqrt(max(of_a + of_b - 2.0 * joint, 0.0))
    return 1.0 - lost / total, 1.0 - a / b * (1.0 + of_b - joint), std


def _negligible(spread: float, sums: NormalSums, mean: float) -> bool:
    """Whether the terms left out can be: `spread` is a relative variance, `mean` the smallest sum."""
    largest = sums.max_weight * sums.max_sigma**2 / mean if mean > 0 else math.inf
    return max(3.0 * spread, 6.0 * largest) * spread < NEGLIGIBLE
