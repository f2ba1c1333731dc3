"""Distributions of a metric's value under label errors."""
