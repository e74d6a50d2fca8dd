# Shards of a replay, and what merge refuses: each with one line that names the folder.
cp "$TRACES/stories260k-512.h5" t.h5
shard() { # number, folder, options
    number=$1
    folder=$2
    shift 2
    "$KVREPLAY" replay t.h5 --scorer last --quiet --shard "$number" -o "$folder" "$@"
}
shard 1/3 a
shard 2/3 b
shard 3/3 c
ls a
"$KVREPLAY" merge c a b -o out
"$KVREPLAY" replay t.h5 --scorer last --quiet -o whole
for table in whole/*.csv; do cmp "$table" "out/${table#*/}"; done
ls out
grep -c '"folder"' out/run.json

merge() {
    "$KVREPLAY" merge "$@" -o refused
    echo "exit $?" >&2
}
merge a b
merge a
merge a b c b
merge a b whole
merge a b nothing
merge
shard 3/4 other-count
merge a b other-count
shard 3/3 other-options --tau 0.7 --budget 0.1
merge a b other-options
cp "$TRACES/smollm2-nan-256.h5" t.h5
shard 3/3 other-trace
merge a b other-trace
cp -R c other-version
sed 's/"version": "[^"]*"/"version": "0.0.0"/' c/run.json >other-version/run.json
merge a b other-version 2>version
sed 's/expected [0-9.]*,/expected VERSION,/' version >&2
cp -R c cut
for part in cut/parts/*.part; do truncate -s 100 "$part"; done
merge a b cut
rm cut/parts/*.part
merge a b cut
cp -R c mixed
rm mixed/parts/*.part
for part in a/parts/*.part; do
    for name in c/parts/*.part; do cp "$part" "mixed/parts/${name##*/}"; done
done
merge a b mixed
ls refused

# Tables get a folder of their own, and so does each shard.
"$KVREPLAY" merge a b c -o b
echo "exit $?" >&2
"$KVREPLAY" merge a b c
echo "exit $?" >&2
cp "$TRACES/stories260k-512.h5" t.h5
shard 2/3 a
echo "exit $?" >&2
for wrong in 0/3 4/3 1 /2 1/ 1/2/3 1/0; do
    shard $wrong d
    echo "exit $?" >&2
done
# Kept sets go to one file, so nothing may cut the replay.
shard 1/3 d --keep kept.h5
echo "exit $?" >&2
