/*
 * Sharing a total. It must not know what competes or where scores come from.
 */
#include "replay/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "replay/bitmap.h"

__extension__ typedef __int128 wide;

const struct kvr_stage_entry kvr_allocate_entries[] = {
    {"uniform", "uniform", "the same quota for every group"},
    {"pyramid:BETA", "pyramid:20",
     "falling linearly from layer to layer, so that the layers' mean is the quota"},
    {"layer:ALPHA", "layer:0.2",
     "ALPHA of the quota for certain, the rest to the highest scores of all groups of the layer"},
    {"model:ALPHA", "model:0.2", "the same over the groups of all layers"},
    {"gate:TAU+...", "gate:0.07+uniform",
     "in front of any of them: evict only where the heads of the first third of the layers agree "
     "by TAU more than those of the last third, else keep everything"},
    {NULL, NULL, NULL},
};

static enum kvr_status bad_allocation(const char *text, struct kvr_error *err)
{
    return kvr_fail(err, KVR_BAD_ARGUMENT,
                    "\"%s\" is not an allocation; there are uniform, pyramid:BETA (at least 1), "
                    "layer:ALPHA and model:ALPHA (0 to 1), and gate:TAU+ in front of any of them",
                    text);
}

/* Takes "gate:TAU " or "gate:TAU+" off the front of *text. */
static bool parse_gate(const char **text, struct kvr_allocate *allocate)
{
    char number[32];
    size_t length = strcspn(*text + 5, " +");
    /* A sign may stand where an exponent or a negative threshold begins. */
    if (length == 0 || length >= sizeof number)
        return false;
    memcpy(number, *text + 5, length);
    number[length] = '\0';
    *text += 5 + length;
    if (**text != '\0')
        (*text)++;
    allocate->gated = true;
    return kvr_parse_double(number, &allocate->threshold);
}

enum kvr_status kvr_allocate_parse(const char *text, struct kvr_allocate *allocate,
                                   struct kvr_error *err)
{
    const char *rest = text;
    *allocate = (struct kvr_allocate){0};
    if (strncmp(rest, "gate:", 5) == 0 && !parse_gate(&rest, allocate))
        return bad_allocation(text, err);
    if (strcmp(rest, "uniform") == 0 || (allocate->gated && *rest == '\0'))
        return KVR_OK;

    static const struct {
        const char *name;
        enum kvr_allocate_kind kind;
    } kinds[] = {
        {"pyramid:", KVR_ALLOCATE_PYRAMID},
        {"layer:", KVR_ALLOCATE_LAYER},
        {"model:", KVR_ALLOCATE_MODEL},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].name);
        if (strncmp(rest, kinds[i].name, length) != 0)
            continue;
        allocate->kind = kinds[i].kind;
        if (!kvr_parse_decimal(rest + length, &allocate->parameter))
            break;
        int against_one = kvr_decimal_compare(allocate->parameter, 1);
        if (allocate->kind == KVR_ALLOCATE_PYRAMID ? against_one >= 0 : against_one <= 0)
            return KVR_OK;
        break;
    }
    return bad_allocation(text, err);
}

/* One layer's share while it is made whole. */
struct share {
    wide remainder;
    size_t layer;
};

static int by_remainder(const void *a, const void *b)
{
    const struct share *left = a, *right = b;
    if (left->remainder != right->remainder)
        return left->remainder > right->remainder ? -1 : 1;
    return left->layer < right->layer ? -1 : 1;
}

enum kvr_status kvr_allocate_pyramid(struct kvr_decimal beta, uint64_t quota, uint64_t recent,
                                     uint64_t units, size_t layers, uint64_t *quotas,
                                     struct kvr_error *err)
{
    for (size_t i = 0; i < layers; i++)
        quotas[i] = quota;
    if (quota <= recent || layers < 2)
        return KVR_OK;
    struct share *shares = kvr_alloc(layers, sizeof *shares, err);
    if (shares == NULL)
        return KVR_NO_MEMORY;

    /* Everything in units of 1 / (beta's digits * (layers - 1)). */
    wide base = (wide)(quota - recent), unit = (wide)beta.digits, scale = 1;
    for (unsigned i = 0; i < beta.scale; i++)
        scale *= 10;
    wide low = base * scale, high = 2 * base * unit - low;
    if (high > (wide)(units - recent) * unit) {
        high = (wide)(units - recent) * unit;
        low = 2 * base * unit - high;
    }
    wide denominator = unit * (wide)(layers - 1), left = base * (wide)layers;
    for (size_t i = 0; i < layers; i++) {
        wide share = high * (wide)(layers - 1 - i) + low * (wide)i;
        quotas[i] = (uint64_t)(share / denominator);
        shares[i] = (struct share){share % denominator, i};
        left -= (wide)quotas[i];
    }
    qsort(shares, layers, sizeof *shares, by_remainder);
    for (size_t i = 0; left > 0 && i < layers; i++, left--)
        quotas[shares[i].layer]++;
    for (size_t i = 0; i < layers; i++)
        quotas[i] += recent;
    free(shares);
    return KVR_OK;
}

enum kvr_status kvr_allocate_compete(const float *const *scores, const uint64_t *const *secured,
                                     size_t count, size_t units, uint64_t quota, uint64_t *quotas,
                                     struct kvr_select_scratch *scratch, struct kvr_error *err)
{
    size_t all = count * units, words = kvr_bitmap_words(all);
    uint64_t rest = (uint64_t)count * quota;
    if (units != 0 && (all / units != count || all > UINT32_MAX))
        return kvr_fail(err, KVR_UNSUPPORTED, "%zu groups of %zu units are too many to compete",
                        count, units);
    float *pool = kvr_alloc(all, sizeof *pool, err);
    uint64_t *won = kvr_alloc(words, sizeof *won, err);
    enum kvr_status status = pool != NULL && won != NULL ? KVR_OK : KVR_NO_MEMORY;
    for (size_t i = 0; status == KVR_OK && i < count; i++) {
        quotas[i] = kvr_bitmap_count(secured[i], kvr_bitmap_words(units));
        rest -= quotas[i];
        for (size_t u = 0; u < units; u++)
            pool[i * units + u] = kvr_bitmap_has(secured[i], u) ? -INFINITY : scores[i][u];
    }
    if (status == KVR_OK)
        status = kvr_select_top(pool, all, &rest, 1, &won, scratch, err);
    for (size_t i = 0; status == KVR_OK && i < count; i++)
        quotas[i] += kvr_bitmap_count_span(won, i * units, (i + 1) * units);
    free(pool);
    free(won);
    return status;
}
