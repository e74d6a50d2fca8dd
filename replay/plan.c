/*
 * Building a plan item by item, strictly.
 */
#include "replay/plan.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"
#include "formats/base/text.h"

struct kvr_plan kvr_plan_default(void)
{
    return (struct kvr_plan){
        .page_reduce = KVR_PAGE_MAX,
        .entropy = {.alpha = 2, .window = 0},
        .tau = 0.5,
        .sinks = 4,
        .sink_threshold = 0.5,
        .retrieval_mass = 0.1,
        .retrieval_support = 10,
        .nan = KVR_NAN_EXCLUDE,
        .threads = 1,
    };
}

/* Room for one more element of a small array that is grown one by one. */
static enum kvr_status grow(void **items, size_t count, size_t size, struct kvr_error *err)
{
    size_t capacity = count;
    return kvr_reserve(items, &capacity, count + 1, size, err);
}

static enum kvr_status twice(const char *what, const char *text, struct kvr_error *err)
{
    return kvr_fail(err, KVR_BAD_ARGUMENT, "%s \"%s\" is given twice", what, text);
}

/* The score called `label`, plan->score_count if there is none. */
static size_t find_score(const struct kvr_plan *plan, const char *label)
{
    size_t i = 0;
    while (i < plan->score_count && strcmp(plan->scores[i].label, label) != 0)
        i++;
    return i;
}

/* Takes over the score, or releases it if it cannot. */
static enum kvr_status append_score(struct kvr_plan *plan, struct kvr_score *score,
                                    struct kvr_error *err)
{
    void *scores = plan->scores;
    enum kvr_status status = grow(&scores, plan->score_count, sizeof *score, err);
    if (status != KVR_OK) {
        kvr_score_free(score);
        return status;
    }
    plan->scores = scores;
    plan->scores[plan->score_count++] = *score;
    return KVR_OK;
}

enum kvr_status kvr_plan_add_score(struct kvr_plan *plan, const char *text, struct kvr_error *err)
{
    struct kvr_score score;
    enum kvr_status status = kvr_score_parse(text, true, &score, err);
    if (status != KVR_OK)
        return status;
    if (find_score(plan, text) < plan->score_count) {
        kvr_score_free(&score);
        return twice("scorer", text, err);
    }
    score.asked = score.weighted = true;
    return append_score(plan, &score, err);
}

enum kvr_status kvr_plan_add_policy(struct kvr_plan *plan, const char *text, struct kvr_error *err)
{
    struct kvr_stages stages;
    enum kvr_status status = kvr_stages_parse(text, &stages, err);
    if (status != KVR_OK)
        return status;
    for (size_t i = 0; status == KVR_OK && i < plan->policy_count; i++)
        if (strcmp(plan->policies[i].label, stages.label) == 0)
            status = twice("policy", stages.label, err);
    void *policies = plan->policies;
    if (status == KVR_OK)
        status = grow(&policies, plan->policy_count, sizeof stages, err);
    if (status != KVR_OK) {
        kvr_stages_free(&stages);
        return status;
    }
    plan->policies = policies;
    plan->policies[plan->policy_count++] = stages;
    return KVR_OK;
}

enum kvr_status kvr_plan_add_budget(struct kvr_plan *plan, const char *label, struct kvr_error *err)
{
    struct kvr_budget budget = {.label = label};
    if (!kvr_parse_decimal(label, &budget.fraction) || budget.fraction.digits == 0 ||
        kvr_decimal_compare(budget.fraction, 1) > 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "budget \"%s\" must be a decimal fraction of the candidates, above 0 and "
                        "at most 1, of at most 18 digits, such as 0.05",
                        label);
    for (size_t i = 0; i < plan->budget_count; i++)
        if (strcmp(plan->budgets[i].label, label) == 0)
            return twice("budget", label, err);
    void *budgets = plan->budgets;
    if (grow(&budgets, plan->budget_count, sizeof budget, err) != KVR_OK)
        return KVR_NO_MEMORY;
    plan->budgets = budgets;
    plan->budgets[plan->budget_count++] = budget;
    return KVR_OK;
}

