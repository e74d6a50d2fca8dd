/*
 * The folder of parts. It must not know what a part holds.
 */
#include "formats/part_folder.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/outfile.h"

/* "folder/parts/name", allocated. */
static char *path_of(const char *folder, const char *name, struct kvr_error *err)
{
    char *parts = kvr_join_path(folder, KVR_PART_FOLDER, err);
    char *path = parts != NULL ? kvr_join_path(parts, name, err) : NULL;
    free(parts);
    return path;
}

enum kvr_status kvr_part_folder_make(const char *folder, struct kvr_error *err)
{
    char *parts = kvr_join_path(folder, KVR_PART_FOLDER, err);
    if (parts == NULL)
        return KVR_NO_MEMORY;
    enum kvr_status status = kvr_make_folder(parts, err);
    free(parts);
    return status;
}

char *kvr_part_folder_unit(const char *folder, size_t unit, struct kvr_error *err)
{
    char name[40];
    snprintf(name, sizeof name, "%06zu.part", unit);
    return path_of(folder, name, err);
}

char *kvr_part_folder_plan(const char *folder, struct kvr_error *err)
{
    return path_of(folder, KVR_PART_PLAN, err);
}

/* NUMBER.part or plan.json, or either with .tmp behind it. */
static bool is_ours(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    const char *rest = name + digits;
    return (digits >= 6 && (strcmp(rest, ".part") == 0 || strcmp(rest, ".part.tmp") == 0)) ||
           strcmp(name, KVR_PART_PLAN) == 0 || strcmp(name, KVR_PART_PLAN ".tmp") == 0;
}

void kvr_part_folder_clear(const char *folder)
{
    char *parts = kvr_join_path(folder, KVR_PART_FOLDER, NULL);
    DIR *entries = parts != NULL ? opendir(parts) : NULL;
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        char *path = is_ours(entry->d_name) ? kvr_join_path(parts, entry->d_name, NULL) : NULL;
        if (path != NULL)
            (void)unlink(path);
        free(path);
    }
    if (entries != NULL) {
        closedir(entries);
        (void)rmdir(parts);
    }
    free(parts);
}
