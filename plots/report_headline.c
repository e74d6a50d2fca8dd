/*
 * The numbers that a reader wants first, each with a sentence on what it means. They are computed
 * by the formulas of the tables; a number that the replay does not have has no card.
 */
#include <math.h>
#include <string.h>

#include "formats/base/number.h"

#include "plots/html_text.h"
#include "plots/report.h"

struct headline {
    const struct kvr_report *report;
    const struct kvr_paper_source *paper;
    struct kvr_report_choice choice;
    struct kvr_text *text;
    struct kvr_error *err;
    enum kvr_status status;
};

static struct kvr_interval estimate(struct headline *headline, const struct kvr_sums *sums,
                                    const struct kvr_series *series,
                                    const struct kvr_formula *formula)
{
    struct kvr_interval interval = {.estimate = NAN, .low = NAN, .high = NAN};
    if (series != NULL && headline->status == KVR_OK)
        headline->status = kvr_series_estimate(sums, series, formula, &headline->paper->bootstrap,
                                               &interval, headline->err);
    return interval;
}

static struct kvr_interval mean_of(struct headline *headline, const struct kvr_sums *sums,
                                   const struct kvr_series *series, size_t quantity,
                                   enum kvr_pooling pooling, double factor)
{
    const struct kvr_formula formula = {pooling, factor, 1, {{quantity, false}}};
    return estimate(headline, sums, series, &formula);
}

/* ------------------------------------------------------------------------------ cards */

static void open_card(struct headline *headline, const char *label)
{
    kvr_text_add(headline->text, "<article class=\"card\">\n<h3>%s</h3>\n<p class=\"big\">", label);
}

static void close_card(struct headline *headline)
{
    kvr_text_string(headline->text, "</p>\n</article>\n");
}

static void start_sentence(struct headline *headline)
{
    kvr_text_string(headline->text, "</p>\n<p>");
}

static void add_interval(struct headline *headline, const struct kvr_interval *interval,
                         int decimals, const char *unit)
{
    if (kvr_interval_exists(interval))
        kvr_text_add(headline->text, " <span class=\"ci\">[%.*f–%.*f%s]</span>", decimals,
                     interval->low, decimals, interval->high, unit);
}

/* "under last at budget 0.1, by tokens" */
static void add_place(struct headline *headline)
{
    const struct kvr_replay_sums *sums = &headline->paper->sums;
    kvr_text_string(headline->text, "under <b>");
    kvr_html_string(headline->text, sums->scorers.items[headline->choice.scorer]);
    kvr_text_string(headline->text, "</b> at budget ");
    kvr_html_string(headline->text, sums->budgets.items[headline->choice.budget]);
    if (headline->choice.page_size == 1)
        kvr_text_string(headline->text, ", by tokens");
    else
        kvr_text_add(headline->text, ", by pages of %llu",
                     (unsigned long long)headline->choice.page_size);
}

static struct kvr_setting chosen(const struct headline *headline)
{
    return (struct kvr_setting){headline->choice.scorer, KVR_NO_NAME, headline->choice.budget,
                                headline->choice.page_size};
}

static void add_union(struct headline *headline)
{
    const struct kvr_sums *overlaps = &headline->paper->sums.overlaps;
    const struct kvr_setting setting = chosen(headline);
    const struct kvr_series *series = kvr_sums_find(overlaps, &setting);
    struct kvr_interval uor = mean_of(headline, overlaps, series, KVR_SUM_UOR, KVR_POOL_CELLS, 1);
    double least = INFINITY, most = -INFINITY;
    if (isnan(uor.estimate))
        return;
    struct headline quiet = *headline;
    struct kvr_paper_source source = *headline->paper;
    source.bootstrap.draws = 0;
    quiet.paper = &source;
    for (size_t i = 0; i < overlaps->count; i++) {
        double mean =
            mean_of(&quiet, overlaps, &overlaps->series[i], KVR_SUM_UOR, KVR_POOL_CELLS, 1)
                .estimate;
        least = fmin(least, mean);
        most = fmax(most, mean);
    }
    headline->status = quiet.status;
    open_card(headline, "Union overhead");
    kvr_text_add(headline->text, "%.2f×", uor.estimate);
    add_interval(headline, &uor, 2, "×");
    start_sentence(headline);
    kvr_text_string(headline->text, "Where every query head keeps its own choice, a KV head has to "
                                    "hold this many times the quota, mean over groups ");
    add_place(headline);
    kvr_text_add(headline->text, ". Over all scorers, budgets and page sizes: %.2f to %.2f.", least,
                 most);
    close_card(headline);
}

