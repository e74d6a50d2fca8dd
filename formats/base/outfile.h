/*
 * Files that appear whole or not at all.
 *
 * An output file is written as `name.tmp` in the same folder and renamed at the end, so that a
 * run that fails leaves what was there before. Every write is checked; "disk full" is told once.
 */
#ifndef KVR_OUTFILE_H
#define KVR_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"

struct kvr_outfile;

/* Starts `path`; the file on disk is `path`.tmp until kvr_outfile_commit. Where another process is
   writing the same file, it is refused. */
enum kvr_status kvr_outfile_open(const char *path, struct kvr_outfile **out, struct kvr_error *err);

enum kvr_status kvr_outfile_write(struct kvr_outfile *file, const char *bytes, size_t length,
                                  struct kvr_error *err);

/* Flushes and closes, so that a full disk shows before anything is renamed. */
enum kvr_status kvr_outfile_finish(struct kvr_outfile *file, struct kvr_error *err);

/* Finishes if need be, renames to the final name and releases; on failure removes the .tmp. */
enum kvr_status kvr_outfile_commit(struct kvr_outfile *file, struct kvr_error *err);

/* Removes the .tmp and releases. NULL is allowed. */
void kvr_outfile_abandon(struct kvr_outfile *file);

/* Creates the folder `path` and its parents where they are missing. */
enum kvr_status kvr_make_folder(const char *path, struct kvr_error *err);

/* "folder/name", allocated. */
char *kvr_join_path(const char *folder, const char *name, struct kvr_error *err);

/* Whether both paths lead to one file that is there; an output must not replace an input. */
bool kvr_same_file(const char *left, const char *right);

/* The part of `path` after its last slash. */
const char *kvr_base_name(const char *path);

#endif
