"""
Predictions against very many labels
====================================

With more than 5000 labels (here ``most=500``) cells are coloured by the number of labels in them, so that no outlier is lost, and
one error bar shows the median error.
"""

import scorebars as sb

counties = sb.datasets.load_acs_poverty()
ax = sb.plot.parity(counties.y, counties.predictions["rf"], yerr=counties.yerr, unit="%", most=500)
