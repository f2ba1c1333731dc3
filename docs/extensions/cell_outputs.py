"""What cells print is a sentence or a table: sentences wrap, tables scroll."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

LONGEST_ROW = 96
"""As many letters stand in a line beside the lists of pages. A printed line that is longer is no row of a table."""


def tell_apart(app: Sphinx, document: nodes.document) -> None:
    for block in document.findall(nodes.literal_block):
        lines = block.astext().splitlines()
        if "output" in block["classes"] and (len(lines) <= 2 or max(map(len, lines)) > LONGEST_ROW):
            block["classes"].append("sentences")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", tell_apart)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
