/*
 * What curves cost: one group of 8 heads over 131072 tokens is replayed at five budgets, without
 * curves and with all of them, in turns; the ratio is of the processor time of the best of each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "analysis/result_tables.h"
#include "formats/trace.h"
#include "replay/engine.h"
#include "traces/synth.h"

enum { ROUNDS = 3 };

static const char *const budgets[] = {"0.02", "0.05", "0.1", "0.2", "0.4"};
static const char *const scorers[] = {"last", "window", "accumulated"};
static const char *const policies[] = {"independent", "mean", "max", "page-entrokv"};
static const char *const page_sizes[] = {"1", "16"};

static enum kvr_status make_plan(struct kvr_plan *plan, struct kvr_error *err)
{
    *plan = kvr_plan_default();
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < sizeof budgets / sizeof *budgets; i++)
        status = kvr_plan_add_budget(plan, budgets[i], err);
    for (size_t i = 0; status == KVR_OK && i < sizeof scorers / sizeof *scorers; i++)
        status = kvr_plan_add_score(plan, scorers[i], err);
    for (size_t i = 0; status == KVR_OK && i < sizeof policies / sizeof *policies; i++)
        status = kvr_plan_add_policy(plan, policies[i], err);
    for (size_t i = 0; status == KVR_OK && i < sizeof page_sizes / sizeof *page_sizes; i++)
        status = kvr_plan_add_page_size(plan, page_sizes[i], err);
    return status;
}

static enum kvr_status replay(const struct kvr_plan *plan, const char *path, const char *folder,
                              struct kvr_error *err)
{
    struct kvr_trace *trace = NULL;
    struct kvr_summary summary = {0};
    struct kvr_results results = {0};
    struct kvr_tables tables;
    enum kvr_status status = kvr_tables_open(&tables, folder, err);
    if (status != KVR_OK)
        return status;
    status = kvr_trace_open(path, NULL, &trace, err);
    if (status == KVR_OK)
        status = kvr_summary_open(plan, &summary, err);
    if (status == KVR_OK)
        status = kvr_results_open(&results, &tables, &summary, err);
    if (status == KVR_OK)
        status = kvr_replay_trace(plan, trace, results.observers, results.count, NULL, err);
    kvr_results_free(&results);
    kvr_summary_free(&summary);
    kvr_trace_close(trace);
    if (status == KVR_OK)
        return kvr_tables_commit(&tables, err);
    kvr_tables_abandon(&tables);
    return status;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static enum kvr_status measure(struct kvr_plan *plan, const char *path, const char *folder,
                               double best[3], struct kvr_error *err)
{
    static const enum kvr_curve_quotas which[] = {KVR_CURVE_NONE, KVR_CURVE_LOG, KVR_CURVE_ALL};
    enum kvr_status status = KVR_OK;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; status == KVR_OK && i < 3; i++) {
            plan->curve = which[i];
            double started = seconds();
            status = replay(plan, path, folder, err);
            double taken = seconds() - started;
            best[i] = round == 0 || taken < best[i] ? taken : best[i];
        }
    return status;
}

static void remove_tables(const char *folder)
{
    static const char *const names[] = {"measures", "bounds", "heads",    "needles",
                                        "premises", "layers", "excluded", "curves"};
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s.csv", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

int main(void)
{
    char folder[] = "/tmp/kvreplay-bench-XXXXXX", path[64];
    if (mkdtemp(folder) == NULL)
        return EXIT_FAILURE;
    snprintf(path, sizeof path, "%s/trace.h5", folder);
    struct kvr_synth_options options = kvr_synth_defaults();
    options.tokens = 131072;
    options.layers = 1;
    options.kv_heads = 1;
    struct kvr_plan plan = {0};
    struct kvr_error err = KVR_ERROR_NONE;
    double best[3] = {0, 0, 0};
    enum kvr_status status = kvr_synth_write(path, &options, NULL, &err);
    if (status == KVR_OK)
        status = make_plan(&plan, &err);
    if (status == KVR_OK)
        status = measure(&plan, path, folder, best, &err);
    kvr_plan_free(&plan);
    unlink(path);
    remove_tables(folder);
    if (status != KVR_OK) {
        fprintf(stderr, "bench_curve: %s\n", err.message);
        return EXIT_FAILURE;
    }
    printf("curves of 131072 tokens, 8 heads, %zu scorers, page sizes 1 and 16, one thread\n"
           "  five budgets        %.3f s\n"
           "  with --curve log    %.3f s  %.2fx\n"
           "  with --curve all    %.3f s  %.2fx\n",
           sizeof scorers / sizeof *scorers, best[0], best[1], best[1] / best[0], best[2],
           best[2] / best[0]);
    return EXIT_SUCCESS;
}
