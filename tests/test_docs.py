"""The code in README and docs runs and prints what they say."""

import doctest
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page):
    result = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, encoding="utf-8"
    )
    assert result.failed == 0


def test_links_lead_somewhere():
    for page in PAGES:
        prose = re.sub(r"^(`{3,})[^\n]*\n.*?^\1", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
        for target in re.findall(r"\]\(([^)#:]+)\)", prose):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_contributing_names_files_that_exist():
    """In its pictures of the way of the data, and in the walks that say how to add something."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "scorebars"
    rooms = "|".join(path.name for path in package.iterdir() if path.is_dir())
    pictures = "".join(re.findall(r"^    .*\n", text, flags=re.MULTILINE))
    shown = re.findall(rf"\b(?:{rooms})/[\w/.]*\w", pictures)
    walks = [name for name in re.findall(r"`([\w./]+/[\w.]+\.py)`", text) if name != "scorebars/__init__.py"]
    assert len(shown) > 15 and len(walks) > 15
    places = [ROOT, package]
    for name in (*shown, *walks):
        assert any((place / name).exists() or (place / f"{name}.py").exists() for place in places), name


def test_the_readme_is_short_and_its_times_are_those_that_were_measured():
    """One screen and a half: that many lines are some 1350 pixels where GitHub shows them."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 64
    rows = re.findall(r"^\w.{37} +(\de\d) +(\S+)  \S", text, re.MULTILINE)
    bench = json.loads((ROOT / "benchmarks" / "results" / "bench.json").read_text(encoding="utf-8"))["rows"]
    measured = {(float(f"{row['n']:.0e}"), float(f"{row['ratio']:{kind}}")) for row in bench for kind in (".2g", ".0e")}
    assert len(rows) == 12
    assert {(float(n), float(ratio)) for n, ratio in rows} <= measured


CHECKED_ELSEWHERE = {
    "docs/command-line.md": "tests/cli/test_docs_page.py",
    "docs/evidence/closed-forms.md": "make accuracy",
    "docs/evidence/coverage.md": "make test-coverage",
    "docs/theory/errata.md": "tests/test_paper.py",
}
"""Pages that are made by a command, or whose numbers a test of their own computes."""
TYPED = re.compile(
    r"(?<![\w.,:/-])(?:\d[\d,]*\.\d+|\.\d+|\d+e[+-]?\d+|\d[\d,]*\d{2}|\d+(?= ?%| per cent))(?:e[+-]?\d+)?"
)
LEVELS = {"68", "68.3", "90", "95", "99"}


def numbers_in(text):
    """All numbers of a text, without signs and thousands separators, and as per cent."""
    found = {plain(word) for word in re.findall(r"[\d.][\d,_.]*(?:e[+-]?\d+)?", text)}
    shares = {float(word) for word in found if re.fullmatch(r"\.\d+", word)}
    return found | {f"{100 * share:g}" for share in shares}


def plain(number):
    number = number.replace(",", "").replace("_", "").rstrip(".").lstrip("0")
    return re.sub(r"\.0+$", "", number)


def typed_numbers(text):
    """The numbers of the prose that no code, no output and no formula of the page shows, and no named file holds."""
    shown = "".join(match[2] for match in re.finditer(r"^(`{3,})(?!\{glossary)[^\n]*\n(.*?)^\1", text, re.S | re.M))
    for file, listed in re.findall(r"<!-- numbers from (\S+): (.*?) -->", text):
        kept = numbers_in((ROOT / file).read_text(encoding="utf-8"))
        missing = [word for word in listed.split() if plain(word) not in kept]
        assert not missing, f"{file} does not hold {missing}"
        shown += f" {listed}"
    prose = re.sub(r"^(`{3,})(?!\{glossary)[^\n]*\n.*?^\1|<!--.*?-->|^---\n.*?^---", "", text, flags=re.S | re.M)
    prose = re.sub(r"^`{3,}.*$", "", prose, flags=re.M)  # of a glossary, which is prose
    shown += " ".join(re.findall(r"`[^`]*`", prose))
    prose = re.sub(r"`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|^ {4}[^\n]*$|\]\([^)]*\)|https?://\S+", "", prose, flags=re.S | re.M)
    known = numbers_in(shown)
    return [
        number[0]
        for number in TYPED.finditer(prose)
        if plain(number[0]) not in known
        and not re.fullmatch(r"(19|20)\d\d", number[0])
        and not (number[0] in LEVELS and prose[number.end() :].lstrip().startswith("%"))
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_result_is_typed_into_the_prose(page):
    """Results are printed by the code of their page. What the source or a result file fixes is named with that file."""
    text = re.sub(r"<!-- bench:.*?<!-- end of bench -->", "", page.read_text(encoding="utf-8"), flags=re.S)
    if str(page.relative_to(ROOT)) not in CHECKED_ELSEWHERE:
        assert typed_numbers(text) == []


def test_a_typed_number_is_found():
    code = "```python\n>>> 0.5 + 0.75\n1.25\n\n```\n"
    assert typed_numbers(f"{code}It is 1.25, of 0.5 or 50 %, at 95 %, in 2020, by $x > 0.3$, after 12 labels.") == []
    assert typed_numbers(f"{code}It holds .93 of 4,000, or 93 %, within 1e-9.") == [".93", "4,000", "93", "1e-9"]
    assert typed_numbers("At 3.11. <!-- numbers from pyproject.toml: 3.11 -->") == []
    with pytest.raises(AssertionError, match="does not hold"):
        typed_numbers("<!-- numbers from pyproject.toml: 9.87 -->")
