"""The release: workflows as SPEC 8 asks, versions that agree, archives whose bytes depend on their contents alone."""

import io
import json
import re
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
sys.path.insert(0, str(ROOT / "tools"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_permissions_are_read_only(path):
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), f"{action} is not pinned by its commit"
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), f"{action} does not say its version"
    assert re.search(r"^permissions:\n  contents: read$", text, re.MULTILINE)
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
    assert "secrets." not in text
    writes = re.findall(r"^ +([\w-]+): write", text, re.MULTILINE)
    assert writes == (["id-token"] if path.name == "release.yml" else [])


def test_one_commit_of_each_action():
    used = {
        tuple(a.split("@")) for path in WORKFLOWS for a in re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
    }
    assert len({name for name, _ in used}) == len(used)


def test_every_target_that_a_workflow_makes_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        listed = [word for some in re.findall(r"target: \[(.*)\]", text) for word in some.split(", ")]
        for target in {*listed, *re.findall(r"run: make ([\w-]+)", text)}:
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{path.name} makes {target}, which is no target"


def test_versions_agree():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PROJECT['version']}\n" in citation
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"Python :: {PROJECT['requires-python'].removeprefix('>=')}" in "".join(PROJECT["classifiers"])


def test_texts_of_a_project_are_there():
    for name in (
        "SECURITY",
        "RELEASING",
        "CODE_OF_CONDUCT",
        "CONTRIBUTING",
        "CHANGELOG",
        "paper/paper",
        "docs/inside/checklists",
    ):
        assert len((ROOT / f"{name}.md").read_text(encoding="utf-8")) > 500
    for name in PROJECT["license-files"]:
        assert (ROOT / name).exists()
    licences = (ROOT / "src/scorebars/data/LICENSES.md").read_text(encoding="utf-8")
    for data in (ROOT / "src/scorebars/data").iterdir():
        assert not data.is_dir() or f"| {data.name} |" in licences


def test_references_of_the_paper_are_cited():
    text = (ROOT / "paper/paper.md").read_text(encoding="utf-8")
    entries = re.findall(r"@\w+\{(\w+),", (ROOT / "paper/paper.bib").read_text(encoding="utf-8"))
    assert entries
    assert set(re.findall(r"@(\w+)", text)) == set(entries)


def test_an_archive_tells_neither_who_packed_it_nor_when(tmp_path):
    from normalize_sdist import normalized

    def packed(when, user):
        path = tmp_path / f"{user}.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name in ("b.py", "a.py") if user == "one" else ("a.py", "b.py"):
                entry = tarfile.TarInfo(name)
                entry.size, entry.mtime, entry.uname, entry.uid = 3, when, user, when
                archive.addfile(entry, io.BytesIO(b"abc"))
        return normalized(path, 1_000_000)

    assert packed(1, "one") == packed(2, "two")


def test_the_bill_of_materials(tmp_path):
    from make_sbom import bill

    (tmp_path / "scorebars-0.tar.gz").write_bytes(b"x")
    found = bill(tmp_path)
    assert found == bill(tmp_path)
    json.dumps(found)
    required = {part["name"] for part in found["components"] if part.get("scope") == "required"}
    assert required == {re.split("[<>=]", one)[0] for one in PROJECT["dependencies"]}
    assert [part["name"] for part in found["components"] if part["type"] == "file"] == ["scorebars-0.tar.gz"]
