"""Scores in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from scorebars._render import text

if TYPE_CHECKING:
    from scorebars.score import Score

QUESTIONS = {
    "observed": "What does the classical metric say?",
    "expected": "What does it become when the labels move within their errors?",
    "truth": "How far is the model from the true values behind the labels?",
    "remeasured": "What will it be on labels measured afresh?",
    "perfect": "What would a perfect model score on these labels?",
}


def score(s: Score) -> str:
    """A small table: each question with its answer."""
    rows = []
    for name, question in QUESTIONS.items():
        found = text.answer(s, name)
        if name == "expected":
            shown = str(s)
        elif found is None:
            shown = "not to be had"
        else:
            shown = str(found) if name != "observed" else text.number(found, 6)
        rows.append(f"<tr><td>{name}</td><td><b>{escape(shown)}</b></td><td>{escape(question)}</td></tr>")
    head = f"<caption>{escape(s.declaration.title)}, n = {s.n}</caption>"
    return f'<table class="scorebars">{head}<tbody>{"".join(rows)}</tbody></table>'
