/*
 * llama.cpp's context, with the settings under which its attention can be observed.
 */
#include "traces/record-llama/session.h"

#include <llama.h>
#include <stdlib.h>

#include "formats/base/memory.h"

struct kvr_session {
    const struct kvr_model *model;
    struct llama_context *handle;
    int32_t words;
};

static struct llama_context_params parameters(const struct kvr_session_settings *settings)
{
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = (uint32_t)settings->context;
    params.n_batch = params.n_ubatch = (uint32_t)settings->batch;
    params.n_seq_max = 1;
    params.n_threads = params.n_threads_batch = (int32_t)settings->threads;
    params.flash_attn_type =
        settings->fused ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.swa_full = settings->full_windows;
    params.cb_eval = settings->observe;
    params.cb_eval_user_data = settings->observer;
    params.no_perf = true;
    return params;
}

enum kvr_status kvr_session_open(const struct kvr_model *model,
                                 const struct kvr_session_settings *settings,
                                 struct kvr_session **out, struct kvr_error *err)
{
    struct kvr_session *session = kvr_alloc(1, sizeof *session, err);
    if (session == NULL)
        return KVR_NO_MEMORY;
    session->model = model;
    session->words = llama_vocab_n_tokens(model->vocab);
    kvr_model_forgive();
    session->handle = llama_init_from_model(model->handle, parameters(settings));
    if (session->handle == NULL) {
        free(session);
        const char *cause = kvr_model_complaint();
        return kvr_fail(err, KVR_NO_MEMORY, "\"%s\": llama.cpp cannot run it over %llu tokens%s%s",
                        model->path, (unsigned long long)settings->context,
                        cause[0] != '\0' ? ": " : "", cause);
    }
    *out = session;
    return KVR_OK;
}

enum kvr_status kvr_session_run(struct kvr_session *session, const int32_t *tokens, uint64_t count,
                                struct kvr_error *err)
{
    /* The batch is only read; llama.cpp declares it otherwise. */
    struct llama_batch batch = llama_batch_get_one((llama_token *)tokens, (int32_t)count);
    kvr_model_forgive();
    int32_t result = llama_decode(session->handle, batch);
    if (result == 0)
        return KVR_OK;
    const char *cause = kvr_model_complaint();
    return kvr_fail(err, KVR_INTERNAL, "\"%s\": llama.cpp stopped with %d%s%s",
                    session->model->path, result, cause[0] != '\0' ? ": " : "", cause);
}

int32_t kvr_session_next(struct kvr_session *session)
{
    const float *logits = llama_get_logits_ith(session->handle, -1);
    int32_t best = 0;
    for (int32_t word = 1; word < session->words; word++)
        if (logits[word] > logits[best])
            best = word;
    return best;
}

void kvr_session_close(struct kvr_session *session)
{
    if (session == NULL)
        return;
    llama_free(session->handle);
    free(session);
}
