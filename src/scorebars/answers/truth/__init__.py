"""From noisy labels back to the truth: estimates at less noise than the labels have."""
