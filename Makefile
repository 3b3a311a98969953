# Every target makes the virtual environment it needs below .venvs, once, and again when pyproject.toml changes.
# Needed beforehand: Python 3.10 or later with venv. npm is needed for the tests on dynalite and with ElectroDB only.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
# How many pytest workers share the tests.
WORKERS ?= 2
INTERPRETERS := 3.10 3.11 3.12 3.13

# The servers are pinned: which tests each of them can run was measured on these versions.
MINISTACK := ministack==1.5.33
ROTO := roto-aws==0.10.1
DYNALITE := dynalite@4.0.0
# Another tool whose tables are adopted.
ELECTRODB := electrodb@3.9.3 @aws-sdk/client-dynamodb@3.1169.0
# The browser in which the page of an example is tested: a build for Linux on x86-64.
CHROMIUM := @sparticuz/chromium@147.0.0

VENVS := .venvs
UV := $(VENVS)/tools/bin/uv
SOURCES := $(shell find dynamap -name '*.py')
PYTEST := bin/python -m pytest
# A file stays with one worker: the blocks of a document follow on one another.
SHARE = -n $(WORKERS) --dist loadfile
# Another project's active environment must not answer for ours.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME
# Trust what the system trusts, as pip does: a network may have a certificate authority of its own.
export UV_SYSTEM_CERTS := true
export UV_NATIVE_TLS := true

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 20
	@echo
	@echo "PYTHON=python3.12 chooses the interpreter, ARGS='-k name' goes to pytest, CI=true lets nothing be missing."

.PHONY: demo
demo: $(VENVS)/demo/.ready ## Install the package as a user would, and run the example on an embedded DynamoDB
	$(VENVS)/demo/bin/python examples/safe_writes.py

.PHONY: orders-api
orders-api: $(VENVS)/test/.ready ## Serve the example of a service over HTTP, on an embedded DynamoDB; PORT=8000
	$(VENVS)/test/bin/python -m examples.orders_api $(if $(PORT),--port $(PORT))

.PHONY: shop
shop: $(VENVS)/test/.ready ## Serve the example of a shop, with a page in the browser, on an embedded DynamoDB; PORT=8000
	$(VENVS)/test/bin/python -m examples.shop $(if $(PORT),--port $(PORT))

.PHONY: test
test: test-main test-interpreters test-copies ## Run every test on every server, and what may differ between interpreters on each

.PHONY: test-main
test-main: $(VENVS)/test/.ready servers ## Run every test on every server, on one interpreter
	$(VENVS)/test/$(PYTEST) $(SHARE) $(ARGS)

.PHONY: test-deep
test-deep: $(VENVS)/test/.ready servers ## The properties marked `deep`, with 100,000 random examples each; takes an hour or two
	HYPOTHESIS_PROFILE=deep $(VENVS)/test/$(PYTEST) -m deep -n $(WORKERS) --durations=0 $(ARGS)

.PHONY: test-interpreters
test-interpreters: $(INTERPRETERS:%=test-python-%) ## Run the unit tests of what may differ on each other interpreter that is installed

# What classes, annotations, generated code, values, keys, typing, imports, threads and event loops are differs between
# interpreters: all of that runs on each. Left out is what computes with our own objects only, and cannot differ: what
# plans, recipes and benches do, the parameters of requests, the order of keys; and what reads sources and documents.
# A test file that is not named here runs on each.
EVERYWHERE_THE_SAME := *bench* *enumeration* *interleavings* *worked_models* *test_plans_* *test_batch_reads* \
    *test_batch_writes* *test_recipes_* *test_outcomes* *test_ttl* *test_params* *test_query_* *test_multi_query* *test_upsert* \
    *test_limits* *test_outlines* *template_order* *template_overlap* *adoption_boto3* *messages_complete* *test_links* \
    *architecture* *reference_page* *write_sync*
ANYWHERE := $(foreach what,$(EVERYWHERE_THE_SAME),--ignore-glob='tests/unit/$(what)')

# $(1) is the version. A missing interpreter is an error in CI and a message elsewhere.
.PHONY: $(INTERPRETERS:%=test-python-%)
$(INTERPRETERS:%=test-python-%): test-python-%: $(VENVS)/test/.ready
	@if $(VENVS)/test/bin/python --version | grep -q ' $*\.'; then \
	    echo "Python $* runs all tests: see test-main."; \
	elif .ci/find-python $* >/dev/null; then \
	    $(MAKE) --no-print-directory $(VENVS)/python-$*/.ready; \
	    echo "Unit tests on Python $*:"; \
	    HYPOTHESIS_PROFILE=brief $(VENVS)/python-$*/$(PYTEST) $(SHARE) tests/unit $(ANYWHERE) -m 'not slow' -q; \
	elif [ "$${CI:-}" = true ]; then \
	    echo "Python $* is not installed, and CI=true lets nothing be missing." >&2; exit 1; \
	else \
	    echo "SKIPPED: Python $* is not installed; its unit tests do not run."; \
	fi

