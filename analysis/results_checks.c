/*
 * Statements that must hold in every row: the UOR of pooled policies is exactly 1, they hold
 * exactly the quota (MEASURES §2), and pages that groups share lie between 1 and H_KV times it
 * (prop. 4).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/results_rows.h"
#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "replay/policy.h"

/* Counts a row of an exact statement; the first that breaks it is remembered with its line. */
static void check_exactly(struct kvr_results_pass *pass, struct kvr_exact_check *check,
                          const char *table, const char *column, double found, double expected)
{
    check->rows++;
    if (fabs(found - expected) <= 0)
        return;
    if (check->broken++ == 0)
        snprintf(check->first, sizeof check->first, "%s line %" PRIu64 ": %s %.17g, expected %.17g",
                 table, kvr_table_reader_line(pass->reader), column, found, expected);
}

/* Policies that pool a group into one ranking; compositions of the command line are not judged. */
static bool pools(const char *policy)
{
    struct kvr_stages stages;
    if (kvr_stages_parse(policy, &stages, NULL) != KVR_OK)
        return false;
    bool pooled = stages.reduce->scope != KVR_REDUCE_NOTHING;
    kvr_stages_free(&stages);
    return pooled;
}

/* The same by its index, looked up once. */
static enum kvr_status is_pooled(struct kvr_replay_results *results, size_t policy, bool *pooled,
                                 struct kvr_error *err)
{
    void *list = results->policy_pools;
    if (results->policies.count > results->pools_known) {
        enum kvr_status status = kvr_reserve(&list, &results->pools_capacity,
                                             results->policies.count, sizeof(bool), err);
        results->policy_pools = list;
        if (status != KVR_OK)
            return status;
        for (; results->pools_known < results->policies.count; results->pools_known++)
            results->policy_pools[results->pools_known] =
                pools(results->policies.items[results->pools_known]);
    }
    *pooled = results->policy_pools[policy];
    return KVR_OK;
}

/* The quota of MEASURES §2 from the budget as it was written. */
static enum kvr_status quota_of(const struct kvr_results_pass *pass, uint64_t *quota,
                                struct kvr_error *err)
{
    const struct kvr_measures_row *row = &pass->row.measures;
    struct kvr_decimal fraction;
    if (!kvr_parse_decimal(row->at.budget, &fraction))
        return kvr_table_reader_fail(pass->reader, "budget", err,
                                     "expected a decimal fraction, found \"%.100s\"",
                                     row->at.budget);
    if (row->at.page_size == 0)
        return kvr_table_reader_fail(pass->reader, "page_size", err,
                                     "expected at least 1, found 0");
    *quota = kvr_decimal_floor(fraction, row->context, row->at.page_size);
    *quota = *quota > 0 ? *quota : 1;
    return KVR_OK;
}

/* Pooled policies with the uniform quota (those with another have no UOR) hold exactly that. */
static enum kvr_status check_pooled(struct kvr_results_pass *pass, size_t policy,
                                    struct kvr_error *err)
{
    const struct kvr_measures_row *row = &pass->row.measures;
    struct kvr_exact_check *cardinality = &pass->results->cardinality;
    uint64_t quota = 0;
    bool pooled = false;
    enum kvr_status status = is_pooled(pass->results, policy, &pooled, err);
    if (status != KVR_OK || !pooled || isnan(row->uor))
        return status;
    status = quota_of(pass, &quota, err);
    if (status != KVR_OK)
        return status;
    check_exactly(pass, &pass->results->pooled_uor, "measures.csv", "uor", row->uor, 1);
    check_exactly(pass, cardinality, "measures.csv", "selected", (double)row->selected,
                  (double)quota);
    if (row->at.page_size == 1)
        check_exactly(pass, cardinality, "measures.csv", "kept_tokens", (double)row->kept_tokens,
                      (double)quota);
    return KVR_OK;
}

static enum kvr_status count_layer_groups(struct kvr_results_pass *pass, size_t sample,
                                          struct kvr_error *err)
{
    struct kvr_replay_results *results = pass->results;
    char key[64];
    size_t index, before = results->layer_capacity;
    snprintf(key, sizeof key, "%zu %" PRIu64, sample, pass->row.at.layer);
    enum kvr_status status = kvr_names_index(&results->layer_names, key, &index, err);
    void *list = results->layer_groups;
    if (status == KVR_OK)
        status = kvr_reserve(&list, &results->layer_capacity, index + 1,
                             sizeof *results->layer_groups, err);
    results->layer_groups = list;
    if (status != KVR_OK)
        return status;
    memset(results->layer_groups + before, 0,
           (results->layer_capacity - before) * sizeof *results->layer_groups);
    uint64_t *groups = &results->layer_groups[index];
    *groups = pass->row.at.group + 1 > *groups ? pass->row.at.group + 1 : *groups;
    return KVR_OK;
}

enum kvr_status kvr_check_measures_row(struct kvr_results_pass *pass,
                                       const struct kvr_results_place *place, struct kvr_error *err)
{
    enum kvr_status status = count_layer_groups(pass, place->sample, err);
    return status == KVR_OK ? check_pooled(pass, place->policy, err) : status;
}

enum kvr_status kvr_take_layers_row(void *state, const struct kvr_table_reader *reader,
                                    struct kvr_error *err)
{
    struct kvr_results_pass *pass = state;
    struct kvr_replay_results *results = pass->results;
    const struct kvr_layers_row *row = &pass->row.layers;
    struct kvr_results_place place;
    char key[64];
    size_t index, known = results->layer_names.count;
    enum kvr_status status = kvr_results_place(pass, reader, &place, err);
    if (status != KVR_OK)
        return status;
    snprintf(key, sizeof key, "%zu %" PRIu64, place.sample, row->at.layer);
    status = kvr_names_index(&results->layer_names, key, &index, err);
    if (status != KVR_OK)
        return status;
    if (index >= known)
        return kvr_table_reader_fail(reader, "layer", err,
                                     "expected a layer of measures.csv, found %" PRIu64,
                                     row->at.layer);
    if (isnan(row->pur) || row->quota == 0)
        return KVR_OK; /* an allocation shared the quotas out: there is no PUR */
    double most = (double)results->layer_groups[index];
    double pur = (double)row->both / (double)row->quota;
    check_exactly(pass, &results->page_union, "layers.csv", "pur", row->pur,
                  fmin(fmax(pur, 1), most));
    results->least_pur = fmin(results->least_pur, row->pur);
    results->most_pur = fmax(results->most_pur, row->pur);
    return KVR_OK;
}
