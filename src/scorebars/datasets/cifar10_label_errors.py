"""Class labels re-checked by people: wrong labels and votes."""

from __future__ import annotations

import numpy as np

from .container import Dataset, integers, numbers, read_rows, texts


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

    >>> from scorebars.datasets import load_cifar10_label_errors
    >>> cifar = load_cifar10_label_errors()
    >>> float((cifar.y == cifar.predictions["cross_validated"]).mean())
    0.9294
    >>> votes = cifar.columns["votes"][cifar.columns["rechecked"]]
    >>> len(votes), int((votes[:, 0] < 3).sum())
    (275, 54)
    """
    rows = read_rows("cifar10_label_errors", "cifar10_given_pred.csv")
    checked = read_rows("cifar10_label_errors", "cifar10_mturk_votes.csv")
    where = integers(checked, "id")
    votes = np.zeros((len(rows), 4), dtype=np.int64)
    choices = ("v_given", "v_guessed", "v_neither", "v_both")
    votes[where] = np.stack([integers(checked, choice) for choice in choices], axis=1)
    rechecked = np.zeros(len(rows), dtype=bool)
    rechecked[where] = True
    guess = np.full(len(rows), -1, dtype=np.int64)
    guess[where] = integers(checked, "y_guess")
    q_votes = np.full(len(rows), np.nan)
    q_votes[where] = (votes[where, 1] + votes[where, 2]) / votes[where].sum(axis=1)
    return Dataset(
        name="cifar10_label_errors",
        y=integers(rows, "y_given"),
        yerr=None,
        predictions={"cross_validated": integers(rows, "pred")},
        ids=texts(rows, "id"),
        columns={
            "p_pred": numbers(rows, "p_pred"),
            "p_given": numbers(rows, "p_given"),
            "rechecked": rechecked,
            "guess": guess,
            "votes": votes,
            "q_votes": q_votes,
        },
        description="10000 CIFAR-10 test labels, 275 of them re-checked by five people each",
        units="class 0 to 9",
        citation="Northcutt, Athalye & Mueller 2021, arXiv:2103.14749",
        licence="Apache-2.0",
    )
