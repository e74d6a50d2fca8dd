/*
 * Column sums: plausible by themselves, and equal to the sums of the rows where all are recorded.
 * It must not know how the rows were judged.
 */
#include <math.h>
#include <stdio.h>

#include "formats/base/text.h"
#include "formats/check_layer.h"
#include "formats/check_row.h"
#include "formats/row_stream.h"

enum fault {
    NOT_FINITE,
    UNREAD_NOT_FINITE, /* at positions that are no candidates */
    NEGATIVE,
    DECODE_MASS,
    COLUMN_BOUND,
    TOTAL,
    DRIFT,
    FAULTS,
};

/* Rows in bfloat16 sum to 1 within this; sums over many rows come nearer. */
static const double row_tolerance = 0x1p-8;
static const double total_tolerance = 5e-3;

struct scan {
    struct kvr_layer_check *check;
    const struct kvr_dataset *dataset;
    uint64_t tokens, pad, prompt, window, first_candidate;
    struct kvr_tally faults[FAULTS];

    /* Of the head where each is worst. */
    uint64_t bound_token, drift_token;
    double bound_found, bound_most;
    double drift_found, drift_expected;
    double total_found, decode_mass;
};

/* Rows of prompt positions that see token j. */
static uint64_t rows_that_see(const struct scan *scan, uint64_t j)
{
    uint64_t rows = scan->prompt - j;
    return scan->window > 0 && scan->window < rows ? scan->window : rows;
}

/* Relative error of one stored value. */
static double relative_rounding(enum kvr_element kind)
{
    switch (kind) {
    case KVR_HALF:
        return 0x1p-11;
    case KVR_BFLOAT16:
        return 0x1p-8;
    case KVR_FLOAT:
    case KVR_DOUBLE:
        break;
    }
    return 0x1p-24;
}

/*
 * How far a sum over `rows` recorded values may lie from the sum that was accumulated: both were
 * rounded when they were stored, the values one by one; a long sum in float adds little to that.
 */
static double drift_tolerance(const struct scan *scan, double sum, uint64_t rows)
{
    const double summing = 1e-4;
    enum kvr_element of_rows = scan->check->layer->attention->type.kind;
    double relative =
        2 * relative_rounding(of_rows) + 2 * relative_rounding(scan->dataset->type.kind) + summing;
    double subnormal = of_rows == KVR_HALF ? 0x1p-24 : 0;
    return relative * sum + (double)rows * subnormal + 1e-6;
}

/* Whether all values at candidates are finite. */
static bool note_not_finite(struct scan *scan, uint64_t head, const double *sums)
{
    uint64_t all = 0, read = 0;
    for (uint64_t j = 0; j < scan->tokens; j++) {
        if (isfinite(sums[j]))
            continue;
        all++;
        read += j >= scan->first_candidate && j < scan->prompt;
    }
    if (all > 0)
        kvr_tally_add(&scan->faults[read > 0 ? NOT_FINITE : UNREAD_NOT_FINITE], head, 0, all, 0);
    return read == 0;
}

static void note_columns(struct scan *scan, uint64_t head, const double *sums)
{
    uint64_t negative = 0, above = 0, token = 0;
    double excess = 0, least = 0;
    for (uint64_t j = scan->pad; j < scan->prompt; j++) {
        double most = (double)rows_that_see(scan, j), over = sums[j] - most * (1 + row_tolerance);
        if (!isfinite(sums[j]))
            continue; /* in front of a window layer's candidates */
        negative += sums[j] < 0;
        least = fmin(least, sums[j]);
        if (over <= 0)
            continue;
        above++;
        if (over > excess) {
            excess = over;
            token = j;
        }
    }
    if (negative > 0)
        kvr_tally_add(&scan->faults[NEGATIVE], head, 0, negative, -least);
    if (above == 0)
        return;
    struct kvr_tally *tally = &scan->faults[COLUMN_BOUND];
    kvr_tally_add(tally, head, 0, above, excess);
    if (tally->worst_head == head) {
        scan->bound_token = token;
        scan->bound_found = sums[token];
        scan->bound_most = (double)rows_that_see(scan, token);
    }
}

