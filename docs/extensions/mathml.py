"""Formulas as MathML, which browsers draw themselves: nothing is fetched from elsewhere, and no script runs."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def _braced(text: str) -> str:
    """The same formula with braces where TeX takes the next digit or letter: the converter would take the whole number."""
    text = text.replace(r"\textrm", r"\mathrm").replace(r"\dots", r"\ldots")
    text = re.sub(r"(\\[dt]?frac)\s*([0-9a-zA-Z])\s*([0-9a-zA-Z])", r"\1{\2}{\3}", text)
    return re.sub(r"(\\[dt]?frac|\\sqrt)\s*([0-9a-zA-Z])", r"\1{\2}", text)


def _mathml(node: nodes.Element, display: bool) -> str:
    text = _braced(node.astext())
    try:
        drawn = latex2mathml.tex2mathml(text, as_block=display)
    except MathError as why:
        raise ExtensionError(f"{node.source}:{node.line}: the formula {text!r} cannot be drawn: {why}") from why
    return re.sub(
        r'<mo(?: stretchy="false")?>([|/])</mo>', r'<mo lspace="0.05em" rspace="0.05em" stretchy="false">\1</mo>', drawn
    )


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(f'<span class="math">{_mathml(node, display=False)}</span>')
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{_mathml(node, display=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
