# odvgp.h is one header: there is nothing to build in order to use it. This file builds the
# command-line tool, the demo and the tests. GNU make. `make help` lists the targets; CC, CXX,
# CFLAGS and SKIP_FLOAT=1 (tests in double only) may be given, for `make test` also FULL=1 (what its
# short form leaves out, too) and ALL=1 (that, and all programs in float), for `make cross` SHORT=1
# and CROSS="aarch64 s390x" (these targets alone).

CC       ?= cc
CXX      ?= c++
CFLAGS   ?= -O2
GCC      ?= gcc
GXX      ?= g++
CLANG    ?= clang
CLANGXX  ?= clang++
TIDY     ?= clang-tidy
CPPCHECK ?= cppcheck

WARN     := -Wall -Wextra -Wpedantic -Wconversion -Wshadow
INCLUDE  := -I. -Iexamples/tool
LIBS     := -lm -pthread
THREADS  := -DODVGP_USE_PTHREADS
B        := build
# Each test program is one C file; these two lists say which run in which precision.
TESTS       := $(sort $(basename $(notdir $(wildcard tests/test_*.c))))
# What aliases, threads, the pool and the tape save do does not depend on it.
NO_FLOAT    := test_alias test_costs test_pool test_threads test_tape
FLOAT_TESTS := $(if $(SKIP_FLOAT),,$(filter-out $(NO_FLOAT),$(TESTS)))
# `make test-isa` and `make sanitize` leave these in float to ALL=1, so as to end soon; `make test
# FULL=1` runs in float only what BRIEF_FLOAT names. In the short form only test_float_only does.
BRIEF_FLOAT := $(if $(FULL),test_products test_factors test_oracle test_densities test_gradient \
               test_compact test_uncertain)
# Builds that leave much out take long to compile: with FULL=1 and ALL=1 only.
BUILDS      := test_base_kernels test_terms
SLOW_FLOAT  := test_arguments test_base_kernels test_deep test_deep_images test_expressions \
               test_forged_files test_independent test_lbfgs test_likelihoods test_members \
               test_members_steps test_mixing test_model test_optim test_patches test_path \
               test_predict test_recovery test_rows test_save_load test_start test_terms \
               test_training
# These do not look at an instruction set, or call for nothing that others do not; the tool only
# chooses one.
NO_ISA      := test_alias test_arguments test_config test_costs test_deep_images test_export test_files \
               test_forged_files test_independent test_pool test_tape test_terms
EXAMPLES    := $(sort $(wildcard examples/[0-9]*.c)) examples/deep.c examples/casadi.c
LESSONS     := $(sort $(wildcard examples/lessons/[0-9]*.c))

MAKEFLAGS += --no-print-directory
ifeq (0$(filter -j%,$(MAKEFLAGS)),$(MAKELEVEL)) # not below a make that shares its jobs out
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
endif

.PHONY: all demo test test-isa export-test golden golden-write chaos cross cblas test-all soak \
        mutants sanitize tsan fuzz valgrind tidy standards symbols readme all-targets bench \
        fuzz-tables bench-large bench-float bench-peers bench-seconds bench-against \
        bench-ranks cost-curves examples lessons ports mpi-test install shared dist-arduino \
        dist-platformio packages cover size clean help
.DELETE_ON_ERROR:

## all: the command-line tool, build/odvgp
all: $(B)/odvgp

# One program from one source file, with the headers it included remembered for the next time.
compile = @mkdir -p $(@D) && echo "  cc    $@" && \
          $(CC) $(CFLAGS) $(INCLUDE) $(1) -MMD -MP -MF $@.d $< -o $@ $(LIBS)

$(B)/odvgp: examples/odvgp.c
	$(call compile,$(THREADS))
$(B)/demo: examples/demo.c
	$(call compile,$(THREADS))
$(B)/bench $(B)/f32/bench: LIBS += -ldl # other libraries to compare with are loaded while it runs
$(B)/bench: bench/bench.c
	$(call compile,$(THREADS))
$(B)/f32/bench: bench/bench.c
	$(call compile,$(THREADS) -DODVGP_FLOAT -DODVGP_KEEP_NAMES)

## demo: learn a real data set in four ways, less than a minute, with pictures in build/
demo: $(B)/demo
	@$(B)/demo --out $(B)

LESSON_PROGRAMS := $(LESSONS:examples/%.c=$(B)/%)
$(LESSON_PROGRAMS): $(B)/lessons/%: examples/lessons/%.c
	$(call compile,)
## lessons: seven lessons for readers of the papers: run, with pictures build/lesson1.svg to
##   build/lesson7.svg
lessons: $(LESSON_PROGRAMS)
	@for p in $^; do case $$p in */[0-9]_*) echo "== $$p"; \
	    case $$p in *save*) $$p save && $$p load ;; *) $$p ;; esac || exit 1 ;; esac; done

# ---- packages ----

