# Block i of the data are the heads of class i, gathered in the cells of a grid; the last block has
# the mean of each class.
set xlabel 'entropy weight, raw'
set ylabel short('entropy weight, sinks isolated', 'isolated')
set xrange [0:1]
set yrange [0:1]
set xtics 0.25
set ytics 0.25
set arrow 1 from 1.0 / ratio, 0 to 1.0 / ratio, 1 nohead linetype 93
set arrow 2 from 0, 1.0 / ratio to 1, 1.0 / ratio nohead linetype 93
set label 1 'uniform, 1/r' at 1, 1.0 / ratio right offset 0, 0.6
if (text) { set key below center }
else {
    unset key
    set bmargin at screen y_at(height - 0.58)
    do for [i = 1:|classes|] {
        x = x_at(0.15 + (i == 1 ? 0 : i == 2 ? 0.25 : 0.58) * width); y = y_at(height - 0.1)
        set label 200 + i '' at screen x, screen y point linetype i pointsize 0.9
        set label 300 + i classes[i] at screen x + x_at(0.1), screen y left
    }
}
size(n) = 0.3 + 0.14 * log10(n)
plot x with lines linetype 92, \
     for [i = |classes|:1:-1] name . '.dat' index i - 1 using 1:2:(size($3)) with points linetype i pointsize variable, \
     for [i = 1:|classes|] name . '.dat' index |classes| using (column(0) == i - 1 ? $1 : NaN):2 with points linetype i linecolor rgb ink pointsize 1.3, \
     for [i = 1:|classes|] name . '.dat' index |classes| using (column(0) == i - 1 ? $1 : NaN):2 with points linetype i pointsize 0.9 title short('', classes[i])
