/*
 * Printing the summary. All figures come from analysis/summary.h; only their layout is here.
 */
#include "replay/cli/print_summary.h"

#include <math.h>
#include <stdio.h>

#include "replay/cli/readable.h"

/* The budgets are columns: a row has a label and one cell a budget. */
enum { LABEL = 34, CELL = 9 };

static void print_heading(const char *text)
{
    printf("\n%s\n", text);
}

static void print_budgets(const struct kvr_plan *plan, const char *label)
{
    printf("  %-*s", LABEL, label);
    for (size_t b = 0; b < plan->budget_count; b++)
        printf("%*s", CELL, plan->budgets[b].label);
    printf("\n");
}

static void print_value(double value, int decimals)
{
    if (isnan(value))
        printf("%*s", CELL, "-");
    else
        printf("%*.*f", CELL, decimals, value);
}

static double ratio(double sum, uint64_t count)
{
    return count > 0 ? sum / (double)count : NAN;
}

/* "last, tokens" or "last, pages of 16" */
static void print_place(const char *score, uint64_t page)
{
    if (page == 1)
        kvr_print_line(stdout, "  %s, tokens", score);
    else
        kvr_print_line(stdout, "  %s, pages of %llu", score, (unsigned long long)page);
}

static void print_range(const char *what, uint64_t least, uint64_t most)
{
    if (least == most)
        printf(" %llu %s", (unsigned long long)least, what);
    else
        printf(" %llu-%llu %s", (unsigned long long)least, (unsigned long long)most, what);
}

static void print_trace(const struct kvr_plan *plan, const struct kvr_trace *trace)
{
    uint64_t samples = 0, groups = 0, needles = 0, decode = 0;
    uint64_t prompt[2] = {UINT64_MAX, 0}, r[2] = {UINT64_MAX, 0}, depth[2] = {UINT64_MAX, 0};
    for (size_t s = 0; s < trace->sample_count; s++) {
        const struct kvr_sample *sample = &trace->samples[s];
        if (!kvr_plan_wants_sample(plan, sample))
            continue;
        samples++;
        needles += sample->needle_count;
        decode += sample->query_count - kvr_sample_decode_start(sample);
        prompt[0] = sample->prompt_length < prompt[0] ? sample->prompt_length : prompt[0];
        prompt[1] = sample->prompt_length > prompt[1] ? sample->prompt_length : prompt[1];
        uint64_t layers = 0;
        for (size_t l = 0; l < sample->layer_count; l++) {
            const struct kvr_layer *layer = &sample->layers[l];
            if (!kvr_plan_wants_layer(plan, layer))
                continue;
            uint64_t ratio_here = layer->query_heads / layer->kv_heads;
            layers++;
            groups += layer->kv_heads;
            r[0] = ratio_here < r[0] ? ratio_here : r[0];
            r[1] = ratio_here > r[1] ? ratio_here : r[1];
        }
        depth[0] = layers < depth[0] ? layers : depth[0];
        depth[1] = layers > depth[1] ? layers : depth[1];
    }
    kvr_print_line(stdout, "%s%s%s", trace->name, trace->model != NULL ? "  " : "",
                   trace->model != NULL ? trace->model : "");
    printf("  %llu sample%s of", (unsigned long long)samples, samples == 1 ? "" : "s");
    print_range("prompt tokens,", prompt[0], prompt[1]);
    print_range(depth[1] == 1 ? "layer," : "layers,", depth[0], depth[1]);
    printf(" %llu group%s of", (unsigned long long)groups, groups == 1 ? "" : "s");
    print_range(r[1] == 1 ? "query head," : "query heads,", r[0], r[1]);
    printf(" %llu needle%s, %llu decode rows\n", (unsigned long long)needles,
           needles == 1 ? "" : "s", (unsigned long long)decode);
}

static void print_overlap_line(const struct kvr_summary *summary, const char *label, size_t score,
                               size_t page, double (*figure)(const struct kvr_overlap_summary *),
                               int decimals)
{
    printf("  %-*s", LABEL, label);
    for (size_t b = 0; b < summary->plan->budget_count; b++) {
        const struct kvr_place place = {.score = score, .page = page, .budget = b};
        print_value(figure(kvr_summary_overlap(summary, place)), decimals);
    }
    printf("\n");
}

static double uor_mean(const struct kvr_overlap_summary *sums)
{
    return ratio(sums->uor_sum, sums->groups);
}

static double uor_most(const struct kvr_overlap_summary *sums)
{
    return sums->groups > 0 ? sums->uor_most : NAN;
}

static double disagreement(const struct kvr_overlap_summary *sums)
{
    return ratio(sums->disagreement_sum, sums->pair_groups);
}

