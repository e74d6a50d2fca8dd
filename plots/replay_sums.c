/*
 * The pass over a replay's tables. It must not know how figures are laid out.
 */
#include "plots/replay_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bound_kinds.h"
#include "formats/base/memory.h"
#include "formats/base/text.h"
#include "formats/table_reader.h"

/* A row of any table: each table fills the members that it has. */
struct replay_row {
    const char *trace, *sample, *scorer, *policy, *budget, *class;
    uint64_t page_size, context, ratio, kept_tokens, needle, start;
    double uor, j_mean, bonferroni_lower, sandwich_lower;
    double retained_mass, future_mass, future_weight, future_peak, peak_weight, output_error;
    double weight_raw, weight_isolated, kept_fraction, needle_future, needle_future_weight, pur;
};

struct pass {
    struct kvr_replay_sums *sums;
    struct replay_row row;
    struct kvr_names needles;  /* by prompt and number */
    struct kvr_sums by_needle; /* share of groups that keep it whole; its `prompt` is the needle */
    struct needle_place *places; /* [needles] */
    size_t place_capacity;
};

struct needle_place {
    size_t prompt;
    uint64_t start;
};

#define TEXT(member)                                                                               \
    {                                                                                              \
        KVR_FIELD(struct replay_row, member, KVR_FIELD_STRING)                                     \
    }
#define WHOLE(member)                                                                              \
    {                                                                                              \
        KVR_FIELD(struct replay_row, member, KVR_FIELD_UNSIGNED)                                   \
    }
#define FIGURE(member)                                                                             \
    {                                                                                              \
        KVR_FIELD(struct replay_row, member, KVR_FIELD_FIGURE)                                     \
    }

/* ------------------------------------------------------------------------------ settings */

/* The setting and prompt of the row; members that its table lacks are NULL. */
static enum kvr_status place_row(struct pass *pass, struct kvr_setting *setting, size_t *prompt,
                                 struct kvr_error *err)
{
    struct kvr_replay_sums *sums = pass->sums;
    const struct replay_row *row = &pass->row;
    size_t trace;
    *setting = (struct kvr_setting){KVR_NO_NAME, KVR_NO_NAME, KVR_NO_NAME, row->page_size};
    enum kvr_status status = kvr_names_index(&sums->traces, row->trace, &trace, err);
    if (status == KVR_OK)
        status = kvr_names_pair(&sums->prompts, row->trace, row->sample, prompt, err);
    if (status == KVR_OK)
        status = kvr_names_index(&sums->scorers, row->scorer, &setting->scorer, err);
    if (status == KVR_OK && row->policy != NULL)
        status = kvr_names_index(&sums->policies, row->policy, &setting->policy, err);
    if (status == KVR_OK && row->budget != NULL)
        status = kvr_names_index(&sums->budgets, row->budget, &setting->budget, err);
    return status;
}

static enum kvr_status take_row(struct pass *pass, struct kvr_sums *target, size_t *prompt,
                                struct kvr_series **series, struct kvr_ratio **ratios,
                                struct kvr_error *err)
{
    struct kvr_setting setting;
    enum kvr_status status = place_row(pass, &setting, prompt, err);
    if (status == KVR_OK)
        status = kvr_sums_row(target, &setting, *prompt, series, ratios, err);
    return status;
}

/* ------------------------------------------------------------------------------ tables */

static const struct kvr_field bounds_fields[] = {
    TEXT(trace),
    TEXT(sample),
    TEXT(scorer),
    WHOLE(page_size),
    TEXT(budget),
    FIGURE(uor),
    FIGURE(j_mean),
    FIGURE(bonferroni_lower),
    FIGURE(sandwich_lower),
};

static enum kvr_status take_bounds(void *state, const struct kvr_table_reader *reader,
                                   struct kvr_error *err)
{
    struct pass *pass = state;
    const struct replay_row *row = &pass->row;
    struct kvr_series *series;
    struct kvr_ratio *ratios;
    size_t prompt;
    (void)reader;
    enum kvr_status status = take_row(pass, &pass->sums->overlaps, &prompt, &series, &ratios, err);
    if (status != KVR_OK)
        return status;
    kvr_series_offer(series, row->uor);
    kvr_ratio_add(&ratios[KVR_SUM_UOR], row->uor, 1);
    kvr_ratio_add(&ratios[KVR_SUM_D], 1 - row->j_mean, 1);
    kvr_ratio_add(&ratios[KVR_SUM_TWOFOLD], row->uor >= 2, 1);
    kvr_ratio_add(&ratios[KVR_SUM_CERT_1], kvr_bound_certifies(row->bonferroni_lower), 1);
    kvr_ratio_add(&ratios[KVR_SUM_CERT_T], kvr_bound_certifies(row->sandwich_lower), 1);
    return KVR_OK;
}

