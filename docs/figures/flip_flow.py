"""
Where do wrong labels move the items?
=====================================

A prediction stays, so an item whose label flips moves up or down its column of the confusion matrix. Here a county counts as poor
above a rate of 15 %, and survey errors carry rates across that line.
"""

import scorebars as sb

counties = sb.datasets.load_acs_poverty()
poor = sb.Thresholded(counties.y, counties.yerr, cut=15.0)
ax = sb.plot.flip_flow(None, (counties.predictions["ridge"] > 15.0).astype(int), yerr=poor)
