/*
 * Kept sets read back from a file of `replay --keep`: they take the place of what the oracle would
 * keep, so that every table is computed again from the file. What the file should not say ends the
 * program.
 */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

enum { NAME_ROOM = 1024 };

/* The rows of one layer in the file. */
struct rows {
    bool per_head;
    long count;
    long *offsets, *positions;
    bool *excluded; /* [groups] */
};

static void escape(const char *name, char *link)
{
    bool dot = strcmp(name, ".") == 0;
    for (; *name; name++)
        if (*name == '/' || *name == '%' || dot)
            link += sprintf(link, "%%%02X", (unsigned)*name);
        else
            *link++ = *name;
    *link = '\0';
}

static long *numbers_of(hid_t group, const char *name, long *count)
{
    hid_t dataset = H5Dopen(group, name, H5P_DEFAULT);
    if (dataset < 0)
        die(1, "%s: is not there", name);
    hid_t space = H5Dget_space(dataset);
    *count = (long)H5Sget_simple_extent_npoints(space);
    long *values = room(*count, sizeof *values);
    if (H5Sget_simple_extent_ndims(space) != 1 ||
        (*count > 0 &&
         H5Dread(dataset, H5T_NATIVE_LONG, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0))
        die(1, "%s: cannot be read", name);
    H5Sclose(space);
    H5Dclose(dataset);
    return values;
}

static void text_of(hid_t group, const char *name, char *text)
{
    char *held = NULL;
    hid_t id = H5Aopen(group, name, H5P_DEFAULT), type = H5Aget_type(id);
    if (id < 0 || H5Aread(id, type, &held) < 0)
        die(1, "attribute %s: cannot be read", name);
    snprintf(text, NAME_ROOM, "%s", held);
    H5free_memory(held);
    H5Tclose(type);
    H5Aclose(id);
}

static struct rows rows_in(hid_t group, long groups, long heads)
{
    struct rows rows = {.excluded = room(groups, sizeof(bool))};
    char per[NAME_ROOM];
    long count, total;
    text_of(group, "per", per);
    rows.per_head = strcmp(per, "head") == 0;
    rows.offsets = numbers_of(group, "offsets", &count);
    rows.positions = numbers_of(group, "positions", &total);
    rows.count = rows.per_head ? heads : groups;
    if ((!rows.per_head && strcmp(per, "group") != 0) || count != rows.count + 1 ||
        rows.offsets[0] != 0 || rows.offsets[rows.count] != total)
        die(1, "kept sets: %ld offsets per %s, %ld positions", count, per, total);
    if (H5Lexists(group, "excluded", H5P_DEFAULT) > 0) {
        long *excluded = numbers_of(group, "excluded", &count);
        for (long i = 0; i < count; i++)
            rows.excluded[excluded[i]] = true;
        free(excluded);
    }
    return rows;
}

static void free_rows(struct rows *rows)
{
    free(rows->offsets);
    free(rows->positions);
    free(rows->excluded);
}

/* Flags the pages that row i keeps; they must be whole, and ascending. Returns how many. */
static long flag_row(const struct rows *rows, long i, const struct cut *cut, bool *kept)
{
    long pages = 0, last = -1;
    bool *own = room(cut->tokens, sizeof *own), *whole = room(cut->pages, sizeof *whole);
    for (long j = rows->offsets[i]; j < rows->offsets[i + 1]; j++) {
        long t = rows->positions[j] - cut->first;
        if (t <= last || t >= cut->tokens)
            die(1, "kept sets: position %ld is out of place", rows->positions[j]);
        last = t;
        own[t] = kept[t] = true;
        whole[page_of_token(cut, t)] = true;
    }
    for (long t = 0; t < cut->tokens; t++)
        if (whole[page_of_token(cut, t)] && !own[t])
            die(1, "kept sets: candidate %ld is missing on its page", t);
    for (long p = 0; p < cut->pages; p++)
        pages += whole[p];
    free(own);
    free(whole);
    return pages;
}

static void take_group(const struct rows *rows, long g, const struct layer_plan *layer,
                       const struct cut *cut, struct decision *decision)
{
    bool present = layer->groups[g].present;
    long each = rows->count / layer->group_count;
    if (rows->excluded[g] == present)
        die(1, "kept sets: group %ld should %sbe excluded", g, present ? "not " : "");
    if (!present) {
        if (rows->offsets[g * each] != rows->offsets[(g + 1) * each])
            die(1, "kept sets: group %ld is excluded and keeps something", g);
        return;
    }
    if (each != layer->groups[g].count)
        die(1, "kept sets: %ld sets a group, expected %ld", each, layer->groups[g].count);
    memset(decision->kept, 0, (size_t)cut->tokens * sizeof(bool));
    for (long v = 0; v < each; v++) {
        long pages = flag_row(rows, g * each + v, cut, decision->kept);
        if (each > 1 && pages != decision->allotted)
            die(1, "kept sets: a head keeps %ld, expected %ld", pages, decision->allotted);
    }
    bool *held = room(cut->pages, sizeof *held);
    decision->selected = 0;
    for (long t = 0; t < cut->tokens; t++)
        if (decision->kept[t])
            held[page_of_token(cut, t)] = true;
    for (long p = 0; p < cut->pages; p++)
        decision->selected += held[p];
    free(held);
}

static void take_layer(const struct options *o, const struct layer *layer, struct layer_plan *plan,
                       hid_t cell, long page, long budget)
{
    char number[32];
    long present = 0;
    for (long g = 0; g < plan->group_count; g++)
        present += plan->groups[g].present;
    snprintf(number, sizeof number, "%ld", layer->number);
    bool there = cell >= 0 && H5Lexists(cell, number, H5P_DEFAULT) > 0;
    if (there != (present > 0))
        die(1, "kept sets: layer %s should %sbe there", number, present ? "" : "not ");
    if (!there)
        return;
    struct cut cut = cut_of(&plan->candidates, o->page_sizes[page]);
    hid_t group = H5Gopen(cell, number, H5P_DEFAULT);
    struct rows rows = rows_in(group, plan->group_count, layer->query_heads);
    for (long g = 0; g < plan->group_count; g++) {
        struct decision *decisions = plan->groups[g].decisions;
        take_group(&rows, g, plan, &cut,
                   decisions ? &decisions[page * o->budget_count + budget] : NULL);
    }
    free_rows(&rows);
    H5Gclose(group);
}

void plan_take_kept(const struct options *o, const struct sample *sample, struct plan *plan)
{
    char policy[3 * NAME_ROOM], scorer[3 * NAME_ROOM], path[8 * NAME_ROOM];
    hid_t file = H5Fopen(o->kept, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        die(1, "%s: cannot be opened", o->kept);
    escape(plan->row->policy, policy);
    escape(plan->row->score.label, scorer);
    H5Eset_auto(H5E_DEFAULT, NULL, NULL); /* a policy without any set has no group */
    for (long page = 0; page < o->page_count; page++)
        for (long budget = 0; budget < o->budget_count; budget++) {
            snprintf(path, sizeof path, "/samples/%s/%s/%s/p%ld/b%s/layers", sample->name, policy,
                     scorer, o->page_sizes[page], o->budgets[budget]);
            hid_t cell = H5Gopen(file, path, H5P_DEFAULT);
            for (long l = 0; l < plan->layer_count; l++)
                take_layer(o, &sample->layers[l], &plan->layers[l], cell, page, budget);
            if (cell >= 0)
                H5Gclose(cell);
        }
    H5Fclose(file);
}
