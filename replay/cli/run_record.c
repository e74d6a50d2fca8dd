/*
 * Writing run.json.
 */
#include "replay/cli/run_record.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "analysis/result_tables.h"
#include "formats/base/checksum.h"
#include "formats/base/cpu.h"
#include "replay/gpu/gpu_backend.h"

static void write_options(struct kvr_json *json, const struct kvr_plan *plan)
{
    static const char *const reduces[] = {"max", "mean", "sum"};
    static const char *const curves[] = {"none", "log", "all"};
    static const char *const rules[] = {"exclude", "zero", "fail"};
    kvr_json_object(json, "options");
    kvr_json_list(json, "policy");
    for (size_t i = 0; i < plan->policy_count; i++)
        kvr_json_string(json, NULL, plan->policies[i].label);
    kvr_json_end(json);
    kvr_json_list(json, "scorer");
    for (size_t i = 0; i < plan->score_count; i++)
        if (plan->scores[i].asked)
            kvr_json_string(json, NULL, plan->scores[i].label);
    kvr_json_end(json);
    kvr_json_list(json, "budget");
    for (size_t i = 0; i < plan->budget_count; i++)
        kvr_json_string(json, NULL, plan->budgets[i].label);
    kvr_json_end(json);
    kvr_json_list(json, "page_size");
    for (size_t i = 0; i < plan->page_size_count; i++)
        kvr_json_unsigned(json, NULL, plan->page_sizes[i]);
    kvr_json_end(json);
    kvr_json_string(json, "page_reduce", reduces[plan->page_reduce]);
    kvr_json_number(json, "tau", plan->tau);
    if (isinf(plan->entropy.alpha))
        kvr_json_string(json, "alpha", "inf");
    else
        kvr_json_number(json, "alpha", plan->entropy.alpha);
    kvr_json_unsigned(json, "sinks", plan->sinks);
    if (plan->entropy.window > 0)
        kvr_json_unsigned(json, "entropy_window", plan->entropy.window);
    else
        kvr_json_null(json, "entropy_window");
    kvr_json_number(json, "sink_threshold", plan->sink_threshold);
    kvr_json_number(json, "retrieval_mass", plan->retrieval_mass);
    kvr_json_number(json, "retrieval_support", plan->retrieval_support);
    kvr_json_string(json, "match", plan->match_physical ? "physical" : "nominal");
    kvr_json_string(json, "nan", rules[plan->nan]);
    kvr_json_string(json, "curve", curves[plan->curve]);
    kvr_json_list(json, "samples");
    for (size_t i = 0; i < plan->sample_count; i++)
        kvr_json_string(json, NULL, plan->samples[i]);
    kvr_json_end(json);
    kvr_json_list(json, "layers");
    for (size_t i = 0; i < plan->layer_count; i++)
        kvr_json_unsigned(json, NULL, plan->layers[i]);
    kvr_json_end(json);
    kvr_json_end(json);
}

/* What comparing needs of the samples and no table holds: depths of needles, bytes of a token. */
static void write_samples(struct kvr_json *json, const struct kvr_plan *plan,
                          const struct kvr_trace *trace)
{
    kvr_json_list(json, "samples");
    for (size_t s = 0; s < trace->sample_count; s++) {
        const struct kvr_sample *sample = &trace->samples[s];
        if (!kvr_plan_wants_sample(plan, sample))
            continue;
        kvr_json_object(json, NULL);
        kvr_json_string(json, "name", sample->name);
        kvr_json_unsigned(json, "prompt_length", sample->prompt_length);
        kvr_json_unsigned(json, "pad", sample->pad);
        if (sample->head_dim > 0)
            kvr_json_unsigned(json, "head_dim", sample->head_dim);
        else
            kvr_json_null(json, "head_dim");
        kvr_json_end(json);
    }
    kvr_json_end(json);
}

static enum kvr_status write_checksum(struct kvr_json *json, const struct kvr_trace *trace,
                                      struct kvr_error *err)
{
    struct kvr_checksum checksum;
    enum kvr_status status = kvr_checksum_file(trace->path, &checksum, err);
    if (status != KVR_OK)
        return status;
    struct kvr_text hash = {0};
    kvr_text_add(&hash, "%016llx", (unsigned long long)checksum.fnv);
    kvr_json_string(json, "name", trace->name);
    kvr_json_unsigned(json, "bytes", checksum.size);
    kvr_json_string(json, checksum.sampled ? "fnv1a_sampled" : "fnv1a", hash.data);
    kvr_text_free(&hash);
    return KVR_OK;
}

static enum kvr_status write_input(struct kvr_json *json, const struct kvr_plan *plan,
                                   const struct kvr_trace *trace, struct kvr_error *err)
{
    kvr_json_object(json, NULL);
    kvr_json_string(json, "path", trace->path);
    enum kvr_status status = write_checksum(json, trace, err);
    write_samples(json, plan, trace);
    kvr_json_end(json);
    return status;
}

