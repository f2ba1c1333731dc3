"""The Gauss-Kronrod rule of 10 and 21 points on [-1, 1]: two integrals from one set of values, their difference an error.

Nodes and weights as in QUADPACK (Piessens et al. 1983), routine qk21.
"""

from __future__ import annotations

import numpy as np

_POSITIVE = np.array(
    [
        0.9956571630258081,
        0.9739065285171717,
        0.9301574913557082,
        0.8650633666889845,
        0.7808177265864169,
        0.6794095682990244,
        0.5627571346686047,
        0.4333953941292472,
        0.2943928627014602,
        0.14887433898163122,
    ]
)
_KRONROD = np.array(
    [
        0.011694638867371874,
        0.032558162307964725,
        0.054755896574351995,
        0.07503967481091996,
        0.0931254545836976,
        0.10938715880229764,
        0.12349197626206584,
        0.13470921731147334,
        0.14277593857706009,
        0.14773910490133849,
    ]
)
_GAUSS = np.array(
    [
        0.06667134430868814,
        0.1494513491505806,
        0.21908636251598204,
        0.26926671930999635,
        0.29552422471475287,
    ]
)

NODES = np.concatenate([-_POSITIVE, [0.0], _POSITIVE[::-1]])
"""The 21 points, in order."""
KRONROD = np.concatenate([_KRONROD, [0.1494455540029169], _KRONROD[::-1]])
"""Weights of all 21 points: exact for polynomials up to degree 31."""
GAUSS = np.zeros(21)
"""Weights of the 10 Gauss points among them, 0 for the others."""
GAUSS[1:10:2] = _GAUSS
GAUSS[11:20:2] = _GAUSS[::-1]
