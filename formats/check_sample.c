/*
 * What a sample's structure already tells: needles, padding, and which rows are missing for which
 * scorer. No values are read.
 */
#include "formats/base/text.h"
#include "formats/check_layer.h"

/* Prefill rows are those of the positions pad … P-1. */
struct rows {
    uint64_t padding, prefill, decode;
    uint64_t last; /* position of the last prefill row */
};

static struct rows count_rows(const struct kvr_sample *sample)
{
    struct rows rows = {0};
    for (size_t q = 0; q < sample->query_count; q++) {
        uint64_t position = sample->query_positions[q];
        if (position < sample->pad) {
            rows.padding++;
        } else if (position < sample->prompt_length) {
            rows.prefill++;
            rows.last = position;
        } else {
            rows.decode++;
        }
    }
    return rows;
}

static bool holds_rows(const struct kvr_sample *sample)
{
    for (size_t l = 0; l < sample->layer_count; l++)
        if (kvr_layer_rows(&sample->layers[l]) != KVR_MISSING)
            return true;
    return false;
}

/* Layers with query and key but without rows, that can or cannot be recomputed. */
static uint64_t count_without_rows(const struct kvr_sample *sample, enum kvr_origin origin)
{
    uint64_t count = 0;
    for (size_t l = 0; l < sample->layer_count; l++) {
        const struct kvr_layer *layer = &sample->layers[l];
        count += layer->attention == NULL && layer->query != NULL && layer->key != NULL &&
                 kvr_layer_rows(layer) == origin;
    }
    return count;
}

static unsigned long long wide(uint64_t value)
{
    return value;
}

/* ---------------------------------------------------------------------------- rules */

static bool needle_outside_prompt(const struct kvr_sample *sample, struct kvr_text *message)
{
    uint64_t outside = 0;
    for (size_t n = 0; n < sample->needle_count; n++) {
        const struct kvr_span *needle = &sample->needles[n];
        if (needle->start >= sample->pad && needle->end <= sample->prompt_length)
            continue;
        if (outside++ == 0)
            kvr_text_add(message,
                         "needle %zu is [%llu, %llu), expected a span inside the prompt, "
                         "%llu to %llu",
                         n, wide(needle->start), wide(needle->end), wide(sample->pad),
                         wide(sample->prompt_length));
    }
    if (outside > 1)
        kvr_text_add(message, ", and %llu more like it", wide(outside - 1));
    return outside > 0;
}

static bool needle_without_tokens(const struct kvr_sample *sample, struct kvr_text *message)
{
    if (sample->needle_count == 0 || sample->token_count > 0)
        return false;
    kvr_text_string(message, "needles are given, but the tokens that they span are not");
    return true;
}

static bool negative_tokens(const struct kvr_sample *sample, struct kvr_text *message)
{
    uint64_t negative = 0;
    for (size_t i = (size_t)sample->pad; i < sample->token_count; i++)
        if (sample->tokens[i] < 0 && negative++ == 0)
            kvr_text_add(message, "token %zu is %d, expected an id of at least 0", i,
                         (int)sample->tokens[i]);
    if (negative > 1)
        kvr_text_add(message, ", and %llu more like it", wide(negative - 1));
    return negative > 0;
}

static bool padding(const struct kvr_sample *sample, struct kvr_text *message)
{
    if (sample->pad == 0)
        return false;
    kvr_text_add(message, "left padding of %llu; query rows of padding that are skipped: %llu",
                 wide(sample->pad), wide(count_rows(sample).padding));
    return true;
}

static bool rows_from_query(const struct kvr_sample *sample, struct kvr_text *message)
{
    uint64_t count = count_without_rows(sample, KVR_RECOMPUTED);
    if (count == 0)
        return false;
    kvr_text_add(message,
                 "rows of %llu of %zu layers are not recorded: replay recomputes them from "
                 "query and key",
                 wide(count), sample->layer_count);
    return true;
}

static bool rows_behind_sink_logits(const struct kvr_sample *sample, struct kvr_text *message)
{
    uint64_t count = count_without_rows(sample, KVR_MISSING);
    if (count == 0)
        return false;
    kvr_text_add(message,
                 "rows of %llu of %zu layers are not recorded, and query and key do not "
                 "tell them: sink logits take part",
                 wide(count), sample->layer_count);
    return true;
}