static const struct kvr_field measures_fields[] = {
    TEXT(trace),         TEXT(sample),          TEXT(scorer),         TEXT(policy),
    WHOLE(page_size),    TEXT(budget),          WHOLE(context),       WHOLE(ratio),
    WHOLE(kept_tokens),  FIGURE(retained_mass), FIGURE(future_mass),  FIGURE(future_weight),
    FIGURE(future_peak), FIGURE(peak_weight),   FIGURE(output_error),
};

/* Room for `index` in a list that starts zeroed. */
static enum kvr_status reach(void **list, size_t *capacity, size_t index, size_t size,
                             struct kvr_error *err)
{
    size_t before = *capacity;
    enum kvr_status status = kvr_reserve(list, capacity, index + 1, size, err);
    if (status == KVR_OK && *capacity > before)
        memset((char *)*list + before * size, 0, (*capacity - before) * size);
    return status;
}

static void widen(uint64_t *least, uint64_t *most, uint64_t value)
{
    *least = *most == 0 || value < *least ? value : *least;
    *most = value > *most ? value : *most;
}

/* The length of the row's prompt and the facts of its trace. */
static enum kvr_status note_facts(struct pass *pass, size_t prompt, struct kvr_error *err)
{
    struct kvr_replay_sums *sums = pass->sums;
    const struct replay_row *row = &pass->row;
    void *tokens = sums->prompt_tokens, *facts = sums->trace_facts;
    size_t trace = sums->traces.last;
    enum kvr_status status =
        reach(&tokens, &sums->prompt_capacity, prompt, sizeof *sums->prompt_tokens, err);
    sums->prompt_tokens = tokens;
    if (status == KVR_OK)
        status = reach(&facts, &sums->trace_capacity, trace, sizeof *sums->trace_facts, err);
    sums->trace_facts = facts;
    if (status != KVR_OK)
        return status;
    struct kvr_trace_facts *known = &sums->trace_facts[trace];
    known->prompts += sums->prompt_tokens[prompt] == 0;
    widen(&known->least_context, &known->most_context, row->context);
    widen(&known->least_ratio, &known->most_ratio, row->ratio);
    if (row->context > sums->prompt_tokens[prompt])
        sums->prompt_tokens[prompt] = row->context;
    return KVR_OK;
}

static enum kvr_status take_measures(void *state, const struct kvr_table_reader *reader,
                                     struct kvr_error *err)
{
    struct pass *pass = state;
    const struct replay_row *row = &pass->row;
    struct kvr_series *series;
    struct kvr_ratio *ratios;
    size_t prompt;
    if (row->context == 0)
        return kvr_table_reader_fail(reader, "context", err, "expected at least 1, found 0");
    enum kvr_status status = take_row(pass, &pass->sums->kept, &prompt, &series, &ratios, err);
    if (status == KVR_OK)
        status = note_facts(pass, prompt, err);
    if (status != KVR_OK)
        return status;
    kvr_ratio_add(&ratios[KVR_SUM_KEPT], (double)row->kept_tokens / (double)row->context, 1);
    kvr_ratio_add(&ratios[KVR_SUM_RETAINED], row->retained_mass, 1);
    kvr_ratio_add(&ratios[KVR_SUM_FUTURE_MASS], row->future_mass, row->future_weight);
    kvr_ratio_add(&ratios[KVR_SUM_FUTURE_PEAK], row->future_peak, row->peak_weight);
    kvr_ratio_add(&ratios[KVR_SUM_OUTPUT_ERROR], row->output_error, 1);
    return KVR_OK;
}

static const struct kvr_field heads_fields[] = {
    TEXT(trace), TEXT(sample), TEXT(scorer), FIGURE(weight_raw), FIGURE(weight_isolated),
    TEXT(class),
};

static enum kvr_status take_heads(void *state, const struct kvr_table_reader *reader,
                                  struct kvr_error *err)
{
    static const char *const classes[KVR_CLASSES] = {"sink", "retrieval", "contextual"};
    struct pass *pass = state;
    struct kvr_series *series;
    struct kvr_ratio *ratios;
    size_t prompt, class = 0;
    while (class < KVR_CLASSES && strcmp(pass->row.class, classes[class]) != 0)
        class ++;
    if (class == KVR_CLASSES)
        return kvr_table_reader_fail(reader, "class", err,
                                     "expected sink, retrieval or contextual, found \"%s\"",
                                     pass->row.class);
    enum kvr_status status = take_row(pass, &pass->sums->census, &prompt, &series, &ratios, err);
    if (status != KVR_OK)
        return status;
    kvr_ratio_add(&ratios[KVR_SUM_RAW + class], pass->row.weight_raw, 1);
    kvr_ratio_add(&ratios[KVR_SUM_ISOLATED + class], pass->row.weight_isolated, 1);
    return KVR_OK;
}

