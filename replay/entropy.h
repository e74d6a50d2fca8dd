/*
 * Renyi entropy of a head's score vector, raw and sink-isolated, and the Boltzmann weights over a
 * group that follow from it (arXiv 2610.03135; MEASURES §3).
 *
 * All entropies are in nats. H_a(p) = ln(sum p^a) / (1 - a); a = 1 is Shannon, a = 2 collision,
 * a = inf min-entropy. The logarithm's argument is guarded by 1e-12.
 */
#ifndef KVR_ENTROPY_H
#define KVR_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

/* -ln 1e-12: the entropy of a head that holds nothing outside its sinks. */
#define KVR_ENTROPY_EMPTY 27.631021115928547

/* What a logarithm's argument, and the sum that is divided by, is at least. */
#define KVR_ENTROPY_GUARD 1e-12

struct kvr_entropy_options {
    double alpha;    /* > 0; HUGE_VAL for min-entropy */
    uint64_t window; /* only the last `window` candidates, renormalised (def. 6); 0: all */
};

/* Of the vector as it is, [T]; divided by its sum only where a window is in force. */
double kvr_entropy_raw(const struct kvr_entropy_options *options, const float *vector,
                       size_t count);

/*
 * Of the vector without its first `sinks` entries, divided by max(its own sum, 1e-12).
 * KVR_ENTROPY_EMPTY where that sum is below 1e-12 or nothing is left, at every alpha.
 */
double kvr_entropy_isolated(const struct kvr_entropy_options *options, const float *vector,
                            size_t count, size_t sinks);

/* H_2 from the sum of squares. */
double kvr_entropy_collision(double squares);

/* weights[h] = softmax_h(-entropies[h] / tau) over `heads` heads; tau > 0. */
void kvr_entropy_weights(const double *entropies, size_t heads, double tau, double *weights);

#endif
