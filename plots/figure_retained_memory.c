/*
 * Retained mass, by which policies are commonly judged, against the memory that they really hold:
 * at one budget a policy without pooling holds the union of its heads' sets.
 */
#include "plots/caption.h"
#include "plots/figure_list.h"
#include "plots/policy_points.h"

enum kvr_status kvr_figure_retained_memory(const struct kvr_source *source, struct kvr_draft *draft,
                                           struct kvr_error *err)
{
    static const struct kvr_policy_lines lines = {
        .columns = {kvr_point_retained},
        .column_count = 1,
        .names = "retained_mass",
    };
    struct kvr_policy_points points;
    size_t written = 0;
    enum kvr_status status = kvr_policy_points_read(source, &points, err);
    if (status == KVR_OK)
        status = kvr_policy_points_write(&points, &lines, draft, &written, err);
    if (written > 0) {
        kvr_policy_lines_size(draft, written, 1.9);
        kvr_draft_say(draft,
                      "Retained mass of each policy's own score (mean over groups) against the "
                      "memory that it holds, at every budget (%s). Vertical comparison is at equal "
                      "memory. A policy's own score flatters it: compare the figure of policies.",
                      source->match_physical ? "matched physically" : "nominal quotas");
        kvr_caption_scope(draft, source, KVR_SCOPE_SCORER | KVR_SCOPE_PAGES, NULL);
    }
    kvr_policy_points_free(&points);
    return status;
}
