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

bench: .venv/.dev  ## measure speed; writes benchmarks/results.md
	$(BIN)/python -m benchmarks

package: .venv/.dev  ## build wheel and sdist into dist, install each in a new environment and try it
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(BIN)/python -c "from hatchling.build import build_sdist; build_sdist('dist')"
	for file in dist/*.whl dist/*.tar.gz; do \
		rm -rf dist/try && $(PYTHON) -m venv dist/try && dist/try/bin/python -m pip install --quiet "$$file" && \
		(cd dist/try && bin/rankone --version && bin/python -m rankone hardness needle:8x8 >/dev/null && \
		 bin/python -c "import rankone; rankone.simulate('needle:4x4', 'uts', 1000, runs=2).chart().save('regret.png')") \
		|| exit 1; \
	done
	rm -rf dist/try

.venv/.ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/.dev: .venv/.ready
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

.PHONY: help demo test check bench package
