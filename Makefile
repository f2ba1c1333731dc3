# make demo and make test set themselves up in .venv from nothing but Python and pip.
PYTHON ?= python3
VENV := .venv
# one BLAS thread a worker: more would wait for each other
export OPENBLAS_NUM_THREADS := 1
BIN := $(VENV)/bin
SOURCES := pyproject.toml setup.py $(wildcard src/scorebars/engines/*.c)

.PHONY: demo report test test-sklearn test-lowest test-slow test-coverage test-torch test-browser bench docs docs-links lint clean \
    wheel reproducible sanitize fuzz line-coverage mutants accuracy

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

$(VENV)/installed-cli: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[cli]"
	touch $@

report: $(VENV)/installed-cli  ## the same as a page for the browser: report.html
	$(BIN)/scorebars evaluate dataset:nuclear_masses --report report.html

test: $(VENV)/installed-test lint  ## all tests but the slow ones
	$(BIN)/python -m pytest -n 2

SKLEARN_TESTS := $(addprefix sklearn.metrics.tests.test_,regression classification ranking common)

test-sklearn: $(VENV)/installed-test  ## scikit-learn's own tests with our functions in place of theirs
	$(BIN)/python -m pytest -c tests/sklearn_conformance/pytest.ini --rootdir tests/sklearn_conformance -q -n 2 -W ignore $(SKLEARN_TESTS)

LOWEST_TESTS := tests/adapters tests/errors tests/test_intake.py tests/test_score.py tests/metrics/test_loss_metrics.py \
    $(addprefix tests/studies/test_,tables.py evaluate.py cross_validate.py check_errors.py)

test-lowest: tools/lowest.txt  ## the oldest versions that are supported
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet -r tools/lowest.txt pytest hypothesis mpmath "pyparsing<3.2"
	.venv-lowest/bin/python -m pip install --quiet --no-deps --force-reinstall .
	.venv-lowest/bin/python -m pytest -q $(LOWEST_TESTS)

test-slow: $(VENV)/installed-test  ## statistical checks that take minutes
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

# An environment of its own: torch is large, and the other tests must do without it. Triton runs in its interpreter.
$(VENV)-torch/installed: $(SOURCES)
	$(PYTHON) -m venv $(VENV)-torch
	$(VENV)-torch/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-torch/bin/python -m pip install --quiet torch==2.13.0 torchmetrics jax jaxlib pytorch-lightning
	$(VENV)-torch/bin/python -m pip install --quiet triton==3.8.0 || echo "no Triton: its tests are skipped"
	$(VENV)-torch/bin/python -m pip install --quiet --editable ".[array-api]" pytest hypothesis
	touch $@

test-torch: $(VENV)-torch/installed  ## torch, JAX and torchmetrics
	$(VENV)-torch/bin/python -m pytest tests/tensors src/scorebars/adapters/torchmetrics.py

CHROMIUM ?= /usr/bin/chromium

test-browser: $(VENV)/installed-test  ## the pages in a real browser
	test -x $(CHROMIUM) || { apt-get update && apt-get install -y chromium; } || \
	    { echo "install chromium, or set CHROMIUM to where it is"; exit 1; }
	$(BIN)/python -m pip install --quiet --editable ".[browser]"
	CHROMIUM=$(CHROMIUM) $(BIN)/python -m pytest -m browser tests/browser

bench: $(VENV)-torch/installed  ## everything as ratios against peers; writes benchmarks/results and the README's table
	$(VENV)-torch/bin/python -m pip install --quiet --editable ".[sklearn,uncertainties,plot,arrow,dask]" scoringrules numba
	$(VENV)-torch/bin/python benchmarks/run.py

$(VENV)/installed-docs: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

docs: $(VENV)/installed-docs  ## the documentation: build/docs/index.html; every number in it is computed here
	$(BIN)/codespell README.md CONTRIBUTING.md CHANGELOG.md docs examples src
	$(BIN)/python -m pytest -q tests/test_docs.py tests/cli/test_docs_page.py
	$(BIN)/python -m sphinx -E -W --keep-going -q docs build/docs
	$(BIN)/python tools/check_site.py build/docs

docs-links: $(VENV)/installed-docs  ## whether the addresses that the documentation names answer; needs the network
	$(BIN)/python -m sphinx -b linkcheck -q docs build/docs-links

test-coverage: $(VENV)/installed-test  ## how often every interval holds, 2000 times each: days of one processor; adds to what was measured
	$(BIN)/python tests/statistical/measure.py
	$(BIN)/python tests/statistical/measure.py --n 40 --compare
	$(BIN)/python tests/statistical/page.py
	$(BIN)/python -m pytest -q tests/statistical/test_every_interval.py

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# trust -------------------------------------------------------------------------------------------------

FUZZ_SECONDS ?= 300

fuzz: $(VENV)/installed-test  ## damaged files, states and arguments, for some minutes; what breaks something stays in the corpus
	$(BIN)/python tests/fuzz/fuzz_readers.py --seconds $(FUZZ_SECONDS)

sanitize: $(VENV)/installed-test  ## the C kernels under the address and undefined-behaviour sanitizers
	tools/sanitize.sh $(BIN)/python

accuracy: $(VENV)/installed-test  ## every closed form against 50 digits: minutes; writes docs/evidence/closed-forms.md
	$(BIN)/python -m pip install --quiet gx2 momentchi2
	$(BIN)/python tests/accuracy/measure_accuracy.py

line-coverage: $(VENV)/installed-test  ## which lines no test runs; writes tests/line_coverage.csv
	$(BIN)/python -m pip install --quiet pytest-cov
	$(BIN)/python -m pytest -q -n 2 --cov=scorebars --cov-report=term:skip-covered
	$(BIN)/python tools/line_coverage.py

mutants: $(VENV)/installed-test  ## one change in the code at a time: does a test notice? goes on where it stopped
	$(BIN)/python -m pip install --quiet pytest-cov
	test -e .coverage-mutants || $(BIN)/python tools/mutants.py --record
	$(BIN)/python tools/mutants.py

# the release ------------------------------------------------------------------------------------------

# Two builds of one commit have the same bytes: all times are that of the commit.
export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 315532800)
DIST := dist
# the kernels call nothing of the C library, so auditwheel has to be told for which one they are
PLATFORM := manylinux_2_17_$(shell uname -m)

$(VENV)/installed-release: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable ".[release]"
	touch $@

wheel: $(VENV)/installed-release  ## a manylinux wheel of the stable ABI, the source, and their bill of materials in dist
	rm -rf $(DIST) build
	$(BIN)/python -m build --outdir $(DIST)/plain
	$(BIN)/python tools/normalize_sdist.py $(DIST)/plain/*.tar.gz
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --plat $(PLATFORM) --wheel-dir $(DIST) $(DIST)/plain/*.whl
	mv $(DIST)/plain/*.tar.gz $(DIST) && rm -rf $(DIST)/plain
	$(BIN)/twine check --strict $(DIST)/*
	$(BIN)/abi3audit --strict $(DIST)/*.whl
	$(BIN)/python tools/make_sbom.py $(DIST)

reproducible: wheel  ## a second build has the same bytes
	cd $(DIST) && sha256sum *.whl *.tar.gz *.cdx.json > $(CURDIR)/.first.sha256
	$(MAKE) wheel
	cd $(DIST) && sha256sum --check $(CURDIR)/.first.sha256; status=$$?; rm -f $(CURDIR)/.first.sha256; exit $$status

clean:
	rm -rf $(VENV) $(VENV)-torch $(VENV)-lowest build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
