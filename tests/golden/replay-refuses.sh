# Replays that cannot be: one line each, and nothing is left or lost.
try() {
    echo "\$ kvreplay replay $*" >&2
    "$KVREPLAY" replay "$@" >/dev/null
    echo "exit $?" >&2
}
good="$TRACES/stories260k-512.h5"
cp "$good" good.h5
head -c 100000 good.h5 >cut.h5
echo 'not a trace' >text.h5
mkdir folder.h5

try good.h5
try missing.h5 -o out
try cut.h5 -o out
try text.h5 -o out
try folder.h5 -o out
try good.h5 good.h5 -o out
try good.h5 -o good.h5
try good.h5 -o good.h5/out
try good.h5 -o out --samples 0,7
try good.h5 -o out --layers 5
try good.h5 -o out --layers x
try good.h5 -o out --policy mean,meen
try good.h5 -o out --policy mean,mean
try good.h5 -o out --scorer least
try good.h5 -o out --scorer window:0
try good.h5 -o out --scorer column:gate
try good.h5 -o out --budget 0
try good.h5 -o out --budget 1.01
try good.h5 -o out --budget 5e-2
try good.h5 -o out --budget 0.1,
try good.h5 -o out --page-size 0
try good.h5 -o out --page-reduce min
try good.h5 -o out --tau 0
try good.h5 -o out --tau nan
try good.h5 -o out --alpha 0
try good.h5 -o out --sinks -1
try good.h5 -o out --entropy-window 0
try good.h5 -o out --match exact
try good.h5 -o out --nan ignore
try good.h5 -o out --threads 0
try good.h5 -o out --device tpu
try good.h5 -o out --device opencl:
ls

# A failure half-way leaves the tables of the run before.
"$KVREPLAY" replay good.h5 -o out --layers 0 --budget 0.5 --quiet
cksum out/*.csv >before
try good.h5 "$TRACES/smollm2-nan-256.h5" -o out --nan fail
cksum out/*.csv | cmp - before && echo 'the tables are as before'
find . -name '*.tmp'
