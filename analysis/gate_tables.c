/*
 * gate.csv and agreement.csv: what the gate of PAGE saw in each sample (analysis/POLICIES.md,
 * page-gate).
 */
#include "analysis/result_tables.h"

static bool has_gate(const struct kvr_plan *plan)
{
    return plan->gate_score < plan->score_count;
}

static enum kvr_status write_gates(void *sink, const struct kvr_survey *survey,
                                   struct kvr_error *err)
{
    struct kvr_text text = {0};
    for (size_t g = 0; g < survey->gate_count; g++) {
        const struct kvr_gate_view *gate = &survey->gates[g];
        kvr_csv_string(&text, survey->cells[0].trace->name);
        kvr_csv_string(&text, survey->cells[0].sample->name);
        kvr_csv_exact(&text, gate->difference);
        kvr_csv_exact(&text, gate->threshold);
        kvr_csv_unsigned(&text, gate->open);
        kvr_csv_end(&text);
    }
    return kvr_rows_write(sink, &text, err);
}

static enum kvr_status write_agreements(void *sink, const struct kvr_survey *survey,
                                        struct kvr_error *err)
{
    struct kvr_text text = {0};
    for (size_t g = 0; g < survey->gate_count; g++) {
        const struct kvr_gate_view *gate = &survey->gates[g];
        for (size_t l = 0; l < gate->layer_count; l++) {
            kvr_csv_string(&text, survey->cells[0].trace->name);
            kvr_csv_string(&text, survey->cells[0].sample->name);
            kvr_csv_unsigned(&text, gate->layers[l]->number);
            kvr_csv_exact(&text, gate->agreements[l]);
            kvr_csv_exact(&text, gate->agreements_isolated[l]);
            kvr_csv_end(&text);
        }
    }
    return kvr_rows_write(sink, &text, err);
}

const struct kvr_result_table kvr_gate_table = {
    .name = "gate.csv",
    .header = "trace,sample,difference,threshold,open",
    .wanted = has_gate,
    .observer =
        {
            .surveyed = write_gates,
            .commit = kvr_rows_commit,
            .discard = kvr_rows_discard,
        },
};

const struct kvr_result_table kvr_agreement_table = {
    .name = "agreement.csv",
    .header = "trace,sample,layer,agreement,agreement_without_sinks",
    .wanted = has_gate,
    .observer =
        {
            .surveyed = write_agreements,
            .commit = kvr_rows_commit,
            .discard = kvr_rows_discard,
        },
};
