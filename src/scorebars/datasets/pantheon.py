"""Supernova distances: labels with a full covariance matrix."""

from __future__ import annotations

from .container import Array, Dataset, numbers, predictions_of, read_matrix, read_rows, texts


def load_pantheon(*, binned: bool = True) -> Dataset:
    """Which cosmology fits the supernova distances, when the errors are correlated?

    Pantheon type Ia supernovae: apparent magnitudes and five cosmologies computed for this collection. Column `z` is
    the redshift. Two versions:

    - `binned=True`: 40 redshift bins. `yerr` is the total error; columns `cov_total` (40, 40), `cov_sys` (40, 40) and
      `yerr_stat`, with cov_total = cov_sys + diag(yerr_stat^2). Off the diagonal everything is systematic.
    - `binned=False`: 1048 supernovae with statistical errors only. A boundary case: the mean squared error of the
      labels (0.02109) is larger than the MSE of the best models (0.0204), so the estimated MSE against the truth is
      negative. The stated errors hold a part for intrinsic scatter, and the cosmologies were fitted to these data.

    >>> import numpy as np
    >>> from scorebars.datasets import load_pantheon
    >>> supernovae = load_pantheon()
    >>> d = supernovae.y - supernovae.predictions["LCDM_Om0.298"]
    >>> chi2_total = d @ np.linalg.solve(supernovae.columns["cov_total"], d)
    >>> chi2_stat = ((d / supernovae.columns["yerr_stat"]) ** 2).sum()
    >>> float(chi2_total.round(2)), float(chi2_stat.round(2))
    (39.31, 50.94)
    """
    rows = read_rows("pantheon", "binned40.csv" if binned else "unbinned1048.csv")
    columns: dict[str, Array] = {"z": numbers(rows, "z")}
    if binned:
        columns["yerr_stat"] = numbers(rows, "y_err_stat")
        columns["cov_total"] = read_matrix("pantheon", "binned40_cov_total.csv")
        columns["cov_sys"] = read_matrix("pantheon", "binned40_cov_sys.csv")
    return Dataset(
        name="pantheon",
        y=numbers(rows, "y"),
        yerr=numbers(rows, "y_err_total" if binned else "y_err_stat"),
        predictions=predictions_of(rows),
        ids=texts(rows, "id"),
        columns=columns,
        description=("40 bins of" if binned else "1048") + " type Ia supernovae and five cosmologies",
        units="mag",
        citation="Scolnic et al. 2018, doi:10.3847/1538-4357/aab9bb",
        licence="MIT",
    )
