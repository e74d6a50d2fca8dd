/*
 * Answering and recording. Batches are cut where the recorded rows begin, so that these lie in as
 * few batches, and their chunks of the file are written in as few pieces, as can be.
 */
#include "traces/record-llama/recording.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/utf8.h"
#include "traces/record-llama/session.h"

enum { MOST_BATCH = 512, LEAST_BATCH = 32 };

/* Bytes of the logits of one layer and one batch, which llama.cpp holds twice. */
static const uint64_t most_logits = UINT64_C(512) << 20;

struct job {
    const struct kvr_model *model;
    const struct kvr_model_facts *facts;
    const struct kvr_recording_options *options;
    const struct kvr_prompt *prompt;
    const struct kvr_recording_progress *progress;
    struct kvr_tokens tokens; /* prompt and answer */
    struct kvr_text answer;
    struct kvr_recording_result *result;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t limit_of(const struct kvr_model *model, const struct kvr_recording_options *options)
{
    uint64_t limit = options->context > 0 ? options->context : model->trained_context;
    return limit > 0 && limit < INT32_MAX ? limit : INT32_MAX;
}

enum kvr_status kvr_recording_check(const struct kvr_model *model,
                                    const struct kvr_recording_options *options, const char *name,
                                    const struct kvr_prompt *prompt, struct kvr_error *err)
{
    uint64_t limit = limit_of(model, options);
    if (prompt->tokens.count == 0)
        return kvr_fail(err, KVR_BAD_INPUT, "%s: the prompt has no tokens", name);
    if (prompt->tokens.count <= limit)
        return KVR_OK;
    kvr_fail(err, KVR_BAD_INPUT, "%s: the prompt has %zu tokens, but %s takes %" PRIu64, name,
             prompt->tokens.count, options->context > 0 ? "--context" : "the model's context",
             limit);
    return options->context > 0
               ? err->status
               : kvr_hint(err, "--context %zu has the model try beyond what it was trained for",
                          prompt->tokens.count);
}

enum kvr_status kvr_recording_check_layers(const struct kvr_model_facts *facts,
                                           const struct kvr_recording_options *options,
                                           struct kvr_error *err)
{
    for (size_t i = 0; i < facts->count; i++)
        if (facts->layers[i].biased && (options->fused || options->stored[KVR_STORED_QUERY] ||
                                        options->stored[KVR_STORED_KEY]))
            return kvr_fail(err, KVR_UNSUPPORTED,
                            "layer %u adds a bias by distance to its logits: its rows do not "
                            "follow from query and key; leave these and --flash out",
                            facts->layers[i].layer.number);
    return KVR_OK;
}

static uint64_t choose_batch(const struct job *job, uint64_t context)
{
    if (job->options->batch > 0)
        return job->options->batch;
    uint64_t heads = 1, batch = MOST_BATCH;
    for (size_t i = 0; i < job->facts->count; i++)
        if (job->facts->layers[i].layer.query_heads > heads)
            heads = job->facts->layers[i].layer.query_heads;
    while (!job->options->fused && batch > LEAST_BATCH &&
           batch * context * heads * sizeof(float) > most_logits)
        batch /= 2;
    return batch;
}

static void report(const struct job *job, uint64_t done)
{
    if (job->progress != NULL)
        job->progress->step(job->progress->context, done, 2 * job->prompt->tokens.count);
}

/* The prompt without its last token; that one's run gives the first token of the answer. */
static enum kvr_status read_prompt(const struct job *job, struct kvr_session *session,
                                   uint64_t batch, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    uint64_t count = job->prompt->tokens.count;
    for (uint64_t first = 0; first < count && status == KVR_OK; first += batch) {
        status = kvr_session_run(session, job->prompt->tokens.items + first,
                                 least(batch, count - first), err);
        report(job, least(first + batch, count));
    }
    return status;
}

/* Appends the next token to the answer; *ended if it is none. */
static enum kvr_status take_token(struct job *job, struct kvr_session *session, bool *ended,
                                  struct kvr_error *err)
{
    int32_t token = kvr_session_next(session);
    *ended = kvr_model_ends(job->model, token);
    if (*ended)
        return KVR_OK;
    enum kvr_status status = kvr_tokens_add(&job->tokens, token, err);
    return status == KVR_OK ? kvr_model_piece(job->model, token, &job->answer, err) : status;
}

static bool contains(const struct kvr_text *text, const char *part)
{
    return part != NULL && text->length > 0 &&
           memmem(text->data, text->length, part, strlen(part)) != NULL;
}

static enum kvr_status answer_prompt(struct job *job, struct kvr_session *session, uint64_t most,
                                     struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (uint64_t done = 0; done < most && status == KVR_OK; done++) {
        status = take_token(job, session, &job->result->ended, err);
        if (status == KVR_OK && contains(&job->answer, job->options->stop))
            job->result->ended = true;
        if (job->result->ended)
            break;
        /* The token after the last one is not asked for. */
        if (status == KVR_OK && done + 1 < most)
            status = kvr_session_run(session, job->tokens.items + job->tokens.count - 1, 1, err);
    }
    return status;
}

/* Fills job->tokens and job->answer. */
static enum kvr_status generate(struct job *job, struct kvr_error *err)
{
    uint64_t length = job->prompt->tokens.count;
    uint64_t most = least(job->options->generate, limit_of(job->model, job->options) - length);
    enum kvr_status status = kvr_tokens_append(&job->tokens, &job->prompt->tokens, err);
    if (status != KVR_OK || most == 0)
        return status;
    const struct kvr_session_settings settings = {
        .context = length + most,
        .batch = choose_batch(job, length + most),
        .threads = job->options->threads,
        .fused = job->options->fused,
    };
    struct kvr_session *session = NULL;
    status = kvr_session_open(job->model, &settings, &session, err);
    if (status == KVR_OK)
        status = read_prompt(job, session, settings.batch, err);
    if (status == KVR_OK)
        status = answer_prompt(job, session, most, err);
    kvr_session_close(session);
    return status;
}

static enum kvr_status begin_sample(struct job *job, const char *name,
                                    struct kvr_trace_writer *writer, struct kvr_error *err)
{
    const struct kvr_recording_result *result = job->result;
    bool of_rows =
        job->options->stored[KVR_STORED_ATTENTION] || job->options->stored[KVR_STORED_QUERY];
    size_t count = of_rows ? (size_t)(result->context_length - result->first_row) : 0;
    uint64_t *positions = kvr_alloc(count, sizeof *positions, err);
    char *copy = kvr_copy_string(name, err);
    enum kvr_status status = positions != NULL && copy != NULL ? KVR_OK : KVR_NO_MEMORY;
    for (size_t i = 0; i < count && status == KVR_OK; i++)
        positions[i] = result->first_row + i;
    const struct kvr_layer_facts *first = &job->facts->layers[0];
    const struct kvr_sample sample = {
        .name = copy,
        .context_length = result->context_length,
        .prompt_length = result->prompt_length,
        .query_heads = first->layer.query_heads,
        .kv_heads = first->layer.kv_heads,
        .head_dim = (uint32_t)first->key_size,
        .task = job->prompt->task,
        .subset = job->prompt->subset,
        .generated = result->context_length > result->prompt_length ? result->generated : NULL,
        .token_count = job->tokens.count,
        .tokens = job->tokens.items,
        .query_count = count,
        .query_positions = positions,
        .needle_count = job->prompt->needle_count,
        .needles = job->prompt->needles,
    };
    if (status == KVR_OK)
        status = kvr_trace_writer_sample(writer, &sample, err);
    free(positions);
    free(copy);
    return status;
}

static enum kvr_status observe_batches(const struct job *job, struct kvr_session *session,
                                       struct kvr_collector *collector, uint64_t batch,
                                       struct kvr_error *err)
{
    uint64_t end = job->result->context_length, first_row = job->result->first_row;
    for (uint64_t first = 0; first < end;) {
        uint64_t until = first < first_row ? first_row : end;
        uint64_t count = least(batch, until - first);
        kvr_collector_batch(collector, first, count);
        enum kvr_status status = kvr_session_run(session, job->tokens.items + first, count, err);
        if (kvr_collector_failure(collector, err) != KVR_OK)
            return err->status;
        if (status != KVR_OK)
            return status;
        first += count;
        report(job, job->prompt->tokens.count + least(first, job->prompt->tokens.count));
    }
    return KVR_OK;
}

static enum kvr_status observe(struct job *job, struct kvr_trace_writer *writer,
                               struct kvr_error *err)
{
    uint64_t context = job->result->context_length;
    struct kvr_collector_plan plan = {
        .facts = job->facts,
        .type = job->options->type,
        .context = context,
        .prompt_length = job->result->prompt_length,
        .first_row = job->result->first_row,
        .batch = choose_batch(job, context),
    };
    memcpy(plan.stored, job->options->stored, sizeof plan.stored);
    struct kvr_collector *collector = NULL;
    enum kvr_status status = kvr_collector_open(&plan, writer, &collector, err);
    if (status != KVR_OK)
        return status;
    const struct kvr_session_settings settings = {
        .context = context,
        .batch = plan.batch,
        .threads = job->options->threads,
        .fused = job->options->fused,
        .full_windows = true,
        .observe = kvr_collector_observe,
        .observer = collector,
    };
    struct kvr_session *session = NULL;
    status = kvr_session_open(job->model, &settings, &session, err);
    if (status == KVR_OK)
        status = observe_batches(job, session, collector, plan.batch, err);
    kvr_session_close(session);
    if (status == KVR_OK)
        status = kvr_collector_finish(collector, err);
    kvr_collector_close(collector);
    return status;
}

/* An answer that was cut short may end inside of a character; text in a trace is UTF-8. */
static void mend_text(char *text, size_t length)
{
    for (size_t at = 0, skip = 0; at < length;) {
        size_t here = kvr_utf8_length(text + at, &skip);
        bool bad = here == 0 || text[at] == '\0';
        here = here == 0 ? skip : here;
        if (bad)
            memset(text + at, '?', here);
        at += here;
    }
}

static enum kvr_status fill_result(struct job *job, struct kvr_error *err)
{
    struct kvr_recording_result *result = job->result;
    uint64_t length = job->prompt->tokens.count;
    result->prompt_length = length;
    result->context_length = job->tokens.count;
    result->first_row = length - least(job->options->rows, length);
    result->right = contains(&job->answer, job->prompt->expected);
    result->generated =
        kvr_copy_bytes(job->answer.data != NULL ? job->answer.data : "", job->answer.length, err);
    if (result->generated == NULL)
        return KVR_NO_MEMORY;
    mend_text(result->generated, job->answer.length);
    return KVR_OK;
}

enum kvr_status kvr_record_sample(const struct kvr_model *model,
                                  const struct kvr_model_facts *facts,
                                  const struct kvr_recording_options *options, const char *name,
                                  const struct kvr_prompt *prompt,
                                  const struct kvr_recording_progress *progress,
                                  struct kvr_trace_writer *writer,
                                  struct kvr_recording_result *result, struct kvr_error *err)
{
    *result = (struct kvr_recording_result){0};
    struct job job = {
        .model = model,
        .facts = facts,
        .options = options,
        .prompt = prompt,
        .progress = progress,
        .result = result,
    };
    enum kvr_status status = generate(&job, err);
    if (status == KVR_OK)
        status = fill_result(&job, err);
    if (status == KVR_OK)
        status = begin_sample(&job, name, writer, err);
    if (status == KVR_OK)
        status = observe(&job, writer, err);
    kvr_text_free(&job.answer);
    free(job.tokens.items);
    if (status != KVR_OK) {
        free(result->generated);
        result->generated = NULL;
    }
    return status;
}
