/*
 * The axes of the sweep and their points. Only shapes and lists change; the command is the same.
 */
#include "replay/cli/bench_sweep.h"

#include <stdlib.h>
#include <unistd.h>

#include "formats/base/outfile.h"
#include "replay/cli/bench_process.h"
#include "replay/cli/bench_traces.h"

struct point {
    uint64_t value;
    struct kvr_bench_shape shape;
    const char *budgets, *page_sizes;
};

/* Enough layers that starting the program does not count: 17 million tokens x heads, 8 along rows.
 */
static const char five_budgets[] = "0.02,0.05,0.1,0.2,0.4";

static const struct axis {
    const char *name, *rest;
    struct point points[KVR_SWEEP_POINTS];
} axes[] = {
    {"tokens",
     "8/2 heads, 16 rows, 5 budgets, page sizes 1 and 16",
     {{4096, {512, 8, 2, 4096, 16}, five_budgets, "1,16"},
      {32768, {64, 8, 2, 32768, 16}, five_budgets, "1,16"},
      {262144, {8, 8, 2, 262144, 16}, five_budgets, "1,16"},
      {1048576, {2, 8, 2, 1048576, 16}, five_budgets, "1,16"}}},
    {"ratio",
     "32768 tokens, 2 KV heads, 16 rows, 5 budgets, page sizes 1 and 16",
     {{1, {256, 2, 2, 32768, 16}, five_budgets, "1,16"},
      {2, {128, 4, 2, 32768, 16}, five_budgets, "1,16"},
      {4, {64, 8, 2, 32768, 16}, five_budgets, "1,16"},
      {8, {32, 16, 2, 32768, 16}, five_budgets, "1,16"}}},
    {"rows",
     "32768 tokens, 8/2 heads, 5 budgets, page sizes 1 and 16",
     {{1, {32, 8, 2, 32768, 1}, five_budgets, "1,16"},
      {4, {32, 8, 2, 32768, 4}, five_budgets, "1,16"},
      {16, {32, 8, 2, 32768, 16}, five_budgets, "1,16"},
      {64, {32, 8, 2, 32768, 64}, five_budgets, "1,16"}}},
    {"budgets",
     "32768 tokens, 8/2 heads, 16 rows, page sizes 1 and 16",
     {{1, {64, 8, 2, 32768, 16}, "0.1", "1,16"},
      {2, {64, 8, 2, 32768, 16}, "0.05,0.1", "1,16"},
      {5, {64, 8, 2, 32768, 16}, five_budgets, "1,16"},
      {10, {64, 8, 2, 32768, 16}, "0.01,0.02,0.03,0.05,0.07,0.1,0.15,0.2,0.3,0.4", "1,16"}}},
    {"page sizes",
     "32768 tokens, 8/2 heads, 16 rows, 5 budgets; 1, then 16, 32 and 64",
     {{1, {64, 8, 2, 32768, 16}, five_budgets, "1"},
      {2, {64, 8, 2, 32768, 16}, five_budgets, "1,16"},
      {3, {64, 8, 2, 32768, 16}, five_budgets, "1,16,32"},
      {4, {64, 8, 2, 32768, 16}, five_budgets, "1,16,32,64"}}},
};

const size_t kvr_bench_sweep_count = sizeof axes / sizeof *axes;

/* Every head is scored by all rows that the trace has. */
static const char *scorer_of(const struct kvr_bench_shape *shape)
{
    return shape->rows == 1    ? "last"
           : shape->rows == 4  ? "window:4"
           : shape->rows == 16 ? "window:16"
                               : "window:64";
}

/* The least processor time of the rounds. */
static enum kvr_status measure_point(const struct point *point, const char *trace,
                                     const char *program, const char *tables, unsigned rounds,
                                     struct kvr_bench_usage *least, struct kvr_error *err)
{
    const struct kvr_bench_replay replay = {
        .program = program,
        .trace = trace,
        .folder = tables,
        .scorer = scorer_of(&point->shape),
        .budgets = point->budgets,
        .page_sizes = point->page_sizes,
        .threads = 1,
    };
    char digits[16];
    const char *words[KVR_BENCH_WORDS];
    kvr_bench_command_line(&replay, digits, words);
    enum kvr_status status =
        kvr_bench_make_trace(trace, &point->shape, KVR_HALF, KVR_BENCH_RAW, err);
    for (unsigned round = 0; status == KVR_OK && round < rounds; round++) {
        struct kvr_bench_usage usage;
        status = kvr_bench_process(words, NULL, &usage, err);
        if (status == KVR_OK && (round == 0 || usage.processor < least->processor))
            *least = usage;
    }
    unlink(trace);
    return status;
}

enum kvr_status kvr_bench_sweep_measure(size_t index, const char *program, const char *folder,
                                        unsigned rounds, struct kvr_bench_sweep *sweep,
                                        struct kvr_error *err)
{
    const struct axis *axis = &axes[index];
    char *trace = kvr_join_path(folder, "sweep.h5", err);
    char *tables = kvr_join_path(folder, "tables", err);
    enum kvr_status status = trace != NULL && tables != NULL ? KVR_OK : KVR_NO_MEMORY;
    sweep->axis = axis->name;
    sweep->rest = axis->rest;
    for (size_t i = 0; status == KVR_OK && i < KVR_SWEEP_POINTS; i++) {
        const struct point *point = &axis->points[i];
        struct kvr_bench_usage least = {0};
        status = measure_point(point, trace, program, tables, rounds, &least, err);
        sweep->points[i].value = point->value;
        sweep->points[i].processor = least.processor;
        sweep->points[i].nanoseconds = 1e9 * least.processor / kvr_bench_token_heads(&point->shape);
        sweep->points[i].peak_bytes = least.peak_bytes;
    }
    free(trace);
    free(tables);
    return status;
}
