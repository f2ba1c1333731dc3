"""Who visits, and the files that belong to them: no visitor sees those of another."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from scorebars.files.formats import PREFIX, shipped_names
from scorebars.web.jobs import Job
from scorebars.web.limits import Limits, Refused, in_words
from scorebars.web.scratch import Scratch

_IDLE = 12 * 3600.0
"""Seconds after which a visitor is forgotten, with all files."""
_MOST_SESSIONS = 500
_MOST_FILES = 20
_KEPT_ANSWERS = 6
"""Answers that are kept for each file, so that a page can be loaded again."""


def safe_name(given: str) -> str:
    """The name of an upload as a file may be called here: no folders, no odd letters, not hidden.

    >>> safe_name("C:\\\\data\\\\my masses.csv"), safe_name("../../etc/passwd"), safe_name("<b>.csv"), safe_name("....csv")
    ('my masses.csv', 'passwd', '_b_.csv', 'table.csv')
    """
    last = re.split(r"[\\/]", given)[-1]
    head, dot, ending = re.sub(r"[^\w.\- ()+]", "_", last, flags=re.ASCII).rpartition(".")
    if not dot:
        head, ending = ending, ""
    head = head[:80].strip(" .-") or "table"
    return f"{head}.{ending[:12].strip()}" if ending.strip() else head


@dataclass
class HeldFile:
    """A table that a visitor asks about: an upload in its own folder, or a data set that comes with the library."""

    id: str
    name: str
    path: str
    folder: Path | None = None
    size: int = 0
    covariance: str = ""
    """Path of the covariance matrix that was uploaded for it; empty without."""
    answers: OrderedDict[str, Job] = field(default_factory=OrderedDict)

    def keep(self, key: str, job: Job) -> None:
        """Keep an answer, and forget the oldest one that is done."""
        self.answers[key] = job
        for old in [name for name, one in self.answers.items() if one.done.is_set()]:
            if len(self.answers) <= _KEPT_ANSWERS:
                return
            if old != key:
                self.answers.pop(old).remove()

    def forget(self) -> None:
        """Remove the file and all that was made of it."""
        for job in self.answers.values():
            if job.task is not None:
                job.task.cancel()
            job.remove()
        self.answers.clear()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


@dataclass
class Session:
    """One visitor."""

    id: str
    files: dict[str, HeldFile] = field(default_factory=dict)
    seen: float = field(default_factory=time.monotonic)
    other: HeldFile = field(default_factory=lambda: HeldFile("", "", ""))
    """Holds the answers to questions without a file."""

    def file(self, name: str) -> HeldFile:
        """The file of this id; what belongs to others is not there."""
        if name not in self.files and name.startswith(PREFIX):
            if name.removeprefix(PREFIX) not in shipped_names():
                raise Refused(f"There is no data set {name!r}.", 404)
            self.files[name] = HeldFile(name, name, name)
        if name not in self.files:
            raise Refused("There is no such file here. It may have been removed: drop it again.", 404)
        return self.files[name]

    def forget(self) -> None:
        for file in [*self.files.values(), self.other]:
            file.forget()
        self.files.clear()


class Sessions:
    """All visitors."""

    def __init__(self, scratch: Scratch, limits: Limits) -> None:
        self._scratch, self._limits = scratch, limits
        self._known: OrderedDict[str, Session] = OrderedDict()

    def find(self, name: str | None) -> Session | None:
        """The visitor with this cookie."""
        found = self._known.get(name or "")
        if found is not None:
            found.seen = time.monotonic()
            self._known.move_to_end(found.id)
        return found

    def new(self) -> Session:
        """A visitor who comes for the first time; those who left long ago are forgotten."""
        now = time.monotonic()
        for old in list(self._known.values()):
            if now - old.seen > _IDLE or len(self._known) >= _MOST_SESSIONS:
                self._known.pop(old.id).forget()
        session = Session(secrets.token_urlsafe(24))
        self._known[session.id] = session
        return session

    @property
    def used(self) -> int:
        """Bytes of all uploads."""
        return sum(file.size for session in self._known.values() for file in session.files.values())

    def require_room(self, session: Session) -> None:
        """Refuse an upload for which there is no room."""
        if self.used + self._limits.bytes > self._limits.disk:
            raise Refused(
                f"All uploads together take {in_words(self.used)}, and there is no room for another. Forget a file that is "
                "no longer needed.",
                507,
            )
        uploads = [file for file in session.files.values() if file.folder is not None]
        for old in uploads[: max(0, len(uploads) - _MOST_FILES + 1)]:
            self.forget(session, old.id)

    def new_folder(self) -> Path:
        return self._scratch.new_folder()

    def add(self, session: Session, path: Path) -> HeldFile:
        """An upload that is whole."""
        name = secrets.token_urlsafe(9)
        session.files[name] = HeldFile(name, path.name, str(path), path.parent, path.stat().st_size)
        return session.files[name]

    def forget(self, session: Session, name: str) -> None:
        session.file(name).forget()
        session.files.pop(name, None)
