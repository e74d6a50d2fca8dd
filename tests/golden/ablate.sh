# Ablations of a recorded trace; any number of threads gives the same tables, and where a setting is
# what replay does, the figures are those of replay's tables.
trace="$TRACES/smollm2-niah-1k.h5"
"$KVREPLAY" ablate "$trace" -o tables --threads 2 --model-layers 30
"$KVREPLAY" ablate "$trace" -o again --threads 1 --quiet
for table in tables/ablation_*.csv; do
    cmp "$table" again/"$(basename "$table")" && echo "$table: $(($(wc -l <"$table") - 1)) rows"
done
sed -n 1,3p tables/ablation_temperature.csv

"$KVREPLAY" replay "$trace" -o replay --scorer last --budget 0.1 --page-size 16 --quiet \
    --policy page-entrokv,max,mean
mean() { # file, column, policy
    awk -F, -v name="$2" -v policy="$3" '
        NR == 1 { for (i = 1; i <= NF; i++) { at[$i] = i } next }
        $at["policy"] == policy { sum += $at[name]; count++ }
        END { printf "%.5f", sum / count }' "replay/$1.csv"
}
ablated() { # column, operator
    awk -F, -v name="$1" -v operator="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) { at[$i] = i } next }
        $2 == operator && $3 == 16 && $4 == "max" { printf "%.5f", $at[name] }' tables/ablation_pages.csv
}
same() { [ "$2" = "$3" ] && echo "$1: as replay" || echo "$1: $2 and $3"; }
for pair in entropy:page-entrokv max:max mean:mean; do
    operator=${pair%:*} policy=${pair#*:}
    same "$operator, retained mass" "$(ablated retained_mass "$operator")" "$(mean measures retained_mass "$policy")"
    same "$operator, needle kept" "$(ablated needle_kept "$operator")" "$(mean needles kept_fraction "$policy")"
    same "$operator, page-union ratio" "$(ablated pur "$operator")" "$(mean layers pur "$policy")"
done
same 'masquerade, isolated' \
    "$(awk -F, '$2 == 4 { printf "%.6f", $14 }' tables/ablation_sinks.csv)" \
    "$(awk -F, '$14 == "sink" { s += $11; n++ } $14 == "contextual" { c += $11; m++ }
        END { printf "%.6f", (s / n) / (c / m) }' replay/heads.csv)"

# Groups that are not finite are left out and counted.
"$KVREPLAY" ablate "$TRACES/smollm2-nan-256.h5" -o nan --scorer last,window,accumulated --page-size 16 \
    --tau-grid 0.5 --alpha-grid 2 --sinks-grid 4 --window-grid all --threads 1 2>/dev/null |
    grep -E 'coverage|Scorer'

refused() { "$KVREPLAY" ablate "$trace" "$@" && echo done || echo "exit $?"; }
refused
refused -o out --tau-grid 1,0.5
refused -o out --alpha-grid 0,1
refused -o out --sinks-grid 4,x
refused -o out --window-grid 64,all,128
refused -o out --budget 0.1,0.2
refused -o out --page-size 8192
refused -o out --layers 3
[ -e out ] || echo 'nothing was written'
