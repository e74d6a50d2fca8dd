/*
 * Attention rows: one pass gathers what each row shows, then verdicts put the layer's faults into
 * words. It must not know the threads or the other datasets.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/memory.h"
#include "formats/base/text.h"
#include "formats/check_layer.h"
#include "formats/check_row.h"
#include "formats/row_stream.h"

/* Faults that are counted by row. */
enum fault {
    NOT_FINITE,
    UNREAD_NOT_FINITE, /* in columns that no scorer reads */
    NEGATIVE,
    ZERO,
    BEYOND_DIAGONAL,
    OUTSIDE_WINDOW,
    ON_PADDING,
    SUM_OFF,
    FAULTS,
};

/* What reads a row, as bits. */
enum reader { BY_LAST = 1, BY_WINDOW = 2, BY_FUTURE = 4 };

/* A sum this far above 1 cannot be rounding in any type. */
static const double dropout_excess = 0.005;

/* Fewer rows than this may end before their own position by chance. */
static const uint64_t least_shifted = 4;

/* Less mass than this in a masked place is what a large finite mask leaves in float. */
static const double negligible_mass = 1e-4;

struct scan {
    struct kvr_layer_check *check;
    const struct kvr_dataset *dataset;
    const uint64_t *positions;
    uint64_t heads, rows, tokens; /* H_Q, Q, N */
    uint64_t pad, window;
    uint64_t first_candidate, prompt; /* candidates are first_candidate … prompt-1 */
    size_t decode_start;
    struct kvr_row_names names;

    struct kvr_tally faults[FAULTS];
    uint64_t *first;   /* [rows]: over heads, the first position that a row looks at */
    uint64_t *useless; /* [rows]: heads whose row is zero or not finite */
    unsigned *lost;    /* [kv_heads]: readers that a row which is not finite takes from the group */

    uint64_t measured;        /* rows that are finite and not zero */
    uint64_t above, below;    /* of them, sums above and below 1 by more than rounding */
    uint64_t thinned;         /* sums far above 1, with zeros among the visible tokens */
    double smallest, largest; /* sums */
    double missing;           /* sum of 1 - sum over `below` */
    uint64_t flat, peaked;    /* rows that could, and cannot, be the softmax of probabilities */
    uint64_t least_gap;       /* from the last position with mass to the row's own */
    uint64_t reach, back;     /* farthest beyond the diagonal; most positions looked back */
    double least;             /* the most negative value */
};

static unsigned readers_of(const struct scan *scan, uint64_t row)
{
    if (row >= scan->decode_start)
        return BY_FUTURE;
    unsigned readers = row + 1 == scan->decode_start ? BY_LAST : 0;
    if (row + KVR_DEFAULT_WINDOW >= scan->decode_start)
        readers |= BY_WINDOW;
    return readers;
}

static void note_not_finite(struct scan *scan, uint64_t head, uint64_t row, const double *values)
{
    uint64_t all = 0, read = 0;
    for (uint64_t j = 0; j < scan->tokens; j++) {
        if (isfinite(values[j]))
            continue;
        all++;
        read += j >= scan->first_candidate && j < scan->prompt;
    }
    if (read > 0) {
        uint64_t r = scan->heads / scan->check->layer->kv_heads;
        scan->lost[head / r] |= readers_of(scan, row);
        scan->useless[row]++;
    }
    kvr_tally_add(&scan->faults[read > 0 ? NOT_FINITE : UNREAD_NOT_FINITE], head, row, all, 0);
}

static void note_masks(struct scan *scan, uint64_t head, uint64_t row,
                       const struct kvr_row_facts *facts)
{
    uint64_t position = scan->positions[row];
    if (!facts->empty && facts->last > position) {
        uint64_t reach = facts->last - position;
        kvr_tally_add(&scan->faults[BEYOND_DIAGONAL], head, row, reach, facts->beyond.mass);
        scan->reach = reach > scan->reach ? reach : scan->reach;
    }
    if (!facts->empty && facts->first < facts->start) {
        uint64_t back = position + 1 - facts->first;
        kvr_tally_add(&scan->faults[OUTSIDE_WINDOW], head, row, back, facts->before.mass);
        scan->back = back > scan->back ? back : scan->back;
    }
    if (facts->padding.zeros < scan->pad)
        kvr_tally_add(&scan->faults[ON_PADDING], head, row, scan->pad - facts->padding.zeros,
                      facts->padding.mass);
    uint64_t negative = facts->padding.negative + facts->before.negative + facts->visible.negative +
                        facts->beyond.negative;
    if (negative > 0) {
        double least = fmin(fmin(facts->padding.least, facts->before.least),
                            fmin(facts->visible.least, facts->beyond.least));
        kvr_tally_add(&scan->faults[NEGATIVE], head, row, negative, -least);
        scan->least = fmin(scan->least, least);
    }
}

