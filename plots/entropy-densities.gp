# The data are densities on a grid: entropy, then for each class its raw and its isolated one.
# Above as recorded, below without the sinks; the upright line is ln(T - S).
set multiplot layout 2, 1
middle = 0.26 + (height - 0.64) / 2
set xrange [0:most * 1.04]
set yrange [0:tall * 1.15]
set ytics tall > 4 ? 2 : tall > 2 ? 1 : tall > 0.8 ? 0.5 : 0.2
set ylabel short('density, 1/nat', 'density')
set arrow 1 from limit, graph 0 to limit, graph 1 nohead linetype 92
set label 2 'as recorded' at graph 0.02, graph 0.93
set key at graph 0.96, graph 0.98 top right reverse Left
if (!text) { set bmargin at screen y_at(middle - 0.05); set format x '' }
plot for [i = 1:|classes|] name . '.dat' using 1:(column(2 * i)) with lines linetype i linewidth 1.8 title classes[i]
unset title; unset key; unset label 100
set label 1 'ln(T - S)' at limit, graph 0.93 right offset -0.6, 0
set label 2 'sinks isolated'
set format x '%g'
set xlabel short('Renyi entropy of a head, nats', 'entropy, nats')
if (!text) { set tmargin at screen y_at(middle + 0.07); set bmargin at screen y_at(height - 0.40) }
plot for [i = 1:|classes|] name . '.dat' using 1:(column(2 * i + 1)) with lines linetype i linewidth 1.8
unset multiplot
