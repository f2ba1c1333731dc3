"""Answers of metrics of all labels together: R2, correlations, medians, maxima."""
