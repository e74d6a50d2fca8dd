# Block s - 1 of the data is scorer s: k/T, then the union overhead's median and its 10, 25, 75 and
# 90 % quantiles, the median lower bound, and the number of groups. A panel for each scorer.
panels = |scorers|
set multiplot layout panels, 1
tall = (height - 0.26 - 0.70) / panels
set logscale x
set xrange [*:1] noextend
set yrange [0.95:ratio * 1.03]
set ytics 1
unset key
if (!text) {
    set label 101 'union overhead, UOR' at screen x_at(0.1), screen y_at(0.26 + panels * tall / 2) center rotate by 90
} else { set ylabel 'UOR' }
do for [i = 1:panels] {
    lowest = i == panels
    if (!text) {
        set tmargin at screen y_at(0.26 + (i - 1) * tall)
        set bmargin at screen y_at(0.26 + i * tall - 0.09)
    }
    set format x lowest || text ? '%g' : ''
    if (lowest) {
        set xlabel short('budget k/T, share of the tokens that a head keeps', 'budget k/T')
        if (!text) { set key at screen 0.5, screen y_at(height - 0.03) bottom center horizontal maxrows 1 reverse Left samplen 1.2 width -1.5 }
        else { set key below center samplen 3 }
    }
    set label 1 scorers[i] at graph 0.98, graph 0.80 right
    plot ratio with lines linetype 92, \
         name . '.dat' index i - 1 using 1:3:6 with filledcurves fillcolor rgb '#dbe7f1' title short('10 to 90 ' . percent, ''), \
         '' index i - 1 using 1:4:5 with filledcurves fillcolor rgb '#a9c7de' title short('quartiles', ''), \
         '' index i - 1 using 1:2 with lines linetype 1 linewidth 2 title 'median', \
         '' index i - 1 using 1:7 with lines linetype 2 title 'lower bound'
    unset label 100; unset label 101; unset title
}
unset multiplot
