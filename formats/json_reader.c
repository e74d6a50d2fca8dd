/*
 * A recursive-descent parser over a text in memory. It must not know what the JSON is for.
 */
#include "formats/json_reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/room.h"

enum { MOST_LEVELS = 64, MOST_MEMBERS = 20000 };

struct kvr_json_store {
    struct kvr_room room;
};

struct parser {
    const char *at, *end;
    unsigned line, level;
    struct kvr_room *room;
    struct kvr_error *err;
};

static enum kvr_status parse_value(struct parser *parser, struct kvr_json_value *value);

static enum kvr_status expected(const struct parser *parser, const char *what)
{
    if (parser->at == parser->end)
        return kvr_fail(parser->err, KVR_BAD_INPUT, "line %u: expected %s, found the end",
                        parser->line, what);
    int shown = 0;
    while (shown < 12 && parser->at + shown < parser->end && parser->at[shown] != '\n')
        shown++;
    return kvr_fail(parser->err, KVR_BAD_INPUT, "line %u: expected %s, found \"%.*s\"",
                    parser->line, what, shown, parser->at);
}

static void skip_blanks(struct parser *parser)
{
    while (parser->at < parser->end && strchr(" \t\r\n", *parser->at) != NULL &&
           *parser->at != '\0')
        parser->line += *parser->at++ == '\n';
}

/* Takes `mark` where it stands, after blanks. */
static bool take(struct parser *parser, char mark)
{
    skip_blanks(parser);
    if (parser->at == parser->end || *parser->at != mark)
        return false;
    parser->at++;
    return true;
}

static bool take_word(struct parser *parser, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, word, length) != 0)
        return false;
    parser->at += length;
    return true;
}

/* ------------------------------------------------------------------------------ strings */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
        return (c | 0x20) - 'a' + 10;
    return -1;
}

/* The four hexadecimal digits of \uXXXX; false if they are none. */
static bool take_unit(struct parser *parser, unsigned *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = parser->at < parser->end ? hex_digit(*parser->at) : -1;
        if (digit < 0)
            return false;
        *unit = *unit * 16 + (unsigned)digit;
        parser->at++;
    }
    return true;
}

static char *add_utf8(char *out, unsigned code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

/* What follows a backslash. Six bytes of text give at most three, so that room never lacks. */
static bool take_escape(struct parser *parser, char **out)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (parser->at == parser->end || *parser->at == '\0')
        return false;
    const char *letter = strchr(letters, *parser->at);
    if (letter != NULL) {
        *(*out)++ = meant[letter - letters];
        parser->at++;
        return true;
    }
    unsigned unit, low;
    if (*parser->at++ != 'u' || !take_unit(parser, &unit) || unit == 0)
        return false;
    if (unit >= 0xdc00 && unit <= 0xdfff)
        return false;
    if (unit >= 0xd800 && unit <= 0xdbff) {
        if (!take_word(parser, "\\u") || !take_unit(parser, &low) || low < 0xdc00 || low > 0xdfff)
            return false;
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    *out = add_utf8(*out, unit);
    return true;
}

/* Bytes of a well-formed UTF-8 sequence (Unicode 15, table 3-7), 0 if it is none. */
static size_t utf8_length(const char *text, size_t room)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t length = c[0] < 0x80   ? 1
                    : c[0] < 0xc2 ? 0
                    : c[0] < 0xe0 ? 2
                    : c[0] < 0xf0 ? 3
                    : c[0] < 0xf5 ? 4
                                  : 0;
    if (length == 0 || length > room)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    bool wrong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
                 (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f);
    return wrong ? 0 : length;
}

/* The end of the string's text, or NULL: escapes are passed over, not understood. */
static const char *string_end(const struct parser *parser)
{
    for (const char *c = parser->at; c < parser->end; c++) {
        if (*c == '"')
            return c;
        c += *c == '\\' && c + 1 < parser->end;
    }
    return NULL;
}

