"""Formulas as MathML, which browsers draw themselves: nothing is fetched from elsewhere, and no script runs."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def _mathml(node: nodes.Element, display: bool) -> str:
    text = node.astext().replace(r"\textrm", r"\mathrm").replace(r"\dots", r"\ldots")
    try:
        return latex2mathml.tex2mathml(text, as_block=display)
    except MathError as why:
        raise ExtensionError(f"{node.source}:{node.line}: the formula {text!r} cannot be drawn: {why}") from why


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(f'<span class="math">{_mathml(node, display=False)}</span>')
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math">{_mathml(node, display=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
