# Block i - 1 of the data is budget i, a row for each policy: the measure, then a live figure for
# each panel, then the policy's name.
set multiplot layout |panels|, 1
tall = (height - 0.26 - 0.62) / |panels|
set offsets 0, 0, graph 0.08, graph 0.08
margin = most > least ? 0.04 * (most - least) : 0.5
set xrange [least - margin:most + margin] noextend
set yrange [*:*] noextend
do for [p = 1:|panels|] {
    lowest = p == |panels|
    if (!text) {
        set tmargin at screen y_at(0.26 + (p - 1) * tall + 0.16)
        set bmargin at screen y_at(0.26 + p * tall - 0.04)
    }
    unset key
    set format x lowest || text ? '%g' : ''
    if (lowest) {
        set xlabel measure
        if (!text) { set key at screen 0.5, screen y_at(height - 0.03) bottom center horizontal maxrows 1 reverse Left samplen 0.6 width -2 }
        else { set key below center }
    }
    set label 1 panels[p] . notes[p] at graph 0, graph 1 left offset short(1, 3), short(0.5, 0)
    plot for [i = 1:|budgets|] name . '.dat' index i - 1 using 1:(column(1 + p)) with points linetype i pointsize short(0.55, 1) title (i == 1 ? 'budget ' : '') . budgets[i]
    unset label 100; unset title
}
unset multiplot
