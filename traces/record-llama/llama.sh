#!/bin/sh
# Finds llama.cpp for the recorder, or builds a release of it, and writes how to compile and link
# against it to the file $1, as variables for make. LLAMA_DIR: where it is installed or was built;
# "release": build the release even if pkg-config knows another. That is kept beside the file.
#
# The release is the source distribution of the Python package llama-cpp-python, which holds the
# sources of llama.cpp; nothing of Python is used.
set -eu

version=0.3.36
url=https://files.pythonhosted.org/packages/ec/e9/e7de2b0463ea3ffbf0ede6cb21b58c1258a8f6521aae45ca773a59fe7cf3/llama_cpp_python-$version.tar.gz
checksum=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e

fail() {
    echo "llama.sh: $1" >&2
    [ $# -lt 2 ] || echo "hint: $2" >&2
    exit 1
}
elsewhere='install llama.cpp, or say where it is: make recorder LLAMA_DIR=FOLDER'

out=$1
folder=$(dirname "$out")
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
release=$folder/release-$version

write_flags() { # compiler flags, linker flags
    { echo "LLAMA_CFLAGS := $1" && echo "LLAMA_LIBS := $2"; } >"$out.new"
    if cmp -s "$out.new" "$out"; then rm "$out.new"; else mv "$out.new" "$out"; fi
}

check_header() { # the folders of the headers
    for place in "$@"; do
        [ -e "$place/llama.h" ] || continue
        grep -q 'llama_version(void)' "$place/llama.h" ||
            fail "$place/llama.h: expected llama.cpp of October 2026 or later, found an older one" \
                'make recorder LLAMA_DIR=release'
        return 0
    done
    fail "no llama.h in $*" "$elsewhere"
}

use_folder() { # an installation, or a source tree that was built
    include="$1/include"
    [ ! -d "$1/ggml/include" ] || include="$include $1/ggml/include"
    # shellcheck disable=SC2086 # a list of folders
    check_header $include
    cflags=$(for place in $include; do printf -- '-isystem %s ' "$place"; done)
    shared=$(find "$1" -name libllama.so | head -n 1)
    if [ -n "$shared" ]; then
        place=$(dirname "$shared")
        write_flags "$cflags" "-L$place -Wl,-rpath,$place -lllama -lggml -lggml-base"
        return
    fi
    archives=$(find "$1" -name 'lib*.a' \( -name 'libllama.a' -o -name 'libggml*.a' \) | sort -u | tr '\n' ' ')
    [ -n "$archives" ] || fail "no libllama in $1" "$elsewhere"
    write_flags "$cflags" "-Wl,--start-group $archives -Wl,--end-group -lstdc++ -lm -ldl -pthread"
}

download() { # to the file $1
    command -v curl >/dev/null || fail 'curl was not found' "$elsewhere"
    echo "  GET   $url" >&2
    curl -fsSL --retry 3 -o "$1" "$url" || fail "$url cannot be downloaded" "$elsewhere"
    echo "$checksum  $1" | sha256sum -c --status - ||
        fail "$url: expected the sha256 sum $checksum, found $(sha256sum <"$1" | cut -d ' ' -f 1)"
}

build_release() {
    work=$release.work
    rm -rf "$work"
    mkdir -p "$work/source/vendor"
    download "$work/source.tar.gz"
    top=llama_cpp_python-$version/vendor/llama.cpp
    tar xzf "$work/source.tar.gz" -C "$work/source" --strip-components=3 "$top/CMakeLists.txt" \
        "$top/cmake" "$top/ggml" "$top/src" "$top/include" "$top/LICENSE"
    : >"$work/source/vendor/CMakeLists.txt" # what its tools need, which are not built
    command -v cmake >/dev/null || fail 'cmake was not found' '.ci/packages recorder'
    simd=''
    if grep -qw avx2 /proc/cpuinfo 2>/dev/null; then
        simd='-DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON'
    fi
    # Not for this very processor: kernels for the rarer instructions have crashed.
    # shellcheck disable=SC2086 # a list of options
    cmake -S "$work/source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
        -DGGML_NATIVE=OFF $simd -DGGML_OPENMP=OFF -DLLAMA_BUILD_COMMON=OFF \
        -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
        -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF >"$work/log" 2>&1 ||
        fail "cmake failed, see $work/log" "$elsewhere"
    echo "  BUILD llama.cpp of llama-cpp-python $version, some minutes" >&2
    cmake --build "$work/build" --target llama -j "$(nproc 2>/dev/null || echo 2)" \
        >>"$work/log" 2>&1 || fail "llama.cpp cannot be built, see $work/log" "$elsewhere"
    mkdir -p "$work/release/include" "$work/release/lib"
    cp "$work/source/include/"*.h "$work/source/ggml/include/"*.h "$work/release/include"
    find "$work/build" -name 'lib*.a' -exec cp {} "$work/release/lib" \;
    cp "$work/source/LICENSE" "$work/release"
    mv "$work/release" "$release"
    rm -rf "$work"
}

case ${LLAMA_DIR:-} in
'')
    if "${PKG_CONFIG:-pkg-config}" --exists llama 2>/dev/null; then
        cflags=$("${PKG_CONFIG:-pkg-config}" --cflags llama)
        include=$("${PKG_CONFIG:-pkg-config}" --variable=includedir llama)
        check_header "$include"
        write_flags "$cflags" "$("${PKG_CONFIG:-pkg-config}" --libs llama)"
        exit
    fi
    ;;
release) ;;
*)
    [ -d "$LLAMA_DIR" ] || fail "LLAMA_DIR: $LLAMA_DIR is no folder" "$elsewhere"
    use_folder "$(cd "$LLAMA_DIR" && pwd)"
    exit
    ;;
esac
[ -e "$release/lib/libllama.a" ] || build_release
use_folder "$release"
