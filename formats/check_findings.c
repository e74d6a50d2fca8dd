/*
 * The kinds of findings with their hints, and how the place of a fault is put into words.
 */
#include "formats/check_findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/memory.h"
#include "formats/base/text.h"

enum { MOST_RANGES = 8 };

static const struct {
    const char *name, *hint;
} kinds[KVR_FINDING_KINDS] = {
    [KVR_FOUND_NEEDLE] = {"needle", "a needle is a half-open span of prompt tokens [start, end); "
                                    "layers that do not hold all of it give no needle row"},
    [KVR_FOUND_TOKENS] = {"tokens", "record the ids that the model was given, labels masked with "
                                    "-100 are not tokens"},
    [KVR_FOUND_PADDING] = {"padding",
                           "padding is never a candidate and its query rows are skipped"},
    [KVR_FOUND_NO_ATTENTION] = {"no-attention",
                                "rows can be recomputed from query and key where no "
                                "sink logits take part in the softmax"},
    [KVR_FOUND_NO_PREFILL] = {"no-prefill-rows", "last and window need rows of prompt positions; "
                                                 "check query_positions and prompt_length"},
    [KVR_FOUND_LAST_ROW] = {"last-row", "last stands for the query that decoding starts from; "
                                        "record the row of the prompt's last token"},
    [KVR_FOUND_SHORT_WINDOW] = {"short-window", "record more rows for a longer observation window"},
    [KVR_FOUND_NO_DECODE] = {"no-decode-rows", "decode a few tokens and record their rows to judge "
                                               "policies by what later tokens look at"},
    [KVR_FOUND_UNREADABLE] = {"unreadable", "the file is damaged here: copy or record it again"},
    [KVR_FOUND_NOT_FINITE] = {"not-finite", "half-precision eager attention overflows: run it in "
                                            "bfloat16 or float; replay excludes such groups"},
    [KVR_FOUND_NEGATIVE] = {"negative", "a softmax is never negative: these are logits, gradients "
                                        "or a buffer's padded columns"},
    [KVR_FOUND_EMPTY] = {"empty", "fused kernels return no weights: record with eager attention "
                                  "(attn_implementation=\"eager\")"},
    [KVR_FOUND_ZERO_ROW] = {"zero-row", "these rows were never written, or belong to padding that "
                                        "is not declared"},
    [KVR_FOUND_ABOVE_DIAGONAL] = {"above-diagonal", "a row sees positions that come later: was the "
                                                    "causal mask forgotten?"},
    [KVR_FOUND_OUTSIDE_WINDOW] = {"outside-window", "does the layer's sliding_window say how many "
                                                    "positions a row sees, itself included?"},
    [KVR_FOUND_PADDING_MASS] = {"padding-mass", "real tokens look at padding: was the padding mask "
                                                "given, is pad right?"},
    [KVR_FOUND_SOFTMAX_TWICE] = {"softmax-twice",
                                 "rows are almost uniform, as the softmax of "
                                 "probabilities is: record the weights as they are"},
    [KVR_FOUND_DROPOUT] = {"dropout", "some weights are zero and the others too large: switch "
                                      "dropout off (model.eval()) before recording"},
    [KVR_FOUND_SINK_LOGITS] = {"sink-logits", "a model with sink logits leaves mass to the sink; "
                                              "if this is one, set sink_logits = 1 on its layers"},
    [KVR_FOUND_ROW_SUM] = {"row-sum", "softmax rows sum to 1 up to the rounding of their type; "
                                      "replay uses them as they are"},
    [KVR_FOUND_UNDECLARED_PADDING] = {"undeclared-padding", "if the prompt is padded on the left, "
                                                            "set the sample's pad"},
    [KVR_FOUND_UNDECLARED_WINDOW] = {"undeclared-window", "set the layer's sliding_window, or the "
                                                          "masked tokens count as candidates"},
    [KVR_FOUND_SHIFTED_ROWS] = {"shifted-rows", "are query_positions too large by that much?"},
    [KVR_FOUND_DECODE_MASS] = {"decode-mass", "accumulated sums prefill rows only: leave out the "
                                              "rows of decoded tokens"},
    [KVR_FOUND_COLUMN_BOUND] = {"column-bound", "a column gains at most 1 from each row that sees "
                                                "it: were rows added twice, or without a mask?"},
    [KVR_FOUND_TOTAL] = {"accumulated-total", "every prefill row adds 1: sum all of them, in float "
                                              "or double, and do not divide"},
    [KVR_FOUND_DRIFT] = {"accumulated-drift", "running sums in half or bfloat16 stop growing: add "
                                              "in float or double; where much is off, rows and "
                                              "sums are not of one run"},
    [KVR_FOUND_RECOMPUTED] = {"recomputed", "query head h belongs to KV head h / r; query and key "
                                            "are taken after rotary embedding and norms"},
};