PREFIX  ?= /usr/local
VERSION := $(shell awk '/define ODVGP_VERSION / { \
               printf "%d.%d.%d", $$3 / 10000, $$3 / 100 % 100, $$3 % 100 }' odvgp.h)
PACK    := examples/packaging
# Sets the version, and the prefix, of a package's description. $(call described,FROM,TO)
described = sed -e 's|@VERSION@|$(VERSION)|' -e 's|@PREFIX@|$(PREFIX)|' $(1) >$(2)

## install: the header, the tool and a pkg-config file: PREFIX=/usr/local, DESTDIR=
install: $(B)/odvgp
	@mkdir -p "$(DESTDIR)$(PREFIX)/include" "$(DESTDIR)$(PREFIX)/bin" \
	    "$(DESTDIR)$(PREFIX)/lib/pkgconfig"
	@install -m 644 odvgp.h "$(DESTDIR)$(PREFIX)/include/odvgp.h"
	@install -m 755 $(B)/odvgp "$(DESTDIR)$(PREFIX)/bin/odvgp"
	@$(call described,$(PACK)/odvgp.pc.in,"$(DESTDIR)$(PREFIX)/lib/pkgconfig/odvgp.pc")

## shared: build/libodvgp.so, for other languages; examples/packaging/odvgp.py uses it
shared: $(B)/libodvgp.so
$(B)/libodvgp.so: odvgp.h
	@mkdir -p $(@D) && echo "  cc    $@" && \
	    $(CC) $(CFLAGS) $(THREADS) -DODVGP_IMPLEMENTATION -fPIC -fvisibility=hidden \
	    '-DODVGP_API=extern __attribute__((visibility("default")))' -x c $< -shared -o $@ $(LIBS)

# A sketch with a model that is trained here, as a library for Arduino or for PlatformIO. $(call
# dist,NAME,DESCRIPTION)
$(B)/dist/model: CFLAGS := -O0
$(B)/dist/model: $(PACK)/model.c
	$(call compile,)
