/*
 * The oracle's command line: `oracle TRACE... -o DIR [options of kvreplay replay]`, `--kept FILE`
 * to take the sets from a file of `replay --keep`, and `oracle --self-check`.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

void die(int status, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("oracle: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    exit(status);
}

void *room(long count, size_t size)
{
    void *memory = calloc(count > 0 ? (size_t)count : 1, size);
    if (!memory)
        die(1, "no memory");
    return memory;
}

/* What keep() was given. */
static struct kept {
    struct kept *next;
    void *memory;
} * all_kept;

void *keep(void *memory)
{
    struct kept *one = room(1, sizeof *one);
    *one = (struct kept){all_kept, memory};
    all_kept = one;
    return memory;
}

static void free_kept(void)
{
    while (all_kept) {
        struct kept *one = all_kept;
        all_kept = one->next;
        free(one->memory);
        free(one);
    }
}

/* -- the command line -- */

struct command {
    struct options options;
    long trace_count;
    char **traces;
    const char *folder;
    char **policies, **scorers, **samples; /* scorers, samples: NULL for all */
    long policy_count, scorer_count, sample_count;
    long *layers; /* NULL for all */
    long layer_count;
};

static char **list_of(const char *text, long *count)
{
    char **items = keep(room((long)strlen(text) + 1, sizeof *items));
    char *rest = keep(strdup(text));
    *count = 0;
    while (rest)
        items[(*count)++] = strsep(&rest, ",");
    return items;
}

static long *whole_list_of(const char *text, long *count)
{
    char **items = list_of(text, count);
    long *numbers = keep(room(*count, sizeof *numbers));
    for (long i = 0; i < *count; i++)
        numbers[i] = whole_of(items[i]);
    return numbers;
}

/* The place of the word among the names, which end with NULL. */
static int choice_of(const char *option, const char *word, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(word, names[i]) == 0)
            return i;
    die(2, "%s: unknown: %s", option, word);
}

static bool set_list(struct command *c, const char *name, const char *value)
{
    struct options *o = &c->options;
    if (strcmp(name, "--policy") == 0)
        c->policies = list_of(value, &c->policy_count);
    else if (strcmp(name, "--scorer") == 0)
        c->scorers = list_of(value, &c->scorer_count);
    else if (strcmp(name, "--budget") == 0)
        o->budgets = list_of(value, &o->budget_count);
    else if (strcmp(name, "--page-size") == 0)
        o->page_sizes = whole_list_of(value, &o->page_count);
    else if (strcmp(name, "--samples") == 0)
        c->samples = list_of(value, &c->sample_count);
    else if (strcmp(name, "--layers") == 0)
        c->layers = whole_list_of(value, &c->layer_count);
    else
        return false;
    return true;
}

static void set_option(struct command *c, const char *name, const char *value)
{
    static const char *const reduces[] = {"max", "mean", "sum", NULL};
    static const char *const matches[] = {"nominal", "physical", NULL};
    static const char *const nans[] = {"exclude", "zero", "fail", NULL};
    struct options *o = &c->options;
    if (set_list(c, name, value))
        return;
    if (strcmp(name, "-o") == 0)
        c->folder = value;
    else if (strcmp(name, "--kept") == 0)
        o->kept = value;
    else if (strcmp(name, "--page-reduce") == 0)
        o->page_reduce = (enum page_reduce)choice_of(name, value, reduces);
    else if (strcmp(name, "--tau") == 0)
        o->tau = real_of(value);
    else if (strcmp(name, "--alpha") == 0)
        o->alpha = real_of(value);
    else if (strcmp(name, "--sinks") == 0)
        o->sinks = whole_of(value);
    else if (strcmp(name, "--entropy-window") == 0)
        o->entropy_window = whole_of(value);
    else if (strcmp(name, "--sink-threshold") == 0)
        o->sink_threshold = real_of(value);
    else if (strcmp(name, "--retrieval-mass") == 0)
        o->retrieval_mass = real_of(value);
    else if (strcmp(name, "--retrieval-support") == 0)
        o->retrieval_support = real_of(value);
    else if (strcmp(name, "--match") == 0)
        o->physical = choice_of(name, value, matches) == 1;
    else if (strcmp(name, "--nan") == 0)
        o->nan = (enum nan_mode)choice_of(name, value, nans);
    else
        die(2, "unknown option: %s", name);
}

