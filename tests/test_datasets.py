"""The shipped data: shapes, and the numbers that their authors published."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import kendalltau

from scorebars import datasets

LOADERS = [getattr(datasets, name) for name in datasets.__all__ if name.startswith("load_")]
N_MODELS = {
    "nuclear_masses": (2149, 7),
    "sampl6_logp": (11, 105),
    "sampl7_logp": (22, 36),
    "pantheon": (40, 5),
    "acs_poverty": (840, 3),
    "blackholes": (78, 3),
    "cifar10_label_errors": (10000, 1),
}


def rms(residual: np.ndarray) -> float:
    return float(np.sqrt(np.mean(residual**2)))


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)
def test_shapes_and_repr(load):
    data = load()
    n, n_models = N_MODELS[data.name]
    assert data.n == len(data) == n
    assert load.__name__ == f"load_{data.name}"
    assert data.y.shape == data.ids.shape == (n,)
    assert np.isfinite(data.y).all()
    assert len(data.predictions) == n_models
    assert all(prediction.shape == (n,) for prediction in data.predictions.values())
    if data.yerr is not None:
        assert data.yerr.shape in {(n,), (2, n)}
        assert np.isfinite(data.yerr).all() and (data.yerr >= 0).all()
    text = repr(data)
    assert data.name in text and data.licence in text and str(n) in text
    for attribute in (data.description, data.units, data.citation, data.licence):
        assert attribute


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)
def test_frozen_and_fresh(load):
    data = load()
    with pytest.raises(AttributeError):
        data.y = None
    data.y[0] += 1
    assert load().y[0] == data.y[0] - 1


@pytest.mark.parametrize(
    ("model", "expected"),
    [("FRDM2012", 0.5811), ("FRLDM2012", 0.6756), ("FRDM95", 0.6556), ("DZ28", 0.3600), ("WS3_RBF", 0.1844)],
)
def test_nuclear_masses_rms(model, expected):
    masses = datasets.load_nuclear_masses()
    assert rms(masses.y - masses.predictions[model]) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("model", ["FRDM2012", "FRLDM2012"])
def test_nuclear_masses_published_sigma_th(model):
    masses = datasets.load_nuclear_masses()
    d2, s2 = (masses.y - masses.predictions[model]) ** 2, masses.yerr**2

    def minus_log_likelihood(tau: float) -> float:
        return float(np.sum(np.log(tau**2 + s2) + d2 / (tau**2 + s2)))

    best = minimize_scalar(minus_log_likelihood, bounds=(0.1, 2), method="bounded", options={"xatol": 1e-9}).x
    assert best == pytest.approx(masses.published[model]["sigma_th"], abs=1e-4)


def test_nuclear_masses_columns():
    masses = datasets.load_nuclear_masses()
    assert int((masses.yerr == 0).sum()) == 84
    assert (masses.columns["Z"] + masses.columns["N"] == masses.columns["A"]).all()
    assert int(np.isnan(masses.columns["y_later"]).sum()) == 14
    assert masses.ids[0] == "O16" and len(set(masses.ids)) == masses.n
    assert masses.published["DZ28"] == {"rms": 0.36, "n": 2149.0}
    assert np.nanmean(masses.columns["y_later_err"] ** 2) < np.mean(masses.yerr**2) / 8


@pytest.mark.parametrize("load", [datasets.load_sampl6_logp, datasets.load_sampl7_logp])
def test_sampl_published_statistics(load):
    data = load()
    assert set(data.published) == set(data.predictions)
    for model, prediction in data.predictions.items():
        difference = data.y - prediction
        pearson = np.corrcoef(data.y, prediction)[0, 1] if np.ptp(prediction) > 0 else 0.0
        computed = {
            "RMSE": rms(difference),
            "MAE": float(np.abs(difference).mean()),
            "ME": float(difference.mean()),
            "R2": float(pearson**2),
        }
        for statistic, value in computed.items():
            assert value == pytest.approx(data.published[model][statistic], abs=1e-12), (model, statistic)
        if np.ptp(prediction) > 0:
            assert kendalltau(data.y, prediction).statistic == pytest.approx(
                data.published[model]["kendall_tau"], abs=1e-12
            )


@pytest.mark.parametrize(
    ("load", "model", "rmse", "mae", "r2"),
    [
        (datasets.load_sampl6_logp, "hmz0n", 0.3844, 0.3091, 0.7673),
        (datasets.load_sampl7_logp, "Chemprop", 0.4926, 0.3555, 0.6007),
    ],
)
def test_sampl_best_method(load, model, rmse, mae, r2):
    published = load().published[model]
    assert [round(published[name], 4) for name in ("RMSE", "MAE", "R2")] == [rmse, mae, r2]


def test_sampl6_replicates():
    data = datasets.load_sampl6_logp()
    replicates = data.columns["replicates"]
    counts = np.isfinite(replicates).sum(axis=1)
    assert counts.sum() == 37 and set(counts) == {3, 4}
    # The labels and their errors are the means of the titrations and the standard errors of those means, rounded.
    assert np.nanmean(replicates, axis=1) == pytest.approx(data.y, abs=0.0051)
    assert np.nanstd(replicates, axis=1, ddof=1) / np.sqrt(counts) == pytest.approx(data.yerr, abs=0.0051)


def test_sampl_method_columns():
    for data in (datasets.load_sampl6_logp(), datasets.load_sampl7_logp()):
        n_models = len(data.predictions)
        assert data.columns["method_name"].shape == data.columns["method_category"].shape == (n_models,)
        assert data.columns["prediction_err"].shape == (n_models, data.n)
        assert list(data.ids) == sorted(data.ids)


def test_pantheon_chi_squared():
    data = datasets.load_pantheon()
    d = data.y - data.predictions["LCDM_Om0.298"]
    total, systematic, stat = (data.columns[name] for name in ("cov_total", "cov_sys", "yerr_stat"))
    assert total.shape == systematic.shape == (40, 40)
    assert total == pytest.approx(systematic + np.diag(stat**2), abs=1e-17)
    assert np.sqrt(np.diag(total)) == pytest.approx(data.yerr, abs=1e-6)
    assert d @ np.linalg.solve(total, d) == pytest.approx(39.31, abs=0.005)
    assert ((d / stat) ** 2).sum() == pytest.approx(50.94, abs=0.005)


def test_pantheon_unbinned_is_below_its_noise_floor():
    data = datasets.load_pantheon(binned=False)
    assert data.n == 1048 and "cov_total" not in data.columns
    assert np.mean(data.yerr**2) > rms(data.y - data.predictions["LCDM_Om0.298"]) ** 2


def test_acs_poverty_label_error_share():
    data = datasets.load_acs_poverty()
    assert data.columns["moe90"] / 1.645 == pytest.approx(data.yerr, abs=5.1e-5)
    assert np.mean(data.yerr**2) / rms(data.y - data.predictions["acs5_2018"]) ** 2 == pytest.approx(0.41, abs=0.005)


def test_blackholes_published_scatter():
    data = datasets.load_blackholes()
    d = data.y - data.predictions["Msigma"]
    s2 = data.yerr.mean(axis=0) ** 2 + data.columns["prederr_Msigma"] ** 2
    weight = data.columns["weight"]
    scatter = brentq(lambda tau: float(np.sum(weight * (d**2 / (tau**2 + s2) - 1))), 0.01, 2.0)
    assert scatter == pytest.approx(data.published["Msigma"]["intrinsic_scatter"], abs=0.005)
    assert np.log10(data.columns["mass"]) == pytest.approx(data.y, abs=5.1e-5)


def test_blackholes_missing_predictions():
    data = datasets.load_blackholes()
    assert [int(data.complete(model).sum()) for model in data.predictions] == [78, 48, 38]
    assert data.yerr.shape == (2, 78)


def test_cifar10_votes():
    data = datasets.load_cifar10_label_errors()
    prediction = data.predictions["cross_validated"]
    votes, rechecked = data.columns["votes"], data.columns["rechecked"]
    assert (data.y == prediction).mean() == 0.9294
    assert data.yerr is None and rechecked.sum() == 275
    assert (votes[rechecked].sum(axis=1) == 5).all() and not votes[~rechecked].any()
    assert (votes[rechecked, 0] < 3).sum() == 54
    # Verification bias: every re-checked label is one this model contradicts.
    assert (data.columns["guess"][rechecked] == prediction[rechecked]).all()
    assert (data.y[rechecked] != prediction[rechecked]).all()
    assert np.isnan(data.columns["q_votes"][~rechecked]).all()
    assert ((data.columns["q_votes"][rechecked] >= 0) & (data.columns["q_votes"][rechecked] <= 1)).all()