const char *kvr_finding_level_name(enum kvr_finding_level level)
{
    return level == KVR_ERROR ? "error" : level == KVR_WARNING ? "warning" : "note";
}

const char *kvr_finding_name(enum kvr_finding_kind kind)
{
    return kinds[kind].name;
}

const char *kvr_finding_hint(enum kvr_finding_kind kind)
{
    return kinds[kind].hint;
}

/* ---------------------------------------------------------------------------- tallies */

enum kvr_status kvr_tally_init(struct kvr_tally *tally, uint64_t heads, struct kvr_error *err)
{
    *tally = (struct kvr_tally){.head = KVR_NOWHERE, .row = KVR_NOWHERE, .heads = heads};
    tally->per_head = kvr_alloc(heads, sizeof *tally->per_head, err);
    return tally->per_head != NULL ? KVR_OK : KVR_NO_MEMORY;
}

void kvr_tally_free(struct kvr_tally *tally)
{
    free(tally->per_head);
    tally->per_head = NULL;
}

void kvr_tally_add(struct kvr_tally *tally, uint64_t head, uint64_t row, uint64_t values,
                   double amount)
{
    if (head < tally->head || (head == tally->head && row < tally->row)) {
        tally->head = head;
        tally->row = row;
    }
    if (tally->rows == 0 || amount > tally->worst) {
        tally->worst = amount;
        tally->worst_head = head;
        tally->worst_row = row;
    }
    tally->rows++;
    tally->values += values;
    tally->per_head[head]++;
}

/* "all 9 heads", "head 4", "heads 0-2, 7". */
static void add_heads(struct kvr_text *text, const struct kvr_tally *tally)
{
    uint64_t heads = 0, ranges = 0, told = 0;
    for (uint64_t h = 0; h < tally->heads; h++)
        heads += tally->per_head[h] > 0;
    if (heads == tally->heads && heads > 1) {
        kvr_text_add(text, "all %llu heads", (unsigned long long)heads);
        return;
    }
    kvr_text_string(text, heads == 1 ? "head" : "heads");
    for (uint64_t h = 0; h < tally->heads; h++) {
        if (tally->per_head[h] == 0)
            continue;
        if (ranges++ == MOST_RANGES) {
            kvr_text_add(text, " and %llu more", (unsigned long long)(heads - told));
            return;
        }
        uint64_t end = h + 1;
        while (end < tally->heads && tally->per_head[end] > 0)
            end++;
        kvr_text_add(text, "%s %llu", ranges > 1 ? "," : "", (unsigned long long)h);
        if (end - h > 1)
            kvr_text_add(text, "-%llu", (unsigned long long)(end - 1));
        told += end - h;
        h = end - 1;
    }
}

static uint64_t position_of(const struct kvr_row_names *names, uint64_t row)
{
    return names->positions != NULL ? names->positions[row] : row;
}

/* "row 5 (position 1019)", or "token 17" where rows are positions. */
static void add_row(struct kvr_text *text, const struct kvr_row_names *names, uint64_t row)
{
    kvr_text_add(text, "%s %llu", names->name, (unsigned long long)row);
    if (names->positions != NULL)
        kvr_text_add(text, " (position %llu)", (unsigned long long)position_of(names, row));
}

