"""Input that once broke something, and a short bout of fuzzing from a fixed seed."""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_readers

FILES = sorted(fuzz_readers.CORPUS.iterdir())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_once_broke_something(path, tmp_path):
    kind = path.name.partition(".")[2]
    assert fuzz_readers.tried(kind, path.read_bytes(), tmp_path) == ""


@pytest.mark.parametrize("kind", fuzz_readers.SEEDS)
def test_a_few_changes(kind, tmp_path):
    rng, good = random.Random(kind), fuzz_readers.SEEDS[kind]()
    assert fuzz_readers.tried(kind, good, tmp_path) == ""
    for _ in range(15):
        data = fuzz_readers.changed(good, rng)
        assert fuzz_readers.tried(kind, data, tmp_path) == "", data
