# kvreplay: one Makefile. `make help` lists what it can do.
VARIANT  ?= release
BUILD    := build/$(VARIANT)
CC       ?= cc
PKGS     := hdf5 zlib
PKG_CONFIG ?= pkg-config

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef \
            -Wvla -Wconversion $(if $(CI),-Werror)
OPT_release := -O2 -g
OPT_asan    := -O1 -g -fsanitize=address -fno-omit-frame-pointer
OPT_ubsan   := -O1 -g -fsanitize=undefined -fno-sanitize-recover=all
OPT_tsan    := -O1 -g -fsanitize=thread

HAVE_DEFLATE := $(shell $(PKG_CONFIG) --exists libdeflate 2>/dev/null && echo 1)
ifeq ($(HAVE_DEFLATE),1)
PKGS += libdeflate
DEFINES += -DKVR_HAVE_LIBDEFLATE=1
else
DEFINES += -DKVR_HAVE_LIBDEFLATE=0
endif

# FMA contraction would change rounding, and with it kept sets, between machines.
CFLAGS   ?=
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -I. $(DEFINES) $(shell $(PKG_CONFIG) --cflags $(PKGS)) \
             $(WARNINGS) $(OPT_$(VARIANT)) -ffp-contract=off -pthread $(CFLAGS)
LIBS     = $(shell $(PKG_CONFIG) --libs $(PKGS)) -lm -pthread

LIBRARY_SOURCES := $(wildcard formats/base/*.c formats/*.c replay/*.c analysis/*.c plots/*.c \
                     traces/*.c)
CLI_SOURCES     := $(wildcard replay/cli/*.c)
TEST_SOURCES    := $(wildcard tests/test_*.c)
ORACLE_SOURCES  := $(wildcard tests/oracle/*.c)

LIBRARY := $(BUILD)/libkvreplay.a
COMMAND := $(BUILD)/kvreplay
object   = $(patsubst %.c,$(BUILD)/%.o,$(1))

.PHONY: all clean help
all: $(COMMAND)
	@if [ "$(VARIANT)" = release ]; then ln -sf release/kvreplay build/kvreplay; fi

$(LIBRARY): $(call object,$(LIBRARY_SOURCES))
	@rm -f $@
	ar rcs $@ $^

$(COMMAND): $(call object,$(CLI_SOURCES)) $(LIBRARY)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

clean:
	rm -rf build

-include $(shell find build -name '*.d' 2>/dev/null)
