# Everything runs in .venv, which the first target that needs it makes.
#
# PYTHON=... names the interpreter to make it with. Otherwise it is the first of these that starts (a version
# manager's shim may exist and not start), is new enough and can make a virtual environment.
PYTHON ?= python3.13 python3.12 python3.11 python3 python
TOPOLOGY ?= topologies/word_count.py

comma := ,
VENV := .venv
BIN := $(VENV)/bin
# Spark is half a gigabyte and needs Java: where there is none its tests are skipped, and it is not installed for them.
SPARK := $(if $(JAVA_HOME)$(shell command -v java),$(comma)spark-dev)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help run test check format bench soak spark-soak docs clean
.DELETE_ON_ERROR:

help:
	@echo 'make run      count the words of a text (TOPOLOGY=... for another topology file)'
	@echo 'make test     run the tests'
	@echo 'make check    lint, formatting, types and the direction of the imports'
	@echo 'make format   put the formatting right'
	@echo 'make bench    measure throughput beside bytewax, streamz and others, into docs/performance.md'
	@echo 'make soak     run random topologies under failures for SOAK_SECS (an hour), counting every tuple'
	@echo 'make spark-soak  the same for the Spark spout: its speed, its memory, and twenty kills'
	@echo 'make docs     build the documentation into site/'
	@echo 'make clean    remove what was built, .venv included'

run: $(VENV)/.core
	$(BIN)/fsshelter run $(TOPOLOGY)

test: $(VENV)/.dev
	$(BIN)/python -m pytest -q

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks --write

soak: $(VENV)/.core
	$(BIN)/python -m tests.soak

spark-soak: $(VENV)/.spark-dev
	$(BIN)/python benchmarks/spark_soak.py

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) site build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp a set of packages: made once, and again when pyproject.toml has changed.
$(VENV)/.core: pyproject.toml $(VENV)/.made
	$(PIP) install --editable .
	@touch $@

$(VENV)/.dev $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: pyproject.toml $(VENV)/.made
	$(PIP) install --editable '.[$*$(if $(filter dev,$*),$(SPARK))]'
	@touch $@ $(VENV)/.core

$(VENV)/.spark-dev: pyproject.toml $(VENV)/.made
	$(PIP) install --editable '.[spark-dev]'
	@touch $@ $(VENV)/.core

$(VENV)/.made:
	@for python in $(PYTHON); do \
	    if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	        echo "making $(VENV) with $$("$$python" --version) ($$python)"; \
	        "$$python" -m venv --clear $(VENV) && touch $@; exit; \
	    fi; \
	done; \
	echo 'No Python 3.11 or newer with the venv module starts (tried: $(PYTHON)).' >&2; \
	echo 'Install one (on Debian and Ubuntu: python3 and python3-venv) or name it: make PYTHON=/path/to/python3' >&2; \
	exit 1
