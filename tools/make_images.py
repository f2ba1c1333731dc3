"""Draw the figures of the gallery, docs/figures. Run: python tools/make_images.py FOLDER [dots per inch]"""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from pathlib import Path

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
EXAMPLES = sorted(script.stem for script in FIGURES.glob("*.py"))


def draw(name: str, target: Path, dpi: float) -> None:
    """One figure in matplotlib's own style, without a display."""
    import matplotlib.pyplot as plt

    with plt.style.context("default"), plt.rc_context({"font.sans-serif": ["DejaVu Sans"]}):
        with contextlib.redirect_stdout(io.StringIO()):
            figure = runpy.run_path(str(FIGURES / f"{name}.py"))["ax"].figure
        figure.savefig(target, dpi=dpi, metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for example in EXAMPLES:
        draw(example, folder / f"{example}.png", float(sys.argv[2]) if len(sys.argv) > 2 else 110)
