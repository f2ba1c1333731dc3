"""
What if the errors are wrong themselves?
========================================

The answers against a factor on all label errors. Where ``truth`` reaches 0, errors that much larger than quoted would explain all
that is observed. For classes the probability of a wrong label is scaled.
"""

import scorebars as sb

counties = sb.datasets.load_acs_poverty()
ax = sb.plot.sensitivity(counties.y, counties.predictions["acs5_2018"], yerr=counties.yerr, unit="%")
