/*
 * Centred windows over a vector. It must not know what is protected; it is told how far to go.
 */
#include "replay/smooth.h"

#include <string.h>

#include "formats/base/number.h"

const struct kvr_stage_entry kvr_smooth_entries[] = {
    {"none", "none", "the vector as it is"},
    {"avg:N", "avg:5", "mean over N neighbours, N odd; what lies outside counts as 0"},
    {"max:N", "max:7", "maximum over N neighbours, N odd"},
    {NULL, NULL, NULL},
};

enum kvr_status kvr_smooth_parse(const char *text, struct kvr_smooth *smooth, struct kvr_error *err)
{
    uint64_t width = 0;
    *smooth = (struct kvr_smooth){KVR_SMOOTH_NONE, 0};
    if (strcmp(text, "none") == 0)
        return KVR_OK;
    if (strncmp(text, "avg:", 4) == 0)
        smooth->kind = KVR_SMOOTH_AVG;
    else if (strncmp(text, "max:", 4) == 0)
        smooth->kind = KVR_SMOOTH_MAX;
    if (smooth->kind == KVR_SMOOTH_NONE || !kvr_parse_unsigned(text + 4, 1, UINT16_MAX, &width) ||
        width % 2 == 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "\"%s\" is not a smoothing; there are none, avg:N, max:N with N odd", text);
    smooth->width = (uint32_t)width;
    return KVR_OK;
}

static float window_mean(const float *in, size_t start, size_t end, uint32_t width)
{
    double sum = 0;
    for (size_t t = start; t < end; t++)
        sum += (double)in[t];
    return (float)(sum / width);
}

static float window_max(const float *in, size_t start, size_t end)
{
    float best = in[start];
    for (size_t t = start + 1; t < end; t++)
        if (in[t] > best)
            best = in[t];
    return best;
}

void kvr_smooth_apply(struct kvr_smooth smooth, const float *in, size_t length, size_t count,
                      float *out)
{
    memcpy(out, in, count * sizeof *out);
    size_t half = smooth.width / 2;
    for (size_t t = 0; smooth.kind != KVR_SMOOTH_NONE && t < length; t++) {
        size_t start = t > half ? t - half : 0;
        size_t end = length - t > half + 1 ? t + half + 1 : length;
        out[t] = smooth.kind == KVR_SMOOTH_AVG ? window_mean(in, start, end, smooth.width)
                                               : window_max(in, start, end);
    }
}
