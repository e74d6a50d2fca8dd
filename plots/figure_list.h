/*
 * What the registry needs of each figure's file: its function. Private to plots/.
 */
#ifndef KVR_FIGURE_LIST_H
#define KVR_FIGURE_LIST_H

#include "plots/draft.h"
#include "plots/figures.h"
#include "plots/source.h"

typedef enum kvr_status kvr_compute_figure(const struct kvr_source *source,
                                           struct kvr_draft *draft, struct kvr_error *err);

kvr_compute_figure kvr_figure_uor_disagreement;

#endif