static const struct kvr_field layers_fields[] = {
    TEXT(trace),      TEXT(sample), TEXT(scorer), TEXT(policy),
    WHOLE(page_size), TEXT(budget), FIGURE(pur),
};

static enum kvr_status take_layers(void *state, const struct kvr_table_reader *reader,
                                   struct kvr_error *err)
{
    struct pass *pass = state;
    struct kvr_series *series;
    struct kvr_ratio *ratios;
    size_t prompt;
    (void)reader;
    enum kvr_status status = take_row(pass, &pass->sums->pages, &prompt, &series, &ratios, err);
    if (status != KVR_OK)
        return status;
    kvr_series_offer(series, pass->row.pur);
    kvr_ratio_add(&ratios[0], pass->row.pur, 1);
    return KVR_OK;
}

static const struct kvr_field excluded_fields[] = {TEXT(trace), TEXT(sample), TEXT(scorer)};

static enum kvr_status take_excluded(void *state, const struct kvr_table_reader *reader,
                                     struct kvr_error *err)
{
    struct pass *pass = state;
    struct kvr_series *series;
    struct kvr_ratio *ratios;
    size_t prompt;
    (void)reader;
    enum kvr_status status = take_row(pass, &pass->sums->excluded, &prompt, &series, &ratios, err);
    if (status == KVR_OK)
        kvr_ratio_add(&ratios[0], 1, 1);
    return status;
}

/* ------------------------------------------------------------------------------ needles */

static const struct kvr_field needles_fields[] = {
    TEXT(trace),
    TEXT(sample),
    TEXT(scorer),
    TEXT(policy),
    WHOLE(page_size),
    TEXT(budget),
    WHOLE(needle),
    WHOLE(start),
    FIGURE(kept_fraction),
    FIGURE(needle_future),
    FIGURE(needle_future_weight),
};

static enum kvr_status needle_index(struct pass *pass, size_t prompt, size_t *needle,
                                    struct kvr_error *err)
{
    struct kvr_text number = {0};
    kvr_text_unsigned(&number, pass->row.needle);
    enum kvr_status status = kvr_text_check(&number, err);
    if (status == KVR_OK)
        status = kvr_names_pair(&pass->needles, pass->sums->prompts.items[prompt], number.data,
                                needle, err);
    kvr_text_free(&number);
    void *list = pass->places;
    if (status == KVR_OK)
        status = kvr_reserve(&list, &pass->place_capacity, *needle + 1, sizeof *pass->places, err);
    pass->places = list;
    if (status == KVR_OK)
        pass->places[*needle] = (struct needle_place){prompt, pass->row.start};
    return status;
}

static enum kvr_status take_needles(void *state, const struct kvr_table_reader *reader,
                                    struct kvr_error *err)
{
    struct pass *pass = state;
    const struct replay_row *row = &pass->row;
    struct kvr_setting setting;
    struct kvr_series *series;
    struct kvr_ratio *ratios;
    size_t prompt, needle;
    (void)reader;
    enum kvr_status status = place_row(pass, &setting, &prompt, err);
    if (status == KVR_OK)
        status = kvr_sums_row(&pass->sums->needles, &setting, prompt, &series, &ratios, err);
    if (status == KVR_OK)
        status = needle_index(pass, prompt, &needle, err);
    if (status != KVR_OK)
        return status;
    kvr_ratio_add(&ratios[KVR_SUM_NEEDLE_FUTURE], row->needle_future, row->needle_future_weight);
    status = kvr_sums_row(&pass->by_needle, &setting, needle, &series, &ratios, err);
    if (status == KVR_OK)
        kvr_ratio_add(&ratios[0], row->kept_fraction >= 1, 1);
    return status;
}

/* The fifth of the prompt in which a needle starts. */
static size_t depth_of(const struct pass *pass, const struct needle_place *place)
{
    const struct kvr_replay_sums *sums = pass->sums;
    uint64_t tokens =
        place->prompt < sums->prompt_capacity ? sums->prompt_tokens[place->prompt] : 0;
    double depth = tokens > 0 ? (double)place->start * KVR_NEEDLE_DEPTHS / (double)tokens : 0;
    return depth < KVR_NEEDLE_DEPTHS ? (size_t)depth : KVR_NEEDLE_DEPTHS - 1;
}

