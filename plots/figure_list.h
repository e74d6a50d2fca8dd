/*
 * What the registry needs of each figure's file: its function. Private to plots/.
 */
#ifndef KVR_FIGURE_LIST_H
#define KVR_FIGURE_LIST_H

#include "plots/draft.h"
#include "plots/figures.h"
#include "plots/source.h"

typedef enum kvr_status kvr_compute_figure(const struct kvr_source *source, struct kvr_draft *draft,
                                           struct kvr_error *err);

kvr_compute_figure kvr_figure_uor_disagreement;
kvr_compute_figure kvr_figure_entropy_densities;
kvr_compute_figure kvr_figure_slot_share;
kvr_compute_figure kvr_figure_temperature;
kvr_compute_figure kvr_figure_finite_context;
kvr_compute_figure kvr_figure_weights;
kvr_compute_figure kvr_figure_uor_curves;
kvr_compute_figure kvr_figure_needle_retention;
kvr_compute_figure kvr_figure_layer_group;
kvr_compute_figure kvr_figure_retained_memory;
kvr_compute_figure kvr_figure_bound_tightness;
kvr_compute_figure kvr_figure_page_union;
kvr_compute_figure kvr_figure_policies;

#endif
