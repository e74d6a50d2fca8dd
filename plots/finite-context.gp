# Block 0, the closed form: non-sink tokens, loss with diffuse siblings, with siblings on few tokens.
# Block 1, measured: log10 of the siblings' odds, kept share of the owner's value, needles.
file = name . '.dat'
set multiplot layout 2, 1
set title headline
set logscale xy
set format x '10^{%T}'
set format y '10^{%T}'
if (latex) { set format x '$10^{%T}$'; set format y '$10^{%T}$' }
if (text) { set format xy '%.0e' }
set xrange [256:1048576] noextend
set yrange [1e-11:4]
set ytics 1e3
set xlabel short('non-sink tokens T - S', 'tokens T - S')
set ylabel 'loss allowed'
set key bottom left reverse Left samplen 2.4
if (!text) { set lmargin at screen 0.17; set tmargin at screen 1 - 0.22 / height; set bmargin at screen 0.60 }
plot file index 0 using 1:2 with lines linetype 1 title 'siblings diffuse', \
     '' index 0 using 1:3 with lines linetype 2 title sprintf('siblings on %g tokens', focus_1), \
     '' index 0 using 1:4 with lines linetype 4 title sprintf('siblings on %g tokens', focus_2), \
     median_loss with lines linetype 93 linecolor rgb ink title 'measured here (median)'
unset title; unset logscale y
set format y '%g'
set yrange [0:1.04]
set ytics 0.25
set xlabel short("odds D/C of the siblings", 'odds D/C')
set ylabel short("kept of the owner's value", 'kept')
unset key
set arrow 1 from 1, graph 0 to 1, graph 1 nohead linetype 93
set label 1 'bound binds' at 1, graph 0.93 right offset -0.6, 0
set label 2 'vacuous' at 1, graph 0.93 left offset 0.6, 0
size(n) = 0.25 + 0.14 * log10(n)
if (!text) { set tmargin at screen 0.46; set bmargin at screen 0.42 / height }
set xrange [low:high] noextend
plot file index 1 using (10 ** $1):2:(size($3)) with points linetype 1 pointtype 6 pointsize variable, \
     1 / (1 + x) with lines linetype 91
unset multiplot
