# Every target sets up what it needs in .venv; a second run does not install again.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
VENV_STAMP := $(VENV)/.created
RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet

BENCHMARKS := operations contractions segments overhead launch_overhead opt_startup canonicalize scaling math_functions compile_latency training recurrent

# Tests run beside each other, one process per core up to four: each holds a compiler.
WORKERS := --numprocesses=auto --maxprocesses=4 --dist=worksteal

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: help demo test test-all lint types lit bench gpu-artifacts clean

help:
	@echo "make demo      set up $(VENV) and run the main job: attention pooling over real text"
	@echo "make test      set up $(VENV) and run ruff, pyright, lit and pytest"
	@echo "make test-all  the same with the long sweeps"
	@echo "make lint      ruff only;  make types: pyright only;  make lit: lit only"
	@echo "make bench     the benchmarks"
	@echo "make gpu-artifacts  build/gpu, the programs that benchmarks/gpu_check.py runs on a GPU"
	@echo "make clean     remove $(VENV), caches and build products"
	@echo "PYTHON=...     the interpreter $(VENV) is made from (default: python3, needs 3.10 or newer)"

demo: $(RUN_STAMP)
	$(BIN)/python examples/attention_pooling.py

test: lint types lit
	$(BIN)/python -m pytest $(WORKERS)

test-all: lint types lit
	$(BIN)/python -m pytest --slow $(WORKERS)

lint: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .

types: $(DEV_STAMP)
	echo pyproject.toml pyright-310.json | xargs -P 2 -n 1 $(BIN)/pyright --pythonpath $(BIN)/python --project

lit: $(DEV_STAMP)
	$(BIN)/lit -sv lit_tests

bench: $(RUN_STAMP)
	@set -e; for name in $(BENCHMARKS); do echo "== $$name"; $(BIN)/python benchmarks/$$name.py; done

gpu-artifacts: $(RUN_STAMP)
	$(BIN)/python benchmarks/gpu_artifacts.py

$(VENV_STAMP):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
		|| { echo "expected Python 3.10 or newer, got: $$($(PYTHON) --version 2>&1) (set PYTHON=...)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo "expected $(PYTHON) with venv and pip (on Debian and Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=23"
	@touch $@

$(RUN_STAMP): pyproject.toml | $(VENV_STAMP)
	@echo "installing ragged-dialect into $(VENV)"
	$(PIP) install --editable .
	@touch $@

$(DEV_STAMP): pyproject.toml | $(VENV_STAMP)
	@echo "installing ragged-dialect and what its tests need into $(VENV)"
	$(PIP) install --editable ".[dev]"
	@touch $@ $(RUN_STAMP)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find lit_tests -name Output -type d -prune -exec rm -rf {} +
