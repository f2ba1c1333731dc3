"""Counts of uncertain labels: accuracy and metrics of the confusion matrix."""
