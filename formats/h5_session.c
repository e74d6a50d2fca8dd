/*
 * The lock around HDF5 and the reading of its error stack. It must not know what is read or
 * written.
 */
#include "formats/h5_session.h"

#include <hdf5.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void kvr_h5_enter(bool allow_plugins)
{
    pthread_mutex_lock(&lock);
    /* The error stack belongs to the thread where HDF5 has threads, so every entry silences it. */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    /* A file may name any filter, also in its groups: a plugin would be loaded without asking. */
    H5PLset_loading_state(allow_plugins ? H5PL_FILTER_PLUGIN : 0);
}

void kvr_h5_leave(void)
{
    H5Eclear2(H5E_DEFAULT); /* else the texts of calls that may fail stay allocated */
    pthread_mutex_unlock(&lock);
}

struct cause {
    char *text;
    size_t size;
};

static herr_t take_innermost(unsigned depth, const H5E_error2_t *error, void *context)
{
    const struct cause *cause = context;
    if (depth == 0 && error->desc != NULL)
        snprintf(cause->text, cause->size, "%s", error->desc);
    return 0;
}

void kvr_h5_cause(char *text, size_t size)
{
    struct cause cause = {text, size};
    text[0] = '\0';
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &cause);
}

/* HDF5 says so where it meets a part of the format that is newer than the library. */
static bool sounds_newer(const char *cause)
{
    return strstr(cause, "version") != NULL;
}

enum kvr_status kvr_h5_failed(struct kvr_error *err, const char *what)
{
    char cause[256];
    kvr_h5_cause(cause, sizeof cause);
    if (cause[0] == '\0')
        return kvr_fail(err, KVR_BAD_INPUT, "%s", what);
    kvr_fail(err, KVR_BAD_INPUT, "%s: %s", what, cause);
    if (!sounds_newer(cause))
        return KVR_BAD_INPUT;
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return kvr_hint(err,
                    "it may need a newer HDF5 than the %u.%u.%u used here: write it with library "
                    "bounds up to 1.10 (h5py: libver=(\"earliest\", \"v110\"))",
                    major, minor, release);
}
