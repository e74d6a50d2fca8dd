/*
 * Reading HDF5's error stack. It must not know what was attempted.
 */
#include "formats/hdf5_error.h"

#include <stdio.h>

struct kvr_hdf5_reporting kvr_hdf5_silence(void)
{
    struct kvr_hdf5_reporting reporting = {NULL, NULL};
    H5Eget_auto2(H5E_DEFAULT, &reporting.function, &reporting.context);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return reporting;
}

void kvr_hdf5_restore(struct kvr_hdf5_reporting reporting)
{
    H5Eset_auto2(H5E_DEFAULT, reporting.function, reporting.context);
}

struct innermost {
    char text[256];
};

static herr_t take_description(unsigned depth, const H5E_error2_t *entry, void *context)
{
    struct innermost *cause = context;
    if (depth == 0 && entry->desc != NULL)
        snprintf(cause->text, sizeof cause->text, "%s", entry->desc);
    return 0;
}

enum kvr_status kvr_hdf5_fail(struct kvr_error *err, enum kvr_status status, const char *file,
                              const char *place, const char *what)
{
    struct innermost cause = {"no further cause given by HDF5"};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_description, &cause);
    H5Eclear2(H5E_DEFAULT);
    return kvr_fail(err, status, "\"%s\": %s: %s: %s", file, place, what, cause.text);
}
