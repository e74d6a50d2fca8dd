/*
 * Two-byte elements whose bytes lie apart, as HDF5's shuffle filter leaves them: a plane of all
 * first bytes and one of all second bytes.
 */
#ifndef KVR_PLANES_H
#define KVR_PLANES_H

#include <stddef.h>

/* `count` elements of two planes to pairs, and back. Nothing overlaps. */
void kvr_planes_join(const unsigned char *first, const unsigned char *second, size_t count,
                     unsigned char *pairs);
void kvr_planes_split(const unsigned char *pairs, size_t count, unsigned char *first,
                      unsigned char *second);

#endif
