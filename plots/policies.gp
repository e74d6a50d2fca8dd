# Block i - 1 of the data is policy i: share of the memory held, future peak, future mass, samples,
# budget. Above the peak, below the mass; the legend has a place of its own at the bottom.
set multiplot
legend = text ? 0 : legend_height / height
panel = (1 - legend - short(0.38, 0) / height) / 2
top = 1 - short(0.22, 0) / height
set logscale x
set xrange [*:100] noextend
set yrange [0:1.04]
set ytics 0.25
set xtics add ('100' 100, '50' 50, '20' 20, '10' 10, '5' 5, '2' 2, '1' 1)
unset key
unset title
if (text) { set multiplot layout 2, 1 }

if (!text) { set tmargin at screen top; set bmargin at screen top - panel + 0.13 / height }
set title headline
set ylabel 'future peak'
set format x short('', '%g')
plot for [i = 1:|policies|] name . '.dat' index i - 1 using (100 * $1):2 with linespoints linetype styles[i] pointsize 0.55

if (!text) { set tmargin at screen top - panel - 0.02 / height; set bmargin at screen legend + 0.30 / height }
unset title
set ylabel 'future mass'
set xlabel short('KV memory held, % of the full cache', 'memory held, %')
set format x '%g'
if (text) { set key bottom right }
else { set key at screen 0.53, screen 0.012 bottom center horizontal maxcols 3 width -1 samplen 2.6 spacing 1 }
plot for [i = 1:|policies|] name . '.dat' index i - 1 using (100 * $1):3 with linespoints linetype styles[i] pointsize 0.55 title policies[i]
unset multiplot
