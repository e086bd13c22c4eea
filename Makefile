# What people run. `make demo` and `make test` need Rust and Python 3.10 or later, nothing else.
#
#   make setup       a Python environment with torch and triton, where python3 has none
#   make demo        optimise a real kernel on whatever device is here
#   make test        everything that needs no GPU
#   make lint        formatting and lints
#   make bench       the search machinery's benchmark
#   make test-gpu    the acceptance run on a CUDA GPU
#   make corpus CORPUS=folder [DEVICE=cuda JOBS=1]
#                    every case of an integrity corpus: cheats rejected, honest kernels accepted

SHELL := /bin/bash
REQUIREMENTS := src/evaluate/harness/requirements.txt
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kernelbrain
VENV := $(CACHE)/venv-$(shell sha256sum $(REQUIREMENTS) | cut -c1-12)
BINARY := target/debug/kernelbrain
DEMO_OUT := kernelbrain-out/demo

# The interpreter for tests: KERNELBRAIN_PYTHON, else python3 where it has what is pinned, else
# the cached environment.
FITS := import importlib.metadata as m; \
  assert m.version('torch').startswith('2.') and m.version('triton') and m.version('pyyaml'); \
  assert tuple(map(int, m.version('numpy').split('.')[:2])) < (2, 4)
PYTHON = $(or $(KERNELBRAIN_PYTHON),$(shell python3 -I -c "$(FITS)" 2>/dev/null && echo python3 || echo $(VENV)/bin/python))

DEVICE := cpu
JOBS := 2

.PHONY: setup demo test test-rust test-harness lint bench test-gpu corpus build

build:
	cargo build

setup:
	@if [ -n "$(KERNELBRAIN_PYTHON)" ]; then echo "Python: $(KERNELBRAIN_PYTHON) (KERNELBRAIN_PYTHON)"; \
	elif python3 -I -c "$(FITS)" 2>/dev/null; then echo "Python: python3 has what is needed"; \
	elif [ -e "$(VENV)/complete" ]; then echo "Python: $(VENV)"; \
	else \
	  echo "Installing torch and triton into $(VENV) (several GB, once)"; \
	  mkdir -p "$(CACHE)" && \
	  { python3 -m venv "$(VENV)" || { echo "python3 -m venv failed: on Debian, apt-get install python3-venv"; exit 1; }; } && \
	  "$(VENV)/bin/python" -m pip install --quiet --disable-pip-version-check -r $(REQUIREMENTS) && \
	  touch "$(VENV)/complete"; \
	fi

demo: setup build
	@echo
	KERNELBRAIN_PYTHON="$(PYTHON)" $(BINARY) optimize examples/softmax/input_kernel.py \
	  --test examples/softmax/test.py --budget 90s --out $(DEMO_OUT)

test: setup test-harness test-rust

test-harness:
	cd tests/harness && "$(PYTHON)" -B -m unittest -q

test-rust:
	KERNELBRAIN_PYTHON="$(PYTHON)" cargo test --quiet

lint:
	cargo fmt --check
	cargo clippy --all-targets --quiet -- -D warnings

bench:
	cargo bench --bench search

test-gpu: setup
	cargo build --release
	KERNELBRAIN_PYTHON="$(or $(KERNELBRAIN_PYTHON),python3)" tests/gpu/acceptance.sh target/release/kernelbrain

corpus: setup build
	@test -n "$(CORPUS)" || { echo "which corpus? make corpus CORPUS=folder"; exit 2; }
	KERNELBRAIN_PYTHON="$(PYTHON)" "$(PYTHON)" tests/corpus.py "$(CORPUS)" --binary $(BINARY) --device $(DEVICE) --jobs $(JOBS)
