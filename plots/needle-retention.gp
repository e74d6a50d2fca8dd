# Block i - 1 of the data is policy i: depth of the needle in fifths, row, mean kept share, rows
# behind it. Three maps in a row, one scale for all.
count = |policies|
across = count < 3 ? count : 3
down = ceil(count / (across * 1.0))
set multiplot layout down, across
unset key
set object 1 rectangle from graph 0, graph 0 to graph 1, graph 1 behind fillcolor rgb pale fillstyle solid noborder
set border 15 linewidth 0.5
set tics scale 0
set xrange [-0.5:4.5]
set yrange [-0.5:|rows| - 0.5]
set cbrange [0:1]
span = (width - 0.55 - 0.02) / across
tall = (height - 0.26 - 0.64) / down
if (!text) { set label 101 row_title at screen x_at(0.1), screen y_at(0.36 + down * tall / 2) center rotate by 90 }
do for [i = 1:count] {
    place = (i - 1) % across
    line = (i - 1) / across
    lowest = i + across > count
    high = 0.26 + line * tall
    if (!text) {
        set lmargin at screen x_at(0.55 + place * span); set rmargin at screen x_at(0.55 + place * span + span - 0.1)
        set tmargin at screen y_at(high + 0.2); set bmargin at screen y_at(high + tall - 0.03)
    }
    set xtics ()
    if (lowest || text) { set xtics ('10' 0, '50' 2, '90' 4) } else { set xtics ('' 2) }
    if (lowest) { set xlabel 'depth, ' . percent } else { unset xlabel }
    if (!text) { set xlabel offset 0, 0.75 }
    set ytics ()
    if (place == 0) { do for [k = 1:|rows|] { set ytics add (rows[k] k - 1) } }
    else { set ytics ('' 0) }

    set title policies[i] . (text && i == 1 ? ' (% kept)' : '') offset 0, short(-0.7, 0)
    if (i == count) {
        set colorbox horizontal user origin screen 0.45, screen y_at(height - 0.21) size screen 0.30, screen 0.07 / height
        set cbtics ('0' 0, '0.5' 0.5, '1' 1) offset 0, 0.4
        set label 99 'share kept' at screen 0.43, screen y_at(height - 0.17) right
    } else { unset colorbox }
    if (text) { unset label 99; unset xlabel }
    if (text) {
        plot name . '.dat' index i - 1 using 1:2:(sprintf('%.0f', 100 * $3)) with labels
    } else {
        plot name . '.dat' index i - 1 using 1:2:($1 - 0.5):($1 + 0.51):($2 - 0.5):($2 + 0.51):3 with boxxyerror fillstyle solid noborder linecolor palette
    }
    unset label 100; unset label 101
}
unset multiplot
