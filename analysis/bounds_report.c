/*
 * Reading the tables and tallying. It must not know how the report is shown, nor use the code that
 * computed the bounds.
 */
#include "analysis/bounds_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/memory.h"
#include "formats/base/outfile.h"
#include "formats/table_reader.h"

static const double tolerance = 1e-9, exactness = 1e-12;

struct bounds_row {
    const char *trace, *sample, *scorer, *budget;
    uint64_t layer, group, page_size, ratio, quota;
    double uor, j_mean, j_max;
    double bounds[KVR_BOUNDS];
};

#define BOUND_FIELD(name, bound)                                                                   \
#name, KVR_FIELD_NUMBER, offsetof(struct bounds_row, bounds) + (bound) * sizeof(double)

static const struct kvr_field bounds_fields[] = {
    {KVR_FIELD(struct bounds_row, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct bounds_row, sample, KVR_FIELD_STRING)},
    {KVR_FIELD(struct bounds_row, layer, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct bounds_row, group, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct bounds_row, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct bounds_row, page_size, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct bounds_row, budget, KVR_FIELD_STRING)},
    {KVR_FIELD(struct bounds_row, ratio, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct bounds_row, quota, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct bounds_row, uor, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct bounds_row, j_mean, KVR_FIELD_FIGURE)},
    {KVR_FIELD(struct bounds_row, j_max, KVR_FIELD_FIGURE)},
    {BOUND_FIELD(bonferroni_lower, KVR_BONFERRONI_LOWER)},
    {BOUND_FIELD(sandwich_lower, KVR_SANDWICH_LOWER)},
    {BOUND_FIELD(sandwich_upper, KVR_SANDWICH_UPPER)},
    {BOUND_FIELD(cauchy_lower, KVR_CAUCHY_LOWER)},
    {BOUND_FIELD(decaen_lower, KVR_DECAEN_LOWER)},
    {BOUND_FIELD(dawson_sankoff_lower, KVR_DAWSON_SANKOFF_LOWER)},
    {BOUND_FIELD(hunter_upper, KVR_HUNTER_UPPER)},
};

struct premises_row {
    const char *trace, *sample, *scorer;
    uint64_t layer, group, needle, holds;
    double owner_mass, pooled_mass, bound;
};

static const struct kvr_field premises_fields[] = {
    {KVR_FIELD(struct premises_row, trace, KVR_FIELD_STRING)},
    {KVR_FIELD(struct premises_row, sample, KVR_FIELD_STRING)},
    {KVR_FIELD(struct premises_row, layer, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct premises_row, group, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct premises_row, scorer, KVR_FIELD_STRING)},
    {KVR_FIELD(struct premises_row, needle, KVR_FIELD_UNSIGNED)},
    {KVR_FIELD(struct premises_row, owner_mass, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct premises_row, pooled_mass, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct premises_row, bound, KVR_FIELD_NUMBER)},
    {KVR_FIELD(struct premises_row, holds, KVR_FIELD_UNSIGNED)},
};

/* What a pass over the tables carries. */
struct pass {
    struct kvr_bounds_report *report;
    uint64_t limit;
    const struct kvr_table_reader *reader;
    struct bounds_row row;
    struct premises_row premise;
};

/* ------------------------------------------------------------------------------ violations */

/* The names of a violation's cell, as long as the row lives. */
struct cell_names {
    const char *trace, *sample, *scorer, *budget; /* budget NULL: does not apply */
};

static enum kvr_status copy_names(struct kvr_violation *violation, const struct cell_names *names,
                                  struct kvr_error *err)
{
    violation->trace = kvr_copy_string(names->trace, err);
    violation->sample = kvr_copy_string(names->sample, err);
    violation->scorer = kvr_copy_string(names->scorer, err);
    violation->budget = names->budget != NULL ? kvr_copy_string(names->budget, err) : NULL;
    bool copied = violation->trace != NULL && violation->sample != NULL &&
                  violation->scorer != NULL && (names->budget == NULL || violation->budget != NULL);
    return copied ? KVR_OK : KVR_NO_MEMORY;
}

