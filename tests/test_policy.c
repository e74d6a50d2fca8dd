/*
 * The rows of POLICIES, written out once more, and compositions on the command line.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "replay/plan.h"
#include "tests/suites.h"

/* As the table of POLICIES has them; a fraction below 0 is none, a count below 0 too. */
static const struct {
    const char *name, *score, *reduce;
    enum kvr_smooth_kind smooth;
    uint32_t width;
    uint64_t sinks, recent;
    double recent_fraction;
    enum kvr_allocate_kind allocate;
    double parameter;
    double gate; /* below 0: none */
    bool page_sum;
} rows[] = {
    {"independent", "asked", "head", 0, 0, 0, 0, -1, 0, 0, -1, false},
    {"mean", "asked", "mean", 0, 0, 0, 0, -1, 0, 0, -1, false},
    {"max", "asked", "max", 0, 0, 0, 0, -1, 0, 0, -1, false},
    {"page-entrokv", "asked", "entropy", 0, 0, 0, 0, -1, 0, 0, -1, false},
    {"streaming-llm", "recency", "layer", 0, 0, 4, 0, -1, 0, 0, -1, false},
    {"random", "random:0", "layer", 0, 0, 0, 0, -1, 0, 0, -1, false},
    {"h2o", "accumulated", "mean", 0, 0, 0, 0, 0.5, 0, 0, -1, false},
    {"observed", "observed", "mean", 0, 0, 0, 0, -1, 0, 0, -1, false},
    {"tova", "last", "layer", 0, 0, 0, 0, -1, 0, 0, -1, false},
    {"snapkv", "window:32", "mean", KVR_SMOOTH_AVG, 5, 0, 32, -1, 0, 0, -1, false},
    {"snapkv-heads", "window:32", "head", KVR_SMOOTH_AVG, 5, 0, 32, -1, 0, 0, -1, false},
    {"pyramidkv", "window:32", "mean", KVR_SMOOTH_AVG, 5, 0, 32, -1, KVR_ALLOCATE_PYRAMID, 20, -1,
     false},
    {"ada-snapkv", "window:32", "mean", KVR_SMOOTH_AVG, 5, 0, 32, -1, KVR_ALLOCATE_LAYER, 0.2, -1,
     false},
    {"page-gate", "window:32", "mean", KVR_SMOOTH_AVG, 5, 0, 32, -1, 0, 0, 0.07, false},
    {"model-mass", "window:32", "mean", 0, 0, 4, 0, -1, KVR_ALLOCATE_MODEL, 0.2, -1, false},
    {"knorm", "key-norm", "mean", 0, 0, 0, 0, -1, 0, 0, -1, false},
    {"keydiff", "key-diff", "mean", 0, 0, 0, 0, -1, 0, 0, -1, false},
    {"learned", "column", "mean", 0, 0, 0, 0, -1, KVR_ALLOCATE_MODEL, 0, -1, false},
    {"clairvoyant", "future", "mean", 0, 0, 0, 0, -1, 0, 0, -1, true},
};
enum { ROWS = sizeof rows / sizeof *rows };

static struct kvr_stages parsed(const char *text)
{
    struct kvr_stages stages;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_stages_parse(text, &stages, &err) == KVR_OK, "%s", err.message);
    return stages;
}

START_TEST(test_rows)
{
    struct kvr_stages stages = parsed(rows[_i].name);
    ck_assert_str_eq(stages.label, rows[_i].name);
    ck_assert(stages.asked == (strcmp(rows[_i].score, "asked") == 0));
    if (!stages.asked)
        ck_assert_str_eq(stages.score.label, rows[_i].score);
    ck_assert_str_eq(stages.reduce->name, rows[_i].reduce);
    ck_assert_int_eq(stages.smooth.kind, rows[_i].smooth);
    ck_assert_uint_eq(stages.smooth.width, rows[_i].width);
    ck_assert_uint_eq(stages.protect.sinks, rows[_i].sinks);
    ck_assert_uint_eq(stages.protect.recent, rows[_i].recent);
    ck_assert(stages.protect.has_fraction == (rows[_i].recent_fraction >= 0));
    if (stages.protect.has_fraction)
        ck_assert_double_eq(kvr_decimal_double(stages.protect.fraction), rows[_i].recent_fraction);
    ck_assert_int_eq(stages.allocate.kind, rows[_i].allocate);
    if (stages.allocate.kind != KVR_ALLOCATE_UNIFORM)
        ck_assert_double_eq(kvr_decimal_double(stages.allocate.parameter), rows[_i].parameter);
    ck_assert(stages.allocate.gated == (rows[_i].gate >= 0));
    if (stages.allocate.gated)
        ck_assert_double_eq(stages.allocate.threshold, rows[_i].gate);
    ck_assert(stages.page_sum == rows[_i].page_sum);
    kvr_stages_free(&stages);
}
END_TEST

