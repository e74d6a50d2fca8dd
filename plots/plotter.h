/*
 * Drawing what is no figure of a folder's tables. Private to plots/; the plotter is in figures.h.
 */
#ifndef KVR_PLOTTER_H
#define KVR_PLOTTER_H

#include "plots/draft.h"
#include "plots/figures.h"

/* Draws a draft that is complete, as kvr_plotter_draw does with the one that a figure computes. The
   figure needs a name, a title and a template. */
enum kvr_status kvr_plotter_draw_draft(struct kvr_plotter *plotter, const struct kvr_figure *figure,
                                       const struct kvr_draft *draft, struct kvr_drawing *drawing,
                                       struct kvr_error *err);

#endif
