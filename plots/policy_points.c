/*
 * Sums over rows of measures.csv. Rows of a sample stand together, so a sample's pool is closed
 * when the next one starts.
 */
#include "plots/policy_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/table_reader.h"

struct reading {
    struct kvr_policy_points *points;
    struct kvr_labels policies, budgets; /* copies of the source's lists that may be searched */
    struct kvr_text sample;              /* trace and sample of the rows that are passing */
    const char *trace, *sample_name, *scorer, *policy, *page_size, *budget;
    uint64_t context, kept_tokens;
    double retained_mass, future_mass, future_weight, future_peak, peak_weight;
};

static const struct kvr_field fields[] = {
    {KVR_FIELD(struct reading, trace, KVR_FIELD_STRING)},
    {"sample", KVR_FIELD_STRING, offsetof(struct reading, sample_name)},
    {KVR_FIELD(struct reading, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct reading, policy, KVR_FIELD_STRING)},
    {KVR_FIELD(struct reading, page_size, KVR_FIELD_STRING)},
    {KVR_FIELD(struct reading, budget, KVR_FIELD_STRING)},
    {KVR_FIELD(struct reading, context, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct reading, kept_tokens, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct reading, retained_mass, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct reading, future_mass, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct reading, future_weight, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct reading, future_peak, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct reading, peak_weight, KVR_FIELD_FIGURE)},
};

static void pool_add(struct kvr_pool *pool, double ratio, double weight)
{
    if (isnan(ratio) || isnan(weight))
        return;
    pool->weighted += ratio * weight;
    pool->weight += weight;
}

static void pool_close(struct kvr_pool *pool)
{
    if (pool->weight > 0) {
        pool->sum += pool->weighted / pool->weight;
        pool->samples++;
    }
    pool->weighted = pool->weight = 0;
}

static void close_sample(struct kvr_policy_points *points)
{
    for (size_t i = 0; i < points->policies * points->budgets; i++) {
        pool_close(&points->points[i].future_mass);
        pool_close(&points->points[i].future_peak);
    }
}

/* Notes the sample of the row; closes the pools where it is another one than before. */
static enum kvr_status pass_sample(struct reading *reading, struct kvr_error *err)
{
    struct kvr_text *sample = &reading->sample;
    size_t trace = strlen(reading->trace);
    if (sample->length > 0 && strncmp(sample->data, reading->trace, trace) == 0 &&
        sample->data[trace] == '\n' && strcmp(sample->data + trace + 1, reading->sample_name) == 0)
        return KVR_OK;
    close_sample(reading->points);
    kvr_text_clear(sample);
    kvr_text_string(sample, reading->trace);
    kvr_text_string(sample, "\n");
    kvr_text_string(sample, reading->sample_name);
    return kvr_text_check(sample, err);
}

static enum kvr_status take(void *state, const struct kvr_table_reader *reader,
                            struct kvr_error *err)
{
    struct reading *r = state;
    const struct kvr_source *source = r->points->source;
    (void)reader;
    if (strcmp(r->page_size, source->page_size) != 0 || !kvr_source_shows_trace(source, r->trace) ||
        !kvr_source_shows_policy(source, r->policy, r->scorer))
        return KVR_OK;
    size_t policy = kvr_labels_find(&r->policies, r->policy);
    size_t budget = kvr_labels_find(&r->budgets, r->budget);
    enum kvr_status status = pass_sample(r, err);
    if (status != KVR_OK || policy == r->policies.count || budget == r->budgets.count)
        return status;
    struct kvr_policy_point *point = &r->points->points[policy * r->points->budgets + budget];
    point->rows++;
    point->kept += (double)r->kept_tokens;
    point->context += (double)r->context;
    if (!isnan(r->retained_mass)) {
        point->retained_rows++;
        point->retained += r->retained_mass;
    }
    pool_add(&point->future_mass, r->future_mass, r->future_weight);
    pool_add(&point->future_peak, r->future_peak, r->peak_weight);
    return KVR_OK;
}

enum kvr_status kvr_policy_points_read(const struct kvr_source *source,
                                       struct kvr_policy_points *points, struct kvr_error *err)
{
    struct reading reading = {
        .points = points, .policies = source->policies, .budgets = source->budgets};
    *points = (struct kvr_policy_points){
        .source = source,
        .policies = source->policies.count,
        .budgets = source->budgets.count,
    };
    points->points = kvr_alloc(points->policies * points->budgets, sizeof *points->points, err);
    if (points->points == NULL)
        return KVR_NO_MEMORY;
    if (source->page_size == NULL)
        return KVR_OK;
    enum kvr_status status =
        kvr_table_each(source->folder, "measures.csv", fields, sizeof fields / sizeof *fields,
                       &reading, take, &reading, err);
    close_sample(points);
    kvr_text_free(&reading.sample);
    return status;
}

