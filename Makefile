# `make` lists the targets. Everything is installed into .venv and with the system's packages.
PYTHON := .venv/bin/python
OFFLOADC := .venv/bin/offloadc
HEAT_ARCHS := sm_90,gfx90a,gfx942
JOBS ?= auto
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup run test check bless bench clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

setup: ## install what is missing: system packages, .venv
	@scripts/setup.sh

run: setup ## build examples/heat for three GPUs and the CPU, run it on the device that is there
	@mkdir -p build
	$(OFFLOADC) -O3 --offload-arch=$(HEAT_ARCHS) examples/heat/heat.cpp -o build/heat
	build/heat --input examples/heat/cell.png --output build/heat.png

test: ## set up, then run every test
	@scripts/setup.sh --tests
	$(PYTHON) -m pytest -n $(JOBS) $(PYTEST_ARGS)

check: setup ## lint, types and the fast tests: under a minute
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m mypy
	$(PYTHON) -m pytest -q -n $(JOBS) -m "not slow and not e2e and not gpu" $(PYTEST_ARGS)

bless: ## write the golden files anew; read the diff before committing it
	@scripts/setup.sh --tests
	OFFLOADC_BLESS=1 $(PYTHON) -m pytest -q -n $(JOBS) $(PYTEST_ARGS)

bench: setup ## measure build and run times and record them in reports/
	$(PYTHON) bench/build_time.py --output reports/build-time

clean: ## remove what was built; .venv stays
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
