/*
 * What `kvreplay show` takes from a replay: one cell's vector of one head and what every policy
 * keeps of it.
 */
#ifndef KVR_SHOW_CAPTURE_H
#define KVR_SHOW_CAPTURE_H

#include "plots/shown_row.h"
#include "replay/observer.h"

/* Which cell and head; `row` is filled by the observer. */
struct kvr_show_capture {
    const struct kvr_plan *plan;
    const struct kvr_sample *sample;
    uint32_t layer, group;
    uint32_t head; /* within the group */
    struct kvr_shown_row row;
    bool found;      /* the cell has been replayed */
    bool not_finite; /* and is excluded */
};

/* The observer's state is the capture; one cell is captured, whatever the threads. */
struct kvr_observer kvr_show_observer(struct kvr_show_capture *capture);

void kvr_show_capture_free(struct kvr_show_capture *capture);

#endif
