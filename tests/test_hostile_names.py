"""Names from data are never markup: the same hostile names in every output, shown and never obeyed."""

import csv
import io
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import scorebars as sb
from scorebars._shared import escaping

NAMES = {
    "rich tag": "lgbm[v2]",
    "closing tag": "[/x]",
    "rich style": "[bold red]model[/]",
    "escape": "m\x1b[31mred\x1b[0m",
    "title of the terminal": "m\x1b]0;owned\x07",
    "one-byte escape": "m\x9b2J",
    "new line": "first\nsecond",
    "carriage return": "shown\rhidden",
    "tab": "a\tb",
    "pipe": "a|b",
    "html": "<script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "attribute": '" onmouseover="alert(1)',
    "entity": "&lt;b&gt;",
    "link": "[click](javascript:alert(1))",
    "angle link": "<javascript:alert(1)>",
    "picture link": "![x](http://example.org/x.png)",
    "code": "`rm`",
    "stars": "**bold**",
    "struck": "~~gone~~",
    "underscores": "_emphasis_",
    "backslash": "a\\|b",
    "formula": "=HYPERLINK(1)",
    "plus": "+1+1",
    "minus": "-2+3",
    "at": "@SUM(A1)",
    "latex": r"\input{/etc/passwd}",
    "latex letters": "50% & $x_1^2$ #{}~",
    "latex row": "[1cm]",
    "latex star": "*",
    "mathtext": "$x^2$",
    "broken mathtext": r"$\frac{$",
    "legend": "_hidden",
    "direction": "abc\u202edef",
    "isolate": "\u2066x\u2069",
    "zero width": "a\u200bb",
    "line separator": "a\u2028b",
    "surrogate": "a\ud800",
    "null": "a\0b",
    "quote": "it's",
    "script end": "</script><script>alert(1)",
    "comment": "<!-- x",
    "template": "{{ 7*7 }}",
    "percent": "%s%n",
    "emoji code": ":skull:",
    "empty": "",
    "blank": " ",
}
Y, P = [1.0, 2.0, 4.0, 3.0], [1.1, 2.3, 3.8, 3.3]
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff]")
each_name = pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)


def evaluation(name, **options):
    return sb.evaluate(Y, {name: P, "other": Y}, yerr=0.1, metrics="mean_error", **options)


def lines_of(text):
    return text.split("\n")