static void note_sum(struct scan *scan, uint64_t head, uint64_t row,
                     const struct kvr_row_facts *facts)
{
    double sum = kvr_row_sum(facts);
    uint64_t span = facts->empty ? scan->pad : facts->last - facts->first + 1;
    double tolerance = kvr_row_sum_tolerance(facts->precision, span);
    scan->smallest = scan->measured == 0 ? sum : fmin(scan->smallest, sum);
    scan->largest = scan->measured == 0 ? sum : fmax(scan->largest, sum);
    scan->measured++;
    if (fabs(sum - 1) <= tolerance)
        return;
    kvr_tally_add(&scan->faults[SUM_OFF], head, row, 1, fabs(sum - 1));
    scan->above += sum > 1;
    scan->below += sum < 1;
    scan->missing += sum < 1 ? 1 - sum : 0;
    scan->thinned += sum > 1 + dropout_excess && facts->visible.zeros > 0;
}

/* Where the row's mass begins and ends, and how flat it is. */
static void note_shape(struct scan *scan, uint64_t row, const double *values,
                       const struct kvr_row_facts *facts)
{
    uint64_t position = scan->positions[row];
    if (facts->empty)
        return;
    if (facts->first < scan->first[row])
        scan->first[row] = facts->first;
    uint64_t gap = facts->last <= position ? position - facts->last : 0;
    if (gap < scan->least_gap)
        scan->least_gap = gap;
    if (scan->peaked > 0)
        return; /* one real row settles it */
    uint64_t start = facts->start, end = position + 1;
    if (facts->last > position) { /* a second softmax over masked zeros fills the whole row */
        start = scan->pad;
        end = scan->tokens;
    }
    enum kvr_row_flatness flatness =
        kvr_row_flatness(values + start, end - start, facts->precision);
    scan->peaked += flatness == KVR_ROW_PEAKED;
    scan->flat += flatness == KVR_ROW_TWICE;
}

static void add_to_column_sums(struct scan *scan, uint64_t head, const double *values)
{
    double *sums = scan->check->column_sums + head * scan->tokens;
    for (uint64_t j = 0; j < scan->tokens; j++)
        sums[j] += values[j];
}

static enum kvr_status visit(void *context, uint64_t head, uint64_t row, const double *values,
                             struct kvr_error *err)
{
    (void)err;
    struct scan *scan = context;
    uint64_t position = scan->positions[row];
    if (position < scan->pad)
        return KVR_OK; /* the row of a padding token means nothing */
    if (scan->check->column_sums != NULL && position < scan->prompt)
        add_to_column_sums(scan, head, values);

    struct kvr_row_facts facts;
    const struct kvr_row_sight sight = {scan->tokens, scan->pad, position, scan->window};
    kvr_row_measure(values, &sight, scan->dataset->type.kind, &facts);
    if (facts.padding.not_finite + facts.before.not_finite + facts.visible.not_finite +
            facts.beyond.not_finite >
        0) {
        note_not_finite(scan, head, row, values);
        return KVR_OK; /* what is left of it says nothing about sums and masks */
    }
    if (facts.empty && facts.padding.zeros == scan->pad) {
        kvr_tally_add(&scan->faults[ZERO], head, row, 1, 0);
        scan->useless[row]++;
        return KVR_OK;
    }
    note_masks(scan, head, row, &facts);
    note_sum(scan, head, row, &facts);
    note_shape(scan, row, values, &facts);
    return KVR_OK;
}

/* ---------------------------------------------------------------------------- verdicts */

