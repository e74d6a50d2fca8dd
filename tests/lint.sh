#!/bin/sh
# Static checks: layout, two analysers, the shell scripts, the layering. CFLAGS: how it is compiled.
set -u
cd "$(dirname "$0")/.." || exit 1
: "${CFLAGS:=-std=c11 -D_GNU_SOURCE -I.}"
jobs=$(nproc 2>/dev/null || echo 2)

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
find formats replay analysis plots traces tests -name '*.[ch]' 2>/dev/null | sort >"$scratch/files"
# The oracle is naive on purpose and trusts its input: only its layout is checked.
grep '\.c$' "$scratch/files" | grep -v '^tests/oracle/' >"$scratch/sources"

# One file needs MPI's header: it is analysed where that is installed.
if mpi=$(${PKG_CONFIG:-pkg-config} --cflags mpi-c 2>/dev/null); then
    CFLAGS="$CFLAGS $(echo "$mpi" | sed 's/-I/-isystem /g')"
else
    sed -i '/\/ranks_mpi\.c$/d' "$scratch/sources"
fi

layout() { # other versions of the program break lines elsewhere
    if clang-format --version | grep -q 'version 14\.'; then
        xargs clang-format --dry-run --Werror <"$scratch/files"
    else
        echo "skipped: the layout is that of clang-format 14; found $(clang-format --version)"
    fi
}

tidy() {
    # shellcheck disable=SC2086 # a list of flags
    flags=$(printf '%s\n' $CFLAGS | grep -v '^-W')
    # The recorder needs the headers of llama.cpp.
    if [ -n "${LLAMA_CFLAGS:-}" ]; then
        cp "$scratch/sources" "$scratch/tidied"
    else
        echo 'skipped: the recorder, whose llama.cpp "make recorder" finds or fetches'
        grep -Ev '^(traces/record-llama|tests/recorder)/' "$scratch/sources" >"$scratch/tidied"
    fi
    # shellcheck disable=SC2086
    xargs -P "$jobs" -I FILE clang-tidy --quiet FILE -- $flags ${LLAMA_CFLAGS:-} \
        <"$scratch/tidied" \
        2>"$scratch/tidy.err" || { grep -v 'warnings\? generated' "$scratch/tidy.err"; false; }
}

analyse() {
    cppcheck --quiet --std=c11 --language=c --error-exitcode=1 --inline-suppr -j "$jobs" -I . \
        --enable=warning,performance,portability --suppress=missingInclude \
        --suppress=missingIncludeSystem --suppress=readdirCalled \
        --suppress=invalidFunctionArg --suppress=arrayIndexThenCheck \
        --suppress=invalidPointerCast --library=posix --file-list="$scratch/sources"
}

scripts() {
    grep -lE '^#!.*(sh|bash)$' .ci/* tests/*.sh tests/*/*.sh traces/*.sh traces/*/*.sh 2>/dev/null |
        xargs shellcheck
}

failed=''
for part in layout scripts analyse tidy; do
    echo "== $part"
    "$part" || failed="$failed $part"
done
echo '== layering'
tests/layering.sh || failed="$failed layering"
[ -z "$failed" ] || { echo "FAILED:$failed"; exit 1; }
echo 'lint: clean'
