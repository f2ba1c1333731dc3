"""Tables 1 and 2 of Michelucci & Venturini (arXiv:2209.15588), as numbers: what its formulas give, and what is right.

The labels are the measured logP values of SAMPL7 and the predictions of one model (regression), and 100 labels of which 85
are predicted right and 5 % are wrong (the paper's worked example). Printed formulas that are misprinted give other numbers;
docs/theory/errata.md tells why.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erf, erfc

import scorebars as sb


def printed_formulas(d: np.ndarray, s: np.ndarray, a: float, q: float) -> dict[str, tuple[float, float]]:
    """Expected value and variance of each metric by the formulas as they stand in the paper's tables."""
    m = len(d)
    mse = np.mean(d**2 + s**2), 2 / m**2 * np.sum(s**4) + 4 / m**2 * np.sum(d**2 * s**2)
    bump = np.sqrt(2 / np.pi) * np.exp(-(d**2) / (2 * s**2))
    mae = np.mean(np.abs(d) + s * bump - np.abs(d) * erfc(np.sign(d) / np.sqrt(2)))  # |d| / (sqrt2 d) is its sign
    mae_variance = np.sum(d**2 + s**2 - d * bump - d * erf(d / (np.sqrt(2) * s))) / m**2
    return {"MSE": mse, "MAE": (mae, mae_variance), "accuracy": (a + q * (1 - 2 * a), q * (1 - q))}


def main() -> dict[str, tuple[float, float, float, float]]:
    """Print both tables; return printed and right expected values and variances by metric."""
    logp = sb.datasets.load_sampl7_logp()
    y, yerr, p = logp.y, logp.yerr, logp.predictions["Chemprop"]
    labels, predicted = np.ones(100, dtype=int), (np.arange(100) < 85).astype(int)
    scores = {
        "MSE": sb.mean_squared_error(y, p, yerr=yerr),
        "MAE": sb.mean_absolute_error(y, p, yerr=yerr),
        "accuracy": sb.accuracy_score(labels, predicted, yerr=0.05),
    }
    printed = printed_formulas(y - p, np.broadcast_to(yerr, y.shape), 0.85, 0.05)
    rows = {name: (*printed[name], score.expected, score.variance) for name, score in scores.items()}
    for title, at in (("Table 1: expected values", 0), ("Table 2: variances", 1)):
        print(f"{title}\n{'':10}{'as printed':>14}{'right':>14}")
        for name, row in rows.items():
            print(f"{name:10}{row[at]:14.6f}{row[at + 2]:14.6f}")
        print()
    print("The questions that the paper does not ask (docs/start/questions.md):")
    for name, score in scores.items():
        print(f"{name:10}observed {score.observed:.4f}   against the truth {score.truth:.4f}")
    return rows


if __name__ == "__main__":
    main()