# What lies around in the checkout must not help: the copies run in a folder of their own.
.PHONY: test-copies
test-copies: $(VENVS)/copies/.ready ## Copy every recipe out of the installed package, and run its test there
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && bin=$$PWD/$(VENVS)/copies/bin && cd "$$folder" && \
	    for name in $$("$$bin/dynamap" recipes list | cut -d' ' -f1); do \
	        "$$bin/dynamap" recipes copy "$$name" plain >/dev/null; \
	        "$$bin/dynamap" recipes copy "$$name" asyncio --async >/dev/null; \
	    done && "$$bin/python" -m pytest -q -p no:cacheprovider plain && "$$bin/python" -m pytest -q -p no:cacheprovider asyncio

.PHONY: prove
prove: $(VENVS)/test/.ready ## Prove the recipes against every fault, on all cores; QUICK=1 for a first look
	$(VENVS)/test/bin/python -m tests.proofs.prove $(if $(QUICK),--quick) $(ARGS)

.PHONY: bench
bench: $(VENVS)/bench/.ready ## Compare speed with other libraries, on a stub server; QUICK=1 for the ratios alone, in a minute
	$(VENVS)/bench/bin/python -m benchmarks $(if $(QUICK),--quick) $(ARGS)

# Folders of scripts, if they hold any: mypy takes an empty one for a mistake.
COPYABLE := $(sort $(patsubst %/,%,$(dir $(wildcard recipes/*.py examples/*.py))))

.PHONY: check
check: $(VENVS)/check/.ready ## Lint, formatting, types by two checkers, the typing promises, and the layout
	$(VENVS)/check/bin/ruff check
	$(VENVS)/check/bin/ruff format --check
	$(VENVS)/check/bin/mypy
	for folder in $(COPYABLE); do $(VENVS)/check/bin/mypy $$folder; done
	$(VENVS)/check/bin/pyright --pythonpath $(VENVS)/check/bin/python
	$(VENVS)/check/bin/python recipes/write_sync.py --check
	$(VENVS)/check/bin/python tests/typing/run.py
	$(VENVS)/check/$(PYTEST) tests/unit/test_architecture.py -q

.PHONY: format
format: $(VENVS)/check/.ready ## Format the sources, and mend what ruff can mend
	$(VENVS)/check/bin/ruff check --fix-only
	$(VENVS)/check/bin/ruff format

.PHONY: clean
clean: ## Remove the environments and every cache
	rm -rf $(VENVS) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Servers

.PHONY: servers
servers: $(VENVS)/ministack/.ready $(VENVS)/roto/.ready ## Install the servers that the integration tests use
	@if command -v npm >/dev/null; then \
	    $(MAKE) --no-print-directory $(VENVS)/dynalite/.ready $(VENVS)/electrodb/.ready $(VENVS)/chromium/.ready; \
	elif [ "$${CI:-}" = true ]; then \
	    echo "npm is not installed, and CI=true lets no server be missing." >&2; exit 1; \
	else \
	    echo "SKIPPED: npm is not installed; the tests on dynalite, with ElectroDB and in a browser will be skipped."; \
	fi

# Where the tests find the servers; what the caller has set stays. Looked up when the tests start, after the install.
test-main test-deep: export DYNAMAP_MINISTACK ?= $(CURDIR)/$(VENVS)/ministack/bin/ministack
test-main test-deep: export DYNAMAP_ROTO ?= $(CURDIR)/$(VENVS)/roto/bin/roto-server
test-main test-deep: export DYNAMAP_DYNALITE ?= $(shell ls $(CURDIR)/$(VENVS)/dynalite/node_modules/.bin/dynalite 2>/dev/null)
test-main test-deep: export DYNAMAP_ELECTRODB ?= $(CURDIR)/$(VENVS)/electrodb/node_modules
test-main test-deep: export DYNAMAP_CHROMIUM ?= $(shell ls $(CURDIR)/$(VENVS)/chromium/chromium 2>/dev/null)

# Environments. uv installs each in seconds where pip takes half a minute; pip brings uv itself.

# Rewritten only when PYTHON means another interpreter than last time.
$(VENVS)/python.txt: always
	@mkdir -p $(VENVS)
	@identity=$$($(PYTHON) -c 'import sys; print(sys.version.replace("\n", " "), sys.executable)'); \
	    [ "$$(cat $@ 2>/dev/null)" = "$$identity" ] || echo "$$identity" > $@

.PHONY: always
always:

$(UV): $(VENVS)/python.txt
	rm -rf $(VENVS)/tools
	$(PYTHON) -m venv $(VENVS)/tools
	$(VENVS)/tools/bin/python -m pip install --quiet --disable-pip-version-check uv
	touch $@

define new-environment
rm -rf $(@D)
	$(UV) venv --quiet --python $(1) $(@D)
endef
install = $(UV) pip install --quiet --python $(@D)

$(VENVS)/demo/.ready: pyproject.toml README.md $(SOURCES) $(UV)
	$(call new-environment,$(PYTHON))
	$(install) '.[aio,testing]'
	touch $@

$(VENVS)/test/.ready: pyproject.toml $(UV)
	$(call new-environment,$(PYTHON))
	$(install) --editable '.[aio,cursors,otel,progress,pydantic,testing]' --group test
	touch $@

# Nothing but what a project has that copies a recipe, and what runs its test.
$(VENVS)/copies/.ready: pyproject.toml README.md $(SOURCES) $(wildcard recipes/*.py recipes/*/*.py recipes/*/*/*.py) $(UV)
	$(call new-environment,$(PYTHON))
	$(install) . pytest pytest-asyncio
	touch $@

$(VENVS)/check/.ready: pyproject.toml $(UV)
	$(call new-environment,$(PYTHON))
	$(install) --editable '.[aio,cursors,otel,progress,pydantic,testing]' --group check
	touch $@

$(VENVS)/python-%/.ready: pyproject.toml $(UV)
	$(call new-environment,"$$(.ci/find-python $*)")
	$(install) --editable '.[aio,cursors,otel,progress,pydantic,testing]' --group test
	touch $@

# One of the libraries that are compared needs Python 3.12: a newer interpreter than PYTHON is taken where there is one.
BENCH_PYTHON = $(shell for version in 3.13 3.12; do .ci/find-python $$version && exit; done; echo $(PYTHON))

$(VENVS)/bench/.ready: pyproject.toml $(UV)
	$(call new-environment,"$(BENCH_PYTHON)")
	$(install) --editable '.[aio,testing]' --group bench
	touch $@

# ministack pins botocore: every server has an environment of its own.
$(VENVS)/ministack/.ready: Makefile $(UV)
	$(call new-environment,$(PYTHON))
	$(install) '$(MINISTACK)'
	touch $@

$(VENVS)/roto/.ready: Makefile $(UV)
	$(call new-environment,$(PYTHON))
	$(install) '$(ROTO)'
	touch $@

$(VENVS)/dynalite/.ready: Makefile
	rm -rf $(@D)
	mkdir -p $(@D)
	npm install --prefix $(@D) --no-fund --no-audit --no-update-notifier --loglevel=error '$(DYNALITE)'
	touch $@

$(VENVS)/electrodb/.ready: Makefile
	rm -rf $(@D)
	mkdir -p $(@D)
	npm install --prefix $(@D) --no-fund --no-audit --no-update-notifier --loglevel=error $(ELECTRODB)
	touch $@

# The package holds the browser, and libraries that small systems lack, as archives.
UNPACK = const {brotliDecompressSync} = require("zlib"), {readFileSync, writeFileSync} = require("fs"); \
    const unpack = (from, to) => writeFileSync(to, brotliDecompressSync(readFileSync(`node_modules/@sparticuz/chromium/bin/$${from}`)), {mode: 0o755}); \
    unpack("chromium.br", "chromium"); unpack("al2023.tar.br", "lib.tar")

$(VENVS)/chromium/.ready: Makefile
	rm -rf $(@D)
	mkdir -p $(@D)
	if [ "$$(uname -sm)" = "Linux x86_64" ]; then \
	    npm install --prefix $(@D) --ignore-scripts --no-fund --no-audit --no-update-notifier --loglevel=error '$(CHROMIUM)'; \
	    cd $(@D); node -e '$(UNPACK)'; tar -xf lib.tar; rm -rf lib.tar node_modules; \
	else \
	    echo "SKIPPED: $(CHROMIUM) is for Linux on x86-64; set DYNAMAP_CHROMIUM to a browser for the test of a page."; \
	fi
	touch $@
