/*
 * Reading and checking a map of names. What names mean it must not know.
 */
#include "formats/import_map.h"

#include <string.h>

enum { MOST_MAP_BYTES = 16 << 20 };

static bool is_array(struct kvr_archive *const *archives, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        for (size_t a = 0; a < archives[i]->count; a++)
            if (strcmp(archives[i]->arrays[a].name, name) == 0)
                return true;
    return false;
}

/* "as" and "layout", both strings, and nothing else. */
static bool is_description(const struct kvr_json_value *entry)
{
    for (const struct kvr_json_value *member = entry->first; member != NULL; member = member->next)
        if (member->kind != KVR_JSON_STRING ||
            (strcmp(member->key, "as") != 0 && strcmp(member->key, "layout") != 0))
            return false;
    return entry->count > 0;
}

static enum kvr_status check_entry(const struct kvr_json_value *entry,
                                   struct kvr_archive *const *archives, size_t archive_count,
                                   struct kvr_error *err)
{
    bool known = entry->kind == KVR_JSON_STRING || entry->kind == KVR_JSON_NULL ||
                 (entry->kind == KVR_JSON_OBJECT && is_description(entry));
    if (!known)
        return kvr_fail(err, KVR_BAD_INPUT,
                        "%s: expected a name, {\"as\": name, \"layout\": axes} or null",
                        entry->key);
    if (!is_array(archives, archive_count, entry->key))
        return kvr_fail(err, KVR_BAD_INPUT, "%s: no array bears this name", entry->key);
    return KVR_OK;
}

enum kvr_status kvr_import_map_open(const char *path, struct kvr_archive *const *archives,
                                    size_t archive_count, struct kvr_import_map *map,
                                    struct kvr_error *err)
{
    *map = (struct kvr_import_map){0};
    if (path == NULL)
        return KVR_OK;
    enum kvr_status status = kvr_json_read(path, MOST_MAP_BYTES, &map->document, err);
    if (status != KVR_OK)
        return status;
    if (map->document.root->kind != KVR_JSON_OBJECT)
        status = kvr_fail(err, KVR_BAD_INPUT, "expected an object of array names");
    for (const struct kvr_json_value *entry = map->document.root->first;
         status == KVR_OK && entry != NULL; entry = entry->next)
        status = check_entry(entry, archives, archive_count, err);
    if (status == KVR_OK)
        return KVR_OK;
    kvr_import_map_close(map);
    return kvr_at(err, "\"%s\"", path);
}

void kvr_import_map_close(struct kvr_import_map *map)
{
    if (map->document.root != NULL)
        kvr_json_free(&map->document);
    *map = (struct kvr_import_map){0};
}

bool kvr_import_map_find(const struct kvr_import_map *map, const char *own, const char **name,
                         const char **axes)
{
    const struct kvr_json_value *entry = kvr_json_member(map->document.root, own);
    const char *given = NULL;
    if (entry != NULL && entry->kind == KVR_JSON_STRING)
        given = entry->text;
    if (entry != NULL && entry->kind == KVR_JSON_OBJECT) {
        given = kvr_json_member_string(entry, "as");
        *axes = kvr_json_member_string(entry, "layout");
    }
    *name = given != NULL ? given : own;
    return entry == NULL || entry->kind != KVR_JSON_NULL;
}