void kvr_policy_points_free(struct kvr_policy_points *points)
{
    free(points->points);
    points->points = NULL;
}

double kvr_point_kept(const struct kvr_policy_point *point)
{
    return point->rows > 0 ? point->kept / point->context : NAN;
}

double kvr_point_retained(const struct kvr_policy_point *point)
{
    return point->retained_rows > 0 ? point->retained / (double)point->retained_rows : NAN;
}

double kvr_pool_mean(const struct kvr_pool *pool)
{
    return pool->samples > 0 ? pool->sum / (double)pool->samples : NAN;
}

/* ------------------------------------------------------------------------------ lines */

/* The ceiling and the two floors have styles of their own; the others take theirs in turn, the same
   in every figure of a replay. */
static unsigned style_of(const struct kvr_source *source, const char *policy)
{
    static const char *const special[] = {"clairvoyant", "random", "streaming-llm"};
    unsigned turn = 0;
    for (unsigned i = 0; i < 3; i++)
        if (strcmp(policy, special[i]) == 0)
            return 91 + i;
    for (size_t p = 0; p < source->policies.count; p++) {
        const char *other = source->policies.names[p];
        if (strcmp(other, policy) == 0)
            break;
        turn += strcmp(other, special[0]) != 0 && strcmp(other, special[1]) != 0 &&
                strcmp(other, special[2]) != 0;
    }
    return turn % 16 + 1;
}

void kvr_policy_names_write(struct kvr_draft *draft, const struct kvr_source *source,
                            const char *const *names, size_t count)
{
    kvr_draft_strings(draft, "policies", names, count);
    kvr_text_add(&draft->facts, "array styles[%zu] = [", count);
    for (size_t i = 0; i < count; i++)
        kvr_text_add(&draft->facts, "%s%u", i > 0 ? ", " : "", style_of(source, names[i]));
    kvr_text_string(&draft->facts, "]\n");
}

static bool has_point(const struct kvr_policy_point *point, const struct kvr_policy_lines *lines)
{
    for (size_t c = 0; point->rows > 0 && c < lines->column_count; c++)
        if (!isnan(lines->columns[c](point)))
            return true;
    return false;
}

/* False, and nothing is written, where the policy has no point. */
static bool write_policy(const struct kvr_policy_points *points, size_t policy,
                         const struct kvr_policy_lines *lines, struct kvr_draft *draft)
{
    bool started = false;
    for (size_t b = 0; b < points->budgets; b++) {
        const struct kvr_policy_point *point = &points->points[policy * points->budgets + b];
        if (!has_point(point, lines))
            continue;
        if (!started)
            kvr_draft_block(draft, "%s: kept %s samples budget",
                            points->source->policies.names[policy], lines->names);
        started = true;
        kvr_draft_value(draft, kvr_point_kept(point));
        for (size_t c = 0; c < lines->column_count; c++)
            kvr_draft_value(draft, lines->columns[c](point));
        kvr_draft_value(draft, (double)point->future_mass.samples);
        kvr_draft_name(draft, points->source->budgets.names[b]);
        kvr_draft_end(draft);
    }
    return started;
}

/* The range of a logarithmic axis: shares above 0. */
static void write_range(const struct kvr_policy_points *points, struct kvr_draft *draft)
{
    double least = HUGE_VAL, most = 0;
    for (size_t i = 0; i < points->policies * points->budgets; i++) {
        double kept = kvr_point_kept(&points->points[i]);
        if (kept > 0) {
            least = fmin(least, kept);
            most = fmax(most, kept);
        }
    }
    kvr_draft_number(draft, "kept_least", most > 0 ? least : 0.01);
    kvr_draft_number(draft, "kept_most", most > 0 ? most : 1);
}

enum kvr_status kvr_policy_points_write(const struct kvr_policy_points *points,
                                        const struct kvr_policy_lines *lines,
                                        struct kvr_draft *draft, size_t *written,
                                        struct kvr_error *err)
{
    *written = 0;
    const char **names = kvr_alloc(points->policies, sizeof *names, err);
    if (names == NULL)
        return KVR_NO_MEMORY;
    for (size_t p = 0; p < points->policies; p++) {
        if (!write_policy(points, p, lines, draft))
            continue;
        names[(*written)++] = points->source->policies.names[p];
    }
    if (*written > 0)
        write_range(points, draft);
    if (*written > 0)
        kvr_policy_names_write(draft, points->source, names, *written);
    free(names);
    return KVR_OK;
}

void kvr_policy_lines_size(struct kvr_draft *draft, size_t count, double panels)
{
    double rows = ceil((double)count / 3);
    double legend = 0.06 + 0.155 * rows;
    kvr_draft_number(draft, "legend_height", legend);
    draft->height = panels + legend;
    draft->text_lines = (panels > 2.5 ? 42 : 24) + rows;
}
