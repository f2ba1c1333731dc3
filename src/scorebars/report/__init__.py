"""One HTML file that shows how good models are and how sure the labels can make us: for reading, printing and sending on."""

from scorebars.report.build import build, save

__all__ = ["build", "save"]
