/*
 * Writing the record of a merge from those of the shards. It must not know what they mean.
 */
#include "replay/cli/merged_record.h"

#include <string.h>

#include "formats/base/number.h"
#include "formats/json.h"
#include "replay/cli/run_record.h"

static void copy_value(struct kvr_json *json, const char *key, const struct kvr_json_value *value);

static bool is_flat(const struct kvr_json_value *list)
{
    for (const struct kvr_json_value *item = list->first; item != NULL; item = item->next)
        if (item->kind == KVR_JSON_ARRAY || item->kind == KVR_JSON_OBJECT)
            return false;
    return true;
}

static void copy_container(struct kvr_json *json, const char *key,
                           const struct kvr_json_value *value)
{
    if (value->kind == KVR_JSON_OBJECT)
        kvr_json_object(json, key);
    else if (is_flat(value))
        kvr_json_list(json, key);
    else
        kvr_json_array(json, key);
    for (const struct kvr_json_value *item = value->first; item != NULL; item = item->next)
        copy_value(json, item->key, item);
    kvr_json_end(json);
}

static void copy_number(struct kvr_json *json, const char *key, const struct kvr_json_value *value)
{
    uint64_t whole;
    if (kvr_parse_unsigned(value->text, 0, UINT64_MAX, &whole))
        kvr_json_unsigned(json, key, whole);
    else
        kvr_json_number(json, key, value->number);
}

/* A value that is not there is null. Documents have at most 64 levels. */
static void copy_value(struct kvr_json *json, const char *key, const struct kvr_json_value *value)
{
    enum kvr_json_kind kind = value != NULL ? value->kind : KVR_JSON_NULL;
    switch (kind) {
    case KVR_JSON_NULL:
        kvr_json_null(json, key);
        break;
    case KVR_JSON_BOOL:
        kvr_json_bool(json, key, value->truth);
        break;
    case KVR_JSON_NUMBER:
        copy_number(json, key, value);
        break;
    case KVR_JSON_STRING:
        kvr_json_string(json, key, value->text);
        break;
    case KVR_JSON_ARRAY:
    case KVR_JSON_OBJECT:
        copy_container(json, key, value);
        break;
    }
}

static double number_of(const struct kvr_json_value *record, const char *member)
{
    const struct kvr_json_value *value = kvr_json_member(record, member);
    return value != NULL && value->kind == KVR_JSON_NUMBER ? value->number : 0;
}

/* Each shard's own machine and time; their sums stand where a whole run has its own. */
static void write_shards(struct kvr_json *json, const struct kvr_shard_set *set)
{
    static const char *const members[] = {"host", "threads", "device",
                                          "isa",  "seconds", "bytes_read"};
    double seconds = 0, bytes = 0;
    kvr_json_array(json, "shards");
    for (size_t i = 0; i < set->count; i++) {
        const struct kvr_json_value *record = set->shards[i].record.root;
        kvr_json_object(json, NULL);
        kvr_json_string(json, "folder", set->shards[i].folder);
        for (size_t m = 0; m < sizeof members / sizeof *members; m++)
            copy_value(json, members[m], kvr_json_member(record, members[m]));
        kvr_json_end(json);
        seconds += number_of(record, "seconds");
        bytes += number_of(record, "bytes_read");
    }
    kvr_json_end(json);
    kvr_json_number(json, "seconds", seconds);
    kvr_json_number(json, "bytes_read", bytes);
}

enum kvr_status kvr_merged_record_write(const struct kvr_shard_set *set,
                                        const struct kvr_arguments *arguments,
                                        struct kvr_tables *tables, struct kvr_error *err)
{
    const struct kvr_json_value *first = set->shards[0].record.root;
    struct kvr_text text = {0};
    struct kvr_json json = {.text = &text};
    kvr_json_object(&json, NULL);
    kvr_json_string(&json, "version", KVREPLAY_VERSION);
    kvr_run_record_command_line(&json, arguments);
    copy_value(&json, "options", kvr_json_member(first, "options"));
    copy_value(&json, "inputs", kvr_json_member(first, "inputs"));
    kvr_run_record_machine(&json, 1, NULL);
    write_shards(&json, set);
    kvr_json_end(&json);
    kvr_text_bytes(&text, "\n", 1);
    enum kvr_status status = kvr_tables_add_text(tables, "run.json", &text, err);
    kvr_text_free(&text);
    return status;
}
