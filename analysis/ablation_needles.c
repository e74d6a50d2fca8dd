/*
 * Needles over temperatures: how often theorem 4's premise holds, what corollary 2 promises then,
 * and what mean pooling has at the same token (arXiv 2610.03135; MEASURES §7).
 */
#include "analysis/ablation_record.h"
#include "analysis/premises.h"

/* What mean pooling has at the needle's peak: the owner's value, diluted by its siblings. */
static double mean_at(const struct kvr_scored *scored, size_t count, size_t t)
{
    double sum = 0;
    for (size_t h = 0; h < scored->heads; h++)
        sum += (double)scored->vectors[h * count + t];
    return sum / (double)scored->heads;
}

static enum kvr_status add_needle(const struct kvr_ablation_place *place,
                                  const struct kvr_variant *variant, size_t needle, double *slacks)
{
    const struct kvr_cell *cell = &variant->cell;
    const struct kvr_premises premises =
        kvr_premises_of(cell, &variant->scored, cell->needles[needle], slacks);
    double mean = mean_at(&variant->scored, cell->candidates.count, premises.peak);
    const struct {
        enum kvr_ablation_measure measure;
        double value;
    } values[] = {
        {KVR_MEASURE_OWNER, premises.owner_mass},
        {KVR_MEASURE_POOLED, premises.pooled_mass},
        {KVR_MEASURE_MEAN_POOLED, mean},
        {KVR_MEASURE_BOUND, premises.bound},
        {KVR_MEASURE_PREMISE, premises.bound * 2 >= premises.owner_mass},
        {KVR_MEASURE_BEYOND_MEAN, premises.bound > mean},
        {KVR_MEASURE_BETTER, premises.pooled_mass > mean},
        {KVR_MEASURE_BROKEN, !premises.holds},
    };
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < sizeof values / sizeof *values; i++)
        status = kvr_ablation_add(place, values[i].measure, values[i].value);
    return status;
}

enum kvr_status kvr_ablate_needles(struct kvr_ablation_record *record, size_t score,
                                   const struct kvr_cell *cell, const struct kvr_scored *scored,
                                   struct kvr_error *err)
{
    const struct kvr_weighting_grid *grid = &record->ablation->grids[KVR_ABLATE_TEMPERATURE];
    struct kvr_room_mark mark = kvr_room_mark(cell->room);
    struct kvr_ablation_place place = {record, KVR_ABLATE_NEEDLES, score, 0, err};
    double *slacks = kvr_room_take(cell->room, scored->heads, sizeof *slacks, err);
    enum kvr_status status = slacks == NULL ? KVR_NO_MEMORY : KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < grid->count; i++) {
        struct kvr_variant variant;
        place.setting = i;
        status = kvr_variant_make(cell, scored, &grid->weightings[i], &variant, err);
        for (size_t n = 0; status == KVR_OK && n < cell->needle_count; n++)
            if (kvr_cell_holds_needle(cell, n))
                status = add_needle(&place, &variant, n, slacks);
    }
    kvr_room_return(cell->room, mark);
    return status;
}
