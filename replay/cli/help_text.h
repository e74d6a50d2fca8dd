/*
 * How help looks: wrapped words, aligned lists, paragraphs. No command's wording here.
 */
#ifndef KVR_HELP_TEXT_H
#define KVR_HELP_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Prints words wrapped at 80 columns, further lines indented; the cursor stands at `column`. */
void kvr_help_wrapped(FILE *stream, const char *text, size_t column, size_t indent);

/* Paragraphs are wrapped; lines that start with a blank, such as examples, stay as they are. */
void kvr_help_paragraphs(FILE *stream, const char *text);

/* "  name value   text", the texts of a list aligned at `indent`; value may be NULL. */
void kvr_help_item(FILE *stream, const char *name, const char *value, const char *text,
                   size_t indent);

/* Columns that name and value (NULL: none) take in a list; 0 if they are too wide to align by. */
size_t kvr_help_term_width(const char *name, const char *value);

#endif