#define FOUND(scan, fault, kind, level, ...)                                                       \
    kvr_findings_tally((scan)->check->findings, kind, level, (scan)->dataset->path,                \
                       &(scan)->faults[fault], &(scan)->names, __VA_ARGS__)

/* "; groups lost: last 1 of 3, window 3 of 3" */
static void add_lost_groups(const struct scan *scan, struct kvr_text *text)
{
    static const struct {
        unsigned bit;
        const char *name;
    } readers[] = {{BY_LAST, "last"}, {BY_WINDOW, "window"}, {BY_FUTURE, "future mass"}};
    unsigned groups = scan->check->layer->kv_heads;
    const char *before = "; groups lost: ";
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        unsigned lost = 0;
        for (unsigned g = 0; g < groups; g++)
            lost += (scan->lost[g] & readers[i].bit) != 0;
        if (lost == 0)
            continue;
        kvr_text_add(text, "%s%s %u of %u", before, readers[i].name, lost, groups);
        before = ", ";
    }
}

static enum kvr_status judge_not_finite(struct scan *scan, struct kvr_error *err)
{
    const struct kvr_tally *read = &scan->faults[NOT_FINITE];
    const struct kvr_tally *unread = &scan->faults[UNREAD_NOT_FINITE];
    enum kvr_status status = KVR_OK;
    if (read->rows > 0) {
        struct kvr_text lost = {0};
        add_lost_groups(scan, &lost);
        status = kvr_text_check(&lost, err);
        if (status == KVR_OK)
            status = FOUND(scan, NOT_FINITE, KVR_FOUND_NOT_FINITE, KVR_ERROR, err,
                           "values not finite: %llu%s", (unsigned long long)read->values,
                           lost.data != NULL ? lost.data : "");
        kvr_text_free(&lost);
    }
    if (status == KVR_OK && unread->rows > 0)
        status = FOUND(scan, UNREAD_NOT_FINITE, KVR_FOUND_NOT_FINITE, KVR_NOTE, err,
                       "values not finite, where no scorer reads them: %llu",
                       (unsigned long long)unread->values);
    return status;
}

static enum kvr_status judge_zero(struct scan *scan, struct kvr_error *err)
{
    uint64_t zero = scan->faults[ZERO].rows;
    if (zero == 0)
        return KVR_OK;
    if (zero == scan->heads * scan->names.rows)
        return FOUND(scan, ZERO, KVR_FOUND_EMPTY, KVR_ERROR, err, "no weight was recorded%s",
                     scan->dataset->stored_bytes == 0 ? ", the dataset was never written" : "");
    return FOUND(scan, ZERO, KVR_FOUND_ZERO_ROW, KVR_WARNING, err, "every weight is 0");
}

static enum kvr_status judge_masks(struct scan *scan, struct kvr_error *err)
{
    enum kvr_status status = KVR_OK;
    const struct kvr_tally *tally = &scan->faults[NEGATIVE];
    if (tally->rows > 0)
        status = FOUND(scan, NEGATIVE, KVR_FOUND_NEGATIVE, KVR_ERROR, err,
                       "negative values: %llu, down to %.6g", (unsigned long long)tally->values,
                       scan->least);
    tally = &scan->faults[BEYOND_DIAGONAL];
    if (status == KVR_OK && tally->rows > 0)
        status = FOUND(scan, BEYOND_DIAGONAL, KVR_FOUND_ABOVE_DIAGONAL,
                       tally->worst > negligible_mass ? KVR_ERROR : KVR_WARNING, err,
                       "up to %.6g of a row lies above the diagonal, as far as %llu positions",
                       tally->worst, (unsigned long long)scan->reach);
    tally = &scan->faults[OUTSIDE_WINDOW];
    if (status == KVR_OK && tally->rows > 0)
        status =
            FOUND(scan, OUTSIDE_WINDOW, KVR_FOUND_OUTSIDE_WINDOW,
                  tally->worst > negligible_mass ? KVR_ERROR : KVR_WARNING, err,
                  "up to %.6g of a row lies outside the sliding window of %llu; rows reach "
                  "back %llu positions",
                  tally->worst, (unsigned long long)scan->window, (unsigned long long)scan->back);
    tally = &scan->faults[ON_PADDING];
    if (status == KVR_OK && tally->rows > 0)
        status = FOUND(scan, ON_PADDING, KVR_FOUND_PADDING_MASS, KVR_WARNING, err,
                       "up to %.6g of a row lies on the %llu padding tokens", tally->worst,
                       (unsigned long long)scan->pad);
    return status;
}

