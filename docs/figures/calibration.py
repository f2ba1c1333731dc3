"""
Are a forecast's error bars right?
==================================

A straight line from an older survey, fitted to every second county, with the scatter about it as its spread. Flat: calibrated.
High at both ends: error bars too small. With the label errors ignored a good forecast looks like that. ``show="coverage"`` draws
found against nominal coverage, ``show="spread"`` the error found against the spread claimed.
"""

import numpy as np

import scorebars as sb

counties = sb.datasets.load_acs_poverty()
x, y, s = np.log(counties.predictions["acs5_2018"]), np.log(counties.y), counties.yerr / counties.y
line = np.polyval(np.polyfit(x[::2], y[::2], 1), x)
spread = sb.intrinsic_scatter(y[::2], line[::2], yerr=s[::2])
found = sb.calibration(y[1::2], (line[1::2], float(spread)), yerr=s[1::2])
ax = sb.plot.calibration(found)
print(found.verdict)
print("With label errors ignored:", found.naive.verdict)
