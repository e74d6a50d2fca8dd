/*
 * Heads and lengths from shapes, and whether they agree. Where arrays come from it must not know.
 */
#include <stdio.h>

#include "formats/base/memory.h"
#include "formats/import_plan.h"

/* As traces/FORMAT.md has them. */
enum { MOST_LAYERS = 65536, MOST_HEADS = 65536, MOST_HEAD_DIM = 1 << 20, MOST_COLUMNS = 4096 };

/* A length that several arrays must share: the first one sets it. */
struct shared {
    const char *what; /* "tokens" */
    uint64_t value;   /* 0: not known yet */
    const char *from; /* which array said so */
};

static enum kvr_status share(struct shared *shared, uint64_t value, const char *from,
                             struct kvr_error *err)
{
    if (shared->value == 0) {
        shared->value = value;
        shared->from = from;
        return KVR_OK;
    }
    if (shared->value == value)
        return KVR_OK;
    return kvr_fail(err, KVR_BAD_INPUT, "%s has %llu %s, %s has %llu", shared->from,
                    (unsigned long long)shared->value, shared->what, from,
                    (unsigned long long)value);
}

/* What all layers of a sample share, and what one layer has. */
struct lengths {
    struct shared tokens, rows;
};

struct heads {
    struct shared query, kv, size;
};

static enum kvr_status share_axes(const struct kvr_import_source *source, const char *axes,
                                  const char *name, struct shared *heads, struct heads *own,
                                  struct lengths *lengths, bool head_size, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (unsigned i = 0; status == KVR_OK && axes[i] != '\0'; i++) {
        uint64_t extent = kvr_array_extent(&source->view, i);
        if (axes[i] == 'H')
            status = share(heads, extent, name, err);
        else if (axes[i] == 'T')
            status = share(&lengths->tokens, extent, name, err);
        else if (axes[i] == 'Q')
            status = share(&lengths->rows, extent, name, err);
        else if (axes[i] == 'D' && head_size)
            status = share(&own->size, extent, name, err);
    }
    return status;
}

static enum kvr_status share_shapes(const struct kvr_import_layer *layer, struct heads *heads,
                                    struct lengths *lengths, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (int role = KVR_ROLE_ATTENTION; status == KVR_OK && role <= KVR_ROLE_VALUE; role++) {
        const struct kvr_import_source *source = &layer->sources[role];
        bool kv = role == KVR_ROLE_KEY || role == KVR_ROLE_VALUE;
        if (source->view.array != NULL)
            status = share_axes(source, kvr_import_trace_axes((enum kvr_import_role)role),
                                kvr_import_role_name((enum kvr_import_role)role),
                                kv ? &heads->kv : &heads->query, heads, lengths,
                                role != KVR_ROLE_VALUE, err);
    }
    return status;
}

static enum kvr_status settle_heads(struct kvr_import_layer *layer, const struct kvr_sample *sample,
                                    const struct kvr_import_options *options, struct heads *heads,
                                    struct kvr_error *err)
{
    uint64_t query = layer->layer.query_heads != 0 ? layer->layer.query_heads : sample->query_heads;
    uint64_t kv = layer->layer.kv_heads != 0 ? layer->layer.kv_heads : sample->kv_heads;
    enum kvr_status status = KVR_OK;
    if (query != 0)
        status = share(&heads->query, query, "query_heads", err);
    if (status == KVR_OK && kv != 0)
        status = share(&heads->kv, kv, "kv_heads", err);
    if (status == KVR_OK && options->kv_heads != 0)
        status = share(&heads->kv, options->kv_heads, "--kv-heads", err);
    if (status != KVR_OK)
        return status;
    if (heads->query.value == 0)
        return kvr_fail(err, KVR_BAD_INPUT, "no array says how many query heads there are");
    if (heads->kv.value == 0) {
        kvr_fail(err, KVR_BAD_INPUT, "no array says how many KV heads there are");
        return kvr_hint(err, "--kv-heads N says it");
    }
    if (heads->query.value > UINT32_MAX || heads->query.value % heads->kv.value != 0)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "expected query heads that are a multiple of %llu KV heads, found %llu",
                        (unsigned long long)heads->kv.value,
                        (unsigned long long)heads->query.value);
    layer->layer.query_heads = (uint32_t)heads->query.value;
    layer->layer.kv_heads = (uint32_t)heads->kv.value;
    return KVR_OK;
}

