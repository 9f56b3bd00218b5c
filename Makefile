# Every target that needs something of the host runs `setup` first, which says what it installs.
SHELL := /bin/bash
.DEFAULT_GOAL := help
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
export CGO_ENABLED ?= 0
LDFLAGS := -s -w -X rvol/cmd/internal/version.Version=$(VERSION)
BIN := bin
TOOLS := $(CURDIR)/.cache/tools
GOLANGCI := $(TOOLS)/golangci-lint
LAB_TAGS := kernellab
LAB_TESTS = $(if $(LAB),-run TestScriptsOnRealKernels ./cmd/internal/lab/deploy,./cmd/internal/lab/kernel/... ./cmd/internal/lab/deploy/...)

build: ## Build the programs into bin/
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/rvol ./cmd/rvol-agent ./cmd/rvol-coordinator ./cmd/rvol-lab

setup: ## Install what demo and test need, and say what
	@packaging/setup.sh

demo: setup build ## The main job on real kernels; KEEP=1 leaves the cluster running, LAB=vagrant takes virtual machines
	$(BIN)/rvol-lab demo $(if $(KEEP),--keep) $(if $(LAB),--world $(LAB))

test: setup build ## All tests: units, scripts in the simulated world, kernel lab
	@mkdir -p .cache/test
	CGO_ENABLED=1 go test -race -shuffle=on -timeout 40m -artifacts -outputdir $(CURDIR)/.cache/test ./...
	$(MAKE) --no-print-directory lab

lab: setup build ## The tests on real kernels; LAB=vagrant runs the scripts on virtual machines with DRBD 9
	@mkdir -p .cache/lab
	go test -tags $(LAB_TAGS) -p 2 -parallel 3 -count=1 -timeout 60m -v -artifacts -outputdir $(CURDIR)/.cache/lab $(LAB_TESTS)

soak: setup build ## Loss of power under a writer, and under all other work, fifty times on real kernels; ROUNDS=N for another number
	RVOL_SOAK_ROUNDS=$(or $(ROUNDS),50) go test -tags $(LAB_TAGS) -count=1 -timeout 5h -v -run 'TestNoAcknowledgedWriteIsLost|TestWorkEndsWhicheverNode' ./cmd/internal/lab/deploy

chaos: ## Everything goes wrong at once in the simulated world; SEED=N plays a run again; DURATION=1h of cluster time, DRBD=8.4
	RVOL_CHAOS_SEED=$(SEED) RVOL_CHAOS_DURATION=$(or $(DURATION),1h) RVOL_CHAOS_DRBD=$(DRBD) go test -count=1 -timeout 6h -v -run 'TestPromisesHoldInChaos' ./cmd/internal/lab/chaos

sim: build ## A simulated cluster to play with, without any privileges
	$(BIN)/rvol-lab up --world sim

lint: $(GOLANGCI) ## Lint with the pinned golangci-lint
	$(GOLANGCI) run ./...

fmt: $(GOLANGCI) ## Format
	$(GOLANGCI) fmt ./...

check: setup ## What CI runs besides the tests: format, lint, generated code, alerts
	@packaging/check.sh

generate: ## Protobuf code, man pages, completions; pinned tools; results are checked in
	@packaging/generate.sh

bench: build ## Ratios of DESIGN 11, one line each
	go test -run '^$$' -bench . -benchtime 1x -count 1 ./coordinator/... ./agent/... ./cmd/internal/bench/... | grep -E '^(RATIO|ok|FAIL|---|panic)'

fuzz: ## Every fuzz target for a minute
	@packaging/fuzz.sh $(or $(FUZZTIME),60s)

packages: build ## deb and rpm into dist/
	@packaging/packages.sh $(VERSION)

release: ## Packages built twice and compared, and looked into; the Vagrantfile validated (needs rpm, vagrant)
	@packaging/check-packages.sh $(VERSION)
	@packaging/check-vagrant.sh

help: ## This list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

$(GOLANGCI):
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: build setup demo test lab soak chaos sim lint fmt check generate bench fuzz packages release help
