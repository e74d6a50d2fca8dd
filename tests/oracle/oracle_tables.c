/*
 * The oracle's tables: the same columns, order and emptiness as the replay's.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "oracle.h"

enum table {
    MEASURES,
    BOUNDS,
    HEADS,
    NEEDLES,
    PREMISES,
    LAYERS,
    EXCLUDED,
    GATE,
    AGREEMENT,
    ALLOCATION,
    TABLES,
};

static const struct {
    const char *file, *columns;
} layout[TABLES] = {
    [MEASURES] = {"measures.csv",
                  "trace,sample,layer,group,scorer,policy,page_size,budget,context,ratio,quota,"
                  "selected,uor,kept_tokens,retained_mass,future_mass,future_weight,future_peak,"
                  "peak_weight,output_error"},
    [BOUNDS] = {"bounds.csv",
                "trace,sample,layer,group,scorer,page_size,budget,ratio,quota,uor,j_mean,j_max,"
                "bonferroni_lower,sandwich_lower,sandwich_upper,cauchy_lower,decaen_lower,"
                "dawson_sankoff_lower,hunter_upper"},
    [HEADS] = {"heads.csv",
               "trace,sample,layer,group,head,scorer,sink_mass,h2_raw,h2_isolated,weight_raw,"
               "weight_isolated,max_prob,needle_mass,class"},
    [NEEDLES] = {"needles.csv",
                 "trace,sample,layer,group,scorer,policy,page_size,budget,needle,start,end,"
                 "kept_fraction,pooled_mass,rank,needle_future,needle_future_weight"},
    [PREMISES] = {"premises.csv",
                  "trace,sample,layer,group,scorer,needle,owner,peak,owner_mass,owner_entropy,"
                  "largest_slack,pooled_mass,bound,holds"},
    [LAYERS] = {"layers.csv", "trace,sample,layer,scorer,policy,page_size,budget,quota,union,pur"},
    [EXCLUDED] = {"excluded.csv", "trace,sample,layer,group,scorer,heads"},
    [GATE] = {"gate.csv", "trace,sample,difference,threshold,open"},
    [AGREEMENT] = {"agreement.csv", "trace,sample,layer,agreement,agreement_without_sinks"},
    [ALLOCATION] = {"allocation.csv",
                    "trace,sample,layer,group,scorer,policy,page_size,budget,quota,allotted,share,"
                    "dropped_mass"},
};

struct tables {
    FILE *files[TABLES]; /* gate, agreement and allocation: NULL without a row for them */
};

/* -- cells -- */

