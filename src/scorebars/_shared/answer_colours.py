"""One colour for each answer, the same on the page, in the figures and in the documentation."""

from typing import NamedTuple


class Colour(NamedTuple):
    """The colour on a light ground, and on a dark one."""

    light: str
    dark: str


ANSWER_COLOURS = {
    "observed": Colour("#4a545c", "#c3ccd3"),
    "expected": Colour("#0a6aa8", "#62b5ee"),
    "truth": Colour("#0b7d5d", "#45c99f"),
    "remeasured": Colour("#7a4fb5", "#b896ec"),
    "perfect": Colour("#b8500c", "#f0995a"),
}
