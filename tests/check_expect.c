/*
 * Checking small traces and comparing findings. It must not know which faults there are.
 */
#include "tests/check_expect.h"

#include <stdio.h>
#include <string.h>

#include "tests/scratch.h"

struct small_trace small;
struct seen_findings seen;
const struct small_truth small_plain = {.scale = 0.35355339059327379};

static size_t told; /* findings that the test has named so far */

static void setup(void)
{
    scratch_setup();
    small_begin(&small, CHECK_TOKENS, CHECK_PROMPT);
}

TCase *check_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_add_checked_fixture(tcase, setup, scratch_teardown);
    suite_add_tcase(suite, tcase);
    return tcase;
}

static enum kvr_status see(void *context, const struct kvr_finding *finding, struct kvr_error *err)
{
    (void)err;
    struct seen_findings *list = context;
    ck_assert_uint_lt(list->count, MOST_SEEN);
    size_t i = list->count++;
    list->items[i] = *finding;
    snprintf(list->places[i], sizeof list->places[i], "%s", finding->place);
    snprintf(list->messages[i], sizeof list->messages[i], "%s", finding->message);
    return KVR_OK;
}

void check_small_file(const char *path, const struct kvr_check_options *options,
                      struct kvr_check_extent *extent)
{
    struct kvr_trace *trace = NULL;
    struct kvr_error err = KVR_ERROR_NONE;
    memset(&seen, 0, sizeof seen);
    told = 0;
    ck_assert_msg(kvr_trace_open(path, NULL, &trace, &err) == KVR_OK, "%s", err.message);
    ck_assert_msg(kvr_trace_check(trace, options, see, &seen, extent, &err) == KVR_OK, "%s",
                  err.message);
    ck_assert_int_eq(err.status, KVR_OK); /* what was found is not also told as an error */
    kvr_trace_close(trace);
}

void check_small(void)
{
    static struct seen_findings before;
    const char *path = scratch_path("t.h5");
    small_write(&small, path);
    check_small_file(path, &(struct kvr_check_options){.threads = 3}, NULL);
    before = seen;
    check_small_file(path, &(struct kvr_check_options){.threads = 1}, NULL);
    ck_assert_uint_eq(seen.count, before.count);
    for (size_t i = 0; i < seen.count; i++) {
        ck_assert_str_eq(seen.places[i], before.places[i]);
        ck_assert_str_eq(seen.messages[i], before.messages[i]);
    }
}

void expect_finding(enum kvr_finding_kind kind, enum kvr_finding_level level, const char *place,
                    uint64_t count, uint64_t head, uint64_t row, const char *words)
{
    ck_assert_msg(told < seen.count, "expected %s, found nothing more", kvr_finding_name(kind));
    const struct kvr_finding *finding = &seen.items[told];
    const char *message = seen.messages[told];
    ck_assert_msg(finding->kind == kind, "expected %s, found %s: %s", kvr_finding_name(kind),
                  kvr_finding_name(finding->kind), message);
    ck_assert_msg(finding->level == level, "%s: %s", kvr_finding_level_name(finding->level),
                  message);
    ck_assert_str_eq(seen.places[told], place);
    ck_assert_msg(finding->count == count, "expected %llu, found %llu: %s",
                  (unsigned long long)count, (unsigned long long)finding->count, message);
    ck_assert_uint_eq(finding->head, head);
    ck_assert_uint_eq(finding->row, row);
    ck_assert_msg(strstr(message, words) != NULL, "expected \"%s\" in \"%s\"", words, message);
    told++;
}

void expect_no_more_findings(void)
{
    ck_assert_msg(told == seen.count, "unexpected %s: %s",
                  told < seen.count ? kvr_finding_name(seen.items[told].kind) : "",
                  told < seen.count ? seen.messages[told] : "");
}

void expect_short_prompt_notes(void)
{
    expect_finding(KVR_FOUND_SHORT_WINDOW, KVR_NOTE, "/samples/0/query_positions", 1, NOWHERE,
                   NOWHERE, "instead of 32");
    expect_finding(KVR_FOUND_NO_DECODE, KVR_NOTE, "/samples/0/query_positions", 1, NOWHERE, NOWHERE,
                   "future mass");
}

void small_without_vectors(void)
{
    small.query = small.key = small.value = false;
}

void small_rows_only(uint64_t tokens)
{
    small_begin(&small, tokens, tokens);
    small_without_vectors();
    small.accumulated = small.gate = false;
}
