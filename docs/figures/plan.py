"""
How many labels do I need?
==========================

The power to see a difference of 0.15 between two models, against the number of labels, for several numbers of repeats.
"""

import scorebars as sb

wanted = sb.plan(difference=0.15, sampling_variance=2.0, measurement_variance=8.0, cost_label=5)
ax = sb.plot.plan(wanted)
print(wanted)
