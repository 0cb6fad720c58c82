# Everything people and CI run. Needs Python 3.11, Java 17, make, git and the package registries, nothing else.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
ENV    ?= .venv
BIN    := $(ENV)/bin
VENV   := $(ENV)/.installed
JARS   := .jars/.complete
# Whole files, in the order of tests/longest_first.py.
SPREAD := --dist loadfile --no-loadscope-reorder

.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(VENV) $(JARS) ## Install Python packages and Delta jars into the checkout (the other targets do it by themselves)

$(VENV): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=…")'
	@echo "installing Python packages into $(ENV) (once, a few minutes)…"
	@$(PYTHON) -m venv $(ENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(JARS): src/penstock/engine/spark/jars.py | $(VENV)
	@PENSTOCK_JARS=.jars $(BIN)/python -m penstock.engine.spark.jars
	@touch $@

.PHONY: demo
demo: $(VENV) $(JARS) ## A small shop: orders change, stream tables follow
	@$(BIN)/python examples/shop.py

.PHONY: follow
follow: $(VENV) $(JARS) ## A cache that follows the changes of a stream table
	@$(BIN)/python examples/follow.py

.PHONY: unit
unit: $(VENV) ## The tests that start nothing: no JVM, no process, no server, no network
	@$(BIN)/python -m pytest -q -n 2 $(SPREAD) tests/unit tests/golden tests/property \
	  -m "not jvm and not process and not postgres and not network and not slow"

.PHONY: pythons
pythons: ## make unit with every Python from 3.11 to 3.13 that this machine has
	@.ci/pythons

.PHONY: test
test: lint $(JARS) ## Lint, then every test that is not slow
	@echo "── tests"
	@$(BIN)/python -m pytest -q -n 2 $(SPREAD) -m "not slow" --durations=20 --durations-min=10

.PHONY: test-all
test-all: lint $(JARS) ## Lint, then every test
	@echo "── tests, slow ones too"
	@$(BIN)/python -m pytest -q -n 2 $(SPREAD)

.PHONY: coverage
coverage: $(VENV) $(JARS) ## Which lines the tests of make test reach; pages in .coverage-html
	@$(BIN)/python -m pytest -q -n 2 $(SPREAD) -m "not slow" \
	  --cov=penstock --cov-report=term:skip-covered --cov-report=html:.coverage-html

.PHONY: fuzz
fuzz: $(VENV) $(JARS) ## Random queries and histories against plain Spark; MINUTES=30 SEED=1, or CASE=123405
	@cd tests && ../$(BIN)/python -m fuzz --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1) $(if $(CASE),--case $(CASE))

.PHONY: kills
kills: $(VENV) $(JARS) ## Kill schedulers under load and check everything after each; KILLS=200 SEED=1 FROM=1
	@cd tests && PYTHONPATH=integration ../$(BIN)/python -m kills --kills $(or $(KILLS),200) --seed $(or $(SEED),1) --from $(or $(FROM),1)

.PHONY: soak
soak: $(VENV) $(JARS) ## Twenty stream tables under continuous writers, with a lag plot; MINUTES=10 SEED=1
	@$(BIN)/python -m soak --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1)

.PHONY: lint
lint: $(VENV) ## ruff, mypy, layer rules
	@echo "── lint"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "not formatted: run make fmt"; exit 1; }
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/mypy --no-error-summary --config-file tests/mypy.ini
	@$(BIN)/lint-imports --no-cache > $(ENV)/lint-imports.log 2>&1 || { cat $(ENV)/lint-imports.log; exit 1; }

.PHONY: fmt
fmt: $(VENV) ## Format the code and mend what ruff can mend
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format .

.PHONY: golden
golden: $(VENV) $(JARS) ## Rewrite the golden files; read the diff before you commit it
	@PENSTOCK_GOLDEN=rewrite $(BIN)/python -m pytest -q tests/golden
	@git --no-pager diff --stat -- tests/golden

.PHONY: docs
docs: $(VENV) ## Write the generated pages, then build the documentation into site/
	@PYTHONPATH=docs $(BIN)/python -m generate
	@# The variable silences a notice of the theme's authors, which would stand in every log.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

.PHONY: operators
operators: $(VENV) $(JARS) ## Write the operator matrix of the documentation, which needs Spark
	@PYTHONPATH=docs $(BIN)/python -m generate --spark
	@git --no-pager diff --stat -- docs/reference README.md

.PHONY: bench
bench: $(VENV) $(JARS) ## What the targets are about, in half an hour: against recompute and hand-written MERGE
	@$(BIN)/python -m benchmarks

.PHONY: bench-full
bench-full: $(VENV) $(JARS) ## The whole matrix of benchmarks, which takes hours
	@$(BIN)/python -m benchmarks --full

.PHONY: bench-against
bench-against: $(VENV) $(JARS) ## This checkout and another commit, turn by turn in one run; BASE=<commit>
	@$(BIN)/python -m benchmarks.against $(or $(BASE),HEAD~1)

.PHONY: bench-changes
bench-changes: $(VENV) ## The changelog types in nanoseconds per row, without Spark, in a minute
	@$(BIN)/python -m benchmarks.changes

.PHONY: bench-page
bench-page: $(VENV) ## Write the benchmark page of the documentation from the newest results
	@$(BIN)/python -m benchmarks.page

.PHONY: tpch
tpch: $(VENV) $(JARS) ## The 22 TPC-H queries, kept fresh and compared with Spark; TPCH_SF=0.1 TPCH_ROUNDS=6
	@$(BIN)/python -m benchmarks.tpch

.PHONY: clean
clean: ## Remove everything that make made
	@rm -rf .venv .venv-* .jars .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage-html build dist site
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
