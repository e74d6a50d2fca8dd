/*
 * Ranks and their correlation. It must not know what is ranked.
 */
#include "analysis/spearman.h"

#include <math.h>
#include <stdlib.h>

#include "formats/base/memory.h"

enum kvr_status kvr_spearman_room_open(struct kvr_spearman_room *room, size_t most,
                                       struct kvr_error *err)
{
    *room = (struct kvr_spearman_room){
        .most = most,
        .sorted = kvr_alloc(most, sizeof *room->sorted, err),
        .left = kvr_alloc(most, sizeof *room->left, err),
        .right = kvr_alloc(most, sizeof *room->right, err),
    };
    bool failed = room->sorted == NULL || room->left == NULL || room->right == NULL;
    return failed ? KVR_NO_MEMORY : KVR_OK;
}

void kvr_spearman_room_close(struct kvr_spearman_room *room)
{
    free(room->sorted);
    free(room->left);
    free(room->right);
    *room = (struct kvr_spearman_room){0};
}

static int ascending(const void *left, const void *right)
{
    double a = ((const struct kvr_ranked *)left)->value;
    double b = ((const struct kvr_ranked *)right)->value;
    return (a > b) - (a < b);
}

void kvr_mid_ranks(const double *values, size_t count, struct kvr_ranked *sorted, double *doubled)
{
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct kvr_ranked){values[i], i};
    qsort(sorted, count, sizeof *sorted, ascending);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && !(sorted[end].value > sorted[first].value);)
            end++;
        for (size_t i = first; i < end; i++) /* ranks first + 1 … end */
            doubled[sorted[i].place] = (double)(first + 1 + end);
    }
}

double kvr_spearman(const double *left, const double *right, size_t count,
                    const struct kvr_spearman_room *room)
{
    double both = 0, of_left = 0, of_right = 0, centre = (double)count + 1;
    if (count < KVR_LEAST_RANKED)
        return NAN;
    kvr_mid_ranks(left, count, room->sorted, room->left);
    kvr_mid_ranks(right, count, room->sorted, room->right);
    for (size_t i = 0; i < count; i++) {
        double a = room->left[i] - centre, b = room->right[i] - centre;
        both += a * b;
        of_left += a * a;
        of_right += b * b;
    }
    double spread = sqrt(of_left * of_right);
    return spread > 0 ? both / spread : NAN;
}
