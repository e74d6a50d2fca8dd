/*
 * How the rows of each table enter the results. Sums only: what they mean is decided elsewhere.
 */
#include "analysis/results_rows.h"

#include <math.h>
#include <string.h>

#include "analysis/bound_kinds.h"
#include "formats/base/memory.h"

/* ------------------------------------------------------------------------------ places */

/* A sample's rows stand together, so that its sums are complete before the next one's begin. */
static enum kvr_status enter_sample(struct kvr_results_pass *pass, size_t sample,
                                    struct kvr_error *err)
{
    if (pass->started && pass->sample == sample)
        return KVR_OK;
    size_t before = pass->met_capacity;
    void *met = pass->met;
    enum kvr_status status = kvr_reserve(&met, &pass->met_capacity, sample + 1, 1, err);
    pass->met = met;
    if (status != KVR_OK)
        return status;
    memset(pass->met + before, 0, pass->met_capacity - before);
    if (pass->met[sample])
        return kvr_table_reader_fail(pass->reader, "sample", err,
                                     "expected the rows of a sample together, found \"%.100s\" a "
                                     "second time",
                                     pass->row.at.sample);
    pass->met[sample] = 1;
    pass->sample = sample;
    pass->started = true;
    return KVR_OK;
}

enum kvr_status kvr_results_place(struct kvr_results_pass *pass,
                                  const struct kvr_table_reader *reader,
                                  struct kvr_results_place *place, struct kvr_error *err)
{
    struct kvr_replay_results *results = pass->results;
    const struct kvr_place_row *row = &pass->row.at;
    size_t trace;
    pass->reader = reader;
    *place = (struct kvr_results_place){0};
    enum kvr_status status = kvr_names_index(&results->traces, row->trace, &trace, err);
    if (status == KVR_OK)
        status = kvr_names_pair(&results->samples, row->trace, row->sample, &place->sample, err);
    if (status == KVR_OK)
        status = kvr_names_index(&results->scorers, row->scorer, &place->scorer, err);
    if (status == KVR_OK && row->policy != NULL)
        status = kvr_names_index(&results->policies, row->policy, &place->policy, err);
    if (status == KVR_OK && row->budget != NULL)
        status = kvr_names_index(&results->budgets, row->budget, &place->budget, err);
    return status == KVR_OK ? enter_sample(pass, place->sample, err) : status;
}

/* One more element, zeroed; NULL on failure. */
static void *append(void **items, size_t *count, size_t *capacity, size_t size,
                    struct kvr_error *err)
{
    if (kvr_reserve(items, capacity, *count + 1, size, err) != KVR_OK)
        return NULL;
    void *item = (char *)*items + (*count)++ * size;
    memset(item, 0, size);
    return item;
}

/* Whether index i is the setting that is looked for. */
typedef bool (*is_setting)(const struct kvr_replay_results *results, size_t i,
                           const struct kvr_results_place *place, uint64_t page_size);

/* The index of a setting, `count` if there is none. */
static size_t find_setting(struct kvr_results_pass *pass, size_t count, is_setting is,
                           const struct kvr_results_place *place)
{
    uint64_t page_size = pass->row.at.page_size;
    for (size_t step = 1; step <= count; step++) {
        size_t i = (pass->setting + step) % count;
        if (is(pass->results, i, place, page_size))
            return pass->setting = i;
    }
    return pass->setting = count;
}

/* ------------------------------------------------------------------------------ bounds.csv */

static bool is_overlap(const struct kvr_replay_results *results, size_t i,
                       const struct kvr_results_place *place, uint64_t page_size)
{
    const struct kvr_overlap_setting *setting = &results->overlaps[i];
    return setting->scorer == place->scorer && setting->budget == place->budget &&
           setting->page_size == page_size;
}

static struct kvr_sample_overlap *overlap_of(struct kvr_results_pass *pass,
                                             const struct kvr_results_place *place,
                                             struct kvr_error *err)
{
    struct kvr_replay_results *results = pass->results;
    size_t i = find_setting(pass, results->overlap_count, is_overlap, place);
    void *list = results->overlaps;
    if (i == results->overlap_count) {
        struct kvr_overlap_setting *added =
            append(&list, &results->overlap_count, &results->overlap_capacity, sizeof *added, err);
        results->overlaps = list;
        if (added == NULL)
            return NULL;
        added->scorer = place->scorer;
        added->budget = place->budget;
        added->page_size = pass->row.at.page_size;
    }
    struct kvr_overlap_setting *setting = &results->overlaps[i];
    if (setting->count > 0 && setting->samples[setting->count - 1].sample == place->sample)
        return &setting->samples[setting->count - 1];
    list = setting->samples;
    struct kvr_sample_overlap *sample =
        append(&list, &setting->count, &setting->capacity, sizeof *sample, err);
    setting->samples = list;
    if (sample != NULL)
        sample->sample = place->sample;
    return sample;
}

