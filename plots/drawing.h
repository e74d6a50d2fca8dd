/*
 * The files of a drawing in memory: added, collected from a folder. Private to plots/; what others
 * need of a drawing is in figures.h.
 */
#ifndef KVR_DRAWING_H
#define KVR_DRAWING_H

#include "plots/figures.h"

/* Adds the file <figure's name><suffix> with a copy of the bytes. */
enum kvr_status kvr_drawing_add(struct kvr_drawing *drawing, const char *suffix, const char *bytes,
                                size_t length, struct kvr_error *err);

/* Sets the caption from `sentences`, wrapped, and adds it below the title as the .txt file. */
enum kvr_status kvr_drawing_add_caption(struct kvr_drawing *drawing, const char *sentences,
                                        struct kvr_error *err);

/* Adds the files that lie in `folder` and are not in the drawing yet. */
enum kvr_status kvr_drawing_collect(struct kvr_drawing *drawing, const char *folder,
                                    struct kvr_error *err);

#endif
