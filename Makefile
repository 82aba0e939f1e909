# The first `make demo` or `make test` sets up .venv by itself; `make help` lists what there is.

PYTHON      ?= python3
VENV        ?= .venv
JOBS        ?= auto
PYTEST_ARGS ?=

PY    = $(VENV)/bin/python
STAMP = $(VENV)/.hippo-lit-installed
PIP   = $(PY) -m pip --disable-pip-version-check
PINS  = --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup demo test check lint format-check types imports format wheel check-wheel constraints clean distclean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP)  ## create .venv with everything that the other targets need

demo: $(STAMP)  ## index the mock corpus, answer three questions, show why
	@$(VENV)/bin/hippo-lit demo

test: $(STAMP)  ## run all tests; PYTEST_ARGS="-k store" to choose, JOBS=1 for one at a time
	$(PY) -m pytest --numprocesses $(JOBS) --maxprocesses 8 --dist worksteal $(PYTEST_ARGS)

check: lint format-check types imports  ## all that CI checks besides tests; `make -k check` shows every complaint

lint: $(STAMP)  ## ruff's rules
	$(PY) -m ruff check

format-check: $(STAMP)  ## ruff's layout, nothing changed
	$(PY) -m ruff format --check

types: $(STAMP)  ## mypy --strict
	$(PY) -m mypy

imports: $(STAMP)  ## import-linter: who may import whom
	$(VENV)/bin/lint-imports

format: $(STAMP)  ## lay out the code, and mend what ruff can mend safely
	$(PY) -m ruff check --fix-only
	$(PY) -m ruff format

wheel: $(STAMP)  ## build dist/*.tar.gz, and dist/*.whl from it
	rm -rf dist
	$(PY) -m build

check-wheel: wheel  ## install the wheel into an environment of its own and use it there
	.ci/check_wheel dist/*.whl

constraints: $(STAMP)  ## write down what .venv holds, after the tests passed with it
	@{ sed -n '/^#/p' constraints.txt; $(PIP) freeze --all --exclude-editable | sed 's/+[a-z0-9]*$$//'; } > constraints.new
	@mv constraints.new constraints.txt

clean:  ## remove what was built; .venv stays
	rm -rf dist build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find hippo_lit tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## remove .venv too
	rm -rf $(VENV)

$(PY):
	@command -v "$(PYTHON)" >/dev/null || { echo "make: no '$(PYTHON)' here. Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $$("$(PYTHON)" --version 2>&1) is too old: hippo-lit needs 3.11 or newer. Name one: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "make: '$(PYTHON)' lacks venv or ensurepip. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

# The stamp comes last, so that a set-up that was interrupted is taken up again where it stopped.
$(STAMP): pyproject.toml constraints.txt $(PY)
	@echo "Setting up $(VENV): PyTorch, spaCy and two small models, about 2 GB. This takes a few minutes, once."
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PY) -m ensurepip --upgrade
	$(PIP) install -qq $(PINS) pip
	$(PIP) install -qq $(PINS) --editable '.[offline]' --group dev
	$(PIP) check
	@touch $(STAMP)
