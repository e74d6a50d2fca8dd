/*
 * Checking the options and laying out samples. It must not know how rows get their values.
 */
#include "traces/synth_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/random.h"

enum { QUESTION_TOKENS = 16, VOCABULARY = 32000 };

/* Keys of a layer are held in memory where rows are made from them: 64 MiB of doubles. Else it is
   the vectors of one head. */
static const uint64_t most_key_elements = UINT64_C(1) << 23, most_head_elements = UINT64_C(1) << 24;

uint64_t kvr_synth_key(uint64_t key, uint64_t part)
{
    return kvr_random_stream(key, part).state;
}

/* Checks. */

static enum kvr_status check_range(const char *what, uint64_t value, uint64_t least, uint64_t most,
                                   struct kvr_error *err)
{
    if (value >= least && value <= most)
        return KVR_OK;
    return kvr_fail(err, KVR_BAD_ARGUMENT, "%s: expected %llu ... %llu, found %llu", what,
                    (unsigned long long)least, (unsigned long long)most, (unsigned long long)value);
}

/* Needles lie between the sinks and the question. */
static uint64_t room_for_needles(const struct kvr_synth_options *options)
{
    uint64_t taken = options->pad + KVR_SYNTH_SINKS + QUESTION_TOKENS;
    return options->tokens > taken ? options->tokens - taken : 0;
}

static enum kvr_status check_shape(const struct kvr_synth_options *options, struct kvr_error *err)
{
    const struct {
        const char *what;
        uint64_t value, least, most;
    } ranges[] = {
        {"samples", options->samples, 1, 10000},
        {"layers", options->layers, 1, 1000},
        {"query heads", options->query_heads, 1, 1024},
        {"KV heads", options->kv_heads, 1, options->query_heads},
        {"tokens", options->tokens, 1, KVR_SYNTH_MOST_TOKENS},
        {"decode rows", options->decode, 0, KVR_SYNTH_MOST_DECODE},
        {"padding", options->pad, 0, options->tokens - 1},
        {"rows", options->rows, 0, options->tokens - options->pad},
        {"window layers: every", options->window_every, 1, UINT32_MAX},
        {"needles", options->needles, 0, 1000},
        {"needle length", options->needle_length, 1, 1000},
        {"threads", options->threads, 1, 1024},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        enum kvr_status status =
            check_range(ranges[i].what, ranges[i].value, ranges[i].least, ranges[i].most, err);
        if (status != KVR_OK)
            return status;
    }
    if (options->query_heads % options->kv_heads != 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "query heads: expected a multiple of the %u KV heads, found %u",
                        options->kv_heads, options->query_heads);
    return KVR_OK;
}

static enum kvr_status check_qkv(const struct kvr_synth_options *options, struct kvr_error *err)
{
    if (options->sink_logits || options->ties)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "query, key and value: expected rows that a softmax gives, found %s",
                        options->sink_logits ? "sink logits" : "ties");
    enum kvr_status status = check_range("head dimension", options->head_dim, 16, 1024, err);
    if (status != KVR_OK)
        return status;
    bool makes_rows = options->attention || options->accumulated;
    uint64_t most = makes_rows ? most_key_elements / options->query_heads : most_head_elements;
    status = check_range("tokens and decode rows with query, key and value",
                         options->tokens + options->decode, 1, most / options->head_dim, err);
    if (status != KVR_OK)
        kvr_hint(err, makes_rows ? "the limit is 2^23 / (query heads * head dimension)"
                                 : "the limit is 2^24 / head dimension");
    return status;
}

static enum kvr_status check_needles(const struct kvr_synth_options *options, struct kvr_error *err)
{
    uint64_t room = room_for_needles(options), taken = options->needles * options->needle_length;
    if (options->needles == 0 || room / options->needles >= options->needle_length)
        return KVR_OK;
    kvr_fail(err, KVR_BAD_ARGUMENT, "needles: expected at most %llu tokens in all, found %llu",
             (unsigned long long)room, (unsigned long long)taken);
    return kvr_hint(err,
                    "needles lie between %d sinks and a question of %d tokens; 0 needles need "
                    "no room",
                    (int)KVR_SYNTH_SINKS, (int)QUESTION_TOKENS);
}

static enum kvr_status check_premise(const struct kvr_synth_options *options, struct kvr_error *err)
{
    if (options->needles != 1)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "premise: expected one needle, which one head of a group owns, found %llu",
                        (unsigned long long)options->needles);
    if (options->qkv || options->ties)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "premise: expected rows from head profiles, found %s",
                        options->qkv ? "query, key and value" : "ties");
    return KVR_OK;
}