/* The opening quote is taken. */
static enum kvr_status parse_string(struct parser *parser, const char **text)
{
    const char *close = string_end(parser);
    if (close == NULL)
        return expected(parser, "a closing quote");
    char *out = kvr_room_take(parser->room, (size_t)(close - parser->at) + 1, 1, parser->err);
    *text = out;
    if (out == NULL)
        return KVR_NO_MEMORY;
    while (parser->at < close) {
        size_t length = utf8_length(parser->at, (size_t)(close - parser->at));
        if (*parser->at == '\\') {
            parser->at++;
            if (!take_escape(parser, &out))
                return expected(parser, "an escape of JSON before this");
        } else if (length == 0 || (unsigned char)*parser->at < 0x20) {
            return expected(parser, "UTF-8 without control characters");
        } else {
            memcpy(out, parser->at, length);
            out += length;
            parser->at += length;
        }
    }
    *out = '\0';
    parser->at = close + 1;
    return KVR_OK;
}

/* ------------------------------------------------------------------------------ values */

static const char *skip_digits(const struct parser *parser, const char *at)
{
    while (at < parser->end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* The end of the number at parser->at, or NULL. */
static const char *number_end(const struct parser *parser)
{
    const char *at = parser->at, *digits;
    at += at < parser->end && *at == '-';
    digits = at;
    at = skip_digits(parser, at);
    if (at == digits || (*digits == '0' && at > digits + 1))
        return NULL;
    if (at < parser->end && *at == '.') {
        digits = ++at;
        at = skip_digits(parser, at);
        if (at == digits)
            return NULL;
    }
    if (at < parser->end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < parser->end && (*at == '+' || *at == '-');
        digits = at;
        at = skip_digits(parser, at);
        if (at == digits)
            return NULL;
    }
    return at;
}

static enum kvr_status parse_number(struct parser *parser, struct kvr_json_value *value)
{
    const char *end = number_end(parser);
    if (end == NULL)
        return expected(parser, "a value");
    size_t length = (size_t)(end - parser->at);
    char *text = kvr_room_take(parser->room, length + 1, 1, parser->err);
    if (text == NULL)
        return KVR_NO_MEMORY;
    memcpy(text, parser->at, length);
    text[length] = '\0';
    parser->at = end;
    value->kind = KVR_JSON_NUMBER;
    value->text = text;
    value->number = strtod(text, NULL);
    return KVR_OK;
}

static enum kvr_status parse_member_key(struct parser *parser, const struct kvr_json_value *object,
                                        const char **key)
{
    if (!take(parser, '"'))
        return expected(parser, "a member's name");
    enum kvr_status status = parse_string(parser, key);
    if (status != KVR_OK)
        return status;
    if (object->count == MOST_MEMBERS)
        return expected(parser, "at most 20000 members");
    if (kvr_json_member(object, *key) != NULL)
        return kvr_fail(parser->err, KVR_BAD_INPUT, "line %u: two members are called \"%.100s\"",
                        parser->line, *key);
    return take(parser, ':') ? KVR_OK : expected(parser, "a colon");
}

/* The opening bracket is taken. */
static enum kvr_status parse_container(struct parser *parser, struct kvr_json_value *container)
{
    bool object = container->kind == KVR_JSON_OBJECT;
    char close = object ? '}' : ']';
    const struct kvr_json_value **tail = &container->first;
    if (++parser->level > MOST_LEVELS)
        return expected(parser, "at most 64 levels");
    bool more = !take(parser, close);
    while (more) {
        struct kvr_json_value *value =
            kvr_room_take_zeroed(parser->room, 1, sizeof *value, parser->err);
        if (value == NULL)
            return KVR_NO_MEMORY;
        enum kvr_status status = object ? parse_member_key(parser, container, &value->key) : KVR_OK;
        if (status == KVR_OK)
            status = parse_value(parser, value);
        if (status != KVR_OK)
            return status;
        *tail = value;
        tail = &value->next;
        container->count++;
        more = take(parser, ',');
        if (!more && !take(parser, close))
            return expected(parser,
                            object ? "a comma or a closing brace" : "a comma or a closing bracket");
    }
    parser->level--;
    return KVR_OK;
}

static enum kvr_status parse_value(struct parser *parser, struct kvr_json_value *value)
{
    if (take(parser, '{')) {
        value->kind = KVR_JSON_OBJECT;
        return parse_container(parser, value);
    }
    if (take(parser, '[')) {
        value->kind = KVR_JSON_ARRAY;
        return parse_container(parser, value);
    }
    if (take(parser, '"')) {
        value->kind = KVR_JSON_STRING;
        return parse_string(parser, &value->text);
    }
    if (take_word(parser, "null"))
        return KVR_OK;
    value->truth = take_word(parser, "true");
    if (value->truth || take_word(parser, "false")) {
        value->kind = KVR_JSON_BOOL;
        return KVR_OK;
    }
    return parse_number(parser, value);
}

/* ------------------------------------------------------------------------------ documents */

enum kvr_status kvr_json_parse(const char *text, size_t length, struct kvr_json_document *document,
                               struct kvr_error *err)
{
    *document = (struct kvr_json_document){.store = kvr_alloc(1, sizeof *document->store, err)};
    if (document->store == NULL)
        return KVR_NO_MEMORY;
    struct parser parser = {
        .at = text, .end = text + length, .line = 1, .room = &document->store->room, .err = err};
    struct kvr_json_value *root = kvr_room_take_zeroed(parser.room, 1, sizeof *root, err);
    enum kvr_status status = root != NULL ? parse_value(&parser, root) : KVR_NO_MEMORY;
    skip_blanks(&parser);
    if (status == KVR_OK && parser.at < parser.end)
        status = expected(&parser, "nothing after the value");
    if (status == KVR_OK)
        document->root = root;
    else
        kvr_json_free(document);
    return status;
}

static enum kvr_status read_file(const char *path, size_t most, char **text, size_t *length,
                                 struct kvr_error *err)
{
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return kvr_fail(err, KVR_IO, "cannot be opened: %s", strerror(errno));
    enum kvr_status status = KVR_OK;
    size_t capacity = 0;
    void *buffer = NULL;
    *length = 0;
    for (size_t got = 1; status == KVR_OK && got > 0; *length += got) {
        status = kvr_reserve(&buffer, &capacity, *length + 4096, 1, err);
        got = status == KVR_OK ? fread((char *)buffer + *length, 1, 4096, stream) : 0;
        if (*length + got > most)
            status = kvr_fail(err, KVR_BAD_INPUT, "expected at most %zu bytes", most);
    }
    if (status == KVR_OK && ferror(stream))
        status = kvr_fail(err, KVR_IO, "cannot be read: %s", strerror(errno));
    fclose(stream);
    *text = buffer;
    return status;
}

enum kvr_status kvr_json_read(const char *path, size_t most, struct kvr_json_document *document,
                              struct kvr_error *err)
{
    char *text = NULL;
    size_t length = 0;
    *document = (struct kvr_json_document){0};
    enum kvr_status status = read_file(path, most, &text, &length, err);
    if (status == KVR_OK)
        status = kvr_json_parse(text, length, document, err);
    if (status != KVR_OK)
        kvr_at(err, "\"%s\"", path);
    free(text);
    return status;
}

void kvr_json_free(struct kvr_json_document *document)
{
    if (document->store != NULL)
        kvr_room_free(&document->store->room);
    free(document->store);
    *document = (struct kvr_json_document){0};
}

const struct kvr_json_value *kvr_json_member(const struct kvr_json_value *value, const char *key)
{
    if (value == NULL || value->kind != KVR_JSON_OBJECT)
        return NULL;
    for (const struct kvr_json_value *member = value->first; member != NULL; member = member->next)
        if (strcmp(member->key, key) == 0)
            return member;
    return NULL;
}

const char *kvr_json_member_string(const struct kvr_json_value *value, const char *key)
{
    const struct kvr_json_value *member = kvr_json_member(value, key);
    return member != NULL && member->kind == KVR_JSON_STRING ? member->text : NULL;
}
