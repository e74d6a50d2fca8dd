/*
 * From the command line of `replay` to a plan. It must not know any file.
 */
#include "replay/cli/replay_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/number.h"
#include "formats/base/parallel.h"
#include "replay/gpu/gpu_backend.h"

const struct kvr_option kvr_replay_options[] = {
    {"-o", "DIR", "folder for the tables (required)"},
    {"--policy", "LIST", "eviction policies (independent,mean,max,page-entrokv)"},
    {"--scorer", "LIST",
     "last, window[:N], accumulated, column:NAME (all that the trace can give)"},
    {"--budget", "LIST", "fractions of the candidates that are kept (0.02,0.05,0.1,0.2,0.4)"},
    {"--page-size", "LIST", "tokens per page; 1 is token granularity (1,16)"},
    {"--page-reduce", "HOW", "score of a page over its tokens: max, mean or sum (max)"},
    {"--tau", "X", "temperature of the entropy weights (0.5)"},
    {"--alpha", "A", "order of the Renyi entropy, 1 Shannon, inf min-entropy (2)"},
    {"--sinks", "S", "first tokens that count as attention sinks (4)"},
    {"--entropy-window", "N", "entropy over the last N candidates only (all)"},
    {"--sink-threshold", "X", "sink mass from which a head is a sink head (0.5)"},
    {"--retrieval-mass", "X", "needle mass from which a head is a retrieval head (0.1)"},
    {"--retrieval-support", "X", "the same without needles: at most so many effective tokens (10)"},
    {"--match", "HOW", "nominal: equal quotas; physical: independent gets equal memory (nominal)"},
    {"--curve", "WHICH",
     "also curves.csv and dropped.csv, over quotas k: log (about 16 an e-fold) or all (none)"},
    {"--keep", "FILE.h5", "also the kept positions of every set, for engines to apply (none)"},
    {"--nan", "RULE", "groups that are not finite: exclude, zero or fail (exclude)"},
    {"--samples", "LIST", "only these samples, by name (all)"},
    {"--layers", "LIST", "only these layers, by number (all)"},
    {"--threads", "N", "threads; the tables do not depend on it (one per processor)"},
    {"--memory", "SIZE", "stay below about so much, as 500M, if one cell at a time can (no limit)"},
    {"--shard", "i/n", "only the i-th of n shares, for kvreplay merge (all)"},
    {"--resume", NULL, "keep finished samples in DIR/parts, and use those that are there"},
    {"--device", "NAME", "where to compute: auto, cpu, opencl[:N] or cuda[:N] (cpu)"},
    {"--quiet", NULL, "no summary, notes or progress"},
    {NULL, NULL, NULL},
};

enum { KVR_LEAST_MEMORY = 32000000 };

typedef enum kvr_status (*add_item)(struct kvr_plan *plan, const char *text, struct kvr_error *err);

/* Adds every item of a list option, or of its default. *kept, if asked for, keeps the items. */
static enum kvr_status add_list(struct kvr_plan *plan, const char *option, const char *text,
                                add_item add, char ***kept, struct kvr_error *err)
{
    char **items = NULL;
    size_t count = 0;
    enum kvr_status status = kvr_argument_list(option, text, &items, &count, err);
    for (size_t i = 0; status == KVR_OK && i < count; i++) {
        status = add(plan, items[i], err);
        if (status != KVR_OK)
            kvr_at(err, "%s", option);
    }
    if (kept != NULL)
        *kept = items;
    else
        free(items);
    return status;
}

/* Sets *value to the place of `text` among `names`; NULL leaves it. */
static enum kvr_status choose(const char *option, const char *text, const char *const *names,
                              unsigned count, unsigned *value, struct kvr_error *err)
{
    if (text == NULL)
        return KVR_OK;
    char list[128] = "";
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            *value = i;
            return KVR_OK;
        }
        strncat(list, i > 0 ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, names[i], sizeof list - strlen(list) - 1);
    }
    return kvr_fail(err, KVR_BAD_ARGUMENT, "%s: \"%s\" is none of %s", option, text, list);
}

