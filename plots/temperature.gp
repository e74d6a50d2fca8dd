# Block 0: temperatures with the largest weight of a group; block 1: orders with the entropy of a
# head. Columns: row, setting, mean, standard deviation, count, name.
file = name . '.dat'
set multiplot layout 2, 1
half = (height - 0.26) / 2
unset key
set logscale x
set yrange [0:1.04]
set ytics 0.25
set xlabel short('temperature of the entropy weights', 'temperature')
set ylabel 'largest weight'
set label 1 'uniform, 1/r' at graph 0.02, first uniform left offset 0, -0.6
if (!text) { set bmargin at screen y_at(0.26 + half - 0.38) }
plot file index 0 using 2:($3 - $4):($3 + $4 < 1 ? $3 + $4 : 1) with filledcurves fillcolor rgb '#cfe0ee', \
     uniform with lines linetype 92, \
     '' index 0 using 2:3 with linespoints linetype 1 pointsize 0.55
unset title; unset label 100; unset logscale x; unset label 1
set xrange [-0.4:orders - 0.6]
set yrange [0:*]
set ytics autofreq
set xtics ()
set xlabel short('order of the Renyi entropy', 'order')
set ylabel 'entropy, nats'
if (!text) { set tmargin at screen y_at(0.26 + half + 0.1); set bmargin at screen y_at(height - 0.40) }
plot file index 1 using 1:3:4:xtic(6) with yerrorbars linetype 1 dashtype 1 pointsize 0.7, \
     '' index 1 using 1:3 with lines linetype 1
unset multiplot
