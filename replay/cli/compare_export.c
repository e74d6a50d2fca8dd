/*
 * A comparison as CSV and as JSON: every figure of every page size, policy and budget.
 */
#include "replay/cli/compare_export.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/json.h"
#include "formats/table.h"
#include "replay/cli/readable.h"

static const char *const pairings[] = {
    [KVR_PAIRED] = "paired",
    [KVR_PAIR_BASELINE] = "baseline",
    [KVR_PAIR_MORE_MEMORY] = "more memory",
    [KVR_PAIR_NOTHING] = "nothing shared",
};

/* The figures of a policy at a budget that are single numbers, in the order of the columns. */
struct figure {
    const char *name;
    double value;
};
enum { FIGURES = 3 + KVR_METRICS + 2 + 4 };

static void list_figures(const struct kvr_compared *compared, struct figure figures[FIGURES])
{
    size_t count = 0;
    figures[count++] = (struct figure){"kept_tokens", compared->tokens};
    figures[count++] = (struct figure){"kept_bytes", compared->bytes};
    figures[count++] = (struct figure){"memory", compared->memory};
    for (unsigned m = 0; m < KVR_METRICS; m++)
        figures[count++] = (struct figure){kvr_metrics[m].name, compared->means[m]};
    figures[count++] = (struct figure){"needle_any", compared->needle_any};
    figures[count++] = (struct figure){"needle_strict", compared->needle_strict};
    figures[count++] = (struct figure){"difference", compared->difference.estimate};
    figures[count++] = (struct figure){"low", compared->difference.low};
    figures[count++] = (struct figure){"high", compared->difference.high};
    figures[count++] = (struct figure){"regret", compared->regret};
}

/* The counts of a pair; they apply to pairs alone. */
struct tally {
    const char *name;
    uint64_t value;
};
enum { TALLIES = 4 };

static void list_tallies(const struct kvr_compared *compared, struct tally tallies[TALLIES])
{
    tallies[0] = (struct tally){"paired_samples", compared->difference.samples};
    tallies[1] = (struct tally){"wins", compared->wins};
    tallies[2] = (struct tally){"ties", compared->ties};
    tallies[3] = (struct tally){"losses", compared->losses};
}

/* "20-40", a fifth of the prompt in per cent. */
static void add_depth(struct kvr_text *text, unsigned depth)
{
    kvr_text_add(text, "%u-%u", depth * 100 / KVR_COMPARE_DEPTHS,
                 (depth + 1) * 100 / KVR_COMPARE_DEPTHS);
}

/* ------------------------------------------------------------------------------ CSV */

static void add_header(struct kvr_text *text)
{
    const struct kvr_compared none = {0};
    struct figure figures[FIGURES];
    struct tally tallies[TALLIES];
    list_figures(&none, figures);
    list_tallies(&none, tallies);
    kvr_text_string(text, "page_size,budget,scorer,policy,metric,baseline,cells,samples,pairing");
    for (size_t i = 0; i < FIGURES; i++)
        kvr_text_add(text, ",%s", figures[i].name);
    for (size_t i = 0; i < TALLIES; i++)
        kvr_text_add(text, ",%s", tallies[i].name);
    kvr_text_string(text, ",losing_layers,losing_depths\n");
}

/* A list within a field, its items parted by blanks. */
static void add_losses(struct kvr_text *text, const struct kvr_compared *compared)
{
    struct kvr_text field = {0};
    for (size_t i = 0; i < compared->losing_count; i++)
        kvr_text_add(&field, "%s%llu", i > 0 ? " " : "",
                     (unsigned long long)compared->losing_layers[i]);
    kvr_csv_string(text, field.length > 0 ? field.data : "");
    kvr_text_clear(&field);
    for (unsigned d = 0; d < KVR_COMPARE_DEPTHS; d++)
        if (compared->depth_lost[d]) {
            kvr_text_string(&field, field.length > 0 ? " " : "");
            add_depth(&field, d);
        }
    kvr_csv_string(text, field.length > 0 ? field.data : "");
    text->failed |= field.failed;
    kvr_text_free(&field);
}

static void add_line(struct kvr_text *text, const struct kvr_comparison *comparison, size_t page,
                     size_t use, size_t budget)
{
    const struct kvr_compared *compared = kvr_compared_at(comparison, page, use, budget);
    bool baseline = comparison->baseline < comparison->use_count;
    struct figure figures[FIGURES];
    struct tally tallies[TALLIES];
    list_figures(compared, figures);
    list_tallies(compared, tallies);
    kvr_text_unsigned(text, comparison->page_sizes[page]);
    kvr_csv_string(text, comparison->budgets[budget]);
    kvr_csv_string(text, comparison->uses[use].scorer);
    kvr_csv_string(text, comparison->uses[use].policy);
    kvr_csv_string(text, kvr_metrics[comparison->metric].name);
    kvr_csv_string(text, baseline ? comparison->uses[comparison->baseline].policy : "");
    kvr_csv_unsigned(text, compared->cells);
    kvr_csv_unsigned(text, compared->samples);
    kvr_csv_string(text, pairings[compared->pairing]);
    for (size_t i = 0; i < FIGURES; i++)
        kvr_csv_exact(text, figures[i].value);
    for (size_t i = 0; i < TALLIES; i++)
        if (compared->pairing == KVR_PAIRED)
            kvr_csv_unsigned(text, tallies[i].value);
        else
            kvr_csv_string(text, "");
    add_losses(text, compared);
    kvr_csv_end(text);
}