/* What only query, key and value can give. */
static enum kvr_status check_rows(const struct kvr_synth_options *options, struct kvr_error *err)
{
    if (!options->attention && !options->qkv)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "attention: expected rows, or query, key and value, found neither");
    if (!(options->softcap >= 0) || isinf(options->softcap))
        return kvr_fail(err, KVR_BAD_ARGUMENT, "softcap: expected a number of at least 0, found %g",
                        options->softcap);
    if (options->softcap > 0 && !options->qkv)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "softcap: expected rows from query, key and value, found head profiles");
    return KVR_OK;
}

enum kvr_status kvr_synth_check(const struct kvr_synth_options *options, struct kvr_error *err)
{
    enum kvr_status status = check_shape(options, err);
    if (status != KVR_OK)
        return status;
    status = check_needles(options, err);
    if (status != KVR_OK)
        return status;
    if (!isnan(options->depth) && !(options->depth >= 0 && options->depth <= 1))
        return kvr_fail(err, KVR_BAD_ARGUMENT, "depth: expected 0 ... 1, found %g", options->depth);
    if (!(options->nan_fraction >= 0 && options->nan_fraction <= 1))
        return kvr_fail(err, KVR_BAD_ARGUMENT, "NaN fraction: expected 0 ... 1, found %g",
                        options->nan_fraction);
    if (options->rows + options->decode == 0 && !options->accumulated && !options->columns)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "rows: expected at least one row, column sums or columns, found none");
    status = check_rows(options, err);
    if (status != KVR_OK)
        return status;
    status = options->premise ? check_premise(options, err) : KVR_OK;
    return status == KVR_OK && options->qkv ? check_qkv(options, err) : status;
}

/* Samples. */

static double sample_depth(const struct kvr_synth_options *options, uint64_t number)
{
    if (!isnan(options->depth))
        return options->depth;
    return options->samples == 1 ? 0.5 : (double)number / (double)(options->samples - 1);
}

/* The prompt is cut into as many slots as there are needles; each lies at the depth in its slot. */
static enum kvr_status place_needles(struct kvr_synth_plan *plan, struct kvr_error *err)
{
    const struct kvr_synth_options *options = plan->options;
    struct kvr_sample *sample = &plan->sample;
    if (options->needles == 0)
        return KVR_OK;
    sample->needles = kvr_alloc((size_t)options->needles, sizeof *sample->needles, err);
    if (sample->needles == NULL)
        return KVR_NO_MEMORY;
    sample->needle_count = (size_t)options->needles;
    uint64_t slot = room_for_needles(options) / options->needles;
    double slack = (double)(slot - options->needle_length);
    uint64_t offset = (uint64_t)floor(slack * sample_depth(options, plan->sample_number) + 0.5);
    for (uint64_t i = 0; i < options->needles; i++) {
        uint64_t start = options->pad + KVR_SYNTH_SINKS + i * slot + offset;
        sample->needles[i] = (struct kvr_span){start, start + options->needle_length};
    }
    return KVR_OK;
}

/* Frequent numbers are small, as in a real vocabulary; needles are digits that decode repeats. */
static enum kvr_status make_tokens(struct kvr_synth_plan *plan, struct kvr_error *err)
{
    struct kvr_sample *sample = &plan->sample;
    size_t count = (size_t)sample->context_length;
    sample->tokens = kvr_alloc(count, sizeof *sample->tokens, err);
    if (sample->tokens == NULL)
        return KVR_NO_MEMORY;
    sample->token_count = count;
    uint64_t key = kvr_synth_key(plan->options->seed, plan->sample_number);
    struct kvr_random random = kvr_random_stream(key, 0);
    for (size_t i = 0; i < count; i++) {
        double u = kvr_random_uniform(&random);
        sample->tokens[i] = i < sample->pad ? 0 : 20 + (int32_t)(u * u * u * (VOCABULARY - 20));
    }
    for (size_t n = 0; n < sample->needle_count; n++)
        for (uint64_t t = sample->needles[n].start; t < sample->needles[n].end; t++)
            sample->tokens[t] = 10 + (int32_t)kvr_random_below(&random, 10);
    uint64_t length = plan->options->needle_length;
    for (uint64_t j = 0; sample->needle_count > 0 && j < plan->options->decode; j++) {
        const struct kvr_span *needle = &sample->needles[j / length % sample->needle_count];
        sample->tokens[sample->prompt_length + j] = sample->tokens[needle->start + j % length];
    }
    return KVR_OK;
}

