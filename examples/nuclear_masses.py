"""Seven nuclear mass models on the measured masses of 2149 nuclei, each label with its published error.

The question of nuclear mass theory: how far is a model from nature? The plain rms against the measured masses also holds
the errors of the measurements. This table takes them apart.
"""

import scorebars as sb


def main() -> None:
    masses = sb.datasets.load_nuclear_masses()
    print(f"{masses.n} measured nuclear masses (AME2003), root mean squared error of seven models in MeV\n")
    header = ("model", "observed", "expected ± std", "against the truth", "noise floor", "noise share")
    widths = (10, 9, 19, 19, 17, 11)
    print("  ".join(f"{name:>{width}}" for name, width in zip(header, widths, strict=True)))
    print("  ".join("-" * width for width in widths))
    for name, prediction in masses.predictions.items():
        s = sb.root_mean_squared_error(masses.y, prediction, yerr=masses.yerr)
        cells = (name, f"{s.observed:.4f}", str(s), str(s.truth), str(s.perfect), f"{s.noise_share:.1%}")
        print("  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)))
    print(
        "\nobserved: the classical rms, labels taken as exact."
        "\nexpected: the rms when the labels move within their errors, the label values taken as the true means."
        "\nagainst the truth: the rms against the true masses behind the labels (unbiased in the square)."
        "\nnoise floor: what a perfect model would score on these labels."
        "\nnoise share: how much of the observed mean squared error is label error."
    )


if __name__ == "__main__":
    main()
