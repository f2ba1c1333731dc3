r"""Formulas of the docstrings as a terminal can show them: ``\frac1M\sum\delta_i^2`` as ``1/M Σ δᵢ²``."""

from __future__ import annotations

import re

_SYMBOLS = {
    "sum": "Σ",
    "prod": "Π",
    "int": "∫",
    "infty": "∞",
    "le": " ≤ ",
    "ge": " ≥ ",
    "in": " ∈ ",
    "cdot": "·",
    "times": "×",
    "pm": "±",
    "approx": " ≈ ",
    "to": " → ",
    "alpha": "α",
    "beta": "β",
    "delta": "δ",
    "Delta": "Δ",
    "epsilon": "ε",
    "kappa": "κ",
    "mu": "μ",
    "pi": "π",
    "sigma": "σ",
    "Sigma": "Σ",
    "tau": "τ",
    "varphi": "φ",
    "phi": "φ",
    "Phi": "Φ",
    "chi": "χ",
    "rho": "ρ",
    "lambda": "λ",
}
_DROPPED = ("left", "right", "bigl", "bigr", "Bigl", "Bigr", "big", "Big", "displaystyle")
_RAISED = dict(zip("0123456789+-n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", strict=True))
_LOWERED = dict(zip("0123456789+-ijkmn", "₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₘₙ", strict=True))
_GROUP = r"(?:\{((?:[^{}]|\{[^{}]*\})*)\}|(\\[A-Za-z]+|[A-Za-z0-9]))"


def readable(text: str) -> str:
    r"""A docstring's paragraph or formula without its markup.

    >>> readable(r"with :math:`z_i = |\delta_i|/\sigma_i` and ``yerr``, see `truth`")
    'with zᵢ = |δᵢ|/σᵢ and yerr, see truth'
    >>> readable(r"\mathrm{expected} = \frac1M\sum(\delta_i^2 + \sigma_i^2)")
    'expected = 1/M Σ(δᵢ² + σᵢ²)'
    """
    if ":math:" in text:
        text = re.sub(r":math:`([^`]*)`", lambda m: formula(m.group(1)), text)
    elif "\\" in text:
        text = formula(text)
    text = re.sub(r":[a-z]+:`~?([^`]*)`", r"\1", text)
    return re.sub(r"(?<![*\w])\*([^*\n]+)\*(?!\*)", r"\1", text.replace("``", "").replace("`", ""))


def formula(tex: str) -> str:
    """LaTeX as plain characters; what is not known stays as it is."""
    for name in _DROPPED:
        tex = re.sub(rf"\\{name}(?![A-Za-z])", "", tex)
    tex = re.sub(r"\\(?:mathrm|text|mathbf|operatorname|mathit)\{([^{}]*)\}", r"\1", tex)
    tex = re.sub(r"\\bar\s*(?:\{(\w)\}|(\w))", lambda m: f"{m[1] or m[2]}\u0304", tex)
    tex = re.sub(r"\\hat\s*(?:\{(\w)\}|(\w))", lambda m: f"{m[1] or m[2]}\u0302", tex)
    tex = re.sub(r"\\sqrt" + _GROUP, lambda m: f"√({m[1]})" if m[1] else f"√{m[2]}", tex)
    for _ in range(3):  # fractions inside fractions
        tex = re.sub(r"\\[td]?frac\s*" + _GROUP + r"\s*" + _GROUP, _fraction, tex)
    tex = re.sub(r"\\(?:quad|qquad)(?![A-Za-z])", "   ", tex)
    tex = re.sub(r"\\[,; ]", " ", tex.replace(r"\\", "\n").replace(r"\!", "").replace("&", ""))
    tex = re.sub(r"\\([A-Za-z]+) ?", lambda m: _SYMBOLS.get(m[1], m[1] + " " if m[1].islower() else m[0]), tex)
    tex = re.sub(r"([\^_])(?:\{([^{}]*)\}|(\S))", _script, tex)
    tex = re.sub(r"(?<=[\w)])([Σ√])", r" \1", tex)
    return re.sub(r"  +", " ", tex.replace(r"\{", "{").replace(r"\}", "}")).strip()


def _fraction(match: re.Match[str]) -> str:
    above, below = (match[1] or match[2]), (match[3] or match[4])

    def part(text: str) -> str:
        return text if re.fullmatch(r"\\?\w+(?:\^\w)?", text) else f"({text})"

    return f"{part(above)}/{part(below)}"


def _script(match: re.Match[str]) -> str:
    inner = match[2] if match[2] is not None else match[3]
    table = _RAISED if match[1] == "^" else _LOWERED
    if all(letter in table for letter in inner):
        return "".join(table[letter] for letter in inner)
    return f"{match[1]}{inner}" if len(inner) == 1 else f"{match[1]}({inner})"
