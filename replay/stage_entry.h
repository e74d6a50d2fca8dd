/*
 * An entry of a stage whose parser needs no table: what the help shows, and what a test parses.
 */
#ifndef KVR_STAGE_ENTRY_H
#define KVR_STAGE_ENTRY_H

struct kvr_stage_entry {
    const char *pattern; /* "avg:N" */
    const char *example; /* "avg:5", which the parser takes */
    const char *summary;
};

#endif
