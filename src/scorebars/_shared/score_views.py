"""What a score shows: its answers as records, sentences and tables, its distribution as a curve, numbers as text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from scorebars._shared.escaping import html_text, printable
from scorebars._shared.shown import Table, html_table
from scorebars.arrays import FloatArray
from scorebars.laws.law import Law

if TYPE_CHECKING:
    from scorebars.answers.score import Declaration, Estimate, Interval, Score

_BINS = 48
_POINTS = 97


class Question(NamedTuple):
    """One question, as the page and notebooks ask it, with what to know about the answer."""

    name: str
    asks: str
    meaning: str
    """What the number means, for the page and ``scorebars explain``."""
    brief: str
    """The same in a few words, for tables and ``Score.explain``."""
    label: str
    """The same in fewer words, for figures; empty where no figure shows it."""


QUESTIONS = (
    Question(
        "observed",
        "What does the classical metric say?",
        "The labels are taken as exact.",
        "the classical metric, labels taken as exact",
        "labels taken as exact",
    ),
    Question(
        "expected",
        "What would it be if every label were redrawn from its error bar?",
        "The label values are taken as the true means, so an error that a label already carries counts a second time.",
        "its mean if every label were redrawn from its error bar",
        "labels redrawn from their error bars",
    ),
    Question(
        "truth",
        "How far is the model from the true values behind the labels?",
        "The part that the label errors add is taken out again.",
        "the metric against the true values behind the labels",
        "against the true values",
    ),
    Question(
        "remeasured",
        "What will it be on labels measured afresh?",
        "The same items, each measured once more in the same way.",
        "the metric to expect on labels measured once more in the same way",
        "",
    ),
    Question(
        "perfect",
        "What would a perfect model score on these labels?",
        "The noise floor (or ceiling): a score beyond it is luck, overfitting, or overstated errors.",
        "what a perfect model would score on these labels",
        "a perfect model on these labels",
    ),
)


ANSWER_NAMES = tuple(question.name for question in QUESTIONS)


class Answer(NamedTuple):
    """One answer as numbers. `value` is None where it cannot be estimated, and `note` then says why."""

    value: float | None
    std: float = 0.0
    """What the label errors move it by."""
    sample: float | None = None
    """What the choice of the test items adds; None where that is not known."""
    low: float | None = None
    high: float | None = None
    note: str = ""
    method: str = ""
    """How an estimate was found."""

    @property
    def text(self) -> str:
        """The value with both errors, each named."""
        return "cannot be estimated" if self.value is None else with_both_errors(self.value, self.std, self.sample)

    @property
    def cell(self) -> str:
        """The same for a column headed ``± labels ± sample``; a dash for what cannot be estimated."""
        return "-" if self.value is None else unnamed(self.text)

    @property
    def labels_only(self) -> str:
        """The value with the label errors alone, for a column headed ``± labels``."""
        return "-" if self.value is None else with_error(self.value, self.std)

    @property
    def between(self) -> str:
        """The interval, to the digits that the error allows; empty where it has no width."""
        if self.low is None or self.high is None or self.low == self.high:
            return ""
        return f"{rounded(self.low, self.std)} to {rounded(self.high, self.std)}"

    def to_dict(self) -> dict[str, float | str | None]:
        """Numbers for drawing, None where a picture has no place for them, and texts for reading."""
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        drawn = {key: v if v is not None and math.isfinite(v) else None for key, v in numbers.items()}
        return {**drawn, "text": self.text, "between": self.between, "note": self.note}


class Record(NamedTuple):
    """What texts and tables say of one score, found in one go."""

    declaration: Declaration
    direction: str
    """Which way is better, in words."""
    n: int
    kind: str
    unit: object
    observed: float
    answers: dict[str, Answer]
    counted_errors: str = "label errors"
    """The errors that the first error bar counts."""
    expected_is: str = ""
    """What `expected` is, in words."""
    observed_is: str = "the classical metric, the labels taken as exact"
    limits_said: str = ""
    """Which labels are limits, in words: "37 are upper limits"."""


def answers_of(score: Score, names: Iterable[str], level: float | None = None, repeats: float = 1) -> dict[str, Answer]:
    """The answers of these names (and "noise_share"), with intervals where a `level` is given.

    `remeasured` is for `repeats` new measurements of each label.
    """
    return score._record(names, level, repeats).answers


def answer_records(answers: Mapping[str, Answer], unit: str = "") -> list[dict[str, Any]]:
    """All answers as plain data, in the order of the questions; texts end with the unit."""
    records = [answers[name].to_dict() for name in ANSWER_NAMES]
    records[0]["text"] = number(answers["observed"].value, 6)  # it has no error of its own
    for record in records:
        if unit and record["value"] is not None:
            record["text"] = f"{record['text']} {unit}"
    return records


_BARE = ("observed", "truth", "perfect", "noise_share")
"""What tables show without an interval."""


class TableRow(NamedTuple):
    """What a table shows of one score, and what is said above it."""

    metric: MetricData
    cells: list[str]
    """Observed, expected, its interval, truth, perfect, noise share; a dash for what cannot be estimated."""


class MetricData(NamedTuple):
    """What a page or a table has to know of a metric."""

    name: str
    title: str
    direction: str
    unit: str
    labels: str
    """How many there are."""


def metric_data(record: Record, unit: str | None) -> MetricData:
    """What to know of a metric of labels in this unit."""
    of = record.declaration
    return MetricData(of.name, of.title, record.direction, unit_of(record, unit), counted(record.n, "label"))


def table_rows(scores: Iterable[Score], level: float, unit: str | None, anew: int = 1) -> list[TableRow]:
    """The rows of a table of scores of labels in this unit; a last cell for labels measured again, if `anew` > 1 times."""
    bare = (*_BARE, "remeasured") if anew > 1 else _BARE
    records = [score._record(("expected", *bare), level, anew, bare) for score in scores]
    return [TableRow(metric_data(record, unit), _cells(record.answers)) for record in records]


def _cells(answers: Mapping[str, Answer]) -> list[str]:
    expected, observed, truth, perfect, share, *anew = answers.values()
    std = expected.std
    ends = [rounded(end, std) for end in (expected.low, expected.high) if end is not None]
    return [
        rounded(observed.value or 0.0, std),
        expected.labels_only,
        " to ".join(ends) or "-",
        truth.cell,
        perfect.labels_only,
        "-" if share.value is None else percent(share.value),
        *(answer.labels_only for answer in anew),
    ]


def unnamed(text: str) -> str:
    """A number whose errors are named by the head of its column; an error that stands alone there keeps its name.

    >>> unnamed("0.568 ± 0.005 (labels) ± 0.015 (sample)"), unnamed("0.5681 ± 0.0051 (labels)")
    ('0.568 ± 0.005 ± 0.015', '0.5681 ± 0.0051 (labels)')
    """
    return text.replace(" (labels)", "").replace(" (sample)", "") if text.count("±") == 2 else text


def sampling_std(holder: Score | Estimate) -> float | None:
    """What the choice of the test items adds to the error of a score or an estimate; None where that is not known."""
    try:
        return holder.sampling_std
    except ValueError:
        return None


def with_named_errors(holder: Score | Estimate, together: bool = False) -> str:
    """The value with its errors, each named; `together` where one number holds both."""
    unit = getattr(holder, "unit", None)
    if together:
        tail = "" if unit is None or not str(unit) else f" {printable(unit)}"
        return f"{with_error(float(holder), holder.std)} (labels and sample){tail}"
    return with_both_errors(float(holder), holder.std, sampling_std(holder), unit)


def flat(score: Score, level: float = 0.95, repeats: float = 1) -> dict[str, float | int | str | None]:
    """All answers under flat names, plain floats, for loggers and JSON."""
    answers = answers_of(score, (*ANSWER_NAMES, "noise_share", "sampling_std"), level, repeats)
    out: dict[str, float | int | str | None] = {"name": score.name, "n": score.n}
    out |= {name: getattr(score, name) for name in ("observed", "expected", "correction", "std")}
    out |= {"interval_low": answers["expected"].low, "interval_high": answers["expected"].high}
    for name in ANSWER_NAMES[2:]:
        value, std, sample, low, high = answers[name][:5]
        out |= {name: value, f"{name}_std": None if value is None else std, f"{name}_low": low, f"{name}_high": high}
        out |= {"truth_sampling_std": sample} if name == "truth" else {}
    out |= {name: answers[name].value for name in ("noise_share", "sampling_std")}
    return {**out, "method": score.method}


def for_trackers(score: Score, *names: str) -> dict[str, float]:
    """The finite numbers of `flat` as ``name/answer``, in the letters that experiment trackers allow."""
    prefix = "/".join(re.sub(r"[^\w\-. ]", "_", name, flags=re.ASCII) for name in names)
    numbers = {key: value for key, value in flat(score).items() if isinstance(value, float | int)}
    return {f"{prefix}/{key}": float(value) for key, value in numbers.items() if math.isfinite(value)}


def sentences(record: Record, interval: Interval, warnings: list[str], repeats: int) -> str:
    """The explanation of one score: question, answer, and what to beware of; labels are means of `repeats` repeats."""
    answers = record.answers
    expected, share = answers["expected"], answers["noise_share"].value
    observed, low, high = (rounded(end, expected.std) for end in (answers["observed"].value or 0.0, *interval))
    falls = "" if interval[0] == interval[1] else f"; 95 % of the time it falls between {low} and {high}"
    lines = [
        f"{record.declaration.title} of {counted(record.n, 'label')} ({record.direction}).",
        f"observed {observed}: {record.observed_is}.",
        f"expected {expected.text}: {record.expected_is}{falls}.",
    ]
    same = "" if repeats == 1 else f", each the mean of {repeats} repeats"
    for question in QUESTIONS[2:]:
        found = answers[question.name]
        if found.value is None:
            lines.append(f"{question.name} cannot be estimated here: {found.note}")
            continue
        more = same if question.name == "remeasured" else ""
        note = f" ({found.note})" if found.note else ""
        lines.append(f"{question.name} {found.text}: {question.brief}{more}{note}.")
    if any("±" in answer.text for answer in answers.values()):
        lines.append(_ERRORS_NAMED)
    if share is not None:
        lines.append(f"noise share {percent(share)}: how much of the observed error is label error.")
    lines += [f"Warning: {warning}" for warning in warnings]
    return "\n".join(lines)


_ERRORS_NAMED = (
    "(labels): standard error from the label errors, for these test items; (sample): from the choice of the test items."
)
LIMITS_COUNT = (
    "limits count by the allowed value nearest to the prediction, so that observed and expected are lower bounds of an error; "
    "truth takes them as limits"
)
"""What the numbers of labels mean of which some are limits."""
_HOW = {
    "exact": "in closed form",
    "unbiased": "without bias, in closed form",
    "corrected sums": "from sums with the part of the label errors taken off",
    "delta": "by propagation to first order",
    "quadrature": "by numerical integration",
    "saddlepoint": "by saddlepoint approximation",
    "simulation": "by simulation with a fixed seed",
    "ppi++": "from the checked items, sharpened by the labels of the others (prediction-powered inference)",
    "npmle": "from the most likely distribution of the true residuals, given the measured ones and their errors",
    "simex": "by extrapolation from more label error to none",
    "smoothed": "by adding the label error that fresh labels would have",
    "shrinkage": "from labels shrunk towards their fit on the predictions until they scatter as the true values do",
    "bounds": "from the bounds that the label errors allow",
    "location-scale": "from the most likely distribution of the true residuals, whose size may grow with the label error",
}


def unit_of(score: Score | Record, labels: object = None) -> str:
    """The unit of a score, as its labels brought it, or made from the unit of the `labels`; empty where it has none."""
    return power_of(labels, score.declaration.degree) if score.unit is None else str(score.unit)


def for_paper(score: Record, labels_unit: str | None = None) -> str:
    """The sentence to publish: which number depends on how the labels were made and on what they determine."""
    errors = score.counted_errors
    title, unit, count = score.declaration.title, unit_of(score, labels_unit), counted(score.n, "label")
    count += f", of which {score.limits_said}" if score.limits_said else ""
    observed = f"as observed ({score.observed_is})" if score.limits_said else "as observed, label errors included"
    told = ", limits taken as limits" if score.limits_said else ""
    tail = f" {unit}" if unit else ""
    expected, truth, perfect = (score.answers[name] for name in ("expected", "truth", "perfect"))
    by = f"scorebars {version('scorebars')}, after Michelucci and Venturini, arXiv:2209.15588"
    if truth.value is None or (expected.std == 0 and truth.std == 0):
        shown = with_both_errors(score.observed, 0.0, expected.sample, unit)
        named = "; (sample) is the standard error from the choice of the test items" if "±" in shown else ""
        if expected.std == 0 and not (score.limits_said and truth.value is None):
            how = score.observed_is if score.limits_said else "taken as exact"
            return f"{title} on {count}, {how}: {shown}{named}. Computed with {by}."
        return (
            f"{title} on {count}, {observed}: {shown}{named}. The labels do not determine "
            f"the score against the true values: {truth.note.rstrip('.')}. Computed with {by}."
        )
    published = with_both_errors(truth.value, truth.std, truth.sample, unit)
    if score.kind == "berkson":
        start = f"{title} against true values that scatter about {count} by the stated errors: {published}"
    else:
        start = (
            f"{title} against the true values behind {count}: {published}; "
            f"{rounded(score.observed, max(truth.std, truth.sample or 0.0))}{tail} {observed}"
        )
    floor = "" if perfect.value is None else f"; {perfect.text}{tail} for a perfect model on these labels"
    more = ", (sample) that from the choice of the items" if "(sample)" in published else ""
    how = _HOW.get(truth.method, f"by the method {truth.method!r}")
    return (
        f"{start}{floor}. Here (labels) is the standard error from the {errors} for these test items{more}. "
        f"The score was found {how}{told}, with {by}."
    )


def notebook(score: Score) -> str:
    """A small HTML table: each question with its answer."""
    records = answer_records(answers_of(score, ANSWER_NAMES))
    rows = [[asked.name, str(found["text"]), asked.asks] for asked, found in zip(QUESTIONS, records, strict=True)]
    unit = "" if score.unit is None or not str(score.unit) else f" in {score.unit}"
    title = f"{score.declaration.title}{unit}, n = {score.n}"
    return html_table(Table(["", "answer", "question"], rows, 3), title)


def estimate_html(estimate: Estimate) -> str:
    """The estimate, how it was found, and what to know about it."""
    note = f"<br>{html_text(estimate.note)}" if estimate.note else ""
    value, method = html_text(estimate), html_text(estimate.method)
    return f'<div class="scorebars"><b>{value}</b> (found by: {method}){note}</div>'


# numbers and words ---------------------------------------------------------------------------------


def decimals_for(std: float) -> int | None:
    """Decimal places at which two significant digits of `std` end; None where `std` sets no limit."""
    if not math.isfinite(std) or std <= 0:
        return None
    return 1 - int(f"{std:.1e}".split("e")[1])  # formatting rounds 0.0996 to 1.0e-01


def with_error(value: float, std: float) -> str:
    """``value ± std`` with two significant digits of std, the value to the same place.

    >>> with_error(0.581123, 0.001234)
    '0.5811 ± 0.0012'
    >>> with_error(123456.7, 890.1)
    '123460 ± 890'
    >>> with_error(3.2e-12, 4.5e-14)
    '(3.200 ± 0.045)e-12'
    >>> with_error(0.25, 0.0)
    '0.25'
    """
    places = decimals_for(std)
    if places is None or not math.isfinite(value):
        return f"{value:.6g}" if std == 0 else f"{value:.6g} ± {std:.2g}"
    power = math.floor(math.log10(max(abs(value), std)))
    digits = max(places + power, 0)
    if digits > 14:  # the error is below what a double resolves
        return f"{value:.15g} ± {std:.2g}"
    if -4 <= power < 7:
        return f"{round(value, places):.{max(places, 0)}f} ± {round(std, places):.{max(places, 0)}f}"
    scaled_value, scaled_std = _times_power_of_ten(value, -power), _times_power_of_ten(std, -power)
    return f"({scaled_value:.{digits}f} ± {scaled_std:.{digits}f})e{power:+03d}"


def with_both_errors(value: float, labels: float, sample: float | None, unit: object = None) -> str:
    """``value ± labels ± sample``, each error named; an error that does not exist is left out.

    The value is rounded where the larger error allows it, and the smaller error keeps at least one digit.

    >>> with_both_errors(0.56812, 0.00512, 0.0151, "MeV")
    '0.568 ± 0.005 (labels) ± 0.015 (sample) MeV'
    >>> with_both_errors(0.56812, 0.0, 0.0151), with_both_errors(0.56812, 0.00512, None)
    ('0.568 ± 0.015 (sample)', '0.5681 ± 0.0051 (labels)')
    >>> with_both_errors(0.56812, 0.000031, 0.0151), with_both_errors(3.2e-12, 4.6e-14, 2e-13)
    ('0.568 ± 0.00003 (labels) ± 0.015 (sample)', '(3.20 ± 0.05 (labels) ± 0.20 (sample))e-12')
    >>> with_both_errors(0.25, 0.0, None), with_both_errors(12.0, 0.0, 0.0, "kg")
    ('0.25', '12 kg')
    """
    errors = {"labels": labels, "sample": 0.0 if sample is None or math.isinf(sample) else sample}
    errors = {name: std for name, std in errors.items() if std != 0}  # nan stays, and shows
    tail = "" if unit is None or not str(unit) else f" {printable(unit)}"
    if not errors:
        return f"{value:.6g}{tail}"
    largest = max(errors.values())
    shown = with_error(value, largest)
    head, _, last = shown.partition(" ± ")
    power = last[last.index(")") + 1 :] if head.startswith("(") else ""
    scale = int(power[1:]) if power else 0
    texts = []
    for name, std in errors.items():
        text = last.partition(")")[0]
        if std != largest:
            places = max(len(text.partition(".")[2]), (decimals_for(std) or 0) - 1 + scale)
            small = _times_power_of_ten(std, -scale)
            text = f"{small:.{places}f}" if places <= 14 else f"{small:.1g}"
        texts.append(f" ± {text} ({name})")
    return head + "".join(texts) + (f"){power}" if power else "") + tail


def rounded(value: float, std: float) -> str:
    """`value` alone, to the place where its error allows it.

    >>> rounded(0.581123, 0.001234), rounded(3.2e-12, 4.5e-14), rounded(0.25, 0.0)
    ('0.5811', '3.200e-12', '0.25')
    """
    shown = with_error(value, std)
    head, _, tail = shown.partition(" ± ")
    return head[1:] + tail[tail.index(")") + 1 :] if shown.startswith("(") else head


def _times_power_of_ten(value: float, power: int) -> float:
    half = power // 2
    return value * 10.0**half * 10.0 ** (power - half)


def number(value: float | None, digits: int = 4) -> str:
    """A number that has no error of its own."""
    return "-" if value is None else f"{value:.{digits}g}"


def percent(share: float) -> str:
    """A share in per cent; where a score is near zero the share of the label error is huge, and its size says nothing."""
    return f"{share * 100:.1f} %" if share < 10 else "> 999 %"


def power_of(unit: object, degree: int | None) -> str:
    """The unit of a metric that grows with the degree-th power of the labels.

    >>> power_of("MeV", 2), power_of("km / s", 2), power_of("MeV", 0), power_of(None, 1)
    ('MeV²', '(km / s)²', '', '')
    """
    if unit is None or not degree:
        return ""
    text = printable(unit)
    if degree == 1:
        return text
    base = text if text.isalnum() else f"({text})"
    return base + ("²" if degree == 2 else f"^{degree}")


def counted(number: int, what: str) -> str:
    """``1 label``, ``12 labels``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def left_out(rows: int) -> str:
    """What to say of rows that miss a value.

    >>> left_out(1)
    '1 row with missing values was left out'
    """
    return f"{rows} row{' with missing values was' if rows == 1 else 's with missing values were'} left out"