static void write_text(FILE *file, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

/* One line; kinds: s text, l long, d double (empty where not finite). */
static void line(FILE *file, const char *kinds, ...)
{
    va_list values;
    va_start(values, kinds);
    for (const char *kind = kinds; *kind; kind++) {
        if (kind != kinds)
            fputc(',', file);
        if (*kind == 's') {
            write_text(file, va_arg(values, const char *));
        } else if (*kind == 'l') {
            fprintf(file, "%ld", va_arg(values, long));
        } else if (*kind == 'd') {
            double value = va_arg(values, double);
            if (isfinite(value))
                fprintf(file, "%.17g", value);
        }
    }
    fputc('\n', file);
    va_end(values);
}

static bool is_written(int table, bool gated, bool allocates)
{
    return table == ALLOCATION ? allocates : table < GATE || gated;
}

struct tables *tables_open(const char *folder, bool gated, bool allocates)
{
    if (mkdir(folder, 0777) && errno != EEXIST)
        die(1, "%s: cannot be made", folder);
    struct tables *tables = room(1, sizeof *tables);
    for (int i = 0; i < TABLES; i++) {
        char *path = room((long)strlen(folder) + 64, 1);
        sprintf(path, "%s/%s", folder, layout[i].file);
        if (is_written(i, gated, allocates)) {
            tables->files[i] = fopen(path, "w");
            if (!tables->files[i])
                die(1, "%s: cannot be written", path);
            fprintf(tables->files[i], "%s\n", layout[i].columns);
        }
        free(path);
    }
    return tables;
}

void tables_close(struct tables *tables)
{
    for (int i = 0; i < TABLES; i++)
        if (tables->files[i] && fclose(tables->files[i]))
            die(1, "%s: not all was written", layout[i].file);
    free(tables);
}

/* -- rows of a policy: measures, needles, layers -- */

/* One (layer, row, page size, budget) and where it stands. */
struct place {
    const struct options *o;
    const struct sample *sample;
    const struct layer *layer;
    const struct layer_plan *plan;
    const struct row *row;
    long page, budget;
};

static const struct decision *decision_at(const struct place *at, long g)
{
    return &at->plan->groups[g].decisions[at->page * at->o->budget_count + at->budget];
}

/* Quotas that differ between groups, or a gate, leave no overhead to speak of. */
static bool is_uniform(const struct row *row)
{
    return row->allocate == ALLOCATE_UNIFORM && !row->gated;
}

static void write_measure(FILE *file, const struct place *at, long g)
{
    const struct decision *d = decision_at(at, g);
    const struct candidates *c = &at->plan->candidates;
    const struct vectors *v = &at->plan->vectors;
    struct future f = future_of(at->sample, at->layer, c, g, d->kept, NULL);
    double uor = NAN, retained = NAN;
    long kept = 0;
    for (long t = 0; t < c->count; t++)
        kept += d->kept[t];
    if (is_uniform(at->row) && d->quota > 0)
        uor = (double)d->selected / (double)d->quota;
    if (score_has_mass(&at->row->score))
        retained = retained_mass(group_vectors(v, g), v->per_group, c->count, d->kept);
    line(file, "ssllsslslllldldddddd", at->sample->trace, at->sample->name, at->layer->number, g,
         at->row->score.label, at->row->policy, at->o->page_sizes[at->page],
         at->o->budgets[at->budget], c->count, at->layer->query_heads / at->layer->kv_heads,
         d->quota, d->selected, uor, kept, retained, f.known ? f.mass : NAN,
         f.known ? f.weight : NAN, f.known ? f.peak : NAN, f.known ? f.peak_weight : NAN,
         output_error(at->sample, at->layer, c, g, d->kept));
}

/* What the group got where that is not its uniform quota, and the pooled mass that it drops. */
static void write_allocation(FILE *file, const struct place *at, long g)
{
    const struct decision *d = decision_at(at, g);
    const float *pooled = at->plan->groups[g].pooled;
    double all = 0, kept = 0;
    if (is_uniform(at->row))
        return;
    for (long t = 0; pooled && t < at->plan->candidates.count; t++) {
        all += (double)pooled[t];
        kept += d->kept[t] ? (double)pooled[t] : 0;
    }
    bool has_mass = pooled && score_has_mass(&at->row->score) && all > 0;
    line(file, "ssllsslslldd", at->sample->trace, at->sample->name, at->layer->number, g,
         at->row->score.label, at->row->policy, at->o->page_sizes[at->page],
         at->o->budgets[at->budget], d->quota, d->allotted, (double)d->allotted / (double)d->quota,
         has_mass ? 1 - kept / all : NAN);
}

static void write_needles(FILE *file, const struct place *at, long g)
{
    const struct decision *d = decision_at(at, g);
    const struct candidates *c = &at->plan->candidates;
    const float *pooled = at->plan->groups[g].pooled;
    bool *inside = room(c->count, sizeof *inside);
    for (long i = 0; i < at->sample->needle_count; i++) {
        struct span needle = at->sample->needles[i];
        if (!holds_needle(c, needle))
            continue;
        double mass = 0;
        long kept = 0;
        for (long t = 0; t < c->count; t++) {
            inside[t] = c->first + t >= needle.start && c->first + t < needle.end;
            kept += inside[t] && d->kept[t];
            mass += pooled && inside[t] ? (double)pooled[t] : 0;
        }
        bool has_mass = pooled && at->row->score.kind != SCORE_RECENCY;
        struct future f = future_of(at->sample, at->layer, c, g, d->kept, inside);
        line(file,
             "ssllsslsllldd"
             "ldd",
             at->sample->trace, at->sample->name, at->layer->number, g, at->row->score.label,
             at->row->policy, at->o->page_sizes[at->page], at->o->budgets[at->budget], i,
             needle.start, needle.end, (double)kept / (double)(needle.end - needle.start),
             has_mass ? mass : NAN, d->rank[i], f.known ? f.mass : NAN, f.known ? f.weight : NAN);
    }
    free(inside);
}

/* The union over the groups; only for pooled rows of which no group is excluded. */
static void write_layer(FILE *file, const struct place *at)
{
    if (!at->plan->vectors.exist || at->row->reduce == REDUCE_HEAD)
        return;
    const struct candidates *c = &at->plan->candidates;
    struct cut cut = cut_of(c, at->o->page_sizes[at->page]);
    bool *pages = room(cut.pages, sizeof *pages);
    long together = 0, quota = 0;
    for (long g = 0; g < at->plan->group_count; g++) {
        if (!at->plan->groups[g].present) {
            free(pages);
            return;
        }
        quota = decision_at(at, g)->quota;
        for (long t = 0; t < c->count; t++)
            if (decision_at(at, g)->kept[t])
                pages[page_of_token(&cut, t)] = true;
    }
    for (long p = 0; p < cut.pages; p++)
        together += pages[p];
    free(pages);
    line(file, "sslsslslld", at->sample->trace, at->sample->name, at->layer->number,
         at->row->score.label, at->row->policy, at->o->page_sizes[at->page],
         at->o->budgets[at->budget], quota, together,
         is_uniform(at->row) ? (double)together / (double)quota : NAN);
}

/* -- rows of a scorer: bounds, heads, premises, excluded -- */

/* A layer's vectors of one asked scorer. */
struct scored {
    const struct options *o;
    const struct sample *sample;
    const struct layer *layer;
    const struct score *score;
    struct candidates candidates;
    struct vectors vectors;
};

static void write_bound(FILE *file, const struct scored *s, long g, long page_size,
                        const char *budget)
{
    const struct vectors *v = &s->vectors;
    struct cut cut = cut_of(&s->candidates, page_size);
    long k = uniform_quota(decimal_of(budget), cut.tokens, page_size);
    bool *sets = room(v->per_group * cut.pages, sizeof *sets);
    float *scores = room(cut.pages, sizeof *scores);
    long *order = room(cut.pages, sizeof *order);
    for (long h = 0; h < v->per_group; h++) {
        page_scores(&cut, s->o->page_reduce, group_vectors(v, g) + h * v->tokens, scores);
        select_order(scores, cut.pages, NULL, 0, order);
        union_of(order, 1, cut.pages, k, &sets[h * cut.pages]);
    }
    struct bounds b = bounds_of(sets, v->per_group, cut.pages, k);
    line(file, "ssllslslldddddddddd", s->sample->trace, s->sample->name, s->layer->number, g,
         s->score->label, page_size, budget, s->layer->query_heads / s->layer->kv_heads, k, b.uor,
         b.pairs ? b.j_mean : NAN, b.pairs ? b.j_max : NAN, b.bonferroni_lower, b.sandwich_lower,
         b.sandwich_upper, b.cauchy_lower, b.decaen_lower, b.dawson_sankoff_lower, b.hunter_upper);
    free(sets);
    free(scores);
    free(order);
}

static double needle_mass(const struct scored *s, const float *a)
{
    double mass = 0;
    for (long t = 0; t < s->candidates.count; t++) {
        bool inside = false;
        for (long i = 0; i < s->sample->needle_count; i++)
            inside = inside || (s->candidates.first + t >= s->sample->needles[i].start &&
                                s->candidates.first + t < s->sample->needles[i].end);
        mass += inside ? (double)a[t] : 0;
    }
    return mass;
}

static const char *class_of(const struct options *o, double sink_mass, bool has_needles,
                            double in_needles, double entropy)
{
    if (sink_mass >= o->sink_threshold)
        return "sink";
    if (has_needles ? in_needles >= o->retrieval_mass : exp(entropy) <= o->retrieval_support)
        return "retrieval";
    return "contextual";
}

static void write_heads(FILE *file, const struct scored *s, long g)
{
    const struct vectors *v = &s->vectors;
    const struct candidates *c = &s->candidates;
    double *entropies = room(4 * v->per_group, sizeof *entropies);
    double *raw = entropies, *isolated = raw + v->per_group, *weight_raw = isolated + v->per_group,
           *weight_isolated = weight_raw + v->per_group;
    for (long h = 0; h < v->per_group; h++) {
        raw[h] = entropy_raw(s->o, c, group_vectors(v, g) + h * v->tokens);
        isolated[h] = entropy_isolated(s->o, c, group_vectors(v, g) + h * v->tokens);
    }
    softmax_weights(raw, v->per_group, s->o->tau, weight_raw);
    softmax_weights(isolated, v->per_group, s->o->tau, weight_isolated);
    for (long h = 0; h < v->per_group; h++) {
        const float *a = group_vectors(v, g) + h * v->tokens;
        double sinks = 0, largest = c->sinks < c->count ? -INFINITY : 0;
        for (long t = 0; t < c->sinks; t++)
            sinks += (double)a[t];
        for (long t = c->sinks; t < c->count; t++)
            largest = fmax(largest, (double)a[t]);
        bool has_needles = s->sample->needle_count > 0;
        double in_needles = needle_mass(s, a);
        line(file,
             "ssllls"
             "ddddddds",
             s->sample->trace, s->sample->name, s->layer->number, g, g * v->per_group + h,
             s->score->label, sinks, raw[h], isolated[h], weight_raw[h], weight_isolated[h],
             largest, has_needles ? in_needles : NAN,
             class_of(s->o, sinks, has_needles, in_needles, isolated[h]));
    }
    free(entropies);
}

static void write_premises(FILE *file, const struct scored *s, long g)
{
    for (long i = 0; i < s->sample->needle_count; i++) {
        if (!holds_needle(&s->candidates, s->sample->needles[i]))
            continue;
        struct premise p = premise_of(s->o, &s->candidates, group_vectors(&s->vectors, g),
                                      s->vectors.per_group, s->sample->needles[i]);
        line(file, "ssllsllldddddl", s->sample->trace, s->sample->name, s->layer->number, g,
             s->score->label, i, g * s->vectors.per_group + p.owner, p.peak, p.owner_mass,
             p.owner_entropy, p.largest_slack, p.pooled_mass, p.bound,
             (long)(p.pooled_mass >= p.bound - 1e-9));
    }
}

/* Every scorer of the tables, named rows' included, once per group. */
static void write_excluded(FILE *file, const struct options *o, const struct sample *sample,
                           const struct layer *layer, const struct score *const *scores,
                           long score_count)
{
    struct vectors *all = room(score_count, sizeof *all);
    for (long i = 0; i < score_count; i++)
        all[i] = vectors_of(o, sample, layer, scores[i]);
    for (long g = 0; g < layer->kv_heads; g++)
        for (long i = 0; i < score_count; i++) {
            bool seen = false;
            for (long j = 0; j < i; j++)
                seen = seen || strcmp(scores[i]->label, scores[j]->label) == 0;
            if (all[i].exist && all[i].bad[g] && !seen)
                line(file, "ssllsl", sample->trace, sample->name, layer->number, g,
                     scores[i]->label, all[i].bad[g]);
        }
    for (long i = 0; i < score_count; i++)
        vectors_free(&all[i]);
    free(all);
}

static void write_scorer(struct tables *tables, const struct scored *s, long g)
{
    const struct options *o = s->o;
    if (!s->vectors.exist || s->vectors.bad[g])
        return;
    for (long page = 0; page < o->page_count; page++)
        for (long budget = 0; budget < o->budget_count; budget++)
            write_bound(tables->files[BOUNDS], s, g, o->page_sizes[page], o->budgets[budget]);
    write_heads(tables->files[HEADS], s, g);
    write_premises(tables->files[PREMISES], s, g);
}

/* -- a sample -- */

/* A row whose score no layer of the sample has is in no table. */
static bool can_be_given(const struct plan *plan)
{
    bool given = false;
    for (long l = 0; l < plan->layer_count; l++)
        given = given || plan->layers[l].vectors.exist;
    return given;
}

static void write_gate(struct tables *tables, const struct sample *sample, const struct plan *plan)
{
    const struct gate *gate = &plan->gate;
    line(tables->files[GATE], "ssddl", sample->trace, sample->name,
         gate->known ? gate->difference : NAN, real_of(plan->row->gate_text), (long)gate->open);
    for (long l = 0; l < sample->layer_count; l++)
        if (gate->has_agreement[l])
            line(tables->files[AGREEMENT], "ssldd", sample->trace, sample->name,
                 sample->layers[l].number, gate->agreement[l], gate->agreement_without_sinks[l]);
}

static void write_layer_of_rows(struct tables *tables, const struct options *o,
                                const struct sample *sample, long l, const struct plan *plans,
                                long row_count)
{
    for (long g = -1; g < sample->layers[l].kv_heads; g++)
        for (long r = 0; r < row_count; r++)
            for (long page = 0; page < o->page_count; page++)
                for (long budget = 0; budget < o->budget_count; budget++) {
                    struct place at = {
                        o,    sample, &sample->layers[l], &plans[r].layers[l], plans[r].row,
                        page, budget};
                    if (g < 0) {
                        write_layer(tables->files[LAYERS], &at);
                    } else if (at.plan->groups[g].present) {
                        write_measure(tables->files[MEASURES], &at, g);
                        write_needles(tables->files[NEEDLES], &at, g);
                        write_allocation(tables->files[ALLOCATION], &at, g);
                    }
                }
}

static void write_layer_of_scorers(struct tables *tables, const struct options *o,
                                   const struct sample *sample, const struct layer *layer,
                                   const struct score *scorers, long scorer_count)
{
    struct scored *scored = room(scorer_count, sizeof *scored);
    for (long i = 0; i < scorer_count; i++)
        scored[i] = (struct scored){o,
                                    sample,
                                    layer,
                                    &scorers[i],
                                    candidates_of(o, sample, layer),
                                    vectors_of(o, sample, layer, &scorers[i])};
    for (long g = 0; g < layer->kv_heads; g++)
        for (long i = 0; i < scorer_count; i++)
            write_scorer(tables, &scored[i], g);
    for (long i = 0; i < scorer_count; i++)
        vectors_free(&scored[i].vectors);
    free(scored);
}

void tables_write_sample(struct tables *tables, const struct options *o,
                         const struct sample *sample, const struct score *scorers,
                         long scorer_count, const struct row *rows, long row_count)
{
    struct plan *plans = room(row_count, sizeof *plans);
    const struct score **scores = room(scorer_count + row_count, sizeof *scores);
    for (long i = 0; i < scorer_count; i++)
        scores[i] = &scorers[i];
    for (long r = 0; r < row_count; r++) {
        plans[r] = plan_row(o, sample, &rows[r]);
        if (o->kept)
            plan_take_kept(o, sample, &plans[r]);
        scores[scorer_count + r] = &rows[r].score;
        if (rows[r].gated && can_be_given(&plans[r]))
            write_gate(tables, sample, &plans[r]);
    }
    for (long l = 0; l < sample->layer_count; l++) {
        const struct layer *layer = &sample->layers[l];
        write_layer_of_rows(tables, o, sample, l, plans, row_count);
        write_layer_of_scorers(tables, o, sample, layer, scorers, scorer_count);
        write_excluded(tables->files[EXCLUDED], o, sample, layer, scores, scorer_count + row_count);
    }
    for (long r = 0; r < row_count; r++)
        plan_free(o, &plans[r]);
    free(plans);
    free(scores);
}
