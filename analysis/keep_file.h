/*
 * Kept sets as a file: an observer that writes which positions every policy keeps of every layer
 * (traces/FORMAT.md, "Kept sets"), for engines that want to apply them.
 *
 * Sets travel as bitmaps, one layer at a time, so memory is bounded by what one layer needs: uses *
 * page sizes * budgets * heads * T / 8 bytes.
 */
#ifndef KVR_KEEP_FILE_H
#define KVR_KEEP_FILE_H

#include "replay/observer.h"

struct kvr_keep_file;

/* Starts the file at `path`, which becomes `path` at the commit; plan and trace must outlive it. */
enum kvr_status kvr_keep_file_open(const char *path, const struct kvr_plan *plan,
                                   const struct kvr_trace *trace, const char *producer,
                                   struct kvr_keep_file **out, struct kvr_error *err);

/* The observer that fills it, for one replay of that trace. */
struct kvr_observer kvr_keep_file_observer(struct kvr_keep_file *file);

/* Each releases the file; NULL is allowed as file to abandon. */
enum kvr_status kvr_keep_file_commit(struct kvr_keep_file *file, struct kvr_error *err);
void kvr_keep_file_abandon(struct kvr_keep_file *file);

#endif
