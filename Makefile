# `make` alone lists the targets. All set-up stays in this checkout, in .venv and .cache; only missing programs come from apt.
.DEFAULT_GOAL := help
.PHONY: help test lint demo bench docs clean ready programs

PYTHON_HERE := .venv/bin/python
STAMP := .venv/set-up

# A virtual environment holds its own path, so one that was copied or moved along is made anew.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

# On a busy machine a test of processes, terminals and networks may be late once: it runs again, and the closing lines name it.
AGAIN := 2
# Half of a test's time is waiting, so the cores have work for half as many tests again.
WORKERS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2)))

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 16

test: programs-begin lint ready ## Do all set-up, then the whole gate: lint, types, tests (ARGS="-k name")
	$(PYTHON_HERE) -m pytest -n $(WORKERS) --dist worksteal -p rerunfailures --reruns $(AGAIN) -rR $(ARGS)

# The agent programs that tests run are fetched while the lint is at work; a test that needs one waits for it.
.PHONY: programs-begin
programs-begin: $(STAMP)
	@$(PYTHON_HERE) scripts/install.py --background

programs: $(STAMP) ## Install the agent programs that the tests run, at their pinned versions, into .cache
	$(PYTHON_HERE) scripts/install.py

lint: $(STAMP) ## Check style, format and types
	$(PYTHON_HERE) -m ruff check
	$(PYTHON_HERE) -m ruff format --check
	$(PYTHON_HERE) -m mypy

demo: ready ## Mend a sample project with faults in it, offline; its report stays (ARGS=--clean removes it)
	@PATH="$(CURDIR)/.venv/bin:$$PATH" scripts/demo $(ARGS)

bench: ready ## Measure, beside the floor of this machine in the same minute
	$(PYTHON_HERE) bench/bench.py $(ARGS)

docs: ready ## Write the man pages and the command reference anew
	$(PYTHON_HERE) scripts/docs.py

clean: ## Remove all that set-up and runs have made in this checkout
	rm -rf .venv .cache build dist
	find src tests scripts -name __pycache__ -prune -exec rm -rf {} +

# Where the environment forbids Python to write bytecode, every start would compile the sources again.
ready: $(STAMP)
	@$(PYTHON_HERE) -m compileall -q src

$(STAMP): pyproject.toml scripts/setup
	@scripts/setup