static enum kvr_status parse_alpha(const char *text, double *alpha, struct kvr_error *err)
{
    if (text == NULL)
        return KVR_OK;
    if (strcmp(text, "inf") == 0) {
        *alpha = HUGE_VAL;
        return KVR_OK;
    }
    if (!kvr_parse_double(text, alpha) || !(*alpha > 0))
        return kvr_fail(err, KVR_BAD_ARGUMENT, "--alpha: \"%s\" must be a number above 0, or inf",
                        text);
    return KVR_OK;
}

static enum kvr_status parse_choices(const struct kvr_command *command,
                                     const struct kvr_arguments *arguments, struct kvr_plan *plan,
                                     struct kvr_error *err)
{
    static const char *const reduces[] = {"max", "mean", "sum"};
    static const char *const matches[] = {"nominal", "physical"};
    static const char *const rules[] = {"exclude", "zero", "fail"};
    static const char *const curves[] = {"none", "log", "all"};
    unsigned reduce = KVR_PAGE_MAX, match = 0, rule = KVR_NAN_EXCLUDE;
    unsigned curve = KVR_CURVE_NONE;
    const struct {
        const char *option;
        const char *const *names;
        unsigned count;
        unsigned *value;
    } choices[] = {
        {"--page-reduce", reduces, 3, &reduce},
        {"--match", matches, 2, &match},
        {"--nan", rules, 3, &rule},
        {"--curve", curves, 3, &curve},
    };
    const char *device = kvr_argument(command, arguments, "--device");
    enum kvr_status status = device != NULL ? kvr_gpu_check_name(device, err) : KVR_OK;
    if (status != KVR_OK)
        return kvr_at(err, "--device");
    for (size_t i = 0; status == KVR_OK && i < sizeof choices / sizeof *choices; i++)
        status = choose(choices[i].option, kvr_argument(command, arguments, choices[i].option),
                        choices[i].names, choices[i].count, choices[i].value, err);
    plan->page_reduce = (enum kvr_page_reduce)reduce;
    plan->match_physical = match == 1;
    plan->nan = (enum kvr_nan_rule)rule;
    plan->curve = (enum kvr_curve_quotas)curve;
    return status;
}

static enum kvr_status parse_numbers(const struct kvr_command *command,
                                     const struct kvr_arguments *arguments, struct kvr_plan *plan,
                                     struct kvr_error *err)
{
    uint64_t threads = kvr_processor_count();
    const struct {
        const char *option;
        uint64_t least, most, *value;
    } integers[] = {
        {"--sinks", 0, UINT32_MAX, &plan->sinks},
        {"--entropy-window", 1, UINT32_MAX, &plan->entropy.window},
        {"--threads", 1, 1024, &threads},
    };
    const struct {
        const char *option;
        double least, most, *value;
    } doubles[] = {
        {"--tau", 1e-6, 1e6, &plan->tau},
        {"--sink-threshold", 0, 1, &plan->sink_threshold},
        {"--retrieval-mass", 0, 1, &plan->retrieval_mass},
        {"--retrieval-support", 0, 1e12, &plan->retrieval_support},
    };
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < sizeof integers / sizeof *integers; i++)
        status = kvr_argument_unsigned(integers[i].option,
                                       kvr_argument(command, arguments, integers[i].option),
                                       integers[i].least, integers[i].most, integers[i].value, err);
    for (size_t i = 0; status == KVR_OK && i < sizeof doubles / sizeof *doubles; i++)
        status = kvr_argument_double(doubles[i].option,
                                     kvr_argument(command, arguments, doubles[i].option),
                                     doubles[i].least, doubles[i].most, doubles[i].value, err);
    if (status == KVR_OK)
        status =
            parse_alpha(kvr_argument(command, arguments, "--alpha"), &plan->entropy.alpha, err);
    plan->threads = (unsigned)threads;
    return status;
}

