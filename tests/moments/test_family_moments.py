"""Mean and variance of each label's loss: reference values, and a plain composite Gauss rule over SciPy's densities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from scorebars import errors, losses
from scorebars.moments import label_moments

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[1] / "reference" / "reference.json").read_text())["cases"]
}


def family(inputs: dict[str, Any]) -> tuple[errors.MeasurementError, float]:
    """The error model of a reference case, and its label."""
    name = inputs["family"]
    if name == "uniform":
        return errors.Uniform(inputs["half_width"]), inputs["center"]
    if name == "triangular":
        return errors.Triangular(inputs["half_width"]), inputs["center"]
    if name == "laplace":
        return errors.Laplace(inputs["scale"]), inputs["center"]
    if name == "student_t":
        return errors.StudentT(inputs["scale"], inputs["df"]), inputs["center"]
    if name == "split_normal":
        return errors.SplitNormal(inputs["sigma_left"], inputs["sigma_right"]), inputs["mode"]
    if name == "lognormal":
        return errors.LogNormal(inputs["sigma_log"]), inputs["median"]
    if name == "poisson":
        return errors.Poisson(), inputs["mean"]
    assert name == "empirical"
    model = errors.Empirical([inputs["values"]])
    return model, float(model.labels()[0])


@pytest.mark.parametrize("case", [c for c in CASES.values() if c["metric"] == "family"], ids=lambda c: c["id"])
@pytest.mark.parametrize(
    ("loss", "key"), [(losses.AbsoluteError(), "abs"), (losses.SquaredError(), "sq")], ids=["abs", "sq"]
)
def test_reference_family(case: dict[str, Any], loss: losses.Loss, key: str) -> None:
    model, y = family(case["inputs"])
    mean, variance = label_moments(loss, model, np.array([y]), np.array([case["inputs"]["c"]]))
    assert mean[0] == pytest.approx(float(case["exact"][f"mean_{key}"]), rel=1e-14)
    assert variance[0] == pytest.approx(float(case["exact"][f"var_{key}"]), rel=1e-13)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("pinball_tau0.1", lambda i: losses.Pinball(i["tau"])),
        ("pinball_tau0.5", lambda i: losses.Pinball(i["tau"])),
        ("huber_k0.25", lambda i: losses.Huber(i["delta"])),
        ("logcosh_a", lambda i: losses.LogCosh()),
        ("within_tol_M7", lambda i: losses.Within(i["tol"])),
        ("smape_M3", lambda i: losses.SymmetricPercentage()),
    ],
)
def test_reference_loss(name: str, make: Any) -> None:
    case = CASES[name]
    y, p, sigma = (np.array(case["inputs"][key]) for key in ("y", "y_pred", "sigma"))
    mean, variance = label_moments(make(case["inputs"]), errors.Normal(sigma), y, p)
    assert mean.mean() == pytest.approx(float(case["exact"]["mean"]), rel=1e-14)
    assert variance.sum() / len(y) ** 2 == pytest.approx(float(case["exact"]["var"]), rel=1e-13)


@pytest.mark.parametrize("name", ["mape_lognormal_2.0_0.25", "mape_lognormal_1.0_0.0"])
def test_reference_percentage_error(name: str) -> None:
    case = CASES[name]
    y, p = np.array(case["inputs"]["median"]), np.array(case["inputs"]["y_pred"])
    mean, variance = label_moments(losses.PercentageError(), errors.LogNormal(case["inputs"]["sigma_log"]), y, p)
    assert mean[0] == pytest.approx(float(case["exact"]["mean"]), rel=1e-14)
    assert variance[0] == pytest.approx(float(case["exact"]["var"]), rel=1e-13)


LAWS = {
    "normal": (errors.Normal(0.6), stats.norm(1.2, 0.6)),
    "uniform": (errors.Uniform(0.9), stats.uniform(0.3, 1.8)),
    "triangular": (errors.Triangular(0.9), stats.triang(0.5, 0.3, 1.8)),
    "laplace": (errors.Laplace(0.4), stats.laplace(1.2, 0.4)),
    "student": (errors.StudentT(0.4, 5.5), stats.t(5.5, 1.2, 0.4)),
    "log_normal": (errors.LogNormal(0.5), stats.lognorm(0.5, scale=1.2)),
}
LOSSES = {
    "squared": losses.SquaredError(),
    "absolute": losses.AbsoluteError(),
    "pinball": losses.Pinball(0.2),
    "huber": losses.Huber(0.5),
    "log_cosh": losses.LogCosh(),
    "within": losses.Within(0.35),
    "symmetric": losses.SymmetricPercentage(),
    "squared_log": losses.SquaredLogError(),
    "percentage": losses.PercentageError(),
    "root": losses.RootLoss(losses.SquaredError()),
    "custom": losses.CustomLoss(lambda y, p: np.abs(y - p) ** 1.5, kinks=[0.0]),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("p", [0.1, 0.9, 1.2, 3.5])
def test_against_plain_quadrature(law: str, loss: str, p: float) -> None:
    model, frozen = LAWS[law]
    function, y = LOSSES[loss], np.array([1.2])
    mean, variance = label_moments(function, model, y, np.array([p]))
    singular = (loss == "percentage" and law in ("normal", "laplace", "student")) or (
        loss == "squared_log" and law in ("normal", "laplace", "student")
    )
    if singular:
        assert mean[0] == variance[0] == np.inf
        return
    low, high = frozen.ppf([1e-15, 1 - 1e-15]) if law != "student" else (-3e3, 3e3)
    low, high = (0.3, 2.1) if law in ("uniform", "triangular") else (low, high)
    kinks = [0.0, p, 1.2, p - 0.5, p + 0.5, p - 0.35, p + 0.35]
    spread = 1.2 + np.concatenate([-np.geomspace(0.02, 3e3, 60), np.geomspace(0.02, 3e3, 60)])
    cuts = np.unique(np.clip(np.concatenate([kinks, spread, p + np.linspace(-3, 3, 31)]), low, high))
    x, weight = composite_gauss(cuts)
    weight = weight * frozen.pdf(x)
    f = function(x, np.full(x.size, p))
    first = float(weight @ f)
    tolerance = 1e-5 if law == "student" else 1e-9  # what the finite range of the check leaves out
    assert mean[0] == pytest.approx(first, rel=tolerance, abs=1e-12)
    assert variance[0] == pytest.approx(float(weight @ (f - first) ** 2), rel=100 * tolerance, abs=1e-10)


def composite_gauss(cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of 30-point Gauss rules between the cuts."""
    points, weights = np.polynomial.legendre.leggauss(30)
    half, middle = np.diff(cuts) / 2, (cuts[1:] + cuts[:-1]) / 2
    return (middle[:, None] + half[:, None] * points).ravel(), (half[:, None] * weights).ravel()


