"""Make the images of docs/plots.md, each from real data. Run: python tools/make_images.py [folder [dots per inch]]"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import scorebars as sb

if TYPE_CHECKING:
    from matplotlib.axes import Axes

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def parity() -> Axes:
    counties = sb.datasets.load_acs_poverty()
    return sb.plot.parity(counties.y, counties.predictions["acs5_2018"], yerr=counties.yerr, unit="%")


def parity_many() -> Axes:
    counties = sb.datasets.load_acs_poverty()
    return sb.plot.parity(counties.y, counties.predictions["rf"], yerr=counties.yerr, unit="%", most=500)


def distribution() -> Axes:
    counties = sb.datasets.load_acs_poverty()
    score = sb.root_mean_squared_error(counties.y, counties.predictions["acs5_2018"], yerr=counties.yerr)
    return sb.plot.distribution(score, unit="%")


def pulls() -> Axes:
    supernovae = sb.datasets.load_pantheon(binned=False)
    return sb.plot.pulls(supernovae.y, supernovae.predictions["LCDM_Om0.298"], yerr=supernovae.yerr)


def calibration() -> Axes:
    counties = sb.datasets.load_acs_poverty()
    x, y, s = np.log(counties.predictions["acs5_2018"]), np.log(counties.y), counties.yerr / counties.y
    line = np.polyval(np.polyfit(x[::2], y[::2], 1), x)
    spread = sb.intrinsic_scatter(y[::2], line[::2], yerr=s[::2])
    return sb.plot.calibration(sb.calibration(y[1::2], (line[1::2], float(spread)), yerr=s[1::2]))


def noise_budget() -> Axes:
    masses = sb.datasets.load_nuclear_masses()
    return sb.plot.noise_budget(
        sb.evaluate(masses.y, masses.predictions, yerr=masses.yerr, metrics="root_mean_squared_error")
    )


def forest() -> Axes:
    masses = sb.datasets.load_nuclear_masses()
    comparison = sb.compare(masses.y, masses.predictions, yerr=masses.yerr, sampling=True)
    return sb.plot.forest(comparison, reference="FRDM2012", unit="MeV")


def ranking() -> Axes:
    logp = sb.datasets.load_sampl7_logp()
    models = {name: logp.predictions[name] for name in list(logp.predictions)[:10]}
    return sb.plot.ranking(sb.compare(logp.y, models, yerr=logp.yerr, sampling=True))


def sensitivity() -> Axes:
    counties = sb.datasets.load_acs_poverty()
    return sb.plot.sensitivity(counties.y, counties.predictions["acs5_2018"], yerr=counties.yerr, unit="%")


def accuracy_vs_q() -> Axes:
    images = sb.datasets.load_cifar10_label_errors()
    return sb.plot.accuracy_vs_q(
        images.y, images.predictions["cross_validated"], q=np.linspace(0, 0.1, 21), marked=0.05
    )


def flip_flow() -> Axes:
    counties = sb.datasets.load_acs_poverty()
    poor = sb.Thresholded(counties.y, counties.yerr, cut=15.0)
    return sb.plot.flip_flow(None, (counties.predictions["ridge"] > 15.0).astype(int), yerr=poor)


def flip_flow_classes() -> Axes:
    images = sb.datasets.load_cifar10_label_errors()
    seen = np.flatnonzero(images.columns["rechecked"])
    votes = np.zeros((len(seen), 10), dtype=int)
    given, guess = images.y[seen], images.columns["guess"][seen]
    np.add.at(votes, (np.arange(len(seen)), given), images.columns["votes"][seen, 0])
    np.add.at(votes, (np.arange(len(seen)), guess), images.columns["votes"][seen, 1])
    told = votes.sum(axis=1) > 0
    return sb.plot.flip_flow(
        None, images.predictions["cross_validated"][seen][told], sb.Votes(votes[told], labels=range(10))
    )


def plan() -> Axes:
    return sb.plot.plan(sb.plan(difference=0.15, sampling_variance=2.0, measurement_variance=8.0, cost_label=5))


EXAMPLES: dict[str, Callable[[], Axes]] = {
    f.__name__: f
    for f in (
        parity,
        parity_many,
        distribution,
        pulls,
        calibration,
        noise_budget,
        forest,
        ranking,
        sensitivity,
        accuracy_vs_q,
        flip_flow,
        flip_flow_classes,
        plan,
    )
}


def draw(name: str, target: Path, dpi: float) -> None:
    """One example in matplotlib's own style, without a display."""
    import matplotlib.pyplot as plt

    with plt.style.context("default"), plt.rc_context({"font.sans-serif": ["DejaVu Sans"]}):
        figure = EXAMPLES[name]().figure
        figure.savefig(target, dpi=dpi, metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    folder.mkdir(parents=True, exist_ok=True)
    for example in EXAMPLES:
        draw(example, folder / f"{example}.png", float(sys.argv[2]) if len(sys.argv) > 2 else 110)
