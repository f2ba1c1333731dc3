"""Nuclear masses: labels of very unequal precision, and a later, better measurement of the same labels."""

from __future__ import annotations

import numpy as np

from .container import Dataset, integers, numbers, predictions_of, read_rows, texts


def load_nuclear_masses() -> Dataset:
    """How well do nuclear mass models do, and how much of their error is that of the measured masses?

    Mass excesses of 2149 nuclei (AME2003) in MeV with their errors, and seven mass models. Columns: `Z`, `N`, `A`,
    `element`, and `y_later`, `y_later_err`: the AME2020 values of the same nuclei, whose mean squared error is nine
    times smaller (NaN for 14 nuclei). `published` holds the rms and sigma_th printed by the model authors; sigma_th is
    the model's own error by maximum likelihood, label errors removed (`sb.intrinsic_scatter`). HFB24 and HFB26 were
    published against other labels (AME2012), so their rms is not reproduced here.

    Caveats: values are rounded to 0.01 MeV, and 84 labels have an error of exactly 0 (below 0.5 keV). The models were
    adjusted to (parts of) these labels; WS3_RBF even interpolates them, which is why its rms grows on `y_later`.

    >>> from scorebars.datasets import load_nuclear_masses
    >>> masses = load_nuclear_masses()
    >>> residual = masses.y - masses.predictions["FRDM2012"]
    >>> round(float((residual**2).mean() ** 0.5), 4), int((masses.yerr == 0).sum())
    (0.5811, 84)
    >>> masses.published["FRDM2012"]["sigma_th"]
    0.5595
    """
    rows = read_rows("nuclear_masses", "ame2003_2149.csv")
    published: dict[str, dict[str, float]] = {}
    for row in read_rows("nuclear_masses", "published.csv"):
        statistic = "sigma_th" if row["statistic"].startswith("sigma_th") else "rms"
        published[row["model"]] = {statistic: float(row["published_MeV"]), "n": float(row["n"])}
    return Dataset(
        name="nuclear_masses",
        y=numbers(rows, "y"),
        yerr=numbers(rows, "y_err"),
        predictions=predictions_of(rows),
        ids=np.array([row["element"] + row["A"] for row in rows]),
        columns={
            **{name: integers(rows, name) for name in ("Z", "N", "A")},
            "element": texts(rows, "element"),
            "y_later": numbers(rows, "y_later"),
            "y_later_err": numbers(rows, "y_later_err"),
        },
        published=published,
        description="mass excesses of 2149 nuclei (AME2003) and seven mass models",
        units="MeV",
        citation="Audi, Wapstra & Thibault 2003; Moller et al. 2016; see SOURCES.md for each model",
        licence="MIT",
    )
