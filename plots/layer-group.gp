# A block for each map: group, row of the layer, mean, rows behind it. Layers from the top.
maps = |titles|
rows = |layers|
step = ceil(rows / 12.0)
set multiplot layout 1, maps title markup(headline, headline) offset 0, -0.1
unset title; unset key
set border 15 linewidth 0.5
set tics scale 0
set xrange [-0.5:groups - 0.5]
set yrange [rows - 0.5:-0.5]
set xtics ceil(groups / 8.0)
set ytics ()
do for [i = 1:rows:step] { set ytics add (layers[i] i - 1) }
set xlabel 'group'
span = 0.86 / maps
set format cb '%.2g'
do for [i = 1:maps] {
    left = 0.125 + (i - 1) * span
    if (!text) {
        set lmargin at screen left; set rmargin at screen left + span * 0.80
        set tmargin at screen 1 - 0.40 / height; set bmargin at screen 0.72 / height
        set colorbox horizontal user origin screen left, screen 0.30 / height size screen span * 0.80, screen 0.07 / height
        set cbtics offset 0, 0.7 scale 0.4
    }
    if (i == 1) { set ylabel 'layer' } else { unset ylabel; set format y '' }
    set title titles[i] offset 0, -0.7
    low = least[i]; high = most[i]
    if (low == high) { low = low - 0.05; high = high + 0.05 }
    set cbrange [low:high]
    set cbtics (sprintf('%.2f', low) low, sprintf('%.2f', high) high)
    if (text) {
        plot name . '.dat' index i - 1 using 1:2:(sprintf('%.2f', $3)) with labels
    } else {
        plot name . '.dat' index i - 1 using 1:2:3 with image pixels
    }
}
unset multiplot
