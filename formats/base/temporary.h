/*
 * Temporary files that a signal must not leave behind.
 *
 * Who writes `name.tmp` notes the path while the file is its own. kvr_temporaries_remove, which a
 * signal handler may call, unlinks what is noted at that moment. Which signals those are, and what
 * happens then, the program decides; a library that handles no signal loses nothing.
 */
#ifndef KVR_TEMPORARY_H
#define KVR_TEMPORARY_H

#include <stdbool.h>

/* After the file was made and before it is renamed or removed. Beyond 64 files, or for a path that
   is too long for the table, nothing is noted. Thread-safe. */
void kvr_temporary_note(const char *path);

/* After the file was renamed or removed. A path that is not noted is allowed. Thread-safe. */
void kvr_temporary_forget(const char *path);

/* Unlinks every noted file, and each that is noted later. Async-signal-safe. */
void kvr_temporaries_remove(void);

/*
 * Between hold and release a file is made and noted, or files get their names together: a handler
 * asks kvr_signals_defer first and, if true, returns; release then raises that signal again. Pairs
 * may be nested.
 */
void kvr_signals_hold(void);
void kvr_signals_release(void);
bool kvr_signals_defer(int signal_number); /* async-signal-safe */

#endif
