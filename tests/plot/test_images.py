"""Every figure looks as it did: the gallery of the docs against the kept images.

After a change that is meant, look at the new images and keep them: python tools/make_images.py tests/plot/baseline 50
"""

import importlib.util
from pathlib import Path

import pytest
from matplotlib.testing.compare import compare_images

import scorebars as sb

ROOT = Path(__file__).parents[2]
BASELINE = Path(__file__).parent / "baseline"
DPI = 50
TOLERANCE = 10

spec = importlib.util.spec_from_file_location("make_images", ROOT / "tools" / "make_images.py")
make_images = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_images)


@pytest.mark.parametrize("name", make_images.EXAMPLES)
def test_looks_as_before(name, tmp_path):
    drawn = tmp_path / f"{name}.png"
    make_images.draw(name, drawn, DPI)
    assert compare_images(str(BASELINE / f"{name}.png"), str(drawn), tol=TOLERANCE) is None


def test_a_changed_figure_is_noticed(tmp_path):
    make_images.draw("plan", tmp_path / "plan.png", DPI)
    assert compare_images(str(BASELINE / "noise_budget.png"), str(tmp_path / "plan.png"), tol=TOLERANCE) is not None


def test_every_figure_is_in_the_gallery():
    for name in sb.plot.__all__:
        assert name in make_images.EXAMPLES
        assert f"sb.plot.{name}(" in (make_images.FIGURES / f"{name}.py").read_text(encoding="utf-8")
