"""Partition coefficients of the SAMPL6 and SAMPL7 challenges: repeats, and many models on few labels."""

from __future__ import annotations

import numpy as np

from .container import Array, Dataset, Row, numbers, read_rows, statistics_of, texts


def load_sampl6_logp() -> Dataset:
    """Which of 105 methods predicts the octanol-water partition coefficient best, judged on 11 molecules?

    The SAMPL6 blind challenge: log P of 11 molecules, each the mean of 3 or 4 titrations, `yerr` the published standard
    error of that mean. Models are named by their submission id. Columns by molecule: `replicates` (11, 4), the single
    titrations, NaN where there were only three; `smiles`; `assay`. Columns by method, in the order of `predictions`:
    `method_name`, `method_category`, and `prediction_err` (105, 11), the error its authors stated.

    Caveats: `published` are the organisers' statistics with 95 % bootstrap intervals over the molecules; their `R2` is
    the squared Pearson correlation and their `ME` is experiment minus prediction. With 11 labels most neighbours in the
    ranking cannot be told apart. 91 sets of predictions were blind; 14 are reference calculations of the organisers.

    >>> from scorebars.datasets import load_sampl6_logp
    >>> logp = load_sampl6_logp()
    >>> float(abs(logp.y - logp.predictions["hmz0n"]).mean().round(4)), round(logp.published["hmz0n"]["MAE"], 4)
    (0.3091, 0.3091)
    >>> logp.columns["replicates"][2]
    array([3.29, 3.14, 3.21,  nan])
    """
    labels = read_rows("sampl6_logp", "labels.csv")
    ids = texts(labels, "id")
    repeats: dict[str, list[float]] = {row["id"]: [] for row in labels}
    for row in read_rows("sampl6_logp", "replicates.csv"):
        repeats[row["id"]].append(float(row["y_rep"]))
    longest = max(map(len, repeats.values()))
    padded = [values + [np.nan] * (longest - len(values)) for values in repeats.values()]
    predictions, by_method = _by_method(read_rows("sampl6_logp", "predictions_long.csv"), "method_id", ids)
    return Dataset(
        name="sampl6_logp",
        y=numbers(labels, "y"),
        yerr=numbers(labels, "y_err"),
        predictions=predictions,
        ids=ids,
        columns={
            "replicates": np.array(padded),
            "smiles": texts(labels, "smiles"),
            "assay": texts(labels, "Assay Type"),
            **by_method,
        },
        published=statistics_of(read_rows("sampl6_logp", "published_statistics.csv"), key="method_id"),
        description="log P of 11 molecules, 37 titrations, 105 sets of predictions",
        units="log10 of a concentration ratio",
        citation="Isik et al. 2020, doi:10.1007/s10822-020-00295-0",
        licence="MIT",
    )


def load_sampl7_logp() -> Dataset:
    """Which of 36 methods predicts the octanol-water partition coefficient best, judged on 22 molecules?

    The SAMPL7 blind challenge, with the published error of each label (0.01 to 0.21). Columns by method, in the order
    of `predictions`: `method_name`, `method_category`, and `prediction_err` (36, 22), the error its authors stated.
    `published` as in `load_sampl6_logp`: `R2` is the squared Pearson correlation, `ME` experiment minus prediction.

    >>> from scorebars.datasets import load_sampl7_logp
    >>> logp = load_sampl7_logp()
    >>> float((((logp.y - logp.predictions["Chemprop"]) ** 2).mean() ** 0.5).round(4))
    0.4926
    """
    rows = read_rows("sampl7_logp", "predictions_long.csv")
    labels = list({row["id"]: row for row in sorted(rows, key=lambda row: row["id"])}.values())
    ids = texts(labels, "id")
    predictions, by_method = _by_method(rows, "method", ids)
    return Dataset(
        name="sampl7_logp",
        y=numbers(labels, "y"),
        yerr=numbers(labels, "y_err"),
        predictions=predictions,
        ids=ids,
        columns=by_method,
        published=statistics_of(read_rows("sampl7_logp", "published_statistics.csv"), key="method"),
        description="log P of 22 molecules, 36 sets of predictions",
        units="log10 of a concentration ratio",
        citation="Bergazin et al. 2021, doi:10.1007/s10822-021-00397-3",
        licence="MIT (code), CC BY 4.0 (data)",
    )


def _by_method(rows: list[Row], key: str, ids: Array) -> tuple[dict[str, Array], dict[str, Array]]:
    """A long table (method, label, prediction) as one array a method, in the order of `ids`.

    The second dictionary holds what describes the methods themselves.
    """
    groups: dict[str, dict[str, Row]] = {}
    for row in rows:
        groups.setdefault(row[key], {})[row["id"]] = row
    # Every method lists the molecules in an order of its own.
    ordered = {name: [group[str(label)] for label in ids] for name, group in groups.items()}
    first = [group[0] for group in ordered.values()]
    return {name: numbers(group, "pred") for name, group in ordered.items()}, {
        "method_name": texts(first, "method"),
        "method_category": texts(first, "method_category"),
        "prediction_err": np.stack([numbers(group, "pred_err") for group in ordered.values()]),
    }
