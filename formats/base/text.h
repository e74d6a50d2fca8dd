/*
 * A growing piece of text, with the number formats that tables use.
 *
 * Running out of memory is remembered, not returned, so that a row can be written field by field
 * and checked once with kvr_text_check. Numbers always have '.' as decimal point.
 */
#ifndef KVR_TEXT_H
#define KVR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

/* Zero-initialised is empty. data is NUL-terminated once something was added. */
struct kvr_text {
    char *data;
    size_t length;
    size_t capacity;
    bool failed;
};

void kvr_text_add(struct kvr_text *text, const char *format, ...) KVR_PRINTF(2, 3);
void kvr_text_bytes(struct kvr_text *text, const char *bytes, size_t length);
void kvr_text_string(struct kvr_text *text, const char *string);
void kvr_text_unsigned(struct kvr_text *text, uint64_t value);

/* A measured figure: %.9g; nothing for NaN, the mark of a value that does not apply. */
void kvr_text_figure(struct kvr_text *text, double value);

/* A figure that a bound is checked against: the shortest decimal that reads back as `value`. */
void kvr_text_exact(struct kvr_text *text, double value);

/* Forgets the content, keeps the room. */
void kvr_text_clear(struct kvr_text *text);

/* KVR_NO_MEMORY if something could not be added. */
enum kvr_status kvr_text_check(const struct kvr_text *text, struct kvr_error *err);

void kvr_text_free(struct kvr_text *text);

#endif
