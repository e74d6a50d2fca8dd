/*
 * Layer quotas of a total budget (arXiv 2610.03135, eq. 15 and prop. 3; MEASURES §2): how many
 * pages each layer may hold when every KV head of a layer holds as many.
 *
 * One page in every KV head of one layer is `page_tokens` = H_KV * B tokens: no smaller amount can
 * be given out. So the aligned budget is the total rounded down to a multiple of it, and the
 * budget is conserved exactly if and only if H_KV * B divides it.
 */
#ifndef KVR_LAYER_QUOTA_H
#define KVR_LAYER_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/status.h"

struct kvr_layer_quota {
    uint64_t layers;       /* L */
    uint64_t page_tokens;  /* H_KV * B */
    uint64_t budget;       /* tokens over all layers and KV heads */
    uint64_t pages;        /* of every KV head, over all layers: floor(budget / (H_KV B)) */
    uint64_t floor_pages;  /* in every layer: floor(budget / (L H_KV B)) */
    uint64_t floor_budget; /* tokens that the floors hold: L * floor_pages * H_KV B */
    uint64_t larger;       /* layers that get one page more: the first ones */
    uint64_t aligned;      /* tokens that the quotas hold: pages * H_KV B */
    uint64_t residual;     /* budget - aligned, below H_KV B */
    bool conserved;        /* residual is 0 */
};

/*
 * Equal shares by the largest remainder method, ties to the lower layer. KVR_BAD_ARGUMENT if
 * layers, kv_heads or page is 0, or if L H_KV B does not fit 64 bits.
 */
enum kvr_status kvr_layer_quota_of(uint64_t layers, uint64_t kv_heads, uint64_t page,
                                   uint64_t budget, struct kvr_layer_quota *quota,
                                   struct kvr_error *err);

/* Pages of every KV head in layer `layer` (0 … layers - 1). */
uint64_t kvr_layer_quota_pages(const struct kvr_layer_quota *quota, uint64_t layer);

#endif
