/*
 * Sentences that captions of several figures share: what is shown and what was left out.
 */
#ifndef KVR_CAPTION_H
#define KVR_CAPTION_H

#include "plots/draft.h"
#include "plots/source.h"

/* Which of the names that a table may differ in are fixed in a figure. */
enum {
    KVR_SCOPE_SCORER = 1,
    KVR_SCOPE_BUDGET = 2,
    KVR_SCOPE_PAGES = 4,
};

/* "Trace a.h5; scorer last; budget 0.1; pages of 16." and how many groups are excluded. pages NULL:
   the shown page size. */
void kvr_caption_scope(struct kvr_draft *draft, const struct kvr_source *source, unsigned scope,
                       const char *pages);

/* "1 group", "2,250 groups": into `words`, which is returned. */
enum { KVR_COUNT_ROOM = 80 };
const char *kvr_count_words(char words[KVR_COUNT_ROOM], uint64_t count, const char *noun);

#endif
