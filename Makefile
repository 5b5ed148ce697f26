# The one interface to remember. `make help` lists what there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Checks for the toolchain, and installs what is missing where a package manager can.
with := scripts/with-toolchain

##@ Start here

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Check for Rust and a C compiler, install what is missing
	@$(with) --needs rustfmt --needs clippy cargo --version

.PHONY: run
run: ## Serve the example app with its sample APIs (PORT=3000, LATENCY_MS=50)
	@$(with) scripts/run-example

.PHONY: test
test: ## Run everything that a change must pass: format, lints, all tests, examples
	@$(with) --needs rustfmt --needs clippy scripts/test

##@ Parts

.PHONY: build
build: ## Build the optimised executable, target/release/qlio
	@$(with) cargo build --release --locked --package qlio-gateway --bin qlio
	@scripts/split-debug "$${CARGO_TARGET_DIR:-target}/release/qlio"

.PHONY: profiled
profiled: ## Build the executable to ship, optimised by a profile of itself (10 minutes)
	@$(with) --needs llvm-tools scripts/build-profiled

.PHONY: console
console: ## Build the page of the console, web/console/dist (needs Node)
	@cd web/console && npm ci --ignore-scripts --no-audit --no-fund && npm run --silent check && npm run --silent build -- --sizes

.PHONY: site
site: ## Build the site of these pages, searchable, with a playground: target/site (needs Node)
	@$(with) scripts/site
	@echo "to look at it: node web/site/serve.mjs"

.PHONY: dist
dist: ## Build the packages: archive, Debian, npm, pip, container, checksums, into target/dist (15 minutes; PROFILE=dev: quicker)
	@$(with) scripts/dist

.PHONY: bindings
bindings: ## Build the packages for Node.js and Python programs and test them (PROFILE=release to ship them)
	@$(with) scripts/bindings

.PHONY: check-dist
check-dist: ## Install and use what make dist has made
	@scripts/check-dist

.PHONY: fmt
fmt: ## Format Rust and the example scripts
	@$(with) --needs rustfmt cargo fmt --all
	@$(with) cargo run --quiet --package qlio-gateway -- fmt examples

.PHONY: lint
lint: ## Clippy on all targets, warnings are errors
	@$(with) --needs clippy cargo clippy --workspace --all-targets --locked -- -D warnings

.PHONY: spec
spec: ## Run the case files of spec/ only (CASE=join: those with join; QLIO_EXECUTABLE=/a/qlio: with that one)
	@$(with) cargo test --locked --package qlio-gateway --test spec -- $(CASE)

.PHONY: e2e
e2e: ## Run the tests against the real executable only (QLIO_EXECUTABLE=/a/qlio: against that one)
	@$(with) cargo test --locked --package qlio-gateway --test e2e

.PHONY: experiment
experiment: build ## The published XML/Protobuf experiment beside our figures (USERS=200 DURATION=60s THINK=900ms)
	@scripts/experiment

.PHONY: bench
bench: ## Measure beside nginx, Node and others, write docs/benchmarks.md (needs nginx, wrk, Node; 40 minutes)
	@test -x bench/run || { echo "make bench: there is no bench/run" >&2; exit 2; }
	@$(with) bench/run

.PHONY: soak
soak: ## Load qlio for an hour and watch its memory, for docs/benchmarks.md (needs nginx, wrk)
	@$(with) bench/soak
	@bench/run --report docs/benchmarks/raw.json

.PHONY: attacks
attacks: ## Attack a server and measure what that costs others (6 minutes)
	@$(with) bench/attacks

.PHONY: counts
counts: ## Count the instructions of the pieces of a request, compare with the baseline
	@$(with) bench/instructions

.PHONY: deny
deny: ## Check licences, advisories, sources and versions of all dependencies
	@command -v cargo-deny >/dev/null || { \
	  echo "make deny: cargo-deny is missing; install it with: cargo install --locked cargo-deny" >&2; exit 2; }
	@$(with) cargo deny --all-features check

.PHONY: docs
docs: ## Build the API documentation, target/doc/qlio_syntax/index.html; warnings are errors
	@RUSTDOCFLAGS="-D warnings" $(with) cargo doc --workspace --no-deps --locked

##@ Gates

.PHONY: check
check: test docs ## What a change must pass before it is merged

.PHONY: ci
ci: ## What the build server runs
	@.ci/run

.PHONY: clean
clean: ## Remove what was built
	@$(with) cargo clean
