/*
 * Scores from cached keys, one vector per KV head.
 */
#ifndef KVR_SCORE_KEYS_H
#define KVR_SCORE_KEYS_H

#include "replay/cell.h"

/* -||k_t|| (Devoto et al., arXiv 2406.11430: keys of small norm attract attention). */
enum kvr_status kvr_score_key_norm(struct kvr_cell *cell, struct kvr_scored *scored,
                                   struct kvr_error *err);

/* -cos(k_t, mean of the candidates' unit keys) (KeyDiff, arXiv 2504.15364). */
enum kvr_status kvr_score_key_diff(struct kvr_cell *cell, struct kvr_scored *scored,
                                   struct kvr_error *err);

#endif
