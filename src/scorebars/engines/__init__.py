"""How sums over labels are formed: in one pass, in chunks, by the compiled kernel or by array functions."""

from scorebars.engines.engine import BadValues, describe, normal_sums
from scorebars.engines.sums import NormalSums

__all__ = ["BadValues", "NormalSums", "describe", "normal_sums"]
