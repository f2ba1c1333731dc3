"""The sums as their definitions say, in mpmath with 40 digits: slow, and not by the engines' formulas."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np

DIGITS = 40


def normal_tail(z: mp.mpf) -> mp.mpf:
    return mp.erfc(z / mp.sqrt(2)) / 2


def g(z: mp.mpf) -> mp.mpf:
    return 2 * (mp.npdf(z) - z * normal_tail(z))


def within_probability(d: mp.mpf, s: mp.mpf, tolerance: mp.mpf) -> mp.mpf:
    if s == 0:
        return mp.mpf(1 if abs(d) <= tolerance else 0)
    return mp.ncdf((tolerance - d) / s) - mp.ncdf((-tolerance - d) / s)


def defined_sums(
    y: Any, p: Any, sigma: Any, weight: Any = None, tolerance: float = 0.5, y_shift: float = 0.0
) -> dict[str, mp.mpf]:
    """Every number of a NormalSums with scale 1, as mpmath numbers."""
    n = len(y)
    sigma = np.broadcast_to(np.asarray(sigma, dtype=float), n)
    weight = np.ones(n) if weight is None else weight
    rows = []
    with mp.workdps(DIGITS):
        for values in zip(y, p, sigma, weight, strict=True):
            yi, pi, s, w = (mp.mpf(float(value)) for value in values)
            d, c = pi - yi, yi - mp.mpf(y_shift)
            a, var = abs(d), s * s
            fold = s * g(a / s) if s else mp.mpf(0)
            foldvar = var + d * d - (a + fold) ** 2
            chance = within_probability(d, s, mp.mpf(tolerance))
            rows.append(
                {
                    "w": w,
                    "w2": w**2,
                    "d": w * d,
                    "abs": w * a,
                    "sq": w * d**2,
                    "var": w * var,
                    "fold": w * fold,
                    "d_w2": w**2 * d,
                    "sq_w2": w**2 * d**2,
                    "fourth_w2": w**2 * d**4,
                    "expabs_w2": w**2 * (a + fold),
                    "var_w2": w**2 * var,
                    "var2_w2": w**2 * var**2,
                    "sqvar_w2": w**2 * d**2 * var,
                    "foldvar_w2": w**2 * foldvar,
                    "within": w * (a <= tolerance),
                    "within_p": w * chance,
                    "within_var_w2": w**2 * chance * (1 - chance),
                    "y1": w * c,
                    "y2": w * c**2,
                    "d_var_w2": w**2 * d * var,
                    "y_var_w2": w**2 * c * var,
                    "y2_var_w2": w**2 * c**2 * var,
                    "y_d_var_w2": w**2 * c * d * var,
                    "loss2_sq": w**2 * (d**2 + var) ** 2,
                    "lossw_sq": w**2 * (d**2 + var),
                    "loss2_abs": w**2 * (a + fold) ** 2,
                }
            )
        return {name: mp.fsum(row[name] for row in rows) for name in rows[0]}
