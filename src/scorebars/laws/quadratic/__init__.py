"""Quadratic forms of normal errors: MSE, RMSE, R2, explained variance, Pearson and concordance."""
