# Block i - 1 of the data is policy i: share of the memory held, retained mass, samples, budget.
set logscale x
set xrange [97 * kept_least:103 * kept_most] noextend
set yrange [0:1.04]
set ytics 0.25
set xtics ('100' 100, '50' 50, '20' 20, '10' 10, '5' 5, '2' 2, '1' 1, '0.5' 0.5, '0.2' 0.2)
set ylabel 'retained mass'
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
plot for [i = 1:|policies|] name . '.dat' index i - 1 using (100 * $1):2 with linespoints linetype styles[i] pointsize 0.55 title short('', policies[i])
