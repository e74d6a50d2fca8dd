/*
 * Status and error record: how every function of kvreplay says that it failed.
 *
 * A function that can fail returns a status and takes `struct kvr_error *` last. The innermost
 * place that knows the cause writes the record once; callers may put a place in front of it. The
 * library never prints: the command shows the record as one line.
 */
#ifndef KVR_STATUS_H
#define KVR_STATUS_H

enum kvr_status {
    KVR_OK = 0,
    KVR_BAD_ARGUMENT, /* the caller asked for something that cannot be: exit status 2 */
    KVR_BAD_INPUT,    /* a file does not hold what it should */
    KVR_UNSUPPORTED,  /* a file is well-formed, but uses something that is refused or unknown */
    KVR_IO,           /* reading or writing failed */
    KVR_NO_MEMORY,
    KVR_INTERNAL, /* a defect of kvreplay */
};

/* The message is one line without a final newline and without control characters. */
struct kvr_error {
    enum kvr_status status;
    char message[1024]; /* `"run.h5": /samples/3: expected …, found …` */
    char hint[512];     /* how to mend it, or empty */
};

#define KVR_PRINTF(format_index, first_index)                                                      \
    __attribute__((format(printf, format_index, first_index)))

/* Fills *err (which may be NULL) and returns status, so that `return kvr_fail(…)` reads well. */
enum kvr_status kvr_fail(struct kvr_error *err, enum kvr_status status, const char *format, ...)
    KVR_PRINTF(3, 4);

/* Adds the hint of an error that is already filled; returns its status. */
enum kvr_status kvr_hint(struct kvr_error *err, const char *format, ...) KVR_PRINTF(2, 3);

/* Puts "place: " in front of the message of an error that is already filled. */
enum kvr_status kvr_at(struct kvr_error *err, const char *format, ...) KVR_PRINTF(2, 3);

/* The record of a call that has not failed yet. */
#define KVR_ERROR_NONE ((struct kvr_error){.status = KVR_OK})

/* Replaces by '?' what would move the cursor or is not UTF-8, in place: names come from files. */
void kvr_make_printable(char *text);

#endif
