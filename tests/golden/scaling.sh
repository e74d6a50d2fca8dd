# The closed form of corollary 2, and a trace in whose regime it binds.
"$KVREPLAY" scaling
"$KVREPLAY" scaling --context 4096,131072 --csv
"$KVREPLAY" scaling --context 4096 --slack 2 --tau 1 --ratio 4 --mass 0.5 --support 10 --sinks 0
"$KVREPLAY" scaling --context 4 || echo "exit $?"
"$KVREPLAY" scaling --ratio 1 || echo "exit $?"

"$KVREPLAY" synth premise.h5 --premise --tokens 8192 --rows 8 --query-heads 16 --kv-heads 2 --samples 3
"$KVREPLAY" check premise.h5 | tail -n 1
"$KVREPLAY" replay premise.h5 -o tables --scorer last,window --quiet --threads 1
awk -F, 'NR > 1 { rows++; binds += $13 > 0.95; holds += $14 }
    END { print "cor. 2 promises over 0.95 in " binds " of " rows " rows and holds in " holds }' tables/premises.csv
"$KVREPLAY" synth refused.h5 --premise --needles 2 || echo "exit $?"
"$KVREPLAY" synth refused.h5 --premise --qkv || echo "exit $?"
