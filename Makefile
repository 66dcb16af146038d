# `make help` prints what is here. Settings come from the environment or the command line: make demo SIZE=small
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

BOOTSTRAP_PYTHON ?= $(shell command -v python3.11 || command -v python3)
PYTHON := .venv/bin/python
# Index for torch alone, for example a CPU-only one; empty takes pip's own.
TORCH_INDEX ?=
EXTRAS := models,sources,pipeline,dev
# Modules compile when they are first imported, and the pins go in before anything is resolved: set-up takes 3 min 16 s
# on 2 cores, against 4 min 34 s (measured).
PIP_FLAGS := --no-compile
TEST_WORKERS ?= 2
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export DO_NOT_TRACK := 1
# Threads that spin while others compute cost torch a factor of ten on two busy cores (measured).
export OMP_WAIT_POLICY ?= PASSIVE

help:  ## This list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/ready models/base/ready .nightgarden/mlflow.db  ## Environment, embedded models, tracking store

.venv/ready: pyproject.toml constraints.txt
	@$(BOOTSTRAP_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(BOOTSTRAP_PYTHON) is older. Set BOOTSTRAP_PYTHON=/path/to/python3.11"; exit 2; }
	@test -x $(PYTHON) || $(BOOTSTRAP_PYTHON) -m venv .venv
	@torch=$$(grep '^torch==' constraints.txt); \
	if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; \
	then echo "NVIDIA GPU found: installing $$torch with CUDA"; \
	else echo "no NVIDIA GPU found: installing $$torch for the CPU (if pip's own index brings CUDA packages, set TORCH_INDEX)"; fi; \
	$(PYTHON) -m pip install $(PIP_FLAGS) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) "$$torch"
	$(PYTHON) -m pip install $(PIP_FLAGS) --no-deps -r constraints.txt
	$(PYTHON) -m pip install $(PIP_FLAGS) -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

models/base/ready: .venv/ready
	$(PYTHON) -m nightgarden fetch
	@touch $@

.nightgarden/mlflow.db: .venv/ready
	$(PYTHON) -m nightgarden tracking init
	@test ! -f $@ || touch $@

demo: setup  ## Curate, train, evaluate, three nights (SIZE=small, INPUT=FILE)
	$(PYTHON) -m infra.demo $(if $(SIZE),--size $(SIZE)) $(if $(INPUT),--input "$(INPUT)")

test: setup  ## The tests (two at a time; TEST_WORKERS=0 for one)
	$(PYTHON) -m pytest -n $(TEST_WORKERS) --dist worksteal

test-public: setup  ## The tests that need the public data ($NIGHTGARDEN_PUBLIC_DATA)
	@test -d "$${NIGHTGARDEN_PUBLIC_DATA:-}" || { echo "NIGHTGARDEN_PUBLIC_DATA must name the folder with the public data"; exit 2; }
	$(PYTHON) -m pytest -m public

test-oracle: setup .oracle/ready  ## The tests that ask mistral-common for token ids
	$(PYTHON) -m pytest -m oracle

test-peers: setup .peers/ready  ## The tests that ask lm-evaluation-harness for its verdicts
	$(PYTHON) -m pytest -m peers

check: .venv/ready  ## Lint and types
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy

up: setup  ## Prefect server and worker, MLflow server, on 127.0.0.1
	$(PYTHON) -m infra.services up

down: .venv/ready  ## Stop what `make up` started
	$(PYTHON) -m infra.services down

peers: .peers/ready  ## Rivals that the benchmarks measure against, in an environment of their own

.peers/ready: benchmarks/peers.txt
	test -x .peers/bin/python || $(BOOTSTRAP_PYTHON) -m venv .peers
	torch=$$(grep '^torch==' benchmarks/peers.txt); \
	.peers/bin/python -m pip install --no-compile $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) "$$torch"
	.peers/bin/python -m pip install --no-compile --no-deps -r benchmarks/peers.txt
	@touch $@

oracle: .oracle/ready  ## mistral-common, in an environment of its own: installed here, transformers would load other tokenizers

.oracle/ready: tests/templates/oracle.txt
	test -x .oracle/bin/python || $(BOOTSTRAP_PYTHON) -m venv .oracle
	.oracle/bin/python -m pip install --no-compile --no-deps -r tests/templates/oracle.txt
	@touch $@

clean-env:  ## Remove the environment (models, data and history stay)
	rm -rf .venv

.PHONY: help setup demo test test-public test-oracle test-peers check up down peers oracle clean-env