static enum kvr_status judge_sums(struct scan *scan, struct kvr_error *err)
{
    uint64_t off = scan->above + scan->below;
    if (off == 0)
        return KVR_OK;
    bool declared = scan->check->layer->sink_logits;
    double missing = scan->below > 0 ? scan->missing / (double)scan->below : 0;
    char sums[64];
    snprintf(sums, sizeof sums, "sums %.6g to %.6g", scan->smallest, scan->largest);
    if (scan->thinned > 0)
        return FOUND(scan, SUM_OFF, KVR_FOUND_DROPOUT, KVR_WARNING, err,
                     "%s, with zeros among the visible tokens", sums);
    if (scan->above > 0 || (!declared && 2 * off < scan->measured))
        return FOUND(scan, SUM_OFF, KVR_FOUND_ROW_SUM, KVR_WARNING, err,
                     "%s, more than rounding explains", sums);
    return FOUND(scan, SUM_OFF, KVR_FOUND_SINK_LOGITS, declared ? KVR_NOTE : KVR_WARNING, err,
                 "%s, on average %.3g is missing%s", sums, missing,
                 declared ? " (sink_logits)" : "");
}

static enum kvr_status judge_flatness(struct scan *scan, struct kvr_error *err)
{
    if (scan->peaked > 0 || scan->flat == 0)
        return KVR_OK;
    return kvr_findings_add(scan->check->findings, KVR_FOUND_SOFTMAX_TWICE, KVR_WARNING,
                            scan->dataset->path, scan->flat, err,
                            "all rows of all heads are nearly uniform: their entropy is that of "
                            "probabilities put through softmax again");
}

/*
 * The window that the rows show: the most positions that any row looks back, if at least two and
 * half of the rows that do not reach the first token reach exactly that far. 0 if there is none.
 */
static uint64_t visible_window(const struct scan *scan)
{
    uint64_t most = 0, cut = 0, exact = 0;
    for (uint64_t q = 0; q < scan->rows; q++)
        if (scan->first[q] <= scan->positions[q] && scan->positions[q] + 1 - scan->first[q] > most)
            most = scan->positions[q] + 1 - scan->first[q];
    for (uint64_t q = 0; q < scan->rows; q++) {
        if (scan->first[q] == KVR_NOWHERE || scan->first[q] <= scan->pad)
            continue;
        cut++;
        exact += scan->first[q] + most == scan->positions[q] + 1;
    }
    return exact >= 2 && 2 * exact >= cut ? most : 0;
}

/*
 * Tokens at the front, beyond the declared padding, that no row of any head looks at but their own;
 * 0 if there are none.
 */
static uint64_t blind_tokens(const struct scan *scan)
{
    uint64_t blind = 0;
    for (uint64_t q = scan->rows; q > 0 && blind == 0; q--)
        if (scan->first[q - 1] != KVR_NOWHERE)
            blind = scan->first[q - 1];
    for (uint64_t q = 0; q < scan->rows; q++)
        if (scan->positions[q] >= blind && scan->first[q] < blind)
            return 0;
    return blind > scan->pad ? blind : 0;
}

/* The first positions, if their rows are useless in every head and no other row is; else 0. */
static uint64_t useless_leading_rows(const struct scan *scan)
{
    uint64_t leading = 0, useless = 0;
    for (uint64_t q = 0; q < scan->rows; q++) {
        useless += scan->useless[q];
        if (leading == q && scan->positions[q] == q && scan->useless[q] == scan->heads)
            leading++;
    }
    return leading < scan->rows && useless == leading * scan->heads ? leading : 0;
}

