# Casemate. `make demo` and `make test` work on a fresh Debian or Ubuntu machine with Rust, Python 3.10+ and a C compiler.

VENV := .venv
PYTHON := $(VENV)/bin/python
CASEMATE := $(VENV)/bin/casemate
RECORDER := python/casemate/libcasemate_recorder.so python/casemate/casemate-keeper

# The tests can build schemes with a deliberate weakness; a released package cannot.
PLANTED := --features casemate-campaign/planted-bugs

# Build profile of the recorder and the package: `release`, `demo` for a first look, or `dev` for tests. The tested package
# shares its crates with the Rust tests, so cargo builds it with the same features. Only releases have the flags of a release.
PROFILE := release
OUTPUT = $${CARGO_TARGET_DIR:-target}/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))
SHARED = $(if $(filter dev,$(PROFILE)),--features tested)
# The demo installs only the Python packages that a run needs; the others are for tests.
EXTRAS = $(if $(filter-out demo,$(PROFILE)),--extras dev)

# Cargo chooses its number of jobs without make's job server.
ALONE := env -u MAKEFLAGS -u MFLAGS

# cargo-nextest runs the tests of all programs in parallel; without cargo-nextest, cargo runs one program after the other.
# Neither builds examples, which clippy has checked. Only cargo runs the tests in documentation. `scripts/setup.sh .venv nextest`
# installs cargo-nextest. CI does without: a process for each test takes more processor time, as no tests share a result.
NEXTEST := $(or $(wildcard $(VENV)/bin/cargo-nextest),$(if $(shell cargo nextest --version 2>/dev/null),cargo))
RUN_TESTS := $(ALONE) $(if $(NEXTEST),$(NEXTEST) nextest run --cargo-quiet --status-level fail,cargo test --quiet)
RUST_TESTS = $(RUN_TESTS) --workspace --locked $(PLANTED) --tests

# Property tests draw the same cases in each run; `make test SEED=7` draws different cases.
SEED ?= 1
export PROPTEST_RNG_SEED := $(SEED)

.PHONY: demo fast wheel check test test-python test-crates test-hw test-long mutants bench sample campaign reproduce docs build \
  lint-rust lint-crates test-rust lint-python hw hw-lint hw-simulation hw-faults hw-proofs hw-synthesis hw-long clean help

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

# The virtual environment, and the system packages that recording needs.
$(VENV)/.ready: scripts/setup.sh pyproject.toml
	scripts/setup.sh $(VENV)
	touch $@

# maturin passes the flags for a profile as RUSTFLAGS, and cargo then ignores the flags of .cargo/release.toml.
RELEASED = $(shell sed -n 's/^rustflags = \["\(.*\)"\]$$/\1/p' .cargo/release.toml | sed 's/", "/ /g')
FLAGS = $(if $(filter-out release,$(PROFILE)),RUSTFLAGS=,$(if $(BY_PROFILE),RUSTFLAGS='$(RELEASED)'))

# Minutes of a build of all crates on two cores: 6 for tests and 2 for the demo; a release takes 19 of processor time, and its
# last crate about 6 of these on one core.
MINUTES = $(or $(MINUTES_$(PROFILE)),12)
MINUTES_dev := 6
MINUTES_demo := 2

# An instrumented package is slow and writes profiles to /tmp. TAKE_OUT deletes this package if the second build does not
# replace it. TAKE_OUT recognises an instrumented package by the runtime that writes profiles.
TAKE_OUT = if grep -qs LLVM_PROFILE_FILE python/casemate/_core*.so; then rm -f python/casemate/_core*.so; echo \
  "make fast: the instrumented package is taken out again: run make build or make fast" >&2; fi
GUARD = trap '$(TAKE_OUT)' EXIT; trap 'exit 130' INT; trap 'exit 143' TERM;

build: $(VENV)/.ready ## Build the recorder and the Python package as it is released; PROFILE=demo builds it sooner
	@$(if $(BY_PROFILE),echo "make fast: this takes six minutes more than make build" >&2,:)
	@echo "make build: first the recorder, then the simulator as a Python package (profile $(PROFILE)): about $(MINUTES) minutes on" \
	  "two cores, and less if an earlier build left its crates in $(OUTPUT)" >&2
	$(ALONE) cargo build --profile $(PROFILE) --locked --package casemate-recorder
	install $(foreach file,$(notdir $(RECORDER)),$(OUTPUT)/$(file)) python/casemate/
	@echo "make build: now the Python package; cargo names each crate$(if $(filter release,$(PROFILE)),; the last is casemate-py and takes minutes)" >&2
	$(if $(BY_PROFILE),$(GUARD)) $(ALONE) $(FLAGS) PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) \
	  $(VENV)/bin/maturin develop --profile $(PROFILE) $(SHARED) $(BY_PROFILE) --locked $(EXTRAS)

