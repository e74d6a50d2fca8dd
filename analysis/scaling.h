/*
 * The closed form of corollary 2 (arXiv 2610.03135; MEASURES §7): what entropy pooling promises a
 * needle in a context of T tokens if one head owns it and its siblings look everywhere.
 */
#ifndef KVR_SCALING_H
#define KVR_SCALING_H

#include <stdint.h>

/* The regime. */
struct kvr_scaling {
    uint64_t ratio;       /* r, heads of the group */
    uint64_t sinks;       /* S */
    double tau;           /* temperature */
    double owner_mass;    /* 1 - eps */
    double owner_entropy; /* eta, nats */
    double slack;         /* c_j, nats, of every sibling */
};

struct kvr_scaling_row {
    double siblings; /* D = (r-1) exp(c/tau) (T-S)^(-1/tau): the siblings' Boltzmann factors */
    double delta;    /* (1-eps) D / (C + D), C = exp(-eta/tau): at most lost of the owner's value */
    double bound;    /* 1-eps - Delta */
    double mean;     /* (1-eps) / r: what mean pooling leaves if the siblings have nothing there */
};

/* context > sinks. */
struct kvr_scaling_row kvr_scaling_at(const struct kvr_scaling *scaling, uint64_t context);

#endif
