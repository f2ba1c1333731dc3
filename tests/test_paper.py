"""The errata of the paper this library starts from, one by one (docs/theory/errata.md has the same numbers).

Michelucci & Venturini, New Metric Formulas that Include Measurement Errors in Machine Learning for Natural Sciences,
arXiv:2209.15588. For each erratum: the formula as printed fails against simulation (fixed seed) or quadrature, and the
right one agrees. The tables of the paper, recomputed through the public functions, are in test_paper_tables.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.special import erf

from paper_formulas import (
    CORRECT,
    D_B,
    DELTA,
    DRAWS,
    S_B,
    SIGMA,
    T_B,
    A,
    M,
    Q,
    Value,
    abs_mean,
    abs_variance,
    appendix_b_integral,
    correlated_flips,
    flipped_accuracy,
    gauss_expectation,
    generalised_chi2_cdf,
    independent_flips,
    mean_of,
    normal_draws,
    other_errors,
    part_above,
    part_below,
    printed_folded_mean,
    printed_mae,
    printed_variance_abs,
    right_folded_mean,
    right_mae,
    right_variance_abs,
    right_variance_square,
    single_measurements,
    variance_of,
)


@dataclass(frozen=True)
class Erratum:
    """What the paper prints, what is right, and the truth found without either formula."""

    number: int
    what: str
    printed: Callable[[], float]
    right: Callable[[], float]
    truth: Callable[[], Value]


def folded(number, what, mu, sigma, printed, right, truth):
    """An erratum in a formula of mu and sigma."""
    return Erratum(number, what, *(partial(f, mu, sigma) for f in (printed, right, truth)))


MEAN = printed_folded_mean, right_folded_mean, abs_mean
VARIANCE = printed_variance_abs, right_variance_abs, abs_variance
MAE = (
    lambda d, sigma: printed_mae(np.array([d]), np.array([sigma])),
    lambda d, sigma: right_mae(np.array([d]), np.array([sigma])),
    abs_mean,
)
ERRATA = [
    folded(1, "folded-normal mean: sigma, not mu, before the exponential", 2.0, 3.0, *MEAN),
    folded(1, "folded-normal mean at mu = 0", 0.0, 1.0, *MEAN),
    folded(1, "folded-normal mean must be even in mu", -0.5, 0.2, *MEAN),
    folded(2, "E(MAE): erfc of |d|/(sqrt2 sigma), not |d|/(sqrt2 d); positive difference", 0.5, 0.2, *MAE),
    folded(2, "E(MAE), negative difference: the printed MAE is negative", -0.5, 0.2, *MAE),
    folded(3, "Var|d|: the mean must be squared; the printed variance is negative", 0.5, 0.2, *VARIANCE),
    folded(3, "Var|d|, d = 3 sigma", 3.0, 1.0, *VARIANCE),
    Erratum(
        4,
        "Var(MAE): the sum starts at 1, not 0 (a sixth term for five labels)",
        lambda: 6 * float(right_variance_abs(0.5, 0.8)) / 5**2,
        lambda: 5 * float(right_variance_abs(0.5, 0.8)) / 5**2,
        lambda: variance_of(np.abs(normal_draws(np.full(5, 0.5), 0.8)).mean(axis=1)),
    ),
    Erratum(
        5,
        "Var(accuracy) of independent flips: pq/M, not pq",
        lambda: Q * (1 - Q),
        lambda: Q * (1 - Q) / M,
        lambda: variance_of(flipped_accuracy(independent_flips())),
    ),
    Erratum(
        5,
        "Var(accuracy) of one shared flip",
        lambda: Q * (1 - Q),
        lambda: (1 - 2 * A) ** 2 * Q * (1 - Q),
        lambda: variance_of(flipped_accuracy(correlated_flips(1.0))),
    ),
    Erratum(
        5,
        "Var(accuracy) of correlated flips",
        lambda: Q * (1 - Q),
        lambda: Q * (1 - Q) * ((1 - 0.2) / M + 0.2 * (1 - 2 * A) ** 2),
        lambda: variance_of(flipped_accuracy(correlated_flips(0.2))),
    ),
    Erratum(
        6,
        "Appendix B, J, first line: no prefactor",
        lambda: appendix_b_integral(-np.inf, np.inf),
        lambda: appendix_b_integral(-np.inf, np.inf) / np.sqrt(np.pi),
        lambda: abs_mean(D_B, S_B),
    ),
    Erratum(
        7,
        "Appendix B, J, second line: prefactor 1/(sqrt2 pi) instead of 1/sqrt(pi)",
        lambda: appendix_b_integral(-np.inf, np.inf) / (np.sqrt(2) * np.pi),
        lambda: appendix_b_integral(-np.inf, np.inf) / np.sqrt(np.pi),
        lambda: abs_mean(D_B, S_B),
    ),
    Erratum(
        8,
        "Appendix B, J_A: 1/2, not 1/sqrt2; the printed part is negative",
        lambda: part_above(1 / np.sqrt(2)),
        lambda: part_above(0.5),
        lambda: Value(appendix_b_integral(T_B, np.inf) / np.sqrt(np.pi)),
    ),
    Erratum(
        8,
        "Appendix B, J_B: 1/2, not 1/sqrt2",
        lambda: part_below(1 / np.sqrt(2)),
        lambda: part_below(0.5),
        lambda: Value(appendix_b_integral(-np.inf, T_B) / np.sqrt(np.pi)),
    ),
    Erratum(
        9,
        "Appendix B, J_B: lower limit -infinity; with +infinity it equals J_A",
        lambda: appendix_b_integral(T_B, np.inf) / np.sqrt(np.pi),
        lambda: appendix_b_integral(-np.inf, T_B) / np.sqrt(np.pi),
        lambda: Value(gauss_expectation(lambda x: max(-x, 0.0), -D_B, S_B)),
    ),
    Erratum(
        10,
        "Appendix C: with the noisy label inside the expectation the noise acts twice",
        lambda: A + 2 * Q * (1 - Q) * (1 - 2 * A),
        lambda: A + Q * (1 - 2 * A),
        lambda: mean_of(flipped_accuracy(independent_flips())),
    ),
    Erratum(
        11,
        "worked example: 0.815, not 0.815 %",
        lambda: 0.815 / 100,
        lambda: A + Q * (1 - 2 * A),
        lambda: mean_of(flipped_accuracy(independent_flips())),
    ),
    *(
        Erratum(
            13,
            f"Var(MSE) for {family} errors",
            lambda: 2 + 4 * 0.5**2,
            partial(right_variance_square, family, 0.5),
            lambda family=family: variance_of((0.5 + other_errors(family)) ** 2),
        )
        for family in ("uniform", "laplace", "exponential")
    ),
    Erratum(
        14,
        "labels measured once: adding sigma^2 moves away from the truth, subtracting it reaches the truth",
        lambda: float(single_measurements()[0].mean() + single_measurements()[2]),
        lambda: single_measurements()[1],
        lambda: mean_of(single_measurements()[0] - single_measurements()[2]),
    ),
    Erratum(
        15,
        "Appendix A: the term A is the average of the variances, not of the standard deviations",
        lambda: float(np.mean(SIGMA)),
        lambda: float(np.mean(SIGMA**2)),
        lambda: mean_of(np.mean(normal_draws(DELTA, SIGMA) ** 2, axis=1) - np.mean(DELTA**2)),
    ),
    Erratum(
        16,
        "a wrong label moves the item with certainty, not with probability q",
        lambda: A + Q * Q * (1 - 2 * A),
        lambda: A + Q * (1 - 2 * A),
        lambda: mean_of(flipped_accuracy(independent_flips())),
    ),
    Erratum(
        17,
        "Var(y b + (1-y)(1-b)): b and 1-b are not independent",
        lambda: (0.3**2 + 0.7**2) * Q * (1 - Q),
        lambda: (2 * 0.3 - 1) ** 2 * Q * (1 - Q),
        lambda: Value(float(np.cov(np.array([0.7, 0.3]), aweights=[Q, 1 - Q], ddof=0))),
    ),
    Erratum(
        18,
        "TP and TN are counts: defined as fractions and divided by M again they give a/M",
        lambda: (CORRECT.mean()) / M,
        lambda: CORRECT.sum() / M,
        lambda: Value(A),
    ),
    Erratum(
        19,
        "b_j, one flip for all labels, is another law than b_i, one for each",
        lambda: (1 - 2 * A) ** 2 * Q * (1 - Q),
        lambda: Q * (1 - Q) / M,
        lambda: variance_of(flipped_accuracy(independent_flips())),
    ),
    Erratum(
        20,
        "the sum of squares is chi'^2: the mean of chi' is that of its square root",
        lambda: float(np.sqrt((normal_draws(DELTA / SIGMA, 1.0) ** 2).sum(axis=1)).mean()),
        lambda: DELTA.size + float(np.sum((DELTA / SIGMA) ** 2)),
        lambda: mean_of((normal_draws(DELTA / SIGMA, 1.0) ** 2).sum(axis=1)),
    ),
    Erratum(
        21,
        "E(MSE) follows from the mean M + lambda, not from the variance 2M + 4 lambda that is cited",
        lambda: 0.8**2 / 5 * (2 * 5 + 4 * float(np.sum(DELTA**2)) / 0.8**2),
        lambda: 0.8**2 / 5 * (5 + float(np.sum(DELTA**2)) / 0.8**2),
        lambda: mean_of(np.mean(normal_draws(DELTA, 0.8) ** 2, axis=1)),
    ),
    Erratum(
        23,
        "unequal sigma: the law is computable; the constant-sigma law with the mean variance is not it",
        lambda: float(stats.ncx2.cdf(1.0 * 5 / np.mean(SIGMA**2), 5, np.sum(DELTA**2) / np.mean(SIGMA**2))),
        lambda: generalised_chi2_cdf(1.0),
        lambda: mean_of((np.mean(normal_draws(DELTA, SIGMA) ** 2, axis=1) <= 1.0).astype(float)),
    ),
    Erratum(
        24,
        "eq. (expect_acc2): a plus sign stands where the second equals sign is printed",
        lambda: Q * (1 - A),
        lambda: (1 - Q) * A + Q * (1 - A),
        lambda: mean_of(flipped_accuracy(independent_flips())),
    ),
]


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: f"{erratum.number}: {erratum.what}")
def test_printed_formula_fails_and_right_one_agrees(erratum):
    truth = erratum.truth()
    assert truth.agrees(erratum.right())
    assert not truth.agrees(erratum.printed())


def test_3_printed_variance_depends_on_the_unit():
    """A variance in metres^2 must be 1e6 times smaller in kilometres^2; the printed one changes its sign."""
    in_metres = printed_variance_abs(0.5, 0.2)
    in_millimetres = printed_variance_abs(500.0, 200.0) / 1e6
    assert in_metres == pytest.approx(-0.22132, abs=1e-5)
    assert in_millimetres == pytest.approx(0.28949, abs=1e-5)
    assert right_variance_abs(500.0, 200.0) / 1e6 == pytest.approx(right_variance_abs(0.5, 0.2), rel=1e-12)


def test_8_printed_parts_do_not_add_up_to_the_printed_sum():
    printed_sum = part_above(1 / np.sqrt(2)) + part_below(1 / np.sqrt(2))
    equation_j1 = np.sqrt(2) * S_B / np.sqrt(np.pi) * (np.exp(-(T_B**2)) + np.sqrt(np.pi) * T_B * erf(T_B))
    assert printed_sum == pytest.approx(0.97979, abs=1e-5)
    assert equation_j1 == pytest.approx(0.73667, abs=1e-5)
    assert part_above(0.5) + part_below(0.5) == pytest.approx(equation_j1, rel=1e-13)


def test_10_noise_inside_the_expectation_acts_twice():
    rng = np.random.default_rng(25)
    twice = (rng.random((DRAWS // 4, M)) < Q) != (rng.random((DRAWS // 4, M)) < Q)
    assert mean_of(flipped_accuracy(twice)).agrees(A + 2 * Q * (1 - Q) * (1 - 2 * A))


@pytest.mark.parametrize(("a", "classes"), [(0.3, 2), (0.1, 2), (0.05, 10)])
def test_12_expected_accuracy_is_not_always_lower(a, classes):
    """Below chance level (1/K with uniform flips) label noise raises the accuracy; exactly there it changes nothing."""
    rng = np.random.default_rng(26)
    label, shift = np.zeros((DRAWS // 4, M), int), rng.integers(1, classes, (DRAWS // 4, M))
    shown = np.where(rng.random(label.shape) < Q, (label + shift) % classes, label)
    prediction = np.where(np.arange(M) < round(a * M), 0, 1)
    simulated = mean_of((shown == prediction).mean(axis=1))
    wrong_but_confirmed = Q / (classes - 1)
    assert simulated.agrees(a * (1 - Q) + (1 - a) * wrong_but_confirmed)
    assert simulated.value > a + 4 * simulated.error


def test_12_expected_precision_of_a_rare_class_rises():
    """Of 100 items predicted positive 10 are: precision 0.1 becomes 0.1 + q (1 - 0.2)."""
    flips = independent_flips()
    precision = np.mean((np.arange(M) < 10) != flips, axis=1)
    assert mean_of(precision).agrees(0.1 + Q * 0.8)


def test_14_classical_metric_forecasts_a_remeasurement_and_the_printed_one_counts_the_error_twice():
    seen, truth, s2 = single_measurements()
    assert mean_of(seen).agrees(truth + s2)
    assert mean_of(seen + s2).agrees(truth + 2 * s2)


def test_17_index_slip_in_the_variance_of_a_label():
    """y_1 pq + (1 - y_i) pq with y_1 = 1, y_i = 0 is 2pq; the variance of a flipped label is pq for each label."""
    pq = Q * (1 - Q)
    for y in (0.0, 1.0):
        outcomes = np.array([1 - y, y])
        assert np.cov(outcomes, aweights=[Q, 1 - Q], ddof=0) == pytest.approx(pq, rel=1e-13)
    assert 1 * pq + (1 - 0) * pq == pytest.approx(2 * pq)


def test_22_sign_of_delta_does_not_matter_in_the_right_formulas():
    """delta is y - yhat in eq. (7) and yhat - ybar in the appendices."""
    assert right_mae(DELTA, SIGMA) == right_mae(-DELTA, SIGMA)
    assert right_variance_abs(DELTA, SIGMA) == pytest.approx(right_variance_abs(-DELTA, SIGMA), rel=1e-15)
    assert printed_mae(DELTA[:1], SIGMA[:1]) != pytest.approx(printed_mae(-DELTA[:1], SIGMA[:1]))


def test_25_q_and_one_minus_q_are_mirror_images():
    """A model with accuracy a under q shows what one with 1 - a shows under 1 - q; at q = 1/2 all models look alike."""
    for a in (0.2, 0.85):
        for q in (0.05, 0.3, 0.9):
            assert a + q * (1 - 2 * a) == pytest.approx((1 - a) + (1 - q) * (1 - 2 * (1 - a)), rel=1e-14)
        assert a + 0.5 * (1 - 2 * a) == 0.5


@pytest.mark.parametrize(("delta", "sigma"), [(0.5, 0.2), (-1.25, 0.5), (0.0, 1.0)])
def test_26_brute_force_variances_which_the_paper_lacks(delta, sigma):
    mean_square = delta**2 + sigma**2
    brute_force = gauss_expectation(lambda x: (x * x - mean_square) ** 2, delta, sigma)
    assert brute_force == pytest.approx(2 * sigma**4 + 4 * delta**2 * sigma**2, rel=1e-10)
    assert abs_variance(delta, sigma).value == pytest.approx(right_variance_abs(delta, sigma), rel=1e-10)


# ------------------------------------------------------------------------------------------------ what holds as printed

CONFIRMED = {
    "E(MSE), constant sigma": (
        lambda: np.mean(DELTA**2) + 0.8**2,
        lambda: mean_of(np.mean(normal_draws(DELTA, 0.8) ** 2, axis=1)),
    ),
    "Var(MSE), constant sigma": (
        lambda: 2 * 0.8**4 / 5 + 4 * 0.8**2 / 25 * np.sum(DELTA**2),
        lambda: variance_of(np.mean(normal_draws(DELTA, 0.8) ** 2, axis=1)),
    ),
    "E(MSE), mixed sigma": (
        lambda: np.mean(DELTA**2 + SIGMA**2),
        lambda: mean_of(np.mean(normal_draws(DELTA, SIGMA) ** 2, axis=1)),
    ),
    "Var(MSE), mixed sigma": (
        lambda: 2 / 25 * np.sum(SIGMA**4) + 4 / 25 * np.sum(DELTA**2 * SIGMA**2),
        lambda: variance_of(np.mean(normal_draws(DELTA, SIGMA) ** 2, axis=1)),
    ),
    "non-central chi-square law, constant sigma": (
        lambda: stats.ncx2.cdf(5 / 0.8**2 * 1.5, 5, np.sum(DELTA**2) / 0.8**2),
        lambda: mean_of((np.mean(normal_draws(DELTA, 0.8) ** 2, axis=1) <= 1.5).astype(float)),
    ),
    "eq. (J1)": (
        lambda: np.sqrt(2) * S_B / np.sqrt(np.pi) * (np.exp(-(T_B**2)) + np.sqrt(np.pi) * T_B * erf(T_B)),
        lambda: abs_mean(D_B, S_B),
    ),
    "the J after eq. (J1)": (
        lambda: right_mae(np.array([D_B]), np.array([S_B])),
        lambda: abs_mean(D_B, S_B),
    ),
    "E(noisy label), true label 1": (
        lambda: 1 * (1 - 2 * Q) + Q,
        lambda: mean_of(1.0 - independent_flips()[:, 0]),
    ),
    "E(accuracy)": (
        lambda: A + Q * (1 - 2 * A),
        lambda: mean_of(flipped_accuracy(independent_flips())),
    ),
    "eq. (app1)": (
        lambda: (1 - Q) * CORRECT.sum() / M + Q * (~CORRECT).sum() / M,
        lambda: mean_of(flipped_accuracy(independent_flips())),
    ),
}


@pytest.mark.parametrize("name", CONFIRMED)
def test_confirmed_formula(name):
    printed, truth = CONFIRMED[name]
    assert truth().agrees(float(printed()))


def test_errata_page_lists_every_erratum_in_order():
    page = (Path(__file__).parents[1] / "docs" / "theory" / "errata.md").read_text(encoding="utf-8")
    numbers = [int(line.split("|")[1]) for line in page.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert sorted(numbers) == list(range(1, 27))


ALSO_ON_THE_PAGE = {
    1: lambda: [printed_folded_mean(0.5, 0.2)],
    3: lambda: [printed_variance_abs(500.0, 200.0) / 1e6],
    8: lambda: [part_above(1 / np.sqrt(2)) + part_below(1 / np.sqrt(2)), part_above(0.5) + part_below(0.5)],
    12: lambda: [a + Q * (1 - 2 * a) for a in (0.3, 0.1)],
    14: lambda: [float(single_measurements()[0].mean())],
    20: lambda: [float(np.sum((DELTA / SIGMA) ** 2))],
}
"""What the rows of the page show besides the printed and the right value of their errata."""
GIVEN = {"0.05", "0.1", "0.10", "0.2", "0.3", "0.5", "0.7", "0.8", "0.85", "1.0", "1.5"}


def test_every_number_of_the_errata_page_is_found_here():
    page = (Path(__file__).parents[1] / "docs" / "theory" / "errata.md").read_text(encoding="utf-8")
    for line in page.splitlines():
        if not re.match(r"\| \d+ \|", line):
            continue
        cells = re.split(r"(?<!\\)\|", line)
        number = int(cells[1])
        shown = [text for text in re.findall(r"-?(?<![\d.])\d+\.\d+", cells[-2]) if text.lstrip("-") not in GIVEN]
        found = [
            float(value())
            for erratum in ERRATA
            if erratum.number == number
            for value in (erratum.printed, erratum.right)
        ]
        found += ALSO_ON_THE_PAGE.get(number, list)()
        for text in shown:
            half = 0.5001 * 10.0 ** -len(text.partition(".")[2])
            assert any(abs(value - float(text)) <= half for value in found), (number, text, found)
