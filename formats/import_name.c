/*
 * Words of names and the layouts that go with them: two tables and a small reader. It must not know
 * arrays.
 */
#include "formats/import_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/number.h"
#include "formats/trace_names.h"

/* Names and axes of what is no member of a layer. */
static const struct {
    const char *name, *axes;
} others[KVR_ROLES] = {
    [KVR_ROLE_NONE] = {"nothing", ""},      [KVR_ROLE_COLUMN] = {"scores", "HT"},
    [KVR_ROLE_TOKENS] = {"tokens", "T"},    [KVR_ROLE_POSITIONS] = {"query_positions", "Q"},
    [KVR_ROLE_NEEDLES] = {"needles", "N2"}, [KVR_ROLE_ATTRIBUTE] = {"attribute", ""},
};

static bool is_member(enum kvr_import_role role)
{
    return role >= KVR_ROLE_ATTENTION && role <= KVR_ROLE_VALUE;
}

const char *kvr_import_role_name(enum kvr_import_role role)
{
    return is_member(role) ? kvr_members[role - KVR_ROLE_ATTENTION].name : others[role].name;
}

const char *kvr_import_trace_axes(enum kvr_import_role role)
{
    return is_member(role) ? kvr_members[role - KVR_ROLE_ATTENTION].axes : others[role].axes;
}

/* Words that decide alone stand before those of which the last one counts:
   "past_key_values.3.value" holds values, "accumulated_attention" column sums, "attention_mask"
   nothing of use. */
static const struct {
    const char *word;
    enum kvr_import_role role;
    bool alone;
} words[] = {
    {"mask", KVR_ROLE_NONE, true},
    {"accumulated", KVR_ROLE_ACCUMULATED, true},
    {"h2o", KVR_ROLE_ACCUMULATED, true},
    {"colsum", KVR_ROLE_ACCUMULATED, true},
    {"positions", KVR_ROLE_POSITIONS, true},
    {"tokens", KVR_ROLE_TOKENS, true},
    {"ids", KVR_ROLE_TOKENS, true},
    {"needles", KVR_ROLE_NEEDLES, true},
    {"query", KVR_ROLE_QUERY, false},
    {"queries", KVR_ROLE_QUERY, false},
    {"q", KVR_ROLE_QUERY, false},
    {"key", KVR_ROLE_KEY, false},
    {"keys", KVR_ROLE_KEY, false},
    {"k", KVR_ROLE_KEY, false},
    {"value", KVR_ROLE_VALUE, false},
    {"values", KVR_ROLE_VALUE, false},
    {"v", KVR_ROLE_VALUE, false},
    {"attention", KVR_ROLE_ATTENTION, false},
    {"attentions", KVR_ROLE_ATTENTION, false},
    {"attn", KVR_ROLE_ATTENTION, false},
    {"weights", KVR_ROLE_ATTENTION, false},
    {"softmax", KVR_ROLE_ATTENTION, false},
    {"probs", KVR_ROLE_ATTENTION, false},
};

/* Copies the part of `text` up to `end`, cut to the room. */
static void copy_part(char *part, size_t room, const char *text, const char *end)
{
    size_t length = (size_t)(end - text);
    if (length >= room)
        length = room - 1;
    memcpy(part, text, length);
    part[length] = '\0';
}

/* Takes "samples/NAME/" off the front. */
static const char *take_sample(const char *text, struct kvr_import_name *name)
{
    static const char prefix[] = "samples/";
    const char *end = strncmp(text, prefix, sizeof prefix - 1) == 0
                          ? strchr(text + sizeof prefix - 1, '/')
                          : NULL;
    if (end == NULL)
        return text;
    name->has_sample = true;
    copy_part(name->sample, sizeof name->sample, text + sizeof prefix - 1, end);
    return end + 1;
}

/* One word of the name: letters with the digits behind them, in lower case. */
static void take_word(const char *word, size_t length, struct kvr_import_name *name, bool *settled)
{
    char text[KVR_IMPORT_LONGEST_NAME + 1];
    uint64_t number;
    copy_part(text, sizeof text, word, word + length);
    for (char *at = text; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    size_t letters = strcspn(text, "0123456789");
    bool numbered =
        text[letters] != '\0' && kvr_parse_unsigned(text + letters, 0, UINT32_MAX, &number);
    name->beyond_layer |= !numbered && text[letters] != '\0' &&
                          strspn(text + letters, "0123456789") == strlen(text + letters);
    if (numbered && !name->has_layer) {
        name->has_layer = true;
        name->layer = (uint32_t)number;
    }
    if (numbered)
        text[letters] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words && !*settled; i++)
        if (strcmp(words[i].word, text) == 0) {
            name->role = words[i].role;
            *settled = words[i].alone;
        }
}

static void take_words(const char *text, struct kvr_import_name *name)
{
    bool settled = false;
    while (*text != '\0') {
        size_t length = 0;
        while (isalnum((unsigned char)text[length]))
            length++;
        if (length > 0)
            take_word(text, length, name, &settled);
        text += length + (text[length] != '\0');
    }
}

struct kvr_import_name kvr_import_name_parse(const char *name)
{
    struct kvr_import_name found = {.too_long = strlen(name) > KVR_IMPORT_LONGEST_NAME};
    const char *text = take_sample(name, &found), *last = strrchr(text, '/');
    const char *item = last != NULL ? last + 1 : text, *scores = strstr(text, "scores/");
    if (kvr_attribute_named(false, item) != NULL || kvr_attribute_named(true, item) != NULL)
        found.role = KVR_ROLE_ATTRIBUTE;
    if (scores != NULL && (scores == text || scores[-1] == '/'))
        found.role = KVR_ROLE_COLUMN;
    if (found.role == KVR_ROLE_NONE) {
        take_words(text, &found);
        return found;
    }
    const enum kvr_import_role role = found.role;
    char place[KVR_IMPORT_LONGEST_NAME + 1]; /* only the part before the item tells the layer */
    if (role == KVR_ROLE_COLUMN)
        item = scores + strlen("scores/");
    copy_part(place, sizeof place, text, item);
    take_words(place, &found);
    copy_part(found.item, sizeof found.item, item, item + strlen(item));
    found.role = role;
    return found;
}

const char *kvr_import_default_axes(enum kvr_import_role role, unsigned rank, bool has_layer)
{
    static const struct {
        const char *own, *layers, *samples, *both; /* by what stands in front of the own axes */
    } layouts[] = {
        {"HQT", "LHQT", "BHQT", "LBHQT"}, {"HT", "LHT", "BHT", "LBHT"},
        {"HQD", "LHQD", "BHQD", "LBHQD"}, {"HTD", "LHTD", "BHTD", "LBHTD"},
        {"T", NULL, "BT", NULL},          {"Q", NULL, "BQ", NULL},
        {"N2", NULL, "BN2", NULL},        {"", NULL, NULL, NULL},
    };
    const char *own = kvr_import_trace_axes(role);
    size_t length = strlen(own);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (strcmp(layouts[i].own, own) != 0)
            continue;
        if (rank == length)
            return layouts[i].own;
        if (rank == length + 1)
            return has_layer || layouts[i].layers == NULL ? layouts[i].samples : layouts[i].layers;
        return rank == length + 2 && !has_layer ? layouts[i].both : NULL;
    }
    return NULL;
}