static void add_where(struct kvr_text *text, const struct kvr_tally *tally,
                      const struct kvr_row_names *names)
{
    uint64_t heads = 0, full = 0, rows = 0;
    for (uint64_t h = 0; h < tally->heads; h++) {
        heads += tally->per_head[h] > 0;
        full += tally->per_head[h] == names->rows;
        rows += tally->per_head[h] > 0 ? names->rows : 0;
    }
    add_heads(text, tally);
    if (names->rows == 0)
        return;
    if (tally->rows == 1) {
        kvr_text_string(text, ", ");
        add_row(text, names, tally->row);
    } else if (full == heads) {
        kvr_text_add(text, ", all %llu %ss", (unsigned long long)names->rows, names->name);
    } else {
        kvr_text_add(text, ": %llu of %llu %ss, first ", (unsigned long long)tally->rows,
                     (unsigned long long)rows, names->name);
        if (heads > 1)
            kvr_text_add(text, "head %llu, ", (unsigned long long)tally->head);
        add_row(text, names, tally->row);
    }
}

/* ---------------------------------------------------------------------------- findings */

void kvr_findings_free(struct kvr_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free((char *)findings->items[i].place);
        free((char *)findings->items[i].message);
    }
    free(findings->items);
    *findings = (struct kvr_findings){0};
}

/* Appends *found with its own copies of place and message. */
static enum kvr_status append(struct kvr_findings *findings, struct kvr_finding found,
                              struct kvr_error *err)
{
    void *items = findings->items;
    enum kvr_status status =
        kvr_reserve(&items, &findings->capacity, findings->count + 1, sizeof found, err);
    findings->items = items;
    if (status != KVR_OK)
        return status;
    char *place = kvr_copy_string(found.place, err);
    char *message = kvr_copy_string(found.message, err);
    if (place == NULL || message == NULL) {
        free(place);
        free(message);
        return KVR_NO_MEMORY;
    }
    found.place = place;
    found.message = message;
    findings->items[findings->count++] = found;
    return KVR_OK;
}

/* A message of one line that is formatted and then appended to what `text` holds. */
static void add_message(struct kvr_text *text, const char *format, va_list args)
{
    char message[512];
    vsnprintf(message, sizeof message, format, args);
    kvr_text_string(text, message);
}

enum kvr_status kvr_findings_tally(struct kvr_findings *findings, enum kvr_finding_kind kind,
                                   enum kvr_finding_level level, const char *place,
                                   const struct kvr_tally *tally, const struct kvr_row_names *names,
                                   struct kvr_error *err, const char *format, ...)
{
    struct kvr_text text = {0};
    add_where(&text, tally, names);
    kvr_text_string(&text, ": ");
    va_list args;
    va_start(args, format);
    add_message(&text, format, args);
    va_end(args);
    enum kvr_status status = kvr_text_check(&text, err);
    bool rows = names->rows > 0;
    if (status == KVR_OK)
        status = append(findings,
                        (struct kvr_finding){
                            .kind = kind,
                            .level = level,
                            .place = place,
                            .message = text.data,
                            .count = tally->rows,
                            .head = tally->head,
                            .row = rows ? tally->row : KVR_NOWHERE,
                            .position = rows ? position_of(names, tally->row) : KVR_NOWHERE,
                        },
                        err);
    kvr_text_free(&text);
    return status;
}

enum kvr_status kvr_findings_add(struct kvr_findings *findings, enum kvr_finding_kind kind,
                                 enum kvr_finding_level level, const char *place, uint64_t count,
                                 struct kvr_error *err, const char *format, ...)
{
    struct kvr_text text = {0};
    va_list args;
    va_start(args, format);
    add_message(&text, format, args);
    va_end(args);
    enum kvr_status status = kvr_text_check(&text, err);
    if (status == KVR_OK)
        status = append(findings,
                        (struct kvr_finding){
                            .kind = kind,
                            .level = level,
                            .place = place,
                            .message = text.data,
                            .count = count,
                            .head = KVR_NOWHERE,
                            .row = KVR_NOWHERE,
                            .position = KVR_NOWHERE,
                        },
                        err);
    kvr_text_free(&text);
    return status;
}
