/*
 * The registry of scorers, and which recorded data each reads.
 */
#include "replay/scorer.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "replay/score_columns.h"
#include "replay/score_keys.h"
#include "replay/score_positions.h"

const struct kvr_scorer kvr_scorers[] = {
    {
        .name = "last",
        .pattern = "last",
        .summary = "the row of the last recorded prompt query",
        .source = KVR_FROM_PROMPT_ROWS,
        .default_number = 1,
        .for_scorer = true,
        .mass = true,
    },
    {
        .name = "window",
        .pattern = "window[:N]",
        .summary = "mean of the last N recorded prompt rows (32)",
        .source = KVR_FROM_PROMPT_ROWS,
        .parameter = KVR_TAKES_COUNT,
        .default_number = 32,
        .for_scorer = true,
        .mass = true,
    },
    {
        .name = "accumulated",
        .pattern = "accumulated",
        .summary = "column sums of all prompt rows, divided by their total (H2O)",
        .source = KVR_FROM_ACCUMULATED,
        .for_scorer = true,
        .mass = true,
        .compute = kvr_score_accumulated,
    },
    {
        .name = "column",
        .pattern = "column:NAME",
        .summary = "scores recorded in scores/NAME",
        .source = KVR_FROM_COLUMN,
        .parameter = KVR_TAKES_NAME,
        .for_scorer = true,
        .compute = kvr_score_recorded,
    },
    {
        .name = "observed",
        .pattern = "observed",
        .summary = "column sum / prompt rows that see the column, divided by its total",
        .source = KVR_FROM_ACCUMULATED,
        .mass = true,
        .compute = kvr_score_observed,
    },
    {
        .name = "recency",
        .pattern = "recency",
        .summary = "later tokens first",
        .source = KVR_FROM_POSITION,
        .heads = KVR_PER_LAYER,
        .compute = kvr_score_recency,
    },
    {
        .name = "random",
        .pattern = "random[:SEED]",
        .summary = "uniform random numbers of each sample and layer (seed 0)",
        .source = KVR_FROM_POSITION,
        .heads = KVR_PER_LAYER,
        .parameter = KVR_TAKES_SEED,
        .compute = kvr_score_random,
    },
    {
        .name = "key-norm",
        .pattern = "key-norm",
        .summary = "minus the L2 norm of the key",
        .source = KVR_FROM_KEY,
        .heads = KVR_PER_KV_HEAD,
        .compute = kvr_score_key_norm,
    },
    {
        .name = "key-diff",
        .pattern = "key-diff",
        .summary = "minus the cosine of the key to the mean of the unit keys",
        .source = KVR_FROM_KEY,
        .heads = KVR_PER_KV_HEAD,
        .compute = kvr_score_key_diff,
    },
    {
        .name = "future",
        .pattern = "future",
        .summary = "mean of the decode rows: what no policy can know",
        .source = KVR_FROM_DECODE_ROWS,
        .mass = true,
    },
    {.name = NULL},
};

static const struct kvr_scorer *find(const char *name, size_t length, bool scorers_only)
{
    for (const struct kvr_scorer *scorer = kvr_scorers; scorer->name != NULL; scorer++)
        if (strlen(scorer->name) == length && strncmp(scorer->name, name, length) == 0 &&
            (scorer->for_scorer || !scorers_only))
            return scorer;
    return NULL;
}

static enum kvr_status bad_score(const char *text, bool scorers_only, struct kvr_error *err)
{
    char list[256] = "";
    for (const struct kvr_scorer *scorer = kvr_scorers; scorer->name != NULL; scorer++) {
        if (!scorer->for_scorer && scorers_only)
            continue;
        if (list[0] != '\0')
            strncat(list, ", ", sizeof list - strlen(list) - 1);
        strncat(list, scorer->pattern, sizeof list - strlen(list) - 1);
    }
    return kvr_fail(err, KVR_BAD_ARGUMENT, "\"%s\" is not a scor%s; there are %s", text,
                    scorers_only ? "er" : "e", list);
}

