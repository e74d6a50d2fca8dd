# A result that could not be printed is a failure, told once; a closed stream is never taken for a
# file of ours.
try() { # lists of names grow: usage.sh looks at those
    echo "\$ $1" >&2
    eval "$1" 2>message
    status=$?
    sed 's/the commands are .*/the commands are …/; s/^\(hint: the options of [a-z]*\): .*/\1: …/' message >&2
    echo "exit $status" >&2
}
try '"$KVREPLAY" help >/dev/full'
try '"$KVREPLAY" --version >/dev/full'
try '"$KVREPLAY" help >&-'
try '"$KVREPLAY" nonsense >/dev/full'
trace="$TRACES/stories260k-512.h5"
options='--samples 2 --layers 0 --policy mean --scorer last --budget 0.1 --page-size 1'
try '"$KVREPLAY" replay "$trace" -o full $options >/dev/full'
try '"$KVREPLAY" replay "$trace" -o closed $options --quiet <&- >&- 2>&-'
head -n 1 closed/excluded.csv
