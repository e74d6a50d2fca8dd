# Block i - 1 of the data is operator i: slot of the page, share of the mass.
set xlabel 'slot of the page'
set ylabel short('share of the mass, ', 'share, ') . percent
set xrange [-0.6:slots - 0.4]
set yrange [0:*]
set xtics slots > 32 ? 8 : slots > 16 ? 4 : 2
set key top right reverse Left
set boxwidth 0.72
plot name . '.dat' index 0 using 1:(100 * $2) with boxes fillstyle solid border fillcolor rgb '#bcd3e8' linecolor rgb blue linewidth 0.8 title operators[1], \
     for [i = 2:|operators|] '' index i - 1 using 1:(100 * $2) with linespoints linetype i pointsize 0.55 title operators[i], \
     100.0 / slots with lines linetype 92 linecolor rgb ink title 'uniform'
