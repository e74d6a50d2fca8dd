/*
 * The claims as JSON. Nothing is computed here.
 */
#include "replay/cli/claims_json.h"

#include "formats/json.h"

static void add_line(struct kvr_json *json, const struct kvr_replay_results *results,
                     const struct kvr_statement *statement, const struct kvr_claim_line *line)
{
    kvr_json_object(json, NULL);
    kvr_json_string(json, "scorer", results->scorers.items[line->scorer]);
    if (line->page_size > 0) {
        kvr_json_unsigned(json, "page_size", line->page_size);
        kvr_json_string(json, "budget", results->budgets.items[line->budget]);
    }
    for (size_t f = 0; f < KVR_CLAIM_FIGURES && statement->keys[f] != NULL; f++)
        kvr_json_number(json, statement->keys[f], line->figures[f]);
    kvr_json_number(json, "low", line->interval.low);
    kvr_json_number(json, "high", line->interval.high);
    kvr_json_unsigned(json, "samples", line->interval.samples);
    kvr_json_string(json, "verdict", kvr_verdict_name(line->verdict));
    kvr_json_end(json);
}

static void add_claim(struct kvr_json *json, const struct kvr_replay_results *results,
                      const struct kvr_claim *claim)
{
    kvr_json_object(json, NULL);
    kvr_json_string(json, "id", claim->statement->id);
    kvr_json_string(json, "statement", claim->statement->text);
    kvr_json_string(json, "source", claim->statement->source);
    kvr_json_string(json, "verdict", kvr_verdict_name(claim->verdict));
    kvr_json_string(json, "reason", claim->reason);
    if (claim->rows > 0) {
        kvr_json_unsigned(json, "rows", claim->rows);
        kvr_json_unsigned(json, "broken", claim->broken);
    }
    if (claim->line_count > 0) {
        kvr_json_unsigned(json, "settings_hold", claim->counts[KVR_HOLDS]);
        kvr_json_unsigned(json, "settings_fail", claim->counts[KVR_FAILS]);
        kvr_json_unsigned(json, "settings_open", claim->counts[KVR_OPEN]);
        kvr_json_string(json, "measure", claim->statement->measure);
        kvr_json_number(json, "threshold", claim->statement->threshold);
        kvr_json_array(json, "settings");
        for (size_t i = 0; i < claim->line_count; i++)
            add_line(json, results, claim->statement, &claim->lines[i]);
        kvr_json_end(json);
    }
    kvr_json_end(json);
}

static void add_nan(struct kvr_json *json, const struct kvr_replay_results *results,
                    const struct kvr_claims *claims)
{
    kvr_json_array(json, "not_finite");
    for (size_t i = 0; i < claims->nan_count; i++) {
        const struct kvr_nan_line *line = &claims->nan_lines[i];
        kvr_json_object(json, NULL);
        kvr_json_string(json, "scorer", results->scorers.items[line->scorer]);
        kvr_json_unsigned(json, "page_size", line->page_size);
        kvr_json_string(json, "budget", results->budgets.items[line->budget]);
        kvr_json_unsigned(json, "groups", line->groups);
        kvr_json_unsigned(json, "excluded", line->excluded);
        kvr_json_number(json, "uor", line->uor);
        kvr_json_number(json, "uor_if_counted", line->uor_careless);
        kvr_json_number(json, "disagreement", line->disagreement);
        kvr_json_number(json, "disagreement_if_counted", line->disagreement_careless);
        kvr_json_end(json);
    }
    kvr_json_end(json);
}

void kvr_claims_json(const struct kvr_replay_results *results, const struct kvr_claims *claims,
                     const struct kvr_bootstrap *bootstrap, struct kvr_text *text)
{
    struct kvr_json writer = {.text = text}, *json = &writer;
    kvr_json_object(json, NULL);
    kvr_json_list(json, "traces");
    for (size_t i = 0; i < results->traces.count; i++)
        kvr_json_string(json, NULL, results->traces.items[i]);
    kvr_json_end(json);
    kvr_json_unsigned(json, "samples", results->samples.count);
    kvr_json_bool(json, "match_physical", results->run.match_physical);
    kvr_json_number(json, "level", bootstrap->level);
    kvr_json_unsigned(json, "draws", bootstrap->draws);
    kvr_json_unsigned(json, "seed", bootstrap->seed);
    kvr_json_array(json, "claims");
    for (size_t i = 0; i < claims->count; i++)
        add_claim(json, results, &claims->claims[i]);
    kvr_json_end(json);
    add_nan(json, results, claims);
    kvr_json_end(json);
}
