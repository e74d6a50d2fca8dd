/*
 * The map of an import: a JSON object from names of arrays to what they are.
 *
 *     {"probs_L3": "layers/3/attention", "all": {"as": "attention", "layout": "BLHQT"}, "junk":
 * null}
 */
#ifndef KVR_IMPORT_MAP_H
#define KVR_IMPORT_MAP_H

#include <stdbool.h>

#include "formats/archive.h"
#include "formats/json_reader.h"

struct kvr_import_map {
    struct kvr_json_document document; /* root is NULL where there is no map */
};

/*
 * Reads the map at `path` (NULL: none) and checks it: every entry must name an array of the
 * archives and have a form as above. Release with kvr_import_map_close.
 */
enum kvr_status kvr_import_map_open(const char *path, struct kvr_archive *const *archives,
                                    size_t archive_count, struct kvr_import_map *map,
                                    struct kvr_error *err);
void kvr_import_map_close(struct kvr_import_map *map);

/* What the map says of the array `own`: *name as it should be read (`own` itself where nothing is
   said), *axes where a layout is given. False: leave the array out. Strings are the map's. */
bool kvr_import_map_find(const struct kvr_import_map *map, const char *own, const char **name,
                         const char **axes);

#endif
