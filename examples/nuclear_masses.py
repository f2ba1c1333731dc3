"""Seven nuclear mass models on the measured masses of 2149 nuclei, each label with its published error.

The question of nuclear mass theory: how far is a model from nature? The plain rms against the measured masses also holds
the errors of the measurements. This table takes them apart, and warns of a model that has seen these labels.
"""

import scorebars as sb


def main() -> None:
    masses = sb.datasets.load_nuclear_masses()
    print(f"{masses.n} measured nuclear masses (AME2003), root mean squared error of seven models in MeV\n")
    header = ("model", "observed", "truth ± labels ± sample", "perfect ± labels", "label error")
    widths = (10, 9, 26, 17, 12)
    print("  ".join(f"{name:>{width}}" for name, width in zip(header, widths, strict=True)))
    print("  ".join("-" * width for width in widths))
    warned = {}
    for name, prediction in masses.predictions.items():
        s = sb.root_mean_squared_error(masses.y, prediction, yerr=masses.yerr)
        check = sb.check_errors(masses.y, prediction, yerr=masses.yerr)
        if check.pvalue_noisiest < 0.01:
            warned[name] = check
        truth = str(s.truth)
        if truth.count("±") == 2:  # in the order that the header names
            truth = truth.replace(" (labels)", "").replace(" (sample)", "")
        truth += "*" if name in warned else ""
        perfect = str(s.perfect).replace(" (labels)", "")
        cells = (name, f"{s.observed:.4f}", truth, perfect, f"{s.noise_share:.1%}")
        print("  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)))
    print(
        "\nobserved: the classical rms, labels taken as exact."
        "\ntruth: the rms against the true masses behind the labels; ± from the label errors, ± from the sample of nuclei."
        "\nperfect: what a perfect model would score on these labels."
        "\nlabel error: how much of the observed mean squared error is label error."
    )
    for name, check in warned.items():
        print(f"\n* {name}: {check.warnings[0]}")
    print(
        "\nWS3_RBF was indeed fitted to these labels. What the table cannot show is how good it is on others: see"
        "\nexamples/truth_check.py, which judges the models on later, better measurements."
    )


if __name__ == "__main__":
    main()
