# Block i - 1 of the data is policy i: layer, mean page-union ratio, rows behind it.
legend = text ? 0 : legend_height / height
set xlabel 'layer'
set ylabel short('page-union ratio', 'PUR')
set yrange [0.9:kv_heads * 1.06]
set xtics autofreq
set offsets 0.3, 0.3, 0, 0
set label 1 sprintf('no page shared: %d KV heads', kv_heads) at graph 0.99, first kv_heads right offset 0, -0.6
if (text) { set key bottom right }
else {
    set bmargin at screen legend + 0.32 / height
    set key at screen 0.53, screen 0.012 bottom center horizontal maxcols 3 width -1 samplen 2.6 spacing 1
}
plot kv_heads with lines linetype 92, 1 with lines linetype 93, \
     for [i = 1:|policies|] name . '.dat' index i - 1 using 1:2 with linespoints linetype i pointsize 0.55 title policies[i]