/* The registry has these rows, in this order, and no other. */
START_TEST(test_registry)
{
    size_t count = 0;
    for (const struct kvr_policy *policy = kvr_policies; policy->name != NULL; policy++, count++) {
        ck_assert_uint_lt(count, ROWS);
        ck_assert_str_eq(policy->name, rows[count].name);
        ck_assert(policy->summary[0] != '\0' && policy->source[0] != '\0');
    }
    ck_assert_uint_eq(count, ROWS);
}
END_TEST

START_TEST(test_compositions)
{
    struct kvr_stages stages = parsed("mine=window:16/mean/max:7/sinks:4+recent:32/layer:0.5");
    ck_assert_str_eq(stages.label, "mine");
    ck_assert_str_eq(stages.score.label, "window:16");
    ck_assert_uint_eq(stages.score.number, 16);
    ck_assert_int_eq(stages.smooth.kind, KVR_SMOOTH_MAX);
    ck_assert_uint_eq(stages.protect.sinks, 4);
    ck_assert_int_eq(stages.allocate.kind, KVR_ALLOCATE_LAYER);
    kvr_stages_free(&stages);

    stages = parsed("short=asked"); /* the stages at the end may be left out */
    ck_assert(stages.asked);
    ck_assert_str_eq(stages.reduce->name, "mean");
    ck_assert_int_eq(stages.smooth.kind, KVR_SMOOTH_NONE);
    ck_assert(!kvr_protect_any(&stages.protect));
    ck_assert(!kvr_allocate_surveys(&stages.allocate));
    kvr_stages_free(&stages);

    stages = parsed("learned:gate");
    ck_assert_str_eq(stages.label, "learned:gate");
    ck_assert_str_eq(stages.score.label, "column:gate");
    ck_assert_str_eq(stages.score.name, "gate");
    ck_assert_int_eq(stages.allocate.kind, KVR_ALLOCATE_MODEL);
    kvr_stages_free(&stages);

    stages = parsed("g=last/head/none/none/gate:0.1+pyramid:2");
    ck_assert(stages.allocate.gated);
    ck_assert_int_eq(stages.allocate.kind, KVR_ALLOCATE_PYRAMID);
    kvr_stages_free(&stages);
}
END_TEST

static const struct {
    const char *text, *message;
} refused[] = {
    {"", "\"\" is not a policy"},
    {"snap", "\"snap\" is not a policy; there are independent, mean"},
    {"mean:3", "\"mean:3\" is not a policy"},
    {"learned:", "is not a score"},
    {"=last/mean", "a composed policy needs a name"},
    {"x=", "\"\" is not a score"},
    {"x=first", "\"first\" is not a score; there are last, window[:N]"},
    {"x=window:0", "N must be an integer from 1"},
    {"x=random:-1", "SEED must be an integer"},
    {"x=last/median", "\"median\" is not a reduction; there are head, mean"},
    {"x=last/", "\"\" is not a reduction"},
    {"x=last/mean/avg:2", "\"avg:2\" is not a smoothing"},
    {"x=last/mean/none/all", "\"all\" is not a protection"},
    {"x=last/mean/none/none/fair", "\"fair\" is not an allocation"},
    {"x=last/mean/none/none/uniform/more", "at most five stages"},
    {"x=last/head/none/none/layer:0.2", "groups compete by one vector each"},
    {"x=last/head/none/none/gate:0.1+model:0.2", "groups compete by one vector each"},
};

START_TEST(test_compositions_that_are_refused)
{
    struct kvr_stages stages;
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_stages_parse(refused[_i].text, &stages, &err) == KVR_BAD_ARGUMENT,
                  "\"%s\" passed", refused[_i].text);
    ck_assert_msg(strstr(err.message, refused[_i].message) != NULL, "\"%s\": %s", refused[_i].text,
                  err.message);
    ck_assert_int_eq(kvr_stages_parse(refused[_i].text, &stages, NULL), KVR_BAD_ARGUMENT);
}
END_TEST

/* ------------------------------------------------------------------------- uses */

static struct kvr_plan plan;

static void start(void)
{
    plan = kvr_plan_default();
}

static void end(void)
{
    kvr_plan_free(&plan);
}

static void add_policies(const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct kvr_error err = KVR_ERROR_NONE;
        ck_assert_msg(kvr_plan_add_policy(&plan, texts[i], &err) == KVR_OK, "%s", err.message);
    }
}

static void assert_use(size_t use, const char *score, const char *policy, bool surveyed)
{
    const struct kvr_use *found = &plan.uses[use];
    ck_assert_str_eq(plan.scores[found->score].label, score);
    ck_assert_str_eq(plan.policies[found->policy].label, policy);
    ck_assert(found->surveyed == surveyed);
}

