/*
 * The error that eviction causes in a head's output, where values were recorded (MEASURES §9):
 * ||o - o'|| / ||o|| with o = sum_t a_t v_t / sum_t a_t over all positions and o' the same over
 * kept candidates and positions >= P. It says what is lost; it does not say what the model does.
 */
#ifndef KVR_OUTPUT_ERROR_H
#define KVR_OUTPUT_ERROR_H

#include <stdint.h>

#include "replay/cell.h"

/* The decode rows of a group (the last recorded row if there are none), its values, and the full
   outputs. Memory is the cell's. */
struct kvr_output_error {
    size_t row_count; /* rows judged per head; 0: values were not recorded, every error is NaN */
    size_t width;     /* D_v */
    float *rows;      /* [r][row_count][N] */
    float *values;    /* [N][D_v] of the group's KV head */
    double *outputs;  /* [r][row_count][D_v] */
    double *scratch;  /* [D_v] */
    bool finite;      /* all of the above, and no output has norm 0 */
};

enum kvr_status kvr_output_error_load(const struct kvr_cell *cell, struct kvr_output_error *judge,
                                      struct kvr_error *err);

/*
 * Mean of the relative error over the group's heads and judged rows when of the candidates only
 * `tokens` (a bitmap of T bits) are kept. NaN if it does not apply or a row is not finite.
 */
double kvr_output_error_of(const struct kvr_cell *cell, const struct kvr_output_error *judge,
                           const uint64_t *tokens);

#endif
