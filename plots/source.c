/*
 * Which names the tables hold, and which of them is shown. It reads whole tables once, but only
 * their names; no figure is computed here.
 */
#include "plots/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/base/outfile.h"
#include "formats/table_reader.h"

struct name_row {
    const char *trace, *scorer, *policy, *page_size, *budget;
    struct kvr_source *source;
};

static enum kvr_status take_measures(void *state, const struct kvr_table_reader *reader,
                                     struct kvr_error *err)
{
    (void)reader;
    const struct name_row *row = state;
    struct kvr_source *source = row->source;
    char pair[512];
    snprintf(pair, sizeof pair, "%.250s\n%.250s", row->policy, row->scorer);
    enum kvr_status status = kvr_labels_add(&source->traces, row->trace, NULL, err);
    if (status == KVR_OK)
        status = kvr_labels_add(&source->policies, row->policy, NULL, err);
    if (status == KVR_OK)
        status = kvr_labels_add(&source->policy_scorers, pair, NULL, err);
    if (status == KVR_OK)
        status = kvr_labels_add(&source->budgets, row->budget, NULL, err);
    return status == KVR_OK ? kvr_labels_add(&source->page_sizes, row->page_size, NULL, err)
                            : status;
}

static enum kvr_status take_bounds(void *state, const struct kvr_table_reader *reader,
                                   struct kvr_error *err)
{
    (void)reader;
    const struct name_row *row = state;
    struct kvr_source *source = row->source;
    enum kvr_status status = kvr_labels_add(&source->traces, row->trace, NULL, err);
    if (status == KVR_OK)
        status = kvr_labels_add(&source->scorers, row->scorer, NULL, err);
    if (status == KVR_OK)
        status = kvr_labels_add(&source->budgets, row->budget, NULL, err);
    return status == KVR_OK ? kvr_labels_add(&source->page_sizes, row->page_size, NULL, err)
                            : status;
}

/* Scorers are those of bounds.csv: measures.csv also names what only single policies rank by. */
static enum kvr_status read_names(struct kvr_source *source, struct kvr_error *err)
{
    struct name_row row = {.source = source};
    static const struct kvr_field fields[] = {
        {KVR_FIELD(struct name_row, trace, KVR_FIELD_STRING)},
        {KVR_FIELD(struct name_row, scorer, KVR_FIELD_STRING)},
        {KVR_FIELD(struct name_row, page_size, KVR_FIELD_STRING)},
        {KVR_FIELD(struct name_row, budget, KVR_FIELD_STRING)},
        {KVR_FIELD(struct name_row, policy, KVR_FIELD_STRING)},
    };
    enum kvr_status status = KVR_OK;
    if (kvr_source_has(source, "bounds.csv"))
        status =
            kvr_table_each(source->folder, "bounds.csv", fields, 4, &row, take_bounds, &row, err);
    if (status == KVR_OK && kvr_source_has(source, "measures.csv"))
        status = kvr_table_each(source->folder, "measures.csv", fields, 5, &row, take_measures,
                                &row, err);
    return status;
}

/* ------------------------------------------------------------------------------ what is shown */

/* *shown = asked, or the label at `otherwise`; NULL if there are no labels. */
static enum kvr_status choose(struct kvr_labels *labels, const char *what, const char *asked,
                              size_t otherwise, const char **shown, struct kvr_error *err)
{
    if (asked == NULL) {
        *shown = otherwise < labels->count ? labels->names[otherwise] : NULL;
        return KVR_OK;
    }
    size_t place = kvr_labels_find(labels, asked);
    if (place == labels->count) {
        char list[300];
        kvr_labels_list(labels, list, sizeof list);
        return kvr_fail(err, KVR_BAD_ARGUMENT, "%s: expected %s%s, found \"%.100s\"", what,
                        labels->count > 0 ? "one of " : "a table with rows", list, asked);
    }
    *shown = labels->names[place];
    return KVR_OK;
}

/* The budget that is the nearest to a tenth, by ratio. */
static size_t middle_budget(const struct kvr_labels *budgets)
{
    size_t best = 0;
    double least = HUGE_VAL;
    for (size_t i = 0; i < budgets->count; i++) {
        double budget;
        if (!kvr_parse_double(budgets->names[i], &budget) || !(budget > 0))
            continue;
        double distance = fabs(log(budget / 0.1));
        if (distance < least) {
            least = distance;
            best = i;
        }
    }
    return best;
}

static enum kvr_status settle(struct kvr_source *source, const struct kvr_plot_options *options,
                              struct kvr_error *err)
{
    size_t last = kvr_labels_find(&source->scorers, "last");
    size_t tokens = kvr_labels_find(&source->page_sizes, "1");
    enum kvr_status status = choose(&source->traces, "--trace", options->trace,
                                    source->traces.count, &source->trace, err);
    if (status == KVR_OK)
        status = choose(&source->scorers, "--scorer", options->scorer,
                        last < source->scorers.count ? last : 0, &source->scorer, err);
    if (status == KVR_OK)
        status = choose(&source->budgets, "--budget", options->budget,
                        middle_budget(&source->budgets), &source->budget, err);
    if (status == KVR_OK)
        status = choose(&source->page_sizes, "--page-size", options->page_size,
                        tokens < source->page_sizes.count ? tokens : 0, &source->page_size, err);
    return status;
}

