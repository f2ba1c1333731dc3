"""Put our functions in the place of scikit-learn's before its own tests are imported.

Run by ``make test-sklearn``. A test listed in exceptions.txt must fail, so that an exception that is no longer one is found.
"""

from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import pytest
import sklearn.metrics

import scorebars as sb

EXCEPTIONS = Path(__file__).with_name("exceptions.txt")


def namesakes():
    """Every public function of ours that scikit-learn has under the same name."""
    return {name: getattr(sb, name) for name in sb.__all__ if name in sklearn.metrics.__all__}


def exceptions():
    """Patterns of tests with the reason why each fails; a reason is a comment above its patterns."""
    found, reason = {}, ""
    for line in EXCEPTIONS.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            reason = line.lstrip("# ")
        elif line.strip():
            found[line.strip()] = reason
    return found


def pytest_configure(config):
    for name, ours in namesakes().items():
        setattr(sklearn.metrics, name, ours)


def is_ours(item):
    """Whether a parametrised test is about one of our functions; tests that name no metric count as ours."""
    values = list(item.callspec.params.values()) if hasattr(item, "callspec") else []
    known = getattr(item.module, "ALL_METRICS", {})
    functions = [known.get(value) if isinstance(value, str) else value for value in values]
    functions = [f.func if isinstance(f, partial) else f for f in functions]
    modules = [str(getattr(f, "__module__", "")) for f in functions]
    theirs = any(module.startswith("sklearn.metrics._") for module in modules)
    return not theirs or any(module.startswith("scorebars") for module in modules)


def pytest_collection_modifyitems(items):
    """Mark the exceptions; a pattern that matches no test is refused."""
    known = exceptions()
    unused = set(known)
    for item in filter(is_ours, items):
        node = f"{item.path.name}::{item.name}"
        for pattern in (p for p in known if fnmatchcase(node, p.replace("[", "[[]"))):
            unused.discard(pattern)
            item.add_marker(pytest.mark.xfail(reason=known[pattern], strict=True))
    seen = {item.path.name for item in items}
    stale = sorted(pattern for pattern in unused if pattern.split("::")[0] in seen)
    if stale:
        raise pytest.UsageError(f"exceptions.txt names tests that are not there: {', '.join(stale)}")
