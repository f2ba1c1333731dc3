"""
Predictions against labels
==========================

How do predictions compare with the labels? Horizontal bars are the label errors. The corner has the score as observed, as
expected if every label were redrawn from its error bar, and against the true values.
"""

import scorebars as sb

counties = sb.datasets.load_acs_poverty()
ax = sb.plot.parity(counties.y, counties.predictions["acs5_2018"], yerr=counties.yerr, unit="%")
