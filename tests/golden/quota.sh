# The paper's layer quotas, as a page and as JSON, and requests that cannot be met.
try() {
    echo "\$ kvreplay quota $*"
    "$KVREPLAY" quota "$@" 2>&1
    echo "exit $?"
}
try --layers 32 --kv-heads 8 --page 16 --budget 32768
try --layers 32 --kv-heads 8 --page 16 --budget 35000
try --layers 3 --kv-heads 2 --page 4 --budget 33 --json
try --layers 1 --kv-heads 1 --page 1 --budget 1
try --layers 4 --kv-heads 2 --page 16 --budget 31
try --layers 32 --kv-heads 8 --page 16
try --layers 0 --kv-heads 8 --page 16 --budget 1
try --layers 32 --kv-heads 8 --page 18446744073709551615 --budget 1
try --layers 32 --kv-heads 8 --page 16 --budget 0.5
