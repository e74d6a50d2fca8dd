/*
 * One policy's part of a survey, private to it: vectors of every cell, then quotas of every cell.
 */
#ifndef KVR_SURVEY_USE_H
#define KVR_SURVEY_USE_H

#include "replay/gate.h"
#include "replay/survey.h"

/* One cell under one use. */
struct survey_cell {
    bool finite;    /* the cell has the score, and its group is not excluded */
    size_t heads;   /* vectors in `vectors` */
    float *vectors; /* of heads until reduce `layer`; then the smoothed one, if groups compete */
    float *
        layer_vector; /* [T] of reduce `layer`, not smoothed; the first cell of the layer owns it */
    uint64_t **quotas; /* [page sizes] of [budgets]; NULL: the uniform ones */
};

struct survey_use {
    size_t cell_count, page_count;
    struct survey_cell *cells;
    bool closed; /* the gate was, when the use was settled */
};

enum kvr_status survey_use_open(struct survey_use *use, size_t cell_count, size_t page_count,
                                struct kvr_error *err);
void survey_use_close(struct survey_use *use);

/* Copies what the use needs of a loaded cell. Only touches the cell's own place. */
enum kvr_status survey_use_take(struct survey_use *use, size_t index, const struct kvr_cell *cell,
                                const struct kvr_scored *scored, size_t use_index,
                                struct kvr_error *err);

/*
 * After the take of cell `index` and of all before it: pools the layer that ends there, where the
 * use reduces over layers, so that heads' vectors are held for the layers in work alone.
 */
enum kvr_status survey_use_taken(const struct kvr_survey *survey, struct survey_use *use,
                                 size_t use_index, size_t index, struct kvr_error *err);

/* Settles quotas. `closed`: the gate lets full-attention layers keep all. */
enum kvr_status survey_use_settle(const struct kvr_survey *survey, struct survey_use *use,
                                  size_t use_index, bool closed, struct kvr_select_scratch *scratch,
                                  struct kvr_error *err);

/* The top sets of a cell's query heads. */
struct gate_cell {
    size_t count;
    struct kvr_gate_head *heads; /* NULL: the group takes no part */
};

enum kvr_status gate_cell_take(struct gate_cell *gate, const struct kvr_cell *cell,
                               const struct kvr_scored *scored, struct kvr_select_scratch *scratch,
                               struct kvr_error *err);

/* The agreement profile of the layers in which the use's score exists. */
enum kvr_status gate_view_make(const struct kvr_survey *survey, const struct survey_use *use,
                               const struct gate_cell *gate_cells, struct kvr_gate_view *view,
                               struct kvr_error *err);

#endif
