# A row for each bound, from the top: quantiles of its gap to the measured UOR, mean, share of rows
# where it is the tightest, name.
file = name . '.dat'
set yrange [bounds + 0.6:0.4]
set y2range [bounds + 0.6:0.4]
set xrange [0:*]
set ytics scale 0 ()
set y2tics scale 0 ()
set xlabel short('gap to the measured UOR', 'gap to UOR')
unset key
if (!text) {
    set lmargin at screen x_at(1.02); set rmargin at screen x_at(width - 0.45)
    set tmargin at screen y_at(0.40)
}
set label 1 'tightest' at graph 1, graph 1 center offset 1.2, 0.8
set arrow 1 from graph 0, first lower_bounds + 0.5 to graph 1, first lower_bounds + 0.5 nohead linetype 94
thick = 0.28
plot file using 3:($0 + 1):1:5 with xerrorbars linetype 1 linewidth 1 dashtype 1 pointtype 0, \
     '' using 3:($0 + 1):2:4:($0 + 1 - thick):($0 + 1 + thick) with boxxyerror fillstyle solid border fillcolor rgb '#bcd3e8' linecolor rgb blue linewidth 1 dashtype 1, \
     '' using 3:($0 + 1 - thick):(0):(2 * thick) with vectors nohead dashtype 1 linewidth 2 linecolor rgb ink, \
     '' using 6:($0 + 1) with points pointtype 7 pointsize 0.4 linecolor rgb vermillion, \
     '' using (0):($0 + 1):ytic(8):y2tic(sprintf('%.0f ', 100 * $7) . percent) with points pointtype 0 linecolor rgb ink
