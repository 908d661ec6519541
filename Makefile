# `make demo` and `make test` do all the set-up on a fresh machine that has Python and a C++ compiler.
PYTHON ?= python3
PYTEST_ARGS ?=
WHEELS_ARGS ?=

# What is run a second time, on the runtime in Python.
PYTHON_RUNTIME_TESTS := tests/runtime/test_*.py tests/runtime/python/test_memory.py tests/codegen \
	tests/include/test_services.py tests/test_messages.py examples

# A notice of the theme about its successor.
export NO_MKDOCS_2_WARNING := 1

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint format docs docs-serve wheels clean compiler

help:
	@echo "make demo       a kernel becomes an operator, in a fraction of a second"
	@echo "make test       the tests, on both runtimes (PYTEST_ARGS=... is passed on)"
	@echo "make test-all   the slow tests too"
	@echo "make lint       ruff check, ruff format --check, mypy"
	@echo "make format     let ruff mend what it can"
	@echo "make docs       the documentation as a site, in site/ (make docs-serve: on localhost, built again as it is edited)"
	@echo "make wheels     Opwright's own release wheels, with the runtime prebuilt for each PyTorch (WHEELS_ARGS=... is passed on)"
	@echo "make clean      remove $(VENV) and everything that was built"

demo: compiler $(STAMP)
	@$(BIN)/opwright demo

test: compiler $(STAMP)
	@$(BIN)/python -m pytest -m "not slow" $(or $(PYTEST_ARGS),-n 2)
	@OPWRIGHT_RUNTIME=python $(BIN)/python -m pytest -m "not slow" $(or $(PYTEST_ARGS),-n 2 $(PYTHON_RUNTIME_TESTS))

test-all: compiler $(STAMP)
	@$(BIN)/python -m pytest $(PYTEST_ARGS)
	@OPWRIGHT_RUNTIME=python $(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(STAMP)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy

format: $(STAMP)
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

docs: $(STAMP)
	@$(BIN)/python -m mkdocs build --strict
	@echo "site/index.html"

docs-serve: $(STAMP)
	@$(BIN)/python -m mkdocs serve

wheels: compiler $(STAMP)
	@$(BIN)/python tools/build_wheels.py $(WHEELS_ARGS)

compiler:
	@tools/require_compiler.sh

$(STAMP): pyproject.toml constraints.txt tools/create_venv.sh
	@tools/create_venv.sh "$(PYTHON)" "$(VENV)"
	@touch $@

clean:
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests examples benchmarks -name __pycache__ -prune -exec rm -rf {} +