static void add_certificates(struct headline *headline)
{
    const struct kvr_sums *overlaps = &headline->paper->sums.overlaps;
    const struct kvr_setting setting = chosen(headline);
    const struct kvr_series *series = kvr_sums_find(overlaps, &setting);
    struct kvr_interval twofold =
        mean_of(headline, overlaps, series, KVR_SUM_TWOFOLD, KVR_POOL_CELLS, 100);
    struct kvr_interval cert_1 =
        mean_of(headline, overlaps, series, KVR_SUM_CERT_1, KVR_POOL_CELLS, 100);
    struct kvr_interval cert_t =
        mean_of(headline, overlaps, series, KVR_SUM_CERT_T, KVR_POOL_CELLS, 100);
    if (isnan(twofold.estimate))
        return;
    open_card(headline, "Twofold overhead");
    kvr_text_add(headline->text, "%.1f %%", twofold.estimate);
    add_interval(headline, &twofold, 1, " %");
    start_sentence(headline);
    kvr_text_string(headline->text, "of the groups hold at least twice the quota ");
    add_place(headline);
    kvr_text_add(headline->text,
                 ". Pairwise overlaps alone prove it for %.1f %% (cert_1) and %.1f %% (cert_T).",
                 cert_1.estimate, cert_t.estimate);
    close_card(headline);
}

static void add_masquerade(struct headline *headline)
{
    static const struct kvr_formula raw = {
        KVR_POOL_CELLS,
        1,
        2,
        {{KVR_SUM_RAW + KVR_CLASS_SINK, false}, {KVR_SUM_RAW + KVR_CLASS_CONTEXTUAL, true}}};
    static const struct kvr_formula isolated = {KVR_POOL_CELLS,
                                                1,
                                                2,
                                                {{KVR_SUM_ISOLATED + KVR_CLASS_SINK, false},
                                                 {KVR_SUM_ISOLATED + KVR_CLASS_CONTEXTUAL, true}}};
    const struct kvr_sums *census = &headline->paper->sums.census;
    const struct kvr_setting setting = {headline->choice.scorer, KVR_NO_NAME, KVR_NO_NAME, 0};
    const struct kvr_series *series = kvr_sums_find(census, &setting);
    double before = estimate(headline, census, series, &raw).estimate;
    double after = estimate(headline, census, series, &isolated).estimate;
    if (isnan(before) || isnan(after))
        return;
    open_card(headline, "Sink masquerade");
    kvr_text_add(headline->text, "%.2f → %.2f", before, after);
    start_sentence(headline);
    kvr_text_string(headline->text, "Weight that entropy pooling gives to the mean sink head over "
                                    "that of the mean contextual head, raw and with sinks left out "
                                    "of the entropy. ");
    if (before > 1 && after < 1)
        kvr_text_string(headline->text, "Raw, sink heads pass for focused ones; isolated, they no "
                                        "longer do.");
    else if (before > 1)
        kvr_text_string(headline->text, "Above 1 sink heads pass for focused ones; here they do "
                                        "even when isolated.");
    else
        kvr_text_string(headline->text, "Below 1 they do not pass for focused ones.");
    kvr_text_string(headline->text, " From ");
    kvr_html_counted(headline->text, kvr_census_heads(census, series, KVR_CLASS_SINK), "sink head");
    kvr_text_string(headline->text, " and ");
    kvr_html_count(headline->text, kvr_census_heads(census, series, KVR_CLASS_CONTEXTUAL));
    kvr_text_string(headline->text, " contextual ones.");
    close_card(headline);
}

/* ------------------------------------------------------------------------------ policies */

/* A policy at equal memory, that is one that keeps no more than the budget. */
struct contender {
    const struct kvr_series *series;
    struct kvr_interval peak;
};

static bool named(const struct kvr_replay_sums *sums, const struct kvr_series *series,
                  const char *policy)
{
    return strcmp(sums->policies.items[series->setting.policy], policy) == 0;
}

