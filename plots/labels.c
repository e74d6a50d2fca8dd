/*
 * A list of names that is searched from where the last search ended.
 */
#include "plots/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"

size_t kvr_labels_find(struct kvr_labels *labels, const char *name)
{
    for (size_t i = 0; i < labels->count; i++) {
        size_t place = (labels->last + i) % labels->count;
        if (strcmp(labels->names[place], name) == 0)
            return labels->last = place;
    }
    return labels->count;
}

enum kvr_status kvr_labels_add(struct kvr_labels *labels, const char *name, size_t *place,
                               struct kvr_error *err)
{
    size_t found = kvr_labels_find(labels, name);
    if (found == labels->count) {
        void *names = labels->names;
        if (kvr_reserve(&names, &labels->capacity, labels->count + 1, sizeof *labels->names, err) !=
            KVR_OK)
            return KVR_NO_MEMORY;
        labels->names = names;
        labels->names[found] = kvr_copy_string(name, err);
        if (labels->names[found] == NULL)
            return KVR_NO_MEMORY;
        labels->last = found;
        labels->count++;
    }
    if (place != NULL)
        *place = found;
    return KVR_OK;
}

void kvr_labels_list(const struct kvr_labels *labels, char *list, size_t room)
{
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; i < labels->count && used < room; i++)
        used +=
            (size_t)snprintf(list + used, room - used, "%s%s", i > 0 ? ", " : "", labels->names[i]);
}

void kvr_labels_free(struct kvr_labels *labels)
{
    for (size_t i = 0; i < labels->count; i++)
        free(labels->names[i]);
    free(labels->names);
    *labels = (struct kvr_labels){0};
}