static double certified_bonferroni(const struct kvr_overlap_summary *sums)
{
    return 100 * ratio((double)sums->certified_bonferroni, sums->groups);
}

static double certified_sandwich(const struct kvr_overlap_summary *sums)
{
    return 100 * ratio((double)sums->certified_sandwich, sums->groups);
}

static void print_overlaps(const struct kvr_summary *summary)
{
    const struct kvr_plan *plan = summary->plan;
    print_heading("Union overhead: |union of the heads' own sets| / quota, over groups");
    print_budgets(plan, "budget");
    for (size_t s = 0; s < plan->score_count; s++)
        for (size_t p = 0; plan->scores[s].asked && p < plan->page_size_count; p++) {
            print_place(plan->scores[s].label, plan->page_sizes[p]);
            print_overlap_line(summary, "    UOR mean", s, p, uor_mean, 3);
            print_overlap_line(summary, "    UOR max", s, p, uor_most, 3);
            print_overlap_line(summary, "    disagreement D", s, p, disagreement, 3);
            print_overlap_line(summary, "    certified 2x by cert_1, %", s, p, certified_bonferroni,
                               1);
            print_overlap_line(summary, "    certified 2x by cert_T, %", s, p, certified_sandwich,
                               1);
        }
}

static void print_census(const struct kvr_summary *summary)
{
    const struct kvr_plan *plan = summary->plan;
    print_heading("Sink masquerade: mean weight of sink heads / of contextual heads");
    printf("  %-*s%9s%11s%12s%9s%10s%9s   %s\n", 16, "scorer", "sink", "retrieval", "contextual",
           "raw", "isolated", "removed", "row sums");
    for (size_t s = 0; s < plan->score_count; s++) {
        const struct kvr_census_summary *census = &summary->census[s];
        if (!plan->scores[s].asked)
            continue;
        double raw = kvr_summary_masquerade(census, census->weight_raw);
        double isolated = kvr_summary_masquerade(census, census->weight_isolated);
        printf("  ");
        kvr_print_name(stdout, 16, plan->scores[s].label);
        printf("%9llu%11llu%12llu", (unsigned long long)census->heads[KVR_HEAD_SINK],
               (unsigned long long)census->heads[KVR_HEAD_RETRIEVAL],
               (unsigned long long)census->heads[KVR_HEAD_CONTEXTUAL]);
        print_value(raw, 3);
        printf(" ");
        print_value(isolated, 3);
        if (isnan(raw / isolated))
            printf("%9s", "-");
        else
            printf("%8.1fx", raw / isolated);
        if (isnan(census->least_total))
            printf("   -\n");
        else
            printf("   %.4f-%.4f\n", census->least_total, census->most_total);
    }
}

typedef double (*kept_figure)(const struct kvr_kept_summary *);

static double future_peak(const struct kvr_kept_summary *kept)
{
    return ratio(kept->future_peak_sum, kept->future_samples);
}

static double retained_mass(const struct kvr_kept_summary *kept)
{
    return ratio(kept->retained_sum, kept->retained_groups);
}

static double needle_fraction(const struct kvr_kept_summary *kept)
{
    return ratio(kept->needle_fraction_sum, kept->needles);
}

/* True if the figure exists somewhere. */
static bool any_kept(const struct kvr_summary *summary, kept_figure figure)
{
    const struct kvr_plan *plan = summary->plan;
    size_t count = plan->use_count * plan->page_size_count * plan->budget_count;
    for (size_t i = 0; i < count; i++)
        if (!isnan(figure(&summary->kept[i])))
            return true;
    return false;
}

/* "last / mean"; a policy with a score of its own is named without it. */
static void print_use(const struct kvr_plan *plan, const struct kvr_use *use)
{
    const struct kvr_stages *stages = &plan->policies[use->policy];
    char label[LABEL * 2];
    snprintf(label, sizeof label, "%s%s%s", stages->asked ? plan->scores[use->score].label : "",
             stages->asked ? " / " : "", stages->label);
    printf("    ");
    kvr_print_name(stdout, LABEL - 2, label);
}

static void print_unit(uint64_t page)
{
    if (page == 1)
        printf("  tokens\n");
    else
        printf("  pages of %llu\n", (unsigned long long)page);
}

static void print_kept(const struct kvr_summary *summary, const char *heading, kept_figure figure)
{
    const struct kvr_plan *plan = summary->plan;
    print_heading(heading);
    print_budgets(plan, "budget");
    for (size_t g = 0; g < plan->page_size_count; g++) {
        print_unit(plan->page_sizes[g]);
        for (size_t u = 0; u < plan->use_count; u++) {
            print_use(plan, &plan->uses[u]);
            for (size_t b = 0; b < plan->budget_count; b++) {
                const struct kvr_place place = {.use = u, .page = g, .budget = b};
                print_value(figure(kvr_summary_kept(summary, place)), 3);
            }
            printf("\n");
        }
    }
}

