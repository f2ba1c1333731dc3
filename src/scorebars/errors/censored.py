"""Labels of which some are known only as limits: "< 0.5", "> 10", "between 2 and 4"."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self

import numpy as np

from scorebars import checks
from scorebars.arrays import BoolArray, FloatArray
from scorebars.cells import read_cells
from scorebars.errors.measurement_error import MeasurementError
from scorebars.errors.normal import Normal, error_model
from scorebars.errors.parameters import require_common_size, standard_deviations

_RANGE = re.compile(r"[\[(]\s*(?:([^;]+?)\s*;\s*([^;]+?)|([^,;]+?)\s*,\s*([^,;]+?))\s*[\])]")
_UPPER = ("1", "true", "t", "y", "yes", "<", "<=", "≤", "<<", "u", "ul", "upper", "upper limit")
_LOWER = ("-1", ">", ">=", "≥", ">>", "l", "ll", "lower", "lower limit")
_NEITHER = ("0", "false", "f", "n", "no", "", "=", "~", "≈", "nan", "none", "<na>")


class Censored(MeasurementError):
    r"""Labels of which some are limits: below a detection limit, above a saturated assay, within a range.

    Parameters
    ----------
    lower, upper : (n,)
        Where each label lies. Equal where it is a number; ``-inf``, NaN or None where it has no lower end, ``inf``, NaN or
        None where it has no upper end. A `scipy.stats.CensoredData` may take the place of both. It keeps no order: its
        labels are the numbers, then those known as upper limits ("left censored"), as lower limits, as ranges.
    sigma : number or (n,), optional
        Standard deviation of the measurement behind each label. None: labels that are numbers are exact.

    Notes
    -----
    The labels come from the model, so `y_true` is None. With true values :math:`t_i`, the measurement
    :math:`t_i + \sigma_i Z` is either seen as a number or known to lie in :math:`[l_i, u_i]`. Metrics of the residual then
    say with `bounds` what the labels allow, and with `truth` what the most likely distribution of the true residuals says,
    given numbers and limits. `observed` is the metric with each limit replaced by the allowed value nearest to the
    prediction: a lower bound of an error.

    References
    ----------
    B. W. Turnbull, J. R. Stat. Soc. B 38 (1976) 290 (the most likely distribution of censored values).

    Examples
    --------
    Two concentrations, one below the detection limit of 0.5, and one that saturates at 10:

    >>> import scorebars as sb
    >>> labels = sb.Censored([1.2, None, 10.0], [1.2, 0.5, None])
    >>> labels
    Censored(3 labels: 1 number, 1 upper limit, 1 lower limit)
    >>> s = sb.mean_absolute_error(None, [1.0, 0.9, 11.0], yerr=labels)
    >>> print(f"{s.observed:.2f}, between {s.bounds.low:.2f} and {s.bounds.high}")
    0.20, between 0.20 and inf
    """

    per_label = ("lower", "upper", "sigma")
    kind = "classical"

    lower: FloatArray
    """Where each label begins; -inf where it has no lower end."""
    upper: FloatArray
    """Where each label ends; inf where it has no upper end."""
    sigma: FloatArray | float
    """Standard deviation of the measurement behind each label."""

    def __init__(self, lower: Any, upper: Any = None, sigma: Any = None) -> None:
        if hasattr(lower, "num_censored") and hasattr(lower, "_uncensored"):
            if upper is not None:
                raise ValueError(
                    "lower is a CensoredData, which holds both ends: give no upper, and sigma by its name."
                )
            lower, upper = _of_scipy(lower)
        if upper is None:
            raise ValueError("upper is missing: give the lower and the upper end of each label, equal for a number.")
        self.lower, self.upper = _ends(lower, "lower", -math.inf), _ends(upper, "upper", math.inf)
        self.sigma = 0.0 if sigma is None else standard_deviations(sigma, "sigma")
        require_common_size(lower=self.lower, upper=self.upper, sigma=self.sigma)
        if (bad := self.lower > self.upper).any():
            hint = "Exchange the two, or correct these labels."
            raise checks.complain("lower", "is above upper", bad, self.lower, hint)
        if (bad := np.isinf(self.lower) & np.isinf(self.upper)).any():
            hint = "Such labels say nothing: remove these rows from all arguments."
            raise checks.complain("lower and upper", "are both open", bad, self.lower, hint)

    @classmethod
    def from_strings(cls, texts: Iterable[Any], sigma: Any = None) -> Self:
        """Labels as they are written in tables: ``"<0.5"``, ``"1.2"``, ``"> 10"``, ``"3.1±0.2"``, ``"1.23(5)"``, ``"[2, 4]"``.

        An error written with a number is its standard deviation, lower and upper errors count by their mean. `sigma` is that
        of all other labels. Without it limits have the median of the written errors, and other numbers are exact.

        >>> import scorebars as sb
        >>> labels = sb.Censored.from_strings(["<0.5", "1.2", "> 10", "3.1±0.2", "[2, 4]"], sigma=0.1)
        >>> labels.upper, labels.sigma
        (array([0.5, 1.2, inf, 3.1, 4. ]), array([0.1, 0.1, 0.1, 0.2, 0.1]))
        """
        if isinstance(texts, str):
            raise ValueError(f"texts is {texts!r}, but must hold one text for each label: [{texts!r}, ...].")
        texts = list(texts)
        ranges = [_RANGE.fullmatch(text.strip()) if isinstance(text, str) else None for text in texts]
        between = np.array([found is not None for found in ranges], dtype=bool)
        ends = [
            (text, text) if found is None else tuple(end for end in found.groups() if end)
            for text, found in zip(texts, ranges, strict=True)
        ]
        both = read_cells([low for low, _ in ends] + [high for _, high in ends])  # one decimal mark for all
        cells, others = (both.rows(np.arange(len(texts)) + start) for start in (0, len(texts)))
        empty = np.isnan(cells.values) | np.isnan(others.values)
        wrong = cells.bad | others.bad | empty | cells.limits | others.limits
        for part in (cells, others):
            wrong |= False if part.upper is None else np.isfinite(part.upper)
        for k in np.flatnonzero(between & wrong):
            raise ValueError(f"texts[{k}] is {texts[k]!r}: a range needs two numbers, such as [2, 4] or [2,5; 4,5].")
        bad = cells.bad | empty
        if bad.any():
            shown = np.array([repr(text) for text in texts], dtype=object)
            hint = 'Write a number, a limit ("<0.5", "> 10"), a value with its error ("3.1±0.2") or a range ("[2, 4]").'
            raise checks.complain("texts", "has entries that are neither numbers nor limits", bad, shown, hint)
        lower = np.where(cells.side == -1, -math.inf, cells.values)
        upper = np.where(cells.side == 1, math.inf, others.values)
        common = 0.0 if sigma is None else standard_deviations(sigma, "sigma")
        if cells.upper is not None and cells.lower is not None:
            written = (cells.lower + cells.upper) / 2
            if sigma is None:
                common = np.where(lower < upper, float(np.nanmedian(written)), 0.0)
            common = np.where(np.isnan(written), common, written)
        return cls(lower, upper, common)

    @classmethod
    def from_flags(cls, values: Any, sigma: Any, flag: Any) -> Self:
        """Values with a column that marks limits, as in catalogues.

        `flag` is one for each value: True, 1, ``"<"`` or ``"U"`` where the value is an upper limit, -1, ``">"`` or ``"L"``
        where it is a lower limit, and False, 0 or empty where it is a number.

        >>> import scorebars as sb
        >>> sb.Censored.from_flags([1.2, 0.5, 10.0], 0.1, ["", "<", ">"])
        Censored(3 labels: 1 number, 1 upper limit, 1 lower limit; sigma=0.1)
        """
        numbers = np.asarray(checks.column(checks.real_array(values, "values"), "values"), dtype=np.float64)
        checks.require_finite(numbers, "values")
        side = limit_sides(flag, "flag")
        if len(side) != len(numbers):
            raise ValueError(f"flag has {len(side)} entries but there are {len(numbers)} values.")
        return cls(np.where(side == -1, -math.inf, numbers), np.where(side == 1, math.inf, numbers), sigma)

    # what is known -----------------------------------------------------------------------------

    @property
    def limits(self) -> BoolArray:
        """Which labels are limits."""
        return self.lower < self.upper

    @property
    def limited(self) -> bool:  # type: ignore[override]
        return bool(self.limits.any())

    def counts(self) -> dict[str, int]:
        """How many labels are numbers, upper limits, lower limits and ranges."""
        limit, below, above = self.limits, np.isfinite(self.lower), np.isfinite(self.upper)
        kinds = {"number": ~limit, "upper limit": limit & ~below, "lower limit": limit & ~above}
        kinds["range"] = limit & below & above
        return {name: int(which.sum()) for name, which in kinds.items()}

    def said(self) -> str:
        """Which labels are limits, in words: "37 of 400 labels are upper limits"."""
        return self._limits_in_words(f" of {len(self.lower)} labels", f" {len(self.lower)} labels")

    def said_of_them(self) -> str:
        """The same after their number: "37 are upper limits"."""
        return self._limits_in_words("", "")

    def _limits_in_words(self, of_all: str, all_of_them: str) -> str:
        found = [(name, k) for name, k in self.counts().items() if k and name != "number"]
        if not found:
            return f"none{of_all} is a limit"
        if found[0][1] == len(self.lower) > 1:
            return f"all{all_of_them} are {found[0][0]}s"
        kinds = [f"{'an' if name[0] == 'u' else 'a'} {name}" if k == 1 else f"{name}s" for name, k in found]
        counts = [str(k) for _, k in found]
        counts[0] += f"{of_all} {'is' if counts[0] == '1' else 'are'}"
        *others, last = [f"{count} {kind}" for count, kind in zip(counts, kinds, strict=True)]
        return f"{', '.join(others)} and {last}" if others else last

    def labels(self) -> FloatArray:
        """Each number, or the finite end of a limit, or the middle of a range."""
        middle = self.lower / 2 + self.upper / 2
        ends = np.where(np.isfinite(self.lower), self.lower, self.upper)
        return np.where(np.isfinite(middle), middle, ends)

    def nearest(self, p: FloatArray) -> FloatArray:
        """The allowed value of each label that lies nearest to the prediction."""
        return np.clip(p, self.lower, self.upper)

    @cached_property
    def of_numbers(self) -> Normal:
        """The errors of the labels that are numbers; limits have none."""
        return Normal.trusted(np.where(self.limits, 0.0, self.sigma))

    def for_labels(self, y: FloatArray) -> MeasurementError:
        """Without any limit these are normal errors."""
        self.check_labels(y)
        return self if self.limited else self.of_numbers

    def with_errors(self, yerr: Any) -> Censored:
        """The same labels with errors given as `yerr`, in place of those that are known so far."""
        if isinstance(yerr, Censored):
            return yerr
        model = error_model(yerr, self.lower.shape)
        if not model.plain_normal or model.kind != "classical":
            raise ValueError(
                f"yerr is {yerr!r}, but some labels are limits, which take the standard deviations of independent normal "
                "errors: give a number, an array (n,) or a column."
            )
        return self._changed(sigma=np.sqrt(model.variance(self.labels())))

    def check_labels(self, y: FloatArray, argument: str = "y_true") -> None:
        bad = (y < self.lower) | (y > self.upper)
        if bad.any():
            hint = "Censored holds the labels itself: pass y_true=None."
            raise checks.complain(argument, "lies outside the limits in yerr", bad, y, hint)

    def scaled(self, factor: float) -> Self:
        return self._changed(lower=self.lower * factor, upper=self.upper * factor, sigma=self.sigma * factor)

    def _changed(self, **attributes: Any) -> Self:
        new = super()._changed(**attributes)
        new.__dict__.pop("of_numbers", None)
        return new

    def __repr__(self) -> str:
        counts = [f"{k} {name}{'' if k == 1 else 's'}" for name, k in self.counts().items() if k]
        sigma = "" if np.all(np.equal(self.sigma, 0.0)) else f"; {_shown(self.sigma)}"
        return f"Censored({len(self.lower)} labels: {', '.join(counts)}{sigma})"

    # fresh labels: numbers scatter, limits stay ------------------------------------------------

    def variance(self, y: FloatArray) -> FloatArray:
        return self.of_numbers.variance(y)

    def fourth(self, y: FloatArray) -> FloatArray:
        return self.of_numbers.fourth(y)

    def sample(self, y: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        return self.of_numbers.sample(y, size, rng)

    def cdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return self.of_numbers.cdf(y, x)

    def sf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return self.of_numbers.sf(y, x)

    def pdf(self, y: FloatArray, x: FloatArray) -> FloatArray:
        return self.of_numbers.pdf(y, x)

    def ppf(self, y: FloatArray, q: FloatArray) -> FloatArray:
        return self.of_numbers.ppf(y, q)

    def noisier(self, y: FloatArray, level: FloatArray | float) -> tuple[MeasurementError, FloatArray]:
        return self.of_numbers.noisier(y, level)


def limit_sides(flag: Any, argument: str) -> FloatArray:
    """-1 for each upper limit, 1 for each lower limit, 0 for each number.

    >>> limit_sides(["<", "", 0.0, True, ">"], "flag")
    array([-1.,  0.,  0., -1.,  1.])
    """
    marks = flag.tolist() if hasattr(flag, "tolist") else flag
    if isinstance(marks, str) or not isinstance(marks, Iterable):
        raise ValueError(f"{argument} is {marks!r}, but must hold one mark for each value.")
    words = [_word(value) for value in marks]
    known = dict.fromkeys(_UPPER, -1.0) | dict.fromkeys(_LOWER, 1.0) | dict.fromkeys(_NEITHER, 0.0)
    bad = np.array([word not in known for word in words], dtype=bool)
    if bad.any():
        hint = "Mark an upper limit by True, 1 or '<', a lower limit by -1 or '>', a number by False, 0 or ''."
        raise checks.complain(argument, "has entries that mark neither", bad, np.array(words, dtype=object), hint)
    return np.array([known[word] for word in words], dtype=np.float64)


def _word(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value:
        return f"{value:g}"
    return str(value).strip().lower()


def _ends(values: Any, argument: str, open_end: float) -> FloatArray:
    if isinstance(values, np.ma.MaskedArray) and (bad := np.ma.getmaskarray(values)).any():
        hint = f"Where a label has no such end, write {open_end:g}, NaN or None: .filled({open_end:g})."
        raise checks.complain(argument, "has masked entries", bad, np.ma.getdata(values), hint)
    try:
        ends = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{argument} must hold numbers, NaN or None. For texts such as '<0.5' use Censored.from_strings."
        ) from None
    if ends.ndim != 1 or not ends.size:
        raise ValueError(f"{argument} must hold one number for each label, shape (n,), but has shape {ends.shape}.")
    if (bad := ends == -open_end).any():
        what = f"is {-open_end:g}, so that no value is allowed"
        raise checks.complain(argument, what, bad, ends, f"An open end is {open_end:g}, NaN or None.")
    return np.where(np.isnan(ends), open_end, ends)


def _of_scipy(data: Any) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends of the labels of a `scipy.stats.CensoredData`, which keeps them by kind."""
    numbers, left, right, between = data._uncensored, data._left, data._right, data._interval
    lower = [numbers, np.full(len(left), -math.inf), right, between[:, 0] if len(between) else []]
    upper = [numbers, left, np.full(len(right), math.inf), between[:, 1] if len(between) else []]
    return np.concatenate(lower), np.concatenate(upper)


def _shown(sigma: FloatArray | float) -> str:
    return f"sigma={sigma:g}" if isinstance(sigma, float) else "sigma=<one for each>"
