"""One HTML file that shows how good models are and how well the labels know it: for reading, printing and sending on."""

from scorebars.report.build import build, save

__all__ = ["build", "save"]
