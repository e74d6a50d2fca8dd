# What the command says to lines that are wrong, and its exit status.
try() {
    echo "\$ kvreplay $*" >&2
    "$KVREPLAY" "$@"
    echo "exit $?" >&2
}
try
try halp
try nonsense
try help nonsense
try help --verbose
try help one two
try --version
