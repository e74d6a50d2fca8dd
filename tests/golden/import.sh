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

# An output never replaces the file that it is made of.
refused import rows.npz -o rows.npz
refused export rows.h5 -o rows.h5

# What no trace can hold is refused before one is written: arrays of integers, by hand.
integers() { # name, shape, elements in octal; an .npy of int32
    dict="{'descr': '<i4', 'fortran_order': False, 'shape': ($2), }"
    length=$(printf '\\%03o' ${#dict})
    printf "\\223NUMPY\\001\\000$length\\000%s$3" "$dict" >"$1.npy"
}
scores() {
    dict="{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }"
    length=$(printf '\\%03o' ${#dict})
    printf "\\223NUMPY\\001\\000$length\\000%s\\0\\0\\200\\77\\0\\0\\200\\77" "$dict" >h2o_0.npy
}
scores
integers kv_heads '1,' '\1\0\0\0'
refused import h2o_0.npy kv_heads.npy -o small.h5
integers needles '1, 2' '\1\0\0\0\3\0\0\0'
refused import h2o_0.npy kv_heads.npy needles.npy -o out.h5
integers needles '1, 2' '\1\0\0\0\1\0\0\0'
refused import h2o_0.npy kv_heads.npy needles.npy -o out.h5
integers query_positions '2,' '\1\0\0\0\0\0\0\0'
refused import h2o_0.npy kv_heads.npy query_positions.npy -o out.h5
integers query_positions '2,' '\1\0\0\0\2\0\0\0'
refused import h2o_0.npy kv_heads.npy query_positions.npy -o out.h5
ls
