# What all figures share: terminal, type, colours. `format` is svg, pdf, png, tex or text; sizes are
# inches; `columns` and `lines` are those of a drawing in characters.
if (!exists('format')) format = 'svg'
if (!exists('terminal')) {
    terminal = format eq 'svg' ? 'svg' : format eq 'pdf' ? 'pdfcairo' : \
               format eq 'png' ? 'pngcairo' : format eq 'tex' ? 'cairolatex' : 'dumb'
}
text = (format eq 'text')
latex = (format eq 'tex')
set encoding utf8
set datafile missing 'NaN'
set datafile separator whitespace

if (terminal eq 'svg') {
    set terminal svg size width * 96, height * 96 font 'Helvetica,10' linewidth 1
}
if (terminal eq 'pdfcairo') {
    set terminal pdfcairo size width, height font 'Helvetica,7.5' fontscale 1 linewidth 1
}
if (terminal eq 'pngcairo') {
    set terminal pngcairo size width * 300, height * 300 font 'Helvetica,7.5' fontscale 3.125 \
        linewidth 3.125 pointscale 3.125
}
if (terminal eq 'png') {
    set terminal png size width * 300, height * 300 font 'Helvetica,7.5' fontscale 3.125 linewidth 3
}
if (terminal eq 'cairolatex') { set terminal cairolatex pdf input size width, height font ',8' linewidth 1.6 \
        header '\footnotesize' }
if (terminal eq 'epslatex') { set terminal epslatex input color size width, height font ',8' linewidth 1.6 \
        header '\footnotesize' }
if (terminal eq 'dumb') { set terminal dumb mono size columns, lines }
set output name . (latex ? '-tex.tex' : text ? '.text' : '.' . format)

# Markup of gnuplot or of LaTeX, and labels that a drawing in characters shortens.
markup(plain, tex) = latex ? tex : plain
short(full, brief) = text ? brief : full
percent = latex ? '\%' : '%'

# Okabe and Ito's colours, which colour-blind readers tell apart; lines also differ in dashes and
# points in shape, so that a grey print can be read. From 9 on: the same with open points.
blue = '#0072b2'; vermillion = '#d55e00'; green = '#009e73'; orange = '#e69f00'
sky = '#56b4e9'; purple = '#cc79a7'; brown = '#804000'; violet = '#404080'
ink = '#000000'; grey = '#808080'; pale = '#d9d9d9'
set linetype 1 linecolor rgb blue linewidth 1.4 dashtype 1 pointtype 7
set linetype 2 linecolor rgb vermillion linewidth 1.4 dashtype (6, 2.5) pointtype 5
set linetype 3 linecolor rgb green linewidth 1.4 dashtype (2, 2) pointtype 9
set linetype 4 linecolor rgb orange linewidth 1.4 dashtype (8, 2, 2, 2) pointtype 11
set linetype 5 linecolor rgb purple linewidth 1.4 dashtype (10, 3) pointtype 13
set linetype 6 linecolor rgb sky linewidth 1.4 dashtype (4, 1.5) pointtype 15
set linetype 7 linecolor rgb brown linewidth 1.4 dashtype (6, 2, 1, 2, 1, 2) pointtype 7
set linetype 8 linecolor rgb violet linewidth 1.4 dashtype (1, 1.5) pointtype 5
set linetype 9 linecolor rgb blue linewidth 1.4 dashtype (3, 1.5) pointtype 6
set linetype 10 linecolor rgb vermillion linewidth 1.4 dashtype 1 pointtype 4
set linetype 11 linecolor rgb green linewidth 1.4 dashtype (8, 2, 2, 2) pointtype 8
set linetype 12 linecolor rgb orange linewidth 1.4 dashtype (2, 2) pointtype 10
set linetype 13 linecolor rgb purple linewidth 1.4 dashtype 1 pointtype 12
set linetype 14 linecolor rgb sky linewidth 1.4 dashtype (10, 3) pointtype 14
set linetype 15 linecolor rgb brown linewidth 1.4 dashtype (4, 1.5) pointtype 6
set linetype 16 linecolor rgb violet linewidth 1.4 dashtype 1 pointtype 4
# What lines are compared with: a limit, dashed and dotted references, a frame.
set linetype 91 linecolor rgb ink linewidth 1.8 dashtype 1 pointtype 1
set linetype 92 linecolor rgb grey linewidth 1.3 dashtype (5, 3) pointtype 2
set linetype 93 linecolor rgb grey linewidth 1.3 dashtype (1, 2) pointtype 3
set linetype 94 linecolor rgb pale linewidth 0.6 dashtype 1
# Light to dark, one hue: the order survives in grey.
set palette defined (0 '#f3f7fb', 0.25 '#bcd3e8', 0.5 '#6ba4cf', 0.75 '#2a6dab', 1 '#08305c')

# Places are inches from the left and the top; in characters gnuplot finds its own.
x_at(inches) = inches / width
y_at(inches) = 1 - inches / height
set border 3 linecolor rgb ink linewidth 0.8
set tics nomirror out scale 0.5
set key samplen 2 spacing 0.9 height 0 width 0 noautotitle
if (text) {
    set title headline
} else {
    set label 100 headline at screen 0.5, screen y_at(0.11) center
    set lmargin at screen x_at(0.58)
    set rmargin at screen x_at(width - 0.1)
    set tmargin at screen y_at(0.26)
    set bmargin at screen y_at(height - 0.40)
    set xtics offset 0, 0.35
    set ytics offset 0.6, 0
    set xlabel offset 0, 0.85
    set ylabel offset latex ? 0.2 : 1.4, 0 # gnuplot does not know how wide LaTeX's tics are
}
