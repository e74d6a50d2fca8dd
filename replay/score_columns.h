/*
 * Scores from datasets of shape [heads][N]: column sums and columns computed elsewhere.
 */
#ifndef KVR_SCORE_COLUMNS_H
#define KVR_SCORE_COLUMNS_H

#include "replay/cell.h"

/* Column sums over the candidates, divided by their total (H2O). */
enum kvr_status kvr_score_accumulated(struct kvr_cell *cell, struct kvr_scored *scored,
                                      struct kvr_error *err);

/* Column sum at position j / (P - j), the prompt rows that see it, then divided by its total
   (kvpress ObservedAttention). */
enum kvr_status kvr_score_observed(struct kvr_cell *cell, struct kvr_scored *scored,
                                   struct kvr_error *err);

/* scores/<name> as recorded. */
enum kvr_status kvr_score_recorded(struct kvr_cell *cell, struct kvr_scored *scored,
                                   struct kvr_error *err);

#endif
