# Block i - 1 of the data is policy i: layer, mean page-union ratio, rows behind it.
set xlabel 'layer'
if (last_layer - first_layer < 13) { set xtics 1 }
set ylabel short('page-union ratio', 'PUR')
set xrange [first_layer - 0.5:last_layer + 0.5]
set yrange [0.9:kv_heads * 1.06]
set label 1 sprintf('no page shared: %d KV heads', kv_heads) at graph 0.99, first kv_heads right offset 0, -0.7
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
plot kv_heads with lines linetype 92, 1 with lines linetype 93, \
     for [i = 1:|policies|] name . '.dat' index i - 1 using 1:2 with linespoints linetype styles[i] pointsize 0.55 title short('', policies[i])