/* ------------------------------------------------------------------------------ run, exclusions */

/* The first `size` - 1 bytes of run.json; options stand near its start. */
static bool read_run(const struct kvr_source *source, char *text, size_t size)
{
    struct kvr_error ignored;
    char *path = kvr_join_path(source->folder, "run.json", &ignored);
    FILE *stream = path != NULL ? fopen(path, "rb") : NULL;
    free(path);
    if (stream == NULL)
        return false;
    text[fread(text, 1, size - 1, stream)] = '\0';
    fclose(stream);
    return true;
}

/* What stands after "name": in the options, without quotes; false if there is nothing. */
static bool run_option(const char *text, const char *name, char *value, size_t room)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *options = strstr(text, "\"options\": ");
    const char *found = options != NULL ? strstr(options, key) : NULL;
    if (found == NULL)
        return false;
    found += strlen(key);
    found += *found == '"';
    snprintf(value, room, "%.*s", (int)strcspn(found, "\",\n }"), found);
    return true;
}

/* What is not found leaves the run unknown: figures then say less. */
static enum kvr_status read_options(struct kvr_source *source, struct kvr_error *err)
{
    enum { ROOM = 1 << 16 };
    char *text = kvr_alloc(ROOM, 1, err);
    char sinks[32], match[32];
    if (text == NULL)
        return KVR_NO_MEMORY;
    source->run_known = read_run(source, text, ROOM) &&
                        run_option(text, "sinks", sinks, sizeof sinks) &&
                        kvr_parse_unsigned(sinks, 0, UINT64_MAX, &source->sinks) &&
                        run_option(text, "alpha", source->alpha, sizeof source->alpha) &&
                        run_option(text, "match", match, sizeof match);
    source->match_physical = source->run_known && strcmp(match, "physical") == 0;
    free(text);
    return KVR_OK;
}

static enum kvr_status take_excluded(void *state, const struct kvr_table_reader *reader,
                                     struct kvr_error *err)
{
    (void)reader;
    (void)err;
    const struct name_row *row = state;
    struct kvr_source *source = row->source;
    if (!kvr_source_shows_trace(source, row->trace))
        return KVR_OK;
    source->excluded_at_all++;
    source->excluded += source->scorer != NULL && strcmp(row->scorer, source->scorer) == 0;
    return KVR_OK;
}

static enum kvr_status count_excluded(struct kvr_source *source, struct kvr_error *err)
{
    struct name_row row = {.source = source};
    static const struct kvr_field fields[] = {
        {KVR_FIELD(struct name_row, trace, KVR_FIELD_STRING)},
        {KVR_FIELD(struct name_row, scorer, KVR_FIELD_STRING)},
    };
    if (!kvr_source_has(source, "excluded.csv"))
        return KVR_OK;
    return kvr_table_each(source->folder, "excluded.csv", fields, 2, &row, take_excluded, &row,
                          err);
}

enum kvr_status kvr_source_open(const struct kvr_plot_options *options, struct kvr_source *source,
                                struct kvr_error *err)
{
    *source = (struct kvr_source){.folder = options->folder};
    if (access(options->folder, X_OK) != 0) {
        kvr_fail(err, KVR_IO, "\"%s\": expected a folder with tables, cannot be opened",
                 options->folder);
        return kvr_hint(err, "kvreplay replay TRACE -o %s writes the tables", options->folder);
    }
    enum kvr_status status = read_names(source, err);
    if (status == KVR_OK)
        status = settle(source, options, err);
    if (status == KVR_OK)
        status = count_excluded(source, err);
    return status == KVR_OK ? read_options(source, err) : status;
}

void kvr_source_free(struct kvr_source *source)
{
    kvr_labels_free(&source->traces);
    kvr_labels_free(&source->scorers);
    kvr_labels_free(&source->policies);
    kvr_labels_free(&source->budgets);
    kvr_labels_free(&source->page_sizes);
    kvr_labels_free(&source->policy_scorers);
}

/* ------------------------------------------------------------------------------ questions */

bool kvr_source_has(const struct kvr_source *source, const char *table)
{
    struct kvr_error ignored;
    char *path = kvr_join_path(source->folder, table, &ignored);
    bool found = path != NULL && access(path, F_OK) == 0;
    free(path);
    return found;
}

bool kvr_source_shows_trace(const struct kvr_source *source, const char *trace)
{
    return source->trace == NULL || strcmp(source->trace, trace) == 0;
}

bool kvr_source_shows_policy(const struct kvr_source *source, const char *policy,
                             const char *scorer)
{
    if (source->scorer == NULL || strcmp(scorer, source->scorer) == 0)
        return true;
    char pair[512];
    snprintf(pair, sizeof pair, "%.250s\n%.250s", policy, source->scorer);
    for (size_t i = 0; i < source->policy_scorers.count; i++)
        if (strcmp(source->policy_scorers.names[i], pair) == 0)
            return false;
    return true;
}

const char *kvr_source_pages(const struct kvr_source *source)
{
    if (source->page_size != NULL && strcmp(source->page_size, "1") != 0)
        return source->page_size;
    for (size_t i = 0; i < source->page_sizes.count; i++)
        if (strcmp(source->page_sizes.names[i], "1") != 0)
            return source->page_sizes.names[i];
    return NULL;
}
