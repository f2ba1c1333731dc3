"""Seven small real data sets: labels with published errors, and models that predict them.

Which one to take: `load_nuclear_masses` for errors that differ from label to label, some exactly zero, with a later
and better measurement to check against; `load_sampl6_logp` for repeats and many models on few labels;
`load_sampl7_logp` for a ranking of models; `load_pantheon` for correlated errors; `load_acs_poverty` for label errors
that make up much of the score, and for labels made by a threshold; `load_blackholes` for asymmetric errors and
weights; `load_cifar10_label_errors` for wrong class labels and human votes.

Sources, licences, citations and the numbers these files reproduce are in `scorebars/data/SOURCES.md`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorebars.passages import passages

__all__ = ["Dataset", "load_acs_poverty", "load_blackholes", "load_cifar10_label_errors", "load_nuclear_masses"]
__all__ += ["load_pantheon", "load_sampl6_logp", "load_sampl7_logp"]


def __dir__() -> list[str]:
    """The data sets, and not what reads them."""
    return __all__


_Row = dict[str, str]
_documented = passages(
    dataset="""\
Returns
-------
Dataset
    Labels `y`, errors `yerr`, `predictions` by model, and more `columns`."""
)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Measured labels with their published errors, and the predictions of one or more models.

    Attributes
    ----------
    name
        Short name, the `load_...` function without its prefix.
    y
        The labels, shape (n,).
    yerr
        The published error of every label: shape (n,), or (2, n) for lower and upper errors as in matplotlib. None
        where the source publishes no error for every label.
    predictions
        Model name -> predictions, shape (n,). A missing prediction is NaN.
    ids
        One name for each label, shape (n,), text.
    columns
        Everything else, by name. Arrays with first axis n unless the loader says otherwise.
    published
        Model name -> {statistic: value} as printed by the authors of the data.
    description, units, citation, licence
        Text.

    Notes
    -----
    Every call of a loader reads the files afresh, so the arrays are yours to change.

    Examples
    --------
    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> masses.n, len(masses.predictions), masses.units
    (2149, 7, 'MeV')
    """

    name: str
    y: NDArray[Any]
    yerr: NDArray[Any] | None
    predictions: dict[str, NDArray[Any]]
    ids: NDArray[Any]
    description: str
    units: str
    citation: str
    licence: str
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    published: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of labels."""
        return int(self.y.shape[0])

    def __len__(self) -> int:
        return self.n

    def complete(self, model: str) -> NDArray[np.bool_]:
        """Mask of the labels for which `model` has a prediction."""
        return np.asarray(np.isfinite(self.predictions[model]))

    def __repr__(self) -> str:
        models = list(self.predictions)
        shown = ", ".join(models[:4]) + (", ..." if len(models) > 4 else "")
        lines = [
            f"Dataset {self.name}: {self.description}",
            f"  y            {self.y.shape} in {self.units}",
            f"  yerr         {'none published for every label' if self.yerr is None else self.yerr.shape}",
            f"  predictions  {len(models)}: {shown}",
        ]
        if self.columns:
            lines.append(f"  columns      {', '.join(self.columns)}")
        lines += [f"  citation     {self.citation}", f"  licence      {self.licence}"]
        return "\n".join(lines)


def _lines(folder: str, file: str) -> list[str]:
    return files("scorebars").joinpath("data", folder, file).read_text(encoding="utf-8").splitlines()


def _read_rows(folder: str, file: str) -> list[_Row]:
    """The rows of one shipped CSV file with a header line, as text."""
    return list(csv.DictReader(_lines(folder, file)))


def _column(rows: Iterable[_Row], name: str, kind: type = float) -> NDArray[Any]:
    """One column of numbers or texts; an empty cell of numbers is NaN."""
    return np.array([kind(row[name] or ("nan" if kind is float else "")) for row in rows])


def _statistics_of(rows: Iterable[_Row], key: str) -> dict[str, dict[str, float]]:
    """A published table of statistics: row name -> {column: number}, text columns left out."""
    number = re.compile(r"-?[\d.]+(e-?\d+)?")
    return {row[key]: {k: float(cell) for k, cell in row.items() if number.fullmatch(cell)} for row in rows}


def _dataset(about: str, rows: list[_Row], **given: Any) -> Dataset:
    """A data set from a table with a row for each label: columns y, y_err, id and pred_<model> unless `given`."""
    usual = {"ids": "id", "y": "y", "yerr": "y_err"}
    read = {key: _column(rows, name, str if key == "ids" else float) for key, name in usual.items() if key not in given}
    models = {name.removeprefix("pred_"): _column(rows, name) for name in rows[0] if name.startswith("pred_")}
    words = next(row for row in _read_rows(".", "datasets.csv") if row["name"] == about)
    return Dataset(**{"predictions": models, **read, **words, "name": about.split()[0], **given})


@_documented
def load_acs_poverty() -> Dataset:
    """How well can a county's poverty rate be predicted, when the survey itself is uncertain?

    Poverty rates (per cent) of 840 US counties, American Community Survey 2019, one-year estimates. `yerr` is the 90 %
    margin of error (column `moe90`) divided by 1.645; column `county` holds the names. Models: `acs5_2018`, the older
    five-year estimate, and `ridge` and `rf`, ten-fold cross-validated predictions made for this collection. The label
    errors are 41 % of the MSE of `acs5_2018`. A rate above a cut gives class labels with known flip probabilities.

    Caveat: `acs5_2018` is a survey with errors of its own, and its sample shares no year with the labels.

    $dataset

    Examples
    --------
    >>> from scorebars.datasets import load_acs_poverty
    >>> counties = load_acs_poverty()
    >>> mse = ((counties.y - counties.predictions["acs5_2018"]) ** 2).mean()
    >>> round(float((counties.yerr**2).mean() / mse), 2)
    0.41
    """
    rows = _read_rows("acs_poverty", "counties.csv")
    return _dataset(
        "acs_poverty",
        rows,
        columns={"county": _column(rows, "county", str), "moe90": _column(rows, "moe90")},
    )


@_documented
def load_blackholes() -> Dataset:
    """How tight is the relation between a black hole's mass and its galaxy, beyond the measurement errors?

    log10 of 78 black-hole masses in solar masses with asymmetric errors: `yerr` has shape (2, 78), lower then upper.
    Models are three published scaling relations; a galaxy without the needed quantity has NaN (30 of `ML_V`, 40 of
    `MMbulge`; see `complete`). Columns: `weight` (NGC 1399 was measured twice, each row counts half), `method`,
    `morph`, `mass`, `mass_lo`, `mass_hi` (solar masses), `sigma`, `sigma_lo`, `sigma_hi` (velocity dispersion in km/s,
    68 % range) and `prederr_Msigma`, the error that the measured sigma gives the M-sigma prediction.

    Caveat: the published intrinsic scatter of M-sigma, 0.38 dex, removes `prederr_Msigma` too and solves chi2 = n.

    $dataset

    Examples
    --------
    >>> from scorebars.datasets import load_blackholes
    >>> holes = load_blackholes()
    >>> holes.yerr.shape, int(holes.complete("MMbulge").sum()), float(holes.columns["weight"].sum())
    ((2, 78), 38, 77.0)
    """
    rows = _read_rows("blackholes", "blackholes.csv")
    sigma_lo, sigma_hi = _column(rows, "sigma_68lo"), _column(rows, "sigma_68hi")
    named = {"weight": "weight", "mass": "MBH_Msun", "mass_lo": "MBH_68lo", "mass_hi": "MBH_68hi", "sigma": "sigma_kms"}
    return _dataset(
        "blackholes",
        rows,
        yerr=np.stack([_column(rows, "err_lo"), _column(rows, "err_hi")]),
        columns={
            **{name: _column(rows, name, str) for name in ("method", "morph")},
            **{name: _column(rows, column) for name, column in named.items()},
            "sigma_lo": sigma_lo,
            "sigma_hi": sigma_hi,
            "prederr_Msigma": 5.64 * np.log10(sigma_hi / sigma_lo) / 2,  # 5.64: slope of the published relation
        },
        published={"Msigma": {"intrinsic_scatter": 0.38}},
    )


@_documented
def load_cifar10_label_errors() -> Dataset:
    """What is a classifier's accuracy worth, when some labels of the test set are wrong?

    The 10,000 labels (0 to 9) of the CIFAR-10 test set, the class that one cross-validated model predicts, and the
    votes of five people on each of the 275 labels that the model contradicted most clearly. `yerr` is None: nobody has
    published an error probability for every label. Columns: `p_pred` and `p_given`, the model's probability of its own
    class and of the given label; `rechecked`, which labels were voted on; `guess`, the class shown as alternative (-1
    elsewhere); `votes` (10000, 4), how many chose the given label, the alternative, neither, both (0 elsewhere); and
    `q_votes`, the share of votes that did not name the given label (NaN elsewhere).

    Caveat, verification bias: only labels the model disputed were re-checked. The 54 labels refuted by a majority are a
    lower bound for the wrong labels of the set, and all of them are among this model's mistakes: an accuracy corrected
    with these votes alone can only go up, for this model more than for any other.

    $dataset

    Examples
    --------
    >>> from scorebars.datasets import load_cifar10_label_errors
    >>> cifar = load_cifar10_label_errors()
    >>> float((cifar.y == cifar.predictions["cross_validated"]).mean())
    0.9294
    >>> votes = cifar.columns["votes"][cifar.columns["rechecked"]]
    >>> len(votes), int((votes[:, 0] < 3).sum())
    (275, 54)
    """
    rows = _read_rows("cifar10_label_errors", "cifar10_given_pred.csv")
    checked = _read_rows("cifar10_label_errors", "cifar10_mturk_votes.csv")
    where = _column(checked, "id", int)
    guess, votes = np.full(len(rows), -1), np.zeros((len(rows), 4), dtype=np.int64)
    guess[where] = _column(checked, "y_guess", int)
    for k, choice in enumerate(("v_given", "v_guessed", "v_neither", "v_both")):
        votes[where, k] = _column(checked, choice, int)
    q_votes = np.full(len(rows), np.nan)
    q_votes[where] = (votes[where, 1] + votes[where, 2]) / votes[where].sum(axis=1)
    return _dataset(
        "cifar10_label_errors",
        rows,
        y=_column(rows, "y_given", int),
        yerr=None,
        predictions={"cross_validated": _column(rows, "pred", int)},
        columns={
            **{name: _column(rows, name) for name in ("p_pred", "p_given")},
            "rechecked": np.isin(np.arange(len(rows)), where),
            "guess": guess,
            "votes": votes,
            "q_votes": q_votes,
        },
    )


@_documented
def load_nuclear_masses() -> Dataset:
    """How well do nuclear mass models do, and how much of their error is that of the measured masses?

    Mass excesses of 2149 nuclei (AME2003) in MeV with their errors, and seven mass models. Columns: `Z`, `N`, `A`,
    `element`, and `y_later`, `y_later_err`: the AME2020 values of the same nuclei, whose mean squared error is nine
    times smaller (NaN for 14 nuclei). `published` holds the rms and sigma_th printed by the model authors; sigma_th is
    the model's own error by maximum likelihood, label errors removed (`sb.intrinsic_scatter`). HFB24 and HFB26 were
    published against other labels (AME2012), so their rms is not reproduced here.

    Caveats: values are rounded to 0.01 MeV, and 84 labels have an error of exactly 0 (below 0.5 keV). The models were
    adjusted to (parts of) these labels; WS3_RBF even interpolates them, which is why its rms grows on `y_later`.

    $dataset

    Examples
    --------
    >>> from scorebars.datasets import load_nuclear_masses
    >>> masses = load_nuclear_masses()
    >>> residual = masses.y - masses.predictions["FRDM2012"]
    >>> round(float((residual**2).mean() ** 0.5), 4), int((masses.yerr == 0).sum())
    (0.5811, 84)
    >>> masses.published["FRDM2012"]["sigma_th"]
    0.5595
    """
    rows = _read_rows("nuclear_masses", "ame2003_2149.csv")
    published: dict[str, dict[str, float]] = {}
    for row in _read_rows("nuclear_masses", "published.csv"):
        statistic = "sigma_th" if row["statistic"].startswith("sigma_th") else "rms"
        published[row["model"]] = {statistic: float(row["published_MeV"]), "n": float(row["n"])}
    return _dataset(
        "nuclear_masses",
        rows,
        ids=np.array([row["element"] + row["A"] for row in rows]),
        columns={
            **{name: _column(rows, name, int) for name in ("Z", "N", "A")},
            "element": _column(rows, "element", str),
            **{name: _column(rows, name) for name in ("y_later", "y_later_err")},
        },
        published=published,
    )


@_documented
def load_pantheon(*, binned: bool = True) -> Dataset:
    """Which cosmology fits the supernova distances, when the errors are correlated?

    Pantheon type Ia supernovae: apparent magnitudes and five cosmologies computed for this collection. Column `z` is
    the redshift. Two versions:

    - `binned=True`: 40 redshift bins. `yerr` is the total error; columns `cov_total` (40, 40), `cov_sys` (40, 40) and
      `yerr_stat`, with cov_total = cov_sys + diag(yerr_stat^2). Off the diagonal everything is systematic.
    - `binned=False`: 1048 supernovae with statistical errors only. A boundary case: the mean squared error of the
      labels (0.02109) is larger than the MSE of the best models (0.0204), so the estimated MSE against the truth is
      negative. The stated errors hold a part for intrinsic scatter, and the cosmologies were fitted to these data.

    Parameters
    ----------
    binned : bool
        Which of the two.

    $dataset

    Examples
    --------
    >>> import numpy as np
    >>> from scorebars.datasets import load_pantheon
    >>> supernovae = load_pantheon()
    >>> d = supernovae.y - supernovae.predictions["LCDM_Om0.298"]
    >>> chi2_total = d @ np.linalg.solve(supernovae.columns["cov_total"], d)
    >>> chi2_stat = ((d / supernovae.columns["yerr_stat"]) ** 2).sum()
    >>> float(chi2_total.round(2)), float(chi2_stat.round(2))
    (39.31, 50.94)
    """
    rows = _read_rows("pantheon", "binned40.csv" if binned else "unbinned1048.csv")
    columns: dict[str, NDArray[Any]] = {"z": _column(rows, "z")}
    if binned:
        columns["yerr_stat"] = _column(rows, "y_err_stat")
        for name in ("cov_total", "cov_sys"):
            columns[name] = np.loadtxt(_lines("pantheon", f"binned40_{name}.csv"), delimiter=",")
    return _dataset(
        "pantheon" if binned else "pantheon unbinned",
        rows,
        yerr=_column(rows, "y_err_total" if binned else "y_err_stat"),
        columns=columns,
    )


@_documented
def load_sampl6_logp() -> Dataset:
    """Which of 105 methods predicts the octanol-water partition coefficient best, judged on 11 molecules?

    The SAMPL6 blind challenge: log P of 11 molecules, each the mean of 3 or 4 titrations, `yerr` the published standard
    error of that mean. Models are named by their submission id. Columns by molecule: `replicates` (11, 4), the single
    titrations, NaN where there were only three; `smiles`; `assay`. Columns by method, in the order of `predictions`:
    `method_name`, `method_category`, and `prediction_err` (105, 11), the error its authors stated.

    Caveats: `published` are the organisers' statistics with 95 % bootstrap intervals over the molecules; their `R2` is
    the squared Pearson correlation and their `ME` is experiment minus prediction. With 11 labels most neighbours in the
    ranking cannot be told apart. 91 sets of predictions were blind; 14 are reference calculations of the organisers.

    $dataset

    Examples
    --------
    >>> from scorebars.datasets import load_sampl6_logp
    >>> logp = load_sampl6_logp()
    >>> float(abs(logp.y - logp.predictions["hmz0n"]).mean().round(4)), round(logp.published["hmz0n"]["MAE"], 4)
    (0.3091, 0.3091)
    >>> logp.columns["replicates"][2]
    array([3.29, 3.14, 3.21,  nan])
    """
    labels = _read_rows("sampl6_logp", "labels.csv")
    ids = _column(labels, "id", str)
    repeats: dict[str, list[float]] = {row["id"]: [] for row in labels}
    for row in _read_rows("sampl6_logp", "replicates.csv"):
        repeats[row["id"]].append(float(row["y_rep"]))
    predictions, by_method = _by_method(_read_rows("sampl6_logp", "predictions_long.csv"), "method_id", ids)
    return _dataset(
        "sampl6_logp",
        labels,
        predictions=predictions,
        columns={
            "replicates": np.array(list(zip_longest(*repeats.values(), fillvalue=np.nan))).T,
            "smiles": _column(labels, "smiles", str),
            "assay": _column(labels, "Assay Type", str),
            **by_method,
        },
        published=_statistics_of(_read_rows("sampl6_logp", "published_statistics.csv"), key="method_id"),
    )


@_documented
def load_sampl7_logp() -> Dataset:
    """Which of 36 methods predicts the octanol-water partition coefficient best, judged on 22 molecules?

    The SAMPL7 blind challenge, with the published error of each label (0.01 to 0.21). Columns by method, in the order
    of `predictions`: `method_name`, `method_category`, and `prediction_err` (36, 22), the error its authors stated.
    `published` as in `load_sampl6_logp`: `R2` is the squared Pearson correlation, `ME` experiment minus prediction.

    $dataset

    Examples
    --------
    >>> from scorebars.datasets import load_sampl7_logp
    >>> logp = load_sampl7_logp()
    >>> float((((logp.y - logp.predictions["Chemprop"]) ** 2).mean() ** 0.5).round(4))
    0.4926
    """
    rows = _read_rows("sampl7_logp", "predictions_long.csv")
    labels = list({row["id"]: row for row in sorted(rows, key=lambda row: row["id"])}.values())
    ids = _column(labels, "id", str)
    predictions, by_method = _by_method(rows, "method", ids)
    return _dataset(
        "sampl7_logp",
        labels,
        predictions=predictions,
        columns=by_method,
        published=_statistics_of(_read_rows("sampl7_logp", "published_statistics.csv"), key="method"),
    )


def _by_method(rows: list[_Row], key: str, ids: NDArray[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A long table (method, label, prediction) as one array a method in the order of `ids`, and what describes methods."""
    groups: dict[str, dict[str, _Row]] = {}
    for row in rows:
        groups.setdefault(row[key], {})[row["id"]] = row
    # Every method lists the molecules in an order of its own.
    ordered = {name: [group[str(label)] for label in ids] for name, group in groups.items()}
    first = [group[0] for group in ordered.values()]
    return {name: _column(group, "pred") for name, group in ordered.items()}, {
        "method_name": _column(first, "method", str),
        "method_category": _column(first, "method_category", str),
        "prediction_err": np.stack([_column(group, "pred_err") for group in ordered.values()]),
    }
