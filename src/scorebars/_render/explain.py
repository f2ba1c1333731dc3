"""What each number of a score means, in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorebars._render import text

if TYPE_CHECKING:
    from scorebars.score import Score


def score(s: Score, warnings: list[str], repeats: int = 1) -> str:
    """The explanation of one score: question, answer, and what to beware of; labels are means of `repeats` repeats."""
    same = "" if repeats == 1 else f", each the mean of {repeats} repeats"
    what, direction = s.declaration.title, "larger is better" if s.greater_is_better else "smaller is better"
    if s.declaration.low < s.declaration.perfect < s.declaration.high:
        direction = f"best at {s.declaration.perfect:g}"
    low, high = s.interval(0.95)
    lines = [
        f"{what} of {s.n} labels ({direction}).",
        f"observed {text.rounded(s.observed, s.std)}: the classical metric, the labels taken as exact.",
        f"expected {text.with_error(float(s), s.std)}: the metric when the labels move within their errors, the label "
        f"values taken as the true means; 95 % of the time it falls between "
        f"{text.rounded(low, s.std)} and {text.rounded(high, s.std)}.",
    ]
    for name, meaning in (
        ("truth", "the metric against the true values behind the labels"),
        ("remeasured", f"the metric to expect on labels measured once more in the same way{same}"),
        ("perfect", "what a perfect model would score on these labels"),
    ):
        try:
            estimate = s.remeasured(repeats) if name == "remeasured" else getattr(s, name)
        except ValueError as why:
            lines.append(f"{name}: not to be had here. {why}")
            continue
        note = f" ({estimate.note})" if estimate.note else ""
        lines.append(f"{name} {text.with_error(float(estimate), estimate.std)}: {meaning}{note}.")
    share = text.answer(s, "noise_share")
    if share is not None:
        lines.append(f"noise share {share:.3g}: how much of the observed error is label error.")
    lines += [f"Warning: {warning}" for warning in warnings]
    return "\n".join(lines)
