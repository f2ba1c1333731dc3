"""Answers of metrics that are means of a loss over labels."""
