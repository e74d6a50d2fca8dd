/*
 * Rows: what the words of --scorer and --policy mean, stage by stage.
 *
 * The published policies are written as compositions in the same notation that a user may give
 * (`name=score/reduce/smooth/protect/allocate`), so that one parser reads both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

/* `asked`: once for every scorer of the command line. */
static const struct {
    const char *name, *stages;
} published[] = {
    {"independent", "asked/head/none/none/uniform"},
    {"mean", "asked/mean/none/none/uniform"},
    {"max", "asked/max/none/none/uniform"},
    {"page-entrokv", "asked/entropy/none/none/uniform"},
    {"streaming-llm", "recency/layer/none/sinks:4/uniform"},
    {"h2o", "accumulated/mean/none/recent:0.5/uniform"},
    {"observed", "observed/mean/none/none/uniform"},
    {"tova", "last/layer/none/none/uniform"},
    {"snapkv", "window:32/mean/avg:5/recent:32/uniform"},
    {"snapkv-heads", "window:32/head/avg:5/recent:32/uniform"},
    {"pyramidkv", "window:32/mean/avg:5/recent:32/pyramid:20"},
    {"ada-snapkv", "window:32/mean/avg:5/recent:32/layer:0.2"},
    {"page-gate", "window:32/mean/avg:5/recent:32/gate:0.07 uniform"},
    {"model-mass", "window:32/mean/none/sinks:4/model:0.2"},
    {"knorm", "key-norm/-/none/none/uniform"},
    {"keydiff", "key-diff/-/none/none/uniform"},
    {"clairvoyant", "future/mean/none/none/uniform"},
};
enum { PUBLISHED = sizeof published / sizeof *published, STAGES = 5 };

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* What follows the colon. */
static const char *parameter(const char *text)
{
    const char *colon = strchr(text, ':');
    if (!colon || !colon[1])
        die(2, "%s: a value is missing after the colon", text);
    return colon + 1;
}

struct score score_of(const char *text)
{
    struct score score = {.label = text, .rows = 32};
    if (strcmp(text, "last") == 0) {
        score.kind = SCORE_LAST;
    } else if (strcmp(text, "window") == 0) {
        score.kind = SCORE_WINDOW;
    } else if (starts(text, "window:")) {
        score.kind = SCORE_WINDOW;
        score.rows = whole_of(parameter(text));
    } else if (strcmp(text, "accumulated") == 0) {
        score.kind = SCORE_ACCUMULATED;
    } else if (strcmp(text, "observed") == 0) {
        score.kind = SCORE_OBSERVED;
    } else if (strcmp(text, "recency") == 0) {
        score.kind = SCORE_RECENCY;
    } else if (strcmp(text, "key-norm") == 0) {
        score.kind = SCORE_KEY_NORM;
    } else if (strcmp(text, "key-diff") == 0) {
        score.kind = SCORE_KEY_DIFF;
    } else if (strcmp(text, "future") == 0) {
        score.kind = SCORE_FUTURE;
    } else if (starts(text, "column:")) {
        score.kind = SCORE_COLUMN;
        score.column = parameter(text);
    } else {
        die(2, "unknown score: %s", text);
    }
    return score;
}

static void parse_reduce(struct row *row, const char *text)
{
    static const char *const names[] = {"head", "mean", "max", "sum", "entropy", "layer"};
    for (int i = 0; i < 6; i++)
        if (strcmp(text, names[i]) == 0) {
            row->reduce = (enum reduce)i;
            return;
        }
    if (strcmp(text, "-") && strcmp(text, "none"))
        die(2, "unknown reduction: %s", text);
    row->reduce = REDUCE_MEAN; /* of one vector */
}

static void parse_smooth(struct row *row, const char *text)
{
    if (strcmp(text, "none") == 0)
        return;
    if (starts(text, "avg:"))
        row->smooth = SMOOTH_AVG;
    else if (starts(text, "max:"))
        row->smooth = SMOOTH_MAX;
    else
        die(2, "unknown smoothing: %s", text);
    row->smooth_width = whole_of(parameter(text));
    if (row->smooth_width % 2 == 0)
        die(2, "%s: expected an odd width", text);
}

