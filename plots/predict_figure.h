/*
 * A prediction as figures: what the model does against what a replay measures, a point a setting.
 */
#ifndef KVR_PREDICT_FIGURE_H
#define KVR_PREDICT_FIGURE_H

#include "analysis/predict.h"
#include "plots/figures.h"

enum { KVR_PREDICT_FIGURE_NAME = 64 };

/* A figure of one measure at one page size; live figures are panels. */
struct kvr_predict_figure {
    const struct kvr_prediction *prediction;
    size_t section; /* of one page size */
    enum kvr_predictor predictor;
    char name[KVR_PREDICT_FIGURE_NAME]; /* filled by kvr_predict_draw; as the following */
    char title[KVR_PREDICT_FIGURE_NAME];
    struct kvr_figure figure;
};

/* Draws; the drawing points into *figure. Its reason is set where there is nothing to draw. Release
   it with kvr_drawing_free in any case. */
enum kvr_status kvr_predict_draw(struct kvr_predict_figure *figure, struct kvr_plotter *plotter,
                                 struct kvr_drawing *drawing, struct kvr_error *err);

#endif
