"""How much of a score rests on error bars that nobody checked?

Poverty rates of counties, each with the error bar of its survey, against two predictions. The same scores with error bars that are
taken as right, that come from few repeats, and that may all be wrong by one factor; and the verdict on the two models.
"""

from __future__ import annotations

import scorebars as sb

MODELS = ("ridge", "acs5_2018")


def main() -> dict[str, tuple[sb.Estimate, sb.Estimate]]:
    counties = sb.datasets.load_acs_poverty()
    y, sigma = counties.y, counties.yerr
    models = {name: counties.predictions[name] for name in MODELS}
    known = {
        "right": sb.Normal(sigma),
        "each from 5 repeats": sb.Normal(sigma, dof=4),
        "wrong by one factor, 10 %": sb.Normal(sigma, scale_error=0.1),
        "wrong by one factor, 30 %": sb.Normal(sigma, scale_error=0.3),
    }
    found = {}
    print(
        f"{'error bars':<27}{'MAE of ' + MODELS[0] + ' against the truth':<45}MSE of {MODELS[0]} - MSE of {MODELS[1]}"
    )
    for name, errors in known.items():
        score = sb.mean_absolute_error(y, models[MODELS[0]], yerr=errors).truth
        difference = sb.compare(y, models, yerr=errors).difference(*MODELS).truth
        print(f"{name:<27}{score!s:<45}{difference}")
        found[name] = score, difference
    print("The score rests on the error bars; which model is better does not.")
    return found


if __name__ == "__main__":
    main()
