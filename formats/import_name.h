/*
 * What an array of a dump is, told by its name.
 *
 * Canonical names are those of a trace: "samples/0/layers/3/attention". Dumps of others are read by
 * their words: the first number is the layer, words such as "attn", "q", "key" say what it is.
 */
#ifndef KVR_IMPORT_NAME_H
#define KVR_IMPORT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/status.h"

enum kvr_import_role {
    KVR_ROLE_NONE,      /* not understood */
    KVR_ROLE_ATTENTION, /* from here to VALUE in the order of enum kvr_member */
    KVR_ROLE_ACCUMULATED,
    KVR_ROLE_QUERY,
    KVR_ROLE_KEY,
    KVR_ROLE_VALUE,
    KVR_ROLE_COLUMN,
    KVR_ROLE_TOKENS,
    KVR_ROLE_POSITIONS,
    KVR_ROLE_NEEDLES,
    KVR_ROLE_ATTRIBUTE, /* a single number: context_length, kv_heads, scale, … */
    KVR_ROLES,
};

enum { KVR_IMPORT_LONGEST_NAME = 255 }; /* bytes */

struct kvr_import_name {
    enum kvr_import_role role;
    bool too_long;     /* more than the longest name: what follows was cut */
    bool beyond_layer; /* a number that no layer can have stands where its number should */
    bool has_sample, has_layer;
    char sample[KVR_IMPORT_LONGEST_NAME + 1]; /* name of the sample */
    uint32_t layer;
    char item[KVR_IMPORT_LONGEST_NAME + 1]; /* the column's or attribute's name */
};

/* Never fails: a name that is not understood has the role NONE. */
struct kvr_import_name kvr_import_name_parse(const char *name);

/* "attention", "scores", …: as --layout and messages have it. */
const char *kvr_import_role_name(enum kvr_import_role role);

/* The letters of an array's axes by default: L layer, B sample, H heads, Q rows, T tokens, D head
   size; has_layer: the name says which layer it is. NULL if no layout of this rank is known. */
const char *kvr_import_default_axes(enum kvr_import_role role, unsigned rank, bool has_layer);

/* The axes that a trace's dataset of this role has: "HQT", "HT", … */
const char *kvr_import_trace_axes(enum kvr_import_role role);

#endif