static bool at_chosen_memory(struct headline *headline, const struct kvr_series *series)
{
    double budget = 0, kept;
    const struct kvr_replay_sums *sums = &headline->paper->sums;
    if (series->setting.budget != headline->choice.budget ||
        series->setting.page_size != headline->choice.page_size)
        return false;
    if (!kvr_parse_double(sums->budgets.items[series->setting.budget], &budget))
        return false;
    kept = mean_of(headline, &sums->kept, series, KVR_SUM_KEPT, KVR_POOL_CELLS, 1).estimate;
    return kept <= budget * 1.005;
}

static void add_policy(struct headline *headline, const struct kvr_series *series)
{
    const struct kvr_replay_sums *sums = &headline->paper->sums;
    kvr_text_string(headline->text, "<b>");
    kvr_html_string(headline->text, sums->policies.items[series->setting.policy]);
    kvr_text_string(headline->text, "</b> (");
    kvr_html_string(headline->text, sums->scorers.items[series->setting.scorer]);
    kvr_text_string(headline->text, ")");
}

static void add_others(struct headline *headline, const struct contender *best, uint64_t within,
                       double ceiling, double floor)
{
    if (!kvr_interval_exists(&best->peak)) {
        kvr_text_string(headline->text, " There is no interval from ");
        kvr_html_counted(headline->text, best->peak.samples, "prompt");
        kvr_text_string(headline->text, ", so this is no ranking.");
    } else if (within > 0) {
        kvr_text_string(headline->text, " ");
        kvr_html_count(headline->text, within);
        kvr_text_add(headline->text, " other%s its interval: no clear winner.",
                     within == 1 ? " lies within" : "s lie within");
    }
    if (!isnan(ceiling))
        kvr_text_add(headline->text, " Knowing the future (clairvoyant) reaches %.1f %%.", ceiling);
    if (!isnan(floor))
        kvr_text_add(headline->text, " Chance (random) reaches %.1f %%.", floor);
}

static void add_best_policy(struct headline *headline)
{
    const struct kvr_replay_sums *sums = &headline->paper->sums;
    struct contender best = {.series = NULL, .peak = {.estimate = NAN, .low = NAN}};
    double ceiling = NAN, floor = NAN;
    uint64_t lines = 0, within = 0;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sums->kept.count; i++) {
            const struct kvr_series *series = &sums->kept.series[i];
            if (!at_chosen_memory(headline, series))
                continue;
            struct kvr_interval peak =
                mean_of(headline, &sums->kept, series, KVR_SUM_FUTURE_PEAK, KVR_POOL_PROMPTS, 100);
            if (isnan(peak.estimate))
                continue;
            if (named(sums, series, "clairvoyant"))
                ceiling = peak.estimate;
            else if (named(sums, series, "random"))
                floor = peak.estimate;
            else if (round == 1)
                within += series != best.series && peak.estimate >= best.peak.low;
            else if (lines++ == 0 || peak.estimate > best.peak.estimate)
                best = (struct contender){series, peak};
        }
    if (best.series == NULL)
        return;
    open_card(headline, "Best at equal memory");
    kvr_text_add(headline->text, "%.1f %%", best.peak.estimate);
    add_interval(headline, &best.peak, 1, " %");
    start_sentence(headline);
    add_policy(headline, best.series);
    kvr_text_string(headline->text,
                    " keeps the most of the future peak, the squared attention that "
                    "later tokens pay to the prompt, among ");
    kvr_html_count(headline->text, lines);
    kvr_text_string(headline->text, " (policy, scorer)");
    kvr_text_string(headline->text, " that hold no more than budget ");
    kvr_html_string(headline->text, sums->budgets.items[headline->choice.budget]);
    kvr_text_string(headline->text, ".");
    add_others(headline, &best, within, ceiling, floor);
    close_card(headline);
}

