# Block i - 1 of the data is policy i: share of the memory held, retained mass, samples, budget.
legend = text ? 0 : legend_height / height
set logscale x
set xrange [*:100] noextend
set yrange [0:1.04]
set ytics 0.25
set xtics add ('100' 100, '50' 50, '20' 20, '10' 10, '5' 5, '2' 2, '1' 1)
set ylabel 'retained mass'
set xlabel short('KV memory held, % of the full cache', 'memory held, %')
if (text) { set key bottom right }
else {
    set bmargin at screen legend + 0.32 / height
    set key at screen 0.53, screen 0.012 bottom center horizontal maxcols 3 width -1 samplen 2.6 spacing 1
}
plot for [i = 1:|policies|] name . '.dat' index i - 1 using (100 * $1):2 with linespoints linetype styles[i] pointsize 0.55 title policies[i]