static enum kvr_status check_columns(const struct kvr_import_layer *layer, struct lengths *lengths,
                                     struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < layer->column_count; i++) {
        const struct kvr_import_column *column = &layer->columns[i];
        uint64_t heads = kvr_array_extent(&column->source.view, 0);
        if (heads != layer->layer.query_heads && heads != layer->layer.kv_heads)
            return kvr_fail(err, KVR_BAD_INPUT,
                            "scores/%s: expected %u query or %u KV heads, found %llu", column->name,
                            layer->layer.query_heads, layer->layer.kv_heads,
                            (unsigned long long)heads);
        status =
            share(&lengths->tokens, kvr_array_extent(&column->source.view, 1), column->name, err);
    }
    return status;
}

/* Positions of the rows where no array has them: from --first-row, or the last of the context. */
static enum kvr_status settle_positions(struct kvr_sample *sample, uint64_t rows,
                                        const struct kvr_import_options *options,
                                        struct kvr_error *err)
{
    if (sample->query_positions != NULL) {
        if (rows != 0 && rows != sample->query_count)
            return kvr_fail(err, KVR_BAD_INPUT, "expected %llu query_positions, found %zu",
                            (unsigned long long)rows, sample->query_count);
        return KVR_OK;
    }
    if (rows > sample->context_length)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "expected at most %llu rows, as there are tokens, "
                        "found %llu",
                        (unsigned long long)sample->context_length, (unsigned long long)rows);
    uint64_t first = options->has_first_row ? options->first_row : sample->context_length - rows;
    if (first > sample->context_length - rows)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "--first-row: expected at most %llu with %llu rows of %llu tokens, found "
                        "%llu",
                        (unsigned long long)(sample->context_length - rows),
                        (unsigned long long)rows, (unsigned long long)sample->context_length,
                        (unsigned long long)first);
    sample->query_positions = kvr_alloc((size_t)rows, sizeof *sample->query_positions, err);
    if (sample->query_positions == NULL)
        return KVR_NO_MEMORY;
    sample->query_count = (size_t)rows;
    for (uint64_t i = 0; i < rows; i++)
        sample->query_positions[i] = first + i;
    return KVR_OK;
}

static enum kvr_status settle_lengths(struct kvr_import_sample *plan, struct lengths *lengths,
                                      const struct kvr_import_options *options,
                                      struct kvr_error *err)
{
    struct kvr_sample *sample = &plan->sample;
    enum kvr_status status = KVR_OK;
    if (sample->token_count > 0)
        status = share(&lengths->tokens, sample->token_count, "tokens", err);
    if (status == KVR_OK && sample->context_length > 0)
        status = share(&lengths->tokens, sample->context_length, "context_length", err);
    if (status != KVR_OK)
        return status;
    if (lengths->tokens.value == 0)
        return kvr_fail(err, KVR_BAD_INPUT, "no array says how long the context is");
    if (lengths->tokens.value > INT32_MAX)
        return kvr_fail(err, KVR_BAD_INPUT, "expected at most %d tokens, found %llu", INT32_MAX,
                        (unsigned long long)lengths->tokens.value);
    sample->context_length = lengths->tokens.value;
    if (options->prompt_length > 0)
        sample->prompt_length = options->prompt_length;
    if (sample->prompt_length == 0)
        sample->prompt_length = sample->context_length;
    if (options->pad > 0)
        sample->pad = options->pad;
    if (sample->prompt_length > sample->context_length || sample->pad >= sample->prompt_length)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "expected pad < prompt length <= %llu tokens, found %llu and %llu",
                        (unsigned long long)sample->context_length, (unsigned long long)sample->pad,
                        (unsigned long long)sample->prompt_length);
    return settle_positions(sample, lengths->rows.value, options, err);
}

