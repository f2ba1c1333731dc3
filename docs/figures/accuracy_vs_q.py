"""
What if labels are wrong more often?
====================================

Accuracy against the probability of a wrong label. An observed accuracy above that of a perfect model cannot last: right of the
crossing, q is too large, or the model has seen these labels.
"""

import numpy as np

import scorebars as sb

images = sb.datasets.load_cifar10_label_errors()
predicted = images.predictions["cross_validated"]
ax = sb.plot.accuracy_vs_q(images.y, predicted, q=np.linspace(0, 0.1, 21), marked=0.05)
