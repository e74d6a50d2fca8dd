/*
 * Tables written by hand in the scratch folder, and what figures make of them: drafts computed
 * without gnuplot, and their numbers read back by block, row and column.
 */
#ifndef KVR_PLOT_FIXTURE_H
#define KVR_PLOT_FIXTURE_H

#include "plots/draft.h"
#include "plots/source.h"

/* The headers of the tables that figures read, without the line's end. */
extern const char measures_header[], bounds_header[], heads_header[], needles_header[],
    premises_header[], layers_header[], curves_header[];

/* Writes the table `name` with a header and rows, all in one string of lines. */
void plot_table(const char *name, const char *header, const char *rows);

/* Opens the scratch folder as a source; fails the test if that fails. */
struct kvr_source plot_source(void);

/* Computes the figure `name`; release the draft. */
struct kvr_draft plot_draft(const struct kvr_source *source, const char *name);

/* The number in a block, row and column of the data (all 0-based); fails the test if there is
   none. NaN where the data say so. */
double plot_number(const struct kvr_draft *draft, size_t block, size_t row, size_t column);

/* The number of rows of a block, 0 if there is no such block. */
size_t plot_rows(const struct kvr_draft *draft, size_t block);

#endif
