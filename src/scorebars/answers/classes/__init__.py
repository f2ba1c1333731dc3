"""Answers of classification metrics."""
