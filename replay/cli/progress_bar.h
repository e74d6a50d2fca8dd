/*
 * A progress bar on standard error, with throughput and time left; only on a terminal.
 */
#ifndef KVR_PROGRESS_BAR_H
#define KVR_PROGRESS_BAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kvr_progress_bar {
    bool shown;
    double started, drawn; /* seconds of the monotonic clock */
    size_t total, done_before;
    uint64_t bytes_before;
};

/* Starts a bar over `total` steps; draws nothing where standard error is no terminal. */
struct kvr_progress_bar kvr_progress_bar_start(size_t total, bool quiet);

/* Steps done and bytes read in the current part; parts before it were added with _part. */
void kvr_progress_bar_update(void *bar, size_t done, size_t total, uint64_t bytes);
void kvr_progress_bar_part(struct kvr_progress_bar *bar, size_t steps, uint64_t bytes);

/* Removes the bar. */
void kvr_progress_bar_end(struct kvr_progress_bar *bar);

/* Seconds of the monotonic clock. */
double kvr_seconds(void);

#endif
