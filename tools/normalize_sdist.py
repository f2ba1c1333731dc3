"""Make the bytes of source distributions depend on their contents alone: sorted names, one time, no owner.

setuptools writes the time of the build and the user's name into the archive. ``python tools/normalize_sdist.py dist/*.tar.gz``
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import tarfile
from pathlib import Path


def normalized(path: Path, when: int) -> bytes:
    """The archive with the same files, whose bytes tell neither who packed them nor when."""
    sink = io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=sink, mode="w", format=tarfile.PAX_FORMAT) as new:
        for entry in sorted(old.getmembers(), key=lambda one: one.name):
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname, entry.pax_headers = when, 0, 0, "", "", {}
            entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            new.addfile(entry, old.extractfile(entry) if entry.isfile() else None)
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=when) as file:
        file.write(sink.getvalue())
    return packed.getvalue()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_bytes(normalized(Path(name), int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
