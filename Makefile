# Casemate. `make demo` and `make test` work on a fresh Debian or Ubuntu machine with Rust, Python 3.10+ and a C compiler.

VENV := .venv
PYTHON := $(VENV)/bin/python
CASEMATE := $(VENV)/bin/casemate
RECORDER := python/casemate/libcasemate_recorder.so

.PHONY: demo test bench docs build check-rust check-python clean help

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

# The virtual environment, and the system packages that recording needs.
$(VENV)/.ready: scripts/setup.sh pyproject.toml
	scripts/setup.sh $(VENV)
	touch $@

build: $(VENV)/.ready ## Build the recorder and the Python package
	cargo build --release --locked --package casemate-recorder
	cp $${CARGO_TARGET_DIR:-target}/release/libcasemate_recorder.so $(RECORDER)
	VIRTUAL_ENV=$(abspath $(VENV)) $(VENV)/bin/maturin develop --release --locked --quiet --extras dev

demo: build ## Run gzip under three designs, compare them, and explain one read
	CASEMATE=$(CASEMATE) scripts/demo.sh

test: build check-rust check-python ## Run every check

check-rust:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	cargo clippy --package casemate-campaign --all-targets --locked --quiet --features planted-bugs -- -D warnings
	cargo test --workspace --locked --quiet
	cargo test --package casemate-campaign --locked --quiet --features planted-bugs

check-python:
	$(VENV)/bin/ruff check python tests
	$(VENV)/bin/ruff format --check python tests
	$(VENV)/bin/mypy
	$(PYTHON) -m pytest --quiet python/tests tests

bench: build ## Measure: kernels with criterion, whole runs, against the previous results
	cargo bench --workspace --locked
	$(PYTHON) scripts/bench.py

docs: build ## Build the Rust documentation and the schemas of all results
	cargo doc --workspace --no-deps --locked
	$(PYTHON) scripts/schemas.py target/doc/schemas

clean: ## Remove everything that was built
	rm -rf $(VENV) target $(RECORDER) python/casemate/_core*.so
