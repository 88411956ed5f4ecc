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

help:
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' $(MAKEFILE_LIST) | \
		awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

demo: build ## three machines share a memory; watch them
	@scripts/demo

test: build test-programs ## all tests that take less than a minute each
	@scripts/test-all

check-long: build test-programs ## the long tests; resumes where it was stopped
	@scripts/test-all --long

check-debug: build test-programs ## the driver's suite on a kernel with KASAN, lockdep, kmemleak, ...
	@scripts/test-all --long check-debug

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
	$(MAKE) -C driver -s KDIR=$$kernel/headers \
		OUT=build/module/$$(cd $$kernel/lib/modules && echo *) module

tools: setup ## the user programs, librfm and librfmring, below build/
	@$(MAKE) -C tools -s
	@$(MAKE) -C ring -s

test-programs: setup
	@$(MAKE) -C tests/unit -s all
	@$(MAKE) -C tests/guest -s
	@$(MAKE) -C tests/litmus -s

image: module tools test-programs ## what the guests boot: build/guest/<kernel>/
	@scripts/guest-image $(KERNEL)

install: tools ## the programs, librfm, librfmring and man pages, below PREFIX (/usr/local)
	@$(MAKE) -C tools install
	@$(MAKE) -C ring install

clean: ## remove build/ (not the shared cache)
	rm -rf build

.PHONY: help demo test check-long check-debug fuzz lint build setup qemu module tools \
	test-programs image install clean
