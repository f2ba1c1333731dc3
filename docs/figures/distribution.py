"""
The answers of a score
======================

What does a score say to each question? The filled curve is the distribution of the metric if every label were redrawn from its
error bar; the dark part holds 95 % of it. The lines are the other answers.
"""

import scorebars as sb

counties = sb.datasets.load_acs_poverty()
score = sb.root_mean_squared_error(counties.y, counties.predictions["acs5_2018"], yerr=counties.yerr)
ax = sb.plot.distribution(score, unit="%")
print(score.explain())
