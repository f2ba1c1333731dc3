"""The template filled in, with the page's own style and script inside."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

_SCRIPTS = ("dom", "scale", "answers", "law", "points", "matrix", "forest", "main")


def render(context: Mapping[str, Any]) -> str:
    """The page; only the page's own script and style may run, by their hashes."""
    try:
        import jinja2
    except ImportError as why:
        raise ImportError("the report needs jinja2: pip install 'scorebars[report]'") from why
    static = files("scorebars.report") / "static"
    style = (static / "page.css").read_text(encoding="utf-8")
    parts = [(static / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    script = '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("scorebars.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(
        **context, style=style, script=script, style_hash=_hash(style), script_hash=_hash(script)
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
