/*
 * Text inside HTML: escaped, whatever a file put into a name.
 */
#ifndef KVR_HTML_TEXT_H
#define KVR_HTML_TEXT_H

#include <stdint.h>

#include "formats/base/text.h"

/* For content and quoted attributes alike. Control characters and bytes that are not UTF-8 become
   U+FFFD, line breaks blanks, direction overrides vanish. */
void kvr_html_string(struct kvr_text *text, const char *string);

/* "3.1 MB", "1,234". */
void kvr_html_bytes(struct kvr_text *text, uint64_t bytes);
void kvr_html_count(struct kvr_text *text, uint64_t count);

/* "1 group", "2,250 groups". */
void kvr_html_counted(struct kvr_text *text, uint64_t count, const char *noun);

#endif
