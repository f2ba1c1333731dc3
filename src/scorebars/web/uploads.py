"""A file from the browser, written to disk piece by piece while it comes, up to a limit."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO, Any

from scorebars.web.limits import Limits, Refused, in_words
from scorebars.web.sessions import safe_name

_LONGEST_HEADER = 4096


class _Parts:
    """Takes the first file of a form as it is parsed."""

    def __init__(self, folder: Path, most: int) -> None:
        self.folder, self.most, self.size = folder, most, 0
        self.path: Path | None = None
        self._file: IO[bytes] | None = None
        self._field, self._value, self._disposition = b"", b"", b""

    def callbacks(self) -> Any:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._on_field,
            "on_header_value": self._on_value,
            "on_header_end": self._header,
            "on_headers_finished": self._headers,
            "on_part_data": self._data,
            "on_part_end": self._end,
        }

    def _begin(self) -> None:
        self._disposition = b""

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._field = (self._field + data[start:end])[:_LONGEST_HEADER]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value = (self._value + data[start:end])[:_LONGEST_HEADER]

    def _header(self) -> None:
        if self._field.lower() == b"content-disposition":
            self._disposition = self._value
        self._field = self._value = b""

    def _headers(self) -> None:
        from python_multipart.multipart import parse_options_header

        _, options = parse_options_header(self._disposition)
        if b"filename" not in options or self.path is not None:
            return
        name = options[b"filename"].decode("utf-8", "replace")
        if not name:
            return
        self.path = self.folder / safe_name(name)
        self._file = self.path.open("xb")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._file is None:
            return
        self.size += end - start
        if self.size > self.most:
            raise Refused(too_large(self.most), 413)
        self._file.write(data[start:end])

    def _end(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        self._end()


def too_large(most: int) -> str:
    """The answer to a file that is larger than the page takes."""
    return (
        f"The file is larger than the {in_words(most)} that this page takes. Use the command line for it, or start the "
        "server with a larger --max-size."
    )


async def received(
    stream: AsyncIterator[bytes], content_type: str, length: str | None, folder: Path, limits: Limits
) -> Path:
    """Write the file of a form into `folder`, and say where it is; whatever goes wrong, the folder is removed."""
    try:
        return await _received(stream, content_type, length, folder, limits)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


async def _received(
    stream: AsyncIterator[bytes], content_type: str, length: str | None, folder: Path, limits: Limits
) -> Path:
    from python_multipart.exceptions import MultipartParseError
    from python_multipart.multipart import MultipartParser, parse_options_header

    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data" or b"boundary" not in options:
        raise Refused("An upload must be a form with a file.", 415)
    if length is not None and length.isdigit() and int(length) > limits.bytes + 65536:
        raise Refused(too_large(limits.bytes), 413)
    parts = _Parts(folder, limits.bytes)
    try:
        parser = MultipartParser(options[b"boundary"], parts.callbacks())
        async for piece in stream:
            parser.write(piece)
        parser.finalize()
    except MultipartParseError as why:
        raise Refused("The upload was cut off or is damaged. Try again.", 400) from why
    finally:
        parts.close()
    if parts.path is None:
        raise Refused("No file was chosen. Choose one, then press the button again.", 400)
    if parts.size == 0:
        raise Refused(f"{parts.path.name} is empty.", 422)
    return parts.path
