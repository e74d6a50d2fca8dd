/*
 * Synthetic traces for tests: making, opening and walking them.
 */
#include "tests/synth_fixture.h"

#include <check.h>
#include <stdlib.h>

#include "tests/scratch.h"
#include "tests/trace_fixture.h"

struct kvr_synth_options synth_small_options(void)
{
    struct kvr_synth_options options = kvr_synth_defaults();
    options.samples = 2;
    options.tokens = 300;
    options.decode = 7;
    options.rows = 20;
    options.pad = 3;
    options.window = 64;
    options.needles = 2;
    options.storage.type.kind = KVR_DOUBLE;
    options.seed = 5;
    return options;
}

struct kvr_trace *synth_trace(const struct kvr_synth_options *options)
{
    const char *path = scratch_path("s.h5");
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_synth_write(path, options, NULL, &err) == KVR_OK, "%s", err.message);
    ck_assert_uint_eq(scratch_entries(), 1);
    return fixture_trace(path);
}

double *synth_read(struct kvr_trace *trace, const struct kvr_dataset *data)
{
    const uint64_t start[KVR_DATASET_RANK] = {0, 0, 0};
    uint64_t count[KVR_DATASET_RANK] = {1, 1, 1};
    struct kvr_error err = KVR_ERROR_NONE;
    size_t total = 1;
    ck_assert_ptr_nonnull(data);
    for (unsigned axis = 0; axis < data->rank; axis++) {
        count[axis] = data->shape[axis];
        total *= (size_t)count[axis];
    }
    double *values = calloc(total, sizeof *values);
    ck_assert_ptr_nonnull(values);
    ck_assert_msg(kvr_trace_read(trace, data, start, count, values, &err) == KVR_OK, "%s",
                  err.message);
    return values;
}

void synth_each_row(struct kvr_trace *trace,
                    void (*look)(const struct synth_row *row, void *context), void *context)
{
    for (size_t s = 0; s < trace->sample_count; s++) {
        const struct kvr_sample *sample = &trace->samples[s];
        for (size_t l = 0; l < sample->layer_count; l++) {
            const struct kvr_layer *layer = &sample->layers[l];
            double *all = synth_read(trace, layer->attention);
            for (uint32_t head = 0; head < layer->query_heads; head++) {
                for (size_t q = 0; q < sample->query_count; q++) {
                    uint64_t position = sample->query_positions[q], window = layer->sliding_window;
                    uint64_t first = window > 0 && position >= window ? position - window + 1 : 0;
                    size_t line = head * sample->query_count + q;
                    const struct synth_row row = {
                        .sample = sample,
                        .layer = layer,
                        .head = head,
                        .query = q,
                        .position = position,
                        .first = first > sample->pad ? first : sample->pad,
                        .values = all + line * sample->context_length,
                    };
                    look(&row, context);
                }
            }
            free(all);
        }
    }
}

double synth_mass(const struct synth_row *row, uint64_t start, uint64_t end)
{
    double sum = 0;
    for (uint64_t t = start; t < end; t++)
        sum += row->values[t];
    return sum;
}

void synth_assert_row(const struct synth_row *row, void *context)
{
    double tolerance = *(const double *)context, sum = 0;
    size_t wrong = 0; /* counted, as a check for each element would take long */
    for (uint64_t t = 0; t < row->sample->context_length; t++) {
        bool seen = t >= row->first && t <= row->position;
        wrong += !(row->values[t] >= 0) || (!seen && row->values[t] > 0);
        sum += row->values[t];
    }
    ck_assert_uint_eq(wrong, 0);
    ck_assert_double_eq_tol(sum, 1, tolerance);
}

const struct synth_element synth_elements[SYNTH_ELEMENT_TYPES] = {
    {{KVR_HALF, false, false}, 4e-4},     {{KVR_HALF, true, false}, 4e-4},
    {{KVR_BFLOAT16, false, false}, 3e-3}, {{KVR_BFLOAT16, true, true}, 3e-3},
    {{KVR_FLOAT, true, false}, 1e-6},     {{KVR_DOUBLE, false, false}, 1e-14},
};