static enum kvr_status list_violation(struct pass *pass, const struct cell_names *names,
                                      const struct kvr_violation *violation, struct kvr_error *err)
{
    struct kvr_bounds_report *report = pass->report;
    void *list = report->violations;
    if (report->listed >= pass->limit)
        return KVR_OK;
    if (kvr_reserve(&list, &report->violation_capacity, report->listed + 1,
                    sizeof *report->violations, err) != KVR_OK)
        return KVR_NO_MEMORY;
    report->violations = list;
    struct kvr_violation *place = &report->violations[report->listed++];
    *place = *violation;
    place->line = kvr_table_reader_line(pass->reader);
    return copy_names(place, names, err);
}

static enum kvr_status violate(struct pass *pass, enum kvr_violation_kind kind, const char *column,
                               double value, double expected, struct kvr_error *err)
{
    const struct bounds_row *row = &pass->row;
    const struct cell_names names = {row->trace, row->sample, row->scorer, row->budget};
    const struct kvr_violation violation = {
        .kind = kind,
        .column = column,
        .layer = row->layer,
        .group = row->group,
        .page_size = row->page_size,
        .value = value,
        .expected = expected,
    };
    pass->report->violated[kind]++;
    return list_violation(pass, &names, &violation, err);
}

/* ------------------------------------------------------------------------------ a row of bounds */

static enum kvr_status compare(struct pass *pass, const char *column, double stored,
                               double expected, struct kvr_error *err)
{
    if (fabs(stored - expected) <= tolerance)
        return KVR_OK;
    return violate(pass, KVR_VIOLATES_TABLE, column, stored, expected, err);
}

/* The bounds that follow from J, J_max and r: MEASURES §5, written a second time on purpose. */
static enum kvr_status compare_recomputed(struct pass *pass, struct kvr_error *err)
{
    const struct bounds_row *row = &pass->row;
    double r = (double)row->ratio, mean = row->j_mean, most = row->j_max;
    double bonferroni = r * (1 - (r - 1) * mean);
    double sandwich = r * (1 + mean) / (1 + mean + 2 * (r - 1) * mean);
    double upper = (r * (1 + most) - 2 * most) / (1 + most);
    enum kvr_status status = compare(pass, "bonferroni_lower", row->bounds[KVR_BONFERRONI_LOWER],
                                     bonferroni > 1 ? bonferroni : 1, err);
    if (status == KVR_OK)
        status = compare(pass, "sandwich_lower", row->bounds[KVR_SANDWICH_LOWER], sandwich, err);
    if (status == KVR_OK)
        status = compare(pass, "sandwich_upper", row->bounds[KVR_SANDWICH_UPPER],
                         upper < r ? upper : r, err);
    return status;
}

/* One vector has no pairs: no J, a UOR and bounds of 1. */
static enum kvr_status check_single(struct pass *pass, struct kvr_error *err)
{
    const struct bounds_row *row = &pass->row;
    pass->report->single++;
    enum kvr_status status = compare(pass, "uor", row->uor, 1, err);
    for (size_t b = 0; status == KVR_OK && b < KVR_BOUNDS; b++)
        status = compare(pass, kvr_bound_kinds[b].column, row->bounds[b], 1, err);
    return status;
}

/* What J and the UOR are by definition: a union of whole units, shares, a mean below a maximum. */
static enum kvr_status check_ranges(struct pass *pass, struct kvr_error *err)
{
    const struct bounds_row *row = &pass->row;
    double r = (double)row->ratio, quota = (double)row->quota;
    enum kvr_status status = KVR_OK;
    if (row->quota == 0 || row->ratio < 2)
        return kvr_table_reader_fail(pass->reader, row->quota == 0 ? "quota" : "ratio", err,
                                     "expected at least %d beside a j_mean, found %llu",
                                     row->quota == 0 ? 1 : 2,
                                     (unsigned long long)(row->quota == 0 ? 0 : row->ratio));
    if (isnan(row->j_max))
        return kvr_table_reader_fail(pass->reader, "j_max", err,
                                     "expected a number beside a j_mean, found nothing");
    status = compare(pass, "uor", row->uor, round(row->uor * quota) / quota, err);
    if (status == KVR_OK)
        status = compare(pass, "uor", row->uor, fmin(fmax(row->uor, 1), r), err);
    if (status == KVR_OK)
        status = compare(pass, "j_mean", row->j_mean, fmin(fmax(row->j_mean, 0), row->j_max), err);
    if (status == KVR_OK)
        status = compare(pass, "j_max", row->j_max, fmin(fmax(row->j_max, 0), 1), err);
    return status;
}

