"""Labels by majority of several votes: how they show the true class."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from scorebars.errors import ClassError, ClassFlip, Flip, Transition, Votes
from scorebars.errors.checked_rates import DrawnRates
from scorebars.errors.class_error import Classes
from scorebars.moments.majority_error import majority_error, majority_rows
from scorebars.moments.vote_difficulty import vote_difficulty


def majority_model(model: ClassError, votes: int | NDArray[np.int64], classes: Classes) -> ClassError | None:
    """The error model of labels by majority of `votes` fresh votes, ties at random; None where a vote has no transition.

    For `Votes` it is that of the votes at hand.
    """
    if isinstance(model, Flip):
        return Flip(majority_error(model.q, int(votes), len(classes)), kind=model.kind)
    if isinstance(model, ClassFlip | Transition):
        return Transition(majority_rows(model.transition(classes), int(votes)), classes, kind=model.kind)
    if isinstance(model, Votes) and model.transition(classes) is not None:
        return _voted(model)
    return None


class VotedTransition(Transition):
    """How the label that wins a vote shows the true class, as the votes themselves tell it."""

    doubt = ""
    """What the votes say against the assumptions."""
    caveat = ""
    """What they cannot say."""


_FEW_VOTES = (
    "two or three votes an item cannot show whether some items are harder than others, so the intervals leave room for "
    "it"
)


def _voted(model: Votes) -> VotedTransition:
    """The error model of labels by majority, or by raters of known skill."""
    k, n = len(model.classes()), len(model.counts)
    if model.shown_as is not None and model.votes is not None:
        found = VotedTransition(model.shown_as[0], model.classes())
        found.checked = DrawnRates(
            found.matrix, model.shown_as[1:], f"the votes of {model.votes.shape[1]} raters on {n} items"
        )
        if model.hard_items is not None:
            found.doubt = (
                "items differ in difficulty: raters are wrong together more often than their skills allow, so the labels are "
                f"taken to be wrong on {model.hard_items[0]:.2%} of the items, not on {model.hard_items[1]:.2%}"
            )
        found.caveat = _FEW_VOTES if int(np.max(model.repeats)) in (2, 3) else ""
        return found
    difficulty = vote_difficulty(model.counts)
    repeats, times = np.unique(np.asarray(model.repeats), return_counts=True)
    each = [t / n * float(majority_error(model.vote_error, int(r), k)) for r, t in zip(repeats, times, strict=True)]
    wrong, drawn, doubt = math.fsum(each), difficulty.drawn, ""
    if difficulty.clear:
        doubt = (
            f"items differ in difficulty: votes scatter more than one error rate of {model.vote_error:.3f} allows (dispersion "
            f"{difficulty.dispersion:.2f}), so the majority is taken to be wrong on {difficulty.majority:.2%} of the items, "
            f"not on {wrong:.2%}"
        )
        wrong = difficulty.majority
    caveat = _FEW_VOTES if int(repeats[-1]) in (2, 3) else ""
    rows = Flip(np.append(drawn, wrong)).transition(model.classes())
    found = VotedTransition(rows[-1], model.classes())
    found.checked = DrawnRates(rows[-1], rows[:-1], f"the votes on {n} items")
    found.doubt, found.caveat = doubt, caveat
    return found
