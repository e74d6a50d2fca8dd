/*
 * Densities of the heads' entropies by class, as recorded and with the sinks isolated: pure sink
 * heads look like retrieval heads before and like diffuse ones, near ln(T - S), after.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/table_reader.h"
#include "plots/caption.h"
#include "plots/figure_list.h"
#include "plots/head_rows.h"

enum { POINTS = 201 };

struct collected {
    struct kvr_values raw[KVR_HEAD_CLASS_COUNT], isolated[KVR_HEAD_CLASS_COUNT];
    double most; /* entropy */
    double tall; /* density */
};

static enum kvr_status take(void *state, const struct kvr_head_row *row, struct kvr_error *err)
{
    struct collected *c = state;
    c->most = fmax(c->most, fmax(row->h2_raw, row->h2_isolated));
    enum kvr_status status = kvr_values_add(&c->raw[row->kind], row->h2_raw, err);
    return status == KVR_OK ? kvr_values_add(&c->isolated[row->kind], row->h2_isolated, err)
                            : status;
}

/* ------------------------------------------------------------------------------ ln(T - S) */

struct context_row {
    const struct kvr_source *source;
    const char *trace;
    uint64_t context, most;
};

static enum kvr_status take_context(void *state, const struct kvr_table_reader *reader,
                                    struct kvr_error *err)
{
    struct context_row *row = state;
    (void)reader;
    (void)err;
    if (kvr_source_shows_trace(row->source, row->trace) && row->context > row->most)
        row->most = row->context;
    return KVR_OK;
}

/* Of the longest context; NaN where it is not known. */
static enum kvr_status find_limit(const struct kvr_source *source, double *limit,
                                  struct kvr_error *err)
{
    struct context_row row = {.source = source};
    static const struct kvr_field fields[] = {
        {KVR_FIELD(struct context_row, trace, KVR_FIELD_STRING)},
        {KVR_FIELD(struct context_row, context, KVR_FIELD_UNSIGNED)},
    };
    *limit = NAN;
    if (!source->run_known)
        return KVR_OK;
    enum kvr_status status =
        kvr_table_each(source->folder, "measures.csv", fields, 2, &row, take_context, &row, err);
    if (row.most > source->sinks)
        *limit = log((double)(row.most - source->sinks));
    return status;
}

/* ------------------------------------------------------------------------------ writing */

/* Columns of the classes that have heads; a class without spread still has its peak. */
static enum kvr_status write_densities(struct collected *c, double most, struct kvr_draft *draft,
                                       struct kvr_error *err)
{
    double densities[2 * KVR_HEAD_CLASS_COUNT][POINTS];
    size_t columns = 0;
    enum kvr_status status = KVR_OK;
    for (size_t k = 0; status == KVR_OK && k < KVR_HEAD_CLASS_COUNT; k++) {
        if (c->raw[k].count == 0)
            continue;
        kvr_values_sort(&c->raw[k]);
        kvr_values_sort(&c->isolated[k]);
        status = kvr_density(&c->raw[k], 0, most, POINTS, densities[columns++], err);
        if (status == KVR_OK)
            status = kvr_density(&c->isolated[k], 0, most, POINTS, densities[columns++], err);
    }
    if (status != KVR_OK)
        return status;
    kvr_draft_block(draft, "entropy, then raw and isolated density of each class");
    for (size_t p = 0; p < POINTS; p++) {
        kvr_draft_value(draft, most * (double)p / (POINTS - 1));
        for (size_t i = 0; i < columns; i++) {
            kvr_draft_value(draft, densities[i][p]);
            c->tall = fmax(c->tall, densities[i][p]);
        }
        kvr_draft_end(draft);
    }
    return kvr_draft_check(draft, err);
}

static void write_facts(const struct collected *c, double most, double limit,
                        struct kvr_draft *draft)
{
    char names[KVR_HEAD_CLASS_COUNT][64];
    const char *shown[KVR_HEAD_CLASS_COUNT];
    size_t count = 0;
    for (size_t k = 0; k < KVR_HEAD_CLASS_COUNT; k++)
        if (c->raw[k].count > 0) {
            snprintf(names[count], sizeof names[count], "%s, n = %zu", kvr_head_class_names[k],
                     c->raw[k].count);
            shown[count] = names[count];
            count++;
        }
    kvr_draft_strings(draft, "classes", shown, count);
    kvr_draft_number(draft, "most", most);
    kvr_draft_number(draft, "tall", c->tall);
    kvr_draft_number(draft, "limit", limit);
    draft->height = 3.2;
    draft->text_lines = 44;
}

static void write_caption(const struct collected *c, const struct kvr_source *source,
                          struct kvr_draft *draft)
{
    kvr_draft_say(draft,
                  "Kernel densities of the Renyi entropy%s%s of query heads by class, above as "
                  "recorded, below with the first tokens (sinks) left out and the rest "
                  "renormalised; each curve has area 1.",
                  source->run_known ? " of order " : "", source->alpha);
    for (size_t k = 0; k < KVR_HEAD_CLASS_COUNT; k++)
        if (c->raw[k].count > 0)
            kvr_draft_say(draft, "%zu %s heads: mean %.3f nats raw, %.3f isolated.",
                          c->raw[k].count, kvr_head_class_names[k], kvr_values_mean(&c->raw[k]),
                          kvr_values_mean(&c->isolated[k]));
    kvr_caption_scope(draft, source, KVR_SCOPE_SCORER, NULL);
}

enum kvr_status kvr_figure_entropy_densities(const struct kvr_source *source,
                                             struct kvr_draft *draft, struct kvr_error *err)
{
    struct collected c = {0};
    double limit = NAN;
    enum kvr_status status = kvr_each_head(source, take, &c, err);
    if (status == KVR_OK)
        status = find_limit(source, &limit, err);
    if (status == KVR_OK && c.raw[0].count + c.raw[1].count + c.raw[2].count > 0) {
        double most = fmax(fmax(c.most, limit), 1);
        status = write_densities(&c, most, draft, err);
        write_facts(&c, most, limit, draft);
        write_caption(&c, source, draft);
    }
    for (size_t k = 0; k < KVR_HEAD_CLASS_COUNT; k++) {
        kvr_values_free(&c.raw[k]);
        kvr_values_free(&c.isolated[k]);
    }
    return status;
}
