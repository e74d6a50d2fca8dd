/*
 * What one cell gives to the ablations, before it is added in turn. Private to the ablations.
 */
#ifndef KVR_ABLATION_RECORD_H
#define KVR_ABLATION_RECORD_H

#include "analysis/ablation.h"

struct kvr_ablation_fact {
    enum kvr_ablation_table table;
    enum kvr_ablation_measure measure;
    size_t score, setting;
    double value, weight;
};

/* Kept pages of one group, to be united over the layer's groups. */
struct kvr_ablation_pages {
    size_t score, setting, words;
    uint64_t quota;
    uint64_t *units;
};

struct kvr_ablation_record {
    const struct kvr_ablation *ablation;
    size_t fact_count, fact_capacity;
    struct kvr_ablation_fact *facts;
    size_t page_count, page_capacity;
    struct kvr_ablation_pages *pages;
    bool *excluded, *present; /* [scores] */
};

/* Where values of a cell go while one setting is measured. */
struct kvr_ablation_place {
    struct kvr_ablation_record *record;
    enum kvr_ablation_table table;
    size_t score, setting;
    struct kvr_error *err;
};

/* Adds a value with weight 1, or with its own; NaN is passed over. */
enum kvr_status kvr_ablation_add(const struct kvr_ablation_place *place,
                                 enum kvr_ablation_measure measure, double value);
enum kvr_status kvr_ablation_add_weighted(const struct kvr_ablation_place *place,
                                          enum kvr_ablation_measure measure, double value,
                                          double weight);

/* Pages that one pooled vector keeps at the ablation's budget. */
struct kvr_ablation_kept {
    struct kvr_pages pages;
    uint64_t quota;
    uint64_t *units, *tokens; /* bitmaps of pages->count pages and of T candidates */
};

/* Memory is the cell's. */
enum kvr_status kvr_ablation_keep(const struct kvr_cell *cell, const float *pooled,
                                  uint64_t page_size, enum kvr_page_reduce reduce,
                                  struct kvr_ablation_kept *kept, struct kvr_error *err);

/* Retained mass, needle and future measures of what is kept. */
enum kvr_status kvr_ablation_add_kept(const struct kvr_ablation_place *place,
                                      const struct kvr_cell *cell, const struct kvr_scored *scored,
                                      const struct kvr_ablation_kept *kept);

/* The parts: each measures one finite score of a cell. */
enum kvr_status kvr_ablate_weightings(struct kvr_ablation_record *record, size_t score,
                                      const struct kvr_cell *cell, const struct kvr_scored *scored,
                                      struct kvr_error *err);
enum kvr_status kvr_ablate_needles(struct kvr_ablation_record *record, size_t score,
                                   const struct kvr_cell *cell, const struct kvr_scored *scored,
                                   struct kvr_error *err);
enum kvr_status kvr_ablate_pages(struct kvr_ablation_record *record, size_t score,
                                 const struct kvr_cell *cell, const struct kvr_scored *scored,
                                 struct kvr_error *err);

/* What pages need at the commit: unites a layer's groups, and adds the layer to the tallies. */
void kvr_ablate_unite(struct kvr_ablation_record *into, const struct kvr_ablation_record *record);
void kvr_ablate_layer(struct kvr_ablation *ablation, const struct kvr_ablation_record *layer,
                      uint32_t kv_heads);

#endif
