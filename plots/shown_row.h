/*
 * One head's attention row and what policies kept of it: plain arrays, filled by whoever replays,
 * laid out here as text for a terminal or as a figure.
 */
#ifndef KVR_SHOWN_ROW_H
#define KVR_SHOWN_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"
#include "formats/base/text.h"
#include "plots/figures.h"

struct kvr_shown_policy {
    char *label;
    uint64_t kept_tokens;
    double mass;         /* share of the row's sum that lies on kept tokens; NaN if the sum is 0 */
    unsigned char *kept; /* [count] 1 or 0 */
};

struct kvr_shown_span {
    uint64_t start, end; /* positions, half-open */
};

/* Strings and tokens belong to others; row and policies to the row's maker. */
struct kvr_shown_row {
    const char *trace, *sample, *scorer, *budget;
    uint32_t layer, group, head; /* head within the layer */
    uint64_t page_size, quota;   /* tokens or pages */
    uint64_t first;              /* position of candidate 0 */
    size_t count, sinks;         /* candidates; sinks are the first of them */
    float *row;                  /* [count] */
    const int32_t *tokens;       /* [first + count] by position, NULL if not recorded */
    size_t needle_count;
    const struct kvr_shown_span *needles;
    size_t policy_count;
    struct kvr_shown_policy *policies;
};

/* True if the position lies in a needle. */
bool kvr_shown_in_needle(const struct kvr_shown_row *row, uint64_t position);

/* Adds the row as text of `columns` characters a line (at least 60), with its `most` largest
 * values. */
void kvr_shown_row_text(const struct kvr_shown_row *row, unsigned columns, size_t most,
                        struct kvr_text *text);

/* Draws the row as the figure "head-row"; see kvr_plotter_draw. */
enum kvr_status kvr_shown_row_draw(const struct kvr_shown_row *row, struct kvr_plotter *plotter,
                                   struct kvr_drawing *drawing, struct kvr_error *err);

#endif
