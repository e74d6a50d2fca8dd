/*
 * Reading JSON (RFC 8259) into a tree: run records, headers of other formats.
 *
 * Strict: UTF-8 only, no comments, no trailing commas, nothing after the value, no member twice,
 * no NUL inside strings, at most 64 levels and 20000 members of an object. A value takes about 200
 * bytes of memory, so limit the length of what is not trusted.
 */
#ifndef KVR_JSON_READER_H
#define KVR_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"

enum kvr_json_kind {
    KVR_JSON_NULL,
    KVR_JSON_BOOL,
    KVR_JSON_NUMBER,
    KVR_JSON_STRING,
    KVR_JSON_ARRAY,
    KVR_JSON_OBJECT,
};

struct kvr_json_value {
    enum kvr_json_kind kind;
    const char *key;  /* of a member, NULL for others */
    const char *text; /* a string's content; a number as it was written, for exact integers */
    double number;    /* infinite where it is beyond every double */
    bool truth;
    size_t count;                       /* of the elements or members */
    const struct kvr_json_value *first; /* element or member */
    const struct kvr_json_value *next;  /* after this one in its container */
};

struct kvr_json_document {
    const struct kvr_json_value *root;
    struct kvr_json_store *store; /* private: owns everything */
};

/*
 * Parses `length` bytes. KVR_BAD_INPUT names the line and what was expected. On success the
 * document is released with kvr_json_free.
 */
enum kvr_status kvr_json_parse(const char *text, size_t length, struct kvr_json_document *document,
                               struct kvr_error *err);

/* The same for a file of at most `most` bytes; errors name it. */
enum kvr_status kvr_json_read(const char *path, size_t most, struct kvr_json_document *document,
                              struct kvr_error *err);

void kvr_json_free(struct kvr_json_document *document);

/* The member of an object, NULL if there is none, value is NULL or no object. */
const struct kvr_json_value *kvr_json_member(const struct kvr_json_value *value, const char *key);

/* The text of a string member, NULL if it is not there or no string. */
const char *kvr_json_member_string(const struct kvr_json_value *value, const char *key);

#endif
