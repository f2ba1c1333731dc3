"""The questions behind the metric: which model, how sure, what next."""