static enum kvr_status judge_sight(struct scan *scan, struct kvr_error *err)
{
    struct kvr_findings *findings = scan->check->findings;
    const char *place = scan->dataset->path;
    unsigned long long window = visible_window(scan), blind = blind_tokens(scan);
    unsigned long long leading = useless_leading_rows(scan);
    enum kvr_status status = KVR_OK;
    if (window > 0 && (scan->window == 0 || window < scan->window))
        status = kvr_findings_add(findings, KVR_FOUND_UNDECLARED_WINDOW, KVR_WARNING, place,
                                  scan->measured, err,
                                  "no row looks back more than %llu positions: sliding_window = "
                                  "%llu?",
                                  window, window);
    else if (scan->window == 0 && blind > 0)
        status =
            kvr_findings_add(findings, KVR_FOUND_UNDECLARED_PADDING, KVR_WARNING, place, blind, err,
                             "no row of any head looks at the first %llu tokens: pad = "
                             "%llu?",
                             blind, blind);
    else if (scan->pad == 0 && leading > 0)
        status = kvr_findings_add(findings, KVR_FOUND_UNDECLARED_PADDING, KVR_WARNING, place,
                                  leading, err,
                                  "only the rows of the first %llu tokens are "
                                  "useless, in every head: pad = %llu?",
                                  leading, leading);
    if (status == KVR_OK && scan->measured >= least_shifted && scan->least_gap > 0 &&
        scan->least_gap != KVR_NOWHERE)
        status = kvr_findings_add(findings, KVR_FOUND_SHIFTED_ROWS, KVR_WARNING, place,
                                  scan->measured, err,
                                  "no row looks at its own position: mass ends at least %llu "
                                  "before it",
                                  (unsigned long long)scan->least_gap);
    return status;
}

/* ---------------------------------------------------------------------------- the pass */

static void end_scan(struct scan *scan)
{
    for (size_t i = 0; i < FAULTS; i++)
        kvr_tally_free(&scan->faults[i]);
    free(scan->first);
    free(scan->useless);
    free(scan->lost);
}

static enum kvr_status begin_scan(struct scan *scan, struct kvr_layer_check *check,
                                  struct kvr_error *err)
{
    const struct kvr_sample *sample = check->sample;
    const struct kvr_dataset *dataset = check->layer->attention;
    *scan = (struct scan){
        .check = check,
        .dataset = dataset,
        .positions = sample->query_positions,
        .heads = dataset->shape[0],
        .rows = dataset->shape[1],
        .tokens = dataset->shape[2],
        .pad = sample->pad,
        .window = check->layer->sliding_window,
        .first_candidate = kvr_layer_first_candidate(sample, check->layer),
        .prompt = sample->prompt_length,
        .decode_start = kvr_sample_decode_start(sample),
        .names = {.name = "row", .positions = sample->query_positions},
        .least_gap = KVR_NOWHERE,
    };
    for (uint64_t q = 0; q < scan->rows; q++)
        scan->names.rows += scan->positions[q] >= scan->pad;
    for (size_t i = 0; i < FAULTS; i++)
        if (kvr_tally_init(&scan->faults[i], scan->heads, err) != KVR_OK)
            return KVR_NO_MEMORY;
    scan->first = kvr_alloc(scan->rows, sizeof *scan->first, err);
    scan->useless = kvr_alloc(scan->rows, sizeof *scan->useless, err);
    scan->lost = kvr_alloc(check->layer->kv_heads, sizeof *scan->lost, err);
    if (scan->first == NULL || scan->useless == NULL || scan->lost == NULL)
        return KVR_NO_MEMORY;
    for (uint64_t q = 0; q < scan->rows; q++)
        scan->first[q] = KVR_NOWHERE;
    return KVR_OK;
}

enum kvr_status kvr_check_attention(struct kvr_layer_check *check, struct kvr_error *err)
{
    static enum kvr_status (*const judges[])(struct scan *, struct kvr_error *) = {
        judge_not_finite, judge_zero, judge_masks, judge_sums, judge_flatness, judge_sight,
    };
    struct scan scan;
    enum kvr_status status = begin_scan(&scan, check, err);
    if (status == KVR_OK)
        status = kvr_visit_rows(check->trace, scan.dataset, visit, &scan, err);
    for (size_t i = 0; i < sizeof judges / sizeof judges[0] && status == KVR_OK; i++)
        status = judges[i](&scan, err);
    end_scan(&scan);
    return status;
}
