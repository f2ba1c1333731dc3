"""Does `truth` tell the truth? Nuclear masses measured twice.

The masses of AME2003 have quoted errors; AME2020 measured the same nuclei far better. The score against the truth, found
from the AME2003 labels alone, is compared with the score on the AME2020 labels.

`truth` rests on two things: that the quoted errors are right, and that the model did not learn from these very labels. The
later labels let us see both: how much the labels really moved, and whether a model's error goes along with the label's.
"""

from dataclasses import dataclass

import numpy as np

import scorebars as sb


@dataclass(frozen=True)
class Checked:
    """One model: its score on the old labels, on the new ones, and how its error goes along with the old labels' error."""

    score: sb.Score
    later: float
    shared: float
    shared_std: float


def main() -> dict[str, Checked]:
    masses = sb.datasets.load_nuclear_masses()
    later, later_error = masses.columns["y_later"], masses.columns["y_later_err"]
    both = np.isfinite(later)
    moved = (masses.y - later)[both]
    quoted = float(np.mean(masses.yerr[both] ** 2 + np.nan_to_num(later_error[both]) ** 2))
    print(f"{both.sum()} nuclei in both evaluations; mean squared error in MeV^2\n")
    print(
        f"{'model':>10}  {'observed 2003':>13}  {'truth from 2003':>40}  {'on 2020 labels':>14}  {'error shared with label':>23}"
    )
    found = {}
    for name, prediction in masses.predictions.items():
        s = sb.mean_squared_error(masses.y[both], prediction[both], yerr=masses.yerr[both])
        better = sb.mean_squared_error(later[both], prediction[both]).observed
        product = moved * (prediction - later)[both]
        shared, std = float(product.mean()), float(product.std() / np.sqrt(len(product)))
        print(f"{name:>10}  {s.observed:13.4f}  {s.truth!s:>40}  {better:14.4f}  {shared:14.4f} ± {std:.4f}")
        found[name] = Checked(s, better, shared, std)
    print(
        f"\nThe labels moved by a mean square of {np.mean(moved**2):.4f}, the quoted errors of both evaluations make {quoted:.4f}:\n"
        "the AME2003 errors are somewhat too small, so `truth` takes off too little where nothing else interferes (HFB24,\n"
        "HFB26). Where a model's error goes along with the label's error, the model has learned from these measurements: its\n"
        "residuals are smaller than its errors, and `truth` is too small. WS3_RBF was fitted to AME2003 and shows it most; DZ28,\n"
        "fitted to an earlier evaluation of largely the same measurements, shows it too. No formula can mend labels shared with\n"
        "training: hold test labels back."
    )
    return found


if __name__ == "__main__":
    main()