static enum kvr_status check_identity(struct pass *pass, struct kvr_error *err)
{
    const struct bounds_row *row = &pass->row;
    double identity = 2 / (2 - (1 - row->j_mean)), apart = fabs(row->uor - identity);
    pass->report->pairs++;
    pass->report->pairs_worst = fmax(pass->report->pairs_worst, apart);
    if (apart <= exactness)
        return KVR_OK;
    return violate(pass, KVR_VIOLATES_IDENTITY, "identity", identity, row->uor, err);
}

static double gap_of(const struct bounds_row *row, size_t bound)
{
    return kvr_bound_kinds[bound].lower ? row->uor - row->bounds[bound]
                                        : row->bounds[bound] - row->uor;
}

static void add_gaps(struct kvr_bounds_tally *tally, const struct bounds_row *row)
{
    double least[2] = {INFINITY, INFINITY}; /* of upper and lower bounds */
    for (size_t b = 0; b < KVR_BOUNDS; b++) {
        double *side = &least[kvr_bound_kinds[b].lower];
        *side = fmin(*side, gap_of(row, b));
    }
    tally->cells++;
    for (size_t b = 0; b < KVR_BOUNDS; b++) {
        struct kvr_bound_tally *bound = &tally->bounds[b];
        double gap = gap_of(row, b);
        bound->violated += gap < -tolerance;
        bound->tightest += gap <= least[kvr_bound_kinds[b].lower] + exactness;
        bound->exact += fabs(gap) <= exactness;
        bound->gap_sum += gap;
        bound->gap_worst = tally->cells == 1 ? gap : fmax(bound->gap_worst, gap);
    }
}

/* The tally of the row's scorer and page size; rows come in order, so it is near the end. */
static struct kvr_bounds_tally *tally_of(struct kvr_bounds_report *report, size_t scorer,
                                         uint64_t page_size, struct kvr_error *err)
{
    for (size_t i = 0; i < report->tally_count; i++)
        if (report->tallies[i].scorer == scorer && report->tallies[i].page_size == page_size)
            return &report->tallies[i];
    void *list = report->tallies;
    if (kvr_reserve(&list, &report->tally_capacity, report->tally_count + 1,
                    sizeof *report->tallies, err) != KVR_OK)
        return NULL;
    report->tallies = list;
    struct kvr_bounds_tally *tally = &report->tallies[report->tally_count++];
    *tally = (struct kvr_bounds_tally){.scorer = scorer, .page_size = page_size};
    return tally;
}

static struct kvr_certificates *certificates_of(struct kvr_bounds_report *report, size_t scorer,
                                                uint64_t page_size, size_t budget,
                                                struct kvr_error *err)
{
    for (size_t i = 0; i < report->certificate_count; i++) {
        struct kvr_certificates *known = &report->certificates[i];
        if (known->scorer == scorer && known->page_size == page_size && known->budget == budget)
            return known;
    }
    void *list = report->certificates;
    if (kvr_reserve(&list, &report->certificate_capacity, report->certificate_count + 1,
                    sizeof *report->certificates, err) != KVR_OK)
        return NULL;
    report->certificates = list;
    struct kvr_certificates *certificates = &report->certificates[report->certificate_count++];
    *certificates =
        (struct kvr_certificates){.scorer = scorer, .page_size = page_size, .budget = budget};
    return certificates;
}