/* Each needle's share becomes one value of its prompt; both lists have the series in one order. */
static void fold_needles(struct pass *pass)
{
    struct kvr_sums *target = &pass->sums->needles;
    for (size_t i = 0; i < pass->by_needle.count; i++) {
        const struct kvr_series *series = &pass->by_needle.series[i];
        for (size_t needle = 0; needle < series->prompt_count; needle++) {
            struct kvr_ratio groups = series->ratios[needle];
            const struct needle_place *place = &pass->places[needle];
            struct kvr_ratio *sums = target->series[i].ratios + place->prompt * target->quantities;
            double share = groups.over / groups.under;
            if (!(groups.under > 0))
                continue;
            kvr_ratio_add(&sums[KVR_SUM_ANY], groups.over > 0, 1);
            kvr_ratio_add(&sums[KVR_SUM_STRICT], share >= 1, 1);
            kvr_ratio_add(&sums[KVR_SUM_WHOLE], share, 1);
            kvr_ratio_add(&sums[KVR_SUM_DEPTH + depth_of(pass, place)], share, 1);
        }
    }
}

/* ------------------------------------------------------------------------------ the folder */

#define TABLE(name, fields, take)                                                                  \
    {                                                                                              \
        name, fields, sizeof(fields) / sizeof((fields)[0]), take                                   \
    }

/* measures.csv comes before needles.csv, whose depths need the prompts' lengths. */
static const struct {
    const char *name;
    const struct kvr_field *fields;
    size_t count;
    kvr_take_row take;
} tables[] = {
    TABLE("measures.csv", measures_fields, take_measures),
    TABLE("bounds.csv", bounds_fields, take_bounds),
    TABLE("heads.csv", heads_fields, take_heads),
    TABLE("layers.csv", layers_fields, take_layers),
    TABLE("needles.csv", needles_fields, take_needles),
    TABLE("excluded.csv", excluded_fields, take_excluded),
};

enum kvr_status kvr_replay_sums_read(const char *folder, struct kvr_replay_sums *sums,
                                     struct kvr_error *err)
{
    struct pass pass = {.sums = sums, .by_needle = {.quantities = 1}};
    *sums = (struct kvr_replay_sums){
        .overlaps = {.quantities = KVR_OVERLAP_SUMS},
        .kept = {.quantities = KVR_KEPT_SUMS},
        .needles = {.quantities = KVR_NEEDLE_SUMS},
        .census = {.quantities = KVR_CENSUS_SUMS},
        .pages = {.quantities = 1},
        .excluded = {.quantities = 1},
    };
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < sizeof tables / sizeof *tables; i++) {
        pass.row = (struct replay_row){.trace = NULL};
        status = kvr_table_each(folder, tables[i].name, tables[i].fields, tables[i].count,
                                &pass.row, tables[i].take, &pass, err);
    }
    if (status == KVR_OK)
        fold_needles(&pass);
    kvr_names_free(&pass.needles);
    kvr_sums_free(&pass.by_needle);
    free(pass.places);
    return status;
}

void kvr_replay_sums_free(struct kvr_replay_sums *sums)
{
    enum { NAMES = 5, LISTS = 6 };
    struct kvr_names *names[NAMES] = {&sums->traces, &sums->prompts, &sums->scorers,
                                      &sums->policies, &sums->budgets};
    struct kvr_sums *lists[LISTS] = {&sums->overlaps, &sums->kept,  &sums->needles,
                                     &sums->census,   &sums->pages, &sums->excluded};
    for (size_t i = 0; i < NAMES; i++)
        kvr_names_free(names[i]);
    for (size_t i = 0; i < LISTS; i++)
        kvr_sums_free(lists[i]);
    free(sums->prompt_tokens);
    free(sums->trace_facts);
    sums->prompt_tokens = NULL;
    sums->trace_facts = NULL;
    sums->prompt_capacity = sums->trace_capacity = 0;
}

struct kvr_trace_facts kvr_trace_facts_of(const struct kvr_replay_sums *sums, size_t trace)
{
    const struct kvr_trace_facts none = {.prompts = 0};
    return trace < sums->trace_capacity ? sums->trace_facts[trace] : none;
}

uint64_t kvr_census_heads(const struct kvr_sums *census, const struct kvr_series *series,
                          enum kvr_census_class class)
{
    double heads = 0;
    for (size_t prompt = 0; prompt < series->prompt_count; prompt++)
        heads += series->ratios[prompt * census->quantities + KVR_SUM_RAW + class].under;
    return (uint64_t)heads;
}

/* A setting of the scorer has one row a group. */
uint64_t kvr_replay_groups(const struct kvr_replay_sums *sums, size_t scorer)
{
    uint64_t groups = 0;
    for (size_t i = 0; i < sums->overlaps.count; i++) {
        const struct kvr_series *series = &sums->overlaps.series[i];
        if (series->setting.scorer == scorer && series->cells > groups)
            groups = series->cells;
    }
    return groups;
}

uint64_t kvr_replay_excluded(const struct kvr_replay_sums *sums, size_t scorer)
{
    for (size_t i = 0; i < sums->excluded.count; i++)
        if (sums->excluded.series[i].setting.scorer == scorer)
            return sums->excluded.series[i].cells;
    return 0;
}