/* Policies that keep a union hold more than the others at the same quota. */
static void print_memory_note(const struct kvr_plan *plan)
{
    for (size_t u = 0; u < plan->use_count && !plan->match_physical; u++) {
        const struct kvr_stages *stages = &plan->policies[plan->uses[u].policy];
        if (stages->reduce->scope != KVR_REDUCE_NOTHING)
            continue;
        kvr_print_line(stdout,
                       "  At the same budget %s holds more memory, UOR times the budget: compare "
                       "with --match physical",
                       stages->label);
        return;
    }
}

/* By depth, and how many needles are kept whole somewhere and everywhere, at one budget. */
static void print_needle_depths(const struct kvr_summary *summary)
{
    const struct kvr_plan *plan = summary->plan;
    size_t middle = plan->budget_count / 2;
    printf(
        "\nThe same at budget %s by depth of the needle in the prompt; any, strict: needles kept "
        "whole\nin at least one (layer, group), in every one\n",
        plan->budgets[middle].label);
    printf("  %-*s", LABEL, "depth, %");
    for (unsigned d = 0; d < KVR_DEPTHS; d++) {
        char label[16];
        snprintf(label, sizeof label, "%u-%u", d * 100 / KVR_DEPTHS, (d + 1) * 100 / KVR_DEPTHS);
        printf("%*s", CELL, label);
    }
    printf("%*s%*s%*s\n", CELL, "any", CELL, "strict", CELL, "of");
    for (size_t g = 0; g < plan->page_size_count; g++) {
        print_unit(plan->page_sizes[g]);
        for (size_t u = 0; u < plan->use_count; u++) {
            const struct kvr_place place = {.use = u, .page = g, .budget = middle};
            const struct kvr_kept_summary *kept = kvr_summary_kept(summary, place);
            print_use(plan, &plan->uses[u]);
            for (unsigned d = 0; d < KVR_DEPTHS; d++)
                print_value(ratio(kept->depth_fraction_sum[d], kept->depth_needles[d]), 3);
            printf("%*llu%*llu%*llu\n", CELL, (unsigned long long)kept->needles_any, CELL,
                   (unsigned long long)kept->needles_strict, CELL,
                   (unsigned long long)kept->needles);
        }
    }
}

static void print_checks(const struct kvr_summary *summary)
{
    const struct kvr_plan *plan = summary->plan;
    uint64_t cells = 0, violations = 0;
    size_t count = plan->score_count * plan->page_size_count * plan->budget_count;
    for (size_t i = 0; i < count; i++) {
        cells += summary->overlaps[i].groups;
        violations += summary->overlaps[i].violations;
    }
    print_heading("Checks");
    printf("  bounds on the UOR: %llu cells, %llu violations\n", (unsigned long long)cells,
           (unsigned long long)violations);
    if (summary->premises > 0)
        printf("  needle bound (cor. 2): holds in %llu of %llu\n",
               (unsigned long long)summary->premises_held, (unsigned long long)summary->premises);
    for (size_t s = 0; s < plan->score_count; s++) {
        const struct kvr_census_summary *census = &summary->census[s];
        if (census->excluded > 0)
            kvr_print_line(stdout,
                           "  excluded under %s: %llu of %llu groups, a head is not finite "
                           "(excluded.csv)",
                           plan->scores[s].label, (unsigned long long)census->excluded,
                           (unsigned long long)census->groups);
        if (census->replaced > 0)
            kvr_print_line(stdout, "  under %s: %llu values that are not finite were replaced by 0",
                           plan->scores[s].label, (unsigned long long)census->replaced);
    }
}

void kvr_print_summary(const struct kvr_summary *summary, struct kvr_trace *const *traces,
                       size_t trace_count, const char *folder)
{
    for (size_t i = 0; i < trace_count; i++)
        print_trace(summary->plan, traces[i]);
    print_overlaps(summary);
    print_census(summary);
    if (any_kept(summary, future_peak)) {
        print_kept(summary,
                   "Future peak: share of the decode rows' squared mass on the prompt that is kept",
                   future_peak);
    } else {
        print_kept(summary, "Retained mass: share of the scorer's own mass that is kept",
                   retained_mass);
    }
    print_memory_note(summary->plan);
    if (any_kept(summary, needle_fraction)) {
        print_kept(summary, "Needles: share of (layer, group) that keep the whole needle",
                   needle_fraction);
        print_needle_depths(summary);
    }
    print_checks(summary);
    printf("\nTables are in %s\n", folder);
}