/* What a trace cannot hold is refused here, where the array that is wrong can be named. */
static enum kvr_status check_spans(const struct kvr_sample *sample, struct kvr_error *err)
{
    const uint64_t length = sample->context_length;
    for (size_t i = 0; i < sample->query_count; i++) {
        uint64_t least = i > 0 ? sample->query_positions[i - 1] + 1 : 0;
        if (sample->query_positions[i] < least || sample->query_positions[i] >= length)
            return kvr_fail(err, KVR_BAD_INPUT,
                            "query_positions: expected ascending positions below %llu, found %llu "
                            "at [%zu]",
                            (unsigned long long)length,
                            (unsigned long long)sample->query_positions[i], i);
    }
    for (size_t i = 0; i < sample->needle_count; i++)
        if (sample->needles[i].start >= sample->needles[i].end || sample->needles[i].end > length)
            return kvr_fail(err, KVR_BAD_INPUT,
                            "needles: expected start < end <= %llu, found [%llu, %llu) in row %zu",
                            (unsigned long long)length,
                            (unsigned long long)sample->needles[i].start,
                            (unsigned long long)sample->needles[i].end, i);
    return KVR_OK;
}

static enum kvr_status check_layer(const struct kvr_import_layer *layer, uint64_t head_size,
                                   struct kvr_error *err)
{
    const struct kvr_import_source *sources = layer->sources;
    bool vectors =
        sources[KVR_ROLE_QUERY].view.array != NULL && sources[KVR_ROLE_KEY].view.array != NULL;
    if (layer->column_count == 0 && sources[KVR_ROLE_ATTENTION].view.array == NULL &&
        sources[KVR_ROLE_ACCUMULATED].view.array == NULL && !vectors)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "expected attention, accumulated, scores, or query and key, found none");
    if (layer->layer.query_heads > MOST_HEADS)
        return kvr_fail(err, KVR_BAD_INPUT, "expected at most %d query heads, found %u", MOST_HEADS,
                        layer->layer.query_heads);
    if (head_size > MOST_HEAD_DIM)
        return kvr_fail(err, KVR_BAD_INPUT, "expected at most %d values a head, found %llu",
                        MOST_HEAD_DIM, (unsigned long long)head_size);
    if (layer->column_count > MOST_COLUMNS)
        return kvr_fail(err, KVR_BAD_INPUT, "expected at most %d scores, found %zu", MOST_COLUMNS,
                        layer->column_count);
    return KVR_OK;
}

/* The heads that most of the trace has: those of the first layer; others say their own. */
static void settle_sample_heads(struct kvr_import_sample *plan, uint64_t head_size)
{
    struct kvr_sample *sample = &plan->sample;
    if (sample->query_heads == 0)
        sample->query_heads = plan->layers[0].layer.query_heads;
    if (sample->kv_heads == 0)
        sample->kv_heads = plan->layers[0].layer.kv_heads;
    if (sample->head_dim == 0)
        sample->head_dim = (uint32_t)head_size;
}

enum kvr_status kvr_import_settle(struct kvr_import_sample *plan,
                                  const struct kvr_import_options *options, struct kvr_error *err)
{
    struct lengths lengths = {.tokens.what = "tokens", .rows.what = "query rows"};
    uint64_t head_size = 0;
    enum kvr_status status = KVR_OK;
    if (plan->layer_count == 0)
        status = kvr_fail(err, KVR_BAD_INPUT, "no array holds anything of a layer");
    if (plan->layer_count > MOST_LAYERS)
        status = kvr_fail(err, KVR_BAD_INPUT, "expected at most %d layers, found %zu", MOST_LAYERS,
                          plan->layer_count);
    for (size_t i = 0; status == KVR_OK && i < plan->layer_count; i++) {
        struct kvr_import_layer *layer = &plan->layers[i];
        struct heads heads = {
            .query.what = "query heads", .kv.what = "KV heads", .size.what = "values a head"};
        status = share_shapes(layer, &heads, &lengths, err);
        if (status == KVR_OK)
            status = settle_heads(layer, &plan->sample, options, &heads, err);
        if (status == KVR_OK)
            status = check_columns(layer, &lengths, err);
        if (status == KVR_OK)
            status = check_layer(layer, heads.size.value, err);
        if (status != KVR_OK)
            kvr_at(err, "layer %u", layer->layer.number);
        if (head_size == 0)
            head_size = heads.size.value;
    }
    if (status == KVR_OK)
        status = settle_lengths(plan, &lengths, options, err);
    if (status == KVR_OK)
        status = check_spans(&plan->sample, err);
    if (status != KVR_OK)
        return status == KVR_NO_MEMORY ? status : kvr_at(err, "sample %s", plan->sample.name);
    settle_sample_heads(plan, head_size);
    return KVR_OK;
}
