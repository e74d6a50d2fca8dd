# Command lines of replay that are wrong in themselves: status 2 before any file is looked at.
try() {
    echo "\$ kvreplay replay $*" >&2
    "$KVREPLAY" replay "$@"
    echo "exit $?" >&2
}
try
try t.h5 -o
try t.h5 -o out --polcy mean
try t.h5 -o out --layer 1
try t.h5 -o out --quiet=1
try t.h5 -o out -o out
try t.h5 -o out --budget 1.5
try t.h5 -o out --budget 0.1,0.1
try t.h5 -o out --budget -0.1
try t.h5 -o out --page-size 1.5
try t.h5 -o out --page-size 16,016
try t.h5 -o out --scorer last,last
try t.h5 -o out --scorer window:0
try t.h5 -o out --policy mine=last/median
try t.h5 -o out --policy mine=last/head/none/none/layer:0.2
try t.h5 -o out --policy mine=last/mean/avg:4
try t.h5 -o out --policy mean=last/mean,mean
try t.h5 -o out --samples ''
try t.h5 -o out --alpha -1
try t.h5 -o out --match physical,nominal
ls
