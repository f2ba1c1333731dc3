"""How much one visitor may ask of this machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What is refused with a message instead of slowing the machine down."""

    bytes: int = 200 << 20
    """Bytes of one upload."""
    rows: int = 2_000_000
    columns: int = 2_000
    seconds: float = 120.0
    """Seconds that one question may take before its process is ended."""
    memory: int = 4 << 30
    """Bytes that the process of one question may take."""
    disk: int = 4 << 30
    """Bytes of all uploads together."""
    processes: int = 2
    """Questions that are worked on at once; others wait."""
    waiting: int = 200
    """Questions that may wait."""

    @property
    def unpacked(self) -> int:
        """Bytes that a compressed file may become."""
        return 5 * self.bytes


class Refused(ValueError):
    """A request that cannot be met, in words for the visitor; `status` is that of the answer."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def in_words(size: float) -> str:
    """Bytes for people.

    >>> in_words(200 << 20), in_words(1536)
    ('200 MB', '1.5 kB')
    """
    for name in ("bytes", "kB", "MB"):
        if size < 1024:
            return f"{size:.3g} {name}"
        size /= 1024
    return f"{size:.3g} GB"
