"""``scorebars explain NAME``: what a metric means, its formula and its caveats."""

from __future__ import annotations

import inspect
import math
import re
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import scorebars as sb
from scorebars._shared.metric_names import SHORT_NAMES, declared_metrics
from scorebars._shared.score_views import QUESTIONS
from scorebars.cli import options as opt
from scorebars.cli.output import OutputOptions, legend

_LETTERS = (
    "sum Σ prod Π int ∫ infty ∞ cdot · times × pm ± alpha α beta β delta δ Delta Δ epsilon ε kappa κ mu μ pi π sigma σ "
    "Sigma Σ tau τ varphi φ phi φ Phi Φ chi χ rho ρ lambda λ nu ν"
)
_RELATIONS = "le ≤ ge ≥ ne ≠ in ∈ approx ≈ to →"


def _pairs(words: str) -> dict[str, str]:
    listed = words.split()
    return dict(zip(listed[::2], listed[1::2], strict=True))


_SYMBOLS = _pairs(_LETTERS) | {name: f" {symbol} " for name, symbol in _pairs(_RELATIONS).items()}
_ACCENTS = {"bar": "\u0304", "hat": "\u0302"}
_HALVES = {"12": "½", "14": "¼"}
_DROPPED = "left|right|bigl|bigr|Bigl|Bigr|big|Big|displaystyle"
_RAISED = dict(zip("0123456789+-n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", strict=True))
_LOWERED = dict(zip("0123456789+-ijklmn", "₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₗₘₙ", strict=True))
_GROUP = r"(?:\{((?:[^{}]|\{[^{}]*\})*)\}|(\\[A-Za-z]+|[A-Za-z0-9]))"
_ANSWERS = {question.name: f"{question.asks} {question.meaning}" for question in QUESTIONS} | {
    "std": "How far does the metric move if every label is redrawn from its error bar? Also as an interval.",
    "noise": "How much of the observed error is label error? Near 100 %, better labels would tell more than a better model.",
}
UNDECLARED = ("confusion_matrix", "intrinsic_scatter", "metric")
"""Functions that return something else than a score, and so carry no declaration."""


def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A metric, or one of the answers; all are listed without it.", autocompletion=opt.metrics_beginning
        ),
    ] = None,
) -> None:
    """What does a metric mean? Its formula, its caveats, and what each of the answers says."""
    if name is None:
        parts = _list()
    elif name in _ANSWERS:
        parts = [Text(name, style="bold"), "", Text(_ANSWERS[name])]
    else:
        parts = _metric(name if name in UNDECLARED else opt.metric_name(name))
    out = OutputOptions()
    out.put("explain", table=lambda: out.screen(*parts, widest=100))


def _list() -> list[Any]:
    parts: list[Any] = []
    short = {full: alias for alias, full in SHORT_NAMES.items()}
    for task in ("regression", "forecast", "classification"):
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        for metric, declared in declared_metrics(sb).items():
            if declared.task == task:
                table.add_row(
                    Text(metric), Text(short.get(metric, ""), style="cyan"), Text(declared.title, style="dim")
                )
        heading = "Scores of forecasts" if task == "forecast" else f"Metrics of {task}"
        parts += [Text(heading, style="bold"), Padding(table, (0, 0, 1, 2))]
    parts += [Text("Other answers", style="bold"), Text(f"  {', '.join(UNDECLARED)}", style="dim"), ""]
    answers = legend({name: meaning[: meaning.index("?") + 1] for name, meaning in _ANSWERS.items()}, names="")
    return [*parts, Text("What every score answers", style="bold"), Padding(answers, (0, 0, 0, 2))]


def _facts(name: str, declared: Any) -> list[Any]:
    """What is true of the metric whatever the data."""
    scale = {None: "", 0: ", no unit", 1: ", in the unit of the labels"}.get(
        declared.degree, f", in the unit of the labels to the power {declared.degree}"
    )
    facts = (
        f"{declared.task}; {declared.direction}; between {_bound(declared.low)} and {_bound(declared.high)}, "
        f"a perfect model on exact labels has {declared.perfect:g}{scale}"
    )
    return [Text.assemble((declared.title, "bold"), f"  scorebars.{name}"), Text(facts, style="dim"), ""]


def _metric(name: str) -> list[Any]:
    function = getattr(sb, name)
    plain = name in UNDECLARED
    parts = [Text(f"scorebars.{name}", style="bold"), ""] if plain else _facts(name, function.declaration)
    for kind, text in sections(inspect.getdoc(function) or ""):
        if kind == "formula":
            parts.append(Padding(Text(text, style="cyan"), (0, 0, 0, 4)))
        elif kind == "heading":
            parts += [*([""] if parts[-1] != "" else []), Text(text, style="bold")]
        elif kind == "code":
            parts.append(Padding(Text(text, style="green", overflow="fold"), (0, 0, 0, 4)))
        elif kind == "item":
            head, _, rest = text.partition("\n")
            parts += [Padding(Text(head, style="italic"), (0, 0, 0, 2)), Padding(Text(rest), (0, 0, 0, 6))]
            continue
        else:
            parts.append(Text(text))
        parts.append("")
    return parts[:-1]


def _bound(value: float) -> str:
    return f"{value:g}" if math.isfinite(value) else ("-∞" if value < 0 else "∞")