/* The parameter behind the colon (NULL: none was given). */
static enum kvr_status parse_parameter(const struct kvr_scorer *scorer, const char *text,
                                       const char *parameter, bool scorers_only, uint64_t *number,
                                       struct kvr_error *err)
{
    if (parameter == NULL)
        return scorer->parameter == KVR_TAKES_NAME && scorers_only
                   ? bad_score(text, scorers_only, err)
                   : KVR_OK;
    switch (scorer->parameter) {
    case KVR_TAKES_COUNT:
        if (!kvr_parse_unsigned(parameter, 1, UINT32_MAX, number))
            return kvr_fail(err, KVR_BAD_ARGUMENT,
                            "scorer \"%s\": N must be an integer from 1 to %u", text, UINT32_MAX);
        return KVR_OK;
    case KVR_TAKES_SEED:
        if (!kvr_parse_unsigned(parameter, 0, UINT64_MAX, number))
            return kvr_fail(err, KVR_BAD_ARGUMENT, "score \"%s\": SEED must be an integer", text);
        return KVR_OK;
    case KVR_TAKES_NAME:
        if (parameter[0] != '\0' && strchr(parameter, '/') == NULL)
            return KVR_OK;
        break;
    case KVR_NO_PARAMETER:
        break;
    }
    return bad_score(text, scorers_only, err);
}

enum kvr_status kvr_score_parse(const char *text, bool scorers_only, struct kvr_score *score,
                                struct kvr_error *err)
{
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    const struct kvr_scorer *scorer = find(text, length, scorers_only);
    if (scorer == NULL)
        return bad_score(text, scorers_only, err);
    uint64_t number = scorer->default_number;
    enum kvr_status status =
        parse_parameter(scorer, text, colon != NULL ? colon + 1 : NULL, scorers_only, &number, err);
    if (status != KVR_OK)
        return status;
    char *label = kvr_copy_string(text, err);
    if (label == NULL)
        return KVR_NO_MEMORY;
    *score = (struct kvr_score){
        .scorer = scorer,
        .label = label,
        .number = number,
        .name = scorer->parameter == KVR_TAKES_NAME && colon != NULL ? label + length + 1 : NULL,
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

struct kvr_row_range kvr_score_rows(const struct kvr_score *score, const struct kvr_sample *sample)
{
    struct kvr_row_range rows = kvr_prefill_rows(sample);
    if (score->scorer->source == KVR_FROM_DECODE_ROWS)
        return (struct kvr_row_range){rows.end, sample->query_count};
    if (rows.end - rows.begin > score->number)
        rows.begin = rows.end - (size_t)score->number;
    return rows;
}

const struct kvr_column *kvr_score_column(const struct kvr_score *score,
                                          const struct kvr_layer *layer)
{
    for (size_t i = 0; score->name != NULL && i < layer->column_count; i++)
        if (strcmp(layer->columns[i].name, score->name) == 0)
            return &layer->columns[i];
    return NULL;
}

bool kvr_score_available(const struct kvr_score *score, const struct kvr_sample *sample,
                         const struct kvr_layer *layer)
{
    switch (score->scorer->source) {
    case KVR_FROM_PROMPT_ROWS:
    case KVR_FROM_DECODE_ROWS: {
        struct kvr_row_range rows = kvr_score_rows(score, sample);
        return kvr_layer_rows(layer) != KVR_MISSING && rows.begin < rows.end;
    }
    case KVR_FROM_ACCUMULATED:
        return kvr_layer_column_sums(sample, layer) != KVR_MISSING;
    case KVR_FROM_KEY:
        return layer->key != NULL;
    case KVR_FROM_COLUMN:
        return kvr_score_column(score, layer) != NULL;
    case KVR_FROM_POSITION:
        return true;
    }
    return false;
}

const char *kvr_score_needs(const struct kvr_score *score)
{
    switch (score->scorer->source) {
    case KVR_FROM_PROMPT_ROWS:
        return "attention with prompt rows";
    case KVR_FROM_DECODE_ROWS:
        return "attention with decode rows";
    case KVR_FROM_ACCUMULATED:
        return "accumulated";
    case KVR_FROM_KEY:
        return "key";
    case KVR_FROM_COLUMN:
        return "the column in scores";
    case KVR_FROM_POSITION:
        return "nothing";
    }
    return "";
}

const char *kvr_score_instead(const struct kvr_score *score)
{
    switch (score->scorer->source) {
    case KVR_FROM_PROMPT_ROWS:
        return " (or key and query of prompt rows)";
    case KVR_FROM_DECODE_ROWS:
        return " (or key and query of decode rows)";
    case KVR_FROM_ACCUMULATED:
        return " (or key and query of every prompt row)";
    case KVR_FROM_KEY:
    case KVR_FROM_COLUMN:
    case KVR_FROM_POSITION:
        break;
    }
    return "";
}

size_t kvr_score_vectors(const struct kvr_score *score, const struct kvr_layer *layer)
{
    bool per_query_head = score->scorer->source == KVR_FROM_COLUMN
                              ? !kvr_score_column(score, layer)->per_kv_head
                              : score->scorer->heads == KVR_PER_QUERY_HEAD;
    return per_query_head ? layer->query_heads / layer->kv_heads : 1;
}
