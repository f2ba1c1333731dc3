"""
How sure is a ranking?
======================

The probability of every rank, for ten methods of a blind challenge on 22 molecules. The last two places are settled; which of
the first two methods is the best is not.
"""

import scorebars as sb

logp = sb.datasets.load_sampl7_logp()
models = {name: logp.predictions[name] for name in list(logp.predictions)[:10]}
comparison = sb.compare(logp.y, models, yerr=logp.yerr, sampling=True)
ax = sb.plot.ranking(comparison)
print(comparison.ranking().statement)