/* Prefill rows do not see positions from P on, and each adds 1 to what they see. */
static void note_totals(struct scan *scan, uint64_t head, const double *sums)
{
    double total = 0, decoded = 0;
    for (uint64_t j = scan->pad; j < scan->prompt; j++)
        total += isfinite(sums[j]) ? sums[j] : 0;
    for (uint64_t j = scan->prompt; j < scan->tokens; j++)
        decoded += isfinite(sums[j]) ? sums[j] : 0;
    if (decoded > row_tolerance) {
        struct kvr_tally *tally = &scan->faults[DECODE_MASS];
        kvr_tally_add(tally, head, 0, 1, decoded);
        if (tally->worst_head == head)
            scan->decode_mass = decoded;
    }
    double expected = (double)(scan->prompt - scan->pad);
    double off = total - expected;
    if (scan->check->layer->sink_logits && off < 0)
        return;
    if (fabs(off) <= total_tolerance * expected)
        return;
    struct kvr_tally *tally = &scan->faults[TOTAL];
    kvr_tally_add(tally, head, 0, 1, fabs(off));
    if (tally->worst_head == head)
        scan->total_found = total;
}

/* Against the sums of the recorded rows. */
static void note_drift(struct scan *scan, uint64_t head, const double *sums)
{
    const double *expected = scan->check->column_sums + head * scan->tokens;
    uint64_t wrong = 0, token = 0;
    double largest = 0;
    for (uint64_t j = scan->pad; j < scan->prompt; j++) {
        double off = fabs(sums[j] - expected[j]);
        if (!isfinite(off) || off <= drift_tolerance(scan, expected[j], rows_that_see(scan, j)))
            continue;
        wrong++;
        if (off > largest) {
            largest = off;
            token = j;
        }
    }
    if (wrong == 0)
        return;
    struct kvr_tally *tally = &scan->faults[DRIFT];
    kvr_tally_add(tally, head, 0, wrong, largest);
    if (tally->worst_head == head) {
        scan->drift_token = token;
        scan->drift_found = sums[token];
        scan->drift_expected = expected[token];
    }
}

static enum kvr_status visit(void *context, uint64_t head, uint64_t row, const double *sums,
                             struct kvr_error *err)
{
    (void)row;
    (void)err;
    struct scan *scan = context;
    if (!note_not_finite(scan, head, sums) || scan->pad >= scan->prompt)
        return KVR_OK;
    note_columns(scan, head, sums);
    note_totals(scan, head, sums);
    if (scan->check->column_sums != NULL)
        note_drift(scan, head, sums);
    return KVR_OK;
}

/* ---------------------------------------------------------------------------- verdicts */

static const struct kvr_row_names heads_only = {0};

#define FOUND(scan, fault, kind, level, ...)                                                       \
    kvr_findings_tally((scan)->check->findings, kind, level, (scan)->dataset->path,                \
                       &(scan)->faults[fault], &heads_only, __VA_ARGS__)

static unsigned long long wide(uint64_t value)
{
    return value;
}

static enum kvr_status judge_not_finite(struct scan *scan, struct kvr_error *err)
{
    const struct kvr_tally *read = &scan->faults[NOT_FINITE];
    const struct kvr_tally *unread = &scan->faults[UNREAD_NOT_FINITE];
    enum kvr_status status = KVR_OK;
    uint32_t groups = scan->check->layer->kv_heads, lost = 0;
    uint64_t r = scan->dataset->shape[0] / groups;
    for (uint32_t g = 0; g < groups; g++) {
        uint64_t heads = 0;
        for (uint64_t h = g * r; h < (g + 1) * r; h++)
            heads += read->per_head[h];
        lost += heads > 0;
    }
    if (read->rows > 0)
        status = FOUND(scan, NOT_FINITE, KVR_FOUND_NOT_FINITE, KVR_ERROR, err,
                       "sums not finite: %llu; groups lost: accumulated %u of %u",
                       wide(read->values), lost, groups);
    if (status == KVR_OK && unread->rows > 0)
        status = FOUND(scan, UNREAD_NOT_FINITE, KVR_FOUND_NOT_FINITE, KVR_NOTE, err,
                       "sums not finite, where no scorer reads them: %llu", wide(unread->values));
    return status;
}

static enum kvr_status judge_columns(struct scan *scan, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    const struct kvr_tally *tally = &scan->faults[NEGATIVE];
    if (tally->rows > 0)
        status = FOUND(scan, NEGATIVE, KVR_FOUND_NEGATIVE, KVR_ERROR, err,
                       "negative sums: %llu, down to %.6g", wide(tally->values), -tally->worst);
    tally = &scan->faults[COLUMN_BOUND];
    if (status == KVR_OK && tally->rows > 0)
        status = FOUND(
            scan, COLUMN_BOUND, KVR_FOUND_COLUMN_BOUND, KVR_WARNING, err,
            "sums above the number of rows that see them: %llu, most in head %llu: token %llu has "
            "%.6g of at most %.6g",
            wide(tally->values), wide(tally->worst_head), wide(scan->bound_token),
            scan->bound_found, scan->bound_most);
    tally = &scan->faults[DECODE_MASS];
    if (status == KVR_OK && tally->rows > 0)
        status = FOUND(scan, DECODE_MASS, KVR_FOUND_DECODE_MASS, KVR_WARNING, err,
                       "up to %.6g lies at decoded positions, from %llu on", scan->decode_mass,
                       wide(scan->prompt));
    return status;
}

