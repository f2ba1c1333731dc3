"""A question about a file, as the process that answers it gets it: only here files of visitors are opened."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorebars._shared.score_views import counted
from scorebars.cli import options as opt
from scorebars.files.columns import Roles
from scorebars.files.file_labels import TableLabels
from scorebars.files.formats import PREFIX, READING_OPTIONS, Reading, TableSource, opened
from scorebars.files.problem import TableProblem
from scorebars.web.jobs import PROGRESS
from scorebars.web.limits import in_words
from scorebars.web.view import View


@dataclass(frozen=True)
class Inquiry:
    """A question as the process gets it."""

    question: Mapping[str, Any]
    folder: Path

    @property
    def view(self) -> View:
        return View(dict(self.question.get("view") or {}))

    @property
    def options(self) -> dict[str, Any]:
        """What is asked besides the view."""
        return dict(self.question.get("options") or {})

    @property
    def path(self) -> str:
        return str(self.question["path"])

    @property
    def shown_name(self) -> str:
        """What the visitor calls the file."""
        return str(self.question["name"])

    @property
    def covariance(self) -> str:
        return str(self.question.get("covariance") or "")

    @property
    def covariance_name(self) -> str:
        return Path(self.covariance).name

    def say(self, stage: str) -> None:
        """Tell the visitor what is being done."""
        (self.folder / PROGRESS).write_text(stage, encoding="utf-8")

    @contextmanager
    def source(self) -> Iterator[TableSource]:
        """The opened file, unless it is too large."""
        limits = self.question["limits"]
        self.say("Opening the file")
        if not self.path.startswith(PREFIX):
            _require_small_archive(Path(self.path), 5 * limits["bytes"])
        with opened([self.path], Reading(**self.view.part(READING_OPTIONS))) as found:
            if len(found.columns) > limits["columns"]:
                raise TableProblem(
                    f"{found.name} has {len(found.columns)} columns; this page takes {limits['columns']}. Keep the columns of "
                    "labels, errors and predictions, or use the command line."
                )
            yield found

    def labels(self, source: TableSource, roles: Roles, nan_policy: str | None = None) -> TableLabels:
        """The checked arrays, as they are supposed to be; a `nan_policy` is used in place of that of the view."""
        self.say("Reading the table")
        view, supposed = self.view, self.view.supposed
        task = view.get("task") or supposed.task or opt.asked_task(view.metrics)
        data = supposed.labels(source, roles, task, nan_policy or view.get("nan_policy", "raise"))
        most = self.question["limits"]["rows"]
        if data.n > most:
            raise TableProblem(
                f"{source.name} has {data.n} labels; this page takes {most}. Take a sample, or use the command line, which "
                "reads large files in pieces."
            )
        return data


def _require_small_archive(path: Path, most: int) -> None:
    """Refuse an archive that says it unpacks to more than is allowed; one that lies is stopped by the limits."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)
        if len(entries) > 1000 or size > most:
            raise TableProblem(
                f"{path.name} holds {counted(len(entries), 'file')} that unpack to {in_words(size)}; this page takes 1000 "
                f"files and {in_words(most)}."
            )
