/*
 * Folders of tables as a replay leaves them, from rows in memory, for tests of what reads several.
 */
#ifndef KVR_COMPARE_FIXTURE_H
#define KVR_COMPARE_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

enum { COMPARE_NEEDLES = 2, COMPARE_PROMPT = 100 };

/* A needle in a row; weight NaN: it has no future. */
struct compare_needle_row {
    bool held;
    unsigned start;
    double fraction, future, weight;
};

/* A row of measures.csv with its rows of needles.csv. NaN: the field is empty. */
struct compare_row {
    const char *trace, *sample, *scorer, *policy, *budget;
    unsigned layer, group, page_size, context, selected, kept_tokens;
    double retained_mass, future_mass, future_weight, future_peak, peak_weight, output_error;
    struct compare_needle_row needles[COMPARE_NEEDLES];
};

/* What run.json says beside the samples of the rows, whose prompts have COMPARE_PROMPT tokens. */
struct compare_run {
    const char *tau;      /* "0.5" */
    const char *checksum; /* of every trace */
    unsigned head_dim;    /* 0: null */
};
extern const struct compare_run compare_run_default;

/* Writes measures.csv, needles.csv and run.json into the folder `path`, which it makes. */
void compare_folder_write(const char *path, const struct compare_row *rows, size_t count,
                          const struct compare_run *run);

/* A row with candidates and units that fit the budget "0.1" of 100 tokens, everything else empty.
 */
struct compare_row compare_row_of(const char *sample, unsigned layer, unsigned group,
                                  const char *policy);

#endif
