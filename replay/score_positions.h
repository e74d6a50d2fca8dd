/*
 * Scores that look at nothing recorded: the floor that any policy must beat.
 */
#ifndef KVR_SCORE_POSITIONS_H
#define KVR_SCORE_POSITIONS_H

#include "replay/cell.h"

/* Later is better: the candidate's index. */
enum kvr_status kvr_score_recency(struct kvr_cell *cell, struct kvr_scored *scored,
                                  struct kvr_error *err);

/* Uniform in [0, 1), from the seed, the sample's name and the layer's number: the same in every
   group of a layer and in every run. */
enum kvr_status kvr_score_random(struct kvr_cell *cell, struct kvr_scored *scored,
                                 struct kvr_error *err);

#endif
