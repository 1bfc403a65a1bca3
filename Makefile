# One command for each thing that is done here; the same ones run in CI (.ci/run).

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
# Python compiles what it imports, when it does: of 28,000 modules that are installed, the tests import a part. Compiling all
# takes 40 seconds and 400 MB.
PIP := $(RUN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# It downloads and unpacks side by side: a quarter of the time of pip. It does not read pip's settings, so pip takes over where
# it finds no index.
UV := $(RUN)/uv pip install --quiet --native-tls --python $(RUN)/python
# What was installed, by the pyproject.toml of that time: installing again only when it changes.
DEMO_STAMP := $(VENV)/.installed-demo
DEV_STAMP := $(VENV)/.installed-dev
DEMO_EXTRAS := docx,epub,html,local,pdf,pptx,xlsx
# Where the servers of `make servers` keep their data and servers.json; empty: the user's state folder.
SERVERS ?=
SERVERS_PY := $(RUN)/python docker/local/servers.py
SERVERS_STATE := $(if $(SERVERS),--state $(SERVERS))
COMPAT_STATE := .hlgraph/compat
ROLES_STATE := .hlgraph/roles
BENCH_STATE := .hlgraph/bench
MUTANTS := .hlgraph/mutants
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/hlgraph
NOTEBOOKS_STATE := .hlgraph/notebooks
SBOM := .hlgraph/sbom.cdx.json
# The extra align brings torch, several gigabytes: a virtual environment of its own, in which all else is that of `make setup`.
ALIGN := .hlgraph/venv-align
ALIGN_STAMP := $(ALIGN)/.installed
LOWEST := .hlgraph/venv-lowest
PACKAGES_OF = "$$($(1)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
EXPLORER := hlgraph/serve/explorer
DEMO_STORE := hlgraph://./.hlgraph/demo
# Processes that run tests.
WORKERS ?= 4
# The databases of tests wait for the disk at every commit. They are in memory where it has 8 GB to spare for files.
MEMORY := $(shell df --output=avail /dev/shm 2>/dev/null | awk 'NR == 2 && $$1 > 8000000 { print "/dev/shm" }')
# Four processes on two cores: the threads of BLAS would wait for each other.
IN_MEMORY = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 TMPDIR="$${TMPDIR:-$(or $(MEMORY),/tmp)}"
# Some environments forbid bytecode files. Tests start some hundred processes of Python: without the files, each compiles
# all that it imports.
export PYTHONDONTWRITEBYTECODE :=

RUN_DOCS = $(RUN)/python -m sphinx --fail-on-warning --keep-going --quiet -d docs/_build/doctrees -b html docs docs/_build/html

.PHONY: help setup browser explorer demo check lint types architecture collected audit lists docs test test-fast test-thorough test-compat lowest test-align roles faults bench soak mutants servers servers-stop notebooks clean
.DELETE_ON_ERROR:

help:
	@echo "make setup   a virtual environment in $(VENV) with everything for development, and the local models"
	@echo "make browser  a Chromium and npm for the tests of pages, where apt can install them"
	@echo "make explorer  the page of hlgraph serve, built from hlgraph/serve/explorer/src"
	@echo "make demo    ingest the samples into an embedded store and answer a question"
	@echo "make check   audit, format, lint, types, architecture, docs; every test can be imported"
	@echo "make audit   known vulnerabilities and licences of what hlgraph needs when it runs, and its bill of materials"
	@echo "make lists   write the lists of the reference pages again: commands, settings, queries, the SDK"
	@echo "make docs    the documentation as HTML in docs/_build/html, without a network"
	@echo "make test    all tests, some with a dozen cases in place of hundreds"
	@echo "make test-fast     the tests without servers, models and killed processes, within two minutes"
	@echo "make test-thorough  all tests with all their cases and rounds"
	@echo "make test-compat   the store tests on the older line of Neo4j, 5.26"
	@echo "make lowest  the tests of test-fast with the lowest declared version of each dependency"
	@echo "make roles   the store tests on OpenSearch 2.19 with its security plugin, and those of accounts with few rights"
	@echo "make test-align    the tests of preference training, which torch makes heavy; no other target runs them"
	@echo "make servers       Neo4j and OpenSearch on this machine, by Docker or without; make servers-stop ends them"
	@echo "make model   a small chat model and its server, into the cache; make model-start starts it and says how to use it; make model-stop"
	@echo "make faults  the tests that kill processes, many rounds"
	@echo "make bench   the benchmarks"
	@echo "make soak    four readers, two writers and threads that come and go for 30 minutes: nothing may grow"
	@echo "make mutants  how many of 100 small faults in the code the tests see (SERVERS=FOLDER: also those that need servers)"
	@echo "make notebooks   run the notebooks again and keep what they print and draw"
	@echo "make clean   remove what the other targets made, but for $(VENV)"

define INSTALLED
$(PYTHON) -m venv $(VENV)
$(PIP) --upgrade 'pip>=24' uv # an older pip warns of lxml's extra html_clean
$(UV) --editable '.[$(1)]' || $(PIP) --editable '.[$(1)]'
$(RUN)/hlgraph models install
endef

$(DEMO_STAMP): pyproject.toml
	$(call INSTALLED,$(DEMO_EXTRAS))
	touch $@

# All that the demo needs is among it: at once, pip builds hlgraph and looks for versions once.
$(DEV_STAMP): pyproject.toml
	$(call INSTALLED,dev)
	touch $(DEMO_STAMP) $@

setup: $(DEV_STAMP)

# Without apt, or without the right to use it, the tests that need a browser say what to install.
browser:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	{ apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || echo "no Chromium, and apt cannot install it here"
	@command -v npm >/dev/null || { apt-get update -qq && apt-get install -y -qq nodejs npm >/dev/null; } || echo "no npm, and apt cannot install it here"

# What it writes is part of the repository; a test builds it again from the lockfile and compares.
explorer:
	cd $(EXPLORER) && npm ci --ignore-scripts --no-audit --no-fund && npm run build

demo: $(DEMO_STAMP)
	$(RUN)/hlgraph --store $(DEMO_STORE) ingest hlgraph/samples
	$(RUN)/hlgraph --store $(DEMO_STORE) stats
	$(RUN)/hlgraph --store $(DEMO_STORE) answer "Which architect designed the lighthouse at which the author of The Water Came at Four was born?"

# Two at a time, the longest first; what each of them says comes in one piece, where make can do that. `make check test` runs
# the tests of the architecture once, among all the others.
check: setup
	@$(MAKE) --no-print-directory --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) docs types collected audit lint $(if $(filter test,$(MAKECMDGOALS)),,architecture)

lint: setup
	$(RUN)/ruff format --check
	$(RUN)/ruff check

# A clean clone has no cache of its own; what an earlier one found about equal files holds.
types: setup
	$(RUN)/mypy $(if $(CI),--cache-dir=$(CACHE)/mypy)

architecture: setup
	$(RUN)/pytest -q tests/unit/house/test_architecture.py tests/unit/house/test_architecture_imports.py

# Every test can be imported. What they import is compiled on the way, once and beside the pages: the processes of `make test`
# begin at the same moment, and each would compile all of it.
collected: setup
	$(RUN)/pytest --collect-only -qq >/dev/null || $(RUN)/pytest --collect-only -qq

# Within 20 seconds. Without a network it says that nothing is proven, and does not fail.
audit: setup
	$(RUN)/python tests/support/dependencies.py audit
	$(RUN)/python tests/support/dependencies.py licences
	$(RUN)/python tests/support/dependencies.py sbom $(SBOM)

lists: setup
	$(RUN)/python docs/_ext/generated.py

docs: setup
	$(RUN_DOCS)

# More processes than cores, because tests wait for servers: one of them has Neo4j, another one OpenSearch, the others do the rest
# meanwhile (tests/conftest.py).
test: setup browser model
	$(IN_MEMORY) $(RUN)/pytest -n $(WORKERS)

test-fast: setup
	$(IN_MEMORY) $(RUN)/pytest -n $(WORKERS) -m "not servers and not model and not faults" hlgraph tests/unit tests/contract tests/property

test-thorough: setup browser model
	HLGRAPH_TEST_THOROUGH=1 $(RUN)/pytest -n $(WORKERS) --timeout 5400 -o faulthandler_timeout=5460

# The exit status is that of the tests, and the servers go however they end.
test-compat: setup
	HLGRAPH_TEST_SERVERS=$(COMPAT_STATE) $(SERVERS_PY) run --neo4j 5.26 --state $(COMPAT_STATE) -- $(RUN)/pytest tests/contract/test_neo4j.py tests/congruence tests/integration/test_neo4j_cost.py tests/integration/test_cypher_plans.py tests/integration/test_cypher_analyst.py tests/integration/test_cypher_run.py

# tests/roles is collected by no other target (norecursedirs in pyproject.toml).
roles: setup
	HLGRAPH_TEST_SERVERS=$(ROLES_STATE) $(SERVERS_PY) run --opensearch 2.19 --state $(ROLES_STATE) -- $(RUN)/pytest tests/roles tests/contract/test_opensearch.py tests/integration/test_opensearch_store.py tests/integration/test_opensearch_reindex.py

# Where extras share a package, the highest of their lower bounds counts. Old packages warn of what their own dependencies have
# deprecated since. The files of a trip are listed as the newest versions enter them.
lowest: setup
	$(PYTHON) -m venv --clear --without-pip $(LOWEST)
	$(RUN)/uv pip install --quiet --native-tls --python $(LOWEST)/bin/python --resolution lowest-direct --editable '.[dev]'
	$(IN_MEMORY) $(LOWEST)/bin/python -m pytest -n $(WORKERS) -W default -m "not servers and not model and not faults" --deselect tests/unit/house/test_trips.py hlgraph tests/unit tests/contract tests/property

$(ALIGN_STAMP): $(DEV_STAMP)
	$(PYTHON) -m venv $(ALIGN)
	echo $(call PACKAGES_OF,$(RUN)) > $(call PACKAGES_OF,$(ALIGN)/bin)/setup.pth
	$(ALIGN)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[align]'
	touch $@

# A tiny model is made on the spot and trained on one core, without a network. `make test` does not collect these tests
# (norecursedirs in pyproject.toml). The libraries warn of their own old names.
test-align: $(ALIGN_STAMP)
	HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 $(ALIGN)/bin/python -m pytest -W default tests/align

servers: setup
	$(SERVERS_PY) start --by auto $(SERVERS_STATE)

servers-stop:
	$(SERVERS_PY) stop $(SERVERS_STATE)

model: setup
	$(RUN)/python docker/local/model.py install

model-start: model
	$(RUN)/python docker/local/model.py start

model-stop:
	$(RUN)/python docker/local/model.py stop

faults: setup
	HLGRAPH_FAULT_ROUNDS=20 $(RUN)/pytest -m faults --timeout 5400 -o faulthandler_timeout=5460

# Some benchmarks need the servers; HLGRAPH_DATA names the evaluation sets for those that read them. Some hours for all of them;
# BENCH="tests/benchmarks/bench_image.py ..." runs some alone.
BENCH ?= $(sort $(wildcard tests/benchmarks/bench_*.py))
bench: setup
	PYTHONPATH=tests/support:docker/local HLGRAPH_TEST_SERVERS=$(BENCH_STATE) $(SERVERS_PY) run --by auto --state $(BENCH_STATE) -- \
	sh -c 'for script; do echo "== $$script"; $(RUN)/python "$$script" || failed="$$failed $$script"; done; \
	test -z "$$failed" || { echo "failed:$$failed"; exit 1; }' sh $(BENCH)

# MINUTES of it; the plot goes to $(SOAK_PLOT).
MINUTES ?= 30
SOAK_PLOT := .hlgraph/soak.svg
soak: setup
	mkdir -p $(dir $(SOAK_PLOT))
	PYTHONPATH=tests/support:tests/benchmarks $(RUN)/python tests/benchmarks/soak.py --minutes $(MINUTES) --plot $(SOAK_PLOT)

# About half an hour. tests/mutants/mutants.py says how to compare two trees.
mutants: setup
	rm -rf $(MUTANTS)
	$(RUN)/python tests/mutants/mutants.py . --work $(MUTANTS) $(if $(SERVERS),--servers $(SERVERS))

# Notebook 3 reads Neo4j; the others name an embedded store of their own.
notebooks: setup
	env -u HLGRAPH_STORE -u HLGRAPH_CHAT HLGRAPH_CONFIG=$(CURDIR)/$(NOTEBOOKS_STATE)/hlgraph.yaml \
	$(SERVERS_PY) run --by auto --state $(NOTEBOOKS_STATE) -- $(RUN)/python tests/support/notebook_runs.py

clean:
	rm -rf build dist docs/_build docs/notebooks .hlgraph/demo .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache *.egg-info
	rm -f $(DEMO_STAMP) $(DEV_STAMP)
	find hlgraph tests docker -name __pycache__ -type d -prune -exec rm -rf {} +