@pytest.mark.parametrize(
    "loss", [v for k, v in LOSSES.items() if k not in ("percentage",)], ids=lambda v: type(v).__name__
)
def test_poisson_against_direct_sum(loss: losses.Loss) -> None:
    for mu, p in ((4.25, 3.5), (0.5, 2.0), (0.0, 1.0), (30.0, 27.0)):
        k = np.arange(200.0)
        weight = stats.poisson.pmf(k, mu)
        f = loss(k, np.full(k.size, p))
        mean, variance = label_moments(loss, errors.Poisson(), np.array([mu]), np.array([p]))
        assert mean[0] == pytest.approx(weight @ f, rel=1e-12)
        assert variance[0] == pytest.approx(weight @ (f - weight @ f) ** 2, rel=1e-11, abs=1e-25)


@pytest.mark.parametrize("s", [1e-9, 1e-4, 0.1, 0.49, 0.51, 2.0, 8.0])
@pytest.mark.parametrize("k", [-20.0, -3.0, 0.0, 0.2, 2.0, 9.0])
def test_log_normal_excess_keeps_its_digits(s: float, k: float) -> None:
    """E(p - x)_+ = p Phi(k) - mu Phi(k - s) as printed loses all digits for small s; ours must not."""
    mpmath = pytest.importorskip("mpmath")
    from scorebars.moments.closed_forms import log_normal_excess

    y, p = 2.0, float(2.0 * np.exp(k * s))
    with mpmath.workdps(60):
        m, c, w = mpmath.mpf(y), mpmath.mpf(p), mpmath.mpf(s)
        mu, z = m * mpmath.exp(w * w / 2), mpmath.log(c / m) / w
        lower = c * mpmath.ncdf(z) - mu * mpmath.ncdf(z - w)
        exact = min(lower, lower + mu - c)
    if exact > 1e-280:
        found = log_normal_excess(np.array([s]), np.array([y]), np.array([p]))[0]
        assert found == pytest.approx(float(exact), rel=1e-11)


