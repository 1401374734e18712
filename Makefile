# SPDX-License-Identifier: Apache-2.0
# The two commands are `make demo` and `make test`; both do all set-up on a fresh Debian or Ubuntu.

BUILD ?= build
JOBS ?= $(shell nproc)

.PHONY: demo test docs site lint format sanitize fuzz release python-test clean help

help:
	@echo "make demo      build, measure this machine's ceilings once, bench the quickstart suite, report"
	@echo "make test      build everything and run all tests"
	@echo "make docs      write the tables, figures and pictures of README.md and docs/ from committed receipts"
	@echo "make site      the site of docs/, with links checked, in build/site"
	@echo "make lint      clang-format, clang-tidy, layering, figures and prose of pages"
	@echo "make sanitize  the CPU tests under address, undefined-behaviour and thread sanitizers"
	@echo "make python-test  the Python package in an environment of its own, and its tests"
	@echo "make release   wheels (CPU, CUDA 13) and a tarball in dist/, each tried where nothing else is installed"
	@echo "make fuzz      each fuzz target for FUZZ_SECONDS (default 20)"
	@echo "make format    rewrite the tree with clang-format"
	@echo "RACELINE_NO_INSTALL=1 names missing packages instead of installing them"

# It compiles what it runs: without a GPU the kernels of the CPU, and these for this CPU. Presets say
# RACELINE_SIMD=all, so that `make test` compiles all, in the same folder too.
DEMO_PRESET ?= $(if $(wildcard /dev/nvidia[0-9]* /dev/dxg),auto,cpu)
demo:
	@tools/bootstrap.sh build
	@test -f $(BUILD)/build.ninja || cmake --preset $(DEMO_PRESET) -B $(BUILD) -DBUILD_TESTING=OFF \
	    -DRACELINE_SIMD=native -DRACELINE_PCH=ON
	@cmake --build $(BUILD) --target raceline_cli -j $(JOBS)
	@$(BUILD)/raceline measure --if-missing
	@$(BUILD)/raceline bench --suite quickstart
	@$(BUILD)/raceline report

test:
	@tools/bootstrap.sh test
	@cmake --preset auto -B $(BUILD) -DBUILD_TESTING=ON
	@cmake --build $(BUILD) -j $(JOBS)
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

# The receipts behind each table are named in docs/evidence.json.
docs:
	@tools/bootstrap.sh docs
	@if test -f $(BUILD)/build.ninja; \
	    then cmake -S . -B $(BUILD) -DRACELINE_SIMD=all; else cmake --preset auto -B $(BUILD) -DBUILD_TESTING=OFF; fi
	@cmake --build $(BUILD) --target raceline_cli -j $(JOBS)
	@if $(BUILD)/raceline kernels | grep -q 'predicted only'; \
	    then echo "without CUDA: docs/machine_code.json stays"; \
	    else tools/machine_code.py $(BUILD)/raceline && cmake --build $(BUILD) --target raceline_cli -j $(JOBS); fi
	@$(BUILD)/raceline report --docs README.md $$(git ls-files 'docs/*.md')
	@$(BUILD)/raceline report --ladder receipts/index.jsonl* receipts/*/*-ladder-*.jsonl.gz \
	    receipts/*/*-from-scratch-*.jsonl.gz >$(BUILD)/ladder.md
	@cp $(BUILD)/ladder.md docs/ladder.md
	@tools/pictures.sh $(BUILD)/raceline docs/pictures
	@tools/site.sh

site:
	@tools/bootstrap.sh docs
	@tools/site.sh

lint:
	@tools/bootstrap.sh lint
	@tools/lint.sh

format:
	@tools/bootstrap.sh lint
	@git ls-files '*.cpp' '*.hpp' '*.h' '*.c' '*.cu' '*.cuh' | xargs clang-format-19 -i

sanitize:
	@tools/bootstrap.sh sanitize
	@tools/sanitize.sh

# Wheels and the tarball in dist/, tried in a fresh environment and a fresh CMake project.
# RELEASE: cpu, cuda13 (needs nvcc 13), tarball.
RELEASE ?= cpu cuda13 tarball
release:
	@tools/bootstrap.sh python
	@tools/release.sh $(RELEASE)

FUZZ_SECONDS ?= 20
fuzz:
	@tools/bootstrap.sh sanitize
	@tools/fuzz.sh $(FUZZ_SECONDS)

# The environment and the folder that pip builds in stay, so that a second run builds what changed.
# Kernels for a GPU take long to compile and need one to be tested: PYTHON_CUDA=ON builds them too.
PYTHON ?= python3
PYTHON_CUDA ?= OFF
PIP = build-python/venv/bin/python -m pip install --quiet --disable-pip-version-check
python-test:
	@tools/bootstrap.sh python
	@test -x build-python/venv/bin/python || $(PYTHON) -m venv build-python/venv
	@$(PIP) scikit-build-core nanobind 'cmake>=3.26' ninja ml_dtypes
	@$(PIP) --no-build-isolation -C cmake.define.RACELINE_CUDA=$(PYTHON_CUDA) \
	    -C cmake.define.RACELINE_PAGE_MODEL=ON '.[test]'
	@cd build-python && venv/bin/python -m pytest -q ../python/tests

clean:
	@rm -rf build build-python build-asan build-tsan build-fuzz build-fuzz-quick build-lint build-release dist
