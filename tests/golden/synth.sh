# Synthetic traces: the summary, what check finds in them, and options that are wrong.
try() {
    echo "\$ kvreplay $*"
    echo "\$ kvreplay $*" >&2
    "$KVREPLAY" "$@"
    echo "exit $?" >&2
}
try synth a.h5
try synth b.h5 --samples 2 --tokens 200 --rows 50 --pad 4 --window 64 --mixed-heads --columns \
    --needles 3 --element bfloat16-uint16 --byte-order big --storage chunked --fletcher32
try synth c.h5 --tokens 100 --rows 100 --decode 1 --layers 1 --needles 0 --qkv --element double \
    --storage contiguous
try check a.h5
try check b.h5
try check c.h5
try synth --threads 1 again.h5
cmp a.h5 again.h5 && echo "the same file"
try synth nowhere/a.h5
try synth .
try synth /dev/null
try synth d.h5 --element int8
try synth d.h5 --storage tape
try synth d.h5 --accumulated maybe
try synth d.h5 --tokens 0
try synth d.h5 --tokens 2000000
try synth d.h5 --depth 1.01
try synth d.h5 --nan -0.1
try synth d.h5 --rows 2000
try synth d.h5 --kv-heads 3
try synth d.h5 --tokens 20
try synth d.h5 --storage contiguous --fletcher32
try synth d.h5 --qkv --ties
try synth d.h5 --qkv --tokens 100000
try synth d.h5 --head-dim 8
ls
