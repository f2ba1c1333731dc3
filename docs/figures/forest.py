"""
Which models differ?
====================

Differences to one model with their intervals. Open grey circles cannot be told from the reference. Without ``reference`` the best
model is taken.
"""

import scorebars as sb

masses = sb.datasets.load_nuclear_masses()
comparison = sb.compare(masses.y, masses.predictions, yerr=masses.yerr, sampling=True)
ax = sb.plot.forest(comparison, reference="FRDM2012", unit="MeV")
