"""Sums of absolute normal errors: MAE."""
