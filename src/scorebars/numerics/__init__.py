"""Numerical methods without statistics: root finding, quadrature, contours, special functions."""
