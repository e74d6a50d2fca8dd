/*
 * UTF-8, checked byte by byte: names come from files that are not to be trusted.
 */
#ifndef KVR_UTF8_H
#define KVR_UTF8_H

#include <stddef.h>

/*
 * The length of the well-formed UTF-8 sequence at text (Unicode 15, table 3-7), or 0 with *skip
 * the number of bytes that one replacement character stands for. A NUL is a sequence of 1.
 */
size_t kvr_utf8_length(const char *text, size_t *skip);

#endif
