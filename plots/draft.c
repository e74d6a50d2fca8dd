/*
 * Text of data, facts and caption. It must not know which figure it is for.
 */
#include "plots/draft.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add_formatted(struct kvr_text *text, const char *format, va_list arguments)
{
    char line[1024];
    vsnprintf(line, sizeof line, format, arguments);
    kvr_text_string(text, line);
}

static void add_number(struct kvr_text *text, double value)
{
    if (isfinite(value))
        kvr_text_figure(text, value);
    else
        kvr_text_string(text, "NaN");
}

/* ------------------------------------------------------------------------------ data */

void kvr_draft_block(struct kvr_draft *draft, const char *columns, ...)
{
    va_list arguments;
    va_start(arguments, columns);
    if (draft->blocks++ > 0)
        kvr_text_string(&draft->data, "\n\n");
    kvr_text_string(&draft->data, "# ");
    size_t start = draft->data.length;
    add_formatted(&draft->data, columns, arguments);
    va_end(arguments);
    for (size_t i = start; draft->data.data != NULL && i < draft->data.length; i++)
        if ((unsigned char)draft->data.data[i] < ' ')
            draft->data.data[i] = ' ';
    kvr_text_string(&draft->data, "\n");
}

static void separate(struct kvr_text *data)
{
    if (data->length > 0 && data->data[data->length - 1] != '\n')
        kvr_text_string(data, " ");
}

void kvr_draft_value(struct kvr_draft *draft, double value)
{
    separate(&draft->data);
    add_number(&draft->data, value);
}

/* Characters that gnuplot's markup or LaTeX would take for their own, and what stands for them. A
   backslash before the first kind makes both show it; the second kind has no such spelling. */
static void add_shown(struct kvr_text *out, char c)
{
    if (strchr("_{}%#&$", c) != NULL)
        kvr_text_bytes(out, "\\", 1);
    else if ((unsigned char)c < ' ' || strchr("^~@\\`\"", c) != NULL)
        c = '-';
    kvr_text_bytes(out, &c, 1);
}

void kvr_draft_name(struct kvr_draft *draft, const char *name)
{
    separate(&draft->data);
    kvr_text_string(&draft->data, "\"");
    for (const char *c = name; *c != '\0'; c++)
        add_shown(&draft->data, *c);
    kvr_text_string(&draft->data, "\"");
}

void kvr_draft_end(struct kvr_draft *draft)
{
    kvr_text_string(&draft->data, "\n");
}

/* ------------------------------------------------------------------------------ facts */

void kvr_gnuplot_quote(struct kvr_text *out, const char *text)
{
    kvr_text_string(out, "'");
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'')
            kvr_text_string(out, "'");
        add_shown(out, *c);
    }
    kvr_text_string(out, "'");
}

void kvr_draft_number(struct kvr_draft *draft, const char *name, double value)
{
    kvr_text_add(&draft->facts, "%s = ", name);
    add_number(&draft->facts, value);
    kvr_text_string(&draft->facts, "\n");
}

void kvr_draft_numbers(struct kvr_draft *draft, const char *name, const double *values,
                       size_t count)
{
    kvr_text_add(&draft->facts, "array %s[%zu] = [", name, count);
    for (size_t i = 0; i < count; i++) {
        kvr_text_string(&draft->facts, i > 0 ? ", " : "");
        add_number(&draft->facts, values[i]);
    }
    kvr_text_string(&draft->facts, "]\n");
}

void kvr_draft_string(struct kvr_draft *draft, const char *name, const char *value)
{
    kvr_text_add(&draft->facts, "%s = ", name);
    kvr_gnuplot_quote(&draft->facts, value);
    kvr_text_string(&draft->facts, "\n");
}

void kvr_draft_strings(struct kvr_draft *draft, const char *name, const char *const *values,
                       size_t count)
{
    kvr_text_add(&draft->facts, "array %s[%zu] = [", name, count);
    for (size_t i = 0; i < count; i++) {
        kvr_text_string(&draft->facts, i > 0 ? ", " : "");
        kvr_gnuplot_quote(&draft->facts, values[i]);
    }
    kvr_text_string(&draft->facts, "]\n");
}

/* ------------------------------------------------------------------------------ words */

void kvr_draft_say(struct kvr_draft *draft, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (draft->caption.length > 0)
        kvr_text_string(&draft->caption, " ");
    add_formatted(&draft->caption, format, arguments);
    va_end(arguments);
}

enum kvr_status kvr_draft_skip(struct kvr_draft *draft, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    kvr_text_clear(&draft->reason);
    add_formatted(&draft->reason, format, arguments);
    va_end(arguments);
    return KVR_OK;
}

enum kvr_status kvr_draft_check(const struct kvr_draft *draft, struct kvr_error *err)
{
    enum kvr_status status = kvr_text_check(&draft->data, err);
    if (status == KVR_OK)
        status = kvr_text_check(&draft->facts, err);
    if (status == KVR_OK)
        status = kvr_text_check(&draft->caption, err);
    return status == KVR_OK ? kvr_text_check(&draft->reason, err) : status;
}

void kvr_draft_free(struct kvr_draft *draft)
{
    kvr_text_free(&draft->data);
    kvr_text_free(&draft->facts);
    kvr_text_free(&draft->caption);
    kvr_text_free(&draft->reason);
    *draft = (struct kvr_draft){0};
}
