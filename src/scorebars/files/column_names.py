"""The vocabulary of column names: by which words labels, errors, predictions and others are known.

Names are compared without regard to case, units and the signs between words.

===========  ========================================================================================================
labels       ``y``, ``y_true``, ``label``, ``target``, ``measured``, ``exp``, ``mass_exp``, ...; else the one column that
             has errors of its own, or repeats ``y_1``, ``y_2``, ...
errors       called after the labels (``x_err``, ``xerr``, ``x_sigma``, ``e_x``, ``sigma_x``, ...) or plainly (``unc``, ``±``);
             lower and upper ones ``x_err_lo``/``x_err_hi``, ``x_lo``/``x_hi``, ``xerr2``/``xerr1``; in percent ``x_err_pct``
classes      ``q``, ``flip_prob``, ``p_wrong``: the probability that a label is wrong
predictions  ``pred_*``, ``y_pred*``, ``*_pred``, ``calc``, ``model_*``, ...; else what is left over and looks like labels
forecasts    ``pred_x`` with its spread ``pred_x_std`` (``_sigma``, ``_err``); three or more members ``pred_x_1``, ...
gold         ``gold``, ``gold_label``, ``y_gold``, ``<labels>_gold``, ... with some cells empty: better labels of items
             that were checked; ``p_checked``, ``gold_probability``, ...: the probability with which each was chosen for that
others       ``weight``, ``sample_weight``, ``w``; ``group``; ``id``, ``name``, ``key``; ``model`` in a long table
===========  ========================================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


LABEL_NAMES = _words(
    "y_true y ytrue label labels y_obs yobs target measured measured_value experiment exp expt true truth"
)
LABEL_WORDS = frozenset(
    _words(
        "y exp expt experiment experimental measured measurement true truth target observed obs actual reference ref label "
        "labels gt value ytrue"
    )
)
WEAK_LABEL_NAMES = _words("observed actual reference value measurement obs ref")
FLIP_NAMES = _words("q flip_prob flip_probability p_wrong p_flip label_error_probability")
GOLD_NAMES = _words("gold gold_label gold_labels gold_standard y_gold gold_y label_gold gold_truth gold_value")
CHANCE_OF_GOLD_NAMES = _words(
    "gold_probability gold_prob p_gold p_checked checked_probability check_probability probability_checked prob_checked p_check"
)
ERROR_WORDS = frozenset(
    _words(
        "err errs error errors errorbar sigma std stdev stddev stderr sd se sem unc uncert uncertainty uncertainties ±"
    )
)
SIDES = (("lo", "hi"), ("low", "high"), ("lower", "upper"), ("minus", "plus"), ("neg", "pos"), ("down", "up"))
NUMBERED_SIDES = ("2", "1")
"""Lower and upper errors of the NASA archive are called err2 and err1."""
SIDE_WORDS = frozenset(word for pair in SIDES for word in pair)
GLUED_ERROR = re.compile(rf"(.*?)(rel)?(err|errors?|sigma|unc|uncertainty|std)([12]|{'|'.join(sorted(SIDE_WORDS))})?")
KINDS_OF_ERROR = {
    "percent": frozenset(_words("pct percent percentage %")),
    "relative": frozenset(_words("rel relative frac fractional")),
    "stat": frozenset(_words("stat statistical random")),
    "sys": frozenset(_words("sys syst systematic")),
    "total": frozenset(_words("total tot combined")),
}
SPREAD_WORDS = frozenset(_words("std sd stdev stddev sigma unc uncertainty"))
"""Words that stand for the scatter of predictions as often as for errors of labels."""
SINGLE_SPREAD_WORDS = frozenset(_words("std sd stdev stddev"))
"""Words for the scatter of single measurements."""
COUNT_NAMES = _words("n n_rep n_reps n_repeats nrep replicates n_replicates n_obs n_measurements count")
WIDE_WORDS = frozenset(_words("2sigma 2s 2sd 3sigma 95 90 99 ci95 95ci k2 expanded"))
"""Words for errors that are wider than one standard deviation."""
SUSPECT_WORDS = frozenset(
    _words("var variance ci interval bound bounds delta u tolerance noise spread mad iqr rms fwhm k=2")
)
"""Words for what may be an error of some other kind than a standard deviation."""
QUALIFIERS = frozenset(word for words in KINDS_OF_ERROR.values() for word in words)
PREDICTED_WORDS = frozenset(_words("pred preds prediction predictions predicted predict ypred yhat"))
PERHAPS_PREDICTED_WORDS = frozenset(
    _words(
        "calc calculated computed theory theo theoretical model modelled modeled sim simulated simulation forecast estimate "
        "estimated fit fitted hat"
    )
)
PREDICTION_STARTS = ("pred_", "prediction_", "predicted_", "y_pred_", "ypred_", "yhat_", "y_hat_")
WEIGHT_NAMES = _words("weight weights sample_weight w")
ID_NAMES = _words("id ids identifier item_id sample_id item name key")
SURE_ID_NAMES = ID_NAMES[:6]
"""In a column of such a name each entry should occur once."""
MODEL_NAMES = _words("model models method algorithm estimator regressor classifier predictor model_name")
COORDINATE_NAMES = frozenset(
    _words(
        "x z n a index row no nr number year date time t temperature temp ra dec lat lon latitude longitude depth mjd jd "
        "fold seed epoch set split"
    )
)
ROLE_OPTIONS = _words(
    "y yerr yerr_percent limits gold gold_probability pred std members weight by groups id model repeats votes "
    "probabilities cov"
)
"""The options that say what columns are."""
LABEL_SOURCES = _words("repeats votes probabilities")
"""Options that name columns which labels are made from, and which bring the errors."""
ERROR_OPTIONS = ("yerr", "yerr_percent", "limits", "cov", *LABEL_SOURCES)
"""Options that say what the errors are."""
UNGUESSED = {**dict.fromkeys(_words("weight by id model gold"), "none"), "std": ["none"], "members": ["none"]}
"""Options whose columns are guessed unless these values say that there is none."""


def without_guesses(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options that name labels and predictions, with all others said, so that nothing is guessed."""
    exact = {} if set(given) & set(ERROR_OPTIONS) else {"yerr": "none"}
    return {**UNGUESSED, **exact, **given}
