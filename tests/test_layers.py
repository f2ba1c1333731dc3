"""Each module imports only from layers above it, and nothing but the standard library, NumPy and SciPy outside."""

import ast
import sys
from pathlib import Path

import pytest

import scorebars

ROOT = Path(scorebars.__file__).parent

# From the border to the user. Modules on one line do not import each other, except inside their own package.
LAYERS = [
    ["arrays", "passages"],
    ["checks", "numerics", "datasets", "data"],
    ["tables", "cells"],
    ["errors"],
    ["forecasts"],
    ["losses"],
    ["measured"],
    ["moments"],
    ["engines"],
    ["laws"],
    ["_shared"],
    ["answers"],
    ["metrics"],
    ["evaluation"],
    ["files"],
    ["streaming"],
    ["studies"],
    ["adapters", "plot"],
    ["report", "cli", "web"],
    ["__main__"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# These see only the public names, and what they share: _shared, and the room of files.
OUTSIDE = {"adapters", "plot", "report", "cli", "web"}
ALLOWED = {"numpy", "scipy", "scorebars"}
# Imported only where there is a GPU to run it on.
ON_A_GPU = [ROOT / "engines" / f"{name}.py" for name in ("triton_sums", "triton_bins", "device_bins")]
# Where a user asks for a table of pandas or a fold of scikit-learn, the function that makes it may import it.
WHEN_ASKED = {"_shared", "engines", *(name for name in RANK if RANK["evaluation"] <= RANK[name])}


def modules():
    return sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def dotted(path):
    return ".".join(["scorebars", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


MODULES = {dotted(path): path for path in modules()}


def layer_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def only_for_types(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(path, inside_functions=True):
    """Absolute names of the imported modules, those under TYPE_CHECKING left out."""
    package = ["scorebars", *path.relative_to(ROOT).parent.parts]
    pending = [ast.parse(path.read_text(encoding="utf-8"))]
    found = []
    while pending:
        node = pending.pop()
        if only_for_types(node):
            pending += node.orelse
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, node.module] if node.module else base)
            # `from scorebars import checks` imports the module scorebars.checks
            names = [f"{start}.{alias.name}" for alias in node.names]
            found += [name if name in MODULES else start for name in names]
        if inside_functions or not isinstance(node, ast.FunctionDef):
            pending += ast.iter_child_nodes(node)
    return found


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_come_from_above(path):
    here = layer_of(path)
    assert here in RANK, f"{here} has no place among the layers"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "scorebars" or len(parts) == 1:
            continue
        there = parts[1]
        if there == here or (here in OUTSIDE and there in ("_shared", "files")):
            continue
        if here in OUTSIDE and (there not in RANK or RANK[there] >= RANK["adapters"]):
            continue
        assert here not in OUTSIDE, (
            f"{name_of(path)} imports {name}: it may see only the public names, _shared and files"
        )
        assert there in RANK, f"{name_of(path)} imports {name}, which has no place among the layers"
        assert RANK[there] < RANK[here], f"{name_of(path)} imports {name}, a layer that is not above it"


@pytest.mark.parametrize(
    "path", [p for p in modules() if layer_of(p) not in OUTSIDE and p not in ON_A_GPU], ids=name_of
)
def test_only_numpy_and_scipy(path):
    names = imports(path, inside_functions=layer_of(path) not in WHEN_ASKED)
    outside = {name.split(".")[0] for name in names} - ALLOWED - set(sys.stdlib_module_names)
    assert not outside


def test_no_circle_of_modules():
    """No two files need each other to be imported."""
    needs = {name: {other for other in imports(path) if other in MODULES} for name, path in MODULES.items()}
    done: set[str] = set()
    while ready := {name for name in needs if name not in done and needs[name] - {name} <= done}:
        done |= ready
    assert done == set(MODULES), f"a circle among {sorted(set(MODULES) - done)}"


def test_a_file_name_means_one_thing():
    stems = [path.stem for path in modules() if path.name not in ("__init__.py", "__main__.py")]
    assert [stem for stem in stems if stems.count(stem) > 1] == []


def test_a_public_name_is_defined_once():
    """Command line and page name their verbs as the public functions; figures and adapters are named by what they are of."""
    homes = {}
    for path in modules():
        if layer_of(path) in ("adapters", "plot"):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
            names = [getattr(one, "id", getattr(one, "name", "_")) for one in targets]
            for name in names:
                verb = layer_of(path) in OUTSIDE and name in (*scorebars.__all__, "serve")
                if isinstance(name, str) and not name.startswith("_") and not verb:
                    homes.setdefault(name, set()).add(name_of(path))
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}