def test_gains_are_never_negative_and_variances_stay_below_the_labels() -> None:
    rng = np.random.default_rng(0)
    y, p = np.exp(rng.normal(size=400)), rng.normal(size=400) * 3
    width = 10.0 ** rng.uniform(-8, 8, size=400)
    for model in (
        errors.Normal(width),
        errors.Uniform(width),
        errors.Triangular(width),
        errors.Laplace(width),
        errors.StudentT(width, 3.0),
        errors.SplitNormal(width, width[::-1].copy()),
        errors.LogNormal(np.minimum(width, 5.0)),
        errors.Poisson(),
    ):
        mean, variance = label_moments(losses.AbsoluteError(), model, y, p)
        assert np.all(mean >= np.abs(model.mean(y) - p) * (1 - 1e-14))
        assert np.all(variance <= model.variance(y) * (1 + 1e-9))
        assert np.all(variance >= 0)
        assert not np.isnan(mean).any()


@pytest.mark.parametrize("ratio", [1e-8, 1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize(
    "loss", [losses.Pinball(0.3), losses.Huber(0.7), losses.LogCosh()], ids=lambda v: type(v).__name__
)
def test_closed_forms_agree_with_quadrature_at_any_ratio(ratio: float, loss: losses.Loss) -> None:
    from scorebars.moments.numerical import integrate_loss as adaptive

    y, p = np.array([3.0, 2.0, -1.0]), np.array([2.0, 2.0, 5.0])
    model = errors.Normal(np.full(3, ratio))
    closed, numeric = label_moments(loss, model, y, p), adaptive(loss, model, y, p)
    np.testing.assert_allclose(closed.mean, numeric.mean, rtol=1e-13)
    far, there = errors.Normal(np.full(3, 1e-3 * ratio)), 1e8 + y
    np.testing.assert_allclose(
        label_moments(loss, far, there, 1e8 + p).mean, adaptive(loss, far, there, 1e8 + p).mean, rtol=1e-13
    )
    np.testing.assert_allclose(closed.variance, numeric.variance, rtol=1e-6 if ratio < 1e-4 else 1e-11)


@pytest.mark.parametrize(
    "model", [errors.Normal(0.0), errors.Uniform(0.0), errors.LogNormal(0.0), errors.StudentT(0.0, 1.0)]
)
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_labels_without_error(model: errors.MeasurementError, loss: losses.Loss) -> None:
    y, p = np.array([1.0, 0.5, 3.0]), np.array([1.5, 0.5, 0.25])
    mean, variance = label_moments(loss, model, y, p)
    np.testing.assert_allclose(mean, loss(y, p), rtol=1e-15)
    np.testing.assert_array_equal(variance, 0.0)


def test_within_keeps_small_probabilities() -> None:
    mean, variance = label_moments(losses.Within(1.0), errors.Normal(0.1), np.array([0.0, 5.0]), np.array([0.0, 0.0]))
    assert variance[0] == pytest.approx(2 * stats.norm.sf(10), rel=1e-12)
    assert mean[1] == pytest.approx(stats.norm.sf(40), abs=1e-300)
    exact = label_moments(losses.Within(0.1), errors.Normal(0.0), np.array([0.8, 0.3]), np.array([0.7, 0.2]))
    np.testing.assert_array_equal(exact.mean, losses.Within(0.1)(np.array([0.8, 0.3]), np.array([0.7, 0.2])))
