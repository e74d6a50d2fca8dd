/*
 * One walk over the text, replacing what it knows. gnuplot writes the same few spellings always;
 * what is not recognised stays as it is.
 */
#include "plots/svg_polish.h"

#include <string.h>

struct replacement {
    const char *from, *to;
};

/* Longest first where one starts another. */
static const struct replacement replacements[] = {
    {" color=\"black\"", ""},
    {" color=\"white\"", ""},
    {"stroke='black'", "stroke='currentColor'"},
    {"fill=\"black\"", "fill=\"currentColor\""},
    {"fill = 'black'", "fill = 'currentColor'"},
    {"rgb(  0,   0,   0)", "currentColor"},
    {"rgb(0,0,0)", "currentColor"},
    {"font-family=\"Helvetica\"", "font-family=\"Helvetica, Arial, sans-serif\""},
    {"standalone=\"no\"", ""},
};

/* Where ids are made and used; what follows is the id. */
static const char *const id_places[] = {" id=\"", " id='", "href='#", "href=\"#", "url(#"};

static const struct replacement *find_replacement(const char *at)
{
    for (size_t i = 0; i < sizeof replacements / sizeof *replacements; i++)
        if (strncmp(at, replacements[i].from, strlen(replacements[i].from)) == 0)
            return &replacements[i];
    return NULL;
}

static const char *find_id_place(const char *at)
{
    for (size_t i = 0; i < sizeof id_places / sizeof *id_places; i++)
        if (strncmp(at, id_places[i], strlen(id_places[i])) == 0)
            return id_places[i];
    return NULL;
}

static void add_escaped(struct kvr_text *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '&' || *text == '<' || *text == '>')
            kvr_text_string(out, *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : "&gt;");
        else
            kvr_text_bytes(out, text, 1);
    }
}

static const char *add_title(struct kvr_text *out, const char *title, const char *at)
{
    const char *end = strstr(at, "</title>");
    if (end == NULL)
        return at;
    kvr_text_string(out, "<title>");
    add_escaped(out, title);
    return end;
}

void kvr_svg_polish(const char *svg, const char *name, const char *title, struct kvr_text *out)
{
    const char *at = svg;
    while (*at != '\0') {
        const struct replacement *replacement = NULL;
        const char *place = NULL;
        const char *next = at + 1;
        if (strncmp(at, "<title>", 7) == 0)
            next = add_title(out, title, at);
        else if ((replacement = find_replacement(at)) != NULL) {
            kvr_text_string(out, replacement->to);
            next = at + strlen(replacement->from);
        } else if ((place = find_id_place(at)) != NULL) {
            next = at + strlen(place);
            kvr_text_string(out, place);
            kvr_text_add(out, "%s-", name);
        } else {
            size_t plain = 1 + strcspn(at + 1, " sfr<hu");
            kvr_text_bytes(out, at, plain);
            next = at + plain;
        }
        if (next == at) { /* a title without an end */
            kvr_text_bytes(out, at, 1);
            next = at + 1;
        }
        at = next;
    }
}