enum kvr_status kvr_plan_add_page_size(struct kvr_plan *plan, const char *text,
                                       struct kvr_error *err)
{
    uint64_t size;
    if (!kvr_parse_unsigned(text, 1, UINT32_MAX, &size))
        return kvr_fail(err, KVR_BAD_ARGUMENT, "page size \"%s\" must be an integer from 1 to %u",
                        text, UINT32_MAX);
    for (size_t i = 0; i < plan->page_size_count; i++)
        if (plan->page_sizes[i] == size)
            return twice("page size", text, err);
    void *sizes = plan->page_sizes;
    if (grow(&sizes, plan->page_size_count, sizeof size, err) != KVR_OK)
        return KVR_NO_MEMORY;
    plan->page_sizes = sizes;
    plan->page_sizes[plan->page_size_count++] = size;
    return KVR_OK;
}

bool kvr_plan_wants_sample(const struct kvr_plan *plan, const struct kvr_sample *sample)
{
    for (size_t i = 0; i < plan->sample_count; i++)
        if (strcmp(plan->samples[i], sample->name) == 0)
            return true;
    return plan->sample_count == 0;
}

bool kvr_plan_wants_layer(const struct kvr_plan *plan, const struct kvr_layer *layer)
{
    for (size_t i = 0; i < plan->layer_count; i++)
        if (plan->layers[i] == layer->number)
            return true;
    return plan->layer_count == 0;
}

bool kvr_plan_score_in_trace(const struct kvr_plan *plan, const struct kvr_score *score,
                             const struct kvr_trace *trace)
{
    for (size_t s = 0; s < trace->sample_count; s++) {
        const struct kvr_sample *sample = &trace->samples[s];
        if (!kvr_plan_wants_sample(plan, sample))
            continue;
        for (size_t l = 0; l < sample->layer_count; l++)
            if (kvr_plan_wants_layer(plan, &sample->layers[l]) &&
                kvr_score_available(score, sample, &sample->layers[l]))
                return true;
    }
    return false;
}

static enum kvr_status add_if_available(struct kvr_plan *plan, const char *text,
                                        const struct kvr_trace *trace, struct kvr_error *err)
{
    struct kvr_score score;
    if (find_score(plan, text) < plan->score_count)
        return KVR_OK;
    enum kvr_status status = kvr_score_parse(text, true, &score, err);
    if (status != KVR_OK)
        return status;
    bool available = kvr_plan_score_in_trace(plan, &score, trace);
    kvr_score_free(&score);
    return available ? kvr_plan_add_score(plan, text, err) : KVR_OK;
}

static enum kvr_status add_column(struct kvr_plan *plan, const char *name,
                                  const struct kvr_trace *trace, struct kvr_error *err)
{
    static const char prefix[] = "column:";
    char *text = kvr_alloc(sizeof prefix + strlen(name), 1, err);
    if (text == NULL)
        return KVR_NO_MEMORY;
    memcpy(text, prefix, sizeof prefix);
    strcat(text, name);
    enum kvr_status status = add_if_available(plan, text, trace, err);
    free(text);
    return status;
}

static int by_label(const void *a, const void *b)
{
    return strcmp(((const struct kvr_score *)a)->label, ((const struct kvr_score *)b)->label);
}

enum kvr_status kvr_plan_add_available(struct kvr_plan *plan, const struct kvr_trace *trace,
                                       struct kvr_error *err)
{
    static const char *const plain[] = {"last", "window", "accumulated"};
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < sizeof plain / sizeof *plain; i++)
        status = add_if_available(plan, plain[i], trace, err);
    for (size_t s = 0; s < trace->sample_count; s++)
        for (size_t l = 0; l < trace->samples[s].layer_count; l++) {
            const struct kvr_layer *layer = &trace->samples[s].layers[l];
            for (size_t c = 0; status == KVR_OK && c < layer->column_count; c++)
                status = add_column(plan, layer->columns[c].name, trace, err);
        }

    /* A trace that has a plain scorer which earlier traces lack must not put it behind columns. */
    size_t sorted = 0;
    for (size_t p = 0; p < sizeof plain / sizeof *plain; p++)
        for (size_t i = sorted; i < plan->score_count; i++)
            if (strcmp(plan->scores[i].label, plain[p]) == 0) {
                struct kvr_score found = plan->scores[i];
                memmove(&plan->scores[sorted + 1], &plan->scores[sorted],
                        (i - sorted) * sizeof found);
                plan->scores[sorted++] = found;
            }
    size_t columns = plan->score_count - sorted;
    if (columns > 1)
        qsort(plan->scores + sorted, columns, sizeof *plan->scores, by_label);
    return status;
}

