/*
 * Theorem 4's premises as measured, and corollary 2's bound.
 */
#include "analysis/premises.h"

#include <math.h>

#include "replay/reduce.h"

static const double tolerance = 1e-9;

double kvr_premises_delta(double owner_mass, double owner_entropy, const double *slacks,
                          size_t siblings, size_t others, double tau)
{
    if (siblings == 0)
        return 0;
    if (others == 0)
        return owner_mass; /* D is infinite */
    /* D / C = exp(log_ratio) with log_ratio = log-sum-exp of (c_j - ln(T-S) + eta) / tau. */
    double most = slacks[0];
    for (size_t j = 1; j < siblings; j++)
        most = fmax(most, slacks[j]);
    double sum = 0;
    for (size_t j = 0; j < siblings; j++)
        sum += exp((slacks[j] - most) / tau);
    double log_ratio = (most - log((double)others) + owner_entropy) / tau + log(sum);
    return owner_mass / (1 + exp(-log_ratio));
}

/* The largest value in the needle; ties go to the lower head, then the lower position. */
static void find_peak(const struct kvr_scored *scored, size_t count, struct kvr_range needle,
                      struct kvr_premises *premises)
{
    premises->owner = 0;
    premises->peak = needle.start;
    float best = scored->vectors[needle.start];
    for (size_t h = 0; h < scored->heads; h++)
        for (size_t t = needle.start; t < needle.end; t++)
            if (scored->vectors[h * count + t] > best) {
                best = scored->vectors[h * count + t];
                premises->owner = h;
                premises->peak = t;
            }
    premises->owner_mass = (double)best;
}

struct kvr_premises kvr_premises_of(const struct kvr_cell *cell, const struct kvr_scored *scored,
                                    struct kvr_range needle, double *slacks)
{
    size_t count = cell->candidates.count, others = count - cell->candidates.sinks;
    double uniform = others > 0 ? log((double)others) : -INFINITY;
    struct kvr_premises premises = {.largest_slack = NAN};
    find_peak(scored, count, needle, &premises);
    premises.owner_entropy = scored->entropies[premises.owner];
    size_t siblings = 0;
    for (size_t h = 0; h < scored->heads; h++)
        if (h != premises.owner) {
            slacks[siblings] = fmax(0, uniform - scored->entropies[h]);
            premises.largest_slack = fmax(slacks[siblings], premises.largest_slack);
            siblings++;
        }
    premises.pooled_mass = kvr_reduce_entropy_at(scored->vectors, scored->heads, count,
                                                 scored->weights, premises.peak);
    premises.bound =
        premises.owner_mass - kvr_premises_delta(premises.owner_mass, premises.owner_entropy,
                                                 slacks, siblings, others, cell->plan->tau);
    premises.holds = premises.pooled_mass >= premises.bound - tolerance;
    return premises;
}