static enum kvr_status place_rows(struct kvr_synth_plan *plan, struct kvr_error *err)
{
    struct kvr_sample *sample = &plan->sample;
    size_t count = (size_t)(plan->options->rows + plan->options->decode);
    plan->prefill_rows = (size_t)plan->options->rows;
    sample->query_positions = kvr_alloc(count, sizeof *sample->query_positions, err);
    if (sample->query_positions == NULL)
        return KVR_NO_MEMORY;
    sample->query_count = count;
    uint64_t first = sample->prompt_length - plan->options->rows;
    for (size_t i = 0; i < count; i++)
        sample->query_positions[i] = first + i;
    return KVR_OK;
}

static enum kvr_status name_sample(struct kvr_synth_plan *plan, struct kvr_error *err)
{
    struct kvr_sample *sample = &plan->sample;
    char text[48];
    snprintf(text, sizeof text, "%llu", (unsigned long long)plan->sample_number);
    sample->name = kvr_copy_string(text, err);
    sample->task = kvr_copy_string("synthetic", err);
    double depth = sample_depth(plan->options, plan->sample_number);
    snprintf(text, sizeof text, "depth-%.0f", 100 * depth);
    if (sample->needle_count > 0)
        sample->subset = kvr_copy_string(text, err);
    bool named = sample->name != NULL && sample->task != NULL &&
                 (sample->needle_count == 0 || sample->subset != NULL);
    return named ? KVR_OK : KVR_NO_MEMORY;
}

enum kvr_status kvr_synth_plan_sample(const struct kvr_synth_options *options, uint64_t number,
                                      struct kvr_synth_plan *plan, struct kvr_error *err)
{
    *plan = (struct kvr_synth_plan){.options = options, .sample_number = number};
    plan->sample.context_length = options->tokens + options->decode;
    plan->sample.prompt_length = options->tokens;
    plan->sample.pad = options->pad;
    plan->sample.query_heads = options->query_heads;
    plan->sample.kv_heads = options->kv_heads;
    plan->sample.head_dim = options->qkv ? options->head_dim : 0;
    enum kvr_status status = place_needles(plan, err);
    if (status == KVR_OK)
        status = make_tokens(plan, err);
    if (status == KVR_OK)
        status = place_rows(plan, err);
    if (status == KVR_OK)
        status = name_sample(plan, err);
    return status;
}

void kvr_synth_plan_free(struct kvr_synth_plan *plan)
{
    struct kvr_sample *sample = &plan->sample;
    free(sample->name);
    free(sample->task);
    free(sample->subset);
    free(sample->tokens);
    free(sample->query_positions);
    free(sample->needles);
    *sample = (struct kvr_sample){0};
}

/* Layers. */

void kvr_synth_layer_heads(const struct kvr_synth_options *options, uint32_t layer,
                           uint32_t *query_heads, uint32_t *kv_heads)
{
    unsigned shape = options->mixed_heads ? layer % 3 : 0;
    *query_heads = shape == 2 ? options->kv_heads : options->query_heads;
    *kv_heads = shape == 1 ? 1 : options->kv_heads;
}

void kvr_synth_plan_layer(struct kvr_synth_plan *plan, uint32_t layer)
{
    const struct kvr_synth_options *options = plan->options;
    plan->layer = (struct kvr_layer){.number = layer, .scale = NAN, .softcap = NAN};
    kvr_synth_layer_heads(options, layer, &plan->layer.query_heads, &plan->layer.kv_heads);
    if (options->window > 0 && layer % options->window_every == 0)
        plan->layer.sliding_window = options->window;
    plan->layer.sink_logits = options->sink_logits;
    if (options->qkv)
        plan->layer.scale = 1 / sqrt(options->head_dim);
    if (options->softcap > 0)
        plan->layer.softcap = options->softcap;
    uint64_t sample_key = kvr_synth_key(options->seed, plan->sample_number);
    plan->layer_key = kvr_synth_key(sample_key, 1 + (uint64_t)layer);
}

uint64_t kvr_synth_first_visible(const struct kvr_synth_plan *plan, uint64_t position)
{
    uint64_t window = plan->layer.sliding_window;
    uint64_t first = window > 0 && position + 1 > window ? position + 1 - window : 0;
    return first > plan->sample.pad ? first : plan->sample.pad;
}
