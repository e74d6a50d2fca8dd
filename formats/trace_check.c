/*
 * The check of a whole trace: samples first, then its layers on all threads, told in order. What
 * can be wrong is known by the parts (check_*.c), not here.
 */
#include "formats/trace_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/parallel.h"
#include "formats/check_findings.h"
#include "formats/check_layer.h"

typedef enum kvr_status finding_taker(void *context, const struct kvr_finding *finding,
                                      struct kvr_error *err);

struct layer_place {
    const struct kvr_sample *sample;
    const struct kvr_layer *layer;
};

struct run {
    struct kvr_trace *trace;
    struct layer_place *places; /* one task each */
    finding_taker *found;
    void *context;
};

uint64_t kvr_layer_first_candidate(const struct kvr_sample *sample, const struct kvr_layer *layer)
{
    uint64_t end = sample->prompt_length, window = layer->sliding_window;
    uint64_t start = window > 0 && window < end ? end - window : 0;
    return start > sample->pad ? start : sample->pad;
}

static bool layer_is_wanted(const struct kvr_check_options *options, uint32_t number)
{
    if (options->layers == NULL)
        return true;
    for (size_t i = 0; i < options->layer_count; i++)
        if (options->layers[i] == number)
            return true;
    return false;
}

/*
 * From `"file": /place: what is wrong` to a finding at the place, so that one damaged dataset does
 * not hide what is wrong in the others.
 */
static enum kvr_status add_unreadable(struct kvr_layer_check *check, struct kvr_error *cause,
                                      struct kvr_error *err)
{
    char *message = cause->message, *file_end = strstr(message, "\": ");
    if (message[0] == '"' && file_end != NULL)
        message = file_end + 3;
    char *colon = message[0] == '/' ? strstr(message, ": ") : NULL;
    if (colon != NULL) {
        *colon = '\0';
        return kvr_findings_add(check->findings, KVR_FOUND_UNREADABLE, KVR_ERROR, message, 1, err,
                                "%s", colon + 2);
    }
    char layer[512];
    snprintf(layer, sizeof layer, "/samples/%s/layers/%u", check->sample->name,
             (unsigned)check->layer->number);
    return kvr_findings_add(check->findings, KVR_FOUND_UNREADABLE, KVR_ERROR, layer, 1, err, "%s",
                            message);
}

static enum kvr_status run_part(enum kvr_status (*part)(struct kvr_layer_check *,
                                                        struct kvr_error *),
                                struct kvr_layer_check *check, struct kvr_error *err)
{
    struct kvr_error cause = KVR_ERROR_NONE;
    enum kvr_status status = part(check, &cause);
    if (status == KVR_BAD_INPUT || status == KVR_UNSUPPORTED || status == KVR_IO) {
        check->unreadable = true;
        return add_unreadable(check, &cause, err);
    }
    if (status != KVR_OK && err != NULL)
        *err = cause;
    return status;
}

static enum kvr_status check_layer(struct kvr_layer_check *check, struct kvr_error *err)
{
    const struct kvr_layer *layer = check->layer;
    size_t sums;
    if (layer->attention != NULL && layer->accumulated != NULL &&
        kvr_sample_has_prefill(check->sample) &&
        kvr_size_product(layer->query_heads, (size_t)check->sample->context_length, &sums)) {
        check->column_sums = kvr_alloc(sums, sizeof *check->column_sums, err);
        if (check->column_sums == NULL)
            return KVR_NO_MEMORY;
    }
    enum kvr_status status = KVR_OK;
    if (layer->attention != NULL)
        status = run_part(kvr_check_attention, check, err);
    if (check->unreadable) { /* half-finished sums are none */
        free(check->column_sums);
        check->column_sums = NULL;
    }
    if (status == KVR_OK && layer->accumulated != NULL)
        status = run_part(kvr_check_accumulated, check, err);
    if (status == KVR_OK)
        status = run_part(kvr_check_vectors, check, err);
    if (status == KVR_OK && !check->unreadable && layer->attention != NULL &&
        layer->query != NULL && layer->key != NULL)
        status = run_part(kvr_check_recomputation, check, err);
    free(check->column_sums);
    check->column_sums = NULL;
    return status;
}

static void release(void *context, void *result)
{
    (void)context;
    kvr_findings_free(result);
    free(result);
}

static enum kvr_status work(void *context, size_t index, unsigned thread, void **result,
                            struct kvr_error *err)
{
    (void)thread;
    const struct run *run = context;
    struct kvr_findings *findings = kvr_alloc(1, sizeof *findings, err);
    if (findings == NULL)
        return KVR_NO_MEMORY;
    struct kvr_layer_check check = {
        .trace = run->trace,
        .sample = run->places[index].sample,
        .layer = run->places[index].layer,
        .findings = findings,
    };
    enum kvr_status status = check_layer(&check, err);
    if (status != KVR_OK) {
        release(NULL, findings);
        return status;
    }
    *result = findings;
    return KVR_OK;
}

static enum kvr_status tell(const struct run *run, const struct kvr_findings *findings,
                            struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; i < findings->count && status == KVR_OK; i++)
        status = run->found(run->context, &findings->items[i], err);
    return status;
}

static enum kvr_status commit(void *context, size_t index, void *result, struct kvr_error *err)
{
    (void)index;
    enum kvr_status status = tell(context, result, err);
    release(NULL, result);
    return status;
}

static enum kvr_status check_samples(const struct run *run, const struct kvr_check_options *options,
                                     struct kvr_error *err)
{
    struct kvr_findings findings = {0};
    enum kvr_status status = kvr_check_samples(run->trace, options->samples, &findings, err);
    if (status == KVR_OK)
        status = tell(run, &findings, err);
    kvr_findings_free(&findings);
    return status;
}

/* One task for every wanted layer; counts what is looked at. */
static enum kvr_status plan(struct run *run, const struct kvr_check_options *options,
                            struct kvr_check_extent *extent, struct kvr_error *err)
{
    size_t most = 0;
    for (size_t s = 0; s < run->trace->sample_count; s++)
        most += run->trace->samples[s].layer_count;
    run->places = kvr_alloc(most, sizeof *run->places, err);
    if (run->places == NULL)
        return KVR_NO_MEMORY;
    for (size_t s = 0; s < run->trace->sample_count; s++) {
        const struct kvr_sample *sample = &run->trace->samples[s];
        if (options->samples != NULL && !options->samples[s])
            continue;
        extent->samples++;
        for (size_t l = 0; l < sample->layer_count; l++)
            if (layer_is_wanted(options, sample->layers[l].number))
                run->places[extent->layers++] = (struct layer_place){sample, &sample->layers[l]};
    }
    return KVR_OK;
}

enum kvr_status kvr_trace_check(struct kvr_trace *trace, const struct kvr_check_options *options,
                                finding_taker *found, void *context,
                                struct kvr_check_extent *extent, struct kvr_error *err)
{
    struct run run = {.trace = trace, .found = found, .context = context};
    struct kvr_check_extent looked_at = {0};
    uint64_t before = kvr_trace_bytes_read(trace);
    enum kvr_status status = plan(&run, options, &looked_at, err);
    if (status == KVR_OK)
        status = check_samples(&run, options, err);
    if (status == KVR_OK) {
        struct kvr_tasks tasks = {
            .count = (size_t)looked_at.layers,
            .context = &run,
            .work = work,
            .commit = commit,
            .discard = release,
        };
        status = kvr_run_ordered(options->threads, &tasks, err);
    }
    free(run.places);
    looked_at.bytes = kvr_trace_bytes_read(trace) - before;
    if (extent != NULL)
        *extent = looked_at;
    return status;
}
