"""Models compared on the same labels: differences, probabilities, verdicts and ranks, and how they are shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from scorebars._shared.score_views import counted, left_out, unit_of
from scorebars._shared.shown import Shown, Table, View
from scorebars.answers.combined import in_units
from scorebars.answers.score import Declaration, Score
from scorebars.arrays import FloatArray
from scorebars.studies.comparison.model_difference import DifferenceAnswers, VerifiedDifference
from scorebars.studies.comparison.models_on_same_labels import ModelsOnSameLabels
from scorebars.studies.comparison.verified_models import VerifiedModels

_MOST_PAIRS = 28
"""More pairs than these are shown as ranks."""


@dataclass(frozen=True, repr=False)
class Ranking(Shown):
    """Probability of each rank for each model; `probabilities[model][k]` is that of rank k + 1.

    Examples
    --------
    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> models = {name: masses.predictions[name] for name in ("FRDM2012", "HFB24", "HFB26")}
    >>> ranking = sb.compare(masses.y, models, yerr=masses.yerr, sampling=True).ranking()
    >>> ranking.order()
    ['HFB24', 'HFB26', 'FRDM2012']
    >>> print(f"{ranking.probabilities['HFB24'][0]:.2f}")
    0.78
    """

    probabilities: dict[str, FloatArray]
    draws: int
    statement: str

    def best(self) -> str:
        """The model most likely to be the best."""
        return max(self.probabilities, key=lambda name: float(self.probabilities[name][0]))

    def expected_rank(self, name: str) -> float:
        """Mean rank, 1 for a sure winner."""
        p = self.probabilities[name]
        return float(np.sum(p * np.arange(1, len(p) + 1)))

    def order(self) -> list[str]:
        """Models by expected rank."""
        return sorted(self.probabilities, key=self.expected_rank)

    def view(self) -> View:
        """What printing and notebooks show."""
        rows = [
            [name, f"{self.probabilities[name][0]:.3f}", f"{self.expected_rank(name):.1f}"] for name in self.order()
        ]
        return View(tables=[Table(["model", "P(best)", "expected rank"], rows)], notes=[self.statement])


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Two or many models on the same labels.

    `difference(a, b)` is metric(a) - metric(b) as a Score, `probability(a, b)` that a is strictly better, `verdict(a, b)`
    a plain word, `ranking()` the probabilities of all ranks.

    Examples
    --------
    >>> import scorebars as sb
    >>> masses = sb.datasets.load_nuclear_masses()
    >>> models = {name: masses.predictions[name] for name in ("FRDM2012", "DZ28")}
    >>> comparison = sb.compare(masses.y, models, yerr=masses.yerr)
    >>> print(comparison.verdict("DZ28", "FRDM2012"), comparison.difference("DZ28", "FRDM2012").truth)
    better -0.208 ± 0.005 (labels) ± 0.015 (sample)
    """

    metric: str
    models: list[str]
    level: float
    sampling: bool
    rope: float
    _models: ModelsOnSameLabels = field(repr=False)
    warnings: list[str] = field(default_factory=list)
    omitted: int = 0
    """Rows that were left out because they miss a value (``nan_policy="omit"``)."""

    @property
    def declaration(self) -> Declaration:
        """What is true of the metric whatever the data."""
        return self._models.declaration

    def _check(self, *names: str) -> None:
        for name in names:
            if name not in self.models:
                raise ValueError(
                    f"there is no model {name!r} in this comparison. The models are: {', '.join(self.models)}."
                )

    def difference(self, a: str, b: str) -> Score:
        """metric(a) - metric(b)."""
        self._check(a, b)
        return Score(in_units(self._answers(a, b), *self._models.units))

    def _answers(self, a: str, b: str) -> DifferenceAnswers:
        kind = VerifiedDifference if isinstance(self._models, VerifiedModels) else DifferenceAnswers
        return kind(self._models, a, b, self.sampling)

    def probability(self, a: str, b: str) -> float:
        """Probability that a is strictly better than b when the labels (and with `sampling` the items) vary."""
        self._check(a, b)
        if a == b:
            return 0.0
        if not self.sampling and self._models.same_order is not None:
            law = self._models.same_order.law(a, b)
        else:
            law = self._answers(a, b).law()
        if self._models.declaration.greater_is_better:
            return float(law.sf(0.0))
        return float(law.cdf(0.0)) - (
            float(law.pmf(0.0)) if law.discrete else float(law.std == 0.0 and law.mean == 0.0)
        )

    def verdict(self, a: str, b: str) -> str:
        """ "better", "worse", "equivalent" (within the rope) or "cannot tell", at the comparison's level."""
        low, high = self.difference(a, b).interval(self.level)
        if self.rope and -self.rope <= low and high <= self.rope:
            return "equivalent"
        sure = self.probability(a, b) >= (1 + self.level) / 2, self.probability(b, a) >= (1 + self.level) / 2
        return "better" if sure[0] else "worse" if sure[1] else "cannot tell"

    def ranking(self, draws: int = 20_000, rng: np.random.Generator | int | None = 0) -> Ranking:
        """Probability of each rank for each model, from joint draws of all scores on common labels.

        At most as many are drawn as the differences are made of; these are kept, and `rng` then only orders equal scores.
        """
        rng = np.random.default_rng(rng)
        values = self._models.draws(draws, rng, self.sampling)
        values = values[np.all(np.isfinite(values), axis=1)]
        if not len(values):
            raise ValueError(f"{self.metric} is not defined for redrawn labels, so models cannot be ranked by it.")
        if self._models.declaration.greater_is_better:
            values = -values
        ranks = np.argsort(np.lexsort((rng.random(values.shape), values), axis=1), axis=1)  # ties fall either way
        count = len(self.models)
        table = {name: np.bincount(ranks[:, k], minlength=count) / len(values) for k, name in enumerate(self.models)}
        best = max(table, key=lambda name: float(table[name][0]))
        tied = [
            n for n in self.models if n != best and self.probability(best, n) < 1 - (1 - self.level) / max(count - 1, 1)
        ]
        sure = count - 1 - len(tied)
        others = "the other" if count == 2 else "any other" if not sure else f"{sure} of the {count - 1} others"
        if sure == count - 1 > 1:
            others = f"all {sure} others"
        statement = (
            f"{best} is most likely the best (probability {table[best][0]:.3f}); at a joint level of {self.level:.0%} "
            f"(Bonferroni, {count - 1} comparison{'s' * (count > 2)}) it is {'' if sure else 'not '}clearly better than "
            f"{others}."
        )
        return Ranking(table, len(values), statement)

    def view(self) -> View:
        """What printing and notebooks show: every pair, or for many models their ranks."""
        what = "label errors and finite test set" if self.sampling else "label errors"
        on = counted(self._models.n, "label")
        title = f"{self.metric} of {len(self.models)} models on {on} ({what}, level {self.level:.0%})"
        notes = [left_out(self.omitted)] if self.omitted else []
        pairs = list(combinations(self.models, 2))
        warnings = [f"{w}." for w in self.warnings]
        if len(pairs) > _MOST_PAIRS:
            ranks = self.ranking().view()
            return View(title, ranks.tables, [*notes, *ranks.notes], warnings)
        rows = [
            [f"{a} - {b}", str(self.difference(a, b)), f"{self.probability(a, b):.3f}", self.verdict(a, b)]
            for a, b in pairs
        ]
        return View(
            title, [Table(["models", "difference", "P(first better)", "verdict of the first"], rows)], notes, warnings
        )

    def sentence(self, unit: str | None = None) -> str:
        """Ready for a paper: the best model against the next, and what the verdict rests on.

        `unit` is that of the labels, where they bring none of their own.
        """
        first, second = self.ranking().order()[:2]
        difference = self.difference(first, second)
        tail = f" {made}" if difference.unit is None and (made := unit_of(difference, unit)) else ""
        verdict = {"better": "is better", "worse": "is worse", "equivalent": "is equivalent"}.get(
            self.verdict(first, second), "cannot be told from it"
        )
        on = (
            "label errors and the choice of the test items count"
            if self.sampling
            else "label errors alone count, for these test items only"
        )
        title = self._models.declaration.title
        return (
            f"{title} of {first} minus that of {second} on the same {counted(self._models.n, 'label')}: "
            f"{difference}{tail}; {first} is better with probability {self.probability(first, second):.3f}, so "
            f"at a level of {self.level:.0%} it {verdict} ({on})."
        )
