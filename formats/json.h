/*
 * Writing JSON as a stream into a text: objects, arrays, strings, numbers.
 *
 * Every function takes the key of the new member, NULL inside an array and at the top. Values that
 * JSON cannot hold are replaced, never refused: NaN and infinities become null, and bytes that are
 * not UTF-8 become U+FFFD, because names come from files that are not to be trusted.
 */
#ifndef KVR_JSON_H
#define KVR_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/text.h"

/* Start with {.text = …}; running out of memory is remembered by the text. */
struct kvr_json {
    struct kvr_text *text;
    unsigned depth;    /* containers that are open, at most 60 */
    uint64_t filled;   /* bit d: the container at depth d has a member */
    uint64_t arrays;   /* bit d: it is an array */
    uint64_t one_line; /* bit d: it stays on one line */
};

/* Opens a container; kvr_json_end closes the innermost one. */
void kvr_json_object(struct kvr_json *json, const char *key);
void kvr_json_array(struct kvr_json *json, const char *key);
void kvr_json_end(struct kvr_json *json);

/* An array, and all that is inside, on one line: shapes, short lists of numbers. */
void kvr_json_list(struct kvr_json *json, const char *key);

/* NULL becomes null. */
void kvr_json_string(struct kvr_json *json, const char *key, const char *value);
void kvr_json_unsigned(struct kvr_json *json, const char *key, uint64_t value);
/* The shortest decimal that reads back as value. */
void kvr_json_number(struct kvr_json *json, const char *key, double value);
void kvr_json_bool(struct kvr_json *json, const char *key, bool value);
void kvr_json_null(struct kvr_json *json, const char *key);

#endif
