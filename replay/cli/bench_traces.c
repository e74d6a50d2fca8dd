/*
 * Making traces of a shape and the words of a replay's command line. It must not know what is
 * measured.
 */
#include "replay/cli/bench_traces.h"

#include <stdio.h>

#include "formats/base/parallel.h"
#include "formats/element.h"

enum kvr_status kvr_bench_make_trace(const char *path, const struct kvr_bench_shape *shape,
                                     enum kvr_element element, enum kvr_bench_storage storage,
                                     struct kvr_error *err)
{
    struct kvr_synth_options options = kvr_synth_defaults();
    unsigned processors = kvr_processor_count();
    options.layers = (uint32_t)shape->layers;
    options.query_heads = (uint32_t)shape->query_heads;
    options.kv_heads = (uint32_t)shape->kv_heads;
    options.tokens = shape->tokens;
    options.rows = shape->rows;
    options.decode = 0;
    options.accumulated = false;
    options.threads = processors < 4 ? processors : 4;
    options.storage.type.kind = element;
    options.storage.contiguous = storage == KVR_BENCH_RAW;
    options.storage.shuffle = storage == KVR_BENCH_DEFLATE;
    options.storage.deflate_level = storage == KVR_BENCH_DEFLATE ? 1 : 0;
    return kvr_synth_write(path, &options, NULL, err);
}

double kvr_bench_row_bytes(const struct kvr_bench_shape *shape, enum kvr_element element)
{
    return kvr_bench_token_heads(shape) * (double)shape->rows * (double)kvr_element_size(element);
}

double kvr_bench_token_heads(const struct kvr_bench_shape *shape)
{
    return (double)shape->layers * (double)shape->query_heads * (double)shape->tokens;
}

void kvr_bench_command_line(const struct kvr_bench_replay *replay, char digits[16],
                            const char *words[KVR_BENCH_WORDS])
{
    const char *const options[][2] = {
        {"-o", replay->folder},         {"--scorer", replay->scorer},
        {"--budget", replay->budgets},  {"--page-size", replay->page_sizes},
        {"--policy", replay->policies}, {"--device", replay->device},
        {"--threads", digits},
    };
    size_t used = 0;
    snprintf(digits, 16, "%u", replay->threads);
    words[used++] = replay->program;
    words[used++] = "replay";
    words[used++] = replay->trace;
    words[used++] = "--quiet";
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i][1] == NULL)
            continue;
        words[used++] = options[i][0];
        words[used++] = options[i][1];
    }
    words[used] = NULL;
}
