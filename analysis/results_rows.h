/*
 * Rows of a replay's tables, and how each enters the results. Private to analysis/results_*.c.
 *
 * Rows stand in the order of the samples, and options turn in a cycle within a sample: the setting
 * of a row is mostly the one after that of the row before.
 */
#ifndef KVR_RESULTS_ROWS_H
#define KVR_RESULTS_ROWS_H

#include "analysis/replay_results.h"
#include "formats/table_reader.h"

/* The columns that say which cell and setting a row is of; tables hold some of them. */
struct kvr_place_row {
    const char *trace, *sample, *scorer, *policy, *budget;
    uint64_t layer, group, page_size;
};

/* The row of each table begins with its place. */
struct kvr_bounds_row {
    struct kvr_place_row at;
    uint64_t ratio;
    double uor, j_mean, bonferroni_lower, sandwich_lower;
};
struct kvr_measures_row {
    struct kvr_place_row at;
    uint64_t context, selected, kept_tokens;
    double uor, retained_mass, future_mass, future_weight, future_peak, peak_weight;
};
struct kvr_needles_row {
    struct kvr_place_row at;
    uint64_t needle;
    double kept_fraction, pooled_mass;
};
struct kvr_heads_row {
    struct kvr_place_row at;
    double weight_raw, weight_isolated;
    const char *class;
};
struct kvr_layers_row {
    struct kvr_place_row at;
    uint64_t quota, both;
    double pur;
};
struct kvr_excluded_row {
    struct kvr_place_row at;
    uint64_t heads;
};

/* What a pass over one table carries. */
struct kvr_results_pass {
    struct kvr_replay_results *results;
    const struct kvr_table_reader *reader;
    size_t setting;     /* of the row before: the next row's is mostly the next one */
    size_t sample;      /* of the row before */
    bool started;       /* there was a row before */
    unsigned char *met; /* [met_capacity] samples that this table has had */
    size_t met_capacity;
    union {
        struct kvr_place_row at;
        struct kvr_bounds_row bounds;
        struct kvr_measures_row measures;
        struct kvr_needles_row needles;
        struct kvr_heads_row heads;
        struct kvr_layers_row layers;
        struct kvr_excluded_row excluded;
    } row;
};

/* The indices of a row's names; policy and budget only where the table has them. */
struct kvr_results_place {
    size_t sample, scorer, policy, budget;
};

/* Fills *place; the reader is that of the pass from now on. */
enum kvr_status kvr_results_place(struct kvr_results_pass *pass,
                                  const struct kvr_table_reader *reader,
                                  struct kvr_results_place *place, struct kvr_error *err);

/* One for each table; state is a struct kvr_results_pass whose row was read. */
enum kvr_status kvr_take_bounds_row(void *state, const struct kvr_table_reader *reader,
                                    struct kvr_error *err);
enum kvr_status kvr_take_measures_row(void *state, const struct kvr_table_reader *reader,
                                      struct kvr_error *err);
enum kvr_status kvr_take_needles_row(void *state, const struct kvr_table_reader *reader,
                                     struct kvr_error *err);
enum kvr_status kvr_take_heads_row(void *state, const struct kvr_table_reader *reader,
                                   struct kvr_error *err);
enum kvr_status kvr_take_layers_row(void *state, const struct kvr_table_reader *reader,
                                    struct kvr_error *err);
enum kvr_status kvr_take_excluded_row(void *state, const struct kvr_table_reader *reader,
                                      struct kvr_error *err);

/* Statements that are exact, for a row of measures.csv: the UOR and the quota of pooled policies;
   and how many groups its layer has, which layers.csv is held against. */
enum kvr_status kvr_check_measures_row(struct kvr_results_pass *pass,
                                       const struct kvr_results_place *place,
                                       struct kvr_error *err);

#endif
