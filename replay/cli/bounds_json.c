/*
 * The report as JSON. Nothing is computed here.
 */
#include "replay/cli/bounds_json.h"

#include <math.h>

#include "formats/json.h"

const char *kvr_violation_name(enum kvr_violation_kind kind)
{
    static const char *const names[KVR_VIOLATION_KINDS] = {"bound", "identity", "needle", "table"};
    return names[kind];
}

/* Where a tally or a certificate belongs. */
static void add_setting(struct kvr_json *json, const struct kvr_bounds_report *report,
                        size_t scorer, uint64_t page_size)
{
    kvr_json_string(json, "scorer", report->scorers.items[scorer]);
    kvr_json_unsigned(json, "page_size", page_size);
}

static void add_tally(struct kvr_json *json, const struct kvr_bounds_tally *tally)
{
    kvr_json_unsigned(json, "cells", tally->cells);
    kvr_json_array(json, "bounds");
    for (size_t b = 0; b < KVR_BOUNDS; b++) {
        const struct kvr_bound_tally *bound = &tally->bounds[b];
        double cells = (double)tally->cells;
        kvr_json_object(json, NULL);
        kvr_json_string(json, "bound", kvr_bound_kinds[b].column);
        kvr_json_string(json, "source", kvr_bound_kinds[b].source);
        kvr_json_unsigned(json, "violated", bound->violated);
        kvr_json_unsigned(json, "tightest", bound->tightest);
        kvr_json_unsigned(json, "exact", bound->exact);
        kvr_json_number(json, "mean_gap", tally->cells > 0 ? bound->gap_sum / cells : NAN);
        kvr_json_number(json, "worst_gap", tally->cells > 0 ? bound->gap_worst : NAN);
        kvr_json_end(json);
    }
    kvr_json_end(json);
}

static void add_tallies(struct kvr_json *json, const struct kvr_bounds_report *report)
{
    kvr_json_object(json, "all");
    add_tally(json, &report->all);
    kvr_json_end(json);
    kvr_json_array(json, "settings");
    for (size_t i = 0; i < report->tally_count; i++) {
        kvr_json_object(json, NULL);
        add_setting(json, report, report->tallies[i].scorer, report->tallies[i].page_size);
        add_tally(json, &report->tallies[i]);
        kvr_json_end(json);
    }
    kvr_json_end(json);
}

static void add_certificates(struct kvr_json *json, const struct kvr_bounds_report *report)
{
    static const char *const keys[KVR_LOWER_BOUNDS] = {"cert_1", "cert_T", "cauchy", "decaen",
                                                       "dawson_sankoff"};
    kvr_json_array(json, "certificates");
    for (size_t i = 0; i < report->certificate_count; i++) {
        const struct kvr_certificates *certificates = &report->certificates[i];
        kvr_json_object(json, NULL);
        add_setting(json, report, certificates->scorer, certificates->page_size);
        kvr_json_string(json, "budget", report->budgets.items[certificates->budget]);
        kvr_json_unsigned(json, "groups", certificates->groups);
        kvr_json_unsigned(json, "twofold", certificates->twofold);
        for (size_t b = 0; b < KVR_LOWER_BOUNDS; b++)
            kvr_json_unsigned(json, keys[b], certificates->certified[b]);
        kvr_json_end(json);
    }
    kvr_json_end(json);
}

static void add_needles(struct kvr_json *json, const struct kvr_bounds_report *report)
{
    kvr_json_array(json, "needle_bound");
    for (size_t i = 0; i < report->needle_count; i++) {
        const struct kvr_needle_bound *needle = &report->needles[i];
        kvr_json_object(json, NULL);
        kvr_json_string(json, "scorer", report->scorers.items[needle->scorer]);
        kvr_json_bool(json, "scores_may_be_negative", needle->signed_scores);
        kvr_json_unsigned(json, "rows", needle->rows);
        kvr_json_unsigned(json, "held", needle->held);
        kvr_json_unsigned(json, "bound_half_of_owner", needle->binding);
        kvr_json_number(json, "least_margin", needle->least_margin);
        kvr_json_end(json);
    }
    kvr_json_end(json);
}

static void add_violations(struct kvr_json *json, const struct kvr_bounds_report *report)
{
    kvr_json_object(json, "violations");
    for (size_t kind = 0; kind < KVR_VIOLATION_KINDS; kind++)
        kvr_json_unsigned(json, kvr_violation_name((enum kvr_violation_kind)kind),
                          report->violated[kind]);
    kvr_json_unsigned(json, "beyond_theorem", report->beyond_theorem);
    kvr_json_end(json);
    kvr_json_array(json, "listed");
    for (size_t i = 0; i < report->listed; i++) {
        const struct kvr_violation *violation = &report->violations[i];
        kvr_json_object(json, NULL);
        kvr_json_string(json, "kind", kvr_violation_name(violation->kind));
        kvr_json_string(json, "trace", violation->trace);
        kvr_json_string(json, "sample", violation->sample);
        kvr_json_unsigned(json, "layer", violation->layer);
        kvr_json_unsigned(json, "group", violation->group);
        kvr_json_string(json, "scorer", violation->scorer);
        if (violation->budget != NULL) {
            kvr_json_unsigned(json, "page_size", violation->page_size);
            kvr_json_string(json, "budget", violation->budget);
        } else {
            kvr_json_unsigned(json, "needle", violation->needle);
        }
        kvr_json_string(json, "column", violation->column);
        kvr_json_number(json, "value", violation->value);
        kvr_json_number(json, "measured", violation->expected);
        kvr_json_unsigned(json, "line", violation->line);
        kvr_json_end(json);
    }
    kvr_json_end(json);
}

void kvr_bounds_json(const struct kvr_bounds_report *report, struct kvr_text *text)
{
    struct kvr_json writer = {.text = text}, *json = &writer;
    kvr_json_object(json, NULL);
    kvr_json_unsigned(json, "traces", report->traces.count);
    kvr_json_unsigned(json, "samples", report->samples.count);
    kvr_json_unsigned(json, "single_vector_cells", report->single);
    kvr_json_unsigned(json, "excluded", report->excluded);
    kvr_json_unsigned(json, "least_ratio", report->least_ratio);
    kvr_json_unsigned(json, "most_ratio", report->most_ratio);
    add_tallies(json, report);
    add_certificates(json, report);
    kvr_json_object(json, "identity");
    kvr_json_unsigned(json, "cells", report->pairs);
    kvr_json_unsigned(json, "violated", report->violated[KVR_VIOLATES_IDENTITY]);
    kvr_json_number(json, "largest_difference", report->pairs > 0 ? report->pairs_worst : NAN);
    kvr_json_end(json);
    add_needles(json, report);
    add_violations(json, report);
    kvr_json_end(json);
}
