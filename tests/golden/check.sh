# The damaged trace with every fault that its README names, in lines and as JSON; sound traces.
check() {
    echo "\$ kvreplay check $*"
    "$KVREPLAY" check "$@"
    echo "exit $?"
}
check "$TRACES/smollm2-nan-256.h5"
check --limit 2 --threads 3 "$TRACES/smollm2-nan-256.h5"
check --layers 0,2 --json "$TRACES/smollm2-nan-256.h5"
check "$TRACES/smollm2-niah-1k.h5"
check "$TRACES/stories260k-512.h5" --samples 0,2 --layers 1-3
