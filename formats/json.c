/*
 * Streaming JSON. It knows the grammar and how a page of it is indented, not what is written.
 */
#include "formats/json.h"

#include <math.h>
#include <string.h>

#include "formats/base/utf8.h"

static uint64_t bit_of(const struct kvr_json *json)
{
    return UINT64_C(1) << json->depth;
}

static void new_line(struct kvr_json *json)
{
    kvr_text_string(json->text, "\n");
    for (unsigned i = 0; i < json->depth; i++)
        kvr_text_string(json->text, "  ");
}

static void add_escaped(struct kvr_text *text, unsigned char c)
{
    static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = strchr(named, c);
    if (at != NULL)
        kvr_text_add(text, "\\%c", letters[at - named]);
    else
        kvr_text_add(text, "\\u%04x", c);
}

static void add_quoted(struct kvr_text *text, const char *value)
{
    kvr_text_string(text, "\"");
    for (const unsigned char *c = (const unsigned char *)value; *c != '\0';) {
        size_t skip, length = kvr_utf8_length((const char *)c, &skip);
        if (length == 0) {
            kvr_text_string(text, "\xef\xbf\xbd");
            length = skip;
        } else if (*c < 0x20 || *c == 0x7f || *c == '"' || *c == '\\') {
            add_escaped(text, *c);
        } else {
            kvr_text_bytes(text, (const char *)c, length);
        }
        c += length;
    }
    kvr_text_string(text, "\"");
}

/* The comma, the line break and the key that stand before a new member. */
static void start_member(struct kvr_json *json, const char *key)
{
    bool first = (json->filled & bit_of(json)) == 0;
    bool one_line = (json->one_line & bit_of(json)) != 0;
    json->filled |= bit_of(json);
    if (json->depth > 0) {
        if (!first)
            kvr_text_string(json->text, one_line ? ", " : ",");
        if (!one_line)
            new_line(json);
    }
    if (key != NULL) {
        add_quoted(json->text, key);
        kvr_text_string(json->text, ": ");
    }
}

static void open_container(struct kvr_json *json, const char *key, bool array, bool one_line)
{
    start_member(json, key);
    one_line = one_line || (json->one_line & bit_of(json)) != 0;
    kvr_text_string(json->text, array ? "[" : "{");
    json->depth++;
    uint64_t bit = bit_of(json);
    json->filled &= ~bit;
    json->arrays = array ? json->arrays | bit : json->arrays & ~bit;
    json->one_line = one_line ? json->one_line | bit : json->one_line & ~bit;
}

void kvr_json_object(struct kvr_json *json, const char *key)
{
    open_container(json, key, false, false);
}

void kvr_json_array(struct kvr_json *json, const char *key)
{
    open_container(json, key, true, false);
}

void kvr_json_list(struct kvr_json *json, const char *key)
{
    open_container(json, key, true, true);
}

void kvr_json_end(struct kvr_json *json)
{
    uint64_t bit = bit_of(json);
    json->depth--;
    if ((json->filled & bit) != 0 && (json->one_line & bit) == 0)
        new_line(json);
    kvr_text_string(json->text, (json->arrays & bit) != 0 ? "]" : "}");
    if (json->depth == 0)
        kvr_text_string(json->text, "\n");
}

void kvr_json_string(struct kvr_json *json, const char *key, const char *value)
{
    start_member(json, key);
    if (value != NULL)
        add_quoted(json->text, value);
    else
        kvr_text_string(json->text, "null");
}

void kvr_json_unsigned(struct kvr_json *json, const char *key, uint64_t value)
{
    start_member(json, key);
    kvr_text_unsigned(json->text, value);
}

void kvr_json_number(struct kvr_json *json, const char *key, double value)
{
    start_member(json, key);
    if (isfinite(value))
        kvr_text_exact(json->text, value);
    else
        kvr_text_string(json->text, "null");
}

void kvr_json_bool(struct kvr_json *json, const char *key, bool value)
{
    start_member(json, key);
    kvr_text_string(json->text, value ? "true" : "false");
}

void kvr_json_null(struct kvr_json *json, const char *key)
{
    kvr_json_string(json, key, NULL);
}
