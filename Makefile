# `make demo` and `make test` do all the set-up on a fresh machine that has Python and a C++ compiler.
PYTHON ?= python3
PYTEST_ARGS ?=
WHEELS_ARGS ?=
VERSION ?= 2.13.0
ONLY ?=
NATIVE_ONLY ?=
# Two more than there are cores: a test that waits for a process, or for what another one builds, leaves one idle.
JOBS ?= $(shell expr $$(nproc) + 2)
KEEP ?=

# What is run a second time, on the runtime in Python.
PYTHON_RUNTIME_TESTS := tests/runtime/test_*.py tests/runtime/sharding tests/runtime/python/test_memory.py tests/codegen \
	tests/include/test_services.py tests/messages examples

# A notice of the theme about its successor.
export NO_MKDOCS_2_WARNING := 1

# Without compiled modules, each of the many processes that the tests start would compile PyTorch's anew.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# What `make demo` is content with; what else is developed with is installed by what needs it.
DEMO := $(or $(wildcard $(STAMP)),$(VENV)/.demo)

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow fuzz test-all test-pytorch lint lint-python lint-types lint-cpp format docs docs-serve wheels clean compiler

help:
	@echo "make demo       a kernel becomes an operator, in a fraction of a second; the first time about a minute, with downloads"
	@echo "make test       the quick tests, on both runtimes: minutes (PYTEST_ARGS=... is passed on, as to all of these)"
	@echo "make test-slow  those that take seconds each, which continuous integration runs as well"
	@echo "make fuzz       random calls and kernels, with sanitizers, too, for a minute each; the seed is new and printed"
	@echo "make test-all   all tests; those marked exhaustive take minutes each"
	@echo "make test-pytorch VERSION=2.12.0   with that PyTorch, in an environment of its own (ONLY=canary,runtime KEEP=1)"
	@echo "make lint       ruff, mypy, clang-format; a warning of our own C++ is an error"
	@echo "make format     let ruff mend what it can"
	@echo "make docs       the documentation as a site, in site/ (make docs-serve: on localhost, built again as it is edited)"
	@echo "make wheels     Opwright's own release wheels, with the runtime prebuilt for each PyTorch (WHEELS_ARGS=... is passed on)"
	@echo "make clean      remove $(VENV) and everything that was built"

demo: compiler $(DEMO)
	@$(BIN)/opwright demo

# In continuous integration a test that fails is run once more, and listed: many of them stop, kill or time processes.
RERUNS := $(if $(CI),--reruns 1 -rR)

# On the native runtime, then, without NATIVE_ONLY=1, those of the runtime once more on the one in Python.
define pytest
@$(BIN)/python -m pytest -n $(JOBS) -m "$(1)" $(RERUNS) $(2) $(PYTEST_ARGS)
@$(if $(NATIVE_ONLY),exit 0; )OPWRIGHT_RUNTIME=python $(BIN)/python -m pytest -n $(JOBS) -m "$(1)" $(RERUNS) $(2) $(or $(PYTEST_ARGS),$(PYTHON_RUNTIME_TESTS))
endef

# There are more processes than cores: a thread that waits for others of its process sleeps, and doesn't spin.
test test-slow test-all: export OMP_WAIT_POLICY := passive

test: compiler $(STAMP)
	$(call pytest,not slow and not exhaustive)

test-slow: compiler $(STAMP)
	$(call pytest,slow and not exhaustive,--durations=30)

fuzz: compiler $(STAMP)
	@$(BIN)/python -m pytest -s -m exhaustive tests/fuzz/test_new_seed.py $(PYTEST_ARGS)

test-all: compiler $(STAMP)
	@echo "All tests: an hour or two on two cores"
	$(call pytest,,--durations=30)

test-pytorch: compiler
	@$(PYTHON) tools/test_pytorch.py $(VERSION) $(if $(ONLY),--only $(ONLY)) $(if $(KEEP),--keep)

lint: lint-python lint-types lint-cpp

lint-python: $(STAMP)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/python tools/layout.py --check

lint-types: $(STAMP)
	@$(BIN)/mypy

lint-cpp: $(STAMP)
	@$(BIN)/python tools/lint_cpp.py

format: $(STAMP)
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format
	@$(BIN)/python tools/lint_cpp.py --format

docs: $(STAMP)
	@$(BIN)/python -m mkdocs build --strict
	@echo "site/index.html"

docs-serve: $(STAMP)
	@$(BIN)/python -m mkdocs serve

wheels: compiler $(STAMP)
	@$(BIN)/python tools/build_wheels.py $(WHEELS_ARGS)

compiler:
	@tools/require_compiler.sh

$(STAMP): EXTRAS := all,dev
$(VENV)/.demo: EXTRAS := torch,bench
$(STAMP) $(VENV)/.demo: pyproject.toml constraints.txt tools/create_venv.sh
	@tools/create_venv.sh "$(PYTHON)" "$(VENV)" "$(EXTRAS)"
	@touch $@

clean:
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests examples benchmarks -name __pycache__ -prune -exec rm -rf {} +
