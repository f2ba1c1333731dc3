"""How sums over labels are formed: in one pass, in chunks, by the compiled kernel or its NumPy twin."""

from scorebars.engines.config import describe
from scorebars.engines.extremes import BadValues
from scorebars.engines.merging import merge
from scorebars.engines.sums import NormalSums, normal_sums

__all__ = ["BadValues", "NormalSums", "describe", "merge", "normal_sums"]
