# make demo and make test set themselves up in .venv from nothing but Python and pip.
PYTHON ?= python3
VENV := .venv
# one BLAS thread a worker: more would wait for each other
export OPENBLAS_NUM_THREADS := 1
BIN := $(VENV)/bin
SOURCES := pyproject.toml setup.py $(wildcard src/scorebars/engines/*.c)

.PHONY: demo test test-slow lint clean

$(VENV)/installed: $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[test,lint]"
	touch $@

demo: $(VENV)/installed  ## seven nuclear mass models on measured masses
	$(BIN)/python examples/nuclear_masses.py

test: $(VENV)/installed-test lint  ## all tests but the slow ones
	$(BIN)/python -m pytest -n 2

test-slow: $(VENV)/installed-test  ## statistical checks that take minutes
	$(BIN)/python -m pytest -n 2 -m slow

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
