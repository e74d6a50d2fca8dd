# Block i - 1 of the data is policy i: depth of the needle in fifths, row, mean kept share, rows
# behind it. Three maps in a row, one scale for all.
count = |policies|
across = text ? 1 : count < 3 ? count : 3
down = ceil(count / (across * 1.0))
set multiplot layout down, across title headline offset 0, -0.1
unset title; unset key
set border 15 linewidth 0.5
set tics scale 0
set xrange [-0.5:4.5]
set yrange [-0.5:|rows| - 0.5]
set cbrange [0:1]
set xtics ('0' -0.5, '50' 2, '100' 4.5)
set ytics ()
do for [i = 1:|rows|] { set ytics add (rows[i] i - 1) }
span = 0.86 / across
tall = (1 - 0.85 / height) / down
do for [i = 1:count] {
    column_ = (i - 1) % across
    line_ = (i - 1) / across
    left = 0.135 + column_ * span
    high = 1 - 0.38 / height - line_ * tall
    if (!text) {
        set lmargin at screen left; set rmargin at screen left + span * 0.88
        set tmargin at screen high; set bmargin at screen high - tall + 0.26 / height
    }
    last = i + across > count
    set format x last || text ? '%g' : ''
    if (last || text) { set xtics ('0' -0.5, '50' 2, '100' 4.5) } else { set xtics ('' 2) }
    set xlabel last ? short('depth, %', 'depth, %') : '' offset 0, 0.6
    if (column_ == 0) { set ylabel row_title } else { unset ylabel }
    if (column_ == 0) { do for [k = 1:|rows|] { set ytics add (rows[k] k - 1) } } else { set ytics ('' 0) }
    set title policies[i] offset 0, -0.7
    if (i == count) {
        set colorbox horizontal user origin screen 0.40, screen 0.14 / height size screen 0.30, screen 0.07 / height
        set cbtics ('0' 0, '1' 1) offset 0, 0.75 scale 0
        set label 99 'kept share' at screen 0.38, screen 0.17 / height right
    } else { unset colorbox }
    if (text) {
        plot name . '.dat' index i - 1 using 1:2:(sprintf('%.2f', $3)) with labels
    } else {
        plot name . '.dat' index i - 1 using 1:2:3 with image pixels
    }
}
unset multiplot
