# A trace, exported and imported, replays to the same tables; what is wrong with a dump is told by name.
trace="$TRACES/smollm2-niah-1k.h5"
"$KVREPLAY" export "$trace" -o all.npz --samples 0,1 || exit 1
"$KVREPLAY" import all.npz -o smollm2-niah-1k.h5 || exit 1
"$KVREPLAY" check smollm2-niah-1k.h5 | tail -n 1
"$KVREPLAY" replay "$trace" --samples 0,1 --budget 0.1 --quiet -o recorded
"$KVREPLAY" replay smollm2-niah-1k.h5 --budget 0.1 --quiet -o imported
cmp recorded/measures.csv imported/measures.csv && echo 'the same measures'

"$KVREPLAY" export "$trace" -o rows.npz --samples 0 --layers 0,7 --dataset attention,query_positions
"$KVREPLAY" import rows.npz -o rows.h5 --prompt-length 1023 --model 'a dump'
"$KVREPLAY" info rows.h5 | head -n 6

refused() {
    "$KVREPLAY" "$@"
    echo "exit $?"
}
printf '\223NUMPY\002\000\377\377\377\377' >header.npy
printf '\000\000\000\000\000\001\000\000{           ' >length.safetensors
head -c 5000 all.npz >cut.npz
: >empty.npz
for file in header.npy length.safetensors cut.npz empty.npz none.npz; do
    refused import $file -o out.h5
done
refused import rows.npz -o out.h5 --layout attention=HQ
refused import rows.npz -o out.h5 --layout rows=HQT
refused import rows.npz
refused import rows.npz -o /nonexistent/out.h5
refused export "$trace" -o out.npz --layers 5
refused export "$trace" -o out.npz --samples 0,nine
refused export "$trace" -o out.npz --dataset scores/gate
refused export "$trace"
ls
