"""Ranks and rankings: Spearman, Kendall, ROC AUC, average precision."""
