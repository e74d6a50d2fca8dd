/*
 * Layer quotas with equal shares, in closed form: all fractional parts are equal, so the largest
 * remainder method gives the pages that the floors leave to the first layers.
 */
#include "replay/layer_quota.h"

#include "formats/base/memory.h"

enum kvr_status kvr_layer_quota_of(uint64_t layers, uint64_t kv_heads, uint64_t page,
                                   uint64_t budget, struct kvr_layer_quota *quota,
                                   struct kvr_error *err)
{
    size_t page_tokens, all;
    if (layers == 0 || kv_heads == 0 || page == 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "layers, KV heads and tokens of a page must be at least 1");
    if (!kvr_size_product(kv_heads, page, &page_tokens) ||
        !kvr_size_product(page_tokens, layers, &all))
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "layers * KV heads * tokens of a page must be below 2^64");
    uint64_t pages = budget / page_tokens;
    *quota = (struct kvr_layer_quota){
        .layers = layers,
        .page_tokens = page_tokens,
        .budget = budget,
        .pages = pages,
        .floor_pages = pages / layers,
        .floor_budget = pages / layers * all,
        .larger = pages % layers,
        .aligned = pages * page_tokens,
        .residual = budget % page_tokens,
        .conserved = budget % page_tokens == 0,
    };
    return KVR_OK;
}

uint64_t kvr_layer_quota_pages(const struct kvr_layer_quota *quota, uint64_t layer)
{
    return quota->floor_pages + (layer < quota->larger);
}
