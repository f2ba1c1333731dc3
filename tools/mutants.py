"""Mutation testing: change one thing in the code and see whether a test notices.

    python tools/mutants.py --record        # which test runs which line: some minutes
    python tools/mutants.py --count 100     # a random sample of changes; goes on where it stopped

A mutant is the library with one operator, comparison, number or condition changed. The tests that run the changed line
are run, at most `_TESTS` of them, until one fails (the mutant is killed) or none does (it survives). A sample of mutants
takes minutes instead of days, and tells the share that is killed with an error bar. The table is `tests/mutants.csv`;
survivors that were looked at carry what was found there.

We do not use mutmut or cosmic-ray: they write every mutant of a module before they run one, and run all tests on each.
"""

from __future__ import annotations

import argparse
import ast
import copy
import csv
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("errors", "moments", "laws", "answers")
TESTS = tuple(f"tests/{room}" for room in ("errors", "moments", "laws", "answers", "metrics", "forecasts", "reference"))
TABLE = ROOT / "tests" / "mutants.csv"
RECORD = ROOT / ".coverage-mutants"
COLUMNS = ["file", "line", "change", "tests", "result", "reason"]
_TESTS = 30
_SECONDS = 180

_OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
_COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


def places(tree: ast.Module) -> list[ast.expr]:
    """All that can be changed in the functions of a module; constants outside them set speed and accuracy."""
    return [node for function in _functions(tree) for node in _code(function) if _changed(node) is not None]


def _functions(tree: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef):
            yield child
        else:
            yield from _functions(child)


def mutant(tree: ast.Module, k: int) -> tuple[int, str, ast.Module]:
    """The module with its k-th place changed: the line, what was changed, and the changed tree."""
    tree = copy.deepcopy(tree)
    node = places(tree)[k]
    new = _changed(node)
    assert new is not None
    change = f"{ast.unparse(node)}  ->  {ast.unparse(new)}"[:160]
    _replace(tree, node, new)
    return node.lineno, change, tree


def _code(tree: ast.AST) -> Iterator[ast.expr]:
    """Expressions that compute: no annotations, no messages of errors, no docstrings."""
    for name, field in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "args") and not isinstance(tree, ast.Call):
            continue
        if isinstance(tree, ast.Raise | ast.Assert):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST):
                if isinstance(child, ast.expr):
                    yield child
                yield from _code(child)


def _changed(node: ast.expr) -> ast.expr | None:
    """The expression with one thing changed, or None where there is nothing to change."""
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        return ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        return node.operand
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return ast.Constant(node.value + 1)
    if isinstance(node, ast.Constant) and type(node.value) is float:
        return ast.Constant(1.1 * node.value if node.value else 1.0)
    return None


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, field in ast.iter_fields(parent):
            if field is old:
                setattr(parent, name, new)
            elif isinstance(field, list):
                field[:] = [new if one is old else one for one in field]


def record() -> None:
    """Run the tests of the rooms and keep which of them run which line."""
    options = ["--cov=scorebars", "--cov-context=test", "--cov-report=", "-q", "-p", "no:xdist"]
    environment = {**os.environ, "COVERAGE_FILE": str(RECORD)}
    subprocess.run([sys.executable, "-m", "pytest", *options, *TESTS], cwd=ROOT, env=environment, check=True)


def tests_of_lines(path: Path) -> dict[int, list[str]]:
    """The tests that run each line of a file."""
    from coverage import CoverageData

    data = CoverageData(str(RECORD))
    data.read()
    (name,) = [one for one in data.measured_files() if one.endswith(str(path.relative_to(ROOT)))] or [""]
    return {
        line: sorted({context.partition("|")[0] for context in contexts if context})
        for line, contexts in data.contexts_by_lineno(name).items()
    }


def sample(count: int, seed: int) -> list[tuple[Path, int, str, ast.Module]]:
    """Mutants drawn at random: each file as often as it has places to change."""
    files = [path for room in ROOMS for path in sorted((ROOT / "src" / "scorebars" / room).rglob("*.py"))]
    trees = {path: ast.parse(path.read_text()) for path in files}
    number = {path: len(places(tree)) for path, tree in trees.items()}
    rng = random.Random(seed)
    drawn = rng.choices(list(number), weights=list(number.values()), k=count)
    return [(path, *mutant(trees[path], rng.randrange(number[path]))) for path in drawn]


def judge(path: Path, tree: ast.Module, tests: list[str]) -> str:
    """Run the tests on a copy of the library in which this file is changed."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        (source / path.relative_to(ROOT / "src")).write_text(ast.unparse(tree))
        environment = {**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests]
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return "timed out"
    return "survived" if done.returncode == 0 else "killed"


def read() -> list[dict[str, str]]:
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="find out which test runs which line")
    parser.add_argument("--count", type=int, default=100, help="mutants in all")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if asked.record:
        record()
        return
    rows, rng = read(), random.Random(asked.seed)
    for path, line, change, tree in sample(asked.count, asked.seed)[len(rows) :]:
        tests = tests_of_lines(path).get(line, [])
        tests = rng.sample(tests, _TESTS) if len(tests) > _TESTS else tests
        result = judge(path, tree, tests) if tests else "not run"
        name = str(path.relative_to(ROOT / "src" / "scorebars"))
        rows.append(dict(zip(COLUMNS, (name, str(line), change, str(len(tests)), result, ""), strict=True)))
        with TABLE.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        print(f"{len(rows)}/{asked.count} {result:>8}  {name}:{line}  {change}", flush=True)


if __name__ == "__main__":
    main()
