# Every target makes its own virtual environment when there is none; nothing is installed elsewhere.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= runs/demo
# A worker per core, each with one thread: more threads than cores halve the speed.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist worksteal --durations=25
.DEFAULT_GOAL := help
.PHONY: help demo test slow lint bench clean

help:            ## what can be made
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/'

$(VENV)/demo.stamp: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo]'
	@touch $@

$(VENV)/test.stamp: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(VENV)/demo.stamp

demo: $(VENV)/demo.stamp   ## audit two stock detectors on rendered faces and write a report
	$(BIN)/transect demo --out $(OUT)

test: $(VENV)/test.stamp   ## the default test suite
	$(PYTEST)

slow: $(VENV)/test.stamp   ## the long statistical tests
	$(PYTEST) -m slow

lint: $(VENV)/test.stamp   ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/test.stamp  ## speed, as ratios against a peer in the same run
	$(BIN)/python -m benchmarks

clean:           ## remove what the targets made
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
