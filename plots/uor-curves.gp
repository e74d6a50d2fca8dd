# Block s - 1 of the data is scorer s: k/T, then the union overhead's median and its 10, 25, 75 and
# 90 % quantiles, the median lower bound, and the number of groups. A panel for each scorer.
panels = |scorers|
set multiplot layout panels, 1
top(i) = 1 - (0.22 + (i - 1) * 1.05) / height
set logscale x
set xrange [*:1] noextend
set yrange [0.95:ratio * 1.03]
set ytics 1
unset key
set ylabel short('union overhead, UOR', 'UOR')
unset title
do for [i = 1:panels] {
    if (!text) { set tmargin at screen top(i); set bmargin at screen top(i) - 0.95 / height }
    if (i == 1) { set title headline } else { unset title }
    set format x i == panels || text ? '%g' : ''
    set xlabel i == panels ? short('budget k/T, share of the tokens that a head keeps', 'budget k/T') : ''
    if (i == panels) { set key bottom left reverse Left samplen 1.6 }
    set label 1 scorers[i] at graph 0.98, graph 0.92 right
    plot ratio with lines linetype 92, \
         name . '.dat' index i - 1 using 1:3:6 with filledcurves fillcolor rgb '#dbe7f1' title short('10 to 90 %', ''), \
         '' index i - 1 using 1:4:5 with filledcurves fillcolor rgb '#a9c7de' title short('quartiles', ''), \
         '' index i - 1 using 1:7 with lines linetype 2 title 'lower bound', \
         '' index i - 1 using 1:2 with lines linetype 1 linewidth 2 title 'median'
}
unset multiplot
