"""Seven small real data sets: labels with published errors, and models that predict them.

Which one to take: `load_nuclear_masses` for errors that differ from label to label, some exactly zero, with a later
and better measurement to check against; `load_sampl6_logp` for repeats and many models on few labels;
`load_sampl7_logp` for a ranking of models; `load_pantheon` for correlated errors; `load_acs_poverty` for label errors
that make up much of the score, and for labels made by a threshold; `load_blackholes` for asymmetric errors and
weights; `load_cifar10_label_errors` for wrong class labels and human votes.

Sources, licences, citations and the numbers these files reproduce are in `scorebars/data/SOURCES.md`.
"""

from .loaders import (
    Dataset,
    load_acs_poverty,
    load_blackholes,
    load_cifar10_label_errors,
    load_nuclear_masses,
    load_pantheon,
    load_sampl6_logp,
    load_sampl7_logp,
)

__all__ = [
    "Dataset",
    "load_acs_poverty",
    "load_blackholes",
    "load_cifar10_label_errors",
    "load_nuclear_masses",
    "load_pantheon",
    "load_sampl6_logp",
    "load_sampl7_logp",
]
