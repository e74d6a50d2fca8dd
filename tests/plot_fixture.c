/*
 * Tables and drafts for the tests of figures. It must not know gnuplot.
 */
#include "tests/plot_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"
#include "tests/scratch.h"

const char measures_header[] =
    "trace,sample,layer,group,scorer,policy,page_size,budget,context,ratio,quota,selected,uor,"
    "kept_tokens,retained_mass,future_mass,future_weight,future_peak,peak_weight,output_error";
const char bounds_header[] =
    "trace,sample,layer,group,scorer,page_size,budget,ratio,quota,uor,j_mean,j_max,"
    "bonferroni_lower,sandwich_lower,sandwich_upper,cauchy_lower,decaen_lower,"
    "dawson_sankoff_lower,hunter_upper";
const char heads_header[] = "trace,sample,layer,group,head,scorer,sink_mass,h2_raw,h2_isolated,"
                            "weight_raw,weight_isolated,max_prob,needle_mass,class";
const char needles_header[] =
    "trace,sample,layer,group,scorer,policy,page_size,budget,needle,start,end,kept_fraction,"
    "pooled_mass,rank,needle_future,needle_future_weight";
const char premises_header[] =
    "trace,sample,layer,group,scorer,needle,owner,peak,owner_mass,owner_entropy,largest_slack,"
    "pooled_mass,bound,holds";
const char layers_header[] = "trace,sample,layer,scorer,policy,page_size,budget,quota,union,pur";
const char curves_header[] =
    "trace,sample,layer,group,scorer,page_size,ratio,k,uor,j_mean,j_max,bonferroni_lower,"
    "sandwich_lower,sandwich_upper,cauchy_lower,decaen_lower,dawson_sankoff_lower,hunter_upper";

void plot_table(const char *name, const char *header, const char *rows)
{
    struct kvr_text text = {0};
    kvr_text_string(&text, header);
    kvr_text_string(&text, "\n");
    kvr_text_string(&text, rows);
    ck_assert(!text.failed);
    scratch_write(name, text.data, text.length);
    kvr_text_free(&text);
}

struct kvr_source plot_source(void)
{
    const struct kvr_plot_options options = {.folder = scratch_path("")};
    struct kvr_error err = KVR_ERROR_NONE;
    struct kvr_source source;
    ck_assert_msg(kvr_source_open(&options, &source, &err) == KVR_OK, "%s", err.message);
    return source;
}

struct kvr_draft plot_draft(const struct kvr_source *source, const char *name)
{
    struct kvr_draft draft = {0};
    struct kvr_error err = KVR_ERROR_NONE;
    const struct kvr_figure *figure = kvr_find_figure(name);
    ck_assert_ptr_nonnull(figure);
    ck_assert_msg(figure->compute(source, &draft, &err) == KVR_OK, "%s", err.message);
    ck_assert_int_eq(kvr_draft_check(&draft, &err), KVR_OK);
    return draft;
}

/* The first line of the block after its comment, NULL if there is no such block. */
static const char *find_block(const struct kvr_draft *draft, size_t block)
{
    const char *at = draft->data.length > 0 ? draft->data.data : NULL;
    for (size_t i = 0; at != NULL && i < block; i++) {
        at = strstr(at, "\n\n\n");
        at = at != NULL ? at + 3 : NULL;
    }
    if (at == NULL)
        return NULL;
    ck_assert_int_eq(at[0], '#');
    return strchr(at, '\n') + 1;
}

size_t plot_rows(const struct kvr_draft *draft, size_t block)
{
    size_t rows = 0;
    for (const char *at = find_block(draft, block); at != NULL && *at != '\0' && *at != '\n';
         at = strchr(at, '\n') + 1)
        rows++;
    return rows;
}

double plot_number(const struct kvr_draft *draft, size_t block, size_t row, size_t column)
{
    const char *at = find_block(draft, block);
    ck_assert_msg(row < plot_rows(draft, block), "block %zu has no row %zu", block, row);
    for (size_t i = 0; i < row; i++)
        at = strchr(at, '\n') + 1;
    for (size_t i = 0; i < column; i++) {
        at += strcspn(at, " \n");
        ck_assert_msg(*at == ' ', "row %zu has no column %zu", row, column);
        at++;
    }
    char *end;
    double value = strtod(at, &end);
    ck_assert_msg(end > at && (*end == ' ' || *end == '\n'), "no number at %.20s", at);
    return value;
}
