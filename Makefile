# Each target makes the virtual environment it needs. `make help` lists them.
PYTHON ?= python3
BIN := .venv/bin
# Exact, tested versions, of what builds the package too (pip builds in an environment of its own).
PINNED := --constraint constraints.txt --build-constraint constraints.txt
# One more than cores: tests wait a third of their time, for disks, browsers and other processes.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(1 + os.cpu_count())")

.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/.ready  ## reproduce the paper's Figure 1: table, claims and picture in out/fig1
	$(BIN)/rankone reproduce fig1

# Tests start hundreds of programs, which read the package's bytecode where it may be written.
test: .venv/.dev  ## run every test
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

latest:  ## install the newest of every dependency in build/latest and run every test there
	rm -rf build/latest
	$(PYTHON) -m venv build/latest
	build/latest/bin/python -m pip install --quiet --upgrade pip
	build/latest/bin/python -m pip install --quiet --editable . --group dev
	build/latest/bin/python -m pytest -n $(WORKERS) --dist worksteal

constraints:  ## after a good `make latest`: write its versions to constraints.txt, which demo, test and docs install
	(grep '^#' constraints.txt && build/latest/bin/python -m pip freeze --all --exclude-editable | grep -v '^setuptools') \
	  > build/constraints.txt && mv build/constraints.txt constraints.txt

check: .venv/.dev  ## lint, formatting, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: .venv/.dev  ## send the service 10,000 requests, half of them wrong, and as many hostile ones; CASES=500 sends less
	$(BIN)/python -m tests.fuzz $(CASES)

docs: .venv/.docs  ## build the documentation site: docs/_build/html/index.html
	$(BIN)/python -m sphinx -E -W --keep-going -q docs docs/_build/html

kills: .venv/.dev  ## kill a serving process 1,000 times, fork and close under load: nothing acknowledged is lost
	RANKONE_KILLS=1000 $(BIN)/python -m pytest -n 0 tests/live/test_crash.py tests/web/test_kill.py -k 'named_points or under_load'
	RANKONE_TRIES=1000 $(BIN)/python -m pytest -n 0 tests/live/test_forks.py

bench: .venv/.dev  ## measure everything (an hour or more; python -m benchmarks NAME measures one); writes benchmarks/results.md
	$(BIN)/python -m benchmarks

package: .venv/.dev  ## build sdist and wheel, with compiled code in it, and try it in a new environment with its own dependencies
	rm -rf dist build/fresh
	$(BIN)/python -m build
	$(BIN)/python deploy/prebuild.py dist/*.whl
	$(PYTHON) -m venv build/fresh
	build/fresh/bin/python -m pip install --quiet "$$(ls dist/*.whl)[serve]"
	cd build && fresh/bin/rankone simulate --problem needle:4x4 --horizon 1000 --runs 2
	for version in 3.11 3.12 3.13 3.14; do \
	  $(BIN)/python -m pip install --quiet --dry-run --ignore-installed --target build/none --only-binary=:all: \
	    --python-version $$version "$$(ls dist/*.whl)[cluster,postgres,serve]" \
	    && echo "Python $$version: every dependency can be had" || exit 1; \
	done

javascript:  ## build the package for npm: dist/rankone-VERSION.tgz
	rm -rf build/js
	deploy/javascript.sh build/js
	mkdir -p dist
	npm pack --silent --pack-destination dist ./build/js

client: .venv/.dev  ## build rankone-client, the client alone without dependencies: dist/rankone_client-VERSION.whl
	$(BIN)/python deploy/client.py dist

sbom: .venv/.ready  ## write the bill of materials of the environment: dist/sbom.json (CycloneDX)
	mkdir -p dist
	$(BIN)/python deploy/bill.py sbom > dist/sbom.json

lock: .venv/.dev  ## write the versions and hashes that the image installs: deploy/image.lock
	mkdir -p build
	$(BIN)/python deploy/bill.py lock serve > build/image.lock
	mv build/image.lock deploy/image.lock

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet $(PINNED) --editable .
	touch $@

.venv/.dev: .venv/.ready
	$(BIN)/python -m pip install --quiet $(PINNED) --editable . --group dev
	touch $@

.venv/.docs: .venv/.ready
	$(BIN)/python -m pip install --quiet $(PINNED) --editable '.[serve]' --group docs
	touch $@

.PHONY: help demo test latest constraints check kills bench package javascript client sbom lock fuzz docs
