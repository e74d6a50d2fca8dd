# One point for each occupied cell of a fine grid, at the mean of its groups; larger points are more
# groups. Block i of the data is scorer i; the last block is the envelope.
set xlabel short('disagreement of the heads, ', 'disagreement ') . markup('D', '$D$')
set ylabel short('union overhead, ', '') . 'UOR'
set xrange [0:1]
set yrange [0.9:ratio * 1.08]
set ytics 1
set xtics 0.2
set key at graph 0.03, first ratio - 0.02 * (ratio - 1) top left reverse Left
set label 1 sprintf(short('ceiling: every head its own tokens, r = %d', 'ceiling r = %d'), ratio) \
    at graph 0.99, first ratio right offset 0, 0.6
set label 2 'pooled policies: 1' at graph 0.99, first 1 right offset 0, 0.6
size(n) = 0.25 + 0.12 * log10(n)
plot ratio with lines linetype 92, \
     1 with lines linetype 93, \
     for [i = 1:|scorers|] name . '.dat' index i - 1 using 1:2:(size($3)) with points linetype i pointsize variable, \
     for [i = 1:|scorers|] NaN with points linetype i pointsize 0.5 title scorers[i], \
     name . '.dat' index |scorers| using 1:2 with lines linetype 91 title 'lower bound in D'