class Seen(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {key for key, _ in attributes}

    def handle_data(self, data):
        self.text += data


@each_name
def test_plain_text(name):
    text = str(evaluation(name))
    assert not OBEYED.search(text)
    text.encode()
    assert len(lines_of(text)) == len(lines_of(str(evaluation("plain"))))
    assert escaping.printable(name).strip() in text


@each_name
def test_rich(name):
    from rich.console import Console

    sink = io.StringIO()
    Console(file=sink, width=300, color_system=None).print(evaluation(name))
    assert escaping.printable(name).strip() in sink.getvalue()
    assert not OBEYED.search(sink.getvalue())


@each_name
def test_html(name):
    plain, found = Seen(evaluation("plain")._repr_html_()), Seen(evaluation(name)._repr_html_())
    assert (found.tags, found.attributes) == (plain.tags, plain.attributes)
    assert escaping.printable_lines(name) in found.text
    assert Seen(evaluation(name).to_html()).tags == Seen(evaluation("plain").to_html()).tags
    evaluation(name).to_html().encode()


@each_name
def test_markdown(name):
    table = evaluation(name).to_markdown()
    plain = evaluation("plain").to_markdown()
    assert len(lines_of(table)) == len(lines_of(plain))
    for line, other in zip(lines_of(table), lines_of(plain), strict=True):
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == other.count("|")
    assert not re.search(r"<[a-zA-Z/!]", table)
    assert not re.search(r"(?<!\\)\]\(", table)
    assert not OBEYED.search(table)


@each_name
def test_latex(name):
    table = evaluation(name).to_latex()
    plain = evaluation("plain").to_latex()
    assert len(lines_of(table)) == len(lines_of(plain))
    escaped = escaping.latex_text(name)
    assert escaped in table
    commands = set(re.findall(r"\\[a-zA-Z]+", escaped))
    allowed = {"textasciitilde", "textasciicircum", "textbackslash", "textless", "textgreater", "textbar"}
    assert commands <= {f"\\{command}" for command in allowed}
    assert not re.search(r"(?<!\\)[%&$#_^~]", escaped)
    assert not escaped.startswith(("[", "*"))
    assert not OBEYED.search(table)


@each_name
def test_json(name):
    text = evaluation(name).to_json()
    text.encode()
    json.dumps(json.loads(text), ensure_ascii=False).encode()
    assert escaping.json_text(name) in {row["model"] for row in json.loads(text)["scores"]}


@each_name
def test_csv(name):
    from scorebars.cli.output import as_csv

    text = as_csv(evaluation(name).rows(0.95))
    text.encode()
    rows = list(csv.reader(io.StringIO(text)))
    assert len(rows) == 3
    assert not any(cell.startswith(("=", "+", "@", "\t", "\r")) for row in rows for cell in row)
    assert not any(cell.startswith("-") and not re.fullmatch(r"-[\d.einf+-]+", cell) for row in rows for cell in row)


@pytest.mark.parametrize("part", [slice(k, None, 8) for k in range(8)], ids=str)
def test_the_report(part):
    """Several names on one page, as models, and one of them as title, file, unit and command."""
    names = list(NAMES.values())[part]
    evil, options = names[0], {"yerr": 0.1, "metrics": "mean_error"}

    def page(name, *models):
        said = {"title": name, "source": f"{name}.csv", "unit": name, "command": f"scorebars evaluate {name}"}
        return sb.report.build(Y, dict.fromkeys(models, P), **said, **options)

    found, plain = page(evil, *names), page("plain", *map(str, range(len(names))))
    found.encode()
    assert (Seen(found).tags, Seen(found).attributes) == (Seen(plain).tags, Seen(plain).attributes)
    data = re.findall(r'<script type="application/json" id="data">(.*?)</script>', found, re.DOTALL)
    assert len(json.loads(data[0])["models"]) == len(names)


@pytest.mark.parametrize(
    "name", ["mathtext", "broken mathtext", "legend", "new line", "surrogate", "direction", "rich tag"]
)
def test_figures(name):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    name = NAMES[name]
    for draw, given in (
        (sb.plot.noise_budget, evaluation(name)),
        (sb.plot.forest, sb.compare(Y, {name: P, "other": Y}, yerr=0.1, metric="mean_squared_error")),
    ):
        figure = Figure()
        ax = draw(given, ax=figure.subplots())
        for ending in ("svg", "png"):
            figure.savefig(io.BytesIO(), format=ending)
        shown = [label.get_text() for label in ax.get_yticklabels()] + [ax.get_xlabel()]
        assert any(escaping.figure_text(name) in text for text in shown)


@each_name
def test_groups_and_units(name):
    found = sb.evaluate(Y, P, yerr=0.1, metrics="mean_error", by=[name, name, "b", "b"])
    for text in (str(found), found.to_markdown(), found.to_latex(), found._repr_html_()):
        assert not OBEYED.search(text)
    score = found["model", "mean_error", None]
    assert not OBEYED.search(score.sentence(name))


@each_name
def test_the_generated_code_is_python(name):
    """The code of the page is Python that names the same file and columns, whatever they are called."""
    import ast

    from scorebars.report.sections import code_lines

    columns = {"y": name, "predictions": (name, "p"), "yerr": name}
    code = code_lines(["mean_error"], np.zeros(2), {}, 0.1, f"{name}.csv", columns, False, 0.95, name)
    constants = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    assert f"{name}.csv" in constants and name in constants
    calls = {ast.unparse(node.func) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)}
    assert calls <= {"sb.evaluate", "print", "found[found.models[0], found.metrics[0]].sentence"}


@each_name
def test_the_command_line_can_be_pasted(name):
    import shlex

    if "\0" not in name:
        assert shlex.split(shlex.join(["scorebars", "evaluate", name])) == ["scorebars", "evaluate", name]


@each_name
def test_messages(name):
    """Errors name models and columns; what they say goes to terminals, too."""
    with pytest.raises(KeyError, match="is not in this evaluation") as why:
        _ = evaluation(name)["no such model", "mean_error"]
    str(why.value).encode("utf-8", "backslashreplace")
