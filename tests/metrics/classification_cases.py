"""Metrics and label-error models of the classification tests, each once."""

import numpy as np

from scorebars.errors import ClassFlip, Flip, LabelProbabilities, Thresholded, Transition, Votes
from scorebars.metrics import class_scores, class_shares, predicted_classes

OF_CLASSES = {
    "accuracy_score": (predicted_classes.accuracy_score, {}),
    "zero_one_loss": (predicted_classes.zero_one_loss, {}),
    "balanced_accuracy_score": (predicted_classes.balanced_accuracy_score, {}),
    "precision_score": (class_shares.precision_score, {}),
    "recall_score": (class_shares.recall_score, {}),
    "specificity_score": (class_shares.specificity_score, {}),
    "f1_score": (class_shares.f1_score, {}),
    "fbeta_score": (class_shares.fbeta_score, {"beta": 0.5}),
    "jaccard_score": (class_shares.jaccard_score, {}),
    "matthews_corrcoef": (predicted_classes.matthews_corrcoef, {}),
    "cohen_kappa_score": (predicted_classes.cohen_kappa_score, {"replace_undefined_by": 0.0}),
}
OF_SCORES = {
    "log_loss": (class_scores.log_loss, {"labels": [0, 1]}),
    "brier_score_loss": (class_scores.brier_score_loss, {}),
    "roc_auc_score": (class_scores.roc_auc_score, {}),
    "average_precision_score": (class_scores.average_precision_score, {}),
    "top_k_accuracy_score": (class_scores.top_k_accuracy_score, {"k": 1, "labels": [0, 1]}),
}
METRICS = OF_CLASSES | OF_SCORES
AVERAGED = ("precision_score", "recall_score", "specificity_score", "f1_score", "fbeta_score", "jaccard_score")

confusion_matrix = predicted_classes.confusion_matrix


def situation(n=30, seed=5):
    """Labels of two classes, predictions, scores, and a model of each kind that holds or serves these labels."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, n)
    y = (values > 0.2).astype(int)
    score = np.clip(0.5 + 0.25 * (2 * y - 1) + rng.normal(0, 0.25, n), 0.02, 0.98).round(2)
    pred = (score > 0.5).astype(int)
    p = np.where(y[:, None] == [0, 1], 0.85, 0.15)
    votes = np.where(y[:, None] == [0, 1], 4, 1)
    votes[::3] = np.where(y[::3, None] == [0, 1], 3, 0)
    models = {
        "Flip": Flip(0.1),
        "Flip per item": Flip(rng.uniform(0, 0.3, n)),
        "Flip correlated": Flip(0.1, correlation=0.2),
        "ClassFlip": ClassFlip({0: 0.05, 1: 0.2}),
        "Transition": Transition([[0.9, 0.1], [0.25, 0.75]], [0, 1]),
        "LabelProbabilities": LabelProbabilities(p, [0, 1]),
        "Votes": Votes(votes, [0, 1]),
        "Thresholded": Thresholded(values, 0.5, 0.2),
    }
    return y, pred, score, models


def prediction_for(name, pred, score):
    return pred if name in OF_CLASSES else score
