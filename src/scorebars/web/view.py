"""What a page shows: the options of the command line, as they stand in the address of the page.

A view is all that is needed to see the same numbers again: in the page, on the command line, in Python.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from scorebars.cli import options as opt
from scorebars.files.column_names import LABEL_SOURCES, ROLE_OPTIONS, without_guesses
from scorebars.files.columns import Roles, number_or_name
from scorebars.files.formats import READING_OPTIONS
from scorebars.files.supposed import SUPPOSED_OPTIONS, Supposed
from scorebars.report.sections import file_arguments, file_code, metric_code, script
from scorebars.web.limits import Refused

LISTS = ("pred", "std", "members", *LABEL_SOURCES, "exclude", "metric")
_NUMBERS = ("resolution", "scale_errors", "systematic", "cut", "level")
_WHOLE = ("measurements", "skip_rows", "anew")
_OTHERS = ("nan_policy", "task", "metric", "level", "anew")
_NAMES = (*READING_OPTIONS, *ROLE_OPTIONS, *SUPPOSED_OPTIONS, *_OTHERS)
_NOTHING = {
    "scale_errors": 1.0,
    "systematic": 0.0,
    "measurements": 1,
    "anew": 1,
    "level": 0.95,
    "nan_policy": "raise",
    "error_kind": "classical",
}
"""Values that change nothing, and so are left out of the address."""
_NOT_OF_ALL = ("by", "metric", "level", "anew")
_NOT_OF = {"evaluate": (), "compare": _NOT_OF_ALL, "plan": (*_NOT_OF_ALL, "std", "members", "weight")}
"""Options that a command does not have, or that its page asks for in fields of its own."""
_MOST_VALUES = 4_000
_MOST_ANEW = 1_000_000
_LONGEST = 2_000


@dataclass(frozen=True)
class View:
    """The options that are given; `cov` only says that the uploaded matrix is used."""

    given: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, query: Iterable[tuple[str, str]]) -> View:
        """The view in an address; options of metrics may stand apart, as ``opt.fraction_within.tolerance=0.5``."""
        found: dict[str, Any] = {}
        apart: dict[str, dict[str, str]] = {}
        for count, (name, text) in enumerate(query):
            if count >= _MOST_VALUES or len(text) > _LONGEST:
                raise Refused("The address is too long.", 414)
            if name.startswith("opt.") and name.count(".") >= 2 and text.strip():
                _, metric, option = name.split(".", 2)
                apart.setdefault(metric, {})[option] = text.strip()
            if name not in _NAMES or not text.strip():
                continue
            if name in LISTS:
                found.setdefault(name, [])
                found[name] += [] if text in found[name] else [text]
            else:
                found[name] = _value(name, text)
        found = {name: value for name, value in found.items() if _NOTHING.get(name) != value}
        if "metric" in found:
            found["metric"] = [_with_options(name, apart.get(name, {})) for name in found["metric"]]
        return cls(found)

    def query(self) -> list[tuple[str, str]]:
        """The view as it stands in an address."""
        pairs: list[tuple[str, str]] = []
        for name, value in self.given.items():
            pairs += [(name, _text(one)) for one in (value if isinstance(value, list) else [value])]
        return pairs

    def get(self, name: str, default: Any = None) -> Any:
        return self.given.get(name, default)

    @property
    def level(self) -> float:
        level = float(self.get("level", 0.95))
        if not 0 < level < 1:
            raise Refused(f"The level must be a probability strictly between 0 and 1, got {level:g}.", 422)
        return level

    @property
    def anew(self) -> int:
        """How often each label is measured again, in `remeasured`."""
        anew = int(self.get("anew", 1))
        if not 1 <= anew <= _MOST_ANEW:
            raise Refused("Measured again: give a whole number of at least 1.", 422)
        return anew

    def part(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of the options that are given."""
        return {name: self.given[name] for name in names if name in self.given}

    @property
    def supposed(self) -> Supposed:
        return Supposed(**self.part(SUPPOSED_OPTIONS))

    @property
    def metrics(self) -> list[opt.AskedMetric] | None:
        """The metrics that are asked for; None for those that suit the data."""
        return [opt.asked_metric(name) for name in self.get("metric", [])] or None

    @property
    def is_whole(self) -> bool:
        """Whether labels and predictions are named, so that nothing else is guessed."""
        labels = any(self.get(name) for name in ("y", *LABEL_SOURCES))
        return labels and any(self.get(name) for name in ("pred", "members"))

    def roles(self, covariance: str) -> dict[str, Any]:
        """What is said of the columns, as the readers of files take it; `covariance` is the file that was uploaded."""
        given = self.part(name for name in ROLE_OPTIONS if name != "cov")
        if self.get("cov"):
            if not covariance:
                raise Refused("There is no covariance matrix yet: choose its file on the page of the columns.", 422)
            given["cov"] = covariance
        return self.supposed.without_columns(without_guesses(given) if self.is_whole else given)

    def filled(self, roles: Roles) -> View:
        """The same view with every column named that was guessed."""
        named: dict[str, Any] = {"y": roles.y, "pred": list(roles.predictions)}
        named |= {"weight": roles.weight, "by": roles.by, "groups": roles.groups, "id": roles.id, "model": roles.model}
        named |= {"gold": roles.gold, "gold_probability": roles.gold_probability}
        named |= {name: list(getattr(roles, name)) for name in LABEL_SOURCES}
        named |= {"repeats": ["rows"]} if roles.repeated_rows else {}
        stds = dict(roles.stds)
        named["std"] = [stds.get(name, "none") for name in roles.predictions] if stds else []
        named["members"] = [",".join(group) for group in roles.members]
        named[roles.error_option] = None if roles.error_value is None else _text(roles.error_value)
        columns = {name: value for name, value in named.items() if value not in (None, [], "")}
        others = {name: value for name, value in self.given.items() if name not in ROLE_OPTIONS or name == "cov"}
        return View({**columns, **others})

    # how to see the same elsewhere -----------------------------------------------------------------

    def command(
        self,
        verb: str,
        file: str,
        needed: Sequence[str],
        covariance: str = "",
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> str:
        """The command line that prints the numbers of this page, with what the page adds to the view.

        `needed` names the options that must say ``none`` where the view is silent.
        """
        said = {**dict.fromkeys(needed, "none"), **self.given}
        if "cov" in said:
            said["cov"] = covariance
        options = {name: said[name] for name in _NAMES if name in said and name not in _NOT_OF[verb]}
        return shlex.join(["scorebars", verb, file, *as_options(options), *as_options(more)])

    def keywords(self, covariance: str = "") -> dict[str, Any]:
        """The keywords with which `sb.evaluate` and its sisters take the same data from the file."""
        said = {name: self.given.get(name) for name in (*ROLE_OPTIONS, *READING_OPTIONS, *SUPPOSED_OPTIONS)}
        if said["yerr"] is not None:
            said["yerr"] = None if said["yerr"] == "none" else number_or_name(said["yerr"])
        said["cov"] = covariance if said["cov"] else None
        said["predictions"] = said.pop("pred")
        said["id"] = said["id"] or "none"  # with an id the file is read as a whole
        said["nan_policy"] = self.get("nan_policy")
        said["task"] = self.get("task") if self.get("cut") is None else None
        return {name: value for name, value in said.items() if value not in (None, [])}

    def code(
        self, file: str, metrics: Sequence[Any], unit: str, models: Mapping[str, str], covariance: str = ""
    ) -> str:
        """Python code that makes the numbers of this page; `models` has the name of each model and its column."""
        told = file_code(metrics, file, self._named(models, covariance), unit)
        if self.level == 0.95 and self.anew == 1:
            return told
        given = repr(self.level) + (f", repeats={self.anew}" if self.anew != 1 else "")
        return f"{told}\nnumbers = found.to_dict({given})  # as the page shows them"

    def study_code(
        self,
        verb: str,
        file: str,
        models: Mapping[str, str],
        more: Mapping[str, Any],
        last: str,
        covariance: str,
    ) -> str:
        """Python code that asks the study `verb` of the file, with what its page adds to the view."""
        gone = tuple(name for name in _NOT_OF[verb] if name != "metric")
        said = {name: value for name, value in self._named(models, covariance).items() if name not in gone}
        chosen = {name: metric_code(value) if name == "metric" else repr(value) for name, value in more.items()}
        call = ", ".join([file_arguments(file, said), *(f"{name}={value}" for name, value in chosen.items())])
        return script(f"found = sb.{verb}({call})", "print(found)", *([last] if last else []))

    def _named(self, models: Mapping[str, str], covariance: str) -> dict[str, Any]:
        """The keywords, with models under the names that the page gives them."""
        said = self.keywords(covariance)
        if list(models.values()) == said.get("predictions") and list(models) != list(models.values()):
            said["predictions"] = dict(models)
        return said


def as_options(given: Mapping[str, Any]) -> list[str]:
    """Options as words of the command line.

    >>> as_options({"pred": ["a", "b"], "cost_label": 2.0, "sampling": True})
    ['--pred', 'a', '--pred', 'b', '--cost-label', '2', '--sampling']
    """
    words = []
    for name, value in given.items():
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{name.replace('_', '-')}", *([] if one is True else [_text(one)])]
    return words


def number_in(text: str, title: str, whole: bool = False) -> float:
    """A number as a visitor writes it, with a point or a comma."""
    try:
        value = float(text.strip().replace(",", "."))
        if whole and value != int(value):
            raise ValueError
    except (ValueError, OverflowError):
        kind = "a whole number" if whole else "a number"
        raise Refused(f"{title} must be {kind}, got {text[:40]!r}.", 422) from None
    return value


def _value(name: str, text: str) -> Any:
    title = name.replace("_", " ").capitalize()
    if name in _WHOLE:
        return int(number_in(text, title, whole=True))
    return number_in(text, title) if name in _NUMBERS else text


def _text(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _with_options(metric: str, options: dict[str, str]) -> str:
    """A metric with its options, as the command line takes it; options that stand there already stay."""
    if not options or ":" in metric:
        return metric
    return f"{metric}:{','.join(f'{name}={value}' for name, value in options.items())}"
