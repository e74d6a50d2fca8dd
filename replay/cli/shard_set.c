/*
 * Checking shards against each other. It must not know what is in their parts.
 */
#include "replay/cli/shard_set.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/result_tables.h"
#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/base/outfile.h"
#include "formats/base/text.h"
#include "formats/json_difference.h"
#include "replay/cli/command.h"
#include "replay/cli/readable.h"
#include "replay/cli/shared_replay.h"

enum { LARGEST_RECORD = 64 << 20, MOST_RANGES = 12 };

/* The set that is being read and the record that it is at. */
struct reading {
    struct kvr_shard_set *set;
    const char *path; /* of the record */
    const struct kvr_json_value *root, *shard;
    const struct kvr_json_value *first; /* the first folder's record */
    const char *first_path;
};

static enum kvr_status expected(const struct reading *reading, const char *place, const char *what,
                                struct kvr_error *err)
{
    kvr_fail(err, KVR_BAD_INPUT, "\"%s\": %s: expected %s", reading->path, place, what);
    return kvr_hint(err, "name the folders that kvreplay replay --shard i/n -o wrote");
}

static bool read_number(const struct kvr_json_value *value, uint64_t least, uint64_t most,
                        uint64_t *number)
{
    return value != NULL && value->kind == KVR_JSON_NUMBER &&
           kvr_parse_unsigned(value->text, least, most, number);
}

static enum kvr_status check_version(const struct reading *reading, struct kvr_error *err)
{
    const char *version = kvr_json_member_string(reading->root, "version");
    if (version != NULL && strcmp(version, KVREPLAY_VERSION) == 0)
        return KVR_OK;
    kvr_fail(err, KVR_BAD_INPUT, "\"%s\": /version: expected %s, found %s", reading->path,
             KVREPLAY_VERSION, version != NULL ? version : "none");
    return kvr_hint(err, "shards are merged by the version that made them");
}

/* Options and inputs decide what the tables say; where an input lies does not. */
static enum kvr_status check_alike(const struct reading *reading, const char *member,
                                   struct kvr_error *err)
{
    struct kvr_json_difference difference;
    if (!kvr_json_differ(kvr_json_member(reading->first, member),
                         kvr_json_member(reading->root, member), "path", &difference))
        return KVR_OK;
    kvr_fail(err, KVR_BAD_INPUT, "\"%s\": /%s%s: expected %s as in \"%s\", found %s", reading->path,
             member, difference.place, difference.expected, reading->first_path, difference.found);
    return kvr_hint(err, "all shards are made with the same options from the same traces");
}

/* The bits of the tables' names; false if one is unknown. */
static bool read_tables(const struct kvr_json_value *names, uint32_t *tables)
{
    *tables = 0;
    for (const struct kvr_json_value *name = names->first; name != NULL; name = name->next) {
        uint32_t t = 0;
        while (t < KVR_RESULT_TABLES && (name->kind != KVR_JSON_STRING ||
                                         strcmp(kvr_result_tables[t]->name, name->text) != 0))
            t++;
        if (t == KVR_RESULT_TABLES)
            return false;
        *tables |= UINT32_C(1) << t;
    }
    return true;
}

/* What the first record says of the whole. */
static enum kvr_status start_set(const struct reading *reading, struct kvr_error *err)
{
    struct kvr_shard_set *set = reading->set;
    const struct kvr_json_value *tables = kvr_json_member(reading->shard, "tables");
    const char *run = kvr_json_member_string(reading->shard, "run");
    uint64_t count, units;
    if (!read_number(kvr_json_member(reading->shard, "count"), 1, KVR_MOST_SHARDS, &count))
        return expected(reading, "/shard/count", "the number of shards", err);
    if (!read_number(kvr_json_member(reading->shard, "units"), 0, UINT32_MAX, &units))
        return expected(reading, "/shard/units", "the number of units", err);
    char *end = NULL;
    set->run = run != NULL ? strtoull(run, &end, 16) : 0;
    if (end == NULL || end != run + 16 || *end != '\0')
        return expected(reading, "/shard/run", "16 hexadecimal digits", err);
    if (tables == NULL || !read_tables(tables, &set->tables))
        return expected(reading, "/shard/tables", "names of tables", err);
    set->count = (size_t)count;
    set->units = (size_t)units;
    set->shards = kvr_alloc(set->count, sizeof *set->shards, err);
    return set->shards != NULL ? KVR_OK : KVR_NO_MEMORY;
}

/* What must be the same in all records, beside options and inputs. */
static enum kvr_status check_shard(const struct reading *reading, struct kvr_error *err)
{
    static const char *const members[] = {"count", "run", "units", "tables"};
    const struct kvr_json_value *first = kvr_json_member(reading->first, "shard");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        struct kvr_json_difference difference;
        if (kvr_json_differ(kvr_json_member(first, members[i]),
                            kvr_json_member(reading->shard, members[i]), NULL, &difference)) {
            kvr_fail(err, KVR_BAD_INPUT, "\"%s\": /shard/%s: expected %s as in \"%s\", found %s",
                     reading->path, members[i], difference.expected, reading->first_path,
                     difference.found);
            return kvr_hint(err, "all shards are cut alike: --shard 1/n to n/n");
        }
    }
    return KVR_OK;
}

static enum kvr_status check_record(const struct reading *reading, struct kvr_error *err)
{
    enum kvr_status status = check_version(reading, err);
    if (status != KVR_OK)
        return status;
    if (reading->shard == NULL)
        return expected(reading, "/shard", "a shard of a replay, found a whole one", err);
    if (reading->root == reading->first)
        return start_set(reading, err);
    status = check_alike(reading, "options", err);
    if (status == KVR_OK)
        status = check_alike(reading, "inputs", err);
    return status == KVR_OK ? check_shard(reading, err) : status;
}

