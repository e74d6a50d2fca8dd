/*
 * Comparing two JSON values: where do they first differ, and what stands there?
 */
#ifndef KVR_JSON_DIFFERENCE_H
#define KVR_JSON_DIFFERENCE_H

#include <stdbool.h>

#include "formats/json_reader.h"

struct kvr_json_difference {
    char place[256];              /* JSON pointer, "/options/tau" */
    char expected[96], found[96]; /* as written, shortened; "nothing" where there is no value */
};

/*
 * True if the values differ; numbers do if they are written differently, objects if their members
 * stand in another order. Members called `except` (NULL: none) are passed over at every depth.
 */
bool kvr_json_differ(const struct kvr_json_value *expected, const struct kvr_json_value *found,
                     const char *except, struct kvr_json_difference *difference);

#endif