static void add_needles(struct headline *headline)
{
    const struct kvr_replay_sums *sums = &headline->paper->sums;
    const struct kvr_series *best = NULL, *worst = NULL;
    double most = -INFINITY, least = INFINITY;
    for (size_t i = 0; i < sums->needles.count; i++) {
        const struct kvr_series *series = &sums->needles.series[i];
        const struct kvr_series *kept = kvr_sums_find(&sums->kept, &series->setting);
        if (kept == NULL || named(sums, series, "clairvoyant") || !at_chosen_memory(headline, kept))
            continue;
        double share =
            mean_of(headline, &sums->needles, series, KVR_SUM_WHOLE, KVR_POOL_CELLS, 100).estimate;
        best = share > most ? series : best;
        worst = share < least ? series : worst;
        most = fmax(most, share);
        least = fmin(least, share);
    }
    if (best == NULL || worst == NULL)
        return;
    open_card(headline, "Needles kept whole");
    if (most > least)
        kvr_text_add(headline->text, "%.1f–%.1f %%", least, most);
    else
        kvr_text_add(headline->text, "%.1f %%", most);
    start_sentence(headline);
    kvr_text_string(headline->text, "of the (layer, group) keep the whole needle at budget ");
    kvr_html_string(headline->text, sums->budgets.items[headline->choice.budget]);
    kvr_text_string(headline->text, " and equal memory: ");
    if (most > least) {
        kvr_text_string(headline->text, "least with ");
        add_policy(headline, worst);
        kvr_text_string(headline->text, ", most with ");
        add_policy(headline, best);
        kvr_text_string(headline->text, ".");
    } else {
        kvr_text_string(headline->text, "the same with every policy.");
    }
    close_card(headline);
}

/* ------------------------------------------------------------------------------ checks */

static void add_bounds(struct headline *headline)
{
    const struct kvr_bounds_report *bounds = &headline->paper->bounds;
    uint64_t violations = kvr_bounds_report_violations(bounds), held = 0, rows = 0;
    if (bounds->all.cells == 0)
        return;
    for (size_t i = 0; i < bounds->needle_count; i++) {
        held += bounds->needles[i].held;
        rows += bounds->needles[i].rows;
    }
    open_card(headline, "Bounds violated");
    kvr_html_count(headline->text, violations);
    start_sentence(headline);
    kvr_text_add(headline->text,
                 "Every bound on the overhead was held against what was measured in ");
    kvr_html_counted(headline->text, bounds->all.cells, "cell");
    kvr_text_string(headline->text, violations == 0
                                        ? "; none is violated."
                                        : "; \"kvreplay bounds\" lists the violations.");
    if (rows > 0) {
        kvr_text_string(headline->text, " The needle bound (cor. 2) holds in ");
        kvr_html_count(headline->text, held);
        kvr_text_string(headline->text, " of ");
        kvr_html_count(headline->text, rows);
        kvr_text_string(headline->text, ".");
    }
    close_card(headline);
}

static void add_excluded(struct headline *headline)
{
    const struct kvr_replay_sums *sums = &headline->paper->sums;
    uint64_t excluded = 0, groups = 0;
    for (size_t s = 0; s < sums->scorers.count; s++) {
        excluded += kvr_replay_excluded(sums, s);
        groups += kvr_replay_groups(sums, s);
    }
    if (excluded == 0)
        return;
    open_card(headline, "Excluded");
    kvr_text_add(headline->text, "%.1f %%", 100 * (double)excluded / (double)(excluded + groups));
    start_sentence(headline);
    kvr_html_count(headline->text, excluded);
    kvr_text_string(headline->text, " of ");
    kvr_html_count(headline->text, excluded + groups);
    kvr_text_string(headline->text, " (group, scorer) hold a head that is not finite and count "
                                    "nowhere on this page. A replay that kept them would report "
                                    "perfect agreement where there is none.");
    close_card(headline);
}

enum kvr_status kvr_report_add_headline(const struct kvr_report *report, struct kvr_text *text,
                                        struct kvr_error *err)
{
    struct headline headline = {
        .report = report,
        .paper = report->paper,
        .choice = kvr_report_choose(&report->paper->sums),
        .text = text,
        .err = err,
        .status = KVR_OK,
    };
    kvr_text_string(text, "<div class=\"cards\">\n");
    if (headline.choice.scorer != KVR_NO_NAME) {
        add_union(&headline);
        add_certificates(&headline);
        add_masquerade(&headline);
        add_best_policy(&headline);
        add_needles(&headline);
        add_bounds(&headline);
    } else {
        kvr_text_string(text, "<p class=\"empty\">No group could be replayed, so there are no "
                              "numbers.</p>\n");
    }
    add_excluded(&headline);
    kvr_text_string(text, "</div>\n");
    return headline.status;
}
