"""Black-hole masses: asymmetric errors, weights and missing predictions."""

from __future__ import annotations

import numpy as np

from .container import Dataset, numbers, predictions_of, read_rows, texts


def load_blackholes() -> Dataset:
    """How tight is the relation between a black hole's mass and its galaxy, beyond the measurement errors?

    log10 of 78 black-hole masses in solar masses with asymmetric errors: `yerr` has shape (2, 78), lower then upper.
    Models are three published scaling relations; a galaxy without the needed quantity has NaN (30 of `ML_V`, 40 of
    `MMbulge`; see `complete`). Columns: `weight` (NGC 1399 was measured twice, each row counts half), `method`,
    `morph`, `mass`, `mass_lo`, `mass_hi` (solar masses), `sigma`, `sigma_lo`, `sigma_hi` (velocity dispersion in km/s,
    68 % range) and `prederr_Msigma`, the error that the measured sigma gives the M-sigma prediction.

    Caveat: the published intrinsic scatter of M-sigma, 0.38 dex, removes `prederr_Msigma` too and solves chi2 = n.

    >>> from scorebars.datasets import load_blackholes
    >>> holes = load_blackholes()
    >>> holes.yerr.shape, int(holes.complete("MMbulge").sum()), float(holes.columns["weight"].sum())
    ((2, 78), 38, 77.0)
    """
    rows = read_rows("blackholes", "blackholes.csv")
    sigma_lo, sigma_hi = numbers(rows, "sigma_68lo"), numbers(rows, "sigma_68hi")
    return Dataset(
        name="blackholes",
        y=numbers(rows, "y"),
        yerr=np.stack([numbers(rows, "err_lo"), numbers(rows, "err_hi")]),
        predictions=predictions_of(rows),
        ids=texts(rows, "id"),
        columns={
            "weight": numbers(rows, "weight"),
            "method": texts(rows, "method"),
            "morph": texts(rows, "morph"),
            "mass": numbers(rows, "MBH_Msun"),
            "mass_lo": numbers(rows, "MBH_68lo"),
            "mass_hi": numbers(rows, "MBH_68hi"),
            "sigma": numbers(rows, "sigma_kms"),
            "sigma_lo": sigma_lo,
            "sigma_hi": sigma_hi,
            # The slope of the published relation is 5.64.
            "prederr_Msigma": 5.64 * np.log10(sigma_hi / sigma_lo) / 2,
        },
        published={"Msigma": {"intrinsic_scatter": 0.38}},
        description="78 black-hole masses and three scaling relations",
        units="log10 of solar masses",
        citation="McConnell & Ma 2013, doi:10.1088/0004-637X/764/2/184",
        licence="MIT",
    )