static struct kvr_group_count *groups_of(struct kvr_replay_results *results, size_t scorer,
                                         struct kvr_error *err)
{
    for (size_t i = 0; i < results->group_count; i++)
        if (results->groups[i].scorer == scorer)
            return &results->groups[i];
    void *list = results->groups;
    struct kvr_group_count *count =
        append(&list, &results->group_count, &results->group_capacity, sizeof *count, err);
    results->groups = list;
    if (count != NULL)
        count->scorer = scorer;
    return count;
}

/* A group has a row for every page size and budget: those of the first setting count it. */
static bool is_first_setting(const struct kvr_replay_results *results,
                             const struct kvr_results_place *place, uint64_t page_size)
{
    for (size_t i = 0; i < results->overlap_count; i++)
        if (results->overlaps[i].scorer == place->scorer)
            return is_overlap(results, i, place, page_size);
    return false;
}

enum kvr_status kvr_take_bounds_row(void *state, const struct kvr_table_reader *reader,
                                    struct kvr_error *err)
{
    struct kvr_results_pass *pass = state;
    const struct kvr_bounds_row *row = &pass->row.bounds;
    struct kvr_results_place place;
    enum kvr_status status = kvr_results_place(pass, reader, &place, err);
    if (status != KVR_OK)
        return status;
    struct kvr_sample_overlap *sums = overlap_of(pass, &place, err);
    struct kvr_group_count *count = groups_of(pass->results, place.scorer, err);
    if (sums == NULL || count == NULL)
        return KVR_NO_MEMORY;
    count->measured += is_first_setting(pass->results, &place, row->at.page_size);
    if (isnan(row->j_mean))
        return KVR_OK; /* one vector: there is nothing to agree with */
    bool certified_1 = kvr_bound_certifies(row->bonferroni_lower);
    bool certified_t = kvr_bound_certifies(row->sandwich_lower);
    sums->groups++;
    sums->uor_sum += row->uor;
    sums->disagreement_sum += 1 - row->j_mean;
    sums->share_sum += (row->uor - 1) / ((double)row->ratio - 1);
    sums->above_one += row->uor > 1;
    sums->twofold += row->uor >= 2;
    sums->certified_1 += certified_1;
    sums->certified_t += certified_t;
    sums->certified += certified_1 || certified_t;
    sums->certified_wrongly += (certified_1 || certified_t) && row->uor < 2;
    return KVR_OK;
}

/* ------------------------------------------------------------------------------ measures.csv */

static bool is_kept(const struct kvr_replay_results *results, size_t i,
                    const struct kvr_results_place *place, uint64_t page_size)
{
    const struct kvr_kept_setting *setting = &results->kept[i];
    return setting->scorer == place->scorer && setting->policy == place->policy &&
           setting->budget == place->budget && setting->page_size == page_size;
}

static struct kvr_kept_setting *
kept_of(struct kvr_results_pass *pass, const struct kvr_results_place *place, struct kvr_error *err)
{
    struct kvr_replay_results *results = pass->results;
    size_t i = find_setting(pass, results->kept_count, is_kept, place);
    if (i < results->kept_count)
        return &results->kept[i];
    void *list = results->kept;
    struct kvr_kept_setting *setting =
        append(&list, &results->kept_count, &results->kept_capacity, sizeof *setting, err);
    results->kept = list;
    if (setting == NULL)
        return NULL;
    setting->scorer = place->scorer;
    setting->policy = place->policy;
    setting->budget = place->budget;
    setting->page_size = pass->row.at.page_size;
    return setting;
}

static struct kvr_sample_kept *sample_kept_of(struct kvr_kept_setting *setting, size_t sample,
                                              struct kvr_error *err)
{
    if (setting->count > 0 && setting->samples[setting->count - 1].sample == sample)
        return &setting->samples[setting->count - 1];
    void *list = setting->samples;
    struct kvr_sample_kept *kept =
        append(&list, &setting->count, &setting->capacity, sizeof *kept, err);
    setting->samples = list;
    if (kept != NULL)
        kept->sample = sample;
    return kept;
}

enum kvr_status kvr_take_measures_row(void *state, const struct kvr_table_reader *reader,
                                      struct kvr_error *err)
{
    struct kvr_results_pass *pass = state;
    const struct kvr_measures_row *row = &pass->row.measures;
    struct kvr_results_place place;
    enum kvr_status status = kvr_results_place(pass, reader, &place, err);
    if (status == KVR_OK)
        status = kvr_check_measures_row(pass, &place, err);
    if (status != KVR_OK)
        return status;
    struct kvr_kept_setting *setting = kept_of(pass, &place, err);
    struct kvr_sample_kept *kept =
        setting != NULL ? sample_kept_of(setting, place.sample, err) : NULL;
    if (kept == NULL)
        return KVR_NO_MEMORY;
    if (!isnan(row->retained_mass)) {
        kept->retained_groups++;
        kept->retained_sum += row->retained_mass;
    }
    if (!isnan(row->future_mass) && !isnan(row->future_weight)) {
        kept->mass += row->future_mass * row->future_weight;
        kept->mass_weight += row->future_weight;
    }
    if (!isnan(row->future_peak) && !isnan(row->peak_weight)) {
        kept->peak += row->future_peak * row->peak_weight;
        kept->peak_weight += row->peak_weight;
    }
    return KVR_OK;
}

