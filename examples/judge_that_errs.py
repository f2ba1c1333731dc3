"""How often is the truth inside the error bar, when a judge that errs made the labels?

A model answers 400 questions, and a judge grades them. Three ways to know the judge: counts of checked labels, gold labels of some
of these items, votes of three judges. Each is tried on an honest judge and on one who believes the model's wrong answers.
"""

import numpy as np

import scorebars as sb

QUESTIONS, CHECKED, WRONG, TIMES = 400, 80, 0.12, 40


def grades(rng: np.random.Generator, right: np.ndarray, friendly: bool) -> np.ndarray:
    """An honest judge errs on 12 % of all answers; a friendly one on half of the wrong answers, and on no other."""
    chance = np.where(right == 0, 0.5, 0.0) if friendly else WRONG
    return np.where(rng.random(right.shape) < chance, 1 - right, right)


def scores(rng: np.random.Generator, right: np.ndarray, friendly: bool) -> dict[str, sb.Score]:
    """The accuracy of the model by each way to know the judge."""
    claim, judged = np.ones_like(right), grades(rng, right, friendly)
    gold = np.where(rng.permutation(len(right)) < CHECKED, right, np.nan)
    panel = np.stack([grades(rng, right, friendly) for _ in range(3)], axis=1)
    known = int(rng.binomial(CHECKED, WRONG))  # counted where no model was involved
    return {
        "rate taken as exact": sb.accuracy_score(judged, claim, yerr=known / CHECKED),
        "counts": sb.accuracy_score(judged, claim, yerr=sb.Flip.from_counts(known, CHECKED)),
        "gold labels": sb.accuracy_score(judged, claim, yerr=sb.Verified(gold)),
        "votes of three": sb.accuracy_score(None, claim, yerr=sb.Votes(ratings=panel)),
    }


def main() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for friendly in (False, True):
        rng = np.random.default_rng(7)
        held: dict[str, list[bool]] = {}
        errors: dict[str, list[float]] = {}
        for _ in range(TIMES):
            right = (rng.random(QUESTIONS) < 0.8).astype(int)
            for way, score in scores(rng, right, friendly).items():
                low, high = score.truth.interval(0.95)
                held.setdefault(way, []).append(low <= right.mean() <= high)
                errors.setdefault(way, []).append(float(score.truth) - right.mean())
        judge = "friendly to the model" if friendly else "honest"
        found[judge] = {way: float(np.mean(inside)) for way, inside in held.items()}
        print(f"A judge who is {judge}: how often the 95 % interval holds the true accuracy, and the mean error")
        for way, share in found[judge].items():
            print(f"  {way:20} {share:4.0%}   {np.mean(errors[way]):+.3f}")
    print(
        "Gold labels assume nothing about the judge. The others need one whose errors have nothing to do with the model's."
    )
    return found


if __name__ == "__main__":
    main()
