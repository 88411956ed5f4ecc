# SPDX-License-Identifier: MIT
# jitter --csv | gnuplot jitter.gnuplot > jitter.svg: how late the cycles of a loop began.
set terminal svg size 800,400 background "white"
set datafile separator ","
set logscale y
set style fill solid 0.6
set xlabel "late by less than (us)"
set ylabel "cycles"
set yrange [0.5:*]
plot "/dev/stdin" skip 1 using 0:2:xticlabels(1) with boxes notitle