/* "500M": decimal units. What a program of this kind needs at all is the least. */
static enum kvr_status parse_memory(const char *text, size_t *bytes, struct kvr_error *err)
{
    static const struct {
        char letter;
        uint64_t factor;
    } units[] = {{'k', 1000}, {'M', 1000000}, {'G', 1000000000}, {'T', 1000000000000}};
    uint64_t number = 0, factor = 1;
    size_t length = text != NULL ? strlen(text) : 0;
    char digits[24];
    if (text == NULL)
        return KVR_OK;
    for (size_t i = 0; i < sizeof units / sizeof *units && length > 0; i++)
        if (text[length - 1] == units[i].letter) {
            factor = units[i].factor;
            length--;
            break;
        }
    if (length < sizeof digits) {
        memcpy(digits, text, length);
        digits[length] = '\0';
        if (kvr_parse_unsigned(digits, 1, SIZE_MAX / factor, &number) &&
            number * factor >= KVR_LEAST_MEMORY) {
            *bytes = (size_t)(number * factor);
            return KVR_OK;
        }
    }
    return kvr_fail(err, KVR_BAD_ARGUMENT,
                    "--memory: expected a size of at least 32M, as 500M or 2G, found \"%s\"", text);
}

static enum kvr_status parse_filters(const struct kvr_command *command,
                                     const struct kvr_arguments *arguments, struct kvr_plan *plan,
                                     struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    const char *samples = kvr_argument(command, arguments, "--samples");
    if (samples != NULL)
        status = kvr_argument_list("--samples", samples, &plan->samples, &plan->sample_count, err);
    const char *layers = kvr_argument(command, arguments, "--layers");
    if (status != KVR_OK || layers == NULL)
        return status;
    char **items = NULL;
    status = kvr_argument_list("--layers", layers, &items, &plan->layer_count, err);
    if (status == KVR_OK) {
        plan->layers = calloc(plan->layer_count, sizeof *plan->layers);
        if (plan->layers == NULL)
            status = kvr_fail(err, KVR_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; status == KVR_OK && i < plan->layer_count; i++) {
        uint64_t number = 0;
        status = kvr_argument_unsigned("--layers", items[i], 0, UINT32_MAX, &number, err);
        plan->layers[i] = (uint32_t)number;
    }
    free(items);
    return status;
}

const struct kvr_replay_defaults kvr_replay_defaults = {
    .policies = "independent,mean,max,page-entrokv",
    .budgets = "0.02,0.05,0.1,0.2,0.4",
    .page_sizes = "1,16",
};

/* The lists of what is replayed, as given or by default. */
static enum kvr_status parse_lists(const struct kvr_command *command,
                                   const struct kvr_arguments *arguments,
                                   const struct kvr_replay_defaults *defaults,
                                   struct kvr_replay_request *request, struct kvr_error *err)
{
    const struct {
        const char *option, *otherwise;
        add_item add;
        char ***kept;
    } lists[] = {
        {"--scorer", NULL, kvr_plan_add_score, NULL},
        {"--policy", defaults->policies, kvr_plan_add_policy, NULL},
        {"--budget", defaults->budgets, kvr_plan_add_budget, &request->budget_list},
        {"--page-size", defaults->page_sizes, kvr_plan_add_page_size, NULL},
    };
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; status == KVR_OK && i < sizeof lists / sizeof *lists; i++) {
        const char *text = kvr_argument(command, arguments, lists[i].option);
        if (text == NULL)
            text = lists[i].otherwise;
        if (text != NULL)
            status =
                add_list(&request->plan, lists[i].option, text, lists[i].add, lists[i].kept, err);
    }
    return status;
}

enum kvr_status kvr_replay_request_parse(const struct kvr_command *command,
                                         const struct kvr_arguments *arguments,
                                         const struct kvr_replay_defaults *defaults,
                                         struct kvr_replay_request *request, struct kvr_error *err)
{
    *request = (struct kvr_replay_request){.plan = kvr_plan_default()};
    struct kvr_plan *plan = &request->plan;
    request->default_scores = kvr_argument(command, arguments, "--scorer") == NULL;
    enum kvr_status status = parse_lists(command, arguments, defaults, request, err);
    if (status == KVR_OK)
        status = parse_choices(command, arguments, plan, err);
    if (status == KVR_OK)
        status = parse_numbers(command, arguments, plan, err);
    if (status == KVR_OK)
        status = parse_memory(kvr_argument(command, arguments, "--memory"), &plan->memory, err);
    return status == KVR_OK ? parse_filters(command, arguments, plan, err) : status;
}

void kvr_replay_request_free(struct kvr_replay_request *request)
{
    kvr_plan_free(&request->plan);
    free(request->budget_list);
    *request = (struct kvr_replay_request){0};
}