$(VENV)/.ready-fast: scripts/setup.sh $(VENV)/.ready
	scripts/setup.sh $(VENV) fast
	touch $@

# `make fast` builds the package twice: instrumented for the training runs, then by their profile. Each other target that
# needs `build` replaces this package by one without the profile.
fast: BY_PROFILE := --pgo
fast: $(VENV)/.ready-fast build ## Build the package by a profile of runs, for runs an eighth shorter: six minutes more

demo: PROFILE := demo
demo: build ## Run sqlite3 under four designs, compare them on a page for a browser, and explain one read
	scripts/setup.sh $(VENV) sqlite3
	scripts/setup.sh $(VENV) report
	CASEMATE=$(CASEMATE) scripts/demo.sh

$(VENV)/.ready-wheel: scripts/setup.sh pyproject.toml $(VENV)/.ready
	scripts/setup.sh $(VENV) wheel
	touch $@

# The wheel contains the recorder and the keeper, all without debug information. The flags are those of `make build`.
WHEELS := target/wheels
wheel: $(VENV)/.ready-wheel ## Build the package as a wheel for machines without Rust, in target/wheels, and try it in empty environments
	$(ALONE) cargo build --profile $(PROFILE) --locked --package casemate-recorder
	install --strip $(foreach file,$(notdir $(RECORDER)),$(OUTPUT)/$(file)) python/casemate/
	rm -rf $(WHEELS)
	$(ALONE) $(FLAGS) $(VENV)/bin/maturin build --profile $(PROFILE) $(SHARED) --locked --strip --auditwheel skip --out $(WHEELS)
	$(PYTHON) scripts/wheel.py $(WHEELS)/*.whl
	$(PYTHON) scripts/wheel_check.py $(WHEELS)/*.whl

# Each step of `make test` is skipped if it passed with the same inputs before. `make test AGAIN=1` skips no step, and a step
# such as `make hw-proofs` always runs.
AGAIN :=
STEP = $(ALONE) $(PYTHON) scripts/unchanged.py $(if $(AGAIN),--again)
ONE = make --no-print-directory SEED=$(SEED)

# Crates without an example in their documentation: rustdoc skips them. Cargo needs `campaign` for its feature, and a list of
# the crates with an example would build all crates again, because cargo would choose other features of their dependencies.
WITHOUT_EXAMPLE := units wire context throughput isa workload catalogue cost chip runner

# Three chains run in parallel, because each has stretches that keep one processor busy. The tested package shares its crates
# with the Rust tests; `make build` builds the package as it is released.
test: ## Run every check whose inputs changed since it passed; AGAIN=1 runs every check
	$(MAKE) --jobs=3 --output-sync=line --no-print-directory PROFILE=dev SEED=$(SEED) AGAIN=$(AGAIN) test-python test-crates test-hw

$(VENV)/.ready-studies: scripts/setup.sh pyproject.toml $(VENV)/.ready
	scripts/setup.sh $(VENV) studies
	touch $@

# One pip at a time changes the virtual environment.
$(VENV)/.ready-browser: scripts/setup.sh pyproject.toml $(VENV)/.ready-studies
	scripts/setup.sh $(VENV) report
	scripts/setup.sh $(VENV) browser
	touch $@

# The tests of one file run in one process, because they share its fixtures. python/tests/conftest.py puts the longest first.
TWO_PROCESSES := --numprocesses 2 --dist loadfile --no-loadscope-reorder

# The packages of the hardware tools are installed first, because the versions of all packages are inputs of a step.
test-python: $(VENV)/.ready-browser $(VENV)/.ready-hw build
	$(STEP) lint-python $(ONE) lint-python
	$(STEP) python-tests $(PYTHON) -m pytest --quiet $(TWO_PROCESSES) python/tests
	$(STEP) house-rules $(PYTHON) -m pytest --quiet tests

test-hw: $(VENV)/.ready-hw build
	$(foreach step,$(HARDWARE),$(STEP) $(step) $(ONE) $(step) &&) true

# Make builds the package first: the other chains wait for the package, and cargo builds for one chain at a time.
test-crates: lint-crates build
	$(STEP) rust-tests $(RUST_TESTS)
	$(STEP) rust-examples cargo test --workspace $(WITHOUT_EXAMPLE:%=--exclude casemate-%) --locked --quiet $(PLANTED) --doc

lint-crates: $(VENV)/.ready
	$(STEP) lint-rust $(ONE) lint-rust

# Each sweep covers one design of each class. `make check` skips the tests of the package. It also skips the comparisons of
# samples with runs in detail, because each takes half a minute without being a sweep.
check: export CASEMATE_SWEEPS := one-of-each-class
check: SKIPPED := sampling::the_figures_in_detail sampling::a_sample_is_accurate
check: test-rust lint-python ## Formats, lints, Rust tests with one design of each class: while you work
	$(PYTHON) -m pytest --quiet tests

lint-rust:
	cargo fmt --all --check
	$(ALONE) cargo clippy --workspace --all-targets --locked --quiet $(PLANTED) -- -D warnings

test-rust: lint-rust
	$(RUST_TESTS) $(if $(SKIPPED),-- $(addprefix --skip ,$(SKIPPED)))

lint-python: $(VENV)/bin/ruff
	$(VENV)/bin/ruff check python tests scripts formal dv
	$(VENV)/bin/ruff format --check python tests scripts formal dv
	$(VENV)/bin/mypy

# `make build` installs ruff with the package.
$(VENV)/bin/ruff:
	$(MAKE) build

# Checks of the hardware in rtl/: lint, simulation and bit flips (dv/), and proofs (formal/). The Python package contains the
# golden model of the hardware.
HARDWARE := hw-lint hw-simulation hw-faults hw-proofs hw-synthesis
hw: $(HARDWARE) ## Lint, simulate, disturb, prove and price the hardware in rtl/: 4 minutes

# One pip at a time changes the virtual environment.
$(VENV)/.ready-hw: scripts/setup.sh pyproject.toml $(VENV)/.ready | $(if $(filter test-python,$(MAKECMDGOALS)),$(VENV)/.ready-browser)
	scripts/setup.sh $(VENV) hw
	touch $@

hw-lint: $(VENV)/.ready-hw $(VENV)/bin/ruff ## Lint the hardware: Verilator, Verible
	$(PYTHON) dv/lint.py

# These points together contain all files of rtl/ and each path through AES; `make hw-long` simulates all points.
SIMULATED := aes128-w16,aes256-two-rounds-w32-tower,router-2-aes128-pipelined-w128

hw-simulation: $(VENV)/.ready-hw $(VENV)/bin/ruff ## Simulate the hardware against the golden model
	$(PYTHON) dv/run.py --seed $(SEED) --points $(SIMULATED)

# The test flips every control bit of a lane in every cycle, and a share of the data bits. It plants a sixth of the weaknesses
# and must detect each.
hw-faults: $(VENV)/.ready-hw $(VENV)/bin/ruff ## Flip bits of the hardware, and look for lines that it should not release
	$(PYTHON) dv/faults/inject.py --seed $(SEED)

# Each proof must also fail on changed hardware: here for a twelfth of all changes, in `make hw-long` for all changes.
hw-proofs: $(VENV)/.ready-hw ## Prove properties of the hardware by induction, and that each proof can fail
	$(PYTHON) formal/prove.py --seed $(SEED)

# One small core passes the complete flow that prices RTL.
hw-synthesis: $(VENV)/.ready-hw $(VENV)/bin/ruff ## Take one small core through the flow that prices RTL, and check each step
	$(PYTHON) scripts/hw_synthesis.py

# Coverage counters generate much code, so only the points of `make hw-simulation` have them.
hw-long: $(VENV)/.ready-hw $(VENV)/bin/ruff ## Simulate a million random lines of the hardware, and measure the coverage of the tests
	$(PYTHON) dv/run.py --seed $(SEED)
	$(PYTHON) dv/run.py --seed $(SEED) --bench lane_bench --points $(SIMULATED) --coverage
	$(PYTHON) dv/run.py --seed $(SEED) --bench lane_bench --test golden_model --lines 1000000
	$(PYTHON) dv/faults/inject.py --complete
	$(PYTHON) formal/prove.py --long
	scripts/setup.sh $(VENV) ecp5
	$(PYTHON) scripts/hw_ecp5.py

bench: $(VENV)/.ready ## Measure kernels, DRAM and whole runs, against targets, other programs and last time
	scripts/setup.sh $(VENV) bench
	$(PYTHON) scripts/bench.py

sample: build ## Sample ten billion instructions of sqlite3, unprotected, with an interval
	scripts/setup.sh $(VENV) sqlite3
	$(CASEMATE) run --detail sampled --design none --limit 10G -- sqlite3 :memory: < scripts/sample.sql

# Each folder of python/casemate/reproduce is a study: `make reproduce STUDY=fvs`.
STUDY := emcc
reproduce: $(VENV)/.ready-studies build ## Run a paper's evaluation again, EMCC's, STUDY=cryptopage, fvs or secpb: half an hour to three hours; continues an interrupted study
	$(CASEMATE) reproduce $(STUDY)

# Programs with code for recovery, and designs that claim recovery after a loss of power.
PROGRAMS := log btree
KEEPING := secpb-cobcm secpb-obcm secpb-bcm secpb-cm secpb-m secpb-nogap secpb-cm-sbmf secpb-cm-dbmf bbb eadr secure-eadr \
  plp-sp plp-pipelined plp-coalesced plp-sp-sbmf plp-sp-dbmf

campaign: build ## Cut the power 3 million times, search histories, and carry out every attack 100,000 times on every design: hours; attacks continue from their log
	mkdir -p results
	$(foreach program,$(PROGRAMS),$(CASEMATE) crash $(KEEPING) --program $(program) --losses 100000 &&) true
	$(CASEMATE) crash --all --thorough
	cargo test --release --locked --package casemate-runner --test all power_loss:: -- --ignored
	cargo test --release --locked --package casemate-campaign --test all over_sessions:: -- --ignored --nocapture
	$(CASEMATE) attack --all --trials 100000 --log results/campaign.jsonl

# Fuzz targets, which must handle any bytes. SEEDS_design and SEEDS_machine are folders with initial inputs.
FUZZ := design machine trace image recover
FUZZ_SECONDS := 60
SEEDS_design := designs
SEEDS_machine := machines

test-long: build ## Many more seeds, writes, compositions and kills than test, and fuzzing: an hour; needs a nightly Rust toolchain
	@cargo +nightly --version >/dev/null 2>&1 || \
	  { echo "make test-long fuzzes, which needs a nightly Rust toolchain: rustup toolchain install nightly" >&2; exit 2; }
	cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz --locked
	cargo test --locked --package casemate-protection --package casemate-campaign --package casemate-runner $(PLANTED) -- --ignored
	CASEMATE_SWEEPS=all cargo test --locked --package casemate-campaign $(PLANTED) --test all -- every_bit:: crowded:: one_text:: losses:: campaigns::
	CASEMATE_SWEEPS=all cargo test --locked --package casemate-runner --test all -- runs:: sampling:: core_time::
	CASEMATE_KILLS=100 $(PYTHON) -m pytest --quiet python/tests/test_killed.py
	scripts/setup.sh $(VENV) studies
	CASEMATE_DRILL=full $(PYTHON) -m pytest --quiet python/tests/test_killed_study.py python/tests/test_study_many.py python/tests/test_guide.py
	PROPTEST_CASES=1000 cargo test --locked --package casemate-campaign $(PLANTED) --test all crowded::
	$(foreach target,$(FUZZ),mkdir -p fuzz/corpus/$(target) && cargo +nightly fuzz run $(target) \
	  fuzz/corpus/$(target) $(SEEDS_$(target)) -- -max_total_time=$(FUZZ_SECONDS) -timeout=20 &&) true

# Share of the mutants to test; SHARD=0/1 tests all mutants.
SHARD := 0/8

mutants: ## Change the cryptography and the protection in many places, one at a time: some test must notice (hours)
	cargo mutants --version >/dev/null 2>&1 || cargo install cargo-mutants --locked
	cargo mutants --package casemate-crypto --test-package casemate-crypto --shard $(SHARD) --output target/mutants-crypto
	cargo mutants --package casemate-protection --features planted-bugs --shard $(SHARD) \
	  --test-package casemate-protection --test-package casemate-campaign --output target/mutants-protection

# Results that have a schema; `-` replaces each space of a command.
DESCRIBED := run power-loss result explain attack crash list list-settings record trace bus excerpt cost-secpb cost-engine \
  cost-rtl bench-crypto validate champsim reproduce-cryptopage reproduce-emcc reproduce-fvs reproduce-gcm reproduce-secpb

$(VENV)/.ready-site: scripts/setup.sh pyproject.toml $(VENV)/.ready
	scripts/setup.sh $(VENV) site
	touch $@

# The site is strict: a broken link, a missing image and a command that no page shows fail.
docs: build $(VENV)/.ready-site $(VENV)/.ready-studies ## Build the site, the Rust documentation, the schemas of all results and the reference of keys
	$(PYTHON) scripts/keys.py > docs/KEYS.new && mv docs/KEYS.new docs/KEYS.md
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet
	cargo doc --workspace --no-deps --locked
	mkdir -p target/doc/schemas
	for command in $(DESCRIBED); do $(CASEMATE) schema $$command > target/doc/schemas/$$command.json; done

clean: ## Remove everything that was built
	rm -rf $(VENV) target build/hw $(RECORDER) python/casemate/_core*.so
