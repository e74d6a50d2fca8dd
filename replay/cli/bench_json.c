/*
 * A benchmark's figures as JSON, for tracking them over time. Seconds and bytes, no formatted text.
 */
#include "replay/cli/bench_report.h"
#include "replay/cli/command.h"

static void write_shape(struct kvr_json *json, const struct kvr_bench_report *report)
{
    const struct kvr_bench_shape *shape = &report->shape;
    kvr_json_object(json, "shape");
    kvr_json_unsigned(json, "layers", shape->layers);
    kvr_json_unsigned(json, "query_heads", shape->query_heads);
    kvr_json_unsigned(json, "kv_heads", shape->kv_heads);
    kvr_json_unsigned(json, "tokens", shape->tokens);
    kvr_json_unsigned(json, "rows", shape->rows);
    kvr_json_end(json);
}

static void write_limits(struct kvr_json *json, const struct kvr_bench_report *report)
{
    kvr_json_object(json, "limits");
    kvr_json_number(json, "memory_bytes_per_second", report->limits.memory);
    kvr_json_number(json, "mapping_bytes_per_second", report->limits.mapping);
    kvr_json_number(json, "inflate_half_bytes_per_second", report->limits.inflate_half);
    kvr_json_number(json, "inflate_float_bytes_per_second", report->limits.inflate_float);
    kvr_json_number(json, "start_up_seconds", report->start_up);
    kvr_json_end(json);
}

static void write_usage(struct kvr_json *json, const struct kvr_bench_usage *usage)
{
    kvr_json_number(json, "seconds", usage->seconds);
    kvr_json_number(json, "processor_seconds", usage->processor);
    kvr_json_unsigned(json, "peak_bytes", usage->peak_bytes);
}

static void write_cases(struct kvr_json *json, const struct kvr_bench_report *report)
{
    kvr_json_array(json, "replays");
    for (size_t i = 0; i < report->case_count; i++) {
        const struct kvr_bench_case *one = &report->cases[i];
        kvr_json_object(json, NULL);
        kvr_json_string(json, "trace", one->name);
        kvr_json_number(json, "row_bytes", one->row_bytes);
        kvr_json_unsigned(json, "file_bytes", one->file_bytes);
        write_usage(json, &one->usage);
        kvr_json_end(json);
    }
    kvr_json_end(json);
    kvr_json_object(json, "one_budget");
    write_usage(json, &report->one_budget);
    kvr_json_end(json);
}

static void write_stages(struct kvr_json *json, const struct kvr_bench_report *report)
{
    kvr_json_array(json, "stages");
    for (size_t i = 0; i < report->stages.count; i++) {
        kvr_json_object(json, NULL);
        kvr_json_string(json, "name", report->stages.stages[i].name);
        kvr_json_number(json, "seconds", report->stages.stages[i].seconds);
        kvr_json_end(json);
    }
    kvr_json_end(json);
}

static void write_peers(struct kvr_json *json, const struct kvr_bench_report *report)
{
    kvr_json_array(json, "peers");
    for (size_t i = 0; report->no_peers == NULL && i < KVR_BENCH_PEERS; i++) {
        const struct kvr_bench_peer *peer = &report->peers[i];
        if (!peer->ran)
            continue;
        kvr_json_object(json, NULL);
        kvr_json_string(json, "name", peer->name);
        kvr_json_number(json, "row_bytes", peer->row_bytes);
        kvr_json_number(json, "seconds", peer->seconds);
        kvr_json_end(json);
    }
    kvr_json_end(json);
    if (report->no_peers == NULL)
        kvr_json_number(json, "h5py_reading_seconds", report->reading.seconds);
}

static void write_sweeps(struct kvr_json *json, const struct kvr_bench_report *report)
{
    kvr_json_array(json, "sweeps");
    for (size_t i = 0; i < report->sweep_count; i++) {
        const struct kvr_bench_sweep *sweep = &report->sweeps[i];
        kvr_json_object(json, NULL);
        kvr_json_string(json, "axis", sweep->axis);
        kvr_json_array(json, "points");
        for (size_t p = 0; p < KVR_SWEEP_POINTS; p++) {
            kvr_json_object(json, NULL);
            kvr_json_unsigned(json, "value", sweep->points[p].value);
            kvr_json_number(json, "processor_seconds", sweep->points[p].processor);
            kvr_json_number(json, "nanoseconds_per_token_head", sweep->points[p].nanoseconds);
            kvr_json_unsigned(json, "peak_bytes", sweep->points[p].peak_bytes);
            kvr_json_end(json);
        }
        kvr_json_end(json);
        kvr_json_end(json);
    }
    kvr_json_end(json);
}

void kvr_bench_json(const struct kvr_bench_report *report, struct kvr_json *json)
{
    kvr_json_object(json, NULL);
    kvr_json_string(json, "version", KVREPLAY_VERSION);
    kvr_json_string(json, "device", report->device);
    kvr_json_unsigned(json, "threads", report->threads);
    kvr_json_unsigned(json, "rounds", report->rounds);
    write_shape(json, report);
    write_limits(json, report);
    write_cases(json, report);
    write_stages(json, report);
    write_peers(json, report);
    write_sweeps(json, report);
    kvr_json_end(json);
}
