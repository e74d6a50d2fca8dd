/*
 * The gate's part of a survey: top sets per cell, agreement per layer.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "replay/survey_use.h"

enum kvr_status gate_cell_take(struct gate_cell *gate, const struct kvr_cell *cell,
                               const struct kvr_scored *scored, struct kvr_select_scratch *scratch,
                               struct kvr_error *err)
{
    size_t count = cell->candidates.count;
    gate->heads = kvr_alloc(scored->heads, sizeof *gate->heads, err);
    enum kvr_status status = gate->heads != NULL ? KVR_OK : KVR_NO_MEMORY;
    for (size_t h = 0; status == KVR_OK && h < scored->heads; h++)
        status = kvr_gate_head_of(scored->vectors + h * count, count, cell->candidates.sinks,
                                  scratch, &gate->heads[h], err);
    gate->count = scored->heads;
    return status;
}

/* The heads of a layer's groups that take part, side by side in `heads`. */
static size_t gather_heads(const struct survey_use *use, const struct gate_cell *gate_cells,
                           size_t begin, size_t end, struct kvr_gate_head *heads)
{
    size_t count = 0;
    for (size_t c = begin; c < end; c++)
        if (use->cells[c].finite && gate_cells[c].heads != NULL) {
            memcpy(heads + count, gate_cells[c].heads, gate_cells[c].count * sizeof *heads);
            count += gate_cells[c].count;
        }
    return count;
}

enum kvr_status gate_view_make(const struct kvr_survey *survey, const struct survey_use *use,
                               const struct gate_cell *gate_cells, struct kvr_gate_view *view,
                               struct kvr_error *err)
{
    size_t most_heads = 0;
    for (size_t c = 0; c < survey->cell_count; c++)
        most_heads += gate_cells[c].count;
    struct kvr_gate_head *heads = kvr_alloc(most_heads, sizeof *heads, err);
    view->layers = kvr_alloc(survey->cell_count, sizeof *view->layers, err);
    view->agreements = kvr_alloc(survey->cell_count, sizeof *view->agreements, err);
    view->agreements_isolated =
        kvr_alloc(survey->cell_count, sizeof *view->agreements_isolated, err);
    if (heads == NULL || view->layers == NULL || view->agreements == NULL ||
        view->agreements_isolated == NULL) {
        free(heads);
        return KVR_NO_MEMORY;
    }
    for (size_t begin = 0, end; begin < survey->cell_count; begin = end) {
        const struct kvr_layer *layer = survey->cells[begin].layer;
        for (end = begin; end < survey->cell_count && survey->cells[end].layer == layer;)
            end++;
        size_t count =
            layer->sliding_window == 0 ? gather_heads(use, gate_cells, begin, end, heads) : 0;
        if (count < 2)
            continue;
        view->layers[view->layer_count] = layer;
        view->agreements[view->layer_count] = kvr_gate_agreement(heads, count, false);
        view->agreements_isolated[view->layer_count++] = kvr_gate_agreement(heads, count, true);
    }
    view->difference = kvr_gate_difference(view->agreements, view->layer_count);
    view->open = !isnan(view->difference) && view->difference >= view->threshold;
    free(heads);
    return KVR_OK;
}
