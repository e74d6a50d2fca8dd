/*
 * The registry of scorers, and which recorded rows each reads.
 */
#include "replay/scorer.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"

const struct kvr_scorer kvr_scorers[] = {
    {
        .name = "last",
        .pattern = "last",
        .summary = "the row of the last recorded prompt query",
        .source = KVR_FROM_ROWS,
        .default_count = 1,
    },
    {
        .name = "window",
        .pattern = "window[:N]",
        .summary = "mean of the last N recorded prompt rows (32)",
        .source = KVR_FROM_ROWS,
        .takes_count = true,
        .default_count = 32,
    },
    {
        .name = "accumulated",
        .pattern = "accumulated",
        .summary = "column sums of all prompt rows, divided by their total (H2O)",
        .source = KVR_FROM_ACCUMULATED,
    },
    {
        .name = "column",
        .pattern = "column:NAME",
        .summary = "scores recorded in scores/NAME",
        .source = KVR_FROM_COLUMN,
        .takes_name = true,
    },
    {.name = NULL},
};

static const struct kvr_scorer *find(const char *name, size_t length)
{
    for (const struct kvr_scorer *scorer = kvr_scorers; scorer->name != NULL; scorer++)
        if (strlen(scorer->name) == length && strncmp(scorer->name, name, length) == 0)
            return scorer;
    return NULL;
}

static enum kvr_status bad_score(const char *text, struct kvr_error *err)
{
    char list[256] = "";
    for (const struct kvr_scorer *scorer = kvr_scorers; scorer->name != NULL; scorer++) {
        if (list[0] != '\0')
            strncat(list, ", ", sizeof list - strlen(list) - 1);
        strncat(list, scorer->pattern, sizeof list - strlen(list) - 1);
    }
    return kvr_fail(err, KVR_BAD_ARGUMENT, "\"%s\" is not a scorer; there are %s", text, list);
}

enum kvr_status kvr_score_parse(const char *text, struct kvr_score *score, struct kvr_error *err)
{
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    const struct kvr_scorer *scorer = find(text, length);
    if (scorer == NULL)
        return bad_score(text, err);

    uint64_t count = scorer->default_count;
    if (colon != NULL && !scorer->takes_count && !scorer->takes_name)
        return bad_score(text, err);
    if (scorer->takes_count && colon != NULL &&
        !kvr_parse_unsigned(colon + 1, 1, UINT32_MAX, &count))
        return kvr_fail(err, KVR_BAD_ARGUMENT, "scorer \"%s\": N must be an integer from 1 to %u",
                        text, UINT32_MAX);
    if (scorer->takes_name && (colon == NULL || colon[1] == '\0' || strchr(colon, '/') != NULL))
        return bad_score(text, err);

    char *label = kvr_copy_string(text, err);
    if (label == NULL)
        return KVR_NO_MEMORY;
    *score = (struct kvr_score){
        .scorer = scorer,
        .label = label,
        .count = count,
        .name = scorer->takes_name ? label + length + 1 : NULL,
    };
    return KVR_OK;
}

void kvr_score_free(struct kvr_score *score)
{
    free(score->label);
    *score = (struct kvr_score){0};
}

struct kvr_row_range kvr_prefill_rows(const struct kvr_sample *sample)
{
    struct kvr_row_range rows = {0, kvr_sample_decode_start(sample)};
    while (rows.begin < rows.end && sample->query_positions[rows.begin] < sample->pad)
        rows.begin++;
    return rows;
}

struct kvr_row_range kvr_score_rows(const struct kvr_score *score,
                                    const struct kvr_sample *sample)
{
    struct kvr_row_range rows = kvr_prefill_rows(sample);
    if (rows.end - rows.begin > score->count)
        rows.begin = rows.end - (size_t)score->count;
    return rows;
}

const struct kvr_column *kvr_score_column(const struct kvr_score *score,
                                          const struct kvr_layer *layer)
{
    for (size_t i = 0; i < layer->column_count; i++)
        if (strcmp(layer->columns[i].name, score->name) == 0)
            return &layer->columns[i];
    return NULL;
}

bool kvr_score_available(const struct kvr_score *score, const struct kvr_sample *sample,
                         const struct kvr_layer *layer)
{
    switch (score->scorer->source) {
    case KVR_FROM_ROWS: {
        struct kvr_row_range rows = kvr_prefill_rows(sample);
        return layer->attention != NULL && rows.begin < rows.end;
    }
    case KVR_FROM_ACCUMULATED:
        return layer->accumulated != NULL;
    case KVR_FROM_COLUMN:
        return kvr_score_column(score, layer) != NULL;
    }
    return false;
}
