/*
 * Tables written by hand. It knows columns, not what a test compares.
 */
#include "tests/compare_fixture.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/outfile.h"

const struct compare_run compare_run_default = {.tau = "0.5", .checksum = "00ff", .head_dim = 0};

static FILE *open_file(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "w");
    ck_assert_ptr_nonnull(stream);
    return stream;
}

static void put_figure(FILE *stream, double value)
{
    if (isnan(value))
        fputs(",", stream);
    else
        fprintf(stream, ",%.17g", value);
}

static void put_key(FILE *stream, const struct compare_row *row)
{
    fprintf(stream, "%s,%s,%u,%u,%s,%s,%u,%s", row->trace, row->sample, row->layer, row->group,
            row->scorer, row->policy, row->page_size, row->budget);
}

static void write_measures(const char *folder, const struct compare_row *rows, size_t count)
{
    FILE *stream = open_file(folder, "measures.csv");
    fputs("trace,sample,layer,group,scorer,policy,page_size,budget,context,ratio,quota,selected,"
          "uor,kept_tokens,retained_mass,future_mass,future_weight,future_peak,peak_weight,"
          "output_error\n",
          stream);
    for (size_t i = 0; i < count; i++) {
        const struct compare_row *row = &rows[i];
        put_key(stream, row);
        fprintf(stream, ",%u,3,1,%u,,%u", row->context, row->selected, row->kept_tokens);
        put_figure(stream, row->retained_mass);
        put_figure(stream, row->future_mass);
        put_figure(stream, row->future_weight);
        put_figure(stream, row->future_peak);
        put_figure(stream, row->peak_weight);
        put_figure(stream, row->output_error);
        fputs("\n", stream);
    }
    ck_assert_int_eq(fclose(stream), 0);
}

static void write_needles(const char *folder, const struct compare_row *rows, size_t count)
{
    FILE *stream = open_file(folder, "needles.csv");
    fputs("trace,sample,layer,group,scorer,policy,page_size,budget,needle,start,end,kept_fraction,"
          "pooled_mass,rank,needle_future,needle_future_weight\n",
          stream);
    for (size_t i = 0; i < count; i++)
        for (int n = 0; n < COMPARE_NEEDLES; n++) {
            const struct compare_needle_row *needle = &rows[i].needles[n];
            if (!needle->held)
                continue;
            put_key(stream, &rows[i]);
            fprintf(stream, ",%d,%u,%u", n, needle->start, needle->start + 4);
            put_figure(stream, needle->fraction);
            fputs(",,0", stream);
            put_figure(stream, needle->future);
            put_figure(stream, needle->weight);
            fputs("\n", stream);
        }
    ck_assert_int_eq(fclose(stream), 0);
}

/* True if no earlier row has this trace and, where it is asked for, this sample. */
static bool is_first(const struct compare_row *rows, size_t at, bool sample)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(rows[i].trace, rows[at].trace) == 0 &&
            (!sample || strcmp(rows[i].sample, rows[at].sample) == 0))
            return false;
    return true;
}

static void put_samples(FILE *stream, const struct compare_row *rows, size_t count,
                        const char *trace, unsigned head_dim)
{
    const char *comma = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].trace, trace) != 0 || !is_first(rows, i, true))
            continue;
        fprintf(stream,
                "%s{\"name\": \"%s\", \"prompt_length\": %d, \"pad\": 0, \"head_dim\": ", comma,
                rows[i].sample, COMPARE_PROMPT);
        fprintf(stream, head_dim > 0 ? "%u}" : "null}", head_dim);
        comma = ", ";
    }
}

static void write_run(const char *folder, const struct compare_row *rows, size_t count,
                      const struct compare_run *run)
{
    FILE *stream = open_file(folder, "run.json");
    const char *comma = "";
    fprintf(stream,
            "{\"options\": {\"page_reduce\": \"max\", \"tau\": %s, \"alpha\": \"inf\", \"sinks\": "
            "4, \"entropy_window\": null, \"match\": \"nominal\", \"nan\": \"exclude\"},\n"
            "\"inputs\": [",
            run->tau);
    for (size_t i = 0; i < count; i++) {
        if (!is_first(rows, i, false))
            continue;
        fprintf(stream, "%s{\"name\": \"%s\", \"fnv1a\": \"%s\", \"samples\": [", comma,
                rows[i].trace, run->checksum);
        put_samples(stream, rows, count, rows[i].trace, run->head_dim);
        fputs("]}", stream);
        comma = ", ";
    }
    fputs("]}\n", stream);
    ck_assert_int_eq(fclose(stream), 0);
}

void compare_folder_write(const char *path, const struct compare_row *rows, size_t count,
                          const struct compare_run *run)
{
    struct kvr_error err = KVR_ERROR_NONE;
    ck_assert_msg(kvr_make_folder(path, &err) == KVR_OK, "%s", err.message);
    write_measures(path, rows, count);
    write_needles(path, rows, count);
    write_run(path, rows, count, run);
}

struct compare_row compare_row_of(const char *sample, unsigned layer, unsigned group,
                                  const char *policy)
{
    return (struct compare_row){
        .trace = "made.h5",
        .sample = sample,
        .scorer = "last",
        .policy = policy,
        .budget = "0.1",
        .layer = layer,
        .group = group,
        .page_size = 1,
        .context = 100,
        .selected = 10,
        .kept_tokens = 10,
        .retained_mass = NAN,
        .future_mass = NAN,
        .future_weight = NAN,
        .future_peak = NAN,
        .peak_weight = NAN,
        .output_error = NAN,
    };
}