static void write_shard(struct kvr_json *json, const struct kvr_shard_record *shard,
                        const struct kvr_plan *plan)
{
    char run[24];
    snprintf(run, sizeof run, "%016llx", (unsigned long long)shard->run);
    kvr_json_object(json, "shard");
    kvr_json_unsigned(json, "index", shard->index);
    kvr_json_unsigned(json, "count", shard->count);
    kvr_json_string(json, "run", run);
    kvr_json_list(json, "tables");
    for (uint32_t t = 0; t < KVR_RESULT_TABLES; t++)
        if ((kvr_result_tables_wanted(plan) >> t & 1) != 0)
            kvr_json_string(json, NULL, kvr_result_tables[t]->name);
    kvr_json_end(json);
    kvr_json_unsigned(json, "units", shard->units->count);
    kvr_json_list(json, "own");
    for (size_t u = 0; u < shard->units->count; u++)
        if (shard->units->all[u].owner == shard->index - 1)
            kvr_json_unsigned(json, NULL, u);
    kvr_json_end(json);
    kvr_json_end(json);
}

/* The instructions that the kernels use, "x86-64 avx2"; without level where there is only one. */
static void add_instruction_set(struct kvr_json *json)
{
#if defined(__x86_64__)
    static const char processor[] = "x86-64";
#elif defined(__aarch64__)
    static const char processor[] = "aarch64";
#else
    static const char processor[] = "generic";
#endif
    char isa[64];
    enum kvr_cpu level = kvr_cpu_level();
    snprintf(isa, sizeof isa, "%s%s%s", processor, level > KVR_CPU_SCALAR ? " " : "",
             level > KVR_CPU_SCALAR ? kvr_cpu_name(level) : "");
    kvr_json_string(json, "isa", isa);
}

void kvr_run_record_machine(struct kvr_json *json, unsigned threads,
                            const struct kvr_compute *compute)
{
    char host[256] = "", device[32];
    gethostname(host, sizeof host - 1);
    kvr_json_string(json, "host", host);
    kvr_json_unsigned(json, "threads", threads);
    kvr_gpu_name(compute, device, sizeof device);
    kvr_json_string(json, "device", device);
    add_instruction_set(json);
}

enum kvr_status kvr_run_identity(const struct kvr_plan *plan, struct kvr_trace *const *traces,
                                 size_t trace_count, struct kvr_text *text, struct kvr_error *err)
{
    struct kvr_json json = {.text = text};
    enum kvr_status status = KVR_OK;
    kvr_json_object(&json, NULL);
    kvr_json_string(&json, "version", KVREPLAY_VERSION);
    write_options(&json, plan);
    kvr_json_array(&json, "inputs");
    for (size_t i = 0; status == KVR_OK && i < trace_count; i++) {
        kvr_json_object(&json, NULL);
        status = write_checksum(&json, traces[i], err);
        kvr_json_end(&json);
    }
    kvr_json_end(&json);
    kvr_json_end(&json);
    return status == KVR_OK ? kvr_text_check(text, err) : status;
}

void kvr_run_record_command_line(struct kvr_json *json, const struct kvr_arguments *arguments)
{
    kvr_json_list(json, "command_line");
    for (int i = 0; i < arguments->argc; i++)
        kvr_json_string(json, NULL, arguments->argv[i]);
    kvr_json_end(json);
}

enum kvr_status kvr_run_record_write(const struct kvr_run_record *record, struct kvr_tables *tables,
                                     struct kvr_error *err)
{
    struct kvr_text text = {0};
    struct kvr_json json = {.text = &text};
    kvr_json_object(&json, NULL);
    kvr_json_string(&json, "version", KVREPLAY_VERSION);
    kvr_run_record_command_line(&json, record->arguments);
    write_options(&json, record->plan);
    kvr_json_array(&json, "inputs");
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < record->trace_count; i++)
        status = write_input(&json, record->plan, record->traces[i], err);
    kvr_json_end(&json);
    if (record->shard != NULL)
        write_shard(&json, record->shard, record->plan);
    kvr_run_record_machine(&json, record->plan->threads, record->plan->compute);
    if (record->ranks > 1)
        kvr_json_unsigned(&json, "ranks", record->ranks);
    kvr_json_number(&json, "seconds", record->seconds);
    kvr_json_unsigned(&json, "bytes_read", record->bytes_read);
    kvr_json_end(&json);
    kvr_text_bytes(&text, "\n", 1);
    if (status == KVR_OK)
        status = kvr_tables_add_text(tables, record->name, &text, err);
    kvr_text_free(&text);
    return status;
}
