# Block 0, the closed form: non-sink tokens, loss with diffuse siblings, with siblings on few tokens.
# Block 1, measured: log10 of the siblings' odds, kept share of the owner's value, needles.
file = name . '.dat'
set multiplot layout 2, 1
half = (height - 0.26) / 2
set logscale xy
set format x markup('10^{%T}', '$10^{%T}$')
set format y markup('10^{%T}', '$10^{%T}$')
if (text) { set format xy '%.0e' }
set xrange [256:1048576] noextend
set yrange [1e-11:1e2]
set ytics 1e3
set xlabel short('non-sink tokens T - S', 'tokens T - S')
set ylabel 'loss allowed'
unset key
set label 1 sprintf('measured here, median: %.2f', median_loss) at graph 0.98, first median_loss right offset 0, 0.6
set label 2 sprintf('siblings on %g tokens each', focus_2) at graph 0.98, first loss_2 right offset 0, -0.65
set label 3 sprintf('on %g tokens each', focus_1) at graph 0.98, first loss_1 right offset 0, -0.65
set label 4 'siblings diffuse' at graph 0.03, first 1e-9 left
if (!text) { set bmargin at screen y_at(0.26 + half - 0.38) }
plot file index 0 using 1:2 with lines linetype 1, \
     '' index 0 using 1:3 with lines linetype 2, \
     '' index 0 using 1:4 with lines linetype 4, \
     median_loss with lines linetype 93 linecolor rgb ink
unset title; unset label; unset logscale y
set format y '%g'
set xrange [low:high] noextend
set yrange [0:1.04]
set ytics 0.25
set xlabel short('odds D/C of the siblings', 'odds D/C')
set ylabel 'share kept'
set arrow 1 from 1, graph 0 to 1, graph 1 nohead linetype 93
set label 1 'binds' at 1, graph 0.06 right offset -0.6, 0
set label 2 'vacuous' at 1, graph 0.93 left offset 0.6, 0
size(n) = 0.4 + 0.14 * log10(n)
if (!text) { set tmargin at screen y_at(0.26 + half + 0.1); set bmargin at screen y_at(height - 0.40) }
plot file index 1 using (10 ** $1):2:(size($3)) with points linetype 1 pointsize variable, \
     1 / (1 + x) with lines linetype 91
unset multiplot
