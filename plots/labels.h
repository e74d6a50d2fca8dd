/*
 * Names in the order in which they first appear: scorers, policies, budgets of a table.
 *
 * Tables hold a few names many times over, and mostly the one after the last found; so finding is
 * a short walk. It must not know what the names mean.
 */
#ifndef KVR_LABELS_H
#define KVR_LABELS_H

#include <stddef.h>

#include "formats/base/status.h"

/* Zero-initialised is empty. */
struct kvr_labels {
    size_t count, capacity;
    char **names;
    size_t last; /* found last */
};

/* The place of `name`, = count if it is not there. */
size_t kvr_labels_find(struct kvr_labels *labels, const char *name);

/* Adds the name unless it is there; *place may be NULL. */
enum kvr_status kvr_labels_add(struct kvr_labels *labels, const char *name, size_t *place,
                               struct kvr_error *err);

/* "a, b, c" as far as it fits. */
void kvr_labels_list(const struct kvr_labels *labels, char *list, size_t room);

void kvr_labels_free(struct kvr_labels *labels);

#endif
