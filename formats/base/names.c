/*
 * A hash table of names with linear probing. It must not know what is named.
 */
#include "formats/base/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/text.h"

static size_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const unsigned char *c = (const unsigned char *)name; *c != '\0'; c++)
        hash = (hash ^ *c) * UINT64_C(0x100000001b3);
    return (size_t)(hash ^ (hash >> 32));
}

/* The slot that holds `name`, or the free one where it belongs; slot_count is a power of two. */
static size_t *slot_of(const struct kvr_names *names, const char *name)
{
    size_t mask = names->slot_count - 1, at = hash_of(name) & mask;
    while (names->slots[at] != 0 && strcmp(names->items[names->slots[at] - 1], name) != 0)
        at = (at + 1) & mask;
    return &names->slots[at];
}

/* Keeps at least half of the slots free. */
static enum kvr_status make_room(struct kvr_names *names, struct kvr_error *err)
{
    void *items = names->items;
    enum kvr_status status =
        kvr_reserve(&items, &names->capacity, names->count + 1, sizeof *names->items, err);
    names->items = items;
    if (status != KVR_OK || 2 * (names->count + 1) <= names->slot_count)
        return status;
    size_t wanted = names->slot_count > 0 ? 2 * names->slot_count : 16;
    size_t *slots = kvr_alloc(wanted, sizeof *slots, err);
    if (slots == NULL)
        return KVR_NO_MEMORY;
    free(names->slots);
    names->slots = slots;
    names->slot_count = wanted;
    for (size_t i = 0; i < names->count; i++)
        *slot_of(names, names->items[i]) = i + 1;
    return KVR_OK;
}

enum kvr_status kvr_names_index(struct kvr_names *names, const char *name, size_t *index,
                                struct kvr_error *err)
{
    if (names->count > 0 && strcmp(names->items[names->last], name) == 0) {
        *index = names->last;
        return KVR_OK;
    }
    enum kvr_status status = make_room(names, err);
    if (status != KVR_OK)
        return status;
    size_t *slot = slot_of(names, name);
    if (*slot == 0) {
        names->items[names->count] = kvr_copy_string(name, err);
        if (names->items[names->count] == NULL)
            return KVR_NO_MEMORY;
        *slot = ++names->count;
    }
    *index = names->last = *slot - 1;
    return KVR_OK;
}

enum kvr_status kvr_names_pair(struct kvr_names *names, const char *outer, const char *inner,
                               size_t *index, struct kvr_error *err)
{
    /* The length in front tells ("a", "b/c") from ("a/b", "c"). */
    struct kvr_text both = {0};
    kvr_text_add(&both, "%zu %s/%s", strlen(outer), outer, inner);
    enum kvr_status status = kvr_text_check(&both, err);
    if (status == KVR_OK)
        status = kvr_names_index(names, both.data, index, err);
    kvr_text_free(&both);
    return status;
}

void kvr_names_free(struct kvr_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    free(names->slots);
    *names = (struct kvr_names){0};
}
