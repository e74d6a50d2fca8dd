/*
 * The figures of a report: every one that gnuplot can draw from the folder's tables.
 */
#ifndef KVR_REPORT_FIGURES_H
#define KVR_REPORT_FIGURES_H

#include "plots/figures.h"
#include "plots/report.h"

struct kvr_report_figures {
    size_t count;
    struct kvr_report_figure *figures; /* [count] */
    struct kvr_drawing *drawings;      /* [count], own what the figures point to */
    char note[1600];                   /* why there are none; "" if there are */
};

/* A machine without gnuplot has a note and no figures: a report is still worth having. Release in
   any case. */
enum kvr_status kvr_report_figures_draw(const char *folder, struct kvr_report_figures *figures,
                                        struct kvr_error *err);
void kvr_report_figures_free(struct kvr_report_figures *figures);

#endif
