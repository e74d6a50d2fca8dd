/*
 * The gnuplot program: where it is, what it can draw, running it on a script.
 *
 * It runs without start-up files and in the C locale, since under a comma locale it would read 0,5
 * as 0. It must not know any figure.
 */
#ifndef KVR_GNUPLOT_H
#define KVR_GNUPLOT_H

#include <stdbool.h>

#include "formats/base/status.h"
#include "formats/base/text.h"

struct kvr_gnuplot {
    char *path;
    char *terminals; /* " svg dumb … " */
};

/* Looks along PATH. KVR_IO with a hint if there is none, or one older than 5.2. */
enum kvr_status kvr_gnuplot_find(struct kvr_gnuplot *gnuplot, struct kvr_error *err);

bool kvr_gnuplot_has(const struct kvr_gnuplot *gnuplot, const char *terminal);

/*
 * Runs `commands`, then the file `script` if it is not NULL, in `folder` (NULL: the current one).
 * What gnuplot writes to its standard streams is added to `messages`. KVR_IO if it cannot be run
 * or exits with another status than 0; the first of its messages is in the error.
 */
enum kvr_status kvr_gnuplot_run(const struct kvr_gnuplot *gnuplot, const char *folder,
                                const char *commands, const char *script, struct kvr_text *messages,
                                struct kvr_error *err);

void kvr_gnuplot_free(struct kvr_gnuplot *gnuplot);

#endif
