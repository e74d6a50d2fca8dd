# A signal in the middle of a replay leaves the tables of the run before, and nothing half-written.
# SIGTERM stands for all: a shell may run its children with SIGHUP or SIGINT ignored, and then so are they.
"$KVREPLAY" replay "$TRACES/smollm2-niah-1k.h5" -o out --quiet --samples 0 --layers 0 --scorer last || exit 1
cksum out/*.csv >before
"$KVREPLAY" replay "$TRACES/smollm2-niah-1k.h5" -o out --quiet --curve all --page-size 1,2,4,8,16,32 &
while [ ! -e out/measures.csv.tmp ]; do sleep 0.01; done
kill -s TERM $!
wait $!
echo "TERM: status $?"
cksum out/*.csv | diff before - && echo "the tables are as they were"
find out -name '*.tmp'
