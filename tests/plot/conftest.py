"""Figures are drawn without a display, in matplotlib's own style, and closed after each test."""

import matplotlib
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def plain_style():
    with plt.style.context("default"), plt.rc_context({"font.sans-serif": ["DejaVu Sans"]}):
        yield
    plt.close("all")


@pytest.fixture
def texts():
    """All words of some axes: labels, ticks, legend and texts in the plot."""

    def words(ax):
        legend = ax.get_legend()
        found = [ax.get_xlabel(), ax.get_ylabel(), ax.get_title(), *(t.get_text() for t in ax.texts)]
        found += [t.get_text() for t in (*ax.get_xticklabels(), *ax.get_yticklabels())]
        return found + ([] if legend is None else [t.get_text() for t in legend.get_texts()])

    return words
