"""Axes, styles and missing libraries: what holds for every figure."""

import inspect
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

import scorebars as sb
from scorebars._shared.answer_colours import ANSWER_COLOURS

Y = np.array([1.0, 2.0, 3.0, 4.0])
P = np.array([1.1, 1.9, 3.2, 3.7])
LABELS, CLASSES = [0, 1, 1, 0, 1, 1], [0, 1, 0, 0, 1, 1]
MODELS = {"a": P, "b": P + 0.5}

DRAWN = {
    "parity": lambda ax: sb.plot.parity(Y, P, yerr=0.1, ax=ax),
    "distribution": lambda ax: sb.plot.distribution(sb.mean_squared_error(Y, P, yerr=0.1), ax=ax),
    "pulls": lambda ax: sb.plot.pulls(Y, P, 0.1, ax=ax),
    "calibration": lambda ax: sb.plot.calibration(sb.calibration(Y, (P, 0.2), yerr=0.1), ax=ax),
    "noise_budget": lambda ax: sb.plot.noise_budget(
        sb.evaluate(Y, MODELS, yerr=0.1, metrics="mean_squared_error"), ax=ax
    ),
    "forest": lambda ax: sb.plot.forest(sb.compare(Y, MODELS, yerr=0.1), ax=ax),
    "ranking": lambda ax: sb.plot.ranking(sb.compare(Y, MODELS, yerr=0.1), ax=ax),
    "sensitivity": lambda ax: sb.plot.sensitivity(Y, P, 0.1, scales=[0, 1, 2], ax=ax),
    "accuracy_vs_q": lambda ax: sb.plot.accuracy_vs_q(LABELS, CLASSES, q=[0, 0.1], ax=ax),
    "flip_flow": lambda ax: sb.plot.flip_flow(LABELS, CLASSES, 0.1, ax=ax),
    "plan": lambda ax: sb.plot.plan(sb.plan(difference=0.1, sampling_variance=1.0, measurement_variance=1.0), ax=ax),
}


def test_all_are_here():
    assert set(DRAWN) == set(sb.plot.__all__)


@pytest.mark.parametrize("name", DRAWN)
def test_draws_in_the_axes_given(name):
    figure, axes = plt.subplots(1, 2)
    assert DRAWN[name](axes[1]) is axes[1]
    assert not axes[0].has_data()
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize("name", DRAWN)
def test_makes_a_figure_of_its_own(name):
    ax = DRAWN[name](None)
    assert plt.get_fignums() == [ax.figure.number]
    assert ax.get_xlabel()


@pytest.mark.parametrize("name", DRAWN)
def test_follows_the_style(name):
    """Nothing is drawn in the colours of the default style when the user has chosen others."""
    with plt.rc_context({"axes.prop_cycle": plt.cycler(color=["#010203"] * 4), "text.color": "#112233"}):
        ax = DRAWN[name](None)
        drawn = {to_hex(line.get_color()) for line in ax.lines} | {
            to_hex(patch.get_facecolor()) for patch in ax.patches
        }
    assert not drawn & {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728"}


@pytest.mark.parametrize(("style", "ground"), [("default", "light"), ("dark_background", "dark")])
def test_each_answer_has_its_colour(style, ground):
    with plt.style.context(style):
        ax = DRAWN["sensitivity"](plt.subplots()[1])
        drawn = {line.get_label().split(":")[0]: line.get_color() for line in ax.lines}
    for name in ("observed", "expected", "truth", "perfect"):
        assert drawn[name] == getattr(ANSWER_COLOURS[name], ground)


@pytest.mark.parametrize("name", DRAWN)
def test_refuses_what_is_no_axes(name):
    with pytest.raises(
        TypeError, match=r"ax must be the matplotlib Axes to draw in, got ndarray\. Pass one of the subplots"
    ):
        DRAWN[name](plt.subplots(2)[1])


@pytest.mark.parametrize("name", DRAWN)
def test_says_what_it_answers(name):
    doc = inspect.getdoc(getattr(sb.plot, name))
    assert doc.splitlines()[0].endswith("?")
    assert ">>>" in doc


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)


def test_missing_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import scorebars as sb\n"
        "sb.plot.distribution(sb.mean_squared_error([1.0, 2.0], [1.0, 3.0], yerr=0.1))"
    )
    assert "ImportError: scorebars.plot needs matplotlib: pip install 'scorebars[plot]'" in run(code).stderr


def test_matplotlib_is_loaded_when_something_is_drawn():
    assert run("import sys, scorebars as sb; sb.plot.parity; print('matplotlib' in sys.modules)").stdout == "False\n"
