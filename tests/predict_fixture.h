/*
 * Tables of a replay and live figures beside them, random but reproducible, for tests of
 * predictions: in memory to compute from, and as files.
 */
#ifndef KVR_PREDICT_FIXTURE_H
#define KVR_PREDICT_FIXTURE_H

#include "analysis/predict.h"
#include "tests/compare_fixture.h"

enum { SAMPLES = 5, LAYERS = 2, GROUPS = 2, POLICIES = 6, SIZES = 2, BUDGETS = 2 };
enum { SETTINGS = POLICIES * SIZES * BUDGETS, CELLS = SAMPLES * LAYERS * GROUPS };
enum { DRAWS = 200 };

/* A live row; NaN: the field is empty. */
struct live_row {
    bool present;
    double right, logprob, logprob_full, kl;
};

/* By sample, layer and group, then setting: policy, page size, budget. */
extern struct compare_row rows[CELLS * SETTINGS];
extern bool row_present[CELLS * SETTINGS];
extern struct live_row lives[SAMPLES][SETTINGS];

extern const char live_header[];

/* The first policy holds twice the first budget; the second trace starts with sample 3. */
void make_tables(uint64_t seed);

/* The tables in the scratch folder: replay/ and live.csv, whose rows stand in another order. */
void write_tables(void);

/* Adds to live.csv. */
void append_live(const char *lines);

/* Few draws, one thread, page sizes also mixed. */
struct kvr_predict_options default_options(void);

enum kvr_status predict(const struct kvr_predict_options *options,
                        struct kvr_prediction *prediction, struct kvr_error *err);
void must_predict(const struct kvr_predict_options *options, struct kvr_prediction *prediction);

#endif