def sections(doc: str) -> list[tuple[str, str]]:
    """The docstring in pieces: ("text" | "formula" | "heading" | "item" | "code", what to show).

    >>> sections("How large?\\n\\n.. math:: s = \\\\sigma^2\\n\\nExamples\\n--------\\n>>> 1 + 1\\n2")
    [('text', 'How large?'), ('formula', 's = σ²'), ('heading', 'Examples'), ('code', '>>> 1 + 1\\n2')]
    """
    out: list[tuple[str, str]] = []
    doc = re.sub(r"(?m)^([A-Z]\w+)\n-{3,}\n", r"\n\1\n-----\n\n", doc)
    under = ""
    for block in re.split(r"\n\s*\n", doc.strip("\n")):
        lines = [line for line in block.split("\n") if line.strip()]
        if not lines:
            continue
        if len(lines) == 2 and set(lines[1]) == {"-"}:
            under = lines[0]
            out.append(("heading", under))
        elif lines[0].lstrip().startswith(".. math::"):
            formula = " ".join(line.strip() for line in lines).removeprefix(".. math::").strip()
            out += [("formula", _readable(part)) for part in re.split(r",?\s*\\qquad\s*", formula) if part]
        elif lines[0].lstrip().startswith(">>>"):
            out.append(("code", "\n".join(lines)))
        elif under == "Parameters":
            out += [("item", _readable(item)) for item in _items(lines)]
        else:
            out.append(("text", _readable(_paragraph(lines))))
    return out


def _items(lines: list[str]) -> list[str]:
    """Parameters: a line with the name, then the indented description as one line."""
    items: list[str] = []
    for line in lines:
        if not line.startswith(" "):
            items.append(line)
        else:
            items[-1] += ("\n" if "\n" not in items[-1] else " ") + line.strip()
    return items


def _paragraph(lines: list[str]) -> str:
    """Lines joined, list items kept apart."""
    text = lines[0].strip()
    for line in lines[1:]:
        text += ("\n" if line.lstrip().startswith(("- ", "* ", "==")) else " ") + line.strip()
    return text


def _readable(text: str) -> str:
    r"""A docstring's paragraph or formula without its markup.

    >>> _readable(r"with :math:`z_i = |\delta_i|/\sigma_i` and ``yerr``, see `truth`")
    'with zᵢ = |δᵢ|/σᵢ and yerr, see truth'
    >>> _readable(r"\mathrm{expected} = \frac1M\sum(\delta_i^2 + \sigma_i^2)")
    'expected = 1/M Σ(δᵢ² + σᵢ²)'
    """
    if ":math:" in text:
        text = re.sub(r":math:`([^`]*)`", lambda m: _formula(m.group(1)), text)
    elif "\\" in text:
        text = _formula(text)
    text = re.sub(r":[a-z]+:`~?([^`]*)`", r"\1", text)
    return re.sub(r"(?<![*\w])\*([^*\n]+)\*(?!\*)", r"\1", text.replace("``", "").replace("`", ""))


def _formula(tex: str) -> str:
    """LaTeX as plain characters; what is not known stays as it is."""
    tex = re.sub(rf"\\(?:{_DROPPED})(?![A-Za-z])", "", tex)
    tex = re.sub(r"\\(?:mathrm|text|mathbf|operatorname|mathit)\{([^{}]*)\}", r"\1", tex)
    tex = re.sub(r"\\(bar|hat)\s*(?:\{(\w)\}|(\w))", lambda m: (m[2] or m[3]) + _ACCENTS[m[1]], tex)
    tex = re.sub(r"\\tfrac(\d\d)", lambda m: _HALVES.get(m[1], m[0]), tex)
    tex = re.sub(r"\\sqrt\s*" + _GROUP, _root, tex)
    for _ in range(3):  # fractions inside fractions
        tex = re.sub(r"\\[td]?frac\s*" + _GROUP + r"\s*" + _GROUP, _fraction, tex)
    tex = re.sub(r"\\(?:quad|qquad)(?![A-Za-z])", "   ", tex)
    tex = re.sub(r"\\[,; ]", " ", tex.replace(r"\\", "\n").replace(r"\!", "").replace("&", ""))
    tex = re.sub(r"\\([A-Za-z]+)(?: (?=[\w\\]))?(?=(\(?))", _symbol, tex)
    tex = re.sub(r"([\^_])(?:\{([^{}]*)\}|(\S))", _script, tex)
    tex = re.sub(r"(?<=[\w)])([Σ√])", r" \1", tex)
    return re.sub(r"  +", " ", tex.replace(r"\{", "{").replace(r"\}", "}")).strip()


def _root(match: re.Match[str]) -> str:
    inner = match[1] or match[2]
    return f"√{inner}" if re.fullmatch(r"\\[A-Za-z]+|\w", inner) else f"√({inner})"


def _symbol(match: re.Match[str]) -> str:
    name = match[1] + ("" if match[2] else " ") if match[1].islower() else match[0]
    return _SYMBOLS.get(match[1], name)


def _fraction(match: re.Match[str]) -> str:
    parts = (match[1] or match[2], match[3] or match[4])
    return "/".join(text if re.fullmatch(r"\\?\w+(?:\^\w)?", text) else f"({text})" for text in parts)


def _script(match: re.Match[str]) -> str:
    inner = match[2] if match[2] is not None else match[3]
    table = _RAISED if match[1] == "^" else _LOWERED
    if all(letter in table for letter in inner):
        return "".join(table[letter] for letter in inner)
    return f"{match[1]}{inner}" if len(inner) == 1 else f"{match[1]}({inner})"
