/*
 * The page of a benchmark. It measures nothing.
 */
#include <stdio.h>

#include "replay/cli/bench_report.h"

static double rate(double bytes, double seconds)
{
    return seconds > 0 ? bytes / seconds : 0;
}

double kvr_bench_limit_of(const struct kvr_bench_report *report, const struct kvr_bench_case *one,
                          const char **name)
{
    bool raw = one->storage == KVR_BENCH_RAW;
    *name = raw ? "mapping" : "inflate";
    if (raw)
        return report->limits.mapping;
    return one->element == KVR_HALF ? report->limits.inflate_half : report->limits.inflate_float;
}

static void print_machine(const struct kvr_bench_report *report)
{
    const struct kvr_bench_shape *shape = &report->shape;
    printf("kvreplay replay, %u thread%s, %s; best of %u\n", report->threads,
           report->threads == 1 ? "" : "s", report->device, report->rounds);
    printf(
        "traces of %llu layers, %llu/%llu heads, %llu tokens, %llu rows; 5 budgets, page sizes 1 "
        "and 16, 4 policies, one scorer\n",
        (unsigned long long)shape->layers, (unsigned long long)shape->query_heads,
        (unsigned long long)shape->kv_heads, (unsigned long long)shape->tokens,
        (unsigned long long)shape->rows);
    printf("\nthis machine, same threads\n");
    printf("  reading memory                    %8.2f GB/s\n", 1e-9 * report->limits.memory);
    printf("  reading the file, fresh mapping   %8.2f GB/s\n", 1e-9 * report->limits.mapping);
    printf("  inflating chunks of half values   %8.2f GB/s out\n",
           1e-9 * report->limits.inflate_half);
    printf("  inflating chunks of float values  %8.2f GB/s out\n",
           1e-9 * report->limits.inflate_float);
    printf("  start to end of a tiny replay     %8.1f ms\n", 1e3 * report->start_up);
}

static void print_cases(const struct kvr_bench_report *report)
{
    const double token_heads = kvr_bench_token_heads(&report->shape);
    printf("\nthe whole command, fresh process, file in the page cache\n");
    printf("  %-24s %9s %9s %12s %18s %10s\n", "trace", "seconds", "GB/s", "tok x head/s",
           "of the limit", "peak MB");
    for (size_t i = 0; i < report->case_count; i++) {
        const struct kvr_bench_case *one = &report->cases[i];
        const char *name;
        double reached = rate(one->row_bytes, one->usage.seconds);
        double limit = kvr_bench_limit_of(report, one, &name);
        printf("  %-24s %9.3f %9.2f %12.3g %7.0f %% of %s %10.1f\n", one->name, one->usage.seconds,
               1e-9 * reached, rate(token_heads, one->usage.seconds), 100 * rate(reached, limit),
               name, 1e-6 * (double)one->usage.peak_bytes);
    }
    printf("  five budgets cost %.2fx of one (processor time, half, raw)\n",
           rate(report->cases[0].usage.processor, report->one_budget.processor));
}

static void print_stages(const struct kvr_bench_report *report)
{
    const struct kvr_bench_stages *stages = &report->stages;
    const double token_heads = kvr_bench_token_heads(&report->shape);
    printf("\nwhere one thread's time goes (half, raw)\n");
    printf("  %-36s %18s %14s %7s\n", "stage", "ns/(token x head)", "tok x head/s", "share");
    for (size_t i = 0; i < stages->count; i++)
        printf("  %-36s %18.3f %14.3g %5.1f %%\n", stages->stages[i].name,
               1e9 * stages->stages[i].seconds / token_heads,
               rate(token_heads, stages->stages[i].seconds),
               100 * rate(stages->stages[i].seconds, stages->seconds));
    printf("  %-36s %18.3f %14.3g\n", "all", 1e9 * stages->seconds / token_heads,
           rate(token_heads, stages->seconds));
}

static void print_peers(const struct kvr_bench_report *report)
{
    if (report->no_peers != NULL) {
        printf("\nno comparison with Python: %s\n", report->no_peers);
        return;
    }
    const struct kvr_bench_case *raw = &report->cases[0];
    double ours = rate(raw->row_bytes, raw->usage.seconds);
    printf("\nthe same replay by others (%zu cells compared: the same kept sets)\n",
           report->peer_cells);
    for (size_t i = 0; i < KVR_BENCH_PEERS; i++) {
        const struct kvr_bench_peer *peer = &report->peers[i];
        if (!peer->ran)
            continue;
        double theirs = rate(peer->row_bytes, peer->seconds);
        printf("  %-24s %9.3f s %9.4f GB/s   kvreplay is %.0fx as fast\n", peer->name,
               peer->seconds, 1e-9 * theirs, rate(ours, theirs));
    }
    for (size_t i = 0; i < report->case_count; i++) {
        const struct kvr_bench_case *one = &report->cases[i];
        if (one->storage != KVR_BENCH_DEFLATE || one->element != KVR_HALF)
            continue;
        printf("  %-24s %9.3f s %9.4f GB/s   the whole replay is %.1fx as fast\n",
               "h5py, reading only", report->reading.seconds,
               1e-9 * rate(one->row_bytes, report->reading.seconds),
               rate(report->reading.seconds, one->usage.seconds));
    }
}

static void print_sweeps(const struct kvr_bench_report *report)
{
    if (report->sweep_count > 0)
        printf("\nhow the cost grows (one thread, processor time, half, raw)\n");
    for (size_t i = 0; i < report->sweep_count; i++) {
        const struct kvr_bench_sweep *sweep = &report->sweeps[i];
        printf("  %s (%s)\n", sweep->axis, sweep->rest);
        printf("    %12s %12s %20s %10s\n", "", "seconds", "ns/(token x head)", "peak MB");
        for (size_t p = 0; p < KVR_SWEEP_POINTS; p++)
            printf("    %12llu %12.3f %20.2f %10.1f\n", (unsigned long long)sweep->points[p].value,
                   sweep->points[p].processor, sweep->points[p].nanoseconds,
                   1e-6 * (double)sweep->points[p].peak_bytes);
    }
}

void kvr_bench_print(const struct kvr_bench_report *report)
{
    print_machine(report);
    print_cases(report);
    print_stages(report);
    print_peers(report);
    print_sweeps(report);
}
