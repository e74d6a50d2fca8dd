/*
 * One run of a model over one text: tokens go in batch by batch, an observer sees the nodes of the
 * graph, the likeliest next token comes out. It must not know what the observer does.
 */
#ifndef KVR_SESSION_H
#define KVR_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "traces/record-llama/model.h"

struct ggml_tensor;
struct kvr_session;

struct kvr_session_settings {
    uint64_t context; /* tokens in all */
    uint64_t batch;   /* tokens that are computed at a time */
    unsigned threads;
    bool fused;        /* flash attention */
    bool full_windows; /* layers with a window keep all tokens: cell = position */
    /* Asked of every node (ask), then told of those it wanted; false stops the run. NULL: none. */
    bool (*observe)(struct ggml_tensor *node, bool ask, void *observer);
    void *observer;
};

enum kvr_status kvr_session_open(const struct kvr_model *model,
                                 const struct kvr_session_settings *settings,
                                 struct kvr_session **out, struct kvr_error *err);

/* Computes the next `count` tokens, which must not be more than a batch. */
enum kvr_status kvr_session_run(struct kvr_session *session, const int32_t *tokens, uint64_t count,
                                struct kvr_error *err);

/* The likeliest token after the last one. */
int32_t kvr_session_next(struct kvr_session *session);

/* NULL is allowed. */
void kvr_session_close(struct kvr_session *session);

#endif
