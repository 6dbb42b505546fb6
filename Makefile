# Casemate. `make demo` and `make test` work on a fresh Debian or Ubuntu machine with Rust, Python 3.10+ and a C compiler.

VENV := .venv
PYTHON := $(VENV)/bin/python
CASEMATE := $(VENV)/bin/casemate
RECORDER := python/casemate/libcasemate_recorder.so

# The tests can build schemes with a deliberate weakness; what is installed cannot.
PLANTED := --features casemate-campaign/planted-bugs

# Property tests draw the same cases each time; `make test SEED=7` draws others.
SEED ?= 1
export PROPTEST_RNG_SEED := $(SEED)

.PHONY: demo test bench sample campaign docs build check-rust check-python clean help

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

# The virtual environment, and the system packages that recording needs.
$(VENV)/.ready: scripts/setup.sh pyproject.toml
	scripts/setup.sh $(VENV)
	touch $@

build: $(VENV)/.ready ## Build the recorder and the Python package
	cargo build --release --locked --package casemate-recorder
	cp $${CARGO_TARGET_DIR:-target}/release/libcasemate_recorder.so $(RECORDER)
	PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --release --locked --quiet --extras dev

demo: build ## Run gzip under three designs, compare them, and explain one read
	CASEMATE=$(CASEMATE) scripts/demo.sh

test: build check-rust check-python ## Run every check

check-rust:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet $(PLANTED) -- -D warnings
	cargo test --workspace --locked --quiet $(PLANTED)

check-python:
	$(VENV)/bin/ruff check python tests scripts
	$(VENV)/bin/ruff format --check python tests scripts
	$(VENV)/bin/mypy
	$(PYTHON) -m pytest --quiet python/tests tests

bench: $(VENV)/.ready ## Measure kernels, DRAM and whole runs, against targets, other programs and last time
	scripts/setup.sh $(VENV) bench
	$(PYTHON) scripts/bench.py

sample: build ## Sample ten billion instructions of sqlite3, unprotected, with an interval
	$(CASEMATE) run --detail sampled --design none --limit 10G -- sqlite3 :memory: < scripts/sample.sql

campaign: build ## Carry out every attack 100,000 times on every design: about half an hour on two cores; goes on from its log
	$(CASEMATE) attack --all --trials 100000 --log results/campaign.jsonl

docs: build ## Build the Rust documentation and the schemas of all results
	cargo doc --workspace --no-deps --locked
	mkdir -p target/doc/schemas
	for command in run record explain attack list; do $(CASEMATE) schema $$command > target/doc/schemas/$$command.json; done

clean: ## Remove everything that was built
	rm -rf $(VENV) target $(RECORDER) python/casemate/_core*.so
