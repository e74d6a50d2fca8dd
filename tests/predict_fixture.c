/*
 * Random tables and live figures. It knows columns, not what a test looks at.
 */
#include "tests/predict_fixture.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/random.h"
#include "tests/scratch.h"

static const char *const sample_names[SAMPLES] = {"0", "1", "7", "10", "x"};
static const char *const policy_names[POLICIES] = {"mean", "mean",   "random",
                                                   "tova", "snapkv", "clairvoyant"};
static const char *const scorer_names[POLICIES] = {"last", "window:4",  "random:0",
                                                   "last", "window:32", "future"};
static const unsigned sizes[SIZES] = {1, 16};
static const char *const budgets[BUDGETS] = {"0.1", "0.5"};

struct compare_row rows[CELLS * SETTINGS];
bool row_present[CELLS * SETTINGS];
struct live_row lives[SAMPLES][SETTINGS];

const char live_header[] =
    "trace,sample,policy,scorer,page_size,budget,right,logprob,logprob_full,kl\n";

static size_t row_index(size_t s, size_t l, size_t g, size_t setting)
{
    return ((s * LAYERS + l) * GROUPS + g) * SETTINGS + setting;
}

static double share(struct kvr_random *random)
{
    return (double)kvr_random_below(random, 8) / 7;
}

static double absent_or(struct kvr_random *random, double value)
{
    return kvr_random_below(random, 6) == 0 ? NAN : value;
}

static void make_row(struct kvr_random *random, size_t s, size_t l, size_t g, size_t setting)
{
    size_t policy = setting / (SIZES * BUDGETS), size = setting / BUDGETS % SIZES;
    size_t budget = setting % BUDGETS, index = row_index(s, l, g, setting);
    struct compare_row *row = &rows[index];
    unsigned due = size == 0 ? (budget == 0 ? 10 : 50) : (budget == 0 ? 1 : 3);
    *row = compare_row_of(sample_names[s], (unsigned)(l * 3), (unsigned)g, policy_names[policy]);
    row->trace = s < 3 ? "a.h5" : "b.h5";
    row->scorer = scorer_names[policy];
    row->page_size = sizes[size];
    row->budget = budgets[budget];
    row->selected = policy == 0 && budget == 0 ? 2 * due : due; /* one holds too much */
    row->kept_tokens = row->selected * row->page_size;
    row->retained_mass = policy == 2 ? NAN : absent_or(random, share(random));
    row->future_mass = absent_or(random, share(random));
    row->future_weight = 1 + kvr_random_uniform(random);
    row->future_peak = absent_or(random, share(random));
    row->peak_weight = kvr_random_uniform(random);
    row->output_error = share(random);
    for (unsigned n = 0; n < COMPARE_NEEDLES; n++)
        row->needles[n] = (struct compare_needle_row){
            .held = s != 2 && (n == 0 || l != 1), /* one sample has none, one layer lacks one */
            .start = 10 + n * 40,
            .fraction = share(random),
            .future = share(random),
            .weight = absent_or(random, 0.1 + kvr_random_uniform(random)),
        };
    row_present[index] = g == 0 || kvr_random_below(random, 10) > 0; /* excluded groups */
}

void make_tables(uint64_t seed)
{
    struct kvr_random random = kvr_random_stream(40, seed);
    for (size_t s = 0; s < SAMPLES; s++)
        for (size_t l = 0; l < LAYERS; l++)
            for (size_t g = 0; g < GROUPS; g++)
                for (size_t i = 0; i < SETTINGS; i++)
                    make_row(&random, s, l, g, i);
    for (size_t s = 0; s < SAMPLES; s++)
        for (size_t i = 0; i < SETTINGS; i++)
            lives[s][i] = (struct live_row){
                /* a policy at a budget has but two samples: too few to be ranked */
                .present = !(i == 9 && s > 1) && !(i == 14 && s == 0),
                .right = s == 4 ? NAN : (double)kvr_random_below(&random, 2),
                .logprob = -(double)kvr_random_below(&random, 30) / 10,
                .logprob_full = -0.1 * (double)(s + 1),
                .kl = kvr_random_uniform(&random),
            };
}

static void put(FILE *stream, double value)
{
    fprintf(stream, isnan(value) ? "," : ",%.17g", value);
}

static void put_live(FILE *stream, size_t s, size_t setting)
{
    const struct compare_row *row = &rows[row_index(s, 0, 0, setting)];
    const struct live_row *live = &lives[s][setting];
    fprintf(stream, "%s,%s,%s,%s,%u,%s", row->trace, row->sample, row->policy, row->scorer,
            row->page_size, row->budget);
    put(stream, live->right);
    put(stream, live->logprob);
    put(stream, live->logprob_full);
    put(stream, live->kl);
    fputs("\n", stream);
}

void write_tables(void)
{
    static struct compare_row written[CELLS * SETTINGS];
    size_t count = 0;
    for (size_t i = 0; i < CELLS * SETTINGS; i++)
        if (row_present[i])
            written[count++] = rows[i];
    compare_folder_write(scratch_path("replay"), written, count, &compare_run_default);
    FILE *stream = fopen(scratch_path("live.csv"), "w");
    ck_assert_ptr_nonnull(stream);
    fputs(live_header, stream);
    for (size_t i = SETTINGS; i-- > 0;)
        for (size_t s = 0; s < SAMPLES; s++)
            if (lives[s][i].present)
                put_live(stream, s, i);
    ck_assert_int_eq(fclose(stream), 0);
}

struct kvr_predict_options default_options(void)
{
    struct kvr_predict_options options = {.slack = 0.05, .threads = 1, .mix_pages = true};
    options.bootstrap = kvr_bootstrap_default();
    options.bootstrap.draws = DRAWS;
    return options;
}

enum kvr_status predict(const struct kvr_predict_options *options,
                        struct kvr_prediction *prediction, struct kvr_error *err)
{
    char *folder = strdup(scratch_path("replay"));
    char *live = strdup(scratch_path("live.csv"));
    const char *const folders[] = {folder};
    enum kvr_status status = kvr_predict(folders, 1, live, options, prediction, err);
    free(folder);
    free(live);
    return status;
}

void must_predict(const struct kvr_predict_options *options, struct kvr_prediction *prediction)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(predict(options, prediction, &err) == KVR_OK, "%s", err.message);
}

void append_live(const char *lines)
{
    FILE *stream = fopen(scratch_path("live.csv"), "a");
    ck_assert_ptr_nonnull(stream);
    fputs(lines, stream);
    ck_assert_int_eq(fclose(stream), 0);
}
