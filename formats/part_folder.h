/*
 * Where the parts of a run lie: the folder `parts` inside the folder of its tables.
 *
 * Beside the parts stands plan.json, which tells what run they belong to. Only files of these names
 * are ever removed.
 */
#ifndef KVR_PART_FOLDER_H
#define KVR_PART_FOLDER_H

#include <stddef.h>

#include "formats/base/status.h"

#define KVR_PART_FOLDER "parts"
#define KVR_PART_PLAN "plan.json"

/* Makes `folder` and its folder of parts where they are missing. */
enum kvr_status kvr_part_folder_make(const char *folder, struct kvr_error *err);

/* "folder/parts/000012.part" and "folder/parts/plan.json", allocated. */
char *kvr_part_folder_unit(const char *folder, size_t unit, struct kvr_error *err);
char *kvr_part_folder_plan(const char *folder, struct kvr_error *err);

/* Removes parts, also half-written ones, and the plan; then the folder of parts if it is empty. */
void kvr_part_folder_clear(const char *folder);

#endif
