/*
 * The heads' entropy weights within their groups, raw against sink-isolated, by class: above the
 * diagonal isolation gives a head more say, below less.
 */
#include <math.h>
#include <stdio.h>

#include "plots/bin_grid.h"
#include "plots/caption.h"
#include "plots/figure_list.h"
#include "plots/head_rows.h"

enum { GRID = 64 };

struct collected {
    struct kvr_bin_grid grids[KVR_HEAD_CLASS_COUNT];
    double raw[KVR_HEAD_CLASS_COUNT], isolated[KVR_HEAD_CLASS_COUNT], heads, weights; /* sums */
};

static enum kvr_status take(void *state, const struct kvr_head_row *row, struct kvr_error *err)
{
    struct collected *c = state;
    (void)err;
    kvr_bin_grid_add(&c->grids[row->kind], row->weight_raw, row->weight_isolated);
    c->raw[row->kind] += row->weight_raw;
    c->isolated[row->kind] += row->weight_isolated;
    c->heads++;
    c->weights += row->weight_raw;
    return KVR_OK;
}

static void write_means(const struct collected *c, struct kvr_draft *draft)
{
    kvr_draft_block(draft, "means by class: raw isolated heads");
    for (size_t k = 0; k < KVR_HEAD_CLASS_COUNT; k++) {
        double count = (double)c->grids[k].count;
        if (c->grids[k].count == 0)
            continue;
        kvr_draft_value(draft, c->raw[k] / count);
        kvr_draft_value(draft, c->isolated[k] / count);
        kvr_draft_value(draft, count);
        kvr_draft_end(draft);
    }
}

static void write(const struct collected *c, const struct kvr_source *source,
                  struct kvr_draft *draft)
{
    char names[KVR_HEAD_CLASS_COUNT][64];
    const char *shown[KVR_HEAD_CLASS_COUNT];
    size_t count = 0;
    kvr_draft_say(draft,
                  "Entropy weights of query heads within their groups, from raw against from "
                  "sink-isolated entropies. Small marks are heads (a mark is the mean of "
                  "those in one cell of a fine grid, larger for more), large ones the means "
                  "of the classes; dotted is the uniform weight, dashed the diagonal.");
    for (size_t k = 0; k < KVR_HEAD_CLASS_COUNT; k++) {
        const struct kvr_bin_grid *grid = &c->grids[k];
        if (grid->count == 0)
            continue;
        kvr_draft_block(draft, "%s heads: raw isolated heads", kvr_head_class_names[k]);
        kvr_bin_grid_write(grid, draft);
        snprintf(names[count], sizeof names[count], "%s (%llu)", kvr_head_class_names[k],
                 (unsigned long long)grid->count);
        shown[count] = names[count];
        count++;
        kvr_draft_say(draft, "%llu %s heads: mean weight %.3f raw, %.3f isolated.",
                      (unsigned long long)grid->count, kvr_head_class_names[k],
                      c->raw[k] / (double)grid->count, c->isolated[k] / (double)grid->count);
    }
    write_means(c, draft);
    kvr_draft_strings(draft, "classes", shown, count);
    /* The weights of a group sum to 1, so heads / weights is the mean ratio. */
    kvr_draft_number(draft, "ratio", c->heads / c->weights);
    draft->height = 3.35;
    kvr_caption_scope(draft, source, KVR_SCOPE_SCORER, NULL);
}

enum kvr_status kvr_figure_weights(const struct kvr_source *source, struct kvr_draft *draft,
                                   struct kvr_error *err)
{
    struct collected c = {0};
    enum kvr_status status = KVR_OK;
    for (size_t k = 0; status == KVR_OK && k < KVR_HEAD_CLASS_COUNT; k++) {
        c.grids[k] = (struct kvr_bin_grid){.columns = GRID, .rows = GRID, .x_most = 1, .y_most = 1};
        status = kvr_bin_grid_open(&c.grids[k], err);
    }
    if (status == KVR_OK)
        status = kvr_each_head(source, take, &c, err);
    if (status == KVR_OK && c.weights > 0)
        write(&c, source, draft);
    for (size_t k = 0; k < KVR_HEAD_CLASS_COUNT; k++)
        kvr_bin_grid_free(&c.grids[k]);
    return status;
}
