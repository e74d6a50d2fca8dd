/*
 * Plain prose without end, from a seed: the hay around a needle. The sentences are put together
 * from word lists of our own, say nothing in particular and hold no digits. It must not know
 * tokens.
 */
#ifndef KVR_FILLER_H
#define KVR_FILLER_H

#include "formats/base/random.h"
#include "formats/base/text.h"

/* Appends the next sentence, without a blank at either end. */
void kvr_filler_sentence(struct kvr_random *random, struct kvr_text *text);

/* One of many names of towns. */
const char *kvr_filler_town(struct kvr_random *random);

#endif
