/*
 * Drawing the figures of a prediction into a folder.
 */
#ifndef KVR_PREDICT_FIGURES_H
#define KVR_PREDICT_FIGURES_H

#include "analysis/predict.h"
#include "plots/figures.h"

/* A figure for each measure and page size that have points; notes go to standard error. KVR_IO with
   a hint where there is no gnuplot. */
enum kvr_status kvr_predict_figures(const struct kvr_prediction *prediction,
                                    const struct kvr_plot_options *options, const char *folder,
                                    struct kvr_error *err);

#endif
