/*
 * A table of a paper as HTML, in a box of its own that scrolls.
 */
#ifndef KVR_HTML_TABLE_H
#define KVR_HTML_TABLE_H

#include "plots/paper_table.h"

/*
 * Adds the table with its footnotes; `id` is unique in the page, `label` names it for screen
 * readers. Every number carries its full value in data-v, as CSV would write it, so that a script
 * may sort.
 */
void kvr_html_table(struct kvr_text *text, const struct kvr_paper_table *table, const char *id,
                    const char *label);

#endif
