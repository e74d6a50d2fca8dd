# A block for each map: group, row of the layer, mean, rows behind it. Layers from the top.
maps = |titles|
rows = |layers|
step = ceil(rows / 12.0)
set multiplot layout 1, maps
unset key
set object 1 rectangle from graph 0, graph 0 to graph 1, graph 1 behind fillcolor rgb pale fillstyle solid noborder
set border 15 linewidth 0.5
set tics scale 0
set xrange [-0.5:groups - 0.5]
set yrange [rows - 0.5:-0.5]
set xtics ceil(groups / 8.0)
set xlabel 'group'
span = (width - 0.45 - 0.1) / maps
do for [i = 1:maps] {
    left = 0.45 + (i - 1) * span
    if (!text) {
        set lmargin at screen x_at(left); set rmargin at screen x_at(left + span - 0.2)
        set tmargin at screen y_at(0.44); set bmargin at screen y_at(height - 0.72)
        set colorbox horizontal user origin screen x_at(left), screen y_at(height - 0.28) size screen x_at(span - 0.2), screen 0.07 / height
        set cbtics offset 0, 0.4
    }
    set ytics ()
    if (i == 1) { set ylabel 'layer'; do for [k = 1:rows:step] { set ytics add (layers[k] k - 1) } }
    else { unset ylabel; set ytics ('' 0) }
    set title titles[i] offset 0, short(-0.7, 0)
    low = least[i]; high = most[i]
    if (low == high) { low = low - 0.05; high = high + 0.05 }
    set cbrange [low:high]
    set cbtics (sprintf('%.2f', low) low + 0.1 * (high - low), sprintf('%.2f', high) high - 0.1 * (high - low))
    if (text) {
        plot name . '.dat' index i - 1 using 1:2:(sprintf('%.2f', $3)) with labels
    } else {
        plot name . '.dat' index i - 1 using 1:2:($1 - 0.5):($1 + 0.51):($2 - 0.5):($2 + 0.51):3 with boxxyerror fillstyle solid noborder linecolor palette
    }
    unset label 100
}
unset multiplot
