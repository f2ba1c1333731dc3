"""
Residuals in units of the label errors
======================================

Are residuals as large as the errors say? Wider than the curve: the model errs, or the errors are understated. Narrower: the
errors are overstated, or the model has seen these labels.
"""

import scorebars as sb

supernovae = sb.datasets.load_pantheon(binned=False)
ax = sb.plot.pulls(supernovae.y, supernovae.predictions["LCDM_Om0.298"], yerr=supernovae.yerr)
