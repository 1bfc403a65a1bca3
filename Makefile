# One command for each thing that is done here; the same ones run in CI (.ci/run).

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
# What was installed, by the pyproject.toml of that time: installing again only when it changes.
DEMO_STAMP := $(VENV)/.installed-demo
DEV_STAMP := $(VENV)/.installed-dev
DEMO_STORE := hlgraph://./.hlgraph/demo

.PHONY: help setup demo check test faults bench clean
.DELETE_ON_ERROR:

help:
	@echo "make setup   a virtual environment in $(VENV) with everything for development, and the local models"
	@echo "make demo    ingest the samples into an embedded store and answer a question"
	@echo "make check   format, lint, types, architecture"
	@echo "make test    all tests"
	@echo "make faults  the tests that kill processes, many rounds"
	@echo "make bench   the benchmarks"
	@echo "make clean   remove what the other targets made, but for $(VENV)"

$(DEMO_STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docx,html,local,pdf]'
	$(RUN)/hlgraph models install
	touch $@

$(DEV_STAMP): $(DEMO_STAMP)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

setup: $(DEV_STAMP)

demo: $(DEMO_STAMP)
	$(RUN)/hlgraph --store $(DEMO_STORE) ingest hlgraph/samples
	$(RUN)/hlgraph --store $(DEMO_STORE) stats
	$(RUN)/hlgraph --store $(DEMO_STORE) answer "Which architect designed the lighthouse at which the author of The Water Came at Four was born?"

check: setup
	$(RUN)/ruff format --check
	$(RUN)/ruff check
	$(RUN)/mypy
	$(RUN)/pytest -q tests/unit/test_architecture.py tests/unit/test_architecture_imports.py

test: setup
	$(RUN)/pytest

faults: setup
	HLGRAPH_FAULT_ROUNDS=20 $(RUN)/pytest -m faults

bench: setup
	set -e; for script in tests/benchmarks/bench_*.py; do echo "== $$script"; $(RUN)/python "$$script"; done

clean:
	rm -rf build dist .hlgraph/demo .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache *.egg-info
	rm -f $(DEMO_STAMP) $(DEV_STAMP)
	find hlgraph tests -name __pycache__ -type d -prune -exec rm -rf {} +
