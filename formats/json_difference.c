/*
 * The first difference of two trees. It must not know what they describe.
 */
#include "formats/json_difference.h"

#include <stdio.h>
#include <string.h>

static void describe(const struct kvr_json_value *value, char *text, size_t size)
{
    static const char *const kinds[] = {
        [KVR_JSON_NULL] = "null",      [KVR_JSON_BOOL] = "true",
        [KVR_JSON_NUMBER] = "",        [KVR_JSON_STRING] = "a text",
        [KVR_JSON_ARRAY] = "the list", [KVR_JSON_OBJECT] = "an object",
    };
    if (value == NULL)
        snprintf(text, size, "nothing");
    else if (value->kind == KVR_JSON_NUMBER || value->kind == KVR_JSON_STRING)
        snprintf(text, size, "%s", value->text);
    else if (value->kind == KVR_JSON_BOOL && !value->truth)
        snprintf(text, size, "false");
    else
        snprintf(text, size, "%s", kinds[value->kind]);
    if (value == NULL || value->kind != KVR_JSON_ARRAY)
        return;
    for (const struct kvr_json_value *item = value->first; item != NULL; item = item->next) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", item == value->first ? " " : ",",
                 item->text != NULL ? item->text : "…");
    }
}

static bool same_scalar(const struct kvr_json_value *a, const struct kvr_json_value *b)
{
    if (a == NULL || b == NULL || a->kind != b->kind)
        return a == b;
    if (a->kind == KVR_JSON_BOOL)
        return a->truth == b->truth;
    return a->text == NULL || b->text == NULL ? a->text == b->text : strcmp(a->text, b->text) == 0;
}

static bool is_container(const struct kvr_json_value *value)
{
    return value != NULL && (value->kind == KVR_JSON_ARRAY || value->kind == KVR_JSON_OBJECT);
}

static bool only_scalars(const struct kvr_json_value *list)
{
    for (const struct kvr_json_value *item = list->first; item != NULL; item = item->next)
        if (is_container(item))
            return false;
    return list->kind == KVR_JSON_ARRAY;
}

/* A list of scalars is compared and shown as one. */
static bool same_list(const struct kvr_json_value *a, const struct kvr_json_value *b)
{
    const struct kvr_json_value *x = a->first, *y = b->first;
    while (x != NULL && y != NULL && same_scalar(x, y)) {
        x = x->next;
        y = y->next;
    }
    return x == NULL && y == NULL;
}

static const struct kvr_json_value *pass_over(const struct kvr_json_value *value,
                                              const char *except)
{
    while (value != NULL && except != NULL && value->key != NULL && strcmp(value->key, except) == 0)
        value = value->next;
    return value;
}

static bool tell(const struct kvr_json_value *expected, const struct kvr_json_value *found,
                 struct kvr_json_difference *difference)
{
    describe(expected, difference->expected, sizeof difference->expected);
    describe(found, difference->found, sizeof difference->found);
    return true;
}

static bool differ(const struct kvr_json_value *expected, const struct kvr_json_value *found,
                   const char *except, size_t used, struct kvr_json_difference *difference)
{
    if (!is_container(expected) || !is_container(found) || expected->kind != found->kind)
        return !same_scalar(expected, found) && tell(expected, found, difference);
    if (only_scalars(expected) && only_scalars(found))
        return !same_list(expected, found) && tell(expected, found, difference);
    const struct kvr_json_value *a = pass_over(expected->first, except);
    const struct kvr_json_value *b = pass_over(found->first, except);
    for (size_t i = 0; a != NULL || b != NULL; i++) {
        const char *key = a != NULL ? a->key : b->key;
        size_t left = sizeof difference->place - used;
        int length = key != NULL ? snprintf(difference->place + used, left, "/%s", key)
                                 : snprintf(difference->place + used, left, "/%zu", i);
        size_t end = used + ((size_t)length < left ? (size_t)length : left - 1);
        bool same_keys = a == NULL || b == NULL || key == NULL || strcmp(key, b->key) == 0;
        if (!same_keys || a == NULL || b == NULL)
            return tell(a, same_keys ? b : NULL, difference);
        if (differ(a, b, except, end, difference))
            return true;
        a = pass_over(a->next, except);
        b = pass_over(b->next, except);
    }
    difference->place[used] = '\0';
    return false;
}

bool kvr_json_differ(const struct kvr_json_value *expected, const struct kvr_json_value *found,
                     const char *except, struct kvr_json_difference *difference)
{
    *difference = (struct kvr_json_difference){0};
    return differ(expected, found, except, 0, difference);
}