/* The name of the first column, by name, of all traces; NULL if there is none. */
static const char *first_column(struct kvr_trace *const *traces, size_t trace_count)
{
    const char *first = NULL;
    for (size_t i = 0; i < trace_count; i++)
        for (size_t s = 0; s < traces[i]->sample_count; s++)
            for (size_t l = 0; l < traces[i]->samples[s].layer_count; l++) {
                const struct kvr_layer *layer = &traces[i]->samples[s].layers[l];
                if (layer->column_count > 0 &&
                    (first == NULL || strcmp(layer->columns[0].name, first) < 0))
                    first = layer->columns[0].name;
            }
    return first;
}

/* The index of a score that only policies need; it joins the list where it is not there yet. */
static enum kvr_status own_score(struct kvr_plan *plan, const char *text, size_t *index,
                                 struct kvr_error *err)
{
    *index = find_score(plan, text);
    if (*index < plan->score_count)
        return KVR_OK;
    struct kvr_score score;
    enum kvr_status status = kvr_score_parse(text, false, &score, err);
    return status == KVR_OK ? append_score(plan, &score, err) : status;
}

static enum kvr_status add_use(struct kvr_plan *plan, size_t score, size_t policy,
                               struct kvr_error *err)
{
    const struct kvr_stages *stages = &plan->policies[policy];
    void *uses = plan->uses;
    enum kvr_status status = grow(&uses, plan->use_count, sizeof *plan->uses, err);
    if (status != KVR_OK)
        return status;
    plan->uses = uses;
    plan->uses[plan->use_count++] = (struct kvr_use){
        .score = score,
        .policy = policy,
        .surveyed = kvr_allocate_surveys(&stages->allocate) ||
                    (stages->reduce->scope == KVR_REDUCE_LAYER &&
                     plan->scores[score].scorer->heads != KVR_PER_LAYER),
    };
    return KVR_OK;
}

static enum kvr_status add_named_use(struct kvr_plan *plan, size_t policy, const char *column,
                                     struct kvr_error *err)
{
    const struct kvr_score *score = &plan->policies[policy].score;
    struct kvr_text text = {0};
    kvr_text_string(&text, score->label);
    if (score->scorer->parameter == KVR_TAKES_NAME && score->name == NULL && column != NULL)
        kvr_text_add(&text, ":%s", column);
    size_t index = 0;
    enum kvr_status status = kvr_text_check(&text, err);
    if (status == KVR_OK)
        status = own_score(plan, text.data, &index, err);
    kvr_text_free(&text);
    if (status != KVR_OK)
        return status;
    plan->scores[index].named = true;
    plan->scores[index].weighted |= plan->policies[policy].reduce == kvr_reduce_find("entropy");
    return add_use(plan, index, policy, err);
}

enum kvr_status kvr_plan_settle(struct kvr_plan *plan, struct kvr_trace *const *traces,
                                size_t trace_count, struct kvr_error *err)
{
    const char *column = first_column(traces, trace_count);
    enum kvr_status status = KVR_OK;
    size_t asked = plan->score_count;
    bool gated = false;
    for (size_t s = 0; s < asked; s++)
        for (size_t p = 0; status == KVR_OK && p < plan->policy_count; p++)
            if (plan->policies[p].asked)
                status = add_use(plan, s, p, err);
    for (size_t p = 0; status == KVR_OK && p < plan->policy_count; p++) {
        gated |= plan->policies[p].allocate.gated;
        if (!plan->policies[p].asked)
            status = add_named_use(plan, p, column, err);
    }
    if (status == KVR_OK && gated)
        status = own_score(plan, KVR_GATE_SCORE, &plan->gate_score, err);
    if (!gated)
        plan->gate_score = plan->score_count;
    return status;
}

void kvr_plan_free(struct kvr_plan *plan)
{
    for (size_t i = 0; i < plan->score_count; i++)
        kvr_score_free(&plan->scores[i]);
    free(plan->scores);
    for (size_t i = 0; i < plan->policy_count; i++)
        kvr_stages_free(&plan->policies[i]);
    free(plan->policies);
    free(plan->uses);
    free(plan->budgets);
    free(plan->page_sizes);
    free(plan->samples);
    free(plan->layers);
    *plan = (struct kvr_plan){0};
}
