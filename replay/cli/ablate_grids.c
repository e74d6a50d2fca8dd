/*
 * From lists on the command line to weightings. It must not know what is measured on them.
 */
#include "replay/cli/ablate_grids.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"

/* Each puts the number of a text into the weighting and returns it; NaN if it is none. */

static double put_tau(const char *text, struct kvr_weighting *weighting)
{
    double tau;
    if (!kvr_parse_double(text, &tau) || !(tau >= 1e-6 && tau <= 1e6))
        return NAN;
    weighting->tau = tau;
    return tau;
}

static double put_alpha(const char *text, struct kvr_weighting *weighting)
{
    double alpha = HUGE_VAL;
    if (strcmp(text, "inf") != 0 && (!kvr_parse_double(text, &alpha) || !(alpha > 0)))
        return NAN;
    weighting->entropy.alpha = alpha;
    return alpha;
}

static double put_sinks(const char *text, struct kvr_weighting *weighting)
{
    uint64_t sinks;
    if (!kvr_parse_unsigned(text, 0, UINT32_MAX, &sinks))
        return NAN;
    weighting->sinks = sinks;
    return (double)sinks;
}

static double put_window(const char *text, struct kvr_weighting *weighting)
{
    uint64_t window = 0;
    if (strcmp(text, "all") != 0 && !kvr_parse_unsigned(text, 1, UINT32_MAX, &window))
        return NAN;
    weighting->entropy.window = window;
    return window > 0 ? (double)window : HUGE_VAL;
}

static const struct {
    const char *option, *otherwise, *expected;
    double (*put)(const char *text, struct kvr_weighting *weighting);
} kinds[KVR_ABLATE_GRIDS] = {
    [KVR_ABLATE_TEMPERATURE] = {"--tau-grid", "0.05,0.1,0.25,0.5,1,2,5,10,100",
                                "numbers from 0.000001 to 1000000", put_tau},
    [KVR_ABLATE_ORDER] = {"--alpha-grid", "0.5,1,2,inf", "numbers above 0, or inf", put_alpha},
    [KVR_ABLATE_SINKS] = {"--sinks-grid", "0,1,2,4,8,16,32,64", "whole numbers", put_sinks},
    [KVR_ABLATE_WINDOW] = {"--window-grid", "64,256,1024,4096,all",
                           "whole numbers of at least 1, or all", put_window},
};

static enum kvr_status parse_grid(int table, const char *text, const struct kvr_plan *plan,
                                  struct kvr_ablate_grids *storage, struct kvr_weighting_grid *grid,
                                  struct kvr_error *err)
{
    const char *option = kinds[table].option;
    size_t count = 0;
    enum kvr_status status = kvr_argument_list(option, text, &storage->lists[table], &count, err);
    if (status != KVR_OK)
        return status;
    struct kvr_weighting *weightings = kvr_alloc(count, sizeof *weightings, err);
    storage->weightings[table] = weightings;
    if (weightings == NULL)
        return KVR_NO_MEMORY;
    double before = -1;
    for (size_t i = 0; i < count; i++) {
        const char *item = storage->lists[table][i];
        weightings[i] = kvr_weighting_of(plan);
        double number = kinds[table].put(item, &weightings[i]);
        if (isnan(number))
            return kvr_fail(err, KVR_BAD_ARGUMENT, "%s: expected %s, found \"%s\"", option,
                            kinds[table].expected, item);
        if (!(number > before))
            return kvr_fail(err, KVR_BAD_ARGUMENT,
                            "%s: expected rising numbers, found \"%s\" "
                            "after \"%s\"",
                            option, item, storage->lists[table][i - 1]);
        before = number;
    }
    *grid = (struct kvr_weighting_grid){
        .count = count,
        .labels = (const char *const *)storage->lists[table],
        .weightings = weightings,
    };
    return KVR_OK;
}

enum kvr_status
kvr_ablate_grids_parse(const struct kvr_command *command, const struct kvr_arguments *arguments,
                       const struct kvr_plan *plan, struct kvr_ablate_grids *storage,
                       struct kvr_weighting_grid grids[KVR_ABLATE_GRIDS], struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    for (int table = 0; status == KVR_OK && table < KVR_ABLATE_GRIDS; table++) {
        const char *text = kvr_argument(command, arguments, kinds[table].option);
        status = parse_grid(table, text != NULL ? text : kinds[table].otherwise, plan, storage,
                            &grids[table], err);
    }
    return status;
}

void kvr_ablate_grids_free(struct kvr_ablate_grids *storage)
{
    for (int table = 0; table < KVR_ABLATE_GRIDS; table++) {
        free(storage->lists[table]);
        free(storage->weightings[table]);
    }
    *storage = (struct kvr_ablate_grids){0};
}
