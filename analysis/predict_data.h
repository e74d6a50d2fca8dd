/*
 * A replay's measures and a model's live figures side by side: for each setting (policy under a
 * scorer, page size, budget) and sample, one number of each kind.
 *
 * Replay tables are read row by row and brought to samples at once, so memory grows with settings
 * and samples, not with layers. A live row belongs to the setting and sample that have its names.
 */
#ifndef KVR_PREDICT_DATA_H
#define KVR_PREDICT_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/compare.h"
#include "analysis/predict_measure.h"
#include "analysis/run_facts.h"
#include "formats/base/names.h"
#include "formats/base/number.h"

/* Items that rows must match, page sizes as they are printed; none: every row does. */
struct kvr_predict_filters {
    struct kvr_compare_filter traces, scorers, policies, budgets, page_sizes;
};

struct kvr_predict_setting {
    size_t use, page, budget;            /* indices into the data's lists */
    double memory;                       /* units held / units of the uniform quota */
    double *offline[KVR_PREDICTORS];     /* [samples], NaN where it does not apply */
    double *live[KVR_LIVES];             /* [samples], NaN without a live row */
    bool *replayed, *lived;              /* [samples]: there are rows */
    uint64_t *held, *due;                /* [samples]: units, of all layers and groups */
    struct kvr_predict_sums *sums;       /* private: [sums_room] while tables are read */
    struct kvr_predict_needles *needles; /* private: [needle_room] */
    size_t sums_room, needle_room;
    struct kvr_decimal fraction;     /* private: of the budget */
    size_t last_sample;              /* private: of the row before */
    uint64_t last_layer, last_group; /* private */
};

struct kvr_predict_data {
    struct kvr_run_facts facts;
    struct kvr_names labels;  /* private: scorers and policies */
    struct kvr_names budgets; /* as the tables print them */
    struct kvr_names traces, samples, needles;
    size_t sample_count;    /* of the replay: samples beyond it appear in live rows only */
    size_t *needle_samples; /* private */
    size_t needle_capacity;
    size_t use_count, use_capacity;
    struct kvr_compare_use *uses; /* in the order of the tables; names are the data's */
    size_t page_count, page_capacity;
    uint64_t *page_sizes;
    size_t setting_count, setting_capacity, last_setting;
    struct kvr_predict_setting *settings;
    bool bytes_known; /* kept bytes are bytes; else the head size is not known: tokens */

    uint64_t live_rows, matched_rows; /* that pass the filters; that have a counterpart */
    uint64_t strange_samples;         /* live rows of a trace or sample that no table has */
    uint64_t strange_settings;        /* live rows of a setting that no table has */
    uint64_t unlived;                 /* (setting, sample) of the tables without a live row */
    char first_strange[320];          /* the first live row without a counterpart */
};

/* A folder may hold, in place of a replay's tables, this one: what they come to for each sample. */
extern const char kvr_predict_samples_name[];

/*
 * Reads run.json, measures.csv and needles.csv of the folders, then the live table. KVR_BAD_INPUT
 * with file and line where a table contradicts itself or another one, or nothing matches. Release
 * in any case.
 */
enum kvr_status kvr_predict_data_read(const char *const *folders, size_t folder_count,
                                      const char *live, const struct kvr_predict_filters *filters,
                                      struct kvr_predict_data *data, struct kvr_error *err);
void kvr_predict_data_free(struct kvr_predict_data *data);

/* True if rows with these names pass the filters; page sizes as numbers. */
bool kvr_predict_wanted(const struct kvr_predict_filters *filters, const char *trace,
                        const char *scorer, const char *policy, uint64_t page_size,
                        const char *budget);

/* The setting of these names, NULL if the tables have none. */
struct kvr_predict_setting *kvr_predict_find(struct kvr_predict_data *data, const char *scorer,
                                             const char *policy, uint64_t page_size,
                                             const char *budget);

/* Reads the live table into the settings (predict_live.c). */
enum kvr_status kvr_predict_live_read(const char *path, const struct kvr_predict_filters *filters,
                                      struct kvr_predict_data *data, struct kvr_error *err);

#endif
