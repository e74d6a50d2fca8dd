/*
 * Building a plan item by item, strictly.
 */
#include "replay/plan.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/memory.h"
#include "formats/base/number.h"

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

static bool has_score(const struct kvr_plan *plan, const char *label)
{
    for (size_t i = 0; i < plan->score_count; i++)
        if (strcmp(plan->scores[i].label, label) == 0)
            return true;
    return false;
}

enum kvr_status kvr_plan_add_score(struct kvr_plan *plan, const char *text, struct kvr_error *err)
{
    struct kvr_score score;
    enum kvr_status status = kvr_score_parse(text, &score, err);
    if (status != KVR_OK)
        return status;
    void *scores = plan->scores;
    if (has_score(plan, text))
        status = twice("scorer", text, err);
    else
        status = grow(&scores, plan->score_count, sizeof score, err);
    if (status != KVR_OK) {
        kvr_score_free(&score);
        return status;
    }
    plan->scores = scores;
    plan->scores[plan->score_count++] = score;
    return KVR_OK;
}

enum kvr_status kvr_plan_add_policy(struct kvr_plan *plan, const char *text,
                                    struct kvr_error *err)
{
    struct kvr_policy_use use;
    enum kvr_status status = kvr_policy_parse(text, &use, err);
    if (status != KVR_OK)
        return status;
    for (size_t i = 0; i < plan->policy_count; i++)
        if (plan->policies[i].policy == use.policy)
            return twice("policy", text, err);
    void *policies = plan->policies;
    if (grow(&policies, plan->policy_count, sizeof use, err) != KVR_OK)
        return KVR_NO_MEMORY;
    plan->policies = policies;
    plan->policies[plan->policy_count++] = use;
    return KVR_OK;
}

enum kvr_status kvr_plan_add_budget(struct kvr_plan *plan, const char *label,
                                    struct kvr_error *err)
{
    struct kvr_budget budget = {.label = label};
    if (!kvr_parse_decimal(label, &budget.fraction) || budget.fraction.digits == 0 ||
        kvr_decimal_compare(budget.fraction, 1) > 0)
        return kvr_fail(err, KVR_BAD_ARGUMENT,
                        "budget \"%s\" must be a decimal fraction of the candidates, above 0 and "
                        "at most 1, such as 0.05",
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
    if (has_score(plan, text))
        return KVR_OK;
    enum kvr_status status = kvr_score_parse(text, &score, err);
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

void kvr_plan_free(struct kvr_plan *plan)
{
    for (size_t i = 0; i < plan->score_count; i++)
        kvr_score_free(&plan->scores[i]);
    free(plan->scores);
    free(plan->policies);
    free(plan->budgets);
    free(plan->page_sizes);
    free(plan->samples);
    free(plan->layers);
    *plan = (struct kvr_plan){0};
}
