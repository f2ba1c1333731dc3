"""What is a classifier's accuracy worth when people who look again disagree with the labels?

Five people each voted on 275 labels of the CIFAR-10 test set, those that a cross-validated model contradicted most clearly.
First the votes themselves: how well do people agree, and what does that say of the label that wins? Then the whole test set,
with the votes as the only knowledge of wrong labels.
"""

import numpy as np

import scorebars as sb

CLASSES = np.arange(10)


def votes_by_class(data: sb.datasets.Dataset, items: np.ndarray) -> np.ndarray:
    """Votes (items, 10): who saw the given label or both counts for the given label, "neither" for no class."""
    given, alternative, _, both = data.columns["votes"][items].T
    counts = np.zeros((len(items), len(CLASSES)), dtype=int)
    row = np.arange(len(items))
    np.add.at(counts, (row, data.y[items]), given + both)
    np.add.at(counts, (row, data.columns["guess"][items]), alternative)
    return counts


def show(title: str, s: sb.Score) -> None:
    print(f"\n{title}")
    low, high = s.interval(0.95)
    print(f"  {'observed':12} {s.observed:.4f}")
    print(f"  {'expected':12} {s}   95 % between {low:.4f} and {high:.4f}")
    for name in ("truth", "perfect"):
        try:
            print(f"  {name:12} {getattr(s, name)}")
        except sb.UndefinedEstimate as why:
            print(f"  {name:12} cannot be estimated: {why}")


def main() -> None:
    data = sb.datasets.load_cifar10_label_errors()
    prediction = data.predictions["cross_validated"]
    checked = np.flatnonzero(data.columns["rechecked"])
    counts = votes_by_class(data, checked)
    voted = counts.sum(axis=1) > 1
    checked, counts = checked[voted], counts[voted]

    votes = sb.errors.Votes(counts, CLASSES)
    print(f"{len(checked)} labels with two votes or more for a class")
    print(f"  two votes on one item agree with probability {votes.agreement:.3f}, Fleiss' kappa {votes.kappa:.3f}")
    print(f"  a single vote is wrong with probability {votes.vote_error:.3f} if people err independently of each other")
    show(
        "Accuracy on these labels, label = majority of the votes",
        sb.accuracy_score(None, prediction[checked], yerr=votes),
    )

    shares = np.eye(len(CLASSES))[data.y]
    shares[checked] = counts / counts.sum(axis=1, keepdims=True)
    believed = sb.errors.LabelProbabilities(shares, CLASSES)
    show(
        "Accuracy on all 10000 given labels, vote shares read as probabilities of the true class",
        sb.accuracy_score(data.y, prediction, yerr=believed),
    )
    print(
        "\nVerification bias: only labels that this model disputed were looked at again. Wrong labels with which the model"
        "\nagrees stay unseen, so the corrected accuracy can only go up, for this model more than for any other. The first"
        "\ntable speaks of the disputed labels, not of the test set; in the second, labels nobody checked count as right."
    )


if __name__ == "__main__":
    main()
