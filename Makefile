# Each target does all its own set-up: a fresh machine needs Python 3.11 or newer, make and a network.
PYTHON ?= python3
JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
LEGACY := .venv-legacy
LEGACY_PIP := $(LEGACY)/bin/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help venv browser demo test test-legacy-engine soak lint bench clean

help:  ## This list
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 24

venv: $(VENV)/dev.stamp  ## Everything for development, into .venv

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[testing]'
	@touch $@

$(VENV)/dev.stamp: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/run.stamp

# Not a file: a browser may be anywhere, and the command knows where to look.
browser: $(VENV)/run.stamp  ## A browser, if there is none yet
	@$(BIN)/agentloop install-browser --yes

demo: browser  ## A shop, a real browser, recorded replies: no key needed
	@$(BIN)/python examples/demo.py

# What fails beside another browser on a busy machine is run once more, alone; both runs are shown. A test that needs it is to be mended.
AGAIN := --last-failed --last-failed-no-failures none
test: venv browser lint  ## Lint, then every test
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile || { [ $$? -eq 1 ] && $(BIN)/python -m pytest $(AGAIN); }
	$(BIN)/python -m pytest -o addopts="-ra --strict-config --strict-markers --import-mode=importlib" -W ignore::pytest.PytestRemovedIn10Warning tests/sync_browser

# The engine's first module, in an environment of its own: both bind the same names.
test-legacy-engine: $(LEGACY)/stamp  ## The sandbox tests on quickjs 1.19.4
	$(LEGACY)/bin/python -m pytest -n $(JOBS) tests/sandbox

$(LEGACY)/stamp: pyproject.toml
	$(PYTHON) -m venv --clear $(LEGACY)
	$(LEGACY)/bin/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; print(*(r for r in p["dependencies"] + p["optional-dependencies"]["testing"] + p["optional-dependencies"]["test"] if not r.startswith(("quickjs", "agentloop"))), sep="\n")' > $(LEGACY)/requirements.txt
	$(LEGACY_PIP) install --requirement $(LEGACY)/requirements.txt quickjs==1.19.4
	$(LEGACY_PIP) install --no-deps --editable .
	@touch $@

soak: venv browser  ## What is long: kill tests, races, leaks
	$(BIN)/python -m pytest -m soak --timeout 600

lint: venv  ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: venv browser  ## The figures, as ratios
	@set -e; for name in $(notdir $(basename $(wildcard benchmarks/*.py))); do echo "== $$name"; $(BIN)/python -m benchmarks.$$name; done

clean:  ## Removes all that make has made
	rm -rf $(VENV) $(LEGACY) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage runs/demo
	find agentloop browser drivers tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
