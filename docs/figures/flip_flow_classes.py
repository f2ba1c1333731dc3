"""
The same for ten classes
========================

With more classes only the largest moves are drawn (``most=``): here the votes of five people on doubtful labels of CIFAR-10.
"""

import numpy as np

import scorebars as sb

images = sb.datasets.load_cifar10_label_errors()
seen = np.flatnonzero(images.columns["rechecked"])
votes = np.zeros((len(seen), 10), dtype=int)
given, guess = images.y[seen], images.columns["guess"][seen]
np.add.at(votes, (np.arange(len(seen)), given), images.columns["votes"][seen, 0])
np.add.at(votes, (np.arange(len(seen)), guess), images.columns["votes"][seen, 1])
told = votes.sum(axis=1) > 0
predicted = images.predictions["cross_validated"][seen][told]
ax = sb.plot.flip_flow(None, predicted, sb.Votes(votes[told], labels=range(10)))