static void parse_protect(struct row *row, char *text)
{
    if (strcmp(text, "none") == 0)
        return;
    for (char *rest, *part = strtok_r(text, "+", &rest); part; part = strtok_r(NULL, "+", &rest)) {
        if (starts(part, "sinks:")) {
            row->protect_sinks = whole_of(parameter(part));
        } else if (starts(part, "recent:") && strchr(part, '.')) {
            row->recent_is_fraction = true;
            row->recent_fraction = decimal_of(parameter(part));
        } else if (starts(part, "recent:")) {
            row->protect_recent = whole_of(parameter(part));
        } else {
            die(2, "unknown protection: %s", part);
        }
    }
}

static void parse_allocate(struct row *row, char *text)
{
    for (char *rest, *part = strtok_r(text, " +", &rest); part;
         part = strtok_r(NULL, " +", &rest)) {
        if (starts(part, "gate:")) {
            row->gated = true;
            row->gate_text = keep(strdup(parameter(part)));
            continue;
        }
        if (strcmp(part, "uniform") == 0)
            continue;
        if (starts(part, "pyramid:"))
            row->allocate = ALLOCATE_PYRAMID;
        else if (starts(part, "layer:"))
            row->allocate = ALLOCATE_LAYER;
        else if (starts(part, "model:"))
            row->allocate = ALLOCATE_MODEL;
        else
            die(2, "unknown allocation: %s", part);
        row->allocate_value = decimal_of(parameter(part));
    }
    if (row->reduce == REDUCE_HEAD &&
        (row->allocate == ALLOCATE_LAYER || row->allocate == ALLOCATE_MODEL))
        die(2, "%s: sets of single heads cannot compete", row->policy);
}

/* Stages that are left out are `none` or `uniform`. */
static struct row row_of_stages(const char *policy, const char *stages, const struct score *asked)
{
    char *copy = strdup(stages), *rest = copy;
    char none[] = "none", uniform[] = "uniform";
    char *stage[STAGES] = {NULL, NULL, none, none, uniform};
    for (int i = 0; i < STAGES && rest; i++)
        stage[i] = strsep(&rest, "/");
    if (rest || !stage[1])
        die(2, "%s: expected score/reduce/smooth/protect/allocate", stages);
    struct row row = {.policy = policy};
    row.score = asked ? *asked : score_of(keep(strdup(stage[0])));
    parse_reduce(&row, stage[1]);
    parse_smooth(&row, stage[2]);
    parse_protect(&row, stage[3]);
    parse_allocate(&row, stage[4]);
    row.pages_by_sum = strcmp(policy, "clairvoyant") == 0;
    free(copy);
    return row;
}

/* The stages behind a word of --policy, and the name that the tables show. */
static const char *stages_of(const char *word, const char **policy)
{
    *policy = word;
    const char *equals = strchr(word, '=');
    if (equals) {
        *policy = keep(strndup(word, (size_t)(equals - word)));
        return equals + 1;
    }
    if (starts(word, "learned:")) {
        char *stages = keep(room((long)strlen(word) + 64, 1));
        sprintf(stages, "column:%s/mean/none/none/model:0", parameter(word));
        return stages;
    }
    for (int i = 0; i < PUBLISHED; i++)
        if (strcmp(word, published[i].name) == 0)
            return published[i].stages;
    die(2, "unknown policy: %s", word);
}

struct row *rows_of(char **policies, long policy_count, const struct score *scorers,
                    long scorer_count, long *count)
{
    struct row *rows = keep(room((scorer_count + 1) * policy_count, sizeof *rows));
    *count = 0;
    for (long s = 0; s < scorer_count; s++)
        for (long p = 0; p < policy_count; p++) {
            const char *policy, *stages = stages_of(policies[p], &policy);
            if (starts(stages, "asked/"))
                rows[(*count)++] = row_of_stages(policy, stages, &scorers[s]);
        }
    for (long p = 0; p < policy_count; p++) {
        const char *policy, *stages = stages_of(policies[p], &policy);
        if (!starts(stages, "asked/"))
            rows[(*count)++] = row_of_stages(policy, stages, NULL);
    }
    return rows;
}