void kvr_compare_csv(const struct kvr_comparison *comparison, struct kvr_text *text)
{
    add_header(text);
    for (size_t page = 0; page < comparison->page_count; page++)
        for (size_t use = 0; use < comparison->use_count; use++)
            for (size_t b = 0; b < comparison->budget_count; b++)
                if (kvr_compared_at(comparison, page, use, b)->present)
                    add_line(text, comparison, page, use, b);
}

/* ------------------------------------------------------------------------------ JSON */

static void add_pair(struct kvr_json *json, const struct kvr_compared *compared)
{
    struct tally tallies[TALLIES];
    list_tallies(compared, tallies);
    kvr_json_string(json, "pairing", pairings[compared->pairing]);
    for (size_t i = 0; compared->pairing == KVR_PAIRED && i < TALLIES; i++)
        kvr_json_unsigned(json, tallies[i].name, tallies[i].value);
    kvr_json_list(json, "losing_layers");
    for (size_t i = 0; i < compared->losing_count; i++)
        kvr_json_unsigned(json, NULL, compared->losing_layers[i]);
    kvr_json_end(json);
    kvr_json_list(json, "losing_depths");
    for (unsigned d = 0; d < KVR_COMPARE_DEPTHS; d++)
        if (compared->depth_lost[d]) {
            struct kvr_text depth = {0};
            add_depth(&depth, d);
            kvr_json_string(json, NULL, depth.data);
            kvr_text_free(&depth);
        }
    kvr_json_end(json);
}

static void add_compared(struct kvr_json *json, const struct kvr_comparison *comparison,
                         size_t page, size_t use, size_t budget)
{
    const struct kvr_compared *compared = kvr_compared_at(comparison, page, use, budget);
    struct figure figures[FIGURES];
    list_figures(compared, figures);
    kvr_json_object(json, NULL);
    kvr_json_unsigned(json, "page_size", comparison->page_sizes[page]);
    kvr_json_string(json, "budget", comparison->budgets[budget]);
    kvr_json_string(json, "scorer", comparison->uses[use].scorer);
    kvr_json_string(json, "policy", comparison->uses[use].policy);
    kvr_json_unsigned(json, "cells", compared->cells);
    kvr_json_unsigned(json, "samples", compared->samples);
    for (size_t i = 0; i < FIGURES; i++)
        kvr_json_number(json, figures[i].name, figures[i].value);
    add_pair(json, compared);
    kvr_json_end(json);
}

void kvr_compare_json(const struct kvr_comparison *comparison, struct kvr_text *text)
{
    struct kvr_json writer = {.text = text}, *json = &writer;
    const struct kvr_compare_use *baseline = comparison->baseline < comparison->use_count
                                                 ? &comparison->uses[comparison->baseline]
                                                 : NULL;
    kvr_json_object(json, NULL);
    kvr_json_string(json, "metric", kvr_metrics[comparison->metric].name);
    kvr_json_bool(json, "less_is_better", kvr_metrics[comparison->metric].less_is_better);
    kvr_json_string(json, "baseline", baseline != NULL ? baseline->policy : NULL);
    kvr_json_string(json, "baseline_scorer", baseline != NULL ? baseline->scorer : NULL);
    kvr_json_unsigned(json, "traces", comparison->traces);
    kvr_json_unsigned(json, "samples", comparison->samples);
    kvr_json_unsigned(json, "layers", comparison->layers);
    kvr_json_unsigned(json, "cells", comparison->cells);
    kvr_json_unsigned(json, "needles", comparison->needles);
    if (comparison->token_bytes > 0)
        kvr_json_unsigned(json, "token_bytes", comparison->token_bytes);
    else
        kvr_json_null(json, "token_bytes");
    kvr_json_unsigned(json, "draws", comparison->bootstrap.draws);
    kvr_json_unsigned(json, "seed", comparison->bootstrap.seed);
    kvr_json_number(json, "level", comparison->bootstrap.level);
    kvr_json_array(json, "rows");
    for (size_t page = 0; page < comparison->page_count; page++)
        for (size_t use = 0; use < comparison->use_count; use++)
            for (size_t b = 0; b < comparison->budget_count; b++)
                if (kvr_compared_at(comparison, page, use, b)->present)
                    add_compared(json, comparison, page, use, b);
    kvr_json_end(json);
    kvr_json_end(json);
}