static enum kvr_status judge_drift(struct scan *scan, struct kvr_error *err)
{
    const struct kvr_tally *tally = &scan->faults[DRIFT];
    if (tally->rows == 0)
        return KVR_OK;
    char percent[32] = "";
    if (scan->drift_expected > 0)
        snprintf(percent, sizeof percent, " (%+.2f %%)",
                 100 * (scan->drift_found / scan->drift_expected - 1));
    return FOUND(scan, DRIFT, KVR_FOUND_DRIFT, KVR_WARNING, err,
                 "sums other than those of the recorded rows: %llu, most in head %llu: token %llu "
                 "has %.6g, its rows sum to %.6g%s",
                 wide(tally->values), wide(tally->worst_head), wide(scan->drift_token),
                 scan->drift_found, scan->drift_expected, percent);
}

static bool is_near(double value, double target)
{
    return fabs(value - target) <= 2 * total_tolerance * target;
}

/* What the total says was summed, where that can be told; "" if not. */
static const char *guess_total(const struct scan *scan)
{
    const struct kvr_sample *sample = scan->check->sample;
    double recorded = 0, decoded = (double)(scan->tokens - scan->prompt);
    for (size_t q = 0; q < sample->query_count; q++)
        recorded +=
            sample->query_positions[q] >= scan->pad && sample->query_positions[q] < scan->prompt;
    double rows = (double)(scan->prompt - scan->pad), total = scan->total_found;
    if (is_near(total, 1))
        return ": already divided by their total";
    if (recorded > 0 && is_near(total, recorded))
        return ": only the recorded rows were summed";
    if (decoded > 0 && is_near(total, rows + decoded))
        return ": decoded rows were summed too";
    if (scan->pad > 0 && is_near(total, (double)scan->prompt))
        return ": the rows of padding were summed too";
    return "";
}

static enum kvr_status judge_total(struct scan *scan, struct kvr_error *err)
{
    const struct kvr_tally *tally = &scan->faults[TOTAL];
    if (tally->rows == 0 || scan->faults[DRIFT].rows > 0)
        return KVR_OK; /* the drift says the same with its place */
    double rows = (double)(scan->prompt - scan->pad);
    /* Scorers divide by the total themselves, so that a division before does no harm. */
    enum kvr_finding_level level = is_near(scan->total_found, 1) ? KVR_NOTE : KVR_WARNING;
    return FOUND(scan, TOTAL, KVR_FOUND_TOTAL, level, err,
                 "sums add up to %.6g, expected %llu, one for each prefill row (%+.2f %%)%s",
                 scan->total_found, wide(scan->prompt - scan->pad),
                 100 * (scan->total_found / rows - 1), guess_total(scan));
}

/* ---------------------------------------------------------------------------- the pass */

enum kvr_status kvr_check_accumulated(struct kvr_layer_check *check, struct kvr_error *err)
{
    static enum kvr_status (*const judges[])(struct scan *, struct kvr_error *) = {
        judge_not_finite,
        judge_columns,
        judge_drift,
        judge_total,
    };
    const struct kvr_sample *sample = check->sample;
    struct scan scan = {
        .check = check,
        .dataset = check->layer->accumulated,
        .tokens = sample->context_length,
        .pad = sample->pad,
        .prompt = sample->prompt_length,
        .window = check->layer->sliding_window,
        .first_candidate = kvr_layer_first_candidate(sample, check->layer),
    };
    enum kvr_status status = KVR_OK;
    for (size_t i = 0; i < FAULTS && status == KVR_OK; i++)
        status = kvr_tally_init(&scan.faults[i], scan.dataset->shape[0], err);
    if (status == KVR_OK)
        status = kvr_visit_rows(check->trace, scan.dataset, visit, &scan, err);
    for (size_t i = 0; i < sizeof judges / sizeof judges[0] && status == KVR_OK; i++)
        status = judges[i](&scan, err);
    for (size_t i = 0; i < FAULTS; i++)
        kvr_tally_free(&scan.faults[i]);
    return status;
}
