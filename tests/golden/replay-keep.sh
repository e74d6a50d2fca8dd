# Kept sets in a file: the same bytes for any number of threads, whole or absent, and what cannot be.
try() {
    echo "\$ kvreplay replay $*" >&2
    "$KVREPLAY" replay "$@" --quiet
    echo "exit $?" >&2
}
trace="$TRACES/stories260k-512.h5"
cp "$TRACES/smollm2-nan-256.h5" own.h5
try "$trace" -o one --keep one.h5 --threads 1 --policy independent,mean,tova
try "$trace" -o many --keep many.h5 --threads 4 --policy independent,mean,tova
cmp one.h5 many.h5 && echo same bytes
head -c 4 one.h5 | tail -c 3 && echo

try "$trace" own.h5 -o out --keep sets.h5
try own.h5 -o out --keep own.h5
ln own.h5 link.h5
try own.h5 -o out --keep ./link.h5
try own.h5 -o out --keep no/such/folder.h5
mkdir folder.h5
try own.h5 -o out --keep folder.h5
try own.h5 -o out --keep sets.h5 --nan fail
(
    ulimit -f 64
    try "$trace" -o out --keep sets.h5 --budget 0.4 --page-size 1
)
cmp own.h5 "$TRACES/smollm2-nan-256.h5" && echo the trace is as it was
ls
ls out