/* Takes the document; its place in the set is what it says. */
static enum kvr_status place_shard(const struct reading *reading, const char *folder,
                                   struct kvr_json_document *document, struct kvr_error *err)
{
    struct kvr_shard_set *set = reading->set;
    uint64_t index;
    if (!read_number(kvr_json_member(reading->shard, "index"), 1, set->count, &index))
        return expected(reading, "/shard/index", "which shard it is", err);
    struct kvr_shard *shard = &set->shards[index - 1];
    if (shard->folder != NULL)
        return kvr_fail(err, KVR_BAD_INPUT, "shard %llu of %zu is there twice: \"%s\" and \"%s\"",
                        (unsigned long long)index, set->count, shard->folder, folder);
    *shard = (struct kvr_shard){folder, *document};
    *document = (struct kvr_json_document){0};
    return KVR_OK;
}

static enum kvr_status read_shard(struct reading *reading, const char *folder,
                                  struct kvr_error *err)
{
    struct kvr_json_document document = {0};
    enum kvr_status status = kvr_json_read(reading->path, LARGEST_RECORD, &document, err);
    if (status != KVR_OK)
        return status;
    reading->root = document.root;
    reading->shard = kvr_json_member(document.root, "shard");
    if (reading->first == NULL)
        reading->first = document.root;
    status = check_record(reading, err);
    if (status == KVR_OK)
        status = place_shard(reading, folder, &document, err);
    kvr_json_free(&document);
    return status;
}

static enum kvr_status check_complete(const struct kvr_shard_set *set, struct kvr_error *err)
{
    size_t missing = 0;
    uint64_t *numbers = kvr_alloc(set->count, sizeof *numbers, err);
    if (numbers == NULL)
        return KVR_NO_MEMORY;
    for (size_t i = 0; i < set->count; i++)
        if (set->shards[i].folder == NULL)
            numbers[missing++] = i + 1;
    enum kvr_status status = KVR_OK;
    if (missing > 0) {
        struct kvr_text ranges = {0};
        kvr_text_ranges(&ranges, numbers, missing, MOST_RANGES);
        status = kvr_fail(err, KVR_BAD_INPUT, "shard%s %s of %zu %s missing",
                          missing == 1 ? "" : "s", ranges.data != NULL ? ranges.data : "?",
                          set->count, missing == 1 ? "is" : "are");
        kvr_text_free(&ranges);
    }
    free(numbers);
    return status;
}

static const struct kvr_json_value *own_list(const struct kvr_shard *shard)
{
    return kvr_json_member(kvr_json_member(shard->record.root, "shard"), "own");
}

/* Gives the shard its units, of which none may have an owner already. */
static enum kvr_status own_units(struct kvr_shard_set *set, size_t index, struct kvr_error *err)
{
    const struct kvr_shard *shard = &set->shards[index];
    for (const struct kvr_json_value *item = own_list(shard)->first; item != NULL;
         item = item->next) {
        uint64_t unit;
        if (!read_number(item, 0, set->units - 1, &unit))
            return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": run.json: /shard/own: no such unit",
                            shard->folder);
        if (set->owners[unit] < set->count)
            return kvr_fail(err, KVR_BAD_INPUT, "unit %llu is in \"%s\" and in \"%s\"",
                            (unsigned long long)unit, set->shards[set->owners[unit]].folder,
                            shard->folder);
        set->owners[unit] = index;
    }
    return KVR_OK;
}

/* As many owned as there are, and none twice: then each is owned once. */
static enum kvr_status settle_owners(struct kvr_shard_set *set, struct kvr_error *err)
{
    size_t owned = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct kvr_json_value *own = own_list(&set->shards[i]);
        if (own == NULL || own->kind != KVR_JSON_ARRAY)
            return kvr_fail(err, KVR_BAD_INPUT, "\"%s\": run.json: /shard/own: expected a list",
                            set->shards[i].folder);
        owned += own->count;
    }
    if (owned != set->units)
        return kvr_fail(err, KVR_BAD_INPUT, "the shards hold %zu of %zu units", owned, set->units);
    set->owners = kvr_alloc(set->units, sizeof *set->owners, err);
    if (set->owners == NULL)
        return KVR_NO_MEMORY;
    for (size_t u = 0; u < set->units; u++)
        set->owners[u] = set->count;
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < set->count; i++)
        status = own_units(set, i, err);
    return status;
}

enum kvr_status kvr_shard_set_read(struct kvr_shard_set *set, const char *const *folders,
                                   size_t count, struct kvr_error *err)
{
    struct reading reading = {.set = set};
    char *first_path = kvr_join_path(folders[0], "run.json", err);
    enum kvr_status status = first_path != NULL ? KVR_OK : KVR_NO_MEMORY;
    reading.first_path = first_path;
    for (size_t i = 0; status == KVR_OK && i < count; i++) {
        char *path = kvr_join_path(folders[i], "run.json", err);
        reading.path = path;
        status = path != NULL ? read_shard(&reading, folders[i], err) : KVR_NO_MEMORY;
        free(path);
    }
    free(first_path);
    if (status == KVR_OK)
        status = check_complete(set, err);
    return status == KVR_OK ? settle_owners(set, err) : status;
}

void kvr_shard_set_free(struct kvr_shard_set *set)
{
    for (size_t i = 0; set->shards != NULL && i < set->count; i++)
        kvr_json_free(&set->shards[i].record);
    free(set->shards);
    free(set->owners);
    *set = (struct kvr_shard_set){0};
}
