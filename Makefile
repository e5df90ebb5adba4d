# Each target makes the virtual environment it needs. `make help` lists them.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/.ready  ## reproduce the paper's Figure 1: table, claims and picture in out/fig1
	$(BIN)/rankone reproduce fig1

test: .venv/.dev  ## run every test
	$(BIN)/python -m pytest -n auto

check: .venv/.dev  ## lint, formatting, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: .venv/.dev  ## send the service 10,000 requests, half of them wrong; CASES=500 sends less
	$(BIN)/python -m tests.fuzz $(CASES)

bench: .venv/.dev  ## measure speed; writes benchmarks/results.md
	$(BIN)/python -m benchmarks

.venv/.ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/.dev: .venv/.ready
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

.PHONY: help demo test check fuzz bench
