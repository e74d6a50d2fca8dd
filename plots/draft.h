/*
 * A figure before it is drawn: data, the facts that its template needs, a caption.
 *
 * Data are rows of numbers in blocks, which a template takes by index; facts are gnuplot variables.
 * Names from tables may hold anything, and gnuplot runs what stands in backquotes: they are put in
 * single quotes and escaped here, never elsewhere.
 */
#ifndef KVR_DRAFT_H
#define KVR_DRAFT_H

#include <stdint.h>

#include "formats/base/status.h"
#include "formats/base/text.h"
#include "plots/labels.h"

/* Zero-initialised is empty. Running out of memory is remembered by the texts. */
struct kvr_draft {
    struct kvr_text data;
    struct kvr_text facts;
    struct kvr_text caption;   /* sentences; wrapped when it is written */
    struct kvr_text reason;    /* why there is nothing to draw; "" if there is */
    double height;             /* of the figure, inches; 0: three fifths of its width */
    double text_lines;         /* of the figure in a terminal; 0: 24 */
    size_t blocks;             /* of the data so far */
    const char *template_name; /* NULL: the figure's name */
};

/* Starts a block of data; `columns` says what stands in it. Blocks must not be empty. */
void kvr_draft_block(struct kvr_draft *draft, const char *columns, ...) KVR_PRINTF(2, 3);

/* A row: numbers separated by blanks, NaN where one does not apply, then an end of line. */
void kvr_draft_value(struct kvr_draft *draft, double value);
void kvr_draft_name(struct kvr_draft *draft, const char *name);
void kvr_draft_end(struct kvr_draft *draft);

/* Each defines a gnuplot variable, or the array `name` of `count` values. */
void kvr_draft_number(struct kvr_draft *draft, const char *name, double value);
void kvr_draft_string(struct kvr_draft *draft, const char *name, const char *value);
void kvr_draft_numbers(struct kvr_draft *draft, const char *name, const double *values,
                       size_t count);
void kvr_draft_strings(struct kvr_draft *draft, const char *name, const char *const *values,
                       size_t count);

/* Adds `text` as a gnuplot string that shows it as it is: in single quotes, markup escaped. */
void kvr_gnuplot_quote(struct kvr_text *out, const char *text);

/* Adds a sentence to the caption. */
void kvr_draft_say(struct kvr_draft *draft, const char *format, ...) KVR_PRINTF(2, 3);

/* There is nothing to draw. */
enum kvr_status kvr_draft_skip(struct kvr_draft *draft, const char *format, ...) KVR_PRINTF(2, 3);

/* KVR_NO_MEMORY if something could not be added. */
enum kvr_status kvr_draft_check(const struct kvr_draft *draft, struct kvr_error *err);

void kvr_draft_free(struct kvr_draft *draft);

#endif