static enum kvr_status add_tallies(struct pass *pass, struct kvr_error *err)
{
    struct kvr_bounds_report *report = pass->report;
    const struct bounds_row *row = &pass->row;
    size_t scorer, budget;
    enum kvr_status status = kvr_names_index(&report->scorers, row->scorer, &scorer, err);
    if (status == KVR_OK)
        status = kvr_names_index(&report->budgets, row->budget, &budget, err);
    if (status != KVR_OK)
        return status;
    struct kvr_bounds_tally *tally = tally_of(report, scorer, row->page_size, err);
    struct kvr_certificates *certificates =
        certificates_of(report, scorer, row->page_size, budget, err);
    if (tally == NULL || certificates == NULL)
        return KVR_NO_MEMORY;
    add_gaps(tally, row);
    add_gaps(&report->all, row);
    certificates->groups++;
    certificates->twofold += row->uor >= 2;
    for (size_t b = 0; b < KVR_LOWER_BOUNDS; b++)
        certificates->certified[b] += kvr_bound_certifies(row->bounds[b]);
    bool first = report->all.cells == 1;
    report->least_ratio =
        first || row->ratio < report->least_ratio ? row->ratio : report->least_ratio;
    report->most_ratio = row->ratio > report->most_ratio ? row->ratio : report->most_ratio;
    return KVR_OK;
}

static enum kvr_status count_names(struct pass *pass, struct kvr_error *err)
{
    struct kvr_bounds_report *report = pass->report;
    size_t index;
    enum kvr_status status = kvr_names_index(&report->traces, pass->row.trace, &index, err);
    if (status == KVR_OK)
        status = kvr_names_pair(&report->samples, pass->row.trace, pass->row.sample, &index, err);
    return status;
}

static enum kvr_status take_bounds(void *state, const struct kvr_table_reader *reader,
                                   struct kvr_error *err)
{
    struct pass *pass = state;
    const struct bounds_row *row = &pass->row;
    pass->reader = reader;
    enum kvr_status status = count_names(pass, err);
    if (status != KVR_OK)
        return status;
    if (isnan(row->j_mean))
        return check_single(pass, err);
    status = check_ranges(pass, err);
    if (status == KVR_OK)
        status = compare_recomputed(pass, err);
    if (status == KVR_OK && row->ratio == 2)
        status = check_identity(pass, err);
    if (status == KVR_OK)
        status = add_tallies(pass, err);
    for (size_t b = 0; status == KVR_OK && b < KVR_BOUNDS; b++)
        if (gap_of(row, b) < -tolerance)
            status = violate(pass, KVR_VIOLATES_BOUND, kvr_bound_kinds[b].column, row->bounds[b],
                             row->uor, err);
    return status;
}

/* ------------------------------------------------------------ a row of premises */

/* Scores that are no attention may be negative; cor. 2 speaks of distributions. */
static bool may_be_negative(const char *scorer)
{
    return strncmp(scorer, "column:", 7) == 0 || strncmp(scorer, "key-", 4) == 0;
}

static struct kvr_needle_bound *needle_bound_of(struct kvr_bounds_report *report,
                                                const char *scorer, struct kvr_error *err)
{
    size_t index;
    if (kvr_names_index(&report->scorers, scorer, &index, err) != KVR_OK)
        return NULL;
    for (size_t i = 0; i < report->needle_count; i++)
        if (report->needles[i].scorer == index)
            return &report->needles[i];
    void *list = report->needles;
    if (kvr_reserve(&list, &report->needle_capacity, report->needle_count + 1,
                    sizeof *report->needles, err) != KVR_OK)
        return NULL;
    report->needles = list;
    struct kvr_needle_bound *bound = &report->needles[report->needle_count++];
    *bound = (struct kvr_needle_bound){
        .scorer = index, .signed_scores = may_be_negative(scorer), .least_margin = NAN};
    return bound;
}

static enum kvr_status list_needle(struct pass *pass, enum kvr_violation_kind kind,
                                   const char *column, double value, double expected,
                                   struct kvr_error *err)
{
    const struct premises_row *row = &pass->premise;
    const struct cell_names names = {row->trace, row->sample, row->scorer, NULL};
    const struct kvr_violation violation = {
        .kind = kind,
        .column = column,
        .layer = row->layer,
        .group = row->group,
        .needle = row->needle,
        .value = value,
        .expected = expected,
    };
    return list_violation(pass, &names, &violation, err);
}

