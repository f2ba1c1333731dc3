"""Labels below a detection limit: what do the usual ways make of them, and what does the whole truth say?

Poverty rates of 840 US counties stand for any measured quantity. Here a rate below 10 per cent counts as not detected: the
label is then only known as "< 10". The labels as they were before tell what the score should be. Logarithms are scored, since
a model of rates errs by a factor: `truth` takes its errors as alike for low and high predictions, and warns where they are not.

Run: python examples/detection_limit.py
"""

from __future__ import annotations

import numpy as np

import scorebars as sb

LIMIT = 10.0


def main() -> dict[str, sb.Score | sb.Estimate | float]:
    """Score one model in four ways."""
    data = sb.datasets.load_acs_poverty()
    p = np.log10(next(iter(data.predictions.values())))
    y, sigma = np.log10(data.y), data.yerr / data.y / np.log(10)
    limit = np.log10(LIMIT)
    below = y < limit
    labels = sb.Censored(np.where(below, -np.inf, y), np.where(below, limit, y), sigma)
    whole = sb.mean_absolute_error(y, p, yerr=sigma).truth
    dropped = sb.mean_absolute_error(y[~below], p[~below], yerr=sigma[~below]).truth
    limited = sb.mean_absolute_error(None, p, yerr=labels)
    print(f"{labels}\n")
    print("mean absolute error of log10(rate) against the true rates")
    print(f"  all labels as they were        {whole}")
    print(f"  limits left out                {dropped}")
    print(f"  limits at their nearest value  {limited.observed:.3f}  (what bounded losses print)")
    print(f"  limits taken as limits         {limited.truth}")
    print(
        f"\nWhatever the hidden labels are, the observed error lies between {limited.bounds.low:.3f} and "
        f"{limited.bounds.high:.3g}."
    )
    for line in limited.explain().splitlines():
        if "errs differently" in line:
            print(line)
    return {"whole": whole, "dropped": dropped, "limited": limited}


if __name__ == "__main__":
    main()
