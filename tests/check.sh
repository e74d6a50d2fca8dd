#!/bin/sh
# Runs the parts of the tests, all or those named, and says at the end which failed.
# BUILD is the folder of the build to test.
set -u
here=$(dirname "$0")
root=$(cd "$here/.." && pwd)
build=$(cd "${BUILD:-build/release}" && pwd) || exit 1
export KVREPLAY="$build/kvreplay" TRACES="${TRACES:-$root/traces}" BUILD="$build"
cd "$root" || exit 1

# On kernels with many random bits in addresses the thread sanitizer cannot place its shadow.
run=''
if [ "${VARIANT:-}" = tsan ] && setarch -R true 2>/dev/null; then
    run='setarch -R'
fi
# Tests ask for more memory than there is: that is an answer to test, not a crash.
export ASAN_OPTIONS="allocator_may_return_null=1:${ASAN_OPTIONS:-}"
export TSAN_OPTIONS="allocator_may_return_null=1:${TSAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"

[ $# -gt 0 ] || set -- layering suites usage golden oracle example shards report recorder-py
failed=''
for part in "$@"; do
    echo "== $part"
    case $part in
    suites) $run "$build/tests/run_suites" ;;
    gpu)
        "$build/tests/run_suites" gpu gpu_rows gpu_columns gpu_cuda && tests/gpu.sh
        ;;
    example | golden | layering | oracle | recorder-py | report | shards | usage) $run "tests/$part.sh" ;;
    *) echo "unknown part; there are layering, suites, usage, golden, oracle, example, shards, report, recorder-py, gpu" >&2 && false ;;
    esac || failed="$failed $part"
done
if [ -n "$failed" ]; then
    echo "FAILED:$failed"
    exit 1
fi
echo "all parts passed: $*"