def shortened(text: str, longest: int) -> str:
    """The text, cut where it is too long to show.

    >>> shortened("uranium-238", 8)
    'uranium…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


# curves ---------------------------------------------------------------------------------------------


class Curve(NamedTuple):
    """Heights of a distribution: densities at the points `x`, or probabilities of the bins between the edges `x`."""

    x: FloatArray
    height: FloatArray
    binned: bool


def law_curve(law: Law, low: float, high: float, n: int) -> Curve:
    """The distribution of a metric of n labels between two values, from a few values of its distribution function.

    Single values, as counts have them, and draws are taken together in bins. Else the normal scores of the distribution
    function are a smooth curve, nearly a straight line for many labels: 9 of them give the density to 0.02 % of its
    peak for 100 labels or more, 25 of them to 2 % for 10 labels (squared, absolute, R2 and Pearson).
    """
    if law.discrete or law.method.startswith("simul"):
        step = 1.0 / n if law.discrete else (high - low) / _BINS
        # bins hold equally many multiples of 1/n, the values that shares of n labels take: else the bars would alias
        width = step * max(1, round((high - low) / step / _BINS))
        start = (np.floor(low * n) - 0.5) / n if law.discrete else low
        edges = np.arange(start, high + width, width)
        return Curve(edges, np.diff(np.asarray(law.cdf(edges), dtype=np.float64)), True)
    from scipy.interpolate import CubicSpline  # not before it is needed: it loads half of SciPy

    knots = np.linspace(low, high, 9 if n >= 100 else 25)
    scores = ndtri(np.asarray(law.cdf(knots), dtype=np.float64))
    known = np.abs(scores) < 7.5  # beyond, 1 - cdf has lost its digits, and the curve lies on the axis
    if np.count_nonzero(known) < 2:
        return Curve(knots, np.zeros_like(knots), False)
    score = CubicSpline(knots[known], scores[known])
    x = np.linspace(knots[known][0], knots[known][-1], _POINTS)
    return Curve(x, np.maximum(np.exp(-0.5 * score(x) ** 2) / np.sqrt(2 * np.pi) * score(x, 1), 0.0), False)


class ScoreData(NamedTuple):
    """One score for a page: texts for reading, numbers for drawing (None where there is none)."""

    metric: MetricData
    values: dict[str, Any]


def score_data(scores: Iterable[Score], level: float, unit: str | None) -> list[ScoreData]:
    """What a page shows of scores of labels in `unit`."""
    return [_data_of(score, level, unit) for score in scores]


def _data_of(score: Score, level: float, unit: str | None) -> ScoreData:
    record = score._record((*ANSWER_NAMES, "noise_share"), level)
    answers, share = record.answers, record.answers["noise_share"].value
    truth = answers["truth"]
    # for label errors and sample together, where the sample adds something and that is known
    total = score.truth.total_interval(level) if truth.sample and math.isfinite(truth.sample) else None
    law, std, sentences = score.distribution, score.std, score.explain().splitlines()
    noise = "" if share is None else percent(share)
    records, sentence = answer_records(answers, unit_of(record, unit)), for_paper(record, unit)
    plain = rounded(record.observed, answers["expected"].std)
    for name, shown in zip(ANSWER_NAMES, records, strict=True):
        shown["cell"] = plain if name == "observed" else answers[name].cell
    explained = [line for line in sentences if not line.startswith("Warning: ")]
    warnings = [line.removeprefix("Warning: ") for line in sentences if line.startswith("Warning: ")]
    values = {
        "law": _law_data(law, float(score), std, record.n),
        "answers": records,
        "total": None if total is None else Answer(truth.value, truth.std, None, *total).to_dict(),
        "noise": noise,
        "method": law.method,
        "sentence": sentence,
        "explained": explained,
        "warnings": warnings,
    }
    return ScoreData(metric_data(record, unit), values)


def _law_data(law: Law, middle: float, std: float, n: int) -> dict[str, Any] | None:
    """The curve of the metric's distribution; None where the metric does not move."""
    if std == 0:
        return None
    if math.isfinite(std) and math.isfinite(middle):
        low, high = middle - 4.5 * std, middle + 4.5 * std
    else:  # no moments: quantiles always exist
        low, high = np.asarray(law.ppf(np.array([0.01, 0.99])), dtype=float)
    low, high = max(low, law.support[0]), min(high, law.support[1])
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return None
    curve = law_curve(law, low, high, n)
    top = float(curve.height.max())
    if not (math.isfinite(top) and top > 0):
        return None
    heights = np.round(curve.height / top, 4).tolist()
    return {"low": float(curve.x[0]), "high": float(curve.x[-1]), "bars": curve.binned, "height": heights}
