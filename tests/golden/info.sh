# The page that tells what a trace holds, the same as JSON, and traces that cannot be opened.
"$KVREPLAY" info "$TRACES/smollm2-niah-1k.h5"
echo
"$KVREPLAY" info "$TRACES/stories260k-512.h5"
echo
"$KVREPLAY" info --json "$TRACES/smollm2-nan-256.h5"
try() {
    echo "\$ kvreplay $*" >&2
    "$KVREPLAY" "$@"
    echo "exit $?" >&2
}
try info
try info missing.h5
echo nonsense >nonsense.h5
try info nonsense.h5