static void parse(struct command *c, int argc, char **argv)
{
    c->options = (struct options){.tau = 0.5,
                                  .alpha = 2,
                                  .sinks = 4,
                                  .sink_threshold = 0.5,
                                  .retrieval_mass = 0.1,
                                  .retrieval_support = 10};
    set_option(c, "--policy", "independent,mean,max,page-entrokv");
    set_option(c, "--budget", "0.02,0.05,0.1,0.2,0.4");
    set_option(c, "--page-size", "1,16");
    c->traces = keep(room(argc, sizeof *c->traces));
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (argv[i][0] != '-') {
            c->traces[c->trace_count++] = argv[i];
        } else if (strncmp(argv[i], "--", 2) == 0 && equals) {
            *equals = '\0';
            set_option(c, argv[i], equals + 1);
        } else if (++i < argc) {
            set_option(c, argv[i - 1], argv[i]);
        } else {
            die(2, "%s: a value is missing", argv[i - 1]);
        }
    }
    if (c->trace_count == 0 || !c->folder)
        die(2, "usage: oracle TRACE... -o DIR [options of kvreplay replay]");
    for (long i = 0; i < c->options.budget_count; i++) {
        struct decimal budget = decimal_of(c->options.budgets[i]);
        if (budget.numerator == 0 || budget.numerator > budget.denominator)
            die(2, "--budget: expected 0 < b <= 1, found %s", c->options.budgets[i]);
    }
}

/* -- scorers and rows -- */

static char *joined(const char *before, const char *name, const char *after)
{
    char *text = keep(room((long)(strlen(before) + strlen(name) + strlen(after)) + 1, 1));
    sprintf(text, "%s%s%s", before, name, after);
    return text;
}

/* Default scorers: all of them; what a layer cannot give has no rows. */
static void choose_scorers(struct command *c, char **columns, long column_count)
{
    if (c->scorers)
        return;
    c->scorers = keep(room(3 + column_count, sizeof *c->scorers));
    c->scorers[c->scorer_count++] = joined("last", "", "");
    c->scorers[c->scorer_count++] = joined("window", "", "");
    c->scorers[c->scorer_count++] = joined("accumulated", "", "");
    for (long i = 0; i < column_count; i++)
        c->scorers[c->scorer_count++] = joined("column:", columns[i], "");
}

/* `learned` without a name means the first recorded column. */
static void choose_learned(struct command *c, char **columns, long column_count)
{
    for (long p = 0; p < c->policy_count; p++)
        if (strcmp(c->policies[p], "learned") == 0)
            c->policies[p] = joined("learned=column:", column_count ? columns[0] : "-",
                                    "/mean/none/none/model:0");
}

static bool is_chosen(const struct command *c, const char *sample)
{
    for (long i = 0; i < c->sample_count; i++)
        if (strcmp(c->samples[i], sample) == 0)
            return true;
    return c->samples == NULL;
}

static void replay(const struct command *c, const struct score *scorers, const struct row *rows,
                   long row_count, struct tables *tables)
{
    for (long i = 0; i < c->trace_count; i++) {
        struct trace *trace = trace_open(c->traces[i]);
        for (long s = 0; s < trace_sample_count(trace); s++) {
            if (!is_chosen(c, trace_sample_name(trace, s)))
                continue;
            struct sample *sample = sample_read(trace, s, c->layer_count, c->layers);
            tables_write_sample(tables, &c->options, sample, scorers, c->scorer_count, rows,
                                row_count);
            sample_free(sample);
        }
        trace_close(trace);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--self-check") == 0)
        return self_check() ? 1 : 0;
    struct command c = {0};
    parse(&c, argc, argv);
    char **columns = NULL;
    long column_count = 0;
    for (long i = 0; i < c.trace_count; i++) {
        struct trace *trace = trace_open(c.traces[i]);
        trace_column_names(trace, &columns, &column_count);
        trace_close(trace);
    }
    choose_scorers(&c, columns, column_count);
    choose_learned(&c, columns, column_count);
    struct score *scorers = keep(room(c.scorer_count, sizeof *scorers));
    for (long i = 0; i < c.scorer_count; i++)
        scorers[i] = score_of(c.scorers[i]);
    long row_count;
    struct row *rows = rows_of(c.policies, c.policy_count, scorers, c.scorer_count, &row_count);
    bool gated = false, allocates = false;
    for (long r = 0; r < row_count; r++) {
        gated = gated || rows[r].gated;
        allocates = allocates || rows[r].gated || rows[r].allocate != ALLOCATE_UNIFORM;
    }
    struct tables *tables = tables_open(c.folder, gated, allocates);
    replay(&c, scorers, rows, row_count, tables);
    tables_close(tables);
    for (long i = 0; i < column_count; i++)
        free(columns[i]);
    free(columns);
    free_kept();
    return 0;
}
