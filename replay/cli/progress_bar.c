/*
 * Drawing the progress bar. It knows steps and bytes, not what they are.
 */
#include "replay/cli/progress_bar.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 30 };

double kvr_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct kvr_progress_bar kvr_progress_bar_start(size_t total, bool quiet)
{
    return (struct kvr_progress_bar){
        .shown = !quiet && isatty(STDERR_FILENO),
        .started = kvr_seconds(),
        .total = total,
    };
}

void kvr_progress_bar_update(void *opaque, size_t done, size_t total, uint64_t bytes)
{
    (void)total;
    struct kvr_progress_bar *bar = opaque;
    double now = kvr_seconds();
    done += bar->done_before;
    if (!bar->shown || bar->total == 0 || (now - bar->drawn < 0.1 && done < bar->total))
        return;
    bar->drawn = now;
    double share = (double)done / (double)bar->total, spent = now - bar->started;
    double rate = spent > 0 ? (double)(bar->bytes_before + bytes) / spent / 1e6 : 0;
    double left = done > 0 ? spent / share - spent : 0;
    int filled = (int)(share * WIDTH);
    fprintf(stderr, "\r  [%.*s%*s] %3.0f %%  %zu/%zu groups  %.0f MB/s  %.0f s left ", filled,
            "##############################", WIDTH - filled, "", share * 100, done, bar->total,
            rate, left);
    fflush(stderr);
}

void kvr_progress_bar_part(struct kvr_progress_bar *bar, size_t steps, uint64_t bytes)
{
    bar->done_before += steps;
    bar->bytes_before += bytes;
}

void kvr_progress_bar_end(struct kvr_progress_bar *bar)
{
    if (bar->shown)
        fprintf(stderr, "\r%79s\r", "");
    bar->shown = false;
}
