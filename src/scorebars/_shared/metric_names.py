"""What people call the common metrics, and what they may have meant by another name."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

_SHORT = """
    mse mean_squared_error, rmse root_mean_squared_error, mae mean_absolute_error, bias mean_error, r2 r2_score,
    medae median_absolute_error, mape mean_absolute_percentage_error, smape symmetric_mean_absolute_percentage_error,
    msle mean_squared_log_error, rmsle root_mean_squared_log_error, huber huber_loss, pearson pearson_correlation,
    spearman spearman_correlation, kendall kendall_correlation, ccc concordance_correlation,
    c_index concordance_index, chi2 reduced_chi_squared,
    accuracy accuracy_score, precision precision_score, recall recall_score, f1 f1_score, mcc matthews_corrcoef,
    kappa cohen_kappa_score, auc roc_auc_score, brier brier_score_loss"""
SHORT_NAMES = dict(pair.split() for pair in _SHORT.split(","))
"""Short name: name."""


def full_name(given: str, known: Collection[str], listed: str = "") -> str:
    """A metric by its full or short name; `listed` says where those that are known stand.

    >>> full_name("RMSE", ["root_mean_squared_error"])
    'root_mean_squared_error'
    """
    name = SHORT_NAMES.get(given.lower(), given)
    if name in known:
        return name
    near = get_close_matches(given.lower(), [*SHORT_NAMES, *known], 3)
    meant = " or ".join(dict.fromkeys(SHORT_NAMES.get(one, one) for one in near))
    raise ValueError(f"there is no metric {given!r}.{f' Did you mean {meant}?' if meant else ''} {listed}".rstrip())
