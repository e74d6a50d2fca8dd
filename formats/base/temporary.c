/*
 * A fixed table of paths that a signal handler can read: no lock, no allocation. It must not know
 * what the files are.
 */
#include "formats/base/temporary.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FILES = 64 };
enum slot_state { FREE, CHANGING, NOTED };

/* `path` belongs to whoever brought `state` to CHANGING, and may be read while it is NOTED. */
static struct slot {
    atomic_int state;
    char path[PATH_MAX];
} slots[MOST_FILES];

static atomic_bool removing;
static atomic_int holds;
static atomic_int deferred; /* a signal that came while it was held off, or 0 */

static bool take(struct slot *slot, enum slot_state from)
{
    int expected = (int)from;
    return atomic_compare_exchange_strong(&slot->state, &expected, CHANGING);
}

void kvr_temporary_note(const char *path)
{
    size_t size = strlen(path) + 1;
    for (size_t i = 0; i < MOST_FILES && size <= sizeof slots[i].path; i++) {
        if (!take(&slots[i], FREE))
            continue;
        memcpy(slots[i].path, path, size);
        atomic_store(&slots[i].state, NOTED);
        break;
    }
    if (atomic_load(&removing))
        unlink(path); /* made while a handler went through the table */
}

void kvr_temporary_forget(const char *path)
{
    for (size_t i = 0; i < MOST_FILES; i++) {
        if (!take(&slots[i], NOTED))
            continue;
        bool found = strcmp(slots[i].path, path) == 0;
        atomic_store(&slots[i].state, found ? FREE : NOTED);
        if (found)
            return;
    }
}

void kvr_temporaries_remove(void)
{
    int error = errno;
    atomic_store(&removing, true);
    for (size_t i = 0; i < MOST_FILES; i++)
        if (atomic_load(&slots[i].state) == NOTED)
            unlink(slots[i].path);
    errno = error;
}

void kvr_signals_hold(void)
{
    atomic_fetch_add(&holds, 1);
}

void kvr_signals_release(void)
{
    if (atomic_fetch_sub(&holds, 1) > 1)
        return;
    int signal_number = atomic_exchange(&deferred, 0);
    if (signal_number != 0)
        raise(signal_number);
}

bool kvr_signals_defer(int signal_number)
{
    if (atomic_load(&holds) == 0)
        return false;
    atomic_store(&deferred, signal_number);
    return true;
}
