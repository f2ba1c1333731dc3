"""Poverty rates from a survey: label errors that make up much of the score."""

from __future__ import annotations

from .container import Dataset, numbers, predictions_of, read_rows, texts


def load_acs_poverty() -> Dataset:
    """How well can a county's poverty rate be predicted, when the survey itself is uncertain?

    Poverty rates (per cent) of 840 US counties, American Community Survey 2019, one-year estimates. `yerr` is the 90 %
    margin of error (column `moe90`) divided by 1.645; column `county` holds the names. Models: `acs5_2018`, the older
    five-year estimate, and `ridge` and `rf`, ten-fold cross-validated predictions made for this collection. The label
    errors are 41 % of the MSE of `acs5_2018`. A rate above a cut gives class labels with known flip probabilities.

    Caveat: `acs5_2018` is a survey with errors of its own, and its sample shares no year with the labels.

    >>> from scorebars.datasets import load_acs_poverty
    >>> counties = load_acs_poverty()
    >>> mse = ((counties.y - counties.predictions["acs5_2018"]) ** 2).mean()
    >>> round(float((counties.yerr**2).mean() / mse), 2)
    0.41
    """
    rows = read_rows("acs_poverty", "counties.csv")
    return Dataset(
        name="acs_poverty",
        y=numbers(rows, "y"),
        yerr=numbers(rows, "y_err"),
        predictions=predictions_of(rows),
        ids=texts(rows, "id"),
        columns={"county": texts(rows, "county"), "moe90": numbers(rows, "moe90")},
        description="poverty rates of 840 US counties and three predictions",
        units="per cent",
        citation="US Census Bureau, American Community Survey 2019 1-year estimates, table S1701",
        licence="public domain",
    )
