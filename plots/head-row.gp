# Block 0: position, largest value of the column. Block 1, a row for each run of columns of which a
# policy keeps the same share: first position, position after the last, lane, share. Block 2: lane,
# kept tokens, share of the row's sum, policy.
file = name . '.dat'
set multiplot layout 2, 1
unset key
set xrange [first:after] noextend
set logscale y
set yrange [low:high]
set format y markup('10^{%T}', '$10^{%T}$')
if (text) { set format y '%.0e' }
set ylabel short('attention', '')
set format x short('', '%g')
do for [i = 1:needles] {
    set object i rectangle from needle_starts[i], graph 0 to needle_ends[i], graph 1 behind fillcolor rgb orange fillstyle solid 0.35 noborder
}
if (!text) {
    set lmargin at screen x_at(0.95); set rmargin at screen x_at(width - 0.45)
    set bmargin at screen y_at(height - 0.48 - 0.15 * lanes)
}
plot file index 0 using 1:2:(0):(low - $2) with vectors nohead dashtype 1 linewidth 0.5 linecolor rgb blue
unset title; unset label 100; unset ylabel; unset logscale y
set format x '%g'
set format y '%g'
set xlabel short('position in the prompt', 'position')
set border 15 linewidth 0.4
set yrange [lanes - 0.5:-0.5]
set y2range [lanes - 0.5:-0.5]
set ytics scale 0 ()
set y2tics scale 0 ()
set cbrange [0:1]
unset colorbox
if (!text) {
    set tmargin at screen y_at(height - 0.42 - 0.15 * lanes); set bmargin at screen y_at(height - 0.40)
}
plot file index 1 using 1:3:1:2:($3 - 0.36):($3 + 0.36):4 with boxxyerror fillstyle solid noborder linecolor palette, \
     file index 2 using (first):1:ytic(4):y2tic(sprintf('%.1f ', 100 * $3) . percent) with points pointtype 0 linecolor rgb ink
unset multiplot
