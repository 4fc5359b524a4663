# What a person types. The work is in scripts/, apps/Makefile and cargo.

.DEFAULT_GOAL := help
.PHONY: help demo test bench picture apps setup-demo setup-test setup-bench

help:
	@echo "make demo        record a real MPI program on 4 ranks and leave a report of it"
	@echo "make test        every check: format, lints, programs, unit and whole tests, web"
	@echo "make bench       what recording costs and what records take, as tables"
	@echo "make picture     take the picture of a report that the README shows"
	@echo "make apps        only build the demonstration and test programs"
	@echo "make setup-demo  only install what \`make demo\` needs (Debian packages, with apt-get)"
	@echo "make setup-test  only install what \`make test\` needs"
	@echo
	@echo "demo, test, bench and picture install what is missing by themselves, after saying what."

setup-demo:
	@scripts/setup.sh demo

setup-test:
	@scripts/setup.sh test

setup-bench:
	@scripts/setup.sh bench

demo: setup-demo
	@scripts/demo.sh

test: setup-test
	@scripts/test.sh

bench: setup-bench
	@scripts/bench.sh

picture: setup-demo
	@scripts/picture.sh

apps:
	@$(MAKE) --no-print-directory -C apps
