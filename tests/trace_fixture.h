/*
 * Trace files for the tests of the reader, written with HDF5 itself so that they can be wrong.
 *
 * The plain fixture is one sample "0" of 60 tokens with 4 query and 2 KV heads, query positions 57,
 * 58 and 59, and an empty layer 0. Tests add to it, or spoil it. Helpers fail the test they run in.
 */
#ifndef KVR_TRACE_FIXTURE_H
#define KVR_TRACE_FIXTURE_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/trace.h"

enum { FIXTURE_HEADS = 4, FIXTURE_KV_HEADS = 2, FIXTURE_ROWS = 3, FIXTURE_TOKENS = 60 };

/* The shape of attention in the fixture. */
extern const hsize_t fixture_shape[3];

struct trace_fixture {
    const char *path;
    hid_t file, samples, sample, layers, layer;
};

/* Creates the file, with HDF5 properties of its creation and access or without. */
struct trace_fixture fixture_create(const char *path);
struct trace_fixture fixture_create_with(const char *path, hid_t creation, hid_t access);
void fixture_close(struct trace_fixture *fixture);

hid_t fixture_group(hid_t parent, const char *name);

/* Attributes: a 64-bit integer, an element of any type, a fixed ASCII string. */
void fixture_integer(hid_t object, const char *name, int64_t value);
void fixture_attribute(hid_t object, const char *name, hid_t type, const void *value);
void fixture_text(hid_t object, const char *name, const char *text);

/* The HDF5 type of a stored element: a custom float for bfloat16, or uint16. Close it. */
hid_t fixture_type(struct kvr_element_type type);

/* Creation properties of chunks. Close them. */
hid_t fixture_chunks(unsigned rank, const hsize_t *chunk);

/* A dataset, open; data NULL leaves it unwritten. It can grow, so that chunks may exceed it. */
hid_t fixture_open_dataset(hid_t parent, const char *name, hid_t type, unsigned rank,
                           const hsize_t *shape, hid_t properties, const void *data);
void fixture_dataset(hid_t parent, const char *name, hid_t type, unsigned rank,
                     const hsize_t *shape, hid_t properties, const void *data);

/* attention of the fixture's shape as native float, contiguous: value = element index. */
void fixture_attention(const struct trace_fixture *fixture);

/* A whole, valid trace of that attention at `path`. */
void fixture_plain_trace(const char *path);

/* Opens a trace that must be good, and checks that nothing of it stays open but the file. */
struct kvr_trace *fixture_trace(const char *path);

/* Opens a trace that must be refused with this status, with these words in message and hint. */
void fixture_refused(const char *path, enum kvr_status status, const char *message,
                     const char *hint);

/* HDF5 1.10.8 forgets memory where it fails to open damaged objects: from here on the leak checker,
   if there is one, does not look in this test. */
void fixture_expect_leaks(void);

/* Replaces the bytes `from` by `to` of the same length in the file; they must be there. */
void fixture_patch(const char *path, const void *from, const void *to, size_t length);

#endif
