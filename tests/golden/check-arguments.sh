# What check says to samples, layers and numbers that there are not.
try() {
    echo "\$ kvreplay $*" >&2
    "$KVREPLAY" "$@"
    echo "exit $?" >&2
}
trace="$TRACES/smollm2-niah-1k.h5"
try check
try check --samples 0,7 "$trace"
try check --layers 0,99 "$trace"
try check --layers 3-1 "$trace"
try check --layers x "$trace"
try check --threads 0 "$trace"
try check --limit -1 "$trace"
try check missing.h5
