/*
 * The facts of a trace as JSON. What they are is known by info_facts.h.
 */
#include "replay/cli/info_json.h"

#include <math.h>

#include "formats/json.h"
#include "formats/trace_names.h"

static void add_numbers(struct kvr_json *json, const char *key, const uint64_t *numbers,
                        size_t count)
{
    kvr_json_list(json, key);
    for (size_t i = 0; i < count; i++)
        kvr_json_unsigned(json, NULL, numbers[i]);
    kvr_json_end(json);
}

static void add_query_rows(struct kvr_json *json, const struct kvr_sample *sample)
{
    struct kvr_row_count rows = kvr_count_rows(sample);
    kvr_json_object(json, "query_rows");
    kvr_json_unsigned(json, "prefill", rows.prefill);
    kvr_json_unsigned(json, "decode", rows.decode);
    if (sample->query_count > 0) {
        kvr_json_unsigned(json, "first", sample->query_positions[0]);
        kvr_json_unsigned(json, "last", sample->query_positions[sample->query_count - 1]);
    }
    kvr_json_end(json);
}

static void add_sample(struct kvr_json *json, const struct kvr_sample *sample)
{
    kvr_json_object(json, NULL);
    kvr_json_string(json, "name", sample->name);
    kvr_json_string(json, "task", sample->task);
    kvr_json_string(json, "subset", sample->subset);
    kvr_json_string(json, "generated", sample->generated);
    kvr_json_unsigned(json, "context_length", sample->context_length);
    kvr_json_unsigned(json, "prompt_length", sample->prompt_length);
    kvr_json_unsigned(json, "pad", sample->pad);
    kvr_json_unsigned(json, "query_heads", sample->query_heads);
    kvr_json_unsigned(json, "kv_heads", sample->kv_heads);
    kvr_json_bool(json, "tokens", sample->token_count > 0);
    kvr_json_unsigned(json, "layers", sample->layer_count);
    add_query_rows(json, sample);
    kvr_json_array(json, "needles");
    for (size_t n = 0; n < sample->needle_count; n++) {
        const uint64_t span[2] = {sample->needles[n].start, sample->needles[n].end};
        add_numbers(json, NULL, span, 2);
    }
    kvr_json_end(json);
    kvr_json_end(json);
}

static void add_layer_group(struct kvr_json *json, const struct kvr_layer_group *group)
{
    const struct kvr_layer *layer = group->first;
    kvr_json_object(json, NULL);
    add_numbers(json, "numbers", group->numbers, group->number_count);
    kvr_json_unsigned(json, "count", group->count);
    kvr_json_unsigned(json, "samples", group->sample_count);
    kvr_json_unsigned(json, "query_heads", layer->query_heads);
    kvr_json_unsigned(json, "kv_heads", layer->kv_heads);
    kvr_json_unsigned(json, "sliding_window", layer->sliding_window);
    kvr_json_bool(json, "sink_logits", layer->sink_logits);
    kvr_json_number(json, "scale", layer->scale);
    kvr_json_number(json, "softcap", layer->softcap);
    kvr_json_list(json, "datasets");
    for (unsigned m = 0; m < KVR_MEMBERS; m++)
        if (kvr_layer_member(layer, (enum kvr_member)m) != NULL)
            kvr_json_string(json, NULL, kvr_members[m].name);
    kvr_json_end(json);
    kvr_json_list(json, "columns");
    for (size_t c = 0; c < layer->column_count; c++)
        kvr_json_string(json, NULL, layer->columns[c].name);
    kvr_json_end(json);
    kvr_json_end(json);
}

static void add_dataset_group(struct kvr_json *json, const struct kvr_dataset_group *group)
{
    const struct kvr_dataset *first = group->first;
    kvr_json_object(json, NULL);
    kvr_json_string(json, group->is_column ? "column" : "name", group->name);
    kvr_json_unsigned(json, "count", group->count);
    add_numbers(json, "least_shape", group->least_shape, first->rank);
    add_numbers(json, "most_shape", group->most_shape, first->rank);
    kvr_json_string(json, "type", kvr_element_name(first->type.kind));
    kvr_json_string(json, "byte_order", first->type.big_endian ? "big" : "little");
    kvr_json_bool(json, "as_uint16", first->type.as_uint16);
    kvr_json_bool(json, "chunked", first->chunked);
    if (first->chunked) {
        add_numbers(json, "least_chunk", group->least_chunk, first->rank);
        add_numbers(json, "most_chunk", group->most_chunk, first->rank);
    }
    kvr_json_bool(json, "shuffle", first->shuffle);
    if (first->deflate)
        kvr_json_unsigned(json, "deflate_level", first->deflate_level);
    else
        kvr_json_null(json, "deflate_level");
    kvr_json_bool(json, "fletcher32", first->fletcher32);
    kvr_json_bool(json, "other_filters", first->other_filters);
    kvr_json_unsigned(json, "stored_bytes", group->stored_bytes);
    kvr_json_unsigned(json, "raw_bytes", group->raw_bytes);
    kvr_json_number(json, "ratio",
                    group->stored_bytes > 0 ? (double)group->raw_bytes / (double)group->stored_bytes
                                            : NAN);
    kvr_json_end(json);
}

void kvr_info_json(const struct kvr_trace *trace, const struct kvr_info *info,
                   struct kvr_text *text)
{
    struct kvr_json writer = {.text = text}, *json = &writer;
    kvr_json_object(json, NULL);
    kvr_json_string(json, "trace", trace->name);
    kvr_json_unsigned(json, "file_bytes", trace->file_bytes);
    kvr_json_string(json, "model", trace->model);
    kvr_json_string(json, "producer", trace->producer);
    kvr_json_array(json, "samples");
    for (size_t s = 0; s < trace->sample_count; s++)
        add_sample(json, &trace->samples[s]);
    kvr_json_end(json);
    kvr_json_array(json, "layer_groups");
    for (size_t i = 0; i < info->layer_group_count; i++)
        add_layer_group(json, &info->layer_groups[i]);
    kvr_json_end(json);
    kvr_json_array(json, "dataset_groups");
    for (size_t i = 0; i < info->dataset_group_count; i++)
        add_dataset_group(json, &info->dataset_groups[i]);
    kvr_json_end(json);
    kvr_json_object(json, "layers_that_give");
    for (size_t i = 0; i < KVR_ABILITIES; i++)
        kvr_json_unsigned(json, info->abilities[i].key, info->abilities[i].layers);
    kvr_json_end(json);
    kvr_json_object(json, "layers_that_recompute");
    for (size_t i = 0; i < KVR_ABILITIES; i++)
        kvr_json_unsigned(json, info->abilities[i].key, info->abilities[i].recomputed);
    kvr_json_end(json);
    kvr_json_unsigned(json, "layers", info->layers);
    kvr_json_unsigned(json, "datasets", info->datasets);
    kvr_json_end(json);
}
