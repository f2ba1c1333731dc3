"""Why some answers cannot be had from labels that were summed up."""

ALL_LABELS = (
    "{what} needs all labels at once, and these were summed up as they came (more than an accumulator keeps). Use "
    "scorebars.evaluate, or the metric itself, on arrays."
)
