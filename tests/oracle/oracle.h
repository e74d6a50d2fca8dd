/*
 * The oracle: a second, slow implementation of the replay, written from the definitions alone.
 *
 * It shares no code with the product (no object, no header), so that a mistake would have to be
 * made twice to go unseen. Everything is done the long way: a whole sample in memory as doubles,
 * full sorts, sets as arrays of flags, each formula as it is printed. It trusts its input.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stddef.h>

/* -- helpers (oracle.c, oracle_number.c) -- */

__extension__ typedef __int128 wide;

/* Prints one line and exits with status 1 (an input) or 2 (the command line). */
_Noreturn void die(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Zeroed room for count things, or the end of the program. */
void *room(long count, size_t size);
/* Words of the command line live as long as the program: freed at its end. Returns memory. */
void *keep(void *memory);

/* A decimal number as an exact fraction. */
struct decimal {
    wide numerator, denominator;
};
struct decimal decimal_of(const char *text);
double real_of(const char *text); /* "inf" too */
long whole_of(const char *text);
/* floor(fraction * of / by) */
long floor_of(struct decimal fraction, long of, long by);
/* max(1, floor(b * T / B)) */
long uniform_quota(struct decimal budget, long tokens, long page_size);
/* Makes values[i]/denominator whole: floors, then +1 for the largest remainders (ties: lower i)
   until they sum to total. */
void largest_remainder(long count, const wide *values, wide denominator, long total, long *whole);

/* -- the trace (oracle_trace.c) -- */

struct span {
    long start, end;
};

struct column {
    char *name;
    long rows; /* query heads or KV heads */
    double *values;
};

struct layer {
    long number, query_heads, kv_heads, window;
    bool sink_logits;
    double scale, softcap; /* 0: not given */
    double *attention;     /* [query_heads][queries][length] or NULL */
    double *accumulated;   /* [query_heads][length] or NULL */
    double *query;         /* [query_heads][queries][key_size] or NULL */
    double *key;           /* [kv_heads][length][key_size] or NULL */
    double *value;         /* [kv_heads][length][value_size] or NULL */
    long key_size, value_size;
    long column_count;
    struct column *columns;
};

struct sample {
    char *trace, *name;
    long length, prompt, pad;
    long queries, prefill; /* recorded rows, and how many of them are at positions < prompt */
    long *positions;       /* [queries] of the recorded rows */
    long needle_count;
    struct span *needles;
    long layer_count;
    struct layer *layers; /* by number */
};

struct trace;
struct trace *trace_open(const char *path);
void trace_close(struct trace *trace);
long trace_sample_count(const struct trace *trace);
const char *trace_sample_name(const struct trace *trace, long index);
/* Adds the names of all columns of the trace to a sorted list without doubles. */
void trace_column_names(const struct trace *trace, char ***names, long *count);
/* Everything of one sample; with layers == NULL all layers, else the listed ones. */
struct sample *sample_read(const struct trace *trace, long index, long layer_count,
                           const long *layers);
void sample_free(struct sample *sample);

/* Gives a layer that has query and key the rows and column sums that it lacks
   (oracle_attention.c). */
void recompute(const struct sample *sample, struct layer *layer);

/* Reads a uint16's bits as bfloat16. */
double bfloat16_value(unsigned bits);

/* -- options and rows (oracle_row.c) -- */

enum page_reduce { PAGE_MAX, PAGE_MEAN, PAGE_SUM };
enum nan_mode { NAN_EXCLUDE, NAN_ZERO, NAN_FAIL };

struct options {
    double tau, alpha;
    long sinks, entropy_window; /* entropy_window 0: all candidates */
    double sink_threshold, retrieval_mass, retrieval_support;
    enum page_reduce page_reduce;
    enum nan_mode nan;
    bool physical;
    long budget_count, page_count;
    char **budgets; /* as given */
    long *page_sizes;
    const char *kept; /* a file of kept sets to compute the tables from, or NULL */
};

enum score_kind {
    SCORE_LAST,
    SCORE_WINDOW,
    SCORE_ACCUMULATED,
    SCORE_OBSERVED,
    SCORE_RECENCY,
    SCORE_KEY_NORM,
    SCORE_KEY_DIFF,
    SCORE_COLUMN,
    SCORE_FUTURE,
};
struct score {
    const char *label; /* what the column `scorer` shows */
    enum score_kind kind;
    long rows;          /* window:N */
    const char *column; /* column:NAME */
};

enum reduce { REDUCE_HEAD, REDUCE_MEAN, REDUCE_MAX, REDUCE_SUM, REDUCE_ENTROPY, REDUCE_LAYER };
enum smooth { SMOOTH_NONE, SMOOTH_AVG, SMOOTH_MAX };
enum allocate { ALLOCATE_UNIFORM, ALLOCATE_PYRAMID, ALLOCATE_LAYER, ALLOCATE_MODEL };

/* One policy with its score: a row of the tables for each cell. */
struct row {
    const char *policy; /* what the column `policy` shows */
    struct score score;
    enum reduce reduce;
    enum smooth smooth;
    long smooth_width;
    long protect_sinks, protect_recent;
    bool recent_is_fraction;
    struct decimal recent_fraction;
    enum allocate allocate;
    struct decimal allocate_value; /* beta or alpha */
    bool gated;
    const char *gate_text;
    bool pages_by_sum; /* clairvoyant */
};

struct score score_of(const char *text);
/* The policies of the command line against its scorers: for every scorer the policies that take
   any score, then the rows that have their own, each in the order given. */
struct row *rows_of(char **policies, long policy_count, const struct score *scorers,
                    long scorer_count, long *count);

/* -- candidates, scores, vectors (oracle_score.c) -- */

struct candidates {
    long first, count, sinks;
};
struct candidates candidates_of(const struct options *o, const struct sample *sample,
                                const struct layer *layer);

/* The vectors of one score in one layer. */
struct vectors {
    bool exist;
    long groups, per_group, tokens; /* per_group: query heads of a group, or 1 */
    float *values;                  /* [groups * per_group][tokens] */
    long *bad;                      /* [groups]: heads that are not finite */
};
struct vectors vectors_of(const struct options *o, const struct sample *sample,
                          const struct layer *layer, const struct score *score);
void vectors_free(struct vectors *vectors);
/* The group's first vector. */
const float *group_vectors(const struct vectors *vectors, long group);
/* False for scores that are not attention mass: recency, keys, columns. */
bool score_has_mass(const struct score *score);

double renyi(const double *p, long count, double alpha);
double entropy_raw(const struct options *o, const struct candidates *c, const float *a);
double entropy_isolated(const struct options *o, const struct candidates *c, const float *a);
void softmax_weights(const double *entropies, long count, double tau, double *weights);

/* count vectors [count][tokens] to one. */
void reduce_vectors(const struct options *o, const struct candidates *c, enum reduce how,
                    const float *vectors, long count, float *out);
/* Over the first `range` values; the others stay. */
void smooth_vector(enum smooth how, long width, long range, long tokens, float *vector);

/* -- pages, orders, sets (oracle_select.c) -- */

struct cut { /* the candidates cut at absolute multiples of the page size; 1 makes pages of tokens
              */
    long first, tokens, page_size, pages;
};
struct cut cut_of(const struct candidates *c, long page_size);
long page_of_token(const struct cut *cut, long token);
void page_scores(const struct cut *cut, enum page_reduce how, const float *tokens, float *pages);

/* Protected pages in their order; returns how many. `quota` is what recent:f is a fraction of. */
long protected_pages(const struct row *row, const struct cut *cut, long quota, long *pages);
/* Protected first, then falling score, ties to the lower index. */
void select_order(const float *scores, long count, const long *protected, long protected_count,
                  long *order);
/* Flags the first `quota` pages of each of the orders [count][pages]; returns how many are set. */
long union_of(const long *orders, long count, long pages, long quota, bool *kept);

/* -- what a row keeps (oracle_plan.c, oracle_allocate.c) -- */

struct decision {
    long quota;    /* as shown */
    long allotted; /* what the allocation gave, each head where they keep sets of their own */
    long selected; /* pages or tokens of the group */
    bool *kept;    /* [tokens] */
    long *rank;    /* [needles], -1 where the candidates do not hold the needle */
};

struct group_plan {
    bool present;               /* its scores exist and it is not excluded */
    long count;                 /* vectors that select: query heads, or 1 */
    float *pooled;              /* [tokens] reduced, not smoothed; NULL for reduce `head` */
    float *tokens;              /* [count][tokens] as they select */
    struct decision *decisions; /* [page sizes][budgets] */
};

struct layer_plan {
    struct candidates candidates;
    bool full_attention;
    bool counted; /* full attention, and some group is present */
    struct vectors vectors;
    long group_count;
    struct group_plan *groups;
};

struct gate {
    bool known;
    double difference;
    bool open;
    bool *has_agreement; /* [layers] */
    double *agreement, *agreement_without_sinks;
};

struct plan {
    const struct row *row;
    long layer_count;
    struct layer_plan *layers;
    struct gate gate;
};

struct plan plan_row(const struct options *o, const struct sample *sample, const struct row *row);
void plan_free(const struct options *o, struct plan *plan);
/* Puts the sets of the file o->kept in the place of those of the plan (oracle_kept.c). */
void plan_take_kept(const struct options *o, const struct sample *sample, struct plan *plan);

/* One group's part in an allocation: its pages in select order with their scores. */
struct share {
    long layer, group, pages, protected_count;
    const float *scores;
    const long *order;
    bool *kept; /* [pages], filled */
};
/* layer:alpha and model:alpha over the groups given. */
void allocate_by_score(struct share *shares, long count, long quota, struct decimal alpha);
/* pyramid:beta: quotas of `layers` layers. */
void allocate_pyramid(long layers, long quota, long recent, long items, struct decimal beta,
                      long *quotas);
struct gate gate_of(const struct options *o, const struct sample *sample, const struct plan *plan);

/* -- measures (oracle_measure.c) -- */

struct bounds {
    bool pairs;
    double uor, j_mean, j_max;
    double bonferroni_lower, sandwich_lower, sandwich_upper, cauchy_lower, decaen_lower,
        dawson_sankoff_lower, hunter_upper;
};
/* sets: [r][items], each with k flags set. */
struct bounds bounds_of(const bool *sets, long r, long items, long k);
/* [r][r], symmetric; the maximum spanning tree by Kruskal, and by trying every labelled tree. */
long spanning_tree(const long *weights, long r);
long spanning_tree_brute(const long *weights, long r);

struct future {
    bool known;
    double mass, weight, peak, peak_weight;
};
/* over the tokens flagged in `among` (NULL: all candidates). */
struct future future_of(const struct sample *sample, const struct layer *layer,
                        const struct candidates *c, long group, const bool *kept,
                        const bool *among);
double retained_mass(const float *vectors, long count, long tokens, const bool *kept);
/* NaN where it does not apply. */
double output_error(const struct sample *sample, const struct layer *layer,
                    const struct candidates *c, long group, const bool *kept);

struct premise {
    long owner, peak;
    double owner_mass, owner_entropy, largest_slack, pooled_mass, bound;
};
/* Corollary 2: Delta for siblings with slacks c. */
double dilution(double owner_mass, double eta, const double *slack, long siblings, double tau,
                double non_sinks);
struct premise premise_of(const struct options *o, const struct candidates *c, const float *vectors,
                          long count, struct span needle);
bool holds_needle(const struct candidates *c, struct span needle);

/* -- tables (oracle_tables.c), self-check (oracle_check.c) -- */

struct tables;
struct tables *tables_open(const char *folder, bool gated, bool allocates);
void tables_close(struct tables *tables);
void tables_write_sample(struct tables *tables, const struct options *o,
                         const struct sample *sample, const struct score *scorers,
                         long scorer_count, const struct row *rows, long row_count);

/* Known answers; returns the number of failures and prints each. */
int self_check(void);

#endif