define dist
	@rm -rf $(B)/dist/$(1) && mkdir -p $(B)/dist/$(1)/odvgp/src $(B)/dist/$(1)/odvgp/examples/predict
	@cp odvgp.h $(B)/dist/$(1)/odvgp/src/ && cp LICENSE $(B)/dist/$(1)/odvgp/
	@cp $(PACK)/predict/* $(B)/dist/$(1)/odvgp/examples/predict/
	@$(B)/dist/model >$(B)/dist/$(1)/odvgp/examples/predict/model.h
	@$(call described,$(PACK)/$(2),$(B)/dist/$(1)/odvgp/$(2))
	@echo "$(B)/dist/$(1)/odvgp"
endef
## dist-arduino: an Arduino library, build/dist/arduino/odvgp
dist-arduino: $(B)/dist/model
	$(call dist,arduino,library.properties)
## dist-platformio: a PlatformIO library, build/dist/platformio/odvgp
dist-platformio: $(B)/dist/model
	$(call dist,platformio,library.json)

## packages: what these and examples/packaging/ make is used as its users would: make install,
##   CMake, Python, sketches
packages: $(B)/libodvgp.so $(B)/odvgp
	@MAKE="$(MAKE)" CC="$(CC)" CXX="$(CXX)" PYTHON="$(or $(PYTHON),python3)" \
	    sh tests/checks/packages.sh $(B)/packages

# ---- tests ----

# Tests use internals. The library is compiled once for each folder, as users compile it but with
# external linkage for its internals (tests/internals.awk, tests/library.c), and linked to all
# programs but those that compile it with options of their own.
OWN       := test_base_kernels test_config test_terms
LINKED    := $(filter-out $(OWN),$(TESTS))
INTERNALS := $(B)/internals
$(INTERNALS)/odvgp.h: PART := declarations
$(INTERNALS)/definitions.h: PART := definitions
$(INTERNALS)/odvgp.h $(INTERNALS)/definitions.h: odvgp.h tests/internals.awk
	@mkdir -p $(@D) && awk -v part=$(PART) -f tests/internals.awk $< >$@

object = @mkdir -p $(@D) && echo "  cc    $@" && $(CC) $(CFLAGS) $(1) -c $< -o $@
# $(call with_internals,FOLDER,OPTIONS): the library of a folder, and its programs. The header that
# these include is the derived one.
define with_internals
$(1)/internals.o: tests/library.c tests/hooks.h $(INTERNALS)/definitions.h
	$$(call object,-I$(INTERNALS) -DODVGP_USE_PTHREADS= $(2))
$(LINKED:%=$(1)/%): INCLUDE := -I$(INTERNALS) $(INCLUDE)
$(LINKED:%=$(1)/%): LIBS := $(1)/internals.o $(LIBS)
$(LINKED:%=$(1)/%.o): $(1)/%.o: tests/%.c $(INTERNALS)/odvgp.h
	$$(call object,$$(INCLUDE) -DODVGP_USE_PTHREADS= $(2) -MMD -MP -MF $$@.d)
$(LINKED:%=$(1)/%): $(1)/%: $(1)/%.o $(1)/internals.o
	@$$(CC) $$(CFLAGS) $$(INCLUDE) -DODVGP_USE_PTHREADS= $(2) $$< -o $$@ $$(LIBS)
endef
FLOAT := -DODVGP_FLOAT -DODVGP_KEEP_NAMES
# As users compile it; in the short form in two thirds of the time. With -O1 alone gcc's code is
# three times as slow.
QUICK := -O1 $(if $(findstring clang,$(CC)),,-fexpensive-optimizations)
LEVEL := $(if $(FULL)$(ALL),-O2,$(QUICK))
$(B)/internals.o $(B)/f32/internals.o: CFLAGS := $(LEVEL)
$(LINKED:%=$(B)/%) $(LINKED:%=$(B)/f32/%): CFLAGS := -Og
$(eval $(call with_internals,$(B)))
$(eval $(call with_internals,$(B)/f32,$(FLOAT)))
# The states of the pool are counted by the program itself.
$(B)/test_pool: CFLAGS := -O2
# gcc reads the derived header of most of these programs as it was after parsing. Where it does not
# fit, and with other compilers, they read the header itself. It fits objects compiled without
# -pthread; with test_pool's level gcc 12 does not refuse it, but crashes.
PARSED := $(filter-out test_pool,$(LINKED))
define precompiled
$(1)/odvgp.h.gch: CFLAGS := -Og
$(1)/odvgp.h.gch: $(INTERNALS)/odvgp.h
	$$(call object,$$(INCLUDE) -DODVGP_USE_PTHREADS= -DODVGP_IMPLEMENTATION= $(2) -x c-header)
$(PARSED:%=$(1)/%): INCLUDE := -I$(1) -I$(INTERNALS) $(INCLUDE)
$(PARSED:%=$(1)/%.o): $(1)/odvgp.h.gch
endef
$(eval $(call precompiled,$(B)))
$(eval $(call precompiled,$(B)/f32,$(FLOAT)))
# The others compile the whole header; with ODVGP_STATIC, functions that a program does not call are
# left out.
$(OWN:%=$(B)/%) $(OWN:%=$(B)/f32/%): CFLAGS := -O0
$(OWN:%=$(B)/%): $(B)/%: tests/%.c
	$(call compile,-DODVGP_STATIC=)
$(OWN:%=$(B)/f32/%): $(B)/f32/%: tests/%.c
	$(call compile,-DODVGP_STATIC= $(FLOAT))

# The library, shared by the programs that only call the public interface (SHARING, below).
$(B)/library.o $(B)/plain.o: CFLAGS := $(CFLAGS)
$(B)/sanitize/library.o: CFLAGS := $(QUICK) -fno-omit-frame-pointer -fsanitize=address
$(B)/library.o $(B)/sanitize/library.o: odvgp.h
	$(call object,$(THREADS) -DODVGP_IMPLEMENTATION -x c)
# Without options, for the numbered examples and the lessons as their comments compile them.
$(B)/plain.o: odvgp.h
	$(call object,-DODVGP_IMPLEMENTATION -x c)
$(B)/tool: CFLAGS := -O0
$(B)/tool: LIBS := $(B)/internals.o $(LIBS)
$(B)/tool: examples/odvgp.c $(B)/internals.o
	$(call compile,$(THREADS) -DODVGP__IMPLEMENTED)
# Data and models of all its tests.
$(B)/tool.data/trained: $(B)/tool tests/tool/tool.sh
	@sh tests/tool/tool.sh $< --data

# Three builds of the library in one program.
EACH         := $(B) $(B)/f32 $(B)/sanitize $(B)/sanitize/f32 $(B)/cover
BASE_KERNELS := $(EACH:%=%/test_base_kernels)
$(BASE_KERNELS): LIBS := tests/base_kernels_two.c tests/base_kernels_others.c $(LIBS)
$(BASE_KERNELS): tests/base_kernels_two.c tests/base_kernels_others.c tests/base_kernels.h

# Programs with the whole header at -O0: with sanitizers gcc takes ten times as long to optimise it.
# Those with the derived header at -Og, which drops what they do not use: 2.5 seconds each, not 13.
SANITIZER := -g -fno-omit-frame-pointer -fsanitize=address,undefined,float-divide-by-zero \
             -fno-sanitize-recover=all
SANITIZE  := -O0 $(SANITIZER)
$(B)/sanitize/internals.o $(B)/sanitize/f32/internals.o: CFLAGS := -Og
$(LINKED:%=$(B)/sanitize/%) $(LINKED:%=$(B)/sanitize/f32/%): CFLAGS := -Og
$(eval $(call with_internals,$(B)/sanitize,$$(SANITIZER)))
$(eval $(call with_internals,$(B)/sanitize/f32,$$(SANITIZER) $$(FLOAT)))
$(OWN:%=$(B)/sanitize/%): $(B)/sanitize/%: tests/%.c
	$(call compile,$(SANITIZE))
$(OWN:%=$(B)/sanitize/f32/%): $(B)/sanitize/f32/%: tests/%.c
	$(call compile,$(SANITIZE) $(FLOAT))
# This one compiles the header without padding.
$(B)/sanitize/test_config $(B)/sanitize/f32/test_config: SANITIZE += -fno-sanitize=alignment
# The library of the tool looks at addresses only, which takes a third of the time.
$(B)/sanitize/odvgp: LIBS := $(B)/sanitize/library.o $(LIBS)
$(B)/sanitize/odvgp: examples/odvgp.c $(B)/sanitize/library.o
	$(call compile,$(SANITIZE) $(THREADS) -DODVGP__IMPLEMENTED)

# The programs that start threads; tests of the stack's size are skipped.
TSAN := $(addprefix $(B)/tsan/,test_threads test_deep test_pool)
$(B)/tsan/internals.o $(TSAN): CFLAGS := -O1
$(eval $(call with_internals,$(B)/tsan,-g -fsanitize=thread))
## tsan: the pool, threads, and deep models with a pool, under the thread sanitizer
tsan: $(TSAN)
	@ODVGP_TEST_SHORT=1 ODVGP_TEST_POOL=3 sh tests/checks/run.sh $^

# The programs of one folder, and the commands that run them, what takes longest first: test_oracle
# reads its cases, the tool is driven by a script, which reads one subject in each command.
SUBJECTS := $(filter-out tool,$(basename $(notdir $(wildcard tests/tool/*.sh))))
LONGEST  := likelihoods race brief candidates time stop pictures targets
SUBJECTS := $(filter $(LONGEST),$(SUBJECTS)) $(filter-out $(LONGEST),$(SUBJECTS))
first    = $(filter %/$(1),$(2)) $(filter-out %/$(1),$(2))
programs = $(1)/odvgp $(call first,test_products,$(call first,test_warm,$(TESTS:%=$(1)/%)) \
           $(FLOAT_TESTS:%=$(1)/f32/%))
brief    = $(filter-out $(if $(ALL),,$(SLOW_FLOAT:%=$(1)/f32/%)),$(call programs,$(1)))
subjects = $(foreach s,$(SUBJECTS),"sh tests/tool/tool.sh $(1) $(s)")
program  = "$(1)$(if $(filter %/test_oracle,$(1)), tests/oracle)"
commands = $(foreach p,$(1),$(call $(if $(filter %/odvgp %/tool,$(p)),subjects,program),$(p)))
linked   = $(patsubst %/odvgp,%/tool,$(programs))
short    = $(if $(ALL),$(linked),$(filter-out $(1)/f32/% $(if $(FULL),,$(BUILDS:%=$(1)/%)), \
           $(linked)) $(filter $(BRIEF_FLOAT:%=$(1)/f32/%),$(linked)))

## test: tests in their short form, a minute and a half on two cores; needs only a C compiler;
##   FULL=1: all at full length, five minutes, as CI runs them; ALL=1: all in float, too
test: $(call short,$(B)) $(B)/tool.data/trained
	@$(if $(FULL)$(ALL),,ODVGP_TEST_SHORT=1) \
	    sh tests/checks/run.sh $(call commands,$(call short,$(B)))

## test-isa: the tests with every instruction set forced; ALL=1: at full length, all in float too
test-isa: $(filter-out $(B)/odvgp $(NO_ISA:%=$(B)/%) $(NO_ISA:%=$(B)/f32/%),$(call brief,$(B)))
	@$(if $(ALL),,ODVGP_TEST_SHORT=1) sh tests/checks/isa.sh $(B)/test_products $(call commands,$^)

## export-test: exported headers as C99 and C++17, run here and under qemu-user beside the library;
##   CROSS="aarch64" for this target alone
export-test: $(B)/test_export $(if $(SKIP_FLOAT),,$(B)/f32/test_export)
	@GCC="$(GCC)" GXX="$(GXX)" sh tests/checks/export.sh $< $(B)/export $(CROSS)
	@$(if $(SKIP_FLOAT),,GCC="$(GCC)" GXX="$(GXX)" sh tests/checks/export.sh $(B)/f32/test_export \
	    $(B)/f32/export none)

## sanitize: the tests under the address and undefined behaviour sanitizers; ALL=1: at full length,
##   all in float too
sanitize: $(call brief,$(B)/sanitize)
	@$(if $(ALL),,ODVGP_TEST_SHORT=1) sh tests/checks/run.sh $(call commands,$^)

## cross: the tests for other machines, under qemu, about an hour; SHORT=1 for some minutes
cross:
	@MAKE="$(MAKE)" CROSS="$(CROSS)" SHORT="$(SHORT)" \
	    SKIP_FLOAT="$(SKIP_FLOAT)" sh tests/checks/cross.sh $(B)/cross \
	    $(or $(PROGRAMS),$(TESTS) golden)

$(B)/soak: tests/long/soak.c
	$(call compile,)

## soak: 2,000 default steps of every member on six data sets, six minutes; build/soak.txt keeps
##   what has passed; WORDS=om:adam: of this one
soak: $(B)/soak $(B)/test_warm $(B)/test_densities $(B)/f32/test_densities $(B)/tool
	@[ ! -f $(B)/soak.txt ] || [ $(B)/soak.txt -nt $(B)/soak ] || rm $(B)/soak.txt
	@$(B)/soak $(B)/soak.txt $(WORDS)
	@$(if $(WORDS),,ODVGP_TEST_LONG=1 $(B)/test_warm few_rows)
	@$(if $(WORDS),,ODVGP_TEST_LONG=1 $(B)/test_densities)
	@$(if $(WORDS),,ODVGP_TEST_LONG=1 $(B)/f32/test_densities)
	@$(if $(WORDS),,ODVGP_TEST_LONG=1 sh tests/tool/tool.sh $(B)/tool stop)

## mutants: sixty wrong lines in odvgp.h, which tests must notice; a quarter of an hour;
##   WORDS="gemm natgrad" for those that name one of them
mutants:
	@MAKE="$(MAKE)" CC="$(CC)" sh tests/long/mutants.sh tests/long/mutants.txt $(B)/mutants $(WORDS)

# Models and answers for the firmware: products are not fused, as in the plain C of the machines.
$(B)/mcu/cases_of_host: CFLAGS := -O1
$(B)/mcu/cases_of_host: tests/mcu/cases.c
	$(call compile,-ffp-contract=off)
.PHONY: mcu mcu-write
## mcu: firmware for Cortex-M and RISC-V under qemu: predictions and training, code, stack,
##   instructions beside the committed tables; two minutes; MACHINES="m4f rv32" (m4f trains, too)
mcu: $(B)/mcu/cases_of_host
	@EXPECT="$(EXPECT)" MACHINES="$(MACHINES)" sh tests/mcu/run.sh $< $(B)/mcu
	@EXPECT="$(EXPECT)" MACHINES="$(MACHINES)" sh tests/mcu/train.sh $(B)/mcu
	@EXPECT="$(EXPECT)" MACHINES="$(MACHINES)" CC="$(CC)" sh tests/mcu/online.sh $(B)/mcu
## mcu-write: write those tables, after a growth that is meant
mcu-write: $(B)/mcu/cases_of_host
	@MACHINES="" sh tests/mcu/run.sh $< $(B)/mcu write
	@MACHINES="" sh tests/mcu/train.sh $(B)/mcu write
	@MACHINES="" CC="$(CC)" sh tests/mcu/online.sh $(B)/mcu write

# Hashes depend on the bits of every operation: no product may be fused with a sum (some compilers
# do by default, given -march).
$(B)/golden $(B)/f32/golden: CFLAGS := -O1
$(B)/golden: tests/golden/golden.c
	$(call compile,-ffp-contract=off)
$(B)/f32/golden: tests/golden/golden.c
	$(call compile,-ffp-contract=off $(FLOAT))
GOLDEN  = $(B)/golden $(if $(SKIP_FLOAT),,$(B)/f32/golden)
hashes  = tests/golden/$(if $(findstring f32,$(1)),float,double).txt

## golden: the bits of 300 trainings beside those in tests/golden; threads, files and instruction
##   sets agree; 30 seconds
golden: $(GOLDEN)
	@sh tests/checks/run.sh $(foreach p,$^,"$(p) $(call hashes,$(p))")

## golden-write: write tests/golden, after a change of bits that is meant
golden-write: $(GOLDEN)
	@sh tests/checks/run.sh $(foreach p,$^,"$(p) --write $(call hashes,$(p))")

# The short form runs under the sanitizers, the long one without, both in both precisions. It looks
# into the library, too: the long one links what the tests link.
$(B)/chaos: tests/long/chaos.c $(INTERNALS)/odvgp.h
	$(call compile,$(THREADS)=)
$(B)/f32/chaos: tests/long/chaos.c $(INTERNALS)/odvgp.h
	$(call compile,$(THREADS)= $(FLOAT))
$(B)/chaos $(B)/f32/chaos: CFLAGS := -Og
$(B)/chaos $(B)/f32/chaos: INCLUDE := -I$(INTERNALS) $(INCLUDE)
$(B)/chaos: LIBS := $(B)/internals.o $(LIBS)
$(B)/chaos: $(B)/internals.o
$(B)/f32/chaos: LIBS := $(B)/f32/internals.o $(LIBS)
$(B)/f32/chaos: $(B)/f32/internals.o
$(B)/sanitize/chaos: tests/long/chaos.c
	$(call compile,$(SANITIZE))
$(B)/sanitize/f32/chaos: tests/long/chaos.c
	$(call compile,$(SANITIZE) $(FLOAT))
CHAOS = $(if $(LONG),$(B),$(B)/sanitize)

CASES   = $(if $(LONG),$$((100000 - $(FROM))),2000)
FROM   ?= 0
WINDOW  = $(FROM) $$(($(FROM) + $(CASES)))
## chaos: random configs through a model's life, 2,000 (CASES=n, FROM=n) under the sanitizers;
##   LONG=1: up to 100,000 in each precision
chaos: $(CHAOS)/chaos $(if $(SKIP_FLOAT),,$(CHAOS)/f32/chaos)
	@$(if $(LONG),printf '%s\n' $^ | xargs -P 2 -I PROGRAM env PROGRAM $(WINDOW), \
	    sh tests/checks/run.sh $(foreach p,$^,"$(p) $(WINDOW)"))

# libFuzzer comes with clang (on Debian, libclang-rt-14-dev). Plain C, without what a target does
# not call, is faster to compile, and other instruction sets read no files. FUZZ=model runs one
# target only; HOURS=1 instead of SECONDS is for long runs.
SECONDS ?= 20
FUZZ    ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
$(B)/fuzz/fuzz_%: CC := $(CLANG)
$(B)/fuzz/fuzz_%: CFLAGS := -O1 -g -DODVGP_NO_SIMD -DODVGP_STATIC -fno-omit-frame-pointer \
                            -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
# Comparisons among numbers take more time to watch than all else, and the model files' seeds hold
# the few that matter.
$(B)/fuzz/fuzz_model: CFLAGS += -fno-sanitize-coverage=trace-cmp
$(B)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c
	$(call compile,)
## fuzz: mutated model files, tables on disk, kernels and CSV, 20 seconds each; SECONDS=600,
##   HOURS=1; SEED=n chooses the mutations; needs clang
fuzz: $(FUZZ:%=$(B)/fuzz/fuzz_%)
	@printf '%s\n' $(FUZZ) | SEED=$(SEED) xargs -P 2 -I TARGET sh tests/checks/fuzz.sh \
	    $(B)/fuzz $(if $(HOURS),$$(awk 'BEGIN { print int($(HOURS) * 3600) }'),$(SECONDS)) TARGET

## fuzz-tables: 100,000 random cuts and flips of tables on disk, half with their checksums mended,
##   under the sanitizers; CUTS=n; needs clang
fuzz-tables: $(B)/fuzz/fuzz_odvt
	@$< --cuts $(or $(CUTS),100000)

## valgrind: small tests and an example under valgrind
valgrind: $(B)/test_tape $(B)/test_products $(B)/test_factors
	@$(CC) -O1 -g -I. examples/02_streaming.c -o $(B)/valgrind_example -lm
	@printf '%s\n' test_tape "test_products small" "test_factors small" valgrind_example | \
	    xargs -P 2 -I P sh -c 'valgrind --quiet --error-exitcode=9 --leak-check=full $(B)/P'

# A CBLAS is looked for when it is asked for, not for every target. OpenBLAS's header includes
# <complex.h> unless told not to, which would make a macro of I.
CBLAS_PATH   = -DFORCE_OPENBLAS_COMPLEX_STRUCT $(shell pkg-config --cflags openblas 2>/dev/null)
CBLAS_LIBS   = $(or $(shell pkg-config --libs openblas 2>/dev/null),-lopenblas)
CBLAS_TESTS := test_products test_factors test_oracle test_adjoint test_kernels
CBLAS_ALL   := $(CBLAS_TESTS:%=$(B)/cblas/%) $(if $(SKIP_FLOAT),,$(CBLAS_TESTS:%=$(B)/cblas/f32/%))
$(eval $(call with_internals,$(B)/cblas,-DODVGP_USE_CBLAS $$(CBLAS_PATH)))
$(eval $(call with_internals,$(B)/cblas/f32,-DODVGP_USE_CBLAS $(FLOAT) $$(CBLAS_PATH)))
$(B)/cblas/internals.o $(B)/cblas/f32/internals.o: CFLAGS := $(QUICK)
$(CBLAS_ALL): LIBS += $(CBLAS_LIBS)
## cblas: the tests with large products sent to a CBLAS
cblas:
	@printf '#include <cblas.h>\nint main(void) { return 0; }\n' | \
	    $(CC) $(CBLAS_PATH) -x c - -o /dev/null $(CBLAS_LIBS) 2>/dev/null || \
	    { echo "make cblas needs a CBLAS with its header: on Debian, libopenblas-dev"; exit 1; }
	@$(MAKE) $(CBLAS_ALL)
	@sh tests/checks/run.sh $(call commands,$(CBLAS_ALL))

## test-all: everything that can be checked here: tests at every size, sanitizers, a CBLAS if
##   there, standards, symbols, examples, lint
test-all:
	@echo "== test"; ODVGP_TEST_ALL=1 $(MAKE) test ALL=1
	@for t in standards symbols export-test examples sanitize tidy \
	    $(if $(shell pkg-config --exists openblas 2>/dev/null && echo 1),cblas); do \
	    echo "== $$t"; $(MAKE) $$t ALL=1 || exit 1; done

## standards: the header alone, as C99 to C++17, with gcc and clang, warnings as errors; options;
##   two precisions together; the pool's code; the order of sections
standards:
	@WARN="$(WARN) -Werror" CLANG="$(CLANG)" sh tests/checks/run.sh \
	    "sh tests/checks/standards.sh $(B)/standards/gcc $(GCC) $(GXX) double" \
	    "sh tests/checks/standards.sh $(B)/standards/gcc-float $(GCC) $(GXX) float" \
	    "sh tests/checks/standards.sh $(B)/standards/clang $(CLANG) $(CLANGXX) double" \
	    "sh tests/checks/standards.sh $(B)/standards/clang-float $(CLANG) $(CLANGXX) float" \
	    "sh tests/checks/pool_code.sh $(B)/standards/pool"
	@sh tests/checks/sections.sh

## symbols: no name without the prefix, no writable data, nothing from libc that prints or exits;
##   the rules of the interface
symbols:
	@sh tests/checks/interface.sh
	@CC="$(CC)" sh tests/checks/symbols.sh $(B)/symbols

## readme: what README shows: commands, figures, links; how long it and bench/*.md are; half a
##   minute
readme: $(B)/odvgp
	@CC="$(CC)" sh tests/checks/readme.sh $< $(B)/readme

## all-targets: compile everything that this file can, measurements and peers included; what
##   lacks packages is named
all-targets:
	@MAKE="$(MAKE)" CC="$(CC)" CLANG="$(CLANG)" CBLAS_FLAGS="$(CBLAS_PATH) $(CBLAS_LIBS)" \
	    CBLAS_PROGRAMS="$(CBLAS_ALL)" sh tests/checks/all_targets.sh $(B)

## examples: the numbered examples and the lessons: compile, run, compare with the output that
##   their first comment promises
examples: $(B)/plain.o
	@LIBRARY=$< sh tests/checks/run.sh \
	    $(foreach e,$(EXAMPLES) $(LESSONS),"sh tests/checks/examples.sh $(e)")

## mpi-test: examples/mpi.c with mpirun: 1, 2 and 4 processes, a signal, a kill, going on; skipped
##   where MPI is not installed (EXPECT=1: an error)
mpi-test: $(B)/plain.o
	@CC="$(CC)" CFLAGS="$(CFLAGS)" sh tests/checks/mpi.sh $(B) $(abspath $<)

## ports: the tool, the demo and five examples with MinGW-w64 (run under wine), musl and tcc, as
##   far as these are installed; ALL=1: all examples
ports:
	@ALL=$(ALL) sh tests/checks/ports.sh $(B)/ports

TIDY_DIRS  := examples examples/lessons examples/packaging tests tests/golden tests/long bench \
              bench/papers
# tests/library.c is odvgp.h itself, which is looked at as it is; examples/mpi.c needs MPI.
TIDY_FILES := $(filter-out tests/library.c examples/mpi.c, \
                $(sort $(wildcard $(addsuffix /*.c,$(TIDY_DIRS)))))
tidy_part   = "env TIDY=$(TIDY) CPPCHECK=$(CPPCHECK) INTERNALS=$(INTERNALS) \
                sh tests/checks/tidy.sh $(1) 4 $(TIDY_FILES)"
TIDY_PARTS := $(foreach n,0 1 2 3,$(call tidy_part,$(n)))
## tidy: clang-tidy and cppcheck
tidy: $(INTERNALS)/odvgp.h
	@OWN="$(OWN)" sh tests/checks/run.sh $(TIDY_PARTS)

# ---- measuring ----

## bench: linear algebra beside OpenBLAS and BLIS, flops, time by operation, training steps; some
##   minutes
bench: $(B)/bench
	@$(B)/bench

$(B)/peers.so $(B)/f32/peers.so: bench/peers/ours.c
	$(call compile,$(THREADS) -shared -fPIC $(if $(findstring f32,$@),$(FLOAT)))
## bench-peers: training steps and predictions beside PyTorch, GPyTorch, GPflow and NumPy, by turns
##   in one process; PYTHON=one that has them, PEERS="--large on --rows orth"; ten minutes
bench-peers: $(B)/peers.so $(B)/f32/peers.so
	@for run in "$(B)/peers.so --threads 1" "$(B)/peers.so --threads 2" \
	    "$(B)/f32/peers.so --threads 2"; do \
	    $(or $(PYTHON),python3) bench/peers/table.py $$run $(PEERS) || exit 1; done

## bench-seconds: GPflow, scikit-learn and LightGBM beside the tool at equal seconds of a processor:
##   DATA=dir; SETS="bike energy", BUDGETS="10 30 100", SPLIT=0, FORMER=another tool, PYTHON=one
##   that has them
bench-seconds: $(B)/odvgp
	@BUDGETS="$(or $(BUDGETS),10 30 100)" SPLIT="$(or $(SPLIT),0)" FORMER="$(FORMER)" \
	    $(or $(PYTHON),python3) bench/peers/seconds.py $< "$(DATA)" $(B)/bench-seconds $(SETS)

## bench-float: the same in float
bench-float: $(B)/f32/bench
	@$(B)/f32/bench

$(B)/large: bench/large.c
	$(call compile,)
## bench-large: houseelectric's shape from a table on disk in 300 MB, and steps on up to 1e8 rows of
##   a callback; ten minutes
bench-large: $(B)/odvgp $(B)/large
	@sh bench/large.sh $^

# Both headers are compiled the same way, into one shared object each.
AGAINST = $(B)/against/this.so $(B)/against/other.so
$(B)/against/this.so: HEADER = odvgp.h
$(B)/against/other.so: HEADER = $(abspath $(OTHER))
$(B)/against/other.so: $(OTHER)
$(AGAINST): bench/against_side.c
	$(call compile,-shared -fPIC -DAGAINST_HEADER='"$(HEADER)"')
$(B)/against/against: LIBS += -ldl
$(B)/against/against: bench/against.c
	$(call compile,)
## bench-against: steps and predictions beside those of another version:
##   OTHER=path/to/other/odvgp.h; ONLY="steps --large"; five minutes
bench-against: $(B)/against/against $(if $(OTHER),$(AGAINST))
	@test -n "$(OTHER)" || { echo "make $@ needs OTHER=path/to/other/odvgp.h"; exit 1; }
	@$(B)/against/against $(abspath $(AGAINST)) $(ONLY)

$(B)/ranks: bench/ranks.c
	$(call compile)
## bench-ranks: what several processes gain: messages and bytes counted, strong and weak scaling on
##   the cores there are, the share of a warm start; from these, times over networks; minutes
bench-ranks: $(B)/ranks
	@$<

$(B)/cost: bench/cost.c
	$(call compile,$(THREADS))

# Runs a command, keeps what it prints in a file and shows it. $(call kept,COMMAND,FILE)
kept = @$(1) >$(2); status=$$?; cat $(2); exit $$status

COST := $(B)/cost-curves$(if $(CPU),-cpu)
## cost-curves: milliseconds per step against each size, as a table and a picture: CPU=1 on a busy
##   machine; five minutes, goes on when run again
cost-curves: $(B)/cost
	@mkdir -p $(COST) && \
	    { [ ! -f $(COST)/rows.csv ] || [ $(COST)/rows.csv -nt $(B)/cost ] || rm $(COST)/rows.csv; }
	@$(B)/cost run --out $(COST) $(if $(CPU),--cpu)
	$(call kept,$(B)/cost report --out $(COST) $(if $(CPU),--cpu),$(COST)/cost-curves.txt)

include bench/studies.mk

# Programs that only call the public interface share one object of the library: the guard leaves
# their own copies of the implementation out.
SHARING := $(addprefix $(B)/,odvgp demo soak) $(LESSON_PROGRAMS) $(PAPERS)
$(SHARING): INCLUDE += -DODVGP__IMPLEMENTED
$(SHARING): LIBS := $(B)/library.o $(LIBS)
$(SHARING): $(B)/library.o

# ---- coverage, sizes ----

$(B)/cover/internals.o $(TESTS:%=$(B)/cover/%): CFLAGS := -O1
$(eval $(call with_internals,$(B)/cover,--coverage))
# One with the code of a controller, and of two that lack something.
COMPACT := $(EACH:%=%/test_compact)
$(COMPACT): LIBS += tests/compact_only.c tests/compact_few.c tests/compact_others.c
$(COMPACT): tests/compact_only.c tests/compact_few.c tests/compact_others.c \
            tests/compact_only.h odvgp.h
FLOAT_ONLY := $(EACH:%=%/test_float_only)
$(FLOAT_ONLY): LIBS += tests/float_only.c
$(FLOAT_ONLY): tests/float_only.c tests/float_only.h odvgp.h
$(OWN:%=$(B)/cover/%): $(B)/cover/%: tests/%.c
	$(call compile,--coverage)

## cover: lines of odvgp.h that the tests reach (gcc, gcov)
cover: $(TESTS:%=$(B)/cover/%)
	@sh tests/checks/cover.sh $(B)/cover $(TESTS)

## size: code size of the header under some options
size:
	@CC="$(CC)" sh tests/checks/size.sh $(B)/size

## clean: remove build/
clean:
	@rm -rf $(B)

## help: this list
help:
	@awk '/^## [a-z0-9-]+: / { target = $$2; sub(/:/, "", target); sub(/^## [^ ]* /, "") } \
	    /^##   / { sub(/^##  /, "") } \
	    !target { next } \
	    /^[a-z0-9-]+:/ { printf "  make %-20s %s\n", target, text; target = text = ""; next } \
	    { text = text $$0 }' $(filter %Makefile %.mk,$(MAKEFILE_LIST))

-include $(wildcard $(B)/*.d $(B)/*/*.d $(B)/*/*/*.d)
