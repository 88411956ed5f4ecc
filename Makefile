# SPDX-License-Identifier: MIT
# The front door. `make help` lists what there is.
#
# Everything that is built goes to build/; QEMU's stock build and kernels are
# shared between checkouts in ${XDG_CACHE_HOME:-~/.cache}/rfm.

# Kernel of the guests: empty for Debian's newest 6.1, or e.g. KERNEL=6.12
KERNEL ?=

ifneq ($(words $(CURDIR)),1)
$(error the path of this checkout has a blank in it, with which neither kbuild nor QEMU can build)
endif

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
parallel := -j$(shell nproc)

help:
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | \
		awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

demo: build ## three machines share a memory; watch them
	@scripts/demo

quick: tools ## what needs no machine, in a minute and a half: for each edit
	@$(MAKE) -C tests/unit -s $(parallel) all
	@scripts/test-all --tier quick

test: build ## every feature once, in ten minutes; SUITES="NAME ..." for some
	@scripts/test-all $(SUITES)

check: build ## every test but the long ones; resumes where it was stopped
	@scripts/test-all --tier check --resume

check-long: build ## the long tests; resumes where it was stopped; SUITES="NAME ..." for some
	@scripts/test-all --resume $(or $(SUITES),--tier long)

check-kernels: build ## the driver on the kernels that people run; KERNELS="6.1-rt ..." for some
	@tests/kernels $(KERNELS)

check-debug: build ## the driver's suite on a kernel with KASAN, lockdep, kmemleak, ...
	@scripts/test-all --resume check-debug

bench: build ## the card beside what people use instead, six minutes; BASE=report.json to compare with
	@tests/bench/main.py $(if $(BASE),--base $(BASE))

coverage: setup ## which lines of driver, card and ring the suites run; SUITES="NAME ..." for some
	@tests/coverage $(SUITES)

fuzz: setup ## ten million inputs to the fuzzers; RUNS=N for another number
	@tests/fuzz/run --runs $(or $(RUNS),10000000)

lint: setup ## style and static checks
	@scripts/lint

build: qemu image ## everything the lab needs

setup: ## install missing Debian packages (root or sudo)
	@scripts/setup

qemu: setup ## QEMU with the card: build/qemu/qemu-system-x86_64
	@scripts/qemu-build

module: setup ## the driver: build/module/<kernel>/rfm.ko
	@kernel=$$(scripts/kernel-get $(KERNEL)) && \
	out=build/module/$$(cd $$kernel/lib/modules && echo *) && \
	$(MAKE) -C driver -s $(parallel) KDIR=$$kernel/headers OUT=$$out module && \
	$(MAKE) -C tests/guest/foreign -s KDIR=$$kernel/headers OUT=$$out/foreign module

tools: setup ## the user programs, librfm, librfm2g and librfmring, below build/
	@$(MAKE) -C tools -s $(parallel)
	@$(MAKE) -C ring -s $(parallel)

test-programs: setup
	@$(MAKE) -C tests/unit -s $(parallel) all
	@$(MAKE) -C tests/guest -s $(parallel)
	@$(MAKE) -C tests/litmus -s $(parallel)

image: module tools test-programs ## what the guests boot: build/guest/<kernel>/
	@scripts/guest-image $(KERNEL)

install: tools ## the programs, librfm, librfmring and man pages, below PREFIX (/usr/local)
	@$(MAKE) -C tools install
	@$(MAKE) -C ring install

version := $(file <VERSION)
dist: ## build/rfm-VERSION.tar.gz: what is committed, the same bytes each time
	@git diff --quiet HEAD -- || { echo "make dist: commit first what you have changed" >&2; exit 1; }
	@mkdir -p build
	@git -c tar.umask=0022 archive --prefix=rfm-$(version)/ -o build/rfm-$(version).tar.gz HEAD
	@echo build/rfm-$(version).tar.gz

deb: ## Debian packages of all of it, in build/deb; see docs/install.md
	@scripts/deb

clean: ## remove build/ (not the shared cache)
	rm -rf build

.PHONY: help demo bench quick test check check-long check-kernels check-debug coverage fuzz lint build setup qemu module tools \
	test-programs image install dist deb clean
