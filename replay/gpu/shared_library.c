/*
 * Loading libraries. It must not know whose they are.
 */
#include "replay/gpu/shared_library.h"

#include <dlfcn.h>
#include <string.h>

enum kvr_status kvr_library_load(const char *what, const char *const *names,
                                 const struct kvr_library_symbol *symbols, size_t count,
                                 void *table, struct kvr_error *err)
{
    void *library = NULL;
    size_t tried = 0;
    for (; library == NULL && names[tried] != NULL; tried++)
        library = dlopen(names[tried], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return kvr_fail(err, KVR_UNSUPPORTED, "%s: %s cannot be loaded", what, names[0]);
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (symbol == NULL)
            return kvr_fail(err, KVR_UNSUPPORTED, "%s: %s has no function %s", what,
                            names[tried - 1], symbols[i].name);
        /* A pointer to a function has the size of one to data wherever there is a dlsym. */
        memcpy((char *)table + symbols[i].offset, &symbol, sizeof symbol);
    }
    return KVR_OK;
}