/* Asked scores with every policy that ranks by them; then policies with scores of their own. */
START_TEST(test_uses_follow_scores_then_policies)
{
    static const char *const policies[] = {"tova",        "mean",   "random",
                                           "independent", "snapkv", "pyramidkv"};
    ck_assert_int_eq(kvr_plan_add_score(&plan, "window:32", NULL), KVR_OK);
    ck_assert_int_eq(kvr_plan_add_score(&plan, "accumulated", NULL), KVR_OK);
    add_policies(policies, 6);
    ck_assert_int_eq(kvr_plan_settle(&plan, NULL, 0, NULL), KVR_OK);
    ck_assert_uint_eq(plan.use_count, 8);
    assert_use(0, "window:32", "mean", false);
    assert_use(1, "window:32", "independent", false);
    assert_use(2, "accumulated", "mean", false);
    assert_use(3, "accumulated", "independent", false);
    assert_use(4, "last", "tova", true);        /* pools over the layer */
    assert_use(5, "random:0", "random", false); /* one vector a layer as it is */
    assert_use(6, "window:32", "snapkv", false);
    assert_use(7, "window:32", "pyramidkv", true);
    ck_assert_uint_eq(plan.score_count, 4); /* window:32 is there already */
    ck_assert(plan.scores[0].asked && plan.scores[0].named);
    ck_assert(plan.scores[1].asked && !plan.scores[1].named);
    ck_assert(!plan.scores[2].asked && plan.scores[2].named);
    ck_assert_uint_eq(plan.gate_score, plan.score_count); /* no gate */
}
END_TEST

/* A gate compares window:32 whatever its policy ranks by; nobody ranks by it here. */
START_TEST(test_gate_needs_its_own_score)
{
    static const char *const policies[] = {"g=last/mean/none/none/gate:0.1"};
    add_policies(policies, 1);
    ck_assert_int_eq(kvr_plan_settle(&plan, NULL, 0, NULL), KVR_OK);
    ck_assert_uint_eq(plan.score_count, 2);
    ck_assert_uint_eq(plan.gate_score, 1);
    ck_assert_str_eq(plan.scores[1].label, "window:32");
    ck_assert(!plan.scores[1].asked && !plan.scores[1].named);
    assert_use(0, "last", "g", true);
}
END_TEST

/* Entropy weights are computed for scores that need them only. */
START_TEST(test_weighted_scores)
{
    static const char *const policies[] = {"a=window:8/entropy", "b=last/mean", "c=asked/entropy"};
    ck_assert_int_eq(kvr_plan_add_score(&plan, "accumulated", NULL), KVR_OK);
    add_policies(policies, 3);
    ck_assert_int_eq(kvr_plan_settle(&plan, NULL, 0, NULL), KVR_OK);
    ck_assert_uint_eq(plan.score_count, 3);
    ck_assert(plan.scores[0].weighted);  /* accumulated */
    ck_assert(plan.scores[1].weighted);  /* window:8 */
    ck_assert(!plan.scores[2].weighted); /* last */
}
END_TEST

/* `learned` without a name takes the first column of the traces; names may be long. */
START_TEST(test_columns_of_policies)
{
    static char names[2][400], first[] = "bravo", second[] = "alpha";
    static const char *const policies[] = {"learned", "learned:zulu"};
    struct kvr_column columns[2] = {{.name = first}, {.name = second}};
    struct kvr_layer layers[2] = {{.column_count = 1, .columns = &columns[0]},
                                  {.column_count = 1, .columns = &columns[1]}};
    struct kvr_sample sample = {.layer_count = 2, .layers = layers};
    struct kvr_trace trace = {.sample_count = 1, .samples = &sample}, *traces[] = {&trace};
    add_policies(policies, 2);
    ck_assert_int_eq(kvr_plan_settle(&plan, traces, 1, NULL), KVR_OK);
    assert_use(0, "column:alpha", "learned", true);
    assert_use(1, "column:zulu", "learned:zulu", true);

    kvr_plan_free(&plan);
    plan = kvr_plan_default();
    memset(names[0], 'x', 300);
    columns[0].name = columns[1].name = names[0];
    strcpy(names[1], "own=column:");
    memset(names[1] + 11, 'y', 300);
    strcat(names[1], "/mean");
    const char *const long_policies[] = {"learned", names[1]};
    add_policies(long_policies, 2);
    ck_assert_int_eq(kvr_plan_settle(&plan, traces, 1, NULL), KVR_OK);
    ck_assert_str_eq(plan.scores[plan.uses[0].score].name, names[0]);
    ck_assert_uint_eq(strlen(plan.scores[plan.uses[1].score].name), 300);
}
END_TEST

Suite *kvr_suite_policy(void)
{
    Suite *suite = suite_create("policy");
    TCase *registry = tcase_create("rows");
    tcase_add_loop_test(registry, test_rows, 0, ROWS);
    tcase_add_test(registry, test_registry);
    suite_add_tcase(suite, registry);
    TCase *compositions = tcase_create("compositions");
    tcase_add_test(compositions, test_compositions);
    tcase_add_loop_test(compositions, test_compositions_that_are_refused, 0,
                        (int)(sizeof refused / sizeof *refused));
    suite_add_tcase(suite, compositions);
    TCase *uses = tcase_create("uses");
    tcase_add_checked_fixture(uses, start, end);
    tcase_add_test(uses, test_uses_follow_scores_then_policies);
    tcase_add_test(uses, test_gate_needs_its_own_score);
    tcase_add_test(uses, test_weighted_scores);
    tcase_add_test(uses, test_columns_of_policies);
    suite_add_tcase(suite, uses);
    return suite;
}