static enum kvr_status take_premise(void *state, const struct kvr_table_reader *reader,
                                    struct kvr_error *err)
{
    struct pass *pass = state;
    struct kvr_bounds_report *report = pass->report;
    const struct premises_row *row = &pass->premise;
    struct kvr_needle_bound *sums = needle_bound_of(report, row->scorer, err);
    pass->reader = reader;
    if (sums == NULL)
        return KVR_NO_MEMORY;
    bool held = row->pooled_mass >= row->bound - tolerance;
    sums->rows++;
    sums->held += held;
    sums->binding += row->bound > 0 && row->bound >= row->owner_mass / 2;
    sums->least_margin = fmin(sums->least_margin, row->pooled_mass - row->bound);
    if (row->holds != held) {
        report->violated[KVR_VIOLATES_TABLE]++;
        return list_needle(pass, KVR_VIOLATES_TABLE, "holds", (double)row->holds, held, err);
    }
    if (held)
        return KVR_OK;
    if (sums->signed_scores)
        report->beyond_theorem++;
    else
        report->violated[KVR_VIOLATES_NEEDLE]++;
    return list_needle(pass, KVR_VIOLATES_NEEDLE, "bound", row->bound, row->pooled_mass, err);
}

/* ------------------------------------------------------------------------------ the folder */

struct excluded_row {
    uint64_t heads;
};

static const struct kvr_field excluded_fields[] = {
    {KVR_FIELD(struct excluded_row, heads, KVR_FIELD_UNSIGNED)},
};

static enum kvr_status take_excluded(void *state, const struct kvr_table_reader *reader,
                                     struct kvr_error *err)
{
    struct pass *pass = state;
    (void)reader;
    (void)err;
    pass->report->excluded++;
    return KVR_OK;
}

#define COUNT(fields) (sizeof(fields) / sizeof *(fields))

/* Tables that a folder may lack; what is there must be well formed. */
static enum kvr_status read_if_there(const char *folder, const char *name,
                                     const struct kvr_field *fields, size_t field_count, void *row,
                                     kvr_take_row take, struct pass *pass, struct kvr_error *err)
{
    char *path = kvr_join_path(folder, name, err);
    if (path == NULL)
        return KVR_NO_MEMORY;
    bool there = access(path, F_OK) == 0;
    free(path);
    return there ? kvr_table_each(folder, name, fields, field_count, row, take, pass, err) : KVR_OK;
}

enum kvr_status kvr_bounds_report_read(const char *folder, uint64_t limit,
                                       struct kvr_bounds_report *report, struct kvr_error *err)
{
    *report = (struct kvr_bounds_report){.listed = 0};
    struct pass pass = {.report = report, .limit = limit};
    struct excluded_row excluded;
    enum kvr_status status =
        kvr_table_each(folder, "bounds.csv", bounds_fields, COUNT(bounds_fields), &pass.row,
                       take_bounds, &pass, err);
    if (status == KVR_OK)
        status = read_if_there(folder, "premises.csv", premises_fields, COUNT(premises_fields),
                               &pass.premise, take_premise, &pass, err);
    if (status == KVR_OK)
        status = read_if_there(folder, "excluded.csv", excluded_fields, COUNT(excluded_fields),
                               &excluded, take_excluded, &pass, err);
    return status;
}

void kvr_bounds_report_free(struct kvr_bounds_report *report)
{
    for (size_t i = 0; i < report->listed; i++) {
        free(report->violations[i].trace);
        free(report->violations[i].sample);
        free(report->violations[i].scorer);
        free(report->violations[i].budget);
    }
    free(report->violations);
    free(report->tallies);
    free(report->certificates);
    free(report->needles);
    kvr_names_free(&report->traces);
    kvr_names_free(&report->samples);
    kvr_names_free(&report->scorers);
    kvr_names_free(&report->budgets);
    *report = (struct kvr_bounds_report){.listed = 0};
}

uint64_t kvr_bounds_report_violations(const struct kvr_bounds_report *report)
{
    uint64_t sum = 0;
    for (size_t kind = 0; kind < KVR_VIOLATION_KINDS; kind++)
        sum += report->violated[kind];
    return sum;
}