/* ------------------------------------------------------------------------------ needles.csv */

static struct kvr_needle_kept *needle_of(struct kvr_kept_setting *setting, size_t sample,
                                         uint64_t needle, struct kvr_error *err)
{
    for (size_t i = setting->needle_count; i > 0 && setting->needles[i - 1].sample == sample; i--)
        if (setting->needles[i - 1].needle == needle)
            return &setting->needles[i - 1];
    void *list = setting->needles;
    struct kvr_needle_kept *kept =
        append(&list, &setting->needle_count, &setting->needle_capacity, sizeof *kept, err);
    setting->needles = list;
    if (kept != NULL) {
        kept->sample = sample;
        kept->needle = needle;
    }
    return kept;
}

enum kvr_status kvr_take_needles_row(void *state, const struct kvr_table_reader *reader,
                                     struct kvr_error *err)
{
    struct kvr_results_pass *pass = state;
    const struct kvr_needles_row *row = &pass->row.needles;
    struct kvr_results_place place;
    enum kvr_status status = kvr_results_place(pass, reader, &place, err);
    if (status != KVR_OK)
        return status;
    struct kvr_kept_setting *setting = kept_of(pass, &place, err);
    struct kvr_needle_kept *kept =
        setting != NULL ? needle_of(setting, place.sample, row->needle, err) : NULL;
    if (kept == NULL)
        return KVR_NO_MEMORY;
    kept->rows++;
    kept->whole += row->kept_fraction >= 1;
    kept->pooled_sum += row->pooled_mass; /* NaN stays NaN */
    return KVR_OK;
}

/* ------------------------------------------------------------------------------ other tables */

static struct kvr_sample_census *census_of(struct kvr_replay_results *results,
                                           const struct kvr_results_place *place,
                                           struct kvr_error *err)
{
    size_t i = 0;
    void *list = results->census;
    while (i < results->census_count && results->census[i].scorer != place->scorer)
        i++;
    if (i == results->census_count) {
        struct kvr_census_setting *added =
            append(&list, &results->census_count, &results->census_capacity, sizeof *added, err);
        results->census = list;
        if (added == NULL)
            return NULL;
        added->scorer = place->scorer;
    }
    struct kvr_census_setting *setting = &results->census[i];
    if (setting->count > 0 && setting->samples[setting->count - 1].sample == place->sample)
        return &setting->samples[setting->count - 1];
    list = setting->samples;
    struct kvr_sample_census *sample =
        append(&list, &setting->count, &setting->capacity, sizeof *sample, err);
    setting->samples = list;
    if (sample != NULL)
        sample->sample = place->sample;
    return sample;
}

enum kvr_status kvr_take_heads_row(void *state, const struct kvr_table_reader *reader,
                                   struct kvr_error *err)
{
    struct kvr_results_pass *pass = state;
    const struct kvr_heads_row *row = &pass->row.heads;
    struct kvr_results_place place;
    unsigned class = 0;
    enum kvr_status status = kvr_results_place(pass, reader, &place, err);
    if (status != KVR_OK)
        return status;
    while (class < KVR_HEAD_CLASSES &&
           strcmp(kvr_head_class_name((enum kvr_head_class) class), row->class) != 0)
        class ++;
    if (class == KVR_HEAD_CLASSES)
        return kvr_table_reader_fail(reader, "class", err,
                                     "expected sink, retrieval or contextual, found \"%.100s\"",
                                     row->class);
    struct kvr_sample_census *census = census_of(pass->results, &place, err);
    if (census == NULL)
        return KVR_NO_MEMORY;
    census->heads[class]++;
    census->raw[class] += row->weight_raw;
    census->isolated[class] += row->weight_isolated;
    return KVR_OK;
}

enum kvr_status kvr_take_excluded_row(void *state, const struct kvr_table_reader *reader,
                                      struct kvr_error *err)
{
    struct kvr_results_pass *pass = state;
    struct kvr_results_place place;
    enum kvr_status status = kvr_results_place(pass, reader, &place, err);
    if (status != KVR_OK)
        return status;
    struct kvr_group_count *count = groups_of(pass->results, place.scorer, err);
    if (count == NULL)
        return KVR_NO_MEMORY;
    count->excluded++;
    count->excluded_heads += pass->row.excluded.heads;
    return KVR_OK;
}
