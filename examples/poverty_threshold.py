"""Which counties have a poverty rate above 15 per cent? Classes made by cutting a measured number.

The rates come from a survey, each with its own error. A county near the cut may be labelled wrong by chance, and the closer
it is the likelier: the probability follows from the error of its rate. Three predictions of the rate are cut in the same
place and scored as classifiers.
"""

import numpy as np

import scorebars as sb

CUT = 15.0


def with_label_error(found: sb.Score | sb.Estimate) -> str:
    return f"{found:.4f} ± {found.std:.4f}"


def truth_of(s: sb.Score) -> str:
    try:
        return with_label_error(s.truth)
    except sb.UndefinedEstimate:
        return "cannot be estimated"


def main() -> None:
    counties = sb.datasets.load_acs_poverty()
    classical = sb.errors.Thresholded(counties.y, counties.yerr, CUT)
    berkson = sb.errors.Thresholded(counties.y, counties.yerr, CUT, kind="berkson")
    print(
        f"{counties.n} counties, {int(classical.labels().sum())} of them above {CUT:g} per cent poverty in the survey"
    )
    q = classical.q
    print(f"a label is on the wrong side with probability {np.mean(q):.3f} on average, at most {q.max():.3f}\n")
    header = (
        "model",
        "metric",
        "observed",
        "expected ± labels",
        "95 % (labels)",
        "perfect ± labels",
        "truth",
        "if Berkson",
    )
    widths = (10, 8, 8, 17, 16, 16, 19, 15)
    print("  ".join(f"{name:>{width}}" for name, width in zip(header, widths, strict=True)))
    print("  ".join("-" * width for width in widths))
    for name, rate in counties.predictions.items():
        predicted = (rate > CUT).astype(int)
        for title, metric in (("accuracy", sb.accuracy_score), ("F1", sb.f1_score)):
            s = metric(None, predicted, yerr=classical)
            low, high = s.interval(0.95)
            cells = (
                name,
                title,
                f"{s.observed:.4f}",
                with_label_error(s),
                f"{low:.4f} - {high:.4f}",
                with_label_error(s.perfect),
                truth_of(s),
                with_label_error(metric(None, predicted, yerr=berkson).truth),
            )
            print("  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)))
    print("\nWhy there is no truth:")
    try:
        _ = sb.accuracy_score(None, predicted, yerr=classical).truth
    except sb.UndefinedEstimate as why:
        print(f"  {why}")
    print(
        "\nexpected: the score when the survey is repeated about the rates found, which are taken as the true ones."
        "\nif Berkson: the same number read as the score against the true classes, right only if the true rate"
        "\nscatters about the measured one. Survey errors are classical (the measured rate scatters about the true one),"
        "\nso that number is too low here: wrong labels are in `observed` already, and `expected` counts them twice."
    )


if __name__ == "__main__":
    main()
