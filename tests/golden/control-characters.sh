# Names from files and from the command line reach a terminal without bytes that move its cursor.
esc=$(printf '\033')
trace="odd$esc[31m.h5"
"$KVREPLAY" synth "$trace" --tokens 64 --layers 2 --samples 3 >/dev/null || exit 1
policy="heads$esc[2J=asked/mean,independent,keys$esc[2J=key-norm/-"
run() {
    "$KVREPLAY" "$@" >shown 2>&1
    echo "$1: status $?, $(grep -c "$esc" shown) lines with escapes, $(grep -c 'odd?\|heads?\|keys?' shown) with names" |
        sed 's/ 0 with names/ no names/; s/ [1-9][0-9]* with names/ names/'
}
run info "$trace"
run check "$trace"
run replay "$trace" -o out --policy "$policy"
run ablate "$trace" -o ablated
run compare out
run bounds out
run claims out
run table out
run table out --format latex
run info "none$esc[31m.h5"
