# Block 0 has the densities on a grid: entropy, then for each class its raw and its isolated one.
# Above as recorded, below without the sinks; the upright line is ln(T - S).
set multiplot layout 2, 1
unset title
set xrange [0:most * 1.04]
set yrange [0:*]
set ytics 0.5
set format x ''
unset xlabel
set ylabel 'density, 1/nat'
set arrow 1 from limit, graph 0 to limit, graph 1 nohead linetype 92
set label 1 'ln(T - S)' at limit, graph 0.93 right offset -0.6, 0
set label 2 'as recorded' at graph 0.02, graph 0.93
set key top center reverse Left
if (!text) { set tmargin at screen 0.93; set bmargin at screen 0.56 }
set title headline
plot for [i = 1:|classes|] name . '.dat' using 1:(column(2 * i)) with lines linetype i linewidth 1.8 title classes[i]
if (!text) { set tmargin at screen 0.51; set bmargin at screen 0.14 }
unset title; unset key; unset label 1
set format x '%g'
set label 2 'sinks isolated'
set xlabel short('Renyi entropy of a head, nats', 'entropy, nats')
plot for [i = 1:|classes|] name . '.dat' using 1:(column(2 * i + 1)) with lines linetype i linewidth 1.8
unset multiplot
