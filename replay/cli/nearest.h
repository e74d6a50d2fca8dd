/*
 * "Did you mean …?": the known name that is nearest to a mistyped one.
 */
#ifndef KVR_NEAREST_H
#define KVR_NEAREST_H

#include <stddef.h>

/* The search so far; start with {.typed = the mistyped name}. */
struct kvr_nearest {
    const char *typed;
    const char *name; /* the nearest known name so far, NULL if none is near enough */
    size_t distance;
};

/* Offers a known name. Ties go to the one that was offered first. */
void kvr_nearest_offer(struct kvr_nearest *search, const char *name);

#endif
