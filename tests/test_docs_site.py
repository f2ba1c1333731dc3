"""What `make docs` makes its pages of: every public name, every command, the picture of the README."""

import inspect
import re
import sys
from pathlib import Path

import pytest

import scorebars as sb

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module", autouse=True)
def extensions():
    sys.path.insert(0, str(DOCS / "extensions"))
    yield
    sys.path.remove(str(DOCS / "extensions"))


def test_every_public_name_has_a_page():
    import api_pages

    names = api_pages.public_names()
    assert set(sb.__all__) <= names.keys()
    for name, value in names.items():
        assert f"scorebars.{name}" in api_pages.page_of(name, value) or "one object of this class" in api_pages.page_of(
            name, value
        )
        assert api_pages.question_of(value), f"{name} has no docstring"
        assert inspect.ismodule(value) or ">>>" in inspect.getdoc(value), f"{name} has no example"
        assert all(api_pages.group_of(name.split(".")[0]))


def sections_of(value):
    return set(re.findall(r"^(\w[\w ]*)\n-{3,}$", inspect.getdoc(value) or "", re.MULTILINE))


def test_every_page_of_the_reference_has_all_of_its_sections():
    """Of a function what goes in and what comes out; of a metric also formula, remarks and where it comes from."""
    import api_pages

    from scorebars.metrics.registry import declarations

    for name, value in api_pages.public_names().items():
        if inspect.isroutine(value):
            signature = inspect.signature(value)
            wanted = {"Examples"}
            wanted |= {"Parameters"} if signature.parameters else set()
            wanted |= {"Returns"} if signature.return_annotation not in (None, "None") else set()
            assert wanted <= sections_of(value), f"{name} lacks {sorted(wanted - sections_of(value))}"
        if name in declarations():
            assert {"Notes", "References"} <= sections_of(value), f"{name} lacks remarks or references"
            assert re.search(r":math:|\.\. math::", inspect.getdoc(value)), f"{name} has no formula"


def test_what_an_attribute_is_stands_below_its_name():
    """Beside its name stands its type: a sentence there would be printed as one."""
    import api_pages

    for name, value in api_pages.public_names().items():
        found = re.search(r"^Attributes\n-+\n(.*?)(\n\n|\Z)", inspect.getdoc(value) or "", re.MULTILINE | re.DOTALL)
        for line in re.findall(r"^\S.*", found[1] if found else "", re.MULTILINE):
            kind = line.partition(" : ")[2]
            assert len(kind.split()) <= 8 and "." not in kind, f"{name}: {line}"


def test_every_figure_is_in_the_gallery():
    shown = "".join(file.read_text(encoding="utf-8") for file in (DOCS / "figures").glob("*.py"))
    for name in sb.plot.__all__:
        assert f"sb.plot.{name}(" in shown, f"docs/figures draws no {name}"


def test_every_torchmetrics_class_is_in_the_reference():
    import api_pages

    from scorebars.metrics.registry import declarations

    classes, page = api_pages.torchmetrics_classes(), api_pages.torchmetrics_page()
    assert len(classes) > 40
    for name, function in classes.items():
        assert function in declarations()
        assert f"``{name}``" in page


def test_every_page_is_in_the_contents_of_its_folder():
    for page in DOCS.rglob("*.md"):
        if page.parent != DOCS and page.name != "index.md":
            contents = (page.parent / "index.md").read_text(encoding="utf-8")
            assert f"\n{page.stem}\n" in contents, f"{page.relative_to(DOCS)} is in no toctree"


def test_every_command_and_option_is_in_the_reference():
    import command_pages
    import typer

    commands = typer.main.get_command(command_pages.commands).commands
    assert len(commands) >= 8
    for name, command in commands.items():
        page = command_pages.page_of(name, command)
        assert f"   $ scorebars {name} {command_pages.EXAMPLES[name] or ''}".rstrip() in page
        for option in command.params:
            shown = option.opts if option.param_type_name != "argument" else [option.metavar or option.name.upper()]
            assert getattr(option, "hidden", False) or all(written in page for written in shown), (name, option.name)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_every_page_has_an_example(page):
    text = page.read_text(encoding="utf-8")
    contents = page.name == "index.md" and page.parent != DOCS
    assert (
        contents
        or page.stem == "contributing"
        or re.search(r"^```(\{code-cell\}|python|console|\n)", text, re.MULTILINE)
    )


def test_the_picture_of_the_readme_is_what_the_code_draws(tmp_path):
    import runpy

    import matplotlib.pyplot as plt
    from matplotlib.testing.compare import compare_images

    with plt.style.context("default"), plt.rc_context({"font.sans-serif": ["DejaVu Sans"]}):
        figure = runpy.run_path(str(DOCS / "make_figures.py"))["three_label_qualities"]()
        figure.savefig(tmp_path / "drawn.png", dpi=200)
    kept = DOCS / "images" / "three_label_qualities.png"
    assert compare_images(str(kept), str(tmp_path / "drawn.png"), tol=10) is None