static bool no_prefill_row(const struct kvr_sample *sample, struct kvr_text *message)
{
    if (!holds_rows(sample) || count_rows(sample).prefill > 0)
        return false;
    kvr_text_add(message,
                 "no row of a prompt position %llu to %llu: last and window have nothing "
                 "to read",
                 wide(sample->pad), wide(sample->prompt_length));
    return true;
}

static bool last_row_missing(const struct kvr_sample *sample, struct kvr_text *message)
{
    struct rows rows = count_rows(sample);
    if (!holds_rows(sample) || rows.prefill == 0 || rows.last + 1 == sample->prompt_length)
        return false;
    kvr_text_add(message,
                 "the last prefill row is that of position %llu, not of the prompt's last "
                 "token %llu; last uses it",
                 wide(rows.last), wide(sample->prompt_length - 1));
    return true;
}

static bool short_window(const struct kvr_sample *sample, struct kvr_text *message)
{
    struct rows rows = count_rows(sample);
    if (!holds_rows(sample) || rows.prefill == 0 || rows.prefill >= KVR_DEFAULT_WINDOW)
        return false;
    kvr_text_add(message, "prefill rows: %llu; window averages all of them instead of %d",
                 wide(rows.prefill), KVR_DEFAULT_WINDOW);
    return true;
}

static bool no_decode_row(const struct kvr_sample *sample, struct kvr_text *message)
{
    if (!holds_rows(sample) || count_rows(sample).decode > 0)
        return false;
    kvr_text_string(message, "no row of a decoded token: future mass and peak will be empty");
    return true;
}

static const struct rule {
    enum kvr_finding_kind kind;
    enum kvr_finding_level level;
    const char *member; /* of the sample's group, that the finding is about */
    /* Whether the sample breaks the rule; then *message (empty before) says how. */
    bool (*is_broken)(const struct kvr_sample *sample, struct kvr_text *message);
} rules[] = {
    {KVR_FOUND_NEEDLE, KVR_WARNING, "/needles", needle_outside_prompt},
    {KVR_FOUND_NEEDLE, KVR_NOTE, "/needles", needle_without_tokens},
    {KVR_FOUND_TOKENS, KVR_WARNING, "/tokens", negative_tokens},
    {KVR_FOUND_PADDING, KVR_NOTE, "", padding},
    {KVR_FOUND_NO_ATTENTION, KVR_NOTE, "/layers", rows_from_query},
    {KVR_FOUND_NO_ATTENTION, KVR_WARNING, "/layers", rows_behind_sink_logits},
    {KVR_FOUND_NO_PREFILL, KVR_WARNING, "/query_positions", no_prefill_row},
    {KVR_FOUND_LAST_ROW, KVR_NOTE, "/query_positions", last_row_missing},
    {KVR_FOUND_SHORT_WINDOW, KVR_NOTE, "/query_positions", short_window},
    {KVR_FOUND_NO_DECODE, KVR_NOTE, "/query_positions", no_decode_row},
};

/* One rule over all samples: told at the first that breaks it. */
static enum kvr_status apply_rule(const struct rule *rule, const struct kvr_trace *trace,
                                  const bool *samples, struct kvr_findings *findings,
                                  struct kvr_error *err)
{
    struct kvr_text first = {0}, message = {0}, place = {0};
    uint64_t count = 0;
    for (size_t s = 0; s < trace->sample_count; s++) {
        const struct kvr_sample *sample = &trace->samples[s];
        if (samples != NULL && !samples[s])
            continue;
        kvr_text_clear(&message);
        if (rule->is_broken(sample, &message) && count++ == 0) {
            kvr_text_add(&first, "%s", message.data);
            kvr_text_add(&place, "/samples/%s%s", sample->name, rule->member);
        }
    }
    if (count > 1)
        kvr_text_add(&first, " (and %llu more sample%s)", wide(count - 1), count > 2 ? "s" : "");
    enum kvr_status status = kvr_text_check(&message, err);
    if (status == KVR_OK)
        status = kvr_text_check(&first, err);
    if (status == KVR_OK)
        status = kvr_text_check(&place, err);
    if (status == KVR_OK && count > 0)
        status = kvr_findings_add(findings, rule->kind, rule->level, place.data, count, err, "%s",
                                  first.data);
    kvr_text_free(&first);
    kvr_text_free(&message);
    kvr_text_free(&place);
    return status;
}

enum kvr_status kvr_check_samples(const struct kvr_trace *trace, const bool *samples,
                                  struct kvr_findings *findings, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0] && status == KVR_OK; i++)
        status = apply_rule(&rules[i], trace, samples, findings, err);
    return status;
}
