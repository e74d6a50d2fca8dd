/*
 * Which units a protection covers.
 */
#include "replay/protect.h"

#include <string.h>

const struct kvr_stage_entry kvr_protect_entries[] = {
    {"none", "none", "nothing is kept for its place"},
    {"sinks:S", "sinks:4", "the first S candidates"},
    {"recent:N", "recent:32", "the newest N candidates"},
    {"recent:F", "recent:0.5", "the newest, a fraction of the quota (written with a point)"},
    {"sinks:S+recent:N", "sinks:4+recent:32", "both; protected tokens count against the quota"},
    {NULL, NULL, NULL},
};

static enum kvr_status bad_protection(const char *text, struct kvr_error *err)
{
    return kvr_fail(err, KVR_BAD_ARGUMENT,
                    "\"%s\" is not a protection; there are none, sinks:S, recent:N, recent:f "
                    "with 0 <= f <= 1 and a point, and sinks:S+recent:N",
                    text);
}

static bool parse_recent(const char *text, struct kvr_protect *protect)
{
    if (strchr(text, '.') == NULL)
        return kvr_parse_unsigned(text, 0, UINT32_MAX, &protect->recent);
    protect->has_fraction = true;
    return kvr_parse_decimal(text, &protect->fraction) &&
           kvr_decimal_compare(protect->fraction, 1) <= 0;
}

enum kvr_status kvr_protect_parse(const char *text, struct kvr_protect *protect,
                                  struct kvr_error *err)
{
    *protect = (struct kvr_protect){0};
    if (strcmp(text, "none") == 0)
        return KVR_OK;
    char first[64];
    const char *plus = strchr(text, '+');
    size_t length = plus != NULL ? (size_t)(plus - text) : strlen(text);
    if (length >= sizeof first)
        return bad_protection(text, err);
    memcpy(first, text, length);
    first[length] = '\0';

    const char *recent = NULL;
    if (strncmp(first, "sinks:", 6) == 0) {
        if (!kvr_parse_unsigned(first + 6, 0, UINT32_MAX, &protect->sinks))
            return bad_protection(text, err);
        recent = plus != NULL ? plus + 1 : NULL;
    } else if (plus == NULL) {
        recent = first;
    } else {
        return bad_protection(text, err);
    }
    if (recent != NULL &&
        (strncmp(recent, "recent:", 7) != 0 || !parse_recent(recent + 7, protect)))
        return bad_protection(text, err);
    return KVR_OK;
}

struct kvr_protected kvr_protect_units(const struct kvr_protect *protect,
                                       const struct kvr_pages *pages, uint64_t quota)
{
    size_t tokens = pages->candidates.count;
    struct kvr_protected units = {0, pages->count, pages->count};
    if (protect->sinks > 0) {
        uint64_t sinks = protect->sinks < tokens ? protect->sinks : tokens;
        units.first = kvr_pages_unit(pages, (size_t)sinks - 1) + 1;
    }
    if (protect->has_fraction) {
        uint64_t newest = kvr_decimal_floor(protect->fraction, quota, 1);
        units.last = newest < pages->count ? pages->count - (size_t)newest : 0;
    } else if (protect->recent > 0) {
        uint64_t recent = protect->recent < tokens ? protect->recent : tokens;
        units.last = kvr_pages_unit(pages, tokens - (size_t)recent);
    }
    if (units.last < units.first)
        units.last = units.first; /* where they overlap sinks come first */
    return units;
}
