"""Order statistics: the largest and the median absolute error."""
