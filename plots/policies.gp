# Block i - 1 of the data is policy i: share of the memory held, future peak, future mass, samples,
# budget. Above the peak, on an axis that gives each nine as much room and ends a bit above the best
# policy, so that the ceiling may lie beyond its top; below the mass.
set multiplot layout 2, 1
middle = 0.26 + (height - legend_height - 0.66) / 2
set logscale x
set xrange [97 * kept_least:103 * kept_most] noextend
set xtics add ('100' 100, '50' 50, '20' 20, '10' 10, '5' 5, '2' 2, '1' 1, '0.5' 0.5, '0.2' 0.2)
set ylabel 'future peak'
nines(p) = -log10(1 - p > 10 ** -top ? 1 - p : 10 ** -top)
set yrange [0:top * 1.03]
set ytics ('0' 0, '0.5' nines(0.5), '0.9' 1)
do for [i = 2:ceil(top)] { set ytics add (sprintf('%.8g', 1 - 10 ** -i) i) }
unset key
if (ceiling_most > 0) {
    set label 1 sprintf('ceiling: %.4g to %.4g', ceiling_least, ceiling_most) at graph 0.98, graph 0.97 right offset 0, short(-0.7, -1.5)
}
if (!text) { set bmargin at screen y_at(middle - 0.05); set format x '' ; set xtics ('' 100, '' 50, '' 20, '' 10, '' 5, '' 2, '' 1, '' 0.5, '' 0.2) }
plot for [i = 1:|policies|] name . '.dat' index i - 1 using (100 * $1):(nines($2)) with linespoints linetype styles[i] pointsize 0.55
unset title; unset label 100; unset label 1
set xtics ('100' 100, '50' 50, '20' 20, '10' 10, '5' 5, '2' 2, '1' 1, '0.5' 0.5, '0.2' 0.2)
set yrange [0:1.04]
set ytics ()
set ytics autofreq 0.25
set ylabel 'future mass'
set xlabel short('KV memory held, ' . percent . ' of the full cache', 'memory held, %')
if (text) { set key below center maxcols 3 samplen 3 }
else {
    # A legend below, in three columns; gnuplot's own would not fit as many into one.
    unset key
    set bmargin at screen y_at(height - legend_height - 0.40)
    do for [i = 1:|policies|] {
        x = x_at(0.1 + (width - 0.1) / 3 * ((i - 1) % 3)); y = y_at(height - legend_height + 0.05 + 0.15 * ((i - 1) / 3))
        set arrow 200 + i from screen x, screen y to screen x + x_at(0.24), screen y nohead linetype styles[i]
        set label 200 + i '' at screen x + x_at(0.12), screen y point linetype styles[i] pointsize 0.55
        set label 300 + i policies[i] at screen x + x_at(0.28), screen y left
    }
}
if (!text) { set tmargin at screen y_at(middle + 0.07) }
plot for [i = 1:|policies|] name . '.dat' index i - 1 using (100 * $1):3 with linespoints linetype styles[i] pointsize 0.55 title short('', policies[i])
unset multiplot
