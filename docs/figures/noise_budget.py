"""
How much of the error is label error?
=====================================

The share of the observed mean squared error that label errors make, for each of seven nuclear mass models.
"""

import scorebars as sb

masses = sb.datasets.load_nuclear_masses()
evaluation = sb.evaluate(masses.y, masses.predictions, yerr=masses.yerr, metrics="root_mean_squared_error")
ax = sb.plot.noise_budget(evaluation)
